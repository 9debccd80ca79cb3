"""The demo's inputs: a photograph and a survey that ship inside wheels, and seeded options."""

from __future__ import annotations

import math

import numpy as np

Inputs = dict[str, np.ndarray]


def photo() -> Inputs:
    """Load the retina photograph of scikit-image: 1411 x 1411 x 3, uint8."""
    from skimage import data

    picture = np.ascontiguousarray(data.retina())
    height, width, _ = picture.shape
    return {
        "photo": picture,
        "balance": np.array([0.95, 1.05, 1.10], np.float32),
        "rows": np.linspace(-1.0, 1.0, height, dtype=np.float32)[:, None, None],
        "columns": np.linspace(-1.0, 1.0, width, dtype=np.float32)[None, :, None],
    }


def survey() -> Inputs:
    """Load the RAND health insurance survey of statsmodels: 20,190 people, doctor visits counted.

    The coefficients are those of a Poisson regression on the standardized columns, rounded to two
    decimals, so that the gradient of the log-likelihood is not zero.
    """
    from statsmodels.datasets import randhie

    frame = randhie.load_pandas().data
    counts = frame["mdvis"].to_numpy(np.float64)
    return {
        "table": np.ascontiguousarray(frame.drop(columns="mdvis").to_numpy(np.float64)),
        "counts": counts,
        "coefficients": np.array([-0.10, -0.11, 0.10, -0.12, 0.09, 0.23, -0.01, 0.01, 0.03]),
        "intercept": np.array(0.99),
        "log_factorials": np.array([math.lgamma(count + 1.0) for count in counts]),
    }


def options(count: int = 1_000_000, seed: int = 2) -> Inputs:
    """Draw `count` European options from a fixed seed."""
    draw = np.random.default_rng(seed)
    return {
        "spot": draw.uniform(50.0, 150.0, count),
        "strike": draw.uniform(50.0, 150.0, count),
        "years": draw.uniform(0.1, 2.0, count),
        "volatility": draw.uniform(0.1, 0.5, count),
    }
