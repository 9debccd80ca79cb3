"""What the user's function has not often done yet is computed at once, as LLVM text (see
`methods.py`, and `frontend/novel.py`, which is the same in Python)."""

from __future__ import annotations

NOVEL = """
; the largest size of operands of an operation on these objects, some of the engine: that of small
; arrays, or more where they are larger, at hand, and new to the user's function. -1 for an
; exception
define internal i64 @reach(ptr %objects, i64 %count) {
  %eager = call i64 @eager_size()
  %are_any = icmp sgt i64 %eager, 0
  br i1 %are_any, label %next, label %usual
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ], [ %after, %sum ]
  %largest = phi i64 [ 0, %0 ], [ %largest, %look ], [ %larger, %sum ]
  %widest = phi i64 [ 0, %0 ], [ %widest, %look ], [ %wider, %sum ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %compare, label %look
look:
  %object = get ptr %objects[%i]
  %after = add i64 %i, 1
  %is_engines = call i1 @is_array_of_engine(ptr %object)
  br i1 %is_engines, label %memory, label %next
memory:
  %node = call ptr @memory(ptr %object)
  %buffer = call ptr @get(ptr %node, i64 NODE_BUFFER)
  %is_memory = call i1 @is(ptr %buffer, i64 T_MEMORY)
  br i1 %is_memory, label %measure, label %usual
measure:
  %code = call ptr @get(ptr %node, i64 NODE_DTYPE)
  %is_half = call i1 @is_half(ptr %code)
  br i1 %is_half, label %usual, label %sum
sum:
  %layout = call ptr @get(ptr %object, i64 HANDLE_LAYOUT)
  %shape = call ptr @tuple_item(ptr %layout, i64 0)
  %own = call i64 @count_in(ptr %shape)
  %larger = call i64 @llvm.smax.i64(i64 %own, i64 %largest)
  %bytes = call i64 @item_bytes(ptr %code)
  %wider = call i64 @llvm.smax.i64(i64 %bytes, i64 %widest)
  br label %next
compare:
  %is_small = icmp sle i64 %largest, %eager
  br i1 %is_small, label %usual, label %ask
ask:
  %all_bytes = mul i64 %largest, %widest
  %work = lshr i64 %all_bytes, 3
  %is_new = call i1 @is_novel(i64 %largest, i64 %work)
  br i1 %is_new, label %more, label %quiet
more:
  %cold = get i64 @state[COLD_SIZE]
  ret i64 %cold
quiet:
  %error = call ptr @PyErr_Occurred()
  %is_quiet = icmp eq ptr %error, null
  br i1 %is_quiet, label %usual, label %raised
raised:
  ret i64 -1
usual:
  ret i64 %eager
}

; the same of one
define internal i64 @reach_of(ptr %object) {
  %objects = alloca [1 x ptr]
  store ptr %object, ptr %objects
  %reach = call i64 @reach(ptr %objects, i64 1)
  ret i64 %reach
}

; whether the code of a dtype is that of half precision, for which NumPy has no fast code
define internal i1 @is_half(ptr %code) {
  %kind = call i32 @PyUnicode_ReadChar(ptr %code, i64 0)
  %bytes = call i32 @PyUnicode_ReadChar(ptr %code, i64 1)
  %is_float = icmp eq i32 %kind, LETTER_F
  %is_two = icmp eq i32 %bytes, 50
  %is_half = and i1 %is_float, %is_two
  ret i1 %is_half
}

; whether an object, or null, is an array of the engine
define internal i1 @is_array_of_engine(ptr %object) {
  %is_nothing = icmp eq ptr %object, null
  br i1 %is_nothing, label %no, label %look
look:
  %is_engines = call i1 @is_engines(ptr %object)
  ret i1 %is_engines
no:
  ret i1 false
}

; whether so many elements may be computed at once, and the user's function has not done much yet
; with arrays of that size: it does now, then. What is recorded by `fuse` is not. `eager_size` has
; been asked before. `work`: as many bytes as so many elements of 8 have
define internal i1 @is_novel(i64 %size, i64 %work) {
  %cold = get i64 @state[COLD_SIZE]
  %fits = icmp sle i64 %size, %cold
  %is_plain = call i1 @is_nothing_recorded()
  %may = and i1 %fits, %is_plain
  br i1 %may, label %weigh, label %no
weigh:
  %eager = call i64 @eager_size()
  %weight = mul i64 %work, LIGHT
  %is_light = icmp sle i64 %weight, %eager
  br i1 %is_light, label %yes, label %place
place:
  %origin = call ptr @origin_looked_for()
  %nowhere = icmp eq ptr %origin, null
  br i1 %nowhere, label %no, label %find
find:
  %code = call ptr @tuple_item(ptr %origin, i64 0)
  %address = ptrtoint ptr %code to i64
  call void @Py_DecRef(ptr %origin)
  %key = call i64 @novel_key(i64 %address, i64 %size)
  %left = call i64 @left_of(i64 %key)
  %is_early = icmp slt i64 %left, 0
  br i1 %is_early, label %count, label %no
count:
  call void @count_work(i64 %key, i64 %left, i64 %work)
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; the origin of what the user does; looks around where that is not known. Null for none, and for an
; exception
define internal ptr @origin_looked_for() {
  %known = call ptr @origin()
  %is_known = icmp ne ptr %known, null
  br i1 %is_known, label %give, label %ask
give:
  ret ptr %known
ask:
  %finder = get ptr @state[LOST]
  %can_ask = icmp ne ptr %finder, null
  br i1 %can_ask, label %find, label %no
find:
  call void @ask(ptr %finder)
  %error = call ptr @PyErr_Occurred()
  %is_fine = icmp eq ptr %error, null
  br i1 %is_fine, label %again, label %no
again:
  %found = call ptr @origin()
  ret ptr %found
no:
  ret ptr null
}

; what a function, by the address of its code, has to compute of a size is kept under
define internal i64 @novel_key(i64 %address, i64 %size) {
  %spread = mul i64 %address, GOLDEN
  %with_size = add i64 %spread, %size
  %key = mul i64 %with_size, GOLDEN
  ret i64 %key
}

; the word of the state where that is: the key, the elements after it, and of which series they are
; counted. One of two: not that of
; one with nothing left to compute at once, where the other is not such
define internal i64 @novel_word(i64 %key) {
  %entry = lshr i64 %key, NOVEL_SHIFT
  %entry_beside = xor i64 %entry, 1
  %words = mul i64 %entry, NOVEL_WORDS
  %words_beside = mul i64 %entry_beside, NOVEL_WORDS
  %own = add i64 %words, NOVEL
  %other = add i64 %words_beside, NOVEL
  %own_key = get i64 @state[%own]
  %is_own = icmp eq i64 %own_key, %key
  br i1 %is_own, label %here, label %look
look:
  %other_key = get i64 @state[%other]
  %is_other = icmp eq i64 %other_key, %key
  br i1 %is_other, label %beside, label %choose
choose:
  %left_at = add i64 %own, 1
  %left = get i64 @state[%left_at]
  %is_over = icmp sge i64 %left, 0
  %is_any = icmp ne i64 %own_key, 0
  %is_taken = and i1 %is_over, %is_any
  br i1 %is_taken, label %beside, label %here
here:
  ret i64 %own
beside:
  ret i64 %other
}

; how many elements are left to be computed at once, negative; else 0 or more
define internal i64 @left_of(i64 %key) {
  %word = call i64 @novel_word(i64 %key)
  %known = get i64 @state[%word]
  %is_known = icmp eq i64 %known, %key
  %left_at = add i64 %word, 1
  %noted = get i64 @state[%left_at]
  %left = select i1 %is_known, i64 %noted, i64 -ENOUGH
  ret i64 %left
}

; count an operation on so many elements, before which so many are left; what was done in the last
; series of operations counts more where that was short
define internal void @count_work(i64 %key, i64 %left, i64 %work) {
  %word = call i64 @novel_word(i64 %key)
  %left_at = add i64 %word, 1
  %series_at = add i64 %word, 2
  %begun_at = add i64 %word, 3
  %series = get i64 @state[SERIES]
  %known = get i64 @state[%word]
  %is_known = icmp eq i64 %known, %key
  br i1 %is_known, label %look, label %begin
look:
  %own_series = get i64 @state[%series_at]
  %is_same = icmp eq i64 %own_series, %series
  br i1 %is_same, label %count, label %gain
gain:
  %following = add i64 %own_series, 1
  %is_next = icmp eq i64 %following, %series
  %last = get i64 @state[LAST_LENGTH]
  %is_short = icmp sle i64 %last, ASKED_SOON
  %is_soon = and i1 %is_next, %is_short
  %begun = get i64 @state[%begun_at]
  %done = sub i64 %left, %begun
  %done_then = call i64 @llvm.smax.i64(i64 %done, i64 0)
  %times = mul i64 %done_then, ASKED_MORE
  %gained = select i1 %is_soon, i64 %times, i64 0
  br label %begin
begin:
  %more = phi i64 [ 0, %0 ], [ %gained, %gain ]
  %left_then = add i64 %left, %more
  put i64 %key, @state[%word]
  put i64 %series, @state[%series_at]
  put i64 %left_then, @state[%begun_at]
  br label %count
count:
  %left_now = phi i64 [ %left, %look ], [ %left_then, %begin ]
  %still_left = add i64 %left_now, %work
  put i64 %still_left, @state[%left_at]
  %length = get i64 @state[SERIES_LENGTH]
  %longer = add i64 %length, 1
  put i64 %longer, @state[SERIES_LENGTH]
  ret void
}

; how many elements larger parts may have of a function that has a rule, `middling` or more; 0
; where they have to be small; `middling` for an exception. `first` comes before the arguments by
; position where it is not null
define internal i64 @most_reached(i64 %rule, i64 %middling, ptr %first, ptr %args, i64 %count) {
  %has_none = icmp eq i64 %rule, RULE_NONE
  br i1 %has_none, label %usual, label %look
look:
  %eager = call i64 @eager_size()
  %own = call i64 @reach_of(ptr %first)
  %is_reached = icmp sgt i64 %own, %eager
  br i1 %is_reached, label %more, label %quiet
quiet:
  %has_raised = icmp slt i64 %own, 0
  br i1 %has_raised, label %usual, label %others
others:
  %few = call i64 @llvm.smin.i64(i64 %count, i64 3)
  %theirs = call i64 @reach(ptr %args, i64 %few)
  %are_reached = icmp sgt i64 %theirs, %eager
  br i1 %are_reached, label %more, label %usual
more:
  %reach = phi i64 [ %own, %look ], [ %theirs, %others ]
  %most = call i64 @llvm.smax.i64(i64 %reach, i64 %middling)
  ret i64 %most
usual:
  ret i64 %middling
}

; whether so many elements are made of no arrays at once, or written: `bound`, or what is new to
; the user's function. `eager`: elements of small arrays
define internal i1 @is_size_made(i64 %size, i64 %bound, i64 %eager) {
  %fits = icmp sle i64 %size, %bound
  %are_any = icmp sgt i64 %eager, 0
  %is_large = xor i1 %fits, true
  %is_asked = and i1 %is_large, %are_any
  br i1 %is_asked, label %ask, label %give
ask:
  %is_new = call i1 @is_novel(i64 %size, i64 %size)
  ret i1 %is_new
give:
  ret i1 %fits
}

; whether two arrays of NumPy's are broadcast to as many elements as one of them has, to `most`, or
; to so many as are new to the user's function
define internal i1 @fit_reach(ptr %a, ptr %b, i64 %most) {
  %given = alloca [2 x ptr]
  %fits = call i1 @fits_one(ptr %a, ptr %b)
  br i1 %fits, label %yes, label %spread
spread:
  put ptr %a, %given[0]
  put ptr %b, %given[1]
  %size = call i64 @spread_size(ptr %given, i64 2)
  %is_within = icmp sle i64 %size, %most
  br i1 %is_within, label %yes, label %ask
ask:
  %is_new = call i1 @is_novel(i64 %size, i64 %size)
  ret i1 %is_new
yes:
  ret i1 true
}

; a new result of NumPy's, which nobody else has, as the user's: an array of the engine where it is
; not small. Takes the reference
define internal ptr @as_users(ptr %value) {
  %raised = icmp eq ptr %value, null
  br i1 %raised, label %same, label %look
same:
  ret ptr %value
look:
  %size = call i64 @size_of_array(ptr %value)
  %eager = call i64 @eager_size()
  %is_large = icmp sgt i64 %size, %eager
  br i1 %is_large, label %adopt, label %wrap
adopt:
  %adopted = call ptr @adopted_or_lifted(ptr %value, ptr null, i64 0)
  ret ptr %adopted
wrap:
  %none = call ptr @none()
  %wrapped = call ptr @wrapped(ptr %value, ptr %none)
  ret ptr %wrapped
}
"""
