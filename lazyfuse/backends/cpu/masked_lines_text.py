"""Loops over elements in one piece where a mask is true, as LLVM text.

    lf_line_where(to, mask, count, bytes, word)        the bits of a number, where it is true
    lf_line_count(mask, count)                         how many are
    lf_line_pick(to, from, mask, count, bytes, total)  elements where it is, so many at most

They are part of `rows_text.py`, which is optimized; `methods_masked_text.py` calls them. Numbers
are written by masked stores, where a processor has them: nothing else is touched.
"""

from __future__ import annotations

#: Sixty-four at a time, which are passed over where none is true; a processor without masked
#: stores has a branch for each.
_WHERE = """
declare void @llvm.masked.store.v64i{bits}.p0(<64 x i{bits}>, ptr, i32, <64 x i1>)
define internal void @where_{bits}(ptr %to, ptr %mask, i64 %count, i{bits} %word) {{
  %first = insertelement <64 x i{bits}> poison, i{bits} %word, i32 0
  %all = shufflevector <64 x i{bits}> %first, <64 x i{bits}> poison, <64 x i32> zeroinitializer
  %many = and i64 %count, -64
  br label %block
block:
  %b = phi i64 [ 0, %0 ], [ %b_after, %flags ], [ %b_after, %store ]
  %are_over = icmp eq i64 %b, %many
  br i1 %are_over, label %next, label %flags
flags:
  %b_after = add i64 %b, 64
  %flags_at = getelementptr i8, ptr %mask, i64 %b
  %bytes = load <64 x i8>, ptr %flags_at, align 1
  %are_true = icmp ne <64 x i8> %bytes, zeroinitializer
  %bits = bitcast <64 x i1> %are_true to i64
  %are_none = icmp eq i64 %bits, 0
  br i1 %are_none, label %block, label %store
store:
  %block_at = getelementptr i{bits}, ptr %to, i64 %b
  call void @llvm.masked.store.v64i{bits}.p0(<64 x i{bits}> %all, ptr %block_at, i32 1,
                                             <64 x i1> %are_true)
  br label %block
next:
  %i = phi i64 [ %b, %block ], [ %after, %go_on ]
  %is_over = icmp eq i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %flag_at = getelementptr i8, ptr %mask, i64 %i
  %flag = load i8, ptr %flag_at, align 1
  %is_true = icmp ne i8 %flag, 0
  br i1 %is_true, label %write, label %go_on
write:
  %at = getelementptr i{bits}, ptr %to, i64 %i
  store i{bits} %word, ptr %at, align 1
  br label %go_on
go_on:
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}}
"""
#: The true ones of sixty-four one by one, or all of them together.
_PICK = """
define internal void @pick_{bits}(ptr noalias %to, ptr noalias %from, ptr noalias %mask,
                                  i64 %count, i64 %total) {{
  br label %block
block:
  %b = phi i64 [ 0, %0 ], [ %b_end, %flags ], [ %b_end, %whole ], [ %b_end, %each ]
  %k = phi i64 [ 0, %0 ], [ %k, %flags ], [ %k_end, %whole ], [ %k_end, %each ]
  %are_over = icmp uge i64 %b, %count
  br i1 %are_over, label %done, label %flags
flags:
  %b_end = add i64 %b, 64
  %trues = call i64 @trues_at(ptr %mask, i64 %b, i64 %count)
  %are_none = icmp eq i64 %trues, 0
  br i1 %are_none, label %block, label %measure
measure:
  %some = call i64 @llvm.ctpop.i64(i64 %trues)
  %k_end = add i64 %k, %some
  %is_room = icmp ule i64 %k_end, %total
  br i1 %is_room, label %which, label %done
which:
  %are_all = icmp eq i64 %trues, -1
  br i1 %are_all, label %whole, label %each
whole:
  %all_from = getelementptr i{bits}, ptr %from, i64 %b
  %all_to = getelementptr i{bits}, ptr %to, i64 %k
  call void @llvm.memcpy.p0.p0.i64(ptr %all_to, ptr %all_from, i64 {block_bytes}, i1 false)
  br label %block
each:
  %left = phi i64 [ %trues, %which ], [ %rest, %each ]
  %j = phi i64 [ %k, %which ], [ %j_after, %each ]
  %place = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %i = add i64 %b, %place
  %from_at = getelementptr i{bits}, ptr %from, i64 %i
  %element = load i{bits}, ptr %from_at, align 1
  %to_at = getelementptr i{bits}, ptr %to, i64 %j
  store i{bits} %element, ptr %to_at, align 1
  %j_after = add i64 %j, 1
  %is_last = icmp eq i64 %rest, 0
  br i1 %is_last, label %block, label %each
done:
  ret void
}}
"""
_SIZES = (8, 16, 32, 64)
#: Of the module that is optimized.
LOOPS = (
    """
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
; which of the next sixty-four flags are true
define internal i64 @trues_at(ptr %mask, i64 %begin, i64 %count) alwaysinline {
  %end = add i64 %begin, 64
  %are_there = icmp ule i64 %end, %count
  %at = getelementptr i8, ptr %mask, i64 %begin
  br i1 %are_there, label %whole, label %next
whole:
  %bytes = load <64 x i8>, ptr %at, align 1
  %are_true = icmp ne <64 x i8> %bytes, zeroinitializer
  %bits = bitcast <64 x i1> %are_true to i64
  ret i64 %bits
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %found = phi i64 [ 0, %0 ], [ %with_it, %look ]
  %place = add i64 %begin, %i
  %is_over = icmp uge i64 %place, %count
  br i1 %is_over, label %done, label %look
look:
  %flag_at = getelementptr i8, ptr %at, i64 %i
  %flag = load i8, ptr %flag_at, align 1
  %is_true = icmp ne i8 %flag, 0
  %one = zext i1 %is_true to i64
  %bit = shl i64 %one, %i
  %with_it = or i64 %found, %bit
  %after = add i64 %i, 1
  br label %next
done:
  ret i64 %found
}

define i64 @lf_line_count(ptr %mask, i64 %count) {
  br label %next
next:
  %begin = phi i64 [ 0, %0 ], [ %after, %look ]
  %found = phi i64 [ 0, %0 ], [ %with_them, %look ]
  %is_over = icmp uge i64 %begin, %count
  br i1 %is_over, label %done, label %look
look:
  %trues = call i64 @trues_at(ptr %mask, i64 %begin, i64 %count)
  %some = call i64 @llvm.ctpop.i64(i64 %trues)
  %with_them = add i64 %found, %some
  %after = add i64 %begin, 64
  br label %next
done:
  ret i64 %found
}
"""
    + "".join(_PICK.format(bits=bits, block_bytes=8 * bits) for bits in _SIZES)
    + """
define void @lf_line_pick(ptr %to, ptr %from, ptr %mask, i64 %count, i64 %bytes, i64 %total) {
  switch i64 %bytes, label %by_64 [ i64 1, label %by_8  i64 2, label %by_16  i64 4, label %by_32 ]
"""
    + "".join(
        f"by_{bits}:\n  call void @pick_{bits}(ptr %to, ptr %from, ptr %mask, i64 %count, "
        "i64 %total)\n  ret void\n"
        for bits in _SIZES
    )
    + "}\n"
    + "".join(_WHERE.format(bits=bits) for bits in _SIZES)
    + """
define void @lf_line_where(ptr %to, ptr %mask, i64 %count, i64 %bytes, i64 %word) {
  %word_8 = trunc i64 %word to i8
  %word_16 = trunc i64 %word to i16
  %word_32 = trunc i64 %word to i32
  switch i64 %bytes, label %by_64 [ i64 1, label %by_8  i64 2, label %by_16  i64 4, label %by_32 ]
by_8:
  call void @where_8(ptr %to, ptr %mask, i64 %count, i8 %word_8)
  ret void
by_16:
  call void @where_16(ptr %to, ptr %mask, i64 %count, i16 %word_16)
  ret void
by_32:
  call void @where_32(ptr %to, ptr %mask, i64 %count, i32 %word_32)
  ret void
by_64:
  call void @where_64(ptr %to, ptr %mask, i64 %count, i64 %word)
  ret void
}
"""
)
