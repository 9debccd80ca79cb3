"""Who touched which bytes, and whether something ordered it: data races as errors.

A Shadow remembers per cell of a region who wrote and read it last, and when, in steps of the
Clock. Two accesses of a cell, one of them a write of another value, must be ordered: by a barrier,
between threads of one block; between blocks by a fence of the first, an atomic operation of each
on one address, and a fence of the second (`lf_gather` in `backends/cuda/group_text.py`). Fences
count for their whole block, and atomic accesses themselves are not checked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lazyfuse.backends.cuda_ptx.faults import PtxRaceError

#: Nobody, or more than one: of threads and of blocks.
NOBODY, SEVERAL = -1, -2


class Clock:
    """Steps of a launch, and what barriers, fences and atomics have ordered.

    `barriers[b]`: accesses of block b before that step are ordered before later ones of b.
    `seen[b, a]`: accesses of block a up to that step are ordered before what b does now.
    """

    def __init__(self, blocks: int, threads: int, *, has_atomics: bool) -> None:
        self.step = 1
        self.threads = threads
        self.has_atomics = has_atomics
        self.barriers = np.zeros(blocks, np.int64)
        self._blocks = blocks
        self._fences = np.zeros(blocks, np.int64)
        self._released: dict[int, np.ndarray] = {}
        self._arrived: np.ndarray | None = None
        self.seen: np.ndarray | None = None

    def tick(self) -> int:
        """The step of the next access."""
        self.step += 1
        return self.step

    def barrier(self, blocks: np.ndarray) -> None:
        """All threads of these blocks have met."""
        self.barriers[blocks] = self.tick()

    def fence(self, blocks: np.ndarray) -> None:
        """Publish what these blocks wrote; what they learned through atomics is now visible."""
        self._fences[blocks] = self.tick()
        if self._arrived is not None and self.seen is not None:
            self.seen[blocks] = np.maximum(self.seen[blocks], self._arrived[blocks])

    def atomic(self, block: int, address: int) -> None:
        """Learn what was published by those who came before, and say what this block published."""
        if self._arrived is None:
            self._arrived = np.zeros((self._blocks, self._blocks), np.int64)
            self.seen = np.zeros_like(self._arrived)
        known = self._released.setdefault(address, np.zeros(self._blocks, np.int64))
        np.maximum(self._arrived[block], known, out=self._arrived[block])
        known[block] = self._fences[block]

    def ordered(self, blocks: np.ndarray, others: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Whether what `others` did at `steps` is ordered before what `blocks` do now."""
        same: np.ndarray = (blocks == others) & (steps < self.barriers[blocks])
        if self.seen is not None:
            same |= (blocks != others) & (others >= 0) & (steps <= self.seen[blocks, others])
        return same


@dataclass(frozen=True, slots=True)
class Who:
    """The threads of one access: numbers in the launch, and of their blocks."""

    threads: np.ndarray
    blocks: np.ndarray

    def spread(self, cells: int) -> Who:
        """Every thread `cells` times."""
        return self if cells == 1 else Who(self.threads.repeat(cells), self.blocks.repeat(cells))


