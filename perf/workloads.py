"""The measured programs: each a plain function `f(xp, data)`, written once for every library.

`size` counts elements of the largest input or of the iteration space. Each program rebuilds its
whole trace when called; nothing is kept between rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from demo.inputs import options
from demo.programs import black_scholes, grade_photo

Data = dict[str, Any]
HALF_LOG_TAU = 0.9189385332046727  # log(2 pi) / 2
EARTH_KM = 6371.0088  # mean radius (IUGG)


@dataclass(frozen=True, slots=True)
class Workload:
    """A program, its inputs for a size, and how far a result may be from NumPy's."""

    name: str
    program: Callable[[Any, Data], Any]
    inputs: Callable[[int], Data]
    tolerance: float
    question: str


def chain(xp: Any, data: Data) -> Any:
    """Five arithmetic operations on three arrays."""
    a, b, c = data["a"], data["b"], data["c"]
    return (a * b + c) * (a - b) + 1.0


def gaussian(xp: Any, data: Data) -> Any:
    """Log-likelihood of observations under normal distributions, one sum."""
    z = (data["x"] - data["mean"]) / data["sigma"]
    return (-0.5 * z * z - xp.log(data["sigma"]) - HALF_LOG_TAU).sum()


def logistic(xp: Any, data: Data) -> Any:
    """Log-likelihood of 0/1 outcomes under a logistic model, one sum."""
    eta = data["x"] * 0.7 + data["offset"]
    return (data["y"] * eta - xp.maximum(eta, 0.0) - xp.log1p(xp.exp(-xp.abs(eta)))).sum()


def softmax(xp: Any, data: Data) -> Any:
    """Softmax over each row."""
    x = data["x"]
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(xp: Any, data: Data) -> Any:
    """Layer normalization over each row, with gain and bias."""
    x = data["x"]
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * data["gain"] + data["bias"]


def standardize(xp: Any, data: Data) -> Any:
    """Standardize each column."""
    x = data["x"]
    return (x - x.mean(axis=0)) / x.std(axis=0)


def heat(xp: Any, data: Data) -> Any:
    """Five explicit steps of the heat equation, in place, fixed border."""
    u = data["u"].copy()
    for _ in range(5):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += 0.1 * (around - 4.0 * u[1:-1, 1:-1])
    return u


def nearest(xp: Any, data: Data) -> Any:
    """Index of the nearest of 64 centres for each point in space."""
    difference = data["points"][:, None, :] - data["centres"][None, :, :]
    return (difference * difference).sum(axis=2).argmin(axis=1)


def mandelbrot(xp: Any, data: Data) -> Any:
    """Escape counts after 20 masked steps."""
    cr, ci = data["real"], data["imaginary"]
    zr, zi, count = cr * 0.0, ci * 0.0, cr * 0.0
    for _ in range(20):
        inside = zr * zr + zi * zi <= 4.0
        count = count + xp.where(inside, 1.0, 0.0)
        zr, zi = (
            xp.where(inside, zr * zr - zi * zi + cr, zr),
            xp.where(inside, 2.0 * zr * zi + ci, zi),
        )
    return count


def haversine(xp: Any, data: Data) -> Any:
    """Great-circle distances between pairs of places, in km."""
    lat1, lat2 = data["lat1"], data["lat2"]
    s = xp.sin((lat2 - lat1) * 0.5)
    t = xp.sin((data["lon2"] - data["lon1"]) * 0.5)
    return 2.0 * EARTH_KM * xp.arcsin(xp.sqrt(s * s + xp.cos(lat1) * xp.cos(lat2) * t * t))


def normals(size: int, *names: str) -> Data:
    """Draw float64 normal numbers under each name."""
    draw = np.random.default_rng(1)
    return {name: draw.standard_normal(size) for name in names}


def gaussian_inputs(size: int) -> Data:
    """Observations with their means and standard deviations."""
    return normals(size, "x", "mean") | {"sigma": np.random.default_rng(3).uniform(0.5, 2.0, size)}


def logistic_inputs(size: int) -> Data:
    """A covariate, an offset and 0/1 outcomes."""
    draw = np.random.default_rng(4)
    return normals(size, "x", "offset") | {"y": draw.integers(0, 2, size).astype(np.float64)}


