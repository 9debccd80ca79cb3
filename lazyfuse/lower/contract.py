"""Contraction, for `options(fastmath=True)` only: a product that is added is rounded once.

    v2 = mul f8 v0 v1                        v2 = neg f8 v3        (for a difference)
    v4 = add f8 v2 v3              ->        v4 = fma f8 v0 v1 v3

Not exact: NumPy rounds the product and the sum. The error gets smaller, never larger,
but x*y - x*y need not be 0.
"""

from __future__ import annotations

from dataclasses import replace

from lazyfuse.ir.kernel import Kernel, Phase
from lazyfuse.ops.body import Body, Instr, Value


def contract(kernel: Kernel) -> Kernel:
    """Fuse multiplications into the additions and subtractions that use them."""
    return replace(kernel, phases=tuple(_contracted(phase) for phase in kernel.phases))


def _contracted(phase: Phase) -> Phase:
    body = Body()
    new: list[Value] = []
    for instr in phase.body:
        new.append(_fused(body, phase.body, new, instr) or _copied(body, new, instr))
    number = [value.index for value in new]
    accumulators = tuple(
        replace(a, value=number[a.value], index=None if a.index is None else number[a.index])
        for a in phase.accumulators
    )
    stores = tuple(
        replace(s, value=number[s.value], index=None if s.index is None else number[s.index])
        for s in phase.stores
    )
    scan = phase.scan and phase.scan._replace(
        first=number[phase.scan.first], next=number[phase.scan.next]
    )
    return Phase(phase.level, tuple(body.instrs), accumulators, stores, scan)


def _copied(body: Body, new: list[Value], instr: Instr) -> Value:
    return body.emit(instr.op, instr.dtype, *(new[arg] for arg in instr.args), attr=instr.attr)


def _fused(body: Body, old: tuple[Instr, ...], new: list[Value], instr: Instr) -> Value | None:
    """The fma of a sum or a difference of floats with a product, or None."""
    if instr.op not in ("add", "sub") or instr.dtype not in ("f4", "f8"):
        return None
    left, right = instr.args
    subtracts = instr.op == "sub"
    if old[left].op == "mul":
        x, y = (new[arg] for arg in old[left].args)
        z = -new[right] if subtracts else new[right]
        return body.emit("fma", instr.dtype, x, y, z)
    if old[right].op == "mul":
        x, y = (new[arg] for arg in old[right].args)
        return body.emit("fma", instr.dtype, -x if subtracts else x, y, new[left])
    return None
