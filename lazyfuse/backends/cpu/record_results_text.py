"""Recording in machine code: new arrays and writes, as LLVM text (see `record_text.py`)."""

#: The arguments of a function for Python: recipes, a tuple of operands, and None or an extra part.
_ARGUMENTS = """\
  %known = load ptr, ptr %args
  %tuple_at = getelementptr ptr, ptr %args, i64 1
  %tuple = load ptr, ptr %tuple_at
  %extra_at = getelementptr ptr, ptr %args, i64 2
  %given = load ptr, ptr %extra_at
  %none = call ptr @none()
  %is_none = icmp eq ptr %given, %none
  %extra = select i1 %is_none, ptr null, ptr %given
  %size = call i64 @tuple_size(ptr %tuple)
  %operands = getelementptr i8, ptr %tuple, i64 {tuple_items}
"""

RESULTS = (
    """
@recent_place = internal global i64 0

; keeps the handle of a new array whose value is a pending node (`ir/storage.py`)
define internal void @note_recent(ptr %node) {{
  %ring = call ptr @object(i64 {RECENT})
  %place = load i64, ptr @recent_place
  %after = add i64 %place, 1
  %next = and i64 %after, {recent_mask}
  store i64 %next, ptr @recent_place
  %handle = call ptr @get(ptr %node, i64 {node_handle})
  call void @Py_IncRef(ptr %handle)
  %failed = call i32 @PyList_SetItem(ptr %ring, i64 %place, ptr %handle)
  ret void
}}

; asks whether the trace is to be cut; 0 where that raised
define internal i32 @budget(ptr %storage) {{
  %found = alloca ptr
  %node = call ptr @get(ptr %storage, i64 {storage_node})
  %depth_object = call ptr @get(ptr %node, i64 {node_depth})
  %depth = call i64 @int_value(ptr %depth_object)
  %shallow = icmp slt i64 %depth, 2
  br i1 %shallow, label %fine, label %limits
limits:
  call void @note_recent(ptr %node)
  %held_object = call ptr @get(ptr %node, i64 {node_held})
  %held = call i64 @bounded(ptr %held_object)
  store ptr null, ptr %found
  %variable = call ptr @object(i64 {OPTIONS})
  %got = call i32 @PyContextVar_Get(ptr %variable, ptr null, ptr %found)
  %options = load ptr, ptr %found
  %nodes_object = call ptr @get(ptr %options, i64 {options_nodes})
  %most = call i64 @bounded(ptr %nodes_object)
  %bytes_object = call ptr @get(ptr %options, i64 {options_bytes})
  %bytes = call i64 @bounded(ptr %bytes_object)
  call void @Py_DecRef(ptr %options)
  %over = icmp sgt i64 %depth, %most
  %turn = call ptr @object(i64 {TURN_DEPTH})
  %turn_object = call ptr @PyList_GetItem(ptr %turn, i64 0)
  %turn_depth = call i64 @bounded(ptr %turn_object)
  %turns = icmp sgt i64 %depth, %turn_depth
  %deep = or i1 %over, %turns
  %narrow = icmp slt i64 %bytes, {small_held}
  %least = select i1 %narrow, i64 %bytes, i64 {small_held}
  %much = icmp sgt i64 %held, %least
  %orphans = call ptr @object(i64 {ORPHAN_BYTES})
  %orphan_object = call ptr @PyList_GetItem(ptr %orphans, i64 0)
  %orphan_bytes = call i64 @bounded(ptr %orphan_object)
  %enough = icmp sge i64 %orphan_bytes, %least
  %dead = and i1 %much, %enough
  %form = call ptr @get(ptr %node, i64 {node_form})
  %size_object = call ptr @get(ptr %form, i64 {form_nbytes})
  %size = call i64 @bounded(ptr %size_object)
  %shape = call ptr @get(ptr %node, i64 {node_shape})
  %axes = call i64 @tuple_size(ptr %shape)
  %is_array = icmp sgt i64 %axes, 0
  %is_small = icmp sle i64 %size, {few_bytes}
  %is_chain = icmp sgt i64 %depth, {most_on_few}
  %is_few = and i1 %is_small, %is_array
  %is_long = and i1 %is_few, %is_chain
  %limit = select i1 %narrow, i64 {small_held}, i64 %bytes
  %half = ashr i64 %orphan_bytes, 1
  %pressed = icmp sge i64 %half, %limit
  %is_dead = or i1 %dead, %pressed
  %is_much = or i1 %deep, %is_dead
  %ask = or i1 %is_much, %is_long
  br i1 %ask, label %enforce, label %fine
enforce:
  %function = call ptr @object(i64 {ENFORCE})
  call void @resume()
  %answer = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %function, ptr %storage, ptr null)
  call void @stop()
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %fail, label %asked
asked:
  call void @Py_DecRef(ptr %answer)
  br label %fine
fine:
  ret i32 1
fail:
  ret i32 0
}}

; a new array of a recipe whose value is a node, which it takes; null with an exception for none
define internal ptr @stored(ptr %recipe, ptr %node, ptr %device, ptr %thread) {{
  %prototype = call ptr @object(i64 {STORAGE})
  %storage = call ptr @like(ptr %prototype, i64 {storage_words})
  %no_storage = icmp eq ptr %storage, null
  br i1 %no_storage, label %drop, label %fill
drop:
  call void @Py_DecRef(ptr %node)
  ret ptr null
fill:
  call void @PyObject_GC_UnTrack(ptr %storage) ; see `ir/storage.py`
  call void @set(ptr %storage, i64 {storage_node}, ptr %node)
  call void @share(ptr %storage, i64 {storage_device}, ptr %device)
  call void @share(ptr %storage, i64 {storage_thread}, ptr %thread)
  %handle = call ptr @PyWeakref_NewRef(ptr %storage, ptr null)
  %no_handle = icmp eq ptr %handle, null
  br i1 %no_handle, label %fail, label %handled
handled:
  call void @put(ptr %node, i64 {node_handle}, ptr %handle)
  %fine = call i32 @budget(ptr %storage)
  %raised = icmp eq i32 %fine, 0
  br i1 %raised, label %fail, label %array
array:
  %like = call ptr @tuple_item(ptr %recipe, i64 2)
  %made = call ptr @like(ptr %like, i64 {handle_words})
  %no_array = icmp eq ptr %made, null
  br i1 %no_array, label %fail, label %done
done:
  call void @set(ptr %made, i64 {handle_storage}, ptr %storage)
  ret ptr %made
fail:
  call void @Py_DecRef(ptr %storage)
  ret ptr null
}}

; the result of an operation on operands whose recipe is known; null, with or without an exception
define internal ptr @recorded(ptr %known, ptr %operands, i64 %count, ptr %extra) {{
  call void @stop()
  %made = call ptr @made(ptr %known, ptr %operands, i64 %count, ptr %extra)
  call void @resume()
  %error = call ptr @PyErr_Occurred() ; for want of memory, on the way
  %is_fine = icmp eq ptr %error, null
  br i1 %is_fine, label %done, label %drop
done:
  ret ptr %made
drop:
  call void @Py_DecRef(ptr %made)
  ret ptr null
}}

; the same without collections; not while a function is recorded, which has a witness
define internal ptr @made(ptr %known, ptr %operands, i64 %count, ptr %extra) {{
  %scalars = alloca [{most_operands} x ptr]
  %are_few = icmp ule i64 %count, {most_operands}
  %is_free = call i1 @is_nothing_recorded()
  %may = and i1 %are_few, %is_free
  br i1 %may, label %marks, label %no
marks:
  %key = call ptr @key(ptr %operands, i64 %count, ptr %extra, i64 0)
  %no_key = icmp eq ptr %key, null
  br i1 %no_key, label %no, label %find
find:
  %recipe = call ptr @PyDict_GetItem(ptr %known, ptr %key)
  %unknown = icmp eq ptr %recipe, null
  br i1 %unknown, label %drop_key, label %place
place:
  call void @Py_IncRef(ptr %recipe)
  %origin = call ptr @origin()
  %no_origin = icmp eq ptr %origin, null
  br i1 %no_origin, label %drop_recipe, label %prepare
prepare:
  %device = call ptr @ready(ptr %recipe, ptr %operands, i64 %count, ptr %scalars)
  %unfit = icmp eq ptr %device, null
  br i1 %unfit, label %drop_origin, label %make
make:
  %node = call ptr @nodes(ptr %recipe, ptr %operands, i64 %count, ptr %scalars, ptr %key,
                          ptr %origin)
  %no_node = icmp eq ptr %node, null
  br i1 %no_node, label %drop_origin, label %store
store:
  %thread = call ptr @thread(ptr %operands, i64 %count)
  %no_thread = icmp eq ptr %thread, null
  br i1 %no_thread, label %unmade, label %keep
unmade:
  call void @Py_DecRef(ptr %node)
  br label %drop_origin
keep:
  %made = call ptr @stored(ptr %recipe, ptr %node, ptr %device, ptr %thread)
  call void @Py_DecRef(ptr %thread)
  br label %drop_origin
drop_origin:
  %from_origin = phi ptr [ null, %prepare ], [ null, %make ], [ null, %unmade ], [ %made, %keep ]
  call void @release(ptr %scalars, i64 {most_operands})
  call void @Py_DecRef(ptr %origin)
  br label %drop_recipe
drop_recipe:
  %from_recipe = phi ptr [ null, %place ], [ %from_origin, %drop_origin ]
  call void @Py_DecRef(ptr %recipe)
  br label %drop_key
drop_key:
  %result = phi ptr [ null, %find ], [ %from_recipe, %drop_recipe ]
  call void @Py_DecRef(ptr %key)
  ret ptr %result
no:
  ret ptr null
}}

define ptr @lf_recorded(ptr %self, ptr %args, i64 %count) {{
"""
    + _ARGUMENTS
    + """\
  %made = call ptr @recorded(ptr %known, ptr %operands, i64 %size, ptr %extra)
  %nothing = icmp eq ptr %made, null
  br i1 %nothing, label %ask, label %done
done:
  ret ptr %made
ask:
  %raised = call ptr @PyErr_Occurred()
  %is_raised = icmp ne ptr %raised, null
  br i1 %is_raised, label %fail, label %unknown
fail:
  ret ptr null
unknown:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}}
"""
)

