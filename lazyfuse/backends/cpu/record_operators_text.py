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

; how many elements a shape has
define internal i64 @count_in(ptr %shape) {{
  %axes = call i64 @tuple_size(ptr %shape)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %axis ]
  %count = phi i64 [ 1, %0 ], [ %product, %axis ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %done, label %axis
axis:
  %item = call ptr @tuple_item(ptr %shape, i64 %i)
  %extent = call i64 @int_value(ptr %item)
  %product = mul i64 %count, %extent
  %after = add i64 %i, 1
  br label %next
done:
  ret i64 %count
}}

; whether an array of the engine is a small part of memory whose last operations are many writes in
; a row, as in a loop: the next may be done at once (`frontend/piecewise.py`)
define internal i1 @is_loop(ptr %array) {{
  %none = call ptr @none()
  %host = call ptr @get(ptr %array, i64 {handle_host})
  %is_large = icmp eq ptr %host, %none
  br i1 %is_large, label %begin, label %no
begin:
  %last = call ptr @memory(ptr %array)
  %update = call ptr @object(i64 {UPDATE})
  %layout = call ptr @get(ptr %array, i64 {handle_layout})
  %own_shape = call ptr @tuple_item(ptr %layout, i64 0)
  %shape = call ptr @get(ptr %last, i64 {node_shape})
  %own = call i64 @count_in(ptr %own_shape)
  %all = call i64 @count_in(ptr %shape)
  %pieces = mul i64 %own, {least_pieces}
  %is_piece = icmp ule i64 %pieces, %all
  br i1 %is_piece, label %next, label %no
next:
  %node = phi ptr [ %last, %begin ], [ %before, %step ]
  %i = phi i64 [ 0, %begin ], [ %after, %step ]
  %is_over = icmp eq i64 %i, {most_in_a_row}
  br i1 %is_over, label %yes, label %look
look:
  %kind = call ptr @kind(ptr %node)
  %is_update = icmp eq ptr %kind, %update
  br i1 %is_update, label %ask, label %no
ask:
  %srcs = call ptr @get(ptr %node, i64 {node_srcs})
  %count = call i64 @tuple_size(ptr %srcs)
  %has_some = icmp sgt i64 %count, 0
  br i1 %has_some, label %step, label %no
step:
  %before = call ptr @tuple_item(ptr %srcs, i64 0)
  %after = add i64 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}}

; whether a recipe writes a small part of zeros, ones or a range: they have memory before
; (`frontend/piecewise.py`)
define internal i1 @is_unwritten(ptr %storage, ptr %recipe) {{
  %node = call ptr @get(ptr %storage, i64 {storage_node})
  %kind = call ptr @kind(ptr %node)
  %fill = call ptr @object(i64 {FILL})
  %is_fill = icmp eq ptr %kind, %fill
  br i1 %is_fill, label %look, label %no
look:
  %steps = call ptr @tuple_item(ptr %recipe, i64 1)
  %count = call i64 @tuple_size(ptr %steps)
  %number = sub i64 %count, 1
  %last = call ptr @tuple_item(ptr %steps, i64 %number)
  %prototype = call ptr @tuple_item(ptr %last, i64 0)
  %written = call ptr @kind(ptr %prototype)
  %update = call ptr @object(i64 {UPDATE})
  %is_update = icmp eq ptr %written, %update
  br i1 %is_update, label %measure, label %no
measure:
  %layout = call ptr @get(ptr %prototype, i64 {update_layout})
  %region = call ptr @tuple_item(ptr %layout, i64 0)
  %shape = call ptr @get(ptr %node, i64 {node_shape})
  %own = call i64 @count_in(ptr %region)
  %all = call i64 @count_in(ptr %shape)
  %pieces = mul i64 %own, {least_pieces}
  %is_small = icmp sle i64 %pieces, %all
  ret i1 %is_small
no:
  ret i1 false
}}

; keeps the handle of an array that has got a pending version (`ir/storage.py`)
define internal void @note_written(ptr %handle) {{
  %written = call ptr @object(i64 {WRITTEN})
  %none = call ptr @none()
  %count = call i64 @PyDict_Size(ptr %written)
  %are_many = icmp sge i64 %count, {most_written}
  br i1 %are_many, label %clear, label %add
clear:
  call void @PyDict_Clear(ptr %written)
  br label %add
add:
  %failed = call i32 @PyDict_SetItem(ptr %written, ptr %handle, ptr %none)
  %is_kept = icmp eq i32 %failed, 0
  br i1 %is_kept, label %done, label %forget
forget:
  call void @PyErr_Clear()
  br label %done
done:
  ret void
}}

; an in-place operator of a small array: at once by NumPy's C function where the other operand
; is in memory of the engine, else by its method
define internal ptr @small_write(i64 %recipes, i64 %method, ptr %self, ptr %other, ptr %function,
                                 ptr %loop) {{
  %is_ours = call i1 @is(ptr %other, i64 {class_})
  %host = call ptr @part(ptr %self, i64 {host})
  %has_none = icmp eq ptr %host, null
  %is_plain = xor i1 %has_none, true
  %can = and i1 %is_ours, %is_plain
  br i1 %can, label %open, label %slow
open:
  %given = call ptr @quick_given(ptr %other)
  %is_away = icmp eq ptr %given, null
  br i1 %is_away, label %ask, label %run
run:
  call void @Py_IncRef(ptr %host)
  %value = call ptr %function(ptr %host, ptr %given)
  call void @Py_DecRef(ptr %host)
  call void @Py_DecRef(ptr %given)
  %failed = icmp eq ptr %value, null
  br i1 %failed, label %fail, label %done
done:
  call void @Py_DecRef(ptr %value)
  call void @Py_IncRef(ptr %self)
  ret ptr %self
ask:
  %error = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %error, null
  br i1 %has_raised, label %fail, label %slow
slow:
  %result = call ptr @slow(i64 %method, ptr %self, ptr %other)
  ret ptr %result
fail:
  ret ptr null
}}

; an in-place operator of an array of the engine, likewise
define internal ptr @large_write(i64 %recipes, i64 %method, ptr %self, ptr %other,
                                 ptr %function, ptr %loop) {{
  %operands = alloca [2 x ptr]
  store ptr %self, ptr %operands
  %second_at = getelementptr ptr, ptr %operands, i64 1
  store ptr %other, ptr %second_at
  %now = call i32 @changed(ptr %function, ptr %loop, ptr %self, ptr %other)
  switch i32 %now, label %fail [ i32 1, label %same  i32 0, label %record ]
record:
  %is_loop = call i1 @is_loop(ptr %self)
  %most = call i64 @eager_size()
  %is_filled = call i1 @is_unwritten_part(ptr %self, i64 %most)
  %is_at_once = or i1 %is_loop, %is_filled
  br i1 %is_at_once, label %slow, label %write
write:
  %known = call ptr @object(i64 %recipes)
  %done = call i32 @written_any(ptr %known, ptr %operands, i64 2, ptr null)
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
