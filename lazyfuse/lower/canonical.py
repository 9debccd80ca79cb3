"""Canonical form: dead instructions, arguments and scalars go,
the rest is numbered in order of first use.

Kernels that do the same have the same text then, whatever graph they came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from lazyfuse.ir.kernel import Kernel, Phase, Role, Store
from lazyfuse.ir.node import Node
from lazyfuse.ops.body import Instr


class Binding(NamedTuple):
    """An argument: the memory of `node`, with strides per loop and an offset, in elements."""

    node: Node
    strides: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel and what it is launched with. `scalars` are Const nodes or ("value", number).

    bindings: one per argument that is not scratch. outputs: the results that it writes.
    """

    kernel: Kernel
    extents: tuple[int, ...]
    bindings: tuple[Binding, ...]
    scalars: tuple[Node | tuple[str, int], ...]
    outputs: tuple[Node, ...]


def canonical(lowered: Lowered) -> Lowered:
    """Drop what is dead and renumber; arguments keep their role order (in, out, scratch)."""
    kernel = lowered.kernel
    phases = _live_phases(kernel)
    loads = _attributes(phases, "load", "gather")
    args = [n for n in loads if kernel.args[n].role is Role.IN]
    args += kernel.outputs
    args += [n for n in loads if kernel.args[n].role is Role.SCRATCH]
    scalars = _attributes(phases, "scalar")
    for phase in phases:
        scalars += [
            a.init for a in phase.accumulators if a.init is not None and a.init not in scalars
        ]
    arg_numbers = {old: new for new, old in enumerate(args)}
    scalar_numbers = {old: new for new, old in enumerate(scalars)}
    return replace(
        lowered,
        kernel=replace(
            kernel,
            args=tuple(kernel.args[n] for n in args),
            scalars=tuple(kernel.scalars[n] for n in scalars),
            phases=tuple(_renumber(phase, arg_numbers, scalar_numbers) for phase in phases),
        ),
        bindings=tuple(lowered.bindings[n] for n in args if n < len(lowered.bindings)),
        scalars=tuple(lowered.scalars[n] for n in scalars),
    )


def _live_phases(kernel: Kernel) -> tuple[Phase, ...]:
    """The phases without dead instructions, and without scratch that nobody loads (which may make
    more dead)."""
    phases = tuple(_live(phase) for phase in kernel.phases)
    while True:
        loaded = _attributes(phases, "load", "gather")
        kept = tuple(
            phase._replace(
                stores=tuple(
                    store
                    for store in phase.stores
                    if kernel.args[store.arg].role is not Role.SCRATCH or store.arg in loaded
                ),
            )
            for phase in phases
        )
        if kept == phases:
            return tuple(phase for phase in phases if phase.written or phase.accumulators)
        phases = tuple(_live(phase) for phase in kept)


def _live(phase: Phase) -> Phase:
    """The phase without instructions that nothing reads."""
    needed = {value for store in phase.stores for value in store.values}
    for acc in phase.accumulators:
        needed |= {acc.value} if acc.index is None else {acc.value, acc.index}
    if phase.scan is not None:
        needed |= {phase.scan.first, phase.scan.next}
    for number in range(len(phase.body) - 1, -1, -1):
        if number in needed:
            needed.update(phase.body[number].args)
    if len(needed) == len(phase.body):
        return phase
    new = {old: number for number, old in enumerate(sorted(needed))}
    body = tuple(
        instr._replace(args=tuple(new[arg] for arg in instr.args))
        for number, instr in enumerate(phase.body)
        if number in needed
    )
    accumulators = tuple(
        replace(acc, value=new[acc.value], index=None if acc.index is None else new[acc.index])
        for acc in phase.accumulators
    )
    stores = tuple(
        Store(store.arg, *(new[value] for value in store.values)) for store in phase.stores
    )
    scan = phase.scan and phase.scan._replace(
        first=new[phase.scan.first], next=new[phase.scan.next]
    )
    return Phase(phase.level, body, accumulators, stores, scan)


def _attributes(phases: tuple[Phase, ...], *ops: str) -> list[int]:
    """The distinct attributes of the instructions `ops`, in order of first use."""
    found = {instr.attr: None for phase in phases for instr in phase.body if instr.op in ops}
    return [number for number in found if isinstance(number, int)]


def _renumber(phase: Phase, args: Mapping[int, int], scalars: Mapping[int, int]) -> Phase:
    tables = {"load": args, "gather": args, "scalar": scalars}
    body = tuple(_renumbered(instr, tables) for instr in phase.body)
    accumulators = tuple(
        acc if acc.init is None else replace(acc, init=scalars[acc.init])
        for acc in phase.accumulators
    )
    stores = tuple(replace(store, arg=args[store.arg]) for store in phase.stores)
    scan = phase.scan and phase.scan._replace(arg=args[phase.scan.arg])
    return Phase(phase.level, body, accumulators, stores, scan)


def _renumbered(instr: Instr, tables: Mapping[str, Mapping[int, int]]) -> Instr:
    table = tables.get(instr.op)
    if table is None:
        return instr
    assert isinstance(instr.attr, int)
    new = table[instr.attr]
    return instr if new == instr.attr else instr._replace(attr=new)
