"""Elements along one axis that lie apart, such as those of a column: copied, filled and changed in
place, as LLVM text.

    lf_line_copy(to, to_step, from, from_step, count, bytes)    steps and sizes in bytes
    lf_line_fill(to, step, count, bytes, word)                  the bits of a number

These two are part of `rows_text.py`, which is optimized; what calls them is part of
`methods_quick_text.py`.
"""

from __future__ import annotations

_COPY = """
define internal void @copy_{bits}(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %count) {{
  %fours = and i64 %count, -4
  br label %round
round:
  %r = phi i64 [ 0, %0 ], [ %r_after, %copy_four ]
  %at = phi ptr [ %from, %0 ], [ %at_after, %copy_four ]
  %there = phi ptr [ %to, %0 ], [ %there_after, %copy_four ]
  %are_over = icmp eq i64 %r, %fours
  br i1 %are_over, label %rest, label %copy_four
copy_four:
  %at_second = getelementptr i8, ptr %at, i64 %from_step
  %at_third = getelementptr i8, ptr %at_second, i64 %from_step
  %at_fourth = getelementptr i8, ptr %at_third, i64 %from_step
  %there_second = getelementptr i8, ptr %there, i64 %to_step
  %there_third = getelementptr i8, ptr %there_second, i64 %to_step
  %there_fourth = getelementptr i8, ptr %there_third, i64 %to_step
  %first = load i{bits}, ptr %at, align 1
  %second = load i{bits}, ptr %at_second, align 1
  %third = load i{bits}, ptr %at_third, align 1
  %fourth = load i{bits}, ptr %at_fourth, align 1
  store i{bits} %first, ptr %there, align 1
  store i{bits} %second, ptr %there_second, align 1
  store i{bits} %third, ptr %there_third, align 1
  store i{bits} %fourth, ptr %there_fourth, align 1
  %at_after = getelementptr i8, ptr %at_fourth, i64 %from_step
  %there_after = getelementptr i8, ptr %there_fourth, i64 %to_step
  %r_after = add i64 %r, 4
  br label %round
rest:
  %i = phi i64 [ %r, %round ], [ %i_after, %single ]
  %single_at = phi ptr [ %at, %round ], [ %single_at_after, %single ]
  %single_there = phi ptr [ %there, %round ], [ %single_there_after, %single ]
  %is_over = icmp eq i64 %i, %count
  br i1 %is_over, label %done, label %single
single:
  %one = load i{bits}, ptr %single_at, align 1
  store i{bits} %one, ptr %single_there, align 1
  %single_at_after = getelementptr i8, ptr %single_at, i64 %from_step
  %single_there_after = getelementptr i8, ptr %single_there, i64 %to_step
  %i_after = add i64 %i, 1
  br label %rest
done:
  ret void
}}
"""

_FILL = """
define internal void @fill_{bits}(ptr %to, i64 %step, i64 %count, i{bits} %word) {{
  %fours = and i64 %count, -4
  %two = shl i64 %step, 1
  %three = add i64 %two, %step
  %four = shl i64 %step, 2
  br label %round
round:
  %r = phi i64 [ 0, %0 ], [ %r_after, %fill_four ]
  %at = phi ptr [ %to, %0 ], [ %at_after, %fill_four ]
  %are_over = icmp eq i64 %r, %fours
  br i1 %are_over, label %rest, label %fill_four
fill_four:
  %second = getelementptr i8, ptr %at, i64 %step
  %third = getelementptr i8, ptr %at, i64 %two
  %fourth = getelementptr i8, ptr %at, i64 %three
  store i{bits} %word, ptr %at, align 1
  store i{bits} %word, ptr %second, align 1
  store i{bits} %word, ptr %third, align 1
  store i{bits} %word, ptr %fourth, align 1
  %at_after = getelementptr i8, ptr %at, i64 %four
  %r_after = add i64 %r, 4
  br label %round
rest:
  %i = phi i64 [ %r, %round ], [ %i_after, %single ]
  %single_at = phi ptr [ %at, %round ], [ %single_after, %single ]
  %is_over = icmp eq i64 %i, %count
  br i1 %is_over, label %done, label %single
single:
  store i{bits} %word, ptr %single_at, align 1
  %single_after = getelementptr i8, ptr %single_at, i64 %step
  %i_after = add i64 %i, 1
  br label %rest
done:
  ret void
}}
"""

#: Bits of elements.
_SIZES = (8, 16, 32, 64)


