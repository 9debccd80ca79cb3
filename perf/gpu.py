"""What a GPU is asked beside the programs of `scripts/bench --on cuda`: how near kernels come to
the speed of a copy, what a launch costs the host, and an equation of state beside eager CuPy.

`scripts/gpu_check` asks a card. The peer, the device and the sizes are given, so that the tests
ask NumPy and a CPU the same on small arrays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import lazyfuse as lf
from lazyfuse.runtime import engine
from perf.bars import Bar
from perf.gpu_rivals import Program, Rival
from perf.workloads.science import equation_of_state, seawater_inputs
from perf.workloads.standard import layer_norm, softmax

#: Operations of the chains, and the share of a copy's bandwidth that they have to reach.
CHAINS, OF_COPY = (2, 4, 8, 16, 24), 0.90
#: The share that folds and programs of rows have to reach.
OF_COPY_FOLDS = 0.85
#: Microseconds of the host for ten operations that have been run before, and under `fuse`.
HOST_US, FUSED_HOST_US = 20.0, 8.0
#: How much faster than CuPy, operation by operation, an equation of state has to be.
STATE_RATIO = 20.0
#: The fastest rival's time in ours, at least: the clock and the card vary by that much.
RIVAL_RATIO = 0.98
ROW = 8192


@dataclass(frozen=True, slots=True)
class Card:
    """A device, the library that it is compared with, how that waits for it, and the bytes of an
    array: far beyond any cache, on a GPU. `repeats`: groups of `calls`, the least of which counts.
    `rivals`: compilers that get the same questions.
    """

    name: str
    peer: Any
    wait: Callable[[], object]
    nbytes: int = 1 << 29
    repeats: int = 7
    calls: int = 20
    rivals: dict[str, Rival] = field(default_factory=dict)

    def seconds(
        self,
        run: Callable[[], object],
        calls: int | None = None,
        wait: Callable[[], object] | None = None,
    ) -> float:
        """The least time of one call among several groups of calls, after a warm-up: so many that
        the start of the first and the wait for the last do not count."""
        wait, calls = wait or self.wait, calls or self.calls
        for _ in range(2):
            run()
        wait()
        best = float("inf")
        for _ in range(self.repeats):
            start = time.perf_counter()
            for _ in range(calls):
                run()
            wait()
            best = min(best, (time.perf_counter() - start) / calls)
        return best


def chain(operations: int) -> Program:
    """So many operations, one after the other, of one array; none can be left out."""

    def program(xp: Any, x: Any) -> Any:
        y = x
        for step in range(operations):
            y = y * x if step % 2 else y + x
        return y

    return program


def normalized(xp: Any, x: Any) -> Any:
    """Layer normalization of rows."""
    return layer_norm(xp, {"x": x, "gain": x[0], "bias": x[1]})


def biased(xp: Any, x: Any) -> Any:
    """A product of few columns, and one kernel after it."""
    return xp.maximum(x @ x[:64].T + x[0, :64], 0)


@dataclass(frozen=True, slots=True)
class Question:
    """A program over rows of an array; `arrays` of the input's size that it has to move, and the
    share of a copy's bandwidth to reach, 0 for none."""

    name: str
    arrays: int
    of_copy: float
    program: Program


QUESTIONS = (
    *(Question(f"chain of {count}", 2, OF_COPY, chain(count)) for count in CHAINS),
    Question("transcendental chain", 2, 0.0, lambda xp, x: xp.exp(-x * x) * xp.sin(x)),
    Question("sum", 1, OF_COPY_FOLDS, lambda xp, x: (x * x).sum()),
    Question("row sum", 1, OF_COPY_FOLDS, lambda xp, x: x.sum(axis=1)),
    Question("column sum", 1, OF_COPY_FOLDS, lambda xp, x: x.sum(axis=0)),
    Question("row argmax", 1, OF_COPY_FOLDS, lambda xp, x: xp.argmax(x, axis=1)),
    Question("softmax", 2, OF_COPY_FOLDS, lambda xp, x: softmax(xp, {"x": x})),
    Question("layer norm", 2, OF_COPY_FOLDS, normalized),
    Question("standardize", 2, 0.0, lambda xp, x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1)),
    Question("bias and relu after matmul", 1, 0.0, lambda xp, x: biased(xp, x)),
)
#: Dtypes, and the questions that make sense for each.
DTYPES = {
    "f8": QUESTIONS,
    "f4": QUESTIONS,
    "f2": QUESTIONS,
    "u1": QUESTIONS[: len(CHAINS)],
}


