"""Numbers as objects, of axes and of the nodes of a trace, as LLVM text; see `record.py`. For want
of memory they are left out, with an exception that is asked for at the end.
"""

from __future__ import annotations

NUMBERS = """
; a number as an object; without memory nought, with an exception, of which `laid` asks
define internal ptr @number_or_none(i64 %number) {{
  %made = call ptr @PyLong_FromLong(i64 %number)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %nought, label %done
nought:
  %small = call ptr @PyLong_FromLong(i64 0) ; which is there
  ret ptr %small
done:
  ret ptr %made
}}

; appends an axis to a shape and strides
define internal void @axis(ptr %shape, ptr %strides, i64 %axis, i64 %extent, i64 %stride) {{
  %extent_object = call ptr @number_or_none(i64 %extent)
  %set_extent = call i32 @PyTuple_SetItem(ptr %shape, i64 %axis, ptr %extent_object)
  %stride_object = call ptr @number_or_none(i64 %stride)
  %set_stride = call i32 @PyTuple_SetItem(ptr %strides, i64 %axis, ptr %stride_object)
  ret void
}}

define internal void @append_number(ptr %list, i64 %number) {{
  %object = call ptr @PyLong_FromLong(i64 %number)
  %failed = icmp eq ptr %object, null
  br i1 %failed, label %done, label %add
add:
  %added = call i32 @PyList_Append(ptr %list, ptr %object)
  call void @Py_DecRef(ptr %object)
  br label %done
done:
  ret void
}}

define internal void @number_node(ptr %number, ptr %node, i64 %place) {{
  %object = call ptr @PyLong_FromLong(i64 %place)
  %failed = icmp eq ptr %object, null
  br i1 %failed, label %done, label %set
set:
  %is_set = call i32 @PyDict_SetItem(ptr %number, ptr %node, ptr %object)
  call void @Py_DecRef(ptr %object)
  br label %done
done:
  ret void
}}

; the place of an operand that has none yet: that of an equal scalar, or a new one
define internal i64 @new_place(ptr %nodes, ptr %scalars, ptr %src) {{
  %place = call i64 @PyList_Size(ptr %nodes)
  %is_const = call i1 @is(ptr %src, i64 {CONST_CLASS})
  br i1 %is_const, label %scalar, label %node
scalar:
  %value = call ptr @get(ptr %src, i64 {const_value})
  %address = call ptr @PyLong_FromVoidPtr(ptr %value)
  %no_address = icmp eq ptr %address, null
  br i1 %no_address, label %node, label %identify
identify:
  %dtype = call ptr @get(ptr %src, i64 {node_dtype})
  %from_shape = call ptr @get(ptr %src, i64 {const_from_shape})
  %identity = call ptr (i64, ...)
    @PyTuple_Pack(i64 3, ptr %address, ptr %dtype, ptr %from_shape)
  call void @Py_DecRef(ptr %address)
  %no_identity = icmp eq ptr %identity, null
  br i1 %no_identity, label %node, label %look
look:
  %known = call ptr @PyDict_GetItem(ptr %scalars, ptr %identity)
  %is_known = icmp ne ptr %known, null
  br i1 %is_known, label %again, label %first
again:
  %found = call i64 @int_value(ptr %known)
  call void @Py_DecRef(ptr %identity)
  ret i64 %found
first:
  call void @number_node(ptr %scalars, ptr %identity, i64 %place)
  call void @Py_DecRef(ptr %identity)
  br label %node
node:
  %appended = call i32 @PyList_Append(ptr %nodes, ptr %src)
  ret i64 %place
}}

; the place of a node, -1 where it has none yet. Few are looked through, which takes less time
; than a dict
define internal i64 @found_at(ptr %number, ptr %nodes, ptr %node) {{
  %count = call i64 @PyList_Size(ptr %nodes)
  %are_many = icmp sgt i64 %count, {few_nodes}
  br i1 %are_many, label %ask, label %begin
begin:
  %items = call ptr @get(ptr %nodes, i64 {list_items})
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %after, %other ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %look
look:
  %at = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %at
  %same = icmp eq ptr %item, %node
  br i1 %same, label %yes, label %other
other:
  %after = add i64 %i, 1
  br label %next
yes:
  ret i64 %i
ask:
  %known = call ptr @PyDict_GetItem(ptr %number, ptr %node)
  %unknown = icmp eq ptr %known, null
  br i1 %unknown, label %no, label %tell
tell:
  %place = call i64 @int_value(ptr %known)
  ret i64 %place
no:
  ret i64 -1
}}

; keeps the places of many nodes: of those that have come since
define internal void @remember(ptr %number, ptr %nodes) {{
  %count = call i64 @PyList_Size(ptr %nodes)
  %are_few = icmp sle i64 %count, {few_nodes}
  br i1 %are_few, label %done, label %begin
begin:
  %known = call i64 @PyDict_Size(ptr %number)
  br label %next
next:
  %i = phi i64 [ %known, %begin ], [ %after, %add ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %add
add:
  %node = call ptr @PyList_GetItem(ptr %nodes, i64 %i)
  call void @number_node(ptr %number, ptr %node, i64 %i)
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}}
"""
