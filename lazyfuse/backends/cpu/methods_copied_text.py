"""Arrays that are copied for another shape, as LLVM text; see `methods.py`."""

from __future__ import annotations

COPIED = """
; stores the extents of a layout that are not one, and their strides: how many; more than MOST_AXES
; are none
define internal i64 @long_axes(ptr %layout, ptr %extents, ptr %strides) {
  %all_extents = call ptr @tuple_item(ptr %layout, i64 0)
  %all_steps = call ptr @tuple_item(ptr %layout, i64 1)
  %axes = call i64 @tuple_size(ptr %all_extents)
  %fit = icmp ule i64 %axes, MOST_AXES
  %most = select i1 %fit, i64 %axes, i64 0
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ], [ %after, %store ]
  %count = phi i64 [ 0, %0 ], [ %count, %look ], [ %count_after, %store ]
  %is_over = icmp sge i64 %i, %most
  br i1 %is_over, label %done, label %look
look:
  %extent = call i64 @number_at(ptr %all_extents, i64 %i)
  %after = add i64 %i, 1
  %is_one = icmp eq i64 %extent, 1
  br i1 %is_one, label %next, label %store
store:
  %stride = call i64 @number_at(ptr %all_steps, i64 %i)
  put i64 %extent, %extents[%count]
  put i64 %stride, %strides[%count]
  %count_after = add i64 %count, 1
  br label %next
done:
  ret i64 %count
}

; whether an array of this layout is copied for another shape of as many elements, of which there
; are some: `reshaped_layout` of `frontend/manipulation.py`
define internal i1 @is_copied(ptr %layout, ptr %shape, i64 %count) {
  %extents = alloca [MOST_AXES x i64]
  %strides = alloca [MOST_AXES x i64]
  %axes = call i64 @long_axes(ptr %layout, ptr %extents, ptr %strides)
  br label %next
next:
  %axis = phi i64 [ 0, %0 ], [ %last, %walk ]
  %position = phi i64 [ 0, %0 ], [ %stop, %walk ]
  %has_axes = icmp slt i64 %axis, %axes
  %has_places = icmp slt i64 %position, %count
  %goes_on = and i1 %has_axes, %has_places
  br i1 %goes_on, label %begin, label %no
begin:
  %first_span = get i64 %shape[%position]
  %first_have = get i64 %extents[%axis]
  %second_place = add i64 %position, 1
  %second_axis = add i64 %axis, 1
  br label %balance
balance:
  %span = phi i64 [ %first_span, %begin ], [ %more_span, %wider ], [ %span, %longer ]
  %have = phi i64 [ %first_have, %begin ], [ %have, %wider ], [ %more_have, %longer ]
  %stop = phi i64 [ %second_place, %begin ], [ %stop_after, %wider ], [ %stop, %longer ]
  %last = phi i64 [ %second_axis, %begin ], [ %last, %wider ], [ %last_after, %longer ]
  %is_even = icmp eq i64 %span, %have
  br i1 %is_even, label %walk, label %which
which:
  %is_less = icmp slt i64 %span, %have
  br i1 %is_less, label %wider, label %longer
wider:
  %next_span = get i64 %shape[%stop]
  %more_span = mul i64 %span, %next_span
  %stop_after = add i64 %stop, 1
  br label %balance
longer:
  %next_have = get i64 %extents[%last]
  %more_have = mul i64 %have, %next_have
  %last_after = add i64 %last, 1
  br label %balance
walk:
  %k = phi i64 [ %axis, %balance ], [ %inner, %compare ]
  %inner = add i64 %k, 1
  %is_walked = icmp sge i64 %inner, %last
  br i1 %is_walked, label %next, label %compare
compare:
  %slow = get i64 %strides[%k]
  %fast = get i64 %strides[%inner]
  %extent = get i64 %extents[%inner]
  %wanted = mul i64 %fast, %extent
  %is_step = icmp eq i64 %slow, %wanted
  br i1 %is_step, label %walk, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; whether an array of this layout is copied for a shape, which is read
define internal i1 @is_copied_for(ptr %layout, ptr %items, i64 %count, ptr %shape) {
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %elements = call i64 @count_in(ptr %extents)
  %has_some = icmp sgt i64 %elements, 0
  br i1 %has_some, label %read, label %no
read:
  %is_shape = call i1 @shape_read(ptr %items, i64 %count, i64 %elements, ptr %shape)
  br i1 %is_shape, label %lie, label %no
lie:
  %is_copied = call i1 @is_copied(ptr %layout, ptr %shape, i64 %count)
  ret i1 %is_copied
no:
  ret i1 false
}

; a copy of an array in C order, in a shape that has been read from these arguments; null for what
; is Python's
define internal ptr @copied_in_shape(ptr %self, ptr %args, i64 %count, ptr %shape, i64 %axes) {
  %copied = call ptr @copied_part(ptr %self, i1 false)
  %is_other = icmp eq ptr %copied, null
  br i1 %is_other, label %ask, label %wrap
wrap:
  %none = call ptr @none()
  %root = call ptr @wrapped(ptr %copied, ptr %none)
  %is_lost = icmp eq ptr %root, null
  br i1 %is_lost, label %no, label %view
view:
  %view_made = call ptr @view_of_copy(ptr %copied, ptr %shape, i64 %axes)
  %view_wrapped = call ptr @wrapped(ptr %view_made, ptr %root)
  call void @Py_DecRef(ptr %root)
  ret ptr %view_wrapped
ask:
  %error = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %error, null
  br i1 %has_raised, label %no, label %whole
whole:
  %copy = call ptr @object(i64 T_COPY_METHOD)
  %base = call ptr
    @small_call(ptr %copy, ptr %self, ptr %args, i64 0, ptr null, i64 FLATTEN_RULE)
  %is_pythons = icmp eq ptr %base, null
  br i1 %is_pythons, label %no, label %large
large:
  %of_large = call ptr @engine_reshape(ptr %base, ptr %args, i64 %count, ptr null)
  %is_small = icmp eq ptr %of_large, null
  br i1 %is_small, label %small, label %shaped
small:
  %reshape = call ptr @object(i64 T_RESHAPE)
  %of_small = call ptr
    @small_call(ptr %reshape, ptr %base, ptr %args, i64 %count, ptr null, i64 RULE_NONE)
  br label %shaped
shaped:
  %made = phi ptr [ %of_large, %large ], [ %of_small, %small ]
  call void @Py_DecRef(ptr %base)
  ret ptr %made
no:
  ret ptr null
}

; a view in C order, in this shape, of an array of NumPy's in C order; null for an exception
define internal ptr @view_of_copy(ptr %array, ptr %shape, i64 %axes) {
  %dtype = get ptr %array[DESCR]
  %data = get ptr %array[DATA]
  %arrays = call ptr @object(i64 T_NDARRAY)
  %maker = call ptr @object(i64 T_NEW_ARRAY)
  %nd = trunc i64 %axes to i32
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr %maker(ptr %arrays, ptr %dtype, i32 %nd, ptr %shape, ptr null, ptr %data,
                          i32 WRITEABLE_FLAG, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %keep
keep:
  call void @Py_IncRef(ptr %array)
  %keeper = call ptr @object(i64 T_SET_BASE)
  %status = call i32 %keeper(ptr %made, ptr %array)
  %is_kept = icmp eq i32 %status, 0
  br i1 %is_kept, label %give, label %undo
give:
  ret ptr %made
undo:
  call void @Py_DecRef(ptr %made)
  br label %no
no:
  ret ptr null
}

; a copy of an array in C order, with one axis; null for what is Python's
define internal ptr @copied_in_line(ptr %self, ptr %args) {
  %copied = call ptr @copied_part(ptr %self, i1 true)
  %is_other = icmp eq ptr %copied, null
  br i1 %is_other, label %flatten, label %wrap
wrap:
  %none = call ptr @none()
  %array = call ptr @wrapped(ptr %copied, ptr %none)
  ret ptr %array
flatten:
  %error = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %error, null
  br i1 %has_raised, label %no, label %in_line
in_line:
  %line = call ptr @flattened(ptr %self, ptr %args)
  ret ptr %line
no:
  ret ptr null
}

; the same by NumPy
define internal ptr @flattened(ptr %self, ptr %args) {
  %flatten = call ptr @object(i64 T_FLATTEN)
  %copied = call ptr
    @small_call(ptr %flatten, ptr %self, ptr %args, i64 0, ptr null, i64 FLATTEN_RULE)
  ret ptr %copied
}

; a new array of NumPy's in C order, of one axis if that is asked for, of the elements of an array
; of the engine that are computed, and few: NumPy's iterator takes longer than the copy. Null for
; others, and for an exception
define internal ptr @copied_part(ptr %self, i1 %is_line) {
  %extents = alloca [MOST_AXES x i64]
  %steps = alloca [MOST_AXES x i64]
  %length = alloca i64
  %most = call i64 @eager_size()
  %are_any = icmp sgt i64 %most, 0
  br i1 %are_any, label %memory, label %no
memory:
  %buffer = call ptr @settled_memory(ptr %self)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %no, label %measure
measure:
  %code = call ptr @code_shown(ptr %self)
  %bytes = call i64 @item_bytes(ptr %code)
  %layout = call ptr @get(ptr %self, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %own_axes = call i64 @tuple_size(ptr %shape)
  %count = call i64 @laid_out(ptr %layout, i64 %bytes, ptr %extents, ptr %steps)
  %less = sub i64 %count, 1
  %are_few = icmp ult i64 %less, %most
  %is_word = icmp ule i64 %bytes, 8
  %dtype = call ptr @dtype_of(ptr %code)
  %is_known = icmp ne ptr %dtype, null
  %has_axes = icmp ne i64 %own_axes, 0
  %fits = and i1 %are_few, %is_word
  %is_fine = and i1 %is_known, %has_axes
  %can = and i1 %fits, %is_fine
  br i1 %can, label %make, label %drop
make:
  store i64 %count, ptr %length
  %new_axes = select i1 %is_line, i64 1, i64 %own_axes
  %new_shape = select i1 %is_line, ptr %length, ptr %extents
  %nd = trunc i64 %new_axes to i32
  %arrays = call ptr @object(i64 T_NDARRAY)
  %maker = call ptr @object(i64 T_NEW_ARRAY)
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr %maker(ptr %arrays, ptr %dtype, i32 %nd, ptr %new_shape, ptr null, ptr null,
                          i32 0, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %drop, label %copy
copy:
  %offset = call i64 @number_at(ptr %layout, i64 2)
  %from = call ptr @element_at(ptr %buffer, i64 %offset, i64 %bytes)
  %to = get ptr %made[DATA]
  %is_copied = call i1
    @copy_laid(ptr %to, ptr %from, ptr %extents, ptr %steps, i64 %own_axes, i64 %bytes)
  br i1 %is_copied, label %drop, label %undo
undo:
  call void @Py_DecRef(ptr %made)
  br label %drop
drop:
  %found = phi ptr [ null, %measure ], [ null, %make ], [ %made, %copy ], [ null, %undo ]
  call void @Py_DecRef(ptr %buffer)
  ret ptr %found
no:
  ret ptr null
}

; copies elements of some axes, one at least and none without elements, whose steps are bytes, to a
; row; whether there is code for it
define internal i1 @copy_laid(ptr %to, ptr %from, ptr %extents, ptr %steps, i64 %axes,
                              i64 %bytes) {
  %places = alloca [MOST_AXES x i64]
  %last = sub i64 %axes, 1
  %count = get i64 %extents[%last]
  %step = get i64 %steps[%last]
  %row_bytes = mul i64 %count, %bytes
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %clear ]
  %is_clear = icmp sge i64 %i, %last
  br i1 %is_clear, label %row, label %clear
clear:
  put i64 0, %places[%i]
  %after = add i64 %i, 1
  br label %next
row:
  %to_now = phi ptr [ %to, %next ], [ %to_after, %go_on ]
  %from_now = phi ptr [ %from, %next ], [ %from_after, %go_on ]
  %is_copied = call i1 @copy_line(ptr %to_now, i64 %bytes, ptr %from_now, i64 %step, i64 %count,
                                  i64 %bytes)
  br i1 %is_copied, label %advance, label %no
advance:
  %to_after = getelementptr i8, ptr %to_now, i64 %row_bytes
  br label %carry
carry:
  %axis = phi i64 [ %last, %advance ], [ %outer, %again ]
  %from_there = phi ptr [ %from_now, %advance ], [ %from_back, %again ]
  %is_over = icmp eq i64 %axis, 0
  br i1 %is_over, label %yes, label %move
move:
  %outer = sub i64 %axis, 1
  %before = get i64 %places[%outer]
  %place = add i64 %before, 1
  %outer_step = get i64 %steps[%outer]
  %extent = get i64 %extents[%outer]
  %from_after = getelementptr i8, ptr %from_there, i64 %outer_step
  %is_end = icmp eq i64 %place, %extent
  br i1 %is_end, label %again, label %go_on
go_on:
  put i64 %place, %places[%outer]
  br label %row
again:
  put i64 0, %places[%outer]
  %span = mul i64 %outer_step, %extent
  %back = sub i64 0, %span
  %from_back = getelementptr i8, ptr %from_after, i64 %back
  br label %carry
yes:
  ret i1 true
no:
  ret i1 false
}
"""
