"""Which recording a call replays, as LLVM text; see `replay.py`."""

from __future__ import annotations

GUARDS = """
; what a guard looks at: an argument, a name of a module, or a cell; null for what is not there.
; Nothing is added to its references.
define internal ptr @value_of(ptr %guard, ptr %args) {
  %source = get i64 %guard[SOURCE]
  switch i64 %source, label %argument [ i64 OF_NAME, label %name  i64 OF_CELL, label %cell ]
argument:
  %number = get i64 %guard[WHERE]
  %given = get ptr %args[%number]
  ret ptr %given
name:
  %names = get ptr %guard[SPACE]
  %word = get ptr %guard[WHERE]
  %named = call ptr @PyDict_GetItemWithError(ptr %names, ptr %word)
  %is_missing = icmp eq ptr %named, null
  br i1 %is_missing, label %missing, label %found
missing:
  call void @PyErr_Clear()
  ret ptr null
found:
  ret ptr %named
cell:
  %object = get ptr %guard[WHERE]
  %content = call ptr @PyCell_Get(ptr %object)
  call void @Py_DecRef(ptr %content)
  ret ptr %content
}

; 1 when a value passes a guard, 0 when not, -1 for an exception
define internal i32 @passes(ptr %guard, ptr %value, ptr %hosts) {
  %expected = get ptr %guard[EXPECTED]
  %is_same = icmp eq ptr %value, %expected
  %counts = get i64 %guard[IS_FIXED]
  %is_fixed = icmp ne i64 %counts, 0
  %is_done = and i1 %is_same, %is_fixed
  br i1 %is_done, label %yes, label %more
more:
  %is_missing = icmp eq ptr %value, null
  br i1 %is_missing, label %no, label %check
check:
  %how = get i64 %guard[CHECK]
  switch i64 %how, label %no [
    i64 BITS, label %kind  i64 EQUAL, label %kind  i64 MARK, label %mark
    i64 SMALL, label %small  i64 LARGE, label %large  i64 READY, label %large
    i64 OWN, label %own  i64 ANY, label %any
  ]
any:
  %any_type = get ptr %value[TYPE]
  %any_kind = get ptr %guard[KIND]
  %is_any_kind = icmp eq ptr %any_type, %any_kind
  br i1 %is_any_kind, label %yes, label %no
own:
  %has_own = call i1 @has_names(ptr %guard, ptr %value)
  %own_type = get ptr %value[TYPE]
  %own_kind = get ptr %guard[KIND]
  %is_kind = icmp eq ptr %own_type, %own_kind
  %is_alike_own = and i1 %is_kind, %has_own
  %is_own = and i1 %is_same, %is_alike_own
  br i1 %is_own, label %yes, label %no
kind:
  %type = get ptr %value[TYPE]
  %known_type = get ptr %expected[TYPE]
  %same_type = icmp eq ptr %type, %known_type
  br i1 %same_type, label %number, label %no
number:
  %is_float = icmp eq i64 %how, BITS
  br i1 %is_float, label %float, label %equal
float:
  %one = call double @PyFloat_AsDouble(ptr %value)
  %other = call double @PyFloat_AsDouble(ptr %expected)
  %one_bits = bitcast double %one to i64
  %other_bits = bitcast double %other to i64
  %same_bits = icmp eq i64 %one_bits, %other_bits
  br i1 %same_bits, label %yes, label %no
equal:
  %is_equal = call i32 @PyObject_RichCompareBool(ptr %value, ptr %expected, i32 2)
  ret i32 %is_equal
mark:
  %own_marker = get ptr %guard[EXTENTS]
  %usual_marker = get ptr @table[MARKER]
  %is_usual = icmp eq ptr %own_marker, null
  %marker = select i1 %is_usual, ptr %usual_marker, ptr %own_marker
  call void @Py_IncRef(ptr %value)
  %made = call ptr @call_one(ptr %marker, ptr %value)
  call void @Py_DecRef(ptr %value)
  %raised = icmp eq ptr %made, null
  br i1 %raised, label %error, label %compare
error:
  ret i32 -1
compare:
  %is_alike = call i32 @PyObject_RichCompareBool(ptr %made, ptr %expected, i32 2)
  call void @Py_DecRef(ptr %made)
  call void @PyErr_Clear()
  %is_marked = icmp eq i32 %is_alike, 1
  br i1 %is_marked, label %yes, label %no
small:
  %array = call ptr @host(ptr %value)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %no, label %look
look:
  %fits = call i1 @is_like(ptr %array, ptr %guard)
  br i1 %fits, label %keep, label %no
large:
  %is_whole = call i1 @is_whole(ptr %value, ptr %guard)
  br i1 %is_whole, label %whole, label %no
whole:
  %is_any = icmp eq i64 %how, LARGE
  br i1 %is_any, label %yes, label %ready
ready:
  %memory = call ptr @memory(ptr %value)
  %no_memory = icmp eq ptr %memory, null
  br i1 %no_memory, label %no, label %keep
keep:
  %kept = phi ptr [ %array, %look ], [ %memory, %ready ]
  %argument = get i64 %guard[WHERE]
  call void @Py_IncRef(ptr %kept)
  put ptr %kept, %hosts[%argument]
  br label %yes
yes:
  ret i32 1
no:
  ret i32 0
}

; whether a call passes all guards of an entry, as above. `hosts` gets NumPy's arrays, and the
; memory of the engine's.
define internal i32 @fits(ptr %entry, ptr %args, i64 %count, ptr %names, ptr %options,
                          ptr %hosts) {
  %known_options = get ptr %entry[OPTIONS]
  %same_options = icmp eq ptr %options, %known_options
  %known_count = get i64 %entry[POSITIONAL]
  %same_count = icmp eq i64 %count, %known_count
  %first = and i1 %same_options, %same_count
  br i1 %first, label %named, label %no
named:
  %known_names = get ptr %entry[NAMES]
  %is_without = icmp eq ptr %names, null
  %was_without = icmp eq ptr %known_names, null
  %either = or i1 %is_without, %was_without
  %both = and i1 %is_without, %was_without
  br i1 %either, label %nameless, label %words
nameless:
  br i1 %both, label %start, label %no
words:
  %alike = call i32 @PyObject_RichCompareBool(ptr %names, ptr %known_names, i32 2)
  %same_names = icmp eq i32 %alike, 1
  br i1 %same_names, label %start, label %no
start:
  %begin = get ptr %entry[GUARDS]
  %total = get i64 %entry[GUARD_COUNT]
  br label %next
next:
  %guard = phi ptr [ %begin, %start ], [ %guard_after, %passed ]
  %i = phi i64 [ 0, %start ], [ %after, %passed ]
  %is_over = icmp sge i64 %i, %total
  br i1 %is_over, label %yes, label %look
look:
  %value = call ptr @value_of(ptr %guard, ptr %args)
  %outcome = call i32 @passes(ptr %guard, ptr %value, ptr %hosts)
  %is_passed = icmp eq i32 %outcome, 1
  br i1 %is_passed, label %passed, label %failed
passed:
  %guard_after = getelementptr i64, ptr %guard, i64 GUARD_WORDS
  %after = add i64 %i, 1
  br label %next
failed:
  ret i32 %outcome
yes:
  ret i32 1
no:
  ret i32 0
}
"""

