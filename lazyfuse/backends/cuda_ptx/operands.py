"""Operands of instructions -> functions that read and write them: decoded once, run per step."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np

from lazyfuse.backends.cuda_ptx.faults import PtxSyntaxError
from lazyfuse.backends.cuda_ptx.frame import Frame, Lanes
from lazyfuse.backends.cuda_ptx.parse import Function
from lazyfuse.backends.cuda_ptx.types import TYPES, PtxType, unsigned

Reader = Callable[[Frame, Lanes], np.ndarray]
Writer = Callable[[Frame, Lanes, np.ndarray], None]

_FLOAT = re.compile(r"0[fFdD]([0-9a-fA-F]+)$")
_INTEGER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)U?$")
_ADDRESS = re.compile(r"\[\s*([^+\]\s]+)\s*(?:\+\s*(-?\w+))?\s*\]$")
#: Registers that the launch fills.
SPECIAL = frozenset(
    f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"
) | {"%laneid", "WARP_SZ"}


def reader(text: str, kind: PtxType, function: Function) -> Reader:
    """Read a register, a constant, a special register or the address of a variable as `kind`.

    Constants have one element, which broadcasts.
    """
    if text.startswith(("!", "-")) and text[1:] in function.registers:
        plain = reader(text[1:], kind, function)
        if text[0] == "!":
            return lambda frame, lanes: ~plain(frame, lanes)
        return lambda frame, lanes: -plain(frame, lanes)
    if text in function.registers:
        return _register(text, kind, function.registers[text])
    if text in SPECIAL:
        dtype = kind.dtype
        return lambda frame, lanes: frame.threads.special[text][lanes].astype(dtype)
    value = constant(text, kind)
    if value is not None:
        return lambda frame, lanes: value
    name, _, offset = text.partition("+")
    shift, dtype = int(offset or "0", 0), kind.dtype
    return lambda frame, lanes: np.array([frame.symbol(name) + shift], dtype)


def _register(name: str, kind: PtxType, bits: int) -> Reader:
    dtype = kind.dtype
    if kind.kind == "p" or max(bits, 16) == kind.bits:
        return lambda frame, lanes: frame.registers[name][lanes].view(dtype)
    narrow = unsigned(kind.bits)
    return lambda frame, lanes: frame.registers[name][lanes].astype(narrow).view(dtype)


@cache
def constant(text: str, kind: PtxType) -> np.ndarray | None:
    """The value of a literal, read-only, or None for a name."""
    value = _literal(text, kind)
    if value is not None:
        value.setflags(write=False)
    return value


def _literal(text: str, kind: PtxType) -> np.ndarray | None:
    if found := _FLOAT.match(text):
        bits = int(found.group(1), 16)
        return np.array([bits], unsigned(32 if text[1] in "fF" else 64)).view(kind.dtype)
    if found := _INTEGER.match(text):
        digits = found.group(2)
        base = 8 if digits.startswith("0") and digits.isdigit() else 0
        number = int(digits, base) * (-1 if found.group(1) else 1)
        if kind.kind == "p":
            return np.array([number != 0])
        return np.array([number & ((1 << kind.bits) - 1)], unsigned(kind.bits)).view(kind.dtype)
    return None


def writer(text: str, function: Function) -> Writer:
    """Write a register; narrower values are extended by their own sign."""
    if text == "_":
        return lambda frame, lanes, value: None
    if text not in function.registers:
        raise PtxSyntaxError(f"{text} is not a register")
    bits = function.registers[text]
    if bits == 1:
        return lambda frame, lanes, value: _set(frame, text, lanes, value)
    width = max(bits, 16)
    return lambda frame, lanes, value: _set(frame, text, lanes, extended(value, width))


def _set(frame: Frame, name: str, lanes: Lanes, value: np.ndarray) -> None:
    frame.registers[name][lanes] = value


def extended(value: np.ndarray, bits: int) -> np.ndarray:
    """The bits of a value in a register of `bits` bits."""
    dtype = unsigned(bits)
    if value.dtype.itemsize == dtype.itemsize:
        return value.view(dtype)
    if value.dtype.kind == "f":
        value = value.view(unsigned(8 * value.dtype.itemsize))
    return value.astype(dtype)


def address(text: str, function: Function) -> Reader:
    """The addresses of `[%rd1+8]`, one per lane."""
    found = _ADDRESS.match(text)
    if found is None:
        raise PtxSyntaxError(f"{text} is not an address")
    base, offset = found.group(1), int(found.group(2) or "0", 0)
    narrow = function.registers.get(base) == 32
    read = reader(base, TYPES["u32" if narrow else "u64"], function)
    shift = np.uint64(offset & 0xFFFF_FFFF_FFFF_FFFF)

    def addresses(frame: Frame, lanes: Lanes) -> np.ndarray:
        wide = read(frame, lanes).astype(np.uint64) + shift
        return np.broadcast_to(wide, (frame.size(lanes),))

    return addresses


def parameter_place(text: str) -> tuple[str, int]:
    """The name and offset of `[param0+8]`."""
    found = _ADDRESS.match(text)
    if found is None:
        raise PtxSyntaxError(f"{text} is not a parameter")
    return found.group(1), int(found.group(2) or "0", 0)


def vector(text: str) -> tuple[str, ...]:
    """The registers of `{%f1, %f2}`, or the single one."""
    return tuple(part.strip() for part in text.strip("{}").split(","))
