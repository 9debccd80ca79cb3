"""Strided inputs: steps, reversed, transposed, columns of a table, planes, overlapping windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, normals, side


def formula(x: Any, y: Any) -> Any:
    """Three operations on two arrays."""
    return (x + y) * x - y


def every_second(xp: Any, data: Data) -> Any:
    """Every second element of two arrays."""
    return formula(data["a"][::2], data["b"][1::2])


def backwards(xp: Any, data: Data) -> Any:
    """One array forwards, one backwards."""
    return formula(data["a"], data["b"][::-1])


def shifted(xp: Any, data: Data) -> Any:
    """Slices that do not start on a vector's boundary."""
    return formula(data["a"][1:-1], data["b"][2:])


def transposed(xp: Any, data: Data) -> Any:
    """A matrix and the transpose of another."""
    return formula(data["p"], data["q"].T)


def columns(xp: Any, data: Data) -> Any:
    """Lengths of vectors that are rows of a table: x, y, z side by side."""
    points = data["points"]
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    return xp.sqrt(x * x + y * y + z * z)


def rows_of_three(xp: Any, data: Data) -> Any:
    """Shift and scale the columns of a table of three: a tiny inner axis."""
    return (data["points"] - data["shift"]) * data["scale"]


def outer(xp: Any, data: Data) -> Any:
    """A column against a row."""
    return formula(data["column"], data["row"])


def channels_first(xp: Any, data: Data) -> Any:
    """Planes from interleaved colours, scaled by channel."""
    planes = data["photo"].transpose(2, 0, 1)
    return planes.astype(xp.float32) * data["gain"]


def sum_columns(xp: Any, data: Data) -> Any:
    """Sum the squares of each column of a square matrix."""
    return (data["p"] * data["p"]).sum(axis=0)


def sum_transposed(xp: Any, data: Data) -> Any:
    """Sum a matrix times the transpose of another along rows."""
    return (data["p"] * data["q"].T).sum(axis=1)


def pair_inputs(size: int) -> Data:
    """Two arrays."""
    return normals(size, "a", "b")


def matrix_inputs(size: int) -> Data:
    """Two square matrices."""
    edge = side(size, 1)
    draw = np.random.default_rng(90)
    return {name: draw.standard_normal((edge, edge)) for name in "pq"}


def square_inputs(size: int) -> Data:
    """One square matrix."""
    return {"p": matrix_inputs(size)["p"]}


def points_inputs(size: int) -> Data:
    """A table of three columns."""
    return {"points": np.random.default_rng(91).standard_normal((max(size // 3, 1), 3))}


def moved_inputs(size: int) -> Data:
    """The same, with what to subtract from each column and what to multiply it with."""
    return points_inputs(size) | {
        "shift": np.array([0.1, -0.2, 0.3]),
        "scale": np.array([1.5, 0.5, 2.0]),
    }


def outer_inputs(size: int) -> Data:
    """A column and a row."""
    edge, draw = side(size, 1), np.random.default_rng(92)
    return {"column": draw.standard_normal((edge, 1)), "row": draw.standard_normal((1, edge))}


def interleaved_inputs(size: int) -> Data:
    """A uint8 picture and a gain per colour."""
    edge, draw = side(size // 3, 1), np.random.default_rng(93)
    return {
        "photo": draw.integers(0, 256, (edge, edge, 3), np.uint8),
        "gain": np.array([0.9, 1.0, 1.1], np.float32)[:, None, None].copy(),
    }


Inputs = Callable[[int], Data]
CASES: dict[Callable[[Any, Data], Any], Inputs] = {
    every_second: pair_inputs,
    backwards: pair_inputs,
    shifted: pair_inputs,
    transposed: matrix_inputs,
    columns: points_inputs,
    rows_of_three: moved_inputs,
    outer: outer_inputs,
    channels_first: interleaved_inputs,
    sum_columns: square_inputs,
    sum_transposed: matrix_inputs,
}
WORKLOADS = tuple(
    Workload(program.__name__, program, inputs, 0.0, "layouts")
    for program, inputs in CASES.items()
)
