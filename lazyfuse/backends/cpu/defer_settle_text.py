"""What is put off, for Python, and settling it, as LLVM text; see `defer_text.py`."""

from __future__ import annotations

DEFERRED = """
define ptr @lf_deferred(ptr %self, ptr %args, i64 %arg_count) {
  %rows = get i64 @state[ROW_COUNT]
  %leaves = get i64 @state[LEAF_COUNT]
  %all = add i64 %rows, %leaves
  %is_empty = icmp eq i64 %all, 0
  br i1 %is_empty, label %none, label %make
none:
  %nothing = call ptr @none()
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
make:
  call void @stop()
  %generation = get i64 @state[GENERATION]
  %number = call ptr @PyLong_FromLongLong(i64 %generation)
  %length = mul i64 %rows, CODE_BYTES
  %codes = call ptr @PyBytes_FromStringAndSize(ptr @codes, i64 %length)
  %live = call ptr @live(i64 %rows)
  %operands = call ptr @PyTuple_New(i64 %leaves)
  %origins = call ptr @PyTuple_New(i64 %rows)
  %found = call ptr @packed(ptr %number, ptr %codes, ptr %live, ptr %operands, ptr %origins)
  %failed = icmp eq ptr %found, null
  br i1 %failed, label %done, label %fill
fill:
  %is_filled = call i1 @fill_deferred(ptr %operands, ptr %origins)
  br i1 %is_filled, label %busy, label %drop
drop:
  call void @Py_DecRef(ptr %found)
  %no_room = call ptr @PyErr_NoMemory()
  br label %done
busy:
  put i64 1, @state[IS_BUSY]
  br label %done
done:
  %given = phi ptr [ %found, %make ], [ null, %drop ], [ %found, %busy ]
  call void @resume()
  ret ptr %given
}

; a tuple of objects, whose references it takes; null for an exception, also where one is null
define internal ptr @packed(ptr %number, ptr %codes, ptr %live, ptr %operands, ptr %origins) {
  %parts = alloca [5 x ptr]
  put ptr %number, %parts[0]
  put ptr %codes, %parts[1]
  put ptr %live, %parts[2]
  put ptr %operands, %parts[3]
  put ptr %origins, %parts[4]
  %whole = call ptr @PyTuple_New(i64 5)
  %failed = icmp eq ptr %whole, null
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %both ]
  %lost = phi i1 [ %failed, %0 ], [ %lost_now, %both ]
  %is_over = icmp sge i64 %i, 5
  br i1 %is_over, label %done, label %look
look:
  %part = get ptr %parts[%i]
  %after = add i64 %i, 1
  %is_null = icmp eq ptr %part, null
  %lost_now = or i1 %lost, %is_null
  br i1 %failed, label %drop, label %set
drop:
  call void @Py_DecRef(ptr %part)
  br label %both
set:
  %status = call i32 @PyTuple_SetItem(ptr %whole, i64 %i, ptr %part)
  br label %both
both:
  br label %next
done:
  br i1 %lost, label %fail, label %give
fail:
  call void @Py_DecRef(ptr %whole)
  ret ptr null
give:
  ret ptr %whole
}

; a new reference to a leaf: NumPy's array, or the number itself
define internal ptr @held_operand(i64 %number) {
  %leaf = call ptr @leaf(i64 %number)
  %host = get ptr %leaf[LEAF_HOST]
  %object = get ptr %leaf[LEAF_OBJECT]
  %is_number = icmp eq ptr %host, null
  %operand = select i1 %is_number, ptr %object, ptr %host
  call void @Py_IncRef(ptr %operand)
  ret ptr %operand
}

; fills both tuples; false where there is no room
define internal i1 @fill_deferred(ptr %operands, ptr %origins) {
  %rows = get i64 @state[ROW_COUNT]
  %leaves = get i64 @state[LEAF_COUNT]
  br label %next_leaf
next_leaf:
  %i = phi i64 [ 0, %0 ], [ %i_after, %at_leaf ]
  %is_last = icmp sge i64 %i, %leaves
  br i1 %is_last, label %next_row, label %at_leaf
at_leaf:
  %operand = call ptr @held_operand(i64 %i)
  %set = call i32 @PyTuple_SetItem(ptr %operands, i64 %i, ptr %operand)
  %i_after = add i64 %i, 1
  br label %next_leaf
next_row:
  %j = phi i64 [ 0, %next_leaf ], [ %j_after, %put ]
  %is_over = icmp sge i64 %j, %rows
  br i1 %is_over, label %done, label %at_row
at_row:
  %row = call ptr @row(i64 %j)
  %spot = getelementptr i64, ptr %row, i64 ROW_CODE
  %origin = call ptr @origin_of(ptr %spot)
  %failed = icmp eq ptr %origin, null
  br i1 %failed, label %no, label %put
put:
  %status = call i32 @PyTuple_SetItem(ptr %origins, i64 %j, ptr %origin)
  %j_after = add i64 %j, 1
  br label %next_row
done:
  ret i1 true
no:
  ret i1 false
}

; which results somebody else can reach, a byte each
define internal ptr @live(i64 %rows) {
  %bytes = alloca i8, i64 MOST_ROWS
  call void @write_live(i64 %rows, ptr %bytes)
  %live = call ptr @PyBytes_FromStringAndSize(ptr %bytes, i64 %rows)
  ret ptr %live
}

define internal void @write_live(i64 %rows, ptr %bytes) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %at_row ]
  %is_over = icmp sge i64 %i, %rows
  br i1 %is_over, label %done, label %at_row
at_row:
  %row = call ptr @row(i64 %i)
  %result = get ptr %row[ROW_RESULT]
  %references = get i32 %result[REFERENCES]
  %all = zext i32 %references to i64
  %own = get i64 %row[ROW_REFERENCES]
  %is_shared = icmp sgt i64 %all, %own
  %weak_offset = get i64 @state[WEAK_OFFSET]
  %weak_at = getelementptr i8, ptr %result, i64 %weak_offset
  %weak = load ptr, ptr %weak_at
  %is_watched = icmp ne ptr %weak, null
  %is_held = or i1 %is_shared, %is_watched
  %is_old = get i64 %row[ROW_IS_OLD]
  %is_last = icmp eq i64 %is_old, 0
  %is_live = and i1 %is_held, %is_last
  %byte = zext i1 %is_live to i8
  %at = getelementptr i8, ptr %bytes, i64 %i
  store i8 %byte, ptr %at
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}
"""

