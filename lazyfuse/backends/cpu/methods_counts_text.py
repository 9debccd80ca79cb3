"""Sums of integers, and of what is true, as LLVM text; see `methods_folds_text.py`."""

from __future__ import annotations

COUNTS = """
define internal i1 @sum_i64(ptr %data, i64 %count, ptr %out) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %end, %step ]
  %sums = phi <8 x i64> [ zeroinitializer, %0 ], [ %more, %step ]
  %end = add i64 %i, 8
  %fits = icmp sle i64 %end, %count
  br i1 %fits, label %step, label %tail
step:
  %at = getelementptr i64, ptr %data, i64 %i
  %x = load <8 x i64>, ptr %at, align 4
  %more = add <8 x i64> %sums, %x
  br label %next
tail:
  %joined = call i64 @llvm.vector.reduce.add.v8i64(<8 x i64> %sums)
  br label %last
last:
  %j = phi i64 [ %i, %tail ], [ %after, %one ]
  %sum = phi i64 [ %joined, %tail ], [ %added, %one ]
  %is_over = icmp sge i64 %j, %count
  br i1 %is_over, label %done, label %one
one:
  %one_at = getelementptr i64, ptr %data, i64 %j
  %y = load i64, ptr %one_at, align 4
  %added = add i64 %sum, %y
  %after = add i64 %j, 1
  br label %last
done:
  store i64 %sum, ptr %out
  ret i1 true
}
declare i64 @llvm.vector.reduce.add.v8i64(<8 x i64>)

; how many of so many bytes are not zero
define internal i64 @count_true(ptr %data, i64 %count) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %end, %step ]
  %sums = phi <16 x i16> [ zeroinitializer, %0 ], [ %more, %step ]
  %end = add i64 %i, 16
  %fits = icmp sle i64 %end, %count
  br i1 %fits, label %step, label %tail
step:
  %at = getelementptr i8, ptr %data, i64 %i
  %x = load <16 x i8>, ptr %at, align 1
  %are_true = icmp ne <16 x i8> %x, zeroinitializer
  %ones = zext <16 x i1> %are_true to <16 x i16>
  %more = add <16 x i16> %sums, %ones
  br label %next
tail:
  %joined = call i16 @llvm.vector.reduce.add.v16i16(<16 x i16> %sums)
  %wide = zext i16 %joined to i64
  br label %last
last:
  %j = phi i64 [ %i, %tail ], [ %after, %one ]
  %sum = phi i64 [ %wide, %tail ], [ %added, %one ]
  %is_over = icmp sge i64 %j, %count
  br i1 %is_over, label %done, label %one
one:
  %one_at = getelementptr i8, ptr %data, i64 %j
  %y = load i8, ptr %one_at
  %is_true = icmp ne i8 %y, 0
  %is_one = zext i1 %is_true to i64
  %added = add i64 %sum, %is_one
  %after = add i64 %j, 1
  br label %last
done:
  ret i64 %sum
}
declare i16 @llvm.vector.reduce.add.v16i16(<16 x i16>)

define internal i1 @sum_i8(ptr %data, i64 %count, ptr %out) {
  %found = call i64 @count_true(ptr %data, i64 %count)
  store i64 %found, ptr %out
  ret i1 true
}

define internal i1 @any_i8(ptr %data, i64 %count, ptr %out) {
  %found = call i64 @count_true(ptr %data, i64 %count)
  %is_any = icmp ne i64 %found, 0
  %byte = zext i1 %is_any to i8
  store i8 %byte, ptr %out
  ret i1 true
}

define internal i1 @all_i8(ptr %data, i64 %count, ptr %out) {
  %found = call i64 @count_true(ptr %data, i64 %count)
  %are_all = icmp eq i64 %found, %count
  %byte = zext i1 %are_all to i8
  store i8 %byte, ptr %out
  ret i1 true
}
"""
