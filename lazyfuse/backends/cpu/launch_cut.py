"""How a launch is cut: what threads share, and what a column reduction takes together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from lazyfuse.backends.cpu.emit_params import BLOCK_VECTORS, is_strided, lane_count, walked
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place
from lazyfuse.backends.cpu.features import second_cache_bytes, stream_bytes
from lazyfuse.ir.kernel import Kernel, Level, Role
from lazyfuse.ops.primitives import PRIMITIVES
from lazyfuse.processors import default_threads

#: Of one thread between its second cache and what is behind it (27 GB/s on Emerald Rapids).
NS_PER_BYTE = 0.04
#: Bytes of scratch memory per block of columns: half a usual second-level cache.
SCRATCH_BYTES = 512 << 10
#: Bytes of a block of columns, which later phases read again from the last cache. Of few rows it
#: is as wide as the stack has room for, which reads whole pages: x - x.mean(axis=0) of 100 rows of
#: float32 takes 0.6 of the time that it takes with LEAST_VECTORS.
BLOCK_BYTES, LEAST_VECTORS, VECTOR_BYTES = 8 << 20, 16, 64
#: Bytes of a row that a block has at most.
ROW_BYTES = BLOCK_VECTORS * VECTOR_BYTES
#: Rows that a block of columns takes at once. Measured with 16 and 1000 columns of doubles: 2 rows
#: or 32 take up to a half longer.
BLOCK_ROWS = 8
#: Elements of the lane axis that go to one thread together. A column reduction over strips of 8
#: doubles takes 2 to 4 times as long as over 64 (1M doubles, 16 to 1000 columns), so narrower ones
#: are taken only where there are too few columns for all threads (16 columns in two strips: 0.6 of
#: the time); for elementwise kernels it is a cache line of bytes.
UNIT_ELEMENTS = 64
#: Nanoseconds per point from which a column reduction is not bound by memory: narrow strips pay.
HEAVY_NS = 2.0
#: GB/s at which a thread reads memory that no cache holds: rows as they lie, one by one, of at
#: most a page; and of longer rows, or several threads, strips of so many bytes (Zen 4, 80 MB; what
#: fetches memory ahead follows one line of addresses in a page at a time. 16 to 512 columns of
#: doubles took 4 to 6 ms in strips of less for two threads, and take 2.2 to 2.8).
WHOLE_RATE = 33.0
STRIP_RATES = {4096: 22.0, 1024: 14.0}


class Cut(NamedTuple):
    """axis, unit: the outer axis that threads share, and how much of it goes to one of them
    together. columns, rows: of a block of a column reduction."""

    axis: int
    unit: int
    columns: int
    rows: int


def cut(kernel: Kernel, extents: tuple[int, ...], lanes: int, ns: float, nbytes: int) -> Cut:
    """How a kernel is cut whose points take so many nanoseconds, and that moves so much memory."""
    axis, unit = _split_axis(kernel, walked(kernel, extents), lanes, ns)
    found = Cut(axis, unit, _block_columns(kernel, extents, lanes), BLOCK_ROWS)
    is_long = nbytes > stream_bytes() and math.prod(extents) * ns < nbytes * NS_PER_BYTE
    has_scratch = any(arg.role is Role.SCRATCH for arg in kernel.args)
    if not (is_long and kernel.inner and kernel.outer) or has_scratch or is_strided(kernel):
        return found
    return found if kernel.folds_lanes else _from_memory(found, kernel, extents, lanes)


def _from_memory(found: Cut, kernel: Kernel, extents: tuple[int, ...], lanes: int) -> Cut:
    """The cut of columns that no cache holds."""
    lane = kernel.outer - 1
    columns, threads = BLOCK_VECTORS * lanes, default_threads()
    row_bytes = VECTOR_BYTES * -(-extents[lane] // lanes)
    if found.axis != lane:  # threads have rows of their own
        return found._replace(columns=columns, rows=_rows(row_bytes))
    rates = {
        strip: rate * min(threads, -(-row_bytes // strip)) for strip, rate in STRIP_RATES.items()
    }
    strip = max(rates, key=rates.__getitem__)
    if row_bytes <= ROW_BYTES and rates[strip] <= WHOLE_RATE:
        return found._replace(unit=columns, columns=columns, rows=_rows(row_bytes))
    unit = strip * lanes // VECTOR_BYTES
    return found._replace(unit=unit, columns=unit)


def _rows(row_bytes: int) -> int:
    """How many rows are taken at once: of those whose columns are all in one block, as few as keep
    to one line of addresses, a KB of short ones."""
    if row_bytes > ROW_BYTES:
        return BLOCK_ROWS
    return max(1024 // row_bytes, 1) if row_bytes <= 256 else 1


class Measures(NamedTuple):
    """What follows from a kernel, and takes as long to find out as to load its code."""

    lanes: int
    ns_per_point: float


def measures(kernel: Kernel, plans: Sequence[PhasePlan]) -> Measures:
    """The measures of a kernel of these phases."""
    return Measures(lane_count(kernel), ns_per_point(kernel, plans))


def ns_per_point(kernel: Kernel, plans: Sequence[PhasePlan]) -> float:
    """A rough time per index of one thread, to tell small work from large."""
    cycles = 0.0
    for plan in plans:
        if plan.level is Level.OUTER and kernel.inner:
            continue
        pairs = zip(plan.body, plan.places, strict=True)
        cycles += sum(PRIMITIVES[instr.op].cost for instr, place in pairs if place is Place.LANE)
        cycles += 2 * len(plan.stores) + len(plan.folds)
    return cycles / 8 / 3


def moved_bytes(
    kernel: Kernel, extents: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> int:
    """The memory of all arguments, each element once."""
    args = [arg for arg in kernel.args if arg.role is not Role.SCRATCH]
    return sum(
        math.prod(extent for extent, step in zip(extents, steps, strict=False) if step)
        * int(arg.dtype[1:])
        for arg, steps in zip(args, strides, strict=True)
    )


def memory_ns(nbytes: int) -> float:
    """A rough time in which one thread moves memory, where its second cache does not hold it."""
    return nbytes * NS_PER_BYTE if nbytes > second_cache_bytes() else 0.0


def _block_columns(kernel: Kernel, extents: tuple[int, ...], lanes: int) -> int:
    """The columns a column reduction takes together; less where scratch would not fit a cache."""
    sizes = [int(arg.dtype[1:]) for arg in kernel.args if arg.role is Role.SCRATCH]
    rows = max(1, math.prod(extents[kernel.outer :]))
    if not sizes:
        vectors = BLOCK_BYTES // (VECTOR_BYTES * rows)
        return lanes * max(LEAST_VECTORS, min(BLOCK_VECTORS, vectors))
    vector_bytes = lanes * rows * sum(sizes)
    return lanes * max(1, min(BLOCK_VECTORS, SCRATCH_BYTES // vector_bytes))


def _unit(kernel: Kernel, extent: int, lanes: int, ns: float) -> int:
    """How many elements of the lane axis go to one thread together."""
    if not kernel.inner:
        return UNIT_ELEMENTS
    if ns >= HEAVY_NS:
        return lanes
    each = -(-max(extent, 1) // (default_threads() * lanes)) * lanes
    return min(UNIT_ELEMENTS, each)


def _split_axis(
    kernel: Kernel, extents: tuple[int, ...], lanes: int, ns: float
) -> tuple[int, int]:
    """The outer axis that threads share (the first long one, else the longest) and its unit."""
    if not kernel.outer:
        return 0, 1
    units = [1] * kernel.outer
    if not kernel.folds_lanes:
        units[-1] = _unit(kernel, extents[-1], lanes, ns)
    counts = [-(-extent // unit) for extent, unit in zip(extents, units, strict=False)]
    longest = max(range(kernel.outer), key=lambda axis: (min(counts[axis], 16), -axis))
    return longest, units[longest]
