"""Loops over rows, columns, blocks and pixels of a table or a picture: small parts of large
arrays, each for some microseconds, as programs that learn and filter are first written."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, side


def perceptron(xp: Any, data: Data) -> Any:
    """One pass of a perceptron over at most 500 rows."""
    table, labels, weights = data["table"], data["labels"], xp.zeros(16)
    for i in range(min(len(table), 500)):
        if xp.dot(table[i], weights) * labels[i] <= 0.0:
            weights = weights + 0.1 * labels[i] * table[i]
    return weights


def distances(xp: Any, data: Data) -> Any:
    """From one row to at most 500 others."""
    table = data["table"]
    count = min(len(table), 500)
    found = xp.zeros(count)
    for i in range(count):
        found[i] = xp.sqrt(((table[i] - table[0]) ** 2).sum())
    return found


def medians(xp: Any, data: Data) -> Any:
    """Medians of at most 300 neighbourhoods of a picture."""
    picture = data["picture"]
    edge = min(len(picture) - 2, 17)
    found = xp.zeros((edge, edge))
    for i in range(edge):
        for j in range(edge):
            found[i, j] = xp.median(picture[i : i + 3, j : j + 3])
    return found


def patches(xp: Any, data: Data) -> Any:
    """Blocks of a picture as the rows of a table, some of them turned."""
    picture = data["picture"]
    rows = [
        (xp.rot90(block) if (i + j) % 2 else block).ravel()
        for i in range(0, min(len(picture) - 8, 120), 8)
        for j in range(0, min(len(picture) - 8, 120), 8)
        for block in (picture[i : i + 8, j : j + 8],)
    ]
    return xp.stack(rows)


def painted(xp: Any, data: Data) -> Any:
    """A thousand pixels of a picture in colour, one by one."""
    colours = data["colours"].copy()
    rows, columns = colours.shape[:2]
    for i in range(1000):
        y, x = i * 7 % rows, i * 13 % columns
        if colours[y, x, 0] > 100:
            colours[y, x] = (255, 0, i % 256)
    return colours


def recursive_filter(xp: Any, data: Data) -> Any:
    """Of second order, along at most 200 columns of a picture, each from the two before."""
    picture = data["picture"]
    out = picture.copy()
    for j in range(2, min(picture.shape[1], 200)):
        out[:, j] = 0.5 * picture[:, j] + 0.3 * out[:, j - 1] + 0.1 * out[:, j - 2]
    return out


def convolved(xp: Any, data: Data) -> Any:
    """A filter of 3 x 3 on at most 60 x 60 pixels, whose neighbourhoods become the rows of a
    matrix."""
    picture, taps = data["picture"], xp.array([-1.0, 0.0, 1.0, -2.0, 0.0, 2.0, -1.0, 0.0, 1.0])
    edge = min(len(picture) - 2, 60)
    table = xp.zeros((edge * edge, 9))
    for i in range(edge):
        for j in range(edge):
            table[i * edge + j] = picture[i : i + 3, j : j + 3].reshape(-1)
    return (table @ taps).reshape(edge, edge)


def swept(xp: Any, data: Data) -> Any:
    """At most 200 rows of a picture, each made from the one above, without new arrays."""
    out = data["picture"].copy()
    scratch = xp.empty_like(out[0])
    for i in range(1, min(len(out), 200)):
        xp.multiply(out[i - 1], 0.9, out=scratch)
        xp.maximum(out[i], scratch, out=out[i])
        xp.copyto(out[i], 0.0, where=out[i] < 0.05)
    return out


def table_inputs(size: int) -> Data:
    """A table of 16 columns, with labels of 1 and -1."""
    rows, draw = max(size // 16, 20), np.random.default_rng(90)
    return {"table": draw.normal(size=(rows, 16)), "labels": draw.choice([-1.0, 1.0], rows)}


def picture_inputs(size: int) -> Data:
    """A square picture."""
    edge = side(size, 20)
    return {"picture": np.random.default_rng(91).random((edge, edge))}


def colours_inputs(size: int) -> Data:
    """A square picture of three channels."""
    edge = side(size // 3, 20)
    return {
        "colours": np.random.default_rng(92).integers(0, 256, (edge, edge, 3)).astype(np.uint8)
    }


WORKLOADS = tuple(
    Workload(program.__name__, program, inputs, tolerance, "rows")
    for program, inputs, tolerance in (
        (perceptron, table_inputs, 1e-12),
        (distances, table_inputs, 1e-12),
        (medians, picture_inputs, 0.0),
        (patches, picture_inputs, 0.0),
        (painted, colours_inputs, 0.0),
        (recursive_filter, picture_inputs, 1e-12),
        (convolved, picture_inputs, 1e-12),
        (swept, picture_inputs, 0.0),
    )
)
