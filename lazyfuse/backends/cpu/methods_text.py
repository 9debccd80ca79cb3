"""The functions of `methods.py` as LLVM text; places in braces are those of its table."""

HEAD = """\
@lf_table = internal global [{size} x i64] zeroinitializer
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare ptr @PyObject_RichCompare(ptr, ptr, i32)
declare ptr @PyObject_GetItem(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define ptr @lf_open() {{
  ret ptr @lf_table
}}

define internal i64 @entry(i64 %place) alwaysinline {{
  %at = getelementptr [{size} x i64], ptr @lf_table, i64 0, i64 %place
  %value = load i64, ptr %at
  ret i64 %value
}}

define internal ptr @kind(ptr %object) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %at
  ret ptr %type
}}

define internal i1 @is(ptr %object, i64 %place) alwaysinline {{
  %type = call ptr @kind(ptr %object)
  %wanted = call i64 @entry(i64 %place)
  %number = ptrtoint ptr %type to i64
  %same = icmp eq i64 %number, %wanted
  ret i1 %same
}}

; what a wrapper keeps at a place; null for nothing and None
define internal ptr @part(ptr %self, i64 %place) alwaysinline {{
  %offset = call i64 @entry(i64 %place)
  %at = getelementptr i8, ptr %self, i64 %offset
  %part = load ptr, ptr %at
  %number = ptrtoint ptr %part to i64
  %none = call i64 @entry(i64 {none})
  %is_none = icmp eq i64 %number, %none
  %found = select i1 %is_none, ptr null, ptr %part
  ret ptr %found
}}

; whether two arrays have one shape
define internal i1 @alike(ptr %a, ptr %b) {{
  %a_nd_at = getelementptr i8, ptr %a, i64 24
  %b_nd_at = getelementptr i8, ptr %b, i64 24
  %a_nd = load i32, ptr %a_nd_at
  %b_nd = load i32, ptr %b_nd_at
  %same_nd = icmp eq i32 %a_nd, %b_nd
  br i1 %same_nd, label %look, label %no
look:
  %a_at = getelementptr i8, ptr %a, i64 32
  %b_at = getelementptr i8, ptr %b, i64 32
  %a_dims = load ptr, ptr %a_at
  %b_dims = load ptr, ptr %b_at
  br label %next
next:
  %i = phi i32 [ 0, %look ], [ %after, %same ]
  %is_over = icmp sge i32 %i, %a_nd
  br i1 %is_over, label %yes, label %compare
compare:
  %wide = sext i32 %i to i64
  %a_dim_at = getelementptr i64, ptr %a_dims, i64 %wide
  %b_dim_at = getelementptr i64, ptr %b_dims, i64 %wide
  %a_dim = load i64, ptr %a_dim_at
  %b_dim = load i64, ptr %b_dim_at
  %equal = icmp eq i64 %a_dim, %b_dim
  br i1 %equal, label %same, label %no
same:
  %after = add i32 %i, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}}

; a new wrapper of an array; anything else, and the null of an exception, as it is. Takes the
; reference.
define internal ptr @wrapped(ptr %value, ptr %owner) {{
  %raised = icmp eq ptr %value, null
  br i1 %raised, label %other, label %look
look:
  %is_array = call i1 @is(ptr %value, i64 {ndarray})
  br i1 %is_array, label %array, label %other
other:
  ret ptr %value
array:
  %class = call i64 @entry(i64 {class_})
  %type = inttoptr i64 %class to ptr
  %made = call ptr @made_object(ptr %type)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %fail, label %fill
fail:
  call void @Py_DecRef(ptr %value)
  ret ptr null
fill:
  %host_offset = call i64 @entry(i64 {host})
  %host_at = getelementptr i8, ptr %made, i64 %host_offset
  store ptr %value, ptr %host_at
  %owner_offset = call i64 @entry(i64 {owner})
  %owner_at = getelementptr i8, ptr %made, i64 %owner_offset
  call void @Py_IncRef(ptr %owner)
  store ptr %owner, ptr %owner_at
  ret ptr %made
}}

; how many elements an array has along an axis, counted from the last one; 1 before the first
define internal i64 @extent(ptr %array, i32 %from_last) alwaysinline {{
  %nd_at = getelementptr i8, ptr %array, i64 24
  %nd = load i32, ptr %nd_at
  %is_missing = icmp sge i32 %from_last, %nd
  br i1 %is_missing, label %one, label %look
one:
  ret i64 1
look:
  %dims_at = getelementptr i8, ptr %array, i64 32
  %dims = load ptr, ptr %dims_at
  %last = sub i32 %nd, 1
  %axis = sub i32 %last, %from_last
  %wide = sext i32 %axis to i64
  %at = getelementptr i64, ptr %dims, i64 %wide
  %extent = load i64, ptr %at
  ret i64 %extent
}}

; whether two arrays are broadcast to as many elements as one of them has, or few
define internal i1 @fits_one(ptr %a, ptr %b) {{
  %a_nd_at = getelementptr i8, ptr %a, i64 24
  %b_nd_at = getelementptr i8, ptr %b, i64 24
  %a_nd = load i32, ptr %a_nd_at
  %b_nd = load i32, ptr %b_nd_at
  %a_more = icmp sgt i32 %a_nd, %b_nd
  %axes = select i1 %a_more, i32 %a_nd, i32 %b_nd
  br label %next
next:
  %i = phi i32 [ 0, %0 ], [ %after, %matched ]
  %a_size = phi i64 [ 1, %0 ], [ %a_product, %matched ]
  %b_size = phi i64 [ 1, %0 ], [ %b_product, %matched ]
  %size = phi i64 [ 1, %0 ], [ %product, %matched ]
  %is_over = icmp sge i32 %i, %axes
  br i1 %is_over, label %decide, label %look
look:
  %a_extent = call i64 @extent(ptr %a, i32 %i)
  %b_extent = call i64 @extent(ptr %b, i32 %i)
  %same = icmp eq i64 %a_extent, %b_extent
  %a_is_one = icmp eq i64 %a_extent, 1
  %b_is_one = icmp eq i64 %b_extent, 1
  %either = or i1 %a_is_one, %b_is_one
  %matches = or i1 %same, %either
  br i1 %matches, label %matched, label %no
matched:
  %extent = select i1 %a_is_one, i64 %b_extent, i64 %a_extent
  %a_product = mul i64 %a_size, %a_extent
  %b_product = mul i64 %b_size, %b_extent
  %product = mul i64 %size, %extent
  %after = add i32 %i, 1
  br label %next
decide:
  %is_a = icmp eq i64 %size, %a_size
  %is_b = icmp eq i64 %size, %b_size
  %fits = or i1 %is_a, %is_b
  br i1 %fits, label %yes, label %count
yes:
  ret i1 true
count:
  %eager = call i64 @eager_size()
  %is_small = icmp sle i64 %size, %eager
  ret i1 %is_small
no:
  ret i1 false
}}

define internal ptr @none() alwaysinline {{
  %number = call i64 @entry(i64 {none})
  %object = inttoptr i64 %number to ptr
  ret ptr %object
}}

define internal ptr @nothing() alwaysinline {{
  ret ptr null
}}

; the Python method of an operator; null where there is an exception already
define internal ptr @slow(i64 %place, ptr %self, ptr %other) noinline {{
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %fail, label %run
fail:
  ret ptr null
run:
  %number = call i64 @entry(i64 %place)
  %method = inttoptr i64 %number to ptr
  %result = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %method, ptr %self, ptr %other, ptr null)
  ret ptr %result
}}

define internal i1 @is_index(ptr %key) {{
  %a = call i1 @is(ptr %key, i64 {int_})
  %b = call i1 @is(ptr %key, i64 {slice_})
  %c = call i1 @is(ptr %key, i64 {ellipsis})
  %d = call i1 @is(ptr %key, i64 {none_type})
  %ab = or i1 %a, %b
  %cd = or i1 %c, %d
  %all = or i1 %ab, %cd
  ret i1 %all
}}

define internal i1 @is_basic(ptr %key) {{
  %is_tuple = call i1 @is(ptr %key, i64 {tuple_})
  br i1 %is_tuple, label %tuple, label %single
single:
  %alone = call i1 @is_index(ptr %key)
  ret i1 %alone
tuple:
  %count = call i64 @tuple_size(ptr %key)
  br label %next
next:
  %i = phi i64 [ 0, %tuple ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %item = call ptr @tuple_item(ptr %key, i64 %i)
  %basic = call i1 @is_index(ptr %item)
  %after = add i64 %i, 1
  br i1 %basic, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

ITEM = """
; a key with ints of Python in place of NumPy's, with a reference; null where there is none of
; those
define internal ptr @in_ints(ptr %key) {{
  %is_alone = call i1 @is_numpys_integer(ptr %key)
  br i1 %is_alone, label %alone, label %look
alone:
  %number = call ptr @PyNumber_Index(ptr %key)
  %is_none = icmp eq ptr %number, null
  br i1 %is_none, label %clear, label %give
give:
  ret ptr %number
look:
  %is_tuple = call i1 @is(ptr %key, i64 {tuple_})
  br i1 %is_tuple, label %tuple, label %no
tuple:
  %count = call i64 @tuple_size(ptr %key)
  br label %next
next:
  %i = phi i64 [ 0, %tuple ], [ %after, %ask ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %ask
ask:
  %item = call ptr @tuple_item(ptr %key, i64 %i)
  %is_numpys = call i1 @is_numpys_integer(ptr %item)
  %after = add i64 %i, 1
  br i1 %is_numpys, label %make, label %next
make:
  %made = call ptr @PyTuple_New(i64 %count)
  %no_room = icmp eq ptr %made, null
  br i1 %no_room, label %clear, label %fill
fill:
  %j = phi i64 [ 0, %make ], [ %j_after, %put ]
  %is_full = icmp sge i64 %j, %count
  br i1 %is_full, label %done, label %part
part:
  %old = call ptr @tuple_item(ptr %key, i64 %j)
  %is_long = call i1 @is_numpys_integer(ptr %old)
  br i1 %is_long, label %convert, label %keep
convert:
  %converted = call ptr @PyNumber_Index(ptr %old)
  %no_number = icmp eq ptr %converted, null
  br i1 %no_number, label %drop, label %put
drop:
  call void @Py_DecRef(ptr %made)
  br label %clear
keep:
  call void @Py_IncRef(ptr %old)
  br label %put
put:
  %new = phi ptr [ %converted, %convert ], [ %old, %keep ]
  %status = call i32 @PyTuple_SetItem(ptr %made, i64 %j, ptr %new)
  %j_after = add i64 %j, 1
  br label %fill
done:
  ret ptr %made
clear:
  call void @PyErr_Clear()
  br label %no
no:
  ret ptr null
}}

define ptr @lf_item(ptr %self, ptr %key) {{
  %is_of_engine = call i1 @is_engines(ptr %self)
  br i1 %is_of_engine, label %engine, label %begin
begin:
  %host = call ptr @settled_host(ptr %self)
  %large = icmp eq ptr %host, null
  br i1 %large, label %on_tape, label %small
on_tape:
  %item = call ptr @item_of_leaf(ptr %self, ptr %key)
  %is_no_leaf = icmp eq ptr %item, null
  br i1 %is_no_leaf, label %engine, label %give_item
give_item:
  ret ptr %item
engine:
  %raised = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %raised, null
  br i1 %has_raised, label %fail, label %at_engine
fail:
  ret ptr null
at_engine:
  %view = call ptr @viewed(ptr %self, ptr %key)
  %other = icmp eq ptr %view, null
  br i1 %other, label %numpys, label %give
give:
  ret ptr %view
numpys:
  %in_ints = call ptr @in_ints(ptr %key)
  %has_none = icmp eq ptr %in_ints, null
  br i1 %has_none, label %slow, label %again
again:
  %seen = call ptr @viewed(ptr %self, ptr %in_ints)
  call void @Py_DecRef(ptr %in_ints)
  %is_other = icmp eq ptr %seen, null
  br i1 %is_other, label %slow, label %give_seen
give_seen:
  ret ptr %seen
small:
  %basic = call i1 @is_basic_key(ptr %key)
  br i1 %basic, label %run, label %slow
run:
  %made = call ptr @item_of_host(ptr %self, ptr %host, ptr %key)
  %is_failed = icmp eq ptr %made, null
  br i1 %is_failed, label %give_made, label %put_off
put_off:
  %is_put_off = call i1 @put_off_view(ptr %self, ptr %made)
  %put_off_error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %put_off_error, null
  br i1 %is_fine, label %give_made, label %drop_made
drop_made:
  call void @Py_DecRef(ptr %made)
  ret ptr null
give_made:
  ret ptr %made
slow:
  %few_picked = call ptr @gathered_quickly(ptr %self, ptr %key)
  %are_others = icmp eq ptr %few_picked, null
  br i1 %are_others, label %which, label %give_picked
give_picked:
  ret ptr %few_picked
which:
  %pick_error = call ptr @PyErr_Occurred()
  %pick_failed = icmp ne ptr %pick_error, null
  br i1 %pick_failed, label %fail, label %others
others:
  %is_in_engine = call i1 @is_engines(ptr %self)
  br i1 %is_in_engine, label %gather, label %ask
ask:
  %small_picked = call ptr @small_item(ptr %self, ptr %key)
  %is_large = icmp eq ptr %small_picked, null
  br i1 %is_large, label %gather, label %pick
gather:
  %gathered = call ptr @gathered(ptr %self, ptr %key)
  %is_unpicked = icmp eq ptr %gathered, null
  br i1 %is_unpicked, label %general, label %pick
pick:
  %picked = phi ptr [ %small_picked, %ask ], [ %gathered, %gather ]
  ret ptr %picked
general:
  %keys = alloca [1 x ptr]
  store ptr %key, ptr %keys
  %python = call ptr @object(i64 {method})
  %result = call ptr @general(ptr %python, ptr %self, ptr %keys, i64 1, ptr null)
  ret ptr %result
}}
"""
