"""Settling what is put off by one call, as LLVM text; see `defer_text.py`."""

from __future__ import annotations

REPLAY = """
declare ptr @PyBytes_AsString(ptr)
declare i64 @PyBytes_Size(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; whether what the tape was recorded under is in force
define internal i1 @has_its_settings() {
  %first = call ptr @row(i64 0)
  %modes_then = get ptr %first[ROW_MODES]
  %modes = call ptr @modes()
  %same_modes = icmp eq ptr %modes, %modes_then
  %options = call ptr @options_now()
  %own_options = get ptr @state[OWN_OPTIONS]
  %same_options = icmp eq ptr %options, %own_options
  %same = and i1 %same_modes, %same_options
  ret i1 %same
}

; the call that does so many operations for the results that are alive; null where none is known
define internal ptr @known_call(i64 %rows, ptr %live) {
  %key = call ptr @tape_key(i64 %rows, ptr %live)
  %failed = icmp eq ptr %key, null
  br i1 %failed, label %no, label %find
find:
  %calls = get ptr @state[KNOWN]
  %fused = call ptr @PyDict_GetItem(ptr %calls, ptr %key)
  call void @Py_DecRef(ptr %key)
  ret ptr %fused
no:
  ret ptr null
}

; settles the tape by one call that does what it does; false where there is none, or somebody else
; has settled it meanwhile, and with an exception where it raised
define internal i1 @replay_tape() {
  %rows = get i64 @state[ROW_COUNT]
  %leaves = get i64 @state[LEAF_COUNT]
  %busy = get i64 @state[IS_BUSY]
  %is_idle = icmp eq i64 %busy, 0
  %all = add i64 %rows, %leaves
  %has_any = icmp ne i64 %all, 0
  %can = and i1 %is_idle, %has_any
  br i1 %can, label %choose, label %no
choose:
  %has_rows = icmp ne i64 %rows, 0
  br i1 %has_rows, label %look, label %empty
look:
  %can_replay = call i1 @has_its_settings()
  br i1 %can_replay, label %ask, label %no
ask:
  %live = alloca i8, i64 MOST_ROWS
  call void @write_live(i64 %rows, ptr %live)
  %has_live = call i1 @has_live(i64 %rows, ptr %live)
  br i1 %has_live, label %look_up, label %empty
look_up:
  %fused = call ptr @known_call(i64 %rows, ptr %live)
  %is_unknown = icmp eq ptr %fused, null
  br i1 %is_unknown, label %no, label %run
run:
  %generation = get i64 @state[GENERATION]
  %found = call ptr @called(ptr %fused)
  %values = call ptr @as_tuple(ptr %found)
  %generation_now = get i64 @state[GENERATION]
  %is_current = icmp eq i64 %generation, %generation_now
  br i1 %is_current, label %idle, label %late
idle:
  %is_none = icmp eq ptr %values, null
  br i1 %is_none, label %no, label %give
give:
  %is_given = call i1 @give_results(ptr %values, ptr %live, i64 %rows)
  call void @Py_DecRef(ptr %values)
  br i1 %is_given, label %empty, label %no
empty:
  call void @empty()
  ret i1 true
late:
  call void @Py_DecRef(ptr %values)
  br label %no
no:
  ret i1 false
}

; settles the tape by one call, or Python does; may leave an exception
define internal void @settle_here() {
  %is_settled = call i1 @replay_tape()
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  %is_over = or i1 %is_settled, %raised
  br i1 %is_over, label %done, label %ask
ask:
  %settler = get ptr @state[FULL]
  call void @ask(ptr %settler)
  br label %done
done:
  ret void
}

; the codes, which results are alive and how many leaves there are as one key; null without an
; exception for none
define internal ptr @tape_key(i64 %rows, ptr %live) {
  %code_bytes = mul i64 %rows, CODE_BYTES
  %row_bytes = mul i64 %rows, KEY_BYTES
  %length = add i64 %row_bytes, 1
  %key = call ptr @PyBytes_FromStringAndSize(ptr null, i64 %length)
  %failed = icmp eq ptr %key, null
  br i1 %failed, label %clear, label %fill
clear:
  call void @PyErr_Clear()
  ret ptr null
fill:
  %begin = call ptr @PyBytes_AsString(ptr %key)
  call void @llvm.memcpy.p0.p0.i64(ptr %begin, ptr @codes, i64 %code_bytes, i1 false)
  %flags = getelementptr i8, ptr %begin, i64 %code_bytes
  call void @llvm.memcpy.p0.p0.i64(ptr %flags, ptr %live, i64 %rows, i1 false)
  %leaves = get i64 @state[LEAF_COUNT]
  %count = trunc i64 %leaves to i8
  %last = getelementptr i8, ptr %begin, i64 %row_bytes
  store i8 %count, ptr %last
  ret ptr %key
}

; the operands of a call, each with a reference
define internal void @hold_operands(ptr %operands, i64 %count) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %hold ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %hold
hold:
  %operand = call ptr @held_operand(i64 %i)
  put ptr %operand, %operands[%i]
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}

; what a call gave as a tuple, whose reference it takes; null for None and for an exception
define internal ptr @as_tuple(ptr %found) {
  %raised = icmp eq ptr %found, null
  br i1 %raised, label %fail, label %look
fail:
  ret ptr null
look:
  %is_tuple = call i1 @is(ptr %found, i64 T_TUPLE)
  br i1 %is_tuple, label %give, label %one
give:
  ret ptr %found
one:
  %none = call ptr @none()
  %is_none = icmp eq ptr %found, %none
  br i1 %is_none, label %drop, label %pack
pack:
  %packed = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %found)
  call void @Py_DecRef(ptr %found)
  ret ptr %packed
drop:
  call void @Py_DecRef(ptr %found)
  ret ptr null
}

; what an array does not have; NumPy's array where that is put off and one call gives it
define ptr @lf_missing(ptr %self, ptr %name) {
  %wanted = get ptr @state[HOST_NAME]
  %is_host = icmp eq ptr %name, %wanted
  br i1 %is_host, label %run, label %slow
run:
  %is_settled = call i1 @replay_tape()
  br i1 %is_settled, label %look, label %ask
ask:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %fail, label %slow
fail:
  ret ptr null
look:
  %host = call ptr @part(ptr %self, i64 T_HOST)
  %is_lost = icmp eq ptr %host, null
  br i1 %is_lost, label %slow, label %done
done:
  call void @Py_IncRef(ptr %host)
  ret ptr %host
slow:
  %result = call ptr @slow(i64 T_MISSING, ptr %self, ptr %name)
  ret ptr %result
}
"""
