"""Which arguments may be parts of the engine's memory, as LLVM text; see `ops/rules.py`."""

from __future__ import annotations

#: What may be a window: the argument itself, its items; one that could be written. Above that, of
#: how many elements.
OPENS = {"OPENS_OWN": 1, "OPENS_ITEMS": 2, "OPENS_BOTH": 3, "OPENS_WRITES": 4, "OPENS_UNIT": 8}

RULES = """
; whether an argument may be a part of the engine's memory under a rule, by itself or as an item;
; of those by name, weights may be
define internal i64 @openings(i64 %rule, i64 %place, i64 %positional, ptr %names) {
  %is_positional = icmp slt i64 %place, %positional
  %is_of_two = icmp slt i64 %place, 2
  %is_of_three = icmp slt i64 %place, 3
  %is_at_first = icmp eq i64 %place, 0
  %is_first = and i1 %is_at_first, %is_positional
  br i1 %is_positional, label %positioned, label %named
positioned:
  switch i64 %rule, label %no [ i64 RULE_FIRST, label %first  i64 RULE_SPREAD, label %spread
    i64 RULE_PAIR, label %pair  i64 RULE_TIMES, label %pair  i64 RULE_ANY, label %any
    i64 RULE_OUTER, label %pair
    i64 RULE_FEW, label %few  i64 RULE_LISTED, label %listed ]
few:
  %are_few = icmp sle i64 %positional, 3
  %is_alone = and i1 %is_first, %are_few
  %of_few = select i1 %is_alone, i64 OPENS_OWN, i64 0
  ret i64 %of_few
first:
  %of_first = select i1 %is_first, i64 OPENS_BOTH, i64 0
  ret i64 %of_first
spread:
  %is_spread = and i1 %is_positional, %is_of_three
  %of_spread = select i1 %is_spread, i64 OPENS_OWN, i64 0
  ret i64 %of_spread
pair:
  %is_in_pair = and i1 %is_positional, %is_of_two
  %of_pair = select i1 %is_in_pair, i64 OPENS_OWN, i64 0
  ret i64 %of_pair
listed:
  %is_listed = and i1 %is_positional, %is_of_two
  %of_listed = select i1 %is_listed, i64 OPENS_BOTH, i64 0
  ret i64 %of_listed
any:
  %is_early = and i1 %is_positional, %is_of_three
  %of_any = select i1 %is_early, i64 OPENS_BOTH, i64 0
  ret i64 %of_any
no:
  ret i64 0
named:
  %in_names = sub i64 %place, %positional
  %name = call ptr @tuple_item(ptr %names, i64 %in_names)
  %weights = call ptr @object(i64 T_WEIGHTS)
  %is_read = icmp eq ptr %name, %weights
  %has_rule = icmp ne i64 %rule, RULE_NONE
  %is_opened = and i1 %is_read, %has_rule
  %of_name = select i1 %is_opened, i64 OPENS_OWN, i64 0
  ret i64 %of_name
}

; tells of a function that only NumPy has, where arguments are larger than small ones; whether it
; may compute: an exception says that it may not
define internal i1 @told(ptr %function, ptr %given, i64 %count, i64 %eager) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %object = get ptr %given[%i]
  %after = add i64 %i, 1
  %own = call i64 @size_of_array(ptr %object)
  %inside = call i64 @joined_size(ptr %object)
  %size = add i64 %own, %inside
  %is_large = icmp sgt i64 %size, %eager
  br i1 %is_large, label %tell, label %next
tell:
  %table = call ptr @object(i64 T_TOLD)
  %teller = call ptr @PyDict_GetItem(ptr %table, ptr %function)
  %is_unknown = icmp eq ptr %teller, null
  br i1 %is_unknown, label %yes, label %ask
ask:
  %answer = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %teller, ptr null)
  %is_refused = icmp eq ptr %answer, null
  br i1 %is_refused, label %no, label %drop
drop:
  call void @Py_DecRef(ptr %answer)
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; as `host_or_window`, with a window of at most so many elements where that is more than those of a
; small array, and with such flags. Half precision is the kernels'
define internal ptr @host_or_large_window(ptr %object, i64 %most, i32 %flags) {
  %is_usual = icmp eq i64 %most, 0
  br i1 %is_usual, label %usual, label %look
usual:
  %least_of_usual = call i64 @eager_size()
  %found = call ptr @host_or_window(ptr %object, i64 %least_of_usual)
  ret ptr %found
look:
  %host = call ptr @small_host(ptr %object)
  %has_none = icmp eq ptr %host, null
  br i1 %has_none, label %engines, label %give
give:
  ret ptr %host
engines:
  %least = call i64 @eager_size()
  %are_any = icmp sgt i64 %least, 0
  br i1 %are_any, label %open, label %no
open:
  %is_more = icmp sgt i64 %most, %least
  %limit = select i1 %is_more, i64 %most, i64 %least
  %window = call ptr @window_of(ptr %object, i64 %limit, i32 %flags)
  %is_away = icmp eq ptr %window, null
  br i1 %is_away, label %no, label %measure
measure:
  %size = call i64 @elements(ptr %window)
  %number = call i32 @dtype_number(ptr %window)
  %is_half = icmp eq i32 %number, 23
  %is_large = icmp sgt i64 %size, %least
  %is_others = and i1 %is_half, %is_large
  br i1 %is_others, label %drop, label %give_window
give_window:
  ret ptr %window
drop:
  call void @Py_DecRef(ptr %window)
  ret ptr null
no:
  ret ptr null
}

; how many elements larger parts may have, of a function of so many arguments; 0 where they have to
; be small
define internal i64 @most_opened(i64 %sized_rule, i64 %arguments) {
  %most = lshr i64 %sized_rule, SIZE_SHIFT
  %alone_bit = and i64 %sized_rule, ALONE_BIT
  %is_alone = icmp ne i64 %alone_bit, 0
  %are_more = icmp sgt i64 %arguments, 1
  %is_closed = and i1 %is_alone, %are_more
  %found = select i1 %is_closed, i64 0, i64 %most
  ret i64 %found
}

; whether a result is small that is as large as these arguments together make it; where none is of
; the engine that is not asked. `most`: the elements that it may have where that is more than those
; of a small array. The last `words` of the arguments have names: of a product that is the axis, if
; any, since others say how large it is
define internal i1 @is_bounded(ptr %objects, ptr %given, i64 %count, i64 %rule, i64 %most,
                               i64 %words, ptr %names) {
  %is_of_all = icmp eq i64 %rule, RULE_SPREAD
  %is_of_pair = icmp eq i64 %rule, RULE_PAIR
  %is_spread = or i1 %is_of_all, %is_of_pair
  %is_joined = icmp eq i64 %rule, RULE_FIRST
  %are_values = icmp eq i64 %rule, RULE_OUTER
  %is_counted = icmp eq i64 %rule, RULE_TIMES
  %is_product = or i1 %are_values, %is_counted
  %is_other = or i1 %is_joined, %is_product
  %is_asked = or i1 %is_spread, %is_other
  br i1 %is_asked, label %look, label %yes
look:
  %has_windows = call i1 @has_window(ptr %objects, i64 %count, i64 3)
  br i1 %has_windows, label %measure, label %yes
measure:
  br i1 %is_spread, label %axes, label %joined
axes:
  %first = get ptr %given[0]
  %first_is_deep = call i1 @is_deep(ptr %first)
  %has_two = icmp sgt i64 %count, 1
  %place = zext i1 %has_two to i64
  %other = get ptr %given[%place]
  %other_is_deep = call i1 @is_deep(ptr %other)
  %is_any_deep = or i1 %first_is_deep, %other_is_deep
  %is_too_deep = and i1 %is_of_pair, %is_any_deep
  br i1 %is_too_deep, label %no, label %spread
spread:
  %wide = call i64 @spread_size(ptr %given, i64 %count)
  br label %compare
joined:
  br i1 %is_product, label %times, label %of_items
times:
  switch i64 %words, label %no [ i64 0, label %multiply  i64 1, label %named ]
named:
  %name = call ptr @tuple_item(ptr %names, i64 0)
  %axis = call ptr @object(i64 T_AXIS)
  %is_axis = icmp eq ptr %name, %axis
  br i1 %is_axis, label %multiply, label %no
multiply:
  %factors = sub i64 %count, %words
  %multiplied = call i64 @times_size(ptr %given, i64 %factors, i1 %are_values)
  br label %compare
of_items:
  %items = get ptr %given[0]
  %long = call i64 @joined_size(ptr %items)
  br label %compare
compare:
  %size = phi i64 [ %wide, %spread ], [ %long, %of_items ], [ %multiplied, %multiply ]
  %eager = call i64 @eager_size()
  %is_more = icmp sgt i64 %most, %eager
  %limit = select i1 %is_more, i64 %most, i64 %eager
  %is_small = icmp sle i64 %size, %limit
  ret i1 %is_small
yes:
  ret i1 true
no:
  ret i1 false
}

; whether an object is an array of NumPy's of more than two axes
define internal i1 @is_deep(ptr %object) {
  %is_array = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_array, label %look, label %no
look:
  %axes = get i32 %object[ND]
  %is_deep = icmp sgt i32 %axes, 2
  ret i1 %is_deep
no:
  ret i1 false
}

; how many elements the arrays among arguments have when they are broadcast, whether that can be or
; not
define internal i64 @spread_size(ptr %given, i64 %count) {
  br label %axis
axis:
  %from_last = phi i32 [ 0, %0 ], [ %axis_after, %taken ]
  %size = phi i64 [ 1, %0 ], [ %product, %taken ]
  %is_last = icmp sge i32 %from_last, 64
  br i1 %is_last, label %done, label %next
next:
  %i = phi i64 [ 0, %axis ], [ %after, %kept ]
  %largest = phi i64 [ 1, %axis ], [ %larger, %kept ]
  %reach = phi i32 [ 0, %axis ], [ %further, %kept ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %taken, label %look
look:
  %object = get ptr %given[%i]
  %after = add i64 %i, 1
  %is_array = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %kept
array:
  %own = call i64 @extent(ptr %object, i32 %from_last)
  %is_larger = icmp sgt i64 %own, %largest
  %own_or = select i1 %is_larger, i64 %own, i64 %largest
  %axes = get i32 %object[ND]
  %is_further = icmp sgt i32 %axes, %reach
  %axes_or = select i1 %is_further, i32 %axes, i32 %reach
  br label %kept
kept:
  %larger = phi i64 [ %largest, %look ], [ %own_or, %array ]
  %further = phi i32 [ %reach, %look ], [ %axes_or, %array ]
  br label %next
taken:
  %product = mul i64 %size, %largest
  %axis_after = add i32 %from_last, 1
  %is_beyond = icmp sge i32 %axis_after, %reach
  br i1 %is_beyond, label %end, label %axis
end:
  ret i64 %product
done:
  ret i64 %size
}

; how many elements the arrays of a list or tuple have
define internal i64 @joined_size(ptr %items) {
  %is_tuple = call i1 @is(ptr %items, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %items, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  br i1 %is_sequence, label %sequence, label %none
sequence:
  %has_none = call i1 @is_of_numbers(ptr %items, i1 %is_tuple, i64 SHAPE_MOST)
  br i1 %has_none, label %none, label %count_items
count_items:
  %count = call i64 @length_of(ptr %items, i1 %is_tuple)
  br label %next
next:
  %i = phi i64 [ 0, %count_items ], [ %after, %look ]
  %size = phi i64 [ 0, %count_items ], [ %sum, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %item = call ptr @item_of(ptr %items, i1 %is_tuple, i64 %i)
  %own = call i64 @size_of_array(ptr %item)
  %sum = add i64 %size, %own
  %after = add i64 %i, 1
  br label %next
done:
  ret i64 %size
none:
  ret i64 0
}
"""
