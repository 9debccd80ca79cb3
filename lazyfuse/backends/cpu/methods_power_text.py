"""x ** y as LLVM text; see `methods.py`."""

from __future__ import annotations

POWER = """
declare ptr @PyNumber_Power(ptr, ptr, ptr)
declare ptr @PyNumber_InPlacePower(ptr, ptr, ptr)

; x ** y: NumPy's for the exponents that need no power
define ptr @lf_power(ptr %self, ptr %args, i64 %count, ptr %names) {{{defer}
  %host = call ptr @part(ptr %self, i64 {host})
  %is_large = icmp eq ptr %host, null
  %is_one = icmp eq i64 %count, 1
  %has_words = icmp ne ptr %names, null
  %is_two = xor i1 %is_one, true
  %is_other = or i1 %is_two, %has_words
  br i1 %is_other, label %general, label %operand
operand:
  %exponent = load ptr, ptr %args
  br i1 %is_large, label %large, label %look
large:
  %is_easy = call i1 @is_easy_exponent(ptr %exponent)
  br i1 %is_easy, label %open, label %general
open:
  %reused = call ptr @reused(ptr @powered_in_place, i1 false, i64 0, ptr %self, ptr %exponent)
  %is_reused = icmp ne ptr %reused, null
  br i1 %is_reused, label %give_reused, label %ask
give_reused:
  ret ptr %reused
ask:
  %reach_error = call ptr @PyErr_Occurred()
  %has_reach_error = icmp ne ptr %reach_error, null
  br i1 %has_reach_error, label %python_error, label %measure
python_error:
  ret ptr null
measure:
  %most = call i64 @reach_of(ptr %self)
  %window = call ptr @window(ptr %self, i64 %most)
  %is_away = icmp eq ptr %window, null
  br i1 %is_away, label %away, label %power_of_window
away:
  %large_error = call ptr @PyErr_Occurred()
  %has_large_error = icmp ne ptr %large_error, null
  br i1 %has_large_error, label %python, label %square
power_of_window:
  %nothing = call ptr @none()
  %power_value = call ptr @PyNumber_Power(ptr %window, ptr %exponent, ptr %nothing)
  call void @Py_DecRef(ptr %window)
  %window_made = call ptr @as_users(ptr %power_value)
  ret ptr %window_made
square:
  %squared = call ptr @squared(ptr %self, ptr %exponent)
  %is_unsquared = icmp eq ptr %squared, null
  br i1 %is_unsquared, label %general, label %give_squared
give_squared:
  ret ptr %squared
look:
  %is_plain = call i1 @is_easy_exponent(ptr %exponent)
  br i1 %is_plain, label %run, label %general
run:
  %none = call ptr @none()
  call void @Py_IncRef(ptr %host)
  %value = call ptr @PyNumber_Power(ptr %host, ptr %exponent, ptr %none)
  call void @Py_DecRef(ptr %host)
  %made = call ptr @wrapped(ptr %value, ptr %none)
  ret ptr %made
general:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  %skips = or i1 %is_other, %raised
  br i1 %skips, label %python, label %kernel
kernel:
  %operands = alloca [2 x ptr]
  %base = getelementptr ptr, ptr %operands, i64 1
  %second = load ptr, ptr %args
  store ptr %self, ptr %operands
  store ptr %second, ptr %base
  %power = call ptr @object(i64 {power})
  %powered = call ptr @direct(ptr %power, ptr %operands, i64 2)
  %is_not = icmp eq ptr %powered, null
  br i1 %is_not, label %python, label %give
give:
  ret ptr %powered
python:
  %method = call ptr @object(i64 {method})
  %result = call ptr @general(ptr %method, ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}}

; an array of NumPy's to a power, in its memory
define internal ptr @powered_in_place(ptr %array, ptr %exponent) {{
  %none = call ptr @none()
  %changed = call ptr @PyNumber_InPlacePower(ptr %array, ptr %exponent, ptr %none)
  ret ptr %changed
}}

; the square of an array of the engine by its recipes, where the exponent is 2; null for others
define internal ptr @squared(ptr %self, ptr %exponent) {{
  %operands = alloca [1 x ptr]
  store ptr %self, ptr %operands
  %is_int = call i1 @is(ptr %exponent, i64 {int_})
  br i1 %is_int, label %value, label %no
value:
  %overflow_at = alloca i32
  %number = call i64 @PyLong_AsLongLongAndOverflow(ptr %exponent, ptr %overflow_at)
  %is_two = icmp eq i64 %number, 2
  br i1 %is_two, label %record, label %no
record:
  %recipes = call ptr @object(i64 {squares})
  %made = call ptr @recorded(ptr %recipes, ptr %operands, i64 1, ptr null)
  ret ptr %made
no:
  ret ptr null
}}

; whether an exponent is 0.5, 1, 2 or -1
define internal i1 @is_easy_exponent(ptr %exponent) {{
  %is_float = call i1 @is(ptr %exponent, i64 {float_})
  br i1 %is_float, label %float, label %other
float:
  %number = call double @PyFloat_AsDouble(ptr %exponent)
  br label %compare
other:
  %is_int = call i1 @is(ptr %exponent, i64 {int_})
  br i1 %is_int, label %int, label %no
int:
  %overflow_at = alloca i32
  %integer = call i64 @PyLong_AsLongLongAndOverflow(ptr %exponent, ptr %overflow_at)
  %as_float = sitofp i64 %integer to double
  %overflow = load i32, ptr %overflow_at
  %is_within = icmp eq i32 %overflow, 0
  br i1 %is_within, label %compare, label %no
compare:
  %value = phi double [ %number, %float ], [ %as_float, %int ]
  %is_half = fcmp oeq double %value, 5.0e-01
  %is_one = fcmp oeq double %value, 1.0
  %is_two = fcmp oeq double %value, 2.0
  %is_less_one = fcmp oeq double %value, -1.0
  %root = or i1 %is_half, %is_one
  %square = or i1 %is_two, %is_less_one
  %is_easy = or i1 %root, %square
  ret i1 %is_easy
no:
  ret i1 false
}}
"""
