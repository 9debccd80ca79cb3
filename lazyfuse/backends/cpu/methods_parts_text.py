"""The length and the attributes of arrays that compute nothing, as LLVM text; see `methods.py`.

An attribute comes with a tuple: its name, and the functions of Python's property that get, set and
delete it.
"""

from __future__ import annotations

from lazyfuse.backends.cpu.methods_complex_text import ONLY_COMPLEX

#: Attributes; those of them that are views; and those that are so of complex numbers alone.
PARTS = ("shape", "ndim", "size", "dtype", "T", "real", "imag")
VIEWS = frozenset(("T", "real", "imag"))
OF_COMPLEX = frozenset(("real", "imag"))

HEAD = """
declare ptr @PyObject_GenericGetAttr(ptr, ptr)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)

; the shape of an array of the engine
define internal ptr @shape_of(ptr %array) {
  %layout = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  ret ptr %shape
}

define internal ptr @engine_shape(ptr %array) {
  %shape = call ptr @shape_of(ptr %array)
  call void @Py_IncRef(ptr %shape)
  ret ptr %shape
}

define internal ptr @engine_ndim(ptr %array) {
  %shape = call ptr @shape_of(ptr %array)
  %axes = call i64 @tuple_size(ptr %shape)
  %number = call ptr @PyLong_FromLong(i64 %axes)
  ret ptr %number
}

define internal ptr @engine_size(ptr %array) {
  %shape = call ptr @shape_of(ptr %array)
  %axes = call i64 @tuple_size(ptr %shape)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %axis ]
  %count = phi i64 [ 1, %0 ], [ %product, %axis ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %done, label %look
look:
  %extent = call i64 @number_at(ptr %shape, i64 %i)
  %error = call ptr @PyErr_Occurred()
  %is_number = icmp eq ptr %error, null
  br i1 %is_number, label %multiply, label %clear
multiply:
  %pair = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %count, i64 %extent)
  %product = extractvalue { i64, i1 } %pair, 0
  %is_too_large = extractvalue { i64, i1 } %pair, 1
  br i1 %is_too_large, label %no, label %axis
axis:
  %after = add i64 %i, 1
  br label %next
done:
  %number = call ptr @PyLong_FromLong(i64 %count)
  ret ptr %number
clear:
  call void @PyErr_Clear()
  br label %no
no:
  ret ptr null
}

; whether an array of the engine reads its memory as what that is
define internal i1 @is_uncast(ptr %array) {
  %cast = call ptr @get(ptr %array, i64 HANDLE_CAST)
  %none = call ptr @none()
  %is_uncast = icmp eq ptr %cast, %none
  ret i1 %is_uncast
}

; NumPy's dtype of an array of the engine that reads its memory as what that is; null for others
define internal ptr @dtype_in_engine(ptr %array) {
  %is_uncast = call i1 @is_uncast(ptr %array)
  br i1 %is_uncast, label %look, label %no
look:
  %node = call ptr @memory(ptr %array)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %dtype = call ptr @dtype_of(ptr %code)
  ret ptr %dtype
no:
  ret ptr null
}

; whether an object is an array of the engine of other than complex numbers
define internal i1 @are_reals(ptr %object) {
  %is_engines = call i1 @is_engines(ptr %object)
  br i1 %is_engines, label %look, label %no
look:
  %is_uncast = call i1 @is_uncast(ptr %object)
  %node = call ptr @memory(ptr %object)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %letter = call i32 @PyUnicode_ReadChar(ptr %code, i64 0)
  %is_real = icmp ne i32 %letter, LETTER_C
  %are = and i1 %is_uncast, %is_real
  ret i1 %are
no:
  ret i1 false
}

; whether an array of the engine is of complex numbers, as its memory is
define internal i1 @are_complex(ptr %array) {
  %is_uncast = call i1 @is_uncast(ptr %array)
  %are_reals = call i1 @are_reals(ptr %array)
  %are_others = xor i1 %are_reals, true
  %are = and i1 %is_uncast, %are_others
  ret i1 %are
}

; NumPy's dtype of a code of the engine; null for those that are not known. The last one is
; remembered, with a reference, so that no other object gets its address
define internal ptr @dtype_of(ptr %code) {
  %seen = get ptr @state[SEEN_CODE]
  %is_seen = icmp eq ptr %code, %seen
  br i1 %is_seen, label %give, label %look
give:
  %dtype_seen = get ptr @state[SEEN_DTYPE]
  ret ptr %dtype_seen
look:
  %dtypes = call ptr @object(i64 T_DTYPES)
  %dtype = call ptr @PyDict_GetItem(ptr %dtypes, ptr %code)
  %is_unknown = icmp eq ptr %dtype, null
  br i1 %is_unknown, label %no, label %keep
keep:
  %bytes = call i64 @bytes_by(ptr %code)
  call void @Py_IncRef(ptr %code)
  put ptr %code, @state[SEEN_CODE]
  put ptr %dtype, @state[SEEN_DTYPE]
  put i64 %bytes, @state[SEEN_BYTES]
  call void @Py_DecRef(ptr %seen)
  ret ptr %dtype
no:
  ret ptr null
}

define internal ptr @engine_dtype(ptr %array) {
  %is_uncast = call i1 @is_uncast(ptr %array)
  br i1 %is_uncast, label %look, label %no
look:
  %node = call ptr @memory(ptr %array)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %dtype = call ptr @dtype_of(ptr %code)
  %is_unknown = icmp eq ptr %dtype, null
  br i1 %is_unknown, label %no, label %give
give:
  call void @Py_IncRef(ptr %dtype)
  ret ptr %dtype
no:
  ret ptr null
}

; a tuple the other way round
define internal ptr @turned(ptr %tuple) {
  %count = call i64 @tuple_size(ptr %tuple)
  %made = call ptr @PyTuple_New(i64 %count)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %move ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %move
move:
  %item = call ptr @tuple_item(ptr %tuple, i64 %i)
  call void @Py_IncRef(ptr %item)
  %after = add i64 %i, 1
  %to = sub i64 %count, %after
  %status = call i32 @PyTuple_SetItem(ptr %made, i64 %to, ptr %item)
  br label %next
done:
  ret ptr %made
}

define internal ptr @engine_T(ptr %array) {
  %is_uncast = call i1 @is_uncast(ptr %array)
  br i1 %is_uncast, label %make, label %no
make:
  %layout = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %strides = call ptr @tuple_item(ptr %layout, i64 1)
  %offset = call i64 @number_at(ptr %layout, i64 2)
  %turned_shape = call ptr @turned(ptr %shape)
  %turned_strides = call ptr @turned(ptr %strides)
  %view = call ptr @view_with(ptr %array, ptr %turned_shape, ptr %turned_strides, i64 %offset)
  call void @Py_DecRef(ptr %turned_shape)
  call void @Py_DecRef(ptr %turned_strides)
  ret ptr %view
no:
  ret ptr null
}

define ptr @lf_len(ptr %self, ptr %nothing) {
  %is_engines = call i1 @is_engines(ptr %self)
  br i1 %is_engines, label %engine, label %look
engine:
  %shape = call ptr @shape_of(ptr %self)
  %axes = call i64 @tuple_size(ptr %shape)
  %has_axes = icmp sgt i64 %axes, 0
  br i1 %has_axes, label %first, label %slow
first:
  %extent = call ptr @tuple_item(ptr %shape, i64 0)
  call void @Py_IncRef(ptr %extent)
  ret ptr %extent
look:
  %host = call ptr @part(ptr %self, i64 HOST_PLACE)
  %is_away = icmp eq ptr %host, null
  br i1 %is_away, label %slow, label %small
small:
  %count = call i64 @PyObject_Size(ptr %host)
  %has_failed = icmp slt i64 %count, 0
  br i1 %has_failed, label %fail, label %give
fail:
  ret ptr null
give:
  %number = call ptr @PyLong_FromLong(i64 %count)
  ret ptr %number
slow:
  %python = call ptr @object(i64 T_LEN)
  %result = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %python, ptr %self, ptr null)
  ret ptr %result
}

; what a slot has: the first word of `given` is its name, the second one where it is
define ptr @lf_get_slot(ptr %self, ptr %given) {
  %place = call ptr @slot(ptr %self, ptr %given)
  %value = load ptr, ptr %place
  %is_empty = icmp eq ptr %value, null
  br i1 %is_empty, label %ask, label %give
give:
  call void @Py_IncRef(ptr %value)
  ret ptr %value
ask:
  %name = load ptr, ptr %given
  %found = call ptr @lf_missing(ptr %self, ptr %name)
  ret ptr %found
}

; fills a slot, or empties it where the value is null
define i32 @lf_put_slot(ptr %self, ptr %value, ptr %given) {
  %place = call ptr @slot(ptr %self, ptr %given)
  %before = load ptr, ptr %place
  store ptr %value, ptr %place
  %is_emptied = icmp eq ptr %value, null
  br i1 %is_emptied, label %drop, label %keep
keep:
  call void @Py_IncRef(ptr %value)
  br label %drop
drop:
  %was_empty = icmp eq ptr %before, null
  br i1 %was_empty, label %done, label %release
release:
  call void @Py_DecRef(ptr %before)
  br label %done
done:
  ret i32 0
}

define internal ptr @slot(ptr %self, ptr %given) alwaysinline {
  %at = getelementptr i64, ptr %given, i64 1
  %offset = load i64, ptr %at
  %place = getelementptr i8, ptr %self, i64 %offset
  ret ptr %place
}

; sets an attribute, or deletes it where the value is null
define i32 @lf_put_part(ptr %self, ptr %value, ptr %given) {
  %is_deletion = icmp eq ptr %value, null
  %place = select i1 %is_deletion, i64 3, i64 2
  %function = call ptr @tuple_item(ptr %given, i64 %place)
  %answer = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %function, ptr %self, ptr %value, ptr null)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %fail, label %done
fail:
  ret i32 -1
done:
  call void @Py_DecRef(ptr %answer)
  ret i32 0
}
"""

