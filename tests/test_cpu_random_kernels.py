"""Random kernels on the CPU backend against a NumPy evaluation of the Kernel IR.

Values are small integers, so that every order of additions gives the same sum: what is tested is
the loop nest (axes, hoisting, blocks, tails, scratch, threads), not rounding.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from lazyfuse.backends.cpu import CpuBackend
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
from lazyfuse.ir.verify import verify_kernel
from lazyfuse.ops.body import Body, Value, cast, select
from tests.kernel_runner import Memory

BACKEND = CpuBackend()
FOLDS = ("add", "maximum", "minimum", "fmax", "argmax", "argmin")
IDENTITIES = {"add": 0, "maximum": -np.inf, "minimum": np.inf, "fmax": np.nan}


@pytest.fixture(autouse=True)
def fresh_stats() -> None:
    """Replace the suite's fixture: nothing here goes through the engine that counts."""


class Builder:
    """Draws one kernel over `dtype` with its extents and argument arrays."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.dtype = self.rng.choice(("f4", "f8"))
        self.lanes = self.rng.choice(tuple(Lanes))
        self.outer = self.rng.randint(self.lanes is Lanes.OUTER, 3)
        self.inner = self.rng.randint(self.lanes is Lanes.INNER, 2)
        if self.lanes is Lanes.ROWS:
            self.outer, self.inner = max(self.outer, 1), 1
        rank = self.outer + self.inner
        self.lane = rank - 1 if self.lanes is Lanes.INNER else self.outer - 1
        self.joined = self.rng.randint(1, max(self.outer, 1)) if not self.inner else 1
        self.extents = tuple(map(self._extent, range(rank)))
        self.row = self.extents[-1] if self.lanes is Lanes.ROWS else 0
        self.args: list[Arg] = []
        self.arrays: list[np.ndarray] = []
        self.strides: list[tuple[int, ...]] = []
        self.accumulators: list[Accumulator] = []
        self.scratch: list[int] = []
        for _ in range(self.rng.randint(1, 3)):
            self._input()
        self.kernel = self._kernel()

    def _extent(self, axis: int) -> int:
        if self.lanes is Lanes.ROWS and axis == self.outer:
            return self.rng.choice((2, 3, 4, 5, 8, 11, 16, 19, 31))
        if axis == self.outer - self.joined or (axis == self.lane and self.joined == 1):
            return self.rng.choice((1, 3, 8, 17, 40, 150, 300))
        return self.rng.choice((1, 2, 3, 5, 9))

    def _input(self) -> None:
        dtype = self.rng.choice((self.dtype, "u1", "b1"))
        access = tuple(
            self.rng.choice((FIXED, STRIDED, UNIT) if k == self.lane else (FIXED, STRIDED))
            for k in range(len(self.extents))
        )
        if self.joined > 1 and access[self.outer - self.joined] != FIXED:
            access = self._moving(access)
        if self.row:
            access = self._in_rows(access)
        self._argument(Role.IN, dtype, access)

    def _moving(self, access: tuple[str, ...]) -> tuple[str, ...]:
        """The access of an argument that moves along all joined axes as along one."""
        joined = (STRIDED,) * (self.joined - 1) + (self.rng.choice((UNIT, STRIDED)),)
        return (*access[: self.outer - self.joined], *joined)

    def _in_rows(self, access: tuple[str, ...]) -> tuple[str, ...]:
        """The same access, or that of dense rows."""
        if FIXED in access[self.lane :] or self.rng.random() < 0.3:
            return access
        return (*access[: self.lane], STRIDED, UNIT)

    def _packed(self, access: tuple[str, ...]) -> list[int]:
        """The axes, fastest first, along which an argument follows itself without gaps."""
        if self.joined > 1 and access[self.outer - self.joined] != FIXED:
            return list(range(self.outer - 1, self.outer - self.joined - 1, -1))
        if self.row and access[-1] == UNIT:
            return [self.lane + 1, self.lane]
        return []

    def _argument(self, role: Role, dtype: str, access: tuple[str, ...]) -> int:
        steps = {FIXED: 0, UNIT: 1}
        strides, size = [0] * len(access), 1
        packed = self._packed(access)
        step = 1 if self.row or UNIT in access else self.rng.choice((1, 2, 3))
        for k in packed:
            strides[k] = step
            size += step * (self.extents[k] - 1)
            step *= self.extents[k]
        rest = [k for k in range(len(access)) if k not in packed]
        for k in sorted(rest, key=lambda k: access[k] != UNIT):
            strides[k] = steps.get(access[k], size if size > 1 else self.rng.choice((1, 2, 3)))
            size += strides[k] * (self.extents[k] - 1) if access[k] != FIXED else 0
        self.args.append(Arg(role, dtype, access))
        if role is not Role.SCRATCH:
            low = 0 if dtype in ("u1", "b1") else -2
            draw = [self.rng.randint(low, 1) for _ in range(size)]
            self.arrays.append(np.array(draw, dtype))
            self.strides.append(tuple(strides))
        return len(self.args) - 1

    def _kernel(self) -> Kernel:
        phases = []
        inputs = len(self.args)
        for number in range(self.rng.randint(1, 3) if self.inner else 0):
            phases.append(self._phase(Level.INNER, inputs, is_first=number == 0))
        phases.append(self._phase(Level.OUTER, inputs, is_first=False))
        return Kernel(
            self.outer,
            self.inner,
            self.lanes,
            tuple(self.args),
            (self.dtype,),
            tuple(phases),
            joined=self.joined,
            row=self.row,
        )

    def _phase(self, level: Level, inputs: int, *, is_first: bool) -> Phase:
        body = Body()
        values = [self._leaf(body, level, inputs) for _ in range(4)]
        if level is Level.INNER:
            values += [body.emit("load", self.dtype, attr=arg) for arg in self.scratch]
        for _ in range(self.rng.randint(1, 5)):
            x, y = self.rng.choice(values), self.rng.choice(values)
            values.append(select(x < y, x - y, y) if self.rng.random() < 0.5 else x + y)
        folds, stores = [], []
        if level is Level.INNER:
            folds = [self._fold(body, values) for _ in range(self.rng.randint(0, 2))]
            if is_first and self.rng.random() < 0.5:
                access = tuple(
                    UNIT if k == self.lane else STRIDED for k in range(len(self.extents))
                )
                self.scratch.append(self._argument(Role.SCRATCH, self.dtype, access))
                stores.append(Store(self.scratch[-1], values[-1].index))
        self.accumulators += folds
        access = tuple(
            (UNIT if k == self.lane else STRIDED)
            if level is Level.INNER or k < self.outer
            else FIXED
            for k in range(len(self.extents))
        )
        if self.row and level is Level.INNER:
            access = self._in_rows(access)
        target = self._argument(Role.OUT, self.dtype, access)
        stores.append(Store(target, values[-1].index))
        return Phase(level, tuple(body.instrs), tuple(folds), tuple(stores))

    def _fold(self, body: Body, values: list[Value]) -> Accumulator:
        op = self.rng.choice(FOLDS)
        value = self.rng.choice(values)
        if not op.startswith("arg"):
            return Accumulator(op, self.dtype, value.index)
        place = body.const(0, "i8")
        for axis in range(self.outer, len(self.extents)):
            place = place * self.extents[axis] + body.emit("index", "i8", attr=axis)
        return Accumulator(op, self.dtype, value.index, place.index)

    def _leaf(self, body: Body, level: Level, inputs: int) -> Value:
        kind = self.rng.choice(("load", "load", "scalar", "index", "acc"))
        if kind == "acc" and self.accumulators:
            number = self.rng.randrange(len(self.accumulators))
            is_index = self.accumulators[number].index is not None
            return cast(
                body.emit("acc", "i8" if is_index else self.dtype, attr=number), self.dtype
            )
        axes = len(self.extents) if level is Level.INNER else self.outer
        if kind == "index" and axes:
            axis = self.rng.randrange(axes)
            if self.joined > 1 and axis == self.outer - self.joined:
                axis = self.lane
            return cast(body.emit("index", "i8", attr=axis), self.dtype)
        number = self.rng.randrange(inputs)
        arg = self.args[number]
        is_fixed = all(step == FIXED for step in arg.access[self.outer :])
        if kind == "scalar" or (level is Level.OUTER and not is_fixed):
            return body.emit("scalar", self.dtype, attr=0)
        return cast(body.emit("load", arg.dtype, attr=number), self.dtype)


def evaluate(builder: Builder, scalar: float) -> list[np.ndarray]:
    """The outputs of the kernel, computed phase by phase on whole arrays."""
    kernel, extents = builder.kernel, builder.extents
    views, given = {}, iter(zip(builder.arrays, builder.strides, strict=True))
    for number, arg in enumerate(kernel.args):
        if arg.role is Role.SCRATCH:
            views[number] = np.zeros(extents, arg.dtype)
            continue
        array, strides = next(given)
        copy = array if arg.role is Role.IN else array.copy()
        steps = tuple(stride * array.itemsize for stride in strides)
        shape = tuple(
            n if step != FIXED else 1 for n, step in zip(extents, arg.access, strict=True)
        )
        views[number] = np.lib.stride_tricks.as_strided(copy, shape, steps)
    inner_axes = tuple(range(kernel.outer, len(extents)))
    folded: list[np.ndarray] = []
    for phase in kernel.phases:
        values: list[np.ndarray] = []
        for instr in phase.body:
            operands = [values[index] for index in instr.args]
            values.append(
                _step(
                    instr.op, instr.dtype, instr.attr, operands, (views, folded, extents, scalar)
                )
            )
        for acc in phase.accumulators:
            whole = np.broadcast_to(values[acc.value], extents)
            folded.append(_fold(acc, whole, inner_axes))
        for store in phase.stores:
            views[store.arg][...] = np.broadcast_to(values[store.value], views[store.arg].shape)
    return [views[number] for number in kernel.outputs]


def _step(op, dtype, attr, operands, state):  # type: ignore[no-untyped-def]
    views, folded, extents, scalar = state
    if op == "load":
        return views[attr].copy()
    if op == "scalar":
        return np.array(scalar, dtype)
    if op == "index":
        shape = [1] * len(extents)
        shape[attr] = extents[attr]
        return np.arange(extents[attr]).reshape(shape)
    if op == "const":
        return np.array(attr, dtype)
    if op == "acc":
        return folded[attr]
    if op == "cast":
        return operands[0].astype(dtype)
    table = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "lt": np.less,
        "select": np.where,
    }
    return table[op](*operands)


def _fold(acc: Accumulator, whole: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    if acc.index is None:
        ufunc = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax}[
            acc.op
        ]
        return ufunc.reduce(whole, axis=axes, keepdims=True, initial=IDENTITIES[acc.op])
    kept = whole.shape[: axes[0]]
    found = getattr(np, acc.op)(whole.reshape(*kept, -1), axis=-1)
    return found.reshape(*kept, *(1,) * len(axes))


@pytest.mark.parametrize("start", range(0, 160, 20))
def test_random_kernels(start: int, full: bool) -> None:
    """One kernel per seed, on one thread and on three."""
    for seed in range(start, start + (200 if full else 20)):
        builder = Builder(seed)
        verify_kernel(builder.kernel)
        executable = BACKEND.compile(builder.kernel, "random")
        launch = executable.bind(
            builder.extents, tuple(builder.strides), (0,) * len(builder.strides)
        )
        launch.work_ns = 1e9  # as if it were large: all the threads take part
        expected = evaluate(builder, 3.0)
        for threads in (1, 3):
            arrays = [array.copy() for array in builder.arrays]
            launch([Memory(array) for array in arrays], [3.0], threads=threads)
            given = [arg.role for arg in builder.kernel.args if arg.role is not Role.SCRATCH]
            outputs = [
                np.lib.stride_tricks.as_strided(
                    array, want.shape, [step * array.itemsize for step in strides]
                )
                for array, strides, want in _outputs(arrays, builder.strides, given, expected)
            ]
            for out, want in zip(outputs, expected, strict=True):
                assert np.array_equal(out, want, equal_nan=True), (
                    seed,
                    threads,
                    builder.kernel.text,
                )
    assert math.prod(builder.extents) > 0


def _outputs(arrays, strides, roles, expected):  # type: ignore[no-untyped-def]
    """The output arrays and strides, each with its expected value."""
    written = [
        pair for *pair, role in zip(arrays, strides, roles, strict=True) if role is Role.OUT
    ]
    return [(array, steps, want) for (array, steps), want in zip(written, expected, strict=True)]
