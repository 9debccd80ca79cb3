"""How many elements of an array a key with arrays picks, as LLVM text; see `methods.py` and
`methods_keys_text.py`."""

from __future__ import annotations

from lazyfuse.ops.rules import PICKED, PICKED_ROWS, ROW

#: The true elements and all elements of a mask of a whole array that NumPy walks in less time than
#: the engine's own code is called in.
BOUNDS = {"SPARSE_MOST": 4096, "MASKED_MOST": 1 << 17,
          "PICKED_MOST": PICKED, "PICKED_ROWS_MOST": PICKED_ROWS, "ROW_LEAST": ROW}  # fmt: skip

PICKED_SIZES = """
; whether an array is a mask
define internal i1 @is_mask(ptr %array) {
  %number = call i32 @dtype_number(ptr %array)
  %is_mask = icmp eq i32 %number, 0
  ret i1 %is_mask
}

; how many axes a key of NumPy's, of so many items, uses up: -1 where it has more than one ...
define internal i64 @axes_of_key(ptr %key, i1 %is_tuple, i64 %items) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %axes = phi i64 [ 0, %0 ], [ %axes_after, %more ]
  %dots = phi i64 [ 0, %0 ], [ %dots_after, %more ]
  %is_over = icmp sge i64 %i, %items
  br i1 %is_over, label %done, label %look
look:
  %item = call ptr @key_item(ptr %key, i1 %is_tuple, i64 %i)
  %is_array = call i1 @is(ptr %item, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %other
array:
  %is_mask = call i1 @is_mask(ptr %item)
  %own = get i32 %item[ND]
  %own_axes = sext i32 %own to i64
  %taken = select i1 %is_mask, i64 %own_axes, i64 1
  br label %more
other:
  %is_dots = call i1 @is(ptr %item, i64 T_ELLIPSIS)
  %is_new = call i1 @is(ptr %item, i64 T_NONE_TYPE)
  %is_none = or i1 %is_dots, %is_new
  %takes = xor i1 %is_none, true
  %one = zext i1 %takes to i64
  br label %more
more:
  %each = phi i64 [ %taken, %array ], [ %one, %other ]
  %dot = phi i1 [ false, %array ], [ %is_dots, %other ]
  %axes_after = add i64 %axes, %each
  %one_dot = zext i1 %dot to i64
  %dots_after = add i64 %dots, %one_dot
  %after = add i64 %i, 1
  br label %next
done:
  %are_clear = icmp sle i64 %dots, 1
  %found = select i1 %are_clear, i64 %axes, i64 -1
  ret i64 %found
}

; the number of elements that extents make, some of them
define internal i64 @product_of(ptr %extents, i64 %from, i64 %to) {
  br label %next
next:
  %i = phi i64 [ %from, %0 ], [ %after, %more ]
  %product = phi i64 [ 1, %0 ], [ %larger, %more ]
  %is_over = icmp sge i64 %i, %to
  br i1 %is_over, label %done, label %more
more:
  %extent = get i64 %extents[%i]
  %larger = mul i64 %product, %extent
  %after = add i64 %i, 1
  br label %next
done:
  ret i64 %product
}

; broadcasts an extent with that of so many axes before the last; whether that can be
define internal i1 @spread_axis(ptr %together, i64 %axis, i64 %extent) {
  %known = get i64 %together[%axis]
  %is_one = icmp eq i64 %extent, 1
  %was_one = icmp eq i64 %known, 1
  %is_same = icmp eq i64 %extent, %known
  %either = or i1 %is_one, %was_one
  %fits = or i1 %either, %is_same
  %new = select i1 %is_one, i64 %known, i64 %extent
  put i64 %new, %together[%axis]
  ret i1 %fits
}

; the same with the shape of an array of integers
define internal i1 @spread_array(ptr %together, ptr %array) {
  %axes = get i32 %array[ND]
  %are_few = icmp sle i32 %axes, MOST_AXES
  br i1 %are_few, label %next, label %no
next:
  %i = phi i32 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i32 %i, %axes
  br i1 %is_over, label %yes, label %look
look:
  %extent = call i64 @extent(ptr %array, i32 %i)
  %axis = sext i32 %i to i64
  %after = add i32 %i, 1
  %fits = call i1 @spread_axis(ptr %together, i64 %axis, i64 %extent)
  br i1 %fits, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; the same with what a mask picks of axes that have these extents; whether it is of their shape
define internal i1 @spread_mask(ptr %together, ptr %mask, ptr %extents) {
  %axes = get i32 %mask[ND]
  %own = get ptr %mask[DIMENSIONS]
  br label %next
next:
  %i = phi i32 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i32 %i, %axes
  br i1 %is_over, label %count, label %look
look:
  %wide = sext i32 %i to i64
  %extent = get i64 %own[%wide]
  %wanted = get i64 %extents[%wide]
  %is_same = icmp eq i64 %extent, %wanted
  %after = add i32 %i, 1
  br i1 %is_same, label %next, label %no
count:
  %counter = call ptr @object(i64 T_COUNT_NONZERO)
  %true = call i64 %counter(ptr %mask)
  %fits = call i1 @spread_axis(ptr %together, i64 0, i64 %true)
  ret i1 %fits
no:
  ret i1 false
}

; whether a key of NumPy's is a mask of all axes
define internal i1 @is_whole_mask(ptr %memory, ptr %key) {
  %is_array = call i1 @is(ptr %key, i64 T_NDARRAY)
  br i1 %is_array, label %look, label %no
look:
  %is_mask = call i1 @is_mask(ptr %key)
  %axes = get i32 %memory[ND]
  %own = get i32 %key[ND]
  %is_of_all = icmp eq i32 %axes, %own
  %is_whole = and i1 %is_mask, %is_of_all
  ret i1 %is_whole
no:
  ret i1 false
}

; how many elements such a mask picks; -1 where these are not few, and for one of another shape
define internal i64 @sparse_size(ptr %memory, ptr %mask) {
  %all = call i64 @elements(ptr %memory)
  %are_few = icmp sle i64 %all, MASKED_MOST
  %is_alike = call i1 @alike(ptr %memory, ptr %mask)
  %may = and i1 %are_few, %is_alike
  br i1 %may, label %count, label %no
count:
  %counter = call ptr @object(i64 T_COUNT_NONZERO)
  %true = call i64 %counter(ptr %mask)
  %is_sparse = icmp sle i64 %true, SPARSE_MOST
  br i1 %is_sparse, label %give, label %no
give:
  ret i64 %true
no:
  ret i64 -1
}

; how many elements a key of NumPy's picks; -1 for a mask of all axes that picks many, for which
; there is a shorter way, for what is not looked into (where it is out of bounds, NumPy says so),
; and for more elements than are picked at once, or so many of small arrays
define internal i64 @picked_size(ptr %memory, ptr %key, i64 %eager) {
  %together = alloca [MOST_AXES x i64]
  %start_at = alloca i64
  %stop_at = alloca i64
  %step_at = alloca i64
  %extents = get ptr %memory[DIMENSIONS]
  %all = get i32 %memory[ND]
  %axes = sext i32 %all to i64
  %is_tuple = call i1 @is(ptr %key, i64 T_TUPLE)
  %items = call i64 @items_of(ptr %key, i1 %is_tuple)
  %taken = call i64 @axes_of_key(ptr %key, i1 %is_tuple, i64 %items)
  %fits = icmp ule i64 %taken, %axes
  br i1 %fits, label %whole, label %no
whole:
  %is_whole = call i1 @is_whole_mask(ptr %memory, ptr %key)
  br i1 %is_whole, label %all_axes, label %clear
all_axes:
  %sparse = call i64 @sparse_size(ptr %memory, ptr %key)
  ret i64 %sparse
clear:
  %at = phi i64 [ 0, %whole ], [ %at_after, %clear ]
  put i64 1, %together[%at]
  %at_after = add i64 %at, 1
  %is_clear = icmp sge i64 %at_after, MOST_AXES
  br i1 %is_clear, label %next, label %clear
next:
  %i = phi i64 [ 0, %clear ], [ %after, %more ]
  %axis = phi i64 [ 0, %clear ], [ %axis_after, %more ]
  %size = phi i64 [ 1, %clear ], [ %size_after, %more ]
  %is_over = icmp sge i64 %i, %items
  br i1 %is_over, label %done, label %look
look:
  %item = call ptr @key_item(ptr %key, i1 %is_tuple, i64 %i)
  %after = add i64 %i, 1
  %own_extents = getelementptr i64, ptr %extents, i64 %axis
  %is_array = call i1 @is(ptr %item, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %other
array:
  %is_part_mask = call i1 @is_mask(ptr %item)
  br i1 %is_part_mask, label %mask, label %integers
mask:
  %mask_axes = get i32 %item[ND]
  %wide_axes = sext i32 %mask_axes to i64
  %is_of_shape = call i1 @spread_mask(ptr %together, ptr %item, ptr %own_extents)
  br i1 %is_of_shape, label %more, label %no
integers:
  %are_spread = call i1 @spread_array(ptr %together, ptr %item)
  br i1 %are_spread, label %more, label %no
other:
  %is_slice = call i1 @is(ptr %item, i64 T_SLICE)
  br i1 %is_slice, label %slice, label %new
slice:
  %unpacked = call i32 @PySlice_Unpack(ptr %item, ptr %start_at, ptr %stop_at, ptr %step_at)
  %is_wrong = icmp slt i32 %unpacked, 0
  br i1 %is_wrong, label %forget, label %sliced
forget:
  call void @PyErr_Clear()
  br label %no
sliced:
  %extent = load i64, ptr %own_extents
  %step = load i64, ptr %step_at
  %length = call i64 @PySlice_AdjustIndices(i64 %extent, ptr %start_at, ptr %stop_at, i64 %step)
  br label %more
new:
  %is_new = call i1 @is(ptr %item, i64 T_NONE_TYPE)
  br i1 %is_new, label %more, label %dots
dots:
  %is_dots = call i1 @is(ptr %item, i64 T_ELLIPSIS)
  br i1 %is_dots, label %skip, label %more
skip:
  %skipped = sub i64 %axes, %taken
  %behind = add i64 %axis, %skipped
  %left = call i64 @product_of(ptr %extents, i64 %axis, i64 %behind)
  br label %more
more:
  %each = phi i64 [ 1, %mask ], [ 1, %integers ], [ %length, %sliced ], [ 1, %new ],
                  [ 1, %dots ], [ %left, %skip ]
  %further = phi i64 [ %wide_axes, %mask ], [ 1, %integers ], [ 1, %sliced ], [ 0, %new ],
                     [ 1, %dots ], [ %skipped, %skip ]
  %axis_after = add i64 %axis, %further
  %size_after = mul i64 %size, %each
  br label %next
done:
  %rest = call i64 @product_of(ptr %extents, i64 %axis, i64 %axes)
  %picked = call i64 @product_of(ptr %together, i64 0, i64 MOST_AXES)
  %inside = mul i64 %size, %rest
  %found = mul i64 %inside, %picked
  %are_rows = icmp sge i64 %inside, ROW_LEAST
  %most = select i1 %are_rows, i64 PICKED_ROWS_MOST, i64 PICKED_MOST
  %bound = call i64 @llvm.smax.i64(i64 %eager, i64 %most)
  %is_small = icmp ule i64 %found, %bound
  br i1 %is_small, label %give, label %no
give:
  ret i64 %found
no:
  ret i64 -1
}
"""
