"""A kernel with inner axes -> one CUDA kernel that runs all its phases: softmax or layer norm is
one launch.

A group of threads owns an outer index; between phases the group's states are combined and handed
to every thread of it. Lanes.INNER puts the group along the inner index (ROWS: one thread to one
block per row), Lanes.OUTER across it (COLUMNS: neighbouring threads own neighbouring columns, so
that loads coalesce).

Where outer indices are too few to fill the device, `gridDim.y` blocks share each one: a launch
then runs one inner phase with the outer phases that follow (`first`, `last`), and finished
accumulators wait in `totals`.

    for (tile ...)                                    // rows or columns of this block
      Totals t;
      State0 a = identity;                            // phase 0: inner
      for (c = lane; c < inner_total; c += lanes) { loads; body; lf_combine(a, b); }
      lf_group(a);  t.f0 = a.f0;
      if (lane == 0) { v0 = t.f0; ...; store }        // phase 1: outer
"""

from __future__ import annotations

from functools import partial

from lazyfuse.backends.cuda.accumulate import Fold, definitions, fields, state_bytes
from lazyfuse.backends.cuda.group_text import group_text
from lazyfuse.backends.cuda.prelude import with_prelude
from lazyfuse.backends.cuda.program import (
    PARAMETER_BYTES,
    Parameter,
    ParameterKind,
    Program,
    Shape,
    common_parameters,
    interface,
)
from lazyfuse.backends.cuda.render_access import (
    coordinates,
    index_types,
    layout_constants,
    product,
)
from lazyfuse.backends.cuda.render_columns import columns_tile
from lazyfuse.backends.cuda.render_inner import InnerPhase, PackPlan, inner_loops, plan_packs
from lazyfuse.backends.cuda.render_phases import (
    finish,
    folds_of,
    launch_ranges,
    outer_body,
    phase_by_phase,
    precedes_outer,
)
from lazyfuse.backends.cuda.render_shared import SharedPlan, plan_shared, row_places, shared_places
from lazyfuse.ir.kernel import Kernel, Lanes, Level

#: Threads per block: whole warps, and 4 blocks fill an SM. More of them have fewer rows under way
#: at once, which caches then hold for the next phase.
THREADS = 512
#: Blocks that must fit on an SM: left alone, ptxas spills in long bodies to fit more.
BLOCKS = 2
#: Shared memory that a COLUMNS block may take for states, of the 48 KiB every device has.
SHARED_BYTES = 40 * 1024

_CONTROL = (
    Parameter(ParameterKind.TOTALS, "Totals* totals"),
    Parameter(ParameterKind.PARTIALS, "void* partials"),
    Parameter(ParameterKind.COUNTERS, "unsigned int* counters"),
    Parameter(ParameterKind.FIRST, "long long first"),
    Parameter(ParameterKind.LAST, "long long last"),
    Parameter(ParameterKind.PACKED, "long long packed"),
)
_SHARED = Parameter(ParameterKind.SHARED, "long long in_shared")


def render_reduction(kernel: Kernel, name: str, limit: int = PARAMETER_BYTES) -> Program:
    """Write the Program of a kernel with inner axes.

    Raises: Unsupported for an operation without a CUDA spelling.
    """
    folds = folds_of(kernel)
    columns = kernel.lanes is Lanes.OUTER
    partial_bytes = max((state_bytes(phase) for phase in folds), default=8)
    threads = _threads(sum(map(state_bytes, folds))) if columns else THREADS
    shared = plan_shared(kernel)
    control = [*_CONTROL, _SHARED] if shared.rooms else _CONTROL
    given = interface([*common_parameters(kernel), *control], limit)
    packs = plan_packs(kernel, partial_bytes)
    text = (
        index_types(kernel) + _types(kernel, folds) + group_text(columns=columns, threads=threads)
    )
    text += (
        f'extern "C" __global__ void __launch_bounds__({threads}, {BLOCKS}) {name}(\n'
        f"    {given.signature}) {{\n{given.prologue}{_entry(kernel, packs, shared)}}}\n"
    )
    return Program(
        kernel,
        name,
        with_prelude(text),
        Shape.COLUMNS if columns else Shape.ROWS,
        name,
        given.parameters,
        pack=packs.width,
        packed_args=packs.args,
        threads=threads,
        launches=launch_ranges(kernel),
        partial_bytes=partial_bytes,
        totals_bytes=state_bytes([fold for phase in folds for fold in phase]),
        shared_sizes=shared.sizes,
        uses_table=bool(given.prologue),
    )


