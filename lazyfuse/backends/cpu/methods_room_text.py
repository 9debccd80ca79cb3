"""Arrays that are gone leave their memory to the next ones, as LLVM text; see `methods.py`.

What Python does when an object of a class of its own is gone walks over the slots by their
descriptors, and gives the memory back; what makes the next one asks for it again. That is a
seventh of the time of a view, or of a sum of two small arrays. The destructor here does the same
as CPython's for a class with slots alone (subtype_dealloc of its typeobject.c): no longer known
to the collection of garbage, weak references first, then the slots, whose finalizers may run
anything. What has room is known to nobody then, and all its words are null.

A destructor may run when Python ends, when the table is gone, so it asks the object alone.
"""

from __future__ import annotations

#: As many objects as leave their memory.
ROOMS = 64

ROOM = """
declare void @PyObject_GC_Track(ptr)
declare void @PyObject_GC_Del(ptr)
declare void @PyObject_ClearWeakRefs(ptr)

@rooms = internal global [ROOMS x ptr] zeroinitializer
@room_count = internal global i64 0

; a new object of a class, all of whose words are null; null for an exception
define internal ptr @made_object(ptr %type) {
  %class = call ptr @object(i64 T_CLASS)
  %is_ours = icmp eq ptr %type, %class
  %count = load i64, ptr @room_count
  %has_room = icmp ne i64 %count, 0
  %can = and i1 %is_ours, %has_room
  br i1 %can, label %take, label %ask
take:
  %left = sub i64 %count, 1
  store i64 %left, ptr @room_count
  %room = get ptr @rooms[%left]
  store i64 1, ptr %room
  call void @Py_IncRef(ptr %type)
  call void @PyObject_GC_Track(ptr %room)
  ret ptr %room
ask:
  %made = call ptr @PyType_GenericAlloc(ptr %type, i64 0)
  ret ptr %made
}

define void @lf_dealloc(ptr %self) {
  call void @PyObject_GC_UnTrack(ptr %self)
  %type = call ptr @kind(ptr %self)
  %size_at = getelementptr i8, ptr %type, i64 32
  %size = load i64, ptr %size_at
  %words = lshr i64 %size, 3
  %offset_at = getelementptr i8, ptr %type, i64 208
  %offset = load i64, ptr %offset_at
  %weak_word = ashr i64 %offset, 3
  %weak_at = getelementptr i8, ptr %self, i64 %offset
  %weak = load ptr, ptr %weak_at
  %is_watched = icmp ne ptr %weak, null
  br i1 %is_watched, label %tell, label %next
tell:
  call void @PyObject_ClearWeakRefs(ptr %self)
  br label %next
next:
  %i = phi i64 [ 2, %0 ], [ 2, %tell ], [ %after, %look ], [ %after, %drop ]
  %is_over = icmp sge i64 %i, %words
  br i1 %is_over, label %leave, label %look
look:
  %at = getelementptr ptr, ptr %self, i64 %i
  %value = load ptr, ptr %at
  %after = add i64 %i, 1
  %is_none = icmp eq ptr %value, null
  %is_weak = icmp eq i64 %i, %weak_word
  %is_nothing = or i1 %is_none, %is_weak
  br i1 %is_nothing, label %next, label %drop
drop:
  store ptr null, ptr %at
  call void @Py_DecRef(ptr %value)
  br label %next
leave:
  %count = load i64, ptr @room_count
  %is_full = icmp sge i64 %count, ROOMS
  br i1 %is_full, label %give_back, label %keep
keep:
  %more = add i64 %count, 1
  store i64 %more, ptr @room_count
  put ptr %self, @rooms[%count]
  br label %done
give_back:
  call void @PyObject_GC_Del(ptr %self)
  br label %done
done:
  call void @Py_DecRef(ptr %type)
  ret void
}
"""
