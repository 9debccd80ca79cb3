"""Programs that write in place, for JAX: its arrays cannot be written to."""

from __future__ import annotations

from typing import Any

from perf.workloads.base import Data, Program


def heat(xp: Any, data: Data) -> Any:
    """Five steps of the heat equation; each gives a new array."""
    u = data["u"]
    for _ in range(5):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u = u.at[1:-1, 1:-1].add(0.1 * (around - 4.0 * u[1:-1, 1:-1]))
    return u


VERSIONS: dict[str, Program] = {"heat": heat}
