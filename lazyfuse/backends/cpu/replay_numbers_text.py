"""Numbers that differ from call to call, for the kernels of a recording, as LLVM text; see
`replay.py`."""

from __future__ import annotations

NUMBERS = """
define internal void @clear(ptr %places, i64 %count) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %put ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %put
put:
  put ptr null, %places[%i]
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}

; do the arithmetic on the numbers of a call as Python does it: 1; 0 where it raises, or gives
; another type; -1 for an exception that is nobody's answer
define internal i32 @compute(ptr %entry, ptr %args, ptr %registers) {
  %count = get i64 %entry[REGISTER_COUNT]
  %begin = get ptr %entry[REGISTERS]
  %operands = alloca [2 x ptr]
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %set ]
  %row = phi ptr [ %begin, %0 ], [ %row_after, %set ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %function = get i64 %row[FUNCTION]
  %left = get i64 %row[LEFT]
  %kind = get ptr %row[RESULT_TYPE]
  switch i64 %function, label %call [
    i64 OF_ARGUMENT_ROW, label %argument  i64 OF_OBJECT_ROW, label %object
  ]
argument:
  %given = get ptr %args[%left]
  br label %known
object:
  %literal = inttoptr i64 %left to ptr
  br label %known
known:
  %number = phi ptr [ %given, %argument ], [ %literal, %object ]
  call void @Py_IncRef(ptr %number)
  br label %set
call:
  %right = get i64 %row[RIGHT]
  %is_unary = icmp slt i64 %right, 0
  %second_place = select i1 %is_unary, i64 %left, i64 %right
  %operand_count = select i1 %is_unary, i64 1, i64 2
  %first = get ptr %registers[%left]
  %second = get ptr %registers[%second_place]
  put ptr %first, %operands[0]
  put ptr %second, %operands[1]
  %callable = inttoptr i64 %function to ptr
  %made = call ptr @PyObject_Vectorcall(ptr %callable, ptr %operands, i64 %operand_count,
                                        ptr null)
  %raised = icmp eq ptr %made, null
  br i1 %raised, label %error, label %type
type:
  %made_type = get ptr %made[TYPE]
  %is_known = icmp eq ptr %made_type, %kind
  br i1 %is_known, label %set, label %other
other:
  call void @Py_DecRef(ptr %made)
  br label %fail
set:
  %value = phi ptr [ %number, %known ], [ %made, %type ]
  put ptr %value, %registers[%i]
  %after = add i64 %i, 1
  %row_after = getelementptr i64, ptr %row, i64 REGISTER_WORDS
  br label %next
done:
  ret i32 1
error:
  %exception = get ptr @table[EXCEPTION]
  %is_answer = call i32 @PyErr_ExceptionMatches(ptr %exception)
  %is_mine = icmp ne i32 %is_answer, 0
  br i1 %is_mine, label %fail, label %raise
raise:
  ret i32 -1
fail:
  call void @PyErr_Clear()
  ret i32 0
}

; the numbers that kernels take, as they take them; false for one that its dtype does not take
; without a word
define internal i1 @scalars(ptr %entry, ptr %registers, ptr %values) {
  %count = get i64 %entry[SCALAR_COUNT]
  %begin = get ptr %entry[SCALARS]
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %set ]
  %row = phi ptr [ %begin, %0 ], [ %row_after, %set ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %register = get i64 %row[SOURCE_REGISTER]
  %number = get ptr %registers[%register]
  %format = get i64 %row[FORMAT]
  switch i64 %format, label %float [ i64 SIGNED, label %signed  i64 UNSIGNED, label %unsigned ]
signed:
  %integer = call i64 @PyLong_AsLongLong(ptr %number)
  %low = get i64 %row[LOW]
  %high = get i64 %row[HIGH]
  %is_above = icmp sge i64 %integer, %low
  %is_below = icmp sle i64 %integer, %high
  %is_inside = and i1 %is_above, %is_below
  br i1 %is_inside, label %check, label %fail
unsigned:
  %natural = call i64 @PyLong_AsUnsignedLongLong(ptr %number)
  br label %check
check:
  %word = phi i64 [ %integer, %signed ], [ %natural, %unsigned ]
  %may_fail = icmp eq i64 %word, -1
  br i1 %may_fail, label %ask, label %set
ask:
  %error = call ptr @PyErr_Occurred()
  %is_clear = icmp eq ptr %error, null
  br i1 %is_clear, label %set, label %fail
float:
  %which = get i64 %row[IMAGINARY]
  %is_real = icmp eq i64 %which, 0
  br i1 %is_real, label %real, label %imaginary
real:
  %real_part = call double @PyComplex_RealAsDouble(ptr %number)
  br label %part
imaginary:
  %imaginary_part = call double @PyComplex_ImagAsDouble(ptr %number)
  br label %part
part:
  %part_value = phi double [ %real_part, %real ], [ %imaginary_part, %imaginary ]
  %may_be_error = fcmp oeq double %part_value, -1.0
  br i1 %may_be_error, label %ask_part, label %write
ask_part:
  %part_error = call ptr @PyErr_Occurred()
  %is_part = icmp eq ptr %part_error, null
  br i1 %is_part, label %write, label %fail
write:
  %float_bits = bitcast double %part_value to i64
  %is_double = icmp eq i64 %format, DOUBLE
  br i1 %is_double, label %set, label %single
single:
  %size = call double @llvm.fabs.f64(double %part_value)
  %is_finite = fcmp olt double %size, 0x7FF0000000000000
  %rounds_up = fcmp oge double %size, 0x47EFFFFFF0000000
  %is_too_large = and i1 %is_finite, %rounds_up
  br i1 %is_too_large, label %fail, label %round
round:
  %rounded = fptrunc double %part_value to float
  %half = bitcast float %rounded to i32
  %single_bits = zext i32 %half to i64
  br label %set
set:
  %bits = phi i64 [ %word, %check ], [ %word, %ask ], [ %float_bits, %write ],
                  [ %single_bits, %round ]
  put i64 %bits, %values[%i]
  %after = add i64 %i, 1
  %row_after = getelementptr i64, ptr %row, i64 SCALAR_WORDS
  br label %next
done:
  ret i1 true
fail:
  call void @PyErr_Clear()
  ret i1 false
}
"""
