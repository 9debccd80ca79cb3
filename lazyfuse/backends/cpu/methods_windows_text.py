"""Arrays of NumPy's in computed memory of the engine, as LLVM text; see `methods.py`.

What `frontend/windows.py` does, in the usual case: on the CPU, in the thread that made the array.
The functions of NumPy's C interface are those of its table (numpy/_core/code_generators).
"""

from __future__ import annotations

WINDOWS = """
declare i64 @PyObject_Size(ptr)

; how many bytes an element has, by the code of its dtype
define internal i64 @item_bytes(ptr %code) {
  %seen = get ptr @state[SEEN_CODE]
  %is_seen = icmp eq ptr %code, %seen
  br i1 %is_seen, label %give, label %look
give:
  %bytes_seen = get i64 @state[SEEN_BYTES]
  ret i64 %bytes_seen
look:
  %bytes = call i64 @bytes_by(ptr %code)
  ret i64 %bytes
}

; the same: a letter and a number
define internal i64 @bytes_by(ptr %code) {
  %first = call i32 @PyUnicode_ReadChar(ptr %code, i64 1)
  %digit = sub i32 %first, 48
  %is_ten = icmp eq i32 %digit, 1
  br i1 %is_ten, label %look, label %single
look:
  %length = call i64 @PyObject_Size(ptr %code)
  %has_two = icmp eq i64 %length, 3
  br i1 %has_two, label %two, label %single
two:
  %second = call i32 @PyUnicode_ReadChar(ptr %code, i64 2)
  %unit = sub i32 %second, 48
  %ten = mul i32 %digit, 10
  %both = add i32 %ten, %unit
  %wide_both = zext i32 %both to i64
  ret i64 %wide_both
single:
  %wide = zext i32 %digit to i64
  ret i64 %wide
}

; where an element at an offset lies in memory
define internal ptr @element_at(ptr %buffer, i64 %offset, i64 %bytes) {
  %pointer = call ptr @get(ptr %buffer, i64 BUFFER_POINTER)
  %begin = call i64 @PyLong_AsUnsignedLong(ptr %pointer)
  %skipped = mul i64 %offset, %bytes
  %at = add i64 %begin, %skipped
  %place = inttoptr i64 %at to ptr
  ret ptr %place
}

; a read-only array of NumPy's of the elements of an array of the engine, with a reference; null
; where these are not at hand or more than so many, and for an exception
define internal ptr @window(ptr %array, i64 %most) {
  %are_any = icmp sgt i64 %most, 0
  br i1 %are_any, label %look, label %no
look:
  %found = call ptr @window_of(ptr %array, i64 %most, i32 0)
  ret ptr %found
no:
  ret ptr null
}

; the same of at most so many elements. What has not been written, of zeros for instance, is then
; (`frontend/piecewise.py`)
define internal ptr @window_of(ptr %array, i64 %most, i32 %flags) {
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %no, label %memory
memory:
  %is_read = icmp eq i32 %flags, 0
  br i1 %is_read, label %shown, label %own
shown:
  %seen = call ptr @shown_memory(ptr %array)
  br label %ask
own:
  %settled = call ptr @settled_memory(ptr %array)
  br label %ask
ask:
  %buffer = phi ptr [ %seen, %shown ], [ %settled, %own ]
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %pending, label %make
pending:
  %is_filled = call i1 @is_unwritten_part(ptr %array, i64 %most)
  br i1 %is_filled, label %write_out, label %no
write_out:
  call void @aside(i64 T_WRITE_OUT, ptr %array)
  %error_then = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %error_then, null
  br i1 %has_raised, label %no, label %again
again:
  %written = call ptr @settled_memory(ptr %array)
  %is_still_away = icmp eq ptr %written, null
  br i1 %is_still_away, label %no, label %make
make:
  %memory_of = phi ptr [ %buffer, %ask ], [ %written, %again ]
  %made = call ptr @elements_in(ptr %array, ptr %memory_of, i64 %most, i32 %flags)
  ret ptr %made
no:
  ret ptr null
}

; stores the extents of a layout and its strides in bytes: how many elements it has; a number that
; is larger than any for more than MOST_AXES axes
define internal i64 @laid_out(ptr %layout, i64 %bytes, ptr %extents, ptr %steps) {
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %strides = call ptr @tuple_item(ptr %layout, i64 1)
  %axes = call i64 @tuple_size(ptr %shape)
  %are_few = icmp ule i64 %axes, MOST_AXES
  br i1 %are_few, label %next, label %many
next:
  %i = phi i64 [ 0, %0 ], [ %after, %axis ]
  %count = phi i64 [ 1, %0 ], [ %product, %axis ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %counted, label %axis
axis:
  %extent = call i64 @number_at(ptr %shape, i64 %i)
  %stride = call i64 @number_at(ptr %strides, i64 %i)
  %step = mul i64 %stride, %bytes
  put i64 %extent, %extents[%i]
  put i64 %step, %steps[%i]
  %product = mul i64 %count, %extent
  %after = add i64 %i, 1
  br label %next
counted:
  ret i64 %count
many:
  ret i64 -1
}

; an array of NumPy's of the elements of an array of the engine, at most so many of them, in memory
; whose reference it takes; null where there are more, and for an exception
define internal ptr @elements_in(ptr %array, ptr %buffer, i64 %most, i32 %flags) {
  %extents = alloca [MOST_AXES x i64]
  %steps = alloca [MOST_AXES x i64]
  %code = call ptr @code_shown(ptr %array)
  %bytes = call i64 @item_bytes(ptr %code)
  %layout = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %axes = call i64 @tuple_size(ptr %shape)
  %count = call i64 @laid_out(ptr %layout, i64 %bytes, ptr %extents, ptr %steps)
  %is_small = icmp ule i64 %count, %most
  br i1 %is_small, label %make, label %drop
make:
  %dtype = call ptr @dtype_of(ptr %code)
  %is_unknown = icmp eq ptr %dtype, null
  br i1 %is_unknown, label %drop, label %new
new:
  %offset = call i64 @number_at(ptr %layout, i64 2)
  %begin = call ptr @element_at(ptr %buffer, i64 %offset, i64 %bytes)
  %shift = call i64 @shift_shown(ptr %array)
  %data = getelementptr i8, ptr %begin, i64 %shift
  %arrays = call ptr @object(i64 T_NDARRAY)
  %maker = call ptr @object(i64 T_NEW_ARRAY)
  %nd = trunc i64 %axes to i32
  call void @Py_IncRef(ptr %dtype)
  %made = call ptr %maker(ptr %arrays, ptr %dtype, i32 %nd, ptr %extents, ptr %steps, ptr %data,
                          i32 %flags, ptr null)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %drop, label %keep
keep:
  %keeper = call ptr @object(i64 T_SET_BASE)
  %status = call i32 %keeper(ptr %made, ptr %buffer)
  %is_kept = icmp eq i32 %status, 0
  br i1 %is_kept, label %give, label %undo
give:
  ret ptr %made
undo:
  call void @Py_DecRef(ptr %made)
  ret ptr null
drop:
  call void @Py_DecRef(ptr %buffer)
  ret ptr null
}

; an element of an array of the engine that is at hand; null for others, and for an exception
define internal ptr @element(ptr %array, i64 %offset) {
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %no, label %memory
memory:
  %buffer = call ptr @shown_memory(ptr %array)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %no, label %look
look:
  %code = call ptr @code_shown(ptr %array)
  %dtype = call ptr @dtype_of(ptr %code)
  %is_unknown = icmp eq ptr %dtype, null
  br i1 %is_unknown, label %drop, label %read
read:
  %bytes = call i64 @item_bytes(ptr %code)
  %begin = call ptr @element_at(ptr %buffer, i64 %offset, i64 %bytes)
  %shift = call i64 @shift_shown(ptr %array)
  %data = getelementptr i8, ptr %begin, i64 %shift
  %reader = call ptr @object(i64 T_NEW_SCALAR)
  %scalar = call ptr %reader(ptr %data, ptr %dtype, ptr null)
  br label %drop
drop:
  %found = phi ptr [ null, %look ], [ %scalar, %read ]
  call void @Py_DecRef(ptr %buffer)
  ret ptr %found
no:
  ret ptr null
}

; the array of a small one, or a window, with a reference; null for others, and for an exception
define internal ptr @host_or_window(ptr %object, i64 %most) {
  %host = call ptr @small_host(ptr %object)
  %has_none = icmp eq ptr %host, null
  br i1 %has_none, label %engines, label %give
engines:
  %window = call ptr @window(ptr %object, i64 %most)
  ret ptr %window
give:
  ret ptr %host
}

; an operand as NumPy takes it, with a reference: the array of a small one, a window, a number;
; null for others, and for an exception
define internal ptr @taken(ptr %object, i64 %most) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %number
ours:
  %host = call ptr @host_or_window(ptr %object, i64 %most)
  ret ptr %host
number:
  %is_number = call i1 @is_number(ptr %object)
  br i1 %is_number, label %same, label %no
same:
  call void @Py_IncRef(ptr %object)
  ret ptr %object
no:
  ret ptr null
}

; stores two operands, with references, where both are at hand and the result is not much larger
; than they are; whether it is so
define internal i1 @taken_pair(ptr %first, ptr %second, ptr %given) {
  put ptr %first, %given[0]
  put ptr %second, %given[1]
  %most = call i64 @reach(ptr %given, i64 2)
  %a = call ptr @taken(ptr %first, i64 %most)
  %no_a = icmp eq ptr %a, null
  br i1 %no_a, label %no, label %other
other:
  %b = call ptr @taken(ptr %second, i64 %most)
  %no_b = icmp eq ptr %b, null
  br i1 %no_b, label %drop_a, label %shapes
shapes:
  %a_is_array = call i1 @is(ptr %a, i64 T_NDARRAY)
  %b_is_array = call i1 @is(ptr %b, i64 T_NDARRAY)
  %are_arrays = and i1 %a_is_array, %b_is_array
  br i1 %are_arrays, label %compare, label %yes
compare:
  %fits = call i1 @fit_reach(ptr %a, ptr %b, i64 %most)
  br i1 %fits, label %yes, label %drop_both
yes:
  put ptr %a, %given[0]
  put ptr %b, %given[1]
  ret i1 true
drop_both:
  call void @Py_DecRef(ptr %b)
  br label %drop_a
drop_a:
  call void @Py_DecRef(ptr %a)
  br label %no
no:
  ret i1 false
}

; NumPy's result of a C function of one or two operands that are at hand (a null for the second of
; one); null where they are not, and for an exception
define internal ptr @at_once(ptr %function, ptr %first, ptr %second) {
  %given = alloca [2 x ptr]
  %is_alone = icmp eq ptr %second, null
  br i1 %is_alone, label %one, label %two
one:
  %most = call i64 @reach_of(ptr %first)
  %only = call ptr @taken(ptr %first, i64 %most)
  %is_away = icmp eq ptr %only, null
  br i1 %is_away, label %no, label %run_one
run_one:
  %single = call ptr %function(ptr %only)
  call void @Py_DecRef(ptr %only)
  br label %wrap
two:
  %are_taken = call i1 @taken_pair(ptr %first, ptr %second, ptr %given)
  br i1 %are_taken, label %run_two, label %no
run_two:
  %a = get ptr %given[0]
  %b = get ptr %given[1]
  %both = call ptr %function(ptr %a, ptr %b)
  call void @drop_all(ptr %given, i64 2)
  br label %wrap
wrap:
  %value = phi ptr [ %single, %run_one ], [ %both, %run_two ]
  %made = call ptr @as_users(ptr %value)
  ret ptr %made
no:
  ret ptr null
}

; whether a ufunc's first two arguments have a result that is not much larger than they are, where
; one of them is of the engine
define internal i1 @fit_windows(ptr %a, ptr %b) {
  %given = alloca [2 x ptr]
  %are_taken = call i1 @taken_pair(ptr %a, ptr %b, ptr %given)
  br i1 %are_taken, label %drop, label %no
drop:
  call void @drop_all(ptr %given, i64 2)
  ret i1 true
no:
  ret i1 false
}

; whether an object is an array of the engine
define internal i1 @is_engines(ptr %object) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  %is_small = call i1 @is_small(ptr %object)
  %is_large = xor i1 %is_small, true
  %is_engines = and i1 %is_ours, %is_large
  ret i1 %is_engines
}

; whether there is an array of the engine among arguments, for which NumPy had a window; lists are
; looked into so many levels deep
define internal i1 @has_window(ptr %objects, i64 %count, i64 %levels) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %sequence ], [ %after, %inside ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %look
look:
  %object = get ptr %objects[%i]
  %after = add i64 %i, 1
  %is_engines = call i1 @is_engines(ptr %object)
  br i1 %is_engines, label %yes, label %sequence
sequence:
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  %is_flat = icmp sgt i64 %levels, 0
  %can_look = and i1 %is_sequence, %is_flat
  br i1 %can_look, label %inside, label %next
inside:
  %less = sub i64 %levels, 1
  %holds = call i1 @items_have_window(ptr %object, i1 %is_tuple, i64 %less)
  br i1 %holds, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; the same of the items of a tuple or a list
define internal i1 @items_have_window(ptr %object, i1 %is_tuple, i64 %levels) {
  %one = alloca [1 x ptr]
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %has_none = call i1 @is_of_numbers(ptr %object, i1 %is_tuple, i64 %levels)
  br i1 %has_none, label %no, label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %look
look:
  %item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %after = add i64 %i, 1
  store ptr %item, ptr %one
  %has_it = call i1 @has_window(ptr %one, i64 1, i64 %levels)
  br i1 %has_it, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}
"""
