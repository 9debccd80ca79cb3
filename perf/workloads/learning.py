"""Machine learning: an optimizer's step, activations, a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from perf.workloads.base import Data, Workload


def adam(xp: Any, data: Data) -> Any:
    """One step of the Adam optimizer over float32 weights: three outputs."""
    gradient = data["gradient"]
    first = 0.9 * data["first"] + 0.1 * gradient
    second = 0.999 * data["second"] + 0.001 * gradient * gradient
    step = 0.001 * (first / 0.19) / (xp.sqrt(second / 0.002) + 1e-8)
    return data["weights"] - step, first, second


def bias_gelu(xp: Any, data: Data) -> Any:
    """Add a bias to rows, then GELU (its approximation by tanh), float32."""
    x = data["x"] + data["bias"]
    return 0.5 * x * (1.0 + xp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def cross_entropy(xp: Any, data: Data) -> Any:
    """Mean cross entropy of rows of logits against one-hot labels, float32."""
    logits = data["logits"]
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_sum = xp.log(xp.exp(shifted).sum(axis=1, keepdims=True))
    return -((shifted - log_sum) * data["labels"]).sum(axis=1).mean()


def weights_inputs(size: int) -> Data:
    """Weights, their gradient, and two moments."""
    draw = np.random.default_rng(70)
    names = ("weights", "gradient", "first")
    moments = {name: draw.standard_normal(size, np.float32) for name in names}
    return moments | {"second": draw.random(size, np.float32)}


def activations_inputs(size: int) -> Data:
    """Rows of up to 768 activations and a bias."""
    draw, width = np.random.default_rng(71), min(size, 768)
    return {
        "x": draw.standard_normal((max(size // width, 1), width), np.float32),
        "bias": draw.standard_normal(width, np.float32),
    }


def logits_inputs(size: int) -> Data:
    """Rows of ten logits and one-hot labels."""
    draw, rows = np.random.default_rng(72), max(size // 10, 1)
    return {
        "logits": draw.standard_normal((rows, 10), np.float32) * np.float32(3.0),
        "labels": np.eye(10, dtype=np.float32)[draw.integers(0, 10, rows)],
    }


WORKLOADS = (
    Workload("adam", adam, weights_inputs, 0.0, "learning"),
    Workload("bias_gelu", bias_gelu, activations_inputs, 1e-5, "learning"),
    Workload("cross_entropy", cross_entropy, logits_inputs, 1e-5, "learning"),
)