WRITES = (
    """
; a version that is none any more, whose reference it takes: an orphan, if it has memory; puts an
; exception aside
define internal void @forsake(ptr %node, ptr %raised) {{
  %buffer = call ptr @get(ptr %node, i64 {node_buffer})
  %none = call ptr @none()
  %pending = icmp eq ptr %buffer, %none
  br i1 %pending, label %done, label %orphan
orphan:
  call void @tell_orphan(ptr %node, ptr %raised)
  br label %done
done:
  call void @let_go(ptr %node)
  ret void
}}

; whether a write into the first operand has been recorded: 1, 0, or -1 with an exception
define internal i32 @written(ptr %known, ptr %operands, i64 %count, ptr %extra) {{
  call void @stop()
  %is_done = call i32 @replaced(ptr %known, ptr %operands, i64 %count, ptr %extra)
  call void @resume()
  ret i32 %is_done
}}

; the same without collections
define internal i32 @replaced(ptr %known, ptr %operands, i64 %count, ptr %extra) {{
  %raised_at = alloca [3 x ptr]
  store [3 x ptr] zeroinitializer, ptr %raised_at
  %scalars = alloca [{most_operands} x ptr]
  %target = load ptr, ptr %operands
  %is_array = call i1 @is(ptr %target, i64 {class_})
  %few = icmp ule i64 %count, {most_operands}
  %is_known_form = and i1 %is_array, %few
  %is_free = call i1 @is_nothing_recorded()
  %may = and i1 %is_known_form, %is_free
  br i1 %may, label %look, label %no
look:
  %none = call ptr @none()
  %host = call ptr @get(ptr %target, i64 {handle_host})
  %large = icmp eq ptr %host, %none
  br i1 %large, label %state, label %no
state:
  %writeable = call ptr @get(ptr %target, i64 {handle_writeable})
  %true = call ptr @object(i64 {TRUE})
  %free = icmp eq ptr %writeable, %true
  %storage = call ptr @get(ptr %target, i64 {handle_storage})
  %shared = call ptr @get(ptr %storage, i64 {storage_shared})
  %false = call ptr @object(i64 {FALSE})
  %alone = icmp eq ptr %shared, %false
  %fine = and i1 %free, %alone
  br i1 %fine, label %marks, label %no
marks:
  %key = call ptr @key(ptr %operands, i64 %count, ptr %extra, i64 2)
  %no_key = icmp eq ptr %key, null
  br i1 %no_key, label %no, label %where
where:
  %size = call i64 @tuple_size(ptr %key)
  %place = sub i64 %size, 2
  %node = call ptr @memory(ptr %target)
  %form = call ptr @get(ptr %node, i64 {node_form})
  call void @Py_IncRef(ptr %form)
  %set_form = call i32 @PyTuple_SetItem(ptr %key, i64 %place, ptr %form)
  %layout = call ptr @get(ptr %target, i64 {handle_layout})
  %offset = call ptr @tuple_item(ptr %layout, i64 2)
  call void @Py_IncRef(ptr %offset)
  %after_place = add i64 %place, 1
  %set_offset = call i32 @PyTuple_SetItem(ptr %key, i64 %after_place, ptr %offset)
  %recipe = call ptr @PyDict_GetItem(ptr %known, ptr %key)
  %unknown = icmp eq ptr %recipe, null
  br i1 %unknown, label %drop_key, label %origins
origins:
  call void @Py_IncRef(ptr %recipe)
  %is_new = call i1 @is_unwritten(ptr %storage, ptr %recipe)
  br i1 %is_new, label %drop_recipe, label %begun
begun:
  %origin = call ptr @origin()
  %no_origin = icmp eq ptr %origin, null
  br i1 %no_origin, label %drop_recipe, label %prepare
prepare:
  %device = call ptr @ready(ptr %recipe, ptr %operands, i64 %count, ptr %scalars)
  %unfit = icmp eq ptr %device, null
  br i1 %unfit, label %drop_origin, label %cut
cut:
  %in_budget = call i32 @budget(ptr %storage)
  %raised = icmp eq i32 %in_budget, 0
  br i1 %raised, label %drop_origin, label %lock
lock:
  %acquire = call ptr @object(i64 {ACQUIRE})
  call void @resume()
  %locked = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %acquire, ptr null)
  call void @stop()
  %no_lock = icmp eq ptr %locked, null
  br i1 %no_lock, label %drop_origin, label %make
make:
  call void @Py_DecRef(ptr %locked)
  %now_shared = call ptr @get(ptr %storage, i64 {storage_shared})
  %still_alone = icmp eq ptr %now_shared, %false
  %again = call ptr @key(ptr %operands, i64 %count, ptr null, i64 0)
  call void @Py_DecRef(ptr %again)
  %is_known = icmp ne ptr %again, null ; none has been lent
  %still = and i1 %still_alone, %is_known
  br i1 %still, label %build, label %unlock
build:
  %new = call ptr @nodes(ptr %recipe, ptr %operands, i64 %count, ptr %scalars, ptr %key,
                         ptr %origin)
  %no_node = icmp eq ptr %new, null
  br i1 %no_node, label %unlock, label %hold
hold:
  %handle = call ptr @PyWeakref_NewRef(ptr %storage, ptr null)
  %no_handle = icmp eq ptr %handle, null
  br i1 %no_handle, label %forget, label %replace
forget:
  call void @Py_DecRef(ptr %new)
  br label %unlock
replace:
  %old = call ptr @get(ptr %storage, i64 {storage_node})
  call void @put(ptr %new, i64 {node_handle}, ptr %handle)
  call void @set(ptr %storage, i64 {storage_node}, ptr %new)
  call void @note_written(ptr %handle)
  call void @forsake(ptr %old, ptr %raised_at)
  br label %unlock
unlock:
  %is_done = phi i32 [ 0, %make ], [ 0, %build ], [ 0, %forget ], [ 1, %replace ]
  %release = call ptr @object(i64 {RELEASE})
  %unlocked = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %release, ptr null)
  call void @Py_DecRef(ptr %unlocked)
  %has_raised = call i1 @raise_kept(ptr %raised_at)
  %outcome = select i1 %has_raised, i32 -1, i32 %is_done
  br label %drop_origin
drop_origin:
  %from_origin = phi i32 [ 0, %prepare ], [ -1, %cut ], [ -1, %lock ], [ %outcome, %unlock ]
  call void @release(ptr %scalars, i64 {most_operands})
  call void @Py_DecRef(ptr %origin)
  br label %drop_recipe
drop_recipe:
  %from_recipe = phi i32 [ 0, %origins ], [ 0, %begun ], [ %from_origin, %drop_origin ]
  call void @Py_DecRef(ptr %recipe)
  br label %drop_key
drop_key:
  %result = phi i32 [ 0, %where ], [ %from_recipe, %drop_recipe ]
  call void @Py_DecRef(ptr %key)
  ret i32 %result
no:
  ret i32 0
}}

define ptr @lf_written(ptr %self, ptr %args, i64 %count) {{
"""
    + _ARGUMENTS
    + """\
  %done = call i32 @written(ptr %known, ptr %operands, i64 %size, ptr %extra)
  %raised = icmp slt i32 %done, 0
  br i1 %raised, label %fail, label %answer
fail:
  ret ptr null
answer:
  %is_done = icmp eq i32 %done, 1
  %true = call ptr @object(i64 {TRUE})
  %false = call ptr @object(i64 {FALSE})
  %result = select i1 %is_done, ptr %true, ptr %false
  call void @Py_IncRef(ptr %result)
  ret ptr %result
}}
"""
)
