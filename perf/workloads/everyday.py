"""Whole programs as people write them: loops of steps, small arrays beside large ones, numbers
asked for in the middle. Nothing in them was written for a compiler of array expressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, side


def descent(xp: Any, data: Data) -> Any:
    """Least squares by gradient descent, 50 steps."""
    x, y = data["x"], data["y"]
    weights = xp.zeros(x.shape[1])
    for _ in range(50):
        weights -= 0.1 * (x.T @ (x @ weights - y)) / len(y)
    return weights


def logistic_fit(xp: Any, data: Data) -> Any:
    """A logistic regression by gradient descent, 30 steps, with its loss."""
    x, y = data["x"], data["y"] > 0.0
    weights = xp.zeros(x.shape[1])
    for _ in range(30):
        p = 1.0 / (1.0 + xp.exp(-(x @ weights)))
        weights -= 0.5 * (x.T @ (p - y)) / len(y)
        loss = -xp.mean(xp.where(y, xp.log(p + 1e-9), xp.log(1.0 - p + 1e-9)))
    return weights, loss


def network(xp: Any, data: Data) -> Any:
    """Two layers trained by back-propagation, 20 steps."""
    x, y = data["x"], data["y"][:, None]
    first, second = xp.asarray(data["first"]) * 1.0, xp.asarray(data["second"]) * 1.0
    bias = xp.zeros(first.shape[1])
    for _ in range(20):
        hidden = xp.maximum(x @ first + bias, 0.0)
        wrong = hidden @ second - y
        back = (wrong @ second.T) * (hidden > 0.0)
        second -= 0.01 * hidden.T @ wrong / len(y)
        first -= 0.01 * x.T @ back / len(y)
        bias -= 0.01 * back.mean(axis=0)
    return first, second, bias


def rolling_mean(xp: Any, data: Data) -> Any:
    """A moving average of 50 by a running sum, and what is left."""
    walk = data["walk"]
    total = xp.cumsum(xp.insert(walk, 0, 0.0))
    mean = (total[50:] - total[:-50]) / 50.0
    return mean, walk[49:] - mean


def draw_down(xp: Any, data: Data) -> Any:
    """The deepest fall of a price from its highest."""
    price = xp.exp(xp.cumsum(data["walk"] * 1e-4))
    highest = xp.maximum.accumulate(price)
    return ((highest - price) / highest).max()


def box_blur(xp: Any, data: Data) -> Any:
    """Five means over neighbours, by slices of a padded picture."""
    a = data["picture"]
    for _ in range(5):
        p = xp.pad(a, 1, mode="edge")
        a = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + p[1:-1, 1:-1]) / 5.0
    return a


def neighbours(xp: Any, data: Data) -> Any:
    """The five nearest of all points of the plane, by all distances."""
    place = data["places"]
    apart = ((place[:, None, :] - place[None, :, :]) ** 2).sum(axis=-1)
    return xp.argsort(apart, axis=1)[:, 1:6], xp.sqrt(xp.sort(apart, axis=1)[:, 1])


def page_rank(xp: Any, data: Data) -> Any:
    """Power iteration until nothing moves."""
    links = data["links"]
    links = links / xp.maximum(links.sum(axis=0), 1.0)
    rank = xp.ones(len(links)) / len(links)
    for _ in range(100):
        new = 0.85 * (links @ rank) + 0.15 / len(links)
        if xp.abs(new - rank).sum() < 1e-10:
            break
        rank = new
    return rank


def shortest_paths(xp: Any, data: Data) -> Any:
    """Floyd and Warshall's algorithm, one vertex at a time."""
    length = data["lengths"]
    for k in range(len(length)):
        length = xp.minimum(length, length[:, k : k + 1] + length[k : k + 1, :])
    return length


