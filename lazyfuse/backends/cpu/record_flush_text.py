"""Computing pending nodes by a known plan in machine code, as LLVM text (see `record_text.py`).

lf_flushed(nodes, device, options)   compute a list of pending nodes, each there once

It gives True when that is done. When conditions were met, it gives what `lf_traced` gives, and
after that what was known of the plan, the CPU's flags, the operands of each node, which those with
results have no more, and whether these have the memory of leaves. Else it gives what `lf_traced`
gives, or None where another run was completed meanwhile, by a finalizer or a signal handler; and
has changed nothing.

What it knows of plans, `runtime/ready.py` has written: by the structure of a trace a tuple whose
first item is an array of the words READY. Where `perform` is null, `entry` is a Python function
that runs the plan on another device. `taking` runs it in the memory of dead leaves, which the
results take, where that can be (`record_taking_text.py`).
"""

#: Places of the words.
READY = {
    name: place
    for place, name in enumerate((
        "perform", "entry", "options", "device", "leaf_count", "leaves", "constant_count",
        "constants", "output_count", "sizes", "memory_count", "taking", "taking_count", "taken",
        "watched_count", "watched", "readers",
    ))
}  # fmt: skip
#: Of a leaf: its place in the trace, and whether its memory is better reused when it is dead.
LEAF_WORDS = 2

