"""The results of a recording that is replayed, as LLVM text; see `replay.py`."""

from __future__ import annotations

RUN = """
; whether the dict of a guard is that of an object, or the object itself, and has the same names
; in the same order
define internal i1 @has_names(ptr %guard, ptr %object) {
  %known = get ptr %guard[SHAPE]
  %names = get ptr %guard[EXTENTS]
  %is_dict = icmp eq ptr %object, %known
  br i1 %is_dict, label %keys, label %look
look:
  %found = call ptr @PyObject_GenericGetDict(ptr %object)
  %is_none = icmp eq ptr %found, null
  br i1 %is_none, label %without, label %compare
without:
  call void @PyErr_Clear()
  ret i1 false
compare:
  call void @Py_DecRef(ptr %found)
  %is_same = icmp eq ptr %found, %known
  br i1 %is_same, label %keys, label %no
keys:
  %now = call ptr @PyDict_Keys(ptr %known)
  %is_lost = icmp eq ptr %now, null
  br i1 %is_lost, label %without, label %named
named:
  %outcome = call i32 @PyObject_RichCompareBool(ptr %now, ptr %names, i32 2)
  call void @Py_DecRef(ptr %now)
  %is_alike = icmp eq i32 %outcome, 1
  br i1 %is_alike, label %yes, label %without
yes:
  ret i1 true
no:
  ret i1 false
}
; an array as the caller gets it: wrapped (0), the scalar of an array without axes (1), or what an
; object makes of it. Takes the reference.
define internal ptr @wrapped(ptr %array, i64 %how) {
  switch i64 %how, label %build [ i64 0, label %wrap  i64 1, label %item ]
build:
  %builder = inttoptr i64 %how to ptr
  %built = call ptr @call_one(ptr %builder, ptr %array)
  call void @Py_DecRef(ptr %array)
  ret ptr %built
item:
  %key = get ptr @table[NO_KEY]
  %element = call ptr @PyObject_GetItem(ptr %array, ptr %key)
  call void @Py_DecRef(ptr %array)
  ret ptr %element
wrap:
  %class = get ptr @table[CLASS]
  %made = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %fail, label %set
fail:
  call void @Py_DecRef(ptr %array)
  ret ptr null
set:
  %host_offset = get i64 @table[HOST]
  %host_at = getelementptr i8, ptr %made, i64 %host_offset
  store ptr %array, ptr %host_at
  %none = get ptr @table[NONE]
  call void @Py_IncRef(ptr %none)
  %owner_offset = get i64 @table[OWNER]
  %owner_at = getelementptr i8, ptr %made, i64 %owner_offset
  store ptr %none, ptr %owner_at
  ret ptr %made
}

; the result of a call from its arrays, whose references it takes, and from its numbers
define internal ptr @result(ptr %entry, ptr %outputs, ptr %registers) {
  %count = get i64 %entry[OUTPUT_COUNT]
  %begin = get ptr %entry[OUTPUTS]
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %set ]
  %output = phi ptr [ %begin, %0 ], [ %output_after, %set ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %gather, label %wrap
wrap:
  %array = get ptr %outputs[%i]
  put ptr null, %outputs[%i]
  %kind = get i64 %output[OUTPUT_KIND]
  %made = call ptr @wrapped(ptr %array, i64 %kind)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %fail, label %set
set:
  put ptr %made, %outputs[%i]
  %after = add i64 %i, 1
  %output_after = getelementptr i64, ptr %output, i64 OUTPUT_WORDS
  br label %next
gather:
  %how = get i64 %entry[WHOLE]
  %is_one = icmp eq i64 %how, 0
  br i1 %is_one, label %one, label %tuple
one:
  %only = get ptr %outputs[0]
  put ptr null, %outputs[0]
  ret ptr %only
tuple:
  %number_count = get i64 %entry[NUMBER_COUNT]
  %total = add i64 %count, %number_count
  %all = call ptr @PyTuple_New(i64 %total)
  %no_tuple = icmp eq ptr %all, null
  br i1 %no_tuple, label %fail, label %item
item:
  %j = phi i64 [ 0, %tuple ], [ %j_after, %move ]
  %is_full = icmp sge i64 %j, %count
  br i1 %is_full, label %numbers, label %move
move:
  %part = get ptr %outputs[%j]
  put ptr null, %outputs[%j]
  %status = call i32 @PyTuple_SetItem(ptr %all, i64 %j, ptr %part)
  %j_after = add i64 %j, 1
  br label %item
numbers:
  %which = get ptr %entry[NUMBERS]
  br label %number
number:
  %k = phi i64 [ 0, %numbers ], [ %k_after, %add ]
  %is_last = icmp sge i64 %k, %number_count
  br i1 %is_last, label %built, label %add
add:
  %register = get i64 %which[%k]
  %value = get ptr %registers[%register]
  call void @Py_IncRef(ptr %value)
  %place = add i64 %count, %k
  %added = call i32 @PyTuple_SetItem(ptr %all, i64 %place, ptr %value)
  %k_after = add i64 %k, 1
  br label %number
built:
  %is_tuple = icmp eq i64 %how, 1
  br i1 %is_tuple, label %whole, label %rebuild
whole:
  ret ptr %all
rebuild:
  %builder = inttoptr i64 %how to ptr
  %rebuilt = call ptr @call_one(ptr %builder, ptr %all)
  call void @Py_DecRef(ptr %all)
  ret ptr %rebuilt
fail:
  ret ptr null
}

define internal void @count(ptr %entry) {
  %replays = get i64 %entry[REPLAYS]
  %replays_now = add i64 %replays, 1
  put i64 %replays_now, %entry[REPLAYS]
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %add ]
  %is_over = icmp sge i64 %i, COUNTERS
  br i1 %is_over, label %done, label %add
add:
  %own_place = add i64 %i, LAUNCHES
  %own = get i64 %entry[%own_place]
  %place = add i64 %i, ALL_LAUNCHES
  %total = get i64 @table[%place]
  %total_now = add i64 %total, %own
  put i64 %total_now, @table[%place]
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}

; whether somebody wants to hear of conditions: 1, 0, -1 for an exception
define internal i32 @is_told(ptr %entry, i64 %met) {
  %silent = icmp eq i64 %met, 0
  br i1 %silent, label %no, label %ask
no:
  ret i32 0
ask:
  %asked = get ptr %entry[TOLD]
  %number = call ptr @PyLong_FromLong(i64 %met)
  %raised = icmp eq ptr %number, null
  br i1 %raised, label %fail, label %call
call:
  %answer = call ptr @call_one(ptr %asked, ptr %number)
  call void @Py_DecRef(ptr %number)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %fail, label %read
read:
  %is_true = call i32 @PyObject_IsTrue(ptr %answer)
  call void @Py_DecRef(ptr %answer)
  ret i32 %is_true
fail:
  ret i32 -1
}

; replay an entry; null for an exception, and 1 when somebody wants to hear of conditions, or of
; what is wrong with a number
define internal ptr @run(ptr %entry, ptr %hosts, ptr %args) {
  %count = get i64 %entry[MEMORY_COUNT]
  %outputs = alloca ptr, i64 %count
  call void @clear(ptr %outputs, i64 %count)
  %register_count = get i64 %entry[REGISTER_COUNT]
  %registers = alloca ptr, i64 %register_count
  %scalar_count = get i64 %entry[SCALAR_COUNT]
  %values = alloca i64, i64 %scalar_count
  %is_fixed = icmp eq i64 %register_count, 0
  br i1 %is_fixed, label %allocate, label %compute
compute:
  call void @clear(ptr %registers, i64 %register_count)
  %computed = call i32 @compute(ptr %entry, ptr %args, ptr %registers)
  switch i32 %computed, label %leave [ i32 0, label %tell  i32 1, label %convert ]
convert:
  %is_taken = call i1 @scalars(ptr %entry, ptr %registers, ptr %values)
  br i1 %is_taken, label %allocate, label %tell
allocate:
  %is_ready = call i1 @allocate(ptr %entry, ptr %outputs)
  br i1 %is_ready, label %launch, label %leave
launch:
  %met = call i64 @launches(ptr %entry, ptr %hosts, ptr %outputs, ptr %values)
  %failed = icmp slt i64 %met, 0
  br i1 %failed, label %leave, label %ask
ask:
  %told = call i32 @is_told(ptr %entry, i64 %met)
  switch i32 %told, label %leave [ i32 0, label %give  i32 1, label %tell ]
tell:
  br label %leave
give:
  call void @count(ptr %entry)
  %made = call ptr @result(ptr %entry, ptr %outputs, ptr %registers)
  br label %leave
leave:
  %answer = phi ptr [ null, %compute ], [ null, %allocate ], [ null, %launch ], [ null, %ask ],
                    [ inttoptr (i64 1 to ptr), %tell ], [ %made, %give ]
  call void @release(ptr %outputs, i64 %count)
  call void @release(ptr %registers, i64 %register_count)
  ret ptr %answer
}

; the same if the workers are there, and no more threads run it than may; else 1 as well
define internal ptr @run_if_free(ptr %entry, ptr %hosts, ptr %args) {
  %helpers = get i64 %entry[HELPERS]
  %workers = get i64 @table[WORKERS]
  %is_staffed = icmp sle i64 %helpers, %workers
  %turns = get i64 %entry[TURNS]
  %is_free = icmp sgt i64 %turns, 0
  %can_run = and i1 %is_staffed, %is_free
  br i1 %can_run, label %run, label %leave
leave:
  ret ptr inttoptr (i64 1 to ptr)
run:
  %turns_left = sub i64 %turns, 1
  put i64 %turns_left, %entry[TURNS]
  %result = call ptr @run(ptr %entry, ptr %hosts, ptr %args)
  %turns_then = get i64 %entry[TURNS]
  %turns_after = add i64 %turns_then, 1
  put i64 %turns_after, %entry[TURNS]
  ret ptr %result
}
"""

