"""Putting off operations on small arrays in machine code, as LLVM text (`frontend/deferred.py`).

    defer(code, a, b)      a new array without contents whose operation is put off; null where it
                           is to be computed at once (`b` is null for an operation on one array)
    defer_in_place(code, a, b)  the same for an operation that writes `a`
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

`lf_deferral` gives the state, whose first words Python writes. How much time each place of the
user's code has spent is counted: the tape begins where that is enough.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu.defer import (
    ALL_AXES,
    ARITY,
    BINARY,
    CAST,
    CASTS,
    CHEAP,
    CHOICE,
    CODE_STEP,
    CODE_WORDS,
    CODES,
    FIRST_ROW,
    MEANS,
    MOST_LEAVES,
    MOST_ROWS,
    OF_BOOLS,
    PLACES,
    QUOTIENTS,
    REDUCTION,
    STATE,
    STATE_SIZE,
    SUMS,
    TERNARY,
    TO_BOOLS,
    TO_FLOATS,
    WHOLES,
)
from lazyfuse.backends.cpu.defer_calls_text import CALLS
from lazyfuse.backends.cpu.defer_kinds_text import KINDS
from lazyfuse.backends.cpu.defer_operands_text import OPERANDS
from lazyfuse.backends.cpu.defer_reduce_text import REDUCE
from lazyfuse.backends.cpu.defer_replay_text import REPLAY
from lazyfuse.backends.cpu.defer_rows_text import ROWS
from lazyfuse.backends.cpu.defer_settle_text import DEFERRED, SETTLE
from lazyfuse.backends.cpu.defer_shapes_text import SHAPES
from lazyfuse.backends.cpu.defer_views_text import VIEWS
from lazyfuse.backends.cpu.defer_when_text import WHEN
from lazyfuse.backends.cpu.defer_whole_text import WHOLE
from lazyfuse.backends.cpu.defer_writes_text import WRITES
from lazyfuse.backends.cpu.short_forms import expanded, numbered
from lazyfuse.ops.rules import (
    ASKED_SOON,
    ASKED_TIMES,
    ENOUGH,
    LIGHT,
    NOVEL_BITS,
    NOVEL_WORDS,
    SPREAD,
)

#: Rows of a tape that is settled where a loop begins again.
LONG = 96
#: A row: its kind, what has its shape, the result, where it was recorded (three words); how many
#: references the tape has to the result, and whether that array is written in place by a later
#: row. What has its shape is an array, or of a reduction the row itself: then words of it lie as
#: those of an array do (`ROW_SHAPE_BASE` is where that would begin).
_ROW = numbered(
    "ROW_KIND", "ROW_SHAPE", "ROW_RESULT", "ROW_CODE", "ROW_INSTRUCTION", "ROW_MODES",
    "ROW_REFERENCES",
    "ROW_IS_OLD", "ROW_ND", "ROW_DIMENSIONS", "ROW_EXTENTS",
    *(f"ROW_EXTENT_{axis}" for axis in "BCDEFGH"), "ROW_WORDS",
)  # fmt: skip
#: Where an operation is recorded: the user's code and the instruction, and what errors do there.
_SPOT = numbered("SPOT_CODE", "SPOT_INSTRUCTION", "SPOT_MODES", "SPOT_WORDS")
#: Operations on a tape whose last one is reduced to a number: they may be computed twice.
MOST_WHOLE = 12
_WORD = (1 << 64) - 1
#: Axes of a shape that a row has by itself.
MOST_JOINT = 8
#: An entry of the index: what is on the tape by its address; of which tape it is.
_INDEX = numbered("INDEX_OBJECT", "INDEX_NUMBER", "INDEX_STAMP", "INDEX_WORDS")
#: Entries are a power of two, many more than there is on the tape.
_INDEX_BITS = 10
NOVELTY = {
    "NOVEL_SHIFT": 64 - NOVEL_BITS, "NOVEL_WORDS": NOVEL_WORDS, "GOLDEN": SPREAD,
    "ENOUGH": ENOUGH, "LIGHT": LIGHT, "ASKED_SOON": ASKED_SOON, "ASKED_MORE": ASKED_TIMES - 1,
}  # fmt: skip
#: A leaf: an array or a number; NumPy's array, null for a number; its kind; and the place where a
#: view was made, as long as nothing on the tape reads it (0: it is none).
_LEAF = numbered("LEAF_OBJECT", "LEAF_HOST", "LEAF_KIND", "LEAF_PLACE", "LEAF_WORDS")
#: What a place has spent less where a view was put off in vain, in nanoseconds.
IN_VAIN = 1_000_000
#: Views that are not looked at after one in vain, at most: a power of two less one.
MOST_GAP = 255
#: What an operand is: none to put off, an array of doubles, singles or bools, a float, an int.
#: LARGE_NUMBER is a float that singles do not hold, of which NumPy warns; STRONG_NUMBER is one of
#: NumPy's, with which singles become doubles; so is STRONG_INTEGER. SINGLE_NUMBER is a float32.
#: BYTES, SIGNED_BYTES and INTEGERS are arrays of uint8, int8 and wider integers, but uint64. Ints
#: that do not fit each of these are ABOVE it; negative ones fit none. INTEGER_SUMS are int64 or
#: uint64: they are only cast.
_KIND = {
    "OTHER": 0, "DOUBLES": 1, "SINGLES": 2, "BOOLS": 4, "NUMBER": 8, "INTEGER": 16,
    "LARGE_NUMBER": 8 | 32, "STRONG_NUMBER": 8 | 64,
    "STRONG_INTEGER": 16 | 64, "SINGLE_NUMBER": 8 | 128, "BYTES": 256, "SIGNED_BYTES": 512,
    "INTEGERS": 1024, "INTEGER_SUMS": 16384,
}  # fmt: skip
_KINDS = {"ARRAYS": 1 | 2, "CHOSEN": 1 | 2 | 8, "TOO_LARGE": 2 | 32, "PROMOTED": 2 | 64,
          "SINGLE_BIT": 128, "NUMBERS": 8 | 16, "NUMPYS_BITS": 64 | 128,
          "ANY_BYTES": 256 | 512, "ANY_INTEGERS": 256 | 512 | 1024,
          "ABOVE_SIGNED": 2048, "ABOVE_BYTE": 4096, "ABOVE_SHORT": 8192}  # fmt: skip
#: Of the dtypes of `CASTS`.
_CAST_KINDS = [
    "DOUBLES",
    "SINGLES",
    "BOOLS",
    "INTEGERS",
    "SIGNED_BYTES",
    "BYTES",
    *["INTEGERS"] * 4,
]
#: What a reduction does is above the code: one more than twice the axis, and whether it keeps it.
REDUCED_SHIFT = 32
#: Words of NumPy's arrays.
ARRAY = {
    "REFERENCES": 0,
    "DATA": 2,
    "ND": 3,
    "DIMENSIONS": 4,
    "STRIDES": 5,
    "BASE": 6,
    "DESCR": 7,
    "ARRAY_FLAGS": 8,
}


def _signed(word: int) -> int:
    """A word as LLVM's text has it."""
    return word - (1 << 64) if word >> 63 else word


