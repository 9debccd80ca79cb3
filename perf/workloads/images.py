"""Pictures: edges, smoothing, blending, colour."""

from __future__ import annotations

from typing import Any

import numpy as np

from demo.programs import grade_photo
from perf.workloads.base import Data, Workload, side


def sobel(xp: Any, data: Data) -> Any:
    """Strength of edges in a grey uint8 picture (Sobel), as float32."""
    grey = data["grey"].astype(xp.float32)
    top, middle, bottom = grey[:-2], grey[1:-1], grey[2:]
    smooth = top + 2.0 * middle + bottom
    across = smooth[:, 2:] - smooth[:, :-2]
    change = bottom - top
    down = change[:, :-2] + 2.0 * change[:, 1:-1] + change[:, 2:]
    return xp.sqrt(across * across + down * down)


def gaussian_blur(xp: Any, data: Data) -> Any:
    """Smooth a float32 picture with five binomial weights, first down, then across."""
    x = data["x"]
    down = (x[:-4] + x[4:] + 4.0 * (x[1:-3] + x[3:-1]) + 6.0 * x[2:-2]) * 0.0625
    ends, inner = down[:, :-4] + down[:, 4:], down[:, 1:-3] + down[:, 3:-1]
    return (ends + 4.0 * inner + 6.0 * down[:, 2:-2]) * 0.0625


def alpha_blend(xp: Any, data: Data) -> Any:
    """Lay a uint8 picture with transparency over another, in integers."""
    over, under = data["over"].astype(xp.uint16), data["under"].astype(xp.uint16)
    alpha = over[:, :, 3:]
    mixed = over[:, :, :3] * alpha + under[:, :, :3] * (255 - alpha)
    return ((mixed + 127) // 255).astype(xp.uint8)


def stretch(xp: Any, data: Data) -> Any:
    """Stretch the contrast of a picture's luminance between its extremes, to uint8."""
    photo = data["photo"].astype(xp.float32)
    grey = 0.2126 * photo[:, :, 0] + 0.7152 * photo[:, :, 1] + 0.0722 * photo[:, :, 2]
    low, high = grey.min(), grey.max()
    return ((grey - low) * (255.0 / (high - low + 1.0))).astype(xp.uint8)


def grey_inputs(size: int) -> Data:
    """A square grey picture."""
    draw = np.random.default_rng(20)
    return {"grey": draw.integers(0, 256, (side(size), side(size)), np.uint8)}


def blur_inputs(size: int) -> Data:
    """A square float32 picture."""
    edge = side(size, 5)
    return {"x": np.random.default_rng(21).random((edge, edge), np.float32)}


def layers_inputs(size: int) -> Data:
    """Two square pictures of four channels, about `size` values each."""
    draw, edge = np.random.default_rng(22), side(size // 4, 1)
    return {name: draw.integers(0, 256, (edge, edge, 4), np.uint8) for name in ("over", "under")}


def colour_inputs(size: int) -> Data:
    """A square picture of three colours, about `size` values."""
    edge = side(size // 3, 1)
    return {"photo": np.random.default_rng(23).integers(0, 256, (edge, edge, 3), np.uint8)}


def graded_inputs(size: int) -> Data:
    """The same with a white balance and coordinates."""
    photo = colour_inputs(size)["photo"]
    axis = np.linspace(-1.0, 1.0, len(photo), dtype=np.float32)
    return {
        "photo": photo,
        "balance": np.array([0.95, 1.05, 1.10], np.float32),
        "rows": axis[:, None, None].copy(),
        "columns": axis[None, :, None].copy(),
    }


WORKLOADS = (
    Workload("grade_photo", grade_photo, graded_inputs, 1.0 / 200.0, "images"),
    Workload("sobel", sobel, grey_inputs, 0.0, "images"),
    Workload("gaussian_blur", gaussian_blur, blur_inputs, 0.0, "images"),
    Workload("alpha_blend", alpha_blend, layers_inputs, 0.0, "images"),
    Workload("stretch", stretch, colour_inputs, 0.0, "images"),
)
