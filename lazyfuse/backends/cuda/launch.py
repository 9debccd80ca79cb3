"""A Program with fixed extents, strides and offsets -> a Launch: buffers and scalars in, kernels
on the device out.

Everything that does not depend on buffers or scalars is computed when it is bound. The device is
reached through a `Runtime` alone (memory for workspaces, functions by entry name), which the GPU
and the host shim both implement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from lazyfuse.backends.base import Buffer, Scalar
from lazyfuse.backends.cuda.ctype import CTYPES, PART
from lazyfuse.backends.cuda.division import as_signed, magic
from lazyfuse.backends.cuda.geometry import (
    WARP,
    Geometry,
    Target,
    elementwise_geometry,
    reduction_geometry,
)
from lazyfuse.backends.cuda.program import (
    Parameter,
    ParameterKind,
    Program,
    Shape,
    Strategy,
    scratch_of,
)
from lazyfuse.ir.kernel import Kernel, Role

#: Integers, typed numbers, and what a Runtime makes of integers.
Value = int | np.generic | Any
#: Of grid, block, values, and bytes of shared memory where a kernel needs some. Where it has a
#: `straight`, that gives a function of values for a grid and a block, which takes less time.
Function = Callable[..., None]


class Runtime(Protocol):
    """What a launch needs of a device."""

    target: Target
    #: Makes of an integer what its functions take soonest; 8 bytes.
    word: Callable[[int], Any]

    def workspace(self, nbytes: int, *, zeroed: bool) -> Buffer:
        """Memory that lives at least until the kernels launched so far have run."""

    def table(self, words: np.ndarray) -> Buffer:
        """A workspace with these 8-byte words; they may change once this returns."""


class Recorder(Runtime, Protocol):
    """A Runtime whose launches are for a graph (graphs.py)."""

    def functions(self, functions: dict[str, Function]) -> dict[str, Function]:
        """These functions, recorded."""


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


class OwnLaunch:
    """A bound self-contained kernel; see ElementwiseLaunch and ReductionLaunch.

    A call copies the template of its values and fills in addresses and scalars: all else is
    prepared here.
    """

    is_capturable = True
    #: Kernels, and memory that is set to zero, that a call queues.
    queued = 1
    #: Of a call that queues one kernel with its values: the entry, grid and block, without and
    #: with packs.
    direct: tuple[tuple[str, tuple[int, int], tuple[int, int]], ...] = ()

    def __init__(
        self, program: Program, runtime: Runtime, functions: dict[str, Function], layout: Layout
    ) -> None:
        kernel = program.kernel
        self.program, self.runtime, self.functions = program, runtime, functions
        self.uses_table = program.uses_table
        self.word: Callable[[int], Any] = int if program.uses_table else runtime.word
        self.outer = math.prod(layout.extents[: kernel.outer])
        self.inner = math.prod(layout.extents[kernel.outer :])
        self.packable = can_pack(program, layout)
        self.template = [
            self.word(_fixed_value(parameter, layout, kernel.index))
            for parameter in program.parameters
        ]
        self.at = {
            (parameter.kind, parameter.number): position
            for position, parameter in enumerate(program.parameters)
        }
        #: Position, number of the buffer, bytes to add, and the bits that must be 0 for packs.
        self.pointers = tuple(
            (self.at[ParameterKind.POINTER, number], place, offset, _pack_mask(program, number))
            for place, (number, offset) in enumerate(_places(kernel, layout))
        )
        self.scalars = tuple(
            (position, parameter.number, converter(parameter))
            for position, parameter in enumerate(program.parameters)
            if parameter.kind is ParameterKind.SCALAR
        )

    def __call__(self, buffers: Sequence[Buffer], scalars: Sequence[Scalar], **_: object) -> int:
        """Run on buffers and scalars; the rest is a CPU's. Returns 0: a GPU has no floating point
        flags."""
        if not self.outer:
            return 0
        values, packed, word = self.template.copy(), self.packable, self.word
        for position, number, offset, mask in self.pointers:
            address = buffers[number].pointer + offset
            values[position] = word(address)
            if address & mask:
                packed = False
        for position, number, convert in self.scalars:
            values[position] = convert(scalars[number])
        if self.direct:
            entry, grid, block = self.direct[packed]
            self.functions[entry](grid, block, values)
        else:
            self.run(values, packed=packed)
        return 0

    def quick(
        self, places: Sequence[int]
    ) -> Callable[[Sequence[Buffer], Sequence[Scalar]], object] | None:
        """What a call does, with all that it needs at hand, of memory among which the buffers
        have these places; None where a call does more than that."""
        if not self.direct or not self.outer:
            return None
        new_values, is_packable, word = self.template.copy, self.packable, self.word
        pointers = [
            (position, places[number], offset, mask)
            for position, number, offset, mask in self.pointers
        ]
        typed = self.scalars
        ways = [_straight(self.functions[entry], *sizes) for entry, *sizes in self.direct]

        def launch(memory: Sequence[Buffer], scalars: Sequence[Scalar]) -> None:
            values, packed = new_values(), is_packable
            for position, place, offset, mask in pointers:
                address = memory[place].pointer + offset
                values[position] = word(address)
                if address & mask:
                    packed = False
            for position, number, convert in typed:
                values[position] = convert(scalars[number])
            ways[packed](values)

        return launch

    def fixed(self, scalars: Sequence[Scalar]) -> OwnLaunch:
        """The same launch with these scalars, to be called without any."""
        launch = copy(self)
        launch.template = self.template.copy()
        for position, number, convert in self.scalars:
            launch.template[position] = convert(scalars[number])
        launch.scalars = ()
        return launch

    def on(self, recorder: Recorder) -> OwnLaunch:
        """The same launch, recorded."""
        launch = copy(self)
        launch.runtime, launch.functions = recorder, recorder.functions(self.functions)
        return launch

    @property
    def strategy(self) -> tuple[Strategy, ...]:
        """How it runs, where addresses are aligned."""
        raise NotImplementedError("ElementwiseLaunch and ReductionLaunch say how they run")

    def run(self, values: list[Value], *, packed: bool) -> None:
        """Launch with these values, which have every address and scalar."""
        raise NotImplementedError("ElementwiseLaunch and ReductionLaunch say how to run")

    def call(self, entry: str, geometry: Geometry, values: list[Value]) -> None:
        """Launch an entry with these values, or with a table of them."""
        function = self.functions[entry]
        if self.uses_table:
            table = self.runtime.table(words_of(values))
            words = [self.runtime.word(table.pointer)]
            function(geometry.grid, geometry.block, words, geometry.shared)
        else:
            function(geometry.grid, geometry.block, values, geometry.shared)


class ElementwiseLaunch(OwnLaunch):
    """One launch of the vector entry where layouts and addresses allow, of the general one
    elsewhere.
    """

    def __init__(
        self, program: Program, runtime: Runtime, functions: dict[str, Function], layout: Layout
    ) -> None:
        super().__init__(program, runtime, functions, layout)
        entries = (program.entry, program.vector_entry or program.entry)
        self.ways = tuple(
            (entry, elementwise_geometry(program, self.outer, packed=packed))
            for packed, entry in zip((False, True), entries, strict=True)
        )
        if not program.uses_table:
            self.direct = tuple((entry, way.grid, way.block) for entry, way in self.ways)

    @property
    def strategy(self) -> tuple[Strategy, ...]:
        """See OwnLaunch."""
        if self.program.kernel.scan is not None:
            shared = self.program.shape is Shape.SHARED_ROWS
            return (Strategy.SCAN_BY_BLOCK if shared else Strategy.SCAN_BY_THREAD,)
        packed = self.packable and self.program.vector_entry
        return (Strategy.VECTORIZED if packed else Strategy.STRIDED,)

    def run(self, values: list[Value], *, packed: bool) -> None:
        entry, geometry = self.ways[packed]
        self.call(entry, geometry, values)


class ReductionLaunch(OwnLaunch):
    """One launch, or one per inner phase where blocks share outer indices."""

    def __init__(
        self, program: Program, runtime: Runtime, functions: dict[str, Function], layout: Layout
    ) -> None:
        super().__init__(program, runtime, functions, layout)
        self.geometry = reduction_geometry(program, runtime.target, max(self.outer, 1), self.inner)
        everything = ((0, len(program.kernel.phases)),)
        ranges = program.launches if self.geometry.splits > 1 else everything
        self.ranges = tuple((self.word(first), self.word(last)) for first, last in ranges)
        self.flags = self.word(0), self.word(1)
        self.packed_at = self.at[ParameterKind.PACKED, 0]
        self.phases_at = self.at[ParameterKind.FIRST, 0], self.at[ParameterKind.LAST, 0]
        self.areas = tuple(self._areas())
        self.queued = len(self.ranges) + sum(zeroed for *_, zeroed in self.areas)

    @property
    def strategy(self) -> tuple[Strategy, ...]:
        """See OwnLaunch."""
        if self.program.shape is Shape.COLUMNS:
            layout = Strategy.COLUMNS
        else:
            by_warp = self.geometry.block[0] <= WARP
            layout = Strategy.ROWS_BY_WARP if by_warp else Strategy.ROWS_BY_BLOCK
        return (layout, Strategy.ONE_PASS) if self.geometry.splits > 1 else (layout,)

    def run(self, values: list[Value], *, packed: bool) -> None:
        workspaces = []  # held until the launches are queued
        for position, nbytes, zeroed in self.areas:
            workspace = self.runtime.workspace(nbytes, zeroed=zeroed)
            workspaces.append(workspace)
            values[position] = self.word(workspace.pointer)
        values[self.packed_at] = self.flags[packed]
        if self.geometry.shared:
            values[self.at[ParameterKind.SHARED, 0]] = self.flags[True]
        from_phase, to_phase = self.phases_at
        for values[from_phase], values[to_phase] in self.ranges:
            self.call(self.program.entry, self.geometry, values)

    def _areas(self) -> Iterator[tuple[int, int, bool]]:
        """Position, bytes, and whether zeroed, of scratch arguments and of what blocks that share
        an outer index exchange.
        """
        program, shared = self.program, self.geometry.splits > 1
        slots = self.outer if shared else self.geometry.slots
        for number in () if self.geometry.shared else scratch_of(program.kernel):
            size = CTYPES[program.kernel.args[number].dtype].size
            nbytes = slots * max(self.inner, 1) * size
            yield self.at[ParameterKind.SCRATCH, number], nbytes, False
        if shared:
            states = self.outer * self.geometry.splits
            yield self.at[ParameterKind.PARTIALS, 0], states * program.partial_bytes, False
            yield self.at[ParameterKind.TOTALS, 0], self.outer * program.totals_bytes, False
            yield self.at[ParameterKind.COUNTERS, 0], 4 * self.geometry.grid[0], True


def bind(
    program: Program, runtime: Runtime, functions: dict[str, Function], layout: Layout
) -> OwnLaunch:
    """Make the launch that fits the program's thread layout."""
    each = (Shape.ELEMENTWISE, Shape.SHARED_ROWS)
    kind = ElementwiseLaunch if program.shape in each else ReductionLaunch
    return kind(program, runtime, functions, layout)


