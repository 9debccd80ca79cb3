"""x[mask] = number and x[mask], as LLVM text; the loops are those of `masked_lines_text.py`."""

from __future__ import annotations

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

; the elements of a small array of ours that a mask of its shape picks, both in C order, as a small
; array; null for others, and for an exception
define internal ptr @picked_where(ptr %self, ptr %key) {
  %total_at = alloca i64
  %pick = get ptr @state[LINE_PICK]
  %is_early = icmp eq ptr %pick, null
  br i1 %is_early, label %no, label %classes
classes:
  %is_ours = call i1 @is(ptr %key, i64 T_CLASS)
  br i1 %is_ours, label %hosts, label %no
hosts:
  %host = call ptr @part(ptr %self, i64 T_HOST)
  %mask = call ptr @part(ptr %key, i64 T_HOST)
  %is_away = icmp eq ptr %host, null
  %is_mask_away = icmp eq ptr %mask, null
  %are_away = or i1 %is_away, %is_mask_away
  br i1 %are_away, label %no, label %kind
kind:
  %bool = get ptr @state[DTYPE_BOOL]
  %their_dtype = get ptr %mask[DESCR]
  %is_mask = icmp eq ptr %their_dtype, %bool
  br i1 %is_mask, label %order, label %no
order:
  %dtype = get ptr %host[DESCR]
  %bytes = get i64 %dtype[ELEMENT_SIZE]
  %is_word = icmp ule i64 %bytes, 8
  %is_known = call i1 @has_known_dtype(ptr %host)
  %count = call i64 @elements(ptr %host)
  %is_in_rows = call i1 @is_dense(ptr %host, i64 %count, i32 1)
  %is_mask_in_rows = call i1 @is_dense(ptr %mask, i64 %count, i32 1)
  %are_alike = call i1 @alike(ptr %host, ptr %mask)
  %is_fine = and i1 %is_word, %is_known
  %are_in_rows = and i1 %is_in_rows, %is_mask_in_rows
  %can = and i1 %is_fine, %are_alike
  %fits = and i1 %can, %are_in_rows
  br i1 %fits, label %options, label %no
options:
  %eager = call i64 @eager_size()
  %are_any = icmp sgt i64 %eager, 0
  %is_plain = call i1 @is_nothing_recorded()
  %may = and i1 %are_any, %is_plain
  br i1 %may, label %make, label %no
make:
  %counter = get ptr @state[LINE_COUNT]
  %flags = get ptr %mask[DATA]
  %total = call i64 %counter(ptr %flags, i64 %count)
  store i64 %total, ptr %total_at
  %arrays = call ptr @object(i64 T_NDARRAY)
  %maker = call ptr @object(i64 T_NEW_ARRAY)
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr %maker(ptr %arrays, ptr %dtype, i32 1, ptr %total_at, ptr null, ptr null,
                          i32 0, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %run
run:
  %to = get ptr %made[DATA]
  %from = get ptr %host[DATA]
  call void %pick(ptr %to, ptr %from, ptr %flags, i64 %count, i64 %bytes, i64 %total)
  %none = call ptr @none()
  %result = call ptr @wrapped(ptr %made, ptr %none)
  ret ptr %result
no:
  ret ptr null
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
