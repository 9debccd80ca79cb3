"""Launches over the same rows that run band by band, as `runtime/waves.py` has proved they may.

Launch k stays behind by `lags[k]` rows. A first job runs all launches on each band, fewer rows at
its edges the later the launch; a second one runs what is missing around each edge. Bands are apart
from each other, and so are edges, so threads share them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from lazyfuse.backends.base import Buffer, Scalar
from lazyfuse.backends.cpu.launch import NS_PER_THREAD, WAKE_NS, Launch
from lazyfuse.backends.cpu.launch_run import Job, Run
from lazyfuse.backends.cpu.launch_text import WORKERS
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


class Bands:
    """Bound launches and their lags; `row_bytes` is what a row of all their operands takes."""

    def __init__(self, launches: Sequence[Launch], lags: Sequence[int], row_bytes: int) -> None:
        self._launches = launches
        self._lags = lags
        self._rows = launches[0].extents[0]
        self._row_bytes = row_bytes
        self._calls = launches[0].program.calls
        self._work_ns = sum(launch.work_ns for launch in launches)
        self._idle: dict[int, list[list[Run]]] = {}  # by helpers

    def __call__(
        self,
        buffers: Sequence[Sequence[Buffer]],
        scalars: Sequence[Sequence[Scalar]],
        *,
        threads: int,
    ) -> int:
        """Run all launches, each on its buffers and scalars; return the conditions met."""
        wanted = int(self._work_ns / NS_PER_THREAD)
        helpers = min((threads or default_threads()) - 1, wanted, WORKERS)
        idle = self._idle.setdefault(helpers, [])
        runs = idle.pop() if idle else self._prepare(helpers)
        for launch, run, own, values in zip(self._launches, runs, buffers, scalars, strict=True):
            launch.write(run, own, values)
        if helpers:
            self._launches[0].program.workers.start(helpers)
        self._calls.launch(runs[0].address)
        met = runs[0].met()
        idle.append(runs)
        return self._calls.decoded[met]

    def _prepare(self, helpers: int) -> list[Run]:
        """The parameters of each launch; the first one's memory has the jobs."""
        edges = self._edges(helpers)
        runs = [launch.for_bands(edges[1]) for launch in self._launches]
        calls, count = self._calls.addresses["lf_calls"], len(runs)
        jobs, tables = [], []
        for spans in filter(None, self._spans(edges)):
            table = self._table(runs, spans)
            end, shared = count * len(spans), min(helpers, len(spans) - 1)
            wakes = shared if self._work_ns >= WAKE_NS else 0
            jobs.append(Job(calls, ctypes.addressof(table), end, count, shared, wakes))
            tables.append(table)
        runs[0].set_jobs(jobs, tables)
        return runs

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

    def _table(
        self, runs: Sequence[Run], spans: Sequence[Sequence[range]]
    ) -> ctypes.Array[ctypes.c_int64]:
        """The calls, all launches of a band one after the other."""
        words: list[int] = []
        for span in spans:
            for launch, run, rows in zip(self._launches, runs, span, strict=True):
                words += (launch.program.address, run.params, rows.start, rows.stop, 0, 0)
        return (ctypes.c_int64 * len(words))(*words)
