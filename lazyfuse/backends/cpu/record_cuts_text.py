"""Recording in machine code: rows and columns of arrays of the engine, as LLVM text (see
`record_text.py`).

Their shapes and strides are those of the array without an axis: made once for the last array.
"""

CUTS = """
; the axes of a shape and of strides from one to another, with references. Those of the rows and
; those of the columns of the last array stay, since most come again. Whether there was memory
define internal i1 @axes_of(ptr %extents, ptr %steps, i64 %from, i64 %to, ptr %cut) {{
  %second = shl i64 %from, 2
  %known = getelementptr ptr, ptr @cuts, i64 %second
  %steps_at = getelementptr ptr, ptr %known, i64 1
  %shape_at = getelementptr ptr, ptr %known, i64 2
  %strides_at = getelementptr ptr, ptr %known, i64 3
  %known_extents = load ptr, ptr %known
  %known_steps = load ptr, ptr %steps_at
  %known_shape = load ptr, ptr %shape_at
  %known_strides = load ptr, ptr %strides_at
  %is_shape = icmp eq ptr %known_extents, %extents
  %is_strides = icmp eq ptr %known_steps, %steps
  %is_known = and i1 %is_shape, %is_strides
  br i1 %is_known, label %give, label %make
make:
  %made_shape = call ptr @PyTuple_GetSlice(ptr %extents, i64 %from, i64 %to)
  %made_strides = call ptr @PyTuple_GetSlice(ptr %steps, i64 %from, i64 %to)
  %has_shape = icmp ne ptr %made_shape, null
  %has_strides = icmp ne ptr %made_strides, null
  %are_there = and i1 %has_shape, %has_strides
  br i1 %are_there, label %keep, label %drop
drop:
  call void @Py_DecRef(ptr %made_shape)
  call void @Py_DecRef(ptr %made_strides)
  call void @PyErr_Clear()
  ret i1 false
keep:
  call void @Py_IncRef(ptr %extents)
  call void @Py_IncRef(ptr %steps)
  store ptr %extents, ptr %known
  store ptr %steps, ptr %steps_at
  store ptr %made_shape, ptr %shape_at
  store ptr %made_strides, ptr %strides_at
  call void @Py_DecRef(ptr %known_extents)
  call void @Py_DecRef(ptr %known_steps)
  call void @Py_DecRef(ptr %known_shape)
  call void @Py_DecRef(ptr %known_strides)
  br label %give
give:
  %shape = phi ptr [ %known_shape, %0 ], [ %made_shape, %keep ]
  %strides = phi ptr [ %known_strides, %0 ], [ %made_strides, %keep ]
  call void @Py_IncRef(ptr %shape)
  call void @Py_IncRef(ptr %strides)
  %cut_strides = getelementptr ptr, ptr %cut, i64 1
  store ptr %shape, ptr %cut
  store ptr %strides, ptr %cut_strides
  ret i1 true
}}
; for columns, then for rows: the shape and the strides of an array, and what is cut of them
@cuts = internal global [8 x ptr] zeroinitializer

; a view of axes of an array of the engine that lies at an offset
define internal ptr @cut_view(ptr %self, i64 %from, i64 %to, i64 %offset) {{
  %cut = alloca [2 x ptr]
  %layout = call ptr @get(ptr %self, i64 {handle_layout})
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %is_cut = call i1 @axes_of(ptr %extents, ptr %steps, i64 %from, i64 %to, ptr %cut)
  br i1 %is_cut, label %make, label %no
make:
  %strides_at = getelementptr ptr, ptr %cut, i64 1
  %shape = load ptr, ptr %cut
  %strides = load ptr, ptr %strides_at
  %view = call ptr @view_with(ptr %self, ptr %shape, ptr %strides, i64 %offset)
  call void @Py_DecRef(ptr %shape)
  call void @Py_DecRef(ptr %strides)
  ret ptr %view
no:
  ret ptr null
}}

; where the column of a matrix begins that a key of all rows and an int picks; -1 for other keys
define internal i64 @column_offset(ptr %layout, ptr %key, i64 %ndim) {{
  %is_tuple = call i1 @is(ptr %key, i64 {tuple_})
  %is_matrix = icmp eq i64 %ndim, 2
  %may = and i1 %is_tuple, %is_matrix
  br i1 %may, label %count, label %no
count:
  %items = call i64 @tuple_size(ptr %key)
  %are_two = icmp eq i64 %items, 2
  br i1 %are_two, label %look, label %no
look:
  %rows = call ptr @tuple_item(ptr %key, i64 0)
  %column = call ptr @tuple_item(ptr %key, i64 1)
  %is_slice = call i1 @is(ptr %rows, i64 {slice_})
  %is_int = call i1 @is(ptr %column, i64 {int_})
  %can = and i1 %is_slice, %is_int
  br i1 %can, label %whole, label %no
whole:
  %start_at = getelementptr ptr, ptr %rows, i64 2
  %stop_at = getelementptr ptr, ptr %rows, i64 3
  %step_at = getelementptr ptr, ptr %rows, i64 4
  %start = load ptr, ptr %start_at
  %stop = load ptr, ptr %stop_at
  %step = load ptr, ptr %step_at
  %none = call ptr @none()
  %no_start = icmp eq ptr %start, %none
  %no_stop = icmp eq ptr %stop, %none
  %no_step = icmp eq ptr %step, %none
  %are_open = and i1 %no_start, %no_stop
  %are_all = and i1 %are_open, %no_step
  br i1 %are_all, label %find, label %no
find:
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %extent = call i64 @number_at(ptr %extents, i64 1)
  %place = call i64 @placed(ptr %column, i64 %extent)
  %inside = icmp sge i64 %place, 0
  br i1 %inside, label %move, label %no
move:
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %stride = call i64 @number_at(ptr %steps, i64 1)
  %first = call i64 @number_at(ptr %layout, i64 2)
  %moved = mul i64 %place, %stride
  %offset = add i64 %first, %moved
  ret i64 %offset
no:
  ret i64 -1
}}
"""
