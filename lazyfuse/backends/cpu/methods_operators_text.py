"""Operators of small arrays as LLVM text, of each a template; see `methods.py`."""

from __future__ import annotations

DEFER = """
  %deferred = call ptr {call}
  %is_deferred = icmp ne ptr %deferred, null
  br i1 %is_deferred, label %later, label %now
later:
  %has_raised = icmp eq ptr %deferred, inttoptr (i64 1 to ptr)
  %given_later = select i1 %has_raised, ptr null, ptr %deferred
  ret ptr %given_later
now:"""

QUICK = """
  %quick = call ptr {call}
  %is_quick = icmp ne ptr %quick, null
  br i1 %is_quick, label %at_once, label %not_at_once
at_once:
  ret ptr %quick
not_at_once:"""

#: What leaves a write to Python while a function is recorded, which may only write its own arrays.
WITNESSED = """
  %is_free = call i1 @is_nothing_recorded()
  br i1 %is_free, label %unwitnessed, label %witnessed
witnessed:
  %seeing = call ptr @object(i64 {method})
  %by_python = call ptr {call}
  ret ptr %by_python
unwitnessed:"""

OPERAND = """
; the array of an operand, a small one of NumPy's, or a number itself; null for others
define internal ptr @operand(ptr %other, ptr %host, i1 %any_shape) {{
  %is_ours = call i1 @is(ptr %other, i64 {class_})
  br i1 %is_ours, label %ours, label %number
ours:
  %theirs = call ptr @part(ptr %other, i64 {host})
  %is_none = icmp eq ptr %theirs, null
  %skip = or i1 %is_none, %any_shape
  br i1 %skip, label %done, label %shapes
done:
  ret ptr %theirs
shapes:
  %fits = call i1 @fits_one(ptr %host, ptr %theirs)
  %found = select i1 %fits, ptr %theirs, ptr null
  ret ptr %found
number:
  %is_float = call i1 @is(ptr %other, i64 {float_})
  %is_int = call i1 @is(ptr %other, i64 {int_})
  %is_float64 = call i1 @is(ptr %other, i64 {float64})
  %is_int64 = call i1 @is(ptr %other, i64 {int64})
  %is_pythons = or i1 %is_float, %is_int
  %is_numpys = or i1 %is_float64, %is_int64
  %is_usual = or i1 %is_pythons, %is_numpys
  br i1 %is_usual, label %plain, label %look
look:
  %is_number = call i1 @is_number(ptr %other)
  br i1 %is_number, label %plain, label %numpys
numpys:
  %is_array = call i1 @is(ptr %other, i64 {ndarray})
  br i1 %is_array, label %array, label %listed
listed:
  %are_few = call i1 @are_few_numbers(ptr %other, ptr %host)
  br i1 %are_few, label %plain, label %no
array:
  %is_known = call i1 @has_known_dtype(ptr %other)
  br i1 %is_known, label %count, label %no
count:
  %elements = call i64 @elements(ptr %other)
  %eager = call i64 @eager_size()
  %is_large = icmp sgt i64 %elements, %eager
  br i1 %is_large, label %no, label %beside
beside:
  br i1 %any_shape, label %plain, label %together
together:
  %is_fit = call i1 @fits_one(ptr %host, ptr %other)
  br i1 %is_fit, label %plain, label %no
plain:
  ret ptr %other
no:
  ret ptr null
}}
"""

BINARY = """
define ptr @lf_{name}(ptr %self, ptr %other) {{{quick}{defer}
  %host = call ptr @part(ptr %self, i64 {host})
  %large = icmp eq ptr %host, null
  br i1 %large, label %engine, label %small
engine:
  %recorded = call ptr {record}
  ret ptr %recorded
small:
  %operand = call ptr @operand(ptr %other, ptr %host, i1 {any_shape})
  %unknown = icmp eq ptr %operand, null
  br i1 %unknown, label %slow, label %run
run:
  call void @Py_IncRef(ptr %host)
  call void @Py_IncRef(ptr %operand)
  %value = call ptr {call}
  call void @Py_DecRef(ptr %operand)
  call void @Py_DecRef(ptr %host)
{done}
slow:
  %result = call ptr {mixed}
  ret ptr %result
}}
"""
COMPARISON = """
define internal ptr @compare_{name}(ptr %a, ptr %b) {{
  %answer = call ptr @PyObject_RichCompare(ptr %a, ptr %b, i32 {number})
  ret ptr %answer
}}
"""
WRAP = """\
  %none = call ptr @none()
  %made = call ptr @wrapped(ptr %value, ptr %none)
  ret ptr %made"""
SAME = """\
  %failed = icmp eq ptr %value, null
  br i1 %failed, label %fail, label %done
fail:
  ret ptr null
done:
  call void @Py_DecRef(ptr %value)
  call void @Py_IncRef(ptr %self)
  ret ptr %self"""

UNARY = """
define ptr @lf_{name}(ptr %self, ptr %nothing) {{{quick}{defer}
  %host = call ptr @part(ptr %self, i64 {host})
  %large = icmp eq ptr %host, null
  br i1 %large, label %engine, label %small
engine:
  %may_be_other = {may_be_other}
  br i1 %may_be_other, label %others, label %record
others:
  %direct = call ptr {other_way}
  %is_direct = icmp ne ptr %direct, null
  %direct_error = call ptr @PyErr_Occurred()
  %has_failed = icmp ne ptr %direct_error, null
  %is_direct_over = or i1 %is_direct, %has_failed
  br i1 %is_direct_over, label %give_direct, label %record
give_direct:
  ret ptr %direct
record:
  %recorded = call ptr {record}
  ret ptr %recorded
small:
  %is_other = {is_other}
  br i1 %is_other, label %slow, label %run
run:
  call void @Py_IncRef(ptr %host)
  %value = call ptr @{function}(ptr %host)
  call void @Py_DecRef(ptr %host)
  %none = call ptr @none()
  %made = call ptr @wrapped(ptr %value, ptr %none)
  ret ptr %made
slow:
  %computed = call ptr {other_way}
  %is_computed = icmp ne ptr %computed, null
  %slow_error = call ptr @PyErr_Occurred()
  %is_error = icmp ne ptr %slow_error, null
  %is_done = or i1 %is_computed, %is_error
  br i1 %is_done, label %give, label %ask
give:
  ret ptr %computed
ask:
  %python = call ptr @object(i64 {method})
  %result = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %python, ptr %self, ptr null)
  ret ptr %result
}}
"""
