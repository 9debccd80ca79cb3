"""The real and imaginary parts of arrays, views of them, as LLVM text; see `methods.py`."""

from __future__ import annotations

COMPLEX = """
; a tuple of numbers, each twice; null where there is no memory
define internal ptr @doubled(ptr %tuple) {
  %count = call i64 @tuple_size(ptr %tuple)
  %made = call ptr @PyTuple_New(i64 %count)
  %has_none = icmp eq ptr %made, null
  br i1 %has_none, label %fail, label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %put ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %double
double:
  %number = call i64 @number_at(ptr %tuple, i64 %i)
  %twice = mul i64 %number, 2
  %item = call ptr @PyLong_FromLongLong(i64 %twice)
  %no_item = icmp eq ptr %item, null
  br i1 %no_item, label %drop, label %put
put:
  %status = call i32 @PyTuple_SetItem(ptr %made, i64 %i, ptr %item)
  %after = add i64 %i, 1
  br label %next
done:
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %made)
  br label %fail
fail:
  call void @PyErr_Clear()
  ret ptr null
}

; the real (0) or imaginary (1) parts of complex numbers of the engine, as a view: each second
; float of their memory. Null without an exception for what Python has to do
define internal ptr @part_of_complex(ptr %array, i64 %which) {
  %is_uncast = call i1 @is_uncast(ptr %array)
  br i1 %is_uncast, label %look, label %no
look:
  %node = call ptr @memory(ptr %array)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %casts = call ptr @object(i64 T_CASTS_OF_PARTS)
  %cast = call ptr @PyDict_GetItem(ptr %casts, ptr %code)
  %are_reals = icmp eq ptr %cast, null
  br i1 %are_reals, label %no, label %lay
lay:
  %layout = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %strides = call ptr @tuple_item(ptr %layout, i64 1)
  %offset = call i64 @number_at(ptr %layout, i64 2)
  %twice = mul i64 %offset, 2
  %begin = add i64 %twice, %which
  %steps = call ptr @doubled(ptr %strides)
  %no_steps = icmp eq ptr %steps, null
  br i1 %no_steps, label %no, label %make
make:
  %view = call ptr @view_with(ptr %array, ptr %shape, ptr %steps, i64 %begin)
  call void @Py_DecRef(ptr %steps)
  %is_made = icmp ne ptr %view, null
  br i1 %is_made, label %read, label %no
read:
  call void @Py_IncRef(ptr %cast)
  call void @put(ptr %view, i64 HANDLE_CAST, ptr %cast)
  ret ptr %view
no:
  ret ptr null
}

; the array itself where it is of real numbers
define internal ptr @engine_real(ptr %array) {
  %are_reals = call i1 @are_reals(ptr %array)
  br i1 %are_reals, label %same, label %part
same:
  call void @Py_IncRef(ptr %array)
  ret ptr %array
part:
  %view = call ptr @part_of_complex(ptr %array, i64 0)
  ret ptr %view
}

define internal ptr @engine_imag(ptr %array) {
  %view = call ptr @part_of_complex(ptr %array, i64 1)
  ret ptr %view
}

; what stands for a part of real numbers that are small: the array itself is its real part, and
; zeros are made by Python
define internal ptr @real_of_reals(ptr %array) {
  call void @Py_IncRef(ptr %array)
  ret ptr %array
}

define internal ptr @imag_of_reals(ptr %array) {
  ret ptr null
}
"""

#: Before NumPy is asked for a part of a small array. {name}: the attribute's.
ONLY_COMPLEX = """\
  %is_known = call i1 @has_known_dtype(ptr %host)
  br i1 %is_known, label %dtype, label %slow
dtype:
  %is_complex = call i1 @is_complex(ptr %host)
  br i1 %is_complex, label %view, label %reals
reals:
  %same = call ptr @{name}_of_reals(ptr %self)
  %has_same = icmp ne ptr %same, null
  br i1 %has_same, label %itself, label %slow
itself:
  ret ptr %same
view:
"""
