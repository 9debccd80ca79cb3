"""Operators on small arrays of several axes row by row, as LLVM text; see `methods_quick_text.py`.

Views such as `u[1:-1, 1:-1]`, and rows and columns that are broadcast: NumPy's iterator takes some
0.1 us for each row, more than what a row of a hundred elements takes. `methods_walks_text.py`
tells how to walk over operands, and `rows_text.py` walks.

Dense arrays of one shape are for NumPy. What may be put off and fused (`defer_text.py`) only
comes here when it was not: dense arrays with rows and columns that are broadcast.
"""

from __future__ import annotations

TEXT = """
; a loop over all rows, as its number says, which lies before the one for few elements; whether
; somebody wants to hear of its conditions
define internal i1 @rows_run(ptr %loop, ptr %out, i64 %out_bytes, ptr %a, ptr %b, i64 %bytes,
                             ptr %walk) {
  %number_at = getelementptr i64, ptr %loop, i64 -1
  %number = load i64, ptr %number_at
  %rows = get ptr @state[ROWS]
  %control = call i32 @quick_control()
  OPENS
  call void %rows(i64 %number, ptr %out, i64 %out_bytes, ptr %a, ptr %b, i64 %bytes, ptr %walk)
  CLOSES
  %is_told = call i1 @is_told(i32 %bits)
  ret i1 %is_told
}

; how many elements small arrays have at most, if that is known; 0 where there is no code for rows
define internal i64 @rows_most() {
  %options = call ptr @options_now()
  %known = get ptr @state[SIZE_OPTIONS]
  %is_known = icmp eq ptr %options, %known
  %is_something = icmp ne ptr %options, null
  %rows = get ptr @state[ROWS]
  %has_code = icmp ne ptr %rows, null
  %is_told = and i1 %is_known, %is_something
  %can = and i1 %is_told, %has_code
  %size = get i64 @state[EAGER_SIZE]
  %most = select i1 %can, i64 %size, i64 0
  ret i64 %most
}

; where an operand's elements are: in an array, or, of a number, in `room`; null for others
define internal ptr @rows_data(ptr %object, ptr %own, ptr %array, ptr %dtype, ptr %room) {
  %is_array = icmp ne ptr %own, null
  br i1 %is_array, label %look, label %other
look:
  %own_dtype = get ptr %own[DESCR]
  %is_same = icmp eq ptr %own_dtype, %dtype
  br i1 %is_same, label %there, label %no
there:
  %data = get ptr %own[DATA]
  ret ptr %data
other:
  %is_odd = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_odd, label %no, label %number
number:
  %found = call ptr @quick_data(ptr %object, ptr %array, ptr %dtype, ptr %room, ptr null)
  ret ptr %found
no:
  ret ptr null
}

; a new array of NumPy's, of the shape of another one; null, without an exception, where there is
; no memory
define internal ptr @quick_new(ptr %array, ptr %dtype) {
  %nd = get i32 %array[ND]
  %extents = get ptr %array[DIMENSIONS]
  %made = call ptr @array_of_extents(ptr %dtype, i32 %nd, ptr %extents)
  ret ptr %made
}

define internal ptr @array_of_extents(ptr %dtype, i32 %nd, ptr %extents) {
  %arrays = call ptr @object(i64 T_NDARRAY)
  %maker = call ptr @object(i64 T_NEW_ARRAY)
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr %maker(ptr %arrays, ptr %dtype, i32 %nd, ptr %extents, ptr null, ptr null,
                          i32 0, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %clear, label %give
clear:
  call void @PyErr_Clear()
  ret ptr null
give:
  ret ptr %made
}

; whether the elements along the last axis follow each other, or are one; so of what is null
define internal i1 @rows_follow(ptr %array, i64 %bytes) {
  %axes = call i64 @rows_axes(ptr %array)
  %has_none = icmp eq i64 %axes, 0
  br i1 %has_none, label %yes, label %look
look:
  %last = sub i64 %axes, 1
  %extents = get ptr %array[DIMENSIONS]
  %strides = get ptr %array[STRIDES]
  %extent = get i64 %extents[%last]
  %stride = get i64 %strides[%last]
  %is_one = icmp eq i64 %extent, 1
  %stays = icmp eq i64 %stride, 0
  %follow = icmp eq i64 %stride, %bytes
  %either = or i1 %is_one, %stays
  %can = or i1 %either, %follow
  ret i1 %can
yes:
  ret i1 true
}

; whether operands may have several rows: a first look, which costs little
define internal i1 @rows_may_be(ptr %a, ptr %b, i64 %bytes) {
  %a_axes = call i64 @rows_axes(ptr %a)
  %b_axes = call i64 @rows_axes(ptr %b)
  %both = or i64 %a_axes, %b_axes
  %are_several = icmp ugt i64 %both, 1
  br i1 %are_several, label %look, label %no
look:
  %a_follows = call i1 @rows_follow(ptr %a, i64 %bytes)
  %b_follows = call i1 @rows_follow(ptr %b, i64 %bytes)
  %follow = and i1 %a_follows, %b_follows
  ret i1 %follow
no:
  ret i1 false
}

; whether two operands, after they were not put off, may have as many elements as what is put off:
; fewer have been looked at before
define internal i1 @rows_are_many(ptr %a, ptr %b) {
  %a_array = call ptr @array_with_axes(ptr %a)
  %b_array = call ptr @array_with_axes(ptr %b)
  %no_a = icmp eq ptr %a_array, null
  %no_b = icmp eq ptr %b_array, null
  %is_none = or i1 %no_a, %no_b
  br i1 %is_none, label %no, label %count
count:
  %a_count = call i64 @elements(ptr %a_array)
  %b_count = call i64 @elements(ptr %b_array)
  %most = mul i64 %a_count, %b_count
  %least = get i64 @state[SMALLEST]
  %are_many = icmp sge i64 %most, %least
  ret i1 %are_many
no:
  ret i1 false
}

; whether operands that are arrays, at least one, are dense and of one shape (null for numbers)
define internal i1 @rows_are_one(ptr %a, ptr %b) {
  %no_a = icmp eq ptr %a, null
  %no_b = icmp eq ptr %b, null
  %first = select i1 %no_a, ptr %b, ptr %a
  %last = select i1 %no_b, ptr %a, ptr %b
  %first_is_dense = call i1 @is_in_rows(ptr %first)
  %last_is_dense = call i1 @is_in_rows(ptr %last)
  %are_dense = and i1 %first_is_dense, %last_is_dense
  br i1 %are_dense, label %compare, label %no
compare:
  %are_alike = call i1 @alike(ptr %first, ptr %last)
  ret i1 %are_alike
no:
  ret i1 false
}

; whether operands that are arrays (null for others) are so few, or lie so, that they are not put
; off: rows that are broadcast to dense arrays are
define internal i1 @rows_are_ours(ptr %a, ptr %b, i64 %total) {
  %least = get i64 @state[SMALLEST]
  %are_few = icmp slt i64 %total, %least
  br i1 %are_few, label %yes, label %first
first:
  %no_a = icmp eq ptr %a, null
  br i1 %no_a, label %last, label %look_at_a
look_at_a:
  %a_is_dense = call i1 @is_in_rows(ptr %a)
  br i1 %a_is_dense, label %last, label %yes
last:
  %no_b = icmp eq ptr %b, null
  br i1 %no_b, label %no, label %look_at_b
look_at_b:
  %b_is_dense = call i1 @is_in_rows(ptr %b)
  br i1 %b_is_dense, label %no, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; the result of an operator, in a new array of NumPy's; null where NumPy is to be asked, or what
; puts operations off, unless that has refused (`is_last`)
define internal ptr @rows_array(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs,
                                i64 %is_asked, i1 %is_last) {
  %room = alloca [16 x i64], align 32
  %walk = alloca [WALK_WORDS x i64], align 32
  %a_array = call ptr @array_with_axes(ptr %a)
  %b_array = call ptr @array_with_axes(ptr %b)
  %is_number_first = icmp eq ptr %a_array, null
  %array = select i1 %is_number_first, ptr %b_array, ptr %a_array
  %is_none = icmp eq ptr %array, null
  br i1 %is_none, label %no, label %look
look:
  %bytes = call i64 @quick_bytes(ptr %array)
  %may_be = call i1 @rows_may_be(ptr %a_array, ptr %b_array, i64 %bytes)
  br i1 %may_be, label %compare, label %no
compare:
  %is_one_piece = call i1 @rows_are_one(ptr %a_array, ptr %b_array)
  br i1 %is_one_piece, label %no, label %kind
kind:
  %dtype = get ptr %array[DESCR]
  %loop = call ptr @quick_loop(ptr %dtype, ptr %doubles, ptr %singles, ptr %longs)
  %is_unknown = icmp eq ptr %loop, null
  br i1 %is_unknown, label %no, label %shape
shape:
  %has_shape = call i1 @rows_shape(ptr %a_array, ptr %b_array, ptr %walk)
  br i1 %has_shape, label %size, label %no
size:
  %total = get i64 %walk[WALK_TOTAL]
  %most = call i64 @rows_most()
  %is_small = icmp sle i64 %total, %most
  %are_rows = call i1 @rows_fit(ptr %walk, i64 %bytes)
  %are_ours = call i1 @rows_are_ours(ptr %a_array, ptr %b_array, i64 %total)
  %may = or i1 %are_ours, %is_last
  %fit = and i1 %is_small, %are_rows
  %can = and i1 %fit, %may
  br i1 %can, label %first, label %no
first:
  %a_data = call ptr
    @rows_data(ptr %a, ptr %a_array, ptr %array, ptr %dtype, ptr %room)
  %a_is_other = icmp eq ptr %a_data, null
  br i1 %a_is_other, label %no, label %last
last:
  %b_data = call ptr
    @rows_data(ptr %b, ptr %b_array, ptr %array, ptr %dtype, ptr %room)
  %b_is_other = icmp eq ptr %b_data, null
  br i1 %b_is_other, label %no, label %new
new:
  %is_bool = icmp ne i64 %is_asked, 0
  %bool = get ptr @state[DTYPE_BOOL]
  %out_dtype = select i1 %is_bool, ptr %bool, ptr %dtype
  %out_bytes = select i1 %is_bool, i64 1, i64 %bytes
  %a_axes = call i64 @rows_axes(ptr %a_array)
  %b_axes = call i64 @rows_axes(ptr %b_array)
  %a_has_more = icmp sgt i64 %a_axes, %b_axes
  %axes = select i1 %a_has_more, i64 %a_axes, i64 %b_axes
  %nd = trunc i64 %axes to i32
  %extents = getelementptr i64, ptr %walk, i64 WALK_SHAPE
  %made = call ptr @array_of_extents(ptr %out_dtype, i32 %nd, ptr %extents)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %run
run:
  %out = get ptr %made[DATA]
  %is_told = call i1 @rows_run(ptr %loop, ptr %out, i64 %out_bytes, ptr %a_data, ptr %b_data,
                               i64 %bytes, ptr %walk)
  %is_arithmetic = xor i1 %is_bool, true
  %is_heard = and i1 %is_told, %is_arithmetic
  br i1 %is_heard, label %again, label %give
again:
  call void @Py_DecRef(ptr %made)
  br label %no
give:
  ret ptr %made
no:
  ret ptr null
}

; an operator in the memory of its first operand, an array of NumPy's; whether that was done
define internal i1 @rows_in_place(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs,
                                  i1 %is_last) {
  %array = call ptr @array_with_axes(ptr %a)
  %is_other = icmp eq ptr %array, null
  br i1 %is_other, label %no, label %open
open:
  %flags = get i32 %a[ARRAY_FLAGS]
  %flag = and i32 %flags, WRITE_FLAGS
  %is_open = icmp eq i32 %flag, WRITEABLE_FLAG
  br i1 %is_open, label %compute, label %no
compute:
  %made = call ptr @rows_array(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs, i64 0,
                               i1 %is_last)
  %is_none = icmp eq ptr %made, null
  br i1 %is_none, label %no, label %write
write:
  %is_written = call i1 @rows_write(ptr %a, ptr %made)
  call void @Py_DecRef(ptr %made)
  ret i1 %is_written
no:
  ret i1 false
}

; writes an array of NumPy's with the elements of a new one, of its dtype; whether that was done
define internal i1 @rows_write(ptr %a, ptr %made) {
  %walk = alloca [WALK_WORDS x i64], align 32
  %is_alike = call i1 @alike(ptr %made, ptr %a)
  br i1 %is_alike, label %measure, label %no
measure:
  %bytes = call i64 @quick_bytes(ptr %a)
  %total = call i64 @elements(ptr %a)
  %all_bytes = mul i64 %total, %bytes
  %data = get ptr %a[DATA]
  %results = get ptr %made[DATA]
  %is_dense = call i1 @is_in_rows(ptr %a)
  br i1 %is_dense, label %whole, label %shape
whole:
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %results, i64 %all_bytes, i1 false)
  br label %done
shape:
  %has_shape = call i1 @rows_shape(ptr %a, ptr null, ptr %walk)
  %are_apart = call i1 @rows_apart(ptr %walk, i64 %bytes)
  %count = get i64 %walk[WALK_COUNT]
  %last = sub i64 %count, 1
  %step_place = add i64 %last, WALK_A
  %step = get i64 %walk[%step_place]
  %follow = icmp eq i64 %step, %bytes
  %can_all = and i1 %has_shape, %are_apart
  %can = and i1 %can_all, %follow
  br i1 %can, label %begin, label %no
begin:
  %copy = get ptr @state[ROWS_COPY]
  call void %copy(ptr %data, ptr %results, i64 %bytes, ptr %walk)
  br label %done
done:
  ret i1 true
no:
  ret i1 false
}
"""
