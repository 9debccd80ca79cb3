"""Arguments that lie a few elements apart, as those of a stencil do, are loaded once: the vectors
of each come out of two that follow each other, of which the second is the next step's first.

    memory   a0 a1 a2 a3 | a4 a5 a6 a7 |           4 lanes
    near +0  a0 a1 a2 a3
    near +1     a1 a2 a3   a4

A load that lies in two lines takes as long as two (a step of the heat equation has five of them
for one store: 0.75 times the time in the caches). Registers of half a line are not worth it.

The kernel says how things are as a rule; whether they are is asked when it runs. The last whole
vector is left to others, so nothing outside an array is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lazyfuse.backends.cpu.emit_memory import load_vector
from lazyfuse.backends.cpu.emit_site import Site
from lazyfuse.backends.cpu.features import loads_together
from lazyfuse.backends.cpu.vector import Operand, vector_type
from lazyfuse.ir.kernel import STRIDED, UNIT

#: Bytes of a register from which arguments are loaded together.
LEAST_WIDTH = 64


def with_neighbours(site: Site) -> Site:
    """The site with `together`, the condition for loading once, and `neighbours`: of an argument,
    those that lie after it and how many elements; at the entry."""
    kernel, writer = site.kernel, site.writer
    found: dict[int, dict[int, int]] = {}
    for number, arg in enumerate(kernel.args):
        if arg.near and writer.lanes * int(arg.dtype[1:]) >= LEAST_WIDTH:
            first, distance = arg.near
            found.setdefault(first, {})[number] = distance
    if not found or not loads_together(writer.features):
        return site
    pairs = [(first, *each) for first, others in found.items() for each in others.items()]
    flag = "true"
    for first, other, distance in pairs:
        nbytes = distance * int(kernel.args[first].dtype[1:])
        expected = writer.offset(site.cursor[first], str(nbytes))
        compared = [f"icmp eq ptr {site.cursor[other]}, {expected}"]
        for axis, access in enumerate(kernel.args[first].access):
            if access == STRIDED:
                strides = site.stride(first, axis), site.stride(other, axis)
                compared.append("icmp eq i64 {}, {}".format(*strides))
        for each in compared:
            flag = writer.value(f"and i1 {flag}, {writer.value(each)}")
    return replace(site, together=flag, neighbours=found)


def each_together(site: Site, begin: str, full: str, run: Callable[[Site], object]) -> str:
    """Run at the whole vectors of [begin, full) along the lane axis but the last; from where on
    the rest is to be done, which may be all."""
    writer, flag = site.writer, site.together
    if flag is None:
        return begin
    last = writer.i64("sub", full, str(writer.lanes))
    are_some = writer.value(f"icmp slt i64 {begin}, {last}")
    is_done = writer.value(f"and i1 {flag}, {are_some}")
    rest = writer.value(f"select i1 {is_done}, i64 {last}, i64 {begin}")
    with writer.when(is_done):
        before = site.at_vector(begin, None)
        slots = {first: _slot(before, first) for first in site.neighbours}
        with writer.loop(begin, last, str(writer.lanes), enters=True) as position:
            at = site.at_vector(position, None)
            at_hand: dict[int, Operand] = {}
            for first, slot in slots.items():
                at_hand |= _at_hand(at, first, slot)
            run(replace(at, at_hand=at_hand))
    return rest


def _slot(site: Site, first: int) -> str:
    """A stack slot with the vector of an argument."""
    writer, dtype = site.writer, site.kernel.args[first].dtype
    slot = writer.slot(vector_type(dtype, writer.lanes))
    pointer = site.cursor[first]
    writer.keep(slot, load_vector(writer, dtype, pointer, stride=UNIT, tail=None))
    return slot


def _at_hand(site: Site, first: int, slot: str) -> dict[int, Operand]:
    """The vectors of an argument and of those after it; the slot has the next one then."""
    writer, dtype = site.writer, site.kernel.args[first].dtype
    lanes, pointer = writer.lanes, site.cursor[first]
    low = writer.fetch(slot, dtype)
    following = writer.offset(pointer, str(lanes), int(dtype[1:]))
    high = load_vector(writer, dtype, following, stride=UNIT, tail=None)
    writer.keep(slot, high)
    found = {first: low}
    for other, distance in site.neighbours[first].items():
        found[other] = writer.shuffle(low, range(distance, distance + lanes), high)
    return found
