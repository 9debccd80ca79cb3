"""The measured programs by family. Each file holds one field of use."""

from __future__ import annotations

from typing import Any

from perf.workloads import (
    algorithms,
    calls,
    dtypes,
    everyday,
    images,
    indexing,
    layouts,
    learning,
    lengths,
    loops,
    overhead,
    pools,
    rows,
    scans,
    science,
    signals,
    standard,
    tables,
    trading,
    turns,
    ufuncs,
)
from perf.workloads.base import Data, Program, Workload, as_tuple, error, ideal_bytes, normals

__all__ = [
    "BY_NAME", "FAMILIES", "START", "USES", "Data", "Program", "Workload",
    "as_tuple", "error", "ideal_bytes",
]  # fmt: skip

FAMILIES: dict[str, tuple[Workload, ...]] = {
    "standard": standard.WORKLOADS,
    "images": images.WORKLOADS,
    "tables": tables.WORKLOADS,
    "science": science.WORKLOADS,
    "trading": trading.WORKLOADS,
    "signals": signals.WORKLOADS,
    "learning": learning.WORKLOADS,
    "dtypes": dtypes.WORKLOADS,
    "layouts": layouts.WORKLOADS,
    "indexing": indexing.WORKLOADS,
    "lengths": lengths.WORKLOADS,
    "scans": scans.WORKLOADS,
    "everyday": everyday.WORKLOADS,
    "algorithms": algorithms.WORKLOADS,
    "loops": loops.WORKLOADS,
    "rows": rows.WORKLOADS,
    "pools": pools.WORKLOADS,
    "turns": turns.WORKLOADS,
    "calls": calls.WORKLOADS,
    "ufuncs": ufuncs.WORKLOADS,
    "overhead": overhead.WORKLOADS,
}
#: The families that stand for real use: these are compared with every peer at every size.
USES = ("standard", "images", "tables", "science", "trading", "signals", "learning")


def double(xp: Any, data: Data) -> Any:
    """One operation: starts a library before its first call is timed."""
    return data["a"] * 2.0


START = Workload("double", double, lambda size: normals(size, "a"))
BY_NAME = {work.name: work for family in FAMILIES.values() for work in family}
