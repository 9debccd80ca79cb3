"""Elements along one axis that are written into computed memory of the engine, as LLVM text; see
`methods.py`.

`M[i] = row`, `M[:, j] = 0.0`, `v[a:b] = v[c:d]`, `picture[i, j] = (255, 0, 0)`: of numbers that
the dtype holds, by themselves or in a list, and arrays of this dtype with one axis, which need no
NumPy. As in `set_number`, no lock is taken: nobody but this thread has the memory, and nobody else
runs meanwhile.
"""

from __future__ import annotations

#: Bytes of a line that is copied by way of the stack.
BOUNDS = {"LINE_ROOM": 8192}

REGIONS = """
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)

; the one axis that a key of integers and slices leaves of a layout: stores where its first element
; lies, how many there are and how far apart. Whether it leaves one, with elements
define internal i1 @one_axis(ptr %layout, ptr %key, ptr %region) {
  %start_at = alloca i64
  %stop_at = alloca i64
  %step_at = alloca i64
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %axes = call i64 @tuple_size(ptr %extents)
  %is_tuple = call i1 @is(ptr %key, i64 T_TUPLE)
  %items = call i64 @items_of(ptr %key, i1 %is_tuple)
  %fits = icmp sle i64 %items, %axes
  br i1 %fits, label %begin, label %no
begin:
  %first = call i64 @number_at(ptr %layout, i64 2)
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %after, %again ]
  %at = phi i64 [ %first, %begin ], [ %at_after, %again ]
  %count = phi i64 [ 0, %begin ], [ %count_after, %again ]
  %apart = phi i64 [ 0, %begin ], [ %apart_after, %again ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %done, label %look
look:
  %extent = call i64 @number_at(ptr %extents, i64 %i)
  %stride = call i64 @number_at(ptr %steps, i64 %i)
  %after = add i64 %i, 1
  %is_given = icmp slt i64 %i, %items
  br i1 %is_given, label %given, label %axis
given:
  %item = call ptr @key_item(ptr %key, i1 %is_tuple, i64 %i)
  %is_integer = call i1 @is(ptr %item, i64 T_INT)
  br i1 %is_integer, label %integer, label %other
integer:
  %place = call i64 @placed(ptr %item, i64 %extent)
  %is_inside = icmp sge i64 %place, 0
  br i1 %is_inside, label %again, label %no
other:
  %is_slice = call i1 @is(ptr %item, i64 T_SLICE)
  br i1 %is_slice, label %slice, label %no
slice:
  %unpacked = call i32 @PySlice_Unpack(ptr %item, ptr %start_at, ptr %stop_at, ptr %step_at)
  %is_wrong = icmp slt i32 %unpacked, 0
  br i1 %is_wrong, label %clear, label %adjust
clear:
  call void @PyErr_Clear()
  ret i1 false
adjust:
  %step = load i64, ptr %step_at
  %lifted = add i64 %step, 1073741824
  %is_moderate = icmp ult i64 %lifted, 2147483648
  br i1 %is_moderate, label %sliced, label %no
sliced:
  %length = call i64 @PySlice_AdjustIndices(i64 %extent, ptr %start_at, ptr %stop_at, i64 %step)
  %start = load i64, ptr %start_at
  br label %axis
axis:
  %begins = phi i64 [ 0, %look ], [ %start, %sliced ]
  %has = phi i64 [ %extent, %look ], [ %length, %sliced ]
  %each = phi i64 [ 1, %look ], [ %step, %sliced ]
  %is_first = icmp eq i64 %count, 0
  %has_some = icmp sgt i64 %has, 0
  %can = and i1 %is_first, %has_some
  br i1 %can, label %again, label %no
again:
  %moved = phi i64 [ %place, %integer ], [ %begins, %axis ]
  %count_after = phi i64 [ %count, %integer ], [ %has, %axis ]
  %each_after = phi i64 [ 0, %integer ], [ %each, %axis ]
  %skipped = mul i64 %moved, %stride
  %at_after = add i64 %at, %skipped
  %wide = mul i64 %each_after, %stride
  %apart_after = add i64 %apart, %wide
  br label %next
done:
  put i64 %at, %region[0]
  put i64 %count, %region[1]
  put i64 %apart, %region[2]
  %is_axis = icmp sgt i64 %count, 0
  ret i1 %is_axis
no:
  ret i1 false
}

; where the elements of an array of NumPy's with one axis begin, of a dtype and a length; stores
; how many bytes they are apart. Null for other arrays
define internal ptr @line_of_numpys(ptr %array, ptr %dtype, i64 %count, ptr %step_at) {
  %own = get ptr %array[DESCR]
  %is_alike = icmp eq ptr %own, %dtype
  %nd = get i32 %array[ND]
  %is_line = icmp eq i32 %nd, 1
  %flags = get i32 %array[ARRAY_FLAGS]
  %aligned_flag = and i32 %flags, 256
  %is_aligned = icmp ne i32 %aligned_flag, 0
  %may = and i1 %is_alike, %is_line
  %can_be = and i1 %may, %is_aligned
  br i1 %can_be, label %look, label %no
look:
  %length = call i64 @elements(ptr %array)
  %is_whole = icmp eq i64 %length, %count
  %steps = get ptr %array[STRIDES]
  %step = load i64, ptr %steps
  store i64 %step, ptr %step_at
  %data = get ptr %array[DATA]
  %found = select i1 %is_whole, ptr %data, ptr null
  ret ptr %found
no:
  ret ptr null
}

; the same of an array of the engine, whose elements have so many bytes: the memory stays, somebody
; has the array
define internal ptr @line_of_engine(ptr %array, ptr %dtype, i64 %count, i64 %bytes, ptr %step_at) {
  %layout = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %axes = call i64 @tuple_size(ptr %extents)
  %is_line = icmp eq i64 %axes, 1
  br i1 %is_line, label %look, label %no
look:
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %length = call i64 @number_at(ptr %extents, i64 0)
  %step = call i64 @number_at(ptr %steps, i64 0)
  %apart = mul i64 %step, %bytes
  store i64 %apart, ptr %step_at
  %is_whole = icmp eq i64 %length, %count
  br i1 %is_whole, label %memory, label %no
memory:
  %buffer = call ptr @settled_memory(ptr %array)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %no, label %found
found:
  %node = call ptr @memory(ptr %array)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %own = call ptr @dtype_of(ptr %code)
  %is_same = icmp eq ptr %own, %dtype
  %offset = call i64 @number_at(ptr %layout, i64 2)
  %data = call ptr @element_at(ptr %buffer, i64 %offset, i64 %bytes)
  call void @Py_DecRef(ptr %buffer)
  %given = select i1 %is_same, ptr %data, ptr null
  ret ptr %given
no:
  ret ptr null
}

; copies elements along one axis, which may overlap where they are; whether that is done. What
; is `elsewhere` does not. Those that are not as far apart in the same direction are NumPy's, which
; does not see that they overlap (`PyArray_AssignArray`)
define internal i1 @move_line(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %count,
                              i64 %bytes, i1 %is_elsewhere) {
  %room = alloca [LINE_ROOM x i8], align 16
  %is_row = icmp eq i64 %to_step, %bytes
  %is_from_row = icmp eq i64 %from_step, %bytes
  %are_rows = and i1 %is_row, %is_from_row
  %length = mul i64 %count, %bytes
  br i1 %are_rows, label %rows, label %apart
rows:
  call void @move_bytes(ptr %to, ptr %from, i64 %length)
  ret i1 true
apart:
  %are_between = call i1
    @lie_between(ptr %to, i64 %to_step, ptr %from, i64 %from_step)
  %are_apart = or i1 %is_elsewhere, %are_between
  br i1 %are_apart, label %at_once, label %look
at_once:
  %is_copied = call i1
    @copy_line(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %count, i64 %bytes)
  ret i1 %is_copied
look:
  %signs = xor i64 %to_step, %from_step
  %are_opposite = icmp slt i64 %signs, 0
  %are_equal = icmp eq i64 %to_step, %from_step
  %are_seen = or i1 %are_opposite, %are_equal
  %is_short = icmp ule i64 %length, LINE_ROOM
  %fits = and i1 %are_seen, %is_short
  br i1 %fits, label %by_room, label %no
by_room:
  %is_read = call i1
    @copy_line(ptr %room, i64 %bytes, ptr %from, i64 %from_step, i64 %count, i64 %bytes)
  br i1 %is_read, label %write, label %no
write:
  %is_written = call i1
    @copy_line(ptr %to, i64 %to_step, ptr %room, i64 %bytes, i64 %count, i64 %bytes)
  ret i1 %is_written
no:
  ret i1 false
}

; whether elements that are as far apart in two places, as those of two columns, are between each
; other, or the same
define internal i1 @lie_between(ptr %to, i64 %to_step, ptr %from, i64 %from_step) {
  %are_alike = icmp eq i64 %to_step, %from_step
  %is_step = icmp ne i64 %to_step, 0
  %may = and i1 %are_alike, %is_step
  br i1 %may, label %look, label %no
look:
  %to_word = ptrtoint ptr %to to i64
  %from_word = ptrtoint ptr %from to i64
  %apart = sub i64 %to_word, %from_word
  %rest = srem i64 %apart, %to_step
  %are_between = icmp ne i64 %rest, 0
  %are_same = icmp eq i64 %apart, 0
  %may_copy = or i1 %are_between, %are_same
  ret i1 %may_copy
no:
  ret i1 false
}

; `memmove`, by pieces where it is slow at the whole (`ir/copies.py`)
define internal void @move_bytes(ptr %to, ptr %from, i64 %length) {
entry:
  %to_word = ptrtoint ptr %to to i64
  %from_word = ptrtoint ptr %from to i64
  %apart = sub i64 %to_word, %from_word
  %behind = sub i64 0, %apart
  %in_page = and i64 %apart, 4095
  %before = sub i64 %in_page, 1
  %is_near = icmp ult i64 %before, 15
  %are_many = icmp ugt i64 %length, 2048
  %lies_behind = icmp uge i64 %apart, %length
  %lies_before = icmp uge i64 %behind, %length
  %are_apart = and i1 %lies_behind, %lies_before
  %is_slow = and i1 %is_near, %are_many
  %is_by_pieces = and i1 %is_slow, %are_apart
  br i1 %is_by_pieces, label %pieces, label %whole
whole:
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %length, i1 false)
  ret void
pieces:
  %at = phi i64 [ 0, %entry ], [ %after, %pieces ]
  %left = sub i64 %length, %at
  %piece = call i64 @llvm.umin.i64(i64 %left, i64 2048)
  %piece_to = getelementptr i8, ptr %to, i64 %at
  %piece_from = getelementptr i8, ptr %from, i64 %at
  call void @llvm.memmove.p0.p0.i64(ptr %piece_to, ptr %piece_from, i64 %piece, i1 false)
  %after = add i64 %at, %piece
  %is_over = icmp uge i64 %after, %length
  br i1 %is_over, label %done, label %pieces
done:
  ret void
}

; whether self[key] = value has been done for elements of an array of the engine along one axis, so
; few bytes that a kernel would not be worth its launch
define internal i1 @set_line(ptr %self, ptr %key, ptr %value) {
  %region = alloca [3 x i64]
  %bits = alloca i64
  %step_at = alloca i64
  %layout = call ptr @get(ptr %self, i64 HANDLE_LAYOUT)
  %is_line = call i1 @one_axis(ptr %layout, ptr %key, ptr %region)
  br i1 %is_line, label %measure, label %no
measure:
  %begin = get i64 %region[0]
  %count = get i64 %region[1]
  %apart = get i64 %region[2]
  %node = call ptr @memory(ptr %self)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %bytes = call i64 @item_bytes(ptr %code)
  %length = mul i64 %count, %bytes
  %are_few = icmp ule i64 %length, 1048576
  br i1 %are_few, label %memory, label %no
memory:
  %buffer = call ptr @writable_memory(ptr %self)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %no, label %kind
kind:
  %dtype = call ptr @dtype_of(ptr %code)
  %to = call ptr @element_at(ptr %buffer, i64 %begin, i64 %bytes)
  %step = mul i64 %apart, %bytes
  %stays = call i1 @stays(ptr %self)
  call void @Py_DecRef(ptr %buffer)
  br i1 %stays, label %which, label %no
which:
  %is_ours = call i1 @is(ptr %value, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %other
ours:
  %host = call ptr @part(ptr %value, i64 T_HOST)
  %is_small = icmp ne ptr %host, null
  br i1 %is_small, label %numpys, label %engines
other:
  %is_numpys = call i1 @is(ptr %value, i64 T_NDARRAY)
  br i1 %is_numpys, label %numpys, label %number
numpys:
  %array = phi ptr [ %host, %ours ], [ %value, %other ]
  %line_there = call ptr
    @line_of_numpys(ptr %array, ptr %dtype, i64 %count, ptr %step_at)
  br label %found
engines:
  %is_put_off = call i1 @is_put_off(ptr %value)
  br i1 %is_put_off, label %no, label %find
find:
  %line_here = call ptr
    @line_of_engine(ptr %value, ptr %dtype, i64 %count, i64 %bytes, ptr %step_at)
  br label %found
found:
  %from = phi ptr [ %line_there, %numpys ], [ %line_here, %find ]
  %is_elsewhere = phi i1 [ true, %numpys ], [ false, %find ]
  %is_other = icmp eq ptr %from, null
  br i1 %is_other, label %no, label %move
move:
  %from_step = load i64, ptr %step_at
  %is_moved = call i1
    @move_line(ptr %to, i64 %step, ptr %from, i64 %from_step, i64 %count, i64 %bytes,
               i1 %is_elsewhere)
  ret i1 %is_moved
number:
  %number_kind = call i32 @number_kind(ptr %code)
  %is_held = call i1 @encoded(i32 %number_kind, ptr %value, ptr %bits)
  br i1 %is_held, label %fill, label %narrow
narrow:
  %is_narrow = call i1 @encoded_narrow(ptr %code, ptr %value, ptr %bits)
  br i1 %is_narrow, label %fill, label %list
fill:
  %word = load i64, ptr %bits
  %is_filled = call i1 @fill_line(ptr %to, i64 %step, i64 %count, i64 %bytes, i64 %word)
  ret i1 %is_filled
list:
  %is_listed = call i1
    @set_listed(ptr %to, i64 %step, i64 %count, ptr %code, ptr %value)
  ret i1 %is_listed
no:
  ret i1 false
}

; whether the array of a small one is not known yet
define internal i1 @is_put_off(ptr %array) {
  %at = call ptr @host_at(ptr %array)
  %host = load ptr, ptr %at
  %is_put_off = icmp eq ptr %host, null
  ret i1 %is_put_off
}

; whether a loop has changed few elements of an array of the engine in place
define internal i1 @changed_within(ptr %loop, ptr %self, ptr %given) {
  %has_none = icmp eq ptr %loop, null
  br i1 %has_none, label %no, label %open
open:
  %window = call ptr @writable(ptr %self, i64 QUICK_MOST)
  %is_away = icmp eq ptr %window, null
  br i1 %is_away, label %clear, label %look
clear:
  call void @PyErr_Clear()
  ret i1 false
look:
  %stays = call i1 @stays(ptr %self)
  br i1 %stays, label %run, label %drop
run:
  %is_changed = call i1 %loop(ptr %window, ptr %given)
  br label %drop
drop:
  %is_done = phi i1 [ false, %look ], [ %is_changed, %run ]
  call void @Py_DecRef(ptr %window)
  ret i1 %is_done
no:
  ret i1 false
}
"""
