"""Stores that go past the caches, for results that are too large to stay in them.

A plain store reads its line first, and pushes out another. Where a kernel moves more memory than
the last cache holds, its result is gone before anybody reads it, and storing past the caches moves
a quarter less (three operands of 2M doubles and more: 0.75 times the time). Where everything fits,
the next reader would have to go to memory, so plain stores are kept (half the size of the cache:
1.25 times the time with a reader). In place the line is there anyway: plain stores.

Which of both loops runs is decided when the kernel runs, from the extents; alignment, at each run
of the lane axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lazyfuse.backends.cpu.chains import size_of
from lazyfuse.backends.cpu.emit_memory import Tail
from lazyfuse.backends.cpu.emit_params import is_strided
from lazyfuse.backends.cpu.emit_plan import PhasePlan
from lazyfuse.backends.cpu.emit_site import Site
from lazyfuse.backends.cpu.features import stream_bytes
from lazyfuse.ir.kernel import FIXED, UNIT, Kernel, Role

#: Longer bodies wait for arithmetic, not for memory.
LONGEST = 40
#: Bytes that one store must fill, at the least, to go past the caches.
SMALLEST_STORE = 16


def with_streams(site: Site, plans: Sequence[PhasePlan]) -> Site:
    """The site with `streams`, the condition for storing past the caches; at the entry."""
    if not any(_streamed(site.kernel, plan) for plan in plans):
        return site
    writer = site.writer
    moved = "0"
    for arg in site.kernel.args:
        if arg.role is not Role.SCRATCH:
            nbytes = str(int(arg.dtype[1:]))
            for axis, access in enumerate(arg.access):
                if access != FIXED:
                    nbytes = writer.i64("mul", nbytes, site.extent(axis))
            moved = writer.add(moved, nbytes)
    flag = writer.value(f"icmp sge i64 {moved}, {stream_bytes()}")
    for out in site.kernel.outputs:
        for number, arg in enumerate(site.kernel.args):
            if arg.role is Role.IN:
                pair = f"{site.cursor[out]}, {site.cursor[number]}"
                differs = writer.value(f"icmp ne ptr {pair}")
                flag = writer.value(f"and i1 {flag}, {differs}")
    return replace(site, streams=flag)


def finish_streams(site: Site) -> None:
    """Wait until other threads see what went past the caches; at the kernel's end."""
    writer = site.writer
    if site.streams is not None and writer.has_sse:
        writer.declarations["llvm.x86.sse.sfence"] = "declare void @llvm.x86.sse.sfence()"
        with writer.when(site.streams):
            writer.line("call void @llvm.x86.sse.sfence()")


def is_streamed(site: Site, plan: PhasePlan) -> bool:
    """Whether `each_streamed` is for a phase."""
    return site.streams is not None and _streamed(site.kernel, plan)


def each_streamed(
    site: Site, plan: PhasePlan, span: tuple[str, str], run: Callable[[Site], object]
) -> None:
    """Run at every vector of a span of the lane axis, as `each_vector` does."""
    writer, (low, high) = site.writer, span
    length = writer.i64("sub", high, low)
    rest = writer.i64("and", length, str(writer.lanes - 1))
    full = writer.i64("sub", high, rest)
    flag = _with_alignment(site, plan, low)
    middle = writer.value(f"select i1 {flag}, i64 {full}, i64 {low}")
    with writer.loop(low, middle, str(writer.lanes)) as position:
        run(replace(site.at_vector(position, None), past_caches=True))
    with writer.loop(middle, full, str(writer.lanes)) as position:
        run(site.at_vector(position, None))
    with writer.when(writer.value(f"icmp sgt i64 {rest}, 0")):
        run(site.at_vector(full, Tail(writer, rest)))


def _with_alignment(site: Site, plan: PhasePlan, low: str) -> str:
    """`streams`, where all results also start at whole lines."""
    writer, axis = site.writer, site.kernel.lane_axis
    assert axis is not None and site.streams is not None
    flag, there = site.streams, site.enter(axis, low)
    for arg in {store.arg for store in plan.stores}:
        address = writer.value(f"ptrtoint ptr {there.cursor[arg]} to i64")
        offset = writer.i64("and", address, "63")
        is_aligned = writer.value(f"icmp eq i64 {offset}, 0")
        flag = writer.value(f"and i1 {flag}, {is_aligned}")
    return flag


def _streamed(kernel: Kernel, plan: PhasePlan) -> bool:
    axis = kernel.lane_axis
    if axis is None or is_strided(kernel) or kernel.scattered or kernel.scan is not None:
        return False
    stored = [kernel.args[store.arg] for store in plan.stores]
    if not stored or size_of(plan.body).total >= LONGEST:
        return False
    return all(arg.role is Role.OUT and arg.access[axis] == UNIT for arg in stored)
