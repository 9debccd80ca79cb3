"""Functions of other libraries that take NumPy's arrays alone, and are given those: they look at
types in C, or make arrays of the type that they find.

`hillshade` of matplotlib and Hough transforms of scikit-image raised TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from lazyfuse.frontend.fallback import lower

#: Functions, and methods of classes, by their modules.
_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "matplotlib.colors": ("LightSource.hillshade",),
    "skimage.transform.hough_transform": (
        "hough_line", "hough_circle", "hough_ellipse", "probabilistic_hough_line",
    ),
}  # fmt: skip


def tell(module: ModuleType) -> None:
    """Wrap the functions of a module, before others take their names from it."""
    for name in _FUNCTIONS[module.__name__]:
        kind, _, method = name.rpartition(".")
        holder = getattr(module, kind, None) if kind else module
        function = getattr(holder, method, None)
        if function is not None:
            setattr(holder, method, lowered(function))


def lowered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is given NumPy's arrays in the place of ours."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        given = {name: lower(value, np.asarray) for name, value in options.items()}
        return function(*[lower(value, np.asarray) for value in args], **given)

    return call