def _threads(nbytes: int) -> int:
    """The largest block whose states of all phases, `nbytes` for each thread, fit in shared
    memory, in whole warps."""
    fitting = SHARED_BYTES // nbytes
    return max(32, min(THREADS, 1 << (fitting.bit_length() - 1)))


def _types(kernel: Kernel, folds: list[list[Fold]]) -> str:
    every = [fold for phase in folds for fold in phase]
    text = "".join(
        definitions(number, folds[number], in_order=kernel.inner == 1)
        for number, phase in enumerate(kernel.phases)
        if phase.level is Level.INNER
    )
    return text + f"struct Totals {{ {fields(every)} }};\n"


def _entry(kernel: Kernel, packs: PackPlan, shared: SharedPlan) -> str:
    columns = kernel.lanes is Lanes.OUTER
    along, across = ("y", "x") if columns else ("x", "y")
    tile, width = (columns_tile, packs.width) if columns else (_rows_tile, 1)
    rows = f"rows * {width}" if width > 1 else "rows"
    outer, inner = range(kernel.outer), range(kernel.outer, kernel.outer + kernel.inner)
    lines = [
        *layout_constants(kernel),
        f"const unsigned int lane = threadIdx.{along}, lanes = blockDim.{along};",
        f"const unsigned int row = threadIdx.{across}, rows = blockDim.{across};",
        f"const ux outer_total = {product(outer)}, inner_total = {product(inner)};",
        "const ux start = (ux)blockIdx.y * lanes + lane, step = (ux)gridDim.y * lanes;",
        *shared_places(kernel, shared),
        f"for (ux tile = blockIdx.x; tile * {rows} < outer_total; tile += gridDim.x) {{",
        *[f"  {line}" for line in tile(kernel, packs, shared)],
        "}",
    ]
    return "".join(f"  {line}\n" for line in lines)


def _rows_tile(kernel: Kernel, packs: PackPlan, shared: SharedPlan) -> list[str]:
    lines = [
        "const ux o = tile * rows + row;",
        "const bool live = o < outer_total;",
        *coordinates("o", range(kernel.outer)),
        "Totals t;",
    ]
    lines += row_places(kernel, shared)
    several = len(launch_ranges(kernel)) > 1
    if several:
        lines.append("if (first > 0 && live) t = totals[o];")
    lines += phase_by_phase(kernel, packs, shared, _inner_phase, partial(_outer_phase, kernel))
    return lines


def _inner_phase(inner: InnerPhase) -> list[str]:
    kernel, number, folds = inner.kernel, inner.number, inner.folds
    lines = [
        f"if (first <= {number} && {number} < last) {{",
        f"  State{number} a = lf_identity{number}();",
        "  if (live) {",
        *[f"    {line}" for line in inner_loops(inner)],
        "  }",
    ]
    if folds:
        lines.append("  lf_group(a);")
    if folds or precedes_outer(kernel, number):
        state = f"static_cast<State{number}*>(partials)"
        gather = f"lf_gather(a, lf_identity{number}(), {state}, counters, o, live)"
        lines.append(f"  if (gridDim.y > 1 && !{gather}) return;")
    lines += [f"  {line}" for line in finish(folds)]
    if len(launch_ranges(kernel)) > 1 and folds:
        lines.append("  if (gridDim.y > 1 && live && lane == 0) totals[o] = t;")
    return [*lines, "}"]


def _outer_phase(kernel: Kernel, number: int, alone: str) -> list[str]:
    return [
        f"if (first <= {number} && {number} < last && live && lane == 0{alone}) {{",
        *(f"  {line}" for line in outer_body(kernel, number)),
        "}",
    ]
