"""The operands of functions that are called by their own kernels, as LLVM text; see
`methods_direct_text.py`."""

from __future__ import annotations

OPERANDS = """
; how a function is called; the arrays, each with a reference, and the number are stored. -1 for
; other operands
define internal i64 @form_of(ptr %args, i64 %count, ptr %arrays, ptr %number_at, i64 %most) {
  store double 0.0, ptr %number_at
  put ptr null, %arrays[0]
  %has_two = icmp eq i64 %count, 2
  %is_one = icmp eq i64 %count, 1
  %is_fine = or i1 %has_two, %is_one
  br i1 %is_fine, label %first, label %no
first:
  %a = get ptr %args[0]
  %a_is_array = call i1 @is_array_operand(ptr %a)
  br i1 %a_is_array, label %array_first, label %number_first
array_first:
  %a_own = call ptr @array_operand(ptr %a, i64 %most)
  %last_place = sub i64 %count, 1
  %last_argument = get ptr %args[%last_place]
  %is_beside_float = call i1 @is(ptr %last_argument, i64 T_FLOAT)
  %is_of_floats = or i1 %is_one, %is_beside_float
  %a_host = call ptr @dense(ptr %a_own, i1 %is_of_floats, i64 %most)
  put ptr %a_host, %arrays[0]
  %is_large = icmp eq ptr %a_host, null
  br i1 %is_large, label %no, label %second
second:
  br i1 %is_one, label %alone, label %with_b
alone:
  ret i64 ALONE
with_b:
  %b = get ptr %args[1]
  %b_is_array = call i1 @is_array_operand(ptr %b)
  br i1 %b_is_array, label %pair, label %number_second
pair:
  %b_own = call ptr @array_operand(ptr %b, i64 %most)
  %b_host = call ptr @dense(ptr %b_own, i1 false, i64 %most)
  put ptr %b_host, %arrays[1]
  %b_is_large = icmp eq ptr %b_host, null
  br i1 %b_is_large, label %no, label %both
both:
  ret i64 PAIR
number_second:
  %b_is_number = call i1 @number_beside(ptr %b, ptr %a_host, ptr %number_at)
  br i1 %b_is_number, label %give_second, label %no
give_second:
  ret i64 NUMBER_SECOND
number_first:
  br i1 %has_two, label %look_first, label %no
look_first:
  %last = get ptr %args[1]
  %last_is_array = call i1 @is_array_operand(ptr %last)
  br i1 %last_is_array, label %array_second, label %no
array_second:
  %last_own = call ptr @array_operand(ptr %last, i64 %most)
  %is_after_float = call i1 @is(ptr %a, i64 T_FLOAT)
  %last_host = call ptr @dense(ptr %last_own, i1 %is_after_float, i64 %most)
  put ptr %last_host, %arrays[0]
  %last_is_large = icmp eq ptr %last_host, null
  br i1 %last_is_large, label %no, label %number
number:
  %a_is_number = call i1 @number_beside(ptr %a, ptr %last_host, ptr %number_at)
  br i1 %a_is_number, label %give_first, label %no
give_first:
  ret i64 NUMBER_FIRST
no:
  ret i64 -1
}

define internal i1 @is_array_operand(ptr %object) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  %is_numpys = call i1 @is(ptr %object, i64 T_NDARRAY)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_foreign = or i1 %is_numpys, %is_list
  %is_any = or i1 %is_ours, %is_foreign
  ret i1 %is_any
}

; the array of an operand of ours, a small one of NumPy's, or that of a short list of numbers, with
; a reference; null for others, and for an exception
define internal ptr @array_operand(ptr %object, i64 %most) {
  %is_numpys = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_numpys, label %numpys, label %look
look:
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  br i1 %is_list, label %list, label %ours
list:
  %listed = call ptr @listed(ptr %object, ptr @is_usual_number)
  ret ptr %listed
ours:
  %host = call ptr @host_or_window(ptr %object, i64 %most)
  ret ptr %host
numpys:
  %size = call i64 @elements(ptr %object)
  %eager = call i64 @eager_size()
  %is_large = icmp sgt i64 %size, %eager
  br i1 %is_large, label %no, label %same
same:
  call void @Py_IncRef(ptr %object)
  ret ptr %object
no:
  ret ptr null
}

; the array of a short list all of whose items are wanted, as a function says; null for others, and
; for an exception
define internal ptr @listed(ptr %list, ptr %is_wanted) {
  %count = call i64 @PyList_Size(ptr %list)
  %less = sub i64 %count, 1
  %is_short = icmp ult i64 %less, LISTED_MOST
  br i1 %is_short, label %next, label %no
next:
  %i = phi i64 [ 0, %0 ], [ %after, %item ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %make, label %item
item:
  %number = call ptr @PyList_GetItem(ptr %list, i64 %i)
  %is_one = call i1 %is_wanted(ptr %number)
  %after = add i64 %i, 1
  br i1 %is_one, label %next, label %no
make:
  %maker = call ptr @object(i64 T_AS_ARRAY)
  %made = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %maker, ptr %list, ptr null)
  ret ptr %made
no:
  ret ptr null
}

; an array that has gaps, of one axis or in C order, as a copy without; of int64, where `converts`,
; as float64, which is what functions of it alone, or of it and a Python float, take, unless it has
; no axes: its product would be a number. Others, and null, as they are. Takes the reference; null
; for an exception
define internal ptr @dense(ptr %host, i1 %converts, i64 %most) {
  %is_away = icmp eq ptr %host, null
  br i1 %is_away, label %same, label %look
same:
  ret ptr %host
look:
  %nd = get i32 %host[ND]
  %is_line = icmp eq i32 %nd, 1
  %has_axes = icmp sgt i32 %nd, 0
  %size = call i64 @elements(ptr %host)
  %less = sub i64 %size, 1
  %is_within = icmp ult i64 %less, %most
  %number = call i32 @dtype_number(ptr %host)
  %is_long = icmp eq i32 %number, 7
  %is_whole = call i1 @is_dense(ptr %host, i64 %most, i32 DENSE_ORDERS)
  %is_single = icmp eq i32 %number, 11
  %is_double = icmp eq i32 %number, 12
  %is_real = or i1 %is_single, %is_double
  %is_complex = call i1 @is_complex(ptr %host)
  %is_float = or i1 %is_real, %is_complex
  %may_multiply = and i1 %is_long, %converts
  %may_convert = and i1 %may_multiply, %has_axes
  %is_simple = or i1 %is_line, %is_whole
  %can_convert = and i1 %may_convert, %is_simple
  %can = and i1 %can_convert, %is_within
  br i1 %can, label %convert, label %copies
convert:
  %one = call ptr @PyFloat_FromDouble(double 1.0)
  %no_one = icmp eq ptr %one, null
  br i1 %no_one, label %fail, label %multiply
multiply:
  %floats = call ptr @PyNumber_Multiply(ptr %host, ptr %one)
  call void @Py_DecRef(ptr %one)
  call void @Py_DecRef(ptr %host)
  ret ptr %floats
copies:
  %has_gaps = xor i1 %is_whole, true
  %is_in_order = call i1 @is_in_c_order(ptr %host)
  %is_orderly = or i1 %is_line, %is_in_order
  %is_strided = and i1 %has_gaps, %is_orderly
  %is_copied = and i1 %is_strided, %is_float
  %can_copy = and i1 %is_copied, %is_within
  br i1 %can_copy, label %copy, label %as_it_is
copy:
  %copier = call ptr @object(i64 T_NEW_COPY)
  %copied = call ptr %copier(ptr %host, i32 0)
  call void @Py_DecRef(ptr %host)
  ret ptr %copied
as_it_is:
  ret ptr %host
fail:
  call void @Py_DecRef(ptr %host)
  ret ptr null
}

; whether the axes of an array run forward, each in steps over all of those behind it
define internal i1 @is_in_c_order(ptr %host) {
  %nd = get i32 %host[ND]
  %axes = sext i32 %nd to i64
  %extents = get ptr %host[DIMENSIONS]
  %steps = get ptr %host[STRIDES]
  br label %next
next:
  %i = phi i64 [ %axes, %0 ], [ %axis, %look ], [ %axis, %step ]
  %over = phi i64 [ 1, %0 ], [ %over, %look ], [ %wider, %step ]
  %is_over = icmp eq i64 %i, 0
  br i1 %is_over, label %yes, label %look
look:
  %axis = sub i64 %i, 1
  %extent = get i64 %extents[%axis]
  %is_one = icmp eq i64 %extent, 1
  br i1 %is_one, label %next, label %step
step:
  %width = get i64 %steps[%axis]
  %is_beyond = icmp sge i64 %width, %over
  %wider = mul i64 %width, %extent
  br i1 %is_beyond, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; the same as `number_in`, or of one of NumPy's doubles beside an array of doubles
define internal i1 @number_beside(ptr %object, ptr %host, ptr %at) {
  %is_strong = call i1 @is(ptr %object, i64 T_STRONG)
  br i1 %is_strong, label %strong, label %weak
weak:
  %is_weak_number = call i1 @number_in(ptr %object, ptr %at)
  ret i1 %is_weak_number
strong:
  %number = call i32 @dtype_number(ptr %host)
  %is_double = icmp eq i32 %number, 12
  %value = call double @PyFloat_AsDouble(ptr %object)
  store double %value, ptr %at
  ret i1 %is_double
}

; stores the value of a float or of an int that a float holds; false for others
define internal i1 @number_in(ptr %object, ptr %at) {
  %is_float = call i1 @is(ptr %object, i64 T_FLOAT)
  br i1 %is_float, label %float, label %other
float:
  %value = call double @PyFloat_AsDouble(ptr %object)
  store double %value, ptr %at
  ret i1 true
other:
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  br i1 %is_int, label %int, label %no
int:
  %integer_at = alloca i64
  %is_fine = call i1 @exact_integer(ptr %object, ptr %integer_at)
  br i1 %is_fine, label %take, label %no
take:
  %integer = load i64, ptr %integer_at
  %as_float = sitofp i64 %integer to double
  store double %as_float, ptr %at
  ret i1 true
no:
  ret i1 false
}

; whether an array is dense, has elements, and not too many; and another one, where it is not null,
; lies alike, both in C order, and has its dtype
define internal i1 @are_dense(ptr %host, ptr %other, i64 %most) {
  %is_alone = icmp eq ptr %other, null
  br i1 %is_alone, label %one, label %two
one:
  %is_alone_dense = call i1 @is_dense(ptr %host, i64 %most, i32 DENSE_ORDERS)
  ret i1 %is_alone_dense
two:
  %first = call i1 @is_dense(ptr %host, i64 %most, i32 1)
  %second = call i1 @is_dense(ptr %other, i64 %most, i32 1)
  %both = and i1 %first, %second
  %alike = call i1 @alike(ptr %host, ptr %other)
  %dtype = get ptr %host[DESCR]
  %other_dtype = get ptr %other[DESCR]
  %same = icmp eq ptr %dtype, %other_dtype
  %fit = and i1 %alike, %same
  %are = and i1 %both, %fit
  ret i1 %are
}

; `orders`: the flags of the orders in which it may lie
define internal i1 @is_dense(ptr %host, i64 %most, i32 %orders) {
  %flags = get i32 %host[ARRAY_FLAGS]
  %aligned = and i32 %flags, 256
  %is_aligned = icmp ne i32 %aligned, 0
  %order = and i32 %flags, %orders
  %has_order = icmp ne i32 %order, 0
  %is_plain = and i1 %is_aligned, %has_order
  %size = call i64 @elements(ptr %host)
  %has_elements = icmp sgt i64 %size, 0
  %is_small = icmp sle i64 %size, %most
  %counts = and i1 %has_elements, %is_small
  %is_dense = and i1 %is_plain, %counts
  ret i1 %is_dense
}
"""
