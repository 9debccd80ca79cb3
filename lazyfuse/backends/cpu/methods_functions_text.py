"""Functions and methods that take any arguments, as LLVM text; see `methods.py`."""

from __future__ import annotations

FUNCTIONS = """
declare ptr @PyMem_Malloc(i64)
declare void @PyMem_Free(ptr)
declare ptr @PyErr_NoMemory()

; a Python method or function in its general form; `first` is null or comes before the arguments
define internal ptr @general(ptr %function, ptr %first, ptr %args, i64 %count, ptr %names) {
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %fail, label %start
fail:
  ret ptr null
start:
  %is_alone = icmp eq ptr %first, null
  br i1 %is_alone, label %alone, label %bound
alone:
  %plain = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 %count, ptr %names)
  ret ptr %plain
bound:
  %words = call i64 @count_of(ptr %names)
  %total = add i64 %count, %words
  %is_many = icmp sgt i64 %total, MOST_ARGUMENTS
  %room = add i64 %total, 1
  br i1 %is_many, label %many, label %few
few:
  %here = alloca ptr, i64 %room
  br label %copy
many:
  %bytes = mul i64 %room, 8
  %away = call ptr @PyMem_Malloc(i64 %bytes)
  %has_none = icmp eq ptr %away, null
  br i1 %has_none, label %no_memory, label %copy
no_memory:
  %nothing = call ptr @PyErr_NoMemory()
  ret ptr null
copy:
  %all = phi ptr [ %here, %few ], [ %away, %many ]
  put ptr %first, %all[0]
  br label %next
next:
  %i = phi i64 [ 0, %copy ], [ %after, %move ]
  %is_over = icmp sge i64 %i, %total
  br i1 %is_over, label %run, label %move
move:
  %item = get ptr %args[%i]
  %after = add i64 %i, 1
  put ptr %item, %all[%after]
  br label %next
run:
  %with_first = add i64 %count, 1
  %result = call ptr @PyObject_Vectorcall(ptr %function, ptr %all, i64 %with_first, ptr %names)
  br i1 %is_many, label %free, label %done
free:
  call void @PyMem_Free(ptr %all)
  br label %done
done:
  ret ptr %result
}

; self[key] = value
define ptr @lf_set_item(ptr %self, ptr %args, i64 %count, ptr %names) {
  %is_pair = icmp eq i64 %count, 2
  %has_no_words = icmp eq ptr %names, null
  %is_free = call i1 @is_nothing_recorded()
  %is_usual = and i1 %is_pair, %has_no_words
  %is_plain = and i1 %is_usual, %is_free
  br i1 %is_plain, label %quick, label %slow
quick:
  %quick_key = get ptr %args[0]
  %quick_value = get ptr %args[1]
  %is_quick = call i32 @quick_set(ptr %self, ptr %quick_key, ptr %quick_value)
  switch i32 %is_quick, label %fail [ i32 1, label %done  i32 0, label %take_host ]
take_host:
  %host = call ptr @small_host(ptr %self)
  %is_large = icmp eq ptr %host, null
  br i1 %is_large, label %engine, label %size
engine:
  %own_key = get ptr %args[0]
  %own_value = get ptr %args[1]
  %is_itself = call i1 @is_same_part(ptr %self, ptr %own_key, ptr %own_value)
  br i1 %is_itself, label %done, label %engine_writes
engine_writes:
  %is_set = call i32 @set_in_memory(ptr %self, ptr %own_key, ptr %own_value)
  switch i32 %is_set, label %fail [ i32 1, label %done  i32 0, label %numpys ]
numpys:
  %in_ints = call ptr @in_ints(ptr %own_key)
  %has_none = icmp eq ptr %in_ints, null
  br i1 %has_none, label %slow, label %again
again:
  %is_set_so = call i32 @set_in_memory(ptr %self, ptr %in_ints, ptr %own_value)
  call void @Py_DecRef(ptr %in_ints)
  switch i32 %is_set_so, label %fail [ i32 1, label %done  i32 0, label %slow ]
size:
  %eager = call i64 @eager_size()
  %limit = call i64 @larger_small(ptr %self, i64 %eager)
  %has_raised = icmp slt i64 %limit, 0
  br i1 %has_raised, label %drop_host, label %take_key
take_key:
  %key = get ptr %args[0]
  %low_key = call ptr @lowered(ptr %key, i64 %limit, i64 3, i64 0)
  %no_key = icmp eq ptr %low_key, null
  br i1 %no_key, label %drop_host, label %take_value
take_value:
  %value = get ptr %args[1]
  %low_value = call ptr @lowered(ptr %value, i64 %limit, i64 3, i64 OPENS_OWN)
  %no_value = icmp eq ptr %low_value, null
  br i1 %no_value, label %drop_key, label %set
set:
  %is_masked = call i1 @set_small_where(ptr %host, ptr %low_key, ptr %low_value)
  br i1 %is_masked, label %drop_all_three, label %by_numpy
by_numpy:
  %numpys_status = call i32 @PyObject_SetItem(ptr %host, ptr %low_key, ptr %low_value)
  br label %drop_all_three
drop_all_three:
  %status = phi i32 [ 0, %set ], [ %numpys_status, %by_numpy ]
  call void @Py_DecRef(ptr %low_value)
  call void @Py_DecRef(ptr %low_key)
  call void @Py_DecRef(ptr %host)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %fail, label %done
fail:
  ret ptr null
done:
  %none = call ptr @none()
  call void @Py_IncRef(ptr %none)
  ret ptr %none
drop_key:
  call void @Py_DecRef(ptr %low_key)
  br label %drop_host
drop_host:
  call void @Py_DecRef(ptr %host)
  br label %slow
slow:
  %python = call ptr @object(i64 T_SET_ITEM)
  %result = call ptr @general(ptr %python, ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}

; an elementwise ufunc of NumPy's that was called on arrays of ours: the one of ours, on operands
; that override nothing; `matrix @ self` of a matrix of NumPy's; others' on small arrays
define ptr @lf_array_ufunc(ptr %self, ptr %args, i64 %count, ptr %names) {
  %has_words = icmp ne ptr %names, null
  %inputs = sub i64 %count, 2
  %given = alloca [3 x ptr]
  %first_input = sub i64 %inputs, 1
  %are_few = icmp ult i64 %first_input, 3
  %has_none = xor i1 %has_words, true
  %can = and i1 %are_few, %has_none
  br i1 %can, label %method, label %slow
method:
  %method_name = get ptr %args[1]
  %call_name = call ptr @object(i64 T_CALL_NAME)
  %equals = call i32 @PyObject_RichCompareBool(ptr %method_name, ptr %call_name, i32 2)
  %is_call = icmp eq i32 %equals, 1
  br i1 %is_call, label %find, label %slow
find:
  %ufunc = get ptr %args[0]
  %ufuncs = call ptr @object(i64 T_UFUNCS)
  %own = call ptr @PyDict_GetItem(ptr %ufuncs, ptr %ufunc)
  %is_unknown = icmp eq ptr %own, null
  br i1 %is_unknown, label %product, label %next
product:
  %matmul = call ptr @object(i64 T_MATMUL)
  %is_matmul = icmp eq ptr %ufunc, %matmul
  %are_two = icmp eq i64 %inputs, 2
  %is_product = and i1 %is_matmul, %are_two
  br i1 %is_product, label %factors, label %others
others:
  %their_operands = getelementptr ptr, ptr %args, i64 2
  %theirs = call ptr @of_another_ufunc(ptr %ufunc, ptr %their_operands, i64 %inputs)
  %is_not_small = icmp eq ptr %theirs, null
  br i1 %is_not_small, label %ask, label %give
give:
  ret ptr %theirs
ask:
  %error = call ptr @PyErr_Occurred()
  %has_raised = icmp ne ptr %error, null
  br i1 %has_raised, label %give, label %slow
factors:
  %left = get ptr %args[2]
  %right = get ptr %args[3]
  %is_numpys = call i1 @is(ptr %left, i64 T_NDARRAY)
  %is_ours = icmp eq ptr %right, %self
  %is_reflected = and i1 %is_numpys, %is_ours
  br i1 %is_reflected, label %reflected, label %slow
reflected:
  %multiplied = call ptr @lf_rmatmul(ptr %self, ptr %left)
  ret ptr %multiplied
next:
  %i = phi i64 [ 2, %find ], [ %after, %keep ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %run, label %look
look:
  %input = get ptr %args[%i]
  %after = add i64 %i, 1
  %place = sub i64 %i, 2
  %operand = call ptr @operand_of_ufunc(ptr %input)
  %is_other = icmp eq ptr %operand, null
  br i1 %is_other, label %undo, label %keep
keep:
  put ptr %operand, %given[%place]
  br label %next
undo:
  call void @drop_all(ptr %given, i64 %place)
  br label %slow
run:
  %made = call ptr @lf_call(ptr %own, ptr %given, i64 %inputs, ptr null)
  call void @drop_all(ptr %given, i64 %inputs)
  ret ptr %made
slow:
  %python = call ptr @object(i64 T_ARRAY_UFUNC)
  %result = call ptr @general(ptr %python, ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}

; what a class of arrays has by a name: NumPy's C code asks with each call, and what Python has to
; answer for is another
define ptr @lf_class_attribute(ptr %kind, ptr %name) {
  %names = call ptr @object(i64 T_NUMPY_NAMES)
  %has = call i32 @PySet_Contains(ptr %names, ptr %name)
  %is_usual = icmp eq i32 %has, 0
  br i1 %is_usual, label %usual, label %slow
usual:
  %of_types = call ptr @object(i64 T_TYPE_ATTRIBUTE)
  %found = call ptr %of_types(ptr %kind, ptr %name)
  ret ptr %found
slow:
  %given = alloca [1 x ptr]
  put ptr %name, %given[0]
  %python = call ptr @object(i64 T_CLASS_ATTRIBUTE)
  %result = call ptr @general(ptr %python, ptr %kind, ptr %given, i64 1, ptr null)
  ret ptr %result
}
"""

