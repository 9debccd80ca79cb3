"""Accumulators: what a fold starts from, how two partial results combine, how lanes fold.

The state of an accumulator is a tuple of parts, one LLVM value each: real and imaginary part of a
complex sum, extreme and index of an argmax, one value for all others. `combine(old, new)` is left
to right: old comes first in index order.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.vector import Operand, part_dtype
from lazyfuse.ir.kernel import Accumulator
from lazyfuse.ops.body import Instr, Literal

Parts = tuple[Operand, ...]

_BITWISE = {"and", "or", "xor"}
_EXTREMES = {"maximum", "minimum", "fmax", "fmin", "argmax", "argmin"}
_GREATEST = {"maximum", "fmax", "argmax"}


class Slots:
    """The parts of an accumulator in stack slots, all lanes of each: registers, once compiled."""

    def __init__(self, writer: FunctionWriter, dtypes: Sequence[str]) -> None:
        self.writer, self.dtypes = writer, dtypes
        self.slots = [writer.slot(writer.type(dtype)) for dtype in dtypes]

    def read(self) -> Parts:
        pairs = zip(self.slots, self.dtypes, strict=True)
        return tuple(self.writer.fetch(slot, dtype) for slot, dtype in pairs)

    def write(self, parts: Parts) -> None:
        for slot, part in zip(self.slots, parts, strict=True):
            self.writer.keep(slot, part)


def part_dtypes(acc: Accumulator) -> tuple[str, ...]:
    """The dtypes of the state."""
    if acc.dtype[0] == "c":
        if acc.op not in ("add", "mul"):
            raise Unsupported(acc.op, acc.dtype, "complex numbers have no order here")
        return (part_dtype(acc.dtype),) * 2
    if acc.index is not None:
        return (acc.dtype, "i8")
    return (acc.dtype,)


def is_float(acc: Accumulator) -> bool:
    return acc.dtype[0] in "fc"


def is_extreme(acc: Accumulator) -> bool:
    """Whether a fold compares: it keeps one of its values."""
    return acc.op in _EXTREMES


def waits(acc: Accumulator) -> bool:
    """Whether a value waits for a comparison with the one before: that of an index, of float16."""
    return is_extreme(acc) and (acc.index is not None or acc.dtype == "f2")


def identity(acc: Accumulator, *, of_partial: bool = False) -> tuple[Literal, ...]:
    """What a fold starts from; a partial float sum from -0.0, which changes no sum, nor -0.0."""
    if acc.op == "add":
        zero: Literal = (-0.0 if of_partial else 0.0) if is_float(acc) else 0
        return (zero,) * len(part_dtypes(acc))
    if acc.op == "mul":
        return (1.0, 0.0)[: len(part_dtypes(acc))] if is_float(acc) else (1,)
    if acc.op in _BITWISE:
        return (-1 if acc.op == "and" and acc.dtype != "b1" else acc.op == "and",)
    worst = _worst(acc)
    return (worst, -1) if acc.index is not None else (worst,)


def _worst(acc: Accumulator) -> Literal:
    kind, bits = acc.dtype[0], 8 * int(acc.dtype[1:])
    is_greatest = acc.op in _GREATEST
    if kind == "f":
        if acc.op in ("fmax", "fmin"):
            return float("nan")
        return float("-inf") if is_greatest else float("inf")
    if kind == "i":
        return -(1 << (bits - 1)) if is_greatest else (1 << (bits - 1)) - 1
    if kind == "b":
        return not is_greatest
    return 0 if is_greatest else (1 << bits) - 1


def combine(
    writer: FunctionWriter, acc: Accumulator, old: Parts, new: Parts, *, in_order: bool = False
) -> Parts:
    """`old` then `new`, in `writer.lanes` lanes; `in_order`: every index in `new` is larger."""
    if acc.op in _EXTREMES and acc.index is None and acc.dtype in ("f4", "f8"):
        return (_extreme_float(writer, acc, old[0], new[0]),)
    if acc.op in _EXTREMES:
        return _extreme(writer, acc, old, new, in_order=in_order)
    if acc.op in _BITWISE or acc.dtype == "b1":
        op = {"add": "or", "mul": "and"}.get(acc.op, acc.op)
        return (writer.write(Instr(op, acc.dtype), (old[0], new[0])),)
    if acc.op == "add":
        return tuple(add(writer, *pair) for pair in zip(old, new, strict=True))
    if acc.op == "mul":
        return _multiply(writer, old, new)
    raise Unsupported(acc.op, acc.dtype, "no such accumulator")


def add(writer: FunctionWriter, old: Operand, new: Operand) -> Operand:
    """old + new, in float32 for float16; `new` may already be float32 then."""
    return _narrow(writer, "add", old, new)


def _narrow(writer: FunctionWriter, op: str, old: Operand, new: Operand) -> Operand:
    if old.dtype != "f2":
        return writer.write(Instr(op, old.dtype), (old, new))
    wide = [writer.write(Instr("cast", "f4"), (value,)) for value in (old, new)]
    return writer.write(Instr("cast", "f2"), (writer.write(Instr(op, "f4"), wide),))


def _multiply(writer: FunctionWriter, old: Parts, new: Parts) -> Parts:
    if len(old) == 1:
        return (_narrow(writer, "mul", old[0], new[0]),)

    def arith(op: str, left: Operand, right: Operand) -> Operand:
        return writer.write(Instr(op, left.dtype), (left, right))

    (a, b), (c, d) = old, new
    real = arith("sub", arith("mul", a, c), arith("mul", b, d))
    return real, arith("add", arith("mul", a, d), arith("mul", b, c))


def _extreme_float(
    writer: FunctionWriter, acc: Accumulator, old: Operand, new: Operand
) -> Operand:
    """The extreme of two floats; of NaNs the last one. What waits for `old` is one instruction."""
    op = "max" if acc.op in _GREATEST else "min"
    beyond = writer.write(Instr(op, old.dtype), (new, old))
    looked_at = old if acc.op in ("fmax", "fmin") else new
    is_number = writer.write(Instr("eq", "b1"), (looked_at, looked_at))
    return writer.select(is_number, beyond, new)


def _extreme(
    writer: FunctionWriter, acc: Accumulator, old: Parts, new: Parts, *, in_order: bool
) -> Parts:
    keys = [_widen(writer, parts[0]) for parts in (old, new)]
    is_new = _prefers_new(writer, acc, keys[0], keys[1])
    if acc.index is not None and in_order:
        is_empty = writer.write(Instr("lt", "b1"), (old[1], writer.number(0, "i8")))
        is_new = _logic(writer, "or", is_new, is_empty)
    elif acc.index is not None:
        ties = _ties(writer, keys[0], keys[1])
        # as unsigned numbers: the index -1 of an empty fold comes last
        first = writer.assign(f"icmp ult {writer.type('i8')} {new[1].name}, {old[1].name}", "b1")
        is_new = _logic(writer, "or", is_new, _logic(writer, "and", ties, first))
    return tuple(writer.select(is_new, right, left) for left, right in zip(old, new, strict=True))


def _prefers_new(writer: FunctionWriter, acc: Accumulator, old: Operand, new: Operand) -> Operand:
    low, high = (old, new) if acc.op in _GREATEST else (new, old)
    is_beyond = writer.write(Instr("lt", "b1"), (low, high))
    if acc.dtype[0] != "f":
        return is_beyond
    if acc.op in ("fmax", "fmin"):
        old_nan = writer.write(Instr("ne", "b1"), (old, old))
        return _logic(writer, "or", is_beyond, old_nan)
    new_nan = writer.write(Instr("ne", "b1"), (new, new))
    old_number = writer.write(Instr("eq", "b1"), (old, old))
    wins = _logic(writer, "and", new_nan, old_number)
    return _logic(writer, "or", is_beyond, wins)


def _ties(writer: FunctionWriter, old: Operand, new: Operand) -> Operand:
    equal = writer.write(Instr("eq", "b1"), (old, new))
    if old.dtype[0] != "f":
        return equal
    flags = [writer.write(Instr("ne", "b1"), (value, value)) for value in (old, new)]
    return _logic(writer, "or", equal, _logic(writer, "and", *flags))


def _widen(writer: FunctionWriter, value: Operand) -> Operand:
    """Float16 compares as float32."""
    return writer.write(Instr("cast", "f4"), (value,)) if value.dtype == "f2" else value


def _logic(writer: FunctionWriter, op: str, left: Operand, right: Operand) -> Operand:
    return writer.write(Instr(op, "b1"), (left, right))


def fold_lanes(writer: FunctionWriter, acc: Accumulator, parts: Parts) -> Parts:
    """Fold all lanes into one, halves first; for folds whose order does not matter."""
    lanes = writer.lanes
    while lanes > 1:
        half = lanes // 2
        with writer.with_lanes(lanes):
            low, high = (_half(writer, parts, place) for place in (0, half))
        with writer.with_lanes(half):
            parts = combine(writer, acc, low, high)
        lanes = half
    return parts


def _half(writer: FunctionWriter, parts: Parts, first: int) -> Parts:
    half = writer.lanes // 2
    if half == 1:  # a vector of one lane is not a scalar
        return tuple(writer.extract(part, first) for part in parts)
    return tuple(writer.shuffle(part, range(first, first + half)) for part in parts)


def start(writer: FunctionWriter, acc: Accumulator, init: Operand | None) -> Parts:
    """The state before the first value, in all lanes; `init` is one lane."""
    dtypes = part_dtypes(acc)
    if init is None:
        values = identity(acc)
        return tuple(writer.number(v, d) for v, d in zip(values, dtypes, strict=True))
    spread = writer.splats(init)
    return tuple(Operand(d, (n,)) for d, n in zip(dtypes, spread.names, strict=True))


def value_parts(acc: Accumulator, values: Sequence[Operand]) -> Parts:
    """What a fold takes in: `values` are the body values, and for argmax the index."""
    names = values[0].names
    parts = tuple(Operand(d, (n,)) for d, n in zip(part_dtypes(acc), names, strict=False))
    return (*parts, values[1]) if acc.index is not None else parts
