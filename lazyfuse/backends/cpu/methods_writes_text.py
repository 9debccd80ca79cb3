"""Writes into computed memory of the engine, as LLVM text; see `methods.py`.

What `frontend/pieces.py` and `changed` of `frontend/windows.py` do, in the usual case.
"""

from __future__ import annotations

WRITES = """
declare ptr @PyContext_Copy(ptr)
declare i32 @PyContext_Enter(ptr)
declare i32 @PyContext_Exit(ptr)

; a context in which NumPy's words about conditions are taken down, entered; null for an exception
define internal ptr @listen() {
  %listening = call ptr @object(i64 T_LISTENING)
  %copy = call ptr @PyContext_Copy(ptr %listening)
  %has_none = icmp eq ptr %copy, null
  br i1 %has_none, label %no, label %enter
enter:
  %status = call i32 @PyContext_Enter(ptr %copy)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %drop, label %give
give:
  ret ptr %copy
drop:
  call void @Py_DecRef(ptr %copy)
  br label %no
no:
  ret ptr null
}

define internal void @stop_listening(ptr %context) {
  %status = call i32 @PyContext_Exit(ptr %context)
  call void @Py_DecRef(ptr %context)
  ret void
}

; tells the user what was taken down, where nothing has been raised: where no lock is held, since
; that calls the user's code
define internal void @tell() {
  %messages = call ptr @object(i64 T_MESSAGES)
  %count = call i64 @PyDict_Size(ptr %messages)
  %are_none = icmp eq i64 %count, 0
  br i1 %are_none, label %done, label %look
look:
  %error = call ptr @PyErr_Occurred()
  %is_quiet = icmp eq ptr %error, null
  br i1 %is_quiet, label %tell, label %forget
tell:
  %teller = call ptr @object(i64 T_TELL)
  %answer = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %teller, ptr null)
  %has_raised = icmp eq ptr %answer, null
  br i1 %has_raised, label %done, label %drop
drop:
  call void @Py_DecRef(ptr %answer)
  br label %done
forget:
  call void @aside(i64 T_FORGET, ptr null)
  br label %done
done:
  ret void
}

; calls a function of one argument or none; an exception that is there stays
define internal void @aside(i64 %place, ptr %argument) {
  %raised = alloca [3 x ptr]
  %value = getelementptr ptr, ptr %raised, i64 1
  %traceback = getelementptr ptr, ptr %raised, i64 2
  call void @PyErr_Fetch(ptr %raised, ptr %value, ptr %traceback)
  %function = call ptr @object(i64 %place)
  %done = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %function, ptr %argument, ptr null)
  %failed = icmp eq ptr %done, null
  br i1 %failed, label %restore, label %drop
drop:
  call void @Py_DecRef(ptr %done)
  br label %restore
restore:
  %is_raised = call i1 @raise_kept(ptr %raised)
  ret void
}

; the memory of an array of the engine, with a reference, where it may be written: null where
; nobody may, or somebody else needs what is there now
define internal ptr @memory_to_write(ptr %array) {
  %true = call ptr @object(i64 T_TRUE)
  %writeable = call ptr @get(ptr %array, i64 HANDLE_WRITEABLE)
  %may = icmp eq ptr %writeable, %true
  br i1 %may, label %threads, label %no
threads:
  %storage = call ptr @get(ptr %array, i64 HANDLE_STORAGE)
  %is_shared = call i1 @is_shared(ptr %storage)
  br i1 %is_shared, label %hands, label %readers
hands: ; users are counted for ever there
  %stays = call i1 @stays(ptr %array)
  br i1 %stays, label %memory, label %no
readers:
  %node = call ptr @get(ptr %storage, i64 STORAGE_NODE)
  %users = call ptr @get(ptr %node, i64 NODE_USERS)
  %count = call i64 @int_value(ptr %users)
  %is_unread = icmp eq i64 %count, 0
  br i1 %is_unread, label %memory, label %no
memory:
  %buffer = call ptr @shown_memory(ptr %array)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %no, label %look
look:
  %exclusive = call ptr @get(ptr %buffer, i64 BUFFER_EXCLUSIVE)
  %is_exclusive = icmp eq ptr %exclusive, %true
  br i1 %is_exclusive, label %give, label %drop
give:
  ret ptr %buffer
drop:
  call void @Py_DecRef(ptr %buffer)
  br label %no
no:
  ret ptr null
}

; an array of NumPy's to write at most so many elements of an array of the engine by, with a
; reference; null where nobody may, and for an exception
define internal ptr @writable(ptr %array, i64 %most) {
  %is_engines = call i1 @is_engines(ptr %array)
  br i1 %is_engines, label %memory, label %no
memory:
  %buffer = call ptr @memory_to_write(ptr %array)
  %is_away = icmp eq ptr %buffer, null
  br i1 %is_away, label %no, label %make
make:
  %made = call ptr @elements_in(ptr %array, ptr %buffer, i64 %most, i32 WRITEABLE_FLAG)
  ret ptr %made
no:
  ret ptr null
}

; whether a lock that runs and writes take is taken now; false with an exception
define internal i1 @lock() {
  %acquire = call ptr @object(i64 T_ACQUIRE)
  %locked = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %acquire, ptr null)
  %failed = icmp eq ptr %locked, null
  br i1 %failed, label %no, label %yes
yes:
  call void @Py_DecRef(ptr %locked)
  ret i1 true
no:
  ret i1 false
}

; gives the lock back; an exception stays, or is the first one
define internal void @unlock() {
  call void @aside(i64 T_RELEASE, ptr null)
  ret void
}

; lets the memory of an array be a new version, and listens to NumPy; null for an exception
define internal ptr @begin_change(ptr %array) {
  %is_new = call i1 @renewed(ptr %array)
  br i1 %is_new, label %listen, label %no
listen:
  %context = call ptr @listen()
  ret ptr %context
no:
  ret ptr null
}

; gives the lock and a value back, and tells what was taken down: whether all is done, -1 with an
; exception
define internal i32 @end_change(i32 %is_done, ptr %given) {
  call void @unlock()
  call void @Py_DecRef(ptr %given)
  call void @tell()
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  %outcome = select i1 %is_fine, i32 %is_done, i32 -1
  ret i32 %outcome
}

; what is said of a write that has not been done: 0, or -1 with an exception
define internal i32 @not_done() {
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  %outcome = sext i1 %raised to i32
  ret i32 %outcome
}

; whether self[key] = value is done at once, for an array of the engine: 1, 0, or -1 with an
; exception. A number whose conversion is an error is not written, so that is left to Python
define internal i32 @set_in_memory(ptr %self, ptr %key, ptr %value) {
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %failed, label %ours
ours:
  %is_engines = call i1 @is_engines(ptr %self)
  br i1 %is_engines, label %kind_of_key, label %no
kind_of_key:
  %is_basic_key = call i1 @is_basic(ptr %key)
  br i1 %is_basic_key, label %number, label %places
places:
  %are_set = call i32 @set_by_array(ptr %self, ptr %key, ptr %value)
  ret i32 %are_set
number:
  %is_number_set = call i1 @set_number(ptr %self, ptr %key, ptr %value)
  br i1 %is_number_set, label %yes, label %line
line:
  %is_line_set = call i1 @set_line(ptr %self, ptr %key, ptr %value)
  br i1 %is_line_set, label %yes, label %conditions
yes:
  ret i32 1
conditions:
  %modes = call ptr @modes()
  %is_immediate = icmp eq ptr %modes, null
  br i1 %is_immediate, label %no, label %take
take:
  %given = call ptr @assigned_value(ptr %value)
  %is_unknown = icmp eq ptr %given, null
  br i1 %is_unknown, label %ask, label %lock
ask:
  %nothing = call i32 @not_done()
  ret i32 %nothing
lock:
  %locked = call i1 @lock()
  br i1 %locked, label %write, label %undo
write:
  %done = call i32 @set_locked(ptr %self, ptr %key, ptr %given)
  %outcome = call i32 @end_change(i32 %done, ptr %given)
  ret i32 %outcome
undo:
  call void @Py_DecRef(ptr %given)
  br label %failed
no:
  ret i32 0
failed:
  ret i32 -1
}

; the same with the lock, for a value that NumPy takes
define internal i32 @set_locked(ptr %self, ptr %key, ptr %given) {
  %window = call ptr @writable(ptr %self, i64 9223372036854775807)
  %is_away = icmp eq ptr %window, null
  br i1 %is_away, label %ask, label %pick
pick:
  %part = call ptr @PyObject_GetItem(ptr %window, ptr %key)
  %is_nothing = icmp eq ptr %part, null
  br i1 %is_nothing, label %clear, label %look
clear:
  call void @PyErr_Clear()
  call void @Py_DecRef(ptr %window)
  ret i32 0
look:
  %is_region = call i1 @is(ptr %part, i64 T_NDARRAY)
  %is_array = call i1 @is(ptr %given, i64 T_NDARRAY)
  %all = call ptr @object(i64 T_ALL)
  br i1 %is_region, label %region, label %element
element:
  call void @Py_DecRef(ptr %part)
  br i1 %is_array, label %leave, label %write_element
write_element:
  %element_context = call ptr @begin_change(ptr %self)
  %no_element_context = icmp eq ptr %element_context, null
  br i1 %no_element_context, label %end, label %set_element
set_element:
  %element_status = call i32 @PyObject_SetItem(ptr %window, ptr %key, ptr %given)
  call void @stop_listening(ptr %element_context)
  br label %end
region:
  %count = call i64 @elements(ptr %part)
  %less = sub i64 %count, 1
  %is_small = icmp ult i64 %less, AT_ONCE
  br i1 %is_small, label %compare, label %ask_new
ask_new:
  %is_empty = icmp eq i64 %count, 0
  br i1 %is_empty, label %drop, label %novel
novel:
  %eager = call i64 @eager_size()
  %is_new = call i1 @is_size_made(i64 %count, i64 AT_ONCE, i64 %eager)
  br i1 %is_new, label %compare, label %drop
compare:
  br i1 %is_array, label %dtypes, label %write_region
dtypes:
  %own = get ptr %part[DESCR]
  %theirs = get ptr %given[DESCR]
  %is_alike = icmp eq ptr %own, %theirs
  br i1 %is_alike, label %places, label %cast
cast:
  %is_cast = call i1 @is_cast_quietly(ptr %given, ptr %part)
  br i1 %is_cast, label %listen, label %drop
places:
  %is_same = call i1 @is_same_memory(ptr %part, ptr %given)
  br i1 %is_same, label %done, label %write_region
done:
  call void @Py_DecRef(ptr %part)
  call void @Py_DecRef(ptr %window)
  ret i32 1
write_region:
  %is_quiet = call i1 @is_quiet(ptr %self, ptr %given)
  br i1 %is_quiet, label %renew, label %listen
renew:
  %is_renewed = call i1 @renewed(ptr %self)
  br i1 %is_renewed, label %set_quietly, label %drop_part
set_quietly:
  %quiet_status = call i32 @PyObject_SetItem(ptr %part, ptr %all, ptr %given)
  br label %drop_part
listen:
  %region_context = call ptr @begin_change(ptr %self)
  %no_region_context = icmp eq ptr %region_context, null
  br i1 %no_region_context, label %drop_part, label %set_region
set_region:
  %region_status = call i32 @PyObject_SetItem(ptr %part, ptr %all, ptr %given)
  call void @stop_listening(ptr %region_context)
  br label %drop_part
drop_part:
  call void @Py_DecRef(ptr %part)
  br label %end
end:
  call void @Py_DecRef(ptr %window)
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  %outcome = select i1 %is_fine, i32 1, i32 -1
  ret i32 %outcome
drop:
  call void @Py_DecRef(ptr %part)
  br label %leave
leave:
  call void @Py_DecRef(ptr %window)
  ret i32 0
ask:
  %late = call i32 @not_done()
  ret i32 %late
}

; whether an array of the engine has been changed in place, by a loop for few elements where there
; is one (without a lock, as in `set_number`), else by NumPy's C function: 1, 0, or -1 with an
; exception
define internal i32 @changed(ptr %function, ptr %loop, ptr %self, ptr %other) {
  %error = call ptr @PyErr_Occurred()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %failed, label %sizes
sizes:
  %pair = alloca [2 x ptr]
  put ptr %self, %pair[0]
  put ptr %other, %pair[1]
  %most = call i64 @reach(ptr %pair, i64 2)
  %are_any = icmp sgt i64 %most, 0
  br i1 %are_any, label %take, label %ask
take:
  %given = call ptr @taken(ptr %other, i64 %most)
  %is_unknown = icmp eq ptr %given, null
  br i1 %is_unknown, label %ask, label %loop_first
loop_first:
  %is_changed = call i1 @changed_within(ptr %loop, ptr %self, ptr %given)
  br i1 %is_changed, label %changed, label %number
number:
  %is_told_first = call i1 @is_beyond_singles(ptr %given)
  br i1 %is_told_first, label %leave, label %lock
leave:
  call void @Py_DecRef(ptr %given)
  br label %ask
changed:
  call void @Py_DecRef(ptr %given)
  ret i32 1
lock:
  %locked = call i1 @lock()
  br i1 %locked, label %open, label %undo
open:
  %window = call ptr @writable(ptr %self, i64 %most)
  %is_away = icmp eq ptr %window, null
  br i1 %is_away, label %close, label %run
run:
  %context = call ptr @begin_change(ptr %self)
  %no_context = icmp eq ptr %context, null
  br i1 %no_context, label %drop_window, label %change
change:
  %value = call ptr %function(ptr %window, ptr %given)
  call void @stop_listening(ptr %context)
  %has_failed = icmp eq ptr %value, null
  br i1 %has_failed, label %drop_window, label %drop
drop:
  call void @Py_DecRef(ptr %value)
  br label %drop_window
drop_window:
  call void @Py_DecRef(ptr %window)
  br label %close
close:
  %is_done = phi i32 [ 0, %open ], [ 1, %drop_window ]
  %outcome = call i32 @end_change(i32 %is_done, ptr %given)
  ret i32 %outcome
undo:
  call void @Py_DecRef(ptr %given)
  br label %failed
ask:
  %nothing = call i32 @not_done()
  ret i32 %nothing
failed:
  ret i32 -1
}
"""
