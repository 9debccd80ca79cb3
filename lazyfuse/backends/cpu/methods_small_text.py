"""Calls of NumPy's functions and methods on small arrays as LLVM text; see `methods.py`."""

from __future__ import annotations

SMALL = """
declare i32 @PyType_IsSubtype(ptr, ptr)
declare i32 @PyObject_SetItem(ptr, ptr, ptr)

; what NumPy's function gives for arguments all of which are small arrays, numbers, words and
; lists of such, or parts of the engine's memory where the rule lets them be (`ops/rules.py`);
; `first` comes before the others where it is not null. Null where they are not, and for an
; exception. `sized_rule`: a rule, and of which larger parts it may be (`in_one`)
define internal ptr @small_call(ptr %function, ptr %first, ptr %args, i64 %count, ptr %names,
                                i64 %sized_rule) {
  %is_free = call i1 @is_nothing_recorded()  ; else Python sees what may be written
  br i1 %is_free, label %first_way, label %witnessed
witnessed:
  ret ptr null
first_way:
  %of_plain = call ptr
    @plain_call(ptr %function, ptr %first, ptr %args, i64 %count, ptr %names, i64 %sized_rule)
  %is_general = icmp eq ptr %of_plain, %function
  br i1 %is_general, label %begin, label %plain
plain:
  ret ptr %of_plain
begin:
  %rule = and i64 %sized_rule, RULE_MASK
  %words = call i64 @count_of(ptr %names)
  %in_all = add i64 %count, %words
  %is_method = icmp ne ptr %first, null
  %one_before = zext i1 %is_method to i64
  %arguments = add i64 %in_all, %one_before
  %middling = call i64 @most_opened(i64 %sized_rule, i64 %arguments)
  %most = call i64 @most_reached(i64 %rule, i64 %middling, ptr %first, ptr %args, i64 %count)
  %writes_bit = and i64 %sized_rule, WRITES_BIT
  %writes = icmp ne i64 %writes_bit, 0
  %size_bits = mul i64 %most, OPENS_UNIT
  %write_bits = select i1 %writes, i64 OPENS_WRITES, i64 0
  %size_opened = or i64 %size_bits, %write_bits
  %under_options = call i64 @eager_size()
  %under_first = call i64 @larger_small(ptr %first, i64 %under_options)
  %eager = call i64 @largest_small(ptr %args, i64 %in_all, i64 %under_first)
  %is_in_vain = icmp sle i64 %eager, 0
  br i1 %is_in_vain, label %no, label %many
many:
  %is_many = icmp sgt i64 %in_all, MOST_ARGUMENTS
  br i1 %is_many, label %no, label %look_at_words
look_at_words:
  %values = getelementptr ptr, ptr %args, i64 %count
  %are_numpys = call i1 @are_numpys(ptr %names, i64 %words, ptr %values)
  br i1 %are_numpys, label %room, label %no
room:
  %has_first = icmp ne ptr %first, null
  %before = zext i1 %has_first to i64
  %positional = add i64 %count, %before
  %total = add i64 %positional, %words
  %rest = add i64 %count, %words
  %objects = alloca ptr, i64 %total
  %given = alloca ptr, i64 %total
  br i1 %has_first, label %one, label %copy
one:
  put ptr %first, %objects[0]
  br label %copy
copy:
  %from = phi i64 [ 0, %room ], [ 0, %one ], [ %from_after, %move ]
  %all_copied = icmp sge i64 %from, %rest
  br i1 %all_copied, label %next, label %move
move:
  %argument = get ptr %args[%from]
  %to = add i64 %from, %before
  put ptr %argument, %objects[%to]
  %from_after = add i64 %from, 1
  br label %copy
next:
  %i = phi i64 [ 0, %copy ], [ %after, %lowered ]
  %limit = phi i64 [ %eager, %copy ], [ %limit_now, %lowered ]
  %is_over = icmp sge i64 %i, %total
  br i1 %is_over, label %bound, label %look
bound:
  %is_bounded = call i1 @is_bounded(ptr %objects, ptr %given, i64 %total, i64 %rule,
                                   i64 %most, i64 %words, ptr %names)
  br i1 %is_bounded, label %run, label %undo_all
undo_all:
  call void @drop_all(ptr %given, i64 %total)
  br label %no
look:
  %object = get ptr %objects[%i]
  %opened = call i64 @openings(i64 %rule, i64 %i, i64 %positional, ptr %names)
  %opens = or i64 %opened, %size_opened
  %low = call ptr @lowered(ptr %object, i64 %eager, i64 3, i64 %opens)
  %is_large = icmp eq ptr %low, null
  br i1 %is_large, label %undo, label %keep
undo:
  call void @drop_all(ptr %given, i64 %i)
  br label %no
keep:
  put ptr %low, %given[%i]
  %after = add i64 %i, 1
  %is_window = call i1 @is_engines(ptr %object)
  %is_other = icmp ne ptr %low, %object
  %is_no_window = xor i1 %is_window, true
  %is_array = and i1 %is_other, %is_no_window
  br i1 %is_array, label %measure, label %lowered
measure:
  %size = call i64 @size_of_array(ptr %low)
  %is_larger = icmp sgt i64 %size, %limit
  %larger = select i1 %is_larger, i64 %size, i64 %limit
  br label %lowered
lowered:
  %limit_now = phi i64 [ %limit, %keep ], [ %larger, %measure ]
  br label %next
run:
  %told_bit = and i64 %sized_rule, TOLD_BIT
  %is_untold = icmp eq i64 %told_bit, 0
  br i1 %is_untold, label %compute, label %tell
tell:
  %is_fine = call i1 @told(ptr %function, ptr %given, i64 %total, i64 %eager)
  br i1 %is_fine, label %compute, label %undo_all
compute:
  %value = call ptr @PyObject_Vectorcall(ptr %function, ptr %given, i64 %positional, ptr %names)
  %made = call ptr
    @result(ptr %value, ptr %objects, ptr %given, i64 %total, i64 %limit, i64 %positional)
  call void @drop_all(ptr %given, i64 %total)
  ret ptr %made
no:
  ret ptr null
}

; the length of a tuple, 0 for null
define internal i64 @count_of(ptr %tuple) alwaysinline {
  %is_null = icmp eq ptr %tuple, null
  br i1 %is_null, label %none, label %some
none:
  ret i64 0
some:
  %count = call i64 @tuple_size(ptr %tuple)
  ret i64 %count
}

; whether keywords are NumPy's: some are the engine's alone, and outputs of NumPy's own are given
; back as they are
define internal i1 @are_numpys(ptr %names, i64 %words, ptr %values) {
  %ours = call ptr @object(i64 T_OWN_WORDS)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %word ], [ %after, %outputs ], [ %after, %inside ]
  %is_over = icmp sge i64 %i, %words
  br i1 %is_over, label %yes, label %look
look:
  %name = call ptr @tuple_item(ptr %names, i64 %i)
  %is_ours = call i32 @PySet_Contains(ptr %ours, ptr %name)
  %after = add i64 %i, 1
  %is_numpys = icmp eq i32 %is_ours, 0
  br i1 %is_numpys, label %word, label %no
word:
  %out = call ptr @object(i64 T_OUT)
  %is_out = icmp eq ptr %name, %out
  br i1 %is_out, label %output, label %next
output:
  %value = get ptr %values[%i]
  %is_array = call i1 @is(ptr %value, i64 T_NDARRAY)
  br i1 %is_array, label %no, label %outputs
outputs:
  %is_tuple = call i1 @is(ptr %value, i64 T_TUPLE)
  br i1 %is_tuple, label %inside, label %next
inside:
  %holds_array = call i1 @holds_array(ptr %value)
  br i1 %holds_array, label %no, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; whether there is an array of NumPy's in a tuple
define internal i1 @holds_array(ptr %tuple) {
  %count = call i64 @tuple_size(ptr %tuple)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %look
look:
  %item = call ptr @tuple_item(ptr %tuple, i64 %i)
  %after = add i64 %i, 1
  %is_array = call i1 @is(ptr %item, i64 T_NDARRAY)
  br i1 %is_array, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; how many elements an array has; 0 for what is none
define internal i64 @size_of_array(ptr %object) {
  %is_array = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %none
array:
  %size = call i64 @elements(ptr %object)
  ret i64 %size
none:
  ret i64 0
}

; a new reference to the array of a wrapper, also where that is put off; null for one of the
; engine, and for an exception
define internal ptr @small_host(ptr %self) {
  %at = call ptr @host_at(ptr %self)
  %found = load ptr, ptr %at
  %is_put_off = icmp eq ptr %found, null
  br i1 %is_put_off, label %ask, label %look
ask:
  %name = get ptr @state[HOST_NAME]
  %settled = call ptr @lf_missing(ptr %self, ptr %name)
  ret ptr %settled
look:
  %none = call ptr @none()
  %is_none = icmp eq ptr %found, %none
  br i1 %is_none, label %engine, label %small
engine:
  ret ptr null
small:
  call void @Py_IncRef(ptr %found)
  ret ptr %found
}

; an argument as NumPy takes it, with a reference: a window where it is an array of the engine that
; is at hand and may be opened, by itself or as an item. Null where it is not small, or not known,
; and for an exception. Lists are looked into so many levels deep. `opens`: what may be a window,
; and of how many elements
define internal ptr @lowered(ptr %object, i64 %eager, i64 %levels, i64 %opens) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %other
ours:
  %opens_own = and i64 %opens, OPENS_OWN
  %may_open = icmp ne i64 %opens_own, 0
  br i1 %may_open, label %open, label %close
open:
  %most = udiv i64 %opens, OPENS_UNIT
  %writes_bit = and i64 %opens, OPENS_WRITES
  %writes = icmp ne i64 %writes_bit, 0
  %flags = select i1 %writes, i32 WRITEABLE_FLAG, i32 0
  %host_or_window = call ptr @host_or_large_window(ptr %object, i64 %most, i32 %flags)
  ret ptr %host_or_window
close:
  %host = call ptr @small_host(ptr %object)
  ret ptr %host
other:
  %is_plain = call i1 @is_plain(ptr %object)
  br i1 %is_plain, label %same, label %array
same:
  call void @Py_IncRef(ptr %object)
  ret ptr %object
array:
  %is_array = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_array, label %measure, label %items
measure:
  %size = call i64 @elements(ptr %object)
  %is_small = icmp sle i64 %size, %eager
  br i1 %is_small, label %same, label %no
items:
  %is_range = call i1 @is(ptr %object, i64 T_RANGE)
  br i1 %is_range, label %span, label %listed
span:
  %steps = call i64 @PyObject_Size(ptr %object)
  %is_short = icmp ule i64 %steps, %eager
  br i1 %is_short, label %same, label %uncounted
uncounted:
  call void @PyErr_Clear()
  br label %no
listed:
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  %is_flat = icmp sgt i64 %levels, 0
  %can_look = and i1 %is_sequence, %is_flat
  br i1 %can_look, label %sequence, label %no
sequence:
  %less = sub i64 %levels, 1
  %opens_items = and i64 %opens, OPENS_ITEMS
  %may_open_items = icmp ne i64 %opens_items, 0
  %opens_inside = select i1 %may_open_items, i64 %opens, i64 0
  %found = call ptr
    @lowered_items(ptr %object, i1 %is_tuple, i64 %eager, i64 %less, i64 %opens_inside)
  ret ptr %found
no:
  ret ptr null
}

; the same of a tuple or a list
define internal ptr @lowered_items(ptr %object, i1 %is_tuple, i64 %eager, i64 %levels,
                                   i64 %opens) {
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %most = call i64 @llvm.smax.i64(i64 %eager, i64 SHAPE_MOST)
  %is_long = icmp sgt i64 %count, %most
  br i1 %is_long, label %many, label %look_at_ends
many:
  %are_pieces = call i1 @has_pieces(ptr %object, i1 %is_tuple, i64 %levels)
  br i1 %are_pieces, label %look_at_ends, label %no
look_at_ends:
  %is_of_numbers = call i1 @is_of_numbers(ptr %object, i1 %is_tuple, i64 %levels)
  br i1 %is_of_numbers, label %same, label %scan
scan:
  %i = phi i64 [ 0, %look_at_ends ], [ %i_after, %plain ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %same, label %look
look:
  %item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %i_after = add i64 %i, 1
  %is_plain = call i1 @is_plain(ptr %item)
  br i1 %is_plain, label %plain, label %new
plain:
  br label %scan
same:
  call void @Py_IncRef(ptr %object)
  ret ptr %object
new:
  %made_object = call ptr @new_sequence(i1 %is_tuple, i64 %count)
  %failed = icmp eq ptr %made_object, null
  br i1 %failed, label %no, label %next
next:
  %j = phi i64 [ 0, %new ], [ %j_after, %put ]
  %is_done = icmp sge i64 %j, %count
  br i1 %is_done, label %give, label %lower
lower:
  %is_there = call i1 @has_item(ptr %object, i1 %is_tuple, i64 %j)
  br i1 %is_there, label %take, label %drop
take:
  %part = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %j)
  call void @Py_IncRef(ptr %part)
  %low = call ptr @lowered(ptr %part, i64 %eager, i64 %levels, i64 %opens)
  call void @Py_DecRef(ptr %part)
  %j_after = add i64 %j, 1
  %is_large = icmp eq ptr %low, null
  br i1 %is_large, label %drop, label %put
drop:
  call void @Py_DecRef(ptr %made_object)
  br label %no
put:
  call void @put_item(ptr %made_object, i1 %is_tuple, i64 %j, ptr %low)
  br label %next
give:
  ret ptr %made_object
no:
  ret ptr null
}
"""
