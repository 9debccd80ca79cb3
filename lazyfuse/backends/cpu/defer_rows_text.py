"""Rows of the tape, as LLVM text; see `defer_text.py`."""

from __future__ import annotations

ROWS = """
; a new row for a result, whose reference it shares, and a spot, whose reference it takes; false
; where that is not possible any more: making both may have run anything
define internal i1 @append(i64 %code, ptr %operands, i64 %count, ptr %target, ptr %spot,
                           ptr %result) {
  %shape_at = alloca ptr
  %busy = get i64 @state[IS_BUSY]
  %rows = get i64 @state[ROW_COUNT]
  %leaves = get i64 @state[LEAF_COUNT]
  %is_idle = icmp eq i64 %busy, 0
  %fits_rows = icmp slt i64 %rows, MOST_ROWS
  %fits_leaves = icmp sle i64 %leaves, MOST_LEAVES_BEFORE
  %some_room = and i1 %fits_rows, %fits_leaves
  %can = and i1 %is_idle, %some_room
  br i1 %can, label %look, label %no
look:
  %kind = call i64 @surveyed(i64 %code, ptr %operands, i64 %count, ptr %shape_at)
  %is_fit = icmp ne i64 %kind, OTHER
  %is_own = call i1 @is_in_force(ptr %spot)
  %is_possible = and i1 %is_fit, %is_own
  br i1 %is_possible, label %check, label %no
check:
  %is_new = icmp eq ptr %target, null
  br i1 %is_new, label %add, label %written
written:
  %result_shape = load ptr, ptr %shape_at
  %fits_target = call i1 @can_take(ptr %target, i64 %kind, ptr %result_shape)
  br i1 %fits_target, label %add, label %no
add:
  %row = call ptr @row(i64 %rows)
  call void @note_operands(i64 %rows, i64 %code, ptr %operands, i64 %count)
  %references = call i64 @superseded(ptr %target)
  %operand_shape = load ptr, ptr %shape_at
  %shape = call ptr @shape_of_row(ptr %row, i64 %code, ptr %operand_shape)
  put i64 %kind, %row[ROW_KIND]
  put ptr %shape, %row[ROW_SHAPE]
  put i64 %references, %row[ROW_REFERENCES]
  put i64 0, %row[ROW_IS_OLD]
  call void @Py_IncRef(ptr %result)
  put ptr %result, %row[ROW_RESULT]
  %code_object = get ptr %spot[SPOT_CODE]
  %instruction = get i64 %spot[SPOT_INSTRUCTION]
  %own_modes = get ptr %spot[SPOT_MODES]
  call void @Py_IncRef(ptr %own_modes)
  put ptr %code_object, %row[ROW_CODE]
  put i64 %instruction, %row[ROW_INSTRUCTION]
  put ptr %own_modes, %row[ROW_MODES]
  %number = add i64 %rows, FIRST_ROW
  call void @note_number(ptr %result, i64 %number)
  %more = add i64 %rows, 1
  put i64 %more, @state[ROW_COUNT]
  br i1 %is_new, label %own, label %begins
own:
  %owner_offset = call i64 @entry(i64 T_OWNER)
  %owner_at = getelementptr i8, ptr %result, i64 %owner_offset
  %none = call ptr @none()
  call void @Py_IncRef(ptr %none)
  store ptr %none, ptr %owner_at
  br label %begins
begins:
  %is_first = icmp eq i64 %rows, 0
  br i1 %is_first, label %begin, label %yes
begin:
  put ptr %own_modes, @state[MODES]
  %thread = call i64 @PyThread_get_thread_ident()
  put i64 %thread, @state[OWN_THREAD]
  %options = get ptr @state[ALLOWED]
  put ptr %options, @state[OWN_OPTIONS]
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; whether an array can be written with results of a kind and a shape, and keeps its dtype
define internal i1 @can_take(ptr %target, i64 %kind, ptr %shape) {
  %shape_at = alloca ptr
  %own = call i64 @seen(ptr %target, ptr %shape_at)
  %own_shape = load ptr, ptr %shape_at
  %alike = call i1 @alike(ptr %own_shape, ptr %shape)
  %is_kind = call i1 @is_same_dtype(i64 %own, i64 %kind)
  %same = and i1 %is_kind, %alike
  br i1 %same, label %look, label %no
look:
  %is_writeable = call i1 @is_writeable(ptr %target)
  ret i1 %is_writeable
no:
  ret i1 false
}

; writes the code and the operands of a row, and takes new leaves
define internal void @note_operands(i64 %rows, i64 %code, ptr %operands, i64 %count) {
  %shape_at = alloca ptr
  %place = mul i64 %rows, CODE_WORDS
  %plain_code = and i64 %code, 4294967295
  put i64 %plain_code, @codes[%place]
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %note ]
  %after = add i64 %i, 1
  %at = add i64 %place, %after
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %rest, label %look
look:
  %operand = get ptr %operands[%i]
  %known = call i64 @number_of(ptr %operand)
  %is_known = icmp sge i64 %known, 0
  br i1 %is_known, label %numbered, label %new
new:
  %kind = call i64 @seen(ptr %operand, ptr %shape_at)
  %added = call i64 @operand_number(ptr %operand, i64 %kind)
  br label %numbered
numbered:
  %number = phi i64 [ %known, %look ], [ %added, %new ]
  %is_leaf = icmp ult i64 %number, FIRST_ROW
  br i1 %is_leaf, label %read, label %note
read:
  %leaf = call ptr @leaf(i64 %number)
  call void @note_read(ptr %leaf)
  br label %note
note:
  put i64 %number, @codes[%at]
  br label %next
rest:
  %is_last = icmp sge i64 %i, 3
  br i1 %is_last, label %done, label %pad
pad:
  %k = phi i64 [ %i, %rest ], [ %k_after, %pad ]
  %k_after = add i64 %k, 1
  %k_at = add i64 %place, %k_after
  %what = lshr i64 %code, REDUCED_SHIFT
  %filler = sub i64 -1, %what
  put i64 %filler, @codes[%k_at]
  %is_full = icmp sge i64 %k_after, 3
  br i1 %is_full, label %done, label %pad
done:
  ret void
}

; how many references the tape has to the result of the row that is being added; what was an array
; before it is written in place is not asked for any more
define internal i64 @superseded(ptr %target) {
  %is_new = icmp eq ptr %target, null
  br i1 %is_new, label %one, label %look
one:
  ret i64 1
look:
  %number = call i64 @number_of(ptr %target)
  %is_row = icmp sge i64 %number, FIRST_ROW
  br i1 %is_row, label %at_row, label %two
two:
  ret i64 2
at_row:
  %place = sub i64 %number, FIRST_ROW
  %row = call ptr @row(i64 %place)
  put i64 1, %row[ROW_IS_OLD]
  %references = get i64 %row[ROW_REFERENCES]
  %more = add i64 %references, 1
  ret i64 %more
}
"""
