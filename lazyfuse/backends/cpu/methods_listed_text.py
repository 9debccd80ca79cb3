"""Lists of numbers that are written into computed memory of the engine along one axis, as LLVM
text; see `methods.py`.

NumPy makes an array of them first, of whose numbers it writes what becomes of each: the same as
each number by itself, where the dtype holds it.
"""

from __future__ import annotations

#: Numbers in a list.
BOUNDS = {"LISTED_ROOM": 64}

LISTED = """
; writes the numbers of a list or tuple along one axis; whether that is done: where there are as
; many, and the dtype holds each
define internal i1 @set_listed(ptr %to, i64 %step, i64 %count, ptr %code, ptr %values) {
  %room = alloca [LISTED_ROOM x i64], align 16
  %is_tuple = call i1 @is(ptr %values, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %values, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  br i1 %is_sequence, label %measure, label %no
measure:
  %items = call i64 @length_of(ptr %values, i1 %is_tuple)
  %is_whole = icmp eq i64 %items, %count
  %are_few = icmp ule i64 %items, LISTED_ROOM
  %can = and i1 %is_whole, %are_few
  %kind = call i32 @number_kind(ptr %code)
  br i1 %can, label %next, label %no
next:
  %i = phi i64 [ 0, %measure ], [ %after, %held ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %write, label %look
look:
  %item = call ptr @item_of(ptr %values, i1 %is_tuple, i64 %i)
  %bits = getelementptr i64, ptr %room, i64 %i
  %after = add i64 %i, 1
  %is_held = call i1 @encoded(i32 %kind, ptr %item, ptr %bits)
  br i1 %is_held, label %held, label %narrow
narrow:
  %is_narrow = call i1 @encoded_listed(ptr %code, ptr %item, ptr %bits)
  br i1 %is_narrow, label %held, label %no
held:
  br label %next
write:
  %bytes = call i64 @item_bytes(ptr %code)
  %is_written = call i1
    @copy_line(ptr %to, i64 %step, ptr %room, i64 8, i64 %count, i64 %bytes)
  ret i1 %is_written
no:
  ret i1 false
}

; `encoded_narrow`, but for integers in singles that a double does not hold: of a list NumPy makes
; integers, and rounds those once
define internal i1 @encoded_listed(ptr %code, ptr %value, ptr %bits) {
  %is_held = call i1 @encoded_narrow(ptr %code, ptr %value, ptr %bits)
  br i1 %is_held, label %look, label %no
look:
  %is_int = call i1 @is(ptr %value, i64 T_INT)
  br i1 %is_int, label %measure, label %yes
measure:
  %number = call i64 @PyLong_AsLongLong(ptr %value)
  %lifted = add i64 %number, 9007199254740992
  %is_near = icmp ule i64 %lifted, 18014398509481984
  %error = call ptr @PyErr_Occurred()
  %is_long = icmp eq ptr %error, null
  %is_exact = and i1 %is_near, %is_long
  br i1 %is_exact, label %yes, label %clear
clear:
  call void @PyErr_Clear()
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""
