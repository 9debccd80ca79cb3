"""Named programs, each written once against `np`: the bars for fusion, and the corpus of kernels
for other backends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as host


def affine_sum(np: Any, a: Any, b: Any) -> Any:
    """A prologue into a fold over the outer axis."""
    return (a * b + 1).sum(axis=0)


def chain(np: Any, *arrays: Any) -> Any:
    """24 ops over 8 inputs."""
    a, b, c, d, e, f, g, h = arrays
    x = (a + b) * (c - d) / (e + 2) - (f * g + h)
    y = np.maximum(x, a) * 0.5 + np.minimum(x, b) * 0.25 - abs(c)
    z = np.sqrt(y * y + 1) + d * e
    return np.where(z > f, z - g, h + y) * 3 - a


def softmax(np: Any, x: Any) -> Any:
    """Stable softmax of each row."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(np: Any, x: Any, gain: Any, bias: Any) -> Any:
    """Layer norm of each row."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def standardize(np: Any, x: Any) -> Any:
    """Columns with mean zero and deviation one."""
    return (x - x.mean(0)) / x.std(0)


def black_scholes(np: Any, s: Any, k: Any, t: Any) -> Any:
    """Prices of calls and puts, with the normal distribution's function as a polynomial."""
    d1 = (np.log(s / k) + (0.02 + 0.3 * 0.3 / 2) * t) / (0.3 * np.sqrt(t))
    d2 = d1 - 0.3 * np.sqrt(t)
    call = s * normal(np, d1) - k * np.exp(-0.02 * t) * normal(np, d2)
    return call, call - s + k * np.exp(-0.02 * t)


def normal(np: Any, x: Any) -> Any:
    """The normal distribution's function, Abramowitz and Stegun 26.2.17."""
    k = 1 / (1 + 0.2316419 * abs(x))
    poly = (
        (((1.330274429 * k - 1.821255978) * k + 1.781477937) * k - 0.356563782) * k + 0.31938153
    ) * k
    tail = 0.3989422804014327 * np.exp(-x * x / 2) * poly
    return np.where(x < 0, tail, 1 - tail)


def tone_map(np: Any, image: Any) -> Any:
    """A photograph's bytes to light and back."""
    light = (image.astype("f4") / 255) ** 2
    luminance = (light * np.array([0.2126, 0.7152, 0.0722], "f4")).sum(axis=-1, keepdims=True)
    toned = light * (1 + luminance / 4) / (1 + luminance)
    return np.clip(np.sqrt(toned) * 255 + 0.5, 0, 255).astype("u1")


def log_likelihood(np: Any, x: Any) -> Any:
    """The log of a product of normal densities."""
    return (-0.5 * ((x - 0.3) / 1.7) ** 2 - np.log(1.7)).sum()


def moments(np: Any, x: Any) -> Any:
    """Independent folds over one space."""
    return x.sum(), (x * x).sum(), x.min(), x.max(), (x > 0).sum()


def pairwise_distance(np: Any, x: Any, y: Any) -> Any:
    """Distances between two sets of points through a broadcast, and the nearest of each."""
    d = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)
    return np.sqrt(d), d.argmin(axis=1)


def heat(np: Any, u: Any) -> Any:
    """Steps of the heat equation through slices in place."""
    for _ in range(3):
        u[1:-1, 1:-1] += 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return u


def mandelbrot(np: Any, c: Any) -> Any:
    """Masked steps with a complex state."""
    z, count = np.zeros_like(c), np.zeros(c.shape, "i4")
    for _ in range(8):
        inside = abs(z) < 2
        z = np.where(inside, z * z + c, z)
        count += inside
    return count


def drawdown(np: Any, returns: Any) -> Any:
    """Two scans down the columns of a table, and the worst fall of each."""
    wealth = np.cumprod(1 + returns / 100, axis=0)
    peak = np.maximum.accumulate(wealth, axis=0)
    return (wealth / peak - 1).min(axis=0), np.cumsum(returns * returns, axis=1)


@dataclass(frozen=True, slots=True)
class Example:
    """A program with its arrays; `ulp` and `normwise` as in `oracle.Rules`; `kernels` is how many
    it may take.
    """

    program: Callable[..., Any]
    arrays: tuple[Any, ...]
    kernels: int
    ulp: float = 0
    normwise: bool = False


def examples(scale: int = 1) -> dict[str, Example]:
    """Return the named programs on arrays whose sizes grow with `scale`."""
    rng = host.random.default_rng(2)
    n, rows, columns = 4099 * scale, 37 * scale, 129
    line, single = rng.normal(size=n), rng.normal(size=(rows, columns)).astype("f4")
    spot, strike, years = rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n)
    image = rng.integers(0, 256, (40 * scale, 30, 3), dtype="u1")
    eight = tuple(rng.uniform(0.5, 2, n) for _ in range(8))
    gain, points = rng.normal(size=columns).astype("f4"), rng.normal(size=(50 * scale, 3))
    plane = (rng.uniform(-2, 1, 500) + 1j * rng.uniform(-1, 1, 500)).reshape(20, 25)
    return {
        "affine_sum": Example(affine_sum, (single, gain), 1),
        "chain": Example(chain, eight, 1),
        "softmax": Example(softmax, (single,), 1, ulp=16),
        "layer_norm": Example(layer_norm, (single, gain, gain[::-1].copy()), 1),
        "standardize": Example(standardize, (single.astype("f8"),), 1),
        "black_scholes": Example(black_scholes, (spot, strike, years), 1, ulp=64, normwise=True),
        "tone_map": Example(tone_map, (image,), 1),
        "log_likelihood": Example(log_likelihood, (line,), 1),
        "moments": Example(moments, (line,), 1),
        "pairwise_distance": Example(pairwise_distance, (points, points[:7] + 1), 2),
        "heat": Example(heat, (rng.random((20 * scale, 30)),), 6),
        "drawdown": Example(drawdown, (single.astype("f8"),), 4),
        "mandelbrot": Example(mandelbrot, (plane,), 9),
    }
