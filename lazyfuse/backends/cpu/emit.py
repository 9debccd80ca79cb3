"""Kernel IR -> the text of an LLVM module with explicit vectors.

The module exports `lf_kernel(params, begin, end)`, which runs [begin, end) of the outer axis that
`params` says (see `emit_params`).

A kernel without outer axes is staged: `lf_phase<k>(params, state, begin, end, out)` folds a range
of the last inner axis into the accumulators at `out`, reading finished ones at `state`.
`lf_fold(params, left, right, role)` works on blocks of all accumulators: it writes what they start
from (START) or what changes nothing (CLEAR) to `left`, or folds `right` into `left` (MERGE). A
block has 16 bytes per accumulator. Each function costs some 0.3 ms to compile, so there are few.
"""

from __future__ import annotations

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cpu.byte_picks import picks_bytes
from lazyfuse.backends.cpu.chains import has_functions, has_long_chains
from lazyfuse.backends.cpu.compiler import IN_ORDER
from lazyfuse.backends.cpu.emit_blocks import has_blocks
from lazyfuse.backends.cpu.emit_fold import part_dtypes
from lazyfuse.backends.cpu.emit_inner import (
    Places,
    clear_folds,
    emit_rows,
    merge_folds,
    read_finished,
    run_phase,
    start_folds,
)
from lazyfuse.backends.cpu.emit_joined import emit_joined
from lazyfuse.backends.cpu.emit_outer import emit_columns, emit_point
from lazyfuse.backends.cpu.emit_params import (
    CLEAR,
    MERGE,
    START,
    STATE_BYTES,
    Params,
    is_staged,
    lane_count,
    params,
)
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place, plan_phases
from lazyfuse.backends.cpu.emit_rounds import is_pipelined, stage_lanes
from lazyfuse.backends.cpu.emit_rows import emit_rows_in_lanes
from lazyfuse.backends.cpu.emit_scan import emit_scan
from lazyfuse.backends.cpu.emit_site import Site, Values, first_site
from lazyfuse.backends.cpu.emit_stream import finish_streams, with_streams
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.features import supports
from lazyfuse.backends.cpu.vector import Operand
from lazyfuse.ir.kernel import Kernel, Lanes, Level
from lazyfuse.ops.primitives import PRIMITIVES

#: Values of two registers that may be alive at once, of 16: measured on Black-Scholes, 8 to 16 are
#: alike.
_VALUES = 12
#: Values of one register that may be alive beside those that stages carry, of 32 and of 16
#: registers: measured on the same, 20 to 30 are alike, and 8 to 10.
_STAGED, _STAGED_OF_16 = 20, 10
_KERNEL = "void @lf_kernel(ptr noalias %params, i64 %begin, i64 %end)"


def emit(kernel: Kernel, features: frozenset[str], *, brief: bool = False) -> str:
    """Write the module; `brief`: a text that is soon compiled, where a body has one copy.
    Raises: Unsupported."""
    for phase in kernel.phases:
        dtypes = [instr.dtype for instr in phase.body]
        asked = [
            (instr.op, instr.dtype, dtypes[instr.args[0]] if instr.args else "")
            for instr in phase.body
        ]
        for op, dtype, read in dict.fromkeys(asked):
            _check(op, dtype, read, features)
    return _Module(kernel, features, brief).text()