def rows_inputs(size: int) -> Data:
    """Rows of up to 1024 float32 numbers, with a gain and a bias per column."""
    draw = np.random.default_rng(5)
    columns = min(size, 1024)
    return {
        "x": draw.standard_normal((max(size // columns, 1), columns), np.float32),
        "gain": draw.standard_normal(columns, np.float32),
        "bias": draw.standard_normal(columns, np.float32),
    }


def columns_inputs(size: int) -> Data:
    """A table of 16 float64 columns."""
    rows = max(size // 16, 2)
    return {"x": np.random.default_rng(6).normal(3.0, 2.0, (rows, 16))}


def photo_inputs(size: int) -> Data:
    """A square uint8 picture of random pixels with about `size` values."""
    side = max(int((size / 3) ** 0.5), 1)
    axis = np.linspace(-1.0, 1.0, side, dtype=np.float32)
    return {
        "photo": np.random.default_rng(7).integers(0, 256, (side, side, 3), np.uint8),
        "balance": np.array([0.95, 1.05, 1.10], np.float32),
        "rows": axis[:, None, None].copy(),
        "columns": axis[None, :, None].copy(),
    }


def heat_inputs(size: int) -> Data:
    """A square grid."""
    side = max(int(size**0.5), 3)
    return {"u": np.random.default_rng(8).uniform(0.0, 1.0, (side, side))}


def nearest_inputs(size: int) -> Data:
    """Points and 64 centres in space: `size` distances."""
    draw = np.random.default_rng(9)
    return {
        "points": draw.uniform(0.0, 1.0, (max(size // 64, 1), 3)),
        "centres": draw.uniform(0.0, 1.0, (64, 3)),
    }


def mandelbrot_inputs(size: int) -> Data:
    """A square of the complex plane."""
    side = max(int(size**0.5), 1)
    real, imaginary = np.meshgrid(np.linspace(-2.0, 0.6, side), np.linspace(-1.2, 1.2, side))
    return {"real": real, "imaginary": imaginary}


def haversine_inputs(size: int) -> Data:
    """Pairs of places, in radians."""
    draw = np.random.default_rng(10)
    latitudes = {name: draw.uniform(-1.5, 1.5, size) for name in ("lat1", "lat2")}
    return latitudes | {name: draw.uniform(-3.1, 3.1, size) for name in ("lon1", "lon2")}


def chain_inputs(size: int) -> Data:
    """Three arrays of normal numbers."""
    return normals(size, "a", "b", "c")


WORKLOADS = (
    Workload("chain", chain, chain_inputs, 0.0, "five ops, memory bound"),
    Workload("black_scholes", black_scholes, options, 1e-12, "two outputs, compute bound"),
    Workload("gaussian", gaussian, gaussian_inputs, 1e-12, "log-likelihood, one sum"),
    Workload("logistic", logistic, logistic_inputs, 1e-12, "log-likelihood, exp and log1p"),
    Workload("softmax", softmax, rows_inputs, 1e-5, "three phases over float32 rows"),
    Workload("layer_norm", layer_norm, rows_inputs, 1e-5, "three phases, broadcast rows"),
    Workload("standardize", standardize, columns_inputs, 1e-12, "reductions along columns"),
    Workload("tone_map", grade_photo, photo_inputs, 1.0 / 200.0, "uint8 picture, power curves"),
    Workload("heat", heat, heat_inputs, 0.0, "overlapping views written in place"),
    Workload("nearest", nearest, nearest_inputs, 0.0, "broadcast, sum of 3, argmin of 64"),
    Workload("mandelbrot", mandelbrot, mandelbrot_inputs, 0.0, "160 ops, masks"),
    Workload("haversine", haversine, haversine_inputs, 1e-12, "trigonometry"),
)
BY_NAME = {workload.name: workload for workload in WORKLOADS}


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Give a program's result as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def error(actual: Any, expected: Any) -> float:
    """Largest difference relative to the largest expected value; infinite for another type."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    if expected.size == 0 or np.array_equal(actual, expected):
        return 0.0
    difference = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    return float(difference.max() / max(float(np.abs(expected).max()), 1e-300))


def ideal_bytes(data: Data, results: tuple[Any, ...]) -> int:
    """Bytes that any implementation must move: each input read once, each result written once."""
    arrays = [*data.values(), *results]
    return sum(np.asarray(array).nbytes for array in arrays)
