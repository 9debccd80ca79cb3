"""The table of vector math: primitive name -> its code, for float32 and float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lazyfuse.backends.cpu.vecmath import (
    exponential,
    hyperbolic,
    inverse,
    logarithm,
    power,
    remainder,
    trigonometric,
)
from lazyfuse.backends.cpu.vecmath.formats import FORMATS
from lazyfuse.ops.body import Value

VECMATH: Mapping[str, Callable[..., Value]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "tanh": hyperbolic.tanh,
    "asin": inverse.asin,
    "acos": inverse.acos,
    "atan": inverse.atan,
    "atan2": inverse.atan2,
    "asinh": inverse.asinh,
    "acosh": inverse.acosh,
    "atanh": inverse.atanh,
    "cbrt": power.cbrt,
    "hypot": power.hypot,
    "pow": power.power,
    "fmod": remainder.fmod,
}

#: What processors with AVX-512 compute in another way: they look into tables, and choose between
#: constants, by one instruction.
ON_AVX512: Mapping[tuple[str, str], Callable[..., Value]] = {
    ("exp", "f4"): exponential.exp_by_scale,
    ("exp", "f8"): exponential.exp_by_table,
    ("exp2", "f4"): exponential.exp2_by_scale,
    ("exp2", "f8"): exponential.exp2_by_table,
    ("sinh", "f8"): hyperbolic.sinh_by_table,
    ("cosh", "f8"): hyperbolic.cosh_by_table,
    **{("atan2", dtype): inverse.atan2_of_usual for dtype in FORMATS},
    **{("cbrt", dtype): power.cbrt_by_table for dtype in FORMATS},
    **{("pow", dtype): power.power_by_table for dtype in FORMATS},
    **{("log", dtype): logarithm.log_by_table for dtype in FORMATS},
    **{("log2", dtype): logarithm.log2_by_table for dtype in FORMATS},
    **{("log10", dtype): logarithm.log10_by_table for dtype in FORMATS},
    **{("sin", dtype): trigonometric.sin_blended for dtype in FORMATS},
    **{("cos", dtype): trigonometric.cos_blended for dtype in FORMATS},
}

#: What processors that do not multiply and add in one instruction compute in another way.
WITHOUT_FMA: Mapping[tuple[str, str], Callable[..., Value]] = {
    ("fmod", dtype): remainder.fmod_by_lanes for dtype in FORMATS
}

#: What rare lanes ask for, by the name in a `rare` instruction: functions of what the others have
#: and the operands.
RARE: Mapping[str, Callable[..., Value]] = {
    "power_edges": power.power_edges,
    "cbrt_edges": power.cbrt_edges,
    "fmod_in_steps": remainder.fmod_in_steps,
    "atan2": lambda common, y, x: inverse.atan2(y, x),
}
