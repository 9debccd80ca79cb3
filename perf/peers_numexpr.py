"""The workloads that numexpr can express, as its users would write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numexpr

from perf.peers import THREADS
from perf.workloads import EARTH_KM, HALF_LOG_TAU, Data

numexpr.set_num_threads(THREADS)

TAIL = (
    "t*(0.319381530 + t*(-0.356563782 + t*(1.781477937 + t*(-1.821255978 + t*1.330274429))))"
    " * 0.3989422804014327 * exp(-0.5*x*x)"
)


def evaluate(text: str, values: Data, **more: Any) -> Any:
    """Evaluate an expression over named arrays."""
    return numexpr.evaluate(text, local_dict={**values, **more}, global_dict={})


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


VERSIONS: dict[str, Callable[[Data], Any]] = {
    "chain": chain,
    "black_scholes": black_scholes,
    "gaussian": gaussian,
    "logistic": logistic,
    "haversine": haversine,
}
