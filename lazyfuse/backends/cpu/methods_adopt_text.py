"""New arrays of NumPy's whose memory becomes the engine's, as LLVM text; see `methods.py`.

In Python it is `source` and `new`, in 5 us. Here all parts of the array are copies of prototypes,
which are known by dtype and shape (`frontend/adopting.py`), and what differs is put in.
"""

from __future__ import annotations

#: Of NPY_ARRAY_*: C_CONTIGUOUS, ALIGNED, WRITEABLE; OWNDATA; C_CONTIGUOUS and F_CONTIGUOUS.
#: NPY_KEEPORDER of copies.
FLAGS = {"ADOPTED_FLAGS": 0x1 | 0x100 | 0x400, "OWNS_FLAG": 0x4,
         "DENSE_FLAGS": 0x1 | 0x100, "DENSE_ORDERS": 0x1 | 0x2, "KEEP_ORDER": 2}  # fmt: skip

ADOPT = """
; an array of the engine's that has the memory of a new one of NumPy's, a result that is not small
; and that is none of the arguments; what Python makes of it (`lifted`) where there is no
; prototype. Null for an exception. Takes the reference
define internal ptr @adopted_or_lifted(ptr %value, ptr %objects, i64 %count) {
  %raised = icmp eq ptr %value, null
  br i1 %raised, label %fail, label %look
fail:
  ret ptr null
look:
  %flags = get i32 %value[ARRAY_FLAGS]
  %wanted = and i32 %flags, ADOPTED_FLAGS
  %are_set = icmp eq i32 %wanted, ADOPTED_FLAGS
  %is_alone = call i1 @is_all_alone(ptr %value)
  %is_plain = and i1 %is_alone, %are_set
  br i1 %is_plain, label %options, label %lift
options:
  %eager = call i64 @eager_size()
  %is_host = icmp sgt i64 %eager, 0  ; it is 0 where arrays live on a GPU
  br i1 %is_host, label %find, label %lift
find:
  %known = call ptr @prototypes(ptr %value)
  %is_unknown = icmp eq ptr %known, null
  br i1 %is_unknown, label %lift, label %make
make:
  %made = call ptr @adopted(ptr %value, ptr %known)
  call void @Py_DecRef(ptr %known)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %error, label %done
done:
  call void @Py_DecRef(ptr %value)
  ret ptr %made
error:
  %exception = call ptr @PyErr_Occurred()
  %is_quiet = icmp eq ptr %exception, null
  br i1 %is_quiet, label %lift, label %drop
drop:
  call void @Py_DecRef(ptr %value)
  ret ptr null
lift:
  %lifted = call ptr @lifted(ptr %value, ptr %objects, i64 %count)
  ret ptr %lifted
}

; whether an array has memory of its own, or is the only view of all the memory of another one that
; nobody else has
define internal i1 @is_all_alone(ptr %value) {
  %base = get ptr %value[BASE]
  %has_none = icmp eq ptr %base, null
  br i1 %has_none, label %owner, label %view
view:
  %is_array = call i1 @is(ptr %base, i64 T_NDARRAY)
  br i1 %is_array, label %references, label %no
references:
  %count = get i32 %base[REFERENCES]
  %is_only = icmp eq i32 %count, 1
  %further = get ptr %base[BASE]
  %is_root = icmp eq ptr %further, null
  %size = call i64 @elements(ptr %value)
  %all = call i64 @elements(ptr %base)
  %is_whole = icmp eq i64 %size, %all
  %is_known = call i1 @has_known_dtype(ptr %base)
  %is_own = and i1 %is_only, %is_root
  %is_all = and i1 %is_own, %is_whole
  %is_view = and i1 %is_all, %is_known
  br i1 %is_view, label %owner, label %no
owner:
  %holder = phi ptr [ %value, %0 ], [ %base, %references ]
  %flags = get i32 %holder[ARRAY_FLAGS]
  %owned = and i32 %flags, OWNS_FLAG
  %owns = icmp ne i32 %owned, 0
  ret i1 %owns
no:
  ret i1 false
}

; the prototypes for an array of NumPy's, with a reference; null and no exception for none
define internal ptr @prototypes(ptr %value) {
  %nd = get i32 %value[ND]
  %axes = zext i32 %nd to i64
  %extents = get ptr %value[DIMENSIONS]
  %shape = call ptr @PyTuple_New(i64 %axes)
  %no_shape = icmp eq ptr %shape, null
  br i1 %no_shape, label %clear, label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %set ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %key, label %axis
axis:
  %extent = get i64 %extents[%i]
  %number = call ptr @PyLong_FromLongLong(i64 %extent)
  %no_number = icmp eq ptr %number, null
  br i1 %no_number, label %drop_shape, label %set
set:
  %status = call i32 @PyTuple_SetItem(ptr %shape, i64 %i, ptr %number)
  %after = add i64 %i, 1
  br label %next
key:
  %dtype = get ptr %value[DESCR]
  %pair = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %dtype, ptr %shape)
  %no_pair = icmp eq ptr %pair, null
  br i1 %no_pair, label %drop_shape, label %look
look:
  call void @Py_DecRef(ptr %shape)
  %known = call ptr @prototypes_under(ptr %pair)
  %is_known = icmp ne ptr %known, null
  br i1 %is_known, label %give, label %any_shape
give:
  ret ptr %known
any_shape:
  %number_of_axes = call ptr @PyLong_FromLongLong(i64 %axes)
  %no_axes = icmp eq ptr %number_of_axes, null
  br i1 %no_axes, label %clear, label %general
general:
  %general_pair = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %dtype, ptr %number_of_axes)
  call void @Py_DecRef(ptr %number_of_axes)
  %no_general_pair = icmp eq ptr %general_pair, null
  br i1 %no_general_pair, label %clear, label %look_again
look_again:
  %of_any_shape = call ptr @prototypes_under(ptr %general_pair)
  ret ptr %of_any_shape
drop_shape:
  call void @Py_DecRef(ptr %shape)
  br label %clear
clear:
  call void @PyErr_Clear()
  ret ptr null
}

; the prototypes under a key, whose reference it takes, with a reference; null for none
define internal ptr @prototypes_under(ptr %key) {
  %table = call ptr @object(i64 T_ADOPTED)
  %known = call ptr @PyDict_GetItem(ptr %table, ptr %key)
  call void @Py_IncRef(ptr %known)
  call void @Py_DecRef(ptr %key)
  ret ptr %known
}

; the array; null without memory, and for an exception: a handler of a signal may have raised it
define internal ptr @adopted(ptr %value, ptr %known) {
  %nbytes = call ptr @tuple_item(ptr %known, i64 3)
  %none = call ptr @none()
  %has_shape = icmp ne ptr %nbytes, %none
  br i1 %has_shape, label %shaped, label %ask
shaped:
  %alike = call ptr @adopted_as(ptr %value, ptr %known, ptr %nbytes, ptr null)
  ret ptr %alike
ask:
  %question = call ptr @object(i64 T_FORM_OF)
  %form = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %question, ptr %value, ptr null)
  %no_form = icmp eq ptr %form, null
  br i1 %no_form, label %fail, label %unshaped
unshaped:
  %own_nbytes = call ptr @get(ptr %form, i64 FORM_NBYTES)
  %made = call ptr @adopted_as(ptr %value, ptr %known, ptr %own_nbytes, ptr %form)
  call void @Py_DecRef(ptr %form)
  ret ptr %made
fail:
  ret ptr null
}

; the same of so many bytes; `form` is null where the prototypes have the shape
define internal ptr @adopted_as(ptr %value, ptr %known, ptr %nbytes, ptr %form) {
  %memory = call ptr @memory_of(ptr %value, ptr %known, ptr %nbytes)
  %no_memory = icmp eq ptr %memory, null
  br i1 %no_memory, label %none, label %node
node:
  %node_like = call ptr @tuple_item(ptr %known, i64 0)
  %node_made = call ptr @like(ptr %node_like, i64 NODE_WORDS)
  %no_node = icmp eq ptr %node_made, null
  br i1 %no_node, label %drop_memory, label %storage
drop_memory:
  call void @Py_DecRef(ptr %memory)
  br label %none
storage:
  call void @set(ptr %node_made, i64 NODE_BUFFER, ptr %memory)
  %storage_like = call ptr @object(i64 T_STORAGE)
  %storage_made = call ptr @like(ptr %storage_like, i64 STORAGE_WORDS)
  %no_storage = icmp eq ptr %storage_made, null
  br i1 %no_storage, label %drop_node, label %fill
drop_node:
  call void @Py_DecRef(ptr %node_made)
  br label %none
fill:
  call void @PyObject_GC_UnTrack(ptr %storage_made) ; see `ir/storage.py`
  call void @set(ptr %storage_made, i64 STORAGE_NODE, ptr %node_made)
  %device = call ptr @object(i64 T_CPU)
  call void @share(ptr %storage_made, i64 STORAGE_DEVICE, ptr %device)
  %number = call i64 @PyThread_get_thread_ident()
  %as_pointer = inttoptr i64 %number to ptr
  %thread = call ptr @PyLong_FromVoidPtr(ptr %as_pointer)
  call void @set(ptr %storage_made, i64 STORAGE_THREAD, ptr %thread)
  %watch = call ptr @watched(ptr %storage_made, ptr %node_made)
  %no_watch = icmp eq ptr %watch, null
  br i1 %no_watch, label %drop_storage, label %array
array:
  call void @set(ptr %node_made, i64 NODE_HANDLE, ptr %watch)
  %array_like = call ptr @tuple_item(ptr %known, i64 2)
  %array_made = call ptr @like(ptr %array_like, i64 HANDLE_WORDS)
  %no_array = icmp eq ptr %array_made, null
  br i1 %no_array, label %drop_storage, label %done
drop_storage:
  call void @Py_DecRef(ptr %storage_made)
  br label %none
done:
  call void @set(ptr %array_made, i64 HANDLE_STORAGE, ptr %storage_made)
  %has_shape = icmp eq ptr %form, null
  br i1 %has_shape, label %give, label %shape
shape:
  %extents = call ptr @get(ptr %form, i64 FORM_SHAPE)
  %strides = call ptr @get(ptr %form, i64 FORM_STRIDES)
  %layout = call ptr @get(ptr %form, i64 FORM_LAYOUT)
  call void @share(ptr %node_made, i64 NODE_SHAPE, ptr %extents)
  call void @share(ptr %node_made, i64 NODE_STRIDES, ptr %strides)
  call void @share(ptr %node_made, i64 NODE_FORM, ptr %form)
  call void @share(ptr %node_made, i64 NODE_HELD, ptr %nbytes)
  call void @share(ptr %memory, i64 BUFFER_NBYTES, ptr %nbytes)
  call void @share(ptr %array_made, i64 HANDLE_LAYOUT, ptr %layout)
  br label %give
give:
  ret ptr %array_made
none:
  ret ptr null
}

; memory of the backend's, which keeps an array of NumPy's; null without memory
define internal ptr @memory_of(ptr %value, ptr %known, ptr %nbytes) {
  %memory_like = call ptr @tuple_item(ptr %known, i64 1)
  %made = call ptr @like(ptr %memory_like, i64 BUFFER_WORDS)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %none, label %block
block:
  %data = get ptr %value[DATA]
  %address = call ptr @PyLong_FromVoidPtr(ptr %data)
  call void @set(ptr %made, i64 BUFFER_POINTER, ptr %address)
  %kind = call ptr @object(i64 T_MEMORY_BLOCK)
  %tuple = call ptr @PyType_GenericAlloc(ptr %kind, i64 3)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %drop, label %fill
drop:
  call void @Py_DecRef(ptr %made)
  br label %none
fill:
  call void @Py_IncRef(ptr %value)
  call void @Py_IncRef(ptr %address)
  call void @Py_IncRef(ptr %nbytes)
  %owner_set = call i32 @PyTuple_SetItem(ptr %tuple, i64 0, ptr %value)
  %pointer_set = call i32 @PyTuple_SetItem(ptr %tuple, i64 1, ptr %address)
  %size_set = call i32 @PyTuple_SetItem(ptr %tuple, i64 2, ptr %nbytes)
  call void @set(ptr %made, i64 BUFFER_BLOCK, ptr %tuple)
  ret ptr %made
none:
  ret ptr null
}

; a copy of a dense array, and an array of the engine's that reads it and never writes, as
; `frontend/small.py` makes them (`enter`): a pair; null where that is to be asked, and for an
; exception
define internal ptr @adopted_copy(ptr %host) {
  %flags = get i32 %host[ARRAY_FLAGS]
  %wanted = and i32 %flags, DENSE_FLAGS
  %are_set = icmp eq i32 %wanted, DENSE_FLAGS
  %is_known = call i1 @has_known_dtype(ptr %host)
  %can = and i1 %are_set, %is_known
  br i1 %can, label %find, label %none
find:
  %known = call ptr @prototypes(ptr %host)
  %is_unknown = icmp eq ptr %known, null
  br i1 %is_unknown, label %none, label %copy
copy:
  %copier = call ptr @object(i64 T_NEW_COPY)
  %values = call ptr %copier(ptr %host, i32 0)
  %no_values = icmp eq ptr %values, null
  br i1 %no_values, label %drop_known, label %adopt
adopt:
  %array = call ptr @adopted(ptr %values, ptr %known)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %drop_values, label %share
share:
  %storage = call ptr @get(ptr %array, i64 HANDLE_STORAGE)
  %node = call ptr @get(ptr %storage, i64 STORAGE_NODE)
  %memory = call ptr @get(ptr %node, i64 NODE_BUFFER)
  %false = call ptr @object(i64 T_FALSE)
  call void @Py_IncRef(ptr %false)
  call void @put(ptr %memory, i64 BUFFER_EXCLUSIVE, ptr %false)
  %pair = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %values, ptr %array)
  call void @Py_DecRef(ptr %array)
  br label %drop_values
drop_values:
  %from_values = phi ptr [ null, %adopt ], [ %pair, %share ]
  call void @Py_DecRef(ptr %values)
  br label %drop_known
drop_known:
  %made = phi ptr [ null, %copy ], [ %from_values, %drop_values ]
  call void @Py_DecRef(ptr %known)
  ret ptr %made
none:
  ret ptr null
}
"""
