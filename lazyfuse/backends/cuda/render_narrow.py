"""Arithmetic of narrow values -> as few instructions as their bits need.

Integers of 8 and 16 bits: the low bits of a sum or a product do not depend on the high bits of the
operands, so a value that only such operations and stores read is left in a 32-bit register, with
whatever lies above.

float16: a sum, difference or product that is rounded to float16 is the device's own. It is the
same number as float32's, rounded: with 24 digits, at least twice 11 and 2, rounding twice rounds
as once does (Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995). So
is a quotient, of which float32 needs to be no more than nearly right: a quotient of numbers of 11
digits that is not a number of 12 is further than 2^-23 of itself from each of those. It is made of
the approximate reciprocal, which is the same for all elements where the divisor is, and corrected
once by the rest, which makes quotients of 12 digits exact. Powers of 2 and of e need not be more
than nearly right either: the device's approximation (2 ULP of float32, CUDA programming guide) is
rounded to the second nearest float16 for 15 of all exponents, as is float32's own `expf`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lazyfuse.ops.body import Instr, Literal

#: Operations whose low bits need the low bits of their operands only.
_MODULAR = frozenset(("add", "sub", "mul", "and", "or", "xor"))
_NARROW = frozenset(("i1", "u1", "i2", "u2"))
#: What the device does on float16.
_HALF = {
    "add": "lf_half_add",
    "sub": "lf_half_subtract",
    "mul": "lf_half_multiply",
    "div": "lf_half_divide",
    "exp": "lf_half_exp",
    "exp2": "lf_half_exp2",
}


def loose(body: Sequence[Instr]) -> frozenset[int]:
    """The values that may keep bits beyond their width."""
    candidates = {number for number, instr in enumerate(body) if _is_modular(instr)}
    for number, instr in enumerate(body):
        if number not in candidates:
            candidates -= set(instr.args)
    return frozenset(candidates)


def apart(body: Sequence[Instr]) -> frozenset[int]:
    """The narrow integers in memory of which more than low bits count. In a pack they are parts of
    a word, and of the low part NVRTC 13 believes before sm_100 what is not so: `x + 1 > 0` was
    wrong for one of four elements of int8, and `-(x & y) >> n` for one of two of int16."""
    read: set[int] = set()
    for number, instr in reversed(list(enumerate(body))):
        if number in read or not _is_modular(instr):
            read.update(instr.args)
    return frozenset(
        number for number in read if body[number].op == "load" and body[number].dtype in _NARROW
    )


def _is_modular(instr: Instr) -> bool:
    return instr.op in _MODULAR and instr.dtype in _NARROW


def halves(body: Sequence[Instr]) -> Mapping[int, tuple[str, tuple[int, ...]]]:
    """The values of float16 that are computed as such: the device function's name, and the numbers
    of its operands, which are float16 or constants."""
    found = {}
    for number, instr in enumerate(body):
        if instr.op != "cast" or instr.dtype != "f2":
            continue
        made = body[instr.args[0]]
        if made.op in _HALF and made.dtype == "f4":
            operands = [_half(body, arg) for arg in made.args]
            known = tuple(operand for operand in operands if operand is not None)
            if len(known) == len(operands):
                found[number] = _HALF[made.op], known
    return found


def _half(body: Sequence[Instr], number: int) -> int | None:
    """The value that `number`, of float32, has in float16; None where there is none."""
    instr = body[number]
    if instr.op == "cast" and body[instr.args[0]].dtype == "f2":
        return instr.args[0]
    return number if instr.op == "const" and _fits(instr.attr) else None


def _fits(value: Literal | str | None) -> bool:
    """Whether float16 has this number."""
    assert isinstance(value, (bool, int, float)), value
    with np.errstate(over="ignore"):
        return float(np.float16(value)) == value
