"""Kernels to test, and a way to run them on NumPy arrays: shared by the tests of this directory.

A Case is a kernel with arrays for its arguments (outputs hold the expected shape and strides) and
the expected values. Layout classes, extents, strides and offsets are read off the arrays, as
lowering would.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lazyfuse.backends.base import Scalar
from lazyfuse.ir.kernel import (
    FIXED,
    STRIDED,
    UNIT,
    Accumulator,
    Arg,
    Kernel,
    Lanes,
    Level,
    Phase,
    Role,
    Store,
)
from lazyfuse.ops.body import Body, Value


@dataclass
class Case:
    """A kernel, its arrays (one per non-scratch argument, spread over all axes), scalars and
    expected outputs.
    """

    name: str
    kernel: Kernel
    arrays: list[np.ndarray]
    extents: tuple[int, ...]
    expected: list[np.ndarray]
    scalars: tuple[Scalar, ...] = ()
    tolerance: list[float] = field(default_factory=list)


def code(dtype: np.dtype) -> str:
    """NumPy's letter and size: b1, i4, f2, c16."""
    return f"{np.dtype(dtype).kind}{np.dtype(dtype).itemsize}"


def access_of(array: np.ndarray, *, generic: bool = False) -> tuple[str, ...]:
    """The layout class per axis; with `generic`, every axis that moves is STRIDED."""
    classes = []
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if stride == 0 or extent == 1:
            classes.append(FIXED)
        elif stride == array.itemsize and not generic:
            classes.append(UNIT)
        else:
            classes.append(STRIDED)
    return tuple(classes)


def spread(array: np.ndarray, shape: tuple[int, ...], axes: Sequence[int]) -> np.ndarray:
    """Give `array`, whose axes are `axes` of `shape`, all axes of `shape`, with stride 0 along the
    others.
    """
    strides = dict(zip(axes, array.strides, strict=True))
    return np.lib.stride_tricks.as_strided(
        array, shape, tuple(strides.get(axis, 0) for axis in range(len(shape)))
    )


def argument(role: Role, array: np.ndarray, *, generic: bool = False) -> Arg:
    return Arg(role, code(array.dtype), access_of(array, generic=generic))


def elementwise_case(
    name: str,
    inputs: Sequence[np.ndarray],
    write: Callable[..., Value | tuple[Value, ...]],
    expected: Sequence[np.ndarray],
    *,
    outputs: Sequence[np.ndarray] | None = None,
    scalars: Sequence[tuple[str, Scalar]] = (),
    generic: bool = False,
    index: str = "i8",
) -> Case:
    """A kernel of one outer phase: `write(body, *inputs, *scalars)` gives the values to store."""
    shape = np.broadcast_shapes(*(a.shape for a in inputs), *(e.shape for e in expected))
    spread_inputs = [np.broadcast_to(a, shape) for a in inputs]
    targets = list(outputs) if outputs is not None else [np.zeros_like(e) for e in expected]
    arrays = [*spread_inputs, *targets]
    args = [argument(Role.IN, a, generic=generic) for a in spread_inputs]
    args += [argument(Role.OUT, a, generic=generic) for a in targets]
    body = Body()
    loads = [body.emit("load", arg.dtype, attr=n) for n, arg in enumerate(args[: len(inputs)])]
    given = [body.emit("scalar", dtype, attr=n) for n, (dtype, _) in enumerate(scalars)]
    values = write(body, *loads, *given)
    values = values if isinstance(values, tuple) else (values,)
    stores = tuple(Store(len(inputs) + n, value.index) for n, value in enumerate(values))
    phase = Phase(Level.OUTER, tuple(body.instrs), stores=stores)
    kernel = Kernel(
        len(shape), 0, Lanes.OUTER, tuple(args), tuple(d for d, _ in scalars), (phase,), index
    )
    return Case(name, kernel, arrays, shape, list(expected), tuple(v for _, v in scalars))


