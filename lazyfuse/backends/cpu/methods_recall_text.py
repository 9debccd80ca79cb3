"""Functions and methods that are recorded again by recipes, as LLVM text; see `methods.py`."""

from __future__ import annotations

RECALL = """
declare i32 @memcmp(ptr, ptr, i64)

; a call of a function by its recipes; null where there is none, and for an exception
define internal ptr @recorded_call(ptr %self, ptr %args, i64 %count, ptr %names) {
  %has_any = icmp sgt i64 %count, 0
  br i1 %has_any, label %error, label %no
error:
  %exception = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %exception, null
  br i1 %raised, label %no, label %look
look:
  %learned = call ptr @part(ptr %self, i64 T_LEARNED)
  %has_learned = icmp ne ptr %learned, null
  br i1 %has_learned, label %one, label %several
one:
  %operand = get ptr %args[0]
  %rest = getelementptr ptr, ptr %args, i64 1
  %fewer = sub i64 %count, 1
  %made = call ptr @remembered(ptr %learned, ptr %operand, ptr %rest, i64 %fewer, ptr %names)
  ret ptr %made
several:
  %recipes = call ptr @part(ptr %self, i64 T_RECIPES)
  %has_none = icmp eq ptr %recipes, null
  %is_named = icmp ne ptr %names, null
  %is_other = or i1 %has_none, %is_named
  br i1 %is_other, label %no, label %record
record:
  %recorded = call ptr @recorded(ptr %recipes, ptr %args, i64 %count, ptr null)
  ret ptr %recorded
no:
  ret ptr null
}

; an operation on arrays of the engine and small ones by its recipes. Null where there are not both
; or no recipe, and for an exception
define internal ptr @recorded_mixed(ptr %known, ptr %operands, i64 %count) {
  %given = alloca [MOST_OPERANDS x ptr]
  %has_all = call i1 @all_entered(ptr %operands, i64 %count, ptr %given)
  br i1 %has_all, label %record, label %no
record:
  %recorded = call ptr @recorded(ptr %known, ptr %given, i64 %count, ptr null)
  call void @drop_all(ptr %given, i64 %count)
  ret ptr %recorded
no:
  ret ptr null
}

; a write into the first operand by its recipes, which may be one of a small array into one of the
; engine; as `written`
define internal i32 @written_any(ptr %known, ptr %operands, i64 %count, ptr %extra) {
  %given = alloca [MOST_OPERANDS x ptr]
  %done = call i32 @written(ptr %known, ptr %operands, i64 %count, ptr %extra)
  %is_refused = icmp eq i32 %done, 0
  br i1 %is_refused, label %look, label %give
look:
  %target = get ptr %operands[0]
  %is_small = call i1 @is_small(ptr %target)
  br i1 %is_small, label %give, label %enter
enter:
  %has_all = call i1 @all_entered(ptr %operands, i64 %count, ptr %given)
  br i1 %has_all, label %write, label %ask
write:
  %written = call i32 @written(ptr %known, ptr %given, i64 %count, ptr %extra)
  call void @drop_all(ptr %given, i64 %count)
  ret i32 %written
ask:
  %raised = call ptr @PyErr_Occurred()
  %is_raised = icmp ne ptr %raised, null
  %failed = sext i1 %is_raised to i32
  ret i32 %failed
give:
  ret i32 %done
}

; stores operands with a reference each, small ones as arrays of the engine; false where there are
; not both kinds, and for an exception
define internal i1 @all_entered(ptr %operands, i64 %count, ptr %given) {
  %is_few = icmp ule i64 %count, MOST_OPERANDS
  %are_mixed = call i1 @are_mixed(ptr %operands, i64 %count)
  %can = and i1 %is_few, %are_mixed
  br i1 %can, label %next, label %no
next:
  %i = phi i64 [ 0, %0 ], [ %after, %put ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %operand = get ptr %operands[%i]
  %is_small = call i1 @is_small(ptr %operand)
  br i1 %is_small, label %small, label %other
small:
  %owned = call ptr @small_host(ptr %operand)
  %is_lost = icmp eq ptr %owned, null
  br i1 %is_lost, label %drop, label %enter
enter:
  %entered = call ptr @entered(ptr %operand, ptr %owned)
  call void @Py_DecRef(ptr %owned)
  %failed = icmp eq ptr %entered, null
  br i1 %failed, label %drop, label %put
other:
  call void @Py_IncRef(ptr %operand)
  br label %put
put:
  %one = phi ptr [ %entered, %enter ], [ %operand, %other ]
  put ptr %one, %given[%i]
  %after = add i64 %i, 1
  br label %next
yes:
  ret i1 true
drop:
  call void @drop_all(ptr %given, i64 %i)
  br label %no
no:
  ret i1 false
}

; a small array as one of the engine's, with a reference: the one that it was the last time, where
; its elements are what they were. Views come and go, so who owns the memory keeps theirs; another
; thread may put its own there while Python is asked. Null for an exception
define internal ptr @entered(ptr %operand, ptr %host) {
  %owner = call ptr @part(ptr %operand, i64 T_OWNER)
  %is_alone = icmp eq ptr %owner, null
  br i1 %is_alone, label %find, label %owned
owned:
  %is_ours = call i1 @is(ptr %owner, i64 T_CLASS)
  br label %find
find:
  %is_view = phi i1 [ false, %0 ], [ %is_ours, %owned ]
  %keeper = select i1 %is_view, ptr %owner, ptr %operand
  %offset = call i64 @entry(i64 T_ENTERED)
  %at = getelementptr i8, ptr %keeper, i64 %offset
  %kept = load ptr, ptr %at
  %has_none = icmp eq ptr %kept, null
  br i1 %has_none, label %enter, label %look
look:
  call void @Py_IncRef(ptr %kept)
  %is_same = call i1 @is_copy(ptr %kept, ptr %host)
  br i1 %is_same, label %give, label %let_go
let_go:
  call void @Py_DecRef(ptr %kept)
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %fail, label %enter
enter:
  %quick = call ptr @adopted_copy(ptr %host)
  %is_slow = icmp eq ptr %quick, null
  br i1 %is_slow, label %quiet, label %keep
quiet:
  %exception = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %exception, null
  br i1 %has_raised, label %fail, label %ask
ask:
  %enterer = call ptr @object(i64 T_ENTER)
  %asked = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %enterer, ptr %host, ptr null)
  %failed = icmp eq ptr %asked, null
  br i1 %failed, label %fail, label %keep
keep:
  %made = phi ptr [ %quick, %enter ], [ %asked, %ask ]
  %old = load ptr, ptr %at
  store ptr %made, ptr %at
  br label %give
give:
  %pair = phi ptr [ %kept, %look ], [ %made, %keep ]
  %before = phi ptr [ %kept, %look ], [ %old, %keep ]
  %array = call ptr @tuple_item(ptr %pair, i64 1)
  call void @Py_IncRef(ptr %array)
  call void @Py_DecRef(ptr %before)
  ret ptr %array
fail:
  ret ptr null
}

; whether the first of a tuple is a dense array with axes, another one has its shape, dtype and
; bytes, and the array of the engine, the second, is of this thread
define internal i1 @is_copy(ptr %pair, ptr %host) {
  %copy = call ptr @tuple_item(ptr %pair, i64 0)
  %array = call ptr @tuple_item(ptr %pair, i64 1)
  %form = call ptr @form(ptr %array)
  %is_mine = icmp ne ptr %form, null
  %is_array = call i1 @is(ptr %copy, i64 T_NDARRAY)
  %can = and i1 %is_mine, %is_array
  br i1 %can, label %compare, label %no
compare:
  %nd = get i32 %copy[ND]
  %has_axes = icmp sgt i32 %nd, 0
  %count = call i64 @elements(ptr %copy)
  %are_dense = call i1 @are_dense(ptr %copy, ptr %host, i64 %count)
  %are_alike = and i1 %has_axes, %are_dense
  br i1 %are_alike, label %bytes, label %no
bytes:
  %extents = get ptr %copy[DIMENSIONS]
  %strides = get ptr %copy[STRIDES]
  %extent = load i64, ptr %extents
  %stride = load i64, ptr %strides
  %size = mul i64 %extent, %stride
  %old = get ptr %copy[DATA]
  %now = get ptr %host[DATA]
  %difference = call i32 @memcmp(ptr %old, ptr %now, i64 %size)
  %same = icmp eq i32 %difference, 0
  ret i1 %same
no:
  ret i1 false
}

; whether there is an array of the engine among operands, and a small one
define internal i1 @are_mixed(ptr %operands, i64 %count) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ], [ %after, %ours ]
  %smalls = phi i1 [ false, %0 ], [ %smalls, %look ], [ %smalls_now, %ours ]
  %larges = phi i1 [ false, %0 ], [ %larges, %look ], [ %larges_now, %ours ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %operand = get ptr %operands[%i]
  %after = add i64 %i, 1
  %is_ours = call i1 @is(ptr %operand, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %next
ours:
  %is_small = call i1 @is_small(ptr %operand)
  %is_large = xor i1 %is_small, true
  %smalls_now = or i1 %smalls, %is_small
  %larges_now = or i1 %larges, %is_large
  br label %next
done:
  %are_both = and i1 %smalls, %larges
  ret i1 %are_both
}

; an operation on one array, whose other arguments are no arrays, by its recipes; null where there
; is none, and for an exception
define internal ptr @remembered(ptr %known, ptr %operand, ptr %args, i64 %count, ptr %names) {
  %operands = alloca [1 x ptr]
  put ptr %operand, %operands[0]
  %exception = call ptr @PyErr_Occurred()
  %is_quiet = icmp eq ptr %exception, null
  %none = call ptr @none()
  %is_known = icmp ne ptr %known, %none
  %is_ours = call i1 @is(ptr %operand, i64 T_CLASS)
  %is_fine = and i1 %is_known, %is_ours
  %can = and i1 %is_fine, %is_quiet
  br i1 %can, label %look, label %no
look:
  %words = call i64 @count_of(ptr %names)
  %total = add i64 %count, %words
  %is_alone = icmp eq i64 %total, 0
  br i1 %is_alone, label %alone, label %others
alone:
  %simple = call ptr @recorded(ptr %known, ptr %operands, i64 1, ptr null)
  ret ptr %simple
others:
  %extra = call ptr @static_key(ptr %args, i64 %total, ptr %names)
  %is_other = icmp eq ptr %extra, null
  br i1 %is_other, label %no, label %record
record:
  %made = call ptr @recorded(ptr %known, ptr %operands, i64 1, ptr %extra)
  call void @Py_DecRef(ptr %extra)
  ret ptr %made
no:
  ret ptr null
}

; arguments that are no arrays as part of a key (`rerecord.static`); null where there are others
define internal ptr @static_key(ptr %args, i64 %total, ptr %names) {
  %values = call ptr @PyTuple_New(i64 %total)
  %kinds = call ptr @PyTuple_New(i64 %total)
  %no_values = icmp eq ptr %values, null
  %no_kinds = icmp eq ptr %kinds, null
  %failed = or i1 %no_values, %no_kinds
  br i1 %failed, label %drop, label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %put ]
  %is_over = icmp sge i64 %i, %total
  br i1 %is_over, label %words, label %look
look:
  %item = get ptr %args[%i]
  %after = add i64 %i, 1
  %is_static = call i1 @is_static(ptr %item)
  br i1 %is_static, label %put, label %drop
put:
  %kind = call ptr @kind(ptr %item)
  call void @Py_IncRef(ptr %item)
  call void @Py_IncRef(ptr %kind)
  %value_status = call i32 @PyTuple_SetItem(ptr %values, i64 %i, ptr %item)
  %kind_status = call i32 @PyTuple_SetItem(ptr %kinds, i64 %i, ptr %kind)
  br label %next
words:
  %has_words = icmp ne ptr %names, null
  br i1 %has_words, label %given, label %empty
given:
  call void @Py_IncRef(ptr %names)
  br label %pack
empty:
  %nothing = call ptr @PyTuple_New(i64 0)
  br label %pack
pack:
  %word_tuple = phi ptr [ %names, %given ], [ %nothing, %empty ]
  %whole = call ptr (i64, ...) @PyTuple_Pack(i64 3, ptr %values, ptr %word_tuple, ptr %kinds)
  call void @Py_DecRef(ptr %word_tuple)
  br label %drop
drop:
  %found = phi ptr [ null, %0 ], [ null, %look ], [ %whole, %pack ]
  call void @Py_DecRef(ptr %values)
  call void @Py_DecRef(ptr %kinds)
  ret ptr %found
}

; whether an argument may be part of a key: None, an int, a bool, a string, a class, a dtype, a
; tuple of ints
define internal i1 @is_static(ptr %object) {
  %kind = call ptr @kind(ptr %object)
  %is_listed = call i1 @is_between(ptr %kind, i64 FIRST_PLAIN, i64 LAST_STATIC)
  br i1 %is_listed, label %yes, label %other
other:
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  br i1 %is_tuple, label %tuple, label %dtype
tuple:
  %count = call i64 @tuple_size(ptr %object)
  br label %next
next:
  %i = phi i64 [ 0, %tuple ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %item = call ptr @tuple_item(ptr %object, i64 %i)
  %after = add i64 %i, 1
  %is_int = call i1 @is(ptr %item, i64 T_INT)
  br i1 %is_int, label %next, label %no
dtype:
  %dtypes = call ptr @object(i64 T_DTYPE)
  %is_dtype = call i32 @PyType_IsSubtype(ptr %kind, ptr %dtypes)
  %is_known = icmp ne i32 %is_dtype, 0
  ret i1 %is_known
yes:
  ret i1 true
no:
  ret i1 false
}
"""
