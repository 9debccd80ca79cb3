"""When operations are put off, as LLVM text; see `defer_text.py`."""

from __future__ import annotations

WHEN = """
; the options in force, which others keep; null where that is not known
define internal ptr @options_now() {
  %found = alloca ptr
  store ptr null, ptr %found
  %variable = call ptr @object(i64 T_OPTIONS)
  %got = call i32 @PyContextVar_Get(ptr %variable, ptr null, ptr %found)
  %options = load ptr, ptr %found
  %is_none = icmp eq ptr %options, null
  br i1 %is_none, label %clear, label %give
clear:
  call void @PyErr_Clear()
  ret ptr null
give:
  call void @Py_DecRef(ptr %options)
  ret ptr %options
}

; whether the options in force are those under which operations are put off
define internal i1 @is_allowed() {
  %options = call ptr @options_now()
  %allowed = get ptr @state[ALLOWED]
  %is_allowed = icmp eq ptr %options, %allowed
  br i1 %is_allowed, label %yes, label %other
yes:
  ret i1 true
other:
  %refused = get ptr @state[REFUSED]
  %is_refused = icmp eq ptr %options, %refused
  br i1 %is_refused, label %no, label %ask
ask:
  %question = get ptr @state[ASK]
  call void @ask(ptr %question)
  br label %no
no:
  ret i1 false
}

; calls a function for what it does; may leave an exception
define internal void @ask(ptr %function) {
  %answer = call ptr @PyObject_Vectorcall(ptr %function, ptr null, i64 0, ptr null)
  call void @Py_DecRef(ptr %answer)
  ret void
}

; whether warnings come when they like
define internal i1 @is_outermost() {
  %known = get ptr @state[OUTERMOST]
  %is_any = icmp eq ptr %known, null
  br i1 %is_any, label %yes, label %look
yes:
  ret i1 true
look:
  %warnings = call ptr @object(i64 T_WARNINGS)
  %name = call ptr @object(i64 T_FILTERS_NAME)
  %filters = call ptr @PyDict_GetItemWithError(ptr %warnings, ptr %name)
  %is_known = icmp eq ptr %filters, %known
  ret i1 %is_known
}

; whether an operation is looked at: every fourth, as long as no place is hot, since to know the
; place costs a tenth of a small operation
define internal i1 @is_looked_at() {
  %is_any_hot = get i64 @state[IS_ANY_HOT]
  %all = icmp ne i64 %is_any_hot, 0
  br i1 %all, label %yes, label %count
yes:
  ret i1 true
count:
  %before = get i64 @state[PASSED]
  %now = add i64 %before, 1
  put i64 %now, @state[PASSED]
  %turn = and i64 %before, 3
  %is_turn = icmp eq i64 %turn, 0
  ret i1 %is_turn
}

; stores where the user is, with a reference, where something may be put off; false where not, or
; for this turn. May leave an exception
define internal i1 @spot_to_look_at(ptr %spot) {
  %is_turn = call i1 @is_looked_at()
  br i1 %is_turn, label %filters, label %no
filters:
  %is_outermost = call i1 @is_outermost()
  br i1 %is_outermost, label %ask, label %no
ask:
  %is_allowed = call i1 @is_allowed()
  br i1 %is_allowed, label %where, label %no
where:
  %is_somewhere = call i1 @spot(ptr %spot)
  br i1 %is_somewhere, label %yes, label %lost
lost:
  call void @count_lost()
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; the word of the state that is the heat of a spot's place
define internal i64 @place_of(ptr %spot) {
  %code = get ptr %spot[SPOT_CODE]
  %instruction = get i64 %spot[SPOT_INSTRUCTION]
  %address = ptrtoint ptr %code to i64
  %short = lshr i64 %address, 4
  %spread = mul i64 %instruction, 7
  %sum = add i64 %short, %spread
  %entry = and i64 %sum, LAST_PLACE
  %place = add i64 %entry, HEAT
  ret i64 %place
}

; whether the place of a spot is hot, or at least not cold where views have been put off: the
; first operation on the tape is there then
define internal i1 @warmed(ptr %spot, i64 %size) {
  %place = call i64 @place_of(ptr %spot)
  put i64 %place, @state[PLACE]
  %heat = get i64 @state[%place]
  %is_hot = call i1 @heated(i64 %place, i64 %size)
  %leaves = get i64 @state[LEAF_COUNT]
  %has_views = icmp ne i64 %leaves, 0
  %is_not_cold = icmp sge i64 %heat, 0
  %can_follow = and i1 %has_views, %is_not_cold
  %begins = or i1 %is_hot, %can_follow
  ret i1 %begins
}

; adds to the time that a place has spent, for arrays of so many elements; whether that was enough
; before
define internal i1 @heated(i64 %place, i64 %size) {
  %heat = get i64 @state[%place]
  %quarter = lshr i64 %size, 2
  %cost = add i64 %quarter, 500
  %is_any_hot = get i64 @state[IS_ANY_HOT]
  %is_every = icmp ne i64 %is_any_hot, 0
  %weight = select i1 %is_every, i64 1, i64 4
  %spent = mul i64 %cost, %weight
  %more = add i64 %heat, %spent
  put i64 %more, @state[%place]
  %wanted = get i64 @state[HOT]
  %is_hot = icmp sge i64 %heat, %wanted
  br i1 %is_hot, label %mark, label %done
mark:
  put i64 1, @state[IS_ANY_HOT]
  br label %done
done:
  ret i1 %is_hot
}

; whether the tape, where something is on it, is this thread's and has room; where it has none it
; is settled, and where it is another thread's, now and then: that may have ended
define internal i1 @make_room() {
  %rows = get i64 @state[ROW_COUNT]
  %is_new = icmp eq i64 %rows, 0
  br i1 %is_new, label %room, label %thread
yes:
  ret i1 true
thread:
  %owner = get i64 @state[OWN_THREAD]
  %here = call i64 @PyThread_get_thread_ident()
  %is_own = icmp eq i64 %owner, %here
  br i1 %is_own, label %room, label %foreign
foreign:
  %foreign_before = get i64 @state[FOREIGN]
  %foreign_now = add i64 %foreign_before, 1
  put i64 %foreign_now, @state[FOREIGN]
  %turn = and i64 %foreign_now, 63
  %is_turn = icmp eq i64 %turn, 0
  br i1 %is_turn, label %full, label %no
room:
  %leaves = get i64 @state[LEAF_COUNT]
  %fits_leaves = icmp sle i64 %leaves, MOST_LEAVES_BEFORE
  %fits_rows = icmp slt i64 %rows, MOST_ROWS
  %fits = and i1 %fits_leaves, %fits_rows
  br i1 %fits, label %yes, label %settle
settle:
  call void @settle_here()
  br label %no
full:
  %settler = get ptr @state[FULL]
  call void @ask(ptr %settler)
  br label %no
no:
  ret i1 false
}

; whether the tape is empty, or an operation of this spot belongs on it
define internal i1 @is_in_force(ptr %spot) {
  %rows = get i64 @state[ROW_COUNT]
  %is_new = icmp eq i64 %rows, 0
  br i1 %is_new, label %yes, label %look
yes:
  ret i1 true
look:
  %modes = get ptr %spot[SPOT_MODES]
  %modes_before = get ptr @state[MODES]
  %same_modes = icmp eq ptr %modes, %modes_before
  %owner = get i64 @state[OWN_THREAD]
  %here = call i64 @PyThread_get_thread_ident()
  %is_own = icmp eq i64 %owner, %here
  %allowed = get ptr @state[ALLOWED]
  %own_options = get ptr @state[OWN_OPTIONS]
  %same_options = icmp eq ptr %allowed, %own_options
  %same_state = and i1 %same_modes, %same_options
  %is_in_force = and i1 %same_state, %is_own
  ret i1 %is_in_force
}
"""
