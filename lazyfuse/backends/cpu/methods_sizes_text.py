"""Which arrays are small, and how large those are that functions make of no arrays, as LLVM text;
see `methods.py`."""

from __future__ import annotations

SIZES = """
declare double @llvm.ceil.f64(double)
; whether NumPy makes at once what a function makes of no arrays, for it is small: `size` says how
; large it is, null for a function of arrays. False for an exception, too
define internal i1 @is_small_result(ptr %size, ptr %args, i64 %count, ptr %names) {
  %of_arrays = icmp eq ptr %size, null
  br i1 %of_arrays, label %yes, label %limit
yes:
  ret i1 true
limit:
  %eager = call i64 @eager_size()
  %has_raised = icmp slt i64 %eager, 0
  br i1 %has_raised, label %no, label %question
question:
  %of_shape = call ptr @object(i64 T_OF_SHAPE)
  %is_of_shape = icmp eq ptr %size, %of_shape
  %are_any = icmp sgt i64 %eager, 0
  %is_made = and i1 %is_of_shape, %are_any
  %least = select i1 %is_made, i64 MADE_MOST, i64 0
  %bound = call i64 @llvm.smax.i64(i64 %eager, i64 %least)
  %has_shape = icmp sgt i64 %count, 0
  %can_count = and i1 %is_of_shape, %has_shape
  br i1 %can_count, label %shape, label %ask
shape:
  %first = load ptr, ptr %args
  %elements = call i64 @elements_of_shape(ptr %first)
  %is_known = icmp sge i64 %elements, 0
  br i1 %is_known, label %decide, label %ask
decide:
  %fits = call i1 @is_size_made(i64 %elements, i64 %bound, i64 %eager)
  ret i1 %fits
ask:
  %are_tiny = call i1 @are_tiny(ptr %args, i64 %count, ptr %names)
  %is_room = icmp sge i64 %eager, 10000
  %is_tiny = and i1 %are_tiny, %is_room
  br i1 %is_tiny, label %yes, label %call
call:
  %found = call ptr @PyObject_Vectorcall(ptr %size, ptr %args, i64 %count, ptr %names)
  %failed = icmp eq ptr %found, null
  br i1 %failed, label %no, label %compare
compare:
  %number = call double @PyFloat_AsDouble(ptr %found)
  call void @Py_DecRef(ptr %found)
  %is_countable = fcmp ole double %number, 1.0e9
  br i1 %is_countable, label %round, label %no
round:
  %up = call double @llvm.ceil.f64(double %number)
  %whole = fptosi double %up to i64
  %is_small = call i1 @is_size_made(i64 %whole, i64 %bound, i64 %eager)
  ret i1 %is_small
no:
  ret i1 false
}

; whether arguments, also by name, are up to three ints from 0 to 100: of these no function makes
; more than 10,000 elements (`eye`, `arange`, `linspace`)
define internal i1 @are_tiny(ptr %args, i64 %positional, ptr %names) {
  %words = call i64 @count_of(ptr %names)
  %count = add i64 %positional, %words
  %less = sub i64 %count, 1
  %are_few = icmp ult i64 %less, 3
  br i1 %are_few, label %next, label %no
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ], [ %after, %value ]
  %are_fine = phi i1 [ true, %0 ], [ false, %look ], [ %are_still, %value ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %object = get ptr %args[%i]
  %after = add i64 %i, 1
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  br i1 %is_int, label %value, label %next
value:
  %number = call i64 @extent_of(ptr %object)
  %is_small = icmp ule i64 %number, 100
  %are_still = and i1 %are_fine, %is_small
  br label %next
done:
  ret i1 %are_fine
no:
  ret i1 false
}

; how many elements a shape has, an int or a tuple of ints; -1 for others, and many
define internal i64 @elements_of_shape(ptr %shape) {
  %extents = alloca [MOST_AXES x i64]
  %axes = call i64 @extents_of(ptr %shape, ptr %extents)
  %elements = call i64 @elements_of_extents(ptr %extents, i64 %axes)
  ret i64 %elements
}

; how many axes a shape has, an int or a tuple of a few ints, and how long they are; -1 for others
define internal i64 @extents_of(ptr %shape, ptr %extents) {
  %is_int = call i1 @is(ptr %shape, i64 T_INT)
  br i1 %is_int, label %one, label %look
one:
  %only = call i64 @extent_of(ptr %shape)
  store i64 %only, ptr %extents
  %is_there = icmp sge i64 %only, 0
  br i1 %is_there, label %line, label %no
line:
  ret i64 1
look:
  %is_tuple = call i1 @is(ptr %shape, i64 T_TUPLE)
  br i1 %is_tuple, label %tuple, label %no
tuple:
  %count = call i64 @tuple_size(ptr %shape)
  %are_few = icmp ule i64 %count, MOST_AXES
  br i1 %are_few, label %next, label %no
next:
  %i = phi i64 [ 0, %tuple ], [ %after, %keep ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %item
item:
  %object = call ptr @tuple_item(ptr %shape, i64 %i)
  %is_number = call i1 @is(ptr %object, i64 T_INT)
  br i1 %is_number, label %value, label %no
value:
  %extent = call i64 @extent_of(ptr %object)
  %is_fine = icmp sge i64 %extent, 0
  br i1 %is_fine, label %keep, label %no
keep:
  put i64 %extent, %extents[%i]
  %after = add i64 %i, 1
  br label %next
done:
  ret i64 %count
no:
  ret i64 -1
}

; the product of so many lengths; -1 where it is a million and more, and for fewer than none
define internal i64 @elements_of_extents(ptr %extents, i64 %axes) {
  %are_some = icmp sge i64 %axes, 0
  br i1 %are_some, label %next, label %no
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %product = phi i64 [ 1, %0 ], [ %product_now, %more ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %done, label %more
more:
  %extent = get i64 %extents[%i]
  %product_now = mul i64 %product, %extent
  %after = add i64 %i, 1
  %is_small = icmp slt i64 %product_now, 1048576
  br i1 %is_small, label %next, label %no
done:
  ret i64 %product
no:
  ret i64 -1
}

; the value of an int from 0 to a million; -1 for others
define internal i64 @extent_of(ptr %int) {
  %overflow_at = alloca i32
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %int, ptr %overflow_at)
  %overflow = load i32, ptr %overflow_at
  %is_within = icmp eq i32 %overflow, 0
  %is_short = icmp ult i64 %value, 1048576
  %is_fine = and i1 %is_within, %is_short
  %extent = select i1 %is_fine, i64 %value, i64 -1
  ret i64 %extent
}

; whether an object, or null, is a small array: it stays one under other options
define internal i1 @is_small(ptr %object) {
  %is_nothing = icmp eq ptr %object, null
  br i1 %is_nothing, label %no, label %look
look:
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %no
ours:
  %at = call ptr @host_at(ptr %object)
  %host = load ptr, ptr %at
  %none = call ptr @none()
  %is_small = icmp ne ptr %host, %none
  ret i1 %is_small
no:
  ret i1 false
}

; a function of the namespace in Python. The engine would have copies of small arrays, and views of
; these are none of theirs: beside arguments that only Python knows, NumPy has them there
define internal ptr @in_python(ptr %self, ptr %args, i64 %count, ptr %names) {
  %words = call i64 @count_of(ptr %names)
  %total = add i64 %count, %words
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %total
  br i1 %is_over, label %engine, label %look
look:
  %object = get ptr %args[%i]
  %after = add i64 %i, 1
  %is_small = call i1 @is_small(ptr %object)
  br i1 %is_small, label %function, label %next
function:
  %call = call ptr @object(i64 T_FUNCTION)
  %found = call ptr @general(ptr %call, ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %found
engine:
  %own = call ptr @part(ptr %self, i64 T_FUNCTION_ENGINE)
  %result = call ptr @general(ptr %own, ptr null, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}

; how many elements a small array has, where that is more than so many; -1 for an exception, which
; may have been there before
define internal i64 @larger_small(ptr %object, i64 %least) {
  %is_small = call i1 @is_small(ptr %object)
  %is_quiet = icmp sge i64 %least, 0
  %can = and i1 %is_small, %is_quiet
  br i1 %can, label %take, label %no
take:
  %host = call ptr @small_host(ptr %object)
  %is_missing = icmp eq ptr %host, null
  br i1 %is_missing, label %failed, label %measure
measure:
  %size = call i64 @size_of_array(ptr %host)
  call void @Py_DecRef(ptr %host)
  %is_larger = icmp sgt i64 %size, %least
  %larger = select i1 %is_larger, i64 %size, i64 %least
  ret i64 %larger
failed:
  ret i64 -1
no:
  ret i64 %least
}

; the size of the largest one among objects
define internal i64 @largest_small(ptr %objects, i64 %count, i64 %least) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %largest = phi i64 [ %least, %0 ], [ %larger, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %object = get ptr %objects[%i]
  %larger = call i64 @larger_small(ptr %object, i64 %largest)
  %after = add i64 %i, 1
  br label %next
done:
  ret i64 %largest
}

; the largest size of small arrays, 0 where there are none; -1 for an exception, also one that was
; there before
define internal i64 @eager_size() {
  %options = call ptr @options_now()
  %known = get ptr @state[SIZE_OPTIONS]
  %is_known = icmp eq ptr %options, %known
  %is_nothing = icmp eq ptr %options, null
  %is_new = xor i1 %is_known, true
  %is_asked = or i1 %is_new, %is_nothing
  br i1 %is_asked, label %look, label %give
look:
  %question = get ptr @state[ASK_SIZE]
  %is_early = icmp eq ptr %question, null
  br i1 %is_early, label %none, label %earlier
earlier:
  %error_before = call ptr @PyErr_Occurred()
  %had_raised = icmp ne ptr %error_before, null
  br i1 %had_raised, label %failed, label %ask
ask:
  %answer = call ptr @PyObject_Vectorcall(ptr %question, ptr null, i64 0, ptr null)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %failed, label %answered
answered:
  %told = call i64 @PyLong_AsLongLong(ptr %answer)
  call void @Py_DecRef(ptr %answer)
  ret i64 %told
give:
  %size = get i64 @state[EAGER_SIZE]
  ret i64 %size
none:
  ret i64 0
failed:
  ret i64 -1
}

; whether an array is a part, of at most so many elements, of zeros, ones or a range that have not
; been written (`frontend/piecewise.py`)
define internal i1 @is_unwritten_part(ptr %array, i64 %most) {
  %none = call ptr @none()
  %at = call ptr @host_at(ptr %array)
  %host = load ptr, ptr %at
  %is_engines = icmp eq ptr %host, %none
  br i1 %is_engines, label %engines, label %no
engines:
  %node = call ptr @memory(ptr %array)
  %kind = call ptr @kind(ptr %node)
  %fill = call ptr @object(i64 T_FILL)
  %is_fill = icmp eq ptr %kind, %fill
  br i1 %is_fill, label %measure, label %no
measure:
  %layout = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  %own_shape = call ptr @tuple_item(ptr %layout, i64 0)
  %shape = call ptr @get(ptr %node, i64 NODE_SHAPE)
  %own = call i64 @count_in(ptr %own_shape)
  %all = call i64 @count_in(ptr %shape)
  %is_small = icmp sle i64 %own, %most
  %is_part = icmp slt i64 %own, %all
  %is_wanted = and i1 %is_small, %is_part
  ret i1 %is_wanted
no:
  ret i1 false
}
"""
