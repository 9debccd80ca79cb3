"""Where CPython keeps the digits of ints, as machine code reads them (`ints_text.py`)."""

from __future__ import annotations

import ctypes
import sys

#: Ints of one digit, the largest among them.
_SHORT = (0, 1, -1, 255, -(2**30) + 1, 2**30 - 1)
#: Those of more.
_LONG = (2**30, -(2**30), 2**62)


def are_known() -> bool:
    """Whether ints keep their digits where the code believes."""
    return all(_read(number) == number for number in _SHORT) and not any(map(_read, _LONG))


def _read(number: int) -> int:
    """An int of one digit, 0 for longer ones."""
    at = id(number) + object.__basicsize__
    word = ctypes.c_int64.from_address(at).value
    digit = ctypes.c_uint32.from_address(at + 8).value
    if sys.version_info >= (3, 12):
        return digit * (1 - (word & 3)) if 0 <= word < 16 else 0
    return digit * word if -1 <= word <= 1 else 0
