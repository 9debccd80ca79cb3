"""One copy of a body for whole vectors and for the tail, which is walked as one more vector.

A body with transcendental functions takes milliseconds to compile, and twice as many when it is
written again for the last, partial vector. Here it runs in two rounds of one loop: over the whole
vectors where they are, then over the tail in rooms on the stack, into which the operands were
copied and from which the results are. The loop itself is the same as without a tail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from lazyfuse.backends.cpu.chains import size_of
from lazyfuse.backends.cpu.emit_memory import Tail, load_vector, memory_type, store_vector
from lazyfuse.backends.cpu.emit_params import has_steps, is_strided
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place
from lazyfuse.backends.cpu.emit_site import Site
from lazyfuse.backends.cpu.vector import part_dtype
from lazyfuse.ir.kernel import UNIT, Kernel

#: Instructions from which a second copy takes more than a millisecond to compile.
LONG = 40


def is_in_rounds(kernel: Kernel, plan: PhasePlan) -> bool:
    """Whether a body is long, and all that it meets along the lanes can be copied."""
    is_one_by_one = is_strided(kernel) or kernel.gathered or kernel.scattered
    if kernel.inner or is_one_by_one or has_steps(kernel):
        return False
    pairs = zip(plan.body, plan.places, strict=True)
    if any(instr.op == "index" and place is Place.LANE for instr, place in pairs):
        return False
    return size_of(plan.body).total >= LONG


def each_in_rounds(
    site: Site, plan: PhasePlan, span: tuple[str, str], run: Callable[[Site], object]
) -> None:
    """Run at every vector of a span of the lane axis."""
    writer, axis = site.writer, site.kernel.lane_axis
    assert axis is not None
    low, high = span
    length = writer.i64("sub", high, low)
    rest = writer.i64("and", length, str(writer.lanes - 1))
    whole = writer.i64("sub", length, rest)
    has_tail = writer.value(f"icmp ne i64 {rest}, 0")
    reads, writes = _reads(plan), [store.arg for store in plan.stores]
    rooms = {arg: _room(site, arg) for arg in {*reads, *writes} if _is_dense(site, arg)}
    with writer.loop("0", writer.value(f"select i1 {has_tail}, i64 2, i64 1")) as number:
        is_tail = writer.value(f"icmp eq i64 {number}, 1")
        begin = writer.value(f"select i1 {is_tail}, i64 {writer.add(low, whole)}, i64 {low}")
        end = writer.value(f"select i1 {is_tail}, i64 {writer.lanes}, i64 {whole}")
        there = site.enter(axis, begin)
        with writer.when(is_tail):
            _copy_in(there, rooms, reads, Tail(writer, rest))
        cursor = dict(there.cursor)
        for arg, room in rooms.items():
            choice = f"select i1 {is_tail}, ptr {room}, ptr {cursor[arg]}"
            cursor[arg] = writer.value(choice)
        here = replace(site, cursor=cursor)
        with writer.loop("0", end, str(writer.lanes)) as position:
            run(here.at_vector(position, None))
        with writer.when(is_tail):
            _copy_out(there, rooms, writes, Tail(writer, rest))


def _reads(plan: PhasePlan) -> list[int]:
    """The arguments that are read along the lanes."""
    pairs = zip(plan.body, plan.places, strict=True)
    loads = (instr.attr for instr, place in pairs if instr.op == "load" and place is Place.LANE)
    return sorted({arg for arg in loads if isinstance(arg, int)})


def _is_dense(site: Site, arg: int) -> bool:
    axis = site.kernel.lane_axis
    assert axis is not None
    return site.kernel.args[arg].access[axis] == UNIT


def _room(site: Site, arg: int) -> str:
    """Memory for a vector of an argument."""
    writer, dtype = site.writer, site.kernel.args[arg].dtype
    parts = 2 if dtype[0] == "c" else 1
    return writer.slot(memory_type(part_dtype(dtype), writer.lanes * parts))


def _copy_in(site: Site, rooms: Mapping[int, str], args: Iterable[int], tail: Tail) -> None:
    for arg in args:
        if arg in rooms:
            dtype = site.kernel.args[arg].dtype
            value = load_vector(site.writer, dtype, site.cursor[arg], stride=UNIT, tail=tail)
            store_vector(site.writer, value, rooms[arg], stride=UNIT, tail=None)


def _copy_out(site: Site, rooms: Mapping[int, str], args: Iterable[int], tail: Tail) -> None:
    for arg in args:
        if arg in rooms:
            dtype = site.kernel.args[arg].dtype
            value = load_vector(site.writer, dtype, rooms[arg], stride=UNIT, tail=None)
            store_vector(site.writer, value, site.cursor[arg], stride=UNIT, tail=tail)
