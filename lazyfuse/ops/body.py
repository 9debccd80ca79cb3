"""Scalar bodies: the small language in which an op says what it computes for one element.

A `Body` is a straight-line SSA list of `Instr`; each names a primitive of `ops/primitives.py`, the
dtype of its result and the indices of its operands. Equal instructions are shared as they are
emitted (every primitive is pure). Kernels, both backends and the vector-math library speak this
language and nothing else, so an op that is written once in it (`ops/composite.py`) means the same
on every device.

Dtypes are NumPy's letter-and-size codes: b1, i1-i8, u1-u8, f2, f4, f8, c8, c16.

    >>> body = Body()
    >>> x = body.emit("load", "f8", attr=0)
    >>> y = x * x + 1.0
    >>> print(body)
    v0 = load f8 #0
    v1 = mul f8 v0 v0
    v2 = const f8 #1.0
    v3 = add f8 v1 v2
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Literal: TypeAlias = bool | int | float
Operand: TypeAlias = "Value | Literal"


class Instr(NamedTuple):
    """One instruction: `dtype` is the result's; `args` index earlier instructions;
    `attr` is a literal or a slot."""

    op: str
    dtype: str
    args: tuple[int, ...] = ()
    attr: Literal | str | None = None

    def __str__(self) -> str:
        operands = "".join([f" v{index}" for index in self.args])
        attr = "" if self.attr is None else f" #{self.attr!r}"
        return f"{self.op} {self.dtype}{operands}{attr}"


class Body:
    """A growing list of instructions; `emit` is the only way to add one."""

    __slots__ = ("instrs", "_seen")

    def __init__(self) -> None:
        self.instrs: list[Instr] = []
        self._seen: dict[tuple[object, ...], int] = {}

    def emit(self, op: str, dtype: str, *args: Value, attr: Literal | str | None = None) -> Value:
        instr = Instr(op, dtype, tuple([arg.index for arg in args]), attr)
        key = instr if attr is None else (*instr[:3], repr(attr))  # which tells 0.0 from -0.0
        index = self._seen.get(key)
        if index is None:
            index = self._seen[key] = len(self.instrs)
            self.instrs.append(instr)
        return Value(self, index, dtype)

    def const(self, value: Literal, dtype: str) -> Value:
        """A literal that is part of the program text (user scalars are kernel arguments
        instead)."""
        return self.emit("const", dtype, attr=value)

    def __str__(self) -> str:
        return "\n".join(f"v{index} = {instr}" for index, instr in enumerate(self.instrs))


class Value:
    """The result of one instruction.
    Python operators emit the primitive of that name on equal dtypes.

    A Python literal beside a Value takes the Value's dtype.
    `==` is `eq`, since Values are compared by identity.
    """

    __slots__ = ("body", "index", "dtype")

    def __init__(self, body: Body, index: int, dtype: str) -> None:
        self.body = body
        self.index = index
        self.dtype = dtype

    @property
    def kind(self) -> str:
        return self.dtype[0]

    @property
    def bits(self) -> int:
        return 8 * int(self.dtype[1:])

    def lift(self, other: Operand) -> Value:
        if isinstance(other, Value):
            return other
        return self.body.const(other, self.dtype)

    def binary(self, op: str, other: Operand, dtype: str | None = None) -> Value:
        other = self.lift(other)
        assert other.dtype == self.dtype, (op, self.dtype, other.dtype)
        return self.body.emit(op, dtype or self.dtype, self, other)

    def unary(self, op: str, dtype: str | None = None) -> Value:
        return self.body.emit(op, dtype or self.dtype, self)

    def __add__(self, other: Operand) -> Value:
        return self.binary("add", other)

    def __sub__(self, other: Operand) -> Value:
        return self.binary("sub", other)

    def __mul__(self, other: Operand) -> Value:
        return self.binary("mul", other)

    def __truediv__(self, other: Operand) -> Value:
        return self.binary("div", other)

    def __mod__(self, other: Operand) -> Value:
        return self.binary("rem", other)

    def __and__(self, other: Operand) -> Value:
        return self.binary("and", other)

    def __or__(self, other: Operand) -> Value:
        return self.binary("or", other)

    def __xor__(self, other: Operand) -> Value:
        return self.binary("xor", other)

    def __lshift__(self, other: Operand) -> Value:
        return self.binary("shl", other)

    def __rshift__(self, other: Operand) -> Value:
        return self.binary("shr", other)

    def __radd__(self, other: Literal) -> Value:
        return self.lift(other) + self

    def __rsub__(self, other: Literal) -> Value:
        return self.lift(other) - self

    def __rmul__(self, other: Literal) -> Value:
        return self.lift(other) * self

    def __rtruediv__(self, other: Literal) -> Value:
        return self.lift(other) / self

    def __neg__(self) -> Value:
        return self.unary("neg")

    def __invert__(self) -> Value:
        return self.unary("not")

    def __lt__(self, other: Operand) -> Value:
        return self.binary("lt", other, "b1")

    def __le__(self, other: Operand) -> Value:
        return self.binary("le", other, "b1")

    def __gt__(self, other: Operand) -> Value:
        return self.lift(other).binary("lt", self, "b1")

    def __ge__(self, other: Operand) -> Value:
        return self.lift(other).binary("le", self, "b1")

    def eq(self, other: Operand) -> Value:
        return self.binary("eq", other, "b1")

    def ne(self, other: Operand) -> Value:
        return self.binary("ne", other, "b1")


def select(condition: Value, x: Operand, y: Operand, *, heard: bool = False) -> Value:
    """`x` where the b1 `condition` holds, else `y`; both are evaluated. `heard`: what is not
    chosen raises its floating point conditions all the same."""
    peer = x if isinstance(x, Value) else y
    assert isinstance(peer, Value), "select needs one Value to take the dtype from"
    left, right = peer.lift(x), peer.lift(y)
    assert left.dtype == right.dtype, (left.dtype, right.dtype)
    attr = "heard" if heard else None
    return peer.body.emit("select", left.dtype, condition, left, right, attr=attr)


def cast(x: Value, dtype: str) -> Value:
    """Convert the value. Float to integer needs a value in range: `composite.astype` guards it."""
    return x if x.dtype == dtype else x.body.emit("cast", dtype, x)


def truncate(x: Value, dtype: str) -> Value:
    """A float without its fraction, as i4 or i8. What does not fit, and NaN, gives the smallest
    value and is invalid."""
    return x.body.emit("truncate", dtype, x)


def bitcast(x: Value, dtype: str) -> Value:
    """Keep the bits, change the type; both of one width."""
    assert x.dtype[1:] == dtype[1:], (x.dtype, dtype)
    return x if x.dtype == dtype else x.body.emit("bitcast", dtype, x)


def fma(x: Value, y: Operand, z: Operand) -> Value:
    """x*y + z with one rounding. Only vector math may ask for it: NumPy rounds twice."""
    return x.body.emit("fma", x.dtype, x, x.lift(y), x.lift(z))


def flag(x: Value, condition: Value, conditions: int) -> Value:
    """`x`; where the b1 `condition` holds, bits of `ops/float_flags.py` are met."""
    return x.body.emit("flag", x.dtype, x, condition, attr=conditions)


def make_complex(real: Value, imag: Value) -> Value:
    """A complex value from two floats of one dtype."""
    return real.body.emit("complex", f"c{2 * int(real.dtype[1:])}", real, imag)


def real(x: Value) -> Value:
    return x.body.emit("real", f"f{int(x.dtype[1:]) // 2}", x)


def imag(x: Value) -> Value:
    return x.body.emit("imag", f"f{int(x.dtype[1:]) // 2}", x)
