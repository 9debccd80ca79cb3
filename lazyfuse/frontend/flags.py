"""`a.flags`: how an array lies in memory, without computing it."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend.handle import SEALED, WARNS, Handle
from lazyfuse.ir.order import is_contiguous, is_f_contiguous
from lazyfuse.runtime.caller import warn_here


class Flags:
    """The flags of an array: `a.flags["C_CONTIGUOUS"]` and `a.flags.c_contiguous`."""

    __slots__ = ("_array",)
    _NAMES = ("c_contiguous", "f_contiguous", "owndata", "writeable", "aligned", "writebackifcopy")
    _DERIVED = ("contiguous", "fortran", "forc", "fnc", "behaved", "carray", "farray")
    _SHORT = {
        "C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable",
        "A": "aligned", "X": "writebackifcopy", "B": "behaved", "CA": "carray", "FA": "farray",
    }  # fmt: skip

    def __init__(self, array: Handle) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        return is_contiguous(self._array._layout.shape, self._array._layout.strides)

    @property
    def f_contiguous(self) -> bool:
        return is_f_contiguous(self._array._layout.shape, self._array._layout.strides)

    contiguous = c_contiguous
    fortran = f_contiguous

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def owndata(self) -> bool:
        return self._array._owner is None

    @property
    def _may_be_written(self) -> bool:
        return bool(self._array._writeable) and not self._array._is_scalar

    @property
    def writeable(self) -> bool:
        """False for scalars, broadcast views and what was set so. Warns, as NumPy, of arrays from
        `broadcast_arrays`."""
        if self._array._writeable is WARNS:
            warn_here(
                "future versions will not create a writeable array from broadcast_array. Set the "
                "writable flag explicitly to avoid this warning.",
                FutureWarning,
            )
        return self._may_be_written

    @writeable.setter
    def writeable(self, value: bool) -> None:
        owner, is_sealed = self._array._owner, self._array._writeable is SEALED
        is_closed = self._array._is_scalar or owner is not None and not owner._writeable
        if value and (is_closed or is_sealed):
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        self._array._writeable = bool(value) or (SEALED if is_sealed else False)

    @property
    def aligned(self) -> bool:
        """False for a typed view that begins within an element."""
        reading = self._array._reading
        return reading.shift % np.dtype(reading.dtype).alignment == 0

    @aligned.setter
    def aligned(self, value: bool) -> None:
        """Memory is always aligned; NumPy lets the flag be cleared, which changes nothing here."""

    @property
    def writebackifcopy(self) -> bool:
        return False

    @writebackifcopy.setter
    def writebackifcopy(self, value: bool) -> None:
        if value:
            raise ValueError("cannot set WRITEBACKIFCOPY flag to True")

    @property
    def behaved(self) -> bool:
        return self._may_be_written

    @property
    def carray(self) -> bool:
        return self.behaved and self.c_contiguous

    @property
    def farray(self) -> bool:
        """NumPy asks for any of the bits aligned, writeable and Fortran, and not C."""
        return not self.c_contiguous

    @property
    def num(self) -> int:
        """The flags as NumPy's bits."""
        bits = {"c_contiguous": 1, "f_contiguous": 2, "owndata": 4, "aligned": 0x100,
                "_may_be_written": 0x400, "writebackifcopy": 0x2000}  # fmt: skip
        return sum(bit for name, bit in bits.items() if getattr(self, name))

    def _attribute(self, name: Any) -> str:
        attribute = self._SHORT.get(name, name.lower() if isinstance(name, str) else "")
        if attribute not in (*self._NAMES, *self._DERIVED):
            raise KeyError("Unknown flag")
        return attribute

    def __getitem__(self, name: Any) -> bool:
        return bool(getattr(self, self._attribute(name)))

    def __setitem__(self, name: Any, value: bool) -> None:
        attribute = self._attribute(name)
        if attribute not in ("writeable", "aligned", "writebackifcopy"):
            raise KeyError("Unknown flag")
        setattr(self, attribute, value)

    def __eq__(self, other: object) -> bool:
        return getattr(other, "num", None) == self.num

    def __hash__(self) -> int:
        return hash(self.num)

    def __repr__(self) -> str:
        return "".join(f"  {name.upper()} : {self._shown(name)}\n" for name in self._NAMES)

    def _shown(self, name: str) -> str:
        if name != "writeable":
            return str(self[name])
        note = "  (with WARN_ON_WRITE=True)" if self._array._writeable is WARNS else ""
        return f"{self._may_be_written}{note}"


def setflags(self: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """Set the writeable flag; None leaves a flag. Raises: ValueError when memory is read-only."""
    if uic:
        raise ValueError("cannot set WRITEBACKIFCOPY flag to True")
    if write is not None:
        self.flags.writeable = write
