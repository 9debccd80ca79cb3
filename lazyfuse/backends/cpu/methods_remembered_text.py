"""Views by the layouts that functions remember (`frontend/relayout.py`), as LLVM text; see
`methods.py`."""

from __future__ import annotations

REMEMBERED = """
; what a function gives for an array of the engine and plain arguments, as `remembered_view`: those
; that are methods, too, know more than what has been met
define internal ptr @view_of_call(ptr %known, ptr %args, i64 %count, ptr %names) {
  %has_any = icmp sgt i64 %count, 0
  br i1 %has_any, label %look, label %no
look:
  %array = get ptr %args[0]
  %is_ours = call i1 @is(ptr %array, i64 T_CLASS)
  br i1 %is_ours, label %ours, label %no
ours:
  %rest = getelementptr ptr, ptr %args, i64 1
  %fewer = sub i64 %count, 1
  %of_ravel = call ptr @object(i64 T_RAVEL)
  %of_reshape = call ptr @object(i64 T_RESHAPES)
  %is_ravel = icmp eq ptr %known, %of_ravel
  br i1 %is_ravel, label %ravel, label %other
ravel:
  %line = call ptr @engine_ravel(ptr %array, ptr %rest, i64 %fewer, ptr %names)
  br label %method
other:
  %is_reshape = icmp eq ptr %known, %of_reshape
  br i1 %is_reshape, label %reshape, label %remembered
reshape:
  %block = call ptr @engine_reshape(ptr %array, ptr %rest, i64 %fewer, ptr %names)
  br label %method
method:
  %shaped = phi ptr [ %line, %ravel ], [ %block, %reshape ]
  %is_shaped = icmp ne ptr %shaped, null
  br i1 %is_shaped, label %give, label %remembered
give:
  ret ptr %shaped
remembered:
  %view = call ptr @remembered_view(ptr %known, ptr %array, ptr %rest, i64 %fewer, ptr %names)
  ret ptr %view
no:
  ret ptr null
}

; a view of an array of the engine by the layouts that a function remembers, by the array's and
; plain arguments (`frontend/relayout.py`); null, without an exception, where there is none
define internal ptr @remembered_view(ptr %known, ptr %array, ptr %args, i64 %count, ptr %names) {
  %error = call ptr @PyErr_Occurred()
  %is_quiet = icmp eq ptr %error, null
  %has_no_words = icmp eq ptr %names, null
  %is_plain = and i1 %is_quiet, %has_no_words
  br i1 %is_plain, label %look, label %no
look:
  %is_laid = call i1 @is_as_laid(ptr %array)
  %all = add i64 %count, 1
  br i1 %is_laid, label %new, label %no
new:
  %key = call ptr @PyTuple_New(i64 %all)
  %has_none = icmp eq ptr %key, null
  br i1 %has_none, label %clear, label %layout
layout:
  %own = call ptr @get(ptr %array, i64 HANDLE_LAYOUT)
  call void @Py_IncRef(ptr %own)
  %first = call i32 @PyTuple_SetItem(ptr %key, i64 0, ptr %own)
  br label %next
next:
  %i = phi i64 [ 0, %layout ], [ %after, %put ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %find, label %argument
argument:
  %item = get ptr %args[%i]
  %after = add i64 %i, 1
  %is_word = call i1 @is_of_layouts(ptr %item)
  br i1 %is_word, label %put, label %drop
put:
  call void @Py_IncRef(ptr %item)
  %status = call i32 @PyTuple_SetItem(ptr %key, i64 %after, ptr %item)
  br label %next
find:
  %found = call ptr @PyDict_GetItemWithError(ptr %known, ptr %key)
  %is_unknown = icmp eq ptr %found, null
  br i1 %is_unknown, label %drop, label %make
make:
  call void @Py_IncRef(ptr %found)
  call void @Py_DecRef(ptr %key)
  %view = call ptr @view_laid(ptr %array, ptr %found)
  %failed = icmp eq ptr %view, null
  br i1 %failed, label %clear, label %give
give:
  ret ptr %view
drop:
  call void @Py_DecRef(ptr %key)
  br label %clear
clear:
  call void @PyErr_Clear()
  br label %no
no:
  ret ptr null
}

; whether an argument is equal only to others of its type: an int, a word, None, a tuple of ints
define internal i1 @is_of_layouts(ptr %object) {
  %is_int = call i1 @is(ptr %object, i64 T_INT)
  %is_text = call i1 @is(ptr %object, i64 T_TEXT)
  %is_none = call i1 @is(ptr %object, i64 T_NONE_TYPE)
  %is_one = or i1 %is_int, %is_text
  %is_word = or i1 %is_one, %is_none
  br i1 %is_word, label %yes, label %tuple
tuple:
  %is_tuple = call i1 @is(ptr %object, i64 T_TUPLE)
  br i1 %is_tuple, label %items, label %no
items:
  %are_ints = call i1 @is_plain_or_ints(ptr %object)
  ret i1 %are_ints
yes:
  ret i1 true
no:
  ret i1 false
}
"""
