"""How many instructions a body becomes, and how many of them wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from lazyfuse.backends.cpu.vecmath import VECMATH, expansion
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ops.body import Instr
from lazyfuse.ops.primitives import PRIMITIVES

#: Instructions in a row, some four cycles each, from which the next vector is out of the reach of
#: out-of-order execution (some 300 instructions): measured, Mandelbrot gains a third.
LONG_CHAIN = 24
#: The same for folds, whose sums wait for each other anyway: measured, log1p(exp(x)) gains a sixth
#: (55 instructions in a row), and log(x) loses a tenth (27).
FOLD_CHAIN = 48
#: Instructions side by side that keep a core busy: two a cycle, four cycles each, and some of the
#: next vector. Haversine has 6 and gains a sixth on Cascade Lake, nothing on Zen 4; Black-Scholes
#: has 4 and gains a tenth on both.
SIDE_BY_SIDE = 9
#: What costs no instruction of its own.
_READS = frozenset({"load", "scalar", "const", "index", "acc"})


class Size(NamedTuple):
    """`total` instructions, vector math written out; `depth` of them one after the other."""

    total: int
    depth: int


@lru_cache(maxsize=16)  # asked by several parts of one kernel's emission
def size_of(body: tuple[Instr, ...]) -> Size:
    """Measure a body."""
    total = 0
    depths: list[int] = []
    for instr in body:
        own = _own(instr, body)
        total += own.total
        depths.append(own.depth + max((depths[arg] for arg in instr.args), default=0))
    return Size(total, max(depths, default=0))


def most_alive(body: Sequence[Instr]) -> int:
    """How many values of a body that are not read from elsewhere are alive at once, at the most,
    in the order in which it is written."""
    lasts: dict[int, int] = {}
    for place, instr in enumerate(body):
        for arg in instr.args:
            lasts[arg] = place
    ends = [0] * len(body)  # how many of them each instruction is the last to read
    for arg, place in lasts.items():
        ends[place] += body[arg].op not in _READS
    alive = most = 0
    for place, instr in enumerate(body):
        alive += instr.op not in _READS and place in lasts
        if alive > most:
            most = alive
        alive -= ends[place]
    return most


def _own(instr: Instr, body: Sequence[Instr]) -> Size:
    if instr.op in _READS:
        return Size(0, 0)
    if PRIMITIVES[instr.op].transcendental and instr.op in VECMATH:
        return _expanded(instr.op, body[instr.args[0]].dtype)
    return Size(1, 1)


@cache
def _expanded(name: str, dtype: str) -> Size:
    body, _ = expansion(name, dtype, None)  # without tables, by which limits were measured
    return size_of(tuple(body.instrs))


def has_functions(kernel: Kernel) -> bool:
    """Whether there is vector math."""
    ops = {instr.op for phase in kernel.phases for instr in phase.body}
    return any(PRIMITIVES[op].transcendental for op in ops)


def has_long_chains(kernel: Kernel) -> bool:
    """Whether one vector at a time leaves a core waiting: for polynomials, for an argmax, or for
    one step after the other."""
    sizes = [size_of(phase.body) for phase in kernel.phases]
    if kernel.inner:
        waits = any(acc.index is not None for acc in kernel.accumulators)
        waits |= any(depth >= FOLD_CHAIN for _, depth in sizes)
        return waits and kernel.folds_lanes
    if has_functions(kernel):
        return any(total < SIDE_BY_SIDE * depth for total, depth in sizes)
    return any(depth >= LONG_CHAIN for _, depth in sizes)
