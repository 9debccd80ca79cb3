"""Recording in machine code: the nodes of a recipe, as LLVM text (see `record_text.py`)."""

NODES = """
; a number of NumPy's as Python's, any other one as it is, with a reference; null for an exception
define internal ptr @pythons(ptr %number) {{
  %is_float = call i1 @is(ptr %number, i64 {float_})
  %is_int = call i1 @is(ptr %number, i64 {int_})
  %is_pythons = or i1 %is_float, %is_int
  br i1 %is_pythons, label %same, label %numpys
same:
  call void @Py_IncRef(ptr %number)
  ret ptr %number
numpys:
  %is_long = call i1 @is(ptr %number, i64 {int64})
  %is_short = call i1 @is(ptr %number, i64 {T_NUMPYS_INT})
  %is_whole = or i1 %is_long, %is_short
  br i1 %is_whole, label %whole, label %real
whole:
  %integer = call ptr @PyNumber_Index(ptr %number)
  ret ptr %integer
real:
  %inner = call double @PyFloat_AsDouble(ptr %number)
  %float = call ptr @PyFloat_FromDouble(double %inner)
  ret ptr %float
}}

; a number as a scalar of a kernel; null for one that its dtype does not take so
define internal ptr @scalar(ptr %number, ptr %object) {{
  %dtype = call ptr @tuple_item(ptr %number, i64 0)
  %letter = call i32 @PyUnicode_ReadChar(ptr %dtype, i64 0)
  %is_pair = icmp eq i32 %letter, {letter_c}
  %is_complex = call i1 @is_complex_number(ptr %object)
  %has_pair = or i1 %is_pair, %is_complex
  br i1 %has_pair, label %pair, label %one_part
pair:
  %of_pair = call ptr @complex_scalar(ptr %number, ptr %object, i1 %is_pair, i1 %is_complex)
  ret ptr %of_pair
one_part:
  %value = call ptr @pythons(ptr %object)
  %is_lost = icmp eq ptr %value, null
  br i1 %is_lost, label %no, label %bounds
bounds:
  %low = call ptr @tuple_item(ptr %number, i64 1)
  %high = call ptr @tuple_item(ptr %number, i64 2)
  %above = call i32 @PyObject_RichCompareBool(ptr %low, ptr %value, i32 1)
  %below = call i32 @PyObject_RichCompareBool(ptr %value, ptr %high, i32 1)
  %both = and i32 %above, %below
  %fits = icmp eq i32 %both, 1
  br i1 %fits, label %convert, label %refuse
convert:
  %real = icmp eq i32 %letter, {letter_f}
  %is_int = call i1 @is(ptr %value, i64 {int_})
  %cast = and i1 %real, %is_int
  br i1 %cast, label %float, label %make
float:
  %double = call double @PyLong_AsDouble(ptr %value)
  %raised = call ptr @PyErr_Occurred()
  %wrong = icmp ne ptr %raised, null
  br i1 %wrong, label %refuse, label %small
small:
  %from_zero = fcmp oge double %double, 0.0
  %to_last = fcmp olt double %double, {small_floats}.0
  %is_small = and i1 %from_zero, %to_last
  br i1 %is_small, label %shared, label %fresh
shared:
  %index = fptosi double %double to i64
  %floats = call ptr @object(i64 {FLOATS})
  %one = call ptr @tuple_item(ptr %floats, i64 %index)
  call void @Py_IncRef(ptr %one)
  br label %replace
fresh:
  %new = call ptr @PyFloat_FromDouble(double %double)
  br label %replace
replace:
  %cast_value = phi ptr [ %one, %shared ], [ %new, %fresh ]
  call void @Py_DecRef(ptr %value)
  br label %make
make:
  %given = phi ptr [ %cast_value, %replace ], [ %value, %convert ]
  %node = call ptr @constant(ptr %given, ptr %dtype)
  ret ptr %node
refuse:
  call void @Py_DecRef(ptr %value)
  br label %no
no:
  call void @PyErr_Clear()
  ret ptr null
}}

; the same for a complex dtype, or a complex number, with a margin for its absolute value
define internal ptr @complex_scalar(ptr %number, ptr %object, i1 %is_pair, i1 %is_complex) {{
  br i1 %is_pair, label %look, label %no
look:
  br i1 %is_complex, label %both, label %one
both:
  %real_part = call double @PyComplex_RealAsDouble(ptr %object)
  %imag_part = call double @PyComplex_ImagAsDouble(ptr %object)
  br label %bounds
one:
  %only = call double @PyFloat_AsDouble(ptr %object)
  %raised = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %raised, null
  br i1 %failed, label %no, label %bounds
bounds:
  %real = phi double [ %real_part, %both ], [ %only, %one ]
  %imag = phi double [ %imag_part, %both ], [ 0.0, %one ]
  %high_object = call ptr @tuple_item(ptr %number, i64 2)
  %high = call double @PyFloat_AsDouble(ptr %high_object)
  %half = fmul double %high, 0.5
  %across = call double @llvm.fabs.f64(double %real)
  %up = call double @llvm.fabs.f64(double %imag)
  %is_short = fcmp ole double %across, %half
  %is_low = fcmp ole double %up, %half
  %fits = and i1 %is_short, %is_low
  br i1 %fits, label %make, label %no
make:
  %value = call ptr @PyComplex_FromDoubles(double %real, double %imag)
  %is_lost = icmp eq ptr %value, null
  br i1 %is_lost, label %no, label %give
give:
  %dtype = call ptr @tuple_item(ptr %number, i64 0)
  %node = call ptr @constant(ptr %value, ptr %dtype)
  ret ptr %node
no:
  call void @PyErr_Clear()
  ret ptr null
}}

; a scalar of a kernel, whose value's reference it takes; null for an exception
define internal ptr @constant(ptr %value, ptr %dtype) {{
  %prototype = call ptr @object(i64 {CONST})
  %node = call ptr @like(ptr %prototype, i64 {const_words})
  %failed = icmp eq ptr %node, null
  br i1 %failed, label %drop, label %fill
fill:
  call void @set(ptr %node, i64 {const_value}, ptr %value)
  call void @share(ptr %node, i64 {node_dtype}, ptr %dtype)
  ret ptr %node
drop:
  call void @Py_DecRef(ptr %value)
  ret ptr null
}}

; the node of an array's value now, of a form
define internal ptr @read(ptr %array, ptr %form) {{
  %node = call ptr @memory(ptr %array)
  %whole = call i1 @is_whole(ptr %array)
  br i1 %whole, label %all, label %compare
compare:
  %own_form = call ptr @get(ptr %node, i64 {node_form})
  %own = call ptr @get(ptr %own_form, i64 {form_layout})
  %given = call ptr @get(ptr %array, i64 {handle_layout})
  %equal = call i32 @PyObject_RichCompareBool(ptr %given, ptr %own, i32 2)
  %is_equal = icmp eq i32 %equal, 1
  br i1 %is_equal, label %all, label %part
all:
  call void @Py_IncRef(ptr %node)
  ret ptr %node
part:
  %prototype = call ptr @object(i64 {VIEW})
  %view = call ptr @like(ptr %prototype, i64 {view_words})
  %failed = icmp eq ptr %view, null
  br i1 %failed, label %fail, label %fill
fill:
  %shape = call ptr @get(ptr %form, i64 {form_shape})
  call void @share(ptr %view, i64 {node_shape}, ptr %shape)
  %dtype = call ptr @get(ptr %form, i64 {form_dtype})
  call void @share(ptr %view, i64 {node_dtype}, ptr %dtype)
  %strides = call ptr @get(ptr %form, i64 {form_strides})
  call void @share(ptr %view, i64 {node_strides}, ptr %strides)
  call void @share(ptr %view, i64 {node_form}, ptr %form)
  %layout = call ptr @get(ptr %array, i64 {handle_layout})
  call void @share(ptr %view, i64 {view_layout}, ptr %layout)
  %srcs = call ptr (i64, ...) @PyTuple_Pack(i64 1, ptr %node)
  %no_srcs = icmp eq ptr %srcs, null
  br i1 %no_srcs, label %drop, label %read
drop:
  call void @Py_DecRef(ptr %view)
  br label %fail
read:
  call void @set(ptr %view, i64 {node_srcs}, ptr %srcs)
  call void @add_user(ptr %node)
  %held = call ptr @get(ptr %node, i64 {node_held})
  call void @share(ptr %view, i64 {node_held}, ptr %held)
  %below = call ptr @get(ptr %node, i64 {node_depth})
  %depth = call i64 @int_value(ptr %below)
  %deeper = add i64 %depth, 1
  %counted = call ptr @counted(i64 %deeper)
  call void @set(ptr %view, i64 {node_depth}, ptr %counted)
  ret ptr %view
fail:
  ret ptr null
}}

; the node at a place of a recipe
define internal ptr @source(ptr %operands, i64 %count, ptr %scalars, ptr %made, ptr %key,
                            i64 %place) {{
  %is_step = icmp sge i64 %place, %count
  br i1 %is_step, label %step, label %operand
step:
  %number = sub i64 %place, %count
  %step_at = getelementptr ptr, ptr %made, i64 %number
  %before = load ptr, ptr %step_at
  call void @Py_IncRef(ptr %before)
  ret ptr %before
operand:
  %is_memory = icmp slt i64 %place, 0
  br i1 %is_memory, label %whole, label %value
whole:
  %turned = xor i64 %place, -1
  %whole_at = getelementptr ptr, ptr %operands, i64 %turned
  %owner = load ptr, ptr %whole_at
  %memory = call ptr @memory(ptr %owner)
  call void @Py_IncRef(ptr %memory)
  ret ptr %memory
value:
  %scalar_at = getelementptr ptr, ptr %scalars, i64 %place
  %scalar = load ptr, ptr %scalar_at
  %is_array = icmp eq ptr %scalar, null
  br i1 %is_array, label %array, label %constant
constant:
  call void @Py_IncRef(ptr %scalar)
  ret ptr %scalar
array:
  %array_at = getelementptr ptr, ptr %operands, i64 %place
  %given = load ptr, ptr %array_at
  %form = call ptr @tuple_item(ptr %key, i64 %place)
  %read = call ptr @read(ptr %given, ptr %form)
  ret ptr %read
}}

; a step of a recipe
define internal ptr @step(ptr %step, ptr %operands, i64 %count, ptr %scalars, ptr %made,
                          ptr %key, ptr %origin) {{
  %prototype = call ptr @tuple_item(ptr %step, i64 0)
  %places = call ptr @tuple_item(ptr %step, i64 1)
  %words_object = call ptr @tuple_item(ptr %step, i64 3)
  %words = call i64 @int_value(ptr %words_object)
  %number = call i64 @tuple_size(ptr %places)
  %srcs = call ptr @PyTuple_New(i64 %number)
  %no_srcs = icmp eq ptr %srcs, null
  br i1 %no_srcs, label %clear, label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %add ]
  %deepest = phi i64 [ -1, %0 ], [ %deeper, %add ]
  %bytes = phi i64 [ 0, %0 ], [ %more, %add ]
  %is_over = icmp sge i64 %i, %number
  br i1 %is_over, label %make, label %look
look:
  %place_object = call ptr @tuple_item(ptr %places, i64 %i)
  %place = call i64 @int_value(ptr %place_object)
  %src = call ptr @source(ptr %operands, i64 %count, ptr %scalars, ptr %made, ptr %key, i64 %place)
  %no_src = icmp eq ptr %src, null
  br i1 %no_src, label %drop, label %add
add:
  %placed = call i32 @PyTuple_SetItem(ptr %srcs, i64 %i, ptr %src)
  call void @add_user(ptr %src)
  %depth_object = call ptr @get(ptr %src, i64 {node_depth})
  %depth = call i64 @int_value(ptr %depth_object)
  %is_deeper = icmp sgt i64 %depth, %deepest
  %deeper = select i1 %is_deeper, i64 %depth, i64 %deepest
  %held_object = call ptr @get(ptr %src, i64 {node_held})
  %held = call i64 @bounded(ptr %held_object)
  %more = add i64 %bytes, %held
  %after = add i64 %i, 1
  br label %next
make:
  %node = call ptr @like(ptr %prototype, i64 %words)
  %no_node = icmp eq ptr %node, null
  br i1 %no_node, label %drop, label %fill
fill:
  call void @set(ptr %node, i64 {node_srcs}, ptr %srcs)
  %own_depth = add i64 %deepest, 1
  %own_depth_object = call ptr @counted(i64 %own_depth)
  call void @set(ptr %node, i64 {node_depth}, ptr %own_depth_object)
  %own_held = call ptr @counted(i64 %bytes)
  call void @set(ptr %node, i64 {node_held}, ptr %own_held)
  %known_origin = call ptr @get(ptr %node, i64 {node_origin})
  %wants = icmp eq ptr %known_origin, null
  br i1 %wants, label %told, label %done
told:
  call void @share(ptr %node, i64 {node_origin}, ptr %origin)
  br label %done
done:
  ret ptr %node
drop:
  call void @Py_DecRef(ptr %srcs)
  ret ptr null
clear:
  call void @PyErr_Clear()
  ret ptr null
}}

; drops references, and null
define internal void @release(ptr %nodes, i64 %count) {{
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %drop ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %drop
drop:
  %at = getelementptr ptr, ptr %nodes, i64 %i
  %node = load ptr, ptr %at
  call void @Py_DecRef(ptr %node)
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}}

; the numbers among operands as scalars, null for arrays; the device of the arrays, null where they
; have several, a number does not fit, or an array is a part where the whole of its memory is
; wanted (`recipes.WHOLE`). All scalars are nodes, or null, afterwards.
define internal ptr @ready(ptr %recipe, ptr %operands, i64 %count, ptr %scalars) {{
  call void @llvm.memset.p0.i64(ptr %scalars, i8 0, i64 {scalar_bytes}, i1 false)
  %numbers = call ptr @tuple_item(ptr %recipe, i64 0)
  %none = call ptr @none()
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %device = phi ptr [ null, %0 ], [ %common, %more ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %at = getelementptr ptr, ptr %operands, i64 %i
  %operand = load ptr, ptr %at
  %number = call ptr @tuple_item(ptr %numbers, i64 %i)
  %is_any = icmp eq ptr %number, %none
  br i1 %is_any, label %array, label %other
other:
  %true = call ptr @object(i64 {TRUE})
  %is_array = icmp eq ptr %number, %true
  br i1 %is_array, label %whole, label %scalar
whole:
  %is_whole = call i1 @is_whole(ptr %operand)
  br i1 %is_whole, label %array, label %no
array:
  %storage = call ptr @get(ptr %operand, i64 {handle_storage})
  %own = call ptr @get(ptr %storage, i64 {storage_device})
  %first = icmp eq ptr %device, null
  %same = icmp eq ptr %device, %own
  %is_known = or i1 %first, %same
  %thread = call ptr @get(ptr %storage, i64 {storage_thread})
  %owner = call i64 @PyLong_AsUnsignedLong(ptr %thread)
  %is_free = icmp ne i64 %owner, 0 ; since it was asked whether it is lent, others may have run
  %fine = and i1 %is_known, %is_free
  br i1 %fine, label %more, label %no
scalar:
  %node = call ptr @scalar(ptr %number, ptr %operand)
  %to = getelementptr ptr, ptr %scalars, i64 %i
  store ptr %node, ptr %to
  %unfit = icmp eq ptr %node, null
  br i1 %unfit, label %no, label %more
more:
  %common = phi ptr [ %own, %array ], [ %device, %scalar ]
  %after = add i64 %i, 1
  br label %next
done:
  ret ptr %device
no:
  ret ptr null
}}

; the last node of a recipe, made again; null where that cannot be
define internal ptr @nodes(ptr %recipe, ptr %operands, i64 %count, ptr %scalars, ptr %key,
                           ptr %origin) {{
  %made = alloca [{most_steps} x ptr]
  %steps = call ptr @tuple_item(ptr %recipe, i64 1)
  %size = call i64 @tuple_size(ptr %steps)
  %last = sub i64 %size, 1
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %step = call ptr @tuple_item(ptr %steps, i64 %i)
  %node = call ptr @step(ptr %step, ptr %operands, i64 %count, ptr %scalars, ptr %made,
                         ptr %key, ptr %origin)
  %failed = icmp eq ptr %node, null
  br i1 %failed, label %fail, label %more
more:
  %to = getelementptr ptr, ptr %made, i64 %i
  store ptr %node, ptr %to
  %after = add i64 %i, 1
  %is_over = icmp sge i64 %after, %size
  br i1 %is_over, label %done, label %next
done:
  call void @release(ptr %made, i64 %last)
  ret ptr %node
fail:
  call void @release(ptr %made, i64 %i)
  ret ptr null
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
