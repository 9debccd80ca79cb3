"""x[mask] = number, as LLVM text.

    lf_line_where(to, mask, count, bytes, word)    the bits of a number where a mask is true

That is part of `rows_text.py`, which is optimized: by masked stores, where a processor has them.
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
_SIZES = (8, 16, 32, 64)
#: Of the module that is optimized.
LOOPS = (
    "".join(_WHERE.format(bits=bits) for bits in _SIZES)
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

MASKED = """
; how many elements a layout has that lie in C order, one beside the other; -1 for others
define internal i64 @dense_count(ptr %layout) {
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %strides = call ptr @tuple_item(ptr %layout, i64 1)
  %axes = call i64 @tuple_size(ptr %shape)
  br label %next
next:
  %left = phi i64 [ %axes, %0 ], [ %axis, %go_on ]
  %count = phi i64 [ 1, %0 ], [ %product, %go_on ]
  %is_over = icmp eq i64 %left, 0
  br i1 %is_over, label %yes, label %look
look:
  %axis = sub i64 %left, 1
  %extent = call i64 @number_at(ptr %shape, i64 %axis)
  %stride = call i64 @number_at(ptr %strides, i64 %axis)
  %is_one = icmp eq i64 %extent, 1
  %is_next = icmp eq i64 %stride, %count
  %is_dense = or i1 %is_one, %is_next
  br i1 %is_dense, label %go_on, label %no
go_on:
  %product = mul i64 %count, %extent
  br label %next
yes:
  ret i64 %count
no:
  ret i64 -1
}

