"""Iterators over the elements of arrays of one axis, as LLVM text; see `methods.py` and
`frontend/walking.py`.

That of an array of the engine has an array of NumPy's in its memory, which nobody else has and
whose beginning it moves on.
"""

STEPS = """
declare ptr @PyObject_GetIter(ptr)
declare ptr @PyIter_Next(ptr)

; iter(self): NumPy's own over a small array of one axis
define ptr @lf_iter(ptr %self, ptr %nothing) {
  %is_engines = call i1 @is_engines(ptr %self)
  br i1 %is_engines, label %engine, label %find
engine:
  %steps = call ptr @steps_of(ptr %self)
  %has_none = icmp eq ptr %steps, null
  br i1 %has_none, label %ask, label %give
give:
  ret ptr %steps
ask:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %fail, label %slow
fail:
  ret ptr null
find:
  %host = call ptr @part(ptr %self, i64 HOST_PLACE)
  %is_away = icmp eq ptr %host, null
  br i1 %is_away, label %slow, label %look
look:
  %found = call ptr @PyObject_GetIter(ptr %host)
  %is_none = icmp eq ptr %found, null
  %axes = get i32 %host[ND]
  %is_line = icmp eq i32 %axes, 1
  %is_all = or i1 %is_none, %is_line
  br i1 %is_all, label %numpys, label %rows
numpys:
  ret ptr %found
rows:
  %rows_found = call ptr @rows_by(ptr %self, ptr %found)
  ret ptr %rows_found
slow:
  %python = call ptr @object(i64 T_ITER)
  %result = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %python, ptr %self, ptr null)
  ret ptr %result
}

; an iterator over the rows of a small array by that of NumPy's, which it takes
define internal ptr @rows_by(ptr %self, ptr %rest) {
  %owner = call ptr @part(ptr %self, i64 OWNER_PLACE)
  %is_own = icmp eq ptr %owner, null
  %base = select i1 %is_own, ptr %self, ptr %owner
  %kind = call ptr @object(i64 T_STEPS)
  %made = call ptr @PyType_GenericAlloc(ptr %kind, i64 0)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %drop, label %fill
fill:
  %array_place = call i64 @entry(i64 T_STEPS_ARRAY)
  %rest_place = call i64 @entry(i64 T_STEPS_REST)
  call void @share(ptr %made, i64 %array_place, ptr %base)
  call void @set(ptr %made, i64 %rest_place, ptr %rest)
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %rest)
  ret ptr null
}

; an iterator over an array of the engine that has elements, of one axis, at hand; null for others,
; and for an exception
define internal ptr @steps_of(ptr %array) {
  %shape = call ptr @shape_of(ptr %array)
  %axes = call i64 @tuple_size(ptr %shape)
  %is_line = icmp eq i64 %axes, 1
  br i1 %is_line, label %memory, label %no
memory:
  %buffer = call ptr @settled_memory(ptr %array)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %no, label %open
open:
  %line = call ptr
    @elements_in(ptr %array, ptr %buffer, i64 9223372036854775807, i32 0)
  %has_none = icmp eq ptr %line, null
  br i1 %has_none, label %no, label %make
make:
  %kind = call ptr @object(i64 T_STEPS)
  %made = call ptr @PyType_GenericAlloc(ptr %kind, i64 0)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %drop, label %keep
keep:
  %layout = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  call void @Py_IncRef(ptr %layout)
  %itself = call ptr @view_laid(ptr %array, ptr %layout)
  %has_no_view = icmp eq ptr %itself, null
  br i1 %has_no_view, label %drop_made, label %fill
drop_made:
  call void @Py_DecRef(ptr %made)
  br label %drop
fill:
  %array_place = call i64 @entry(i64 T_STEPS_ARRAY)
  %line_place = call i64 @entry(i64 T_STEPS_LINE)
  call void @set(ptr %made, i64 %array_place, ptr %itself)
  call void @set(ptr %made, i64 %line_place, ptr %line)
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %line)
  br label %no
no:
  ret ptr null
}

; the next element, where the memory is still the array's; a row of NumPy's as the user's; null at
; the end, and for an exception
define ptr @lf_next(ptr %self) {
  %array_place = call i64 @entry(i64 T_STEPS_ARRAY)
  %line_place = call i64 @entry(i64 T_STEPS_LINE)
  %array = call ptr @get(ptr %self, i64 %array_place)
  %line = call ptr @get(ptr %self, i64 %line_place)
  %is_over = icmp eq ptr %line, null
  br i1 %is_over, label %others, label %look
look:
  %node = call ptr @memory(ptr %array)
  %buffer = call ptr @get(ptr %node, i64 NODE_BUFFER)
  %memory = get ptr %line[BASE]
  %is_there = icmp eq ptr %buffer, %memory
  br i1 %is_there, label %count, label %leave
count:
  %extents = get ptr %line[DIMENSIONS]
  %left = load i64, ptr %extents
  %is_some = icmp sgt i64 %left, 0
  br i1 %is_some, label %read, label %no
read:
  %steps = get ptr %line[STRIDES]
  %step = load i64, ptr %steps
  %data = get ptr %line[DATA]
  %dtype = get ptr %line[DESCR]
  %less = sub i64 %left, 1
  store i64 %less, ptr %extents
  %moved = getelementptr i8, ptr %data, i64 %step
  put ptr %moved, %line[DATA]
  %reader = call ptr @object(i64 T_NEW_SCALAR)
  %scalar = call ptr %reader(ptr %data, ptr %dtype, ptr null)
  ret ptr %scalar
leave:
  %function = call ptr @object(i64 T_LEAVE)
  %answer = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %function, ptr %self, ptr null)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %no, label %left_it
left_it:
  call void @Py_DecRef(ptr %answer)
  br label %others
others:
  %rest_place = call i64 @entry(i64 T_STEPS_REST)
  %rest = call ptr @get(ptr %self, i64 %rest_place)
  %has_none = icmp eq ptr %rest, null
  br i1 %has_none, label %no, label %ask
ask:
  call void @Py_IncRef(ptr %rest)
  %next = call ptr @PyIter_Next(ptr %rest)
  call void @Py_DecRef(ptr %rest)
  %item = call ptr @wrapped(ptr %next, ptr %array)
  ret ptr %item
no:
  ret ptr null
}
"""
