"""Stores in whole lines, and past the caches for results that are too large to stay in them.

A vector that lies in two lines is stored in two steps, and loaded so where operands lie like the
result. So a long run of the lane axis that begins inside a line first computes what is left of
it (rows of 1,000 doubles less their edges, in the second cache: 0.87 times the time).

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
from contextlib import ExitStack
from dataclasses import replace

from lazyfuse.backends.cpu.chains import size_of
from lazyfuse.backends.cpu.emit_memory import Tail
from lazyfuse.backends.cpu.emit_neighbours import each_together, with_neighbours
from lazyfuse.backends.cpu.emit_params import is_strided
from lazyfuse.backends.cpu.emit_plan import PhasePlan
from lazyfuse.backends.cpu.emit_site import Site
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.features import stream_bytes
from lazyfuse.ir.kernel import FIXED, UNIT, Kernel, Role

#: Longer bodies wait for arithmetic, not for memory.
LONGEST = 40
#: Bytes that one store must fill, at the least, to go past the caches.
SMALLEST_STORE = 16
#: Vectors from which a run of the lane axis begins with a part of one, so that others are whole
#: in memory.
LEAST_VECTORS = 16
_LINE = 64


def with_streams(site: Site, plans: Sequence[PhasePlan]) -> Site:
    """The site with `streams`, the condition for storing past the caches; at the entry."""
    if not any(_streamed(site.kernel, plan) for plan in plans):
        return site
    site = with_neighbours(site)
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
    flag = _with_alignment(site, plan, low)
    with ExitStack() as stack:
        if site.kernel.inner or site.kernel.joined > 1:  # their vectors have fixed places
            begin, full, rest = low, *_whole(writer, low, high)
        else:
            begin, full, rest = _in_turns(site, plan, span, stack)
        middle = writer.value(f"select i1 {flag}, i64 {full}, i64 {begin}")
        with writer.loop(begin, middle, str(writer.lanes)) as position:
            run(replace(site.at_vector(position, None), past_caches=True))
        middle = each_together(site, middle, full, run)
        with writer.loop(middle, full, str(writer.lanes)) as position:
            run(site.at_vector(position, None))
        with writer.when(writer.value(f"icmp sgt i64 {rest}, 0")):
            run(site.at_vector(full, Tail(writer, rest)))


def _whole(writer: FunctionWriter, low: str, high: str) -> tuple[str, str]:
    """Where the last part of a vector begins, and how many elements it has."""
    rest = writer.i64("and", writer.i64("sub", high, low), str(writer.lanes - 1))
    return writer.i64("sub", high, rest), rest


def _in_turns(
    site: Site, plan: PhasePlan, span: tuple[str, str], stack: ExitStack
) -> tuple[str, str, str]:
    """A first turn for what lies before the first whole vector of a result in memory, if
    something does, and one for the rest: from where, up to where vectors are whole, and how many
    elements come then. The stack closes the loop over both."""
    writer, (low, high) = site.writer, span
    lead = _lead(site, plan, span)
    start = writer.add(low, lead)
    full, rest = _whole(writer, start, high)
    first = writer.value(f"zext i1 {writer.value(f'icmp eq i64 {lead}, 0')} to i64")
    turn = stack.enter_context(writer.loop(first, "2", enters=True))
    is_lead = writer.value(f"icmp eq i64 {turn}, 0")
    pairs = ((low, start), (low, full), (lead, rest))
    begin, full, rest = [
        writer.value(f"select i1 {is_lead}, i64 {one}, i64 {other}") for one, other in pairs
    ]
    return begin, full, rest


def _lead(site: Site, plan: PhasePlan, span: tuple[str, str]) -> str:
    """How many elements come before the first whole vector of a result in memory."""
    writer, axis, (low, high) = site.writer, site.kernel.lane_axis, span
    assert axis is not None
    number = plan.stores[0].arg
    itemsize = int(site.kernel.args[number].dtype[1:])
    nbytes = min(itemsize * writer.lanes, _LINE)
    address = writer.value(f"ptrtoint ptr {site.enter(axis, low).cursor[number]} to i64")
    missing = writer.i64("and", writer.i64("sub", "0", address), str(nbytes - 1))
    lead = writer.i64("lshr", missing, str(itemsize.bit_length() - 1))
    length = writer.i64("sub", high, low)
    is_long = writer.value(f"icmp sge i64 {length}, {LEAST_VECTORS * writer.lanes}")
    return writer.value(f"select i1 {is_long}, i64 {lead}, i64 0")


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
