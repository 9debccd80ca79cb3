"""Putting off operations on small arrays in machine code, as LLVM text (`frontend/deferred.py`).

    defer(code, a, b)      a new array without contents whose operation is put off; null where it
                           is to be computed at once (`b` is null for an operation on one array)
    lf_defer(code, a, b)   the same for Python: None where it is to be computed at once
    lf_missing(self, name) what an array does not have: NumPy's array, where that is put off
    lf_deferred()          what is put off, None for nothing: a number for it; the operations, of
                           each its code and operands (leaves from 0 on, rows from FIRST_ROW
                           on), 8 bytes each; which results are alive, a byte each; the
                           leaves, NumPy's arrays and numbers; where each operation was recorded
    lf_settle(number, results, heat)   give the results that were alive their arrays, unless that
                           has been done meanwhile; what is put off is nothing then. `heat` is that
                           of the place where it began, None to leave it. False for other results
    lf_release(number)     what is put off is not being computed any more

What is put off is a tape of rows, each one operation, and of leaves. A leaf that is an array has
its own taken away until the tape is settled, and a result has none before: whoever looks for it
settles the tape first. So nothing else reads or writes what is on the tape, and its order does not
matter. Nothing that runs Python happens between a look at the tape and a change of it.

`lf_deferral` gives the state, whose first words Python writes, and `lf_heat` how much time each
place of the user's code has spent: the tape begins where that is enough.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu.defer_calls_text import CALLS
from lazyfuse.backends.cpu.defer_operands_text import OPERANDS
from lazyfuse.backends.cpu.defer_replay_text import REPLAY
from lazyfuse.backends.cpu.defer_settle_text import DEFERRED, SETTLE
from lazyfuse.backends.cpu.short_forms import expanded, numbered

#: The most operations and operands on the tape, and places whose heat is counted.
MOST_ROWS, MOST_LEAVES, PLACES = 64, 64, 4096
#: Words of the state. Python writes the options under which operations are put off (ALLOWED; the
#: last ones under which they are not: REFUSED), how many elements that takes (SMALLEST) and how
#: much heat (HOT), NumPy's dtypes, and functions: ASK tells what is allowed, FULL settles, LOST
#: finds out who the user is and what errors do, now and then where that is not known. KNOWN is a
#: dict of calls: by the codes of a tape, and which of its results are alive, a byte each.
STATE = numbered(
    "ALLOWED", "REFUSED", "SMALLEST", "HOT", "DTYPE_DOUBLE", "DTYPE_SINGLE", "DTYPE_BOOL", "ASK",
    "FULL", "LOST", "KNOWN", "HOST_NAME",
    "ROW_COUNT", "LEAF_COUNT", "IS_BUSY", "GENERATION", "MODES", "OWN_THREAD", "PLACE",
    "LOST_COUNT", "STATE_WORDS",
)  # fmt: skip
#: A row: its kind, the array whose shape it has, the result, and where it was recorded.
_ROW = numbered("ROW_KIND", "ROW_SHAPE", "ROW_RESULT", "ROW_ORIGIN", "ROW_LIVE", "ROW_WORDS")
_LEAF = numbered("LEAF_OBJECT", "LEAF_HOST", "LEAF_KIND", "LEAF_WORDS")
#: What an operand is: not to be put off, an array of floats or bools, a number.
_KIND = numbered("OTHER", "FLOATS", "BOOLS", "NUMBER")
#: The last bits of a code: what the operands are and the result; and the next, whether there are
#: two operands.
TO_FLOATS, TO_BOOLS, OF_BOOLS = range(3)
BINARY = 4
CODE_STEP = 8
#: The number of the first row as an operand.
FIRST_ROW = MOST_LEAVES
_ARRAY = {"REFERENCES": 0, "ND": 3, "DIMENSIONS": 4, "BASE": 6, "DESCR": 7, "ARRAY_FLAGS": 8}

FUNCTIONS = ("defer", "deferred", "settle", "release")


def text(places: Mapping[str, int]) -> str:
    """The functions, for LLVM; `places` are entries of the table of `methods.py`."""
    names = {
        **STATE, **_ROW, **_LEAF, **_KIND, **_ARRAY,
        **{f"T_{name}": place for name, place in places.items()},
        "MOST_ROWS": MOST_ROWS, "MOST_LEAVES": MOST_LEAVES, "PLACES": PLACES,
        "LAST_PLACE": PLACES - 1, "FIRST_ROW": FIRST_ROW, "TO_BOOLS": TO_BOOLS,
        "OF_BOOLS": OF_BOOLS, "BINARY": BINARY,
    }  # fmt: skip
    sizes = {
        "CODE_WORDS": 3 * MOST_ROWS,
        "ALL_ROWS": _ROW["ROW_WORDS"] * MOST_ROWS,
        "ALL_LEAVES": _LEAF["LEAF_WORDS"] * MOST_LEAVES,
        "ALL_REFERENCES": 2 * (MOST_ROWS + MOST_LEAVES),
    }
    return expanded(
        "\n".join((_HEAD, OPERANDS, _DEFER, CALLS, DEFERRED, SETTLE, REPLAY)), {**names, **sizes}
    )


_HEAD = """
@state = internal global [STATE_WORDS x i64] zeroinitializer
@codes = internal global [CODE_WORDS x i64] zeroinitializer
@rows = internal global [ALL_ROWS x i64] zeroinitializer
@leaves = internal global [ALL_LEAVES x i64] zeroinitializer
@heat = internal global [PLACES x i64] zeroinitializer
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyLong_FromLongLong(i64)
declare i64 @PyLong_AsLongLong(ptr)

