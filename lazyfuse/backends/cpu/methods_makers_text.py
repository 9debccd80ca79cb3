"""Small arrays of a few numbers, of a shape and of other small arrays, made without NumPy's
functions, as LLVM text; see `methods.py`.

`np.array([x, y])`, `np.zeros(3)` and `np.asarray(x)` stand in the innermost functions of programs
(the right hand side of a differential equation). Numbers: `methods_numbers_text.py`.
"""

from __future__ import annotations

#: Elements that are filled here: NumPy is as fast with more.
BOUNDS = {"MADE_HERE_MOST": 1024}

MAKERS = """
declare ptr @PyThreadState_Get()

; whether the first argument is an int, a list or a tuple
define internal i1 @has_numbers_first(ptr %args, i64 %count) alwaysinline {
  %has_first = icmp sgt i64 %count, 0
  br i1 %has_first, label %look, label %no
look:
  %first = load ptr, ptr %args
  %is_int = call i1 @is(ptr %first, i64 T_INT)
  %is_list = call i1 @is(ptr %first, i64 T_LIST)
  %is_tuple = call i1 @is(ptr %first, i64 T_TUPLE)
  %is_sequence = or i1 %is_list, %is_tuple
  %is_either = or i1 %is_int, %is_sequence
  ret i1 %is_either
no:
  ret i1 false
}

; whether a method `__array__` is the function of Python's that runs, from which NumPy may want an
; array of its own (`frontend/array_likes.py`)
define internal i1 @is_in_array_method() {
  %place = call i64 @entry(i64 T_NAME_IN_STATE)
  %is_known = icmp sge i64 %place, 0
  br i1 %is_known, label %look, label %no
look:
  %state = call ptr @PyThreadState_Get()
  %at = getelementptr i8, ptr %state, i64 %place
  %found = load ptr, ptr %at
  %inner = call i64 @entry(i64 T_NAME_IN_INNER)
  %is_direct = icmp slt i64 %inner, 0
  br i1 %is_direct, label %framed, label %further
further:
  %frame_at = getelementptr i8, ptr %found, i64 %inner
  %frame_there = load ptr, ptr %frame_at
  br label %framed
framed:
  %frame = phi ptr [ %found, %look ], [ %frame_there, %further ]
  %has_none = icmp eq ptr %frame, null
  br i1 %has_none, label %no, label %compare
compare:
  %in_frame = call i64 @entry(i64 T_NAME_IN_CODE)
  %code_at = getelementptr i8, ptr %frame, i64 %in_frame
  %code = load ptr, ptr %code_at
  %in_code = call i64 @entry(i64 T_NAME_IN_NAME)
  %name_at = getelementptr i8, ptr %code, i64 %in_code
  %name = load ptr, ptr %name_at
  %wanted = call ptr @object(i64 T_ARRAY_NAME)
  %is_it = icmp eq ptr %name, %wanted
  ret i1 %is_it
no:
  ret i1 false
}

; what a function makes of a few numbers, or of a shape, where it is NumPy's `array`, `asarray`,
; `zeros`, `ones`, `empty` or `arange`; null where NumPy is to be asked. How large it may be is
; asked first: that may run Python, and numbers that were looked at are to stay
define internal ptr @quick_maker(ptr %self, ptr %args, i64 %count, ptr %names) {
  %maker = call ptr @part(ptr %self, i64 T_UFUNC)
  %array = call ptr @object(i64 T_ARRAY)
  %as_array = call ptr @object(i64 T_AS_ARRAY)
  %zeros = call ptr @object(i64 T_ZEROS)
  %ones = call ptr @object(i64 T_ONES)
  %empty = call ptr @object(i64 T_EMPTY_ARRAY)
  %range = call ptr @object(i64 T_ARANGE)
  %is_array = icmp eq ptr %maker, %array
  %is_as_array = icmp eq ptr %maker, %as_array
  %is_range = icmp eq ptr %maker, %range
  %is_zeros = icmp eq ptr %maker, %zeros
  %is_ones = icmp eq ptr %maker, %ones
  %is_empty = icmp eq ptr %maker, %empty
  %takes_numbers = or i1 %is_array, %is_as_array
  %is_filled = or i1 %is_zeros, %is_ones
  %takes_shape = or i1 %is_filled, %is_empty
  %is_one = or i1 %takes_numbers, %takes_shape
  %could_be = or i1 %is_one, %is_range
  br i1 %could_be, label %size, label %no
size:
  %most = call i64 @eager_size()
  %are_any = icmp sgt i64 %most, 0
  br i1 %are_any, label %which, label %no
which:
  br i1 %is_one, label %asked, label %of_stop
of_stop:
  %is_bare = icmp eq i64 %count, 1
  %has_none = icmp eq ptr %names, null
  %is_plain = and i1 %is_bare, %has_none
  br i1 %is_plain, label %places, label %no
places:
  %stop = get ptr %args[0]
  %of_range = call ptr @made_of_range(ptr %stop, i64 %most)
  br label %wrap
asked:
  %double = get ptr @state[DTYPE_DOUBLE]
  %usual = select i1 %takes_numbers, ptr null, ptr %double
  %dtype = call ptr @dtype_of_call(ptr %args, i64 %count, ptr %names, ptr %usual)
  %first = get ptr %args[0]
  %is_known = icmp ne ptr %dtype, %first
  br i1 %is_known, label %make, label %no
make:
  br i1 %takes_numbers, label %numbers, label %shape
numbers:
  %of_numbers = call ptr @made_of_numbers(ptr %first, ptr %dtype, i64 %most)
  br label %wrap
shape:
  %is_of_ones = select i1 %is_ones, i64 1, i64 0
  %of_shape = call ptr @made_of_shape(ptr %first, ptr %dtype, i64 %is_of_ones, i64 %most)
  br label %wrap
wrap:
  %made = phi ptr [ %of_numbers, %numbers ], [ %of_shape, %shape ],
               [ %of_range, %places ]
  %result = call ptr @wrapped_or_null(ptr %made)
  ret ptr %result
no:
  ret ptr null
}

; an array of ours in memory of its own, of NumPy's that is small and may be written; null for
; others
define internal ptr @private_copy(ptr %object) {
  %is_numpys = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_numpys, label %look, label %no
look:
  %is_known = call i1 @has_known_dtype(ptr %object)
  %flags = get i32 %object[ARRAY_FLAGS]
  %flag = and i32 %flags, WRITEABLE_FLAG
  %is_open = icmp ne i32 %flag, 0
  %may = and i1 %is_known, %is_open
  br i1 %may, label %measure, label %no
measure:
  %size = call i64 @elements(ptr %object)
  %most = call i64 @eager_size()
  %are_any = icmp sgt i64 %most, 0
  %fits = icmp sle i64 %size, %most
  %is_small = and i1 %are_any, %fits
  br i1 %is_small, label %copy, label %no
copy:
  %copier = call ptr @object(i64 T_NEW_COPY)
  %made = call ptr %copier(ptr %object, i32 KEEP_ORDER)
  %result = call ptr @wrapped_or_null(ptr %made)
  ret ptr %result
no:
  ret ptr null
}

; an array of ours as `asarray` and `asanyarray` give it back, and a small one as `array` and `copy`
; copy it, where it has the dtype that is asked for; null where NumPy is to be asked. Those of
; NumPy's are copied by all of them
define internal ptr @quick_same(ptr %maker, ptr %args, i64 %count, ptr %names) {
  %has_first = icmp sgt i64 %count, 0
  br i1 %has_first, label %which, label %no
which:
  %array = call ptr @object(i64 T_ARRAY)
  %copy = call ptr @object(i64 T_COPY)
  %as_array = call ptr @object(i64 T_AS_ARRAY)
  %as_any_array = call ptr @object(i64 T_AS_ANY_ARRAY)
  %is_array = icmp eq ptr %maker, %array
  %is_copy = icmp eq ptr %maker, %copy
  %is_as_array = icmp eq ptr %maker, %as_array
  %is_as_any_array = icmp eq ptr %maker, %as_any_array
  %copies = or i1 %is_array, %is_copy
  %gives_back = or i1 %is_as_array, %is_as_any_array
  %is_one = or i1 %copies, %gives_back
  br i1 %is_one, label %look, label %no
look:
  %first = get ptr %args[0]
  %is_ours = call i1 @is(ptr %first, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %numpys
numpys:
  %is_bare = icmp eq i64 %count, 1
  %has_no_words = icmp eq ptr %names, null
  %is_alone = and i1 %is_bare, %has_no_words
  %is_view = and i1 %is_alone, %gives_back
  br i1 %is_view, label %array_of_numpys, label %no
array_of_numpys:
  %private = call ptr @private_copy(ptr %first)
  ret ptr %private
ours:
  %host = call ptr @part(ptr %first, i64 T_HOST)
  %is_away = icmp eq ptr %host, null
  br i1 %is_away, label %away, label %asked
away:
  %is_large = call i1 @is_engines(ptr %first)
  %may_be_it = and i1 %is_large, %gives_back
  br i1 %may_be_it, label %large, label %no
large:
  %own = call ptr @dtype_in_engine(ptr %first)
  %asked_for = call ptr @dtype_of_call(ptr %args, i64 %count, ptr %names, ptr %own)
  %has_it = icmp eq ptr %asked_for, %own
  %is_there = icmp ne ptr %own, null
  %is_it = and i1 %has_it, %is_there
  br i1 %is_it, label %back, label %no
asked:
  %dtype = get ptr %host[DESCR]
  %wanted = call ptr @dtype_of_call(ptr %args, i64 %count, ptr %names, ptr %dtype)
  %is_same = icmp eq ptr %wanted, %dtype
  %in_words = icmp ne ptr %names, null
  %is_positional = icmp sgt i64 %count, 1
  %is_asked = or i1 %in_words, %is_positional
  %is_order = and i1 %is_copy, %is_asked
  %is_known = xor i1 %is_order, true
  %can = and i1 %is_same, %is_known
  br i1 %can, label %give, label %no
give:
  br i1 %copies, label %copied, label %back
copied:
  %made = call ptr @quick_copied(ptr %first, i32 KEEP_ORDER)
  ret ptr %made
back:
  call void @Py_IncRef(ptr %first)
  ret ptr %first
no:
  ret ptr null
}

; the dtype that the second argument, or `dtype=`, asks for, `usual` where there is neither; the
; first argument, which is no dtype, where NumPy is to be asked
define internal ptr @dtype_of_call(ptr %args, i64 %count, ptr %names, ptr %usual) {
  %first = get ptr %args[0]
  %words = call i64 @count_of(ptr %names)
  %in_all = add i64 %count, %words
  switch i64 %in_all, label %no [ i64 1, label %bare  i64 2, label %two ]
bare:
  ret ptr %usual
two:
  %is_named = icmp ne i64 %words, 0
  br i1 %is_named, label %named, label %look
named:
  %name = call ptr @tuple_item(ptr %names, i64 0)
  %dtype_name = call ptr @object(i64 T_DTYPE_NAME)
  %is_dtype = icmp eq ptr %name, %dtype_name
  br i1 %is_dtype, label %look, label %no
look:
  %object = get ptr %args[1]
  %found = call ptr @dtype_asked(ptr %object)
  %is_other = icmp eq ptr %found, null
  br i1 %is_other, label %no, label %give
give:
  ret ptr %found
no:
  ret ptr %first
}

; the dtype of float64, float32, int64 or bool that an object names; null for others
define internal ptr @dtype_asked(ptr %object) {
  %float = call ptr @object(i64 T_FLOAT)
  %float64 = call ptr @object(i64 T_STRONG)
  %float32 = call ptr @object(i64 T_NUMPYS_FLOAT)
  %int = call ptr @object(i64 T_INT)
  %int64 = call ptr @object(i64 T_INT_LONG)
  %bool = call ptr @object(i64 T_BOOL)
  %double_dtype = get ptr @state[DTYPE_DOUBLE]
  %single_dtype = get ptr @state[DTYPE_SINGLE]
  %long_dtype = get ptr @state[DTYPE_LONG]
  %bool_dtype = get ptr @state[DTYPE_BOOL]
  %is_float = icmp eq ptr %object, %float
  %is_float64 = icmp eq ptr %object, %float64
  %is_float32 = icmp eq ptr %object, %float32
  %is_int = icmp eq ptr %object, %int
  %is_int64 = icmp eq ptr %object, %int64
  %is_bool = icmp eq ptr %object, %bool
  %is_double_dtype = icmp eq ptr %object, %double_dtype
  %is_single_dtype = icmp eq ptr %object, %single_dtype
  %is_long_dtype = icmp eq ptr %object, %long_dtype
  %is_bool_dtype = icmp eq ptr %object, %bool_dtype
  %is_a_float = or i1 %is_float, %is_float64
  %is_double = or i1 %is_a_float, %is_double_dtype
  %is_single = or i1 %is_float32, %is_single_dtype
  %is_an_int = or i1 %is_int, %is_int64
  %is_long = or i1 %is_an_int, %is_long_dtype
  %is_truth = or i1 %is_bool, %is_bool_dtype
  %or_bool = select i1 %is_truth, ptr %bool_dtype, ptr null
  %or_long = select i1 %is_long, ptr %long_dtype, ptr %or_bool
  %or_single = select i1 %is_single, ptr %single_dtype, ptr %or_long
  %found = select i1 %is_double, ptr %double_dtype, ptr %or_single
  ret ptr %found
}

; a new array of NumPy's of a shape, of zeros or ones; null for what is none, and for more elements
; than `most`
define internal ptr @made_of_shape(ptr %shape, ptr %dtype, i64 %value, i64 %most) {
  %extents = alloca [MOST_AXES x i64]
  %axes = call i64 @extents_of(ptr %shape, ptr %extents)
  %elements = call i64 @elements_of_extents(ptr %extents, i64 %axes)
  %are_few = icmp ule i64 %elements, MADE_HERE_MOST
  %is_small = icmp sle i64 %elements, %most
  %can = and i1 %are_few, %is_small
  br i1 %can, label %make, label %no
make:
  %nd = trunc i64 %axes to i32
  %made = call ptr @array_of_extents(ptr %dtype, i32 %nd, ptr %extents)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %fill
fill:
  %data = get ptr %made[DATA]
  call void @fill_with(ptr %data, i64 %elements, ptr %dtype, i64 %value)
  ret ptr %made
no:
  ret ptr null
}

; a new array of NumPy's of the integers below one; null where they are others, or more
; than `most`
define internal ptr @made_of_range(ptr %stop, i64 %most) {
  %is_int = call i1 @is(ptr %stop, i64 T_INT)
  br i1 %is_int, label %measure, label %no
measure:
  %extents = alloca [1 x i64]
  %elements = call i64 @extent_of(ptr %stop)
  %are_few = icmp ule i64 %elements, MADE_HERE_MOST
  %is_small = icmp sle i64 %elements, %most
  %can = and i1 %are_few, %is_small
  br i1 %can, label %make, label %no
make:
  store i64 %elements, ptr %extents
  %dtype = get ptr @state[DTYPE_LONG]
  %made = call ptr @array_of_extents(ptr %dtype, i32 1, ptr %extents)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %fill
fill:
  %data = get ptr %made[DATA]
  br label %next
next:
  %i = phi i64 [ 0, %fill ], [ %after, %put ]
  %is_over = icmp sge i64 %i, %elements
  br i1 %is_over, label %done, label %put
put:
  put i64 %i, %data[%i]
  %after = add i64 %i, 1
  br label %next
done:
  ret ptr %made
no:
  ret ptr null
}

; fills elements of one of the four dtypes with 0 or 1
define internal void @fill_with(ptr %data, i64 %elements, ptr %dtype, i64 %value) {
  %double = get ptr @state[DTYPE_DOUBLE]
  %single = get ptr @state[DTYPE_SINGLE]
  %bool = get ptr @state[DTYPE_BOOL]
  %is_double = icmp eq ptr %dtype, %double
  %is_single = icmp eq ptr %dtype, %single
  %is_bool = icmp eq ptr %dtype, %bool
  %is_zero = icmp eq i64 %value, 0
  %or_bool = select i1 %is_bool, i64 1, i64 8
  %bytes_each = select i1 %is_single, i64 4, i64 %or_bool
  br i1 %is_zero, label %clear, label %next
clear:
  %bytes = mul i64 %elements, %bytes_each
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %bytes, i1 false)
  ret void
next:
  %i = phi i64 [ 0, %0 ], [ %after, %one ], [ %after, %one_single ], [ %after, %one_bool ]
  %is_over = icmp sge i64 %i, %elements
  br i1 %is_over, label %done, label %put
put:
  %before = mul i64 %i, %bytes_each
  %at = getelementptr i8, ptr %data, i64 %before
  %after = add i64 %i, 1
  switch i64 %bytes_each, label %one [ i64 4, label %one_single  i64 1, label %one_bool ]
one:
  %bits = select i1 %is_double, i64 4607182418800017408, i64 1
  store i64 %bits, ptr %at
  br label %next
one_single:
  store float 1.0, ptr %at
  br label %next
one_bool:
  store i8 1, ptr %at
  br label %next
done:
  ret void
}
"""
