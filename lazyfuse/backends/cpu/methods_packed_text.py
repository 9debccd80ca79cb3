"""Operands that do not lie as the result does, `where`, and products of small matrices, as LLVM
text; see `methods_quick_text.py`.
"""

from __future__ import annotations

PACKED = """
; the one of two operands whose shape the result may have: an array, the larger one
define internal ptr @quick_larger(ptr %a, ptr %b, i1 %a_is_array) {
  %b_is_array = call i1 @is(ptr %b, i64 T_NDARRAY)
  %are_arrays = and i1 %a_is_array, %b_is_array
  br i1 %are_arrays, label %compare, label %only
compare:
  %a_size = call i64 @elements(ptr %a)
  %b_size = call i64 @elements(ptr %b)
  %a_is_small = icmp slt i64 %a_size, %b_size
  %larger = select i1 %a_is_small, ptr %b, ptr %a
  ret ptr %larger
only:
  %found = select i1 %a_is_array, ptr %a, ptr %b
  ret ptr %found
}

define internal i64 @quick_bytes(ptr %array) {
  %dtype = get ptr %array[DESCR]
  %single = get ptr @state[DTYPE_SINGLE]
  %bool = get ptr @state[DTYPE_BOOL]
  %is_single = icmp eq ptr %dtype, %single
  %is_bool = icmp eq ptr %dtype, %bool
  %or_bool = select i1 %is_bool, i64 1, i64 8
  %bytes = select i1 %is_single, i64 4, i64 %or_bool
  ret i64 %bytes
}

; where the elements of an array lie in rows of the shape of another one, its own or to which it is
; broadcast: in its own memory, or copied; null for other shapes
define internal ptr @quick_packed(ptr %object, ptr %array, ptr %pack) {
  %bytes = call i64 @quick_bytes(ptr %object)
  %is_dense = call i1 @is_in_rows(ptr %object)
  %is_alike = call i1 @alike(ptr %object, ptr %array)
  %is_plain = and i1 %is_dense, %is_alike
  br i1 %is_plain, label %own, label %look
own:
  %data = get ptr %object[DATA]
  ret ptr %data
look:
  %is_line = call i1 @pack_line(ptr %object, i1 %is_alike, i64 %bytes, ptr %pack)
  br i1 %is_line, label %give, label %rows
rows:
  %array_is_dense = call i1 @is_in_rows(ptr %array)
  %are_dense = and i1 %is_dense, %array_is_dense
  br i1 %are_dense, label %broadcast, label %no
broadcast:
  %is_done = call i1 @pack_rows(ptr %object, ptr %array, i64 %bytes, ptr %pack)
  br i1 %is_done, label %give, label %no
give:
  ret ptr %pack
no:
  ret ptr null
}

; broadcasts a row, a column or an element; whether it is one of these
define internal i1 @pack_rows(ptr %object, ptr %array, i64 %bytes, ptr %pack) {
  %nd = get i32 %array[ND]
  %own_nd = get i32 %object[ND]
  %is_row = icmp eq i32 %own_nd, 1
  %is_matrix = icmp eq i32 %own_nd, 2
  %of_matrix = icmp eq i32 %nd, 2
  %both_matrices = and i1 %is_matrix, %of_matrix
  %has_axes = icmp sge i32 %nd, %own_nd
  %of_rows = or i1 %is_row, %both_matrices
  %can = and i1 %of_rows, %has_axes
  br i1 %can, label %look, label %no
look:
  %inner = call i64 @extent(ptr %array, i32 0)
  %own_inner = call i64 @extent(ptr %object, i32 0)
  %outer = call i64 @extent(ptr %array, i32 1)
  %own_outer = call i64 @extent(ptr %object, i32 1)
  %is_whole = icmp eq i64 %inner, %own_inner
  %is_single = icmp eq i64 %own_inner, 1
  %is_each = icmp eq i64 %outer, %own_outer
  %is_once = icmp eq i64 %own_outer, 1
  %fits_inner = or i1 %is_whole, %is_single
  %fits_outer = or i1 %is_each, %is_once
  %fits = and i1 %fits_inner, %fits_outer
  br i1 %fits, label %begin, label %no
begin:
  %data = get ptr %object[DATA]
  %size = call i64 @elements(ptr %array)
  %rows = udiv i64 %size, %inner
  %own_step = mul i64 %own_inner, %bytes
  %row_step = select i1 %is_once, i64 0, i64 %own_step
  %row_bytes = mul i64 %inner, %bytes
  br label %next
next:
  %r = phi i64 [ 0, %begin ], [ %r_after, %row_done ]
  %is_over = icmp sge i64 %r, %rows
  br i1 %is_over, label %yes, label %row
row:
  %skipped = mul i64 %r, %row_step
  %from = getelementptr i8, ptr %data, i64 %skipped
  %place = mul i64 %r, %row_bytes
  %to = getelementptr i8, ptr %pack, i64 %place
  br i1 %is_whole, label %copy, label %fill
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %row_bytes, i1 false)
  br label %row_done
fill:
  %is_filled = call i1
    @copy_line(ptr %to, i64 %bytes, ptr %from, i64 0, i64 %inner, i64 %bytes)
  br i1 %is_filled, label %row_done, label %no
row_done:
  %r_after = add i64 %r, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; where(condition, x, y) of a few elements; null where NumPy is to be asked
define internal ptr @quick_where(ptr %args) {
  %x_room = alloca [16 x i64], align 32
  %y_room = alloca [16 x i64], align 32
  %x_pack = alloca [QUICK_MOST x i64], align 32
  %y_pack = alloca [QUICK_MOST x i64], align 32
  %first = get ptr %args[0]
  %second = get ptr %args[1]
  %third = get ptr %args[2]
  %condition = call ptr @quick_operand(ptr %first)
  %x = call ptr @quick_operand(ptr %second)
  %y = call ptr @quick_operand(ptr %third)
  %no_condition = icmp eq ptr %condition, null
  %no_x = icmp eq ptr %x, null
  %no_y = icmp eq ptr %y, null
  %no_value = or i1 %no_x, %no_y
  %is_away = or i1 %no_condition, %no_value
  br i1 %is_away, label %no, label %look
look:
  %own = call ptr @quick_dtype(ptr %condition)
  %bool = get ptr @state[DTYPE_BOOL]
  %is_bool = icmp eq ptr %own, %bool
  br i1 %is_bool, label %rows, label %no
rows:
  %is_dense = call i1 @is_in_rows(ptr %condition)
  br i1 %is_dense, label %choose, label %no
choose:
  %dtype = call ptr @where_dtype(ptr %x, ptr %y)
  %loop = call ptr @quick_loop(ptr %dtype, ptr @where_double, ptr @where_single, ptr @where_long)
  %is_unknown = icmp eq ptr %loop, null
  br i1 %is_unknown, label %no, label %left
left:
  %x_data = call ptr
    @quick_data(ptr %x, ptr %condition, ptr %dtype, ptr %x_room, ptr %x_pack)
  %x_is_other = icmp eq ptr %x_data, null
  br i1 %x_is_other, label %no, label %right
right:
  %y_data = call ptr
    @quick_data(ptr %y, ptr %condition, ptr %dtype, ptr %y_room, ptr %y_pack)
  %y_is_other = icmp eq ptr %y_data, null
  br i1 %y_is_other, label %no, label %new
new:
  %made = call ptr @quick_new(ptr %condition, ptr %dtype)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %run
run:
  %count = call i64 @elements(ptr %condition)
  %out = get ptr %made[DATA]
  %chosen = get ptr %condition[DATA]
  %x_is_number = icmp eq ptr %x_data, %x_room
  %y_is_number = icmp eq ptr %y_data, %y_room
  %x_step = select i1 %x_is_number, i64 0, i64 1
  %y_step = select i1 %y_is_number, i64 0, i64 1
  call void %loop(ptr %out, ptr %chosen, ptr %x_data, i64 %x_step, ptr %y_data, i64 %y_step,
                  i64 %count)
  %none = call ptr @none()
  %result = call ptr @wrapped(ptr %made, ptr %none)
  %is_lost = icmp eq ptr %result, null
  br i1 %is_lost, label %clear, label %done
clear:
  call void @PyErr_Clear()
  br label %no
done:
  ret ptr %result
no:
  ret ptr null
}

; the dtype of what is chosen: that of the arrays, or of floats, or of ints; null for others, such
; as two numbers one of which is NumPy's and no float64
define internal ptr @where_dtype(ptr %x, ptr %y) {
  %x_is_array = call i1 @is(ptr %x, i64 T_NDARRAY)
  br i1 %x_is_array, label %of_x, label %not_x
of_x:
  %x_dtype = get ptr %x[DESCR]
  ret ptr %x_dtype
not_x:
  %y_is_array = call i1 @is(ptr %y, i64 T_NDARRAY)
  br i1 %y_is_array, label %of_y, label %numbers
of_y:
  %y_dtype = get ptr %y[DESCR]
  ret ptr %y_dtype
numbers:
  %x_is_int = call i1 @is(ptr %x, i64 T_INT)
  %y_is_int = call i1 @is(ptr %y, i64 T_INT)
  %are_ints = and i1 %x_is_int, %y_is_int
  %x_is_usual = call i1 @is_usual_number(ptr %x)
  %y_is_usual = call i1 @is_usual_number(ptr %y)
  %are_usual = and i1 %x_is_usual, %y_is_usual
  %long = get ptr @state[DTYPE_LONG]
  %double = get ptr @state[DTYPE_DOUBLE]
  %of_numbers = select i1 %are_ints, ptr %long, ptr %double
  %dtype = select i1 %are_usual, ptr %of_numbers, ptr null
  ret ptr %dtype
}

; x @ y of small matrices and vectors with a small result: null for others, 1 for an exception
define internal ptr @quick_matmul(ptr %self, ptr %other) {
  %is_ours = call i1 @is(ptr %other, i64 T_CLASS)
  br i1 %is_ours, label %hosts, label %no
hosts:
  %a = call ptr @quick_given(ptr %self)
  %no_a = icmp eq ptr %a, null
  br i1 %no_a, label %no, label %last
last:
  %b = call ptr @quick_given(ptr %other)
  %no_b = icmp eq ptr %b, null
  br i1 %no_b, label %drop_a, label %axes
axes:
  %a_nd = get i32 %a[ND]
  %b_nd = get i32 %b[ND]
  %a_flat = icmp ule i32 %a_nd, 2
  %b_flat = icmp ule i32 %b_nd, 2
  %are_flat = and i1 %a_flat, %b_flat
  br i1 %are_flat, label %measure, label %drop_both
measure:
  %a_rows = call i64 @extent(ptr %a, i32 1)
  %b_columns = call i64 @extent(ptr %b, i32 0)
  %size = mul i64 %a_rows, %b_columns
  %is_small = icmp ult i64 %size, QUICK_MOST
  br i1 %is_small, label %run, label %drop_both
run:
  %value = call ptr @PyNumber_MatrixMultiply(ptr %a, ptr %b)
  call void @Py_DecRef(ptr %b)
  call void @Py_DecRef(ptr %a)
  %none = call ptr @none()
  %made = call ptr @wrapped(ptr %value, ptr %none)
  %failed = icmp eq ptr %made, null
  %found = select i1 %failed, ptr inttoptr (i64 1 to ptr), ptr %made
  ret ptr %found
drop_both:
  call void @Py_DecRef(ptr %b)
  br label %drop_a
drop_a:
  call void @Py_DecRef(ptr %a)
  br label %no
no:
  ret ptr null
}
declare ptr @PyNumber_MatrixMultiply(ptr, ptr)
"""

