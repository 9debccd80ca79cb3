"""Address spaces: allocations with guards of unmapped addresses between them.

Every region of memory (a buffer, a variable) has an address of its own that is never used again,
so an access outside it is an error however far it goes. Shared variables have one instance per
block, local ones one per thread; `stride` separates them.

    address -> region, offset in it -> index of the bytes in `region.data`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from lazyfuse.backends.cuda_ptx.faults import PtxMemoryError
from lazyfuse.backends.cuda_ptx.races import Shadow
from lazyfuse.backends.cuda_ptx.types import PtxType

#: Unmapped addresses between regions, and the alignment of their starts (cupy's pool has 512).
GAP, ALIGNMENT = 1 << 16, 512
#: What memory holds before anybody wrote to it: reading it shows in a result.
POISON = 0xA5
#: Where shared and local memory lie among generic addresses.
WINDOWS = {"shared": 0x7E00_0000_0000, "local": 0x7F00_0000_0000}
#: The widest access; data is padded to it.
WIDEST = 16


@dataclass(slots=True, weakref_slot=True, eq=False)
class Region:
    """`nbytes` at address `base`, in every instance; instances lie `stride` apart in `data`."""

    base: int
    nbytes: int
    data: np.ndarray
    stride: int = 0
    shadow: Shadow | None = field(default=None)

    def words(self, kind: PtxType) -> np.ndarray:
        """The bytes as unsigned words of a type's width."""
        return self.data.view(np.dtype(f"u{kind.size}"))


def padded(nbytes: int) -> int:
    """A whole number of the widest access."""
    return -(-max(nbytes, 1) // WIDEST) * WIDEST


def new_region(base: int, nbytes: int, instances: int = 1) -> Region:
    """Memory that holds POISON."""
    stride = padded(nbytes)
    data = np.full(stride * instances, POISON, np.uint8)
    return Region(base, nbytes, data, stride if instances > 1 else 0)


class Space:
    """The regions of one address space, as they are during a launch."""

    def __init__(self, name: str, regions: Sequence[Region]) -> None:
        self.name = name
        self.regions = sorted(regions, key=lambda region: region.base)
        self.bases = np.array([region.base for region in self.regions], np.uint64)

    def find(
        self, addresses: np.ndarray, nbytes: int
    ) -> Iterator[tuple[Region, np.ndarray, np.ndarray]]:
        """For each region that is touched: the places among `addresses`, and offsets in it.

        Raises: PtxMemoryError for an access outside all regions, or one that is not aligned to
        its size.
        """
        if (addresses % np.uint64(nbytes)).any():
            raise PtxMemoryError(f"{nbytes} bytes of {self.name} memory at an odd address")
        numbers = np.searchsorted(self.bases, addresses, side="right") - 1
        first = int(numbers[0])
        if (numbers == first).all():
            yield self._within(first, addresses, np.arange(len(addresses)), nbytes)
            return
        for number in np.unique(numbers):
            places = np.flatnonzero(numbers == number)
            yield self._within(int(number), addresses[places], places, nbytes)

    def _within(
        self, number: int, addresses: np.ndarray, places: np.ndarray, nbytes: int
    ) -> tuple[Region, np.ndarray, np.ndarray]:
        if number < 0:
            raise PtxMemoryError(
                f"{self.name} address {int(addresses.min()):#x} is below all memory"
            )
        region = self.regions[number]
        offsets = (addresses - np.uint64(region.base)).astype(np.int64)
        last = int(offsets.max()) + nbytes
        if last > region.nbytes:
            raise PtxMemoryError(
                f"{nbytes} bytes at offset {last - nbytes} of {region.nbytes} bytes of "
                f"{self.name} memory"
            )
        return region, places, offsets
