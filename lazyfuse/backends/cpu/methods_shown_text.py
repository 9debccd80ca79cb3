"""Memory of the engine as arrays read it, as LLVM text; see `methods.py`: where it is, as which
dtype, and whether a pending array is computed before a part of it is read.
"""

from __future__ import annotations

SHOWN = """
; the memory of an array of the engine where it is computed, on the CPU, and this thread's alone or
; one that is known to be touched by several and is not lent (`ir/storage.py`), with a reference;
; null for others, and where it is read as what it is not
define internal ptr @settled_memory(ptr %array) {
  %is_uncast = call i1 @is_uncast(ptr %array)
  br i1 %is_uncast, label %look, label %no
look:
  %buffer = call ptr @shown_memory(ptr %array)
  ret ptr %buffer
no:
  ret ptr null
}

; the same of memory that may be written
define internal ptr @writable_memory(ptr %array) {
  %is_uncast = call i1 @is_uncast(ptr %array)
  br i1 %is_uncast, label %look, label %no
look:
  %buffer = call ptr @memory_to_write(ptr %array)
  ret ptr %buffer
no:
  ret ptr null
}

; memory that is read as whatever the array says
define internal ptr @shown_memory(ptr %array) {
  %none = call ptr @none()
  %host_address = call ptr @host_at(ptr %array)
  %host = load ptr, ptr %host_address
  %is_engines = icmp eq ptr %host, %none
  br i1 %is_engines, label %plain, label %no
plain:
  %storage = call ptr @get(ptr %array, i64 HANDLE_STORAGE)
  %device = call ptr @get(ptr %storage, i64 STORAGE_DEVICE)
  %cpu = call ptr @object(i64 T_CPU)
  %is_here = icmp eq ptr %device, %cpu
  br i1 %is_here, label %look, label %no
look:
  %node = call ptr @get(ptr %storage, i64 STORAGE_NODE)
  %buffer = call ptr @get(ptr %node, i64 NODE_BUFFER)
  %is_memory = call i1 @is(ptr %buffer, i64 T_MEMORY)
  br i1 %is_memory, label %thread, label %no
thread:
  %touched = call ptr @get(ptr %storage, i64 STORAGE_THREAD)
  %owner = call i64 @PyLong_AsUnsignedLong(ptr %touched)
  %current = call i64 @PyThread_get_thread_ident()
  %is_mine = icmp eq i64 %owner, %current
  %is_free = icmp ne i64 %owner, 0 ; LENT
  %is_shared = call i1 @is_shared(ptr %storage)
  %is_everybodys = and i1 %is_shared, %is_free
  %is_known = or i1 %is_mine, %is_everybodys
  %is_plain = call i1 @is_nothing_recorded()
  %can = and i1 %is_known, %is_plain
  br i1 %can, label %give, label %no
give:
  call void @Py_IncRef(ptr %buffer)
  ret ptr %buffer
no:
  ret ptr null
}

; whether several threads have touched a storage
define internal i1 @is_shared(ptr %storage) {
  %shared = call ptr @get(ptr %storage, i64 STORAGE_SHARED)
  %true = call ptr @object(i64 T_TRUE)
  %is = icmp eq ptr %shared, %true
  ret i1 %is
}

; whether no thread records for `fuse`, which has to see what is done
define internal i1 @is_nothing_recorded() {
  %recordings = call ptr @object(i64 T_RECORDINGS)
  %under_way = call i64 @PyDict_Size(ptr %recordings)
  %is_nothing = icmp eq i64 %under_way, 0
  ret i1 %is_nothing
}

; whether a pending array is computed before a small part of it is read, which Python has done then
; (`runtime/budget.py`); false with an exception
define internal i1 @is_read_in_parts(ptr %node, ptr %array) {
  %none = call ptr @none()
  %buffer = call ptr @get(ptr %node, i64 NODE_BUFFER)
  %is_pending = icmp eq ptr %buffer, %none
  br i1 %is_pending, label %count, label %no
count:
  %users = call ptr @get(ptr %node, i64 NODE_USERS)
  %readers = call i64 @int_value(ptr %users)
  %is_read = icmp sge i64 %readers, LEAST_READERS
  br i1 %is_read, label %compare, label %no
compare:
  %layout = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  %own_shape = call ptr @tuple_item(ptr %layout, i64 0)
  %shape = call ptr @get(ptr %node, i64 NODE_SHAPE)
  %own = call i64 @count_in(ptr %own_shape)
  %all = call i64 @count_in(ptr %shape)
  %parts = mul i64 %own, MOST_PARTS
  %is_part = icmp ule i64 %parts, %all
  br i1 %is_part, label %ask, label %no
ask:
  %srcs = call ptr @get(ptr %node, i64 NODE_SRCS)
  %has_srcs = call i64 @tuple_size(ptr %srcs)
  %is_computed = icmp ne i64 %has_srcs, 0
  %eager = call i64 @eager_size()
  %is_small = icmp sle i64 %own, %eager
  %may = and i1 %is_computed, %is_small
  br i1 %may, label %measure, label %no
measure:
  %cold = get i64 @state[COLD_SIZE]
  %is_moderate = icmp ule i64 %all, %cold
  %is_plain = call i1 @is_nothing_recorded()
  %is_done = and i1 %is_moderate, %is_plain
  ret i1 %is_done
no:
  ret i1 false
}

; the code of the dtype as which an array of the engine reads its memory, borrowed
define internal ptr @code_shown(ptr %array) {
  %is_uncast = call i1 @is_uncast(ptr %array)
  br i1 %is_uncast, label %own, label %others
own:
  %node = call ptr @memory(ptr %array)
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  ret ptr %code
others:
  %cast = call ptr @get(ptr %array, i64 HANDLE_CAST)
  %other = call ptr @tuple_item(ptr %cast, i64 0)
  ret ptr %other
}

; at which byte of the memory its first element of that dtype begins
define internal i64 @shift_shown(ptr %array) {
  %is_uncast = call i1 @is_uncast(ptr %array)
  br i1 %is_uncast, label %own, label %others
own:
  ret i64 0
others:
  %cast = call ptr @get(ptr %array, i64 HANDLE_CAST)
  %shift = call i64 @number_at(ptr %cast, i64 1)
  ret i64 %shift
}
"""
