"""Running compiled kernels: a prepared parameter block, patched per launch, and ranges shared by
threads.

`Launch` fixes extents, strides and offsets; a call copies the block and writes addresses and
scalars into the copy, so launches may run at the same time. Results do not depend on the number of
threads or on who takes which range: lanes and rows are independent, and a full sum is split only
where NumPy's own tree splits (`launch_staged`).
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from copy import copy
from functools import partial

from lazyfuse.backends.base import Buffer, Scalar
from lazyfuse.backends.cpu.buffers import BufferPool, CpuBuffer, allocate
from lazyfuse.backends.cpu.emit_params import (
    BLOCK_VECTORS,
    folds_lanes,
    is_staged,
    lane_count,
    params,
    strided_axes,
)
from lazyfuse.backends.cpu.emit_plan import Place, plan_phases
from lazyfuse.backends.cpu.jit import Code
from lazyfuse.backends.cpu.launch_staged import StagedLaunch, StagedProgram
from lazyfuse.backends.cpu.threads import Workers, default_threads
from lazyfuse.ir.kernel import Kernel, Level, Role
from lazyfuse.ops.primitives import PRIMITIVES

#: Estimated nanoseconds of work that pay for one more thread: twice a fork-join (20 us).
NS_PER_THREAD = 40_000.0
#: Ranges per thread, to even out their speeds; a range costs far more than claiming it.
RANGES_PER_THREAD = 4
#: Bytes of scratch memory per block of columns: half a usual second-level cache.
SCRATCH_BYTES = 512 << 10
#: Elements of the lane axis that go to one thread together. A column reduction over strips of 8
#: doubles takes 2 to 4 times as long as over 64 (1M doubles, 16 to 1000 columns); for elementwise
#: kernels it is a cache line of bytes.
UNIT_ELEMENTS = 64
#: Nanoseconds per point from which a column reduction is not bound by memory: narrow strips pay.
HEAVY_NS = 2.0

_FLOAT_FORMATS = {2: "<e", 4: "<f", 8: "<d"}


Block = ctypes.Array[ctypes.c_int64]


class Program:
    """What all launches of a compiled kernel share."""

    def __init__(
        self, kernel: Kernel, code: Code, *, memory: BufferPool, workers: Workers
    ) -> None:
        self.kernel, self.memory, self.workers = kernel, memory, workers
        self.params = params(kernel)
        self.lanes = lane_count(kernel)
        self.code = code  # unloaded when collected
        self.calls = code.compiler.calls
        self.staged = StagedProgram(kernel, code) if is_staged(kernel) else None
        self.address = code.address("lf_kernel")
        self.ns_per_point = ns_per_point(kernel)


class Launch:
    """A program with fixed extents, strides and offsets; see `backends.base.Launch`."""

    def __init__(
        self,
        program: Program,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> None:
        self._program, self._extents = program, extents
        kernel = program.kernel
        self._is_empty = 0 in extents[: kernel.outer]
        self._split, self._unit = _split_axis(program, extents)
        self._end = extents[self._split] if kernel.outer else 1
        self._columns = _block_columns(program, extents)
        self._template = self._block(strides)
        self._flags = 8 * program.params.size
        self._pointers = _pointer_slots(program, offsets)
        self._scratch = _scratch_slots(program, extents, self._columns)
        self.work_ns = math.prod(extents) * program.ns_per_point

    def __call__(
        self, buffers: Sequence[Buffer], scalars: Sequence[Scalar], *, threads: int
    ) -> int:
        """Run the kernel on buffers (one per argument that is not scratch) and scalars; return
        the floating point conditions met."""
        if self._is_empty:
            return 0
        block = type(self._template).from_buffer_copy(self._template)
        for (slot, offset), buffer in zip(self._pointers, buffers, strict=True):
            block[slot] = buffer.pointer + offset
        if scalars:
            self._write_scalars(block, scalars)
        helpers = int(self.work_ns / NS_PER_THREAD)
        if helpers:
            helpers = min((threads or default_threads()) - 1, helpers)
        if self._program.kernel.scattered:
            helpers = 0  # the last value for an element stays: in index order
        program, address = self._program, ctypes.addressof(block)
        flags = address + self._flags
        if program.staged and helpers > 0:
            scratch = self._add_scratch(block)
            launch = StagedLaunch(program.staged, program.workers, helpers)
            launch.run(address, self._extents, flags)
            del scratch
        elif helpers > 0 and self._end > self._unit:
            self._run_shared(block, helpers, flags)
        else:
            scratch = self._add_scratch(block)
            program.calls.run(program.address, address, self._end, flags)
            del scratch
        return program.calls.decoded[block[-1]]

    def fixed(self, scalars: Sequence[Scalar]) -> Launch:
        """The same launch with these scalars for good; it is called with none."""
        made = copy(self)
        made._template = type(self._template).from_buffer_copy(self._template)
        self._write_scalars(made._template, scalars)
        return made

    def _run_shared(self, block: Block, helpers: int, flags: int) -> None:
        units = -(-self._end // self._unit)
        helpers = min(helpers, units - 1)
        grain = -(-units // (RANGES_PER_THREAD * (helpers + 1))) * self._unit
        counter = ctypes.c_int64(0)
        work = partial(self._take_ranges, block, ctypes.addressof(counter), flags, grain)
        self._program.workers.run(work, helpers)

    def _take_ranges(self, block: Block, counter: int, flags: int, grain: int) -> None:
        """Run ranges until none is left; on every thread."""
        scratch = None
        if self._scratch:
            block = type(block).from_buffer_copy(block)
            scratch = self._add_scratch(block)
        program, address = self._program, ctypes.addressof(block)
        program.calls.share(program.address, address, counter, self._end, grain, flags)
        del scratch

    def _add_scratch(self, block: Block) -> list[CpuBuffer]:
        """Give the block scratch memory of its own; it lives as long as what is returned."""
        owned = []
        for slot, nbytes in self._scratch:
            buffer = allocate(self._program.memory, nbytes)
            block[slot] = buffer.pointer
            owned.append(buffer)
        return owned

    def _block(self, strides: tuple[tuple[int, ...], ...]) -> Block:
        slots = self._program.params
        kernel = self._program.kernel
        block = (ctypes.c_int64 * (slots.size + 1))()  # the flags come last
        for slot, extent in zip(slots.extents, self._extents, strict=True):
            block[slot] = extent
        block[slots.split] = self._split
        block[slots.block] = self._columns
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

    def _write_scalars(self, block: Block, scalars: Sequence[Scalar]) -> None:
        kernel, slots = self._program.kernel, self._program.params.scalars
        for dtype, slot, value in zip(kernel.scalars, slots, scalars, strict=True):
            if dtype[0] in "biu":
                block[slot] = int(value)  # type: ignore[arg-type]  # never complex here; wraps
            elif dtype[0] == "f":
                _write_float(block, slot, dtype, float(value))  # type: ignore[arg-type]  # same
            else:
                number = complex(value)
                part = f"f{int(dtype[1:]) // 2}"
                _write_float(block, slot, part, number.real)
                _write_float(block, slot + 1, part, number.imag)


def ns_per_point(kernel: Kernel) -> float:
    """A rough time per index of one thread, to tell small work from large."""
    cycles = 0.0
    for plan in plan_phases(kernel):
        if plan.level is Level.OUTER and kernel.inner:
            continue
        pairs = zip(plan.body, plan.places, strict=True)
        cycles += sum(PRIMITIVES[instr.op].cost for instr, place in pairs if place is Place.LANE)
        cycles += 2 * len(plan.stores) + len(plan.folds)
    return cycles / 8 / 3


def _write_float(block: Block, slot: int, dtype: str, value: float) -> None:
    try:
        struct.pack_into(_FLOAT_FORMATS[int(dtype[1:])], block, 8 * slot, value)
    except OverflowError:  # too large for the dtype: infinity, as NumPy's cast
        infinity = math.copysign(math.inf, value)
        struct.pack_into(_FLOAT_FORMATS[int(dtype[1:])], block, 8 * slot, infinity)


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
    points = math.prod(extents[kernel.outer :]) * (1 if folds_lanes(kernel) else columns)
    slots = zip(program.params.pointers, kernel.args, strict=True)
    return [(slot, points * int(arg.dtype[1:])) for slot, arg in slots if arg.role is Role.SCRATCH]


def _block_columns(program: Program, extents: tuple[int, ...]) -> int:
    """The columns a column reduction takes together; less where scratch would not fit a cache."""
    kernel, lanes = program.kernel, program.lanes
    sizes = [int(arg.dtype[1:]) for arg in kernel.args if arg.role is Role.SCRATCH]
    if not sizes:
        return BLOCK_VECTORS * lanes
    vector_bytes = lanes * max(1, math.prod(extents[kernel.outer :])) * sum(sizes)
    return lanes * max(1, min(BLOCK_VECTORS, SCRATCH_BYTES // vector_bytes))


def _split_axis(program: Program, extents: tuple[int, ...]) -> tuple[int, int]:
    """The outer axis that threads share (the first long one, else the longest) and its unit."""
    kernel = program.kernel
    if not kernel.outer:
        return 0, 1
    units = [1] * kernel.outer
    if not folds_lanes(kernel):
        is_heavy = kernel.inner and program.ns_per_point >= HEAVY_NS
        units[-1] = program.lanes if is_heavy else UNIT_ELEMENTS
    counts = [-(-extent // unit) for extent, unit in zip(extents, units, strict=False)]
    longest = max(range(kernel.outer), key=lambda axis: (min(counts[axis], 16), -axis))
    return longest, units[longest]