FLUSH = """
declare ptr @PySequence_List(ptr)

define internal i64 @word(ptr %words, i64 %place) alwaysinline {{
  %at = getelementptr i64, ptr %words, i64 %place
  %word = load i64, ptr %at
  ret i64 %word
}}

define internal ptr @address(ptr %words, i64 %place) alwaysinline {{
  %word = call i64 @word(ptr %words, i64 %place)
  %address = inttoptr i64 %word to ptr
  ret ptr %address
}}

; takes the memory of leaves, with references; how many were taken, all of them if this may run
define internal i64 @take_leaves(ptr %words, ptr %nodes, ptr %memory) {{
  %count = call i64 @word(ptr %words, i64 {ready_leaf_count})
  %begin = call ptr @address(ptr %words, i64 {ready_leaves})
  %function = call ptr @address(ptr %words, i64 {ready_perform})
  %is_elsewhere = icmp eq ptr %function, null
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %take ]
  %row = phi ptr [ %begin, %0 ], [ %row_after, %take ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %look
look:
  %place = call i64 @word(ptr %row, i64 0)
  %node = call ptr @PyList_GetItem(ptr %nodes, i64 %place)
  %buffer = call ptr @get(ptr %node, i64 {node_buffer})
  %is_own = call i1 @is(ptr %buffer, i64 {MEMORY})
  %none = call ptr @none()
  %is_there = icmp ne ptr %buffer, %none
  %is_any = and i1 %is_elsewhere, %is_there
  %is_known = or i1 %is_own, %is_any
  br i1 %is_known, label %ask, label %done
ask:
  %is_reused = call i64 @word(ptr %row, i64 1)
  %is_free = icmp eq i64 %is_reused, 0
  br i1 %is_free, label %take, label %hold
hold:
  %held = call i1 @is_held(ptr %node)
  br i1 %held, label %take, label %done
take:
  call void @Py_IncRef(ptr %buffer)
  %at = getelementptr ptr, ptr %memory, i64 %i
  store ptr %buffer, ptr %at
  %after = add i64 %i, 1
  %row_after = getelementptr i64, ptr %row, i64 {leaf_words}
  br label %next
done:
  ret i64 %i
}}

; takes the values of scalars
define internal void @take_numbers(ptr %words, ptr %nodes, ptr %numbers) {{
  %count = call i64 @word(ptr %words, i64 {ready_constant_count})
  %places = call ptr @address(ptr %words, i64 {ready_constants})
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %take ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %take
take:
  %place = call i64 @word(ptr %places, i64 %i)
  %node = call ptr @PyList_GetItem(ptr %nodes, i64 %place)
  %value = call ptr @get(ptr %node, i64 {const_value})
  %at = getelementptr ptr, ptr %numbers, i64 %i
  store ptr %value, ptr %at
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}}

define internal void @see(ptr %nodes) {{
  %count = call i64 @PyList_Size(ptr %nodes)
  %true = call ptr @object(i64 {TRUE})
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %set ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %set
set:
  %node = call ptr @PyList_GetItem(ptr %nodes, i64 %i)
  call void @Py_IncRef(ptr %true)
  call void @put(ptr %node, i64 {node_seen}, ptr %true)
  %after = add i64 %i, 1
  br label %next
done:
  ret void
}}

; what is known of a structure, borrowed; null where Python has to run it. `is_whole`: what is
; better stored inside is among the outputs
define internal ptr @plan_of(ptr %traced, ptr %device, ptr %options, i1 %is_whole) {{
  %plain = call ptr @tuple_item(ptr %traced, i64 2)
  %true = call ptr @object(i64 {TRUE})
  %is_plain = icmp eq ptr %plain, %true
  %may = or i1 %is_plain, %is_whole
  br i1 %may, label %find, label %no
find:
  %structure = call ptr @tuple_item(ptr %traced, i64 1)
  %known = call ptr @object(i64 {READY})
  %found = call ptr @PyDict_GetItem(ptr %known, ptr %structure)
  %is_unknown = icmp eq ptr %found, null
  br i1 %is_unknown, label %no, label %check
check:
  %words = call ptr @words(ptr %found)
  %known_options = call ptr @address(ptr %words, i64 {ready_options})
  %known_device = call ptr @address(ptr %words, i64 {ready_device})
  %same_options = icmp eq ptr %options, %known_options
  %same_device = icmp eq ptr %device, %known_device
  %same = and i1 %same_options, %same_device
  br i1 %same, label %yes, label %no
yes:
  ret ptr %found
no:
  ret ptr null
}}

; the memory of the array that is the first item of a tuple
define internal ptr @words(ptr %found) {{
  %array = call ptr @tuple_item(ptr %found, i64 0)
  %words = call ptr @get(ptr %array, i64 16)
  ret ptr %words
}}

define ptr @lf_flushed(ptr %self, ptr %args, i64 %given) {{
  %wanted = load ptr, ptr %args
  %device = call ptr @address(ptr %args, i64 1)
  %options = call ptr @address(ptr %args, i64 2)
  %started = call i64 @runs()
  %outputs = call ptr @PySequence_List(ptr %wanted)
  %unlisted = icmp eq ptr %outputs, null
  br i1 %unlisted, label %python, label %walk
walk:
  call void @stop()
  %found_now = call ptr @walked(ptr %outputs)
  call void @resume()
  call void @Py_DecRef(ptr %outputs)
  %raised = icmp eq ptr %found_now, null
  br i1 %raised, label %python, label %look
look:
  %none = call ptr @none()
  %untraced = icmp eq ptr %found_now, %none
  %now = call i64 @runs()
  %is_same = icmp eq i64 %now, %started
  %is_over = xor i1 %is_same, true
  %unusable = or i1 %untraced, %is_over
  br i1 %unusable, label %unknown, label %find
unknown:
  call void @Py_DecRef(ptr %found_now)
  call void @Py_IncRef(ptr %none)
  br label %python
python:
  %traced = phi ptr [ null, %0 ], [ null, %walk ], [ %none, %unknown ], [ %found_now, %find ]
  ret ptr %traced
find:
  %is_whole = icmp sgt i64 %given, 3
  %found = call ptr @plan_of(ptr %found_now, ptr %device, ptr %options, i1 %is_whole)
  %is_unknown = icmp eq ptr %found, null
  br i1 %is_unknown, label %python, label %run
run:
  call void @Py_IncRef(ptr %found)
  %result = call ptr @run(ptr %found, ptr %found_now, i64 %started)
  call void @Py_DecRef(ptr %found)
  ret ptr %result
}}

; the operands of each node, as a list of tuples; null with an exception
define internal ptr @sources(ptr %nodes) {{
  %count = call i64 @PyList_Size(ptr %nodes)
  %sources = call ptr @PyList_New(i64 0)
  %failed = icmp eq ptr %sources, null
  br i1 %failed, label %done, label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %add ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %done, label %add
add:
  %node = call ptr @PyList_GetItem(ptr %nodes, i64 %i)
  %srcs = call ptr @get(ptr %node, i64 {node_srcs})
  %status = call i32 @PyList_Append(ptr %sources, ptr %srcs)
  %after = add i64 %i, 1
  %is_added = icmp eq i32 %status, 0
  br i1 %is_added, label %next, label %drop
drop:
  call void @Py_DecRef(ptr %sources)
  br label %done
done:
  %found = phi ptr [ null, %0 ], [ %sources, %next ], [ null, %drop ]
  ret ptr %found
}}

; runs a plan on the nodes of a trace, whose reference it takes, while so many runs have been
; completed: the result of `lf_flushed`
define internal ptr @run(ptr %found, ptr %traced, i64 %started) {{
  %raised = alloca [3 x ptr]
  store [3 x ptr] zeroinitializer, ptr %raised
  %words = call ptr @words(ptr %found)
  %nodes = call ptr @tuple_item(ptr %traced, i64 0)
  %leaf_count = call i64 @word(ptr %words, i64 {ready_leaf_count})
  %constant_count = call i64 @word(ptr %words, i64 {ready_constant_count})
  %given_count = add i64 %leaf_count, %constant_count
  %memory = alloca ptr, i64 %given_count
  call void @stop()
  %taken = call i64 @take_leaves(ptr %words, ptr %nodes, ptr %memory)
  %all_taken = icmp eq i64 %taken, %leaf_count
  br i1 %all_taken, label %perform, label %python
perform:
  %numbers = getelementptr ptr, ptr %memory, i64 %leaf_count
  call void @take_numbers(ptr %words, ptr %nodes, ptr %numbers)
  call void @resume()
  %output_count = call i64 @word(ptr %words, i64 {ready_output_count})
  %memory_count = call i64 @word(ptr %words, i64 {ready_memory_count})
  %outputs = alloca ptr, i64 %memory_count
  %met_there = call i64 @taking(ptr %words, ptr %nodes, ptr %memory, ptr %numbers, ptr %outputs,
                                i64 %started)
  %takes = icmp ne i64 %met_there, -2
  br i1 %takes, label %performed, label %anew
anew:
  %met_anew = call i64 @performed(ptr %words, ptr %memory, ptr %numbers, ptr %outputs)
  br label %performed
performed:
  %met = phi i64 [ %met_there, %perform ], [ %met_anew, %anew ]
  %failed = icmp slt i64 %met, 0
  br i1 %failed, label %leave, label %check
check:
  br i1 %takes, label %keep, label %listen
keep:  ; the operands are gone, and nothing has run that could have read them
  call void @stop()
  br label %choose
listen:
  call void @hear_signals(ptr %raised)
  call void @stop()
  %now = call i64 @runs()
  %is_current = icmp eq i64 %now, %started
  br i1 %is_current, label %choose, label %stale
choose:
  call void @add_run()
  %is_quiet = icmp eq i64 %met, 0
  br i1 %is_quiet, label %say, label %note
say:
  call void @see(ptr %nodes)
  br label %finish
note:
  %noted = call ptr @sources(ptr %nodes)
  %unnoted = icmp eq ptr %noted, null
  br i1 %unnoted, label %keep_error, label %finish
keep_error:
  call void @keep_raised(ptr %raised)
  br label %finish
stale:
  call void @resume()
  call void @release(ptr %outputs, i64 %memory_count)
  call void @release(ptr %memory, i64 %taken)
  call void @Py_DecRef(ptr %traced)
  %is_interrupted = call i1 @raise_kept(ptr %raised)
  %none = call ptr @none()
  %again = select i1 %is_interrupted, ptr null, ptr %none
  call void @Py_IncRef(ptr %again)
  ret ptr %again
leave:
  call void @release(ptr %outputs, i64 %memory_count)
  %is_left = icmp eq i64 %met, -2
  br i1 %is_left, label %python, label %fail
python:
  call void @resume()
  call void @release(ptr %memory, i64 %taken)
  ret ptr %traced
fail:
  call void @release(ptr %memory, i64 %taken)
  call void @Py_DecRef(ptr %traced)
  ret ptr null

finish:
  %sources = phi ptr [ null, %say ], [ %noted, %note ], [ null, %keep_error ]
  %sizes = call ptr @address(ptr %words, i64 {ready_sizes})
  br label %next
next:
  %i = phi i64 [ 0, %finish ], [ %after, %more ]
  %is_over = icmp sge i64 %i, %output_count
  br i1 %is_over, label %done, label %one
one:
  %node = call ptr @PyList_GetItem(ptr %nodes, i64 %i)
  %result = call ptr @address(ptr %outputs, i64 %i)
  %size = call ptr @address(ptr %sizes, i64 %i)
  %own = call ptr @get(ptr %node, i64 {node_buffer})
  %no_own = call ptr @none()
  %is_pending = icmp eq ptr %own, %no_own
  br i1 %is_pending, label %attach, label %late
late:
  call void @let_go(ptr %result)
  br label %more
attach:
  call void @attach(ptr %node, ptr %result, ptr %size, ptr %raised)
  br label %more
more:
  %after = add i64 %i, 1
  br label %next
done:
  br i1 %takes, label %hear, label %answer
hear:
  call void @hear_signals(ptr %raised)
  br label %answer
answer:
  %answered = call ptr @answer(ptr %traced, ptr %found, i64 %met, ptr %sources, i1 %takes)
  call void @resume()
  %rest = getelementptr ptr, ptr %outputs, i64 %output_count
  %rest_count = sub i64 %memory_count, %output_count
  call void @release(ptr %rest, i64 %rest_count)
  call void @release(ptr %memory, i64 %taken)
  call void @Py_DecRef(ptr %traced)
  %kept = load ptr, ptr %raised
  %is_calm = icmp eq ptr %kept, null
  br i1 %is_calm, label %give, label %raise
give:
  ret ptr %answered
raise:
  call void @Py_DecRef(ptr %answered)
  %has_raised = call i1 @raise_kept(ptr %raised)
  ret ptr null
}}

; what `lf_flushed` gives after a run that has met conditions, the CPU's flags; takes `sources`
define internal ptr @answer(ptr %traced, ptr %found, i64 %met, ptr %sources, i1 %takes) {{
  %true = call ptr @object(i64 {TRUE})
  %is_quiet = icmp eq ptr %sources, null
  br i1 %is_quiet, label %quiet, label %tell
quiet:
  call void @Py_IncRef(ptr %true)
  ret ptr %true
tell:
  %nodes = call ptr @tuple_item(ptr %traced, i64 0)
  %structure = call ptr @tuple_item(ptr %traced, i64 1)
  %plain = call ptr @tuple_item(ptr %traced, i64 2)
  %flags = call ptr @PyLong_FromLong(i64 %met)
  %false = call ptr @object(i64 {FALSE})
  %taken = select i1 %takes, ptr %true, ptr %false
  %answer = call ptr (i64, ...)
    @PyTuple_Pack(i64 7, ptr %nodes, ptr %structure, ptr %plain, ptr %found, ptr %flags,
                  ptr %sources, ptr %taken)
  call void @Py_DecRef(ptr %flags)
  call void @Py_DecRef(ptr %sources)
  ret ptr %answer
}}
"""