def _by_size(call: str) -> str:
    """A switch by the bytes of an element, to a call for each size."""
    cases = " ".join(f"i64 {bits // 8}, label %by_{bits}" for bits in _SIZES[:-1])
    blocks = "".join(f"by_{bits}:\n  {call.format(bits=bits)}\n  ret void\n" for bits in _SIZES)
    return f"  switch i64 %bytes, label %by_64 [ {cases} ]\n{blocks}}}\n"


#: Of the module that is optimized.
LOOPS = (
    "".join(_COPY.format(bits=bits) + _FILL.format(bits=bits) for bits in _SIZES)
    + """
define void @lf_line_copy(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %count,
                          i64 %bytes) {
"""
    + _by_size(
        "call void @copy_{bits}(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %count)"
    )
    + """
define void @lf_line_fill(ptr %to, i64 %step, i64 %count, i64 %bytes, i64 %word) {
  %word_8 = trunc i64 %word to i8
  %word_16 = trunc i64 %word to i16
  %word_32 = trunc i64 %word to i32
  %word_64 = add i64 %word, 0
  %is_dense = icmp eq i64 %step, %bytes
  %is_byte = icmp eq i64 %bytes, 1
  %is_row = and i1 %is_dense, %is_byte
  br i1 %is_row, label %row, label %apart
row:
  call void @llvm.memset.p0.i64(ptr %to, i8 %word_8, i64 %count, i1 false)
  ret void
apart:
"""
    + _by_size("call void @fill_{bits}(ptr %to, i64 %step, i64 %count, i{bits} %word_{bits})")
    + "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
)

