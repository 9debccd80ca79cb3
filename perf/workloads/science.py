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


#: Density of sea water: 48 terms in Absolute Salinity s, its root, Conservative Temperature t and
#: pressure p, by powers of t, lowest first. Source: McDougall, Barker, Feistel, Jackett (2011), "A
#: computationally efficient 48-term expression for the density of seawater in terms of
#: Conservative Temperature", part of TEOS-10 (IOC, SCOR, IAPSO 2010); v01 to v20 and v21 to v48.
DENOMINATOR = {
    "": (9.998420897506056e2, 2.839940833161907, -3.147759265588511e-2, 1.181805545074306e-3),
    "s": (-6.698001071123802, -2.986498947203215e-2, 2.327859407479162e-4),
    "sr": (-3.988822378968490e-2, 5.095422573880500e-4, -1.426984671633621e-5,
           1.645039373682922e-7),
    "p": (-2.233269627352527e-2, -3.436090079851880e-4, 3.726050720345733e-6),
    "ps": (-1.806789763745328e-4, 6.876837219536232e-7),
    "pp": (-3.087032500374211e-7, -1.988366587925593e-8, -1.061519070296458e-11),
    "pps": (1.550932729220080e-10,),
}  # fmt: skip
NUMERATOR = {
    "": (1.0, 2.775927747785646e-3, -2.349607444135925e-5, 1.119513357486743e-6,
         6.743689325042773e-10),
    "s": (-7.521448093615448e-3, -2.764306979894411e-5, 1.262937315098546e-7,
          9.527875081696435e-10, -1.811147201949891e-11),
    "sr": (-3.303308871386421e-5, 3.801564588876298e-7, -7.672876869259043e-9,
           -4.634182341116144e-11, 2.681097235569143e-12),
    "ss": (5.419326551148740e-6,),
    "p": (-2.742185394906099e-5, -3.212746477974189e-7, 3.191413910561627e-9,
          -1.931012931541776e-12),
    "ps": (-1.105097577149576e-7, 6.211426728363857e-10),
    "pp": (-1.119011592875110e-10, -1.941660213148725e-11, -1.864826425365600e-14),
    "pps": (0.0, 1.119522344879478e-14),
    "ppp": (-1.200507748551599e-15, 6.057902487546866e-17),
}  # fmt: skip


def equation_of_state(xp: Any, data: Data) -> Any:
    """Density of sea water and its thermal expansion by 48 terms (TEOS-10), 200 operations."""
    salt, warmth, pressure = data["salt"], data["warmth"], data["pressure"]
    root = xp.sqrt(salt)
    below, above = (
        _terms(table, salt, root, warmth, pressure) for table in (DENOMINATOR, NUMERATOR)
    )
    below_t, above_t = (
        _terms(_derived(table), salt, root, warmth, pressure) for table in (DENOMINATOR, NUMERATOR)
    )
    return below / above, above_t / above - below_t / below


def _terms(table: Any, salt: Any, root: Any, warmth: Any, pressure: Any) -> Any:
    """The sum over a table of its polynomials in the temperature times their factors."""
    powers = {"s": salt, "r": root, "p": pressure}
    total: Any = None
    for factors, coefficients in table.items():
        term: Any = coefficients[-1]
        for coefficient in coefficients[-2::-1]:
            term = term * warmth + coefficient
        for factor in factors:
            term = term * powers[factor]
        total = term if total is None else total + term
    return total


def _derived(table: Any) -> Any:
    """The same with each polynomial's derivative; constants have none."""
    return {
        factors: tuple(power * value for power, value in enumerate(coefficients))[1:]
        for factors, coefficients in table.items()
        if len(coefficients) > 1
    }


def seawater_inputs(size: int) -> Data:
    """Absolute Salinity in g/kg, Conservative Temperature in Celsius and pressure in dbar."""
    draw = np.random.default_rng(44)
    return {
        "salt": draw.uniform(0.0, 42.0, size),
        "warmth": draw.uniform(-2.0, 33.0, size),
        "pressure": draw.uniform(0.0, 8000.0, size),
    }


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
    Workload("equation_of_state", equation_of_state, seawater_inputs, 1e-12, "science"),
    Workload("wind", wind, wind_inputs, 1e-12, "science"),
    Workload("lennard_jones", lennard_jones, particles_inputs, 1e-12, "science"),
)
