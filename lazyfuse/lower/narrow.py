"""Positions in 32 bits where they fit: a GPU makes a 64-bit multiplication of several 32-bit ones,
and keeps a 64-bit value in two registers.

    kernel outer=2 inner=0 lanes=outer index=i8      ->      kernel ... index=i4
"""

from __future__ import annotations

from dataclasses import replace

from lazyfuse.lower.canonical import Lowered
from lazyfuse.ops.shapes import size_of

#: What positions, and offsets from the first element of an argument, have to stay below.
LIMIT = 1 << 31


def narrow(lowered: Lowered) -> Lowered:
    """The kernel with 32-bit positions; the same object where its extents or strides need more."""
    kernel, extents = lowered.kernel, lowered.extents
    counts = size_of(extents[: kernel.outer]), size_of(extents[kernel.outer :])
    reaches = [
        sum(abs(step) * max(extent - 1, 0) for extent, step in zip(extents, strides, strict=True))
        for strides in (binding.strides for binding in lowered.bindings)
    ]
    if max(*counts, *reaches) >= LIMIT:
        return lowered
    return replace(lowered, kernel=replace(kernel, index="i4"))
