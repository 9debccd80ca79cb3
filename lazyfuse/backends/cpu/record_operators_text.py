"""Recording in machine code: operators of arrays of the engine, as LLVM text (see
`record_text.py`)."""

OPERATORS = """
; an operator of an array of the engine: at once by NumPy's C function, by its recipes, else by its
; method
define internal ptr @large(i64 %recipes, i64 %method, ptr %first, ptr %second, ptr %self,
                           ptr %other, ptr %function) {{
  %now = call ptr @at_once(ptr %function, ptr %first, ptr %second)
  %is_later = icmp eq ptr %now, null
  br i1 %is_later, label %look, label %give_now
give_now:
  ret ptr %now
look:
  %error = call ptr @PyErr_Occurred()
  %has_failed = icmp ne ptr %error, null
  br i1 %has_failed, label %fail, label %begin
begin:
  %operands = alloca [2 x ptr]
  store ptr %first, ptr %operands
  %second_at = getelementptr ptr, ptr %operands, i64 1
  store ptr %second, ptr %second_at
  %alone = icmp eq ptr %second, null
  %count = select i1 %alone, i64 1, i64 2
  %known = call ptr @object(i64 %recipes)
  %made = call ptr @recorded(ptr %known, ptr %operands, i64 %count, ptr null)
  %nothing = icmp eq ptr %made, null
  br i1 %nothing, label %ask, label %done
done:
  ret ptr %made
ask:
  %raised = call ptr @PyErr_Occurred()
  %is_raised = icmp ne ptr %raised, null
  br i1 %is_raised, label %fail, label %mix
fail:
  ret ptr null
mix:
  %mixed = call ptr @recorded_mixed(ptr %known, ptr %operands, i64 %count)
  %is_unmixed = icmp eq ptr %mixed, null
  br i1 %is_unmixed, label %again, label %give
give:
  ret ptr %mixed
again:
  %later = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %later, null
  br i1 %has_raised, label %fail, label %slow
slow:
  %result = call ptr @slow(i64 %method, ptr %self, ptr %other)
  ret ptr %result
}}

; an in-place operator, likewise
define internal ptr @large_write(i64 %recipes, i64 %method, ptr %self, ptr %other,
                                 ptr %function) {{
  %operands = alloca [2 x ptr]
  store ptr %self, ptr %operands
  %second_at = getelementptr ptr, ptr %operands, i64 1
  store ptr %other, ptr %second_at
  %now = call i32 @changed(ptr %function, ptr %self, ptr %other)
  switch i32 %now, label %fail [ i32 1, label %same  i32 0, label %record ]
record:
  %known = call ptr @object(i64 %recipes)
  %done = call i32 @written_any(ptr %known, ptr %operands, i64 2)
  switch i32 %done, label %fail [ i32 1, label %same  i32 0, label %slow ]
same:
  call void @Py_IncRef(ptr %self)
  ret ptr %self
slow:
  %result = call ptr @slow(i64 %method, ptr %self, ptr %other)
  ret ptr %result
fail:
  ret ptr null
}}
"""
