"""Calls of ufuncs as LLVM text; see `methods.py`."""

CALL = """
define ptr @lf_call(ptr %self, ptr %args, i64 %count, ptr %given_names) {{
  %names = call ptr @names_but_no_output(ptr %self, ptr %args, i64 %count, ptr %given_names)
  %may_be_numbers = call i1 @begins_with_float(ptr %args, i64 %count, ptr %names)
  br i1 %may_be_numbers, label %early, label %others
early:
  %are_early = call i1 @are_numbers(ptr %args, i64 %count)
  br i1 %are_early, label %numbers, label %others
others:{defer}
  %ufunc = call ptr @part(ptr %self, i64 {ufunc})
  %is_inexact = icmp eq ptr %ufunc, null
  %is_modulus = call i1 @is_modulus(ptr %ufunc, ptr %args, i64 %count)
  %other = or i1 %is_inexact, %is_modulus
  %named = icmp ne ptr %names, null
  %first_bad = or i1 %other, %named
  br i1 %first_bad, label %slow, label %counted
counted:
  %nin_at = getelementptr i8, ptr %ufunc, i64 16
  %nin = load i32, ptr %nin_at
  %nout_at = getelementptr i8, ptr %ufunc, i64 20
  %nout = load i32, ptr %nout_at
  %has_one = icmp eq i32 %nout, 1
  %wide = zext i32 %nin to i64
  %is_whole = icmp eq i64 %wide, %count
  %fits = and i1 %is_whole, %has_one
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
  %are_numbers = call i1 @are_numbers(ptr %args, i64 %count)
  %no_words = xor i1 %named, true
  %is_of_numbers = and i1 %are_numbers, %no_words
  br i1 %is_of_numbers, label %numbers, label %arrays
numbers:
  %numpys = call ptr @part(ptr %self, i64 {numpys})
  %of_numbers = call ptr @PyObject_Vectorcall(ptr %numpys, ptr %args, i64 %count, ptr null)
  ret ptr %of_numbers
arrays:
  br i1 %other, label %inexact, label %small
inexact:
  br i1 %named, label %into, label %direct
into:
  %written = call ptr @direct_into(ptr %self, ptr %args, i64 %count, ptr %names)
  %is_not_written = icmp eq ptr %written, null
  br i1 %is_not_written, label %ask_error, label %give_written
give_written:
  ret ptr %written
direct:
  %computed_here = call ptr @direct(ptr %self, ptr %args, i64 %count)
  %is_not_direct = icmp eq ptr %computed_here, null
  br i1 %is_not_direct, label %undirect, label %give_direct
undirect:
  %direct_error = call ptr @PyErr_Occurred()
  %has_direct_error = icmp ne ptr %direct_error, null
  br i1 %has_direct_error, label %fail, label %look_for_new
look_for_new:
  %eager = call i64 @eager_size()
  %most = call i64 @reach(ptr %args, i64 %count)
  %is_new = icmp sgt i64 %most, %eager
  br i1 %is_new, label %copy, label %ask_error
give_direct:
  ret ptr %computed_here
small:
  %is_pair = call i1 @is_pair(ptr %self, ptr %ufunc, ptr %args, i64 %count, i1 %named)
  br i1 %is_pair, label %spread, label %closed
spread:
  %both = call ptr @pair_at_once(ptr %ufunc, ptr %args)
  %is_not_spread = icmp eq ptr %both, null
  br i1 %is_not_spread, label %ask_error, label %give_both
give_both:
  ret ptr %both
closed:
  %inputs_at = getelementptr i8, ptr %ufunc, i64 16
  %inputs = load i32, ptr %inputs_at
  %wide_inputs = zext i32 %inputs to i64
  %are_ours = call i1 @are_outputs_ours(ptr %args, i64 %wide_inputs, i64 %count)
  %fit = call i1 @fit_each_other(ptr %args, i64 %count)
  %fits_all = and i1 %are_ours, %fit
  br i1 %fits_all, label %plain, label %ask_error
plain:
  %is_named = icmp ne ptr %names, null
  %has_outputs = icmp ne i64 %count, %wide_inputs
  %is_closed = or i1 %is_named, %has_outputs
  %rule = select i1 %is_closed, i64 {rule_none}, i64 {rule_spread}
  %computed = call ptr
    @small_call(ptr %ufunc, ptr null, ptr %args, i64 %count, ptr %names, i64 %rule)
  %is_not_small = icmp eq ptr %computed, null
  br i1 %is_not_small, label %ask_error, label %found
found:
  ret ptr %computed
ask_error:
  %small_error = call ptr @PyErr_Occurred()
  %small_raised = icmp ne ptr %small_error, null
  br i1 %small_raised, label %fail, label %not_small
not_small:
  %is_written = call i32 @written_into(ptr %self, ptr %args, i64 %count, ptr %names)
  switch i32 %is_written, label %fail [ i32 1, label %give_out  i32 0, label %not_written ]
give_out:
  %is_positional = zext i1 %no_words to i64
  %before_out = sub i64 %count, %is_positional
  %out_at = getelementptr ptr, ptr %args, i64 %before_out
  %out = load ptr, ptr %out_at
  call void @Py_IncRef(ptr %out)
  ret ptr %out
not_written:
  br i1 %named, label %copy, label %short
short:
  %known = call ptr @part(ptr %self, i64 {recipes})
  %none_known = icmp eq ptr %known, null
  br i1 %none_known, label %copy, label %record
record:
  %recorded = call ptr @recorded(ptr %known, ptr %args, i64 %count, ptr null)
  %unrecorded = icmp eq ptr %recorded, null
  br i1 %unrecorded, label %mix, label %give
mix:
  %mix_error = call ptr @PyErr_Occurred()
  %mix_raised = icmp ne ptr %mix_error, null
  br i1 %mix_raised, label %fail, label %mixed
mixed:
  %mixed_record = call ptr @recorded_mixed(ptr %known, ptr %args, i64 %count)
  %is_unmixed = icmp eq ptr %mixed_record, null
  br i1 %is_unmixed, label %ask, label %give_mixed
give_mixed:
  ret ptr %mixed_record
give:
  ret ptr %recorded
ask:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %fail, label %copy
fail:
  ret ptr null
copy:
  %method = call ptr @object(i64 {method})
  %result = call ptr @general(ptr %method, ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}}

; the names of keywords, null where there are none but `out=None` of one result, as NumPy's own
; code says it
define internal ptr @names_but_no_output(ptr %self, ptr %args, i64 %count, ptr %names) {{
  %has_none = icmp eq ptr %names, null
  br i1 %has_none, label %none, label %look
look:
  %words = call i64 @tuple_size(ptr %names)
  %is_one = icmp eq i64 %words, 1
  br i1 %is_one, label %word, label %same
word:
  %name = call ptr @tuple_item(ptr %names, i64 0)
  %out = call ptr @object(i64 {out})
  %is_out = icmp eq ptr %name, %out
  %value_at = getelementptr ptr, ptr %args, i64 %count
  %value = load ptr, ptr %value_at
  %nothing = call ptr @none()
  %is_nothing = icmp eq ptr %value, %nothing
  %is_idle = and i1 %is_out, %is_nothing
  br i1 %is_idle, label %results, label %same
results:
  %ufunc = call ptr @part(ptr %self, i64 {numpys})
  %nout_at = getelementptr i8, ptr %ufunc, i64 20
  %nout = load i32, ptr %nout_at
  %has_one = icmp eq i32 %nout, 1
  br i1 %has_one, label %none, label %same
same:
  ret ptr %names
none:
  ret ptr null
}}

; whether a call is of the absolute value of complex numbers of ours, whose bits are the kernels'
define internal i1 @is_modulus(ptr %ufunc, ptr %args, i64 %count) {{
  %absolute = call ptr @object(i64 {absolute})
  %is_absolute = icmp eq ptr %ufunc, %absolute
  %has_any = icmp sgt i64 %count, 0
  %can = and i1 %is_absolute, %has_any
  br i1 %can, label %look, label %no
look:
  %operand = load ptr, ptr %args
  %is_numpys = call i1 @is(ptr %operand, i64 {ndarray})
  %is_list = call i1 @is(ptr %operand, i64 {list})
  %is_foreign = or i1 %is_numpys, %is_list
  br i1 %is_foreign, label %no, label %ours
ours:
  %host = call ptr @array(ptr %operand)
  %is_known = icmp ne ptr %host, null
  br i1 %is_known, label %dtype, label %memory
dtype:
  %is_complex = call i1 @is_complex(ptr %host)
  ret i1 %is_complex
memory:
  %are_reals = call i1 @are_reals(ptr %operand)
  %may_be = xor i1 %are_reals, true
  ret i1 %may_be
no:
  ret i1 false
}}

define internal i1 @is_complex(ptr %host) {{
  %number = call i32 @dtype_number(ptr %host)
  %single = icmp eq i32 %number, 14
  %double = icmp eq i32 %number, 15
  %is = or i1 %single, %double
  ret i1 %is
}}

; the absolute value of an array of NumPy's; null without an exception for complex numbers
define internal ptr @absolute_of_reals(ptr %host) {{
  %is_complex = call i1 @is_complex(ptr %host)
  br i1 %is_complex, label %no, label %run
run:
  %value = call ptr @PyNumber_Absolute(ptr %host)
  ret ptr %value
no:
  ret ptr null
}}

; whether none of the arguments from a place on is an array of NumPy's
define internal i1 @are_outputs_ours(ptr %args, i64 %first, i64 %count) {{
  br label %next
next:
  %i = phi i64 [ %first, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %at = getelementptr ptr, ptr %args, i64 %i
  %output = load ptr, ptr %at
  %after = add i64 %i, 1
  %is_numpys = call i1 @is(ptr %output, i64 {ndarray})
  br i1 %is_numpys, label %no, label %next
yes:
  ret i1 true
no:
  ret i1 false
}}

; whether the first of some arguments, without keywords, is a Python float or a float64
define internal i1 @begins_with_float(ptr %args, i64 %count, ptr %names) {{
  %has_any = icmp sgt i64 %count, 0
  %has_no_words = icmp eq ptr %names, null
  %can = and i1 %has_any, %has_no_words
  br i1 %can, label %look, label %no
look:
  %first = load ptr, ptr %args
  %is_float = call i1 @is(ptr %first, i64 {float_})
  %is_strong = call i1 @is(ptr %first, i64 {float64})
  %is = or i1 %is_float, %is_strong
  ret i1 %is
no:
  ret i1 false
}}

; whether arguments are one or two numbers, which are not recorded either
define internal i1 @are_numbers(ptr %args, i64 %count) {{
  %less = sub i64 %count, 1
  %are_few = icmp ult i64 %less, 2
  br i1 %are_few, label %look, label %no
look:
  %last_at = getelementptr ptr, ptr %args, i64 %less
  %first = load ptr, ptr %args
  %last = load ptr, ptr %last_at
  %first_is = call i1 @is_number(ptr %first)
  %last_is = call i1 @is_number(ptr %last)
  %are = and i1 %first_is, %last_is
  br i1 %are, label %size, label %no
size:
  %eager = call i64 @eager_size()
  %is_at_once = icmp sgt i64 %eager, 0
  ret i1 %is_at_once
no:
  ret i1 false
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
