"""`Node.attach` in machine code, as LLVM text (see `record_text.py`)."""

ATTACH = """
; `watched` of `ir/orphans.py`; null with an exception
define internal ptr @watched(ptr %storage, ptr %node) {{
  %kind = call ptr @object(i64 {WATCH})
  %callback = call ptr @object(i64 {GONE})
  %made = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %kind, ptr %storage, ptr %callback, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %point
point:
  %pointer = call ptr @PyWeakref_NewRef(ptr %node, ptr null)
  %no_pointer = icmp eq ptr %pointer, null
  br i1 %no_pointer, label %forget, label %set
forget:
  call void @Py_DecRef(ptr %made)
  br label %no
set:
  call void @set(ptr %made, i64 {watch_node}, ptr %pointer)
  ret ptr %made
no:
  ret ptr null
}}

; `watch` of `ir/orphans.py`; puts an exception aside
define internal void @watch(ptr %node, ptr %raised) {{
  %storage = call ptr @holder(ptr %node)
  %gone = icmp eq ptr %storage, null
  br i1 %gone, label %alone, label %make
alone:
  %users = call ptr @get(ptr %node, i64 {node_users})
  %readers = call i64 @int_value(ptr %users)
  %unread = icmp eq i64 %readers, 0
  br i1 %unread, label %done, label %tell
tell:
  call void @tell_orphan(ptr %node, ptr %raised)
  br label %done
make:
  %made = call ptr @watched(ptr %storage, ptr %node)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %lost, label %set
lost:
  call void @keep_raised(ptr %raised)
  br label %drop
set:
  call void @put(ptr %node, i64 {node_handle}, ptr %made)
  br label %drop
drop:
  call void @let_go(ptr %storage)
  br label %done
done:
  ret void
}}

; one reader less of a node; its operands are added to a list where nobody else needs it
define internal void @leave(ptr %node, ptr %released) {{
  %users = call ptr @get(ptr %node, i64 {node_users})
  %number = call i64 @int_value(ptr %users)
  %less = sub i64 %number, 1
  %counted = call ptr @counted(i64 %less)
  call void @put(ptr %node, i64 {node_users}, ptr %counted)
  %read = icmp ne i64 %less, 0
  br i1 %read, label %done, label %pending
pending:
  %none = call ptr @none()
  %buffer = call ptr @get(ptr %node, i64 {node_buffer})
  %has_memory = icmp ne ptr %buffer, %none
  br i1 %has_memory, label %done, label %operands
operands:
  %srcs = call ptr @get(ptr %node, i64 {node_srcs})
  %count = call i64 @tuple_size(ptr %srcs)
  %is_bare = icmp eq i64 %count, 0
  br i1 %is_bare, label %done, label %hold
hold:
  %held = call i1 @is_held(ptr %node)
  br i1 %held, label %done, label %next
next:
  %i = phi i64 [ 0, %hold ], [ %after, %add ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %clear, label %add
add:
  %src = call ptr @tuple_item(ptr %srcs, i64 %i)
  %added = call i32 @PyList_Append(ptr %released, ptr %src)
  %after = add i64 %i, 1
  br label %next
clear:
  %empty = call ptr @PyTuple_New(i64 0)
  call void @put(ptr %node, i64 {node_srcs}, ptr %empty)
  br label %done
done:
  ret void
}}

; `Node.attach`; takes the reference of the memory, and puts an exception aside
define internal void @attach(ptr %node, ptr %buffer, ptr %size, ptr %raised) {{
  call void @put(ptr %node, i64 {node_buffer}, ptr %buffer)
  call void @watch(ptr %node, ptr %raised)
  %srcs = call ptr @get(ptr %node, i64 {node_srcs})
  %released = call ptr @PySequence_List(ptr %srcs)
  %empty = call ptr @PyTuple_New(i64 0)
  call void @put(ptr %node, i64 {node_srcs}, ptr %empty)
  %zero = call ptr @PyLong_FromLong(i64 0)
  call void @put(ptr %node, i64 {node_depth}, ptr %zero)
  call void @Py_IncRef(ptr %size)
  call void @put(ptr %node, i64 {node_held}, ptr %size)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %count = call i64 @PyList_Size(ptr %released)
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %src = call ptr @PyList_GetItem(ptr %released, i64 %i)
  call void @leave(ptr %src, ptr %released)
  %after = add i64 %i, 1
  br label %next
done:
  call void @Py_DecRef(ptr %released)
  ret void
}}
"""
