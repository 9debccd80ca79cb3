"""Putting off reductions along one axis, as LLVM text; see `defer_text.py`."""

from __future__ import annotations

REDUCE = """
; a reduction that is put off, of `a` and the arguments that NumPy's method takes: `axis` as the
; first one or by name, and `keepdims` by name. Null where it is to be computed at once
define internal ptr @defer_reduction(i64 %code, ptr %a, ptr %args, i64 %count, ptr %names) {
  %operands = alloca [1 x ptr]
  %shape_at = alloca ptr
  %axis_at = alloca ptr
  %keeps_at = alloca i64
  store ptr null, ptr %axis_at
  store i64 0, ptr %keeps_at
  %is_ours = call i1 @is(ptr %a, i64 T_CLASS)
  %is_short = icmp sle i64 %count, 1
  %name_count = call i64 @count_of(ptr %names)
  %can = and i1 %is_ours, %is_short
  br i1 %can, label %parse, label %no
parse:
  %is_read = call i1 @read_axis(ptr %args, i64 %count, ptr %names, ptr %axis_at, ptr %keeps_at)
  br i1 %is_read, label %look, label %no
look:
  %kind = call i64 @seen(ptr %a, ptr %shape_at)
  %is_other = icmp eq i64 %kind, OTHER
  br i1 %is_other, label %no, label %axes
axes:
  %shape = load ptr, ptr %shape_at
  %axis_object = load ptr, ptr %axis_at
  %keeps = load i64, ptr %keeps_at
  %all = add i64 %count, %name_count
  %is_bare = icmp eq i64 %all, 0
  br i1 %is_bare, label %to_number, label %one_axis
to_number:
  %value = call ptr @reduce_whole(i64 %code, ptr %a)
  ret ptr %value
one_axis:
  %axis = call i64 @axis_in(ptr %axis_object, ptr %shape, i64 %keeps)
  %is_axis = icmp sge i64 %axis, 0
  br i1 %is_axis, label %run, label %no
run:
  %twice = mul i64 %axis, 2
  %more = add i64 %twice, %keeps
  %what = add i64 %more, 1
  %above = shl i64 %what, REDUCED_SHIFT
  %whole = or i64 %code, %above
  put ptr %a, %operands[0]
  %made = call ptr @defer_all(i64 %whole, ptr %operands, i64 1, ptr null)
  ret ptr %made
no:
  ret ptr null
}

; reads the arguments of a reduction; false where there are others
define internal i1 @read_axis(ptr %args, i64 %count, ptr %names, ptr %axis_at, ptr %keeps_at) {
  %has_axis = icmp eq i64 %count, 1
  br i1 %has_axis, label %first, label %words
first:
  %axis = get ptr %args[0]
  store ptr %axis, ptr %axis_at
  br label %words
words:
  %word_count = call i64 @count_of(ptr %names)
  br label %next
next:
  %i = phi i64 [ 0, %words ], [ %after, %read ]
  %is_over = icmp sge i64 %i, %word_count
  br i1 %is_over, label %yes, label %look
look:
  %name = call ptr @tuple_item(ptr %names, i64 %i)
  %place = add i64 %count, %i
  %value = get ptr %args[%place]
  %after = add i64 %i, 1
  %axis_name = call ptr @object(i64 T_AXIS)
  %is_axis = icmp eq ptr %name, %axis_name
  br i1 %is_axis, label %read_axis, label %other
read_axis:
  store ptr %value, ptr %axis_at
  br i1 %has_axis, label %no, label %read
other:
  %keep_name = call ptr @object(i64 T_KEEPDIMS)
  %is_keep = icmp eq ptr %name, %keep_name
  br i1 %is_keep, label %keep, label %no
keep:
  %true = call ptr @object(i64 T_TRUE)
  %false = call ptr @object(i64 T_FALSE)
  %is_true = icmp eq ptr %value, %true
  %is_false = icmp eq ptr %value, %false
  %is_bool = or i1 %is_true, %is_false
  %number = zext i1 %is_true to i64
  store i64 %number, ptr %keeps_at
  br i1 %is_bool, label %read, label %no
read:
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; an axis of a shape as a number from 0 on; -1 for others, and where the result is no array
define internal i64 @axis_in(ptr %object, ptr %shape, i64 %keeps) {
  %is_missing = icmp eq ptr %object, null
  br i1 %is_missing, label %no, label %look
look:
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  br i1 %is_int, label %value, label %no
value:
  %overflow_at = alloca i32
  %number = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow_at)
  %overflow = load i32, ptr %overflow_at
  %is_within = icmp eq i32 %overflow, 0
  %nd = get i32 %shape[ND]
  %axes = sext i32 %nd to i64
  %is_negative = icmp slt i64 %number, 0
  %from_end = add i64 %number, %axes
  %axis = select i1 %is_negative, i64 %from_end, i64 %number
  %is_axis = icmp ult i64 %axis, %axes
  %is_few = icmp ule i64 %axes, 8
  %more = add i64 %axes, %keeps
  %is_array = icmp sge i64 %more, 2
  %exists = and i1 %is_within, %is_axis
  %fits = and i1 %is_few, %is_array
  %can = and i1 %exists, %fits
  %found = select i1 %can, i64 %axis, i64 -1
  ret i64 %found
no:
  ret i64 -1
}

; what has the shape of a row: of a reduction, and where no operand has it, the row itself, which
; gets it
define internal ptr @shape_of_row(ptr %row, i64 %code, ptr %shape) {
  %what = lshr i64 %code, REDUCED_SHIFT
  %is_plain = icmp eq i64 %what, 0
  br i1 %is_plain, label %same, label %reduced
same:
  %is_joint = icmp eq ptr %shape, @joint
  br i1 %is_joint, label %copy, label %give
give:
  ret ptr %shape
copy:
  %kept_at = getelementptr i64, ptr %row, i64 ROW_EXTENTS
  %joint_axes = get i64 @joint[ND]
  %joint_extents = get ptr @joint[DIMENSIONS]
  %bytes = mul i64 %joint_axes, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %kept_at, ptr %joint_extents, i64 %bytes, i1 false)
  put i64 %joint_axes, %row[ROW_ND]
  put ptr %kept_at, %row[ROW_DIMENSIONS]
  %kept_base = getelementptr i64, ptr %row, i64 ROW_SHAPE_BASE
  ret ptr %kept_base
reduced:
  %less = sub i64 %what, 1
  %axis = lshr i64 %less, 1
  %keeps = and i64 %less, 1
  %keeps_it = icmp eq i64 %keeps, 1
  %nd = get i32 %shape[ND]
  %axes = sext i32 %nd to i64
  %extents = get ptr %shape[DIMENSIONS]
  %own = getelementptr i64, ptr %row, i64 ROW_EXTENTS
  put ptr %own, %row[ROW_DIMENSIONS]
  br label %next
next:
  %i = phi i64 [ 0, %reduced ], [ %after, %step ]
  %to = phi i64 [ 0, %reduced ], [ %to_after, %step ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %done, label %look
look:
  %extent = get i64 %extents[%i]
  %after = add i64 %i, 1
  %is_axis = icmp eq i64 %i, %axis
  %kept = select i1 %is_axis, i64 1, i64 %extent
  %other = xor i1 %is_axis, true
  %stays = or i1 %other, %keeps_it
  br i1 %stays, label %write, label %step
write:
  put i64 %kept, %own[%to]
  br label %step
step:
  %is_written = zext i1 %stays to i64
  %to_after = add i64 %to, %is_written
  br label %next
done:
  put i64 %to, %row[ROW_ND]
  %base = getelementptr i64, ptr %row, i64 ROW_SHAPE_BASE
  ret ptr %base
}
"""
