"""Random programs over arrays of whatever extents: what they do depends on a seed alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as host

from tests.oracle import lf

#: Extents around what planners compare with, and others.
EXTENTS = (
    1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 90, 100, 127, 128, 129, 200, 255,
    256, 257, 400, 511, 512, 513, 700, 1023, 1024, 1025, 1500, 2047, 2048, 2049, 4096, 5000, 8191,
    8192, 8193, 10_000, 16_384, 20_000, 32_768, 40_000, 65_535, 65_536, 65_537, 100_000, 131_072,
    131_073, 262_144, 300_000,
)  # fmt: skip
#: Elements of an array at most.
MOST = 400_000
DTYPES = ("f8", "f8", "f4", "i8", "i4", "u1", "b1", "f2", "c16")
LAGS = (1, 2, 5, 17, 70, 130)
REFUSED = (ValueError, TypeError, IndexError)

Extents = Sequence[int]


def extents(draw: random.Random) -> list[list[int]]:
    """Extents of several runs of a program: near each other or not, some of them always the same;
    the last three are lags."""
    base = [draw.choice(EXTENTS) for _ in range(draw.choice((1, 1, 1, 2, 2, 3)))]
    is_fixed = [draw.random() < 0.4 for _ in base]
    is_near, runs = draw.random() < 0.5, []
    for _ in range(draw.choice((8, 30))):
        moved = [
            max(1, n + draw.randrange(-9, 10) if is_near else int(n * draw.uniform(0.5, 1.5)))
            for n in base
        ]
        shape = [
            n if stays else other for n, other, stays in zip(base, moved, is_fixed, strict=True)
        ]
        while host.prod(shape) > MOST:
            shape = [max(1, n // 3) for n in shape]
        lags = [
            draw.choice(LAGS) if draw.random() < 0.5 else draw.randrange(1, 200) for _ in "abc"
        ]
        runs.append(shape + lags)
    return runs


def outputs(seed: int, run: Extents) -> list[Any]:
    """What the program of a seed makes of arrays of such extents, whose elements are any."""
    draw, shape = random.Random(seed), run[:-3]
    pool = [_operand(draw, shape, run[-3:]) for _ in range(draw.randint(1, 3))]
    for _ in range(draw.randint(1, 9)):
        step = draw.choice(STEPS)
        one, other = draw.choice(pool), draw.choice(pool)
        axis = min(draw.randrange(len(shape)), max(one.ndim - 1, 0))
        try:
            made = step(one, other, axis)
        except REFUSED:  # as of shapes that do not fit
            continue
        if draw.random() < 0.8:
            pool.append(made)
    return pool[-draw.randint(1, 2) :]


def _operand(draw: random.Random, shape: Extents, lags: Extents) -> Any:
    """An array, or a view of one, that fits the shape."""
    kind, dtype, axis = draw.randrange(9), draw.choice(DTYPES), draw.randrange(len(shape))
    key: list[Any] = [slice(None)] * len(shape)
    own = list(shape)
    if kind == 0:
        own[axis] += draw.choice(lags)
        key[axis] = slice(0, shape[axis]) if draw.random() < 0.5 else slice(-shape[axis], None)
    elif kind == 1:
        step = draw.choice((2, 3))
        own[axis] = own[axis] * step - lags[0] % step
        key[axis] = slice(None, None, step)
    elif kind == 2:
        key[axis] = slice(None, None, -1)
    elif kind == 3:
        return lf.asarray(host.empty(own[::-1], dtype)).T
    elif kind == 4:
        own, key = own[-1:], key[-1:]
    elif kind == 5:
        own[1:] = [1] * len(own[1:])
    elif kind == 6:
        own = [1] * len(own)
    return lf.asarray(host.empty(own, dtype))[tuple(key)]


def _table(one: Any, other: Any, axis: int) -> Any:
    if one.size * other.size > 4 * MOST:
        raise ValueError("too large")
    return one[..., None] * other[..., None, :]


def _eliminated(one: Any, other: Any, axis: int) -> Any:
    """A step of an elimination, from a third of the rows on."""
    if one.ndim != 2:
        raise ValueError("no matrix")
    place = min(one.shape) // 3
    one[place + 1 :, place] = one[place + 1 :, place] * 2.0
    one[place + 1 :, place + 1 :] -= one[place + 1 :, place, None] * one[place, place + 1 :]
    return one


def _moved(one: Any, other: Any, axis: int) -> Any:
    """What is written reads what is changed, at other places."""
    part = one.shape[0] // 3
    one[part:] = one[: one.shape[0] - part] + other[0]
    return one


def _in_place(one: Any, other: Any, axis: int) -> Any:
    one += other
    return one


def _scaled(one: Any, other: Any, axis: int) -> Any:
    part = one[one.shape[0] // 3 :]
    part *= 2
    return one


def _filled(one: Any, other: Any, axis: int) -> Any:
    one[..., 1:-1] = other[..., :1]
    return one[..., 1:] * 2.0


STEPS: tuple[Callable[[Any, Any, int], Any], ...] = (
    lambda one, other, axis: one + other,
    lambda one, other, axis: one * other,
    lambda one, other, axis: one * 1.5 - other,
    lambda one, other, axis: lf.exp(one),
    lambda one, other, axis: lf.sqrt(one) + other,
    lambda one, other, axis: one / other,
    lambda one, other, axis: lf.where(one > other, one, other),
    lambda one, other, axis: one.sum(),
    lambda one, other, axis: one.sum(axis=axis, keepdims=True),
    lambda one, other, axis: one - one.mean(axis=axis, keepdims=True),
    lambda one, other, axis: one.max(axis=axis),
    lambda one, other, axis: one.argmax(axis=axis),
    lambda one, other, axis: one.cumsum(axis=axis),
    lambda one, other, axis: (one * 2.0).cumsum(axis=axis),
    lambda one, other, axis: one.var(axis=axis),
    lambda one, other, axis: one.T,
    lambda one, other, axis: one + lf.arange(one.shape[-1]),
    lambda one, other, axis: one.astype("f4"),
    lambda one, other, axis: one < other,
    lambda one, other, axis: one * 3,
    lambda one, other, axis: lf.broadcast_to(one, other.shape) * 1.0,
    lambda one, other, axis: one[::-1] + 1,
    lambda one, other, axis: one[1:] - one[:-1],
    lambda one, other, axis: (one - other) ** 2,
    lambda one, other, axis: one.reshape(-1),
    lambda one, other, axis: one[..., None],
    lambda one, other, axis: lf.take(one, lf.arange(3), axis=axis),
    _table,
    _eliminated,
    _moved,
    _in_place,
    _scaled,
    _filled,
)  # fmt: skip
