"""Results of ufuncs that are written into arrays of the engine, as LLVM text; see `methods.py`."""

from __future__ import annotations

INTO = """
; a ufunc of one or two operands, and of nothing else an output, by recipes of writes, or at once
; where that is small: 1 when it is done, 0 where Python has to do it, -1 for an exception. The
; output comes after the operands, by position or as the only keyword
define internal i32 @written_into(ptr %self, ptr %args, i64 %count, ptr %names) {
  %operands = alloca [3 x ptr]
  %known = call ptr @part(ptr %self, i64 T_INTO)
  %numpys = call ptr @part(ptr %self, i64 T_NUMPYS)
  %has_none = icmp eq ptr %known, null
  br i1 %has_none, label %no, label %measure
measure:
  %nin_at = getelementptr i8, ptr %numpys, i64 16
  %nin = load i32, ptr %nin_at
  %inputs = zext i32 %nin to i64
  %words = call i64 @count_of(ptr %names)
  %total = add i64 %count, %words
  %with_out = add i64 %inputs, 1
  %is_one_more = icmp eq i64 %total, %with_out
  %is_by_position = icmp eq i64 %words, 0
  br i1 %is_one_more, label %word, label %no
word:
  br i1 %is_by_position, label %target, label %name
name:
  %is_one_word = icmp eq i64 %words, 1
  %first_word = call ptr @tuple_item(ptr %names, i64 0)
  %out_word = call ptr @object(i64 T_OUT)
  %is_out = icmp eq ptr %first_word, %out_word
  %is_named = and i1 %is_one_word, %is_out
  br i1 %is_named, label %target, label %no
target:
  %out = get ptr %args[%inputs]
  %is_engines = call i1 @is_engines(ptr %out)
  br i1 %is_engines, label %size, label %ours
ours:
  %is_ours = call i1 @is(ptr %out, i64 T_CLASS)
  br i1 %is_ours, label %few, label %no
size:
  %eager = call i64 @eager_size()
  %has_raised = icmp slt i64 %eager, 0
  br i1 %has_raised, label %fail, label %compare
compare:
  %layout = call ptr @get(ptr %out, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %elements = call i64 @count_in(ptr %shape)
  %is_large = icmp sgt i64 %elements, %eager
  br i1 %is_large, label %novel, label %few
few:
  br i1 %is_by_position, label %few_at_once, label %quickly  ; NumPy may warn of a position
quickly:
  %is_quick = call i1 @quickly_into(ptr %self, ptr %args, i64 %inputs, ptr %out)
  br i1 %is_quick, label %done_quickly, label %few_at_once
done_quickly:
  ret i32 1
few_at_once:
  %few_most = call i64 @reach(ptr %args, i64 %with_out)
  br label %at_once
at_once:
  %reached = phi i64 [ %few_most, %few_at_once ], [ %most, %asked ]
  %is_delivered = call i32
    @delivered(ptr %self, ptr %args, i64 %inputs, ptr %names, i64 %reached)
  ret i32 %is_delivered
novel:
  %most = call i64 @reach_of(ptr %out)
  %is_lost_then = icmp slt i64 %most, 0
  br i1 %is_lost_then, label %fail, label %asked
asked:
  %is_at_once = icmp sgt i64 %most, %eager
  br i1 %is_at_once, label %at_once, label %begin
begin:
  put ptr %out, %operands[0]
  br label %next
next:
  %i = phi i64 [ 0, %begin ], [ %after, %placed ]
  %there = phi i64 [ 1, %begin ], [ %there_now, %placed ]
  %mark = phi i64 [ 0, %begin ], [ %mark_now, %placed ]
  %is_over = icmp sge i64 %i, %inputs
  br i1 %is_over, label %write, label %look
look:
  %arg = get ptr %args[%i]
  put ptr %arg, %operands[%there]
  br label %find
find:
  %place = phi i64 [ 0, %look ], [ %place_after, %further ]
  %one = get ptr %operands[%place]
  %is_it = icmp eq ptr %one, %arg
  br i1 %is_it, label %placed, label %further
further:
  %place_after = add i64 %place, 1
  br label %find
placed:
  %is_new = icmp eq i64 %place, %there
  %new = zext i1 %is_new to i64
  %there_now = add i64 %there, %new
  %shift = mul i64 %i, 2
  %shifted = shl i64 %place, %shift
  %mark_now = or i64 %mark, %shifted
  %after = add i64 %i, 1
  br label %next
write:
  %extra = call ptr @PyLong_FromLong(i64 %mark)
  %is_lost = icmp eq ptr %extra, null
  br i1 %is_lost, label %fail, label %ask
ask:
  %done = call i32 @written_any(ptr %known, ptr %operands, i64 %there, ptr %extra)
  call void @Py_DecRef(ptr %extra)
  ret i32 %done
fail:
  ret i32 -1
no:
  ret i32 0
}

; whether a ufunc of a few elements has been computed by a loop of ours, and what it gave copied to
; an output of its dtype and shape: one axis of computed memory of the engine, or a small array.
; NumPy takes longer to find out whether the output overlaps with the operands
define internal i1 @quickly_into(ptr %self, ptr %args, i64 %inputs, ptr %out) {
  %is_large = call i1 @is_engines(ptr %out)
  br i1 %is_large, label %axes, label %run
axes:
  %shape = call ptr @shape_of(ptr %out)
  %count = call i64 @tuple_size(ptr %shape)
  %is_line = icmp eq i64 %count, 1
  br i1 %is_line, label %run, label %no
run:
  %made = call ptr @quick_call(ptr %self, ptr %args, i64 %inputs, ptr null)
  %is_other = icmp eq ptr %made, null
  br i1 %is_other, label %no, label %deliver
deliver:
  br i1 %is_large, label %line, label %row
line:
  %all = call ptr @PyTuple_New(i64 0)
  %is_in_line = call i1 @set_line(ptr %out, ptr %all, ptr %made)
  call void @Py_DecRef(ptr %all)
  br label %drop
row:
  %is_in_row = call i1 @set_row(ptr %out, ptr %made)
  br label %drop
drop:
  %is_done = phi i1 [ %is_in_line, %line ], [ %is_in_row, %row ]
  call void @Py_DecRef(ptr %made)
  ret i1 %is_done
no:
  ret i1 false
}

; whether the elements of a small array have been copied to another one, of its dtype and shape, in
; rows
define internal i1 @set_row(ptr %to, ptr %from) {
  %host = call ptr @part(ptr %to, i64 T_HOST)
  %given = call ptr @part(ptr %from, i64 T_HOST)
  %no_host = icmp eq ptr %host, null
  %no_given = icmp eq ptr %given, null
  %is_away = or i1 %no_host, %no_given
  br i1 %is_away, label %no, label %look
look:
  %flags = get i32 %host[ARRAY_FLAGS]
  %flag = and i32 %flags, WRITE_FLAGS
  %is_open = icmp eq i32 %flag, WRITEABLE_FLAG
  %axes = get i32 %given[ND]
  %has_axes = icmp ne i32 %axes, 0
  %may = and i1 %is_open, %has_axes
  br i1 %may, label %compare, label %no
compare:
  %count = call i64 @elements(ptr %given)
  %are_alike = call i1 @are_dense(ptr %given, ptr %host, i64 %count)
  br i1 %are_alike, label %copy, label %no
copy:
  %bytes_each = call i64 @quick_bytes(ptr %given)
  %bytes = mul i64 %count, %bytes_each
  %to_data = get ptr %host[DATA]
  %from_data = get ptr %given[DATA]
  call void @llvm.memmove.p0.p0.i64(ptr %to_data, ptr %from_data, i64 %bytes, i1 false)
  ret i1 true
no:
  ret i1 false
}

; whether NumPy has computed a ufunc, whose bits are the kernels', of operands at hand into what
; comes after them, memory of the engine that is computed, or a small array (`delivered` of
; `frontend/windows.py`), all of at most so many elements: 1, 0, or -1 with an exception
define internal i32 @delivered(ptr %self, ptr %args, i64 %inputs, ptr %names, i64 %most) {
  %given = alloca [3 x ptr]
  %exact = call ptr @part(ptr %self, i64 T_UFUNC)
  %absolute = call ptr @object(i64 T_ABSOLUTE)  ; not of complex numbers
  %is_inexact = icmp eq ptr %exact, null
  %is_absolute = icmp eq ptr %exact, %absolute
  %is_pythons = or i1 %is_inexact, %is_absolute
  br i1 %is_pythons, label %no, label %sizes
sizes:
  %all = add i64 %inputs, 1
  %are_any = icmp sgt i64 %most, 0
  br i1 %are_any, label %next, label %ask
next:
  %i = phi i64 [ 0, %sizes ], [ %after, %take ]
  %is_over = icmp sge i64 %i, %inputs
  br i1 %is_over, label %compute, label %look
look:
  %arg = get ptr %args[%i]
  %after = add i64 %i, 1
  %is_told_first = call i1 @is_beyond_singles(ptr %arg)
  br i1 %is_told_first, label %undo, label %open
open:
  %operand = call ptr @taken(ptr %arg, i64 %most)
  %is_unknown = icmp eq ptr %operand, null
  br i1 %is_unknown, label %undo, label %take
take:
  put ptr %operand, %given[%i]
  br label %next
compute:
  %out = get ptr %args[%inputs]
  %words = call i64 @count_of(ptr %names)
  %positional = sub i64 %all, %words
  %host = call ptr @part(ptr %out, i64 T_HOST)
  %is_engines = icmp eq ptr %host, null
  br i1 %is_engines, label %memory, label %small
small:
  put ptr %host, %given[%inputs]
  %written = call ptr @PyObject_Vectorcall(ptr %exact, ptr %given, i64 %positional, ptr %names)
  call void @drop_all(ptr %given, i64 %inputs)
  %has_raised = icmp eq ptr %written, null
  br i1 %has_raised, label %ask, label %drop_written
drop_written:
  call void @Py_DecRef(ptr %written)
  ret i32 1
memory:
  %outcome = call i32 @written_by(ptr %exact, ptr %out, ptr %given, i64 %inputs, i64 %all,
                                  i64 %positional, ptr %names, i64 %most)
  call void @drop_all(ptr %given, i64 %inputs)
  ret i32 %outcome
undo:
  call void @drop_all(ptr %given, i64 %i)
  br label %ask
ask:
  %nothing = call i32 @not_done()
  ret i32 %nothing
no:
  ret i32 0
}

; whether a function of NumPy's, which writes its first argument and reads the others, has done so
; at once in memory of the engine (`altered` of `frontend/windows.py`): 1, 0, or -1 with an
; exception
define internal i32 @altered(ptr %function, ptr %args, i64 %count, ptr %names) {
  %given = alloca [MOST_ARGUMENTS x ptr]
  %words = call i64 @count_of(ptr %names)
  %all = add i64 %count, %words
  %has_first = icmp sgt i64 %count, 0
  %fit = icmp sle i64 %all, MOST_ARGUMENTS
  %can = and i1 %has_first, %fit
  br i1 %can, label %first, label %no
first:
  %array = get ptr %args[0]
  %is_engines = call i1 @is_engines(ptr %array)
  br i1 %is_engines, label %sizes, label %no
sizes:
  %most = call i64 @reach(ptr %args, i64 %all)
  %are_any = icmp sgt i64 %most, 0
  br i1 %are_any, label %next, label %ask
next:
  %i = phi i64 [ 1, %sizes ], [ %after, %take ]
  %is_over = icmp sge i64 %i, %all
  br i1 %is_over, label %write, label %look
look:
  %arg = get ptr %args[%i]
  %after = add i64 %i, 1
  %is_told_first = call i1 @is_beyond_singles(ptr %arg)
  br i1 %is_told_first, label %undo, label %open
open:
  %is_list = call i1 @is(ptr %arg, i64 T_LIST)
  br i1 %is_list, label %list, label %one
list:
  %numbers = call ptr @assigned_values(ptr %arg)
  br label %found
one:
  %opened = call ptr @taken(ptr %arg, i64 %most)
  br label %found
found:
  %operand = phi ptr [ %numbers, %list ], [ %opened, %one ]
  %is_unknown = icmp eq ptr %operand, null
  br i1 %is_unknown, label %undo, label %take
take:
  put ptr %operand, %given[%i]
  br label %next
write:
  %outcome = call i32 @written_by(ptr %function, ptr %array, ptr %given, i64 0, i64 %all,
                                  i64 %count, ptr %names, i64 %most)
  %others = sub i64 %all, 1
  %second = getelementptr ptr, ptr %given, i64 1
  call void @drop_all(ptr %second, i64 %others)
  ret i32 %outcome
undo:
  %taken_others = sub i64 %i, 1
  %first_taken = getelementptr ptr, ptr %given, i64 1
  call void @drop_all(ptr %first_taken, i64 %taken_others)
  br label %ask
ask:
  %nothing = call i32 @not_done()
  ret i32 %nothing
no:
  ret i32 0
}

; whether a function of NumPy's is called, with the lock, for operands with memory of the engine
; among them, at this place, which it writes: 1, 0, or -1 with an exception. What is said of
; operands before anything is written would be said of nothing, or under the lock
define internal i32 @written_by(ptr %function, ptr %array, ptr %given, i64 %place, i64 %all,
                                i64 %count, ptr %names, i64 %most) {
  %locked = call i1 @lock()
  br i1 %locked, label %open, label %failed
open:
  %window = call ptr @writable(ptr %array, i64 %most)
  %is_away = icmp eq ptr %window, null
  br i1 %is_away, label %close, label %look
look:
  put ptr %window, %given[%place]
  %are_whole = call i1 @are_no_halves(ptr %given, i64 %all)
  br i1 %are_whole, label %which, label %leave
which:
  %is_first = icmp eq i64 %place, 0
  br i1 %is_first, label %casts, label %begin  ; ufuncs refuse what they cannot cast
casts:
  %are_cast = call i1 @are_cast_quietly(ptr %given, i64 %all)
  br i1 %are_cast, label %begin, label %leave
begin:
  %context = call ptr @begin_change(ptr %array)
  %no_context = icmp eq ptr %context, null
  br i1 %no_context, label %drop_window, label %call
call:
  %value = call ptr @PyObject_Vectorcall(ptr %function, ptr %given, i64 %count, ptr %names)
  call void @stop_listening(ptr %context)
  %has_failed = icmp eq ptr %value, null
  br i1 %has_failed, label %drop_window, label %drop
drop:
  call void @Py_DecRef(ptr %value)
  br label %drop_window
leave:
  call void @Py_DecRef(ptr %window)
  br label %close
drop_window:
  call void @Py_DecRef(ptr %window)
  br label %close
close:
  %is_done = phi i32 [ 0, %open ], [ 0, %leave ], [ 1, %drop_window ]
  %none = call ptr @none()
  call void @Py_IncRef(ptr %none)
  %outcome = call i32 @end_change(i32 %is_done, ptr %none)
  ret i32 %outcome
failed:
  ret i32 -1
}

; whether none of some operands is an array of half precision, which holds few numbers
define internal i1 @are_no_halves(ptr %given, i64 %count) {
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ], [ %after, %array ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %operand = get ptr %given[%i]
  %after = add i64 %i, 1
  %is_array = call i1 @is(ptr %operand, i64 T_NDARRAY)
  br i1 %is_array, label %array, label %next
array:
  %number = call i32 @dtype_number(ptr %operand)
  %is_half = icmp eq i32 %number, 23
  br i1 %is_half, label %no, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; whether NumPy casts the values behind an array to its dtype without a word but of conditions
define internal i1 @are_cast_quietly(ptr %given, i64 %count) {
  %array = get ptr %given[0]
  br label %next
next:
  %i = phi i64 [ 1, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %yes, label %look
look:
  %value = get ptr %given[%i]
  %after = add i64 %i, 1
  %is_quiet = call i1 @is_cast_quietly(ptr %value, ptr %array)
  br i1 %is_quiet, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""