def bandwidths(card: Card) -> Iterator[dict[str, Any]]:
    """Each question per dtype, beside a copy of as many bytes and beside the peer."""
    for dtype, questions in DTYPES.items():
        rows = max(card.nbytes // np.dtype(dtype).itemsize // ROW, 64)
        draw = np.random.default_rng(0)
        host = (draw.random((rows, ROW), np.float32) * 4).astype(dtype)
        there, lazy = card.peer.asarray(host), lf.array(host, device=card.name)
        target = card.peer.empty_like(there)
        copied = card.seconds(partial(card.peer.copyto, target, there))
        for asked in questions:
            yield _timed(card, asked, lazy, there, copied)


def queue(*results: Any) -> None:
    """Have them computed; `lf.materialize` would wait for them."""
    device = results[0]._storage.device  # the object that machine code knows
    engine.flush([result._read() for result in results], device)


def _timed(card: Card, asked: Question, lazy: Any, there: Any, copied: float) -> dict[str, Any]:
    own = card.seconds(lambda: queue(asked.program(lf, lazy)))
    peers = card.seconds(lambda: asked.program(card.peer, there))
    return {
        "workload": asked.name,
        "dtype": str(lazy.dtype),
        "copy_gb_per_s": 2 * lazy.nbytes / copied / 1e9,
        "gb_per_s": asked.arrays * lazy.nbytes / own / 1e9,
        "of_copy": asked.arrays / 2 * copied / own,
        "wanted": asked.of_copy,
        "lazyfuse_s": own,
        "peer_s": peers,
        "rivals_s": dict(_rivals(card, asked.program, there)),
    }


def _rivals(card: Card, program: Program, there: Any) -> Iterator[tuple[str, float | None]]:
    """The time of each rival; none for what it cannot compile."""
    for name, rival in card.rivals.items():
        try:
            run, wait = rival(program, there)
            yield name, card.seconds(run, wait=wait)
        except Exception:  # whatever a compiler says: it is the rival's answer
            yield name, None


def host_times(card: Card) -> dict[str, float]:
    """Microseconds until ten operations on a small array are queued: recorded and run by a plan
    that is known, and replayed; nobody waits for the kernel."""
    x = lf.array(np.linspace(0.0, 1.0, 1000), device=card.name)

    def plain() -> None:
        queue(chain(10)(lf, x))

    replayed = lf.fuse(partial(chain(10), lf))
    return {
        "plain_us": _each(card, plain) * 1e6,
        "fuse_us": _each(card, lambda: replayed(x)) * 1e6,
    }


def _each(card: Card, run: Callable[[], object], calls: int = 100) -> float:
    """The median time of a call, which is not waited for."""
    times = []
    for turn in range(3 * calls):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
        if turn % 10 == 9:
            card.wait()  # or the queue fills, and its end is waited for
    return median(times[calls:])


def small_kernels(card: Card) -> dict[str, Any]:
    """A turn of a loop of small kernels, with and without CUDA graphs: microseconds, the bits, and
    how many runs were graphs."""
    found: dict[str, Any] = {}
    bits = []
    for graphs in (False, True):
        with lf.options(eager_size=0, cuda_graphs=graphs):
            step = lf.fuse(small_step)
            state = [lf.array(np.linspace(0, 1, 10_000), device=card.name)]

            def turn() -> None:
                state[0] = step(state[0])  # noqa: B023

            lf.reset_stats()
            for _ in range(100):
                turn()
            bits.append(lf.asnumpy(state[0]).tobytes())
            found["graph_us" if graphs else "one_by_one_us"] = card.seconds(turn, 50) * 1e6
            found["graphs"] = lf.stats().graph_launches
    return {**found, "same_bits": bits[0] == bits[1]}


def small_step(x: Any) -> Any:
    """Several kernels that have little to do."""
    y = (x * 0.5).cumsum()
    z = y - y.max()
    return (z * z).cumsum() / 4096.0 + x


def state(card: Card) -> dict[str, float]:
    """The density of sea water and its derivatives, beside the peer operation by operation."""
    data = seawater_inputs(max(card.nbytes // 64, 1000))
    own = {name: lf.array(value, device=card.name) for name, value in data.items()}
    theirs = {name: card.peer.asarray(value) for name, value in data.items()}
    fused = card.seconds(lambda: queue(*equation_of_state(lf, own)))
    eager = card.seconds(lambda: equation_of_state(card.peer, theirs))
    return {"lazyfuse_s": fused, "peer_s": eager, "ratio": eager / fused}


def measure(card: Card, show: Callable[[str], None] = print) -> dict[str, Any]:
    """Everything, shown as it comes."""
    report: dict[str, Any] = {"bandwidth": []}
    for row in bandwidths(card):
        report["bandwidth"].append(row)
        show(
            f"{row['workload']:28}{row['dtype']:9}{row['lazyfuse_s'] * 1e3:9.3f} ms"
            f"{row['gb_per_s']:8.0f} GB/s {row['of_copy']:5.0%} of a copy"
            f"{row['peer_s'] / row['lazyfuse_s']:8.1f} x the peer, op by op"
            + "".join(f", {name} {_ratio(row, name)}" for name in row["rivals_s"])
        )
    report |= {"host": host_times(card), "graphs": small_kernels(card), "state": state(card)}
    for bar in bars(report):
        show(str(bar))
    return report


def _ratio(row: dict[str, Any], rival: str) -> str:
    """A rival's time in ours."""
    seconds = row["rivals_s"][rival]
    return "none" if seconds is None else f"{seconds / row['lazyfuse_s']:.2f}"


def fastest_rival(row: dict[str, Any]) -> tuple[str, float] | None:
    """The fastest rival and its time in ours; None where none could compile the program."""
    times = {name: value for name, value in row["rivals_s"].items() if value is not None}
    if not times:
        return None
    name = min(times, key=times.__getitem__)
    return name, times[name] / row["lazyfuse_s"]


def bars(report: dict[str, Any]) -> Iterator[Bar]:
    """The promises, judged by what was measured."""
    for row in report["bandwidth"]:
        if row["wanted"]:
            name = f"{row['workload']}, {row['dtype']}, of a copy"
            yield Bar(name, row["of_copy"] * 100, row["wanted"] * 100, "%", True)
        first = fastest_rival(row)
        if first is not None:
            rival, ratio = first
            name = f"{row['workload']}, {row['dtype']}, {rival} to lazyfuse"
            yield Bar(name, ratio, RIVAL_RATIO, "x", True)
    host, state = report["host"], report["state"]
    yield Bar("ten operations, host", host["plain_us"], HOST_US, "us", False)
    yield Bar("ten operations under fuse, host", host["fuse_us"], FUSED_HOST_US, "us", False)
    yield Bar("equation of state, op by op to fused", state["ratio"], STATE_RATIO, "x", True)
