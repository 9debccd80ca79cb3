"""Integer and bit instructions -> functions of arrays, which wrap as the hardware does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lazyfuse.backends.cuda_ptx.faults import UnknownInstruction
from lazyfuse.backends.cuda_ptx.types import PtxType, unsigned

Compute = Callable[..., np.ndarray]
_MASK32 = np.uint64(0xFFFF_FFFF)

SIMPLE: Mapping[str, Compute] = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "min.relu": lambda a, b: np.maximum(np.minimum(a, b), a.dtype.type(0)),
    "max.relu": lambda a, b: np.maximum(np.maximum(a, b), a.dtype.type(0)),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "neg": np.negative,
    "abs": np.abs,
    "cnot": lambda x: (x == 0).astype(x.dtype),
}


def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Toward zero; all ones where b is 0, which PTX leaves open."""
    a, b = np.broadcast_arrays(a, b)
    safe = np.where(b == 0, b.dtype.type(1), b)
    if a.dtype.kind == "u":
        quotient = a // safe
    else:
        wide = unsigned(8 * a.dtype.itemsize)
        size = np.abs(a).view(wide) // np.abs(safe).view(wide)
        quotient = np.where((a < 0) ^ (safe < 0), ~size + wide.type(1), size).view(a.dtype)
    ones = np.array(-1).astype(a.dtype)
    return np.where(b == 0, ones, quotient)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of the sign of a; a itself where b is 0."""
    a, b = np.broadcast_arrays(a, b)
    return np.where(b == 0, a, a - divide(a, b) * b)


def multiply(part: str, kind: PtxType) -> Compute:
    """mul.lo, mul.hi and mul.wide."""
    if part == "lo":
        return np.multiply
    if kind.bits == 64:
        if part != "hi":
            raise UnknownInstruction(f"mul.{part} of 64 bits")
        return _high64
    wide = np.dtype(f"{kind.dtype.kind}{2 * kind.size}")

    def wide_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        product: np.ndarray = a.astype(wide) * b.astype(wide)
        return product

    if part == "wide":
        return wide_product
    return lambda a, b: (wide_product(a, b) >> wide.type(kind.bits)).astype(kind.dtype)


def _high64(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper 64 bits of a product, by its four 32-bit products."""
    dtype, a, b = a.dtype, *np.broadcast_arrays(a, b)
    x, y, half = a.astype(np.uint64), b.astype(np.uint64), np.uint64(32)
    low, high = (x & _MASK32), (x >> half)
    other_low, other_high = (y & _MASK32), (y >> half)
    carry = (low * other_low >> half) + (high * other_low & _MASK32) + (low * other_high & _MASK32)
    top = high * other_high + (high * other_low >> half) + (low * other_high >> half)
    top = top + (carry >> half)
    if dtype.kind == "i":  # a negative operand counted 2^64 times the other one too much
        top = top - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    result: np.ndarray = top.astype(np.uint64).view(dtype)
    return result


def shift(opcode: str, kind: PtxType) -> Compute:
    """shl and shr by 32-bit amounts, clamped to the width."""
    bits, dtype = kind.bits, kind.dtype

    def compute(x: np.ndarray, amount: np.ndarray) -> np.ndarray:
        is_far, inside = amount >= bits, np.minimum(amount, bits - 1).astype(dtype)
        moved: np.ndarray = x << inside if opcode == "shl" else x >> inside
        if opcode == "shr" and kind.kind == "s":
            return moved
        return np.where(is_far, dtype.type(0), moved)

    return compute


def funnel(modifiers: tuple[str, ...]) -> Compute:
    """shf: shift the pair b:a, and give its upper (l) or lower (r) word."""
    wraps, left = "wrap" in modifiers, "l" in modifiers

    def compute(a: np.ndarray, b: np.ndarray, amount: np.ndarray) -> np.ndarray:
        inside = amount & np.uint32(31) if wraps else np.minimum(amount, np.uint32(32))
        by = inside.astype(np.uint64)
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        moved: np.ndarray = both >> (np.uint64(32) - by if left else by)
        return moved.astype(np.uint32)

    return compute


def popcount(x: np.ndarray) -> np.ndarray:
    """popc: the bits that are set."""
    count: np.ndarray = np.bitwise_count(x).astype(np.uint32)
    return count


def leading_zeros(x: np.ndarray) -> np.ndarray:
    """clz: the bits above the highest one."""
    return np.uint32(8 * x.dtype.itemsize) - popcount(_smeared(x))


