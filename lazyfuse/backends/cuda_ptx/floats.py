"""Floating point instructions -> functions of arrays.

IEEE operations are NumPy's; directed rounding and fma come from `rounding.py`. The approximate
ones of the hardware (ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh `.approx`) are computed in float64
and rounded once: within 1-2 units of the hardware's last place, not its bits; those of float64 see
and give the upper 32 bits only. Results that are NaN are 0x7fffffff in float32, as the hardware's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lazyfuse.backends.cuda_ptx import rounding
from lazyfuse.backends.cuda_ptx.faults import UnknownInstruction

Compute = Callable[..., np.ndarray]
MODES = ("rn", "rz", "rm", "rp")
_NAN32 = np.uint32(0x7FFF_FFFF).view(np.float32)
_TINY32 = np.finfo(np.float32).tiny

_NEAREST: Mapping[str, Compute] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": np.reciprocal,
    "fma": rounding.fma,
    "mad": rounding.fma,
}
_DIRECTED: Mapping[str, Compute] = {
    "add": rounding.add,
    "sub": lambda a, b, mode: rounding.add(a, -b, mode),
    "mul": rounding.multiply,
    "fma": rounding.fma,
    "mad": rounding.fma,
}
_APPROXIMATE: Mapping[str, Compute] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "rcp": np.reciprocal,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "div": np.divide,
}
_EXACT: Mapping[str, Compute] = {
    "abs": np.abs,
    "neg": np.negative,
    # copysign d, a, b: the sign of a on the magnitude of b
    "copysign": lambda a, b: np.copysign(b, a),
}
OPCODES = _NEAREST.keys() | _APPROXIMATE.keys() | _EXACT.keys() | {"min", "max"}
_KNOWN = {*MODES, "approx", "full", "ftz", "sat", "NaN", "f16", "f32", "f64"}


def compute_of(opcode: str, modifiers: tuple[str, ...], dtype: np.dtype) -> Compute:
    """The function of a floating point instruction; raises UnknownInstruction."""
    unknown = set(modifiers) - _KNOWN
    if unknown:
        raise UnknownInstruction(f"modifiers {sorted(unknown)}")
    compute = _rounded(opcode, modifiers, dtype)
    if "ftz" in modifiers and dtype == np.float32:
        compute = _flushing(compute)
    if "sat" in modifiers:
        compute = _saturating(compute)
    if opcode not in _EXACT and dtype == np.float32:
        compute = _canonical(compute)
    return compute


def _rounded(opcode: str, modifiers: tuple[str, ...], dtype: np.dtype) -> Compute:
    if opcode in _EXACT:
        return _EXACT[opcode]
    if opcode in ("min", "max"):
        return _extreme(opcode, propagates="NaN" in modifiers)
    if "approx" in modifiers or "full" in modifiers:
        return _approximate(_APPROXIMATE[opcode], dtype)
    mode = next((word for word in modifiers if word in MODES), "rn")
    if mode == "rn":
        return _NEAREST[opcode]
    if opcode not in _DIRECTED or dtype == np.float64:
        raise UnknownInstruction(f"rounding .{mode} of {opcode} on {dtype}")
    directed = _DIRECTED[opcode]
    return lambda *operands: directed(*operands, mode)


def _approximate(compute: Compute, dtype: np.dtype) -> Compute:
    if dtype == np.float64:
        return lambda *operands: _upper(compute(*map(_upper, operands)))
    return lambda *operands: compute(*(x.astype(np.float64) for x in operands)).astype(dtype)


def _upper(x: np.ndarray) -> np.ndarray:
    """The upper half of each float64: all that its approximate instructions read and give."""
    return (x.view(np.uint64) & np.uint64(0xFFFF_FFFF_0000_0000)).view(np.float64)


def _extreme(opcode: str, *, propagates: bool) -> Compute:
    """min and max: -0 is less than +0; NaN loses unless it is said to win."""
    is_max = opcode == "max"
    pick = (
        (np.maximum if is_max else np.minimum) if propagates else (np.fmax if is_max else np.fmin)
    )

    def compute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        negative = (np.signbit(a) & np.signbit(b)) if is_max else (np.signbit(a) | np.signbit(b))
        zero = np.where(negative, a.dtype.type(-0.0), a.dtype.type(0.0))
        result: np.ndarray = np.where((a == 0) & (b == 0), zero, pick(a, b))
        return result

    return compute


def flushed(x: np.ndarray) -> np.ndarray:
    """Denormals as zeros of their sign."""
    return np.where(np.abs(x) < _TINY32, np.copysign(np.float32(0), x), x)


def _flushing(compute: Compute) -> Compute:
    return lambda *operands: flushed(compute(*map(flushed, operands)))


def saturated(x: np.ndarray) -> np.ndarray:
    """Between 0 and 1; NaN is 0."""
    result: np.ndarray = np.where(np.isnan(x), x.dtype.type(0), np.clip(x, 0, 1)).astype(x.dtype)
    return result


def _saturating(compute: Compute) -> Compute:
    return lambda *operands: saturated(compute(*operands))


def _canonical(compute: Compute) -> Compute:
    def canonical(*operands: np.ndarray) -> np.ndarray:
        result = compute(*operands)
        return np.where(np.isnan(result), _NAN32, result)

    return canonical


def classify(modifier: str) -> Compute:
    """testp: finite, infinite, number, notanumber, normal, subnormal."""
    tests: Mapping[str, Compute] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
        "subnormal": lambda x: (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny),
    }
    return tests[modifier]


def compare(name: str) -> Compute:
    """A comparison of floats: ordered, or true with NaN (`equ`, `neu`, `ltu`...), num and nan."""
    if name in ("num", "nan"):
        return lambda a, b: (np.isnan(a) | np.isnan(b)) ^ (name == "num")
    if name.endswith("u"):
        ordered = COMPARISONS[name[:-1]]
        return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)
    ordered = COMPARISONS[name]
    return lambda a, b: ordered(a, b) & ~(np.isnan(a) | np.isnan(b))


#: Comparisons; lo, ls, hi and hs are those of unsigned integers.
COMPARISONS: Mapping[str, Compute] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
