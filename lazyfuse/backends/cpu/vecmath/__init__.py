"""Vector math: each transcendental primitive as straight-line code in the body language.

`VECMATH` maps a primitive to a function from Values to a Value, for float32 and float64 alike;
`expansion` traces it once into a Body whose operands are `scalar` instructions. The code is
branch-free but for the `libm` primitive, which hands rare lanes (huge arguments of sin, for
instance) to the C library. It is elementwise: the number of lanes does not change a bit.
docs/accuracy.md has the measured errors; tests/test_vecmath.py holds the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from lazyfuse.backends.cpu.vecmath.registry import ON_AVX512, RARE, VECMATH, WITHOUT_FMA
from lazyfuse.ops.body import Body, Value
from lazyfuse.ops.primitives import PRIMITIVES

__all__ = ["FMA_FEATURES", "VECMATH", "expansion", "rare_expansion"]


#: Features that multiply and add in one instruction.
FMA_FEATURES = frozenset({"fma", "fma4", "neon"})


def expansion(name: str, dtype: str, features: frozenset[str] | None) -> tuple[Body, int]:
    """Trace the vector code of `name` on `dtype`, for a processor with these features, or as for
    most of them: its body and the index of the result."""
    return _traced(_function(name, dtype, features), dtype, PRIMITIVES[name].arity)


def rare_expansion(name: str, dtype: str, arity: int) -> tuple[Body, int]:
    """Likewise of what rare lanes ask for."""
    return _traced(RARE[name], dtype, arity)


def _function(name: str, dtype: str, features: frozenset[str] | None) -> Callable[..., Value]:
    if features is None:
        return VECMATH[name]
    if "avx512f" in features:
        return ON_AVX512.get((name, dtype), VECMATH[name])
    if not features & FMA_FEATURES:
        return WITHOUT_FMA.get((name, dtype), VECMATH[name])
    return VECMATH[name]


@cache
def _traced(function: Callable[..., Value], dtype: str, arity: int) -> tuple[Body, int]:
    body = Body()
    operands = [body.emit("scalar", dtype, attr=slot) for slot in range(arity)]
    return body, function(*operands).index
