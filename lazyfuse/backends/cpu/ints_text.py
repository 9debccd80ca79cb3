"""What Python's ints hold, as LLVM text: read where they lie, since shapes, strides and places are
ints of one digit, and CPython's own function takes longer than what is done with them.

Source: CPython, Include/cpython/longintrepr.h: behind the head of an object lies a word, and then
the digits. The word is the number of digits, negative for negative numbers; since 3.12 that number
times 8, and 0, 1 or 2 for a sign of plus, none or minus.
"""

from __future__ import annotations

import sys

_SHORT = """
  %sign_bits = and i64 %word, 3
  %sign = sub i64 1, %sign_bits
  %is_short = icmp ult i64 %word, 16
"""
_SHORT_OF_311 = """
  %sign = add i64 %word, 0
  %shifted = add i64 %word, 1
  %is_short = icmp ult i64 %shifted, 3
"""

INTS = f"""
; what an int holds, as PyLong_AsLong says it: -1 and an exception where it is too large
define internal i64 @int_value(ptr %object) {{{{
  %is_int = call i1 @is(ptr %object, i64 {{int_}})
  br i1 %is_int, label %look, label %ask
look:
  %word_at = getelementptr i8, ptr %object, i64 {object.__basicsize__}
  %word = load i64, ptr %word_at{_SHORT if sys.version_info >= (3, 12) else _SHORT_OF_311}\
  br i1 %is_short, label %short, label %ask
short:
  %digit_at = getelementptr i8, ptr %object, i64 {object.__basicsize__ + 8}
  %digit = load i32, ptr %digit_at
  %size = zext i32 %digit to i64
  %value = mul i64 %size, %sign
  ret i64 %value
ask:
  %number = call i64 @PyLong_AsLong(ptr %object)
  ret i64 %number
}}}}
"""
