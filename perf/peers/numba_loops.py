"""Workloads as hand-written Numba loops, parallel over the outermost axis, no fast math."""

from __future__ import annotations

from collections.abc import Callable
from math import asin, cos, exp, log, log1p, sin, sqrt
from typing import Any

import numba
import numpy as np

from perf.workloads.base import Data
from perf.workloads.signals import TAPS
from perf.workloads.standard import EARTH_KM, HALF_LOG_TAU

parallel = numba.njit(parallel=True, cache=True)
inline = numba.njit(inline="always")
WEIGHTS = np.array(TAPS, np.float32)


@parallel
def double(a):
    out = np.empty_like(a)
    for i in numba.prange(a.size):
        out[i] = a[i] * 2.0
    return out


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


@parallel
def standardize(x):
    rows, columns = x.shape
    blocks = numba.get_num_threads()
    partial = np.zeros((blocks, columns))
    for block in numba.prange(blocks):
        for i in range(block * rows // blocks, (block + 1) * rows // blocks):
            for j in range(columns):
                partial[block, j] += x[i, j]
    mean = partial.sum(axis=0) / rows
    squares = np.zeros((blocks, columns))
    for block in numba.prange(blocks):
        for i in range(block * rows // blocks, (block + 1) * rows // blocks):
            for j in range(columns):
                squares[block, j] += (x[i, j] - mean[j]) ** 2
    spread = np.sqrt(squares.sum(axis=0) / rows)
    out = np.empty_like(x)
    for i in numba.prange(rows):
        for j in range(columns):
            out[i, j] = (x[i, j] - mean[j]) / spread[j]
    return out


@parallel
def tone_map(photo, gain):
    out = np.empty_like(photo)
    one, top, half = np.float32(1.0), np.float32(255.0), np.float32(0.5)
    for i in numba.prange(photo.shape[0]):
        for j in range(photo.shape[1]):
            for k in range(3):
                light = np.float32(photo[i, j, k]) * gain[k]
                toned = light / (one + light) * top + half
                out[i, j, k] = np.uint8(min(max(toned, np.float32(0.0)), top))
    return out


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


@parallel
def sobel(grey):
    rows, columns = grey.shape
    out = np.empty((rows - 2, columns - 2), np.float32)
    for i in numba.prange(rows - 2):
        for j in range(columns - 2):
            a, b = np.float32(grey[i, j]), np.float32(grey[i, j + 1])
            c = np.float32(grey[i, j + 2])
            d, e = np.float32(grey[i + 1, j]), np.float32(grey[i + 1, j + 2])
            f = np.float32(grey[i + 2, j])
            g, h = np.float32(grey[i + 2, j + 1]), np.float32(grey[i + 2, j + 2])
            two = np.float32(2.0)
            across = (c + two * e + h) - (a + two * d + f)
            down = (f - a) + two * (g - b) + (h - c)
            out[i, j] = sqrt(across * across + down * down)
    return out


@parallel
def revenue(price, quantity, discount):
    total, count = 0.0, 0
    for i in numba.prange(price.size):
        if 0.05 <= discount[i] <= 0.07 and quantity[i] < 24:
            total += price[i] * discount[i]
            count += 1
    return total, count


@parallel
def asian_option(normals):
    paths, steps = normals.shape
    step = 1.0 / steps
    drift, scale = (0.03 - 0.5 * 0.2**2) * step, 0.2 * step**0.5
    payoff = np.empty(paths)
    for i in numba.prange(paths):
        level, total = 0.0, 0.0
        for j in range(steps):
            level += drift + scale * normals[i, j]
            total += 100.0 * exp(level)
        payoff[i] = max(total / steps - 100.0, 0.0) * 0.9704455335485082
    return payoff.mean(), payoff.std()


@parallel
def darts(x, y):
    count = 0
    for i in numba.prange(x.size):
        if x[i] * x[i] + y[i] * y[i] <= 1.0:
            count += 1
    return count * (4.0 / x.size)


@parallel
def fir_filter(x):
    out = np.empty(x.size - WEIGHTS.size + 1, np.float32)
    for i in numba.prange(out.size):
        total = np.float32(0.0)
        for k in range(WEIGHTS.size):
            total += WEIGHTS[k] * x[i + k]
        out[i] = total
    return out


@parallel
def adam(weights, gradient, first, second):
    moved, one, two = np.empty_like(weights), np.empty_like(first), np.empty_like(second)
    keep, add = np.float32(0.9), np.float32(0.1)
    hold, square = np.float32(0.999), np.float32(0.001)
    first_share, second_share = np.float32(0.19), np.float32(0.002)
    rate, tiny = np.float32(0.001), np.float32(1e-8)
    for i in numba.prange(weights.size):
        one[i] = keep * first[i] + add * gradient[i]
        two[i] = hold * second[i] + square * gradient[i] * gradient[i]
        step = rate * (one[i] / first_share) / (sqrt(two[i] / second_share) + tiny)
        moved[i] = weights[i] - step
    return moved, one, two


def by_name(function: Callable[..., Any], *names: str) -> Callable[[Data], Any]:
    """Call a kernel with the named inputs."""
    return lambda data: function(*(data[name] for name in names))


VERSIONS: dict[str, Callable[[Data], Any]] = {
    "double": by_name(double, "a"),
    "chain": by_name(chain, "a", "b", "c"),
    "black_scholes": by_name(black_scholes, "spot", "strike", "years", "volatility"),
    "gaussian": by_name(gaussian, "x", "mean", "sigma"),
    "logistic": by_name(logistic, "x", "offset", "y"),
    "softmax": by_name(softmax, "x"),
    "layer_norm": by_name(layer_norm, "x", "gain", "bias"),
    "standardize": by_name(standardize, "x"),
    "tone_map": by_name(tone_map, "photo", "gain"),
    "heat": by_name(heat, "u"),
    "nearest": by_name(nearest, "points", "centres"),
    "mandelbrot": by_name(mandelbrot, "real", "imaginary"),
    "haversine": by_name(haversine, "lat1", "lat2", "lon1", "lon2"),
    "sobel": by_name(sobel, "grey"),
    "revenue": by_name(revenue, "price", "quantity", "discount"),
    "asian_option": by_name(asian_option, "normals"),
    "darts": by_name(darts, "x", "y"),
    "fir_filter": by_name(fir_filter, "x"),
    "adam": by_name(adam, "weights", "gradient", "first", "second"),
}
