"""A Program with fixed extents, strides and offsets -> a Launch: buffers and scalars in, kernels
on the device out.

Everything that does not depend on buffers or scalars is computed when it is bound. The device is
reached through a `Runtime` alone (memory for workspaces, functions by entry name), which the GPU
and the host shim both implement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lazyfuse.backends.base import Buffer, Scalar
from lazyfuse.backends.cuda.ctype import CTYPES, PART
from lazyfuse.backends.cuda.geometry import (
    Target,
    elementwise_geometry,
    reduction_geometry,
)
from lazyfuse.backends.cuda.program import Parameter, ParameterKind, Program, Shape
from lazyfuse.ir.kernel import Kernel, Role

Value = int | np.generic
Function = Callable[[tuple[int, int], tuple[int, int], Sequence[Value]], None]


class Runtime(Protocol):
    """What a launch needs of a device."""

    target: Target

    def workspace(self, nbytes: int, *, zeroed: bool) -> Buffer:
        """Memory that lives at least until the kernels launched so far have run."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Extents of all axes; per argument (None for scratch) strides and offset, in elements."""

    extents: tuple[int, ...]
    strides: tuple[tuple[int, ...] | None, ...]
    offsets: tuple[int, ...]

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> Layout:
        """Spread what `bind` is given, one entry per non-scratch argument, over all arguments."""
        given = iter(zip(strides, offsets, strict=True))
        spread = [(None, 0) if arg.role is Role.SCRATCH else next(given) for arg in kernel.args]
        return cls(
            extents, tuple(pair[0] for pair in spread), tuple(int(pair[1]) for pair in spread)
        )


#: Where a parameter that changes from call to call finds its value: its kind and number.
Sources = dict[tuple[ParameterKind, int], int]


class OwnLaunch:
    """A bound self-contained kernel; see ElementwiseLaunch and ReductionLaunch."""

    def __init__(
        self, program: Program, runtime: Runtime, functions: dict[str, Function], layout: Layout
    ) -> None:
        kernel = program.kernel
        self.program, self.runtime, self.functions = program, runtime, functions
        self.outer = math.prod(layout.extents[: kernel.outer])
        self.inner = math.prod(layout.extents[kernel.outer :])
        self.packable = can_pack(program, layout)
        self.places = tuple(_places(kernel, layout))
        self.template = [_fixed_value(parameter, layout) for parameter in program.parameters]
        self.varying = tuple(
            (position, parameter)
            for position, parameter in enumerate(program.parameters)
            if parameter.kind not in (ParameterKind.EXTENT, ParameterKind.STRIDE)
        )

    def __call__(
        self, buffers: Sequence[Buffer], scalars: Sequence[Scalar], *, threads: int = 0
    ) -> int:
        """Run on buffers and scalars. Returns 0: a GPU has no floating point flags."""
        if self.outer == 0:
            return 0
        sources = {
            (ParameterKind.POINTER, number): buffer.pointer + offset
            for (number, offset), buffer in zip(self.places, buffers, strict=True)
        }
        self.run(sources, scalars, packed=self.packable and self._aligned(sources))
        return 0

    def run(self, sources: Sources, scalars: Sequence[Scalar], *, packed: bool) -> None:
        """Launch with the addresses in `sources`."""
        raise NotImplementedError("ElementwiseLaunch and ReductionLaunch say how to run")

    def values(self, sources: Sources, scalars: Sequence[Scalar]) -> list[Value]:
        """The parameter values of one launch."""
        values = list(self.template)
        for position, parameter in self.varying:
            if parameter.kind is ParameterKind.SCALAR:
                values[position] = scalar_value(scalars[parameter.number], parameter)
            else:
                values[position] = sources.get((parameter.kind, parameter.number), 0)
        return values

    def _aligned(self, sources: Sources) -> bool:
        return all(
            sources[ParameterKind.POINTER, number] % pack_bytes(self.program, number) == 0
            for number in self.program.packed_args
        )


class ElementwiseLaunch(OwnLaunch):
    """One launch of the vector entry where layouts and addresses allow, of the general one
    elsewhere.
    """

    def run(self, sources: Sources, scalars: Sequence[Scalar], *, packed: bool) -> None:
        program = self.program
        entry = program.vector_entry if packed and program.vector_entry else program.entry
        geometry = elementwise_geometry(program, self.runtime.target, self.outer, packed=packed)
        self.functions[entry](geometry.grid, geometry.block, self.values(sources, scalars))


