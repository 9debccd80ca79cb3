"""Keys with arrays in them, as NumPy takes them, as LLVM text; see `methods.py`.

What `frontend/keyed.py` does for keys of arrays at hand, integers, slices, ... and None.
"""

from __future__ import annotations

from lazyfuse.ops.rules import PICKED

#: The items of a list that is looked into; the first and the last word of the parts of a slice
#: (`SLICE_PARTS` of `runtime/native_parts.py`).
BOUNDS = {"LISTED_MOST": PICKED, "SLICE_START": 2, "SLICE_STEP": 4}

KEYS = """
; self[key] of a small array for a key that is not basic; null where it is not small
define internal ptr @small_item(ptr %self, ptr %key) {
  %args = alloca [1 x ptr]
  store ptr %key, ptr %args
  %getter = call ptr @object(i64 T_GET_ITEM)
  %made = call ptr @small_call(ptr %getter, ptr %self, ptr %args, i64 1, ptr null, i64 RULE_NONE)
  ret ptr %made
}

; an array of NumPy's in a key, of ours that is at hand or NumPy's, or what a list of some integers
; is for NumPy, with a reference: of integers, or a mask. Null for others, and for an exception
define internal ptr @array_of_key(ptr %item) {
  %is_ours = call i1 @is(ptr %item, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %other
ours:
  %own = call ptr @host_or_memory(ptr %item)
  br label %found
other:
  %is_array = call i1 @is(ptr %item, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %look
array:
  call void @Py_IncRef(ptr %item)
  br label %found
look:
  %is_list = call i1 @is(ptr %item, i64 T_LIST)
  br i1 %is_list, label %list, label %no
list:
  %made = call ptr @listed(ptr %item, ptr @is_integer)
  br label %found
found:
  %given = phi ptr [ %own, %ours ], [ %item, %array ], [ %made, %list ]
  %is_nothing = icmp eq ptr %given, null
  br i1 %is_nothing, label %no, label %kind
kind:
  %number = call i32 @dtype_number(ptr %given)
  %can_pick = icmp ult i32 %number, 11
  br i1 %can_pick, label %give, label %drop
give:
  ret ptr %given
drop:
  call void @Py_DecRef(ptr %given)
  br label %no
no:
  ret ptr null
}

; whether an object is an int of Python's, or an integer of NumPy's
define internal i1 @is_integer(ptr %object) {
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  br i1 %is_int, label %yes, label %numpys
numpys:
  %is_numpys = call i1 @is_numpys_integer(ptr %object)
  ret i1 %is_numpys
yes:
  ret i1 true
}

define internal i1 @is_numpys_integer(ptr %object) {
  %kind = call ptr @kind(ptr %object)
  %is_long = call i1 @is(ptr %object, i64 T_INT_LONG)
  %is_int = call i1 @is(ptr %object, i64 T_NUMPYS_INT)
  %is_usual = or i1 %is_long, %is_int
  br i1 %is_usual, label %yes, label %arrays
arrays:
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  %is_array = call i1 @is(ptr %object, i64 T_NDARRAY)
  %is_none = or i1 %is_ours, %is_array
  br i1 %is_none, label %no, label %look
no:
  ret i1 false
look:
  %is_other = call i1 @is_between(ptr %kind, i64 FIRST_INTEGER, i64 LAST_INTEGER)
  ret i1 %is_other
yes:
  ret i1 true
}

; whether an object is a part of a key without arrays: an integer, a slice, ... or None
define internal i1 @is_simple(ptr %item) {
  %is_index = call i1 @is_index(ptr %item)
  br i1 %is_index, label %yes, label %number
number:
  %is_integer = call i1 @is_numpys_integer(ptr %item)
  ret i1 %is_integer
yes:
  ret i1 true
}

; whether a key has parts without arrays alone
define internal i1 @is_basic_key(ptr %key) {
  %is_tuple = call i1 @is(ptr %key, i64 T_TUPLE)
  %items = call i64 @items_of(ptr %key, i1 %is_tuple)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %items
  br i1 %is_over, label %yes, label %look
look:
  %item = call ptr @key_item(ptr %key, i1 %is_tuple, i64 %i)
  %is_simple = call i1 @is_simple(ptr %item)
  %after = add i64 %i, 1
  br i1 %is_simple, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; whether the parts of a slice are integers and None, so that nobody's `__index__` runs while
; memory is written
define internal i1 @is_of_integers(ptr %slice) {
  %none = call ptr @none()
  br label %next
next:
  %i = phi i64 [ SLICE_START, %0 ], [ %after, %look ]
  %is_over = icmp sgt i64 %i, SLICE_STEP
  br i1 %is_over, label %yes, label %look
look:
  %part = get ptr %slice[%i]
  %after = add i64 %i, 1
  %is_none = icmp eq ptr %part, %none
  %is_integer = call i1 @is_integer(ptr %part)
  %is_known = or i1 %is_none, %is_integer
  br i1 %is_known, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; a key that is, or has in it, arrays at hand, for NumPy, with a reference; null for others, those
; of views too, and for an exception
define internal ptr @key_of_arrays(ptr %key) {
  %is_tuple = call i1 @is(ptr %key, i64 T_TUPLE)
  br i1 %is_tuple, label %tuple, label %alone
alone:
  %array = call ptr @array_of_key(ptr %key)
  ret ptr %array
tuple:
  %count = call i64 @tuple_size(ptr %key)
  %made = call ptr @PyTuple_New(i64 %count)
  %has_none = icmp eq ptr %made, null
  br i1 %has_none, label %no, label %next
next:
  %i = phi i64 [ 0, %tuple ], [ %after, %put ]
  %are_any = phi i1 [ false, %tuple ], [ %are_any_now, %put ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %all, label %look
look:
  %item = call ptr @tuple_item(ptr %key, i64 %i)
  %after = add i64 %i, 1
  %is_simple = call i1 @is_simple(ptr %item)
  br i1 %is_simple, label %simple, label %pick
simple:
  %is_slice = call i1 @is(ptr %item, i64 T_SLICE)
  br i1 %is_slice, label %slice, label %same
slice:
  %calls_nobody = call i1 @is_of_integers(ptr %item)
  br i1 %calls_nobody, label %same, label %drop
same:
  call void @Py_IncRef(ptr %item)
  br label %put
pick:
  %picks = call ptr @array_of_key(ptr %item)
  %is_other = icmp eq ptr %picks, null
  br i1 %is_other, label %drop, label %put
put:
  %part = phi ptr [ %item, %same ], [ %picks, %pick ]
  %are_any_now = phi i1 [ %are_any, %same ], [ true, %pick ]
  %status = call i32 @PyTuple_SetItem(ptr %made, i64 %i, ptr %part)
  br label %next
all:
  br i1 %are_any, label %done, label %drop
done:
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %made)
  br label %no
no:
  ret ptr null
}
"""
