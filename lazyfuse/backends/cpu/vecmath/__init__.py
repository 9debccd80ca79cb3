"""Vector math: each transcendental primitive as straight-line code in the body language.

`VECMATH` maps a primitive to a function from Values to a Value, for float32 and float64 alike;
`expansion` traces it once into a Body whose operands are `scalar` instructions. The code is
branch-free but for the `libm` primitive, which hands rare lanes (huge arguments of sin, for
instance) to the C library. It is elementwise: the number of lanes does not change a bit.
docs/accuracy.md has the measured errors; tests/test_vecmath.py holds the bounds.
"""

from __future__ import annotations

from functools import cache

from lazyfuse.backends.cpu.vecmath.registry import ON_AVX512, VECMATH
from lazyfuse.ops.body import Body
from lazyfuse.ops.primitives import PRIMITIVES

__all__ = ["VECMATH", "expansion"]


def expansion(name: str, dtype: str, features: frozenset[str]) -> tuple[Body, int]:
    """Trace the vector code of `name` on `dtype`, for a processor with these features: its body
    and the index of the result."""
    return _traced(name, dtype, "avx512f" in features and (name, dtype) in ON_AVX512)


@cache
def _traced(name: str, dtype: str, on_avx512: bool) -> tuple[Body, int]:  # noqa: FBT001  # a key
    body = Body()
    operands = [body.emit("scalar", dtype, attr=slot) for slot in range(PRIMITIVES[name].arity)]
    function = ON_AVX512[name, dtype] if on_avx512 else VECMATH[name]
    return body, function(*operands).index
