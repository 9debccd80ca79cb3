"""Writing what others on the tape read, as LLVM text; see `defer_text.py` and
`defer_views_text.py`."""

from __future__ import annotations

WRITES = """
; the leaf that an array is, where others on the tape have its memory, too; null for others
define internal ptr @shared_leaf(ptr %array) {
  %is_ours = call i1 @is(ptr %array, i64 T_CLASS)
  br i1 %is_ours, label %look, label %no
look:
  %leaf = call ptr @leaf_of(ptr %array)
  %is_none = icmp eq ptr %leaf, null
  br i1 %is_none, label %no, label %ask
ask:
  %is_alone = call i1 @is_alone(ptr %leaf)
  br i1 %is_alone, label %no, label %give
give:
  ret ptr %leaf
no:
  ret ptr null
}

; an operator that writes its first operand, a leaf that others read: its result is put off, what
; is put off is computed, and then it is written, also where conditions raise. As `defer_in_place`
define internal ptr @write_leaf(i64 %code, ptr %operands, ptr %leaf) {
  %shape_at = alloca ptr
  %target = get ptr %operands[0]
  call void @note_read(ptr %leaf)
  %kind = call i64 @surveyed(i64 %code, ptr %operands, i64 2, ptr %shape_at)
  %own_kind = get i64 %leaf[LEAF_KIND]
  %is_kind = call i1 @is_same_dtype(i64 %kind, i64 %own_kind)
  br i1 %is_kind, label %look, label %settle
look:
  %host = get ptr %leaf[LEAF_HOST]
  %shape = load ptr, ptr %shape_at
  %is_alike = call i1 @alike(ptr %shape, ptr %host)
  %flags = get i32 %host[ARRAY_FLAGS]
  %flag = and i32 %flags, 1024
  %is_writeable = icmp ne i32 %flag, 0
  %can = and i1 %is_alike, %is_writeable
  br i1 %can, label %compute, label %settle
compute:
  %made = call ptr @defer_all(i64 %code, ptr %operands, i64 2, ptr null)
  %has_raised = icmp eq ptr %made, inttoptr (i64 1 to ptr)
  br i1 %has_raised, label %fail, label %settle
settle:
  %result = phi ptr [ null, %0 ], [ null, %look ], [ %made, %compute ]
  call void @settle_here()
  %is_at_once = icmp eq ptr %result, null
  br i1 %is_at_once, label %end, label %hosts
hosts:
  %own = call ptr @part(ptr %target, i64 T_HOST)
  %values = call ptr @part(ptr %result, i64 T_HOST)
  %no_own = icmp eq ptr %own, null
  %no_values = icmp eq ptr %values, null
  %is_lost = or i1 %no_own, %no_values
  br i1 %is_lost, label %drop, label %write
write:
  %is_put = call i1 @rows_write(ptr %own, ptr %values)
  br label %drop
drop:
  %is_written = phi i1 [ false, %hosts ], [ %is_put, %write ]
  call void @Py_DecRef(ptr %result)
  br label %end
end:
  %is_done = phi i1 [ false, %settle ], [ %is_written, %drop ]
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  br i1 %is_fine, label %give, label %fail
give:
  br i1 %is_done, label %done, label %no
done:
  call void @Py_IncRef(ptr %target)
  ret ptr %target
no:
  ret ptr null
fail:
  ret ptr inttoptr (i64 1 to ptr)
}

; whether a leaf is the only one that has its memory
define internal i1 @is_alone(ptr %leaf) {
  %host = get ptr %leaf[LEAF_HOST]
  %references = get i32 %host[REFERENCES]
  %is_single = icmp eq i32 %references, 1
  %base = get ptr %host[BASE]
  %is_root = icmp eq ptr %base, null
  %is_alone = and i1 %is_single, %is_root
  ret i1 %is_alone
}

; whether an array that is on the tape, or may come there, can be written; not where it has views
define internal i1 @is_writeable(ptr %object) {
  %at = call ptr @host_at(ptr %object)
  %own = load ptr, ptr %at
  %is_taken = icmp eq ptr %own, null
  br i1 %is_taken, label %taken, label %look
taken:
  %number = call i64 @number_of(ptr %object)
  %is_row = icmp sge i64 %number, FIRST_ROW
  br i1 %is_row, label %yes, label %at_leaf
yes:
  ret i1 true
at_leaf:
  %leaf = call ptr @leaf(i64 %number)
  %host_of_leaf = get ptr %leaf[LEAF_HOST]
  %is_alone = call i1 @is_alone(ptr %leaf)
  br i1 %is_alone, label %look, label %no
no:
  ret i1 false
look:
  %host = phi ptr [ %own, %0 ], [ %host_of_leaf, %at_leaf ]
  %flags = get i32 %host[ARRAY_FLAGS]
  %flag = and i32 %flags, 1024
  %is_writeable = icmp ne i32 %flag, 0
  ret i1 %is_writeable
}
"""
