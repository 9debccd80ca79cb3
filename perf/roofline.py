"""Measure the machine's copy bandwidth: what moving bytes alone costs.

A kernel cannot move its inputs and results faster than a copy moves as many bytes, so
`ideal bytes / time / copy bandwidth` says how close to the limit it ran. The copy runs with the
same number of threads over the same number of bytes: small arrays live in the cache, for the copy
and for the kernel alike. Run `python -m perf.roofline` for a table by size.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from math import log2

import numpy as np

from perf.machine import processor
from perf.peers import THREADS

SMALLEST_BYTES = 1 << 16
LARGEST_BYTES = 1 << 29


@cache
def copy_bandwidth(nbytes: int, threads: int = THREADS) -> float:
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


def best(call: Callable[[], object], duration: float = 0.2) -> float:
    """Give the least seconds of at least nine calls."""
    times: list[float] = []
    end = time.perf_counter() + duration
    while len(times) < 9 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def fraction(nbytes: int, seconds: float) -> float:
    """Give the fraction of the copy bandwidth reached by moving `nbytes` in `seconds`.

    Compared with a copy of the nearest power of two of bytes.
    """
    return nbytes / seconds / copy_bandwidth(1 << round(log2(max(nbytes, 1))))


def main() -> None:
    """Print the bandwidth by size."""
    print(f"{processor()}, copy, read + written, GB/s")
    for exponent in range(16, 30):
        speeds = [copy_bandwidth(1 << exponent, threads) / 1e9 for threads in (1, THREADS)]
        cells = "  ".join(f"{speed:7.1f}" for speed in speeds)
        print(f"{(1 << exponent) / 1e6:9.2f} MB  {cells}")


if __name__ == "__main__":
    main()
