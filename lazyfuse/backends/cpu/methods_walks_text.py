"""How to walk over operands that do not lie in one piece, as LLVM text; for
`methods_rows_text.py`.

It is for what gives a result in C order, as NumPy does if the strides of no operand grow from axis
to axis: `npyiter_find_best_axis_ordering` in numpy/_core/src/multiarray/nditer_constr.c. Axes over
which all operands go on as if they were one are joined. The words of a walk: `rows_text.py`.
"""

from __future__ import annotations

WALKS = """
; an array of NumPy's that has axes and lies as a processor likes it; null for others
define internal ptr @array_with_axes(ptr %object) alwaysinline {
  %is_array = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_array, label %look, label %no
look:
  %flags = get i32 %object[ARRAY_FLAGS]
  %aligned = and i32 %flags, ALIGNED_FLAG
  %is_aligned = icmp ne i32 %aligned, 0
  %nd = get i32 %object[ND]
  %has_axes = icmp sgt i32 %nd, 0
  %can = and i1 %is_aligned, %has_axes
  br i1 %can, label %yes, label %no
yes:
  ret ptr %object
no:
  ret ptr null
}

define internal i64 @rows_axes(ptr %array) {
  %is_number = icmp eq ptr %array, null
  br i1 %is_number, label %none, label %some
some:
  %nd = get i32 %array[ND]
  %axes = sext i32 %nd to i64
  ret i64 %axes
none:
  ret i64 0
}

; extent and stride of an operand along an axis of a result with so many: 1 and 0 where it has none
define internal void @rows_axis(ptr %array, i64 %axis, i64 %axes, ptr %pair) {
  %own = call i64 @rows_axes(ptr %array)
  %missing = sub i64 %axes, %own
  %place = sub i64 %axis, %missing
  %has_none = icmp slt i64 %place, 0
  br i1 %has_none, label %none, label %look
look:
  %extents = get ptr %array[DIMENSIONS]
  %strides = get ptr %array[STRIDES]
  %extent = get i64 %extents[%place]
  %stride = get i64 %strides[%place]
  %is_one = icmp eq i64 %extent, 1
  %step = select i1 %is_one, i64 0, i64 %stride
  put i64 %extent, %pair[0]
  put i64 %step, %pair[1]
  ret void
none:
  put i64 1, %pair[0]
  put i64 0, %pair[1]
  ret void
}

; whether a stride is no larger than those of the axes before, which stand at `least_at`
define internal i1 @rows_fall(ptr %walk, i64 %least_at, i64 %stride) {
  %is_still = icmp eq i64 %stride, 0
  br i1 %is_still, label %yes, label %compare
compare:
  %before = get i64 %walk[%least_at]
  %is_up = icmp sgt i64 %stride, 0
  %falls = icmp sle i64 %stride, %before
  %can = and i1 %is_up, %falls
  br i1 %can, label %keep, label %no
keep:
  put i64 %stride, %walk[%least_at]
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; how to walk over one or two operands (null for a number) that are broadcast to one shape; whether
; their elements are so many and lie so that a result has C order
define internal i1 @rows_shape(ptr %a, ptr %b, ptr %walk) {
  %a_pair = alloca [2 x i64]
  %b_pair = alloca [2 x i64]
  %a_axes = call i64 @rows_axes(ptr %a)
  %b_axes = call i64 @rows_axes(ptr %b)
  %a_has_more = icmp sgt i64 %a_axes, %b_axes
  %axes = select i1 %a_has_more, i64 %a_axes, i64 %b_axes
  %are_few = icmp sle i64 %axes, WALK_AXES
  put i64 0, %walk[WALK_COUNT]
  put i64 1, %walk[WALK_TOTAL]
  put i64 9223372036854775807, %walk[WALK_LEAST_A]
  put i64 9223372036854775807, %walk[WALK_LEAST_B]
  br i1 %are_few, label %next, label %no
next:
  %axis = phi i64 [ 0, %0 ], [ %after, %done ]
  %is_over = icmp sge i64 %axis, %axes
  br i1 %is_over, label %yes, label %measure
measure:
  call void @rows_axis(ptr %a, i64 %axis, i64 %axes, ptr %a_pair)
  call void @rows_axis(ptr %b, i64 %axis, i64 %axes, ptr %b_pair)
  %a_extent = get i64 %a_pair[0]
  %b_extent = get i64 %b_pair[0]
  %a_stride = get i64 %a_pair[1]
  %b_stride = get i64 %b_pair[1]
  %a_is_one = icmp eq i64 %a_extent, 1
  %b_is_one = icmp eq i64 %b_extent, 1
  %extent = select i1 %a_is_one, i64 %b_extent, i64 %a_extent
  %is_same = icmp eq i64 %b_extent, %extent
  %fits = or i1 %b_is_one, %is_same
  %has_some = icmp sgt i64 %extent, 0
  %is_bounded = icmp sle i64 %extent, WALK_MOST
  %total_before = get i64 %walk[WALK_TOTAL]
  %total = mul i64 %total_before, %extent
  %is_little = icmp sle i64 %total, WALK_MOST
  %has_elements = and i1 %has_some, %is_bounded
  %is_small = and i1 %has_elements, %is_little
  %can = and i1 %fits, %is_small
  br i1 %can, label %keep, label %no
keep:
  put i64 %total, %walk[WALK_TOTAL]
  %shape_place = add i64 %axis, WALK_SHAPE
  put i64 %extent, %walk[%shape_place]
  %is_one = icmp eq i64 %extent, 1
  br i1 %is_one, label %done, label %order
order:
  %a_falls = call i1 @rows_fall(ptr %walk, i64 WALK_LEAST_A, i64 %a_stride)
  %b_falls = call i1 @rows_fall(ptr %walk, i64 WALK_LEAST_B, i64 %b_stride)
  %both_fall = and i1 %a_falls, %b_falls
  br i1 %both_fall, label %add, label %no
add:
  call void @rows_add(ptr %walk, i64 %extent, i64 %a_stride, i64 %b_stride)
  br label %done
done:
  %after = add i64 %axis, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; one more axis, joined with the one before where both operands go on
define internal void @rows_add(ptr %walk, i64 %extent, i64 %a_stride, i64 %b_stride) {
  %count = get i64 %walk[WALK_COUNT]
  %last = sub i64 %count, 1
  %extent_last = add i64 %last, WALK_EXTENT
  %a_last = add i64 %last, WALK_A
  %b_last = add i64 %last, WALK_B
  %is_first = icmp eq i64 %count, 0
  br i1 %is_first, label %new, label %compare
compare:
  %a_before = get i64 %walk[%a_last]
  %b_before = get i64 %walk[%b_last]
  %a_whole = mul i64 %a_stride, %extent
  %b_whole = mul i64 %b_stride, %extent
  %a_goes_on = icmp eq i64 %a_before, %a_whole
  %b_goes_on = icmp eq i64 %b_before, %b_whole
  %goes_on = and i1 %a_goes_on, %b_goes_on
  br i1 %goes_on, label %join, label %new
join:
  %extent_before = get i64 %walk[%extent_last]
  %joined = mul i64 %extent_before, %extent
  br label %write
new:
  %grown = add i64 %count, 1
  put i64 %grown, %walk[WALK_COUNT]
  br label %write
write:
  %place = phi i64 [ %last, %join ], [ %count, %new ]
  %length = phi i64 [ %joined, %join ], [ %extent, %new ]
  %extent_place = add i64 %place, WALK_EXTENT
  %a_place = add i64 %place, WALK_A
  %b_place = add i64 %place, WALK_B
  %index_place = add i64 %place, WALK_INDEX
  put i64 %length, %walk[%extent_place]
  put i64 %a_stride, %walk[%a_place]
  put i64 %b_stride, %walk[%b_place]
  put i64 0, %walk[%index_place]
  ret void
}

; whether there are several rows, in which elements follow each other or are one
define internal i1 @rows_fit(ptr %walk, i64 %bytes) {
  %count = get i64 %walk[WALK_COUNT]
  %are_several = icmp sgt i64 %count, 1
  br i1 %are_several, label %look, label %no
look:
  %last = sub i64 %count, 1
  %a_place = add i64 %last, WALK_A
  %b_place = add i64 %last, WALK_B
  %a_step = get i64 %walk[%a_place]
  %b_step = get i64 %walk[%b_place]
  %a_follows = icmp eq i64 %a_step, %bytes
  %b_follows = icmp eq i64 %b_step, %bytes
  %a_is_one = icmp eq i64 %a_step, 0
  %b_is_one = icmp eq i64 %b_step, 0
  %a_fits = or i1 %a_follows, %a_is_one
  %b_fits = or i1 %b_follows, %b_is_one
  %both = and i1 %a_fits, %b_fits
  ret i1 %both
no:
  ret i1 false
}

; whether the elements of a walk's first operand lie apart, so that all can be written
define internal i1 @rows_apart(ptr %walk, i64 %bytes) {
  %count = get i64 %walk[WALK_COUNT]
  br label %next
next:
  %left = phi i64 [ %count, %0 ], [ %axis, %apart ]
  %taken = phi i64 [ %bytes, %0 ], [ %more, %apart ]
  %is_over = icmp eq i64 %left, 0
  br i1 %is_over, label %yes, label %look
look:
  %axis = sub i64 %left, 1
  %extent_place = add i64 %axis, WALK_EXTENT
  %stride_place = add i64 %axis, WALK_A
  %extent = get i64 %walk[%extent_place]
  %stride = get i64 %walk[%stride_place]
  %is_apart = icmp sge i64 %stride, %taken
  br i1 %is_apart, label %apart, label %no
apart:
  %more = mul i64 %stride, %extent
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}
"""
