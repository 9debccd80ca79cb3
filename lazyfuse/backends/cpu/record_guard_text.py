"""What machine code that records and runs plans holds off, as LLVM text (see `record_text.py`).

Python 3.11 collects garbage inside any function that allocates, and a finalizer may compute or
write what this code is looking at. So there are no collections while it uses objects that it does
not own: between `stop` and `resume`. Bytecode runs outside, also what may end the life of objects
with a finalizer: then other threads never see a collector that is stopped.
"""

GUARD = """
declare i32 @PyGC_Disable()
declare i32 @PyGC_Enable()
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @PyList_SetItem(ptr, i64, ptr)

; whether `resume` has to let Python collect again; 0 outside
@lf_stopped = internal global i32 0

define internal void @stop() {{
  %was_on = call i32 @PyGC_Disable()
  %before = load i32, ptr @lf_stopped
  %stopped = or i32 %before, %was_on
  store i32 %stopped, ptr @lf_stopped
  ret void
}}

; may be called twice
define internal void @resume() {{
  %stopped = load i32, ptr @lf_stopped
  %is_on = icmp eq i32 %stopped, 0
  br i1 %is_on, label %done, label %enable
enable:
  store i32 0, ptr @lf_stopped
  %was_on = call i32 @PyGC_Enable()
  br label %done
done:
  ret void
}}

; drops a reference that may be the last one
define internal void @let_go(ptr %object) {{
  call void @resume()
  call void @Py_DecRef(ptr %object)
  call void @stop()
  ret void
}}

; puts the exception aside in three words, if it is the first one
define internal void @keep_raised(ptr %raised) {{
  %kept = load ptr, ptr %raised
  %is_first = icmp eq ptr %kept, null
  br i1 %is_first, label %fetch, label %clear
fetch:
  %value = getelementptr ptr, ptr %raised, i64 1
  %traceback = getelementptr ptr, ptr %raised, i64 2
  call void @PyErr_Fetch(ptr %raised, ptr %value, ptr %traceback)
  ret void
clear:
  call void @PyErr_Clear()
  ret void
}}

; handles the signals that have come meanwhile; puts an exception aside. Functions of Python's that
; are called where objects end would handle them, else, and what is raised there is lost
define internal void @hear_signals(ptr %raised) {{
  %status = call i32 @PyErr_CheckSignals()
  %failed = icmp slt i32 %status, 0
  br i1 %failed, label %keep, label %done
keep:
  call void @keep_raised(ptr %raised)
  br label %done
done:
  ret void
}}

; `orphaned` of `ir/orphans.py`; puts an exception aside
define internal void @tell_orphan(ptr %node, ptr %raised) {{
  %function = call ptr @object(i64 {ORPHANED})
  call void @resume()
  %answer = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %function, ptr %node, ptr null)
  call void @stop()
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %keep, label %drop
keep:
  call void @keep_raised(ptr %raised)
  ret void
drop:
  call void @Py_DecRef(ptr %answer)
  ret void
}}

; raises what was put aside, and whether there was anything
define internal i1 @raise_kept(ptr %raised) {{
  %type = load ptr, ptr %raised
  %is_none = icmp eq ptr %type, null
  br i1 %is_none, label %no, label %yes
yes:
  %value_at = getelementptr ptr, ptr %raised, i64 1
  %value = load ptr, ptr %value_at
  %traceback_at = getelementptr ptr, ptr %raised, i64 2
  %traceback = load ptr, ptr %traceback_at
  call void @PyErr_Restore(ptr %type, ptr %value, ptr %traceback)
  ret i1 true
no:
  ret i1 false
}}

; how many runs have been completed: after another one, what was found before may be no more so
define internal i64 @runs() {{
  %list = call ptr @object(i64 {RUNS})
  %object = call ptr @PyList_GetItem(ptr %list, i64 0)
  %runs = call i64 @int_value(ptr %object)
  ret i64 %runs
}}

define internal void @add_run() {{
  %runs = call i64 @runs()
  %more = add i64 %runs, 1
  %object = call ptr @counted(i64 %more)
  %list = call ptr @object(i64 {RUNS})
  %set = call i32 @PyList_SetItem(ptr %list, i64 0, ptr %object)
  ret void
}}
"""
