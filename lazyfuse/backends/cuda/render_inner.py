"""An inner phase -> its loop over the inner index, with 16-byte packs where every argument allows
them.

A thread visits the same inner positions in every phase, so that it finds again what it wrote to a
scratch argument. The pack loop runs when the launch says so (`packed`); the scalar loop then
finishes what the packs left.

    for (ux p = start; p < packs; p += step) {
      Pack<float, 4> A0 = ...; for (j ...) { body; lf_combine(a, b); } }
    for (ux c = packs * 4 + start; c < inner_total; c += step) { body; lf_combine(a, b); }
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lazyfuse.backends.cuda.accumulate import Fold, fold_value
from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.render_access import coordinates, element, offset
from lazyfuse.backends.cuda.render_body import Site, render_body
from lazyfuse.ir.kernel import FIXED, STRIDED, UNIT, Kernel, Lanes, Level, Phase, Role
from lazyfuse.ops.primitives import PRIMITIVES

#: Bytes per thread and argument; see render_elementwise.WIDEST_PACK_BYTES.
WIDEST_PACK_BYTES = 32
#: Bodies costlier than this are computed, not moved (render_elementwise.PACKED_COST).
PACKED_COST = 120.0
#: Cheap bodies wait for memory: their loops are unrolled, so that several loads are under way.
#: Others would spill.
UNROLLED_COST = 8.0


@dataclass(frozen=True, slots=True)
class PackPlan:
    """`width` elements per pack (1: no packs) of the arguments `args`, which step by one along the
    last axis.
    """

    width: int
    args: tuple[int, ...]


def plan_packs(kernel: Kernel) -> PackPlan:
    """Choose one pack width for all inner phases, or none."""
    phases = [phase for phase in kernel.phases if phase.level is Level.INNER]
    touched = sorted({number for phase in phases for number in _touched(phase)})
    memory = [n for n in touched if kernel.args[n].role is not Role.SCRATCH]
    last = kernel.outer + kernel.inner - 1
    accesses = {number: kernel.args[number].access[last] for number in memory}
    moving = tuple(number for number in memory if accesses[number] == UNIT)
    stores_move = all(
        store.arg in moving or store.arg not in memory for p in phases for store in p.stores
    )
    costly = any(_cost(phase) > PACKED_COST for phase in phases)
    rows = kernel.lanes is Lanes.INNER
    if not rows or costly or not moving or not stores_move or STRIDED in accesses.values():
        return PackPlan(1, ())
    sizes = [CTYPES[kernel.args[number].dtype].size for number in moving]
    width = max(1, min(16 // min(sizes), WIDEST_PACK_BYTES // max(sizes)))
    return PackPlan(width, moving if width > 1 else ())


def inner_loops(
    kernel: Kernel,
    number: int,
    folds: list[Fold],
    packs: PackPlan,
    acc: Callable[[int, str], str],
) -> list[str]:
    """Write the loops of phase `number`; they fold into the state `a`."""
    phase = kernel.phases[number]
    scalar = _scalar_loop(kernel, phase, number, folds, acc)
    if packs.width == 1:
        return ["ux c = start;", *scalar]
    return [
        "ux c = start;",
        "if (packed) {",
        f"  const ux packs = inner_total / {packs.width};",
        *[f"  {line}" for line in _pack_loop(kernel, phase, number, folds, packs, acc)],
        f"  c += packs * {packs.width};",
        "}",
        *scalar,
    ]


def _scalar_loop(
    kernel: Kernel, phase: Phase, number: int, folds: list[Fold], acc: Callable[[int, str], str]
) -> list[str]:
    def place(arg: int) -> str:
        if kernel.args[arg].role is Role.SCRATCH:
            return f"a{arg}[slot * inner_total + c]"
        return element(arg, kernel.args[arg], _axes(kernel))

    site = Site(load=place, index=lambda axis: f"i{axis}", acc=acc)
    lines = [*coordinates("c", _inner_axes(kernel)), *render_body(phase.body, site)]
    lines += [f"{place(store.arg)} = v{store.value};" for store in phase.stores]
    lines += _fold(number, folds)
    return [
        f"#pragma unroll {4 if _cost(phase) <= UNROLLED_COST else 1}",
        "for (; c < inner_total; c += step) {",
        *[f"  {line}" for line in lines],
        "}",
    ]


def _pack_loop(
    kernel: Kernel,
    phase: Phase,
    number: int,
    folds: list[Fold],
    packs: PackPlan,
    acc: Callable[[int, str], str],
) -> list[str]:
    loads = [n for n in packs.args if n in _loaded(phase)]
    stores = [n for n in packs.args if n in _stored(phase)]
    types = {n: f"Pack<{CTYPES[kernel.args[n].dtype].memory}, {packs.width}>" for n in packs.args}
    address = {n: f"a{n} + ({offset(n, kernel.args[n], _axes(kernel))})" for n in packs.args}
    lines = coordinates("p", _inner_axes(kernel), pack=packs.width)
    lines += [
        f"const {types[n]} A{n} = *reinterpret_cast<const {types[n]}*>({address[n]});"
        for n in loads
    ]
    lines += [f"{types[n]} B{n};" for n in stores]
    lines += ["#pragma unroll", f"for (int j = 0; j < {packs.width}; ++j) {{"]
    lines += [f"  {line}" for line in _pack_element(kernel, phase, number, folds, packs, acc)]
    lines.append("}")
    lines += [f"*reinterpret_cast<{types[n]}*>({address[n]}) = B{n};" for n in stores]
    return [
        f"#pragma unroll {2 if _cost(phase) <= UNROLLED_COST else 1}",
        "for (ux p = start; p < packs; p += step) {",
        *[f"  {line}" for line in lines],
        "}",
    ]


def _pack_element(
    kernel: Kernel,
    phase: Phase,
    number: int,
    folds: list[Fold],
    packs: PackPlan,
    acc: Callable[[int, str], str],
) -> list[str]:
    """The body for element j of a pack."""
    last = kernel.outer + kernel.inner - 1

    def scratch(arg: int) -> str:
        return f"a{arg}[slot * inner_total + p * {packs.width} + j]"

    def load(arg: int) -> str:
        if kernel.args[arg].role is Role.SCRATCH:
            return scratch(arg)
        if arg in packs.args:
            return f"A{arg}.v[j]"
        assert kernel.args[arg].access[last] == FIXED, kernel
        return element(arg, kernel.args[arg], _axes(kernel))

    site = Site(
        load=load,
        index=lambda axis: f"(i{axis} + j)" if axis == last else f"i{axis}",
        acc=acc,
    )
    lines = render_body(phase.body, site)
    for store in phase.stores:
        is_scratch = kernel.args[store.arg].role is Role.SCRATCH
        target = scratch(store.arg) if is_scratch else f"B{store.arg}.v[j]"
        lines.append(f"{target} = v{store.value};")
    return lines + _fold(number, folds)


def _fold(number: int, folds: list[Fold]) -> list[str]:
    if not folds:
        return []
    lines = [f"State{number} b;"]
    for fold in folds:
        index = None if fold.acc.index is None else f"v{fold.acc.index}"
        lines += fold_value(fold, f"v{fold.acc.value}", index)
    return [*lines, "lf_combine(a, b);"]


def _axes(kernel: Kernel) -> range:
    return range(kernel.outer + kernel.inner)


def _inner_axes(kernel: Kernel) -> range:
    return range(kernel.outer, kernel.outer + kernel.inner)


def _loaded(phase: Phase) -> set[int]:
    return {
        instr.attr for instr in phase.body if instr.op == "load" and isinstance(instr.attr, int)
    }


def _stored(phase: Phase) -> set[int]:
    return {store.arg for store in phase.stores}


def _touched(phase: Phase) -> set[int]:
    return _loaded(phase) | _stored(phase)


def _cost(phase: Phase) -> float:
    return sum(PRIMITIVES[instr.op].cost for instr in phase.body)
