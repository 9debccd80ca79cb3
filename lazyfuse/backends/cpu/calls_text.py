"""Kernels of the launcher's own, as LLVM text: `lf_calls` and `lf_copy` of `launch_text.py`."""

from __future__ import annotations

CALLS = """\
define void @lf_calls(ptr %rows, i64 %begin, i64 %end) {
entry:
  br label %next
next:
  %number = phi i64 [ %begin, %entry ], [ %after, %call ]
  %is_over = icmp sge i64 %number, %end
  br i1 %is_over, label %done, label %call
call:
  %row = getelementptr [ROW_WORDS x i64], ptr %rows, i64 %number
  %a_at = getelementptr i64, ptr %row, i64 1
  %b_at = getelementptr i64, ptr %row, i64 2
  %c_at = getelementptr i64, ptr %row, i64 3
  %d_at = getelementptr i64, ptr %row, i64 4
  %e_at = getelementptr i64, ptr %row, i64 5
  %function = load ptr, ptr %row
  %a = load i64, ptr %a_at
  %b = load i64, ptr %b_at
  %c = load i64, ptr %c_at
  %d = load i64, ptr %d_at
  %e = load i64, ptr %e_at
  call void %function(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e)
  %after = add i64 %number, 1
  br label %next
done:
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @lf_copy(ptr %params, i64 %begin, i64 %end) {
entry:
  %source_at = getelementptr i64, ptr %params, i64 1
  %pieces_at = getelementptr i64, ptr %params, i64 2
  %target = load ptr, ptr %params
  %source = load ptr, ptr %source_at
  %pieces = load ptr, ptr %pieces_at
  %is_there = icmp eq ptr %target, %source
  br i1 %is_there, label %done, label %next
next:
  %number = phi i64 [ %begin, %entry ], [ %after, %copy ]
  %is_over = icmp sge i64 %number, %end
  br i1 %is_over, label %done, label %copy
copy:
  %piece = getelementptr [2 x i64], ptr %pieces, i64 %number
  %length_at = getelementptr i64, ptr %piece, i64 1
  %offset = load i64, ptr %piece
  %length = load i64, ptr %length_at
  %to = getelementptr i8, ptr %target, i64 %offset
  %from = getelementptr i8, ptr %source, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %length, i1 false)
  %after = add i64 %number, 1
  br label %next
done:
  ret void
}
"""