define ptr @lf_deferral() {
  ret ptr @state
}

define ptr @lf_heat() {
  ret ptr @heat
}

define internal ptr @row(i64 %number) alwaysinline {
  %place = mul i64 %number, ROW_WORDS
  %at = getelementptr i64, ptr @rows, i64 %place
  ret ptr %at
}

define internal ptr @leaf(i64 %number) alwaysinline {
  %place = mul i64 %number, LEAF_WORDS
  %at = getelementptr i64, ptr @leaves, i64 %place
  ret ptr %at
}

; where an array keeps NumPy's
define internal ptr @host_at(ptr %array) alwaysinline {
  %offset = call i64 @entry(i64 T_HOST)
  %at = getelementptr i8, ptr %array, i64 %offset
  ret ptr %at
}
"""

_DEFER = """
; whether the options in force are those under which operations are put off
define internal i1 @is_allowed() {
  %found = alloca ptr
  store ptr null, ptr %found
  %variable = call ptr @object(i64 T_OPTIONS)
  %got = call i32 @PyContextVar_Get(ptr %variable, ptr null, ptr %found)
  %options = load ptr, ptr %found
  %is_none = icmp eq ptr %options, null
  br i1 %is_none, label %clear, label %compare
clear:
  call void @PyErr_Clear()
  ret i1 false
compare:
  call void @Py_DecRef(ptr %options)
  %allowed = get ptr @state[ALLOWED]
  %is_allowed = icmp eq ptr %options, %allowed
  br i1 %is_allowed, label %yes, label %other
yes:
  ret i1 true
other:
  %refused = get ptr @state[REFUSED]
  %is_refused = icmp eq ptr %options, %refused
  br i1 %is_refused, label %no, label %ask
ask:
  %question = get ptr @state[ASK]
  call void @told(ptr %question)
  br label %no
no:
  ret i1 false
}

; calls a function for what it does
define internal void @told(ptr %function) {
  %answer = call ptr @PyObject_Vectorcall(ptr %function, ptr null, i64 0, ptr null)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %clear, label %drop
clear:
  call void @PyErr_Clear()
  ret void
drop:
  call void @Py_DecRef(ptr %answer)
  ret void
}

; whether the place of an origin has spent enough time on arrays of so many elements
define internal i1 @is_hot(ptr %origin, i64 %size) {
  %code = call ptr @PyTuple_GetItem(ptr %origin, i64 0)
  %instruction_object = call ptr @PyTuple_GetItem(ptr %origin, i64 1)
  %instruction = call i64 @PyLong_AsLong(ptr %instruction_object)
  %address = ptrtoint ptr %code to i64
  %short = lshr i64 %address, 4
  %spread = mul i64 %instruction, 7
  %sum = add i64 %short, %spread
  %place = and i64 %sum, LAST_PLACE
  %heat = get i64 @heat[%place]
  %quarter = lshr i64 %size, 2
  %cost = add i64 %quarter, 500
  %more = add i64 %heat, %cost
  put i64 %more, @heat[%place]
  put i64 %place, @state[PLACE]
  %wanted = get i64 @state[HOT]
  %is_hot = icmp sge i64 %heat, %wanted
  ret i1 %is_hot
}

