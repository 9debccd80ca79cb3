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

; what has the shape to which two are broadcast, one of both; null where neither has. A number has
; none, and is null
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
  %found = select i1 %b_covers, ptr %b, ptr null
  ret ptr %found
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
