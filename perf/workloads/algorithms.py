"""Textbook algorithms as people write them with arrays: loops over rows, columns, blocks and masks
of large arrays, numbers read in between, results written in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, side


def kmeans(xp: Any, data: Data) -> Any:
    """Eight centres by eight of Lloyd's steps."""
    points = data["points"]
    centres = points[:8] * 1.0
    for _ in range(8):
        apart = ((points[:, None, :] - centres[None]) ** 2).sum(-1)
        nearest = apart.argmin(1)
        centres = xp.stack([points[nearest == k].mean(0) for k in range(8)])
    return centres


def gram_schmidt(xp: Any, data: Data) -> Any:
    """Forty orthonormal columns, one after another."""
    matrix = data["matrix"]
    basis = xp.zeros(matrix.shape)
    for j in range(min(40, len(matrix))):
        column = matrix[:, j].copy()
        for k in range(j):
            column -= (basis[:, k] @ matrix[:, j]) * basis[:, k]
        basis[:, j] = column / xp.linalg.norm(column)
    return basis


def elimination(xp: Any, data: Data) -> Any:
    """A matrix brought to upper triangular form by row operations."""
    matrix = data["matrix"].copy()
    for i in range(min(100, len(matrix)) - 1):
        factors = matrix[i + 1 :, i] / matrix[i, i]
        matrix[i + 1 :] -= xp.outer(factors, matrix[i])
    return matrix


def knapsack(xp: Any, data: Data) -> Any:
    """The best value for every weight, of 60 things."""
    best = xp.zeros(len(data["walk"]))
    for value, weight in enumerate(range(10, 70)):
        better = best.copy()
        better[weight:] = xp.maximum(best[weight:], best[:-weight] + value)
        best = better
    return best


def recurrence(xp: Any, data: Data) -> Any:
    """A row from the row before it, for many rows."""
    noise = data["matrix"]
    out = xp.empty(noise.shape)
    out[0] = noise[0]
    for t in range(1, len(noise)):
        out[t] = 0.9 * out[t - 1] + noise[t]
    return out


def bootstrap(xp: Any, data: Data) -> Any:
    """Means of a hundred samples drawn with replacement."""
    walk = data["walk"]
    return xp.array([walk[chosen].mean() for chosen in data["chosen"]])


def particles(xp: Any, data: Data) -> Any:
    """Five steps of a particle filter: weights, their running sum, what is drawn by it."""
    place = data["walk"] * 0.01
    for draw in data["draws"]:
        weights = xp.exp(-0.5 * (place - 0.3) ** 2)
        running = xp.cumsum(weights / weights.sum())
        place = place[xp.searchsorted(running, draw).clip(0, len(place) - 1)] + 0.01
    return place


def scores(xp: Any, data: Data) -> Any:
    """How far each value is from the mean of the twenty before it, in standard deviations."""
    windows = xp.lib.stride_tricks.sliding_window_view(data["walk"], 20)
    return (data["walk"][19:] - windows.mean(-1)) / windows.std(-1)


def kalman(xp: Any, data: Data) -> Any:
    """A place and a speed followed through measured places; matrices of four by four."""
    motion, seen = xp.eye(4) + xp.eye(4, k=2) * 0.1, xp.eye(2, 4)
    state, spread = xp.zeros(4), xp.eye(4)
    for place in data["tracks"]:
        state = motion @ state
        spread = motion @ spread @ motion.T + xp.eye(4) * 0.01
        gain = spread @ seen.T @ xp.linalg.inv(seen @ spread @ seen.T + xp.eye(2))
        state = state + gain @ (place - seen @ state)
        spread = (xp.eye(4) - gain @ seen) @ spread
    return state


def sorted_groups(xp: Any, data: Data) -> Any:
    """Means by group: sorted by key, cut where it changes."""
    keys, values = data["groups"], data["walk"]
    order = xp.argsort(keys, kind="stable")
    inside = keys[order]
    starts = xp.flatnonzero(xp.concatenate([xp.array([True]), inside[1:] != inside[:-1]]))
    return xp.add.reduceat(values[order], starts) / xp.diff(xp.append(starts, len(keys)))


def components(xp: Any, data: Data) -> Any:
    """Connected parts of a picture, by the smallest label of the neighbours."""
    mask = data["mask"]
    label = xp.where(mask, xp.arange(mask.size).reshape(mask.shape), mask.size)
    for _ in range(30):
        p = xp.pad(label, 1, constant_values=mask.size)
        around = [p[1:-1, 1:-1], p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]]
        new = xp.where(mask, xp.minimum.reduce(around), mask.size)
        if (new == label).all():
            break
        label = new
    return label


def crossings(xp: Any, data: Data) -> Any:
    """The peaks of a curve: where its slope changes sign."""
    walk = data["walk"]
    slope = xp.sign(xp.diff(walk))
    peaks = xp.where((slope[:-1] > 0) & (slope[1:] < 0))[0] + 1
    return walk[peaks].mean(), len(peaks)


