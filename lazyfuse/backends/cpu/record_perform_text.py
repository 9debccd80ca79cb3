"""Running a known plan from machine code, as LLVM text (see `record_flush_text.py`)."""

PERFORM = """
; runs a plan, as `lf_perform` of `replay_results_text.py`. A Python function is given the memory
; of leaves and then the numbers, which follow it, and gives a tuple of the results; or None where
; the engine has to run the plan
define internal i64 @performed(ptr %words, ptr %memory, ptr %numbers, ptr %outputs) {{
  %function = call ptr @address(ptr %words, i64 {ready_perform})
  %entry = call ptr @address(ptr %words, i64 {ready_entry})
  %count = call i64 @word(ptr %words, i64 {ready_memory_count})
  %is_elsewhere = icmp eq ptr %function, null
  br i1 %is_elsewhere, label %call, label %kernels
kernels:
  %met = call i64 %function(ptr %entry, ptr %memory, ptr %numbers, ptr %outputs, ptr null,
                            ptr null)
  ret i64 %met
call:
  call void @forget(ptr %outputs, i64 %count)
  %leaves = call i64 @word(ptr %words, i64 {ready_leaf_count})
  %constants = call i64 @word(ptr %words, i64 {ready_constant_count})
  %given = add i64 %leaves, %constants
  %results = call ptr @PyObject_Vectorcall(ptr %entry, ptr %memory, i64 %given, ptr null)
  %raised = icmp eq ptr %results, null
  br i1 %raised, label %fail, label %look
look:
  %none = call ptr @none()
  %is_left = icmp eq ptr %results, %none
  br i1 %is_left, label %leave, label %next
next:
  %i = phi i64 [ 0, %look ], [ %after, %take ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %take
take:
  %result = call ptr @tuple_item(ptr %results, i64 %i)
  call void @Py_IncRef(ptr %result)
  %at = getelementptr ptr, ptr %outputs, i64 %i
  store ptr %result, ptr %at
  %after = add i64 %i, 1
  br label %next
done:
  call void @Py_DecRef(ptr %results)
  ret i64 0
leave:
  call void @Py_DecRef(ptr %results)
  ret i64 -2
fail:
  ret i64 -1
}}
"""