PART = """
define ptr @lf_get_{name}(ptr %self, ptr %given) {{
  %host = call ptr @part(ptr %self, i64 {host})
  %is_away = icmp eq ptr %host, null
  br i1 %is_away, label %engine, label %small
small:
{first}  %word = call ptr @tuple_item(ptr %given, i64 0)
  call void @Py_IncRef(ptr %host)
  %value = call ptr @PyObject_GenericGetAttr(ptr %host, ptr %word)
  call void @Py_DecRef(ptr %host)
{done}
engine:
  %is_engines = call i1 @is_engines(ptr %self)
  br i1 %is_engines, label %ask, label %slow
ask:
  %found = call ptr @engine_{name}(ptr %self)
  %is_nothing = icmp eq ptr %found, null
  br i1 %is_nothing, label %slow, label %give
give:
  ret ptr %found
slow:
  %python = call ptr @tuple_item(ptr %given, i64 1)
  %result = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %python, ptr %self, ptr null)
  ret ptr %result
}}
"""
SAME = """\
  ret ptr %value"""
VIEW = """\
  %known = call ptr @part(ptr %self, i64 {owner})
  %is_own = icmp eq ptr %known, null
  %owner = select i1 %is_own, ptr %self, ptr %known
  %made = call ptr @wrapped(ptr %value, ptr %owner)
  ret ptr %made"""


def parts(host: int, owner: int) -> str:
    """The functions of all attributes; where wrappers keep their array and its owner."""
    view = VIEW.format(owner=owner)
    return "".join(
        PART.format(
            name=name, host=host, done=view if name in VIEWS else SAME,
            first=ONLY_COMPLEX.format(name=name) if name in OF_COMPLEX else "",
        )
        for name in PARTS
    )  # fmt: skip
