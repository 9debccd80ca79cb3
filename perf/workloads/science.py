"""Climate and physics: anomalies, humidity, wind, forces between particles."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload, side


def anomalies(xp: Any, data: Data) -> Any:
    """Monthly anomalies of a float32 temperature field and their mean weighted by area."""
    field, weights = data["field"], data["weights"]
    years = field.reshape((-1, 12, *field.shape[1:]))
    departure = years - years.mean(axis=0)
    series = (departure * weights).sum(axis=(2, 3))
    return departure, series


def dew_point(xp: Any, data: Data) -> Any:
    """Dew point and vapour pressure deficit from temperature and humidity (Magnus), float32."""
    celsius, humidity = data["kelvin"] - 273.15, data["humidity"]
    over_ice = celsius < 0.0
    slope = xp.where(over_ice, 22.46, 17.62).astype(xp.float32)
    offset = xp.where(over_ice, 272.62, 243.12).astype(xp.float32)
    exponent = slope * celsius / (offset + celsius)
    gamma = xp.log(humidity * 0.01) + exponent
    deficit = 6.112 * xp.exp(exponent) * (1.0 - humidity * 0.01)
    return offset * gamma / (slope - gamma), deficit


def wind(xp: Any, data: Data) -> Any:
    """Speed and direction of the wind from its components, calm where it is slow."""
    u, v = data["u"], data["v"]
    speed = xp.hypot(u, v)
    degrees = xp.degrees(xp.arctan2(-u, -v)) % 360.0
    return speed, xp.where(speed < 0.5, 0.0, degrees)


def lennard_jones(xp: Any, data: Data) -> Any:
    """Potential energy of each of n particles among all the others: n x n pairs."""
    place = data["place"]
    apart = place[:, None, :] - place[None, :, :]
    square = (apart * apart).sum(axis=2)
    inverse = xp.where(square > 0.0, 1.0, 0.0) / xp.where(square > 0.0, square, 1.0)
    sixth = inverse * inverse * inverse
    return 2.0 * (sixth * sixth - sixth).sum(axis=1)


def field_inputs(size: int) -> Data:
    """Twenty years of months over a grid (one year and a point when small)."""
    months = 240 if size >= 10_000 else 24
    edge = side(size // months, 1)
    draw = np.random.default_rng(40)
    latitudes = np.linspace(-1.4, 1.4, edge, dtype=np.float32)
    weights = np.cos(latitudes)[:, None]
    return {
        "field": draw.normal(285.0, 10.0, (months, edge, edge)).astype(np.float32),
        "weights": weights / (weights.sum() * np.float32(edge)),
    }


def humid_inputs(size: int) -> Data:
    """Temperatures in kelvin and relative humidities in percent, float32."""
    draw = np.random.default_rng(41)
    return {
        "kelvin": draw.uniform(250.0, 310.0, size).astype(np.float32),
        "humidity": draw.uniform(5.0, 100.0, size).astype(np.float32),
    }


def wind_inputs(size: int) -> Data:
    """Components towards east and north in m/s."""
    draw = np.random.default_rng(42)
    return {name: draw.normal(0.0, 6.0, size) for name in ("u", "v")}


def particles_inputs(size: int) -> Data:
    """Particles on a jittered grid, as many as have about `size` pairs."""
    count = side(size, 2)
    edge = int(np.ceil(count ** (1 / 3)))
    grid = np.stack(np.meshgrid(*[np.arange(edge)] * 3), axis=-1).reshape(-1, 3)[:count]
    return {"place": grid * 1.2 + np.random.default_rng(43).uniform(-0.1, 0.1, grid.shape)}


WORKLOADS = (
    Workload("anomalies", anomalies, field_inputs, 0.0, "science"),
    Workload("dew_point", dew_point, humid_inputs, 1e-5, "science"),
    Workload("wind", wind, wind_inputs, 1e-12, "science"),
    Workload("lennard_jones", lennard_jones, particles_inputs, 1e-12, "science"),
)
