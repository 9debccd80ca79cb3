"""An inner phase -> its loop over the inner index, with 16-byte packs where arguments allow them.

In ROWS a thread takes groups of GROUP neighbouring elements, whatever their dtype, layout and
alignment: so a sum has the same bits fused or not, packed or not. In COLUMNS it takes single ones.
A thread visits the same positions in every phase and finds again what it wrote to a scratch
argument. The pack loop runs when the launch says so (`packed`); the scalar loop does the rest.

    ux g = start;
    if (packed) for (; g < inner_total / 4; g += step) {
      Pack<float, 4> A0 = ...; for (j ...) { body; lf_combine(a, b); } }
    for (; g * 4 < inner_total; g += step) for (j ...) { c = g * 4 + j; body; lf_combine(a, b); }
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

#: Neighbouring elements that a thread of a row takes together: 16 bytes of float32.
GROUP = 4
#: The widest access.
PACK_BYTES = 16
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
    if (
        kernel.gathered
        or not rows
        or costly
        or not moving
        or not stores_move
        or STRIDED in accesses.values()
    ):
        return PackPlan(1, ())
    sizes = [CTYPES[kernel.args[number].dtype].size for number in moving]
    width = max(1, min(GROUP, PACK_BYTES // max(sizes)))
    return PackPlan(width, moving if width > 1 else ())


@dataclass(frozen=True, slots=True)
class InnerPhase:
    """Phase `number` of a kernel as its loops see it; `acc` reads finished accumulators."""

    kernel: Kernel
    number: int
    folds: list[Fold]
    packs: PackPlan
    acc: Callable[[int, str], str]

    @property
    def phase(self) -> Phase:
        return self.kernel.phases[self.number]

    def is_scratch(self, arg: int) -> bool:
        return self.kernel.args[arg].role is Role.SCRATCH

    def element(self, arg: int) -> str:
        """The element of an argument at the current position."""
        return element(arg, self.kernel.args[arg], _axes(self.kernel))

    def pack_type(self, arg: int) -> str:
        return f"Pack<{CTYPES[self.kernel.args[arg].dtype].memory}, {self.packs.width}>"

    def pack_address(self, arg: int) -> str:
        return f"a{arg} + ({offset(arg, self.kernel.args[arg], _axes(self.kernel))})"


def inner_loops(inner: InnerPhase) -> list[str]:
    """Write the loops of a phase; they fold into the state `a`."""
    if inner.kernel.lanes is Lanes.OUTER:
        return _single_loop(inner)
    if inner.packs.width == 1:
        return ["ux g = start;", *_group_loop(inner)]
    packed = [f"  {line}" for line in _pack_loop(inner)]
    return ["ux g = start;", "if (packed) {", *packed, "}", *_group_loop(inner)]


def _single_loop(inner: InnerPhase) -> list[str]:
    """One element per round."""
    return [
        f"#pragma unroll {4 if _cost(inner.phase) <= UNROLLED_COST else 1}",
        "for (ux c = start; c < inner_total; c += step) {",
        *[f"  {line}" for line in _element_at_c(inner)],
        "}",
    ]


def _group_loop(inner: InnerPhase) -> list[str]:
    """GROUP elements per round; the last group may be cut short."""
    return [
        f"for (; g * {GROUP} < inner_total; g += step) {{",
        f"  #pragma unroll {GROUP if _cost(inner.phase) <= UNROLLED_COST else 1}",
        f"  for (int j = 0; j < {GROUP}; ++j) {{",
        f"    const ux c = g * {GROUP} + j;",
        "    if (c < inner_total) {",
        *[f"      {line}" for line in _element_at_c(inner)],
        "    }",
        "  }",
        "}",
    ]


def _element_at_c(inner: InnerPhase) -> list[str]:
    """The body for the inner position c."""

    def place(arg: int) -> str:
        return f"a{arg}[slot * inner_total + c]" if inner.is_scratch(arg) else inner.element(arg)

    site = Site(load=place, index=lambda axis: f"i{axis}", acc=inner.acc)
    lines = coordinates("c", _inner_axes(inner.kernel)) + render_body(inner.phase.body, site)
    lines += [f"{place(store.arg)} = v{store.value};" for store in inner.phase.stores]
    return lines + _fold(inner)


def _pack_loop(inner: InnerPhase) -> list[str]:
    packs = inner.packs
    lines = coordinates("p", _inner_axes(inner.kernel), pack=packs.width)
    for arg in packs.args:
        if arg in _loaded(inner.phase):
            pointer = f"reinterpret_cast<const {inner.pack_type(arg)}*>({inner.pack_address(arg)})"
            lines.append(f"const {inner.pack_type(arg)} A{arg} = *{pointer};")
    stores = [arg for arg in packs.args if arg in _stored(inner.phase)]
    lines += [f"{inner.pack_type(arg)} B{arg};" for arg in stores]
    lines += ["#pragma unroll", f"for (int j = 0; j < {packs.width}; ++j) {{"]
    lines += [f"  {line}" for line in _pack_element(inner)]
    lines.append("}")
    lines += [f"lf_store_pack({inner.pack_address(arg)}, B{arg});" for arg in stores]
    parts = GROUP // packs.width
    return [
        f"#pragma unroll {2 if _cost(inner.phase) <= UNROLLED_COST else 1}",
        f"for (; g < inner_total / {GROUP}; g += step) {{",
        f"  #pragma unroll {parts}",
        f"  for (int h = 0; h < {parts}; ++h) {{",
        f"    const ux p = g * {parts} + h;",
        *[f"    {line}" for line in lines],
        "  }",
        "}",
    ]


def _pack_element(inner: InnerPhase) -> list[str]:
    """The body for element j of a pack."""
    last = inner.kernel.outer + inner.kernel.inner - 1

    def scratch(arg: int) -> str:
        return f"a{arg}[slot * inner_total + p * {inner.packs.width} + j]"

    def load(arg: int) -> str:
        if inner.is_scratch(arg):
            return scratch(arg)
        if arg in inner.packs.args:
            return f"A{arg}.v[j]"
        assert inner.kernel.args[arg].access[last] == FIXED, inner.kernel
        return inner.element(arg)

    site = Site(
        load=load,
        index=lambda axis: f"(i{axis} + j)" if axis == last else f"i{axis}",
        acc=inner.acc,
    )
    lines = render_body(inner.phase.body, site)
    for store in inner.phase.stores:
        target = scratch(store.arg) if inner.is_scratch(store.arg) else f"B{store.arg}.v[j]"
        lines.append(f"{target} = v{store.value};")
    return lines + _fold(inner)


def _fold(inner: InnerPhase) -> list[str]:
    if not inner.folds:
        return []
    lines = [f"State{inner.number} b;"]
    for fold in inner.folds:
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
