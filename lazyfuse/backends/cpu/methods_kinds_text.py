"""Arguments that are no arrays by their types, as LLVM text; see `methods.py`."""

from __future__ import annotations

from collections.abc import Mapping
from types import EllipsisType, NoneType

import numpy as np

#: Types of arguments that are no arrays and hold none; the first may be part of the key of a
#: recipe (`frontend/rerecord.py`, `static`). In the middle are those of numbers, and first among
#: these the ones of which recipes are (`NUMBERS` there), real ones before the others.
_STATIC = (NoneType, str, type, type(np._NoValue), bool, int)
_REAL = (int, float, np.float64, np.float32, np.int64, np.int32)
_COMPLEX = (complex, np.complex128)
_OTHER_NUMBERS = (
    np.complex64, np.float16, np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.uint64,
    np.bool_,
)  # fmt: skip
PLAIN_TYPES = (*_STATIC, *_REAL[1:], *_COMPLEX, *_OTHER_NUMBERS, slice, EllipsisType)


def places(first: int) -> Mapping[str, int]:
    """Where in the table, in which the types stand from `first` on, kinds of them begin and end,
    and single ones are."""
    found = {"FIRST_PLAIN": 0, "LAST_PLAIN": len(PLAIN_TYPES), "LAST_STATIC": len(_STATIC)}
    found |= {
        "FIRST_NUMBER": PLAIN_TYPES.index(bool),
        "FIRST_RECORDED": PLAIN_TYPES.index(int),
        "LAST_REAL": PLAIN_TYPES.index(_COMPLEX[0]),
        "LAST_RECORDED": PLAIN_TYPES.index(_OTHER_NUMBERS[0]),
        "LAST_COMPLEX": PLAIN_TYPES.index(np.float16),
        "FIRST_INTEGER": PLAIN_TYPES.index(np.int8),
        "LAST_INTEGER": PLAIN_TYPES.index(np.bool_),
        "LAST_NUMBER": PLAIN_TYPES.index(slice),
        "T_NUMPYS_FLOAT": PLAIN_TYPES.index(np.float32),
        "T_NUMPYS_INT": PLAIN_TYPES.index(np.int32),
    }
    return {name: first + number for name, number in found.items()}


