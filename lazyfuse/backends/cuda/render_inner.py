"""An inner phase of a row -> its loop over the inner index, with 16-byte packs where arguments
allow them.

A thread takes packs of neighbouring elements, and neighbouring threads neighbouring packs, whether
addresses are aligned or not: so a sum has the same bits either way (of columns:
render_columns.py). A thread visits the same positions in every phase and finds again what it wrote
to a scratch argument. The pack loop runs when the launch says so (`packed`); the loop of single
elements does the rest.

    ux g = start;
    if (packed) for (; g < packs; g += step * 4) {
      Pack<float, 4> L0[4]; for (u ...) L0[u] = ...;
      for (u ...) for (j ...) { body; lf_combine(a, b); } }
    for (; g * 4 < inner_total; g += step) for (j ...) { c = g * 4 + j; body; lf_combine(a, b); }
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lazyfuse.backends.cuda.accumulate import Fold, fold_function, fold_value
from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.render_access import (
    coordinates,
    element,
    loaded,
    offset,
    stored,
    touched,
)
from lazyfuse.backends.cuda.render_body import Site, render_body
from lazyfuse.backends.cuda.render_shared import SharedPlan
from lazyfuse.ir.kernel import FIXED, STRIDED, UNIT, Kernel, Lanes, Level, Phase, Role
from lazyfuse.ops.primitives import PRIMITIVES

#: The widest access.
PACK_BYTES = 16
#: Bytes of states that a thread of a column may keep in registers.
STATE_BYTES = 64
#: Bodies costlier than this are computed, not moved (render_elementwise.PACKED_COST).
PACKED_COST = 120.0
#: Bodies up to a cost wait for memory: so many bytes that a thread loads are under way, of so many
#: elements at most. Others would spill.
FLIGHT_BYTES = {8.0: 64, 32.0: 16}
FLIGHT_ELEMENTS = 32
#: Single elements that a loop takes in one round.
UNROLLED = 4


@dataclass(frozen=True, slots=True)
class PackPlan:
    """`width` elements per pack (1: no packs) of the arguments `args`, which step by one along the
    last axis.
    """

    width: int
    args: tuple[int, ...]


def plan_packs(kernel: Kernel, state_bytes: int) -> PackPlan:
    """Choose one pack width for all inner phases, or none: along the fast axis, which is the last
    inner one in ROWS and the last outer one in COLUMNS. There a thread has a state of
    `state_bytes` for each column of a pack."""
    phases = [phase for phase in kernel.phases if phase.level is Level.INNER]
    numbers = sorted({number for phase in phases for number in touched(phase)})
    memory = [n for n in numbers if kernel.args[n].role is not Role.SCRATCH]
    rows = kernel.lanes is Lanes.INNER
    last = kernel.outer + kernel.inner * rows - 1
    accesses = {number: kernel.args[number].access[last] for number in memory} if last >= 0 else {}
    moving = tuple(number for number in memory if accesses.get(number) == UNIT)
    stores_move = all(
        store.arg in moving or store.arg not in memory for p in phases for store in p.stores
    )
    costly = any(_cost(phase) > PACKED_COST for phase in phases)
    if kernel.gathered or costly or not moving or not stores_move or STRIDED in accesses.values():
        return PackPlan(1, ())
    fitting = PACK_BYTES // max(CTYPES[kernel.args[number].dtype].size for number in moving)
    most = fitting if rows else 1 << max(1, STATE_BYTES // state_bytes).bit_length() - 1
    width = max(1, min(most, fitting))
    return PackPlan(width, moving if width > 1 else ())


@dataclass(frozen=True, slots=True)
class InnerPhase:
    """Phase `number` of a kernel as its loops see it; `acc` reads finished accumulators, `shared`
    says what rows keep between phases."""

    kernel: Kernel
    number: int
    folds: list[Fold]
    packs: PackPlan
    acc: Callable[[int, str], str]
    shared: SharedPlan

    @property
    def phase(self) -> Phase:
        return self.kernel.phases[self.number]

    def is_scratch(self, arg: int) -> bool:
        return self.kernel.args[arg].role is Role.SCRATCH

    @property
    def leaves(self) -> list[int]:
        """The inputs that this phase leaves in shared memory."""
        return [arg for arg, first in self.shared.staged.items() if first == self.number]

    def element(self, arg: int) -> str:
        """The element of an argument at the current position."""
        if self.shared.is_kept(arg, self.number):
            return f"R{arg}[c]"
        return element(arg, self.kernel.args[arg], _axes(self.kernel))

    def pack_type(self, arg: int) -> str:
        return f"Pack<{CTYPES[self.kernel.args[arg].dtype].memory}, {self.packs.width}>"

    def pack(self, arg: int) -> str:
        """The pack of an argument at the current position, in memory."""
        return f"*reinterpret_cast<const {self.pack_type(arg)}*>({self.pack_address(arg)})"

    def pack_address(self, arg: int) -> str:
        if self.is_scratch(arg):
            return self.kept_pack(arg)
        if self.shared.is_kept(arg, self.number):
            return f"R{arg} + p * {self.packs.width}"
        return f"a{arg} + ({offset(arg, self.kernel.args[arg], _axes(self.kernel))})"

    def kept_pack(self, arg: int) -> str:
        """Where the pack of an argument lies in shared memory."""
        return f"S{arg} + (slot * inner_total + p * {self.packs.width})"


def inner_loops(inner: InnerPhase) -> list[str]:
    """Write the loops of a phase; they fold into the state `a`."""
    if inner.packs.width == 1:
        return ["ux g = start;", *_single_loop(inner)]
    packed = [f"  {line}" for line in _pack_loop(inner)]
    return ["ux g = start;", "if (packed) {", *packed, "}", *_single_loop(inner)]


def _single_loop(inner: InnerPhase) -> list[str]:
    """The elements of a pack per round, one by one; the last pack may be cut short."""
    width = inner.packs.width
    return [
        f"for (; g * {width} < inner_total; g += step) {{",
        f"  #pragma unroll {min(width, UNROLLED) if is_cheap(inner.phase) else 1}",
        f"  for (int j = 0; j < {width}; ++j) {{",
        f"    const ux c = g * {width} + j;",
        "    if (c < inner_total) {",
        *[f"      {line}" for line in _element_at_c(inner)],
        "    }",
        "  }",
        "}",
    ]


def _element_at_c(inner: InnerPhase) -> list[str]:
    """The body for the inner position c."""

    def place(arg: int) -> str:
        return f"S{arg}[slot * inner_total + c]" if inner.is_scratch(arg) else inner.element(arg)

    site = Site(load=place, index=lambda axis: f"i{axis}", acc=inner.acc)
    lines = coordinates("c", inner_axes(inner.kernel)) + render_body(inner.phase.body, site)
    lines += [f"{place(store.arg)} = v{store.value};" for store in inner.phase.stores]
    for arg in inner.leaves:
        lines.append(f"if (in_shared) S{arg}[slot * inner_total + c] = {inner.element(arg)};")
    return lines + fold_element(inner)


def _pack_loop(inner: InnerPhase) -> list[str]:
    """Rounds of packs. All loads of a round are under way before the first is used."""
    rounds, axes, width = rounds_of(inner), inner_axes(inner.kernel), inner.packs.width
    reads = [arg for arg in inner.packs.args if arg in loaded(inner.phase)]
    if rounds == 1:
        reads = []
    loads = [f"L{arg}[u] = {inner.pack(arg)};" for arg in reads]

    def each(lines: list[str]) -> list[str]:
        lines = [*coordinates("p", axes, pack=width), *lines]
        return [
            "  #pragma unroll",
            f"  for (int u = 0; u < {rounds}; ++u) {{",
            "    const ux p = g + step * u;",
            "    if (p < packs) {" if rounds > 1 else "    {",
            *(f"      {line}" for line in lines),
            "    }",
            "  }",
        ]

    return [
        f"const ux packs = inner_total / {width};",
        f"for (; g < packs; g += step * {rounds}) {{",
        *(f"  {inner.pack_type(arg)} L{arg}[{rounds}];" for arg in reads),
        *(each(loads) if loads else ()),
        *each(_compute_pack(inner)),
        "}",
        *(["while (g >= packs + step) g -= step;"] if rounds > 1 else ()),
    ]


def _compute_pack(inner: InnerPhase) -> list[str]:
    """The body for all elements of a pack; those that are read lie in `L#`, or in memory yet."""
    packs, early = inner.packs, rounds_of(inner) > 1
    together = [arg for arg in touched(inner.phase) if arg in packs.args or inner.is_scratch(arg)]
    stores = [arg for arg in together if arg in stored(inner.phase)]
    lines = []
    for arg in together:
        if arg in loaded(inner.phase):
            there = f"L{arg}[u]" if early and arg in packs.args else inner.pack(arg)
            lines.append(f"const {inner.pack_type(arg)} A{arg} = {there};")
    for arg in inner.leaves:
        lines.append(f"if (in_shared) lf_store_scratch({inner.kept_pack(arg)}, A{arg});")
    lines += [f"{inner.pack_type(arg)} B{arg};" for arg in stores]
    lines += ["#pragma unroll", f"for (int j = 0; j < {packs.width}; ++j) {{"]
    lines += [*(f"  {line}" for line in _pack_element(inner)), "}"]
    for arg in stores:
        store = "lf_store_scratch" if inner.is_scratch(arg) else "lf_store_pack"
        lines.append(f"{store}({inner.pack_address(arg)}, B{arg});")
    return lines


def rounds_of(inner: InnerPhase) -> int:
    """Packs of a round."""
    reads = [arg for arg in inner.packs.args if arg in loaded(inner.phase)]
    each = inner.packs.width * sum(CTYPES[inner.kernel.args[arg].dtype].size for arg in reads)
    most = FLIGHT_ELEMENTS // inner.packs.width
    return max(1, min(flight_bytes(inner.phase) // each, most)) if each else 1


def _pack_element(inner: InnerPhase) -> list[str]:
    """The body for element j of a pack."""
    last = inner.kernel.outer + inner.kernel.inner - 1

    def load(arg: int) -> str:
        if arg in inner.packs.args or inner.is_scratch(arg):
            return f"A{arg}.v[j]"
        assert inner.kernel.args[arg].access[last] == FIXED, inner.kernel
        return inner.element(arg)

    site = Site(
        load=load,
        index=lambda axis: f"(i{axis} + j)" if axis == last else f"i{axis}",
        acc=inner.acc,
    )
    lines = render_body(inner.phase.body, site)
    lines += [f"B{store.arg}.v[j] = v{store.value};" for store in inner.phase.stores]
    return lines + fold_element(inner)


def fold_element(inner: InnerPhase) -> list[str]:
    if not inner.folds:
        return []
    lines = [f"State{inner.number} b;"]
    for fold in inner.folds:
        index = None if fold.acc.index is None else f"v{fold.acc.index}"
        lines += fold_value(fold, f"v{fold.acc.value}", index)
    function = fold_function(inner.folds, in_order=inner.kernel.inner == 1)
    return [*lines, f"{function}(a, b);"]


def _axes(kernel: Kernel) -> range:
    return range(kernel.outer + kernel.inner)


def inner_axes(kernel: Kernel) -> range:
    return range(kernel.outer, kernel.outer + kernel.inner)


def flight_bytes(phase: Phase) -> int:
    """How many bytes a thread should load before it computes; 0 where that does not matter."""
    cost = _cost(phase)
    return next((nbytes for bound, nbytes in FLIGHT_BYTES.items() if cost <= bound), 0)


def is_cheap(phase: Phase) -> bool:
    """Whether a loop over a phase waits for memory and for little else."""
    return _cost(phase) <= min(FLIGHT_BYTES)


def _cost(phase: Phase) -> float:
    return sum(PRIMITIVES[instr.op].cost for instr in phase.body)
