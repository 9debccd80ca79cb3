"""Shapes of what is put off, as LLVM text; see `defer_text.py`."""

from __future__ import annotations

SHAPES = """
define internal i64 @elements(ptr %host) {
  %nd = get i32 %host[ND]
  %axes = sext i32 %nd to i64
  %extents = get ptr %host[DIMENSIONS]
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %size = phi i64 [ 1, %0 ], [ %product, %more ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %done, label %more
more:
  %extent = get i64 %extents[%i]
  %product = mul i64 %size, %extent
  %after = add i64 %i, 1
  br label %next
done:
  ret i64 %size
}

; what has the shape to which two are broadcast: one of both, or `@joint`; null where that is none
; of a small array. A number has none, and is null
define internal ptr @wider(ptr %a, ptr %b) {
  %no_a = icmp eq ptr %a, null
  br i1 %no_a, label %second, label %look
second:
  ret ptr %b
look:
  %no_b = icmp eq ptr %b, null
  br i1 %no_b, label %first, label %compare
compare:
  %a_covers = call i1 @covers(ptr %a, ptr %b)
  br i1 %a_covers, label %first, label %other
first:
  ret ptr %a
other:
  %b_covers = call i1 @covers(ptr %b, ptr %a)
  br i1 %b_covers, label %second, label %neither
neither:
  %joint = call ptr @joined_shape(ptr %a, ptr %b)
  ret ptr %joint
}

; what has the shape to which the operands of one operation are broadcast, where none has it: words
; of it lie as those of an array do
@joint = internal global [JOINT_WORDS x i64] zeroinitializer

; writes that shape of two; null where they do not fit, or it is none of a small array
define internal ptr @joined_shape(ptr %a, ptr %b) {
  %extents = alloca [MOST_JOINT x i64]
  %a_nd = get i32 %a[ND]
  %b_nd = get i32 %b[ND]
  %a_is_longer = icmp sgt i32 %a_nd, %b_nd
  %nd = select i1 %a_is_longer, i32 %a_nd, i32 %b_nd
  %are_few = icmp sle i32 %nd, MOST_JOINT
  br i1 %are_few, label %next, label %no
next:
  %i = phi i32 [ 0, %0 ], [ %after, %write ]
  %size = phi i64 [ 1, %0 ], [ %product, %write ]
  %is_over = icmp sge i32 %i, %nd
  br i1 %is_over, label %limit, label %compare
compare:
  %a_extent = call i64 @extent(ptr %a, i32 %i)
  %b_extent = call i64 @extent(ptr %b, i32 %i)
  %a_is_one = icmp eq i64 %a_extent, 1
  %b_is_one = icmp eq i64 %b_extent, 1
  %same = icmp eq i64 %a_extent, %b_extent
  %is_one = or i1 %a_is_one, %b_is_one
  %fits = or i1 %is_one, %same
  br i1 %fits, label %write, label %no
write:
  %extent = select i1 %a_is_one, i64 %b_extent, i64 %a_extent
  %after = add i32 %i, 1
  %place = sub i32 %nd, %after
  %at = sext i32 %place to i64
  put i64 %extent, %extents[%at]
  %product = mul i64 %size, %extent
  br label %next
limit:
  %sized = get ptr @state[SIZE_OPTIONS]
  %allowed = get ptr @state[ALLOWED]
  %is_known = icmp eq ptr %sized, %allowed
  %most = get i64 @state[EAGER_SIZE]
  %is_small = icmp sle i64 %size, %most
  %can = and i1 %is_known, %is_small
  br i1 %can, label %give, label %no
give:
  %axes = sext i32 %nd to i64
  %own = getelementptr i64, ptr @joint, i64 JOINT_EXTENTS
  put i64 %axes, @joint[ND]
  put ptr %own, @joint[DIMENSIONS]
  %bytes = mul i64 %axes, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %extents, i64 %bytes, i1 false)
  ret ptr @joint
no:
  ret ptr null
}

; whether an array is broadcast to the shape of another one
define internal i1 @covers(ptr %whole, ptr %part) {
  %whole_nd = get i32 %whole[ND]
  %part_nd = get i32 %part[ND]
  %is_larger = icmp sge i32 %whole_nd, %part_nd
  br i1 %is_larger, label %next, label %no
next:
  %i = phi i32 [ 0, %0 ], [ %after, %fits ]
  %is_over = icmp sge i32 %i, %part_nd
  br i1 %is_over, label %yes, label %compare
compare:
  %whole_extent = call i64 @extent(ptr %whole, i32 %i)
  %part_extent = call i64 @extent(ptr %part, i32 %i)
  %same = icmp eq i64 %whole_extent, %part_extent
  %is_one = icmp eq i64 %part_extent, 1
  %can = or i1 %same, %is_one
  br i1 %can, label %fits, label %no
fits:
  %after = add i32 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}
"""
