"""y * 2**n where AVX-512 has an instruction for it: one instead of eight, with the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lazyfuse.backends.cpu.vector import Operand, VectorWriter

#: Lanes of a register, and the types of its mask and of `llvm.x86.avx512.mask.scalef`.
_REGISTERS = {"f4": (16, "i16", "ps"), "f8": (8, "i8", "pd")}
#: Round as the control word says.
_ROUNDING = 4


def scaled(writer: VectorWriter, operands: Sequence[Operand]) -> Operand:
    """`y * 2**n` from (that as the other primitives compute it, y, n); n is a whole number."""
    result, y, n = operands
    lanes = _REGISTERS[y.dtype][0]
    if not writer.has_scale or writer.lanes not in (lanes, 2 * lanes):
        return result
    if writer.lanes == lanes:
        return writer.assign(_call(writer, y.name, n.name, y.dtype), y.dtype)
    halves = []
    for first in (0, lanes):
        text = _call(writer, _part(writer, y, first), _part(writer, n, first), y.dtype)
        halves.append(writer.assign(text, y.dtype).name)
    kind = _register(y.dtype)
    order = ", ".join(f"i32 {lane}" for lane in range(2 * lanes))
    text = f"shufflevector {kind} {halves[0]}, {kind} {halves[1]}, <{2 * lanes} x i32> <{order}>"
    return writer.assign(text, y.dtype)


def _register(dtype: str) -> str:
    return f"<{_REGISTERS[dtype][0]} x {'float' if dtype == 'f4' else 'double'}>"


def _call(writer: VectorWriter, y: str, n: str, dtype: str) -> str:
    _, mask, suffix = _REGISTERS[dtype]
    kind, symbol = _register(dtype), f"llvm.x86.avx512.mask.scalef.{suffix}.512"
    writer.declarations[symbol] = (
        f"declare {kind} @{symbol}({kind}, {kind}, {kind}, {mask}, i32 immarg)"
    )
    operands = f"{kind} {y}, {kind} {n}, {kind} zeroinitializer"
    return f"call {kind} @{symbol}({operands}, {mask} -1, i32 {_ROUNDING})"


def _part(writer: VectorWriter, operand: Operand, first: int) -> str:
    """A register of a value of two."""
    lanes = range(first, first + _REGISTERS[operand.dtype][0])
    order = ", ".join(f"i32 {lane}" for lane in lanes)
    kind = writer.type(operand.dtype)
    text = f"shufflevector {kind} {operand.name}, {kind} poison, <{len(lanes)} x i32> <{order}>"
    return writer.assign(text, operand.dtype).name
