"""What tuples hold, as LLVM text: without CPython's own functions, which ask what is known here.

Source: CPython, Include/cpython/tupleobject.h: the number of items lies behind the head of an
object, and the items begin where an empty tuple would end.
"""

from __future__ import annotations

TUPLES = f"""
; how many items a tuple has
define internal i64 @tuple_size(ptr %tuple) alwaysinline {{
  %at = getelementptr i8, ptr %tuple, i64 {object.__basicsize__}
  %size = load i64, ptr %at
  ret i64 %size
}}

; an item of a tuple that has it, without a reference
define internal ptr @tuple_item(ptr %tuple, i64 %number) alwaysinline {{
  %items = getelementptr i8, ptr %tuple, i64 {tuple.__basicsize__}
  %at = getelementptr ptr, ptr %items, i64 %number
  %item = load ptr, ptr %at
  ret ptr %item
}}
"""
