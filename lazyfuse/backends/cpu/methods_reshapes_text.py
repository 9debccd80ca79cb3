"""Views of arrays of the engine in another shape, as LLVM text; see `methods.py`.

`x.reshape(2, -1)`, `x.ravel()` and `x.transpose()` of an array that lies in C order, in ints: what
`frontend/manipulation.py` does without a copy. All else is Python's.
"""

from __future__ import annotations

RESHAPES = """
; how many elements a layout in C order has, where each of its extents is one at least; 0 for
; others, and from 2**31 on
define internal i64 @elements_in_order(ptr %layout) {
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %axes = call i64 @tuple_size(ptr %extents)
  br label %next
next:
  %left = phi i64 [ %axes, %0 ], [ %i, %skip ], [ %i, %inside ]
  %size = phi i64 [ 1, %0 ], [ %size, %skip ], [ %product, %inside ]
  %is_over = icmp eq i64 %left, 0
  br i1 %is_over, label %done, label %look
look:
  %i = sub i64 %left, 1
  %extent = call i64 @number_at(ptr %extents, i64 %i)
  %stride = call i64 @number_at(ptr %steps, i64 %i)
  switch i64 %extent, label %compare [ i64 0, label %no  i64 1, label %skip ]
skip:
  br label %next
compare:
  %is_next = icmp eq i64 %stride, %size
  %fits = icmp ult i64 %extent, 2147483648
  %may = and i1 %is_next, %fits
  br i1 %may, label %multiply, label %no
multiply:
  %product = mul i64 %size, %extent
  %is_large = icmp uge i64 %product, 2147483648
  br i1 %is_large, label %no, label %inside
inside:
  br label %next
done:
  ret i64 %size
no:
  ret i64 0
}

; reads a shape of so many ints, of which one may be -1, for so many elements; whether it is one.
; Zero and what is no int are Python's
define internal i1 @shape_read(ptr %items, i64 %count, i64 %size, ptr %shape) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %again ]
  %known = phi i64 [ 1, %0 ], [ %known_after, %again ]
  %unknown = phi i64 [ -1, %0 ], [ %unknown_after, %again ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %compare, label %look
look:
  %item = get ptr %items[%i]
  %after = add i64 %i, 1
  %is_int = call i1 @is(ptr %item, i64 T_INT)
  br i1 %is_int, label %value, label %no
value:
  %extent = call i64 @int_value(ptr %item)
  %is_minus_one = icmp eq i64 %extent, -1
  br i1 %is_minus_one, label %open, label %given
open:
  %error = call ptr @PyErr_Occurred()
  %is_large = icmp ne ptr %error, null
  br i1 %is_large, label %clear, label %first
first:
  %is_first = icmp eq i64 %unknown, -1
  br i1 %is_first, label %again, label %no
given:
  %less = sub i64 %extent, 1
  %is_inside = icmp ult i64 %less, %size
  br i1 %is_inside, label %multiply, label %no
multiply:
  %product = mul i64 %known, %extent
  %is_beyond = icmp ugt i64 %product, %size
  br i1 %is_beyond, label %no, label %again
again:
  %known_after = phi i64 [ %known, %first ], [ %product, %multiply ]
  %unknown_after = phi i64 [ %i, %first ], [ %unknown, %multiply ]
  put i64 %extent, %shape[%i]
  br label %next
compare:
  %has_unknown = icmp sge i64 %unknown, 0
  br i1 %has_unknown, label %divide, label %whole
divide:
  %rest = urem i64 %size, %known
  %quotient = udiv i64 %size, %known
  %fits = icmp eq i64 %rest, 0
  br i1 %fits, label %fill, label %no
fill:
  put i64 %quotient, %shape[%unknown]
  ret i1 true
whole:
  %is_whole = icmp eq i64 %known, %size
  ret i1 %is_whole
clear:
  call void @PyErr_Clear()
  br label %no
no:
  ret i1 false
}

; whether a layout has so many axes, and these
define internal i1 @has_shape(ptr %layout, ptr %shape, i64 %count) {
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %axes = call i64 @tuple_size(ptr %extents)
  %are_as_many = icmp eq i64 %axes, %count
  br i1 %are_as_many, label %next, label %no
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %own = call i64 @number_at(ptr %extents, i64 %i)
  %wanted = get i64 %shape[%i]
  %after = add i64 %i, 1
  %is_same = icmp eq i64 %own, %wanted
  br i1 %is_same, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; a view of an array in C order in such a shape; null without memory
define internal ptr @view_in_shape(ptr %self, ptr %layout, ptr %shape, i64 %count) {
  %is_same = call i1 @has_shape(ptr %layout, ptr %shape, i64 %count)
  br i1 %is_same, label %itself, label %new
itself:
  call void @Py_IncRef(ptr %layout)
  %same_view = call ptr @view_laid(ptr %self, ptr %layout)
  ret ptr %same_view
new:
  %offset = call i64 @number_at(ptr %layout, i64 2)
  %extents = call ptr @PyTuple_New(i64 %count)
  %steps = call ptr @PyTuple_New(i64 %count)
  %no_extents = icmp eq ptr %extents, null
  %no_steps = icmp eq ptr %steps, null
  %has_none = or i1 %no_extents, %no_steps
  br i1 %has_none, label %drop, label %next
next:
  %left = phi i64 [ %count, %new ], [ %i, %look ]
  %step = phi i64 [ 1, %new ], [ %product, %look ]
  %is_over = icmp eq i64 %left, 0
  br i1 %is_over, label %done, label %look
look:
  %i = sub i64 %left, 1
  %extent = get i64 %shape[%i]
  call void @axis(ptr %extents, ptr %steps, i64 %i, i64 %extent, i64 %step)
  %product = mul i64 %step, %extent
  br label %next
done:
  %made = call ptr @view_with(ptr %self, ptr %extents, ptr %steps, i64 %offset)
  br label %drop
drop:
  %view = phi ptr [ null, %new ], [ %made, %done ]
  call void @Py_DecRef(ptr %extents)
  call void @Py_DecRef(ptr %steps)
  %failed = icmp eq ptr %view, null
  br i1 %failed, label %clear, label %give
clear:
  call void @PyErr_Clear()
  ret ptr null
give:
  ret ptr %view
}

; whether an object is an array of the engine that is all that its layout says
define internal i1 @is_as_laid(ptr %object) {
  %is_engines = call i1 @is_engines(ptr %object)
  br i1 %is_engines, label %look, label %no
look:
  %is_uncast = call i1 @is_uncast(ptr %object)
  ret i1 %is_uncast
no:
  ret i1 false
}

; `self.reshape(...)`; null, without an exception, for what is Python's
define internal ptr @engine_reshape(ptr %self, ptr %args, i64 %count, ptr %names) {
  %shape = alloca [MOST_AXES x i64]
  %has_no_words = icmp eq ptr %names, null
  %has_some = icmp sgt i64 %count, 0
  %is_plain = and i1 %has_no_words, %has_some
  br i1 %is_plain, label %array, label %no
array:
  %is_laid = call i1 @is_as_laid(ptr %self)
  br i1 %is_laid, label %which, label %no
which:
  %first = get ptr %args[0]
  %is_tuple = call i1 @is(ptr %first, i64 T_TUPLE)
  %is_alone = icmp eq i64 %count, 1
  %is_inside = and i1 %is_alone, %is_tuple
  br i1 %is_inside, label %inside, label %measure
inside:
  %items_at = getelementptr i8, ptr %first, i64 TUPLE_ITEMS
  %items_inside = call i64 @tuple_size(ptr %first)
  br label %measure
measure:
  %items = phi ptr [ %args, %which ], [ %items_at, %inside ]
  %axes = phi i64 [ %count, %which ], [ %items_inside, %inside ]
  %fit = icmp ule i64 %axes, MOST_AXES
  br i1 %fit, label %sizes, label %no
sizes:
  %layout = call ptr @get(ptr %self, i64 HANDLE_LAYOUT)
  %size = call i64 @elements_in_order(ptr %layout)
  %is_ordered = icmp ne i64 %size, 0
  br i1 %is_ordered, label %read, label %apart
apart:
  %is_copied = call i1 @is_copied_for(ptr %layout, ptr %items, i64 %axes, ptr %shape)
  br i1 %is_copied, label %copy, label %no
copy:
  %copied = call ptr
    @copied_in_shape(ptr %self, ptr %args, i64 %count, ptr %shape, i64 %axes)
  ret ptr %copied
read:
  %is_shape = call i1 @shape_read(ptr %items, i64 %axes, i64 %size, ptr %shape)
  br i1 %is_shape, label %make, label %no
make:
  %view = call ptr @view_in_shape(ptr %self, ptr %layout, ptr %shape, i64 %axes)
  ret ptr %view
no:
  ret ptr null
}

; `self.ravel()`, likewise
define internal ptr @engine_ravel(ptr %self, ptr %args, i64 %count, ptr %names) {
  %shape = alloca [1 x i64]
  %has_no_words = icmp eq ptr %names, null
  %has_none = icmp eq i64 %count, 0
  %is_plain = and i1 %has_no_words, %has_none
  br i1 %is_plain, label %array, label %no
array:
  %is_laid = call i1 @is_as_laid(ptr %self)
  br i1 %is_laid, label %measure, label %no
measure:
  %layout = call ptr @get(ptr %self, i64 HANDLE_LAYOUT)
  %size = call i64 @elements_in_order(ptr %layout)
  %is_ordered = icmp ne i64 %size, 0
  br i1 %is_ordered, label %make, label %apart
apart:
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %elements = call i64 @count_in(ptr %extents)
  %has_none_inside = icmp eq i64 %elements, 0
  br i1 %has_none_inside, label %no, label %copy
copy:
  %copied = call ptr @copied_in_line(ptr %self, ptr %args)
  ret ptr %copied
make:
  put i64 %size, %shape[0]
  %view = call ptr @view_in_shape(ptr %self, ptr %layout, ptr %shape, i64 1)
  ret ptr %view
no:
  ret ptr null
}

; `self.transpose()`, likewise
define internal ptr @engine_transpose(ptr %self, ptr %args, i64 %count, ptr %names) {
  %has_no_words = icmp eq ptr %names, null
  %has_none = icmp eq i64 %count, 0
  %is_plain = and i1 %has_no_words, %has_none
  br i1 %is_plain, label %array, label %no
array:
  %is_engines = call i1 @is_engines(ptr %self)
  br i1 %is_engines, label %make, label %no
make:
  %view = call ptr @engine_T(ptr %self)
  ret ptr %view
no:
  ret ptr null
}
"""

#: Methods of arrays in C order that are here.
ORDERED = frozenset(("reshape", "ravel", "transpose"))
#: Those whose views are remembered by the layouts of arrays.
METHODS = frozenset((*ORDERED, "swapaxes", "squeeze"))