PERFORM = """
; run the kernels of an entry on memory of the engine: the conditions met, as the CPU's flags; -1
; for an exception, and -2 where Python has to do it, before anything has happened. `outputs` gets
; the references of the results and of what is needed between kernels, also with an exception.
; `may(given)` says, when Python has made memory, whether kernels may run; null: they may
define i64 @lf_perform(ptr %entry, ptr %memory, ptr %numbers, ptr %outputs, ptr %may,
                       ptr %given) {
  %count = get i64 %entry[MEMORY_COUNT]
  call void @clear(ptr %outputs, i64 %count)
  %helpers = get i64 %entry[HELPERS]
  %workers = get i64 @table[WORKERS]
  %is_staffed = icmp sle i64 %helpers, %workers
  br i1 %is_staffed, label %convert, label %python
convert:
  %scalar_count = get i64 %entry[SCALAR_COUNT]
  %values = alloca i64, i64 %scalar_count
  %is_taken = call i1 @scalars(ptr %entry, ptr %numbers, ptr %values)
  br i1 %is_taken, label %allocate, label %python
allocate:
  %is_ready = call i1 @allocate(ptr %entry, ptr %outputs)
  br i1 %is_ready, label %ask, label %fail
ask:
  %is_free = icmp eq ptr %may, null
  br i1 %is_free, label %launch, label %check
check:
  %holds = call i1 %may(ptr %given)
  br i1 %holds, label %launch, label %python
launch:
  %met = call i64 @launches(ptr %entry, ptr %memory, ptr %outputs, ptr %values)
  %failed = icmp slt i64 %met, 0
  br i1 %failed, label %fail, label %done
done:
  call void @count(ptr %entry)
  ret i64 %met
fail:
  ret i64 -1
python:
  ret i64 -2
}
"""
