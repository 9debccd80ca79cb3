"""What a row of the op table says.

An elementwise op is a NumPy ufunc (or one output of it) and a body per operand kind: a function
from Values to a Value (`ops/composite.py`). Kinds are b (bool), i (signed), u (unsigned), f (f4
and f8), c (complex). Float16 operands are computed in float32 and rounded once per op, as NumPy
does, unless the row has a body for kind e. A kind without a body runs through NumPy, one op at a
time, as a call that nothing fuses with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from lazyfuse.ops.body import Body, Value, cast
from lazyfuse.ops.composite import astype
from lazyfuse.ops.float_flags import ALL, DIVIDE, VAGUE
from lazyfuse.ops.primitives import PRIMITIVES, conditions

BodyFunction: TypeAlias = Callable[..., Value]


@dataclass(frozen=True)
class OpDef:
    """One elementwise op.

    bodies: operand kinds (one string may name several) -> body.
    output: which result of the ufunc this is.
    operands: how many there are, for a row without ufunc.
    numbers: bodies where all operands but the first are numbers (0-d), if those differ.
    ulp: 0 when equal to NumPy bit for bit, else the bound on the distance between the two results.
    """

    name: str
    ufunc: np.ufunc | None
    bodies: Mapping[str, BodyFunction]
    output: int = 0
    ulp: int = 0
    operands: int = 0
    numbers: Mapping[str, BodyFunction] = field(default_factory=dict)

    @cached_property
    def by_kind(self) -> Mapping[str, BodyFunction]:
        return {kind: body for kinds, body in self.bodies.items() for kind in kinds}

    @property
    def arity(self) -> int:
        return self.ufunc.nin if self.ufunc is not None else self.operands

    def body_for(self, loop: tuple[str, ...]) -> BodyFunction | None:
        """The body for operands of dtypes `loop` (without the output), or None."""
        if loop not in self._by_loop:
            self._by_loop[loop] = self._body_for(loop)
        return self._by_loop[loop]

    @cached_property
    def _by_loop(self) -> dict[tuple[str, ...], BodyFunction | None]:
        return {}

    def _body_for(self, loop: tuple[str, ...]) -> BodyFunction | None:
        kinds = {_kind(dtype) for dtype in loop}
        if "e" in kinds and "e" not in self.by_kind:
            kinds = (kinds - {"e"}) | {"f"}
        for kind in "cfeiub":
            if kind in kinds:
                return self.by_kind.get(kind)
        return None

    def expand(self, operands: list[Value], out: str, *, by_numbers: bool = False) -> Value:
        """Emit the body; operands have the dtypes of the ufunc's loop,
        the result has dtype `out`. by_numbers: all operands but the first are 0-d."""
        function = self.body_for(tuple([value.dtype for value in operands]))
        if by_numbers:
            function = self.numbers.get(operands[0].kind, function)
        assert function is not None, (self.name, [value.dtype for value in operands])
        if "e" not in self.by_kind:
            operands = [cast(value, "f4") if value.dtype == "f2" else value for value in operands]
        result = function(*operands)
        return astype(result, out)

    def conditions(self, loop: tuple[str, ...], out: str) -> int:
        """The floating point conditions that one evaluation can meet, and VAGUE."""
        return _body_conditions(self, loop, out)

    def cost(self, loop: tuple[str, ...], out: str) -> float:
        """The summed cost of the primitives of one evaluation."""
        return _body_cost(self, loop, out)


def _body_conditions(op: OpDef, loop: tuple[str, ...], out: str) -> int:
    key = (op.name, loop, out)
    if key not in _CONDITIONS:
        body = Body()
        bits = 0
        if op.body_for(loop) is None:
            bits = ALL
        else:
            op.expand([body.emit("load", dtype, attr=i) for i, dtype in enumerate(loop)], out)
        for instr in body.instrs:
            bits |= conditions(instr, tuple(body.instrs[arg].dtype for arg in instr.args))
        branches = "c" in {dtype[0] for dtype in loop} and bits & DIVIDE  # both are computed
        _CONDITIONS[key] = bits | VAGUE if branches else bits
    return _CONDITIONS[key]


_CONDITIONS: dict[tuple[str, tuple[str, ...], str], int] = {}
_COSTS: dict[tuple[str, int, tuple[str, ...]], float] = {}


def _body_cost(op: OpDef, loop: tuple[str, ...], out: str) -> float:
    key = (op.name, op.output, loop)
    if key not in _COSTS:
        body = Body()
        if op.body_for(loop) is not None:
            op.expand([body.emit("load", dtype, attr=i) for i, dtype in enumerate(loop)], out)
        _COSTS[key] = sum(PRIMITIVES[instr.op].cost for instr in body.instrs[len(loop) :])
    return _COSTS[key]


def _kind(dtype: str) -> str:
    return "e" if dtype == "f2" else dtype[0]
