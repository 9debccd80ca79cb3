"""Loops over elements, slices and masks of arrays, as programs of numbers and grids have them:
work for a compiler, at which a library has to keep up with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, side


def factor(xp: Any, data: Data) -> Any:
    """Eighty rows of a Cholesky factor, element by element."""
    a = data["matrix"].copy()
    first = max(len(a) - 80, 0)
    for i in range(first, len(a)):
        for j in range(first, i):
            a[i, j] = (a[i, j] - xp.dot(a[i, first:j], a[j, first:j])) / a[j, j]
        a[i, i] = xp.sqrt(a[i, i] - xp.dot(a[i, first:i], a[i, first:i]))
    return a


def substitution(xp: Any, data: Data) -> Any:
    """A triangular system solved from the top."""
    a, b = data["matrix"], data["row"]
    x = xp.zeros(len(b))
    for i in range(len(b)):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def fields(xp: Any, data: Data) -> Any:
    """Ten steps of an electric and a magnetic field in turn, with a source at the edge."""
    ex, ey, hz = (data[name].copy() for name in ("ex", "ey", "hz"))
    for step in range(10):
        ey[0, :] = float(step)
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def fluxes(xp: Any, data: Data) -> Any:
    """Fluxes between the levels of an atmosphere, from the ground up and down again."""
    wind, heat = data["wind"], data["heat"].copy()
    weight = xp.empty(heat.shape)
    weight[:, :, 0] = 0.25 * wind[:, :, 0]
    for k in range(1, heat.shape[2]):
        down = 0.25 * (wind[:, :, k] + wind[:, :, k - 1])
        shared = 1.0 / (2.0 - weight[:, :, k - 1] * down)
        weight[:, :, k] = 0.25 * wind[:, :, k] * shared
        heat[:, :, k] = (heat[:, :, k] + heat[:, :, k - 1] * down) * shared
    for k in range(heat.shape[2] - 2, -1, -1):
        heat[:, :, k] += weight[:, :, k] * heat[:, :, k + 1]
    return heat


def escapes(xp: Any, data: Data) -> Any:
    """The steps after which points leave a disc; only those that are inside are computed."""
    c = data["points"]
    place, z = xp.arange(len(c)), xp.zeros(len(c), complex)
    steps = xp.zeros(len(c), int)
    for step in range(20):
        z = z * z + c
        outside = xp.abs(z) > 2.0
        steps[place[outside]] = step
        inside = ~outside
        z, c, place = z[inside], c[inside], place[inside]
    return steps


def rings(xp: Any, data: Data) -> Any:
    """Means of a picture over thirty rings around its middle."""
    radius, light = data["radius"], data["light"]
    means = xp.zeros(30)
    for ring in range(30):
        inside = xp.logical_and(ring / 30 <= radius, radius < (ring + 1) / 30)
        means[ring] = light[inside].mean()
    return means


def sparse_rows(xp: Any, data: Data) -> Any:
    """A sparse matrix times a vector, row by row."""
    starts, columns, values, x = (data[name] for name in ("starts", "columns", "values", "x"))
    y = xp.zeros(len(starts) - 1)
    for i in range(len(y)):
        row = slice(int(starts[i]), int(starts[i + 1]))
        y[i] = values[row] @ x[columns[row]]
    return y


def matrix_inputs(size: int) -> Data:
    """A positive definite matrix, and a row."""
    edge = side(size, 5)
    draw = np.random.default_rng(80)
    half = draw.random((edge, edge))
    return {"matrix": half @ half.T / edge + np.eye(edge), "row": draw.random(edge)}


def fields_inputs(size: int) -> Data:
    """Three square fields."""
    edge, draw = side(size, 5), np.random.default_rng(81)
    return {name: draw.random((edge, edge)) for name in ("ex", "ey", "hz")}


def levels_inputs(size: int) -> Data:
    """Two fields of forty levels; fewer where there are few elements."""
    count = 40 if size > 4000 else 5
    edge, draw = side(max(size // count, 25), 5), np.random.default_rng(82)
    return {name: draw.random((edge, edge, count)) for name in ("wind", "heat")}


def points_inputs(size: int) -> Data:
    """Points of the complex plane, row by row."""
    edge = side(size, 5)
    across, down = np.linspace(-2, 0.6, edge), np.linspace(-1.2, 1.2, edge)
    return {"points": (across + 1j * down[:, None]).ravel()}


def rings_inputs(size: int) -> Data:
    """Distances from the middle, up to one, and what is seen there."""
    draw = np.random.default_rng(83)
    return {"radius": draw.random(max(size, 500)), "light": draw.random(max(size, 500))}


def sparse_inputs(size: int) -> Data:
    """At most 500 rows, some of them empty, of numbers and their columns."""
    draw, rows = np.random.default_rng(84), min(max(size // 8, 10), 500)
    return {
        "starts": np.concatenate([[0], np.sort(draw.integers(0, size, rows - 1)), [size]]),
        "columns": draw.integers(0, 1000, size), "values": draw.random(size),
        "x": draw.random(1000),
    }  # fmt: skip


WORKLOADS = tuple(
    Workload(program.__name__, program, inputs, tolerance, "loops")
    for program, inputs, tolerance in (
        (factor, matrix_inputs, 1e-12),
        (substitution, matrix_inputs, 1e-9),
        (fields, fields_inputs, 0.0),
        (fluxes, levels_inputs, 0.0),
        (escapes, points_inputs, 0.0),
        (rings, rings_inputs, 1e-12),
        (sparse_rows, sparse_inputs, 1e-12),
    )
)
