"""Operations that machine code puts off (`defer_text.py`), each with its code, and what Python and
it tell each other.

They raise nothing, whatever the values. Reductions are along one axis.
Operators have the names of their methods, ufuncs NumPy's.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.ops.rules import ASKED_WORDS, NOVEL_BITS, NOVEL_WORDS

#: The most operations and operands on the tape, and places whose heat is counted.
MOST_ROWS, MOST_LEAVES, PLACES = 192, 64, 4096
#: Words of the state. Python writes the options under which operations are put off (ALLOWED; the
#: last ones under which they are not: REFUSED), how many elements that takes (SMALLEST) and how
#: much heat (HOT), NumPy's dtypes, in the order of `CASTS`, a dict of the codes of these by what
#: they may be called, and functions: ASK tells what is allowed, FULL settles, LOST finds out who
#: the user is and what errors do, now and then where that is not known. KNOWN is a dict of
#: calls: by the codes of a tape, and which of its results are alive, a byte each. Under
#: other filters of warnings than OUTERMOST nothing is put off (0: under any): inside
#: `catch_warnings` they come at the call. Then come the tape's own: how long it is, whether it
#: is being computed, how often it has been emptied, what all of it was recorded under and by
#: which thread, and where it began; and what is counted: after views that were looked at in vain
#: so many (VIEWS_GAP) are not, of which so many are left; likewise of reductions to numbers,
#: which Python is asked for (WHOLE) where no call is known; IS_LEFT after one that was computed.
#: The last are of small arrays: the options under which the largest has EAGER_SIZE elements and
#: HELPERS threads may help, and what tells both; what has these threads there (HIRE), and how
#: many are; of kernels, what runs a job (LAUNCH), and the flags of the processor that mean a
#: condition, and what tells whether one is to be heard of (ASK_FLAGS); of arrays that do not lie
#: in one piece, what walks over their rows, and along one axis; the table of loops. From HEAT
#: on, the heat of places.
_STATE = (
    "ALLOWED", "REFUSED", "SMALLEST", "HOT", "DTYPE_DOUBLE", "DTYPE_SINGLE", "DTYPE_BOOL",
    "DTYPE_LONG", "DTYPE_BYTE", "DTYPE_UNSIGNED_BYTE", "DTYPE_SHORT", "DTYPE_UNSIGNED_SHORT",
    "DTYPE_INT", "DTYPE_UNSIGNED_INT", "CASTS",
    "ASK", "FULL", "LOST", "KNOWN", "HOST_NAME", "WEAK_OFFSET", "OUTERMOST",
    "ROW_COUNT", "LEAF_COUNT", "IS_BUSY", "GENERATION", "MODES", "OWN_OPTIONS", "OWN_THREAD",
    "PLACE", "LOST_COUNT", "IS_ANY_HOT", "PASSED", "FOREIGN", "VIEWS_GAP", "VIEWS_LEFT",
    "WHOLE_GAP", "WHOLE_LEFT", "WHOLE", "IS_LEFT",
    "SIZE_OPTIONS", "EAGER_SIZE", "COLD_SIZE", "HELPERS", "ASK_SIZE", "HIRE", "HIRED", "LAUNCH",
    "SEEN_CODE", "SEEN_DTYPE", "SEEN_BYTES",
    "FLAG_MASK", "ASK_FLAGS", "ROWS", "ROWS_COPY", "LINE_COPY", "LINE_FILL", "LINE_WHERE",
    "LINE_COUNT", "LINE_PICK",
    "LOOPS", "HEAT",
)  # fmt: skip
STATE = {name: number for number, name in enumerate(_STATE)}
#: After the places: of functions and sizes, which, and how many elements are left to them; of the
#: series of operations after which values are asked for, which this is, its length, and the length
#: of the last one.
STATE["NOVEL"] = STATE["HEAT"] + PLACES
STATE["SERIES"] = STATE["NOVEL"] + (NOVEL_WORDS << NOVEL_BITS)
STATE["SERIES_LENGTH"], STATE["LAST_LENGTH"] = STATE["SERIES"] + 1, STATE["SERIES"] + 2
STATE_SIZE = STATE["SERIES"] + ASKED_WORDS
#: The last bits of a code: what the operands are and the result; and the next, the number of
#: operands less one.
TO_FLOATS, TO_BOOLS, OF_BOOLS, CHOICE = range(4)
BINARY, TERNARY, REDUCTION = 4, 8, 12
#: A choice of one is a cast.
CAST = CHOICE
ARITY = 12
CODE_STEP = 16
#: Words of an operation: its code and three operands.
CODE_WORDS = 4
#: The number of the first row as an operand.
FIRST_ROW = MOST_LEAVES
#: In place of the axis of a reduction: all of them.
ALL_AXES = 15
FUNCTIONS = ("deferred", "settle", "release")

#: Casts, by the names of their dtypes and in the order of these in the state.
CASTS: Mapping[str, str] = {
    f"astype_{dtype}": dtype
    for dtype in "float64 float32 bool int64 int8 uint8 int16 uint16 int32 uint32".split()
}
_CLASSES = (
    (
        "__add__ __sub__ __mul__ __truediv__ __pow__ __floordiv__ __mod__ "
        "add subtract multiply divide power maximum "
        "minimum fmax fmin arctan2 hypot copysign floor_divide remainder fmod logaddexp",
        TO_FLOATS + BINARY,
    ),
    (
        "__neg__ negative absolute fabs sqrt square cbrt reciprocal exp exp2 expm1 log log2 log10 "
        "log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil "
        "trunc rint sign deg2rad rad2deg degrees radians",
        TO_FLOATS,
    ),
    (
        "__lt__ __le__ __eq__ __ne__ __gt__ __ge__ less less_equal equal not_equal greater "
        "greater_equal",
        TO_BOOLS + BINARY,
    ),
    ("isnan isinf isfinite signbit", TO_BOOLS),
    ("__and__ __or__ __xor__ logical_and logical_or logical_xor", OF_BOOLS + BINARY),
    ("__invert__ logical_not", OF_BOOLS),
    ("where", CHOICE + TERNARY),
    ("clip", TO_FLOATS + TERNARY),
    ("sum mean max min amax amin std var", TO_FLOATS + REDUCTION),
    ("any all", OF_BOOLS + REDUCTION),
    (" ".join(CASTS), CAST),
)  # fmt: skip

_KINDS = [(name, kind) for names, kind in _CLASSES for name in names.split()]
CODES: Mapping[str, int] = {
    name: number * CODE_STEP + kind for number, (name, kind) in enumerate(_KINDS)
}


def _bits(names: str) -> int:
    """A bit for the number of each operation."""
    return sum(1 << CODES[name] // CODE_STEP for name in names.split())


#: Operations that take about as long as reading their operands.
CHEAP = _bits(
    "__add__ __sub__ __mul__ __truediv__ __neg__ __lt__ __le__ __eq__ __ne__ __gt__ __ge__ "
    "__and__ __or__ __xor__ __invert__ add subtract multiply divide maximum minimum fmax "
    "fmin copysign negative absolute fabs sqrt square reciprocal floor ceil trunc rint sign "
    "deg2rad rad2deg degrees radians less less_equal equal not_equal greater greater_equal "
    "isnan isinf isfinite signbit logical_and logical_or logical_xor logical_not where clip "
    + " ".join(CASTS)
)
#: Of integers alone these give integers, as wide as the widest of them or wider; these doubles.
WHOLES = _bits(
    "__add__ __sub__ __mul__ __floordiv__ __mod__ add subtract multiply floor_divide remainder "
    "maximum minimum fmax fmin __neg__ negative absolute square sign __and__ __or__ __xor__ "
    "__invert__ where clip max min amax amin"
)
QUOTIENTS = _bits("__truediv__ divide")
#: Reductions that give integers and doubles of integers and bools.
SUMS, MEANS = _bits("sum"), _bits("mean")