CALL = """
; what CPython calls once a fused function says so (vectorcall)
define ptr @lf_vector_replay(ptr %self, ptr %args, i64 %flagged, ptr %names) {
  %count = and i64 %flagged, 9223372036854775807
  %result = call ptr @lf_replay(ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}

define ptr @lf_replay(ptr %self, ptr %args, i64 %count, ptr %names) {
  %recordings = get ptr @table[RECORDINGS]
  %under_way = get i64 %recordings[USED]
  %is_recording = icmp ne i64 %under_way, 0
  br i1 %is_recording, label %slow, label %open
open:
  %place = get i64 @table[VECTOR]
  %vector_at = getelementptr i8, ptr %self, i64 %place
  store ptr @lf_vector_replay, ptr %vector_at
  %entries = call ptr @part(ptr %self, i64 ENTRIES)
  %is_unset = icmp eq ptr %entries, null
  br i1 %is_unset, label %slow, label %kind
kind:
  %type = get ptr %entries[TYPE]
  %ndarray = get ptr @table[NDARRAY]
  %is_array = icmp eq ptr %type, %ndarray
  br i1 %is_array, label %head, label %slow
head:
  %head_at = get ptr %entries[DATA]
  %first = get ptr %head_at[0]
  %is_empty = icmp eq ptr %first, null
  br i1 %is_empty, label %slow, label %context
context:
  %options_at = alloca ptr
  store ptr null, ptr %options_at
  %variable = get ptr @table[VARIABLE]
  %status = call i32 @PyContextVar_Get(ptr %variable, ptr null, ptr %options_at)
  %failed = icmp slt i32 %status, 0
  br i1 %failed, label %raise, label %words
raise:
  ret ptr null
words:
  %options = load ptr, ptr %options_at
  call void @Py_DecRef(ptr %options)
  %is_nameless = icmp eq ptr %names, null
  br i1 %is_nameless, label %counted, label %named
named:
  %named_count = call i64 @tuple_size(ptr %names)
  br label %counted
counted:
  %keywords = phi i64 [ 0, %words ], [ %named_count, %named ]
  %total = add i64 %count, %keywords
  %hosts = alloca ptr, i64 %total
  br label %clear
clear:
  %i = phi i64 [ 0, %counted ], [ %i_after, %put ]
  %is_clear = icmp sge i64 %i, %total
  br i1 %is_clear, label %next, label %put
put:
  put ptr null, %hosts[%i]
  %i_after = add i64 %i, 1
  br label %clear
next:
  %entry = phi ptr [ %first, %clear ], [ %entry_after, %other ]
  %outcome = call i32 @fits(ptr %entry, ptr %args, i64 %count, ptr %names, ptr %options,
                            ptr %hosts)
  switch i32 %outcome, label %error [ i32 1, label %found  i32 0, label %other ]
other:
  call void @release(ptr %hosts, i64 %total)
  %entry_after = get ptr %entry[NEXT]
  %is_last = icmp eq ptr %entry_after, null
  br i1 %is_last, label %slow, label %next
error:
  call void @release(ptr %hosts, i64 %total)
  ret ptr null
found:
  %callable = get ptr %entry[CALLABLE]
  %is_kernel = icmp eq ptr %callable, null
  br i1 %is_kernel, label %kernel, label %call
call:
  call void @release(ptr %hosts, i64 %total)
  %called = call ptr @PyObject_Vectorcall(ptr %callable, ptr %args, i64 %count, ptr %names)
  ret ptr %called
kernel:
  %result = call ptr @run_if_free(ptr %entry, ptr %hosts, ptr %args)
  call void @release(ptr %hosts, i64 %total)
  %number = ptrtoint ptr %result to i64
  %is_told = icmp eq i64 %number, 1
  br i1 %is_told, label %slow, label %done
done:
  ret ptr %result

slow:
  %is_plain = icmp eq ptr %names, null
  br i1 %is_plain, label %copy, label %extra
extra:
  %extra_count = call i64 @tuple_size(ptr %names)
  br label %copy
copy:
  %more = phi i64 [ 0, %slow ], [ %extra_count, %extra ]
  %given_count = add i64 %count, %more
  %room = add i64 %given_count, 1
  %all = alloca ptr, i64 %room
  store ptr %self, ptr %all
  br label %each
each:
  %j = phi i64 [ 0, %copy ], [ %j_after, %move ]
  %is_over = icmp sge i64 %j, %given_count
  br i1 %is_over, label %python, label %move
move:
  %item = get ptr %args[%j]
  %j_after = add i64 %j, 1
  put ptr %item, %all[%j_after]
  br label %each
python:
  %method = get ptr @table[METHOD]
  %with_self = add i64 %count, 1
  %slowly = call ptr @PyObject_Vectorcall(ptr %method, ptr %all, i64 %with_self, ptr %names)
  ret ptr %slowly
}
"""