def power_method(xp: Any, data: Data) -> Any:
    """The largest eigenvector, 40 steps."""
    vector = xp.ones(len(data["matrix"]))
    for _ in range(40):
        vector = data["matrix"] @ vector
        vector /= xp.linalg.norm(vector)
    return vector


def crosses(xp: Any, data: Data) -> Any:
    """Rows and columns of a board counted up in place."""
    board = xp.zeros(data["matrix"].shape, int)
    for i in range(0, len(board), 3):
        board[i] += 1
        board[:, i] += 1
        board[i, i] = 0
    return board.sum(0)


def smoothing(xp: Any, data: Data) -> Any:
    """An exponential average, element by element."""
    walk = data["walk"][:2000]
    out = xp.empty(len(walk))
    last = walk[0]
    for i in range(len(walk)):
        last = 0.1 * walk[i] + 0.9 * last
        out[i] = last
    return out


def gradients(xp: Any, data: Data) -> Any:
    """The directions of a picture's gradients, counted by their lengths."""
    picture = data["matrix"]
    across, down = picture[:, 1:] - picture[:, :-1], picture[1:] - picture[:-1]
    length = xp.hypot(across[1:], down[:, 1:])
    angle = xp.arctan2(down[:, 1:], across[1:])
    return xp.histogram(angle, bins=8, range=(-np.pi, np.pi), weights=length)[0]


def matrix_chain(xp: Any, data: Data) -> Any:
    """The cheapest order of a product of 40 matrices: a table filled by diagonals."""
    count = 40
    cost = xp.zeros((count, count))
    for length in range(2, count):
        for i in range(count - length):
            j = i + length
            cost[i, j] = (cost[i, i + 1 : j] + cost[i + 1 : j, j] + 1.0).min()
    return cost


def row_norms(xp: Any, data: Data) -> Any:
    """The lengths of all rows, one by one."""
    return xp.array([xp.sqrt((row * row).sum()) for row in data["matrix"]])


def bands(xp: Any, data: Data) -> Any:
    """Values in some bands doubled in place."""
    walk = data["walk"].copy()
    for low in (0.1, 0.2, 0.3, 0.4):
        walk[(walk > low) & (walk < low + 0.05)] *= 2
    return walk


def covariance(xp: Any, data: Data) -> Any:
    """The spectrum of a covariance."""
    centred = data["points"] - data["points"].mean(0)
    return xp.linalg.eigvalsh(centred.T @ centred / (len(centred) - 1))


def points_inputs(size: int) -> Data:
    """Points of the plane."""
    return {"points": np.random.default_rng(70).random((max(size // 2, 16), 2))}


def matrix_inputs(size: int) -> Data:
    """A square matrix of random numbers with ones added on its diagonal."""
    edge = side(size, 5)
    return {"matrix": np.random.default_rng(71).random((edge, edge)) + np.eye(edge)}


def walk_inputs(size: int) -> Data:
    """Random numbers from 0 to 1, what a hundred samples take of them, and 50 groups."""
    draw, length = np.random.default_rng(72), max(size, 100)
    return {
        "walk": draw.random(length),
        "chosen": draw.integers(0, length, (100, max(length // 100, 5))),
        "draws": draw.random((5, length)),
        "groups": draw.integers(0, 50, length),
    }


def mask_inputs(size: int) -> Data:
    """A picture of two colours."""
    edge = side(size, 5)
    return {"mask": np.random.default_rng(73).random((edge, edge)) < 0.55}


def tracks_inputs(size: int) -> Data:
    """Measured places, as many as there are numbers, up to 200."""
    return {"tracks": np.random.default_rng(74).random((min(max(size, 10), 200), 2))}


WORKLOADS = tuple(
    Workload(program.__name__, program, inputs, tolerance, "algorithms")
    for program, inputs, tolerance in (
        (kmeans, points_inputs, 1e-9),
        (gram_schmidt, matrix_inputs, 1e-9),
        (elimination, matrix_inputs, 1e-9),
        (knapsack, walk_inputs, 0.0),
        (recurrence, matrix_inputs, 0.0),
        (bootstrap, walk_inputs, 1e-12),
        (particles, walk_inputs, 1e-9),
        (scores, walk_inputs, 1e-9),
        (kalman, tracks_inputs, 1e-9),
        (sorted_groups, walk_inputs, 1e-12),
        (components, mask_inputs, 0.0),
        (crossings, walk_inputs, 1e-12),
        (power_method, matrix_inputs, 1e-9),
        (crosses, matrix_inputs, 0.0),
        (smoothing, walk_inputs, 0.0),
        (gradients, matrix_inputs, 1e-9),
        (matrix_chain, matrix_inputs, 0.0),
        (row_norms, matrix_inputs, 1e-12),
        (bands, walk_inputs, 0.0),
        (covariance, points_inputs, 1e-9),
    )
)
