"""What laziness itself costs: one operation, five, ten, and a result that is a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perf.workloads.base import Data, Workload, normals


def one_op(xp: Any, data: Data) -> Any:
    """One addition and its result: the worst case for a lazy array."""
    return data["a"] + 1.0


def five_ops(xp: Any, data: Data) -> Any:
    """Five arithmetic operations."""
    a, b = data["a"], data["b"]
    return (a * 2.0 + b) * a - b * 0.5


def ten_ops(xp: Any, data: Data) -> Any:
    """Ten arithmetic operations."""
    x = data["a"]
    for _ in range(5):
        x = x * 0.5 + 1.0
    return x


def number(xp: Any, data: Data) -> Any:
    """A norm: two operations and a sum."""
    a = data["a"]
    return xp.sqrt((a * a).sum())


def named(*names: str) -> Callable[[int], Data]:
    """Draw normal numbers under each name."""
    return lambda size: normals(size, *names)


WORKLOADS = (
    Workload("one_op", one_op, named("a"), 0.0, "overhead"),
    Workload("five_ops", five_ops, named("a", "b"), 0.0, "overhead"),
    Workload("ten_ops", ten_ops, named("a"), 0.0, "overhead"),
    Workload("number", number, named("a"), 0.0, "overhead"),
)
