"""Finance and Monte Carlo: simulated paths, drawdowns, counting darts."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload

STEPS = 64


def asian_option(xp: Any, data: Data) -> Any:
    """Price an option on the mean of simulated paths: a scan per path, then means."""
    step = 1.0 / STEPS
    moves = (0.03 - 0.5 * 0.2**2) * step + 0.2 * step**0.5 * data["normals"]
    paths = 100.0 * xp.exp(xp.cumsum(moves, axis=1))
    payoff = xp.maximum(paths.mean(axis=1) - 100.0, 0.0) * 0.9704455335485082  # exp(-0.03)
    return payoff.mean(), payoff.std()


def drawdown(xp: Any, data: Data) -> Any:
    """Largest fall from a peak of each of some portfolios: two scans along time."""
    wealth = xp.cumprod(1.0 + data["returns"], axis=1)
    peak = xp.maximum.accumulate(wealth, axis=1)
    return (1.0 - wealth / peak).max(axis=1)


def value_at_risk(xp: Any, data: Data) -> Any:
    """Delta-gamma loss of simulated moves, how often it is above a limit, and how bad then."""
    z = data["z"]
    loss = -(0.8 * z - 0.5 * 0.3 * z * z + 0.01)
    tail = loss > 1.5
    count = tail.sum()
    return count, xp.where(tail, loss, 0.0).sum() / xp.maximum(count, 1)


def darts(xp: Any, data: Data) -> Any:
    """Estimate pi: the share of points in a square that fall into the circle."""
    x, y = data["x"], data["y"]
    return (x * x + y * y <= 1.0).sum() * (4.0 / x.shape[0])


def paths_inputs(size: int) -> Data:
    """Normal numbers, 64 per path."""
    draw = np.random.default_rng(50)
    return {"normals": draw.standard_normal((max(size // STEPS, 1), STEPS))}


def returns_inputs(size: int) -> Data:
    """Daily returns of a year per portfolio."""
    draw = np.random.default_rng(51)
    return {"returns": draw.normal(0.0003, 0.01, (max(size // 252, 1), 252))}


def moves_inputs(size: int) -> Data:
    """Normal moves of a market."""
    return {"z": np.random.default_rng(52).standard_normal(size)}


def darts_inputs(size: int) -> Data:
    """Points in the unit square."""
    draw = np.random.default_rng(53)
    return {"x": draw.random(size), "y": draw.random(size)}


WORKLOADS = (
    Workload("asian_option", asian_option, paths_inputs, 1e-12, "trading"),
    Workload("drawdown", drawdown, returns_inputs, 0.0, "trading"),
    Workload("value_at_risk", value_at_risk, moves_inputs, 0.0, "trading"),
    Workload("darts", darts, darts_inputs, 0.0, "trading"),
)
