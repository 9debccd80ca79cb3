"""Kernel IR -> the text of an LLVM module with explicit vectors.

The module exports `lf_kernel(params, begin, end)`, which runs [begin, end) of the outer axis that
`params` says (see `emit_params`), and `lf_share(params, counter, end, grain)`, which threads call
together: each takes ranges of `grain` until the counter reaches the end.

A kernel without outer axes is staged: `lf_phase<k>(params, state, begin, end, out)` folds a range
of the last inner axis into the accumulators at `out`, reading finished ones at `state`.
`lf_start<k>(params, out)` writes initial values, `lf_clear<k>(out)` neutral ones, and
`lf_merge<k>(left, right)` folds the accumulators at `right` into those at `left`. State blocks
have 16 bytes per accumulator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cpu.emit_fold import combine, part_dtypes
from lazyfuse.backends.cpu.emit_inner import (
    Places,
    clear_folds,
    emit_rows,
    read_finished,
    read_parts,
    run_phase,
    start_folds,
    write_parts,
)
from lazyfuse.backends.cpu.emit_outer import emit_columns, emit_point
from lazyfuse.backends.cpu.emit_params import (
    STATE_BYTES,
    Params,
    folds_lanes,
    has_long_chains,
    is_staged,
    lane_count,
    params,
)
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place, plan_phases
from lazyfuse.backends.cpu.emit_site import Site, Values, first_site
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.vector import Operand, supports
from lazyfuse.ir.kernel import Kernel, Level
from lazyfuse.ops.body import Instr
from lazyfuse.ops.primitives import PRIMITIVES

_KERNEL = "void @lf_kernel(ptr noalias %params, i64 %begin, i64 %end)"
_SHARE = """\
define void @lf_share(ptr %params, ptr %counter, i64 %end, i64 %grain) #0 {
entry:
  br label %next
next:
  %begin = atomicrmw add ptr %counter, i64 %grain monotonic
  %is_over = icmp sge i64 %begin, %end
  br i1 %is_over, label %done, label %run
run:
  %limit = add i64 %begin, %grain
  %is_whole = icmp slt i64 %limit, %end
  %stop = select i1 %is_whole, i64 %limit, i64 %end
  call void @lf_kernel(ptr %params, i64 %begin, i64 %stop)
  br label %next