SETTLE = """
; whether the tape is what it was under a number
define internal i1 @is_current(ptr %number) {
  %known = call i64 @PyLong_AsLongLong(ptr %number)
  %generation = get i64 @state[GENERATION]
  %same = icmp eq i64 %known, %generation
  ret i1 %same
}

define ptr @lf_release(ptr %self, ptr %args, i64 %count) {
  %number = load ptr, ptr %args
  %is_current = call i1 @is_current(ptr %number)
  br i1 %is_current, label %release, label %done
release:
  put i64 0, @state[IS_BUSY]
  br label %done
done:
  %nothing = call ptr @none()
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
}

; whether values are as many arrays of ours as results were alive, and have one of NumPy's each
define internal i1 @are_results(ptr %values, ptr %live, i64 %rows) {
  %count = call i64 @tuple_size(ptr %values)
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %at_row ], [ %after, %ours ]
  %place = phi i64 [ 0, %0 ], [ %place, %at_row ], [ %place_after, %ours ]
  %is_over = icmp sge i64 %i, %rows
  br i1 %is_over, label %all, label %at_row
at_row:
  %live_at = getelementptr i8, ptr %live, i64 %i
  %is_live_byte = load i8, ptr %live_at
  %is_live = icmp ne i8 %is_live_byte, 0
  %after = add i64 %i, 1
  br i1 %is_live, label %look, label %next
look:
  %is_missing = icmp sge i64 %place, %count
  br i1 %is_missing, label %no, label %take
take:
  %value = call ptr @tuple_item(ptr %values, i64 %place)
  %place_after = add i64 %place, 1
  %is_ours = call i1 @is(ptr %value, i64 T_CLASS)
  br i1 %is_ours, label %ours_host, label %no
ours_host:
  %host = call ptr @part(ptr %value, i64 T_HOST)
  %is_none = icmp eq ptr %host, null
  br i1 %is_none, label %no, label %ours
ours:
  br label %next
all:
  %is_all = icmp eq i64 %place, %count
  ret i1 %is_all
no:
  ret i1 false
}

; give the results of the first rows their arrays; false where the tape has others meanwhile, or
; the values are not such
define internal i1 @give_results(ptr %values, ptr %live, i64 %rows) {
  %rows_now = get i64 @state[ROW_COUNT]
  %is_whole = icmp eq i64 %rows, %rows_now
  %are_fit = call i1 @are_results(ptr %values, ptr %live, i64 %rows)
  %can = and i1 %is_whole, %are_fit
  br i1 %can, label %next, label %no
next:
  %i = phi i64 [ 0, %0 ], [ %after, %at_row ], [ %after, %give ]
  %place = phi i64 [ 0, %0 ], [ %place, %at_row ], [ %place_after, %give ]
  %is_over = icmp sge i64 %i, %rows
  br i1 %is_over, label %done, label %at_row
at_row:
  %live_at = getelementptr i8, ptr %live, i64 %i
  %is_live_byte = load i8, ptr %live_at
  %is_live = icmp ne i8 %is_live_byte, 0
  %after = add i64 %i, 1
  br i1 %is_live, label %give, label %next
give:
  %row = call ptr @row(i64 %i)
  %value = call ptr @tuple_item(ptr %values, i64 %place)
  %host = call ptr @part(ptr %value, i64 T_HOST)
  %result = get ptr %row[ROW_RESULT]
  call void @Py_IncRef(ptr %host)
  %at = call ptr @host_at(ptr %result)
  store ptr %host, ptr %at
  %place_after = add i64 %place, 1
  br label %next
done:
  ret i1 true
no:
  ret i1 false
}

define internal void @drop_all(ptr %references, i64 %count) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %drop ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %drop
drop:
  %reference = get ptr %references[%i]
  call void @Py_DecRef(ptr %reference)
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}

; give the leaves their arrays back, empty the tape, and drop what it referred to
define internal void @empty() {
  %references = alloca ptr, i64 ALL_REFERENCES
  %rows = get i64 @state[ROW_COUNT]
  %leaves = get i64 @state[LEAF_COUNT]
  br label %next_leaf
next_leaf:
  %i = phi i64 [ 0, %0 ], [ %i_after, %kept ]
  %is_last = icmp sge i64 %i, %leaves
  br i1 %is_last, label %next_row, label %at_leaf
at_leaf:
  %leaf = call ptr @leaf(i64 %i)
  %host = get ptr %leaf[LEAF_HOST]
  %object = get ptr %leaf[LEAF_OBJECT]
  %place = get i64 %leaf[LEAF_PLACE]
  put ptr %object, %references[%i]
  %i_after = add i64 %i, 1
  %is_in_vain = icmp ne i64 %place, 0
  br i1 %is_in_vain, label %cool, label %warm
cool:
  call void @cool(i64 %place)
  br label %warm
warm:
  %is_number = icmp eq ptr %host, null
  br i1 %is_number, label %kept, label %back
back:
  %at = call ptr @host_at(ptr %object)
  %now = load ptr, ptr %at
  %is_same = icmp eq ptr %now, null
  br i1 %is_same, label %give_back, label %drop
give_back:
  store ptr %host, ptr %at
  br label %kept
drop:
  call void @Py_DecRef(ptr %host)
  br label %kept
kept:
  br label %next_leaf
next_row:
  %j = phi i64 [ 0, %next_leaf ], [ %j_after, %at_row ]
  %count = phi i64 [ %leaves, %next_leaf ], [ %count_after, %at_row ]
  %is_over = icmp sge i64 %j, %rows
  br i1 %is_over, label %reset, label %at_row
at_row:
  %row = call ptr @row(i64 %j)
  %result = get ptr %row[ROW_RESULT]
  %code = get ptr %row[ROW_CODE]
  %modes = get ptr %row[ROW_MODES]
  put ptr %result, %references[%count]
  %second = add i64 %count, 1
  put ptr %code, %references[%second]
  %third = add i64 %count, 2
  put ptr %modes, %references[%third]
  %count_after = add i64 %count, 3
  %j_after = add i64 %j, 1
  br label %next_row
reset:
  put i64 0, @state[ROW_COUNT]
  put i64 0, @state[LEAF_COUNT]
  put i64 0, @state[IS_BUSY]
  %generation = get i64 @state[GENERATION]
  %next_generation = add i64 %generation, 1
  put i64 %next_generation, @state[GENERATION]
  call void @drop_all(ptr %references, i64 %count)
  ret void
}

define ptr @lf_settle(ptr %self, ptr %args, i64 %count) {
  %number = load ptr, ptr %args
  %values = get ptr %args[1]
  %heat = get ptr %args[2]
  %live_object = get ptr %args[3]
  %is_current = call i1 @is_current(ptr %number)
  br i1 %is_current, label %give, label %yes
give:
  %live = call ptr @PyBytes_AsString(ptr %live_object)
  %rows = call i64 @PyBytes_Size(ptr %live_object)
  %is_given = call i1 @give_results(ptr %values, ptr %live, i64 %rows)
  br i1 %is_given, label %cool, label %no
cool:
  %none = call ptr @none()
  %leaves_heat = icmp eq ptr %heat, %none
  br i1 %leaves_heat, label %done, label %set
set:
  %place = get i64 @state[PLACE]
  %degrees = call i64 @PyLong_AsLongLong(ptr %heat)
  put i64 %degrees, @state[%place]
  br label %done
done:
  call void @empty()
  br label %yes
yes:
  %true = call ptr @object(i64 T_TRUE)
  call void @Py_IncRef(ptr %true)
  ret ptr %true
no:
  %false = call ptr @object(i64 T_FALSE)
  call void @Py_IncRef(ptr %false)
  ret ptr %false
}
"""
