"""Launches over the same rows that run band by band, as `runtime/waves.py` has proved they may.

Launch k stays behind by `lags[k]` rows. A first job runs all launches on each band, fewer rows at
its edges the later the launch; a second one runs what is missing around each edge. Bands are apart
from each other, and so are edges, so threads share them. A band begins by copying what its rooms
keep: that is in the lines of memory which its launches read and write anyway.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from lazyfuse.backends.base import Buffer, Scalar
from lazyfuse.backends.cpu.launch import NS_PER_THREAD, WAKE_NS, Launch, Prepared
from lazyfuse.backends.cpu.launch_run import Block, Job, Run
from lazyfuse.backends.cpu.launch_text import WORKERS
from lazyfuse.ir.kept import Rooms
from lazyfuse.processors import default_threads

#: Bytes of a band: it stays in the second-level cache, or near it. Heat of 10M doubles, one
#: thread: 0.64 of the time of step by step from 1 to 6 MB, 0.7 beyond.
BAND_BYTES = 2 << 20
#: Bands per thread, to even out their speeds.
BANDS_PER_THREAD = 2
#: Rows of a band per row of lag, so that edges are apart and little is left for them.
ROWS_PER_LAG = 4

#: A call, as `lf_calls` reads it.
Row = tuple[int, int, int, int, int, int]
#: Words of the parameters of `lf_copy`.
_WORDS = 3


class _Turn(NamedTuple):
    """Memory of one run at a time: the parameters of each launch, and those of the copies to each
    room, in rows of three."""

    runs: Sequence[Run]
    copies: Block


class Bands:
    """Bound launches and their lags; `row_bytes` is what a row of all their operands takes."""

    def __init__(
        self, launches: Sequence[Launch], lags: Sequence[int], row_bytes: int, rooms: Rooms
    ) -> None:
        self._launches, self._rooms = launches, rooms
        self._lags = lags
        self._rows = launches[0].extents[0]
        self._row_bytes = row_bytes
        self._calls = launches[0].program.calls
        self._work_ns = sum(launch.work_ns for launch in launches)
        self._idle: dict[int, list[_Turn]] = {}  # by helpers

    def __call__(
        self,
        buffers: Sequence[Sequence[Buffer]],
        scalars: Sequence[Sequence[Scalar]],
        rooms: Sequence[tuple[Buffer, Buffer]],
        *,
        threads: int,
        ran: list[object] | None = None,
    ) -> int:
        """Run all launches, each on its buffers and scalars; return the conditions met. Rooms are
        given with the memory from which they get what is kept: their own where it is there."""
        helpers = self._helpers(threads)
        idle = self._idle.setdefault(helpers, [])
        turn = idle.pop() if idle else self._prepare(helpers)
        for launch, run, own, values in zip(
            self._launches, turn.runs, buffers, scalars, strict=True
        ):
            launch.write(run, own, values)
        for number, (target, source) in enumerate(rooms):
            turn.copies[_WORDS * number] = target.pointer
            turn.copies[_WORDS * number + 1] = source.pointer
        if helpers:
            self._launches[0].program.workers.start(helpers)
        turn.runs[0].launch(self._calls.launch, ran)
        met = turn.runs[0].met()
        idle.append(turn)
        return self._calls.decoded[met]

    def prepared(self, threads: int) -> Prepared:
        """What machine code runs; the rooms and their sources are its last operands. All slots
        count from the block of the first launch."""
        helpers = self._helpers(threads)
        turn = self._prepare(helpers)
        first = turn.runs[0]
        pointers: list[tuple[int, int]] = []
        scalars: list[tuple[int, str]] = []
        for launch, run in zip(self._launches, turn.runs, strict=True):
            begin = (run.params - first.params) // 8
            pointers += [(begin + slot, offset) for slot, offset in launch.pointers]
            scalars += [(begin + slot, dtype) for slot, dtype in launch.scalars]
        begin = (ctypes.addressof(turn.copies) - first.params) // 8
        for number in range(self._rooms.number):
            pointers += [(begin + _WORDS * number + word, 0) for word in range(2)]
        return Prepared(
            (self, turn), 0, first.block, 0, 0, helpers, 0,
            pointers, (), self._work_ns, scalars, first.address,
        )  # fmt: skip

    def _helpers(self, threads: int) -> int:
        wanted = int(self._work_ns / NS_PER_THREAD)
        return min((threads or default_threads()) - 1, wanted, WORKERS)

    def _prepare(self, helpers: int) -> _Turn:
        """Parameters, and jobs in the memory of the first launch."""
        edges, rooms = self._edges(helpers), range(self._rooms.number)
        runs = [launch.for_bands(edges[1]) for launch in self._launches]
        pieces = self._rooms.pieces
        address = 0 if pieces is None else pieces.ctypes.data
        copies = (ctypes.c_int64 * (_WORDS * len(rooms)))(*(0, 0, address) * len(rooms))
        inner, between = self._spans(edges)
        bands = [
            self._copies(low, high, ctypes.addressof(copies)) + self._rows_of(runs, spans)
            for low, high, spans in zip(edges, edges[1:], inner, strict=False)
        ]
        jobs, tables = [], []
        for calls in filter(None, (bands, [self._rows_of(runs, spans) for spans in between])):
            words = [word for rows in calls for row in rows for word in row]
            table, grain = (ctypes.c_int64 * len(words))(*words), len(calls[0])
            shared = min(helpers, len(calls) - 1)
            wakes = shared if self._work_ns >= WAKE_NS else 0
            kernel, end = self._calls.addresses["lf_calls"], grain * len(calls)
            jobs.append(Job(kernel, ctypes.addressof(table), end, grain, shared, wakes))
            tables.append(table)
        runs[0].set_jobs(jobs, tables)
        return _Turn(runs, copies)

    def _edges(self, helpers: int) -> list[int]:
        """Where bands begin and end."""
        count = max(self._rows * self._row_bytes // BAND_BYTES, 1)
        if helpers:
            count = max(count, BANDS_PER_THREAD * (helpers + 1))
        count = max(1, min(count, self._rows // (ROWS_PER_LAG * max(*self._lags, 1))))
        return [self._rows * number // count for number in range(count + 1)]

    def _spans(self, edges: Sequence[int]) -> tuple[list[list[range]], list[list[range]]]:
        """The rows of each launch, in each band and around each edge."""
        last = len(edges) - 2
        inner = [
            [
                range(low + (lag if band else 0), high - (lag if band < last else 0))
                for lag in self._lags
            ]
            for band, (low, high) in enumerate(zip(edges, edges[1:], strict=False))
        ]
        between = [[range(edge - lag, edge + lag) for lag in self._lags] for edge in edges[1:-1]]
        return inner, between

    def _copies(self, low: int, high: int, params: int) -> list[Row]:
        """The copies of a band: of all that its launches may read, so that threads need not wait
        for each other, and the bands beside it copy some of the same."""
        if self._rooms.pieces is None:
            return []
        first, last = self._rooms.near(low, high, max(*self._lags, 0) + 1)
        if low == 0:
            first = 0
        if high == self._rows:
            last = len(self._rooms.pieces)
        copy, nbytes = self._calls.addresses["lf_copy"], 8 * _WORDS
        rooms = range(self._rooms.number)
        return [(copy, params + nbytes * room, first, last, 0, 0) for room in rooms]

    def _rows_of(self, runs: Sequence[Run], spans: Sequence[range]) -> list[Row]:
        """The calls of all launches, one after the other."""
        return [
            (launch.program.address, run.params, rows.start, rows.stop, 0, 0)
            for launch, run, rows in zip(self._launches, runs, spans, strict=True)
        ]
