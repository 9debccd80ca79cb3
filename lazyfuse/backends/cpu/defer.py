"""Operations that machine code puts off, each with its code; see `defer_text.py`.

They raise nothing, whatever the values. Reductions are along one axis.
Operators have the names of their methods, ufuncs NumPy's.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu.defer_text import (
    BINARY,
    CHOICE,
    CODE_STEP,
    OF_BOOLS,
    REDUCTION,
    TERNARY,
    TO_BOOLS,
    TO_FLOATS,
)

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
)  # fmt: skip

_KINDS = [(name, kind) for names, kind in _CLASSES for name in names.split()]
CODES: Mapping[str, int] = {
    name: number * CODE_STEP + kind for number, (name, kind) in enumerate(_KINDS)
}
