"""Recording in machine code, as LLVM text: what `frontend/rerecord.py` does, in the usual case.

    lf_recorded(known, operands, extra)   a new array by a recipe; None where there is none
    lf_written(known, operands, extra)    a write into the first operand; whether there was one

`known` maps keys to recipes (`frontend/recipes.py`). Where anything is out of the ordinary these
functions have done nothing, and the Python ones go on. Words in braces that are places of objects
(`node_srcs`...) are bytes from where an object begins; capital ones are entries of the table.
"""

HEAD = """\
declare i64 @PyThread_get_thread_ident()
declare i64 @PyLong_AsLong(ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare i64 @PyLong_AsUnsignedLong(ptr)
declare double @PyLong_AsDouble(ptr)
declare double @PyFloat_AsDouble(ptr)
declare ptr @PyNumber_Index(ptr)
declare double @PyComplex_RealAsDouble(ptr)
declare double @PyComplex_ImagAsDouble(ptr)
declare ptr @PyComplex_FromDoubles(double, double)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyFloat_FromDouble(double)
declare i32 @PyUnicode_ReadChar(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyTuple_Pack(i64, ...)
declare ptr @PyDict_GetItem(ptr, ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare i32 @PySet_Contains(ptr, ptr)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare ptr @PyWeakref_NewRef(ptr, ptr)
declare void @PyObject_GC_UnTrack(ptr)
declare i32 @PyContextVar_Get(ptr, ptr, ptr)
declare ptr @PyEval_GetFrame()
declare ptr @PyFrame_GetGlobals(ptr)
declare ptr @PyFrame_GetBack(ptr)
declare ptr @PyFrame_GetCode(ptr)
declare i32 @PyFrame_GetLasti(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()

define internal ptr @object(i64 %place) alwaysinline {{
  %number = call i64 @entry(i64 %place)
  %object = inttoptr i64 %number to ptr
  ret ptr %object
}}

define internal ptr @get(ptr %object, i64 %offset) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 %offset
  %value = load ptr, ptr %at
  ret ptr %value
}}

; an integer, at most 2**60: the bytes under a node count every path to them
define internal i64 @bounded(ptr %object) noinline {{
  %overflow = alloca i32
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %sign = load i32, ptr %overflow
  %beyond = icmp ne i32 %sign, 0
  %large = icmp sgt i64 %value, 1152921504606846976
  %cut = or i1 %beyond, %large
  %bounded = select i1 %cut, i64 1152921504606846976, i64 %value
  ret i64 %bounded
}}

; stores a reference, which it takes, where there is none
define internal void @set(ptr %object, i64 %offset, ptr %value) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 %offset
  store ptr %value, ptr %at
  ret void
}}

; stores a reference, which it takes, instead of another
define internal void @put(ptr %object, i64 %offset, ptr %value) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 %offset
  %old = load ptr, ptr %at
  store ptr %value, ptr %at
  call void @Py_DecRef(ptr %old)
  ret void
}}

define internal void @share(ptr %object, i64 %offset, ptr %value) alwaysinline {{
  call void @Py_IncRef(ptr %value)
  call void @set(ptr %object, i64 %offset, ptr %value)
  ret void
}}

; a new object of the class of a prototype, and with what that has, but for weak references to it
; (tp_weaklistoffset of CPython's object.h); null and no exception for none
define internal ptr @like(ptr %prototype, i64 %words) {{
  %type = call ptr @kind(ptr %prototype)
  %offset_at = getelementptr i8, ptr %type, i64 208
  %offset = load i64, ptr %offset_at
  %weak = ashr exact i64 %offset, 3
  %made = call ptr @made_object(ptr %type)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %fail, label %next
fail:
  call void @PyErr_Clear()
  ret ptr null
next:
  %i = phi i64 [ 2, %0 ], [ %after, %copy ]
  %is_over = icmp sge i64 %i, %words
  br i1 %is_over, label %done, label %copy
copy:
  %from = getelementptr ptr, ptr %prototype, i64 %i
  %word = load ptr, ptr %from
  %is_weak = icmp eq i64 %i, %weak
  %value = select i1 %is_weak, ptr null, ptr %word
  call void @Py_IncRef(ptr %value)
  %to = getelementptr ptr, ptr %made, i64 %i
  store ptr %value, ptr %to
  %after = add i64 %i, 1
  br label %next
done:
  ret ptr %made
}}

; a number of what there is, as an object; one that is larger than all where there is no memory:
; too much is said of readers, depth and bytes rather than an operation left half done
define internal ptr @counted(i64 %number) {{
  %made = call ptr @PyLong_FromLong(i64 %number)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %many, label %done
many:
  call void @PyErr_Clear()
  %most = call ptr @object(i64 {MANY})
  call void @Py_IncRef(ptr %most)
  ret ptr %most
done:
  ret ptr %made
}}

define internal void @add_user(ptr %node) {{
  %users = call ptr @get(ptr %node, i64 {node_users})
  %number = call i64 @int_value(ptr %users)
  %more = add i64 %number, 1
  %counted = call ptr @counted(i64 %more)
  call void @put(ptr %node, i64 {node_users}, ptr %counted)
  ret void
}}

define internal ptr @memory(ptr %array) alwaysinline {{
  %storage = call ptr @get(ptr %array, i64 {handle_storage})
  %node = call ptr @get(ptr %storage, i64 {storage_node})
  ret ptr %node
}}
"""

