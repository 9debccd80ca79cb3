"""What guards look at in arrays, as LLVM text; see `replay.py`."""

from __future__ import annotations

ARRAYS = """
; NumPy's array of an argument: itself, or what a small array wraps; null for others
define internal ptr @host(ptr %value) {
  %kind = get ptr %value[TYPE]
  %class = get ptr @table[CLASS]
  %is_ours = icmp eq ptr %kind, %class
  br i1 %is_ours, label %ours, label %look
ours:
  %wrapped = call ptr @part(ptr %value, i64 HOST)
  %is_unset = icmp eq ptr %wrapped, null
  br i1 %is_unset, label %no, label %look
look:
  %found = phi ptr [ %value, %0 ], [ %wrapped, %ours ]
  %found_kind = get ptr %found[TYPE]
  %ndarray = get ptr @table[NDARRAY]
  %is_array = icmp eq ptr %found_kind, %ndarray
  br i1 %is_array, label %yes, label %no
yes:
  ret ptr %found
no:
  ret ptr null
}

; whether an array has the dtype, the shape and the strides of a guard, and is aligned; without
; strides, whether it is C-contiguous
define internal i1 @is_like(ptr %array, ptr %guard) {
  %flags = get i32 %array[FLAGS]
  %strides = get ptr %guard[GUARD_STRIDES]
  %is_dense = icmp eq ptr %strides, null
  %wanted_flags = select i1 %is_dense, i32 257, i32 256
  %plain = and i32 %flags, %wanted_flags
  %is_plain = icmp eq i32 %plain, %wanted_flags
  %nd = get i32 %array[ND]
  %known_axes = get i64 %guard[EXTENTS]
  %known_nd = trunc i64 %known_axes to i32
  %same_nd = icmp eq i32 %nd, %known_nd
  %so_far = and i1 %same_nd, %is_plain
  br i1 %so_far, label %dtype, label %no
dtype:
  %descr = get ptr %array[DESCR]
  %known_descr = get ptr %guard[EXPECTED]
  %same_descr = icmp eq ptr %descr, %known_descr
  br i1 %same_descr, label %start, label %equal
equal:
  %is_equal = call i32 @PyObject_RichCompareBool(ptr %descr, ptr %known_descr, i32 2)
  %alike = icmp eq i32 %is_equal, 1
  br i1 %alike, label %start, label %no
start:
  %wide = sext i32 %nd to i64
  %extents = get ptr %array[DIMENSIONS]
  %known = get ptr %guard[SHAPE]
  %has_shape = call i1 @are_words(ptr %extents, ptr %known, i64 %wide)
  br i1 %has_shape, label %steps, label %no
steps:
  br i1 %is_dense, label %yes, label %compare
compare:
  %own_strides = get ptr %array[STRIDES]
  %has_strides = call i1 @are_words(ptr %own_strides, ptr %strides, i64 %wide)
  ret i1 %has_strides
yes:
  ret i1 true
no:
  ret i1 false
}

; whether so many words are the same in two places
define internal i1 @are_words(ptr %a, ptr %b, i64 %count) alwaysinline {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %compare ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %compare
compare:
  %one = get i64 %a[%i]
  %other = get i64 %b[%i]
  %after = add i64 %i, 1
  %same = icmp eq i64 %one, %other
  br i1 %same, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; whether an argument is the whole of an engine's array of the form and device of a guard
define internal i1 @is_whole(ptr %value, ptr %guard) {
  %kind = get ptr %value[TYPE]
  %class = get ptr @table[CLASS]
  %is_ours = icmp eq ptr %kind, %class
  br i1 %is_ours, label %ours, label %no
ours:
  %storage = call ptr @part(ptr %value, i64 STORAGE)
  %is_unset = icmp eq ptr %storage, null
  br i1 %is_unset, label %no, label %look
look:
  %layout = call ptr @part(ptr %value, i64 LAYOUT)
  %node = call ptr @part(ptr %storage, i64 NODE)
  %device = call ptr @part(ptr %storage, i64 DEVICE)
  %form = call ptr @part(ptr %node, i64 FORM)
  %known_layout = get ptr %guard[SHAPE]
  %known_device = get ptr %guard[EXTENTS]
  %known_form = get ptr %guard[EXPECTED]
  %same_layout = icmp eq ptr %layout, %known_layout
  %same_device = icmp eq ptr %device, %known_device
  %same_form = icmp eq ptr %form, %known_form
  %both = and i1 %same_layout, %same_device
  %all = and i1 %both, %same_form
  ret i1 %all
no:
  ret i1 false
}

; the memory of an engine's array that has been computed, and that no other thread has touched in
; secret; null for others. See `ir/storage.py`
define internal ptr @memory(ptr %array) {
  %storage = call ptr @part(ptr %array, i64 STORAGE)
  %node = call ptr @part(ptr %storage, i64 NODE)
  %buffer = call ptr @part(ptr %node, i64 BUFFER)
  %is_unset = icmp eq ptr %buffer, null
  br i1 %is_unset, label %no, label %kind
kind:
  %type = get ptr %buffer[TYPE]
  %known = get ptr @table[MEMORY]
  %is_memory = icmp eq ptr %type, %known
  br i1 %is_memory, label %threads, label %no
threads:
  %shared = call ptr @part(ptr %storage, i64 IS_SHARED)
  %true = get ptr @table[TRUE]
  %is_shared = icmp eq ptr %shared, %true
  br i1 %is_shared, label %yes, label %thread
thread:
  %owner = call ptr @part(ptr %storage, i64 THREAD)
  %owner_number = call i64 @PyLong_AsUnsignedLongLong(ptr %owner)
  %number = call i64 @PyThread_get_thread_ident()
  %is_own = icmp eq i64 %owner_number, %number
  br i1 %is_own, label %yes, label %no
yes:
  ret ptr %buffer
no:
  ret ptr null
}
"""