; whether the tape, where something is on it, is this thread's and has room
define internal i1 @has_room() {
  %rows = get i64 @state[ROW_COUNT]
  %is_new = icmp eq i64 %rows, 0
  br i1 %is_new, label %yes, label %thread
yes:
  ret i1 true
thread:
  %owner = get i64 @state[OWN_THREAD]
  %here = call i64 @PyThread_get_thread_ident()
  %is_own = icmp eq i64 %owner, %here
  br i1 %is_own, label %room, label %no
room:
  %leaves = get i64 @state[LEAF_COUNT]
  %fits_leaves = icmp sle i64 %leaves, 62
  %fits_rows = icmp slt i64 %rows, MOST_ROWS
  %fits = and i1 %fits_leaves, %fits_rows
  br i1 %fits, label %yes, label %full
full:
  %settle = get ptr @state[FULL]
  call void @told(ptr %settle)
  br label %no
no:
  ret i1 false
}

; whether the tape is empty, or an operation of this origin belongs on it
define internal i1 @is_in_force(ptr %origin) {
  %rows = get i64 @state[ROW_COUNT]
  %is_new = icmp eq i64 %rows, 0
  br i1 %is_new, label %yes, label %look
yes:
  ret i1 true
look:
  %modes = call ptr @PyTuple_GetItem(ptr %origin, i64 2)
  %modes_before = get ptr @state[MODES]
  %same_modes = icmp eq ptr %modes, %modes_before
  %owner = get i64 @state[OWN_THREAD]
  %here = call i64 @PyThread_get_thread_ident()
  %is_own = icmp eq i64 %owner, %here
  %is_in_force = and i1 %same_modes, %is_own
  ret i1 %is_in_force
}

define internal ptr @defer(i64 %code, ptr %a, ptr %b) {
  %a_shape_at = alloca ptr
  %b_shape_at = alloca ptr
  %busy = get i64 @state[IS_BUSY]
  %is_busy = icmp ne i64 %busy, 0
  br i1 %is_busy, label %no, label %look
look:
  %a_kind = call i64 @seen(ptr %a, ptr %a_shape_at)
  %a_is_other = icmp eq i64 %a_kind, OTHER
  br i1 %a_is_other, label %no, label %second
second:
  %is_unary = icmp eq ptr %b, null
  br i1 %is_unary, label %alone, label %pair
alone:
  %a_shape_alone = load ptr, ptr %a_shape_at
  br label %kinds
pair:
  %b_kind = call i64 @seen(ptr %b, ptr %b_shape_at)
  %b_is_other = icmp eq i64 %b_kind, OTHER
  br i1 %b_is_other, label %no, label %shapes
shapes:
  %a_shape = load ptr, ptr %a_shape_at
  %b_shape = load ptr, ptr %b_shape_at
  %are_alike = call i1 @have_one_shape(ptr %a_shape, ptr %b_shape)
  br i1 %are_alike, label %choose, label %no
choose:
  %a_is_number = icmp eq ptr %a_shape, null
  %one_shape = select i1 %a_is_number, ptr %b_shape, ptr %a_shape
  br label %kinds
kinds:
  %shape_now = phi ptr [ %a_shape_alone, %alone ], [ %one_shape, %choose ]
  %other_kind = phi i64 [ %a_kind, %alone ], [ %b_kind, %choose ]
  %fits = call i1 @is_fit(i64 %code, i64 %a_kind, i64 %other_kind)
  br i1 %fits, label %room, label %no
room:
  %size = call i64 @elements(ptr %shape_now)
  %has_room = call i1 @has_room()
  br i1 %has_room, label %options, label %no
options:
  %is_allowed = call i1 @is_allowed()
  br i1 %is_allowed, label %place, label %no
place:
  %origin = call ptr @origin()
  %nowhere = icmp eq ptr %origin, null
  br i1 %nowhere, label %lost, label %modes
lost:
  %lost_before = get i64 @state[LOST_COUNT]
  %lost_now = add i64 %lost_before, 1
  put i64 %lost_now, @state[LOST_COUNT]
  %turn = and i64 %lost_before, 7
  %is_turn = icmp eq i64 %turn, 0
  br i1 %is_turn, label %find, label %no
find:
  %finder = get ptr @state[LOST]
  call void @told(ptr %finder)
  br label %no
modes:
  %same_modes = call i1 @is_in_force(ptr %origin)
  br i1 %same_modes, label %first, label %drop
first:
  %rows_before = get i64 @state[ROW_COUNT]
  %is_first = icmp eq i64 %rows_before, 0
  br i1 %is_first, label %heat, label %make
heat:
  %is_hot = call i1 @is_hot(ptr %origin, i64 %size)
  br i1 %is_hot, label %make, label %drop
make:
  %class = call ptr @object(i64 T_CLASS)
  %made = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %clear, label %again
clear:
  call void @PyErr_Clear()
  br label %drop
again:
  %done = call i1 @append(i64 %code, ptr %a, ptr %b, ptr %origin, ptr %made)
  br i1 %done, label %give, label %undo
give:
  ret ptr %made
undo:
  call void @Py_DecRef(ptr %made)
  br label %drop
drop:
  call void @Py_DecRef(ptr %origin)
  br label %no
no:
  ret ptr null
}