MARKS = """
; whether an array is all of its memory, in its order
define internal i1 @is_whole(ptr %array) alwaysinline {{
  %node = call ptr @memory(ptr %array)
  %form = call ptr @get(ptr %node, i64 {node_form})
  %all = call ptr @get(ptr %form, i64 {form_layout})
  %layout = call ptr @get(ptr %array, i64 {handle_layout})
  %whole = icmp eq ptr %all, %layout
  ret i1 %whole
}}

; the form of an array of the engine that only this thread has touched, or known to be touched by
; several and not lent (`ir/storage.py`); null for others
define internal ptr @form(ptr %array) {{
  %none = call ptr @none()
  %host = call ptr @get(ptr %array, i64 {handle_host})
  %large = icmp eq ptr %host, %none
  br i1 %large, label %plain, label %no
plain:
  %cast = call ptr @get(ptr %array, i64 {handle_cast})
  %uncast = icmp eq ptr %cast, %none
  br i1 %uncast, label %owned, label %no
owned:
  %storage = call ptr @get(ptr %array, i64 {handle_storage})
  %thread = call ptr @get(ptr %storage, i64 {storage_thread})
  %owner = call i64 @PyLong_AsUnsignedLong(ptr %thread)
  %here = call i64 @PyThread_get_thread_ident()
  %mine = icmp eq i64 %owner, %here
  br i1 %mine, label %look, label %several
several:
  %shared = call ptr @get(ptr %storage, i64 {storage_shared})
  %true = call ptr @object(i64 {TRUE})
  %is_shared = icmp eq ptr %shared, %true
  %is_free = icmp ne i64 %owner, 0 ; LENT
  %is_everybodys = and i1 %is_shared, %is_free
  br i1 %is_everybodys, label %look, label %no
look:
  %node = call ptr @memory(ptr %array)
  %whole = call i1 @is_whole(ptr %array)
  br i1 %whole, label %all, label %part
all:
  %form = call ptr @get(ptr %node, i64 {node_form})
  ret ptr %form
part:
  %in_parts = call i1 @is_read_in_parts(ptr %node, ptr %array)
  br i1 %in_parts, label %no, label %known
known:
  %node_form = call ptr @get(ptr %node, i64 {node_form})
  %all_layout = call ptr @get(ptr %node_form, i64 {form_layout})
  %unformed = icmp eq ptr %all_layout, %none
  br i1 %unformed, label %no, label %view
view:
  %layout = call ptr @get(ptr %array, i64 {handle_layout})
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %strides = call ptr @tuple_item(ptr %layout, i64 1)
  %dtype = call ptr @get(ptr %node, i64 {node_dtype})
  %key = call ptr (i64, ...) @PyTuple_Pack(i64 3, ptr %shape, ptr %dtype, ptr %strides)
  %failed = icmp eq ptr %key, null
  br i1 %failed, label %fail, label %find
fail:
  call void @PyErr_Clear()
  ret ptr null
find:
  %forms = call ptr @object(i64 {FORMS})
  %found = call ptr @PyDict_GetItem(ptr %forms, ptr %key)
  call void @Py_DecRef(ptr %key)
  ret ptr %found
no:
  ret ptr null
}}

; the number of this thread, by that of an array among operands where one is its own, with a
; reference; null with an exception
define internal ptr @thread(ptr %operands, i64 %count) {{
  %here = call i64 @PyThread_get_thread_ident()
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %more ]
  %is_over = icmp uge i64 %i, %count
  br i1 %is_over, label %make, label %look
look:
  %at = getelementptr ptr, ptr %operands, i64 %i
  %operand = load ptr, ptr %at
  %is_array = call i1 @is_array(ptr %operand)
  br i1 %is_array, label %compare, label %more
compare:
  %storage = call ptr @get(ptr %operand, i64 {handle_storage})
  %thread = call ptr @get(ptr %storage, i64 {storage_thread})
  %owner = call i64 @PyLong_AsUnsignedLong(ptr %thread)
  %is_mine = icmp eq i64 %owner, %here
  br i1 %is_mine, label %found, label %more
more:
  %after = add i64 %i, 1
  br label %next
found:
  call void @Py_IncRef(ptr %thread)
  ret ptr %thread
make:
  %number = inttoptr i64 %here to ptr
  %made = call ptr @PyLong_FromVoidPtr(ptr %number)
  ret ptr %made
}}

define internal i1 @is_array(ptr %operand) {{
  %is_array = call i1 @is(ptr %operand, i64 {class_})
  %is_scalar = call i1 @is(ptr %operand, i64 {SCALAR})
  %either = or i1 %is_array, %is_scalar
  ret i1 %either
}}

; what an operation depends on of an operand; null for one out of the ordinary
define internal ptr @mark(ptr %operand) {{
  %is_array = call i1 @is_array(ptr %operand)
  br i1 %is_array, label %array, label %number
array:
  %form = call ptr @form(ptr %operand)
  ret ptr %form
number:
  %type = call ptr @kind(ptr %operand)
  %known = call i1 @is_recorded_number(ptr %operand)
  %mark = select i1 %known, ptr %type, ptr null
  ret ptr %mark
}}

; a key of operands and an extra part, null for none, with room for more; null where there is none
define internal ptr @key(ptr %operands, i64 %count, ptr %extra, i64 %room) {{
  %has_extra = icmp ne ptr %extra, null
  %more = zext i1 %has_extra to i64
  %marks = add i64 %count, %more
  %size = add i64 %marks, %room
  %key = call ptr @PyTuple_New(i64 %size)
  %failed = icmp eq ptr %key, null
  br i1 %failed, label %fail, label %next
fail:
  call void @PyErr_Clear()
  ret ptr null
next:
  %i = phi i64 [ 0, %0 ], [ %after, %add ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %at = getelementptr ptr, ptr %operands, i64 %i
  %operand = load ptr, ptr %at
  %mark = call ptr @mark(ptr %operand)
  %unknown = icmp eq ptr %mark, null
  br i1 %unknown, label %drop, label %add
add:
  call void @Py_IncRef(ptr %mark)
  %set = call i32 @PyTuple_SetItem(ptr %key, i64 %i, ptr %mark)
  %after = add i64 %i, 1
  br label %next
drop:
  call void @Py_DecRef(ptr %key)
  ret ptr null
done:
  br i1 %has_extra, label %complete, label %give
complete:
  call void @Py_IncRef(ptr %extra)
  %added = call i32 @PyTuple_SetItem(ptr %key, i64 %count, ptr %extra)
  br label %give
give:
  ret ptr %key
}}
"""