#: Few elements of the engine, where they lie.
WINDOWS = """
; whether there are loops for a dtype, null for none
define internal i1 @is_of_loops(ptr %dtype) {
  %loop = call ptr @quick_loop(ptr %dtype, ptr @quick_loop, ptr @quick_loop, ptr @quick_loop)
  %bool = get ptr @state[DTYPE_BOOL]
  %is_bool = icmp eq ptr %dtype, %bool
  %is_number = icmp ne ptr %loop, null
  %has_loops = or i1 %is_bool, %is_number
  ret i1 %has_loops
}

; an operand, with a reference: the array of ours that is at hand, a window of few elements of the
; engine's memory, or of more in C order, a number; null for others
define internal ptr @quick_given(ptr %object) {
  %found = call ptr @quick_operand(ptr %object)
  %is_away = icmp eq ptr %found, null
  br i1 %is_away, label %look, label %give
give:
  call void @Py_IncRef(ptr %found)
  ret ptr %found
look:
  %is_ours = call i1 @is(ptr %object, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %no
ours:
  %is_put_off = call i1 @is_put_off(ptr %object)
  br i1 %is_put_off, label %no, label %kind
kind:
  %code = call ptr @code_shown(ptr %object)
  %dtype = call ptr @dtype_of(ptr %code)
  %has_loops = call i1 @is_of_loops(ptr %dtype)
  br i1 %has_loops, label %measure, label %no
measure:
  %layout = call ptr @get(ptr %object, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %count = call i64 @count_in(ptr %shape)
  %is_few = icmp ule i64 %count, QUICK_MOST
  br i1 %is_few, label %open, label %longer
longer:
  %is_moderate = icmp ule i64 %count, DENSE_MOST
  %in_order = call i64 @elements_in_order(ptr %layout)
  %is_dense = icmp ne i64 %in_order, 0
  %may_open = and i1 %is_moderate, %is_dense
  br i1 %may_open, label %open, label %no
open:
  %eager = call i64 @eager_size()
  %are_few = icmp slt i64 %eager, DENSE_MOST
  %most = select i1 %are_few, i64 %eager, i64 DENSE_MOST
  %are_any = icmp sgt i64 %most, 0
  br i1 %are_any, label %make, label %no
make:
  %window = call ptr @window_of(ptr %object, i64 %most, i32 0)
  ret ptr %window
no:
  ret ptr null
}

; as `quick_array`, of operands that may be in the engine's memory
define internal ptr @quick_of_windows(ptr %left, ptr %right, ptr %doubles, ptr %singles,
                                      ptr %longs, i64 %is_asked) {
  %a = call ptr @quick_given(ptr %left)
  %no_a = icmp eq ptr %a, null
  br i1 %no_a, label %no, label %last
last:
  %b = call ptr @quick_given(ptr %right)
  %no_b = icmp eq ptr %b, null
  br i1 %no_b, label %drop, label %run
run:
  %made = call ptr
    @quick_array(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs, i64 %is_asked, i1 true)
  %is_other = icmp eq ptr %made, null
  br i1 %is_other, label %longer, label %drop_both
longer:
  %made_of_more = call ptr
    @dense_array(ptr %a, ptr %b, ptr %doubles, ptr %singles, ptr %longs, i64 %is_asked)
  br label %drop_both
drop_both:
  %result = phi ptr [ %made, %run ], [ %made_of_more, %longer ]
  call void @Py_DecRef(ptr %b)
  br label %drop
drop:
  %found = phi ptr [ null, %last ], [ %result, %drop_both ]
  call void @Py_DecRef(ptr %a)
  ret ptr %found
no:
  ret ptr null
}
"""
