"""Small arrays of a few numbers in lists, as LLVM text; see `methods_makers_text.py`.

To look at numbers of exact types runs nobody's code, and what NumPy makes of them is known: floats
where one of them is a float, else integers.
"""

from __future__ import annotations

#: Numbers that are looked at, twice: NumPy is as fast with more.
BOUNDS = {"NUMBERS_MOST": 64}

NUMBERS = """
declare i32 @llvm.smax.i32(i32, i32)

; a new array of NumPy's of a few numbers in a list or tuple, or in as many such of one length;
; `asked`: its dtype, null for that of the numbers. Null for others, and for more than `most`
define internal ptr @made_of_numbers(ptr %object, ptr %asked, i64 %most) {
  %extents = alloca [2 x i64]
  %kind = call i32 @numbers_in(ptr %object, ptr %extents)
  %is_other = icmp eq i32 %kind, 0
  br i1 %is_other, label %no, label %dtype
dtype:
  %double = get ptr @state[DTYPE_DOUBLE]
  %long = get ptr @state[DTYPE_LONG]
  %are_ints = icmp eq i32 %kind, 1
  %own = select i1 %are_ints, ptr %long, ptr %double
  %is_bare = icmp eq ptr %asked, null
  %wanted = select i1 %is_bare, ptr %own, ptr %asked
  %is_double = icmp eq ptr %wanted, %double
  %is_own = icmp eq ptr %wanted, %own
  %can = or i1 %is_double, %is_own
  br i1 %can, label %room, label %no
room:
  %rows = get i64 %extents[0]
  %columns = get i64 %extents[1]
  %is_line = icmp slt i64 %columns, 0
  %width = select i1 %is_line, i64 1, i64 %columns
  %elements = mul i64 %rows, %width
  %is_small = icmp sle i64 %elements, %most
  br i1 %is_small, label %make, label %no
make:
  %axes = select i1 %is_line, i32 1, i32 2
  %made = call ptr @array_of_extents(ptr %wanted, i32 %axes, ptr %extents)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %fill
fill:
  %data = get ptr %made[DATA]
  br i1 %is_line, label %line, label %next
line:
  call void @fill_numbers(ptr %object, ptr %data, i1 %is_double)
  ret ptr %made
next:
  %i = phi i64 [ 0, %fill ], [ %after, %row ]
  %is_over = icmp sge i64 %i, %rows
  br i1 %is_over, label %done, label %row
row:
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %before = mul i64 %i, %width
  %at = getelementptr i64, ptr %data, i64 %before
  call void @fill_numbers(ptr %item, ptr %at, i1 %is_double)
  %after = add i64 %i, 1
  br label %next
done:
  ret ptr %made
no:
  ret ptr null
}

; of a list or tuple of numbers, or of lists or tuples of numbers that are as long: 1 where all are
; ints of 64 bits, 2 where some are floats; and both lengths, -1 for the second of a single list. 0
; for others
define internal i32 @numbers_in(ptr %object, ptr %extents) {
  %first_extents = getelementptr i64, ptr %extents, i64 1
  %own = call i32 @numbers_in_line(ptr %object, ptr %extents)
  %is_line = icmp ne i32 %own, 0
  br i1 %is_line, label %line, label %look
line:
  store i64 -1, ptr %first_extents
  ret i32 %own
look:
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  br i1 %is_sequence, label %measure, label %no
measure:
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %less = sub i64 %count, 1
  %are_few = icmp ult i64 %less, NUMBERS_MOST
  br i1 %are_few, label %begin, label %no
begin:
  store i64 %count, ptr %extents
  store i64 -1, ptr %first_extents
  %width_at = alloca i64
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %after, %same ]
  %kind = phi i32 [ 1, %begin ], [ %kind_now, %same ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %row
row:
  %item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %found = call i32 @numbers_in_line(ptr %item, ptr %width_at)
  %is_other = icmp eq i32 %found, 0
  br i1 %is_other, label %no, label %compare
compare:
  %width = load i64, ptr %width_at
  %known = load i64, ptr %first_extents
  %is_first = icmp slt i64 %known, 0
  %is_equal = icmp eq i64 %width, %known
  %fits = or i1 %is_first, %is_equal
  %elements = mul i64 %width, %count
  %is_room = icmp ule i64 %elements, NUMBERS_MOST
  %can = and i1 %fits, %is_room
  br i1 %can, label %same, label %no
same:
  store i64 %width, ptr %first_extents
  %after = add i64 %i, 1
  %kind_now = call i32 @llvm.smax.i32(i32 %kind, i32 %found)
  br label %next
done:
  ret i32 %kind
no:
  ret i32 0
}

; the same of one list or tuple, with its length
define internal i32 @numbers_in_line(ptr %object, ptr %count_at) {
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  br i1 %is_sequence, label %measure, label %no
measure:
  %overflow_at = alloca i32
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  store i64 %count, ptr %count_at
  %less = sub i64 %count, 1
  %are_few = icmp ult i64 %less, NUMBERS_MOST
  br i1 %are_few, label %next, label %no
next:
  %i = phi i64 [ 0, %measure ], [ %after, %float ], [ %after, %int ]
  %kind = phi i32 [ 1, %measure ], [ 2, %float ], [ %kind, %int ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %after = add i64 %i, 1
  %is_pythons = call i1 @is(ptr %item, i64 T_FLOAT)
  %is_numpys = call i1 @is(ptr %item, i64 T_STRONG)
  %is_float = or i1 %is_pythons, %is_numpys
  br i1 %is_float, label %float, label %other
float:
  br label %next
other:
  %is_int = call i1 @is(ptr %item, i64 T_INT)
  br i1 %is_int, label %value, label %no
value:
  %number = call i64 @PyLong_AsLongLongAndOverflow(ptr %item, ptr %overflow_at)
  %overflow = load i32, ptr %overflow_at
  %is_within = icmp eq i32 %overflow, 0
  br i1 %is_within, label %int, label %no
int:
  br label %next
done:
  ret i32 %kind
no:
  ret i32 0
}

; writes the numbers of a list or tuple as floats, or as the integers that they are
define internal void @fill_numbers(ptr %object, ptr %data, i1 %as_floats) {
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %overflow_at = alloca i32
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %float ], [ %after, %keep ], [ %after, %convert ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %at = getelementptr i64, ptr %data, i64 %i
  %after = add i64 %i, 1
  %is_int = call i1 @is(ptr %item, i64 T_INT)
  br i1 %is_int, label %int, label %float
float:
  %real = call double @PyFloat_AsDouble(ptr %item)
  store double %real, ptr %at
  br label %next
int:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %item, ptr %overflow_at)
  br i1 %as_floats, label %convert, label %keep
keep:
  store i64 %whole, ptr %at
  br label %next
convert:
  %converted = sitofp i64 %whole to double
  store double %converted, ptr %at
  br label %next
done:
  ret void
}
"""
