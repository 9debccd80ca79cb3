"""Scalar body -> CUDA C statements, one `const` per instruction, values named as in the body text.

    v0 = load f4 #0          const float v0 = a0[o0];
    v1 = mul f4 v0 v0   ->   const float v1 = (v0 * v0);
    v2 = lt b1 v1 v0         const bool v2 = (v1 < v0);

Exactness: arithmetic is IEEE and rounds after every operation, given `-fmad=false` and no `-ftz`;
integers wrap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cuda.ctype import CTYPES, PART
from lazyfuse.backends.cuda.render_narrow import apart, halves, loose
from lazyfuse.ops.body import Instr, Literal
from lazyfuse.ops.primitives import PRIMITIVES

_STRUCTURAL = frozenset(
    (
        "load",
        "gather",
        "scalar",
        "const",
        "index",
        "acc",
        "carry",
        "cast",
        "bitcast",
        "select",
        "libm",
        "truncate",
    )
)
_COMPLEX_OPS = frozenset(
    ("load", "gather", "scalar", "const", "acc", "carry", "select", "complex", "real", "imag")
)
_HALF_OPS = frozenset(
    ("load", "gather", "scalar", "const", "acc", "carry", "select", "cast", "bitcast")
)


@dataclass(frozen=True, slots=True)
class Site:
    """Where a body is evaluated: C expressions for its loads, axis positions and accumulators."""

    load: Callable[[int], str]
    index: Callable[[int], str]
    acc: Callable[[int, str], str]


def supports(op: str, dtype: str) -> bool:
    """Say whether primitive `op`, producing or reading `dtype`, has a spelling."""
    if op not in PRIMITIVES or dtype not in CTYPES:
        return False
    if dtype in PART:
        return op in _COMPLEX_OPS
    if dtype == "f2":
        return op in _HALF_OPS
    if op in ("complex", "real", "imag"):
        return dtype in PART.values()
    compares = dtype == "b1" and op in ("eq", "ne", "lt", "le")
    return op in _STRUCTURAL or compares or dtype[0] in PRIMITIVES[op].cuda


def render_body(body: Sequence[Instr], site: Site) -> list[str]:
    """Write one statement per instruction.

    Raises: Unsupported where a primitive has no CUDA cell for the dtype.
    """
    wide, native, alone = loose(body), halves(body), apart(body)
    read = {arg for instr in body for arg in instr.args}
    lines = []
    for number, instr in enumerate(body):
        kind = "unsigned int" if number in wide else CTYPES[instr.dtype].value
        if number in native:
            name, operands = native[number]
            text = f"{name}({', '.join(_half_operand(body, operand) for operand in operands)})"
        else:
            text = _expression(instr, body, site, kind)
        if number in alone:
            text = f"({kind})lf_whole({text})"
        if number in wide and number not in read:
            text = f"lf_whole({text})"
        lines.append(f"const {kind} v{number} = {text};")
    return lines


def _half_operand(body: Sequence[Instr], number: int) -> str:
    instr = body[number]
    if instr.op != "const":
        return f"v{number}"
    assert isinstance(instr.attr, (bool, int, float)), instr
    return literal(instr.attr, "f2")


def _expression(instr: Instr, body: Sequence[Instr], site: Site, kind: str) -> str:
    writer = _WRITERS.get(instr.op)
    if writer is not None:
        return writer(instr, body, site)
    reads = body[instr.args[0]].dtype
    return spell(instr.op, instr.dtype, reads, [f"v{index}" for index in instr.args], kind)


def spell(op: str, dtype: str, reads: str, operands: Sequence[str], kind: str = "") -> str:
    """Fill the CUDA cell of primitive `op` that makes `dtype` from operands of dtype `reads`; it
    is of the C type `kind` where that is another one."""
    primitive = PRIMITIVES.get(op)
    cell = None if primitive is None else primitive.cuda.get(reads[0])
    if cell is None or reads == "f2" or reads in PART:
        raise Unsupported(op, reads, "no CUDA cell for this dtype")
    operand = CTYPES[reads]
    return cell.format(
        *operands,
        T=kind or CTYPES[dtype].value,
        A=operand.value,
        U=operand.unsigned,
        W=operand.wide,
        f="f" if reads == "f4" else "",
    )


def literal(value: Literal, dtype: str) -> str:
    """Write a constant of `dtype`; floats in hexadecimal, so that no digit is lost."""
    kind = dtype[0]
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        return _integer_literal(int(value), dtype)
    if dtype == "f2":
        return f"h16{{0x{int(np.float16(value).view(np.uint16)):04x}}}"
    if dtype in PART:
        part = PART[dtype]
        return f"{CTYPES[dtype].value}{{{literal(value, part)}, {literal(0.0, part)}}}"
    return _float_literal(float(value), dtype)


def _integer_literal(value: int, dtype: str) -> str:
    name = CTYPES[dtype].value
    if dtype == "i8":
        return "(-9223372036854775807LL - 1)" if value == -(1 << 63) else f"{value}LL"
    if dtype == "u8":
        return f"{value}ULL"
    return f"({name}){value}LL"


def _float_literal(value: float, dtype: str) -> str:
    if not math.isfinite(value):
        return _special_literal(value, dtype)
    if dtype == "f8":
        return _hexadecimal(value)
    with np.errstate(over="ignore"):
        rounded = float(np.float32(value))
    if not math.isfinite(rounded):
        return _special_literal(rounded, dtype)
    return f"{_hexadecimal(rounded)}f"


def _hexadecimal(value: float) -> str:
    """`float.hex` without its trailing zeros: 0x1.8p+0."""
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}" if "." in mantissa else value.hex()


def _special_literal(value: float, dtype: str) -> str:
    """Infinity and NaN by their bits: no header names them."""
    if dtype == "f4":
        return f"__int_as_float(0x{int(np.float32(value).view(np.uint32)):08x})"
    return f"__longlong_as_double(0x{int(np.float64(value).view(np.uint64)):016x}LL)"


def _load(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    text = site.load(_slot(instr))
    return f"({text} != 0)" if instr.dtype == "b1" else text


def _gather(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    text = moved(site.load(_slot(instr)), instr.args[0])
    return f"({text} != 0)" if instr.dtype == "b1" else text


def moved(element: str, index: int | None) -> str:
    """The element of memory that lies body value `index` further on, if it is moved."""
    return element if index is None else f"(&{element})[v{index}]"


def _scalar(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    number = _slot(instr)
    if instr.dtype in PART:
        return f"{CTYPES[instr.dtype].value}{{x{number}re, x{number}im}}"
    if instr.dtype == "f2":
        return f"h16{{x{number}}}"
    return f"(x{number} != 0)" if instr.dtype == "b1" else f"x{number}"


def _const(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    assert isinstance(instr.attr, (bool, int, float)), instr
    return literal(instr.attr, instr.dtype)


def _index(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    return f"({CTYPES[instr.dtype].value}){site.index(_slot(instr))}"


def _acc(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    return site.acc(_slot(instr), instr.dtype)


def _cast(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    return cast_text(f"v{instr.args[0]}", body[instr.args[0]].dtype, instr.dtype)


def cast_text(operand: str, source: str, target: str) -> str:
    """Convert a value; float to integer needs a value in range: `composite.astype` guards it."""
    if source == target:
        return operand
    if source in PART or target in PART:
        raise Unsupported("cast", target, "complex casts are written with real, imag and complex")
    if source == "f2":
        return cast_text(f"lf_half_widen({operand})", "f4", target)
    if target == "b1":
        return f"({operand} != 0)"
    if target == "f2":
        # From float64 with one rounding; integers go through float32 as NumPy's do.
        return f"lf_half_round({operand if source in ('f4', 'f8') else f'(float){operand}'})"
    return f"({CTYPES[target].value}){operand}"


def _truncate(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    return f"lf_truncate<{CTYPES[instr.dtype].value}>(v{instr.args[0]})"


def _bitcast(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    return f"lf_bitcast<{CTYPES[instr.dtype].value}>(v{instr.args[0]})"


def _select(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    condition, x, y = instr.args
    return f"(v{condition} ? v{x} : v{y})"


def _libm(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    condition, fast, *operands = instr.args
    arguments = ", ".join(f"v{index}" for index in operands)
    suffix = "f" if instr.dtype == "f4" else ""
    return f"(v{condition} ? {instr.attr}{suffix}({arguments}) : v{fast})"


def _complex(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    return f"{CTYPES[instr.dtype].value}{{v{instr.args[0]}, v{instr.args[1]}}}"


def _real(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    return f"v{instr.args[0]}.re"


def _imag(instr: Instr, body: Sequence[Instr], site: Site) -> str:
    return f"v{instr.args[0]}.im"


def _slot(instr: Instr) -> int:
    assert isinstance(instr.attr, int), instr
    return instr.attr


_WRITERS: Mapping[str, Callable[[Instr, Sequence[Instr], Site], str]] = {
    "load": _load,
    "gather": _gather,
    "scalar": _scalar,
    "const": _const,
    "index": _index,
    "acc": _acc,
    "carry": lambda instr, body, site: "carry",
    "cast": _cast,
    "truncate": _truncate,
    "bitcast": _bitcast,
    "select": _select,
    "libm": _libm,
    "complex": _complex,
    "real": _real,
    "imag": _imag,
}