def _straight(function: Function, grid: Any, block: Any) -> Callable[[list[Value]], None]:
    """A function of values alone."""
    make = getattr(function, "straight", None)
    return partial(function, grid, block) if make is None else make(grid, block)


def _places(kernel: Kernel, layout: Layout) -> Iterator[tuple[int, int]]:
    """Argument number and byte offset, for each buffer of a call."""
    for number, arg in enumerate(kernel.args):
        if arg.role is not Role.SCRATCH:
            yield number, layout.offsets[number] * CTYPES[arg.dtype].size


def _fixed_value(parameter: Parameter, layout: Layout, index: str) -> int:
    """Extents, what divides by them, and strides; 0 stands in for what a call fills in."""
    if parameter.kind is ParameterKind.EXTENT:
        return layout.extents[parameter.number]
    if parameter.kind is ParameterKind.MULTIPLIER:
        return as_signed(magic(layout.extents[parameter.number], index).multiplier)
    if parameter.kind is ParameterKind.SHIFT:
        return magic(layout.extents[parameter.number], index).shift
    if parameter.kind is ParameterKind.STRIDE:
        strides = layout.strides[parameter.number]
        assert strides is not None, parameter
        return strides[parameter.axis]
    return 0


def _pack_mask(program: Program, number: int) -> int:
    """The low bits of an address that packs of argument `number` need to be 0."""
    return pack_bytes(program, number) - 1 if number in program.packed_args else 0


