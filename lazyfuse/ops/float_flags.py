"""The four floating point conditions as bits, with NumPy's values (NPY_FPE_* of npy_math.h), and
what a user wants done about each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

DIVIDE, OVERFLOW, UNDERFLOW, INVALID = 1, 2, 4, 8
ALL = DIVIDE | OVERFLOW | UNDERFLOW | INVALID
#: Beside the conditions that an operation can meet: it may show some that NumPy does not meet.
VAGUE = 16
#: Likewise: NaN may look invalid, to the flags.
NOISY = 32
#: Likewise: operands that are infinite, huge or tiny may look as if they met any of them.
DOUBTFUL = 64

#: Each condition by the keyword of `np.errstate` that decides about it, in NumPy's order.
BITS = {"divide": DIVIDE, "over": OVERFLOW, "under": UNDERFLOW, "invalid": INVALID}
#: How NumPy's messages begin.
WORDS = {
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
    "invalid": "invalid value",
}


class ErrorModes(NamedTuple):
    """An `np.errstate`: what to do by keyword (ignore, warn, raise, call, print, log).

    reported: the bits of all conditions that are not ignored. is_immediate: the user is told at
    the call, so an operation recorded under it is run at once. handler: what call and log use.
    Conditions that a warning filter ignores are ignored here; wanted: the bits of those that
    the errstate itself does not ignore.
    """

    by_name: Mapping[str, str]
    reported: int
    is_immediate: bool
    handler: Any = None
    wanted: int = 0


#: NumPy's state where nobody set another.
DEFAULT_MODES = ErrorModes(
    {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"},
    DIVIDE | OVERFLOW | INVALID,
    is_immediate=False,
    wanted=DIVIDE | OVERFLOW | INVALID,
)
