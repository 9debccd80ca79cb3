"""What NumPy's results on small arrays are for the user, as LLVM text; see `methods.py`."""

from __future__ import annotations

RESULTS = """
; what NumPy gave for the user: arrays in wrappers, which know whose memory they are; an argument
; itself where it is that. Null where it may lie in the engine's memory: the engine is to be asked.
; `limit`: the size of the largest that stays small. Of so many arguments by position those after
; the first are outputs where they are NumPy's; -1 for a part of a result, which holds it, too.
; Takes the reference
define internal ptr @result(ptr %value, ptr %objects, ptr %given, i64 %count, i64 %limit,
                            i64 %positional) {
  %raised = icmp eq ptr %value, null
  br i1 %raised, label %as_it_is, label %look
as_it_is:
  ret ptr %value
look:
  %is_array = call i1 @is(ptr %value, i64 T_NDARRAY)
  br i1 %is_array, label %dtype, label %other
other:
  %kind = call ptr @kind(ptr %value)
  %tuples = call ptr @object(i64 T_TUPLE)
  %lists = call ptr @object(i64 T_LIST)
  %is_tuple = call i32 @PyType_IsSubtype(ptr %kind, ptr %tuples)
  %is_list = call i32 @PyType_IsSubtype(ptr %kind, ptr %lists)
  %either = or i32 %is_tuple, %is_list
  %is_sequence = icmp ne i32 %either, 0
  br i1 %is_sequence, label %sequence, label %as_it_is
sequence:
  %is_exact = call i1 @is(ptr %value, i64 T_TUPLE)
  br i1 %is_exact, label %tuple, label %inside
inside:
  %is_plain_list = call i1 @is_list_of_others(ptr %value)
  br i1 %is_plain_list, label %as_it_is, label %named
named:
  %may_be_named = icmp ne i32 %is_tuple, 0
  %are_fresh = call i1 @are_fresh(ptr %value, i1 %may_be_named, ptr %given, i64 %count)
  br i1 %are_fresh, label %lift, label %of_others
tuple:
  %results = call ptr @tuple_of_results(ptr %value, ptr %objects, ptr %given, i64 %count,
                                        i64 %limit)
  ret ptr %results
dtype:
  %given_back = call ptr @object_of(ptr %value, ptr %objects, ptr %given, i64 %count)
  %is_new_value = icmp eq ptr %given_back, null
  br i1 %is_new_value, label %kind_of_value, label %given_itself
given_itself:
  call void @Py_IncRef(ptr %given_back)
  call void @Py_DecRef(ptr %value)
  ret ptr %given_back
kind_of_value:
  %is_known = call i1 @has_known_dtype(ptr %value)
  br i1 %is_known, label %find, label %foreign
foreign:
  %may_hold = call i1 @has_window(ptr %objects, i64 %count, i64 3)
  br i1 %may_hold, label %reject, label %as_it_is
find:
  %base = get ptr %value[BASE]
  br label %next
next:
  %i = phi i64 [ 0, %find ], [ %after, %another ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %unknown, label %compare
compare:
  %host = get ptr %given[%i]
  %object = get ptr %objects[%i]
  %after = add i64 %i, 1
  %is_wrapped = icmp ne ptr %host, %object
  br i1 %is_wrapped, label %ours, label %another
ours:
  %is_class = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_class, label %share, label %another
share:
  %has_none = icmp eq ptr %base, null
  %host_base = get ptr %host[BASE]
  %is_of_host = icmp eq ptr %base, %host
  %is_of_base = icmp eq ptr %base, %host_base
  %is_own = or i1 %is_of_host, %is_of_base
  %is_not = xor i1 %is_own, true
  %differs = or i1 %is_not, %has_none
  br i1 %differs, label %another, label %own
own:
  %is_window = call i1 @is_engines(ptr %object)
  br i1 %is_window, label %reject, label %shared
shared:
  %known = call ptr @part(ptr %object, i64 T_OWNER)
  %is_owner = icmp eq ptr %known, null
  %owner = select i1 %is_owner, ptr %object, ptr %known
  %view = call ptr @wrapped(ptr %value, ptr %owner)
  ret ptr %view
another:
  br label %next
unknown:
  %rest = getelementptr ptr, ptr %given, i64 1
  %fewer = sub i64 %positional, 1
  %is_output = call i1 @is_one_of(ptr %value, ptr %rest, i64 %fewer)
  br i1 %is_output, label %as_it_is, label %new_or_view
new_or_view:
  %is_fresh = icmp eq ptr %base, null
  %size = call i64 @elements(ptr %value)
  %fits = icmp sle i64 %size, %limit
  %is_array_argument = call i1 @is_among(ptr %value, ptr %given, i64 %count, i64 3)
  %is_new = xor i1 %is_array_argument, true
  %is_small = and i1 %is_fresh, %fits
  %is_plain = and i1 %is_small, %is_new
  br i1 %is_plain, label %fresh, label %of_fresh
of_fresh:
  %can_view = and i1 %fits, %is_new
  %is_view = call i1 @is_fresh_root(ptr %base, ptr %given, i64 %count)
  %is_new_view = and i1 %can_view, %is_view
  br i1 %is_new_view, label %root, label %large
large:
  %is_own_view = and i1 %is_view, %is_new
  %can_lift = or i1 %is_fresh, %is_own_view
  %can_adopt = and i1 %can_lift, %is_new
  br i1 %can_adopt, label %adopt, label %given_array
given_array:
  br i1 %can_lift, label %lift, label %of_others
adopt:
  %is_whole_result = icmp sge i64 %positional, 0
  %holders = select i1 %is_whole_result, i32 1, i32 2
  %owned = call ptr @owned(ptr %value, i32 %holders)
  %adopted = call ptr @adopted_or_lifted(ptr %owned, ptr %objects, i64 %count)
  ret ptr %adopted
of_others:
  %had_windows = call i1 @has_window(ptr %objects, i64 %count, i64 3)
  br i1 %had_windows, label %reject, label %lift
reject:
  call void @Py_DecRef(ptr %value)
  ret ptr null
root:
  call void @Py_IncRef(ptr %base)
  %no_owner = call ptr @none()
  %root_array = call ptr @wrapped(ptr %base, ptr %no_owner)
  %root_failed = icmp eq ptr %root_array, null
  br i1 %root_failed, label %lost, label %of_root
lost:
  call void @Py_DecRef(ptr %value)
  ret ptr null
of_root:
  %root_view = call ptr @wrapped(ptr %value, ptr %root_array)
  call void @Py_DecRef(ptr %root_array)
  ret ptr %root_view
fresh:
  %none = call ptr @none()
  %new = call ptr @wrapped(ptr %value, ptr %none)
  ret ptr %new
lift:
  %lifted = call ptr @lifted(ptr %value, ptr %objects, i64 %count)
  ret ptr %lifted
}

; an array that has so many references, those of this code, or a copy of one that somebody else
; has, too, so that it is not a new one; null for an exception. Takes the reference
define internal ptr @owned(ptr %value, i32 %holders) {
  %references = get i32 %value[REFERENCES]
  %is_own = icmp ule i32 %references, %holders
  br i1 %is_own, label %same, label %copy
same:
  ret ptr %value
copy:
  %copier = call ptr @object(i64 T_NEW_COPY)
  %made = call ptr %copier(ptr %value, i32 KEEP_ORDER)
  call void @Py_DecRef(ptr %value)
  ret ptr %made
}

; the argument of ours whose array a result is, as an output is; null for none
define internal ptr @object_of(ptr %value, ptr %objects, ptr %given, i64 %count) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %compare ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %compare
compare:
  %host = get ptr %given[%i]
  %after = add i64 %i, 1
  %is_same = icmp eq ptr %host, %value
  br i1 %is_same, label %look, label %next
look:
  %object = get ptr %objects[%i]
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %give, label %next
give:
  ret ptr %object
no:
  ret ptr null
}

; whether a base is an array that has its own memory, and is not the user's
define internal i1 @is_fresh_root(ptr %base, ptr %given, i64 %count) {
  %is_none = icmp eq ptr %base, null
  br i1 %is_none, label %no, label %look
look:
  %is_array = call i1 @is(ptr %base, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %no
array:
  %own_base = get ptr %base[BASE]
  %is_root = icmp eq ptr %own_base, null
  %flags = get i32 %base[ARRAY_FLAGS]
  %owns = and i32 %flags, 4
  %is_owner = icmp ne i32 %owns, 0
  %is_known = call i1 @has_known_dtype(ptr %base)
  %is_given = call i1 @is_among(ptr %base, ptr %given, i64 %count, i64 3)
  %is_new = xor i1 %is_given, true
  %has_memory = and i1 %is_root, %is_owner
  %is_fine = and i1 %is_known, %is_new
  %is_fresh = and i1 %has_memory, %is_fine
  ret i1 %is_fresh
no:
  ret i1 false
}

; a tuple of results. Takes the reference
define internal ptr @tuple_of_results(ptr %tuple, ptr %objects, ptr %given, i64 %count,
                                      i64 %limit) {
  %length = call i64 @tuple_size(ptr %tuple)
  %made = call ptr @PyTuple_New(i64 %length)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %done, label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %put ]
  %is_over = icmp sge i64 %i, %length
  br i1 %is_over, label %done, label %look
look:
  %item = call ptr @tuple_item(ptr %tuple, i64 %i)
  call void @Py_IncRef(ptr %item)
  %result = call ptr
    @result(ptr %item, ptr %objects, ptr %given, i64 %count, i64 %limit, i64 -1)
  %after = add i64 %i, 1
  %is_lost = icmp eq ptr %result, null
  br i1 %is_lost, label %fail, label %put
put:
  %status = call i32 @PyTuple_SetItem(ptr %made, i64 %i, ptr %result)
  br label %next
fail:
  call void @Py_DecRef(ptr %made)
  br label %done
done:
  %found = phi ptr [ null, %0 ], [ null, %fail ], [ %made, %next ]
  call void @Py_DecRef(ptr %tuple)
  ret ptr %found
}

; whether something is a list whose first item is no array
define internal i1 @is_list_of_others(ptr %object) {
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  br i1 %is_list, label %list, label %no
list:
  %count = call i64 @PyList_Size(ptr %object)
  %is_empty = icmp eq i64 %count, 0
  br i1 %is_empty, label %yes, label %look
look:
  %item = call ptr @PyList_GetItem(ptr %object, i64 0)
  %is_array = call i1 @is(ptr %item, i64 T_NDARRAY)
  %is_other = xor i1 %is_array, true
  ret i1 %is_other
yes:
  ret i1 true
no:
  ret i1 false
}

; whether all arrays in a tuple lie in new memory; of a list, whether it has such arrays alone
define internal i1 @are_fresh(ptr %object, i1 %is_tuple, ptr %given, i64 %given_count) {
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %other ], [ %after, %memory ], [ %after, %view ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %after = add i64 %i, 1
  %is_array = call i1 @is(ptr %item, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %other
other:
  br i1 %is_tuple, label %next, label %no
array:
  %base = get ptr %item[BASE]
  %is_own = icmp eq ptr %base, null
  %was_given = call i1 @is_among(ptr %item, ptr %given, i64 %given_count, i64 3)
  br i1 %was_given, label %no, label %memory
memory:
  br i1 %is_own, label %next, label %view
view:
  %is_new = call i1 @is_fresh_root(ptr %base, ptr %given, i64 %given_count)
  br i1 %is_new, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; whether an array of NumPy's was given as an argument
define internal i1 @is_one_of(ptr %value, ptr %given, i64 %count) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %look
look:
  %host = get ptr %given[%i]
  %after = add i64 %i, 1
  %is_it = icmp eq ptr %host, %value
  br i1 %is_it, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; whether an array is one of those that were given, also in lists, so many levels deep
define internal i1 @is_among(ptr %value, ptr %given, i64 %count, i64 %levels) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ], [ %after, %inside ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %compare
compare:
  %host = get ptr %given[%i]
  %after = add i64 %i, 1
  %is_it = icmp eq ptr %host, %value
  br i1 %is_it, label %yes, label %look
look:
  %is_tuple = call i1 @is(ptr %host, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %host, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  %is_flat = icmp sgt i64 %levels, 0
  %can_look = and i1 %is_sequence, %is_flat
  br i1 %can_look, label %inside, label %next
inside:
  %less = sub i64 %levels, 1
  %is_inside = call i1 @is_in_sequence(ptr %value, ptr %host, i1 %is_tuple, i64 %less)
  br i1 %is_inside, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @is_in_sequence(ptr %value, ptr %sequence, i1 %is_tuple, i64 %levels) {
  %items = alloca [1 x ptr]
  %count = call i64 @length_of(ptr %sequence, i1 %is_tuple)
  %has_none = call i1 @is_of_numbers(ptr %sequence, i1 %is_tuple, i64 %levels)
  br i1 %has_none, label %no, label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %look
look:
  %item = call ptr @item_of(ptr %sequence, i1 %is_tuple, i64 %i)
  put ptr %item, %items[0]
  %after = add i64 %i, 1
  %is_it = call i1 @is_among(ptr %value, ptr %items, i64 1, i64 %levels)
  br i1 %is_it, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; the same, in Python. Takes the reference
define internal ptr @lifted(ptr %value, ptr %objects, i64 %count) {
  %operands = call ptr @PyTuple_New(i64 %count)
  %failed = icmp eq ptr %operands, null
  br i1 %failed, label %fail, label %next
fail:
  call void @Py_DecRef(ptr %value)
  ret ptr null
next:
  %i = phi i64 [ 0, %0 ], [ %after, %put ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %run, label %put
put:
  %object = get ptr %objects[%i]
  call void @Py_IncRef(ptr %object)
  %status = call i32 @PyTuple_SetItem(ptr %operands, i64 %i, ptr %object)
  %after = add i64 %i, 1
  br label %next
run:
  %lifter = call ptr @object(i64 T_LIFT)
  %made = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %lifter, ptr %value, ptr %operands, ptr null)
  call void @Py_DecRef(ptr %operands)
  call void @Py_DecRef(ptr %value)
  ret ptr %made
}
"""
