"""Loops of some hundred turns over whole arrays, run once: what a library that compiles has to
keep small is the first call."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, side
from perf.workloads.everyday import optimizer, shortest_paths


def filter_taps(xp: Any, data: Data) -> Any:
    """A filter of 300 taps, one after the other."""
    x, weights = data["x"], data["weights"]
    count = x.size - len(weights)
    total = xp.zeros(count)
    for place in range(len(weights)):
        total += weights[place] * x[place : place + count]
    return total


def price_paths(xp: Any, data: Data) -> Any:
    """Prices on simulated paths, with their highest ones, over 250 days."""
    noise, price = data["noise"], xp.full(data["noise"].shape[1], 100.0)
    highest = price.copy()
    for day in range(250):
        price = price * xp.exp(0.01 * noise[day % len(noise)] - 0.0001)
        highest = xp.maximum(highest, price)
    return price, highest


def gauss_jordan(xp: Any, data: Data) -> Any:
    """An inverse by Gauss and Jordan's elimination."""
    count = len(data["matrix"])
    m = xp.hstack([data["matrix"], xp.eye(count)])
    for k in range(count):
        m[k] /= m[k, k]
        column = m[:, k].copy()
        column[k] = 0.0
        m -= column[:, None] * m[k]
    return m[:, count:]


def bilateral(xp: Any, data: Data) -> Any:
    """A bilateral filter of 9 x 9, window by window (Tomasi and Manduchi, 1998)."""
    image = data["image"]
    rows, columns = image.shape[0] - 8, image.shape[1] - 8
    middle = image[4 : 4 + rows, 4 : 4 + columns]
    total, weights = xp.zeros_like(middle), xp.zeros_like(middle)
    for dy in range(-4, 5):
        for dx in range(-4, 5):
            there = image[4 + dy : 4 + dy + rows, 4 + dx : 4 + dx + columns]
            weight = xp.exp(-(dy * dy + dx * dx) / 8.0 - (there - middle) ** 2 / 0.02)
            total += weight * there
            weights += weight
    return total / weights


def viterbi(xp: Any, data: Data) -> Any:
    """The likeliest states of 300 observations (Viterbi's algorithm)."""
    steps, seen = xp.log(data["matrix"]), xp.log(data["seen"])
    best, back = seen[0], xp.zeros((300, len(steps)), dtype=int)
    for time in range(1, 300):
        reached = best[:, None] + steps
        back[time] = reached.argmax(0)
        best = reached.max(0) + seen[time % len(seen)]
    return best, back


def row_inputs(size: int) -> Data:
    """Normal numbers, with 300 weights."""
    draw = np.random.default_rng(90)
    return {"x": draw.standard_normal(size + 300), "weights": draw.standard_normal(300)}


def walk_inputs(size: int) -> Data:
    """Normal numbers."""
    return {"walk": np.random.default_rng(94).standard_normal(size)}


def noise_inputs(size: int) -> Data:
    """Normal numbers for each path, of fifty days."""
    return {"noise": np.random.default_rng(91).standard_normal((50, max(size, 2)))}


def square_inputs(size: int) -> Data:
    """A matrix of positive numbers, largest on its diagonal, and a table of fifty rows."""
    edge, draw = side(size, 5), np.random.default_rng(92)
    matrix = draw.uniform(0.1, 1.0, (edge, edge)) + edge * np.eye(edge)
    return {"matrix": matrix, "seen": draw.uniform(0.1, 1.0, (50, edge))}


def graph_inputs(size: int) -> Data:
    """The lengths of all edges of a graph."""
    return {"lengths": square_inputs(size)["matrix"]}


def image_inputs(size: int) -> Data:
    """A grey picture with a border."""
    edge = side(size, 9) + 8
    return {"image": np.random.default_rng(93).random((edge, edge))}


WORKLOADS = tuple(
    Workload(name, program, inputs, tolerance, "turns")
    for name, program, inputs, tolerance in (
        ("filter_taps", filter_taps, row_inputs, 0.0),
        ("price_paths", price_paths, noise_inputs, 1e-11),
        ("adam_steps", optimizer, walk_inputs, 1e-11),
        ("gauss_jordan", gauss_jordan, square_inputs, 0.0),
        ("floyd_warshall", shortest_paths, graph_inputs, 0.0),
        ("bilateral", bilateral, image_inputs, 1e-12),
        ("viterbi", viterbi, square_inputs, 1e-12),
    )
)
