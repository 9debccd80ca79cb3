"""Putting off calls of ufuncs, and what Python asks for, as LLVM text; see `defer_text.py`."""

from __future__ import annotations

CALLS = """
; the result of a ufunc that is put off; null where it is to be computed at once
define internal ptr @deferred_call(ptr %self, ptr %args, i64 %count, ptr %names) {
  %code_object = call ptr @part(ptr %self, i64 T_CODE)
  %has_none = icmp eq ptr %code_object, null
  %is_named = icmp ne ptr %names, null
  %is_other = or i1 %has_none, %is_named
  br i1 %is_other, label %no, label %look
look:
  %code = call i64 @PyLong_AsLongLong(ptr %code_object)
  %arity_bit = and i64 %code, BINARY
  %is_binary = icmp ne i64 %arity_bit, 0
  %wanted = select i1 %is_binary, i64 2, i64 1
  %fits = icmp eq i64 %wanted, %count
  br i1 %fits, label %operands, label %no
operands:
  %a = load ptr, ptr %args
  br i1 %is_binary, label %second, label %defer
second:
  %b_at = getelementptr ptr, ptr %args, i64 1
  %b_given = load ptr, ptr %b_at
  br label %defer
defer:
  %b = phi ptr [ null, %operands ], [ %b_given, %second ]
  %made = call ptr @defer(i64 %code, ptr %a, ptr %b)
  ret ptr %made
no:
  ret ptr null
}

define ptr @lf_defer(ptr %self, ptr %args, i64 %count) {
  %code_object = load ptr, ptr %args
  %code = call i64 @PyLong_AsLongLong(ptr %code_object)
  %a = get ptr %args[1]
  %is_binary = icmp sge i64 %count, 3
  br i1 %is_binary, label %binary, label %run
binary:
  %second = get ptr %args[2]
  br label %run
run:
  %b = phi ptr [ null, %0 ], [ %second, %binary ]
  %made = call ptr @defer(i64 %code, ptr %a, ptr %b)
  %is_none = icmp eq ptr %made, null
  br i1 %is_none, label %none, label %done
done:
  ret ptr %made
none:
  %nothing = call ptr @none()
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
}
"""
