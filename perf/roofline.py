"""Measure what bounds a program on this machine: the speed of a copy, and of arithmetic.

A kernel cannot move its inputs and results faster than a copy moves as many bytes, nor compute
faster than a product of matrices does; the larger of both times, over the time that it took, says
how close to the limit it ran. The copy runs with the same number of threads over the same number
of bytes: small arrays live in the cache, for the copy and for the kernel alike. Half of the speed
of a product of matrices is what exact code can reach at most: it does not contract a product and a
sum into one operation. Run `python -m perf.roofline` for a table by size.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from math import log2

import numpy as np

from perf.machine import cores, processor

SMALLEST_BYTES = 1 << 16
LARGEST_BYTES = 1 << 28


@cache
def copy_bandwidth(nbytes: int, threads: int) -> float:
    """Give the bytes per second, read plus written, of a copy that moves `nbytes` in all.

    The best of many rounds, with one thread or with `threads`, whichever is faster. The size is
    kept in bounds.
    """
    moved = min(max(nbytes, SMALLEST_BYTES), LARGEST_BYTES)
    src = np.ones(moved // 16)
    dst = np.zeros_like(src)
    fastest = best(lambda: np.copyto(dst, src))
    if threads > 1:
        edges = [i * src.size // threads for i in range(threads + 1)]
        parts = [slice(start, stop) for start, stop in zip(edges, edges[1:], strict=False)]
        with ThreadPoolExecutor(threads) as pool:
            copy = partial(pool.map, lambda part: np.copyto(dst[part], src[part]), parts)
            fastest = min(fastest, best(lambda: list(copy())))
    return moved / fastest


def best(call: Callable[[], object], duration: float = 0.1) -> float:
    """Give the least seconds of at least nine calls."""
    times: list[float] = []
    end = time.perf_counter() + duration
    while len(times) < 9 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


@cache
def peak_flops(threads: int, dtype: str = "f8") -> float:
    """Give the operations per second of a product of matrices, with as many threads as BLAS has.

    BLAS reads its number of threads when the process starts; for fewer the speed is scaled.
    """
    a, b = (np.random.default_rng(seed).random((1024, 1024)).astype(dtype) for seed in (1, 2))
    speed = 2.0 * 1024**3 / best(lambda: a @ b)
    return speed * min(threads / cores(), 1.0)


def bounds(nbytes: float, flops: float, threads: int) -> tuple[float, float]:
    """Give the least seconds that moving the bytes takes, and that the arithmetic takes.

    Compared with a copy of the nearest power of two of bytes.
    """
    moving = nbytes / copy_bandwidth(1 << round(log2(max(nbytes, 1))), threads)
    return moving, flops / peak_flops(threads)


def main() -> None:
    """Print the bandwidth by size."""
    several = cores()
    print(f"{processor()}, copy, read + written, GB/s, 1 and {several} threads")
    for exponent in range(16, 29):
        speeds = [copy_bandwidth(1 << exponent, threads) / 1e9 for threads in (1, several)]
        cells = "  ".join(f"{speed:7.1f}" for speed in speeds)
        print(f"{(1 << exponent) / 1e6:9.2f} MB  {cells}")
    print(f"product of matrices: {peak_flops(several) / 1e9:.0f} Gflop/s")


if __name__ == "__main__":
    main()
