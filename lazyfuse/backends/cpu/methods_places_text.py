"""Elements of computed memory that keys with arrays pick, and that are written through such keys,
as LLVM text; see `methods.py`."""

from __future__ import annotations

from lazyfuse.backends.cpu import methods_keys_text, methods_picked_text

#: The bounds of keys, and of elements that are picked or written.
BOUNDS = {**methods_keys_text.BOUNDS, **methods_picked_text.BOUNDS}

PLACES = (
    methods_keys_text.KEYS
    + methods_picked_text.PICKED_SIZES
    + """
; the elements that a key with arrays picks of memory, where they are few; null where they are not,
; and for an exception
define internal ptr @gathered(ptr %self, ptr %key) {
  %objects = alloca [2 x ptr]
  put ptr %self, %objects[0]
  put ptr %key, %objects[1]
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %no, label %sizes
sizes:
  %eager = call i64 @eager_size()
  %are_any = icmp sgt i64 %eager, 0
  br i1 %are_any, label %compute, label %no
compute:
  %is_computed = call i1 @mask_computed(ptr %self, ptr %key)
  br i1 %is_computed, label %take_key, label %no
take_key:
  %where = call ptr @key_of_arrays(ptr %key)
  %has_none = icmp eq ptr %where, null
  br i1 %has_none, label %no, label %open
open:
  %memory = call ptr @host_or_memory(ptr %self)
  %is_away = icmp eq ptr %memory, null
  br i1 %is_away, label %drop_key, label %count
count:
  %size = call i64 @picked_size(ptr %memory, ptr %where, i64 %eager)
  %is_small = icmp sge i64 %size, 0
  br i1 %is_small, label %pick, label %many
many:
  %filtered = call ptr @filtered(ptr %memory, ptr %where)
  %is_other = icmp eq ptr %filtered, null
  br i1 %is_other, label %drop, label %give
give:
  call void @Py_DecRef(ptr %memory)
  call void @Py_DecRef(ptr %where)
  %picked = call i64 @elements(ptr %filtered)
  %given = call ptr @picked_for_user(ptr %filtered, i64 %picked, ptr %objects)
  ret ptr %given
pick:
  %value = call ptr @PyObject_GetItem(ptr %memory, ptr %where)
  call void @Py_DecRef(ptr %memory)
  call void @Py_DecRef(ptr %where)
  %made = call ptr @picked_for_user(ptr %value, i64 %size, ptr %objects)
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %memory)
  br label %drop_key
drop_key:
  call void @Py_DecRef(ptr %where)
  br label %no
no:
  ret ptr null
}

; has a mask that is pending, or what it picks from, computed where that is worth it
; (`frontend/pieces.py`); false with an exception
define internal i1 @mask_computed(ptr %self, ptr %key) {
  %is_engines = call i1 @is_engines(ptr %key)
  %is_large = call i1 @is_engines(ptr %self)
  %are_both = and i1 %is_engines, %is_large
  br i1 %are_both, label %look, label %yes
look:
  %node = call ptr @memory(ptr %key)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %letter = call i32 @PyUnicode_ReadChar(ptr %code, i64 0)
  %is_mask = icmp eq i32 %letter, 98
  br i1 %is_mask, label %ask, label %yes
ask:
  %own = call ptr @memory(ptr %self)
  %mask_memory = call ptr @get(ptr %node, i64 NODE_BUFFER)
  %own_memory = call ptr @get(ptr %own, i64 NODE_BUFFER)
  %none = call ptr @none()
  %is_mask_pending = icmp eq ptr %mask_memory, %none
  %is_own_pending = icmp eq ptr %own_memory, %none
  %is_any_pending = or i1 %is_mask_pending, %is_own_pending
  br i1 %is_any_pending, label %compute, label %yes
compute:
  %function = call ptr @object(i64 T_COMPUTE_MASK)
  %done = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %function, ptr %self, ptr %key, ptr null)
  %failed = icmp eq ptr %done, null
  br i1 %failed, label %no, label %drop
drop:
  call void @Py_DecRef(ptr %done)
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; what a mask of all elements picks, of memory that is not large; null for other keys, and for an
; exception
define internal ptr @filtered(ptr %memory, ptr %mask) {
  %is_whole = call i1 @is_whole_mask(ptr %memory, ptr %mask)
  br i1 %is_whole, label %look, label %no
look:
  %all = call i64 @elements(ptr %memory)
  %are_few = icmp sle i64 %all, MASKED_MOST
  %is_alike = call i1 @alike(ptr %memory, ptr %mask)
  %may = and i1 %are_few, %is_alike
  br i1 %may, label %run, label %no
run:
  %function = call ptr @object(i64 T_FILTERED)
  %found = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %function, ptr %memory, ptr %mask, ptr null)
  ret ptr %found
no:
  ret ptr null
}

; what NumPy picked, so many elements, for the user: a view of an array of its own where its axes
; stand otherwise than they were picked. Takes the reference; null for an exception
define internal ptr @picked_for_user(ptr %value, i64 %size, ptr %objects) {
  %raised = icmp eq ptr %value, null
  br i1 %raised, label %whole, label %kind
kind:
  %is_array = call i1 @is(ptr %value, i64 T_NDARRAY)
  br i1 %is_array, label %look, label %element
element:
  ret ptr %value
look:
  %base = get ptr %value[BASE]
  %is_whole = icmp eq ptr %base, null
  br i1 %is_whole, label %whole, label %part
whole:
  %made = call ptr @small_or_adopted(ptr %value, i64 %size, ptr %objects)
  ret ptr %made
part:
  %eager = call i64 @eager_size()
  %is_small = icmp sle i64 %size, %eager
  %is_own = call i1 @is_fresh_root(ptr %base, ptr null, i64 0)
  %is_view = and i1 %is_small, %is_own
  br i1 %is_view, label %view, label %lift
lift:
  %lifted = call ptr @adopted_or_lifted(ptr %value, ptr %objects, i64 2)
  ret ptr %lifted
view:
  call void @Py_IncRef(ptr %base)
  %none = call ptr @none()
  %root = call ptr @wrapped(ptr %base, ptr %none)
  %failed = icmp eq ptr %root, null
  br i1 %failed, label %drop, label %wrap
drop:
  call void @Py_DecRef(ptr %value)
  ret ptr null
wrap:
  %wrapped = call ptr @wrapped(ptr %value, ptr %root)
  call void @Py_DecRef(ptr %root)
  ret ptr %wrapped
}

; whether a method `at` of a ufunc is done at once: 1, 0, or -1 with an exception
define internal i32 @applied(ptr %method, ptr %args, i64 %count, ptr %names) {
  %are_three = icmp eq i64 %count, 3
  %has_no_words = icmp eq ptr %names, null
  %is_plain = and i1 %are_three, %has_no_words
  br i1 %is_plain, label %look, label %no
look:
  %array = get ptr %args[0]
  %is_engines = call i1 @is_engines(ptr %array)
  br i1 %is_engines, label %apply, label %no
apply:
  %key = get ptr %args[1]
  %value = get ptr %args[2]
  %done = call i32 @set_places(ptr %array, ptr %key, ptr %value, ptr %method)
  ret i32 %done
no:
  ret i32 0
}

; what is assigned as `assigned_value` gives it, or a list of some real numbers, with a reference;
; null for others, and for an exception
define internal ptr @assigned_values(ptr %value) {
  %is_list = call i1 @is(ptr %value, i64 T_LIST)
  br i1 %is_list, label %list, label %other
list:
  %count = call i64 @PyList_Size(ptr %value)
  %is_short = icmp sle i64 %count, LISTED_MOST
  br i1 %is_short, label %next, label %no
next:
  %i = phi i64 [ 0, %list ], [ %after, %item ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %same, label %item
item:
  %number = call ptr @PyList_GetItem(ptr %value, i64 %i)
  %is_real = call i1 @is_real_number(ptr %number)
  %after = add i64 %i, 1
  br i1 %is_real, label %next, label %no
same:
  call void @Py_IncRef(ptr %value)
  ret ptr %value
other:
  %given = call ptr @assigned_value(ptr %value)
  ret ptr %given
no:
  ret ptr null
}

; whether self[key] = value is done at once, for some elements of an array of the engine that a key
; with arrays picks; or a method `at` of a ufunc where it is not null: 1, 0, or -1 with an
; exception
define internal i32 @set_places(ptr %self, ptr %key, ptr %value, ptr %method) {
  %eager = call i64 @eager_size()
  %are_any = icmp sgt i64 %eager, 0
  br i1 %are_any, label %immediate, label %answer
immediate:
  %modes = call ptr @modes()
  %is_immediate = icmp eq ptr %modes, null
  br i1 %is_immediate, label %answer, label %take_key
take_key:
  %where = call ptr @key_of_arrays(ptr %key)
  %has_none = icmp eq ptr %where, null
  br i1 %has_none, label %answer, label %take_value
take_value:
  %given = call ptr @assigned_values(ptr %value)
  %is_unknown = icmp eq ptr %given, null
  br i1 %is_unknown, label %drop_key, label %lock
lock:
  %locked = call i1 @lock()
  br i1 %locked, label %write, label %drop_value
write:
  %done = call i32
    @set_places_locked(ptr %self, ptr %where, ptr %given, ptr %method)
  call void @Py_DecRef(ptr %where)
  %outcome = call i32 @end_change(i32 %done, ptr %given)
  ret i32 %outcome
drop_value:
  call void @Py_DecRef(ptr %given)
  br label %drop_key
drop_key:
  call void @Py_DecRef(ptr %where)
  br label %answer
answer:
  %nothing = call i32 @not_done()
  ret i32 %nothing
}

; the same with the lock, for a value that NumPy takes; one that it casts to another kind of
; numbers is Python's, and so is one for all that a mask of many elements picks
define internal i32 @set_places_locked(ptr %self, ptr %where, ptr %given,
                                        ptr %method) {
  %window = call ptr @writable(ptr %self, i64 9223372036854775807)
  %is_away = icmp eq ptr %window, null
  br i1 %is_away, label %answer, label %kind
kind:
  %is_plain = icmp eq ptr %method, null
  %is_given_array = call i1 @is(ptr %given, i64 T_NDARRAY)
  %is_taken = call i1 @is_cast_quietly(ptr %given, ptr %window)
  br i1 %is_taken, label %mask, label %drop
mask:
  %is_all = call i1 @is_whole_mask(ptr %window, ptr %where)
  %is_one_number = xor i1 %is_given_array, true
  %is_chosen = and i1 %is_all, %is_one_number
  %may_choose = and i1 %is_chosen, %is_plain
  br i1 %may_choose, label %few, label %count
few:
  %all = call i64 @elements(ptr %window)
  %eager = call i64 @eager_size()
  %are_few = icmp sle i64 %all, %eager
  %is_alike = call i1 @alike(ptr %window, ptr %where)
  %is_now = and i1 %are_few, %is_alike
  br i1 %is_now, label %number, label %count
count:
  %size = call i64 @picked_size(ptr %window, ptr %where, i64 0)
  %is_small = icmp sge i64 %size, 0
  br i1 %is_small, label %words, label %drop
words:
  br i1 %is_plain, label %value, label %listen
value:
  br i1 %is_given_array, label %dtypes, label %one
one:
  %is_whole = call i1 @is_whole_mask(ptr %window, ptr %where)
  br i1 %is_whole, label %drop, label %number
dtypes:
  %own = get ptr %window[DESCR]
  %theirs = get ptr %given[DESCR]
  %is_same = icmp eq ptr %own, %theirs
  br i1 %is_same, label %renew, label %listen
number:
  %is_quiet = call i1 @is_quiet(ptr %self, ptr %given)
  br i1 %is_quiet, label %renew, label %listen
renew:
  %is_renewed = call i1 @renewed(ptr %self)
  br i1 %is_renewed, label %set, label %fail
set:
  %quiet_status = call i32 @PyObject_SetItem(ptr %window, ptr %where, ptr %given)
  br label %done
listen:
  %context = call ptr @begin_change(ptr %self)
  %no_context = icmp eq ptr %context, null
  br i1 %no_context, label %fail, label %set_heard
set_heard:
  br i1 %is_plain, label %assign, label %apply
assign:
  %heard_status = call i32 @PyObject_SetItem(ptr %window, ptr %where, ptr %given)
  br label %heard
apply:
  %returned = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(
    ptr %method, ptr %window, ptr %where, ptr %given, ptr null)
  %has_failed = icmp eq ptr %returned, null
  call void @Py_DecRef(ptr %returned)
  %applied_status = sext i1 %has_failed to i32
  br label %heard
heard:
  %told_status = phi i32 [ %heard_status, %assign ], [ %applied_status, %apply ]
  call void @stop_listening(ptr %context)
  br label %done
done:
  %status = phi i32 [ %quiet_status, %set ], [ %told_status, %heard ]
  call void @Py_DecRef(ptr %window)
  %is_fine = icmp eq i32 %status, 0
  %outcome = select i1 %is_fine, i32 1, i32 -1
  ret i32 %outcome
fail:
  call void @Py_DecRef(ptr %window)
  ret i32 -1
drop:
  call void @Py_DecRef(ptr %window)
  br label %answer
answer:
  %nothing = call i32 @not_done()
  ret i32 %nothing
}

; whether a value is cast to the dtype of an array from real numbers, or to complex ones, so that
; NumPy warns of conditions of arithmetic alone
define internal i1 @is_cast_quietly(ptr %given, ptr %array) {
  %own = call i32 @kind_rank(ptr %array)
  %is_array = call i1 @is(ptr %given, i64 T_NDARRAY)
  br i1 %is_array, label %dtypes, label %number
dtypes:
  %theirs = call i32 @kind_rank(ptr %given)
  %is_known = call i1 @has_known_dtype(ptr %given)
  %is_real_array = icmp sle i32 %theirs, 3
  %is_complex_to = icmp eq i32 %own, 4
  %are_kept = or i1 %is_real_array, %is_complex_to
  %are_numbers = icmp sle i32 %theirs, 4
  %is_number_to = icmp sle i32 %own, 4
  %are_both = and i1 %are_numbers, %is_number_to
  %keeps = and i1 %are_kept, %are_both
  %is_cast = and i1 %is_known, %keeps
  ret i1 %is_cast
number:
  %kind = call ptr @kind(ptr %given)
  %is_complex = call i1 @is_between(ptr %kind, i64 LAST_REAL, i64 LAST_COMPLEX)
  %holds_complex = icmp eq i32 %own, 4
  %is_real = xor i1 %is_complex, true
  %fits = or i1 %is_real, %holds_complex
  ret i1 %fits
}

; the kind of the dtype of an array: 0 bool, 1 unsigned, 2 integers, 3 floats, 4 complex; 5 others
define internal i32 @kind_rank(ptr %array) {
  %number = call i32 @dtype_number(ptr %array)
  switch i32 %number, label %other [
    i32 0, label %bool  i32 2, label %unsigned  i32 4, label %unsigned  i32 6, label %unsigned
    i32 8, label %unsigned  i32 10, label %unsigned  i32 1, label %integer  i32 3, label %integer
    i32 5, label %integer  i32 7, label %integer  i32 9, label %integer  i32 11, label %float
    i32 12, label %float  i32 23, label %float  i32 14, label %complex  i32 15, label %complex ]
bool:
  ret i32 0
unsigned:
  ret i32 1
integer:
  ret i32 2
float:
  ret i32 3
complex:
  ret i32 4
other:
  ret i32 5
}
"""
)