#: A function of the namespace; its short forms are written out after this.
FUNCTION = """
; which operands of a function may be parts of the engine's memory
define internal i64 @rule_of(ptr %self) {{
  %object = call ptr @part(ptr %self, i64 {rule_place})
  %rule = call i64 @PyLong_AsLong(ptr %object)
  ret i64 %rule
}}

; a function of the namespace
define ptr @lf_function(ptr %self, ptr %args, i64 %count, ptr %names) {{
  %is_asked_for = call i1 @is_in_array_method()
  br i1 %is_asked_for, label %engines, label %first
first:
  %is_of_numbers = call i1 @has_numbers_first(ptr %args, i64 %count)
  br i1 %is_of_numbers, label %maker, label %begin
maker:
  %of_numbers = call ptr @quick_maker(ptr %self, ptr %args, i64 %count, ptr %names)
  %is_made = icmp ne ptr %of_numbers, null
  br i1 %is_made, label %give_made, label %begin
give_made:
  ret ptr %of_numbers
begin:{defer}
  %views = call ptr @part(ptr %self, i64 T_FUNCTION_VIEWS)
  %has_views = icmp ne ptr %views, null
  br i1 %has_views, label %views_known, label %not_remembered
views_known:
  %of_view = call ptr @view_of_call(ptr %views, ptr %args, i64 %count, ptr %names)
  %is_remembered = icmp ne ptr %of_view, null
  br i1 %is_remembered, label %give_view, label %not_remembered
give_view:
  ret ptr %of_view
not_remembered:
  %numpys = call ptr @part(ptr %self, i64 T_UFUNC)
  %size = call ptr @part(ptr %self, i64 T_FUNCTION_SIZE)
  %has_none = icmp eq ptr %numpys, null
  br i1 %has_none, label %general, label %itself
itself:
  %same = call ptr @quick_same(ptr %numpys, ptr %args, i64 %count, ptr %names)
  %is_another = icmp eq ptr %same, null
  br i1 %is_another, label %form, label %give_same
form:
  %of_form = call ptr @quick_form(ptr %numpys, ptr %args, i64 %count, ptr %names)
  %is_unformed = icmp eq ptr %of_form, null
  br i1 %is_unformed, label %sized, label %give_form
give_form:
  ret ptr %of_form
give_same:
  ret ptr %same
sized:
  %is_small = call i1 @is_small_result(ptr %size, ptr %args, i64 %count, ptr %names)
  br i1 %is_small, label %small, label %ask
ask:
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %fail, label %general
fail:
  ret ptr null
small:
  %own_rule = call i64 @rule_of(ptr %self)
  %own_kind = and i64 %own_rule, RULE_MASK
  switch i64 %own_kind, label %by_rule [
    i64 RULE_PLACES, label %places  i64 RULE_INTO, label %into ]
into:
  %altered = call i32 @altered(ptr %numpys, ptr %args, i64 %count, ptr %names)
  switch i32 %altered, label %fail [ i32 1, label %done  i32 0, label %by_rule ]
places:
  %applied = call i32 @applied(ptr %numpys, ptr %args, i64 %count, ptr %names)
  switch i32 %applied, label %fail [ i32 1, label %done  i32 0, label %by_rule ]
done:
  %none = call ptr @none()
  call void @Py_IncRef(ptr %none)
  ret ptr %none
by_rule:
  %rule = phi i64 [ %own_rule, %small ], [ RULE_NONE, %places ], [ RULE_NONE, %into ]
  %made = call ptr @small_call(ptr %numpys, ptr null, ptr %args, i64 %count, ptr %names, i64 %rule)
  %is_large = icmp eq ptr %made, null
  br i1 %is_large, label %general, label %give
give:
  ret ptr %made
general:
  %recorded = call ptr @recorded_call(ptr %self, ptr %args, i64 %count, ptr %names)
  %is_unrecorded = icmp eq ptr %recorded, null
  br i1 %is_unrecorded, label %engines, label %give_recorded
give_recorded:
  ret ptr %recorded
engines:
  %result = call ptr @in_python(ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}}
"""

