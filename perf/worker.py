"""A process that runs one library: libraries fight over threads when they share one.

`serve` answers requests that come through a connection, one after the other: prepare a workload
and check its result, run a block of timed calls, tell facts, stop. Between requests it sleeps, so
that workers of different libraries can be timed in turns.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from perf.environment import keep_to
from perf.peers import PEERS, Call, Missing, host
from perf.workloads import BY_NAME, START, Workload, error, ideal_bytes

#: The peers' own libm and order of summation are not under test: by bytes of a real result.
PEER_TOLERANCE = {2: 2e-2, 4: 1e-4, 8: 1e-5}
#: Calls at the start of a block only undo what the others left in the caches: times settle after
#: four to eight calls (measured on a 32 MB third-level cache). Long calls do not need it.
SETTLE_CALLS, SETTLE_SECONDS = 6, 0.02
#: And they wait until the threads of the process before are asleep, which look for more work for
#: some milliseconds (libgomp: 300,000 looks): on two processors they take one from who comes next.
SETTLE_LEAST = 0.01
#: Libraries compile in steps: structures that have come often enough, for instance. What functions
#: do with 400,000 elements or fewer is NumPy's at first with lazyfuse, for 0.1 to 0.2 s.
WARM_SECONDS = 0.25
#: Seconds of small operations before anything is measured, for what they compile of themselves.
START_SECONDS, START_ELEMENTS = 0.5, 1000
#: A sample is the mean of as many calls as take this long: the clock is read twice for each.
SAMPLE_SECONDS = 20e-6
BLOCK_SAMPLES = 64


class Worker:
    """One library with the workload that it was told to prepare."""

    def __init__(self, peer: str, reference: Path) -> None:
        self.peer = PEERS[peer]
        self.reference = reference
        self.call: Call | None = None
        self.once = 0.0
        self.is_started = False

    def prepare(self, name: str, size: int) -> dict[str, Any]:
        """Make inputs, run the workload, and compare with the results that NumPy has left."""
        self.call = None
        self.start()
        workload = BY_NAME[name]
        data = workload.inputs(size)
        call = self.peer.call(workload, data)
        start = time.perf_counter()
        results = tuple(host(result) for result in call())
        first = time.perf_counter() - start
        if self.peer.name == "numpy":
            save(self.reference, results)
        expected = load(self.reference)
        worst = max(error(a, e) for a, e in zip(results, expected, strict=True))
        if not worst <= self.tolerance(workload, results):
            kinds = [f"{result.dtype}{list(result.shape)}" for result in results]
            raise ValueError(f"differs from NumPy by {worst:.1e}, gives {', '.join(kinds)}")
        self.once = self.warmed(call, first)
        self.call = call
        return {"error": worst, "ideal_bytes": ideal_bytes(data, results)}

    def start(self) -> None:
        """Run small operations for a while, once; not for those that know the measured programs
        only."""
        if self.is_started:
            return
        self.is_started = True
        try:
            call = self.peer.call(START, START.inputs(START_ELEMENTS))
        except Missing:
            return
        for seconds in (START_SECONDS, WARM_SECONDS):
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                call()
            settle_compiler()

    def warmed(self, call: Call, first: float) -> float:
        """Seconds of a call once a library has done what it does for calls that come again."""
        times = [self.timed(call, 1) for _ in range(3 if first < 1.0 else 1)]
        for _ in range(2):
            end = time.perf_counter() + WARM_SECONDS
            while time.perf_counter() < end:
                times.append(self.timed(call, 1))
            settle_compiler()
        return min(times)

    def tolerance(self, workload: Workload, results: tuple[np.ndarray, ...]) -> float:
        """How far the results may be from NumPy's; its largest value is 1."""
        if self.peer.package == "lazyfuse":
            return workload.tolerance
        bytes_each = min(result.real.dtype.itemsize for result in results)
        return max(PEER_TOLERANCE.get(bytes_each, 0.0), workload.tolerance)

    def block(self, seconds: float) -> list[float]:
        """Give the seconds of a call, many times, for about `seconds` after settling."""
        assert self.call is not None
        calls = max(1, min(int(SAMPLE_SECONDS / max(self.once, 1e-9)), 1000))
        if self.once <= SETTLE_SECONDS:
            self.settle()
        samples = [self.timed(self.call, calls)]
        end = time.perf_counter() + seconds - samples[0] * calls
        while len(samples) < BLOCK_SAMPLES and time.perf_counter() < end:
            samples.append(self.timed(self.call, calls))
        return samples

    def settle(self) -> None:
        """Call until times are those of calls in a row."""
        assert self.call is not None
        start, calls = time.perf_counter(), 0
        while (
            (spent := time.perf_counter() - start) < SETTLE_LEAST
            or (calls < SETTLE_CALLS and spent < SETTLE_SECONDS)
        ):  # fmt: skip
            self.call()
            calls += 1

    def facts(self) -> dict[str, Any]:
        """Count what one warm call of lazyfuse does."""
        if self.peer.package != "lazyfuse" or self.call is None:
            return {}
        import lazyfuse

        lazyfuse.reset_stats()
        self.call()
        stats = lazyfuse.stats()
        return {
            "kernels": stats.kernels_launched,
            "fallbacks": stats.fallbacks,
            "moved_bytes": stats.bytes_read + stats.bytes_written,
        }

    def version(self) -> str:
        """The library's version; empty when it is not installed."""
        return self.peer.version()

    @staticmethod
    def timed(call: Call, calls: int) -> float:
        """Seconds of one of some calls in a row."""
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start) / calls


def settle_compiler() -> None:
    """Wait for what lazyfuse compiles in a thread or a process of its own, and have it used."""
    aside = sys.modules.get("lazyfuse.runtime.aside")
    if aside is None:
        return
    aside.wait()
    while sys.modules["lazyfuse.runtime.native_aside"].is_at_work():
        time.sleep(0.005)
    sys.modules["lazyfuse.frontend.rerecord"].ask_again()


def save(folder: Path, results: tuple[np.ndarray, ...]) -> None:
    """Leave NumPy's results for the other workers."""
    for old in folder.glob("*.npy"):
        old.unlink()
    for place, result in enumerate(results):
        np.save(folder / f"{place}.npy", result)


def load(folder: Path) -> tuple[np.ndarray, ...]:
    """Map the results that NumPy has left."""
    files = sorted(folder.glob("*.npy"), key=lambda path: int(path.stem))
    return tuple(np.load(path, mmap_mode="r") for path in files)


def serve(connection: Connection, peer: str, threads: int, reference: str) -> None:
    """Answer requests until there are no more: ("ok", value), ("missing", why), ("error", why)."""
    warnings.simplefilter("ignore")
    silence()
    keep_to(threads)
    worker = Worker(peer, Path(reference))
    while True:
        try:
            method, *arguments = connection.recv()
        except EOFError:
            return
        try:
            answer = ("ok", getattr(worker, method)(*arguments))
        except Missing as why:
            answer = ("missing", str(why))
        except Exception as why:
            lines = str(why).strip().splitlines() or [""]
            answer = ("error", f"{type(why).__name__}: {lines[0][:200]}")
        connection.send(answer)


def silence() -> None:
    """Libraries log to the terminal; drop that."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
