"""Ufuncs of two operands, some of them arrays of the engine, and others' ufuncs, as LLVM text; see
`methods.py`."""

from __future__ import annotations

PAIRS = """
; whether a call is of an elementwise ufunc on two operands, some of the engine, and of no more
define internal i1 @is_pair(ptr %self, ptr %ufunc, ptr %args, i64 %count, i1 %named) {
  %nin_at = getelementptr i8, ptr %ufunc, i64 16
  %nin = load i32, ptr %nin_at
  %nout_at = getelementptr i8, ptr %ufunc, i64 20
  %nout = load i32, ptr %nout_at
  %are_two = icmp eq i64 %count, 2
  %takes_two = icmp eq i32 %nin, 2
  %gives_one = icmp eq i32 %nout, 1
  %recipes = call ptr @part(ptr %self, i64 T_RECIPES)
  %has_recipes = icmp ne ptr %recipes, null
  %is_unnamed = xor i1 %named, true
  %is_binary = and i1 %takes_two, %gives_one
  %is_elementwise = and i1 %is_binary, %has_recipes
  %is_plain = and i1 %are_two, %is_unnamed
  %can = and i1 %is_elementwise, %is_plain
  br i1 %can, label %look, label %no
look:
  %are_engines = call i1 @is_one_engines(ptr %args)
  ret i1 %are_engines
no:
  ret i1 false
}

; whether one of two arguments is an array of the engine
define internal i1 @is_one_engines(ptr %args) {
  %a = get ptr %args[0]
  %b = get ptr %args[1]
  %a_is_engines = call i1 @is_engines(ptr %a)
  %b_is_engines = call i1 @is_engines(ptr %b)
  %is_one = or i1 %a_is_engines, %b_is_engines
  ret i1 %is_one
}

; the result of a ufunc of a pair where NumPy computes that at once; null for others, and for an
; exception
define internal ptr @pair_at_once(ptr %ufunc, ptr %args) {
  %a = get ptr %args[0]
  %b = get ptr %args[1]
  %given = alloca [2 x ptr]
  %are_taken = call i1 @taken_pair(ptr %a, ptr %b, ptr %given)
  br i1 %are_taken, label %run, label %no
run:
  %value = call ptr @PyObject_Vectorcall(ptr %ufunc, ptr %given, i64 2, ptr null)
  call void @drop_all(ptr %given, i64 2)
  %made = call ptr @as_users(ptr %value)
  ret ptr %made
no:
  ret ptr null
}

; an operand that is ours, a plain number, or an array of NumPy's, with a reference; null for
; others. NumPy makes an array without axes of the number in `number < array`: that is the number
; again, where it is one of NumPy's and not any object
define internal ptr @operand_of_ufunc(ptr %object) {
  %is_array = call i1 @is_array(ptr %object)
  %is_number = call i1 @is_number(ptr %object)
  %is_plain = or i1 %is_array, %is_number
  br i1 %is_plain, label %same, label %look
look:
  %is_numpys = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_numpys, label %axes, label %no
axes:
  %nd = get i32 %object[ND]
  %has_none = icmp eq i32 %nd, 0
  %is_ours = call i1 @has_known_dtype(ptr %object)
  %is_item = and i1 %has_none, %is_ours
  br i1 %is_item, label %item, label %same
item:
  %data = get ptr %object[DATA]
  %dtype = get ptr %object[DESCR]
  %maker = call ptr @object(i64 T_NEW_SCALAR)
  %scalar = call ptr %maker(ptr %data, ptr %dtype, ptr %object)
  %failed = icmp eq ptr %scalar, null
  br i1 %failed, label %clear, label %known
clear:
  call void @PyErr_Clear()
  br label %same
known:
  %is_known = call i1 @is_number(ptr %scalar)
  br i1 %is_known, label %give, label %drop
give:
  ret ptr %scalar
drop:
  call void @Py_DecRef(ptr %scalar)
  br label %same
same:
  call void @Py_IncRef(ptr %object)
  ret ptr %object
no:
  ret ptr null
}

; what a ufunc that is none of ours gives for one small array, or two operands; null for others,
; and for an exception
define internal ptr @of_another_ufunc(ptr %ufunc, ptr %operands, i64 %count) {
  %numpys = call ptr @object(i64 T_ABSOLUTE)
  %numpys_at = getelementptr i8, ptr %numpys, i64 8
  %kind_at = getelementptr i8, ptr %ufunc, i64 8
  %numpys_kind = load ptr, ptr %numpys_at
  %kind = load ptr, ptr %kind_at
  %is_ufunc = icmp eq ptr %kind, %numpys_kind
  %are_few = icmp ule i64 %count, 2
  %can = and i1 %is_ufunc, %are_few
  br i1 %can, label %measure, label %no
measure:
  %fit = call i1 @fit_each_other(ptr %operands, i64 %count)
  br i1 %fit, label %compute, label %no
compute:
  %found = call ptr
    @small_call(ptr %ufunc, ptr null, ptr %operands, i64 %count, ptr null, i64 0)
  ret ptr %found
no:
  ret ptr null
}

; whether the first two operands, where both are small arrays or windows, are broadcast to as many
; elements as one of them has, or few
define internal i1 @fit_each_other(ptr %args, i64 %count) {
  %has_two = icmp sge i64 %count, 2
  br i1 %has_two, label %look, label %yes
look:
  %a = get ptr %args[0]
  %b = get ptr %args[1]
  %is_engines = call i1 @is_one_engines(ptr %args)
  br i1 %is_engines, label %windows, label %hosts
windows:
  %fit = call i1 @fit_windows(ptr %a, ptr %b)
  ret i1 %fit
hosts:
  %a_host = call ptr @array(ptr %a)
  %b_host = call ptr @array(ptr %b)
  %no_a = icmp eq ptr %a_host, null
  %no_b = icmp eq ptr %b_host, null
  %is_one = or i1 %no_a, %no_b
  br i1 %is_one, label %yes, label %compare
compare:
  %fits = call i1 @fits_one(ptr %a_host, ptr %b_host)
  ret i1 %fits
yes:
  ret i1 true
}
"""
