"""What the functions of `methods_quick_text.py` have in common: which operands are a few elements,
and where these are.
"""

from __future__ import annotations

TEXT = """
DECLARES

; a method without arguments
define internal ptr @quick_fold(ptr %fold, ptr %self, i64 %count, ptr %names) {
  %is_bare = icmp eq i64 %count, 0
  %has_none = icmp eq ptr %names, null
  %can = and i1 %is_bare, %has_none
  br i1 %can, label %run, label %no
run:
  %made = call ptr %fold(ptr %self)
  ret ptr %made
no:
  ret ptr null
}

; x ** 2, which NumPy squares; integers to the power of a float become floats
define internal ptr @quick_power(ptr %self, ptr %args, i64 %count, ptr %names) {
  %is_one = icmp eq i64 %count, 1
  %has_none = icmp eq ptr %names, null
  %can = and i1 %is_one, %has_none
  br i1 %can, label %look, label %no
look:
  %exponent = get ptr %args[0]
  %is_float = call i1 @is(ptr %exponent, i64 T_FLOAT)
  br i1 %is_float, label %float, label %other
float:
  %value = call double @PyFloat_AsDouble(ptr %exponent)
  %is_square = fcmp oeq double %value, 2.0
  br i1 %is_square, label %of_floats, label %no
of_floats:
  %floats = call ptr @quick(ptr %self, ptr %self, ptr @loop_square_double,
                            ptr @loop_square_single, ptr null, i64 0)
  ret ptr %floats
other:
  %is_int = call i1 @is(ptr %exponent, i64 T_INT)
  br i1 %is_int, label %int, label %no
int:
  %overflow_at = alloca i32
  %number = call i64 @PyLong_AsLongLongAndOverflow(ptr %exponent, ptr %overflow_at)
  %is_two = icmp eq i64 %number, 2
  br i1 %is_two, label %of_all, label %no
of_all:
  %made = call ptr @quick_square(ptr %self, ptr %self)
  ret ptr %made
no:
  ret ptr null
}

; array[key] = value of a small array, for keys of integers and slices, and numbers or small
; arrays: 1 when it is done, 0 where it is another case, -1 for an exception
define internal i32 @quick_set(ptr %self, ptr %key, ptr %value) {
  %host = call ptr @part(ptr %self, i64 T_HOST)
  %is_large = icmp eq ptr %host, null
  br i1 %is_large, label %no, label %look
look:
  %is_basic = call i1 @is_basic_key(ptr %key)
  br i1 %is_basic, label %operand, label %no
operand:
  %given = call ptr @operand(ptr %value, ptr %host, i1 true)
  %is_other = icmp eq ptr %given, null
  br i1 %is_other, label %no, label %set
set:
  call void @Py_IncRef(ptr %host)
  call void @Py_IncRef(ptr %given)
  %status = call i32 @PyObject_SetItem(ptr %host, ptr %key, ptr %given)
  call void @Py_DecRef(ptr %given)
  call void @Py_DecRef(ptr %host)
  %failed = icmp ne i32 %status, 0
  %answer = select i1 %failed, i32 -1, i32 1
  ret i32 %answer
no:
  ret i32 0
}

; the array of an operand of ours that has one at hand, or the object itself; null for others of
; ours, and for arrays of NumPy's, of which the options decide where they go
define internal ptr @quick_operand(ptr %object) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %other
ours:
  %host = call ptr @part(ptr %object, i64 T_HOST)
  ret ptr %host
other:
  %is_numpys = call i1 @is(ptr %object, i64 T_NDARRAY)
  %found = select i1 %is_numpys, ptr null, ptr %object
  ret ptr %found
}

; the dtype of a few elements in rows, or of fewer along one axis; null for what is none
define internal ptr @quick_dtype(ptr %object) {
  %array = call ptr @array_with_axes(ptr %object)
  %is_other = icmp eq ptr %array, null
  br i1 %is_other, label %no, label %measure
measure:
  %size = call i64 @elements(ptr %object)
  %is_dense = call i1 @is_in_rows(ptr %object)
  %nd = get i32 %object[ND]
  %is_line = icmp eq i32 %nd, 1
  %most_apart = select i1 %is_line, i64 PACKED_MOST, i64 0
  %most = select i1 %is_dense, i64 QUICK_MOST, i64 %most_apart
  %less = sub i64 %size, 1
  %are_few = icmp ult i64 %less, %most
  %least = get i64 @state[SMALLEST]
  %is_no_row = icmp slt i64 %size, %least
  %fits = and i1 %are_few, %is_no_row
  br i1 %fits, label %yes, label %no
yes:
  %dtype = get ptr %object[DESCR]
  ret ptr %dtype
no:
  ret ptr null
}

define internal i1 @is_in_rows(ptr %array) alwaysinline {
  %flags = get i32 %array[ARRAY_FLAGS]
  %flag = and i32 %flags, 1
  %is = icmp ne i32 %flag, 0
  ret i1 %is
}

; the loop for a dtype; null where there is none
define internal ptr @quick_loop(ptr %dtype, ptr %doubles, ptr %singles, ptr %longs) {
  %double = get ptr @state[DTYPE_DOUBLE]
  %single = get ptr @state[DTYPE_SINGLE]
  %long = get ptr @state[DTYPE_LONG]
  %is_double = icmp eq ptr %dtype, %double
  %is_single = icmp eq ptr %dtype, %single
  %is_long = icmp eq ptr %dtype, %long
  %or_long = select i1 %is_long, ptr %longs, ptr null
  %or_single = select i1 %is_single, ptr %singles, ptr %or_long
  %loop = select i1 %is_double, ptr %doubles, ptr %or_single
  %is_known = icmp ne ptr %dtype, null
  %found = select i1 %is_known, ptr %loop, ptr null
  ret ptr %found
}

; where the elements of an operand are, in rows of the shape of an array: they may be copied to
; `pack`. A number is in `room`, as often as a step takes it. Null for what has not this dtype, or
; another shape
define internal ptr @quick_data(ptr %object, ptr %array, ptr %wanted, ptr %room, ptr %pack) {
  %is_array = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_array, label %array_too, label %number
array_too:
  %own = call ptr @quick_dtype(ptr %object)
  %is_same = icmp eq ptr %own, %wanted
  br i1 %is_same, label %shape, label %no
shape:
  %packed = call ptr @quick_packed(ptr %object, ptr %array, ptr %pack)
  ret ptr %packed
number:
  %long = get ptr @state[DTYPE_LONG]
  %is_long = icmp eq ptr %wanted, %long
  br i1 %is_long, label %integer, label %real
integer:
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  %is_numpys_int = call i1 @is(ptr %object, i64 T_INT_LONG)
  %is_whole = or i1 %is_int, %is_numpys_int
  br i1 %is_whole, label %value, label %no
value:
  %overflow_at = alloca i32
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow_at)
  %overflow = load i32, ptr %overflow_at
  %is_within = icmp eq i32 %overflow, 0
  br i1 %is_within, label %spread_whole, label %no
spread_whole:
  %whole_one = insertelement <16 x i64> poison, i64 %whole, i64 0
  %wholes = shufflevector <16 x i64> %whole_one, <16 x i64> poison, <16 x i32> zeroinitializer
  store <16 x i64> %wholes, ptr %room, align 8
  ret ptr %room
real:
  %number_at = alloca double
  %is_weak = call i1 @number_in(ptr %object, ptr %number_at)
  br i1 %is_weak, label %read, label %strong
strong:
  %double = get ptr @state[DTYPE_DOUBLE]
  %is_double = icmp eq ptr %wanted, %double
  %is_real = call i1 @is_real_number(ptr %object)
  %is_large_int = call i1 @is(ptr %object, i64 T_INT)
  %is_numpys_or_float = xor i1 %is_large_int, true
  %is_known = and i1 %is_real, %is_numpys_or_float
  %is_narrow = call i1 @is(ptr %object, i64 T_NUMPYS_FLOAT)
  %is_kept = select i1 %is_double, i1 %is_known, i1 %is_narrow
  br i1 %is_kept, label %convert, label %no
convert:
  %converted = call double @PyFloat_AsDouble(ptr %object)
  store double %converted, ptr %number_at
  br label %read
read:
  %found = load double, ptr %number_at
  %single = get ptr @state[DTYPE_SINGLE]
  %is_single = icmp eq ptr %wanted, %single
  br i1 %is_single, label %narrow, label %spread
spread:
  %one = insertelement <16 x double> poison, double %found, i64 0
  %all = shufflevector <16 x double> %one, <16 x double> poison, <16 x i32> zeroinitializer
  store <16 x double> %all, ptr %room, align 8
  ret ptr %room
narrow:
  %magnitude = call double @llvm.fabs.f64(double %found)
  %is_small = fcmp ole double %magnitude, 1.0e38
  br i1 %is_small, label %spread_narrow, label %no
spread_narrow:
  %short = fptrunc double %found to float
  %short_one = insertelement <16 x float> poison, float %short, i64 0
  %shorts = shufflevector <16 x float> %short_one, <16 x float> poison, <16 x i32> zeroinitializer
  store <16 x float> %shorts, ptr %room, align 8
  ret ptr %room
no:
  ret ptr null
}

; what conditions are cleared with
define internal i32 @quick_control() alwaysinline {
  CONTROL
  ret i32 %control
}

; runs a loop; whether somebody wants to hear of its conditions
define internal i1 @quick_run(ptr %loop, ptr %out, ptr %a, ptr %b, ptr %room, i64 %count) {
  %is_number_first = icmp eq ptr %a, %room
  %is_number_last = icmp eq ptr %b, %room
  %a_step = select i1 %is_number_first, i64 0, i64 1
  %b_step = select i1 %is_number_last, i64 0, i64 1
  %control = call i32 @quick_control()
  OPENS
  call void %loop(ptr %out, ptr %a, i64 %a_step, ptr %b, i64 %b_step, i64 %count)
  CLOSES
  %is_told = call i1 @is_told(i32 %bits)
  ret i1 %is_told
}

; whether there is a condition among flags of the processor
define internal i1 @is_told(i32 %bits) alwaysinline {
  %met = zext i32 %bits to i64
  %mask = get i64 @state[FLAG_MASK]
  %told = and i64 %met, %mask
  %is_told = icmp ne i64 %told, 0
  ret i1 %is_told
}

; the result of an operator on a few elements, in a new array of NumPy's; null where NumPy is to be
; asked. Comparisons (`is_asked`) give bools, and no conditions are told of them. What may be put
; off is for others unless they have refused it (`is_last`)
define internal ptr @quick_array(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs,
                                 i64 %is_asked, i1 %is_last) {
  %room = alloca [16 x i64], align 32
  %a_pack = alloca [QUICK_MOST x i64], align 32
  %b_pack = alloca [QUICK_MOST x i64], align 32
  %no_a = icmp eq ptr %a, null
  %no_b = icmp eq ptr %b, null
  %is_away = or i1 %no_a, %no_b
  br i1 %is_away, label %no, label %look
look:
  %a_is_array = call i1 @is(ptr %a, i64 T_NDARRAY)
  %array = call ptr @quick_larger(ptr %a, ptr %b, i1 %a_is_array)
  %dtype = call ptr @quick_dtype(ptr %array)
  %loop = call ptr @quick_loop(ptr %dtype, ptr %doubles, ptr %singles, ptr %longs)
  %is_unknown = icmp eq ptr %loop, null
  br i1 %is_unknown, label %rows, label %first
first:
  %a_data = call ptr @quick_data(ptr %a, ptr %array, ptr %dtype, ptr %room, ptr %a_pack)
  %a_is_other = icmp eq ptr %a_data, null
  br i1 %a_is_other, label %rows, label %last
last:
  %b_data = call ptr @quick_data(ptr %b, ptr %array, ptr %dtype, ptr %room, ptr %b_pack)
  %b_is_other = icmp eq ptr %b_data, null
  br i1 %b_is_other, label %rows, label %run
run:
  %found = call ptr @quick_result(ptr %array, ptr %dtype, ptr %loop, ptr %a_data, ptr %b_data,
                                  ptr %room, i64 %is_asked)
  ret ptr %found
rows:
  %of_rows = call ptr
    @rows_array(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs, i64 %is_asked,
                i1 %is_last)
  ret ptr %of_rows
no:
  ret ptr null
}

; what a loop gives for the elements of operands, numbers in `room`, in a new array of the shape of
; another one; null where NumPy has to tell of a condition
define internal ptr @quick_result(ptr %array, ptr %dtype, ptr %loop, ptr %a_data, ptr %b_data,
                                  ptr %room, i64 %is_asked) {
  %is_bool = icmp ne i64 %is_asked, 0
  %bool = get ptr @state[DTYPE_BOOL]
  %out_dtype = select i1 %is_bool, ptr %bool, ptr %dtype
  %made = call ptr @quick_new(ptr %array, ptr %out_dtype)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %run
run:
  %size = call i64 @elements(ptr %array)
  %out = get ptr %made[DATA]
  %is_told = call i1
    @quick_run(ptr %loop, ptr %out, ptr %a_data, ptr %b_data, ptr %room, i64 %size)
  %is_arithmetic = xor i1 %is_bool, true
  %is_heard = and i1 %is_told, %is_arithmetic
  br i1 %is_heard, label %again, label %give
again:
  call void @Py_DecRef(ptr %made)
  br label %no
give:
  ret ptr %made
no:
  ret ptr null
}

; the result for the user, of operands of ours and numbers
define internal ptr @quick(ptr %left, ptr %right, ptr %doubles, ptr %singles, ptr %longs,
                           i64 %is_asked) {
  %a = call ptr @quick_operand(ptr %left)
  %b = call ptr @quick_operand(ptr %right)
  %no_a = icmp eq ptr %a, null
  %no_b = icmp eq ptr %b, null
  %is_away = or i1 %no_a, %no_b
  br i1 %is_away, label %look, label %of_small
of_small:
  %quick_array = call ptr
    @quick_array(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs, i64 %is_asked, i1 false)
  br label %made
look:
  %of_windows = call ptr @quick_of_windows(ptr %left, ptr %right, ptr %doubles, ptr %singles,
                                           ptr %longs, i64 %is_asked)
  br label %made
made:
  %array = phi ptr [ %quick_array, %of_small ], [ %of_windows, %look ]
  %is_other = icmp eq ptr %array, null
  br i1 %is_other, label %no, label %wrap
wrap:
  %none = call ptr @none()
  %result = call ptr @wrapped(ptr %array, ptr %none)
  %is_lost = icmp eq ptr %result, null
  br i1 %is_lost, label %clear, label %done
clear:
  call void @PyErr_Clear()
  br label %no
done:
  ret ptr %result
no:
  ret ptr null
}
"""
