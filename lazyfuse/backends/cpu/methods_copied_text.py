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

; a copy of an array in C order, reshaped as these arguments say; null for what is Python's
define internal ptr @copied_in_shape(ptr %self, ptr %args, i64 %count) {
  %line = call ptr @copied_in_line(ptr %self, ptr %args)
  %is_pythons = icmp eq ptr %line, null
  br i1 %is_pythons, label %no, label %shaped
shaped:
  %reshape = call ptr @object(i64 T_RESHAPE)
  %made = call ptr
    @small_call(ptr %reshape, ptr %line, ptr %args, i64 %count, ptr null, i64 RULE_NONE)
  call void @Py_DecRef(ptr %line)
  ret ptr %made
no:
  ret ptr null
}

; a copy of an array in C order, with one axis; null for what is Python's
define internal ptr @copied_in_line(ptr %self, ptr %args) {
  %flatten = call ptr @object(i64 T_FLATTEN)
  %copied = call ptr
    @small_call(ptr %flatten, ptr %self, ptr %args, i64 0, ptr null, i64 FLATTEN_RULE)
  ret ptr %copied
}
"""
