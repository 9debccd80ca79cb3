"""Programs whose threads write into one array: a pool of four, as many have them around NumPy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, side

#: Is there as long as the process, as a program's own is.
_POOL = ThreadPoolExecutor(4)


def pool_rows(xp: Any, data: Data) -> Any:
    """Each row of a table smoothed into a row of another one."""
    table = data["table"]
    out = xp.zeros(table.shape)

    def fill(row: int) -> None:
        out[row, 1:-1] = (table[row, :-2] + table[row, 1:-1] + table[row, 2:]) / 3.0

    list(_POOL.map(fill, range(len(table))))
    return out


def pool_blocks(xp: Any, data: Data) -> Any:
    """Eight blocks of rows, each standardized where it is."""
    out = data["table"].copy()
    step = -(-len(out) // 8)

    def standardize(block: int) -> None:
        part = out[block * step : (block + 1) * step]
        part -= part.mean()
        part /= part.std()

    list(_POOL.map(standardize, range(-(-len(out) // step))))
    return out


def pool_elements(xp: Any, data: Data) -> Any:
    """Two thousand elements, one by one."""
    line = data["table"].ravel()
    out = xp.zeros(len(line))

    def fill(start: int) -> None:
        for place in range(start, min(start + 500, len(line))):
            out[place] = line[place] * 2.0

    list(_POOL.map(fill, range(0, 2000, 500)))
    return out


def pool_sums(xp: Any, data: Data) -> Any:
    """The length of each row, added up by the program."""
    table = data["table"]
    return sum(_POOL.map(lambda row: float(xp.sqrt((table[row] ** 2).sum())), range(len(table))))


def table_inputs(size: int) -> Data:
    """A square table."""
    edge = side(size, 20)
    return {"table": np.random.default_rng(95).normal(size=(edge, edge))}


WORKLOADS = tuple(
    Workload(program.__name__, program, table_inputs, 1e-9, "pools")
    for program in (pool_rows, pool_blocks, pool_elements, pool_sums)
)
