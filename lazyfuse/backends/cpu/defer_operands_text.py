"""Operands of what is put off, as LLVM text; see `defer_text.py`."""

from __future__ import annotations

OPERANDS = """
declare double @llvm.fabs.f64(double)

; the kind of an array of NumPy's that nobody else can reach and that is C-contiguous
define internal i64 @kind_of(ptr %host) {
  %kind = call i64 @kind_with(ptr %host, i32 1)
  ret i64 %kind
}

; the same of one to which there are so many references
define internal i64 @kind_with(ptr %host, i32 %known) {
  %references = get i32 %host[REFERENCES]
  %is_own = icmp eq i32 %references, %known
  br i1 %is_own, label %look, label %no
look:
  %is_array = call i1 @is(ptr %host, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %no
array:
  %flags = get i32 %host[ARRAY_FLAGS]
  %plain_flags = and i32 %flags, 261
  %is_plain = icmp eq i32 %plain_flags, 261
  %base = get ptr %host[BASE]
  %is_root = icmp eq ptr %base, null
  %nd = get i32 %host[ND]
  %has_axes = icmp sgt i32 %nd, 0
  %is_array_root = and i1 %is_root, %has_axes
  %is_whole = and i1 %is_plain, %is_array_root
  %size = call i64 @elements(ptr %host)
  %has_any = icmp sgt i64 %size, 0
  %is_fit = and i1 %is_whole, %has_any
  br i1 %is_fit, label %dtype, label %no
dtype:
  %kind = call i64 @kind_by_dtype(ptr %host)
  ret i64 %kind
no:
  ret i64 OTHER
}

; where an object on the tape is in the index, or where it would come. Entries of tapes before are
; free ones
define internal ptr @index_at(ptr %object) {
  %address = ptrtoint ptr %object to i64
  %mixed = mul i64 %address, GOLDEN
  %start = lshr i64 %mixed, INDEX_SHIFT
  %stamp = call i64 @stamp()
  br label %next
next:
  %i = phi i64 [ %start, %0 ], [ %following, %other ]
  %place = mul i64 %i, INDEX_WORDS
  %at = getelementptr i64, ptr @entries, i64 %place
  %own = get i64 %at[INDEX_STAMP]
  %is_taken = icmp eq i64 %own, %stamp
  br i1 %is_taken, label %look, label %found
look:
  %held = get ptr %at[INDEX_OBJECT]
  %is_same = icmp eq ptr %held, %object
  br i1 %is_same, label %found, label %other
other:
  %after = add i64 %i, 1
  %following = and i64 %after, LAST_ENTRY
  br label %next
found:
  ret ptr %at
}

; what the entries of this tape are marked with; zeros are of none
define internal i64 @stamp() alwaysinline {
  %generation = get i64 @state[GENERATION]
  %stamp = add i64 %generation, 1
  ret i64 %stamp
}

; notes the number of an object on the tape; what an array was before it is written is forgotten
define internal void @note_number(ptr %object, i64 %number) {
  %at = call ptr @index_at(ptr %object)
  %stamp = call i64 @stamp()
  put ptr %object, %at[INDEX_OBJECT]
  put i64 %number, %at[INDEX_NUMBER]
  put i64 %stamp, %at[INDEX_STAMP]
  ret void
}

; the number as an operand of what is on the tape, the last one of an array that was written in
; place; -1 for what is not
define internal i64 @number_of(ptr %object) {
  %at = call ptr @index_at(ptr %object)
  %own = get i64 %at[INDEX_STAMP]
  %stamp = call i64 @stamp()
  %is_there = icmp eq i64 %own, %stamp
  %number = get i64 %at[INDEX_NUMBER]
  %found = select i1 %is_there, i64 %number, i64 -1
  ret i64 %found
}

; the kind of something on the tape, and the array whose shape it has
define internal i64 @kind_at(i64 %number, ptr %shape_at) {
  %is_row = icmp sge i64 %number, FIRST_ROW
  br i1 %is_row, label %at_row, label %at_leaf
at_row:
  %place = sub i64 %number, FIRST_ROW
  %row = call ptr @row(i64 %place)
  %row_shape = get ptr %row[ROW_SHAPE]
  store ptr %row_shape, ptr %shape_at
  %row_kind = get i64 %row[ROW_KIND]
  ret i64 %row_kind
at_leaf:
  %leaf = call ptr @leaf(i64 %number)
  %host = get ptr %leaf[LEAF_HOST]
  store ptr %host, ptr %shape_at
  %leaf_kind = get i64 %leaf[LEAF_KIND]
  ret i64 %leaf_kind
}

; the kind of an operand, and the array whose shape it has, null for a number
define internal i64 @seen(ptr %object, ptr %shape_at) {
  store ptr null, ptr %shape_at
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %other
ours:
  %at = call ptr @host_at(ptr %object)
  %host = load ptr, ptr %at
  %is_taken = icmp eq ptr %host, null
  br i1 %is_taken, label %taken, label %own
taken:
  %number = call i64 @number_of(ptr %object)
  %is_lost = icmp slt i64 %number, 0
  br i1 %is_lost, label %no, label %known
known:
  %known_kind = call i64 @kind_at(i64 %number, ptr %shape_at)
  ret i64 %known_kind
own:
  %kind = call i64 @kind_of(ptr %host)
  store ptr %host, ptr %shape_at
  ret i64 %kind
other:
  %is_float = call i1 @is(ptr %object, i64 T_FLOAT)
  br i1 %is_float, label %float, label %numpys
numpys:
  %is_strong = call i1 @is(ptr %object, i64 T_STRONG)
  br i1 %is_strong, label %strong, label %narrow
strong:
  ret i64 STRONG_NUMBER
narrow:
  %is_single = call i1 @is(ptr %object, i64 T_NUMPYS_FLOAT)
  br i1 %is_single, label %single, label %whole
single:
  ret i64 SINGLE_NUMBER
whole:
  %is_long = call i1 @is(ptr %object, i64 T_INT_LONG)
  %is_short = call i1 @is(ptr %object, i64 T_NUMPYS_INT)
  %is_numpys = or i1 %is_long, %is_short
  br i1 %is_numpys, label %strong_integer, label %integer
strong_integer:
  ret i64 STRONG_INTEGER
float:
  %float_value = call double @PyFloat_AsDouble(ptr %object)
  %size = call double @llvm.fabs.f64(double %float_value)
  %is_above = fcmp ogt double %size, 0x47EFFFFFE0000000
  %is_finite = fcmp olt double %size, 0x7FF0000000000000
  %is_large = and i1 %is_above, %is_finite
  %number_kind = select i1 %is_large, i64 LARGE_NUMBER, i64 NUMBER
  ret i64 %number_kind
integer:
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  br i1 %is_int, label %value, label %no
value:
  %integer_at = alloca i64
  %is_fine = call i1 @exact_integer(ptr %object, ptr %integer_at)
  br i1 %is_fine, label %fine, label %no
fine:
  %exact = load i64, ptr %integer_at
  %is_above_int8 = icmp ugt i64 %exact, 127
  %is_above_byte = icmp ugt i64 %exact, 255
  %is_above_short = icmp ugt i64 %exact, 32767
  %of_int8 = select i1 %is_above_int8, i64 ABOVE_SIGNED, i64 0
  %of_byte = select i1 %is_above_byte, i64 ABOVE_BYTE, i64 0
  %of_short = select i1 %is_above_short, i64 ABOVE_SHORT, i64 0
  %above_both = or i64 %of_int8, %of_byte
  %above_all = or i64 %above_both, %of_short
  %integer_kind = or i64 %above_all, INTEGER
  ret i64 %integer_kind
no:
  ret i64 OTHER
}

; stores the value of an int; whether a float holds it
define internal i1 @exact_integer(ptr %int, ptr %at) {
  %overflow_at = alloca i32
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %int, ptr %overflow_at)
  store i64 %value, ptr %at
  %overflow = load i32, ptr %overflow_at
  %is_within = icmp eq i32 %overflow, 0
  %above = add i64 %value, 9007199254740992
  %is_exact = icmp ule i64 %above, 18014398509481984
  %is_fine = and i1 %is_within, %is_exact
  ret i1 %is_fine
}

; the number of an operand on the tape, a new leaf where it is not there; -1 where there is no room
define internal i64 @operand_number(ptr %object, i64 %kind) {
  %known = call i64 @number_of(ptr %object)
  %is_new = icmp slt i64 %known, 0
  br i1 %is_new, label %new, label %old
old:
  ret i64 %known
new:
  %count = get i64 @state[LEAF_COUNT]
  %is_full = icmp sge i64 %count, MOST_LEAVES
  br i1 %is_full, label %full, label %add
full:
  ret i64 -1
add:
  %strong = and i64 %kind, NUMPYS_BITS
  %is_strong = icmp ne i64 %strong, 0
  br i1 %is_strong, label %plain, label %itself
plain:
  %value = call double @PyFloat_AsDouble(ptr %object)
  %float = call ptr @PyFloat_FromDouble(double %value)
  %failed = icmp eq ptr %float, null
  br i1 %failed, label %clear, label %write
clear:
  call void @PyErr_Clear()
  br label %itself
itself:
  call void @Py_IncRef(ptr %object)
  br label %write
write:
  %held = phi ptr [ %float, %plain ], [ %object, %itself ]
  %leaf = call ptr @leaf(i64 %count)
  put ptr %held, %leaf[LEAF_OBJECT]
  put i64 %kind, %leaf[LEAF_KIND]
  put ptr null, %leaf[LEAF_HOST]
  put i64 0, %leaf[LEAF_PLACE]
  call void @note_number(ptr %held, i64 %count)
  %more = add i64 %count, 1
  put i64 %more, @state[LEAF_COUNT]
  %number = and i64 %kind, NUMBERS
  %is_number = icmp ne i64 %number, 0
  br i1 %is_number, label %done, label %take
take:
  %at = call ptr @host_at(ptr %object)
  %host = load ptr, ptr %at
  store ptr null, ptr %at
  put ptr %host, %leaf[LEAF_HOST]
  br label %done
done:
  ret i64 %count
}

; whether an operand is an array that has no contents now, since it is on the tape
define internal i1 @is_on_tape(ptr %object) {
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %look, label %no
look:
  %at = call ptr @host_at(ptr %object)
  %host = load ptr, ptr %at
  %is_taken = icmp eq ptr %host, null
  ret i1 %is_taken
no:
  ret i1 false
}

; the kind of the result of an operation, and the shape to which the operands are broadcast is
; stored; OTHER where it cannot be put off, or is not worth it: what reads nothing that is on the
; tape, and is small
define internal i64 @surveyed(i64 %code, ptr %operands, i64 %count, ptr %shape_at) {
  %one_shape_at = alloca ptr
  store ptr null, ptr %shape_at
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %fit ]
  %first = phi i64 [ 0, %0 ], [ %first_now, %fit ]
  %others = phi i64 [ 0, %0 ], [ %others_now, %fit ]
  %continues = phi i1 [ false, %0 ], [ %continues_now, %fit ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %decide, label %look
look:
  %operand = get ptr %operands[%i]
  %is_taken = call i1 @is_on_tape(ptr %operand)
  %continues_now = or i1 %continues, %is_taken
  %kind = call i64 @seen(ptr %operand, ptr %one_shape_at)
  %is_other = icmp eq i64 %kind, OTHER
  br i1 %is_other, label %no, label %shapes
shapes:
  %shape = load ptr, ptr %shape_at
  %one_shape = load ptr, ptr %one_shape_at
  %wide = call ptr @wider(ptr %shape, ptr %one_shape)
  %before = icmp ne ptr %shape, null
  %is_array = icmp ne ptr %one_shape, null
  %has_shape = or i1 %before, %is_array
  %is_neither = icmp eq ptr %wide, null
  %differs = and i1 %has_shape, %is_neither
  br i1 %differs, label %no, label %fit
fit:
  store ptr %wide, ptr %shape_at
  %is_first = icmp eq i64 %i, 0
  %added = or i64 %others, %kind
  %first_now = select i1 %is_first, i64 %kind, i64 %first
  %others_now = select i1 %is_first, i64 0, i64 %added
  %after = add i64 %i, 1
  br label %next
decide:
  %result_shape = load ptr, ptr %shape_at
  %no_array = icmp eq ptr %result_shape, null
  br i1 %no_array, label %no, label %measure
measure:
  %size = call i64 @elements(ptr %result_shape)
  %result = call i64 @kind_by(i64 %code, i64 %first, i64 %others)
  %least = call i64 @least_of(i64 %result)
  %is_large = icmp sge i64 %size, %least
  %is_worth = or i1 %is_large, %continues
  %kind_then = select i1 %is_worth, i64 %result, i64 OTHER
  ret i64 %kind_then
no:
  ret i64 OTHER
}
"""
