"""Walking over the rows of operands that do not lie in one piece, as LLVM text; see
`methods_rows_text.py`.

    lf_rows(number, out, out_bytes, a, b, bytes, walk)   a loop of `methods_loops_text.py` by its
                                                         number, over elements of so many bytes
    lf_rows_copy(to, from, bytes, walk)                  dense elements to where the walk goes
    lf_loops()                                           the table of loops (`computing_text.py`)

Elements along one axis are those of `methods_lines_text.py`.

It is a module of its own, since it is optimized, which takes four times as long. A row that comes
again and again is repeated until it is long.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu import computing_text, masked_lines_text, methods_folds_text
from lazyfuse.backends.cpu.methods_lines_text import LOOPS
from lazyfuse.backends.cpu.methods_loops_text import (
    QUICK_MOST,
    ROWS,
    choices,
    declarations,
    loops,
)
from lazyfuse.backends.cpu.short_forms import expanded, numbered

#: Axes of a result, and its elements, at most.
_AXES, _MOST = 8, 1 << 17
#: Elements of a row that is repeated, and of one that is short enough for that.
_LONG_ROW, _SHORT_ROW = 1024, 256

#: Words of a walk: how many axes it has after joining, how many elements, the smallest strides so
#: far; then for each axis of the result its extent, and for each joined one its extent, the
#: strides of both operands in bytes, and where the walk is.
_WORDS = numbered("WALK_COUNT", "WALK_TOTAL", "WALK_LEAST_A", "WALK_LEAST_B")
_TABLES = ("WALK_SHAPE", "WALK_EXTENT", "WALK_A", "WALK_B", "WALK_INDEX")
WORDS: Mapping[str, int] = {
    **_WORDS,
    **{name: 8 + _AXES * number for number, name in enumerate(_TABLES)},
    "WALK_WORDS": 8 + _AXES * len(_TABLES),
    "WALK_AXES": _AXES,
    "WALK_MOST": _MOST,
    "LONG_ROW": _LONG_ROW,
    "SHORT_ROW": _SHORT_ROW,
}


def text() -> str:
    """The module."""
    elements = "".join(loops(name) for name in ROWS) + choices() + methods_folds_text.loops()
    lines = LOOPS + masked_lines_text.LOOPS
    source = f"{declarations()}\n{elements}{computing_text.table()}{_TEXT}{lines}"
    return expanded(source, {**WORDS, "QUICK_MOST": QUICK_MOST})


_TEXT = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; go to the next row: the pointers, which `at` has, are moved; whether there is one
define internal i1 @rows_next(ptr %walk, ptr %at) alwaysinline {
  %count = get i64 %walk[WALK_COUNT]
  %outer = sub i64 %count, 2
  br label %step
step:
  %axis = phi i64 [ %outer, %0 ], [ %before, %back ]
  %is_over = icmp slt i64 %axis, 0
  br i1 %is_over, label %no, label %move
move:
  %extent_place = add i64 %axis, WALK_EXTENT
  %a_place = add i64 %axis, WALK_A
  %b_place = add i64 %axis, WALK_B
  %index_place = add i64 %axis, WALK_INDEX
  %extent = get i64 %walk[%extent_place]
  %a_stride = get i64 %walk[%a_place]
  %b_stride = get i64 %walk[%b_place]
  %index = get i64 %walk[%index_place]
  %a = get i64 %at[0]
  %b = get i64 %at[1]
  %after = add i64 %index, 1
  %is_full = icmp sge i64 %after, %extent
  br i1 %is_full, label %back, label %forward
forward:
  %a_next = add i64 %a, %a_stride
  %b_next = add i64 %b, %b_stride
  put i64 %after, %walk[%index_place]
  put i64 %a_next, %at[0]
  put i64 %b_next, %at[1]
  ret i1 true
back:
  %a_gone = mul i64 %a_stride, %index
  %b_gone = mul i64 %b_stride, %index
  %a_begin = sub i64 %a, %a_gone
  %b_begin = sub i64 %b, %b_gone
  put i64 0, %walk[%index_place]
  put i64 %a_begin, %at[0]
  put i64 %b_begin, %at[1]
  %before = sub i64 %axis, 1
  br label %step
no:
  ret i1 false
}

; where a loop reads a row: there, or where its only element is written as often as a step takes it
define internal ptr @rows_from(i64 %at, i64 %step, i64 %bytes, ptr %room) alwaysinline {
  %there = inttoptr i64 %at to ptr
  %is_one = icmp eq i64 %step, 0
  br i1 %is_one, label %look, label %many
many:
  ret ptr %there
look:
  %is_wide = icmp eq i64 %bytes, 8
  br i1 %is_wide, label %eight, label %four
eight:
  %wide = load i64, ptr %there, align 4
  %wide_one = insertelement <16 x i64> poison, i64 %wide, i64 0
  %wides = shufflevector <16 x i64> %wide_one, <16 x i64> poison, <16 x i32> zeroinitializer
  store <16 x i64> %wides, ptr %room, align 8
  ret ptr %room
four:
  %short = load i32, ptr %there, align 4
  %short_one = insertelement <16 x i32> poison, i32 %short, i64 0
  %shorts = shufflevector <16 x i32> %short_one, <16 x i32> poison, <16 x i32> zeroinitializer
  store <16 x i32> %shorts, ptr %room, align 8
  ret ptr %room
}

; a loop over all rows
define internal void @rows_walk(ptr %loop, ptr %out, i64 %out_bytes, ptr %a, ptr %b, i64 %bytes,
                                ptr %walk) {
  %a_room = alloca [16 x i64], align 32
  %b_room = alloca [16 x i64], align 32
  %at = alloca [2 x i64]
  %a_number = ptrtoint ptr %a to i64
  %b_number = ptrtoint ptr %b to i64
  put i64 %a_number, %at[0]
  put i64 %b_number, %at[1]
  %count = get i64 %walk[WALK_COUNT]
  %last = sub i64 %count, 1
  %extent_place = add i64 %last, WALK_EXTENT
  %a_place = add i64 %last, WALK_A
  %b_place = add i64 %last, WALK_B
  %length = get i64 %walk[%extent_place]
  %a_stride = get i64 %walk[%a_place]
  %b_stride = get i64 %walk[%b_place]
  %a_is_one = icmp eq i64 %a_stride, 0
  %b_is_one = icmp eq i64 %b_stride, 0
  %a_step = select i1 %a_is_one, i64 0, i64 1
  %b_step = select i1 %b_is_one, i64 0, i64 1
  %row_bytes = mul i64 %length, %out_bytes
  br label %row
row:
  %to = phi ptr [ %out, %0 ], [ %to_after, %row_done ]
  %a_at = get i64 %at[0]
  %b_at = get i64 %at[1]
  %a_from = call ptr @rows_from(i64 %a_at, i64 %a_stride, i64 %bytes, ptr %a_room)
  %b_from = call ptr @rows_from(i64 %b_at, i64 %b_stride, i64 %bytes, ptr %b_room)
  call void %loop(ptr %to, ptr %a_from, i64 %a_step, ptr %b_from, i64 %b_step, i64 %length)
  %to_after = getelementptr i8, ptr %to, i64 %row_bytes
  %has_more = call i1 @rows_next(ptr %walk, ptr %at)
  br label %row_done
row_done:
  br i1 %has_more, label %row, label %done
done:
  ret void
}

; which operand is a short row that comes again for each row of the other, which is dense: 1 for
; the first, 2 for the second, 0 for none
define internal i64 @rows_again(ptr %walk, i64 %bytes) {
  %count = get i64 %walk[WALK_COUNT]
  %length_place = add i64 WALK_EXTENT, 1
  %length = get i64 %walk[%length_place]
  %are_two = icmp eq i64 %count, 2
  %is_short = icmp sle i64 %length, SHORT_ROW
  %can = and i1 %are_two, %is_short
  br i1 %can, label %look, label %no
look:
  %whole = mul i64 %length, %bytes
  %a_outer = get i64 %walk[WALK_A]
  %b_outer = get i64 %walk[WALK_B]
  %a_inner_place = add i64 WALK_A, 1
  %b_inner_place = add i64 WALK_B, 1
  %a_inner = get i64 %walk[%a_inner_place]
  %b_inner = get i64 %walk[%b_inner_place]
  %a_follows = icmp eq i64 %a_inner, %bytes
  %b_follows = icmp eq i64 %b_inner, %bytes
  %both_follow = and i1 %a_follows, %b_follows
  br i1 %both_follow, label %which, label %no
which:
  %a_is_dense = icmp eq i64 %a_outer, %whole
  %b_is_dense = icmp eq i64 %b_outer, %whole
  %a_stays = icmp eq i64 %a_outer, 0
  %b_stays = icmp eq i64 %b_outer, 0
  %is_first = and i1 %a_stays, %b_is_dense
  %is_second = and i1 %b_stays, %a_is_dense
  %if_second = select i1 %is_second, i64 2, i64 0
  %found = select i1 %is_first, i64 1, i64 %if_second
  ret i64 %found
no:
  ret i64 0
}

; the same as `rows_walk` where the first operand (1) or the second (2) comes again: several of its
; rows at a time
define internal void @rows_long(ptr %loop, ptr %out, i64 %out_bytes, ptr %a, ptr %b, i64 %bytes,
                                ptr %walk, i64 %which) {
  %pack = alloca [LONG_ROW x i64], align 32
  %is_first = icmp eq i64 %which, 1
  %again = select i1 %is_first, ptr %a, ptr %b
  %dense = select i1 %is_first, ptr %b, ptr %a
  %length_place = add i64 WALK_EXTENT, 1
  %length = get i64 %walk[%length_place]
  %total = get i64 %walk[WALK_TOTAL]
  %times = udiv i64 LONG_ROW, %length
  %most = mul i64 %times, %length
  %is_enough = icmp slt i64 %total, %most
  %chunk = select i1 %is_enough, i64 %total, i64 %most
  %row_bytes = mul i64 %length, %bytes
  br label %fill
fill:
  %filled = phi i64 [ 0, %0 ], [ %filled_after, %copy ]
  %is_full = icmp sge i64 %filled, %chunk
  br i1 %is_full, label %next, label %copy
copy:
  %skipped = mul i64 %filled, %bytes
  %pack_at = getelementptr i8, ptr %pack, i64 %skipped
  call void @llvm.memcpy.p0.p0.i64(ptr %pack_at, ptr %again, i64 %row_bytes, i1 false)
  %filled_after = add i64 %filled, %length
  br label %fill
next:
  %i = phi i64 [ 0, %fill ], [ %i_after, %run ]
  %left = sub i64 %total, %i
  %is_over = icmp sle i64 %left, 0
  br i1 %is_over, label %done, label %run
run:
  %is_rest = icmp slt i64 %left, %chunk
  %count = select i1 %is_rest, i64 %left, i64 %chunk
  %from_place = mul i64 %i, %bytes
  %to_place = mul i64 %i, %out_bytes
  %from = getelementptr i8, ptr %dense, i64 %from_place
  %to = getelementptr i8, ptr %out, i64 %to_place
  %a_from = select i1 %is_first, ptr %pack, ptr %from
  %b_from = select i1 %is_first, ptr %from, ptr %pack
  call void %loop(ptr %to, ptr %a_from, i64 1, ptr %b_from, i64 1, i64 %count)
  %i_after = add i64 %i, %chunk
  br label %next
done:
  ret void
}

define void @lf_rows(i64 %number, ptr %out, i64 %out_bytes, ptr %a, ptr %b, i64 %bytes,
                     ptr %walk) {
  %loop_at = getelementptr ptr, ptr @loops, i64 %number
  %loop = load ptr, ptr %loop_at
  %which = call i64 @rows_again(ptr %walk, i64 %bytes)
  %is_again = icmp ne i64 %which, 0
  br i1 %is_again, label %long, label %short
long:
  call void @rows_long(ptr %loop, ptr %out, i64 %out_bytes, ptr %a, ptr %b, i64 %bytes,
                       ptr %walk, i64 %which)
  ret void
short:
  call void @rows_walk(ptr %loop, ptr %out, i64 %out_bytes, ptr %a, ptr %b, i64 %bytes, ptr %walk)
  ret void
}

define void @lf_rows_copy(ptr %to, ptr %from, i64 %bytes, ptr %walk) {
  %at = alloca [2 x i64]
  %begin = ptrtoint ptr %to to i64
  put i64 %begin, %at[0]
  put i64 0, %at[1]
  %count = get i64 %walk[WALK_COUNT]
  %last = sub i64 %count, 1
  %extent_place = add i64 %last, WALK_EXTENT
  %length = get i64 %walk[%extent_place]
  %row_bytes = mul i64 %length, %bytes
  br label %row
row:
  %row_from = phi ptr [ %from, %0 ], [ %from_after, %row_done ]
  %number = get i64 %at[0]
  %row_to = inttoptr i64 %number to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %row_to, ptr %row_from, i64 %row_bytes, i1 false)
  %from_after = getelementptr i8, ptr %row_from, i64 %row_bytes
  %has_more = call i1 @rows_next(ptr %walk, ptr %at)
  br label %row_done
row_done:
  br i1 %has_more, label %row, label %done
done:
  ret void
}
"""
