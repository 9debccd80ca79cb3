"""Threads for every library, before any of them starts."""

from __future__ import annotations

import os

threads = os.environ.setdefault("LAZYFUSE_BENCH_THREADS", "2")
for name in ("LAZYFUSE_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, threads)
