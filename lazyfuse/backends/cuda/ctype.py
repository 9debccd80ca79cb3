"""The CUDA C types of lazyfuse dtypes: one row per dtype code, read by every renderer.

`value` is the type of a body value, `fold` the type an accumulator adds in (float for float16,
which has no arithmetic of its own). Values of `b1` are C++ bools; in memory they are bytes, tested
against 0 as they are loaded, since a NumPy view may leave any byte there.

    >>> CTYPES["f2"].value, CTYPES["f2"].fold
    ('h16', 'float')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CType:
    """How one dtype is spelled: in memory, as a value, as an accumulator.

    `unsigned` is the unsigned type of the same width; `wide` the one that arithmetic may wrap in,
    of 32 bits at least: C promotes narrower operands to int, whose overflow is undefined.
    """

    code: str
    memory: str
    value: str
    fold: str
    unsigned: str
    wide: str

    @property
    def kind(self) -> str:
        return self.code[0]

    @property
    def size(self) -> int:
        return int(self.code[1:])


def _integer(code: str, name: str, unsigned: str) -> CType:
    wide = unsigned if int(code[1:]) == 8 else "unsigned int"
    return CType(code, name, name, name, unsigned, wide)


def _float(code: str, name: str, fold: str) -> CType:
    return CType(code, name, name, fold, name, name)


_ROWS = (
    CType("b1", "unsigned char", "bool", "bool", "bool", "unsigned int"),
    _integer("i1", "signed char", "unsigned char"),
    _integer("i2", "short", "unsigned short"),
    _integer("i4", "int", "unsigned int"),
    _integer("i8", "long long", "unsigned long long"),
    _integer("u1", "unsigned char", "unsigned char"),
    _integer("u2", "unsigned short", "unsigned short"),
    _integer("u4", "unsigned int", "unsigned int"),
    _integer("u8", "unsigned long long", "unsigned long long"),
    _float("f2", "h16", "float"),
    _float("f4", "float", "float"),
    _float("f8", "double", "double"),
    _float("c8", "c32x2", "c32x2"),
    _float("c16", "c64x2", "c64x2"),
)

CTYPES: Mapping[str, CType] = {row.code: row for row in _ROWS}

#: The parts of a complex dtype.
PART: Mapping[str, str] = {"c8": "f4", "c16": "f8"}