def _halves(**sets: int) -> dict[str, int]:
    """The two words of each set of operations."""
    return {
        f"{name}_{half}": _signed(bits)
        for name, both in sets.items()
        for half, bits in (("LOW", both & _WORD), ("HIGH", both >> 64))
    }


def text(places: Mapping[str, int]) -> str:
    """The functions, for LLVM; `places` are entries of the table of `methods.py`."""
    names = {
        "ROW_SHAPE_BASE": _ROW["ROW_ND"] - ARRAY["ND"], "REDUCED_SHIFT": REDUCED_SHIFT,
        "REDUCTION": REDUCTION,
        **STATE, **_ROW, **_LEAF, **_INDEX, **_SPOT, **_KIND, **_KINDS, **ARRAY,
        **{f"T_{name}": place for name, place in places.items()},
        "MOST_ROWS": MOST_ROWS, "MOST_LEAVES": MOST_LEAVES, "LAST_PLACE": PLACES - 1,
        "FIRST_ROW": FIRST_ROW, "TO_BOOLS": TO_BOOLS,
        "OF_BOOLS": OF_BOOLS, "CHOICE": CHOICE, "LONG": LONG, "CODE_WORDS": CODE_WORDS,
        "MOST_LEAVES_BEFORE": MOST_LEAVES - 3, "CODE_BYTES": 8 * CODE_WORDS,
        "IN_VAIN": IN_VAIN, "MOST_GAP": MOST_GAP, "KEY_BYTES": 8 * CODE_WORDS + 1, "ARITY": ARITY,
        "JOINT_EXTENTS": ARRAY["DIMENSIONS"] + 1, "MOST_JOINT": MOST_JOINT,
        "JOINT_WORDS": ARRAY["DIMENSIONS"] + 1 + MOST_JOINT,
        "MOST_WHOLE": MOST_WHOLE, "WHOLE_WORD": -2 - (2 * ALL_AXES + 1),
        "CODE_SHIFT": CODE_STEP.bit_length() - 1,
        **_halves(CHEAP=CHEAP, WHOLES=WHOLES, QUOTIENTS=QUOTIENTS, SUMS=SUMS, MEANS=MEANS),
        "CAST": CAST, "CAST_COUNT": len(CASTS), "LAST_OF_CODE": CODE_STEP - 1, "BINARY": BINARY,
        "COMPARISON": TO_BOOLS + BINARY, "CLIP": TO_FLOATS + TERNARY,
        "FIRST_CAST": CODES[next(iter(CASTS))] // CODE_STEP, "TO_FLOATS": TO_FLOATS,
        "CAST_KINDS": ", ".join(f"i64 {_KIND[name]}" for name in _CAST_KINDS),
        "INDEX_SHIFT": 64 - _INDEX_BITS, "LAST_ENTRY": (1 << _INDEX_BITS) - 1, "GOLDEN": SPREAD,
    }  # fmt: skip
    sizes = {
        "ALL_STATE": STATE_SIZE,
        "ALL_CODES": CODE_WORDS * MOST_ROWS,
        "ALL_ROWS": _ROW["ROW_WORDS"] * MOST_ROWS,
        "ALL_LEAVES": _LEAF["LEAF_WORDS"] * MOST_LEAVES,
        "ALL_ENTRIES": _INDEX["INDEX_WORDS"] << _INDEX_BITS,
        "ALL_REFERENCES": 3 * (MOST_ROWS + MOST_LEAVES),
    }
    parts = (
        _HEAD, SHAPES, KINDS, OPERANDS, VIEWS, WRITES, WHEN, _DEFER, ROWS, REDUCE, WHOLE, CALLS,
        DEFERRED, SETTLE, REPLAY,
    )  # fmt: skip
    return expanded("\n".join(parts), {**names, **sizes})


