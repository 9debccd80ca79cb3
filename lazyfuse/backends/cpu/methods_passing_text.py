"""Operators that use the memory of an operand, which nobody else can have, as LLVM text; see
`methods.py`, and `frontend/passing.py`, which says why."""

from __future__ import annotations

#: As `runtime/frames.py` has it.
ADDRESS = ~3
#: Kinds of dtypes that an operator keeps, besides those of floats.
KINDS = {"KINDS_COMPLEX": 1, "KINDS_INTEGERS": 2}


def kinds(letters: str) -> int:
    """The number of kinds by NumPy's letters."""
    return KINDS["KINDS_COMPLEX"] * ("c" in letters) | KINDS["KINDS_INTEGERS"] * ("i" in letters)


PASSING = """
; whether an array has one reference
define internal i1 @has_one_reference(ptr %array) alwaysinline {
  %references = load i32, ptr %array
  %is_alone = icmp eq i32 %references, 1
  ret i1 %is_alone
}

; whether the interpreter does an operator now that has these operands on its stack, and a
; reference to the one that is used there; false with an exception
define internal i1 @are_operands(ptr %first, ptr %second, ptr %used) {
  %variables = call i64 @entry(i64 T_FIRST_VARIABLE)
  %is_known = icmp sge i64 %variables, 0
  br i1 %is_known, label %frame, label %no
frame:
  %top = call ptr @PyEval_GetFrame()
  %has_none = icmp eq ptr %top, null
  br i1 %has_none, label %no, label %ask
ask:
  %code = call ptr @PyFrame_GetCode(ptr %top)
  %last = call i32 @PyFrame_GetLasti(ptr %top)
  %wide = sext i32 %last to i64
  %instruction = call ptr @PyLong_FromLong(i64 %wide)
  %function = call ptr @object(i64 T_LEFT_OF)
  %left = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %function, ptr %code, ptr %instruction, ptr null)
  call void @Py_DecRef(ptr %instruction)
  call void @Py_DecRef(ptr %code)
  %failed = icmp eq ptr %left, null
  br i1 %failed, label %no, label %place
place:
  %word = call i64 @PyLong_AsLong(ptr %left)
  call void @Py_DecRef(ptr %left)
  %is_operator = icmp sge i64 %word, 0
  br i1 %is_operator, label %compare, label %no
compare:
  %memory_place = call i64 @entry(i64 T_FRAME_MEMORY)
  %memory_at = getelementptr i8, ptr %top, i64 %memory_place
  %memory = load ptr, ptr %memory_at
  %first_at = getelementptr i8, ptr %memory, i64 %variables
  %next_word = add i64 %word, 1
  %one = get i64 %first_at[%word]
  %other = get i64 %first_at[%next_word]
  %one_address = and i64 %one, STACK_ADDRESS
  %other_address = and i64 %other, STACK_ADDRESS
  %first_address = ptrtoint ptr %first to i64
  %second_address = ptrtoint ptr %second to i64
  %used_address = ptrtoint ptr %used to i64
  %is_first = icmp eq i64 %one_address, %first_address
  %is_second = icmp eq i64 %other_address, %second_address
  %has_one = icmp eq i64 %one, %used_address
  %has_other = icmp eq i64 %other, %used_address
  %has_used = or i1 %has_one, %has_other
  %are_both = and i1 %is_first, %is_second
  %are_operands = and i1 %are_both, %has_used
  ret i1 %are_operands
no:
  ret i1 false
}

; whether the result of an operator has the dtype, of floats or of other kinds (`KINDS`), the shape
; and the memory order of its first operand, which is computed memory of the engine and all of it;
; `changed` asks whether it is lent to nobody
define internal i1 @gives_alike(ptr %first, ptr %second, i64 %kinds) {
  %is_an_array = call i1 @is(ptr %first, i64 T_CLASS)
  br i1 %is_an_array, label %engines, label %no
engines:
  %is_engines = call i1 @is_engines(ptr %first)
  br i1 %is_engines, label %whole, label %no
whole:
  %node = call ptr @memory(ptr %first)
  %buffer = call ptr @get(ptr %node, i64 NODE_BUFFER)
  %is_memory = call i1 @is(ptr %buffer, i64 T_MEMORY)
  %owner = call ptr @get(ptr %first, i64 HANDLE_OWNER)
  %none = call ptr @none()
  %is_own = icmp eq ptr %owner, %none
  %is_uncast = call i1 @is_uncast(ptr %first)
  %is_whole = and i1 %is_own, %is_uncast
  %can = and i1 %is_memory, %is_whole
  br i1 %can, label %kind, label %no
kind:
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %letter = call i32 @PyUnicode_ReadChar(ptr %code, i64 0)
  %bytes = call i64 @item_bytes(ptr %code)
  %is_float = icmp eq i32 %letter, LETTER_F
  %is_wide = icmp ugt i64 %bytes, 2
  %is_known = and i1 %is_float, %is_wide
  %is_complex = icmp eq i32 %letter, LETTER_C
  %is_signed = icmp eq i32 %letter, LETTER_I
  %is_unsigned = icmp eq i32 %letter, LETTER_U
  %is_integer = or i1 %is_signed, %is_unsigned
  %of_complex = select i1 %is_complex, i64 KINDS_COMPLEX, i64 0
  %wanted = select i1 %is_integer, i64 KINDS_INTEGERS, i64 %of_complex
  %among = and i64 %kinds, %wanted
  %is_among = icmp ne i64 %among, 0
  %is_kept = or i1 %is_known, %is_among
  br i1 %is_kept, label %other, label %no
other:
  %is_ours = call i1 @is(ptr %second, i64 T_CLASS)
  br i1 %is_ours, label %array, label %number
number:
  %is_weak_float = call i1 @is(ptr %second, i64 T_FLOAT)
  %is_weak_int = call i1 @is(ptr %second, i64 T_INT)
  %is_strong = call i1 @is(ptr %second, i64 T_STRONG)
  %double_bytes = select i1 %is_complex, i64 16, i64 8
  %is_double = icmp eq i64 %bytes, %double_bytes
  %is_same_kind = and i1 %is_strong, %is_double
  %is_inexact = or i1 %is_weak_float, %is_same_kind
  %fits_inexact = select i1 %is_integer, i1 false, i1 %is_inexact
  %fits = or i1 %is_weak_int, %fits_inexact
  ret i1 %fits
array:
  %is_large = call i1 @is_engines(ptr %second)
  br i1 %is_large, label %dtypes, label %no
dtypes:
  %their_node = call ptr @memory(ptr %second)
  %their_code = call ptr @get(ptr %their_node, i64 NODE_DTYPE)
  %are_equal = call i32 @PyObject_RichCompareBool(ptr %code, ptr %their_code, i32 2)
  %is_equal = icmp eq i32 %are_equal, 1
  %is_plain = call i1 @is_uncast(ptr %second)
  %are_alike = and i1 %is_equal, %is_plain
  br i1 %are_alike, label %shapes, label %no
shapes:
  %layout = call ptr @get(ptr %first, i64 HANDLE_LAYOUT)
  %their_layout = call ptr @get(ptr %second, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %their_shape = call ptr @tuple_item(ptr %their_layout, i64 0)
  %have_one_shape = call i32 @PyObject_RichCompareBool(ptr %shape, ptr %their_shape, i32 2)
  %has_one_shape = icmp eq i32 %have_one_shape, 1
  br i1 %has_one_shape, label %axes, label %no
axes:
  %count = call i64 @tuple_size(ptr %shape)
  %is_line = icmp eq i64 %count, 1
  br i1 %is_line, label %yes, label %steps
steps:
  %strides = call ptr @tuple_item(ptr %layout, i64 1)
  %their_strides = call ptr @tuple_item(ptr %their_layout, i64 1)
  %have_one_order = call i32 @PyObject_RichCompareBool(ptr %strides, ptr %their_strides, i32 2)
  %has_one_order = icmp eq i32 %have_one_order, 1
  ret i1 %has_one_order
yes:
  ret i1 true
no:
  ret i1 false
}

; an operand of an operator, changed to be the result, where the interpreter's stack has the only
; reference to it and NumPy computes that at once: the first one, or the second where the operands
; may change places (`commutes`). Null for others, and for an exception
define internal ptr @reused(ptr %changing, i1 %commutes, i64 %kinds, ptr %first, ptr %second) {
  %first_is_alone = call i1 @has_one_reference(ptr %first)
  br i1 %first_is_alone, label %left, label %other
left:
  %is_like_first = call i1 @gives_alike(ptr %first, ptr %second, i64 %kinds)
  br i1 %is_like_first, label %ask, label %other
other:
  %second_is_alone = call i1 @has_one_reference(ptr %second)
  %can = and i1 %commutes, %second_is_alone
  br i1 %can, label %right, label %no
right:
  %is_like_second = call i1 @gives_alike(ptr %second, ptr %first, i64 %kinds)
  br i1 %is_like_second, label %ask, label %no
ask:
  %array = phi ptr [ %first, %left ], [ %second, %right ]
  %given = phi ptr [ %second, %left ], [ %first, %right ]
  %are_operands = call i1 @are_operands(ptr %first, ptr %second, ptr %array)
  %is_still_alone = call i1 @has_one_reference(ptr %array)
  %is_passing = and i1 %are_operands, %is_still_alone
  br i1 %is_passing, label %change, label %no
change:
  call void @Py_IncRef(ptr %array)
  %done = call i32 @changed(ptr %changing, ptr null, ptr %array, ptr %given)
  %is_done = icmp eq i32 %done, 1
  br i1 %is_done, label %give, label %leave
give:
  ret ptr %array
leave:
  call void @Py_DecRef(ptr %array)
  ret ptr null
no:
  ret ptr null
}

; an operator of an array of the engine, as `large` does it
define internal ptr @large_or_reused(i64 %recipes, i64 %method, ptr %first, ptr %second, ptr %self,
                                     ptr %other, ptr %function, ptr %changing, i1 %commutes,
                                     i64 %kinds) {
  %reused = call ptr
    @reused(ptr %changing, i1 %commutes, i64 %kinds, ptr %first, ptr %second)
  %is_other = icmp eq ptr %reused, null
  br i1 %is_other, label %look, label %give
give:
  ret ptr %reused
look:
  %error = call ptr @PyErr_Occurred()
  %has_failed = icmp ne ptr %error, null
  br i1 %has_failed, label %fail, label %make
make:
  %made = call ptr @large(i64 %recipes, i64 %method, ptr %first, ptr %second, ptr %self,
                          ptr %other, ptr %function)
  ret ptr %made
fail:
  ret ptr null
}
"""