done:
  ret void
}"""


def exports(kernel: Kernel) -> list[str]:
    """The names of the exported functions."""
    names = ["lf_kernel", "lf_share"]
    if not is_staged(kernel):
        return names
    for number, plan in enumerate(plan_phases(kernel)):
        roles = ("phase", "start", "clear", "merge") if plan.folds else ("phase",)
        names += [f"lf_{role}{number}" for role in roles]
    return names


def emit(kernel: Kernel, features: frozenset[str]) -> str:
    """Write the module. Raises: Unsupported."""
    for phase in kernel.phases:
        for instr in phase.body:
            _check(instr, phase.body, features)
    return _Module(kernel, features).text()


class _Module:
    """Collects the functions of one kernel and the declarations they need."""

    def __init__(self, kernel: Kernel, features: frozenset[str]) -> None:
        self.kernel = kernel
        self.features = features
        self.params: Params = params(kernel)
        self.plans = plan_phases(kernel)
        self.declarations: dict[str, str] = {}
        self.lanes = lane_count(kernel)
        if "avx512f" in features and self.lanes <= 16 and has_long_chains(kernel):
            self.lanes *= 2  # 32 registers are enough for two of everything

    def text(self) -> str:
        functions = self._staged() if is_staged(self.kernel) else [self._whole()]
        width = ' "prefer-vector-width"="512"' if "avx512f" in self.features else ""
        attributes = f"attributes #0 = {{ nounwind{width} }}"
        return "\n\n".join((*self.declarations.values(), *functions, _SHARE, attributes, ""))

    def _writer(self) -> FunctionWriter:
        return FunctionWriter(self.lanes, self.features, self.declarations)

    def _site(self, writer: FunctionWriter) -> Site:
        return first_site(writer, self.kernel, self.params, _nothing_finished)

    def _whole(self) -> str:
        """All phases in one function."""
        writer = self._writer()
        site = self._site(writer)
        entries = [_entry(site, plan) for plan in self.plans]
        if folds_lanes(self.kernel):
            emit_rows(site, self.plans, entries)
        elif self.kernel.outer:
            emit_columns(site, self.plans, entries)
        else:
            emit_point(site, self.plans)
        return writer.text(_KERNEL)

    def _staged(self) -> list[str]:
        functions = []
        for number, plan in enumerate(self.plans):
            functions.append(self._phase(number, plan))
            if plan.folds:
                functions += self._fold_functions(number, plan)
        return [*functions, self._sequence()]

    def _phase(self, number: int, plan: PhasePlan) -> str:
        writer = self._writer()
        places = self._places(writer, "%state")
        site = self._site(writer).with_finished(lambda at, n: read_finished(at, n, places))
        out = self._places(writer, "%out")
        run_phase(site, plan, _entry(site, plan), ("%begin", "%end"), out)
        arguments = "ptr %params, ptr %state, i64 %begin, i64 %end, ptr %out"
        return writer.text(f"void @lf_phase{number}({arguments})")

    def _fold_functions(self, number: int, plan: PhasePlan) -> list[str]:
        def begin(writer: FunctionWriter) -> None:
            start_folds(self._site(writer), plan.folds, self._places(writer, "%out"))

        def clear(writer: FunctionWriter) -> None:
            clear_folds(writer, plan.folds, self._places(writer, "%out"))

        def merge(writer: FunctionWriter) -> None:
            left, right = (self._places(writer, name) for name in ("%left", "%right"))
            for fold, acc in plan.folds:
                pair = [read_parts(writer, acc, places[fold]) for places in (left, right)]
                write_parts(writer, left[fold], combine(writer, acc, *pair))

        return [
            self._scalar_function(f"void @lf_start{number}(ptr %params, ptr %out)", begin),
            self._scalar_function(f"void @lf_clear{number}(ptr %out)", clear),
            self._scalar_function(f"void @lf_merge{number}(ptr %left, ptr %right)", merge),
        ]

    def _scalar_function(self, signature: str, write: Callable[[FunctionWriter], None]) -> str:
        writer = self._writer()
        with writer.with_lanes(1):
            write(writer)
        return writer.text(signature)

    def _places(self, writer: FunctionWriter, base: str) -> Places:
        """The addresses of the accumulators in a state block."""
        places: Places = {}
        for number, acc in enumerate(self.kernel.accumulators):
            parts = range(len(part_dtypes(acc)))
            starts = [STATE_BYTES * number + STATE_BYTES // 2 * part for part in parts]
            places[number] = tuple(writer.offset(base, str(start)) for start in starts)
        return places

    def _sequence(self) -> str:
        """`lf_kernel` of a staged kernel: all phases in order."""
        writer = self._writer()
        state = writer.slot("i8", max(1, STATE_BYTES * len(self.kernel.accumulators)))
        extent = writer.parameter(self.params.extents[-1])
        for number, plan in enumerate(self.plans):
            if plan.folds:
                writer.line(f"call void @lf_start{number}(ptr %params, ptr {state})")
            arguments = f"ptr %params, ptr {state}, i64 0, i64 {extent}, ptr {state}"
            writer.line(f"call void @lf_phase{number}({arguments})")
        return writer.text(_KERNEL)


def _entry(site: Site, plan: PhasePlan) -> Values:
    values: Values = {}
    if plan.level is Level.INNER or not folds_lanes(site.kernel):
        site.evaluate(plan, Place.ENTRY, values)
    return values


def _nothing_finished(_site: Site, number: int) -> Operand:
    raise AssertionError(f"accumulator {number} is read before any phase has run")


def _check(instr: Instr, body: Sequence[Instr], features: frozenset[str]) -> None:
    """Raise Unsupported for an instruction that the vector writer has no spelling for."""
    if not supports(instr.dtype, features):
        raise Unsupported(instr.op, instr.dtype, "this processor does not convert float16")
    cells = PRIMITIVES[instr.op].llvm
    if not cells or instr.op == "neg":
        return
    dtype = body[instr.args[0]].dtype
    if dtype[0] not in cells or dtype == "f2":
        raise Unsupported(instr.op, dtype, "no LLVM spelling")