def highest_bit(x: np.ndarray) -> np.ndarray:
    """bfind: the place of the highest bit that differs from the sign; all ones for none."""
    bits = np.where(x < 0, ~x, x).view(unsigned(8 * x.dtype.itemsize))
    return popcount(_smeared(bits)) - np.uint32(1)


def _smeared(x: np.ndarray) -> np.ndarray:
    """Every bit below the highest one set."""
    for step in (1, 2, 4, 8, 16, 32):
        if step < 8 * x.dtype.itemsize:
            x = x | (x >> x.dtype.type(step))
    return x


def reversed_bits(x: np.ndarray) -> np.ndarray:
    """brev."""
    rows = np.ascontiguousarray(x)[:, None].view(np.uint8)
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    return np.packbits(bits[:, ::-1], axis=1, bitorder="little").view(x.dtype)[:, 0]


def extract(kind: PtxType) -> Compute:
    """bfe: a field of bits, extended by its sign."""
    wide = np.uint64(kind.bits)

    def compute(x: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
        begin = (start & np.uint32(255)).astype(np.uint64)
        count = np.minimum((length & np.uint32(255)).astype(np.uint64), wide)
        pattern = x.view(unsigned(kind.bits)).astype(np.uint64)
        field = _right(pattern, begin) & _ones(count)
        if kind.kind == "s":
            top = np.minimum(begin + count - np.uint64(1), wide - np.uint64(1))
            is_negative = (count > 0) & ((_right(pattern, top) & np.uint64(1)) == 1)
            above = ~_ones(np.where(top < begin, np.uint64(0), top - begin + np.uint64(1)))
            field = np.where(is_negative, field | above, field)
        result: np.ndarray = field.astype(unsigned(kind.bits)).view(kind.dtype)
        return result

    return compute


def insert(kind: PtxType) -> Compute:
    """bfi: the low bits of a into a field of b."""

    def compute(a: np.ndarray, b: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
        begin = (start & np.uint32(255)).astype(np.uint64)
        count = (length & np.uint32(255)).astype(np.uint64)
        mask = _left(_ones(count), begin)
        moved = _left(a.astype(np.uint64), begin)
        result: np.ndarray = (moved & mask) | (b.astype(np.uint64) & ~mask)
        return result.astype(unsigned(kind.bits))

    return compute


def _ones(count: np.ndarray | np.uint64) -> np.ndarray:
    ones: np.ndarray = _left(np.uint64(1), count) - np.uint64(1)
    return ones


def _left(x: np.ndarray | np.uint64, by: np.ndarray | np.uint64) -> np.ndarray:
    return np.where(by > 63, np.uint64(0), x << np.minimum(by, np.uint64(63)))


def _right(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    return np.where(by > 63, np.uint64(0), x >> np.minimum(by, np.uint64(63)))


def permute(a: np.ndarray, b: np.ndarray, selector: np.ndarray) -> np.ndarray:
    """prmt: four bytes picked from the pair b:a; bit 3 of a pick spreads the sign of its byte."""
    both = (b.astype(np.uint64) << np.uint64(32)) | a
    result = np.zeros(np.broadcast(both, selector).shape, np.uint64)
    for place in range(4):
        pick = (selector.astype(np.uint64) >> np.uint64(4 * place)) & np.uint64(15)
        byte = (both >> ((pick & np.uint64(7)) * np.uint64(8))) & np.uint64(255)
        sign = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
        byte = np.where(pick & np.uint64(8), sign, byte)
        result |= byte << np.uint64(8 * place)
    return result.astype(np.uint32)


def logic(table: int) -> Compute:
    """lop3: any function of three bits, by its table of eight."""

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        result = np.zeros(np.broadcast(a, b, c).shape, np.uint32)
        for row in range(8):
            if table >> row & 1:
                result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        return result

    return compute


def with_carry(opcode: str, modifiers: tuple[str, ...], bits: int) -> Compute:
    """add.cc, addc, sub.cc, subc, mad.cc and madc: (operands, carry in) -> (result, carry out)."""
    wide = unsigned(bits)

    def compute(*operands: np.ndarray) -> np.ndarray:
        *values, carry = (x.astype(object) for x in np.broadcast_arrays(*operands))
        if opcode.startswith("mad"):
            product = values[0] * values[1]
            part = product >> bits if "hi" in modifiers else product & ((1 << bits) - 1)
            values = [part, values[2]]
        sign = -1 if opcode.startswith("sub") else 1
        total = values[0] + sign * (values[1] + carry)
        low = np.array([int(n) & ((1 << bits) - 1) for n in total], wide)
        out = np.array([not 0 <= int(n) < 1 << bits for n in total], wide)
        return np.stack([low, out])

    return compute
