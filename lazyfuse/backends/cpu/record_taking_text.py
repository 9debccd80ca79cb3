"""Results that take the memory of dead leaves, as LLVM text (see `record_flush_text.py`).

`x += 1` reads and writes one array, where new memory is read, too, before it is written. A leaf is
dead when no array holds it, and all who read it are computed now or read by nobody else: none of
the `watched` nodes of a plan (such leaves, and what is inside) is held, and they have as many
readers as the trace has for them. Its memory must belong to the engine alone.

Then the operands are gone. So nothing of the user's may run between looking and attaching the
results: what else needs memory has it before, when it is looked once more, and such plans fail
before their first kernel or not at all; signals are handled, and conditions told, afterwards.
Other threads wait for the lock of a flush.
"""

#: The words that `still_may_take` needs.
GIVEN = {name: place for place, name in enumerate(("words", "nodes", "memory", "started"))}

TAKING = """
; whether results may take the memory of leaves
define internal i1 @may_take(ptr %words, ptr %nodes, ptr %memory) {{
  %entry = call ptr @address(ptr %words, i64 {ready_taking})
  %is_none = icmp eq ptr %entry, null
  br i1 %is_none, label %no, label %watch
watch:
  %count = call i64 @word(ptr %words, i64 {ready_watched_count})
  %places = call ptr @address(ptr %words, i64 {ready_watched})
  br label %next
next:
  %i = phi i64 [ 0, %watch ], [ %after, %look ]
  %readers = phi i64 [ 0, %watch ], [ %readers_now, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %compare, label %look
look:
  %place = call i64 @word(ptr %places, i64 %i)
  %node = call ptr @PyList_GetItem(ptr %nodes, i64 %place)
  %users = call ptr @get(ptr %node, i64 {node_users})
  %number = call i64 @int_value(ptr %users)
  %readers_now = add i64 %readers, %number
  %held = call i1 @is_held(ptr %node)
  %after = add i64 %i, 1
  br i1 %held, label %no, label %next
compare:
  %known = call i64 @word(ptr %words, i64 {ready_readers})
  %are_all = icmp eq i64 %readers, %known
  br i1 %are_all, label %own, label %no
own:
  %outputs = call i64 @word(ptr %words, i64 {ready_output_count})
  %taken = call ptr @address(ptr %words, i64 {ready_taken})
  %sizes = call ptr @address(ptr %words, i64 {ready_sizes})
  %true = call ptr @object(i64 {TRUE})
  br label %another
another:
  %k = phi i64 [ 0, %own ], [ %k_after, %made ], [ %k_after, %ask ]
  %is_last = icmp sge i64 %k, %outputs
  br i1 %is_last, label %yes, label %made
made:
  %k_after = add i64 %k, 1
  %leaf = call i64 @word(ptr %taken, i64 %k)
  %is_new = icmp slt i64 %leaf, 0
  br i1 %is_new, label %another, label %ask
ask:
  %buffer = call ptr @address(ptr %memory, i64 %leaf)
  %exclusive = call ptr @get(ptr %buffer, i64 {buffer_exclusive})
  %is_exclusive = icmp eq ptr %exclusive, %true
  %size = call ptr @address(ptr %sizes, i64 %k)
  %wanted = call i64 @int_value(ptr %size)
  %there = call ptr @get(ptr %buffer, i64 {buffer_nbytes})
  %nbytes = call i64 @int_value(ptr %there)
  %fits = icmp eq i64 %nbytes, %wanted
  %can = and i1 %is_exclusive, %fits
  br i1 %can, label %another, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; the same after Python has made memory, if no other run has been completed meanwhile
define internal i1 @still_may_take(ptr %given) {{
  %started = call i64 @word(ptr %given, i64 {given_started})
  %now = call i64 @runs()
  %is_current = icmp eq i64 %now, %started
  br i1 %is_current, label %look, label %no
look:
  %words = call ptr @address(ptr %given, i64 {given_words})
  %nodes = call ptr @address(ptr %given, i64 {given_nodes})
  %memory = call ptr @address(ptr %given, i64 {given_memory})
  call void @stop()
  %may = call i1 @may_take(ptr %words, ptr %nodes, ptr %memory)
  call void @resume()
  ret i1 %may
no:
  ret i1 false
}}

; runs a plan so that results take the memory of leaves: as `performed`; -2 where that cannot be
define internal i64 @taking(ptr %words, ptr %nodes, ptr %memory, ptr %numbers, ptr %outputs,
                            i64 %started) {{
  %given = alloca [{given_count} x i64]
  %count = call i64 @word(ptr %words, i64 {ready_taking_count})
  %made = alloca ptr, i64 %count
  call void @stop()
  %may = call i1 @may_take(ptr %words, ptr %nodes, ptr %memory)
  call void @resume()
  br i1 %may, label %run, label %not
not:
  ret i64 -2
run:
  call void @fill_given(ptr %given, ptr %words, ptr %nodes, ptr %memory, i64 %started)
  %function = call ptr @address(ptr %words, i64 {ready_perform})
  %entry = call ptr @address(ptr %words, i64 {ready_taking})
  %met = call i64 %function(ptr %entry, ptr %memory, ptr %numbers, ptr %made,
                            ptr @still_may_take, ptr %given)
  %failed = icmp slt i64 %met, 0
  br i1 %failed, label %fail, label %give
fail:
  call void @release(ptr %made, i64 %count)
  %all = call i64 @word(ptr %words, i64 {ready_memory_count})
  call void @forget(ptr %outputs, i64 %all)
  ret i64 %met
give:
  call void @distribute(ptr %words, ptr %memory, ptr %made, i64 %count, ptr %outputs)
  ret i64 %met
}}

define internal void @fill_given(ptr %given, ptr %words, ptr %nodes, ptr %memory, i64 %started) {{
  %words_at = getelementptr ptr, ptr %given, i64 {given_words}
  store ptr %words, ptr %words_at
  %nodes_at = getelementptr ptr, ptr %given, i64 {given_nodes}
  store ptr %nodes, ptr %nodes_at
  %memory_at = getelementptr ptr, ptr %given, i64 {given_memory}
  store ptr %memory, ptr %memory_at
  %started_at = getelementptr i64, ptr %given, i64 {given_started}
  store i64 %started, ptr %started_at
  ret void
}}

define internal void @forget(ptr %outputs, i64 %count) {{
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %empty ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %empty
empty:
  %at = getelementptr ptr, ptr %outputs, i64 %i
  store ptr null, ptr %at
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}}

; gives the results their memory: that of a leaf, or new memory, which comes in their order; what
; was needed between kernels is let go
define internal void @distribute(ptr %words, ptr %memory, ptr %made, i64 %count, ptr %outputs) {{
  %all = call i64 @word(ptr %words, i64 {ready_memory_count})
  call void @forget(ptr %outputs, i64 %all)
  %results = call i64 @word(ptr %words, i64 {ready_output_count})
  %taken = call ptr @address(ptr %words, i64 {ready_taken})
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %give ]
  %k = phi i64 [ 0, %0 ], [ %k_now, %give ]
  %is_over = icmp sge i64 %i, %results
  br i1 %is_over, label %done, label %look
look:
  %leaf = call i64 @word(ptr %taken, i64 %i)
  %is_new = icmp slt i64 %leaf, 0
  br i1 %is_new, label %new, label %old
new:
  %fresh = call ptr @address(ptr %made, i64 %k)
  %k_after = add i64 %k, 1
  br label %give
old:
  %there = call ptr @address(ptr %memory, i64 %leaf)
  call void @Py_IncRef(ptr %there)
  br label %give
give:
  %buffer = phi ptr [ %fresh, %new ], [ %there, %old ]
  %k_now = phi i64 [ %k_after, %new ], [ %k, %old ]
  %at = getelementptr ptr, ptr %outputs, i64 %i
  store ptr %buffer, ptr %at
  %after = add i64 %i, 1
  br label %next
done:
  %rest = getelementptr ptr, ptr %made, i64 %k
  %rest_count = sub i64 %count, %k
  call void @release(ptr %rest, i64 %rest_count)
  ret void
}}
"""
