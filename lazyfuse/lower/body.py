"""Expression -> scalar body: each term becomes instructions of the body language,
each read a load.

multiply f8 (n0, n1)   ->   v0 = load f8 #0
                            v1 = load f8 #1
                            v2 = mul f8 v0 v1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lazyfuse.ir.expression import Expression, Read, Term
from lazyfuse.ir.layout import IndexMap
from lazyfuse.ir.node import Const, Fill, Gather, Map, Node, Reduce
from lazyfuse.ops.body import Body, Value
from lazyfuse.ops.composite import astype
from lazyfuse.ops.shapes import size_of


@dataclass
class Arguments:
    """The arguments of a kernel as its bodies ask for them.

    reads: argument number of each read.
    scalars: slot number of each scalar, a Const or a plain number.
    """

    reads: dict[Read, int] = field(default_factory=dict)
    scalars: dict[Node | tuple[str, int], int] = field(default_factory=dict)
    dtypes: list[str] = field(default_factory=list)

    def read(self, read: Read) -> int:
        return self.reads.setdefault(read, len(self.reads))

    def scalar(self, key: Node | tuple[str, int], dtype: str) -> int:
        if key not in self.scalars:
            self.scalars[key] = len(self.scalars)
            self.dtypes.append(dtype)
        return self.scalars[key]


class PhaseBody:
    """The body of one phase. `accumulators` numbers the reductions that are finished before it."""

    def __init__(
        self,
        arguments: Arguments,
        accumulators: Mapping[Node, int],
        loop_of_axis: Mapping[int, int],
        scratch: Mapping[Term, int],
    ) -> None:
        self.body = Body()
        self.arguments = arguments
        self.accumulators = accumulators
        self.loop_of_axis = loop_of_axis
        self.scratch = scratch
        self.values: dict[Term | Read, Value] = {}

    def evaluate(self, expression: Expression) -> list[Value]:
        """Emit everything that the roots need; their values."""
        for term in expression.terms:
            if term not in self.values:
                self.values[term] = self._term(term, expression.operands[term])
        return [self._value(root) for root in expression.roots]

    def _value(self, operand: Term | Read) -> Value:
        if operand not in self.values:
            assert isinstance(operand, Read)
            number = self.arguments.read(operand)
            self.values[operand] = self.body.emit("load", operand.node.dtype, attr=number)
        return self.values[operand]

    def _term(self, term: Term, operands: tuple[Term | Read, ...]) -> Value:
        node = term.node
        if term in self.scratch:
            return self.body.emit("load", node.dtype, attr=f"scratch{self.scratch[term]}")
        if isinstance(node, Const):
            slot = self.arguments.scalar(node, node.dtype)
            return self.body.emit("scalar", node.dtype, attr=slot)
        if isinstance(node, Reduce):
            return self.reduction(node)
        if isinstance(node, Fill):
            return self._fill(node, term.map)
        if isinstance(node, Gather):
            return self._gather(*operands)
        assert isinstance(node, Map), node
        values = [self._value(operand) for operand in operands]
        loop = [astype(value, dtype) for value, dtype in zip(values, node.loop, strict=True)]
        by_numbers = bool(node.op.numbers) and _is_by_numbers(node)
        return node.op.expand(loop, node.dtype, by_numbers=by_numbers)

    def _gather(self, base: Term | Read, index: Term | Read) -> Value:
        """The element of the memory `base` that the index picks."""
        assert isinstance(base, Read)
        moved = astype(self._value(index), "i8")
        return self.body.emit("gather", base.node.dtype, moved, attr=self.arguments.read(base))

    def reduction(self, node: Reduce) -> Value:
        """The finished accumulator of a reduction, as its result."""
        number = self.accumulators[node]
        dtype = "i8" if node.op.gives_index else node.accumulate
        return astype(self.body.emit("acc", dtype, attr=number), node.dtype)

    def _fill(self, node: Fill, outer: IndexMap) -> Value:
        """start, or start + index * step with NumPy's two roundings."""
        start = self._const(node.srcs[0], node.dtype)
        if len(node.srcs) == 1:
            return start
        wide = "f4" if node.dtype == "f2" else node.dtype
        position = astype(self.index(outer), wide)
        steps = position * self._const(node.srcs[1], wide)
        return astype(astype(start, wide) + steps, node.dtype)

    def _const(self, node: Node, dtype: str) -> Value:
        slot = self.arguments.scalar(node, node.dtype)
        return astype(self.body.emit("scalar", node.dtype, attr=slot), dtype)

    def index(self, outer: IndexMap) -> Value:
        """The i8 position along a one-dimensional result that `outer` indexes."""
        return self.linear(outer[0].start, outer[0].terms)

    def linear(self, start: int, terms: tuple[tuple[int, int], ...]) -> Value:
        """start + sum of step * (index along space axis); start and steps are arguments."""
        total = self._number(start)
        for axis, step in terms:
            index = self.body.emit("index", "i8", attr=self.loop_of_axis[axis])
            total = total + (index if step == 1 else index * self._number(step))
        return total

    def _number(self, number: int) -> Value:
        slot = self.arguments.scalar(("value", number), "i8")
        return self.body.emit("scalar", "i8", attr=slot)


def _is_by_numbers(node: Map) -> bool:
    """Whether NumPy sees that all operands but the first do not move."""
    one = size_of(node.shape) == 1  # then it does not see that the others do not
    return all(src.shape == () or size_of(src.shape) == 1 and not one for src in node.srcs[1:])
