"""cvt -> functions of arrays: between all types, with rounding, saturation and flushing.

Source of the corner cases: PTX ISA 9, "cvt": floats out of an integer's range saturate; NaN
becomes 0, or the integer with only its top bit set where the source is f64 or the target has 64
bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lazyfuse.backends.cuda_ptx import rounding
from lazyfuse.backends.cuda_ptx.faults import UnknownInstruction
from lazyfuse.backends.cuda_ptx.floats import MODES, flushed, saturated
from lazyfuse.backends.cuda_ptx.types import TYPES, PtxType, unsigned

Compute = Callable[..., np.ndarray]
#: Rounding to an integer.
_WHOLE: Mapping[str, Compute] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_KNOWN = {*MODES, *_WHOLE, "sat", "ftz", *TYPES}


def compute_of(modifiers: tuple[str, ...]) -> Compute:
    """The function of `cvt.MODIFIERS`; raises UnknownInstruction."""
    kinds = [TYPES[word] for word in modifiers if word in TYPES]
    unknown = set(modifiers) - _KNOWN
    if unknown or len(kinds) != 2:
        raise UnknownInstruction(f"conversion .{'.'.join(modifiers)}")
    target, source = kinds
    if source.kind == "f" and target.kind == "f":
        return _between_floats(modifiers, target, source)
    if source.kind == "f":
        return _to_integer(modifiers, target, source)
    if target.kind == "f":
        return _from_integer(modifiers, target)
    return _between_integers(target, source, saturates="sat" in modifiers)


def _between_floats(modifiers: tuple[str, ...], target: PtxType, source: PtxType) -> Compute:
    whole = next((_WHOLE[word] for word in modifiers if word in _WHOLE), None)
    mode = next((word for word in modifiers if word in MODES), "rn")

    def compute(x: np.ndarray) -> np.ndarray:
        x = flushed(x) if "ftz" in modifiers and source.bits == 32 else x
        x = whole(x) if whole is not None else x
        result = x.astype(target.dtype)
        if mode != "rn" and target.bits < source.bits:
            result = rounding.narrow(x.astype(np.float64), target.dtype, mode)
        result = saturated(result) if "sat" in modifiers else result
        return flushed(result) if "ftz" in modifiers and target.bits == 32 else result

    return compute


def _to_integer(modifiers: tuple[str, ...], target: PtxType, source: PtxType) -> Compute:
    whole = next((_WHOLE[word] for word in modifiers if word in _WHOLE), None)
    if whole is None:
        raise UnknownInstruction("a float to an integer without a rounding")
    info, dtype = np.iinfo(target.dtype), target.dtype
    top_bit = source.bits == 64 or target.bits == 64
    nan = np.array([1 << (target.bits - 1) if top_bit else 0], unsigned(target.bits)).view(dtype)
    low, high = float(info.min), float(int(info.max) + 1)

    def compute(x: np.ndarray) -> np.ndarray:
        wide = whole(flushed(x) if "ftz" in modifiers else x).astype(np.float64)
        inside = (wide >= low) & (wide < high)
        result = np.where(inside, wide, 0.0).astype(dtype)
        result = np.where(wide < low, info.min, result).astype(dtype)
        result = np.where(wide >= high, info.max, result).astype(dtype)
        return np.where(np.isnan(wide), nan, result)

    return compute


def _from_integer(modifiers: tuple[str, ...], target: PtxType) -> Compute:
    mode = next((word for word in modifiers if word in MODES), "rn")
    if mode != "rn" and target.bits == 64:
        raise UnknownInstruction(f"an integer to f64 with rounding .{mode}")
    if target.bits == 64 or mode == "rn" and target.bits == 32:
        return lambda x: x.astype(target.dtype)
    return lambda x: rounding.narrow(_odd(x), target.dtype, mode)


def _odd(x: np.ndarray) -> np.ndarray:
    """An integer in float64, rounded to odd: the sum of its two halves."""
    half = x.dtype.type(1 << (4 * x.dtype.itemsize))
    high, low = np.divmod(x, half)
    return rounding.odd_sum(high.astype(np.float64) * float(half), low.astype(np.float64))


def _between_integers(target: PtxType, source: PtxType, *, saturates: bool) -> Compute:
    if not saturates:
        return lambda x: x.astype(target.dtype)
    info = np.iinfo(target.dtype)
    given = np.iinfo(source.dtype)
    low, high = max(info.min, given.min), min(info.max, given.max)
    return lambda x: np.clip(x, low, high).astype(target.dtype)
