"""Putting off calls of ufuncs, and what Python asks for, as LLVM text; see `defer_text.py`."""

from __future__ import annotations

CALLS = """
; an operator: `b` is null for one of one operand
define internal ptr @defer(i64 %code, ptr %a, ptr %b) {
  %operands = alloca [2 x ptr]
  put ptr %a, %operands[0]
  put ptr %b, %operands[1]
  %is_unary = icmp eq ptr %b, null
  %count = select i1 %is_unary, i64 1, i64 2
  %made = call ptr @defer_all(i64 %code, ptr %operands, i64 %count, ptr null)
  ret ptr %made
}

; an operator that writes its first operand
define internal ptr @defer_in_place(i64 %code, ptr %a, ptr %b) {
  %operands = alloca [2 x ptr]
  put ptr %a, %operands[0]
  put ptr %b, %operands[1]
  %leaf = call ptr @shared_leaf(ptr %a)
  %is_shared = icmp ne ptr %leaf, null
  br i1 %is_shared, label %write, label %try
write:
  %written = call ptr @write_leaf(i64 %code, ptr %operands, ptr %leaf)
  ret ptr %written
try:
  %made = call ptr @defer_all(i64 %code, ptr %operands, i64 2, ptr %a)
  ret ptr %made
}

; the result of a function that is put off; null where it is to be computed at once
define internal ptr @deferred_call(ptr %self, ptr %args, i64 %count, ptr %names) {
  %code_object = call ptr @part(ptr %self, i64 T_CODE)
  %has_none = icmp eq ptr %code_object, null
  br i1 %has_none, label %no, label %known
known:
  %code = call i64 @PyLong_AsLongLong(ptr %code_object)
  %arity = and i64 %code, ARITY
  %is_reduction = icmp eq i64 %arity, REDUCTION
  br i1 %is_reduction, label %reduction, label %elementwise
reduction:
  %has_array = icmp sgt i64 %count, 0
  br i1 %has_array, label %reduce, label %no
reduce:
  %array = get ptr %args[0]
  %rest = getelementptr ptr, ptr %args, i64 1
  %fewer = sub i64 %count, 1
  %reduced = call ptr @defer_reduction(i64 %code, ptr %array, ptr %rest, i64 %fewer, ptr %names)
  ret ptr %reduced
elementwise:
  %is_named = icmp ne ptr %names, null
  br i1 %is_named, label %no, label %look
look:
  %fits = call i1 @takes(i64 %code, i64 %count)
  br i1 %fits, label %run, label %no
run:
  %made = call ptr @defer_all(i64 %code, ptr %args, i64 %count, ptr null)
  ret ptr %made
no:
  ret ptr null
}

; a method that is put off; null where it is to be computed at once
define internal ptr @defer_method(i64 %code, ptr %self, ptr %args, i64 %count, ptr %names) {
  %arity = and i64 %code, ARITY
  %is_reduction = icmp eq i64 %arity, REDUCTION
  br i1 %is_reduction, label %reduction, label %elementwise
reduction:
  %reduced = call ptr @defer_reduction(i64 %code, ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %reduced
elementwise:
  %operands = alloca [3 x ptr]
  %operand_count = add i64 %count, 1
  %fits = call i1 @takes(i64 %code, i64 %operand_count)
  %is_named = icmp ne ptr %names, null
  %is_plain = xor i1 %is_named, true
  %can = and i1 %fits, %is_plain
  br i1 %can, label %first, label %no
first:
  put ptr %self, %operands[0]
  br label %next
next:
  %i = phi i64 [ 0, %first ], [ %after, %copy ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %run, label %copy
copy:
  %operand = get ptr %args[%i]
  %after = add i64 %i, 1
  put ptr %operand, %operands[%after]
  br label %next
run:
  %made = call ptr @defer_all(i64 %code, ptr %operands, i64 %operand_count, ptr null)
  ret ptr %made
no:
  ret ptr null
}

; `astype` of one argument, that is put off; null where it is to be computed at once
define internal ptr @defer_cast(ptr %self, ptr %args, i64 %count, ptr %names) {
  %is_named = icmp ne ptr %names, null
  %is_one = icmp eq i64 %count, 1
  %is_plain = xor i1 %is_named, true
  %can = and i1 %is_one, %is_plain
  br i1 %can, label %look, label %no
look:
  %operands = alloca [1 x ptr]
  %dtype = get ptr %args[0]
  %code = call i64 @cast_to(ptr %dtype)
  %is_known = icmp sge i64 %code, 0
  br i1 %is_known, label %run, label %no
run:
  put ptr %self, %operands[0]
  %made = call ptr @defer_all(i64 %code, ptr %operands, i64 1, ptr null)
  ret ptr %made
no:
  ret ptr null
}

; the code of a cast to a dtype, which may be given as its type or its name; -1 for others
define internal i64 @cast_to(ptr %given) {
  %dtype_number = call i64 @cast_number(ptr %given)
  %is_dtype = icmp sge i64 %dtype_number, 0
  br i1 %is_dtype, label %found, label %by_name
found:
  %number = add i64 %dtype_number, FIRST_CAST
  %code = shl i64 %number, CODE_SHIFT
  %cast = or i64 %code, CAST
  ret i64 %cast
by_name:
  %is_name = call i1 @is(ptr %given, i64 T_TEXT)
  %is_type = call i1 @is(ptr %given, i64 T_TYPE)
  %can = or i1 %is_name, %is_type
  br i1 %can, label %ask, label %no
ask:
  %names = get ptr @state[CASTS]
  %known = call ptr @PyDict_GetItemWithError(ptr %names, ptr %given)
  %is_unknown = icmp eq ptr %known, null
  br i1 %is_unknown, label %clear, label %read
clear:
  call void @PyErr_Clear()
  br label %no
read:
  %named = call i64 @PyLong_AsLongLong(ptr %known)
  ret i64 %named
no:
  ret i64 -1
}

; whether an operation has so many operands
define internal i1 @takes(i64 %code, i64 %count) {
  %bits = and i64 %code, ARITY
  %less_one = lshr i64 %bits, 2
  %wanted = add i64 %less_one, 1
  %fits = icmp eq i64 %wanted, %count
  ret i1 %fits
}
"""
