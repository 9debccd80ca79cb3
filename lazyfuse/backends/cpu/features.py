"""What a processor can do, and how large its caches are: asked by all that write or place code."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HALF_FEATURES = frozenset({"f16c", "avx512f", "neon", "fullfp16"})


def feature_names(flags: str, cpu: str, triple: str) -> frozenset[str]:
    """The features that are on, as the vector writer asks for them."""
    names = {flag[1:] for flag in flags.split(",") if flag.startswith("+")}
    if triple.startswith(("aarch64", "arm64")):
        names.add("neon")
    return frozenset(names)


def supports(dtype: str, features: frozenset[str]) -> bool:
    """Tell whether the target computes on `dtype`: float16 needs conversion instructions."""
    return dtype != "f2" or bool(features & _HALF_FEATURES)


def loads_together(features: frozenset[str]) -> bool:
    """Whether vectors that lie beside each other are worth loading once (`emit_neighbours.py`):
    where they have whole lines."""
    return "avx512f" in features


@cache
def stream_bytes() -> int:
    """Bytes that a kernel moves from which its results are stored past the caches: three quarters
    of the last cache, where both ways took as long with a reader (24 of 32 MB)."""
    return _cache_bytes(3, 32 << 20) * 3 // 4


@cache
def second_cache_bytes() -> int:
    """Bytes of a core's second cache."""
    return _cache_bytes(2, 1 << 20)


def _cache_bytes(level: int, usual: int) -> int:
    """Bytes of a cache (Linux), or those that are usual."""
    try:
        text = Path(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size").read_text()
        return int(text.strip().removesuffix("K")) * 1024
    except (OSError, ValueError):
        return usual
