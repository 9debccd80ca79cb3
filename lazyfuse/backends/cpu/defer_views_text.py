"""Views as operands of what is put off, as LLVM text; see `defer_text.py`.

A view is a leaf, as NumPy's view of memory that nobody else can reach: the array that it is of has
its own taken away, too. So no view of other memory is looked for, and who asks for either settles
the tape.
"""

from __future__ import annotations

VIEWS = """
; the kind of NumPy's view: of memory that lies behind its first element, in whole elements, if it
; has any: reductions of none raise
define internal i64 @kind_of_view(ptr %host) {
  %references = get i32 %host[REFERENCES]
  %is_own = icmp eq i32 %references, 1
  %flags = get i32 %host[ARRAY_FLAGS]
  %aligned = and i32 %flags, 256
  %is_aligned = icmp ne i32 %aligned, 0
  %nd = get i32 %host[ND]
  %has_axes = icmp sgt i32 %nd, 0
  %is_plain = and i1 %is_own, %is_aligned
  %can = and i1 %is_plain, %has_axes
  br i1 %can, label %start, label %no
start:
  %axes = sext i32 %nd to i64
  %strides = get ptr %host[STRIDES]
  %extents = get ptr %host[DIMENSIONS]
  br label %next
next:
  %i = phi i64 [ 0, %start ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %axes
  br i1 %is_over, label %dtype, label %look
look:
  %stride = get i64 %strides[%i]
  %after = add i64 %i, 1
  %extent = get i64 %extents[%i]
  %is_forward = icmp sge i64 %stride, 0
  %has_any = icmp sgt i64 %extent, 0
  %can_go_on = and i1 %is_forward, %has_any
  br i1 %can_go_on, label %next, label %no
dtype:
  %kind = call i64 @kind_by_dtype(ptr %host)
  ret i64 %kind
no:
  ret i64 OTHER
}

; the leaf that an array is; null for others
define internal ptr @leaf_of(ptr %array) {
  %at = call ptr @host_at(ptr %array)
  %host = load ptr, ptr %at
  %is_taken = icmp eq ptr %host, null
  br i1 %is_taken, label %look, label %no
look:
  %number = call i64 @number_of(ptr %array)
  %is_leaf = icmp ult i64 %number, FIRST_ROW
  br i1 %is_leaf, label %give, label %no
give:
  %leaf = call ptr @leaf(i64 %number)
  ret ptr %leaf
no:
  ret ptr null
}

; the kind of the memory of an array, of which one view has been made that is not on the tape, and
; that is; OTHER where somebody else may reach it
define internal i64 @kind_below(ptr %parent, ptr %view) {
  %base = get ptr %view[BASE]
  %at = call ptr @host_at(ptr %parent)
  %own = load ptr, ptr %at
  %is_taken = icmp eq ptr %own, null
  br i1 %is_taken, label %taken, label %look
look:
  %is_ours = icmp eq ptr %base, %own
  br i1 %is_ours, label %alone, label %no
alone:
  %kind = call i64 @kind_with(ptr %own, i32 2)
  ret i64 %kind
taken:
  %leaf = call ptr @leaf_of(ptr %parent)
  %is_none = icmp eq ptr %leaf, null
  br i1 %is_none, label %no, label %compare
compare:
  %host = get ptr %leaf[LEAF_HOST]
  %root = get ptr %host[BASE]
  %is_view_of = icmp eq ptr %base, %host
  %is_beside = icmp eq ptr %base, %root
  %is_there = icmp ne ptr %base, null
  %is_either = or i1 %is_view_of, %is_beside
  %is_on_tape = and i1 %is_either, %is_there
  %leaf_kind = get i64 %leaf[LEAF_KIND]
  %found = select i1 %is_on_tape, i64 %leaf_kind, i64 OTHER
  ret i64 %found
no:
  ret i64 OTHER
}

; whether what is put off is this thread's, or nothing is; it is then. Where there is no room it is
; settled: else what fills it with views that nobody reads would be the end of putting off. May
; leave an exception
define internal i1 @is_own_tape() {
  %rows = get i64 @state[ROW_COUNT]
  %leaves = get i64 @state[LEAF_COUNT]
  %here = call i64 @PyThread_get_thread_ident()
  %all = or i64 %rows, %leaves
  %is_empty = icmp eq i64 %all, 0
  br i1 %is_empty, label %begin, label %look
begin:
  put i64 %here, @state[OWN_THREAD]
  ret i1 true
look:
  %owner = get i64 @state[OWN_THREAD]
  %is_own = icmp eq i64 %owner, %here
  br i1 %is_own, label %room, label %no
room:
  %has_room = icmp slt i64 %leaves, MOST_LEAVES_BEFORE
  br i1 %has_room, label %yes, label %settle
settle:
  call void @settle_here()
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; the place where a view of so many elements is made, where operations are put off at it; 0 for
; others. May leave an exception
define internal i64 @hot_place(i64 %elements) {
  %spot = alloca [SPOT_WORDS x i64]
  %is_looked_at = call i1 @spot_to_look_at(ptr %spot)
  br i1 %is_looked_at, label %heat, label %no
heat:
  %place = call i64 @place_of(ptr %spot)
  %code = get ptr %spot[SPOT_CODE]
  call void @Py_DecRef(ptr %code)
  %is_hot = call i1 @heated(i64 %place, i64 %elements)
  %found = select i1 %is_hot, i64 %place, i64 0
  ret i64 %found
no:
  ret i64 0
}

; whether what reads NumPy's view may have as many elements as what is put off: with new axes, any
define internal i1 @may_be_worth(ptr %host, i64 %elements) {
  %least = get i64 @state[SMALLEST]
  %is_large = icmp sge i64 %elements, %least
  br i1 %is_large, label %yes, label %look
look:
  %base = get ptr %host[BASE]
  %is_none = icmp eq ptr %base, null
  br i1 %is_none, label %no, label %array
array:
  %is_array = call i1 @is(ptr %base, i64 T_NDARRAY)
  br i1 %is_array, label %compare, label %no
compare:
  %nd = get i32 %host[ND]
  %base_nd = get i32 %base[ND]
  %has_more = icmp sgt i32 %nd, %base_nd
  ret i1 %has_more
yes:
  ret i1 true
no:
  ret i1 false
}

; whether a view that has just been made of an array is on the tape now: where it is large, and
; that array is there, or its place is hot. May leave an exception
define internal i1 @put_off_view(ptr %parent, ptr %view) {
  %is_ours = call i1 @is(ptr %view, i64 T_CLASS)
  br i1 %is_ours, label %size, label %no
size:
  %at = call ptr @host_at(ptr %view)
  %host = load ptr, ptr %at
  %elements = call i64 @elements(ptr %host)
  %is_large = call i1 @may_be_worth(ptr %host, i64 %elements)
  br i1 %is_large, label %when, label %no
when:
  call void @tidy()
  %leaf_below = call ptr @leaf_of(ptr %parent)
  %is_below = icmp ne ptr %leaf_below, null
  br i1 %is_below, label %look, label %fit
fit:
  %kind_before = call i64 @kind_of_view(ptr %host)
  %kind_below_before = call i64 @kind_below(ptr %parent, ptr %host)
  %is_fit = icmp ne i64 %kind_before, OTHER
  %is_fit_below = icmp ne i64 %kind_below_before, OTHER
  %may_be = and i1 %is_fit, %is_fit_below
  br i1 %may_be, label %ask, label %no
ask:
  %is_passed_over = call i1 @is_passed_over(i64 VIEWS_GAP)
  br i1 %is_passed_over, label %no, label %place
place:
  %gap = get i64 @state[VIEWS_GAP]
  %weight = add i64 %gap, 1
  %weighed = mul i64 %elements, %weight
  %hot = call i64 @hot_place(i64 %weighed)
  %is_hot = icmp ne i64 %hot, 0
  br i1 %is_hot, label %look, label %no
look:
  %own_place = phi i64 [ 0, %when ], [ %hot, %place ]
  %kind = call i64 @kind_of_view(ptr %host)
  %kind_below = call i64 @kind_below(ptr %parent, ptr %host)
  %is_known = icmp ne i64 %kind, OTHER
  %is_known_below = icmp ne i64 %kind_below, OTHER
  %busy = get i64 @state[IS_BUSY]
  %is_idle = icmp eq i64 %busy, 0
  %are_known = and i1 %is_known, %is_known_below
  %is_possible = and i1 %are_known, %is_idle
  br i1 %is_possible, label %own, label %no
own:
  %is_own = call i1 @is_own_tape()
  br i1 %is_own, label %note, label %no
note:
  %parent_number = call i64 @operand_number(ptr %parent, i64 %kind_below)
  %number = call i64 @operand_number(ptr %view, i64 %kind)
  %leaf = call ptr @leaf(i64 %number)
  put i64 %own_place, %leaf[LEAF_PLACE]
  ret i1 true
no:
  ret i1 false
}

; NumPy's array of an array for whose item somebody asks. Where it is a result on the tape, that is
; settled; null for others without one, and for an exception
define internal ptr @settled_host(ptr %array) {
  %host = call ptr @part(ptr %array, i64 T_HOST)
  %is_there = icmp ne ptr %host, null
  br i1 %is_there, label %give, label %look
give:
  ret ptr %host
look:
  call void @tidy()
  %is_taken = call i1 @is_on_tape(ptr %array)
  br i1 %is_taken, label %ask, label %again
ask:
  %number = call i64 @number_of(ptr %array)
  %is_row = icmp sge i64 %number, FIRST_ROW
  br i1 %is_row, label %settle, label %no
settle:
  call void @settle_here()
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  br i1 %is_fine, label %again, label %no
again:
  %computed = call ptr @part(ptr %array, i64 T_HOST)
  ret ptr %computed
no:
  ret ptr null
}

; the item of an array, of which NumPy's is given
define internal ptr @item_of_host(ptr %array, ptr %host, ptr %key) {
  call void @Py_IncRef(ptr %host)
  %value = call ptr @PyObject_GetItem(ptr %host, ptr %key)
  call void @Py_DecRef(ptr %host)
  %known = call ptr @part(ptr %array, i64 T_OWNER)
  %is_own = icmp eq ptr %known, null
  %owner = select i1 %is_own, ptr %array, ptr %known
  %made = call ptr @wrapped(ptr %value, ptr %owner)
  ret ptr %made
}

; the item of an array that others on the tape read, for a basic key: nothing has to be computed
; for that. Null where it is no leaf, and for an exception
define internal ptr @item_of_leaf(ptr %array, ptr %key) {
  %leaf = call ptr @leaf_of(ptr %array)
  %is_none = icmp eq ptr %leaf, null
  br i1 %is_none, label %no, label %look
look:
  %is_basic = call i1 @is_basic_key(ptr %key)
  br i1 %is_basic, label %take, label %no
take:
  %host = get ptr %leaf[LEAF_HOST]
  %made = call ptr @item_of_host(ptr %array, ptr %host, ptr %key)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %no, label %view
view:
  %is_view = call i1 @is(ptr %made, i64 T_CLASS)
  br i1 %is_view, label %put_off, label %give
put_off:
  %is_put_off = call i1 @put_off_view(ptr %array, ptr %made)
  br i1 %is_put_off, label %give, label %settle
settle:
  call void @settle_unless_raised()
  %error = call ptr @PyErr_Occurred()
  %is_settled = icmp eq ptr %error, null
  br i1 %is_settled, label %give, label %drop
drop:
  call void @Py_DecRef(ptr %made)
  br label %no
give:
  ret ptr %made
no:
  ret ptr null
}

define internal void @settle_unless_raised() {
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  br i1 %is_fine, label %settle, label %done
settle:
  call void @settle_here()
  br label %done
done:
  ret void
}

; notes that a leaf is read on the tape: a view that was put off at a hot place was so for good
define internal void @note_read(ptr %leaf) alwaysinline {
  %place = get i64 %leaf[LEAF_PLACE]
  %is_plain = icmp eq i64 %place, 0
  br i1 %is_plain, label %done, label %look
look:
  put i64 0, %leaf[LEAF_PLACE]
  put i64 0, @state[VIEWS_GAP]
  br label %done
done:
  ret void
}

; whether one more is passed over; a gap is two words of the state: how many are after one in vain,
; and how many of them are left
define internal i1 @is_passed_over(i64 %gap_at) {
  %left_at = add i64 %gap_at, 1
  %left = get i64 @state[%left_at]
  %is_left = icmp ne i64 %left, 0
  br i1 %is_left, label %pass, label %no
pass:
  %less = sub i64 %left, 1
  put i64 %less, @state[%left_at]
  ret i1 true
no:
  ret i1 false
}

; after one in vain: twice as many as the last time are passed over
define internal void @widen_gap(i64 %gap_at) {
  %left_at = add i64 %gap_at, 1
  %gap = get i64 @state[%gap_at]
  %twice = shl i64 %gap, 1
  %more = or i64 %twice, 1
  %next = and i64 %more, MOST_GAP
  put i64 %next, @state[%gap_at]
  put i64 %next, @state[%left_at]
  ret void
}

; takes from the heat of a place what is put off there and not read
define internal void @cool(i64 %place) {
  call void @widen_gap(i64 VIEWS_GAP)
  %heat = get i64 @state[%place]
  %less = sub i64 %heat, IN_VAIN
  put i64 %less, @state[%place]
  ret void
}
"""
