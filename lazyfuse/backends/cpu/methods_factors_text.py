"""How many times as large arguments make a result, as LLVM text; see `ops/rules.py`."""

FACTORS = """
; the product of the sizes of the arrays among arguments and of the integers; a size that nothing
; has where one is too large, or not known to be a factor, as integers in arrays that are no values
define internal i64 @times_size(ptr %given, i64 %count, i1 %are_values) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %multiply ]
  %size = phi i64 [ 1, %0 ], [ %product, %multiply ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %object = get ptr %given[%i]
  %after = add i64 %i, 1
  %is_array = call i1 @is(ptr %object, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %other
array:
  %elements = call i64 @elements(ptr %object)
  %counts = call i1 @has_integers(ptr %object)
  %is_later = icmp ne i64 %i, 0
  %may_count = and i1 %counts, %is_later
  %are_counts = xor i1 %are_values, true
  %is_count = and i1 %may_count, %are_counts
  br i1 %is_count, label %unknown, label %factor
other:
  br i1 %are_values, label %values, label %counted
values:
  %listed = call i64 @items_inside(ptr %object, i64 3)
  %is_single = icmp eq i64 %listed, 0
  br i1 %is_single, label %counted, label %factor
counted:
  %number = call i64 @times_factor(ptr %object, i64 2)
  br label %factor
factor:
  %own = phi i64 [ %elements, %array ], [ %listed, %values ], [ %number, %counted ]
  %is_large = icmp ugt i64 %own, 2147483648
  br i1 %is_large, label %unknown, label %multiply
multiply:
  %product = mul i64 %size, %own
  %is_beyond = icmp ugt i64 %product, 2147483648
  br i1 %is_beyond, label %unknown, label %next
done:
  ret i64 %size
unknown:
  ret i64 9223372036854775807
}

; how many items a list or tuple has, and those in it so many levels deep; a size that nothing has
; where there are more levels, 0 for what is no list, or for an empty one
define internal i64 @items_inside(ptr %object, i64 %levels) {
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  br i1 %is_sequence, label %look, label %none
none:
  ret i64 0
look:
  %is_flat = icmp sgt i64 %levels, 0
  br i1 %is_flat, label %items, label %unknown
items:
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %less = sub i64 %levels, 1
  br label %next
next:
  %i = phi i64 [ 0, %items ], [ %after, %add ]
  %size = phi i64 [ 0, %items ], [ %sum, %add ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %item
item:
  %object_inside = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %inside = call i64 @items_inside(ptr %object_inside, i64 %less)
  %after = add i64 %i, 1
  %is_one = icmp eq i64 %inside, 0
  %own = select i1 %is_one, i64 1, i64 %inside
  %is_large = icmp ugt i64 %own, 2147483648
  br i1 %is_large, label %unknown, label %add
add:
  %sum = add i64 %size, %own
  br label %next
done:
  ret i64 %size
unknown:
  ret i64 9223372036854775807
}

; whether an array has a dtype of integers
define internal i1 @has_integers(ptr %array) {
  %dtype = get ptr %array[DESCR]
  %kind_at = getelementptr i8, ptr %dtype, i64 24
  %kind = load i8, ptr %kind_at
  %is_signed = icmp eq i8 %kind, 105
  %is_unsigned = icmp eq i8 %kind, 117
  %is_either = or i1 %is_signed, %is_unsigned
  ret i1 %is_either
}

; how many times as large an argument that is no array makes a result: an integer, the product of
; those in a tuple or list so many levels deep, 1 for a float or None; a size that nothing has for
; all others
define internal i64 @times_factor(ptr %object, i64 %levels) {
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  br i1 %is_int, label %int, label %other
int:
  %value = call i64 @PyLong_AsLongLong(ptr %object)
  %is_minus_one = icmp eq i64 %value, -1
  br i1 %is_minus_one, label %clear, label %positive
clear:
  call void @PyErr_Clear()
  br label %unknown
positive:
  %is_some = icmp sgt i64 %value, 1
  %at_least_one = select i1 %is_some, i64 %value, i64 1
  ret i64 %at_least_one
other:
  %is_float = call i1 @is(ptr %object, i64 T_FLOAT)
  %none = call ptr @none()
  %is_none = icmp eq ptr %object, %none
  %is_no_factor = or i1 %is_float, %is_none
  br i1 %is_no_factor, label %one, label %sequence
one:
  ret i64 1
sequence:
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  %is_list = call i1 @is(ptr %object, i64 T_LIST)
  %is_sequence = or i1 %is_tuple, %is_list
  %is_flat = icmp sgt i64 %levels, 0
  %can_look = and i1 %is_sequence, %is_flat
  br i1 %can_look, label %items, label %unknown
items:
  %count = call i64 @length_of(ptr %object, i1 %is_tuple)
  %less = sub i64 %levels, 1
  br label %next
next:
  %i = phi i64 [ 0, %items ], [ %after, %multiply ]
  %size = phi i64 [ 1, %items ], [ %product, %multiply ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %item = call ptr @item_of(ptr %object, i1 %is_tuple, i64 %i)
  %after = add i64 %i, 1
  %own = call i64 @times_factor(ptr %item, i64 %less)
  %is_large = icmp ugt i64 %own, 2147483648
  br i1 %is_large, label %unknown, label %multiply
multiply:
  %product = mul i64 %size, %own
  %is_beyond = icmp ugt i64 %product, 2147483648
  br i1 %is_beyond, label %unknown, label %next
done:
  ret i64 %size
unknown:
  ret i64 9223372036854775807
}
"""
