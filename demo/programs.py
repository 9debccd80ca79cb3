"""The demo's programs: each a plain function `f(xp, data)` of an array module and its inputs.

`xp` is `numpy` or `lazyfuse`; nothing here knows which. `data` maps names to arrays of that
module. Each program returns a tuple of arrays.
"""

from __future__ import annotations

from typing import Any

LUMA = (0.2126, 0.7152, 0.0722)  # ITU-R BT.709, red green blue


def srgb_to_linear(xp: Any, x: Any) -> Any:
    """Decode sRGB values in 0..1 to linear light (IEC 61966-2-1)."""
    return xp.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def linear_to_srgb(xp: Any, x: Any) -> Any:
    """Encode linear light in 0..1 as sRGB values (IEC 61966-2-1)."""
    return xp.where(x <= 0.0031308, x * 12.92, 1.055 * x ** (1 / 2.4) - 0.055)


def filmic(x: Any) -> Any:
    """Map linear light to 0..1 by a filmic curve (Narkowicz 2015, a fit to ACES)."""
    return (x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14)


def grade_photo(xp: Any, data: dict[str, Any]) -> tuple[Any]:
    """Grade a photograph: exposure, balance, saturation, film curve, vignette; uint8 to uint8."""
    photo = data["photo"].astype(xp.float32) / 255.0
    light = srgb_to_linear(xp, photo) * data["balance"] * 2.0
    red, green, blue = light[..., 0:1], light[..., 1:2], light[..., 2:3]
    luma = red * LUMA[0] + green * LUMA[1] + blue * LUMA[2]
    light = xp.maximum(luma + (light - luma) * 1.15, 0.0)
    toned = xp.clip(filmic(light), 0.0, 1.0)
    falloff = 1.0 - 0.3 * (data["rows"] ** 2 + data["columns"] ** 2)
    encoded = linear_to_srgb(xp, toned * falloff)
    return (xp.clip(encoded * 255.0 + 0.5, 0.0, 255.0).astype(xp.uint8),)


def score_table(xp: Any, data: dict[str, Any]) -> tuple[Any, ...]:
    """Standardize the columns of a table and score a Poisson regression on it.

    Returns the standardized table, the expected counts, the log-likelihood and its gradient.
    """
    table, counts = data["table"], data["counts"]
    z = (table - table.mean(axis=0)) / table.std(axis=0)
    eta = (z * data["coefficients"]).sum(axis=1) + data["intercept"]
    expected = xp.exp(eta)
    log_likelihood = (counts * eta - expected - data["log_factorials"]).sum()
    gradient = (z * (counts - expected)[:, None]).sum(axis=0)
    return z, expected, log_likelihood, gradient


def normal_cdf(xp: Any, x: Any) -> Any:
    """Give the standard normal distribution function (Abramowitz and Stegun 26.2.17, 7.5e-8)."""
    t = 1.0 / (1.0 + 0.2316419 * xp.abs(x))
    poly = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978
        + t * 1.330274429))))  # fmt: skip
    tail = 0.3989422804014327 * xp.exp(-0.5 * x * x) * poly
    return xp.where(x >= 0.0, 1.0 - tail, tail)


def black_scholes(xp: Any, data: dict[str, Any]) -> tuple[Any, Any]:
    """Price European calls and puts (Black and Scholes 1973)."""
    spot, strike, years = data["spot"], data["strike"], data["years"]
    rate, volatility = 0.03, data["volatility"]
    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * xp.exp(-rate * years)
    cdf1, cdf2 = normal_cdf(xp, d1), normal_cdf(xp, d2)
    call = spot * cdf1 - discounted * cdf2
    put = discounted * (1.0 - cdf2) - spot * (1.0 - cdf1)
    return call, put
