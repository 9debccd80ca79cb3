"""Recording in machine code: what loops go through arrays by, as LLVM text (see `record_text.py`
and `frontend/walking.py`)."""

from lazyfuse.backends.cpu.record_views_text import NO_HASH

ROWS = (
    """
; a row of an array of the engine, of this shape and these strides, with a list of one for the row,
; and at this offset
define ptr @lf_row(ptr %self, ptr %args, i64 %count) {{
  %first = load ptr, ptr %args
  %second_at = getelementptr ptr, ptr %args, i64 1
  %second = load ptr, ptr %second_at
  %strides_at = getelementptr ptr, ptr %args, i64 2
  %strides = load ptr, ptr %strides_at
  %kept_at = getelementptr ptr, ptr %args, i64 3
  %kept = load ptr, ptr %kept_at
  %offset_at = getelementptr ptr, ptr %args, i64 4
  %offset = load ptr, ptr %offset_at
  call void @Py_IncRef(ptr %offset)
  %old = call ptr @PyList_GetItem(ptr %kept, i64 0)
  %is_free = call i1 @is_free_row(ptr %old, ptr %first, ptr %second, ptr %strides)
  br i1 %is_free, label %move, label %new
move:
  %laid = call ptr @get(ptr %old, i64 {handle_layout})
  %set = call i32 @PyTuple_SetItem(ptr %laid, i64 2, ptr %offset)
"""
    + NO_HASH
    + """  call void @Py_IncRef(ptr %old)
  ret ptr %old
new:
  %layout = call ptr @laid_at(ptr %second, ptr %strides, ptr %offset)
  %is_laid = icmp ne ptr %layout, null
  br i1 %is_laid, label %make, label %fail
make:
  %view = call ptr @view_laid(ptr %first, ptr %layout)
  %is_made = icmp ne ptr %view, null
  br i1 %is_made, label %keep, label %fail
keep:
  call void @Py_IncRef(ptr %view)
  %keeping = call i32 @PyList_SetItem(ptr %kept, i64 0, ptr %view)
  ret ptr %view
fail:
  %error = call ptr @PyErr_NoMemory()
  ret ptr null
}}

; whether a row that was made before is nobody's any more, has been left as it was, and may be
; another row of an array: of the same shape and strides. So the loop needs no memory
define internal i1 @is_free_row(ptr %row, ptr %array, ptr %shape, ptr %strides) {{
  %is_ours = call i1 @is(ptr %row, i64 {class_})
  br i1 %is_ours, label %count, label %no
count:
  %none = call ptr @none()
  %holders = load i32, ptr %row
  %type = call ptr @kind(ptr %row)
  %weak_place_at = getelementptr i8, ptr %type, i64 208
  %weak_place = load i64, ptr %weak_place_at
  %weak = call ptr @get(ptr %row, i64 %weak_place)
  %entered_place = call i64 @entry(i64 {ENTERED})
  %entered = call ptr @get(ptr %row, i64 %entered_place)
  %cast = call ptr @get(ptr %row, i64 {handle_cast})
  %host = call ptr @get(ptr %row, i64 {handle_host})
  %is_alone = icmp eq i32 %holders, 1
  %is_unwatched = icmp eq ptr %weak, null
  %is_fresh = icmp eq ptr %entered, null
  %is_uncast = icmp eq ptr %cast, %none
  %is_engines = icmp eq ptr %host, %none
  %a = and i1 %is_alone, %is_unwatched
  %b = and i1 %is_fresh, %is_uncast
  %c = and i1 %a, %b
  %d = and i1 %c, %is_engines
  br i1 %d, label %compare, label %no
compare:
  %storage = call ptr @get(ptr %row, i64 {handle_storage})
  %writeable = call ptr @get(ptr %row, i64 {handle_writeable})
  %owner = call ptr @get(ptr %row, i64 {handle_owner})
  %its_storage = call ptr @get(ptr %array, i64 {handle_storage})
  %its_writeable = call ptr @get(ptr %array, i64 {handle_writeable})
  %its_owner = call ptr @get(ptr %array, i64 {handle_owner})
  %owns = icmp eq ptr %its_owner, %none
  %base = select i1 %owns, ptr %array, ptr %its_owner
  %is_there = icmp eq ptr %storage, %its_storage
  %is_written_so = icmp eq ptr %writeable, %its_writeable
  %is_of_base = icmp eq ptr %owner, %base
  %e = and i1 %is_there, %is_written_so
  %f = and i1 %e, %is_of_base
  br i1 %f, label %layout, label %no
layout:
  %laid = call ptr @get(ptr %row, i64 {handle_layout})
  %laid_type = call ptr @kind(ptr %laid)
  %layouts = call ptr @object(i64 {LAYOUT})
  %is_layout = icmp eq ptr %laid_type, %layouts
  %laid_holders = load i32, ptr %laid
  %is_its_own = icmp eq i32 %laid_holders, 1
  %g = and i1 %is_layout, %is_its_own
  br i1 %g, label %axes, label %no
axes:
  %own_shape = call ptr @tuple_item(ptr %laid, i64 0)
  %own_strides = call ptr @tuple_item(ptr %laid, i64 1)
  %is_shaped = icmp eq ptr %own_shape, %shape
  %is_spaced = icmp eq ptr %own_strides, %strides
  %is_same = and i1 %is_shaped, %is_spaced
  ret i1 %is_same
no:
  ret i1 false
}}
"""
)