class ReductionLaunch(OwnLaunch):
    """One launch, or one per inner phase where blocks share outer indices."""

    def __init__(
        self, program: Program, runtime: Runtime, functions: dict[str, Function], layout: Layout
    ) -> None:
        super().__init__(program, runtime, functions, layout)
        self.geometry = reduction_geometry(program, runtime.target, max(self.outer, 1), self.inner)
        everything = ((0, len(program.kernel.phases)),)
        self.ranges = program.launches if self.geometry.splits > 1 else everything

    def run(self, sources: Sources, scalars: Sequence[Scalar], *, packed: bool) -> None:
        workspaces = self._workspaces()
        sources.update((key, buffer.pointer) for key, buffer in workspaces.items())
        sources[ParameterKind.PACKED, 0] = int(packed)
        function, geometry = self.functions[self.program.entry], self.geometry
        for first, last in self.ranges:
            sources[ParameterKind.FIRST, 0], sources[ParameterKind.LAST, 0] = first, last
            function(geometry.grid, geometry.block, self.values(sources, scalars))

    def _workspaces(self) -> dict[tuple[ParameterKind, int], Buffer]:
        """Scratch arguments, and what blocks that share an outer index exchange."""
        program, workspace = self.program, self.runtime.workspace
        shared = self.geometry.splits > 1
        slots = self.outer if shared else self.geometry.slots
        areas = {
            (ParameterKind.SCRATCH, number): workspace(
                slots * max(self.inner, 1) * CTYPES[arg.dtype].size, zeroed=False
            )
            for number, arg in enumerate(program.kernel.args)
            if arg.role is Role.SCRATCH
        }
        if shared:
            states = self.outer * self.geometry.splits
            sizes = {
                ParameterKind.PARTIALS: states * program.partial_bytes,
                ParameterKind.TOTALS: self.outer * program.totals_bytes,
                ParameterKind.COUNTERS: 4 * self.geometry.grid[0],
            }
            for kind, nbytes in sizes.items():
                areas[kind, 0] = workspace(nbytes, zeroed=kind is ParameterKind.COUNTERS)
        return areas


def bind(
    program: Program, runtime: Runtime, functions: dict[str, Function], layout: Layout
) -> OwnLaunch:
    """Make the launch that fits the program's thread layout."""
    each = (Shape.ELEMENTWISE, Shape.SHARED_ROWS)
    kind = ElementwiseLaunch if program.shape in each else ReductionLaunch
    return kind(program, runtime, functions, layout)


def _places(kernel: Kernel, layout: Layout) -> Iterator[tuple[int, int]]:
    """Argument number and byte offset, for each buffer of a call."""
    for number, arg in enumerate(kernel.args):
        if arg.role is not Role.SCRATCH:
            yield number, layout.offsets[number] * CTYPES[arg.dtype].size


def _fixed_value(parameter: Parameter, layout: Layout) -> Value:
    """Extents and strides; 0 stands in for what a call fills in."""
    if parameter.kind is ParameterKind.EXTENT:
        return layout.extents[parameter.number]
    if parameter.kind is ParameterKind.STRIDE:
        strides = layout.strides[parameter.number]
        assert strides is not None, parameter
        return strides[parameter.axis]
    return 0


def pack_bytes(program: Program, number: int) -> int:
    """The alignment that packs of argument `number` need: their size, 16 at most."""
    return min(16, program.pack * CTYPES[program.kernel.args[number].dtype].size)


def can_pack(program: Program, layout: Layout) -> bool:
    """Whether every pack starts at a whole number of packs from its argument's address."""
    kernel, pack = program.kernel, program.pack
    last = len(layout.extents) - 1
    if pack == 1:
        return False
    together = kernel.outer if program.shape is Shape.ELEMENTWISE else kernel.inner
    if together > 1 and layout.extents[last] % pack:
        return False
    for number in program.packed_args:
        strides = layout.strides[number]
        assert strides is not None, number
        for axis, extent in enumerate(layout.extents[:last]):
            if extent > 1 and strides[axis] % pack:
                return False
    return True


def scalar_value(scalar: Scalar, parameter: Parameter) -> np.generic:
    """The typed value of a scalar: float16 as bits, bool as a byte, complex as a part."""
    dtype = parameter.dtype
    if dtype in PART:
        part = complex(scalar).imag if parameter.axis else complex(scalar).real
        return np.float32(part) if PART[dtype] == "f4" else np.float64(part)
    if dtype == "b1":
        return np.uint8(bool(scalar))
    value: np.generic = np.dtype(dtype).type(scalar)
    return np.uint16(value.view(np.uint16)) if dtype == "f2" else value
