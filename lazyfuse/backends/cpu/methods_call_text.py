"""Calls of ufuncs as LLVM text; see `methods.py`."""

CALL = """
define ptr @lf_call(ptr %self, ptr %args, i64 %count, ptr %names) {{
  %deferred = call ptr @deferred_call(ptr %self, ptr %args, i64 %count, ptr %names)
  %is_deferred = icmp ne ptr %deferred, null
  br i1 %is_deferred, label %later, label %now
later:
  %has_raised = icmp eq ptr %deferred, inttoptr (i64 1 to ptr)
  %given_later = select i1 %has_raised, ptr null, ptr %deferred
  ret ptr %given_later
now:
  %ufunc = call ptr @part(ptr %self, i64 {ufunc})
  %other = icmp eq ptr %ufunc, null
  %named = icmp ne ptr %names, null
  %first_bad = or i1 %other, %named
  br i1 %first_bad, label %slow, label %counted
counted:
  %nin_at = getelementptr i8, ptr %ufunc, i64 16
  %nin = load i32, ptr %nin_at
  %wide = zext i32 %nin to i64
  %fits = icmp eq i64 %wide, %count
  br i1 %fits, label %look, label %slow
look:
  %a = load ptr, ptr %args
  switch i64 %count, label %slow [ i64 1, label %one  i64 2, label %two ]
one:
  %only = call ptr @array(ptr %a)
  %no_array = icmp eq ptr %only, null
  br i1 %no_array, label %slow, label %run
two:
  %b_at = getelementptr ptr, ptr %args, i64 1
  %b = load ptr, ptr %b_at
  %a_array = call ptr @array(ptr %a)
  %b_array = call ptr @array(ptr %b)
  %a_is = icmp ne ptr %a_array, null
  %host = select i1 %a_is, ptr %a_array, ptr %b_array
  %none_is = icmp eq ptr %host, null
  br i1 %none_is, label %slow, label %operands
operands:
  %left = call ptr @operand(ptr %a, ptr %host, i1 false)
  %right = call ptr @operand(ptr %b, ptr %host, i1 false)
  %no_left = icmp eq ptr %left, null
  %no_right = icmp eq ptr %right, null
  %no_operand = or i1 %no_left, %no_right
  br i1 %no_operand, label %slow, label %run
run:
  %x = phi ptr [ %only, %one ], [ %left, %operands ]
  %y = phi ptr [ %only, %one ], [ %right, %operands ]
  %given = alloca [2 x ptr]
  store ptr %x, ptr %given
  %second = getelementptr ptr, ptr %given, i64 1
  store ptr %y, ptr %second
  call void @Py_IncRef(ptr %x)
  call void @Py_IncRef(ptr %y)
  %value = call ptr @PyObject_Vectorcall(ptr %ufunc, ptr %given, i64 %count, ptr null)
  call void @Py_DecRef(ptr %y)
  call void @Py_DecRef(ptr %x)
  %none = call ptr @none()
  %made = call ptr @wrapped(ptr %value, ptr %none)
  ret ptr %made
slow:
  br i1 %named, label %keywords, label %short
short:
  %known = call ptr @part(ptr %self, i64 {recipes})
  %none_known = icmp eq ptr %known, null
  br i1 %none_known, label %copy, label %record
record:
  %recorded = call ptr @recorded(ptr %known, ptr %args, i64 %count, ptr null)
  %unrecorded = icmp eq ptr %recorded, null
  br i1 %unrecorded, label %ask, label %give
give:
  ret ptr %recorded
ask:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %fail, label %copy
fail:
  ret ptr null
keywords:
  %words = call i64 @PyTuple_Size(ptr %names)
  br label %copy
copy:
  %extra = phi i64 [ 0, %short ], [ 0, %ask ], [ %words, %keywords ]
  %total = add i64 %count, %extra
  %room = add i64 %total, 1
  %all = alloca ptr, i64 %room
  store ptr %self, ptr %all
  br label %next
next:
  %i = phi i64 [ 0, %copy ], [ %after, %move ]
  %is_over = icmp sge i64 %i, %total
  br i1 %is_over, label %call, label %move
move:
  %from = getelementptr ptr, ptr %args, i64 %i
  %item = load ptr, ptr %from
  %after = add i64 %i, 1
  %to = getelementptr ptr, ptr %all, i64 %after
  store ptr %item, ptr %to
  br label %next
call:
  %number = call i64 @entry(i64 {method})
  %python = inttoptr i64 %number to ptr
  %with_self = add i64 %count, 1
  %result = call ptr @PyObject_Vectorcall(ptr %python, ptr %all, i64 %with_self, ptr %names)
  ret ptr %result
}}

; the array of a wrapper; null for others
define internal ptr @array(ptr %other) {{
  %is_ours = call i1 @is(ptr %other, i64 {class_})
  br i1 %is_ours, label %ours, label %no
ours:
  %found = call ptr @part(ptr %other, i64 {host})
  ret ptr %found
no:
  ret ptr null
}}
"""
