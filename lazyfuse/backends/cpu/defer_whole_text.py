"""Reductions over all axes of what is put off, as LLVM text; see `defer_text.py`.

They give numbers, which a program mostly asks for at once. `(x * y).sum()` is computed in one
pass, and its operand, which nobody can reach then, stays put off: a tape of which nobody can reach
any result is emptied when something comes after. Where somebody asks for the operand nevertheless,
it is computed twice; so it is a reduction of a temporary result on a short tape, and no costly
operation is asked for by others.
"""

from __future__ import annotations

WHOLE = """
; the value of a reduction over all axes of an array; null where it is to be computed at once. Like
; `defer_all`, 1 for an exception
define internal ptr @reduce_whole(i64 %code, ptr %a) {
  %live = alloca i8, i64 MOST_ROWS
  %rows = get i64 @state[ROW_COUNT]
  %less = sub i64 %rows, 1
  %is_short = icmp ult i64 %less, MOST_WHOLE
  %busy = get i64 @state[IS_BUSY]
  %is_idle = icmp eq i64 %busy, 0
  %can = and i1 %is_short, %is_idle
  br i1 %can, label %taken, label %no
taken:
  %is_taken = call i1 @is_on_tape(ptr %a)
  br i1 %is_taken, label %find, label %no
find:
  %number = call i64 @number_of(ptr %a)
  %is_row = icmp sge i64 %number, FIRST_ROW
  br i1 %is_row, label %look, label %no
look:
  %place = sub i64 %number, FIRST_ROW
  %row = call ptr @row(i64 %place)
  %references = get i32 %a[REFERENCES]
  %all = zext i32 %references to i64
  %own = get i64 %row[ROW_REFERENCES]
  %with_one = add i64 %own, 1
  %is_temporary = icmp eq i64 %all, %with_one
  %row_kind = get i64 %row[ROW_KIND]
  %kind = call i64 @kind_by(i64 %code, i64 %row_kind, i64 0)
  %is_known = icmp ne i64 %kind, OTHER
  %is_fit = and i1 %is_temporary, %is_known
  br i1 %is_fit, label %others, label %no
others:
  call void @write_live(i64 %rows, ptr %live)
  %is_cheap = call i1 @is_cheap_without(i64 %rows, ptr %live, i64 %place)
  br i1 %is_cheap, label %force, label %no
force:
  %is_in_force = call i1 @is_tape_in_force()
  br i1 %is_in_force, label %write, label %no
write:
  call void @write_whole(i64 %rows, i64 %code, i64 %number, ptr %live)
  %value = call ptr @value_of_last(i64 %rows, ptr %live)
  %has_none = icmp eq ptr %value, null
  br i1 %has_none, label %raised, label %scalar
scalar:
  %host = call ptr @part(ptr %value, i64 T_HOST)
  %is_lost = icmp eq ptr %host, null
  br i1 %is_lost, label %drop, label %read
read:
  %data = get ptr %host[DATA]
  %dtype = get ptr %host[DESCR]
  %reader = call ptr @object(i64 T_NEW_SCALAR)
  %made = call ptr %reader(ptr %data, ptr %dtype, ptr null)
  put i64 1, @state[IS_LEFT]
  br label %drop
drop:
  %found = phi ptr [ null, %scalar ], [ %made, %read ]
  call void @Py_DecRef(ptr %value)
  %is_given = icmp ne ptr %found, null
  br i1 %is_given, label %give, label %raised
give:
  ret ptr %found
raised:
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  br i1 %is_fine, label %no, label %fail
fail:
  ret ptr inttoptr (i64 1 to ptr)
no:
  ret ptr null
}

; whether what the tape was recorded under is in force, for this thread
define internal i1 @is_tape_in_force() {
  %same = call i1 @has_its_settings()
  %owner = get i64 @state[OWN_THREAD]
  %here = call i64 @PyThread_get_thread_ident()
  %is_own = icmp eq i64 %owner, %here
  %is_in_force = and i1 %same, %is_own
  ret i1 %is_in_force
}

; whether no costly operation is needed for results that are alive, but for one of them
define internal i1 @is_cheap_without(i64 %rows, ptr %live, i64 %without) {
  br label %start
start:
  %place = phi i64 [ %rows, %0 ], [ %before, %mark ], [ %before, %next ]
  %needed = phi i64 [ 0, %0 ], [ %needed_now, %mark ], [ %needed, %next ]
  %is_over = icmp eq i64 %place, 0
  br i1 %is_over, label %yes, label %next
next:
  %before = sub i64 %place, 1
  %live_at = getelementptr i8, ptr %live, i64 %before
  %live_byte = load i8, ptr %live_at
  %is_live = icmp ne i8 %live_byte, 0
  %is_other = icmp ne i64 %before, %without
  %is_asked = and i1 %is_live, %is_other
  %bit = shl i64 1, %before
  %known = and i64 %needed, %bit
  %is_read = icmp ne i64 %known, 0
  %is_needed = or i1 %is_asked, %is_read
  br i1 %is_needed, label %needed_row, label %start
needed_row:
  %words = mul i64 %before, CODE_WORDS
  %code = get i64 @codes[%words]
  %is_cheap = call i1 @is_cheap(i64 %code)
  br i1 %is_cheap, label %mark, label %no
mark:
  %first_at = add i64 %words, 1
  %second_at = add i64 %words, 2
  %third_at = add i64 %words, 3
  %first = get i64 @codes[%first_at]
  %second = get i64 @codes[%second_at]
  %third = get i64 @codes[%third_at]
  %first_bit = call i64 @bit_of_row(i64 %first)
  %second_bit = call i64 @bit_of_row(i64 %second)
  %third_bit = call i64 @bit_of_row(i64 %third)
  %two_bits = or i64 %first_bit, %second_bit
  %bits = or i64 %two_bits, %third_bit
  %needed_now = or i64 %needed, %bits
  br label %start
yes:
  ret i1 true
no:
  ret i1 false
}

; the bit of an operand that is a row; 0 for others
define internal i64 @bit_of_row(i64 %number) alwaysinline {
  %is_row = icmp sge i64 %number, FIRST_ROW
  %place = sub i64 %number, FIRST_ROW
  %fine = select i1 %is_row, i64 %place, i64 0
  %bit = shl i64 1, %fine
  %found = select i1 %is_row, i64 %bit, i64 0
  ret i64 %found
}

; whether an operation takes about as long as reading its operands
define internal i1 @is_cheap(i64 %code) {
  %is_cheap = call i1 @is_in_set(i64 %code, i64 CHEAP_LOW, i64 CHEAP_HIGH)
  ret i1 %is_cheap
}

; writes the words of a reduction after those of the tape, and that it alone is asked for
define internal void @write_whole(i64 %rows, i64 %code, i64 %number, ptr %live) {
  %place = mul i64 %rows, CODE_WORDS
  %first = add i64 %place, 1
  %second = add i64 %place, 2
  %third = add i64 %place, 3
  put i64 %code, @codes[%place]
  put i64 %number, @codes[%first]
  put i64 WHOLE_WORD, @codes[%second]
  put i64 WHOLE_WORD, @codes[%third]
  call void @llvm.memset.p0.i64(ptr %live, i8 0, i64 %rows, i1 false)
  %last = getelementptr i8, ptr %live, i64 %rows
  store i8 1, ptr %last
  ret void
}

; an array of the value of what comes after so many rows; null where one call does not give it
define internal ptr @value_of_last(i64 %rows, ptr %live) {
  %more = add i64 %rows, 1
  %fused = call ptr @known_call(i64 %more, ptr %live)
  %is_unknown = icmp eq ptr %fused, null
  br i1 %is_unknown, label %ask, label %run
run:
  %found = call ptr @called(ptr %fused)
  %has_none = call i1 @is_none_or_null(ptr %found)
  br i1 %has_none, label %drop, label %give
drop:
  call void @Py_DecRef(ptr %found)
  br label %no
ask:
  %is_passed_over = call i1 @is_passed_over(i64 WHOLE_GAP)
  br i1 %is_passed_over, label %no, label %python
python:
  %place = mul i64 %rows, CODE_WORDS
  %words = getelementptr i64, ptr @codes, i64 %place
  %extra = call ptr @PyBytes_FromStringAndSize(ptr %words, i64 CODE_BYTES)
  %asked = get ptr @state[WHOLE]
  %answer = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %asked, ptr %extra, ptr null)
  call void @Py_DecRef(ptr %extra)
  %is_refused = call i1 @is_none_or_null(ptr %answer)
  br i1 %is_refused, label %vain, label %later
later:
  %false = call ptr @object(i64 T_FALSE)
  %is_later = icmp eq ptr %answer, %false
  br i1 %is_later, label %soon, label %known
soon:
  call void @Py_DecRef(ptr %answer)
  br label %no
known:
  put i64 0, @state[WHOLE_GAP]
  br label %give
vain:
  call void @widen_gap(i64 WHOLE_GAP)
  call void @Py_DecRef(ptr %answer)
  br label %no
give:
  %value = phi ptr [ %found, %run ], [ %answer, %known ]
  ret ptr %value
no:
  ret ptr null
}

define internal i1 @is_none_or_null(ptr %object) {
  %none = call ptr @none()
  %is_null = icmp eq ptr %object, null
  %is_none = icmp eq ptr %object, %none
  %either = or i1 %is_null, %is_none
  ret i1 %either
}

; what a call for the leaves of the tape gives, which is being computed meanwhile; null for an
; exception
define internal ptr @called(ptr %fused) {
  %leaves = get i64 @state[LEAF_COUNT]
  %operands = alloca ptr, i64 %leaves
  call void @hold_operands(ptr %operands, i64 %leaves)
  put i64 1, @state[IS_BUSY]
  %generation = get i64 @state[GENERATION]
  call void @Py_IncRef(ptr %fused)
  %found = call ptr @PyObject_Vectorcall(ptr %fused, ptr %operands, i64 %leaves, ptr null)
  call void @drop_all(ptr %operands, i64 %leaves)
  call void @Py_DecRef(ptr %fused)
  %generation_now = get i64 @state[GENERATION]
  %is_current = icmp eq i64 %generation, %generation_now
  br i1 %is_current, label %idle, label %done
idle:
  put i64 0, @state[IS_BUSY]
  br label %done
done:
  ret ptr %found
}

; empties the tape where nobody can reach what is on it, after a reduction of something there
define internal void @tidy() {
  %left = get i64 @state[IS_LEFT]
  %is_left = icmp ne i64 %left, 0
  br i1 %is_left, label %look, label %done
look:
  put i64 0, @state[IS_LEFT]
  %busy = get i64 @state[IS_BUSY]
  %is_idle = icmp eq i64 %busy, 0
  br i1 %is_idle, label %count, label %done
count:
  %live = alloca i8, i64 MOST_ROWS
  %rows = get i64 @state[ROW_COUNT]
  call void @write_live(i64 %rows, ptr %live)
  %has_any = call i1 @has_live(i64 %rows, ptr %live)
  br i1 %has_any, label %done, label %empty
empty:
  call void @empty()
  br label %done
done:
  ret void
}

; whether a result is alive
define internal i1 @has_live(i64 %rows, ptr %live) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %rows
  br i1 %is_over, label %no, label %look
look:
  %at = getelementptr i8, ptr %live, i64 %i
  %byte = load i8, ptr %at
  %after = add i64 %i, 1
  %is_live = icmp ne i8 %byte, 0
  br i1 %is_live, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}
"""