def life(xp: Any, data: Data) -> Any:
    """Conway's game on a torus, 10 generations."""
    a = data["cells"]
    for _ in range(10):
        near = sum(xp.roll(xp.roll(a, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) - a
        a = ((near == 3) | ((a == 1) & (near == 2))).astype(int)
    return a


def ising(xp: Any, data: Data) -> Any:
    """Metropolis steps on every other spin of a torus, 20 of them."""
    spin, black = data["spins"], data["black"]
    for step, draw in enumerate(data["draws"]):
        near = sum(xp.roll(spin, by, axis) for by in (1, -1) for axis in (0, 1))
        flips = (draw < xp.exp(-2.0 * spin * near / 2.2)) & (black if step % 2 else ~black)
        spin = xp.where(flips, -spin, spin)
    return spin, spin.mean()


def wave(xp: Any, data: Data) -> Any:
    """The wave equation, 30 steps, each an array of its own."""
    u = data["picture"]
    before = u.copy()
    for _ in range(30):
        lap = xp.zeros_like(u)
        lap[1:-1, 1:-1] = (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
        before, u = u, 2.0 * u - before + 0.2 * lap
    return u


def sieve(xp: Any, data: Data) -> Any:
    """The prime numbers below the size, by crossing out."""
    size = len(data["walk"])
    prime = xp.ones(size, bool)
    prime[:2] = False
    for number in range(2, int(size**0.5) + 1):
        if prime[number]:
            prime[number * number :: number] = False
    return xp.nonzero(prime)[0]


def moments(xp: Any, data: Data) -> Any:
    """What one looks at first: mean, deviation, median, quantiles, skewness."""
    x = data["walk"]
    mean, deviation = x.mean(), x.std()
    skewness = ((x - mean) ** 3).mean() / deviation**3
    return mean, deviation, xp.median(x), xp.percentile(x, [5, 95]), skewness


def group_means(xp: Any, data: Data) -> Any:
    """The mean of each of 50 groups, and which groups there are."""
    group, value = data["groups"], data["walk"]
    total = xp.bincount(group, weights=value, minlength=50)
    return total / xp.bincount(group, minlength=50), xp.unique(group)


def cleaning(xp: Any, data: Data) -> Any:
    """Clipping, filling and counting by masks."""
    x = xp.asarray(data["walk"]) * 1.0
    x[x > 50.0] = 50.0
    low = x[x < -20.0]
    x = xp.where(xp.isnan(x), 0.0, x)
    return low.sum(), x.sum(), (x > 10.0).sum()


def orbit(xp: Any, data: Data) -> Any:
    """A planet around its sun, 500 small steps of three numbers."""
    place, speed = xp.array([1.0, 0.0, 0.0]), xp.array([0.0, 0.5, 0.1])
    for _ in range(500):
        distance = xp.sqrt((place * place).sum())
        speed = speed - place / distance**3 * 1e-3
        place = place + speed * 1e-3
    return place


def edit_distance(xp: Any, data: Data) -> Any:
    """Of two texts of 200 letters, row by row."""
    one, other = data["letters"]
    places = xp.arange(len(other) + 1)
    row = places
    for number, letter in enumerate(one):
        new = xp.minimum(row[1:] + 1, row[:-1] + (other != letter))
        new = xp.concatenate([[number + 1], new])
        row = xp.minimum.accumulate(new - places) + places
    return row[-1]


def optimizer(xp: Any, data: Data) -> Any:
    """Adam's steps towards a minimum, 50 of them."""
    x = data["walk"]
    mean, square = xp.zeros(len(x)), xp.zeros(len(x))
    for step in range(1, 51):
        slope = 2.0 * x + xp.sin(x)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope * slope
        x = x - 0.01 * (mean / (1 - 0.9**step)) / (xp.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return x


def interpolation(xp: Any, data: Data) -> Any:
    """A curve at many places, and which interval each is in."""
    x, knots = xp.linspace(0.0, 10.0, len(data["walk"])), xp.linspace(0.0, 10.0, 100)
    return xp.interp(x, knots, xp.cos(knots)), xp.searchsorted(knots, x), xp.digitize(x, knots)


def table_inputs(size: int) -> Data:
    """Observations of 20 variables, and what they predict."""
    draw = np.random.default_rng(50)
    x = draw.normal(size=(max(size // 20, 4), 20))
    return {"x": x, "y": x @ draw.normal(size=20) + draw.normal(size=len(x)) * 0.1}


def network_inputs(size: int) -> Data:
    """The same, with first weights for 32 hidden units."""
    draw = np.random.default_rng(51)
    weights = {
        "first": draw.normal(size=(20, 32)) * 0.1,
        "second": draw.normal(size=(32, 1)) * 0.1,
    }
    return table_inputs(size) | weights


def walk_inputs(size: int) -> Data:
    """A random walk."""
    return {"walk": np.random.default_rng(52).normal(size=max(size, 60)).cumsum()}


def groups_inputs(size: int) -> Data:
    """A random walk in 50 groups."""
    found = walk_inputs(size)
    groups = np.random.default_rng(53).permutation(np.arange(len(found["walk"])) % 50)
    return found | {"groups": groups}


def picture_inputs(size: int) -> Data:
    """A square of random numbers."""
    edge = side(size, 5)
    return {"picture": np.random.default_rng(54).random((edge, edge))}


def places_inputs(size: int) -> Data:
    """Points of the plane, as many as have `size` distances."""
    return {"places": np.random.default_rng(55).random((side(size, 8), 2))}


def links_inputs(size: int) -> Data:
    """Which page has a link to which."""
    edge = side(size, 10)
    return {"links": (np.random.default_rng(56).random((edge, edge)) < 0.1).astype(float)}


def lengths_inputs(size: int) -> Data:
    """The lengths of all edges of a graph, of up to 200 vertices."""
    edge = min(side(size, 5), 200)
    return {"lengths": np.random.default_rng(57).random((edge, edge))}


def cells_inputs(size: int) -> Data:
    """Living cells, 1, and dead ones, 0."""
    edge = side(size, 5)
    return {"cells": (np.random.default_rng(58).random((edge, edge)) < 0.3).astype(int)}


def spins_inputs(size: int) -> Data:
    """Spins on a square, and the random numbers of 20 steps."""
    draw, edge = np.random.default_rng(59), side(size, 4) // 2 * 2
    return {
        "spins": draw.choice([-1, 1], size=(edge, edge)),
        "black": np.indices((edge, edge)).sum(axis=0) % 2 == 1,
        "draws": draw.random((20, edge, edge)),
    }


def letters_inputs(size: int) -> Data:
    """Two texts of up to 200 of four letters."""
    return {"letters": np.random.default_rng(60).integers(0, 4, (2, min(max(size, 10), 200)))}


WORKLOADS = tuple(
    Workload(program.__name__, program, inputs, tolerance, "everyday")
    for program, inputs, tolerance in (
        (descent, table_inputs, 1e-9),
        (logistic_fit, table_inputs, 1e-9),
        (network, network_inputs, 1e-9),
        (rolling_mean, walk_inputs, 0.0),
        (draw_down, walk_inputs, 1e-12),
        (box_blur, picture_inputs, 0.0),
        (neighbours, places_inputs, 0.0),
        (page_rank, links_inputs, 1e-12),
        (shortest_paths, lengths_inputs, 0.0),
        (life, cells_inputs, 0.0),
        (ising, spins_inputs, 0.0),
        (wave, picture_inputs, 0.0),
        (sieve, walk_inputs, 0.0),
        (moments, walk_inputs, 1e-12),
        (group_means, groups_inputs, 0.0),
        (cleaning, walk_inputs, 0.0),
        (orbit, walk_inputs, 0.0),
        (edit_distance, letters_inputs, 0.0),
        (optimizer, walk_inputs, 1e-9),
        (interpolation, walk_inputs, 1e-12),
    )
)
