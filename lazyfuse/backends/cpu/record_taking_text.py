"""Results that take the memory of dead leaves, as LLVM text (see `record_flush_text.py`).

`x += 1` reads and writes one array, where new memory is read, too, before it is written. A leaf is
dead when no array holds it, and all who read it are computed now or read by nobody else: none of
the `watched` nodes of a plan (such leaves, and what is inside) is held, and they have as many
readers as the trace has for them. Its memory must belong to the engine alone.

Then the operands are gone. So nothing of the user's may run between looking and attaching the
results: a plan that takes memory needs no other, and fails before its first kernel or not at all;
signals are handled, and conditions told, afterwards. Other threads wait for the lock of a flush.
"""

TAKING = """
; whether all results may take the memory of leaves
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
  %number = call i64 @PyLong_AsLong(ptr %users)
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
  %k = phi i64 [ 0, %own ], [ %k_after, %ask ]
  %is_last = icmp sge i64 %k, %outputs
  br i1 %is_last, label %yes, label %ask
ask:
  %leaf = call i64 @word(ptr %taken, i64 %k)
  %buffer = call ptr @address(ptr %memory, i64 %leaf)
  %exclusive = call ptr @get(ptr %buffer, i64 {buffer_exclusive})
  %is_exclusive = icmp eq ptr %exclusive, %true
  %size = call ptr @address(ptr %sizes, i64 %k)
  %wanted = call i64 @PyLong_AsLong(ptr %size)
  %there = call ptr @get(ptr %buffer, i64 {buffer_nbytes})
  %nbytes = call i64 @PyLong_AsLong(ptr %there)
  %fits = icmp eq i64 %nbytes, %wanted
  %can = and i1 %is_exclusive, %fits
  %k_after = add i64 %k, 1
  br i1 %can, label %another, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; runs a plan in the memory of leaves: as `performed`
define internal i64 @performed_there(ptr %words, ptr %memory, ptr %numbers, ptr %outputs) {{
  %function = call ptr @address(ptr %words, i64 {ready_perform})
  %entry = call ptr @address(ptr %words, i64 {ready_taking})
  %count = call i64 @word(ptr %words, i64 {ready_output_count})
  %taken = call ptr @address(ptr %words, i64 {ready_taken})
  br label %clear
clear:
  %k = phi i64 [ 0, %0 ], [ %k_after, %empty ]
  %is_clear = icmp sge i64 %k, %count
  br i1 %is_clear, label %run, label %empty
empty:
  %empty_at = getelementptr ptr, ptr %outputs, i64 %k
  store ptr null, ptr %empty_at
  %k_after = add i64 %k, 1
  br label %clear
run:
  %none = alloca ptr
  %met = call i64 %function(ptr %entry, ptr %memory, ptr %numbers, ptr %none)
  %failed = icmp slt i64 %met, 0
  br i1 %failed, label %done, label %next
next:
  %i = phi i64 [ 0, %run ], [ %after, %take ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %take
take:
  %leaf = call i64 @word(ptr %taken, i64 %i)
  %buffer = call ptr @address(ptr %memory, i64 %leaf)
  call void @Py_IncRef(ptr %buffer)
  %at = getelementptr ptr, ptr %outputs, i64 %i
  store ptr %buffer, ptr %at
  %after = add i64 %i, 1
  br label %next
done:
  ret i64 %met
}}
"""