class _Module:
    """Collects the functions of one kernel and the declarations they need."""

    def __init__(self, kernel: Kernel, features: frozenset[str], brief: bool) -> None:
        self.kernel, self.brief = kernel, brief
        self.features = features
        self.params: Params = params(kernel)
        self.plans = plan_phases(kernel)
        self.declarations: dict[str, str] = {}
        self.lanes = lane_count(kernel, picks_bytes=picks_bytes(features))
        self.registers, self.pipelined = 0, False
        if "avx2" in features and self.lanes <= 16 and has_long_chains(kernel):
            self._keep_busy()

    def _keep_busy(self) -> None:
        """Several stages of a deep body side by side, or, of 32 registers, two of everything."""
        has_many = "avx512f" in self.features
        if self.brief:
            self.lanes *= 2 if has_many else 1
            return
        is_whole = is_pipelined(self.kernel, self.plans)
        self.pipelined = is_whole or any(has_blocks(self.kernel, plan) for plan in self.plans)
        if self.pipelined:
            self.registers = _STAGED if has_many else _STAGED_OF_16
            if is_whole:
                self.lanes = stage_lanes(self.lanes, self.features)
        elif has_many:
            self.lanes *= 2
            is_reordered = has_functions(self.kernel) and not self.kernel.inner
            self.registers = _VALUES if is_reordered else 0

    def text(self) -> str:
        functions = self._staged() if is_staged(self.kernel) else [self._whole()]
        width = ' "prefer-vector-width"="512"' if "avx512f" in self.features else ""
        order = f" {IN_ORDER}" if self.pipelined and "avx512f" in self.features else ""
        attributes = f"attributes #0 = {{ nounwind{width}{order} }}"
        return "\n\n".join((*self.declarations.values(), *functions, attributes, ""))

    def _writer(self) -> FunctionWriter:
        return FunctionWriter(
            self.lanes,
            self.features,
            self.declarations,
            registers=self.registers,
            pipelined=self.pipelined,
            brief=self.brief,
        )

    def _site(self, writer: FunctionWriter) -> Site:
        return first_site(writer, self.kernel, self.params, _nothing_finished)

    def _whole(self) -> str:
        """All phases in one function."""
        writer = self._writer()
        site = self._site(writer)
        entries = [_entry(site, plan) for plan in self.plans]
        if not self.brief:
            site = with_streams(site, self.plans)
        if self.kernel.scan is not None:
            emit_scan(site, self.plans[0], entries[0])
        elif self.kernel.folds_lanes:
            emit_rows(site, self.plans, entries)
        elif self.kernel.lanes is Lanes.ROWS:
            emit_rows_in_lanes(site, self.plans, entries)
        elif self.kernel.joined > 1:
            emit_joined(site, self.plans[0], entries[0])
        elif self.kernel.outer:
            emit_columns(site, self.plans, entries)
        else:
            emit_point(site, self.plans)
        finish_streams(site)
        return writer.text(_KERNEL)

    def _staged(self) -> list[str]:
        phases = [self._phase(number, plan) for number, plan in enumerate(self.plans)]
        return [*phases, self._fold(), self._sequence()]

    def _phase(self, number: int, plan: PhasePlan) -> str:
        writer = self._writer()
        places = self._places(writer, "%state")
        site = self._site(writer).with_finished(lambda at, n: read_finished(at, n, places))
        out = self._places(writer, "%out")
        run_phase(site, plan, _entry(site, plan), ("%begin", "%end"), out)
        arguments = "ptr %params, ptr %state, i64 %begin, i64 %end, ptr %out"
        return writer.text(f"void @lf_phase{number}({arguments})")

    def _fold(self) -> str:
        """`lf_fold`: start, clear or merge all accumulators of a block."""
        writer = self._writer()
        folds = tuple(enumerate(self.kernel.accumulators))
        left, right = (self._places(writer, name) for name in ("%left", "%right"))
        with writer.with_lanes(1):
            for role in (START, CLEAR, MERGE):
                with writer.when(writer.value(f"icmp eq i64 %role, {role}")):
                    if role == START:
                        start_folds(self._site(writer), folds, left)
                    elif role == CLEAR:
                        clear_folds(writer, folds, left)
                    else:
                        merge_folds(writer, folds, left, right)
        return writer.text("void @lf_fold(ptr %params, ptr %left, ptr %right, i64 %role)")

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
        writer.line(f"call void @lf_fold(ptr %params, ptr {state}, ptr {state}, i64 {START})")
        for number in range(len(self.plans)):
            arguments = f"ptr %params, ptr {state}, i64 0, i64 {extent}, ptr {state}"
            writer.line(f"call void @lf_phase{number}({arguments})")
        return writer.text(_KERNEL)


def _entry(site: Site, plan: PhasePlan) -> Values:
    values: Values = {}
    if plan.level is Level.INNER or not site.kernel.folds_lanes:
        site.evaluate(plan, Place.ENTRY, values)
    return values


def _nothing_finished(_site: Site, number: int) -> Operand:
    raise AssertionError(f"accumulator {number} is read before any phase has run")


def _check(op: str, dtype: str, read: str, features: frozenset[str]) -> None:
    """Raise Unsupported for an instruction that the vector writer has no spelling for; `read` is
    the dtype of its first operand."""
    if not supports(dtype, features):
        raise Unsupported(op, dtype, "this processor does not convert float16")
    cells = PRIMITIVES[op].llvm
    if not cells or op == "neg":
        return
    if read[0] not in cells or read == "f2":
        raise Unsupported(op, read, "no LLVM spelling")