#: A method that is called by name.
NAMED = """
define ptr @lf_{name}(ptr %self, ptr %args, i64 %count, ptr %names) {{{defer}
  %plain = call ptr @object(i64 {plain})
  %made = call ptr
    @small_call(ptr %plain, ptr %self, ptr %args, i64 %count, ptr %names, i64 {rule})
  %is_large = icmp eq ptr %made, null
  br i1 %is_large, label %general, label %give
give:
  ret ptr %made
general:
  %known = call ptr @object(i64 {recipes})
  %recorded = call ptr
    @{recall}(ptr %known, ptr %self, ptr %args, i64 %count, ptr %names)
  %is_unrecorded = icmp eq ptr %recorded, null
  br i1 %is_unrecorded, label %engine, label %give_recorded
give_recorded:
  ret ptr %recorded
engine:
  %python = call ptr @object(i64 {method})
  %result = call ptr @general(ptr %python, ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %result
}}
"""

#: An operator whose operands need not have one shape.
OPERATOR = """
define ptr @lf_{name}(ptr %self, ptr %other) {{{quick}
  %args = alloca [1 x ptr]
  store ptr %other, ptr %args
  %plain = call ptr @object(i64 {plain})
  %made = call ptr @small_call(ptr %plain, ptr %self, ptr %args, i64 1, ptr null, i64 {rule})
  %is_large = icmp eq ptr %made, null
  br i1 %is_large, label %general, label %give
give:
  ret ptr %made
general:
  %product = call ptr @product(ptr %plain, ptr %self, ptr %other, i1 {is_reflected})
  %is_other = icmp eq ptr %product, null
  br i1 %is_other, label %python, label %give_product
give_product:
  ret ptr %product
python:
  %method = call ptr @object(i64 {method})
  %result = call ptr @general(ptr %method, ptr %self, ptr %args, i64 1, ptr null)
  ret ptr %result
}}
"""
