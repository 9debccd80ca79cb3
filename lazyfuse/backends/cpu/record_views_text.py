"""Recording in machine code: views of arrays of the engine, as LLVM text (see `record_text.py`).

`lf_item` comes here for keys of integers, slices, ... and None. A pending element, an index that
is out of bounds and whatever else is not a view of some axes is left to Python.
"""

#: Tuples of Python 3.14 keep their hash, behind their size; -1 where it is not known.
NO_HASH = """  %hash_at = getelementptr i64, ptr %laid, i64 3
  store i64 -1, ptr %hash_at
""" if tuple.__basicsize__ > 24 else ""  # fmt: skip

VIEWS = (
    """
declare ptr @PyTuple_GetSlice(ptr, i64, i64)
declare i32 @PySlice_Unpack(ptr, ptr, ptr, ptr)
declare i64 @PySlice_AdjustIndices(i64, ptr, ptr, i64)

; the items of a key that is no tuple are itself
define internal ptr @key_item(ptr %key, i1 %is_tuple, i64 %number) alwaysinline {{
  br i1 %is_tuple, label %item, label %alone
item:
  %found = call ptr @tuple_item(ptr %key, i64 %number)
  ret ptr %found
alone:
  ret ptr %key
}}

; how many items a key has
define internal i64 @items_of(ptr %key, i1 %is_tuple) alwaysinline {{
  br i1 %is_tuple, label %tuple, label %one
tuple:
  %size = call i64 @tuple_size(ptr %key)
  ret i64 %size
one:
  ret i64 1
}}

define internal i64 @number_at(ptr %tuple, i64 %place) {{
  %object = call ptr @tuple_item(ptr %tuple, i64 %place)
  %number = call i64 @int_value(ptr %object)
  ret i64 %number
}}

; where an int of a key is on an axis; -1 where it is out of bounds
define internal i64 @placed(ptr %item, i64 %extent) alwaysinline {{
  %given = call i64 @int_value(ptr %item)
  %is_error_maybe = icmp eq i64 %given, -1
  br i1 %is_error_maybe, label %ask, label %count
ask:
  %raised = call ptr @PyErr_Occurred()
  %is_number = icmp eq ptr %raised, null
  br i1 %is_number, label %count, label %clear
clear:
  call void @PyErr_Clear()
  ret i64 -1
count:
  %negative = icmp slt i64 %given, 0
  %turned = add i64 %given, %extent
  %place = select i1 %negative, i64 %turned, i64 %given
  %inside = icmp ult i64 %place, %extent
  %found = select i1 %inside, i64 %place, i64 -1
  ret i64 %found
}}

; how many axes a key with so many items takes, and makes; -1 for two ellipses
define internal void @count_axes(ptr %key, i1 %is_tuple, i64 %items, ptr %taken, ptr %made,
                                 ptr %ellipses) {{
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %integers = phi i64 [ 0, %0 ], [ %integers_now, %more ]
  %slices = phi i64 [ 0, %0 ], [ %slices_now, %more ]
  %news = phi i64 [ 0, %0 ], [ %news_now, %more ]
  %dots = phi i64 [ 0, %0 ], [ %dots_now, %more ]
  %is_over = icmp sge i64 %i, %items
  br i1 %is_over, label %done, label %more
more:
  %item = call ptr @key_item(ptr %key, i1 %is_tuple, i64 %i)
  %is_int = call i1 @is(ptr %item, i64 {int_})
  %is_slice = call i1 @is(ptr %item, i64 {slice_})
  %is_dots = call i1 @is(ptr %item, i64 {ellipsis})
  %is_new = call i1 @is(ptr %item, i64 {none_type})
  %one_int = zext i1 %is_int to i64
  %one_slice = zext i1 %is_slice to i64
  %one_dots = zext i1 %is_dots to i64
  %one_new = zext i1 %is_new to i64
  %integers_now = add i64 %integers, %one_int
  %slices_now = add i64 %slices, %one_slice
  %dots_now = add i64 %dots, %one_dots
  %news_now = add i64 %news, %one_new
  %after = add i64 %i, 1
  br label %next
done:
  %all = add i64 %integers, %slices
  store i64 %all, ptr %taken
  %fresh = add i64 %slices, %news
  store i64 %fresh, ptr %made
  store i64 %dots, ptr %ellipses
  ret void
}}

; fills in the shape and the strides of a view; 0 for what Python has to say something about
define internal i1 @index(ptr %layout, ptr %key, i1 %is_tuple, i64 %items, i64 %taken,
                          ptr %shape, ptr %strides, ptr %offset) {{
  %start_at = alloca i64
  %stop_at = alloca i64
  %step_at = alloca i64
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %ndim = call i64 @tuple_size(ptr %extents)
  %first = call i64 @number_at(ptr %layout, i64 2)
  %free = sub i64 %ndim, %taken
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %i_after, %again ]
  %from = phi i64 [ 0, %0 ], [ %from_after, %again ]
  %to = phi i64 [ 0, %0 ], [ %to_after, %again ]
  %at = phi i64 [ %first, %0 ], [ %at_after, %again ]
  %is_over = icmp sge i64 %i, %items
  br i1 %is_over, label %rest, label %look
look:
  %item = call ptr @key_item(ptr %key, i1 %is_tuple, i64 %i)
  %is_new = call i1 @is(ptr %item, i64 {none_type})
  br i1 %is_new, label %new, label %old
new:
  call void @axis(ptr %shape, ptr %strides, i64 %to, i64 1, i64 0)
  br label %made_axis
old:
  %is_dots = call i1 @is(ptr %item, i64 {ellipsis})
  br i1 %is_dots, label %dots, label %taking
dots:
  call void @copy_axes(ptr %extents, ptr %steps, i64 %from, i64 %free, ptr %shape, ptr %strides,
                       i64 %to)
  %from_dots = add i64 %from, %free
  %to_dots = add i64 %to, %free
  br label %again
taking:
  %extent = call i64 @number_at(ptr %extents, i64 %from)
  %stride = call i64 @number_at(ptr %steps, i64 %from)
  %from_next = add i64 %from, 1
  %is_slice = call i1 @is(ptr %item, i64 {slice_})
  br i1 %is_slice, label %slice, label %integer
integer:
  %place = call i64 @placed(ptr %item, i64 %extent)
  %inside = icmp sge i64 %place, 0
  br i1 %inside, label %picked, label %no
picked:
  %moved = mul i64 %place, %stride
  %at_picked = add i64 %at, %moved
  br label %again
slice:
  %unpacked = call i32 @PySlice_Unpack(ptr %item, ptr %start_at, ptr %stop_at, ptr %step_at)
  %wrong = icmp slt i32 %unpacked, 0
  br i1 %wrong, label %no, label %adjust
adjust:
  %step = load i64, ptr %step_at
  %lifted = add i64 %step, 1073741824
  %moderate = icmp ult i64 %lifted, 2147483648
  br i1 %moderate, label %sliced, label %no
sliced:
  %length = call i64 @PySlice_AdjustIndices(i64 %extent, ptr %start_at, ptr %stop_at, i64 %step)
  %start = load i64, ptr %start_at
  %empty = icmp eq i64 %length, 0
  %begin = select i1 %empty, i64 0, i64 %start
  %skipped = mul i64 %begin, %stride
  %at_sliced = add i64 %at, %skipped
  %known_step = select i1 %empty, i64 1, i64 %step
  %wide = mul i64 %known_step, %stride
  call void @axis(ptr %shape, ptr %strides, i64 %to, i64 %length, i64 %wide)
  br label %made_axis
made_axis:
  %from_made = phi i64 [ %from, %new ], [ %from_next, %sliced ]
  %at_made = phi i64 [ %at, %new ], [ %at_sliced, %sliced ]
  %to_made = add i64 %to, 1
  br label %again
again:
  %from_after = phi i64 [ %from_dots, %dots ], [ %from_next, %picked ], [ %from_made, %made_axis ]
  %to_after = phi i64 [ %to_dots, %dots ], [ %to, %picked ], [ %to_made, %made_axis ]
  %at_after = phi i64 [ %at, %dots ], [ %at_picked, %picked ], [ %at_made, %made_axis ]
  %i_after = add i64 %i, 1
  br label %next
rest:
  %left = sub i64 %ndim, %from
  call void @copy_axes(ptr %extents, ptr %steps, i64 %from, i64 %left, ptr %shape, ptr %strides,
                       i64 %to)
  store i64 %at, ptr %offset
  ret i1 true
no:
  call void @PyErr_Clear()
  ret i1 false
}}

; takes over axes as they are
define internal void @copy_axes(ptr %extents, ptr %steps, i64 %from, i64 %count, ptr %shape,
                                ptr %strides, i64 %to) {{
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %copy ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %copy
copy:
  %source = add i64 %from, %i
  %target = add i64 %to, %i
  %extent = call ptr @tuple_item(ptr %extents, i64 %source)
  call void @Py_IncRef(ptr %extent)
  %set_extent = call i32 @PyTuple_SetItem(ptr %shape, i64 %target, ptr %extent)
  %stride = call ptr @tuple_item(ptr %steps, i64 %source)
  call void @Py_IncRef(ptr %stride)
  %set_stride = call i32 @PyTuple_SetItem(ptr %strides, i64 %target, ptr %stride)
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}}

; a layout; null, without an exception, where there is no memory
define internal ptr @laid(ptr %shape, ptr %strides, i64 %offset) {{
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %fail, label %number
number:
  %offset_object = call ptr @PyLong_FromLong(i64 %offset)
  %is_number = icmp ne ptr %offset_object, null
  br i1 %is_number, label %make, label %fail
make:
  %laid = call ptr @laid_at(ptr %shape, ptr %strides, ptr %offset_object)
  ret ptr %laid
fail:
  call void @PyErr_Clear()
  ret ptr null
}}

; the same with an offset whose reference it takes
define internal ptr @laid_at(ptr %shape, ptr %strides, ptr %offset_object) {{
  %class = call ptr @object(i64 {LAYOUT})
  %laid = call ptr @PyType_GenericAlloc(ptr %class, i64 3)
  %is_made = icmp ne ptr %laid, null
  br i1 %is_made, label %fill, label %drop
drop:
  call void @Py_DecRef(ptr %offset_object)
  call void @PyErr_Clear()
  ret ptr null
fill:
"""
    + NO_HASH
    + """  call void @Py_IncRef(ptr %shape)
  %set_shape = call i32 @PyTuple_SetItem(ptr %laid, i64 0, ptr %shape)
  call void @Py_IncRef(ptr %strides)
  %set_strides = call i32 @PyTuple_SetItem(ptr %laid, i64 1, ptr %strides)
  %set_offset = call i32 @PyTuple_SetItem(ptr %laid, i64 2, ptr %offset_object)
  ret ptr %laid
}}

; a view of an array of the engine with such a shape, strides and offset; null without memory
define internal ptr @view_with(ptr %self, ptr %shape, ptr %strides, i64 %offset) {{
  %laid = call ptr @laid(ptr %shape, ptr %strides, i64 %offset)
  %is_laid = icmp ne ptr %laid, null
  br i1 %is_laid, label %make, label %no
make:
  %view = call ptr @view_laid(ptr %self, ptr %laid)
  ret ptr %view
no:
  ret ptr null
}}

; the same with a layout, whose reference it takes
define internal ptr @view_laid(ptr %self, ptr %laid) {{
  %none = call ptr @none()
  %prototype = call ptr @object(i64 {VIEW_ARRAY})
  %view = call ptr @like(ptr %prototype, i64 {handle_words})
  %is_made = icmp ne ptr %view, null
  br i1 %is_made, label %fill, label %drop
drop:
  call void @Py_DecRef(ptr %laid)
  ret ptr null
fill:
  call void @set(ptr %view, i64 {handle_layout}, ptr %laid)
  %storage = call ptr @get(ptr %self, i64 {handle_storage})
  call void @share(ptr %view, i64 {handle_storage}, ptr %storage)
  %writeable = call ptr @get(ptr %self, i64 {handle_writeable})
  call void @share(ptr %view, i64 {handle_writeable}, ptr %writeable)
  %owner = call ptr @get(ptr %self, i64 {handle_owner})
  %is_own = icmp eq ptr %owner, %none
  %base = select i1 %is_own, ptr %self, ptr %owner
  call void @share(ptr %view, i64 {handle_owner}, ptr %base)
  %cast = call ptr @get(ptr %self, i64 {handle_cast})
  call void @share(ptr %view, i64 {handle_cast}, ptr %cast)
  ret ptr %view
}}

; a view of an array of the engine, or an element that is at hand; null without an exception for
; what Python has to do
define internal ptr @viewed(ptr %self, ptr %key) {{
  %layout = call ptr @get(ptr %self, i64 {handle_layout})
  call void @Py_IncRef(ptr %layout)
  %view = call ptr @viewed_by(ptr %self, ptr %key, ptr %layout)
  call void @Py_DecRef(ptr %layout)
  ret ptr %view
}}

; the same with a layout that stays, whatever an `__index__` or a finalizer does to the array
define internal ptr @viewed_by(ptr %self, ptr %key, ptr %layout) {{
  %taken_at = alloca i64
  %made_at = alloca i64
  %dots_at = alloca i64
  %offset_at = alloca i64
  %said = alloca [{kept_words} x i64]
  %is_engines = icmp ne ptr %layout, null ; small arrays have none
  br i1 %is_engines, label %elements, label %no
elements:
  %element_at = call i64 @element_offset(ptr %layout, ptr %key)
  %is_element = icmp sge i64 %element_at, 0
  br i1 %is_element, label %read, label %views
read:
  %element = call ptr @element(ptr %self, i64 %element_at)
  ret ptr %element
views:
  %basic = call i1 @is_basic(ptr %key)
  br i1 %basic, label %ask, label %no
ask:
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %ndim = call i64 @tuple_size(ptr %extents)
  %is_int = call i1 @is(ptr %key, i64 {int_})
  %has_rows = icmp sgt i64 %ndim, 1
  %is_row = and i1 %is_int, %has_rows
  br i1 %is_row, label %row, label %whole
row:
  %extent = call i64 @number_at(ptr %extents, i64 0)
  %place = call i64 @placed(ptr %key, i64 %extent)
  %inside = icmp sge i64 %place, 0
  br i1 %inside, label %move, label %no
move:
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %start = call i64 @number_at(ptr %layout, i64 2)
  %stride = call i64 @number_at(ptr %steps, i64 0)
  %moved = mul i64 %place, %stride
  %begin = add i64 %start, %moved
  %row_view = call ptr
    @cut_view(ptr %self, ptr %layout, i64 1, i64 %ndim, i64 %begin)
  ret ptr %row_view
whole:
  %column_at = call i64 @column_offset(ptr %layout, ptr %key, i64 %ndim)
  %is_column = icmp sge i64 %column_at, 0
  br i1 %is_column, label %column, label %look
column:
  %column_view = call ptr
    @cut_view(ptr %self, ptr %layout, i64 0, i64 1, i64 %column_at)
  ret ptr %column_view
look:
  %entry = call ptr @entry_of(ptr %layout, ptr %key, ptr %said)
  %known = call ptr @known_layout(ptr %entry, ptr %said)
  %is_unknown = icmp eq ptr %known, null
  br i1 %is_unknown, label %measure, label %again
again:
  %same_view = call ptr @view_laid(ptr %self, ptr %known)
  ret ptr %same_view
measure:
  %is_tuple = call i1 @is(ptr %key, i64 {tuple_})
  %items = call i64 @items_of(ptr %key, i1 %is_tuple)
  call void @count_axes(ptr %key, i1 %is_tuple, i64 %items, ptr %taken_at, ptr %made_at,
                        ptr %dots_at)
  %taken = load i64, ptr %taken_at
  %made = load i64, ptr %made_at
  %dots = load i64, ptr %dots_at
  %free = sub i64 %ndim, %taken
  %axes = add i64 %free, %made
  %fits = icmp sge i64 %free, 0
  %one = icmp sle i64 %dots, 1
  %first_axis = sub i64 %axes, 1
  %has_axes = icmp ult i64 %first_axis, 64
  %valid = and i1 %fits, %one
  %fine = and i1 %valid, %has_axes
  br i1 %fine, label %make, label %no
make:
  %shape = call ptr @PyTuple_New(i64 %axes)
  %strides = call ptr @PyTuple_New(i64 %axes)
  %done = call i1 @index(ptr %layout, ptr %key, i1 %is_tuple, i64 %items, i64 %taken, ptr %shape,
                         ptr %strides, ptr %offset_at)
  br i1 %done, label %lay, label %drop
lay:
  %offset = load i64, ptr %offset_at
  %view = call ptr @view_with(ptr %self, ptr %shape, ptr %strides, i64 %offset)
  call void @remember_layout(ptr %entry, ptr %said, ptr %view)
  br label %drop
drop:
  %result = phi ptr [ null, %make ], [ %view, %lay ]
  call void @Py_DecRef(ptr %shape)
  call void @Py_DecRef(ptr %strides)
  ret ptr %result
no:
  ret ptr null
}}
"""
)
