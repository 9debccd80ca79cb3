"""Running compiled kernels: prepared jobs, patched per launch, whose ranges threads share.

`Launch` fixes extents, strides and offsets. A call takes the memory of a run that is over, or
makes new, and writes addresses and scalars into it; so launches may run at the same time. Results
do not depend on the number of threads or on who takes which range: lanes and rows are independent,
and a full sum is split only where NumPy's own tree splits (`launch_staged`).
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from copy import copy
from operator import add, attrgetter
from typing import NamedTuple

from lazyfuse.backends.base import LONG_NS, Buffer, Scalar
from lazyfuse.backends.cpu.buffers import BufferPool, CpuBuffer, allocate, size_class
from lazyfuse.backends.cpu.compiler import Code
from lazyfuse.backends.cpu.emit_params import is_staged, params, strided_axes, walked
from lazyfuse.backends.cpu.emit_plan import PhasePlan
from lazyfuse.backends.cpu.launch_cut import Measures, cut, memory_ns, moved_bytes
from lazyfuse.backends.cpu.launch_run import Block, Job, Run, ScalarSlots
from lazyfuse.backends.cpu.launch_staged import StagedCalls, StagedProgram
from lazyfuse.backends.cpu.launch_text import WORKERS
from lazyfuse.backends.cpu.threads import Workers
from lazyfuse.ir.kernel import Kernel, Lanes, Role
from lazyfuse.processors import default_threads

#: Estimated nanoseconds of work that pay for one more thread that looks for work: it joins in
#: 1 us.
NS_PER_THREAD = 8_000.0
#: And for one that sleeps: to wake it takes its waker up to 10 us, and it comes after 30 us.
WAKE_NS = 60_000.0
#: Ranges per thread, to even out their speeds; a range costs far more than claiming it.
RANGES_PER_THREAD = 4
_POINTER = attrgetter("pointer")


class Program:
    """What all launches of a compiled kernel share; `plans` are those of a staged one."""

    def __init__(
        self,
        kernel: Kernel,
        plans: Sequence[PhasePlan],
        found: Measures,
        code: Code,
        *,
        memory: BufferPool,
        workers: Workers,
    ) -> None:
        self.kernel, self.memory, self.workers = kernel, memory, workers
        self.params = params(kernel)
        slots = self.params
        self.scalars = ScalarSlots(kernel.scalars)
        self.scalars_at = 8 * slots.scalars[0] if slots.scalars else 0
        roles = [arg.role for arg in kernel.args]
        places = ("8x" if role is Role.SCRATCH else "q" for role in roles)
        self.addresses = struct.Struct("<" + "".join(places))
        self.addresses_at = 8 * slots.pointers[0] if slots.pointers else 0
        self.lanes, self.ns_per_point = found
        self.code = code  # unloaded when collected
        self.calls = code.compiler.calls
        self.staged = StagedProgram(kernel, plans, code) if is_staged(kernel) else None
        self.address = code.address("lf_kernel")


class Prepared(NamedTuple):
    """A launch for machine code, which makes its job (`launch_text.py`), or which has one.

    block: the parameters but for addresses, of every participant. pointers: slot and offset in
    bytes of each operand. scratch: slot and bytes of memory that the kernel writes first, also of
    every participant. scalars: slot and dtype of each. owner: keeps the code loaded. job: the
    address of a job that uses the block as it is, for one call at a time; 0 where one is made.
    """

    owner: object
    kernel: int
    block: Block
    end: int
    grain: int
    helpers: int
    wakes: int
    pointers: Sequence[tuple[int, int]]
    scratch: Sequence[tuple[int, int]]
    work_ns: float
    scalars: Sequence[tuple[int, str]] = ()
    job: int = 0


class Launch:
    """A program with fixed extents, strides and offsets; see `backends.base.Launch`."""

    def __init__(
        self,
        program: Program,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> None:
        self.program, self.extents = program, extents
        kernel = program.kernel
        self._is_empty = 0 in extents[: kernel.outer]
        nbytes = moved_bytes(kernel, extents, strides)
        self._cut = cut(kernel, extents, program.lanes, program.ns_per_point, nbytes)
        self._end = walked(kernel, extents)[self._cut.axis] if kernel.outer else 1
        self._template = self._block(strides)
        self.pointers = _pointer_slots(program, offsets)
        self._offsets = [offset for _, offset in self.pointers]
        self._idle: dict[int, list[Run]] = {}  # by helpers
        self._scratch = _scratch_slots(program, extents, self._cut.columns)
        self.work_ns = max(math.prod(extents) * program.ns_per_point, memory_ns(nbytes))

    def __call__(
        self,
        buffers: Sequence[Buffer],
        scalars: Sequence[Scalar],
        *,
        threads: int,
        ran: list[object] | None = None,
    ) -> int:
        """Run the kernel on buffers (one per argument that is not scratch) and scalars; return
        the floating point conditions met."""
        if self._is_empty:
            return 0
        program, helpers = self.program, self._helpers(threads)
        idle = self._idle.get(helpers)
        if idle is None:
            idle = self._idle.setdefault(helpers, [])
        run = idle.pop() if idle else self._prepare(helpers)
        self.write(run, buffers, scalars)
        scratch = self._add_scratch(run) if self._scratch else None
        if helpers:
            program.workers.start(helpers)
        is_short = self.work_ns <= LONG_NS and not helpers
        run.launch(program.calls.launch_short if is_short else program.calls.launch, ran)
        del scratch
        met = run.met()
        idle.append(run)
        return program.calls.decoded[met]

    def _helpers(self, threads: int) -> int:
        """How many threads more are worth their start; 0 of `threads` stands for all there are."""
        helpers = int(self.work_ns / NS_PER_THREAD)
        if not helpers or self.program.kernel.scattered:
            return 0  # scattered: the last value for an element stays, in index order
        return min((threads or default_threads()) - 1, helpers, WORKERS)

    def _wakes(self, helpers: int) -> int:
        """How many of them are worth waking."""
        return helpers if self.work_ns >= WAKE_NS else 0

    def fixed(self, scalars: Sequence[Scalar]) -> Launch:
        """The same launch with these scalars for good; it is called with none."""
        made = copy(self)
        made._template = type(self._template).from_buffer_copy(self._template)
        self.program.scalars.write(made._template, self.program.scalars_at, scalars)
        made._idle = {}
        return made

    def prepared(self, threads: int) -> Prepared | None:
        """What machine code runs; None where there is nothing to run."""
        program, helpers = self.program, self._helpers(threads)
        if self._is_empty:
            return None
        if program.staged and helpers:
            run = self._prepare(helpers)
            return Prepared(
                (program, run), 0, run.block, 0, 0, helpers, 0,
                self.pointers, self._scratch, self.work_ns, self.scalars, run.address,
            )  # fmt: skip
        grain, helpers = self._shares(helpers)
        return Prepared(
            program, program.address, self._template, self._end, grain, helpers,
            self._wakes(helpers), self.pointers, self._scratch, self.work_ns, self.scalars,
        )  # fmt: skip

    @property
    def scalars(self) -> list[tuple[int, str]]:
        """Slot and dtype of each scalar."""
        program = self.program
        return list(zip(program.params.scalars, program.kernel.scalars, strict=True))

    def _shares(self, helpers: int) -> tuple[int, int]:
        """The length of the ranges that threads claim, and how many helpers have one."""
        units = -(-self._end // self._cut.unit)
        helpers = min(helpers, units - 1)
        ranges = RANGES_PER_THREAD * (helpers + 1) if helpers else 1
        return -(-units // ranges) * self._cut.unit, helpers

    def _prepare(self, helpers: int) -> Run:
        """Memory for a run with so many helpers."""
        program = self.program
        if program.staged and helpers:
            run = Run(self._template, 1)
            wakes = self._wakes(helpers)
            staged = StagedCalls(
                program.staged, run.params, self.extents, helpers=helpers, wakes=wakes
            )
            run.set_jobs(staged.jobs, staged)
            return run
        grain, helpers = self._shares(helpers)
        run = Run(self._template, 1 + helpers if self._scratch else 1)
        wakes = self._wakes(helpers)
        run.set_jobs([Job(program.address, run.params, self._end, grain, helpers, wakes)])
        return run

    def for_bands(self, rows: int) -> Run:
        """Memory for a run in ranges of the first axis, of about so many rows, that others
        choose."""
        run, slots = Run(self._template, 1), self.program.params
        first = run.places[0] // 8
        run.words[first + slots.split] = 0
        run.words[first + slots.extents[0]] = rows  # of which kernels see how much they move
        return run

    def write(self, run: Run, buffers: Sequence[Buffer], scalars: Sequence[Scalar]) -> None:
        """Put addresses and scalars into the memory of a run."""
        program, words = self.program, run.words
        addresses = [*map(add, map(_POINTER, buffers), self._offsets)]
        for place in run.places:
            # both raise if some are missing
            program.addresses.pack_into(words, place + program.addresses_at, *addresses)
            if scalars:
                program.scalars.write(words, place + program.scalars_at, scalars)

    def _add_scratch(self, run: Run) -> CpuBuffer:
        """Give each thread scratch memory of its own; it lives as long as what is returned."""
        each = sum(nbytes for _, nbytes in self._scratch)
        memory = allocate(self.program.memory, each * len(run.places))
        address = memory.pointer
        for place in run.places:
            for slot, nbytes in self._scratch:
                run.words[place // 8 + slot] = address
                address += nbytes
        return memory

    def _block(self, strides: tuple[tuple[int, ...], ...]) -> Block:
        slots = self.program.params
        kernel = self.program.kernel
        block = (ctypes.c_int64 * (slots.size + 1))()  # the flags come last
        for slot, extent in zip(slots.extents, self.extents, strict=True):
            block[slot] = extent
        block[slots.split] = self._cut.axis
        block[slots.block] = self._cut.columns
        block[slots.rows] = self._cut.rows
        args = [arg for arg in kernel.args if arg.role is not Role.SCRATCH]
        places = [
            places
            for arg, places in zip(kernel.args, slots.strides, strict=True)
            if arg.role is not Role.SCRATCH
        ]
        for arg, axes, steps in zip(args, places, strides, strict=True):
            for axis in strided_axes(arg.access):
                block[axes[axis]] = steps[axis] * int(arg.dtype[1:])
        return block


def _pointer_slots(program: Program, offsets: tuple[int, ...]) -> list[tuple[int, int]]:
    """Slot and offset in bytes of each argument that is not scratch."""
    args = zip(program.params.pointers, program.kernel.args, strict=True)
    given = [(slot, arg) for slot, arg in args if arg.role is not Role.SCRATCH]
    return [
        (slot, offset * int(arg.dtype[1:]))
        for (slot, arg), offset in zip(given, offsets, strict=True)
    ]


def _scratch_slots(
    program: Program, extents: tuple[int, ...], columns: int
) -> list[tuple[int, int]]:
    """Slot and bytes of each scratch argument: a value per inner index (and column of a block)."""
    kernel = program.kernel
    if kernel.lanes is Lanes.ROWS:
        return []  # on the stack
    points = math.prod(extents[kernel.outer :]) * (1 if kernel.folds_lanes else columns)
    slots = zip(program.params.pointers, kernel.args, strict=True)
    given = [(slot, arg) for slot, arg in slots if arg.role is Role.SCRATCH]
    return [(slot, size_class(points * int(arg.dtype[1:]))) for slot, arg in given]
