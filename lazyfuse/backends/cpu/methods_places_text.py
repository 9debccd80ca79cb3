"""Elements of computed memory that integers pick, and that are written through integers, as LLVM
text; see `methods.py`."""

from __future__ import annotations

from lazyfuse.ops.rules import PICKED

#: Elements that are picked or written at most; the items of a list that is looked into.
BOUNDS = {"PICKED_MOST": PICKED, "LISTED_MOST": 256}

PLACES = """
; an array of NumPy's of a key: of ours that is at hand, of NumPy's that has axes, a list of some
; ints; with a reference. Null for others, and for an exception
define internal ptr @array_of_key(ptr %key) {
  %is_ours = call i1 @is(ptr %key, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %other
ours:
  %own = call ptr @host_or_memory(ptr %key)
  ret ptr %own
other:
  %is_array = call i1 @is(ptr %key, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %look
array:
  %axes = get i32 %key[ND]
  %has_axes = icmp ne i32 %axes, 0
  br i1 %has_axes, label %same, label %no
same:
  call void @Py_IncRef(ptr %key)
  ret ptr %key
look:
  %is_list = call i1 @is(ptr %key, i64 T_LIST)
  br i1 %is_list, label %list, label %no
list:
  %count = call i64 @PyList_Size(ptr %key)
  %less = sub i64 %count, 1
  %is_short = icmp ult i64 %less, LISTED_MOST
  br i1 %is_short, label %next, label %no
next:
  %i = phi i64 [ 0, %list ], [ %after, %item ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %make, label %item
item:
  %number = call ptr @PyList_GetItem(ptr %key, i64 %i)
  %is_int = call i1 @is(ptr %number, i64 T_INT)
  %after = add i64 %i, 1
  br i1 %is_int, label %next, label %no
make:
  %maker = call ptr @object(i64 T_AS_ARRAY)
  %made = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %maker, ptr %key, ptr null)
  ret ptr %made
no:
  ret ptr null
}

; the same, of integers that pick
define internal ptr @index_of(ptr %key) {
  %array = call ptr @array_of_key(ptr %key)
  %is_none = icmp eq ptr %array, null
  br i1 %is_none, label %no, label %look
look:
  %is_integer = call i1 @has_index_dtype(ptr %array)
  br i1 %is_integer, label %give, label %drop
give:
  ret ptr %array
drop:
  call void @Py_DecRef(ptr %array)
  br label %no
no:
  ret ptr null
}

; the elements that one array of integers picks along the first axis of memory, where they are few;
; null where they are not, and for an exception
define internal ptr @gathered(ptr %self, ptr %key) {
  %objects = alloca [2 x ptr]
  put ptr %self, %objects[0]
  put ptr %key, %objects[1]
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %no, label %sizes
sizes:
  %eager = call i64 @eager_size()
  %are_any = icmp sgt i64 %eager, 0
  br i1 %are_any, label %take_key, label %no
take_key:
  %index = call ptr @index_of(ptr %key)
  %has_none = icmp eq ptr %index, null
  br i1 %has_none, label %no, label %open
open:
  %memory = call ptr @host_or_memory(ptr %self)
  %is_away = icmp eq ptr %memory, null
  br i1 %is_away, label %drop_key, label %count
count:
  %size = call i64 @picked_size(ptr %memory, ptr %index)
  %most = call i64 @llvm.smax.i64(i64 %eager, i64 PICKED_MOST)
  %before = sub i64 %size, 1
  %is_small = icmp ult i64 %before, %most
  br i1 %is_small, label %pick, label %drop
pick:
  %value = call ptr @PyObject_GetItem(ptr %memory, ptr %index)
  call void @Py_DecRef(ptr %memory)
  call void @Py_DecRef(ptr %index)
  %made = call ptr @small_or_adopted(ptr %value, i64 %size, ptr %objects)
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %memory)
  br label %drop_key
drop_key:
  call void @Py_DecRef(ptr %index)
  br label %no
no:
  ret ptr null
}

; the extent of the first axis; 0 where there is none
define internal i64 @rows_of(ptr %array) {
  %axes = get i32 %array[ND]
  %has_none = icmp eq i32 %axes, 0
  br i1 %has_none, label %none, label %look
look:
  %extents = get ptr %array[DIMENSIONS]
  %rows = load i64, ptr %extents
  ret i64 %rows
none:
  ret i64 0
}

; whether self[key] = value is done at once, for some elements of an array of the engine that an
; array of integers picks along the first axis: 1, 0, or -1 with an exception
define internal i32 @set_places(ptr %self, ptr %key, ptr %value) {
  %eager = call i64 @eager_size()
  %are_any = icmp sgt i64 %eager, 0
  br i1 %are_any, label %immediate, label %answer
immediate:
  %modes = call ptr @modes()
  %is_immediate = icmp eq ptr %modes, null
  br i1 %is_immediate, label %answer, label %take_key
take_key:
  %index = call ptr @index_of(ptr %key)
  %has_none = icmp eq ptr %index, null
  br i1 %has_none, label %answer, label %take_value
take_value:
  %given = call ptr @assigned_value(ptr %value)
  %is_unknown = icmp eq ptr %given, null
  br i1 %is_unknown, label %drop_key, label %lock
lock:
  %locked = call i1 @lock()
  br i1 %locked, label %write, label %drop_value
write:
  %done = call i32 @set_places_locked(ptr %self, ptr %index, ptr %given)
  call void @Py_DecRef(ptr %index)
  %outcome = call i32 @end_change(i32 %done, ptr %given)
  ret i32 %outcome
drop_value:
  call void @Py_DecRef(ptr %given)
  br label %drop_key
drop_key:
  call void @Py_DecRef(ptr %index)
  br label %answer
answer:
  %nothing = call i32 @not_done()
  ret i32 %nothing
}

; the same with the lock, for a value that NumPy takes. Arrays of other dtypes are Python's
define internal i32 @set_places_locked(ptr %self, ptr %index, ptr %given) {
  %window = call ptr @writable(ptr %self, i64 9223372036854775807)
  %is_away = icmp eq ptr %window, null
  br i1 %is_away, label %answer, label %count
count:
  %size = call i64 @picked_size(ptr %window, ptr %index)
  %less = sub i64 %size, 1
  %is_small = icmp ult i64 %less, PICKED_MOST
  br i1 %is_small, label %kind, label %drop
kind:
  %is_array = call i1 @is(ptr %given, i64 T_NDARRAY)
  br i1 %is_array, label %dtypes, label %begin
dtypes:
  %own = get ptr %window[DESCR]
  %theirs = get ptr %given[DESCR]
  %is_alike = icmp eq ptr %own, %theirs
  br i1 %is_alike, label %begin, label %drop
begin:
  %context = call ptr @begin_change(ptr %self)
  %no_context = icmp eq ptr %context, null
  br i1 %no_context, label %fail, label %set
set:
  %status = call i32 @PyObject_SetItem(ptr %window, ptr %index, ptr %given)
  call void @stop_listening(ptr %context)
  call void @Py_DecRef(ptr %window)
  %is_fine = icmp eq i32 %status, 0
  %outcome = select i1 %is_fine, i32 1, i32 -1
  ret i32 %outcome
fail:
  call void @Py_DecRef(ptr %window)
  ret i32 -1
drop:
  call void @Py_DecRef(ptr %window)
  br label %answer
answer:
  %nothing = call i32 @not_done()
  ret i32 %nothing
}

; how many elements an index picks along the first axis; 0 where there is none
define internal i64 @picked_size(ptr %memory, ptr %index) {
  %picked = call i64 @elements(ptr %index)
  %all = call i64 @elements(ptr %memory)
  %rows = call i64 @rows_of(ptr %memory)
  %has_rows = icmp sgt i64 %rows, 0
  %divisor = select i1 %has_rows, i64 %rows, i64 1
  %each = sdiv i64 %all, %divisor
  %product = mul i64 %picked, %each
  %size = select i1 %has_rows, i64 %product, i64 0
  ret i64 %size
}

; whether an array has a dtype of integers that picks
define internal i1 @has_index_dtype(ptr %array) {
  %number = call i32 @dtype_number(ptr %array)
  %less = sub i32 %number, 1
  %is_integer = icmp ult i32 %less, 10
  ret i1 %is_integer
}
"""