; a new row for a result, whose reference it shares, and an origin, whose reference it takes; false
; where that is not possible any more: making both may have run anything
define internal i1 @append(i64 %code, ptr %a, ptr %b, ptr %origin, ptr %made) {
  %a_shape_at = alloca ptr
  %b_shape_at = alloca ptr
  store ptr null, ptr %b_shape_at
  %busy = get i64 @state[IS_BUSY]
  %rows = get i64 @state[ROW_COUNT]
  %leaves = get i64 @state[LEAF_COUNT]
  %is_idle = icmp eq i64 %busy, 0
  %fits_rows = icmp slt i64 %rows, MOST_ROWS
  %fits_leaves = icmp sle i64 %leaves, 62
  %some_room = and i1 %fits_rows, %fits_leaves
  %can = and i1 %is_idle, %some_room
  br i1 %can, label %look, label %no
look:
  %a_kind = call i64 @seen(ptr %a, ptr %a_shape_at)
  %a_shape = load ptr, ptr %a_shape_at
  %is_unary = icmp eq ptr %b, null
  br i1 %is_unary, label %kinds, label %second
second:
  %b_kind_found = call i64 @seen(ptr %b, ptr %b_shape_at)
  br label %kinds
kinds:
  %b_kind = phi i64 [ %a_kind, %look ], [ %b_kind_found, %second ]
  %b_shape = load ptr, ptr %b_shape_at
  %fits = call i1 @is_fit(i64 %code, i64 %a_kind, i64 %b_kind)
  %is_alike = call i1 @have_one_shape(ptr %a_shape, ptr %b_shape)
  %is_own = call i1 @is_in_force(ptr %origin)
  %fit_alike = and i1 %fits, %is_alike
  %is_possible = and i1 %fit_alike, %is_own
  br i1 %is_possible, label %first, label %no
first:
  %left = call i64 @operand_number(ptr %a, i64 %a_kind)
  br i1 %is_unary, label %at_row, label %other
other:
  %right_found = call i64 @operand_number(ptr %b, i64 %b_kind)
  br label %at_row
at_row:
  %right = phi i64 [ %left, %first ], [ %right_found, %other ]
  %row = call ptr @row(i64 %rows)
  %class = and i64 %code, 3
  %is_to_floats = icmp eq i64 %class, 0
  %kind = select i1 %is_to_floats, i64 FLOATS, i64 BOOLS
  %a_is_number = icmp eq ptr %a_shape, null
  %shape = select i1 %a_is_number, ptr %b_shape, ptr %a_shape
  put i64 %kind, %row[ROW_KIND]
  put ptr %shape, %row[ROW_SHAPE]
  call void @Py_IncRef(ptr %made)
  put ptr %made, %row[ROW_RESULT]
  put ptr %origin, %row[ROW_ORIGIN]
  %place = mul i64 %rows, 3
  %place_left = add i64 %place, 1
  %place_right = add i64 %place, 2
  put i64 %code, @codes[%place]
  put i64 %left, @codes[%place_left]
  put i64 %right, @codes[%place_right]
  %more = add i64 %rows, 1
  put i64 %more, @state[ROW_COUNT]
  %owner_offset = call i64 @entry(i64 T_OWNER)
  %owner_at = getelementptr i8, ptr %made, i64 %owner_offset
  %none = call ptr @none()
  call void @Py_IncRef(ptr %none)
  store ptr %none, ptr %owner_at
  %is_first = icmp eq i64 %rows, 0
  br i1 %is_first, label %begin, label %yes
begin:
  %modes = call ptr @PyTuple_GetItem(ptr %origin, i64 2)
  put ptr %modes, @state[MODES]
  %thread = call i64 @PyThread_get_thread_ident()
  put i64 %thread, @state[OWN_THREAD]
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}
"""
