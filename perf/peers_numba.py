"""The workloads as hand-written numba loops, parallel over the outermost axis, no fast math."""

from __future__ import annotations

from collections.abc import Callable
from math import asin, cos, exp, log, log1p, sin, sqrt
from typing import Any

import numba
import numpy as np

from perf.peers import THREADS
from perf.workloads import EARTH_KM, HALF_LOG_TAU, Data

numba.set_num_threads(min(THREADS, numba.config.NUMBA_NUM_THREADS))
parallel = numba.njit(parallel=True, cache=False)
inline = numba.njit(inline="always")


@parallel
def chain(a, b, c):
    out = np.empty_like(a)
    for i in numba.prange(a.size):
        out[i] = (a[i] * b[i] + c[i]) * (a[i] - b[i]) + 1.0
    return out


@inline
def normal_cdf(x):
    t = 1.0 / (1.0 + 0.2316419 * abs(x))
    poly = t * (-1.821255978 + t * 1.330274429)
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + poly)))
    tail = 0.3989422804014327 * exp(-0.5 * x * x) * poly
    return 1.0 - tail if x >= 0.0 else tail


@parallel
def black_scholes(spot, strike, years, volatility):
    call, put = np.empty_like(spot), np.empty_like(spot)
    for i in numba.prange(spot.size):
        v, years_i = volatility[i], years[i]
        spread = v * sqrt(years_i)
        d1 = (log(spot[i] / strike[i]) + (0.03 + 0.5 * v * v) * years_i) / spread
        discounted = strike[i] * exp(-0.03 * years_i)
        cdf1, cdf2 = normal_cdf(d1), normal_cdf(d1 - spread)
        call[i] = spot[i] * cdf1 - discounted * cdf2
        put[i] = discounted * (1.0 - cdf2) - spot[i] * (1.0 - cdf1)
    return call, put


@parallel
def gaussian(x, mean, sigma):
    total = 0.0
    for i in numba.prange(x.size):
        z = (x[i] - mean[i]) / sigma[i]
        total += -0.5 * z * z - log(sigma[i]) - HALF_LOG_TAU
    return total


@parallel
def logistic(x, offset, y):
    total = 0.0
    for i in numba.prange(x.size):
        eta = x[i] * 0.7 + offset[i]
        total += y[i] * eta - max(eta, 0.0) - log1p(exp(-abs(eta)))
    return total


@parallel
def softmax(x):
    out = np.empty_like(x)
    for i in numba.prange(x.shape[0]):
        largest = x[i].max()
        total = np.float32(0.0)
        for j in range(x.shape[1]):
            out[i, j] = exp(x[i, j] - largest)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


@parallel
def layer_norm(x, gain, bias):
    out = np.empty_like(x)
    width = np.float32(x.shape[1])
    for i in numba.prange(x.shape[0]):
        mean = np.float32(0.0)
        for j in range(x.shape[1]):
            mean += x[i, j]
        mean /= width
        variance = np.float32(0.0)
        for j in range(x.shape[1]):
            variance += (x[i, j] - mean) * (x[i, j] - mean)
        scale = sqrt(variance / width + np.float32(1e-5))
        for j in range(x.shape[1]):
            out[i, j] = (x[i, j] - mean) / scale * gain[j] + bias[j]
    return out


@numba.njit
def standardize(x):
    rows, columns = x.shape
    mean, variance = np.zeros(columns), np.zeros(columns)
    for i in range(rows):
        mean += x[i]
    mean /= rows
    for i in range(rows):
        for j in range(columns):
            variance[j] += (x[i, j] - mean[j]) ** 2
    return (x - mean) / np.sqrt(variance / rows)


@parallel
def heat_step(u, out):
    for i in numba.prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            out[i, j] = u[i, j] + 0.1 * (around - 4.0 * u[i, j])


def heat(u):
    now, after = u.copy(), u.copy()
    for _ in range(5):
        heat_step(now, after)
        now, after = after, now
    return now


@parallel
def nearest(points, centres):
    out = np.empty(points.shape[0], np.int64)
    for i in numba.prange(points.shape[0]):
        best, where = np.inf, 0
        for k in range(centres.shape[0]):
            distance = 0.0
            for d in range(points.shape[1]):
                distance += (points[i, d] - centres[k, d]) ** 2
            if distance < best:
                best, where = distance, k
        out[i] = where
    return out


@parallel
def mandelbrot(real, imaginary):
    count = np.zeros_like(real)
    for i in numba.prange(real.shape[0]):
        for j in range(real.shape[1]):
            zr = zi = 0.0
            for _ in range(20):
                if zr * zr + zi * zi > 4.0:
                    break
                count[i, j] += 1.0
                zr, zi = zr * zr - zi * zi + real[i, j], 2.0 * zr * zi + imaginary[i, j]
    return count


@parallel
def haversine(lat1, lat2, lon1, lon2):
    out = np.empty_like(lat1)
    for i in numba.prange(lat1.size):
        s, t = sin((lat2[i] - lat1[i]) * 0.5), sin((lon2[i] - lon1[i]) * 0.5)
        inner = s * s + cos(lat1[i]) * cos(lat2[i]) * t * t
        out[i] = 2.0 * EARTH_KM * asin(sqrt(inner))
    return out


def by_name(function: Callable[..., Any], *names: str) -> Callable[[Data], Any]:
    """Call a kernel with the named inputs."""
    return lambda data: function(*(data[name] for name in names))


VERSIONS: dict[str, Callable[[Data], Any]] = {
    "chain": by_name(chain, "a", "b", "c"),
    "black_scholes": by_name(black_scholes, "spot", "strike", "years", "volatility"),
    "gaussian": by_name(gaussian, "x", "mean", "sigma"),
    "logistic": by_name(logistic, "x", "offset", "y"),
    "softmax": by_name(softmax, "x"),
    "layer_norm": by_name(layer_norm, "x", "gain", "bias"),
    "standardize": by_name(standardize, "x"),
    "heat": by_name(heat, "u"),
    "nearest": by_name(nearest, "points", "centres"),
    "mandelbrot": by_name(mandelbrot, "real", "imaginary"),
    "haversine": by_name(haversine, "lat1", "lat2", "lon1", "lon2"),
}