_HEAD = """
@state = internal global [ALL_STATE x i64] zeroinitializer
@codes = internal global [ALL_CODES x i64] zeroinitializer
@rows = internal global [ALL_ROWS x i64] zeroinitializer
@leaves = internal global [ALL_LEAVES x i64] zeroinitializer
@entries = internal global [ALL_ENTRIES x i64] zeroinitializer
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyLong_FromLongLong(i64)
declare i64 @PyLong_AsLongLong(ptr)

define ptr @lf_deferral() {
  ret ptr @state
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
; puts an operation off; `target` is null, or the first operand, which gets the result: a reference
; to the result, null where it is to be computed at once, and 1 for an exception
define internal ptr @defer_all(i64 %code, ptr %operands, i64 %count, ptr %target) {
  %shape_at = alloca ptr
  %spot = alloca [SPOT_WORDS x i64]
  %busy = get i64 @state[IS_BUSY]
  %is_busy = icmp ne i64 %busy, 0
  br i1 %is_busy, label %no, label %begun
begun:
  call void @tidy()
  %continues = call i1 @continues_tape(ptr %operands, i64 %count)
  br i1 %continues, label %room, label %look
look:
  %kind = call i64 @surveyed(i64 %code, ptr %operands, i64 %count, ptr %shape_at)
  %is_other = icmp eq i64 %kind, OTHER
  br i1 %is_other, label %no, label %sized
sized:
  %looked_shape = load ptr, ptr %shape_at
  %looked_size = call i64 @elements(ptr %looked_shape)
  br label %room
room:
  %known_size = phi i64 [ 0, %begun ], [ %looked_size, %sized ]
  %has_room = call i1 @make_room()
  br i1 %has_room, label %place, label %raised
place:
  %is_looked_at = call i1 @spot_to_look_at(ptr %spot)
  br i1 %is_looked_at, label %modes, label %raised
modes:
  %same_modes = call i1 @is_in_force(ptr %spot)
  br i1 %same_modes, label %begins, label %drop
begins:
  call void @cut(ptr %spot)
  %error = call ptr @PyErr_Occurred()
  %is_cut = icmp eq ptr %error, null
  br i1 %is_cut, label %start, label %drop
start:
  %rows_before = get i64 @state[ROW_COUNT]
  %is_first = icmp eq i64 %rows_before, 0
  br i1 %is_first, label %heat, label %make
heat:
  br i1 %continues, label %survey, label %warm
survey:
  %kind_now = call i64 @surveyed(i64 %code, ptr %operands, i64 %count, ptr %shape_at)
  %is_other_now = icmp eq i64 %kind_now, OTHER
  br i1 %is_other_now, label %drop, label %measure
measure:
  %shape = load ptr, ptr %shape_at
  %size_now = call i64 @elements(ptr %shape)
  br label %warm
warm:
  %size = phi i64 [ %known_size, %heat ], [ %size_now, %measure ]
  %is_hot = call i1 @warmed(ptr %spot, i64 %size)
  br i1 %is_hot, label %make, label %drop
make:
  %is_new = icmp eq ptr %target, null
  br i1 %is_new, label %new, label %old
new:
  %class = call ptr @object(i64 T_CLASS)
  %made = call ptr @made_object(ptr %class)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %clear, label %again
clear:
  call void @PyErr_Clear()
  br label %drop
old:
  call void @Py_IncRef(ptr %target)
  br label %again
again:
  %result = phi ptr [ %made, %new ], [ %target, %old ]
  %done = call i1 @append(i64 %code, ptr %operands, i64 %count, ptr %target, ptr %spot,
                          ptr %result)
  br i1 %done, label %give, label %undo
give:
  ret ptr %result
undo:
  call void @Py_DecRef(ptr %result)
  br label %drop
drop:
  %code_object = get ptr %spot[SPOT_CODE]
  call void @Py_DecRef(ptr %code_object)
  br label %raised
raised:
  %any = call ptr @PyErr_Occurred()
  %is_none = icmp eq ptr %any, null
  br i1 %is_none, label %no, label %fail
fail:
  ret ptr inttoptr (i64 1 to ptr)
no:
  ret ptr null
}

; whether an operation reads what is on a tape that has operations: then it is looked at once, when
; it comes there
define internal i1 @continues_tape(ptr %operands, i64 %count) {
  %rows = get i64 @state[ROW_COUNT]
  %is_new = icmp eq i64 %rows, 0
  br i1 %is_new, label %no, label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %look ]
  %is_over = icmp sge i64 %i, %count
  br i1 %is_over, label %no, label %look
look:
  %operand = get ptr %operands[%i]
  %after = add i64 %i, 1
  %is_taken = call i1 @is_on_tape(ptr %operand)
  br i1 %is_taken, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; where the caller is not known, or what errors do: finds out now and then
define internal void @count_lost() {
  %before = get i64 @state[LOST_COUNT]
  %now = add i64 %before, 1
  put i64 %now, @state[LOST_COUNT]
  %turn = and i64 %before, 7
  %is_turn = icmp eq i64 %turn, 0
  br i1 %is_turn, label %find, label %done
find:
  %finder = get ptr @state[LOST]
  call void @ask(ptr %finder)
  br label %done
done:
  ret void
}

; settles a long tape where it comes back to the place where it began, so that a loop makes the
; same tape each time
define internal void @cut(ptr %spot) {
  %rows = get i64 @state[ROW_COUNT]
  %is_short = icmp slt i64 %rows, LONG
  br i1 %is_short, label %done, label %look
look:
  %place = call i64 @place_of(ptr %spot)
  %begin = get i64 @state[PLACE]
  %is_begin = icmp eq i64 %place, %begin
  br i1 %is_begin, label %settle, label %done
settle:
  call void @settle_here()
  br label %done
done:
  ret void
}
"""
