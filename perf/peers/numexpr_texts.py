"""The workloads that numexpr can express, as its users would write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numexpr
import numpy as np

from perf.workloads.base import Data
from perf.workloads.standard import EARTH_KM, HALF_LOG_TAU

TAIL = (
    "t*(0.319381530 + t*(-0.356563782 + t*(1.781477937 + t*(-1.821255978 + t*1.330274429))))"
    " * 0.3989422804014327 * exp(-0.5*x*x)"
)


def evaluate(text: str, values: Data, **more: Any) -> Any:
    """Evaluate an expression over named arrays."""
    return numexpr.evaluate(text, local_dict={**values, **more}, global_dict={})


def double(data: Data) -> Any:
    """One operation."""
    return evaluate("a * 2.0", data)


def chain(data: Data) -> Any:
    """One expression."""
    return evaluate("(a*b + c) * (a - b) + 1.0", data)


def normal_cdf(x: Any) -> Any:
    """Two expressions: numexpr has no local names."""
    t = evaluate("1.0 / (1.0 + 0.2316419*abs(x))", {"x": x})
    return evaluate(f"where(x >= 0.0, 1.0 - {TAIL}, {TAIL})", {"x": x, "t": t})


def black_scholes(data: Data) -> Any:
    """Seven expressions."""
    spread = evaluate("volatility*sqrt(years)", data)
    d1 = evaluate(
        "(log(spot/strike) + (0.03 + 0.5*volatility*volatility)*years) / spread",
        data,
        spread=spread,
    )
    cdf1, cdf2 = normal_cdf(d1), normal_cdf(d1 - spread)
    names = data | {"cdf1": cdf1, "cdf2": cdf2}
    call = evaluate("spot*cdf1 - strike*exp(-0.03*years)*cdf2", names)
    put = evaluate("strike*exp(-0.03*years)*(1.0 - cdf2) - spot*(1.0 - cdf1)", names)
    return call, put


def gaussian(data: Data) -> Any:
    """One expression with a sum."""
    text = f"sum(-0.5*((x - mean)/sigma)**2 - log(sigma) - {HALF_LOG_TAU})"
    return evaluate(text, data)[()]


def logistic(data: Data) -> Any:
    """One elementwise expression, one with a sum."""
    eta = evaluate("x*0.7 + offset", data)
    text = "sum(y*eta - where(eta > 0, eta, 0.0) - log1p(exp(-abs(eta))))"
    return evaluate(text, data, eta=eta)[()]


def haversine(data: Data) -> Any:
    """One expression."""
    inner = "sin((lat2-lat1)*0.5)**2 + cos(lat1)*cos(lat2)*sin((lon2-lon1)*0.5)**2"
    return evaluate(f"2.0*{EARTH_KM}*arcsin(sqrt({inner}))", data)


def softmax(data: Data) -> Any:
    """Two expressions; the reductions are NumPy's."""
    x = data["x"]
    e = evaluate("exp(x - largest)", data, largest=x.max(axis=1, keepdims=True))
    return evaluate("e / total", {}, e=e, total=e.sum(axis=1, keepdims=True))


def layer_norm(data: Data) -> Any:
    """Two expressions; the means are NumPy's."""
    centred = evaluate("x - mean", data, mean=data["x"].mean(axis=1, keepdims=True))
    scale = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-5))
    return evaluate("centred / scale * gain + bias", data, centred=centred, scale=scale)


def standardize(data: Data) -> Any:
    """One expression; mean and deviation are NumPy's."""
    x = data["x"]
    return evaluate("(x - mean) / std", data, mean=x.mean(axis=0), std=x.std(axis=0))


def mandelbrot(data: Data) -> Any:
    """Three expressions for each step."""
    c = {"cr": data["real"], "ci": data["imaginary"]}
    zr, zi, count = (np.zeros_like(data["real"]) for _ in range(3))
    for _ in range(20):
        z = c | {"zr": zr, "zi": zi, "inside": evaluate("zr*zr + zi*zi <= 4.0", {}, zr=zr, zi=zi)}
        count = evaluate("count + where(inside, 1.0, 0.0)", z, count=count)
        zr = evaluate("where(inside, zr*zr - zi*zi + cr, zr)", z)
        zi = evaluate("where(inside, 2.0*zr*zi + ci, zi)", z)
    return count


def revenue(data: Data) -> Any:
    """The filter and the total; the count is NumPy's."""
    wanted = evaluate("(discount >= 0.05) & (discount <= 0.07) & (quantity < 24)", data)
    total = evaluate("sum(where(wanted, price * discount, 0.0))", data, wanted=wanted)
    return total[()], wanted.sum()


VERSIONS: dict[str, Callable[[Data], Any]] = {
    "double": double,
    "chain": chain,
    "black_scholes": black_scholes,
    "gaussian": gaussian,
    "logistic": logistic,
    "haversine": haversine,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "standardize": standardize,
    "mandelbrot": mandelbrot,
    "revenue": revenue,
}
