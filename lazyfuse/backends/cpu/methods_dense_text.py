"""Operators on some thousand elements that lie in rows, as LLVM text; see `methods_quick_text.py`.

NumPy takes longer to find its loop than to run it there, too.
"""

from __future__ import annotations

#: The most elements, of arrays and of numbers beside them: nothing needs room.
DENSE_MOST = 8192

DENSE = """
; as `quick_array`, of arrays of one shape that lie in rows, and numbers: of more elements, for
; they need no room
define internal ptr @dense_array(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs,
                                 i64 %is_asked) {
  %room = alloca [16 x i64], align 32
  %a_is_array = call i1 @is(ptr %a, i64 T_NDARRAY)
  %array = call ptr @quick_larger(ptr %a, ptr %b, i1 %a_is_array)
  %shaped = call ptr @array_with_axes(ptr %array)
  %is_other = icmp eq ptr %shaped, null
  br i1 %is_other, label %no, label %measure
measure:
  %size = call i64 @elements(ptr %array)
  %less = sub i64 %size, 1
  %are_few = icmp ult i64 %less, DENSE_MOST
  br i1 %are_few, label %kind, label %no
kind:
  %dtype = get ptr %array[DESCR]
  %loop = call ptr @quick_loop(ptr %dtype, ptr %doubles, ptr %singles, ptr %longs)
  %is_unknown = icmp eq ptr %loop, null
  br i1 %is_unknown, label %no, label %first
first:
  %a_data = call ptr @dense_data(ptr %a, ptr %array, ptr %dtype, ptr %room)
  %a_is_other = icmp eq ptr %a_data, null
  br i1 %a_is_other, label %no, label %last
last:
  %b_data = call ptr @dense_data(ptr %b, ptr %array, ptr %dtype, ptr %room)
  %b_is_other = icmp eq ptr %b_data, null
  br i1 %b_is_other, label %no, label %run
run:
  %found = call ptr @quick_result(ptr %array, ptr %dtype, ptr %loop, ptr %a_data, ptr %b_data,
                                  ptr %room, i64 %is_asked)
  ret ptr %found
no:
  ret ptr null
}

; where the elements of an operand are, which is a number, or lies in rows in the shape of an
; array; null for others
define internal ptr @dense_data(ptr %object, ptr %array, ptr %wanted, ptr %room) {
  %is_array = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_array, label %look, label %number
number:
  %of_number = call ptr
    @quick_data(ptr %object, ptr %array, ptr %wanted, ptr %room, ptr null)
  ret ptr %of_number
look:
  %own = get ptr %object[DESCR]
  %is_same = icmp eq ptr %own, %wanted
  %shaped = call ptr @array_with_axes(ptr %object)
  %is_aligned = icmp ne ptr %shaped, null
  %is_dense = call i1 @is_in_rows(ptr %object)
  %is_alike = call i1 @alike(ptr %object, ptr %array)
  %is_shaped = and i1 %is_dense, %is_alike
  %is_known = and i1 %is_aligned, %is_same
  %is_plain = and i1 %is_shaped, %is_known
  %data = get ptr %object[DATA]
  %found = select i1 %is_plain, ptr %data, ptr null
  ret ptr %found
}
"""
