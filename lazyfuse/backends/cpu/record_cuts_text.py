"""Recording in machine code: layouts of views that come again, as LLVM text; see `record_text.py`.

The shape and the strides of a row or a column are those of the array without an axis: made once
for the last array. Parts (`u[1:-1, 2:]`) have the layout that came of the same layout and key,
while nothing else has taken its place in a table. Results of one operation share a layout.
"""

#: Entries of the table, as a power of two, and words of each: those that tell a key, at most 14,
#: then the layout, and of the last one all words mixed.
_ENTRY_BITS = 8
TABLE = {
    "kept_entries": 1 << _ENTRY_BITS, "kept_shift": 64 - _ENTRY_BITS, "kept_words": 16,
    "kept_layout": 14, "kept_mixed": 15,
}  # fmt: skip

CUTS = """
; the axes of a shape and of strides from one to another, with references. Those of the rows and
; those of the columns of the last array stay, since most come again. Whether there was memory.
; To make a tuple may collect garbage, and a finalizer may come here, too
define internal i1 @axes_of(ptr %extents, ptr %steps, i64 %from, i64 %to, ptr %cut) {{
  %second = shl i64 %from, 2
  %known = getelementptr ptr, ptr @cuts, i64 %second
  %steps_at = getelementptr ptr, ptr %known, i64 1
  %shape_at = getelementptr ptr, ptr %known, i64 2
  %strides_at = getelementptr ptr, ptr %known, i64 3
  %known_extents = load ptr, ptr %known
  %known_steps = load ptr, ptr %steps_at
  %known_shape = load ptr, ptr %shape_at
  %known_strides = load ptr, ptr %strides_at
  %is_shape = icmp eq ptr %known_extents, %extents
  %is_strides = icmp eq ptr %known_steps, %steps
  %is_known = and i1 %is_shape, %is_strides
  br i1 %is_known, label %give, label %make
make:
  call void @Py_IncRef(ptr %extents)
  call void @Py_IncRef(ptr %steps)
  %made_shape = call ptr @PyTuple_GetSlice(ptr %extents, i64 %from, i64 %to)
  %made_strides = call ptr @PyTuple_GetSlice(ptr %steps, i64 %from, i64 %to)
  %has_shape = icmp ne ptr %made_shape, null
  %has_strides = icmp ne ptr %made_strides, null
  %are_there = and i1 %has_shape, %has_strides
  br i1 %are_there, label %keep, label %drop
drop:
  call void @Py_DecRef(ptr %extents)
  call void @Py_DecRef(ptr %steps)
  call void @Py_DecRef(ptr %made_shape)
  call void @Py_DecRef(ptr %made_strides)
  call void @PyErr_Clear()
  ret i1 false
keep:
  %old_extents = load ptr, ptr %known
  %old_steps = load ptr, ptr %steps_at
  %old_shape = load ptr, ptr %shape_at
  %old_strides = load ptr, ptr %strides_at
  call void @Py_IncRef(ptr %made_shape)
  call void @Py_IncRef(ptr %made_strides)
  store ptr %extents, ptr %known
  store ptr %steps, ptr %steps_at
  store ptr %made_shape, ptr %shape_at
  store ptr %made_strides, ptr %strides_at
  call void @Py_DecRef(ptr %old_extents)
  call void @Py_DecRef(ptr %old_steps)
  call void @Py_DecRef(ptr %old_shape)
  call void @Py_DecRef(ptr %old_strides)
  br label %done
give:
  call void @Py_IncRef(ptr %known_shape)
  call void @Py_IncRef(ptr %known_strides)
  br label %done
done:
  %shape = phi ptr [ %known_shape, %give ], [ %made_shape, %keep ]
  %strides = phi ptr [ %known_strides, %give ], [ %made_strides, %keep ]
  %cut_strides = getelementptr ptr, ptr %cut, i64 1
  store ptr %shape, ptr %cut
  store ptr %strides, ptr %cut_strides
  ret i1 true
}}
; for columns, then for rows: the shape and the strides of an array, and what is cut of them
@cuts = internal global [8 x ptr] zeroinitializer

; a view of axes of an array of the engine that lies at an offset
define internal ptr @cut_view(ptr %self, ptr %layout, i64 %from, i64 %to, i64 %offset) {{
  %cut = alloca [2 x ptr]
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %is_cut = call i1 @axes_of(ptr %extents, ptr %steps, i64 %from, i64 %to, ptr %cut)
  br i1 %is_cut, label %make, label %no
make:
  %strides_at = getelementptr ptr, ptr %cut, i64 1
  %shape = load ptr, ptr %cut
  %strides = load ptr, ptr %strides_at
  %view = call ptr @view_with(ptr %self, ptr %shape, ptr %strides, i64 %offset)
  call void @Py_DecRef(ptr %shape)
  call void @Py_DecRef(ptr %strides)
  ret ptr %view
no:
  ret ptr null
}}

; where the column of a matrix begins that a key of all rows and an int picks; -1 for other keys
define internal i64 @column_offset(ptr %layout, ptr %key, i64 %ndim) {{
  %is_tuple = call i1 @is(ptr %key, i64 {tuple_})
  %is_matrix = icmp eq i64 %ndim, 2
  %may = and i1 %is_tuple, %is_matrix
  br i1 %may, label %count, label %no
count:
  %items = call i64 @tuple_size(ptr %key)
  %are_two = icmp eq i64 %items, 2
  br i1 %are_two, label %look, label %no
look:
  %rows = call ptr @tuple_item(ptr %key, i64 0)
  %column = call ptr @tuple_item(ptr %key, i64 1)
  %is_slice = call i1 @is(ptr %rows, i64 {slice_})
  %is_int = call i1 @is(ptr %column, i64 {int_})
  %can = and i1 %is_slice, %is_int
  br i1 %can, label %whole, label %no
whole:
  %start_at = getelementptr ptr, ptr %rows, i64 2
  %stop_at = getelementptr ptr, ptr %rows, i64 3
  %step_at = getelementptr ptr, ptr %rows, i64 4
  %start = load ptr, ptr %start_at
  %stop = load ptr, ptr %stop_at
  %step = load ptr, ptr %step_at
  %none = call ptr @none()
  %no_start = icmp eq ptr %start, %none
  %no_stop = icmp eq ptr %stop, %none
  %no_step = icmp eq ptr %step, %none
  %are_open = and i1 %no_start, %no_stop
  %are_all = and i1 %are_open, %no_step
  br i1 %are_all, label %find, label %no
find:
  %extents = call ptr @tuple_item(ptr %layout, i64 0)
  %extent = call i64 @number_at(ptr %extents, i64 1)
  %place = call i64 @placed(ptr %column, i64 %extent)
  %inside = icmp sge i64 %place, 0
  br i1 %inside, label %move, label %no
move:
  %steps = call ptr @tuple_item(ptr %layout, i64 1)
  %stride = call i64 @number_at(ptr %steps, i64 1)
  %first = call i64 @number_at(ptr %layout, i64 2)
  %moved = mul i64 %place, %stride
  %offset = add i64 %first, %moved
  ret i64 %offset
no:
  ret i64 -1
}}

; whether a bound of a slice is None or an int, which are the same each time that they are asked
define internal i1 @is_plain_bound(ptr %bound) {{
  %none = call ptr @none()
  %is_none = icmp eq ptr %bound, %none
  %is_int = call i1 @is(ptr %bound, i64 {int_})
  %is_plain = or i1 %is_none, %is_int
  ret i1 %is_plain
}}

; what a key of up to four items makes of a layout, in words: the layout, the number of items, and
; of each item three; and its place in the table of known layouts. Null for other keys, such as
; slices up to objects that have an `__index__`
define internal ptr @entry_of(ptr %layout, ptr %key, ptr %said) {{
  %is_tuple = call i1 @is(ptr %key, i64 {tuple_})
  %items = call i64 @items_of(ptr %key, i1 %is_tuple)
  %less = sub i64 %items, 1
  %are_few = icmp ult i64 %less, 4
  br i1 %are_few, label %begin, label %no
begin:
  %whose = ptrtoint ptr %layout to i64
  %items_at = getelementptr i64, ptr %said, i64 1
  store i64 %whose, ptr %said
  store i64 %items, ptr %items_at
  %whose_mixed = mul i64 %whose, -7046029254386353131
  %begin_mixed = add i64 %whose_mixed, %items
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %after, %write ]
  %mixed = phi i64 [ %begin_mixed, %begin ], [ %mixed_after, %write ]
  %is_over = icmp sge i64 %i, %items
  br i1 %is_over, label %done, label %look
look:
  %item = call ptr @key_item(ptr %key, i1 %is_tuple, i64 %i)
  %words = mul i64 %i, 3
  %first = add i64 %words, 2
  %start_at = getelementptr i64, ptr %said, i64 %first
  %stop_at = getelementptr i64, ptr %start_at, i64 1
  %step_at = getelementptr i64, ptr %start_at, i64 2
  %after = add i64 %i, 1
  %is_slice = call i1 @is(ptr %item, i64 {slice_})
  br i1 %is_slice, label %bounds, label %other
bounds:
  %from_at = getelementptr ptr, ptr %item, i64 2
  %to_at = getelementptr ptr, ptr %item, i64 3
  %by_at = getelementptr ptr, ptr %item, i64 4
  %from = load ptr, ptr %from_at
  %to = load ptr, ptr %to_at
  %by = load ptr, ptr %by_at
  %from_is_plain = call i1 @is_plain_bound(ptr %from)
  %to_is_plain = call i1 @is_plain_bound(ptr %to)
  %by_is_plain = call i1 @is_plain_bound(ptr %by)
  %both_are_plain = and i1 %from_is_plain, %to_is_plain
  %is_plain = and i1 %both_are_plain, %by_is_plain
  br i1 %is_plain, label %slice, label %no
slice:
  %unpacked = call i32 @PySlice_Unpack(ptr %item, ptr %start_at, ptr %stop_at, ptr %step_at)
  %is_wrong = icmp slt i32 %unpacked, 0
  br i1 %is_wrong, label %clear, label %write
other:
  store i64 0, ptr %step_at
  %is_int = call i1 @is(ptr %item, i64 {int_})
  br i1 %is_int, label %integer, label %mark
integer:
  %number = call i64 @int_value(ptr %item)
  store i64 %number, ptr %start_at
  store i64 0, ptr %stop_at
  %raised = call ptr @PyErr_Occurred()
  %is_number = icmp eq ptr %raised, null
  br i1 %is_number, label %write, label %clear
mark:
  %is_dots = call i1 @is(ptr %item, i64 {ellipsis})
  %which = select i1 %is_dots, i64 1, i64 2
  store i64 0, ptr %start_at
  store i64 %which, ptr %stop_at
  br label %write
write:
  %start = load i64, ptr %start_at
  %stop = load i64, ptr %stop_at
  %step = load i64, ptr %step_at
  %with_start = xor i64 %mixed, %start
  %mixed_start = mul i64 %with_start, -7046029254386353131
  %with_stop = add i64 %mixed_start, %stop
  %mixed_stop = mul i64 %with_stop, -4417276706812531889
  %mixed_after = add i64 %mixed_stop, %step
  br label %next
done:
  %high = mul i64 %mixed, -7046029254386353131
  %mixed_at = getelementptr i64, ptr %said, i64 {kept_mixed}
  store i64 %high, ptr %mixed_at
  %place = lshr i64 %high, {kept_shift}
  %entry = getelementptr [{kept_words} x i64], ptr @layouts, i64 %place
  ret ptr %entry
clear:
  call void @PyErr_Clear()
  br label %no
no:
  ret ptr null
}}
@layouts = internal global [{kept_entries} x [{kept_words} x i64]] zeroinitializer

; the layout that is known for what a key says, with a reference; null for none
define internal ptr @known_layout(ptr %entry, ptr %said) {{
  %is_other = icmp eq ptr %entry, null
  br i1 %is_other, label %no, label %begin
begin:
  %items_at = getelementptr i64, ptr %said, i64 1
  %items = load i64, ptr %items_at
  %of_items = mul i64 %items, 3
  %words = add i64 %of_items, 2
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %after, %compare ]
  %is_over = icmp sge i64 %i, %words
  br i1 %is_over, label %give, label %compare
compare:
  %known_at = getelementptr i64, ptr %entry, i64 %i
  %said_at = getelementptr i64, ptr %said, i64 %i
  %known = load i64, ptr %known_at
  %wanted = load i64, ptr %said_at
  %is_same = icmp eq i64 %known, %wanted
  %after = add i64 %i, 1
  br i1 %is_same, label %next, label %no
give:
  %found_at = getelementptr ptr, ptr %entry, i64 {kept_layout}
  %found = load ptr, ptr %found_at
  call void @Py_IncRef(ptr %found)
  ret ptr %found
no:
  ret ptr null
}}

; keep the layout of a view that what a key says has led to, at the second time in a row that it
; comes to its place, since the parts of a loop differ; and that of the whole is not the whole's
; and this code's alone, as that of a view is. Not of a null
define internal void @remember_layout(ptr %entry, ptr %said, ptr %view) {{
  %no_entry = icmp eq ptr %entry, null
  %no_view = icmp eq ptr %view, null
  %has_none = or i1 %no_entry, %no_view
  br i1 %has_none, label %no, label %look
look:
  %mixed_at = getelementptr i64, ptr %said, i64 {kept_mixed}
  %seen_at = getelementptr i64, ptr %entry, i64 {kept_mixed}
  %mixed = load i64, ptr %mixed_at
  %seen = load i64, ptr %seen_at
  store i64 %mixed, ptr %seen_at
  %is_again = icmp eq i64 %mixed, %seen
  %whose = load ptr, ptr %said
  %references = load i32, ptr %whose
  %are_several = icmp ugt i32 %references, 2
  %is_worth = and i1 %is_again, %are_several
  br i1 %is_worth, label %keep, label %no
keep:
  %laid = call ptr @get(ptr %view, i64 {handle_layout})
  %laid_at = getelementptr ptr, ptr %entry, i64 {kept_layout}
  %old_whose = load ptr, ptr %entry
  %old_laid = load ptr, ptr %laid_at
  call void @Py_IncRef(ptr %whose)
  call void @Py_IncRef(ptr %laid)
  %bytes = mul i64 {kept_layout}, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %entry, ptr %said, i64 %bytes, i1 false)
  store ptr %laid, ptr %laid_at
  call void @Py_DecRef(ptr %old_whose)
  call void @Py_DecRef(ptr %old_laid)
  ret void
no:
  ret void
}}

; whether self[key] = value writes a part of an array of the engine to itself, as what comes after
; self[key] += value does, where the layout of the part is known
define internal i1 @is_same_part(ptr %self, ptr %key, ptr %value) {{
  %said = alloca [{kept_words} x i64]
  %is_ours = call i1 @is(ptr %value, i64 {class_})
  br i1 %is_ours, label %compare, label %no
compare:
  %none = call ptr @none()
  %true = call ptr @object(i64 {TRUE})
  %storage = call ptr @get(ptr %self, i64 {handle_storage})
  %other = call ptr @get(ptr %value, i64 {handle_storage})
  %cast = call ptr @get(ptr %self, i64 {handle_cast})
  %other_cast = call ptr @get(ptr %value, i64 {handle_cast})
  %writeable = call ptr @get(ptr %self, i64 {handle_writeable})
  %is_one = icmp eq ptr %storage, %other
  %is_stored = icmp ne ptr %storage, null
  %is_plain = icmp eq ptr %cast, %none
  %other_is_plain = icmp eq ptr %other_cast, %none
  %may_write = icmp eq ptr %writeable, %true
  %is_own = and i1 %is_one, %is_stored
  %are_plain = and i1 %is_plain, %other_is_plain
  %is_open = and i1 %is_own, %may_write
  %can = and i1 %is_open, %are_plain
  br i1 %can, label %look, label %no
look:
  %is_basic = call i1 @is_basic(ptr %key)
  br i1 %is_basic, label %find, label %no
find:
  %layout = call ptr @get(ptr %self, i64 {handle_layout})
  %entry = call ptr @entry_of(ptr %layout, ptr %key, ptr %said)
  %known = call ptr @known_layout(ptr %entry, ptr %said)
  %own = call ptr @get(ptr %value, i64 {handle_layout})
  %is_known = icmp ne ptr %known, null
  %is_alike = icmp eq ptr %known, %own
  call void @Py_DecRef(ptr %known)
  %is_same = and i1 %is_known, %is_alike
  ret i1 %is_same
no:
  ret i1 false
}}
"""
