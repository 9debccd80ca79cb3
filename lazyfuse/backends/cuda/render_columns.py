"""The tile of a COLUMNS kernel: neighbouring threads own neighbouring columns, `W` each.

Where layouts and addresses allow (`packed`), the columns of a thread lie together and are read and
written as packs: one narrow element per thread leaves too few bytes under way. Elsewhere they lie
a block apart, so that loads coalesce. Either way a column is added in the same order.

    ux o[W];  Totals ts[W];
    State0 states[W] = identity;                       // phase 0: inner
    for (c = start; c < inner_total; c += step) {
      const Pack<float, W> L0[4] = ...;  for (w ...) { body; lf_combine(states[w], b); } }
    lf_group(states);  ts[w].f0 = states[w].f0;
    if (lane == 0) for (w ...) { v0 = t.f0; ...; store }  // phase 1: outer
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from lazyfuse.backends.cuda.render_access import coordinates, loaded, stored
from lazyfuse.backends.cuda.render_body import Site, render_body
from lazyfuse.backends.cuda.render_inner import (
    InnerPhase,
    PackPlan,
    fold_element,
    inner_axes,
    is_cheap,
    rounds_of,
)
from lazyfuse.backends.cuda.render_phases import (
    finish,
    launch_ranges,
    outer_body,
    phase_by_phase,
    precedes_outer,
)
from lazyfuse.backends.cuda.render_shared import SharedPlan
from lazyfuse.ir.kernel import FIXED, Kernel

#: Rows whose loads are under way at once, where bodies are cheap.
ROUNDS = 4


def columns_tile(kernel: Kernel, packs: PackPlan, shared: SharedPlan) -> list[str]:
    """All phases, for the columns of a tile."""
    width = packs.width
    own = f"packed ? row * {width} + w : w * rows + row"
    lines = [
        f"const ux base = tile * rows * {width};",
        f"ux o[{width}];",
        *_each(width, [f"o[w] = base + ({own});"]),
        f"const ux slots = gridDim.y > 1 ? outer_total : (ux)gridDim.x * rows * {width};",
        f"const ux moved = gridDim.y > 1 ? 0 : base - (ux)blockIdx.x * rows * {width};",
        f"Totals ts[{width}];",
    ]
    if len(launch_ranges(kernel)) > 1:
        lines += _each(width, ["if (first > 0 && o[w] < outer_total) ts[w] = totals[o[w]];"])
    outer = partial(_outer_phase, kernel, width)
    return lines + phase_by_phase(kernel, packs, shared, _inner_phase, outer)


def _each(width: int, lines: Sequence[str]) -> list[str]:
    """The loop over the columns of a thread."""
    head = ["#pragma unroll", f"for (int w = 0; w < {width}; ++w) {{"]
    return [*head, *(f"  {line}" for line in lines), "}"]


def _inner_phase(inner: InnerPhase) -> list[str]:
    kernel, number, width = inner.kernel, inner.number, inner.packs.width
    lines = [
        f"if (first <= {number} && {number} < last) {{",
        f"  State{number} states[{width}];",
        *_indented(_each(width, [f"states[w] = lf_identity{number}();"])),
        *_indented(_loops(inner)),
    ]
    if inner.folds:
        lines.append("  lf_group(states);")
    if inner.folds or precedes_outer(kernel, number):
        partials = f"static_cast<State{number}*>(partials)"
        given = f"states, lf_identity{number}(), {partials}, counters, o, outer_total"
        lines.append(f"  if (gridDim.y > 1 && !lf_gather({given})) return;")
    ended = [f"State{number}& a = states[w];", "Totals& t = ts[w];", *finish(inner.folds)]
    if len(launch_ranges(kernel)) > 1 and inner.folds:
        keeps = "gridDim.y > 1 && o[w] < outer_total && lane == 0"
        ended.append(f"if ({keeps}) totals[o[w]] = t;")
    if inner.folds:
        lines += _indented(_each(width, ended))
    return [*lines, "}"]


def _loops(inner: InnerPhase) -> list[str]:
    """Down the columns, by packs or not."""
    single = _down(inner, _each(inner.packs.width, _element(inner)))
    if inner.packs.width == 1:
        return single
    packed = _indented(_down_by_packs(inner))
    return [
        "if (packed) {",
        "  if (o[0] < outer_total) {",
        *_indented(packed),
        "  }",
        "} else {",
        *_indented(single),
        "}",
    ]


def _down(inner: InnerPhase, lines: Sequence[str]) -> list[str]:
    return [
        f"#pragma unroll {ROUNDS if is_cheap(inner.phase) else 1}",
        "for (ux c = start; c < inner_total; c += step) {",
        *_indented(coordinates("c", inner_axes(inner.kernel))),
        *_indented(lines),
        "}",
    ]


def _down_by_packs(inner: InnerPhase) -> list[str]:
    """Down the columns by packs. All loads of a round are under way before the first is used."""
    rounds = rounds_of(inner)
    reads = [arg for arg in inner.packs.args if arg in loaded(inner.phase)]

    def each(lines: Sequence[str]) -> list[str]:
        lines = [*coordinates("c", inner_axes(inner.kernel)), *lines]
        return [
            "#pragma unroll",
            f"for (int u = 0; u < {rounds}; ++u) {{",
            "  const ux c = top + step * u;",
            "  if (c < inner_total) {",
            *_indented(_indented(lines)),
            "  }",
            "}",
        ]

    return [
        *coordinates("o[0]", range(inner.kernel.outer)),
        f"for (ux top = start; top < inner_total; top += step * {rounds}) {{",
        *(f"  {inner.pack_type(arg)} L{arg}[{rounds}];" for arg in reads),
        *_indented(each([f"L{arg}[u] = {inner.pack(arg)};" for arg in reads]) if reads else ()),
        *_indented(each(_pack(inner))),
        "}",
    ]


def _element(inner: InnerPhase) -> list[str]:
    """The body for row c of column w."""

    def place(arg: int) -> str:
        return _scratch(arg) if inner.is_scratch(arg) else inner.element(arg)

    lines = _body(inner, place)
    lines += [f"{place(store.arg)} = v{store.value};" for store in inner.phase.stores]
    return ["if (o[w] < outer_total) {", *_indented([*lines, *fold_element(inner)]), "}"]


def _body(inner: InnerPhase, load: Callable[[int], str]) -> list[str]:
    site = Site(load=load, index=lambda axis: f"i{axis}", acc=inner.acc)
    return [
        f"State{inner.number}& a = states[w];",
        "const Totals& t = ts[w];",
        *coordinates("o[w]", range(inner.kernel.outer)),
        *render_body(inner.phase.body, site),
    ]


def _pack(inner: InnerPhase) -> list[str]:
    """The body for row c of all columns of a thread."""
    kernel, packs = inner.kernel, inner.packs
    last = kernel.outer - 1
    targets = [arg for arg in packs.args if arg in stored(inner.phase)]
    lines = [f"{inner.pack_type(arg)} B{arg};" for arg in targets]

    def load(arg: int) -> str:
        if inner.is_scratch(arg):
            return _scratch(arg)
        if arg in packs.args:
            return f"L{arg}[u].v[w]"
        assert kernel.args[arg].access[last] == FIXED, kernel
        return inner.element(arg)

    each = _body(inner, load)
    for store in inner.phase.stores:
        place = _scratch(store.arg) if inner.is_scratch(store.arg) else f"B{store.arg}.v[w]"
        each.append(f"{place} = v{store.value};")
    lines += _each(packs.width, [*each, *fold_element(inner)])
    return lines + [f"lf_store_pack({inner.pack_address(arg)}, B{arg});" for arg in targets]


def _scratch(arg: int) -> str:
    """A row of scratch memory holds neighbouring columns."""
    return f"a{arg}[(unsigned long long)c * slots + (o[w] - moved)]"


def _outer_phase(kernel: Kernel, width: int, number: int, alone: str) -> list[str]:
    lines = ["const Totals& t = ts[w];", *coordinates("o[w]", range(kernel.outer))]
    lines += outer_body(kernel, number)
    each = _each(width, ["if (o[w] < outer_total) {", *_indented(lines), "}"])
    return [
        f"if (first <= {number} && {number} < last && lane == 0{alone}) {{",
        *_indented(each),
        "}",
    ]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]
