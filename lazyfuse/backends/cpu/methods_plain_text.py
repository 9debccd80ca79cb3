"""Functions and methods of NumPy's on a few small arrays and plain arguments, as LLVM text; see
`methods.py`.

`x.reshape(2, -1)`, `x.sum(axis=0)`, `np.dot(x, y)`: each argument is an array at hand, a small
part of computed memory where the rule lets it be, or none and without one inside, so there is
little to ask, and the result is new or a view of the one array, in most cases.
"""

from __future__ import annotations

#: Arguments, the array of a method among them; arrays in a list.
BOUNDS = {"PLAIN_MOST": 4, "HOSTS_MOST": 16}

PLAIN = """
; the result of such a call for the user, null for an exception and where the engine has to be
; asked; the function itself where the call is none of these
define internal ptr @plain_call(ptr %function, ptr %first, ptr %args, i64 %count, ptr %names,
                                i64 %sized_rule) {
  %objects = alloca [PLAIN_MOST x ptr]
  %given = alloca [PLAIN_MOST x ptr]
  %itself = alloca ptr
  store ptr %first, ptr %itself
  %words = call i64 @count_of(ptr %names)
  %positional = call i64 @positional_of(ptr %first, i64 %count)
  %in_all = add i64 %count, %words
  %is_method = icmp ne ptr %first, null
  %before = zext i1 %is_method to i64
  %total = add i64 %in_all, %before
  %less = sub i64 %total, 1
  %are_few = icmp ult i64 %less, PLAIN_MOST
  %told_bit = and i64 %sized_rule, TOLD_BIT
  %is_untold = icmp eq i64 %told_bit, 0
  %eager = call i64 @eager_size()
  %are_any = icmp sgt i64 %eager, 0
  %is_quiet = and i1 %is_untold, %are_any
  %can = and i1 %are_few, %is_quiet
  br i1 %can, label %look_at_words, label %other
look_at_words:
  %values = getelementptr ptr, ptr %args, i64 %count
  %are_numpys = call i1 @are_numpys(ptr %names, i64 %words, ptr %values)
  br i1 %are_numpys, label %next, label %other
next:
  %i = phi i64 [ 0, %look_at_words ], [ %after, %keep_host ], [ %after, %keep_plain ],
           [ %after, %keep_hosts ]
  %limit = phi i64 [ %eager, %look_at_words ], [ %larger, %keep_host ], [ %limit, %keep_plain ],
               [ %limit, %keep_hosts ]
  %arrays = phi i64 [ 0, %look_at_words ], [ %more, %keep_host ], [ %arrays, %keep_plain ],
                [ %many_more, %keep_hosts ]
  %place = phi i64 [ 0, %look_at_words ], [ %i, %keep_host ], [ %place, %keep_plain ],
               [ %place, %keep_hosts ]
  %windows = phi i1 [ false, %look_at_words ], [ %windows, %keep_host ],
                 [ %windows, %keep_plain ], [ %are_windows, %keep_hosts ]
  %is_over = icmp sge i64 %i, %total
  br i1 %is_over, label %has_arrays, label %look
look:
  %from = sub i64 %i, %before
  %is_first = icmp slt i64 %from, 0
  %argument = getelementptr ptr, ptr %args, i64 %from
  %at = select i1 %is_first, ptr %itself, ptr %argument
  %object = load ptr, ptr %at
  put ptr %object, %objects[%i]
  %after = add i64 %i, 1
  %host = call ptr @host_at_hand(ptr %object)
  %is_other = icmp eq ptr %host, null
  br i1 %is_other, label %plain, label %keep_host
keep_host:
  call void @Py_IncRef(ptr %host)
  put ptr %host, %given[%i]
  %elements = call i64 @elements(ptr %host)
  %larger = call i64 @llvm.smax.i64(i64 %elements, i64 %limit)
  %more = add i64 %arrays, 1
  br label %next
plain:
  %is_known = call i1 @is_plain_or_ints(ptr %object)
  br i1 %is_known, label %keep_plain, label %inside
inside:
  %opens = call i64
    @opened_at(i64 %sized_rule, i64 %i, i64 %positional, ptr %names, i64 %eager)
  %hosts = call ptr @part_or_hosts(ptr %object, i64 %opens)
  %has_others = icmp eq ptr %hosts, null
  br i1 %has_others, label %undo, label %keep_hosts
keep_hosts:
  put ptr %hosts, %given[%i]
  %many_more = add i64 %arrays, 2
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  %are_inside = icmp ugt i64 %opens, OPENS_OWN
  %may_be_windows = or i1 %is_ours, %are_inside
  %are_windows = or i1 %windows, %may_be_windows
  br label %next
keep_plain:
  call void @Py_IncRef(ptr %object)
  put ptr %object, %given[%i]
  br label %next
undo:
  call void @drop_all(ptr %given, i64 %i)
  br label %other
has_arrays:
  switch i64 %arrays, label %bound [ i64 0, label %undo ]
bound:
  br i1 %windows, label %measure, label %run
measure:
  %rule = and i64 %sized_rule, RULE_MASK
  %is_bounded = call i1
    @is_bounded(ptr %objects, ptr %given, i64 %total, i64 %rule, i64 0, i64 %words, ptr %names)
  br i1 %is_bounded, label %run, label %undo
run:
  %value = call ptr
    @applied_to(ptr %function, ptr %given, i64 %positional, ptr %names)
  %is_alone = icmp eq i64 %arrays, 1
  %array_object = get ptr %objects[%place]
  %only = select i1 %is_alone, ptr %array_object, ptr null
  %array = get ptr %given[%place]
  %owner = call ptr @owner_of_result(ptr %value, ptr %only, ptr %array, i64 %limit)
  %is_unknown = icmp eq ptr %owner, null
  br i1 %is_unknown, label %general, label %wrap
wrap:
  %wrapped = call ptr @wrapped(ptr %value, ptr %owner)
  br label %done
general:
  %result = call ptr
    @result(ptr %value, ptr %objects, ptr %given, i64 %total, i64 %limit, i64 %positional)
  br label %done
done:
  %found = phi ptr [ %wrapped, %wrap ], [ %result, %general ]
  call void @drop_all(ptr %given, i64 %total)
  ret ptr %found
other:
  ret ptr %function
}

; what NumPy's function gives; `dot` without looking for who overrides it and what it is called
; with, since it is called with two arrays of NumPy's
define internal ptr @applied_to(ptr %function, ptr %given, i64 %positional, ptr %names) {
  %dot = call ptr @object(i64 T_DOT)
  %is_dot = icmp eq ptr %function, %dot
  %are_two = icmp eq i64 %positional, 2
  %has_no_words = icmp eq ptr %names, null
  %is_plain = and i1 %are_two, %has_no_words
  %may = and i1 %is_dot, %is_plain
  br i1 %may, label %look, label %call
look:
  %a = get ptr %given[0]
  %b = get ptr %given[1]
  %a_is_array = call i1 @is(ptr %a, i64 T_NDARRAY)
  %b_is_array = call i1 @is(ptr %b, i64 T_NDARRAY)
  %are_arrays = and i1 %a_is_array, %b_is_array
  br i1 %are_arrays, label %multiply, label %call
multiply:
  %multiplier = call ptr @object(i64 T_MATRIX_PRODUCT)
  %made = call ptr %multiplier(ptr %a, ptr %b, ptr null)
  %scalar_of = call ptr @object(i64 T_AS_SCALAR)
  %product = call ptr %scalar_of(ptr %made)
  ret ptr %product
call:
  %value = call ptr @PyObject_Vectorcall(ptr %function, ptr %given, i64 %positional, ptr %names)
  ret ptr %value
}

define internal i64 @positional_of(ptr %first, i64 %count) alwaysinline {
  %is_method = icmp ne ptr %first, null
  %before = zext i1 %is_method to i64
  %positional = add i64 %count, %before
  ret i64 %positional
}

; what may be a window at a place, and of how many elements
define internal i64 @opened_at(i64 %sized_rule, i64 %place, i64 %positional, ptr %names,
                               i64 %most) {
  %rule = and i64 %sized_rule, RULE_MASK
  %opened = call i64 @openings(i64 %rule, i64 %place, i64 %positional, ptr %names)
  %writes_bit = and i64 %sized_rule, WRITES_BIT
  %writes = icmp ne i64 %writes_bit, 0
  %write_bits = select i1 %writes, i64 OPENS_WRITES, i64 0
  %size_bits = mul i64 %most, OPENS_UNIT
  %sized = or i64 %opened, %write_bits
  %all = or i64 %sized, %size_bits
  ret i64 %all
}

; a window where an argument is a small part of computed memory; a list or tuple of the arrays of
; NumPy's and windows in one of a few such. With a reference; null for others
define internal ptr @part_or_hosts(ptr %object, i64 %opens) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %sequence
ours:
  %part = call ptr @part_opened(ptr %object, i64 %opens, i64 OPENS_OWN)
  ret ptr %part
sequence:
  %hosts = call ptr @hosts_inside(ptr %object, i64 %opens)
  ret ptr %hosts
}

; a window of an array of the engine that is at hand, small, and may be opened; null for others
define internal ptr @part_opened(ptr %object, i64 %opens, i64 %wanted) {
  %bit = and i64 %opens, %wanted
  %may_open = icmp ne i64 %bit, 0
  %is_engines = call i1 @is_engines(ptr %object)
  %may = and i1 %may_open, %is_engines
  br i1 %may, label %memory, label %no
memory:
  %buffer = call ptr @settled_memory(ptr %object)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %no, label %make
make:
  %most = udiv i64 %opens, OPENS_UNIT
  %writes_bit = and i64 %opens, OPENS_WRITES
  %writes = icmp ne i64 %writes_bit, 0
  %flags = select i1 %writes, i32 WRITEABLE_FLAG, i32 0
  %made = call ptr @elements_in(ptr %object, ptr %buffer, i64 %most, i32 %flags)
  %has_none = icmp eq ptr %made, null
  br i1 %has_none, label %clear, label %give
give:
  ret ptr %made
clear:
  call void @PyErr_Clear()
  br label %no
no:
  ret ptr null
}

; a list or tuple of the arrays of NumPy's in one of a few small arrays at hand and parts that may
; be opened; null for others
define internal ptr @hosts_inside(ptr %object, i64 %opens) {
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  br i1 %is_sequence, label %measure, label %no
measure:
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %less = sub i64 %count, 1
  %are_few = icmp ult i64 %less, HOSTS_MOST
  br i1 %are_few, label %look, label %no
look:
  %first = call ptr @item_of(ptr %object, i1 %is_tuple, i64 0)
  %begins = call i1 @is(ptr %first, i64 T_CLASS)
  br i1 %begins, label %new, label %no
new:
  %made_object = call ptr @new_sequence(i1 %is_tuple, i64 %count)
  %failed = icmp eq ptr %made_object, null
  br i1 %failed, label %clear, label %next
clear:
  call void @PyErr_Clear()
  br label %no
next:
  %i = phi i64 [ 0, %new ], [ %after, %put ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %take
take:
  %is_there = call i1 @has_item(ptr %object, i1 %is_tuple, i64 %i)
  br i1 %is_there, label %item, label %drop
item:
  %array = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %host = call ptr @host_or_part(ptr %array, i64 %opens)
  %after = add i64 %i, 1
  %is_other = icmp eq ptr %host, null
  br i1 %is_other, label %drop, label %put
put:
  call void @put_item(ptr %made_object, i1 %is_tuple, i64 %i, ptr %host)
  br label %next
drop:
  call void @Py_DecRef(ptr %made_object)
  br label %no
done:
  ret ptr %made_object
no:
  ret ptr null
}

; the array of a small array that is at hand, or a window of a part that may be opened as an item,
; with a reference; null for others
define internal ptr @host_or_part(ptr %object, i64 %opens) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %no
ours:
  %host = call ptr @part(ptr %object, i64 T_HOST)
  %is_away = icmp eq ptr %host, null
  br i1 %is_away, label %engines, label %give
give:
  call void @Py_IncRef(ptr %host)
  ret ptr %host
engines:
  %part = call ptr @part_opened(ptr %object, i64 %opens, i64 OPENS_ITEMS)
  ret ptr %part
no:
  ret ptr null
}

; the array of a small array of ours that is at hand; null for others
define internal ptr @host_at_hand(ptr %object) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %no
ours:
  %host = call ptr @part(ptr %object, i64 T_HOST)
  ret ptr %host
no:
  ret ptr null
}

; whether an argument is plain, or a tuple of ints
define internal i1 @is_plain_or_ints(ptr %object) {
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  br i1 %is_int, label %yes, label %tuple
tuple:
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  br i1 %is_tuple, label %items, label %list
list:
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  br i1 %is_list, label %no, label %other
other:
  %is_plain = call i1 @is_plain(ptr %object)
  ret i1 %is_plain
items:
  %count = call i64 @tuple_size(ptr %object)
  br label %next
next:
  %i = phi i64 [ 0, %items ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %item = call ptr @tuple_item(ptr %object, i64 %i)
  %after = add i64 %i, 1
  %is_number = call i1 @is(ptr %item, i64 T_INT)
  br i1 %is_number, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; whose memory an array of NumPy's is in that came of a small one, null for several: that array's
; or its owner's, None for its own; null for what is no array or was there before, as an output is,
; and where that is another's
define internal ptr @owner_of_result(ptr %value, ptr %only, ptr %host, i64 %limit) {
  %raised = icmp eq ptr %value, null
  br i1 %raised, label %no, label %look
look:
  %is_array = call i1 @is(ptr %value, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %no
array:
  %references = get i32 %value[REFERENCES]
  %is_nobodys = icmp eq i32 %references, 1
  br i1 %is_nobodys, label %dtype, label %no
dtype:
  %is_known = call i1 @has_known_dtype(ptr %value)
  br i1 %is_known, label %memory, label %no
memory:
  %base = get ptr %value[BASE]
  %is_new = icmp eq ptr %base, null
  br i1 %is_new, label %new, label %view
new:
  %size = call i64 @elements(ptr %value)
  %fits = icmp sle i64 %size, %limit
  br i1 %fits, label %own, label %no
own:
  %none = call ptr @none()
  ret ptr %none
view:
  %is_of_many = icmp eq ptr %only, null
  br i1 %is_of_many, label %no, label %bases
bases:
  %host_base = get ptr %host[BASE]
  %is_of_host = icmp eq ptr %base, %host
  %is_of_base = icmp eq ptr %base, %host_base
  %is_shared = or i1 %is_of_host, %is_of_base
  br i1 %is_shared, label %shared, label %no
shared:
  %known = call ptr @part(ptr %only, i64 T_OWNER)
  %is_owner = icmp eq ptr %known, null
  %owner = select i1 %is_owner, ptr %only, ptr %known
  ret ptr %owner
no:
  ret ptr null
}
"""
