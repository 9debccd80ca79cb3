"""Reading ahead: while the last phase of a row runs, the next row comes into the first cache.

A row that goes through several phases is read from memory in the first of them, and from the first
cache in the others. So the memory would rest while the others compute, and the first would wait:
processors look ahead within a page, of which such a row has one or two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lazyfuse.backends.cpu.emit_params import is_strided
from lazyfuse.backends.cpu.emit_plan import PhasePlan
from lazyfuse.backends.cpu.emit_site import Site
from lazyfuse.ir.kernel import STRIDED, UNIT, Kernel, Level, Role

#: Bytes of a row up to which the next one has a place in the first cache beside it. Layer norm of
#: 10M floats in rows of 1024: 0.85 of the time.
ROW_BYTES = 8 << 10
_LINE = 64
_PREFETCH = "llvm.prefetch.p0"

#: How far on each argument is that is read ahead, in bytes.
Ahead = Mapping[int, str]


def ahead_of(site: Site, plans: Sequence[PhasePlan]) -> Ahead:
    """What is read ahead in the last inner phase: what an earlier one reads, and moves from row to
    row. Where rows are long, nothing but what is there anyway."""
    kernel, writer = site.kernel, site.writer
    inner = [plan for plan in plans if plan.level is Level.INNER]
    if len(inner) < 2 or kernel.inner > 1 or not kernel.outer or is_strided(kernel):
        return {}
    axis = kernel.outer - 1
    length = site.extent(kernel.outer)
    found = {}
    for number in _read(kernel, inner[:-1]):
        nbytes = writer.i64("mul", length, kernel.args[number].dtype[1:])
        is_short = writer.value(f"icmp sle i64 {nbytes}, {ROW_BYTES}")
        step = site.stride(number, axis)
        found[number] = writer.value(f"select i1 {is_short}, i64 {step}, i64 0")
    return found


def _read(kernel: Kernel, plans: Sequence[PhasePlan]) -> list[int]:
    """The arguments that phases read in vectors, and of which each row has its own."""
    loads = {instr.attr for plan in plans for instr in plan.body if instr.op == "load"}
    return [
        number
        for number, arg in enumerate(kernel.args)
        if number in loads
        and arg.role is Role.IN
        and arg.access[kernel.outer - 1] == STRIDED
        and arg.access[kernel.outer] == UNIT
    ]


def read_ahead(at: Site, ahead: Ahead) -> None:
    """Ask for what lies so far on as the vector at a site, line by line."""
    writer = at.writer
    for number, distance in ahead.items():
        writer.declarations[_PREFETCH] = f"declare void @{_PREFETCH}(ptr, i32, i32, i32)"
        there = writer.offset(at.cursor[number], distance)
        nbytes = writer.lanes * int(at.kernel.args[number].dtype[1:])
        for line in range(0, nbytes, _LINE):
            address = writer.offset(there, str(line))
            writer.line(f"call void @{_PREFETCH}(ptr {address}, i32 0, i32 3, i32 1)")
