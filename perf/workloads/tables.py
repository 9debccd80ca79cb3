"""Tables: cleaning columns, scoring models, grouping by bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from demo.programs import score_table
from perf.workloads.base import Data, Workload


def clean_table(xp: Any, data: Data) -> Any:
    """Fill gaps with the column's mean, then clip each column at three standard deviations."""
    x = data["x"]
    known = ~xp.isnan(x)
    count = known.sum(axis=0)
    mean = xp.where(known, x, 0.0).sum(axis=0) / count
    filled = xp.where(known, x, mean)
    centred = filled - mean
    spread = 3.0 * xp.sqrt((centred * centred).sum(axis=0) / count)
    return xp.clip(filled, mean - spread, mean + spread)


def revenue(xp: Any, data: Data) -> Any:
    """Filter and aggregate sales: total and count of discounted lines (as TPC-H query 6)."""
    price, quantity, discount = data["price"], data["quantity"], data["discount"]
    wanted = (discount >= 0.05) & (discount <= 0.07) & (quantity < 24)
    return xp.where(wanted, price * discount, 0.0).sum(), wanted.sum()


def scored_inputs(size: int) -> Data:
    """Nine columns, about `size` values, with counts and a fitted model."""
    draw, rows = np.random.default_rng(30), max(size // 9, 2)
    return {
        "table": draw.normal(2.0, 1.5, (rows, 9)),
        "counts": draw.poisson(3.0, rows).astype(np.float64),
        "coefficients": np.array([-0.10, -0.11, 0.10, -0.12, 0.09, 0.23, -0.01, 0.01, 0.03]),
        "intercept": np.array(0.99),
        "log_factorials": draw.uniform(0.0, 4.0, rows),
    }


def gaps_inputs(size: int) -> Data:
    """Twelve columns, about `size` values, a twentieth of them missing."""
    draw, rows = np.random.default_rng(31), max(size // 12, 8)
    x = draw.normal(1.0, 2.0, (rows, 12))
    x[draw.random(x.shape) < 0.05] = np.nan
    x[0] = 1.0  # no column is empty
    return {"x": x}


def sales_inputs(size: int) -> Data:
    """Prices, quantities of type int32, and discounts."""
    draw = np.random.default_rng(32)
    return {
        "price": draw.uniform(900.0, 105_000.0, size),
        "quantity": draw.integers(1, 51, size, np.int32),
        "discount": draw.integers(0, 11, size) / 100.0,
    }


WORKLOADS = (
    Workload("score_table", score_table, scored_inputs, 1e-12, "tables"),
    Workload("clean_table", clean_table, gaps_inputs, 0.0, "tables"),
    Workload("revenue", revenue, sales_inputs, 0.0, "tables"),
)
