"""One function of LLVM text: control flow and stack slots on top of the vector writer.

State that changes in a loop lives in stack slots (`slot`); the `sroa` pass turns it into
registers. Slots and parameters go to the head of the function, so they may be asked for anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lazyfuse.backends.cpu.compiler import KEEPS_ORDER
from lazyfuse.backends.cpu.scheduling import scheduled
from lazyfuse.backends.cpu.vector import Operand, VectorWriter, literal, part_dtype, scalar_type
from lazyfuse.ops.body import Literal


class FunctionWriter(VectorWriter):
    """Writes the body of one function whose first parameter is `ptr %params`. `registers`: if any,
    the instructions are put in an order that needs no more of them (`scheduling.py`); `pipelined`:
    whether its only loop runs in stages (`pipelining.py`), and they alone are; `brief`: whether
    it is to be compiled soon rather than to run fast."""

    def __init__(
        self,
        lanes: int,
        features: frozenset[str],
        declarations: dict[str, str],
        *,
        registers: int = 0,
        pipelined: bool = False,
        brief: bool = False,
    ) -> None:
        super().__init__(lanes, features=features)
        self.declarations = declarations
        self.registers, self.pipelined, self.brief = registers, pipelined, brief
        self.keeps_order = False  # whether LLVM is to leave instructions in this order
        self.head: list[str] = []
        self._carried: list[list[tuple[str, str, str, str]]] = []  # by loops around
        self._loaded: dict[tuple[int, str], str] = {}

    def text(self, signature: str) -> str:
        """The finished definition."""
        body = self.lines
        if self.registers and not self.pipelined:
            body = scheduled(body, self.registers)
        lines = "\n".join(("entry:", *self.head, *body, "ret void"))
        order = f" {KEEPS_ORDER}" if self.keeps_order else ""
        return f"define {signature} #0{order} {{\n{lines}\n}}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def value(self, text: str) -> str:
        """Append `name = text`; return the name."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    @contextmanager
    def aside(self) -> Iterator[list[str]]:
        """What is written inside, in the list only."""
        before, self.lines = (self.lines, self.block), []
        yield self.lines
        self.lines, self.block = before

    def parameter(self, slot: int, kind: str = "i64") -> str:
        """The value of a parameter slot, loaded once."""
        key = (slot, kind)
        if key not in self._loaded:
            place, name = self.fresh("p"), self.fresh("p")
            self.head.append(f"{place} = getelementptr i64, ptr %params, i64 {slot}")
            self.head.append(f"{name} = load {kind}, ptr {place}")
            self._loaded[key] = name
        return self._loaded[key]

    def slot(self, kind: str, count: int = 1) -> str:
        """A stack slot for `count` values of an LLVM type."""
        name = self.fresh("s")
        self.head.append(f"{name} = alloca {kind}, i64 {count}, align 64")
        return name

    def add(self, left: str, right: str) -> str:
        return left if right == "0" else right if left == "0" else self.i64("add", left, right)

    def i64(self, opcode: str, left: str, right: str) -> str:
        return self.value(f"{opcode} i64 {left}, {right}")

    def least(self, left: str, right: str) -> str:
        """The smaller of two signed numbers."""
        is_less = self.value(f"icmp slt i64 {left}, {right}")
        return self.value(f"select i1 {is_less}, i64 {left}, i64 {right}")

    def offset(self, pointer: str, index: str, size: int = 1) -> str:
        """The address `index` units of `size` bytes after `pointer`."""
        if index == "0":
            return pointer
        unit = "i8" if size == 1 else f"[{size} x i8]"
        return self.value(f"getelementptr {unit}, ptr {pointer}, i64 {index}")

    @contextmanager
    def loop(self, low: str, high: str, step: str = "1", *, enters: bool = False) -> Iterator[str]:
        """Run the enclosed code for low, low + step, ... below high; `enters`: low is below."""
        before = self.block
        body, end = self.fresh("loop")[1:], self.fresh("end")[1:]
        if enters:
            self.line(f"br label %{body}")
        else:
            is_below = self.value(f"icmp slt i64 {low}, {high}")
            self.line(f"br i1 {is_below}, label %{body}, label %{end}")
        self.label(body)
        self._carried.append([])
        index, following = self.fresh("i"), self.fresh("j")
        place = len(self.lines)
        self.line("")
        yield index
        self.line(f"{following} = add nsw i64 {index}, {step}")
        again = self.value(f"icmp slt i64 {following}, {high}")
        self.line(f"br i1 {again}, label %{body}, label %{end}")
        self.lines[place] = "\n".join([
            f"{name} = phi {kind} [ {first}, %{before} ], [ {then}, %{self.block} ]"
            for kind, name, first, then in (
                ("i64", index, low, following), *self._carried.pop(),
            )
        ])  # fmt: skip
        self.label(end)

    def carry(self, kind: str, name: str, first: str, then: str) -> None:
        """In the two loops around: a value that is `first`, and later what `then` was before. The
        inner one is always entered."""
        outer = f"{name}.o"
        self._carried[-2].append((kind, outer, first, then))
        self._carried[-1].append((kind, name, outer, then))

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Run the enclosed code if the i1 `condition` holds."""
        then, end = self.fresh("then")[1:], self.fresh("end")[1:]
        self.line(f"br i1 {condition}, label %{then}, label %{end}")
        self.label(then)
        yield
        self.line(f"br label %{end}")
        self.label(end)

    @contextmanager
    def with_lanes(self, lanes: int) -> Iterator[None]:
        """Write for another number of lanes inside."""
        before, self.lanes = self.lanes, lanes
        yield
        self.lanes = before

    def splat(self, name: str, dtype: str) -> str:
        """One value in all lanes."""
        if self.lanes == 1:
            return name
        scalar, kind = scalar_type(dtype), self.type(dtype)
        first = self.value(f"insertelement {kind} poison, {scalar} {name}, i64 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        return self.value(f"shufflevector {kind} {first}, {kind} poison, {mask}")

    def splats(self, value: Operand) -> Operand:
        """A one-lane operand in all lanes."""
        kind = part_dtype(value.dtype)
        return Operand(value.dtype, tuple(self.splat(name, kind) for name in value.names))

    def shuffle(
        self, value: Operand, lanes: Sequence[int], other: Operand | None = None
    ) -> Operand:
        """The chosen lanes of a value that has `self.lanes` of them; from there on of another."""
        kind = self.type(value.dtype)
        order = ", ".join(f"i32 {lane}" for lane in lanes)
        second = "poison" if other is None else other.name
        pair = f"{kind} {value.name}, {kind} {second}"
        return self.assign(f"shufflevector {pair}, <{len(lanes)} x i32> <{order}>", value.dtype)

    def join(self, names: Sequence[str], dtype: str) -> str:
        """One value from the names of its lanes."""
        vector = "poison"
        for lane, name in enumerate(names):
            text = f"insertelement {self.type(dtype)} {vector}, {scalar_type(dtype)} {name}"
            vector = self.value(f"{text}, i64 {lane}")
        return vector

    def extract(self, value: Operand, lane: int | str) -> Operand:
        """One lane of a part."""
        if self.lanes == 1:
            return value
        text = f"extractelement {self.type(value.dtype)} {value.name}, i64 {lane}"
        return self.assign(text, value.dtype)

    def fetch(self, pointer: str, dtype: str) -> Operand:
        """Read a stack slot that holds all lanes of a part."""
        text = f"load {self.type(dtype)}, ptr {pointer}, align {self._align(dtype)}"
        return self.assign(text, dtype)

    def keep(self, pointer: str, value: Operand) -> None:
        """Write a stack slot."""
        kind, align = self.type(value.dtype), self._align(value.dtype)
        self.line(f"store {kind} {value.name}, ptr {pointer}, align {align}")

    def number(self, value: Literal, dtype: str) -> Operand:
        """A constant in all lanes."""
        return Operand(dtype, (self._splat(literal(value, dtype), dtype),))

    def _align(self, dtype: str) -> int:
        return int(dtype[1:])