class Shadow:
    """Last writer and last reader per cell of `grain` bytes, the largest that every access so
    far is a multiple of."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.grain = 0
        self._arrays: dict[str, np.ndarray] = {}
        #: Cells that several blocks read, block and step of each read: what `_arrays` cannot say.
        self._reads: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def read(self, starts: np.ndarray, nbytes: int, who: Who, clock: Clock) -> None:
        """Record that `who` reads `nbytes` from each start.

        Raises: PtxRaceError when another thread wrote there and nothing ordered it.
        """
        cells, who = self._cells(starts, nbytes, who)
        writer = self._arrays["writer"][cells]
        if (writer != NOBODY).any():
            self._check(cells, writer, "written", "write", np.ones(len(cells), bool), who, clock)
        self._record_read(cells, who, clock)

    def write(
        self, starts: np.ndarray, nbytes: int, changed: np.ndarray, who: Who, clock: Clock
    ) -> None:
        """Record that `who` writes; `changed` says per start whether the bytes become others.

        Raises: PtxRaceError when another thread wrote other bytes or read what was there, and
        nothing ordered it.
        """
        cells, who = self._cells(starts, nbytes, who)
        changes = changed.repeat(len(cells) // max(len(starts), 1))
        arrays = self._arrays
        self._check(cells, arrays["writer"][cells], "written", "write", changes, who, clock)
        self._check(cells, arrays["reader"][cells], "read", "read", changes, who, clock)
        arrays["writer"][cells] = who.threads
        arrays["writer_block"][cells] = who.blocks
        arrays["written"][cells] = clock.step
        arrays["reader"][cells] = arrays["reader_block"][cells] = NOBODY

    def _check(
        self, cells: np.ndarray, before: np.ndarray, when: str, did: str, matters: np.ndarray,
        who: Who, clock: Clock,
    ) -> None:  # fmt: skip
        blocks = self._arrays["writer_block" if did == "write" else "reader_block"][cells]
        suspects = matters & (before != NOBODY) & (before != who.threads)
        suspects &= ~clock.ordered(who.blocks, blocks, self._arrays[when][cells])
        if did == "read" and clock.has_atomics:
            suspects &= ~self._all_ordered(cells, suspects & (blocks == SEVERAL), who, clock)
        if suspects.any():
            place = int(np.flatnonzero(suspects)[0])
            thread, other = int(who.threads[place]), int(before[place])
            raise PtxRaceError(
                f"a race at offset {int(cells[place]) * self.grain}: {_name(thread, clock)} and a "
                f"{did} of {_name(other, clock)}, {int(suspects.sum())} such places"
            )

    def _all_ordered(
        self, cells: np.ndarray, asked: np.ndarray, who: Who, clock: Clock
    ) -> np.ndarray:
        """Where `asked`: whether the reads of all other blocks since the last write are ordered
        before now.
        """
        result = asked.copy()
        by_cell = dict(zip(cells[asked].tolist(), np.flatnonzero(asked).tolist(), strict=True))
        for read, blocks, steps in self._reads:
            found = np.isin(read, cells[asked]) & (steps > self._arrays["written"][read])
            places = np.array([by_cell[cell] for cell in read[found].tolist()], np.int64)
            own = blocks[found] == who.blocks[places]
            before = clock.ordered(who.blocks[places], blocks[found], steps[found])
            result[places[~before & ~own]] = False
        return result

    def _record_read(self, cells: np.ndarray, who: Who, clock: Clock) -> None:
        arrays = self._arrays
        reader, block = arrays["reader"][cells], arrays["reader_block"][cells]
        steps = arrays["read"][cells]
        is_first = (reader == NOBODY) | clock.ordered(who.blocks, block, steps)
        arrays["reader"][cells] = np.where(
            is_first | (reader == who.threads), who.threads, SEVERAL
        )
        arrays["reader_block"][cells] = np.where(
            is_first | (block == who.blocks), who.blocks, SEVERAL
        )
        arrays["read"][cells] = clock.step
        self._mark_shared(cells, "reader", who.threads)
        self._mark_shared(cells, "reader_block", who.blocks)
        if clock.has_atomics:
            self._log(cells, who.blocks, np.full(len(cells), clock.step))
            self._log(cells, block, steps)

    def _log(self, cells: np.ndarray, blocks: np.ndarray, steps: np.ndarray) -> None:
        several = (self._arrays["reader_block"][cells] == SEVERAL) & (blocks >= 0)
        if several.any():
            self._reads.append((cells[several], blocks[several], steps[several]))

    def _mark_shared(self, cells: np.ndarray, name: str, who: np.ndarray) -> None:
        """Cells that several lanes of this very access read: the last one has overwritten the
        others.
        """
        lost = (self._arrays[name][cells] != who) & (self._arrays[name][cells] != SEVERAL)
        self._arrays[name][cells[lost]] = SEVERAL

    def _cells(self, starts: np.ndarray, nbytes: int, who: Who) -> tuple[np.ndarray, Who]:
        self._refine(nbytes)
        count = nbytes // self.grain
        first = starts // self.grain
        if count == 1:
            return first, who
        return (first[:, None] + np.arange(count)).reshape(-1), who.spread(count)

    def _refine(self, nbytes: int) -> None:
        if not self.grain:
            self.grain = nbytes
            cells = -(-self.nbytes // nbytes)
            for name in ("writer", "writer_block", "reader", "reader_block"):
                self._arrays[name] = np.full(cells, NOBODY, np.int64)
            for name in ("written", "read"):
                self._arrays[name] = np.zeros(cells, np.int64)
        elif nbytes % self.grain:
            finer = math.gcd(nbytes, self.grain)
            finest = self.grain // finer
            for name, values in self._arrays.items():
                self._arrays[name] = values.repeat(finest)
            self._reads = [
                ((cells[:, None] * finest + np.arange(finest)).reshape(-1),
                 blocks.repeat(finest), steps.repeat(finest))
                for cells, blocks, steps in self._reads
            ]  # fmt: skip
            self.grain = finer


def _name(thread: int, clock: Clock) -> str:
    if thread < 0:
        return "several threads"
    block, number = divmod(thread, clock.threads)
    return f"thread {number} of block {block}"
