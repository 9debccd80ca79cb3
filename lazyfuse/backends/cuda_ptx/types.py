"""The types of PTX: their widths and how NumPy holds them.

Registers hold bits: an unsigned array of their width, 16 bits at least, one element per lane;
predicates are bools. An instruction views them as its own type.

    >>> TYPES["s16"].dtype, TYPES["f32"].bits
    (dtype('int16'), 32)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True, slots=True)
class PtxType:
    """One fundamental type: `kind` is u, s, b, f, or p for predicates."""

    name: str
    kind: str
    bits: int

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.bits // 8

    @property
    def dtype(self) -> np.dtype:
        """The type of NumPy that computes as this one does."""
        return _dtype(self.kind, self.bits)


@cache
def _dtype(kind: str, bits: int) -> np.dtype:
    letter = {"s": "i", "f": "f"}.get(kind, "u")
    return np.dtype(bool) if kind == "p" else np.dtype(f"{letter}{bits // 8}")


def unsigned(bits: int) -> np.dtype:
    """The unsigned type of `bits` bits."""
    return np.dtype(f"u{bits // 8}")


TYPES: Mapping[str, PtxType] = {
    "pred": PtxType("pred", "p", 1),
    **{
        f"{kind}{bits}": PtxType(f"{kind}{bits}", kind, bits)
        for kind in "usbf"
        for bits in (8, 16, 32, 64)
        if (kind, bits) != ("f", 8)
    },
}