LINES = """
; copies elements along one axis; whether there is code for it, for 1, 2, 4 or 8 bytes
define internal i1 @copy_line(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %count,
                              i64 %bytes) {
  %copy = get ptr @state[LINE_COPY]
  %is_there = icmp ne ptr %copy, null
  %is_word = icmp ule i64 %bytes, 8
  %can = and i1 %is_there, %is_word
  br i1 %can, label %run, label %no
run:
  call void %copy(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %count, i64 %bytes)
  ret i1 true
no:
  ret i1 false
}

; writes a number, its bits, to elements along one axis; whether there is code for it
define internal i1 @fill_line(ptr %to, i64 %step, i64 %count, i64 %bytes, i64 %word) {
  %fill = get ptr @state[LINE_FILL]
  %is_early = icmp eq ptr %fill, null
  br i1 %is_early, label %no, label %run
run:
  call void %fill(ptr %to, i64 %step, i64 %count, i64 %bytes, i64 %word)
  ret i1 true
no:
  ret i1 false
}

; copies the elements of an array along one axis, of the shape that is wanted, to a row; whether it
; is one
define internal i1 @pack_line(ptr %object, i1 %is_alike, i64 %bytes, ptr %pack) {
  %nd = get i32 %object[ND]
  %is_line = icmp eq i32 %nd, 1
  %can = and i1 %is_line, %is_alike
  br i1 %can, label %begin, label %no
begin:
  %data = get ptr %object[DATA]
  %count = call i64 @elements(ptr %object)
  %strides = get ptr %object[STRIDES]
  %stride = get i64 %strides[0]
  %is_packed = call i1
    @copy_line(ptr %pack, i64 %bytes, ptr %data, i64 %stride, i64 %count, i64 %bytes)
  ret i1 %is_packed
no:
  ret i1 false
}

; whether the elements of an array lie along one axis, each in a place of its own
define internal i1 @lie_apart(ptr %array) {
  %nd = get i32 %array[ND]
  %is_line = icmp eq i32 %nd, 1
  br i1 %is_line, label %look, label %no
look:
  %bytes = call i64 @quick_bytes(ptr %array)
  %strides = get ptr %array[STRIDES]
  %stride = get i64 %strides[0]
  %distance = call i64 @llvm.abs.i64(i64 %stride, i1 false)
  %are_apart = icmp uge i64 %distance, %bytes
  ret i1 %are_apart
no:
  ret i1 false
}
declare i64 @llvm.abs.i64(i64, i1)

; an operator in the memory of its first operand, an array of NumPy's; whether that was done
define internal i1 @quick_in_place(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs,
                                   i1 %is_last) {
  %room = alloca [16 x i64], align 32
  %results = alloca [QUICK_MOST x i64], align 32
  %own_pack = alloca [QUICK_MOST x i64], align 32
  %pack = alloca [QUICK_MOST x i64], align 32
  %no_a = icmp eq ptr %a, null
  %no_b = icmp eq ptr %b, null
  %is_away = or i1 %no_a, %no_b
  br i1 %is_away, label %no, label %look
look:
  %dtype = call ptr @quick_dtype(ptr %a)
  %loop = call ptr @quick_loop(ptr %dtype, ptr %doubles, ptr %singles, ptr %longs)
  %is_unknown = icmp eq ptr %loop, null
  br i1 %is_unknown, label %by_rows, label %lines
lines:
  %flags = get i32 %a[ARRAY_FLAGS]
  %flag = and i32 %flags, WRITE_FLAGS
  %is_open = icmp eq i32 %flag, WRITEABLE_FLAG
  %is_dense = call i1 @is_in_rows(ptr %a)
  %are_apart = call i1 @lie_apart(ptr %a)
  %can_write = or i1 %is_dense, %are_apart
  %may_write = and i1 %is_open, %can_write
  br i1 %may_write, label %first, label %by_rows
first:
  %a_data = call ptr @quick_packed(ptr %a, ptr %a, ptr %own_pack)
  %a_is_other = icmp eq ptr %a_data, null
  br i1 %a_is_other, label %by_rows, label %last
last:
  %b_data = call ptr @quick_data(ptr %b, ptr %a, ptr %dtype, ptr %room, ptr %pack)
  %b_is_other = icmp eq ptr %b_data, null
  br i1 %b_is_other, label %by_rows, label %run
run:
  %size = call i64 @elements(ptr %a)
  %is_told = call i1
    @quick_run(ptr %loop, ptr %results, ptr %a_data, ptr %b_data, ptr %room, i64 %size)
  br i1 %is_told, label %no, label %write
write:
  %bytes_each = call i64 @quick_bytes(ptr %a)
  br i1 %is_dense, label %whole, label %line
whole:
  %bytes = mul i64 %size, %bytes_each
  call void @llvm.memcpy.p0.p0.i64(ptr %a_data, ptr %results, i64 %bytes, i1 false)
  ret i1 true
line:
  %to = get ptr %a[DATA]
  %strides = get ptr %a[STRIDES]
  %stride = get i64 %strides[0]
  %is_written = call i1 @copy_line(ptr %to, i64 %stride, ptr %results, i64 %bytes_each,
                                   i64 %size, i64 %bytes_each)
  ret i1 %is_written
by_rows:
  %is_done = call i1
    @rows_in_place(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs, i1 %is_last)
  ret i1 %is_done
no:
  ret i1 false
}

; a copy of an array that is small, or at hand, in C order; null for others, and with arguments
define internal ptr @quick_copy(ptr %self, ptr %args, i64 %count, ptr %names) {
  %is_bare = icmp eq i64 %count, 0
  %has_none = icmp eq ptr %names, null
  %can = and i1 %is_bare, %has_none
  br i1 %can, label %look, label %no
look:
  %is_ours = call i1 @is(ptr %self, i64 T_CLASS)
  br i1 %is_ours, label %copy, label %no
copy:
  %made = call ptr @quick_copied(ptr %self, i32 0)
  ret ptr %made
no:
  ret ptr null
}

; a copy of an array of ours in one of NumPy's orders, 0 for C, 2 to keep it; null for others
define internal ptr @quick_copied(ptr %self, i32 %order) {
  %most = call i64 @eager_size()
  %are_any = icmp sgt i64 %most, 0
  br i1 %are_any, label %take, label %no
take:
  %given = call ptr @host_or_window(ptr %self, i64 %most)
  %is_away = icmp eq ptr %given, null
  br i1 %is_away, label %no, label %measure
measure:
  %elements = call i64 @elements(ptr %given)
  %is_small = icmp sle i64 %elements, %most
  br i1 %is_small, label %copy, label %drop
copy:
  %copier = call ptr @object(i64 T_NEW_COPY)
  %made = call ptr %copier(ptr %given, i32 %order)
  call void @Py_DecRef(ptr %given)
  %result = call ptr @wrapped_or_null(ptr %made)
  ret ptr %result
drop:
  call void @Py_DecRef(ptr %given)
  br label %no
no:
  ret ptr null
}

; a new array of NumPy's as one of ours; null for null, and where there is no memory: whoever is
; asked instead says so
define internal ptr @wrapped_or_null(ptr %made) {
  %none = call ptr @none()
  %result = call ptr @wrapped(ptr %made, ptr %none)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %clear, label %give
clear:
  call void @PyErr_Clear()
  ret ptr null
give:
  ret ptr %result
}
"""