class PhaseWriter:
    """Writes one phase: `load`, `acc`, `fold` and `store` on top of a Body."""

    def __init__(self, level: Level, args: Sequence[Arg]) -> None:
        self.level, self.args, self.body = level, args, Body()
        self.accumulators: list[Accumulator] = []
        self.stores: list[Store] = []

    def load(self, number: int) -> Value:
        return self.body.emit("load", self.args[number].dtype, attr=number)

    def acc(self, number: int, dtype: str) -> Value:
        return self.body.emit("acc", dtype, attr=number)

    def scalar(self, number: int, dtype: str) -> Value:
        return self.body.emit("scalar", dtype, attr=number)

    def index(self, axis: int) -> Value:
        return self.body.emit("index", "i8", attr=axis)

    def fold(
        self, op: str, value: Value, index: Value | None = None, init: int | None = None
    ) -> None:
        place = None if index is None else index.index
        self.accumulators.append(Accumulator(op, value.dtype, value.index, place, init))

    def store(self, number: int, value: Value) -> None:
        self.stores.append(Store(number, value.index))

    def phase(self) -> Phase:
        accumulators, stores = tuple(self.accumulators), tuple(self.stores)
        return Phase(self.level, tuple(self.body.instrs), accumulators, stores)


def reduction_case(
    name: str,
    arrays: Sequence[np.ndarray],
    roles: str,
    outer: int,
    phases: Sequence[tuple[str, Callable[[PhaseWriter], None]]],
    expected: Sequence[np.ndarray],
    *,
    lanes: Lanes = Lanes.INNER,
    scratch: str | None = None,
    scalars: Sequence[tuple[str, Scalar]] = (),
    tolerance: Sequence[float] = (),
    index: str = "i8",
    generic: bool = False,
) -> Case:
    """A kernel with inner axes. `roles` has "i" or "o" per array; arrays span all axes, outer axes
    first.

    `scratch` adds a last argument of that dtype.
    """
    shape = arrays[0].shape
    named = {"i": Role.IN, "o": Role.OUT}
    args = [
        argument(named[role], a, generic=generic) for role, a in zip(roles, arrays, strict=True)
    ]
    if scratch is not None:
        args.append(Arg(Role.SCRATCH, scratch, (UNIT,) * len(shape)))
    written = []
    for level, write in phases:
        writer = PhaseWriter(Level(level), args)
        write(writer)
        written.append(writer.phase())
    kernel = Kernel(
        outer,
        len(shape) - outer,
        lanes,
        tuple(args),
        tuple(d for d, _ in scalars),
        tuple(written),
        index,
    )
    values = tuple(v for _, v in scalars)
    return Case(name, kernel, list(arrays), shape, list(expected), values, list(tolerance))


def base_of(array: np.ndarray) -> tuple[np.ndarray, int]:
    """The flat bytes of the smallest memory that holds `array`, and where its first element lies
    in them.
    """
    # Not np.lib.array_utils.byte_bounds: an empty axis of stride 0 does not make the memory empty.
    moving = [(n, step) for n, step in zip(array.shape, array.strides, strict=True) if step]
    if any(n == 0 for n, _ in moving):
        return np.zeros(array.itemsize, np.uint8), 0
    before = sum(-(n - 1) * step for n, step in moving if step < 0)
    after = sum((n - 1) * step for n, step in moving if step > 0)
    first = array.__array_interface__["data"][0]
    return _bytes_at(first - before, before + after + array.itemsize).copy(), before


def _bytes_at(address: int, length: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_ubyte * length).from_address(address))


def run_case(case: Case, backend, executable=None, *, misalign: int = 0) -> list[np.ndarray]:  # type: ignore[no-untyped-def]
    """Launch and return the outputs. `misalign` shifts every buffer by that many elements."""
    executable = executable or backend.compile(case.kernel, case.name)
    buffers, strides, offsets, starts = [], [], [], []
    for array in case.arrays:
        flat, start = base_of(array)
        shift = misalign * array.itemsize
        padded = np.concatenate([np.full(shift, 0x5A, np.uint8), flat])
        buffers.append(backend.from_host(padded))
        strides.append(
            tuple(
                0 if extent == 1 else stride // array.itemsize
                for extent, stride in zip(array.shape, array.strides, strict=True)
            )
        )
        offsets.append((start + shift) // array.itemsize)
        starts.append(start + shift)
    launch = executable.bind(case.extents, tuple(strides), tuple(offsets))
    launch(buffers, case.scalars, threads=1)
    backend.synchronize()
    roles = [arg.role for arg in case.kernel.args if arg.role is not Role.SCRATCH]
    results = []
    for role, array, buffer, start in zip(roles, case.arrays, buffers, starts, strict=True):
        if role is Role.OUT:
            memory = backend.to_host(buffer)
            results.append(
                np.ndarray(array.shape, array.dtype, memory.data, start, array.strides).copy()
            )
    return results
