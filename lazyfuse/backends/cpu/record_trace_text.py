"""The walk of `runtime/trace.py` in machine code, as LLVM text (see `record_text.py`).

lf_traced(outputs)   (nodes, structure, whether nothing inside is worth keeping) of a new list
                     of nodes; None where Python has to do it. Where a node has to be asked for its
                     signature, anything may happen meanwhile; `session.runs` tells.
"""

#: Nodes up to which they are looked through.
FEW_NODES = 32

TRACE = """
declare ptr @PyDict_New()
declare i64 @PyDict_Size(ptr)
declare void @PyDict_Clear(ptr)
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_Append(ptr, ptr)
declare ptr @PyList_AsTuple(ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare i32 @PyObject_IsTrue(ptr)

; adds what decides the plan of a pending node; 0 where that raised
define internal i1 @add_signature(ptr %lines, ptr %node) {{
  %is_map = call i1 @is(ptr %node, i64 {MAP})
  br i1 %is_map, label %map, label %scalar
scalar:
  %is_const = call i1 @is(ptr %node, i64 {CONST_CLASS})
  br i1 %is_const, label %constant, label %other
constant:
  %from_shape = call ptr @get(ptr %node, i64 {const_from_shape})
  %false = call ptr @object(i64 {FALSE})
  %is_free = icmp eq ptr %from_shape, %false
  br i1 %is_free, label %free, label %other
free:
  %dtype = call ptr @get(ptr %node, i64 {node_dtype})
  %typed = call i32 @PyList_Append(ptr %lines, ptr %dtype)
  ret i1 true
map:
  %kind = call ptr @get(ptr %node, i64 {map_mapkind})
  %none = call ptr @none()
  %no_kind = icmp eq ptr %kind, %none
  br i1 %no_kind, label %other, label %look
look:
  %form = call ptr @get(ptr %node, i64 {node_form})
  %kind_form = call ptr @get(ptr %kind, i64 {mapkind_form})
  %same = icmp eq ptr %form, %kind_form
  br i1 %same, label %known, label %other
known:
  %done = call i32 @PyList_Append(ptr %lines, ptr %kind)
  ret i1 true
other:
  %name = call ptr @object(i64 {SIGNATURE})
  call void @resume()
  %found = call ptr @PyObject_GetAttr(ptr %node, ptr %name)
  call void @stop()
  %raised = icmp eq ptr %found, null
  br i1 %raised, label %fail, label %add
add:
  %added = call i32 @PyList_Append(ptr %lines, ptr %found)
  call void @Py_DecRef(ptr %found)
  ret i1 true
fail:
  ret i1 false
}}

; whether computing a node again costs more than a load
define internal i1 @is_dear(ptr %node) {{
  %depth_object = call ptr @get(ptr %node, i64 {node_depth})
  %depth = call i64 @int_value(ptr %depth_object)
  %deep = icmp sgt i64 %depth, {deep}
  br i1 %deep, label %yes, label %shallow
shallow:
  %true = call ptr @object(i64 {TRUE})
  %is_map = call i1 @is(ptr %node, i64 {MAP})
  br i1 %is_map, label %map, label %other
map:
  %known = call ptr @get(ptr %node, i64 {map_is_costly})
  %known_costly = icmp eq ptr %known, %true
  ret i1 %known_costly
other:
  %name = call ptr @object(i64 {IS_COSTLY})
  %found = call ptr @PyObject_GetAttr(ptr %node, ptr %name)
  %costly = icmp eq ptr %found, %true
  call void @Py_DecRef(ptr %found)
  ret i1 %costly
yes:
  ret i1 true
}}

; the Storage whose current version a node is, as a new reference; null where it has gone
define internal ptr @holder(ptr %node) {{
  %none = call ptr @none()
  %handle = call ptr @get(ptr %node, i64 {node_handle})
  %alone = icmp eq ptr %handle, %none
  br i1 %alone, label %no, label %ask
ask:
  %storage = call ptr @get(ptr %handle, i64 {weak_object})
  %references = load i32, ptr %storage  ; 0 of what goes just now
  %is_going = icmp eq i32 %references, 0
  br i1 %is_going, label %no, label %look
look:
  %has_gone = icmp eq ptr %storage, %none
  br i1 %has_gone, label %no, label %compare
compare:
  %current = call ptr @get(ptr %storage, i64 {storage_node})
  %same = icmp eq ptr %current, %node
  br i1 %same, label %yes, label %no
no:
  ret ptr null
yes:
  call void @Py_IncRef(ptr %storage)
  ret ptr %storage
}}

; whether an array whose current version a node is still exists
define internal i1 @is_held(ptr %node) {{
  %storage = call ptr @holder(ptr %node)
  call void @Py_DecRef(ptr %storage)
  %held = icmp ne ptr %storage, null
  ret i1 %held
}}

; counts readers, less those in the trace, of what is inside; scalars that are equal are one
define internal void @count_readers(ptr %others, ptr %node, i64 %number) {{
  %is_const = call i1 @is(ptr %node, i64 {CONST_CLASS})
  br i1 %is_const, label %done, label %count
count:
  %before = load i64, ptr %others
  %now = add i64 %before, %number
  store i64 %now, ptr %others
  br label %done
done:
  ret void
}}

; one reader is in the trace, of a pending operand that is no output
define internal void @own_reader(ptr %others, ptr %src, i64 %place, i64 %outputs) {{
  %is_inside = icmp sge i64 %place, %outputs
  br i1 %is_inside, label %ask, label %done
ask:
  %none = call ptr @none()
  %buffer = call ptr @get(ptr %src, i64 {node_buffer})
  %pending = icmp eq ptr %buffer, %none
  br i1 %pending, label %count, label %done
count:
  call void @count_readers(ptr %others, ptr %src, i64 -1)
  br label %done
done:
  ret void
}}

; adds the places of the operands of a node
define internal void @add_srcs(ptr %lines, ptr %nodes, ptr %number, ptr %scalars, ptr %node,
                               ptr %others, i64 %outputs) {{
  %srcs = call ptr @get(ptr %node, i64 {node_srcs})
  call void @Py_IncRef(ptr %srcs)
  %count = call i64 @tuple_size(ptr %srcs)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %src = call ptr @tuple_item(ptr %srcs, i64 %i)
  %known = call i64 @found_at(ptr %number, ptr %nodes, ptr %src)
  %is_new = icmp slt i64 %known, 0
  br i1 %is_new, label %new, label %more
new:
  %place = call i64 @new_place(ptr %nodes, ptr %scalars, ptr %src)
  call void @remember(ptr %number, ptr %nodes)
  br label %more
more:
  %here = phi i64 [ %place, %new ], [ %known, %look ]
  call void @append_number(ptr %lines, i64 %here)
  call void @own_reader(ptr %others, ptr %src, i64 %here, i64 %outputs)
  %after = add i64 %i, 1
  br label %next
done:
  call void @Py_DecRef(ptr %srcs)
  ret void
}}

; adds a node: 1 where it is worth keeping, 2 where it is if others read it, 0 where not, -1 where
; Python has to go on
define internal i32 @add_node(ptr %lines, ptr %nodes, ptr %number, ptr %scalars, ptr %node,
                              ptr %others, i64 %place, i64 %outputs) {{
  %none = call ptr @none()
  %buffer = call ptr @get(ptr %node, i64 {node_buffer})
  %pending = icmp eq ptr %buffer, %none
  br i1 %pending, label %operation, label %memory
memory:
  %form = call ptr @get(ptr %node, i64 {node_form})
  %layout = call ptr @get(ptr %form, i64 {form_layout})
  %unformed = icmp eq ptr %layout, %none
  br i1 %unformed, label %fail, label %leaf
leaf:
  %added = call i32 @PyList_Append(ptr %lines, ptr %form)
  ret i32 0
operation:
  %signed = call i1 @add_signature(ptr %lines, ptr %node)
  br i1 %signed, label %operands, label %fail
operands:
  call void @add_srcs(ptr %lines, ptr %nodes, ptr %number, ptr %scalars, ptr %node,
                      ptr %others, i64 %outputs)
  %seen = call ptr @get(ptr %node, i64 {node_seen})
  %true = call ptr @object(i64 {TRUE})
  %was_seen = icmp eq ptr %seen, %true
  br i1 %was_seen, label %keep, label %unseen
unseen:
  %is_output = icmp slt i64 %place, %outputs
  br i1 %is_output, label %plain, label %ask
ask:
  %users = call ptr @get(ptr %node, i64 {node_users})
  %readers = call i64 @int_value(ptr %users)
  call void @count_readers(ptr %others, ptr %node, i64 %readers)
  %dear = call i1 @is_dear(ptr %node)
  br i1 %dear, label %hold, label %plain
hold:
  %held = call i1 @is_held(ptr %node)
  br i1 %held, label %keep, label %dear_one
dear_one:
  ret i32 2
keep:
  ret i32 1
plain:
  ret i32 0
fail:
  ret i32 -1
}}

define ptr @lf_traced(ptr %self, ptr %args, i64 %given) {{
  %nodes = load ptr, ptr %args
  call void @stop()
  %traced = call ptr @walked(ptr %nodes)
  call void @resume()
  ret ptr %traced
}}

; the same without collections
define internal ptr @walked(ptr %nodes) {{
  %others = alloca i64
  store i64 0, ptr %others
  %number = call ptr @PyDict_New()
  %scalars = call ptr @PyDict_New()
  %lines = call ptr @PyList_New(i64 0)
  %outputs = call i64 @PyList_Size(ptr %nodes)
  call void @append_number(ptr %lines, i64 %outputs)
  call void @remember(ptr %number, ptr %nodes)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %kept = phi i32 [ 0, %0 ], [ %kept_now, %more ]
  %size = call i64 @PyList_Size(ptr %nodes)
  %is_over = icmp sge i64 %i, %size
  br i1 %is_over, label %done, label %look
look:
  %node = call ptr @PyList_GetItem(ptr %nodes, i64 %i)
  %worth = call i32 @add_node(ptr %lines, ptr %nodes, ptr %number, ptr %scalars, ptr %node,
                              ptr %others, i64 %i, i64 %outputs)
  %failed = icmp slt i32 %worth, 0
  br i1 %failed, label %fail, label %more
more:
  %kept_now = or i32 %kept, %worth
  %after = add i64 %i, 1
  br label %next
done:
  %error = call ptr @PyErr_Occurred() ; for want of memory, what there is may not be all
  %is_fine = icmp eq ptr %error, null
  br i1 %is_fine, label %pack, label %fail
pack:
  %structure = call ptr @PyList_AsTuple(ptr %lines)
  %no_structure = icmp eq ptr %structure, null
  br i1 %no_structure, label %fail, label %tell
tell:
  %other_readers = load i64, ptr %others
  %has_others = icmp sgt i64 %other_readers, 0
  %is_dear_read = icmp eq i32 %kept, 2
  %is_kept_for_others = and i1 %is_dear_read, %has_others
  %is_kept = trunc i32 %kept to i1
  %true = call ptr @object(i64 {TRUE})
  %false = call ptr @object(i64 {FALSE})
  %unknown = call ptr @none()
  %plain_or_shared = select i1 %is_kept_for_others, ptr %unknown, ptr %true
  %plain = select i1 %is_kept, ptr %false, ptr %plain_or_shared
  %found = call ptr (i64, ...) @PyTuple_Pack(i64 3, ptr %nodes, ptr %structure, ptr %plain)
  call void @Py_DecRef(ptr %structure)
  br label %drop
fail:
  %none = call ptr @none()
  %raised = call ptr @PyErr_Occurred()
  %is_calm = icmp eq ptr %raised, null
  %left = select i1 %is_calm, ptr %none, ptr null
  call void @Py_IncRef(ptr %left)
  br label %drop
drop:
  %result = phi ptr [ %found, %tell ], [ %left, %fail ]
  call void @Py_DecRef(ptr %lines)
  call void @Py_DecRef(ptr %scalars)
  call void @Py_DecRef(ptr %number)
  ret ptr %result
}}
"""