KINDS = """
; NumPy's number of the dtype of an array
define internal i32 @dtype_number(ptr %array) alwaysinline {
  %dtype = get ptr %array[DESCR]
  %number_at = getelementptr i8, ptr %dtype, i64 28
  %number = load i32, ptr %number_at
  ret i32 %number
}

; whether an array has one of our dtypes, in the machine's order of bytes
define internal i1 @has_known_dtype(ptr %array) {
  %dtype = get ptr %array[DESCR]
  %order_at = getelementptr i8, ptr %dtype, i64 26
  %order = load i8, ptr %order_at
  %is_native = icmp ne i8 %order, 62
  %number = call i32 @dtype_number(ptr %array)
  %is_small = icmp ult i32 %number, 32
  %shift = and i32 %number, 31
  %bit = lshr i32 KNOWN_DTYPES, %shift
  %is_listed = trunc i32 %bit to i1
  %can = and i1 %is_small, %is_native
  %is_known = and i1 %is_listed, %can
  ret i1 %is_known
}

; whether an argument is no array and holds none: None, a number, a string, a slice, ..., a dtype,
; a class of scalars
define internal i1 @is_plain(ptr %object) {
  %kind = call ptr @kind(ptr %object)
  %is_listed = call i1 @is_between(ptr %kind, i64 FIRST_PLAIN, i64 LAST_PLAIN)
  br i1 %is_listed, label %yes, label %family
family:
  %dtypes = call ptr @object(i64 T_DTYPE)
  %is_dtype = call i32 @PyType_IsSubtype(ptr %kind, ptr %dtypes)
  %scalars = call ptr @object(i64 T_GENERIC)
  %is_scalar = call i32 @PyType_IsSubtype(ptr %kind, ptr %scalars)
  %either = or i32 %is_dtype, %is_scalar
  %is_known = icmp ne i32 %either, 0
  ret i1 %is_known
yes:
  ret i1 true
}

; whether a long list or tuple begins and ends with numbers or lists of them, as `are_numbers` of
; `frontend/small.py` says: then nobody looks at the rest
define internal i1 @is_of_numbers(ptr %object, i1 %is_tuple, i64 %levels) {
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %is_long = icmp sgt i64 %count, LOOKED_MOST
  br i1 %is_long, label %ends, label %no
ends:
  %last = sub i64 %count, 1
  %found = call i1 @are_numeric(ptr %object, i1 %is_tuple, i64 %last, i64 %last, i64 %levels)
  ret i1 %found
no:
  ret i1 false
}

; whether items, from the first to the last in these steps, are numbers, or lists of such
define internal i1 @are_numeric(ptr %object, i1 %is_tuple, i64 %last, i64 %step, i64 %levels) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %is_over = icmp sgt i64 %i, %last
  br i1 %is_over, label %yes, label %look
look:
  %item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %is_number = call i1 @is_number(ptr %item)
  br i1 %is_number, label %more, label %inside
inside:
  %found = call i1 @is_list_of_numbers(ptr %item, i64 %levels)
  br i1 %found, label %more, label %no
more:
  %after = add i64 %i, %step
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @is_list_of_numbers(ptr %object, i64 %levels) {
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  %is_flat = icmp sgt i64 %levels, 0
  %can_look = and i1 %is_sequence, %is_flat
  br i1 %can_look, label %look, label %no
look:
  %less = sub i64 %levels, 1
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %last = sub i64 %count, 1
  %is_long = icmp sgt i64 %count, LOOKED_MOST
  %step = select i1 %is_long, i64 %last, i64 1
  %found = call i1 @are_numeric(ptr %object, i1 %is_tuple, i64 %last, i64 %step, i64 %less)
  ret i1 %found
no:
  ret i1 false
}

; whether an operand is a short list or tuple of numbers, so that a result beside an array is small
define internal i1 @are_few_numbers(ptr %object, ptr %host) {
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  br i1 %is_sequence, label %measure, label %no
measure:
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %is_short = icmp sle i64 %count, LOOKED_MOST
  %elements = call i64 @elements(ptr %host)
  %most = mul i64 %elements, %count
  %eager = call i64 @eager_size()
  %fits = icmp sle i64 %most, %eager
  %may = and i1 %is_short, %fits
  br i1 %may, label %look, label %no
look:
  %last = sub i64 %count, 1
  %are_numbers = call i1 @are_numeric(ptr %object, i1 %is_tuple, i64 %last, i64 1, i64 0)
  ret i1 %are_numbers
no:
  ret i1 false
}

; whether an object is a number of Python's or NumPy's
define internal i1 @is_number(ptr %object) {
  %kind = call ptr @kind(ptr %object)
  %is_number = call i1 @is_between(ptr %kind, i64 FIRST_NUMBER, i64 LAST_NUMBER)
  ret i1 %is_number
}

; whether an object is a Python int or float, or a float64
define internal i1 @is_usual_number(ptr %object) {
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  %is_float = call i1 @is(ptr %object, i64 T_FLOAT)
  %is_strong = call i1 @is(ptr %object, i64 T_STRONG)
  %is_pythons = or i1 %is_int, %is_float
  %is_usual = or i1 %is_pythons, %is_strong
  ret i1 %is_usual
}

; whether it is a number of which recipes are
define internal i1 @is_recorded_number(ptr %object) {
  %kind = call ptr @kind(ptr %object)
  %is_known = call i1 @is_between(ptr %kind, i64 FIRST_RECORDED, i64 LAST_RECORDED)
  ret i1 %is_known
}

; whether it is one of these that is real, or one that is not
define internal i1 @is_real_number(ptr %object) {
  %kind = call ptr @kind(ptr %object)
  %is_real = call i1 @is_between(ptr %kind, i64 FIRST_RECORDED, i64 LAST_REAL)
  ret i1 %is_real
}

define internal i1 @is_complex_number(ptr %object) {
  %kind = call ptr @kind(ptr %object)
  %is_complex = call i1 @is_between(ptr %kind, i64 LAST_REAL, i64 LAST_RECORDED)
  ret i1 %is_complex
}

; whether a type is one of the table's from a place to another
define internal i1 @is_between(ptr %type, i64 %first, i64 %last) {
  %word = ptrtoint ptr %type to i64
  br label %next
next:
  %i = phi i64 [ %first, %0 ], [ %after, %compare ]
  %is_over = icmp sge i64 %i, %last
  br i1 %is_over, label %no, label %compare
compare:
  %wanted = call i64 @entry(i64 %i)
  %after = add i64 %i, 1
  %is_it = icmp eq i64 %word, %wanted
  br i1 %is_it, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}
"""