def pack_bytes(program: Program, number: int) -> int:
    """The alignment that packs of argument `number` need: their size, 16 at most."""
    return min(16, program.pack * CTYPES[program.kernel.args[number].dtype].size)


def can_pack(program: Program, layout: Layout) -> bool:
    """Whether every pack starts at a whole number of packs from its argument's address, and from
    the start of the rows that a kernel keeps, which follow each other without gaps."""
    kernel, pack = program.kernel, program.pack
    if pack == 1:
        return False
    columns = program.shape is Shape.COLUMNS
    fast = kernel.outer - 1 if columns else len(layout.extents) - 1
    together = kernel.inner if program.shape is Shape.ROWS else kernel.outer
    apart = program.shared_sizes and math.prod(layout.extents[: kernel.outer]) > 1
    if (columns or together > 1 or apart) and layout.extents[fast] % pack:
        return False
    for number in program.packed_args:
        strides = layout.strides[number]
        assert strides is not None, number
        for axis, extent in enumerate(layout.extents):
            if axis != fast and extent > 1 and strides[axis] % pack:
                return False
    return True


def words_of(values: Sequence[Value]) -> np.ndarray:
    """Values as 8-byte words; little-endian, so that narrow ones stand at the start."""
    words = np.zeros(len(values), np.uint64)
    for place, value in enumerate(values):
        typed = np.int64(value) if isinstance(value, int) else value
        words[place : place + 1].view(typed.dtype)[0] = typed
    return words


def converter(parameter: Parameter) -> Callable[[Scalar], np.generic]:
    """What makes the typed value of a scalar: float16 as bits, bool as a byte, complex as a
    part.
    """
    dtype = parameter.dtype
    if dtype in PART:
        kind = np.dtype(PART[dtype]).type
        if parameter.axis:
            return lambda scalar: kind(complex(scalar).imag)
        return lambda scalar: kind(complex(scalar).real)
    if dtype == "b1":
        return lambda scalar: np.uint8(bool(scalar))
    if dtype == "f2":
        return lambda scalar: np.uint16(np.float16(scalar).view(np.uint16))  # type: ignore[arg-type]
    return np.dtype(dtype).type
