"""Quotients and remainders of vectors of integers, by way of floats; upper halves of products.

No processor divides vectors of integers, so LLVM takes them apart. Of integers of up to 16 bits
the quotient in float32, cut off, is the right one, and of 32 bits that in float64: below 2^n a
quotient that is no integer lies at least 1/y below the next one, and rounding moves it by less
than x/y * 2^-(n + 8) < 2^-8 / y.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lazyfuse.ops.body import Instr

if TYPE_CHECKING:
    from lazyfuse.backends.cpu.vector import Operand, VectorWriter

#: The float in which integers of so many bytes are divided.
_FLOATS = {1: "f4", 2: "f4", 4: "f8"}


def divides(instr: Instr, lanes: int) -> bool:
    """Whether `divide` writes an instruction."""
    is_division = instr.op in ("div", "rem") and instr.dtype[0] in "iu"
    return is_division and lanes > 1 and int(instr.dtype[1:]) in _FLOATS


def divide(writer: VectorWriter, instr: Instr, operands: Sequence[Operand]) -> Operand:
    """x / y, cut off, or what is left of x; y is neither 0 nor -1."""
    dtype, wide = instr.dtype, _FLOATS[int(instr.dtype[1:])]
    pair = [writer.write(Instr("cast", wide), (operand,)) for operand in operands]
    exact = writer.write(Instr("div", wide), pair)
    quotient = writer.write(Instr("cast", dtype), (exact,))
    if instr.op == "div":
        return quotient
    whole = writer.write(Instr("mul", dtype), (quotient, operands[1]))
    return writer.write(Instr("sub", dtype), (operands[0], whole))


def multiply_high(writer: VectorWriter, x: Operand, y: Operand) -> Operand:
    """The upper half of a product; LLVM knows the instruction for 16 bits in this form."""
    dtype, bits = x.dtype, 8 * int(x.dtype[1:])
    narrow = writer.type(dtype)
    wide = narrow.replace(f"i{bits}", f"i{2 * bits}")
    left, right = (
        writer.assign(f"zext {narrow} {operand.name} to {wide}", dtype).name for operand in (x, y)
    )
    product = writer.assign(f"mul {wide} {left}, {right}", dtype).name
    amount = str(bits) if writer.lanes == 1 else f"splat (i{2 * bits} {bits})"
    upper = writer.assign(f"lshr {wide} {product}, {amount}", dtype).name
    return writer.assign(f"trunc {wide} {upper} to {narrow}", dtype)
