"""Where the user is who records, and what errors do there, as LLVM text (see `record_text.py`)."""

from __future__ import annotations

PLACE = """
; what is to be done about conditions of an operation that is recorded now; null where that is
; to be found out, or is to happen at once
define internal ptr @modes() {{
  %found = alloca ptr
  %names = call ptr @object(i64 {ERROR_NAMES})
  %name = call ptr @object(i64 {KNOWN_NAME})
  %known = call ptr @PyDict_GetItemWithError(ptr %names, ptr %name)
  %lost = icmp eq ptr %known, null
  br i1 %lost, label %no, label %states
states:
  store ptr null, ptr %found
  %variable = call ptr @object(i64 {STATE})
  %got = call i32 @PyContextVar_Get(ptr %variable, ptr null, ptr %found)
  %state = load ptr, ptr %found
  %no_state = icmp eq ptr %state, null
  br i1 %no_state, label %clear, label %compare
clear:
  call void @PyErr_Clear()
  ret ptr null
compare:
  call void @Py_DecRef(ptr %state)
  %known_state = call ptr @get(ptr %known, i64 {modes_state})
  %same_state = icmp eq ptr %state, %known_state
  %warnings = call ptr @object(i64 {WARNINGS})
  %filters_name = call ptr @object(i64 {FILTERS_NAME})
  %filters = call ptr @PyDict_GetItemWithError(ptr %warnings, ptr %filters_name)
  %known_filters = call ptr @get(ptr %known, i64 {modes_filters})
  %same_filters = icmp eq ptr %filters, %known_filters
  %same = and i1 %same_state, %same_filters
  br i1 %same, label %first, label %no
first:
  %size = call i64 @PyList_Size(ptr %filters)
  %empty = icmp slt i64 %size, 1
  br i1 %empty, label %no, label %head
head:
  %filter = call ptr @PyList_GetItem(ptr %filters, i64 0)
  %known_filter = call ptr @get(ptr %known, i64 {modes_first})
  %same_filter = icmp eq ptr %filter, %known_filter
  br i1 %same_filter, label %use, label %no
use:
  %modes = call ptr @get(ptr %known, i64 {modes_modes})
  %immediate = call ptr @tuple_item(ptr %modes, i64 {immediate})
  %false = call ptr @object(i64 {FALSE})
  %later = icmp eq ptr %immediate, %false
  br i1 %later, label %yes, label %no
yes:
  ret ptr %modes
no:
  ret ptr null
}}

; whether the names of a frame are in a set of addresses
define internal i1 @is_in(ptr %names, i64 %set) {{
  %address = call ptr @PyLong_FromVoidPtr(ptr %names)
  %failed = icmp eq ptr %address, null
  br i1 %failed, label %clear, label %look
clear:
  call void @PyErr_Clear()
  ret i1 false
look:
  %object = call ptr @object(i64 %set)
  %found = call i32 @PySet_Contains(ptr %object, ptr %address)
  call void @Py_DecRef(ptr %address)
  %is = icmp eq i32 %found, 1
  ret i1 %is
}}

; the code that was the user's last, which is kept so that no other has its address
@lf_users = internal global ptr null

; the user's code, instruction and modes as a tuple; null where there is none
define internal ptr @origin() {{
  %spot = alloca [3 x ptr]
  %is_known = call i1 @spot(ptr %spot)
  br i1 %is_known, label %pack, label %no
pack:
  %origin = call ptr @origin_of(ptr %spot)
  %code = load ptr, ptr %spot
  call void @Py_DecRef(ptr %code)
  ret ptr %origin
no:
  ret ptr null
}}

; a spot as a tuple; null where there is no room
define internal ptr @origin_of(ptr %spot) {{
  %code = load ptr, ptr %spot
  %number_at = getelementptr i64, ptr %spot, i64 1
  %number = load i64, ptr %number_at
  %modes_at = getelementptr ptr, ptr %spot, i64 2
  %modes = load ptr, ptr %modes_at
  %instruction = call ptr @PyLong_FromLong(i64 %number)
  %has_none = icmp eq ptr %instruction, null
  br i1 %has_none, label %clear, label %pack
pack:
  %origin = call ptr (i64, ...)
    @PyTuple_Pack(i64 3, ptr %code, ptr %instruction, ptr %modes)
  call void @Py_DecRef(ptr %instruction)
  %failed = icmp eq ptr %origin, null
  br i1 %failed, label %clear, label %done
clear:
  call void @PyErr_Clear()
  ret ptr null
done:
  ret ptr %origin
}}

; stores the user's code, with a reference, the instruction and the modes; false where there is
; none
define internal i1 @spot(ptr %spot) {{
  %modes = call ptr @modes()
  %now = icmp eq ptr %modes, null
  br i1 %now, label %no, label %begin
begin:
  %top = call ptr @PyEval_GetFrame()
  call void @Py_IncRef(ptr %top)
  br label %next
next:
  %frame = phi ptr [ %top, %begin ], [ %back, %ours ]
  %none = icmp eq ptr %frame, null
  br i1 %none, label %no, label %look
look:
  %code = call ptr @PyFrame_GetCode(ptr %frame)
  %users_last = load ptr, ptr @lf_users
  %is_last = icmp eq ptr %code, %users_last
  br i1 %is_last, label %found, label %ask
ask:
  %names = call ptr @PyFrame_GetGlobals(ptr %frame)
  call void @Py_DecRef(ptr %names)
  %is_ours = call i1 @is_in(ptr %names, i64 {OURS})
  br i1 %is_ours, label %ours, label %users
ours:
  call void @Py_DecRef(ptr %code)
  %back = call ptr @PyFrame_GetBack(ptr %frame)
  call void @Py_DecRef(ptr %frame)
  br label %next
users:
  %is_theirs = call i1 @is_in(ptr %names, i64 {THEIRS})
  br i1 %is_theirs, label %keep, label %unknown
keep:
  call void @Py_IncRef(ptr %code)
  store ptr %code, ptr @lf_users
  call void @Py_DecRef(ptr %users_last)
  br label %found
unknown:
  call void @Py_DecRef(ptr %code)
  call void @Py_DecRef(ptr %frame)
  ret i1 false
found:
  %last = call i32 @PyFrame_GetLasti(ptr %frame)
  %wide = sext i32 %last to i64
  %number_at = getelementptr i64, ptr %spot, i64 1
  %modes_at = getelementptr ptr, ptr %spot, i64 2
  store ptr %code, ptr %spot
  store i64 %wide, ptr %number_at
  store ptr %modes, ptr %modes_at
  call void @Py_DecRef(ptr %frame)
  ret i1 true
no:
  ret i1 false
}}
"""
