"""The standard programs: each asks a different thing of a compiler of array expressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from demo.inputs import options
from demo.programs import black_scholes
from perf.workloads.base import Data, Workload, normals, side

HALF_LOG_TAU = 0.9189385332046727  # log(2 pi) / 2
EARTH_KM = 6371.0088  # mean radius (IUGG)


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


def tone_map(xp: Any, data: Data) -> Any:
    """Compress the range of a uint8 picture (Reinhard), with a gain per colour."""
    light = data["photo"].astype(xp.float32) * data["gain"]
    toned = light / (1.0 + light) * 255.0 + 0.5
    return xp.clip(toned, 0.0, 255.0).astype(xp.uint8)


def heat(xp: Any, data: Data) -> Any:
    """Five explicit steps of the heat equation, in place, fixed border."""
    u = data["u"].copy()
    for _ in range(5):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += 0.1 * (around - 4.0 * u[1:-1, 1:-1])
    return u


def nearest(xp: Any, data: Data) -> Any:
    """Index of the nearest of 32 centres for each point of 16 dimensions."""
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


def softmax_inputs(size: int) -> Data:
    """Rows of up to 1024 float32 numbers."""
    return {"x": rows_inputs(size)["x"]}


def columns_inputs(size: int) -> Data:
    """A table of 16 float64 columns."""
    rows = max(size // 16, 2)
    return {"x": np.random.default_rng(6).normal(3.0, 2.0, (rows, 16))}


def photo_inputs(size: int) -> Data:
    """A square uint8 picture of random pixels with about `size` values, and a gain per colour."""
    edge = max(int((size / 3) ** 0.5), 1)
    return {
        "photo": np.random.default_rng(7).integers(0, 256, (edge, edge, 3), np.uint8),
        "gain": np.array([0.019, 0.021, 0.022], np.float32),
    }


def heat_inputs(size: int) -> Data:
    """A square grid."""
    return {"u": np.random.default_rng(8).uniform(0.0, 1.0, (side(size), side(size)))}


def nearest_inputs(size: int) -> Data:
    """Points and 32 centres of 16 dimensions: `size` differences."""
    draw = np.random.default_rng(9)
    return {
        "points": draw.uniform(0.0, 1.0, (max(size // 512, 1), 16)),
        "centres": draw.uniform(0.0, 1.0, (32, 16)),
    }


def mandelbrot_inputs(size: int) -> Data:
    """A square of the complex plane."""
    edge = side(size, 1)
    real, imaginary = np.meshgrid(np.linspace(-2.0, 0.6, edge), np.linspace(-1.2, 1.2, edge))
    return {"real": real, "imaginary": imaginary}


def haversine_inputs(size: int) -> Data:
    """Pairs of places, in radians."""
    draw = np.random.default_rng(10)
    latitudes = {name: draw.uniform(-1.5, 1.5, size) for name in ("lat1", "lat2")}
    return latitudes | {name: draw.uniform(-3.1, 3.1, size) for name in ("lon1", "lon2")}


def chain_inputs(size: int) -> Data:
    """Three arrays of normal numbers."""
    return normals(size, "a", "b", "c")


UNROLLED = {"torch": "torch.compile took more than five minutes"}
WORKLOADS = (
    Workload("chain", chain, chain_inputs, 0.0, "standard"),
    Workload("black_scholes", black_scholes, options, 1e-12, "standard"),
    Workload("gaussian", gaussian, gaussian_inputs, 1e-12, "standard"),
    Workload("logistic", logistic, logistic_inputs, 1e-12, "standard"),
    Workload("softmax", softmax, softmax_inputs, 1e-5, "standard"),
    Workload("layer_norm", layer_norm, rows_inputs, 1e-5, "standard"),
    Workload("standardize", standardize, columns_inputs, 1e-12, "standard"),
    Workload("tone_map", tone_map, photo_inputs, 0.0, "standard"),
    Workload("heat", heat, heat_inputs, 0.0, "standard", UNROLLED),
    Workload("nearest", nearest, nearest_inputs, 0.0, "standard"),
    Workload("mandelbrot", mandelbrot, mandelbrot_inputs, 0.0, "standard", UNROLLED),
    Workload("haversine", haversine, haversine_inputs, 1e-12, "standard"),
)