; how many elements self[mask] = value is asked of, for memory of the engine and a mask of its
; shape, both in C order; -1 for others
define internal i64 @masked_count(ptr %self, ptr %mask) {
  %is_an_array = call i1 @is(ptr %mask, i64 T_CLASS)
  br i1 %is_an_array, label %engines, label %no
engines:
  %is_engines = call i1 @is_engines(ptr %mask)
  br i1 %is_engines, label %kind, label %no
kind:
  %node = call ptr @memory(ptr %mask)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %letter = call i32 @PyUnicode_ReadChar(ptr %code, i64 0)
  %is_bool = icmp eq i32 %letter, LETTER_B
  %is_uncast = call i1 @is_uncast(ptr %mask)
  %is_mask = and i1 %is_bool, %is_uncast
  br i1 %is_mask, label %shapes, label %no
shapes:
  %layout = call ptr @get(ptr %self, i64 HANDLE_LAYOUT)
  %their_layout = call ptr @get(ptr %mask, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %their_shape = call ptr @tuple_item(ptr %their_layout, i64 0)
  %are_equal = call i32 @PyObject_RichCompareBool(ptr %shape, ptr %their_shape, i32 2)
  %is_equal = icmp eq i32 %are_equal, 1
  br i1 %is_equal, label %order, label %no
order:
  %count = call i64 @dense_count(ptr %layout)
  %their_count = call i64 @dense_count(ptr %their_layout)
  %are_alike = icmp eq i64 %count, %their_count
  br i1 %are_alike, label %yes, label %no
yes:
  ret i64 %count
no:
  ret i64 -1
}

; whether self[mask] = value has been done for a number that its dtype holds, where NumPy would be
; asked at once: a call of it takes four times as long, and more where masks are irregular. No lock
; is taken, as for `set_number`
define internal i1 @set_where(ptr %self, ptr %mask, ptr %value) {
  %bits = alloca i64
  %fill = get ptr @state[LINE_WHERE]
  %is_early = icmp eq ptr %fill, null
  br i1 %is_early, label %no, label %measure
measure:
  %count = call i64 @masked_count(ptr %self, ptr %mask)
  %are_any = icmp sgt i64 %count, 0
  br i1 %are_any, label %number, label %no
number:
  %node = call ptr @memory(ptr %self)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %kind = call i32 @number_kind(ptr %code)
  %is_held = call i1 @encoded(i32 %kind, ptr %value, ptr %bits)
  br i1 %is_held, label %flags, label %narrow
narrow:
  %is_narrow = call i1 @encoded_narrow(ptr %code, ptr %value, ptr %bits)
  br i1 %is_narrow, label %flags, label %no
flags:
  %flags_buffer = call ptr @settled_memory(ptr %mask)
  %has_no_flags = icmp eq ptr %flags_buffer, null
  br i1 %has_no_flags, label %no, label %ask
ask:
  %most = call i64 @reach_of(ptr %self)
  %fits = icmp sle i64 %count, %most
  br i1 %fits, label %memory, label %drop
memory:
  %buffer = call ptr @writable_memory(ptr %self)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %drop, label %find
find:
  %bytes = call i64 @item_bytes(ptr %code)
  %layout = call ptr @get(ptr %self, i64 HANDLE_LAYOUT)
  %offset = call i64 @number_at(ptr %layout, i64 2)
  %to = call ptr @element_at(ptr %buffer, i64 %offset, i64 %bytes)
  %mask_layout = call ptr @get(ptr %mask, i64 HANDLE_LAYOUT)
  %mask_offset = call i64 @number_at(ptr %mask_layout, i64 2)
  %flags_at = call ptr @element_at(ptr %flags_buffer, i64 %mask_offset, i64 1)
  %stays = call i1 @stays(ptr %self)
  %is_other = icmp ne ptr %buffer, %flags_buffer
  %may = and i1 %stays, %is_other
  call void @Py_DecRef(ptr %buffer)
  br i1 %may, label %write, label %drop
write:
  %word = load i64, ptr %bits
  call void %fill(ptr %to, ptr %flags_at, i64 %count, i64 %bytes, i64 %word)
  br label %drop
drop:
  %is_done = phi i1 [ false, %ask ], [ false, %memory ], [ false, %find ], [ true, %write ]
  call void @Py_DecRef(ptr %flags_buffer)
  ret i1 %is_done
no:
  ret i1 false
}

; the same of arrays of NumPy's, of doubles or of 64-bit integers
define internal i1 @set_small_where(ptr %array, ptr %mask, ptr %value) {
  %bits = alloca i64
  %fill = get ptr @state[LINE_WHERE]
  %is_early = icmp eq ptr %fill, null
  br i1 %is_early, label %no, label %kind
kind:
  %is_an_array = call i1 @is(ptr %mask, i64 T_NDARRAY)
  br i1 %is_an_array, label %dtypes, label %no
dtypes:
  %bool = get ptr @state[DTYPE_BOOL]
  %their_dtype = get ptr %mask[DESCR]
  %is_mask = icmp eq ptr %their_dtype, %bool
  %double = get ptr @state[DTYPE_DOUBLE]
  %long = get ptr @state[DTYPE_LONG]
  %dtype = get ptr %array[DESCR]
  %is_double = icmp eq ptr %dtype, %double
  %is_long = icmp eq ptr %dtype, %long
  %is_wide = or i1 %is_double, %is_long
  %can = and i1 %is_mask, %is_wide
  br i1 %can, label %order, label %no
order:
  %count = call i64 @elements(ptr %array)
  %is_in_rows = call i1 @is_dense(ptr %array, i64 %count, i32 1)
  %is_mask_in_rows = call i1 @is_dense(ptr %mask, i64 %count, i32 1)
  %are_alike = call i1 @alike(ptr %array, ptr %mask)
  %flags = get i32 %array[ARRAY_FLAGS]
  %flag = and i32 %flags, WRITE_FLAGS
  %is_open = icmp eq i32 %flag, WRITEABLE_FLAG
  %are_in_rows = and i1 %is_in_rows, %is_mask_in_rows
  %may = and i1 %are_alike, %is_open
  %fits = and i1 %are_in_rows, %may
  br i1 %fits, label %number, label %no
number:
  %number_kind = select i1 %is_double, i32 1, i32 2
  %is_held = call i1 @encoded(i32 %number_kind, ptr %value, ptr %bits)
  br i1 %is_held, label %apart, label %no
apart:
  %to = get ptr %array[DATA]
  %flags_at = get ptr %mask[DATA]
  %bytes = shl i64 %count, 3
  %to_end = getelementptr i8, ptr %to, i64 %bytes
  %flags_end = getelementptr i8, ptr %flags_at, i64 %count
  %lies_behind = icmp uge ptr %flags_at, %to_end
  %lies_before = icmp ule ptr %flags_end, %to
  %are_apart = or i1 %lies_behind, %lies_before
  br i1 %are_apart, label %write, label %no
write:
  %word = load i64, ptr %bits
  call void %fill(ptr %to, ptr %flags_at, i64 %count, i64 8, i64 %word)
  ret i1 true
no:
  ret i1 false
}

; whether self[key] = value has been done for a mask or other positions: 1, 0, or -1 with an
; exception
define internal i32 @set_by_array(ptr %self, ptr %key, ptr %value) {
  %is_masked = call i1 @set_where(ptr %self, ptr %key, ptr %value)
  br i1 %is_masked, label %yes, label %other
other:
  %error = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %error, null
  br i1 %has_raised, label %failed, label %places
places:
  %are_set = call i32 @set_places(ptr %self, ptr %key, ptr %value, ptr null)
  ret i32 %are_set
yes:
  ret i32 1
failed:
  ret i32 -1
}
"""
