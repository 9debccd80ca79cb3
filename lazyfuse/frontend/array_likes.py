"""Objects whose `__array__` gives an array of ours, which NumPy's C code refuses."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend.handle import Handle


def is_refusal(error: ValueError) -> bool:
    """Whether NumPy has met such an object."""
    return "__array__ method not producing" in str(error)


def taken(value: Any, objects: dict[int, tuple[Any, np.ndarray]] | None = None) -> Any:
    """The array of NumPy's that such an object stands for; a list or a tuple with those of its
    items; all else as it is. `objects` is told by which array each object was replaced."""
    if type(value) in (list, tuple):
        return type(value)(taken(item, objects) for item in value)
    is_known = isinstance(value, Handle | np.ndarray | np.generic)
    if is_known or not hasattr(type(value), "__array__"):
        return value
    made = value.__array__()
    if not isinstance(made, Handle):
        return value
    array = np.asarray(made)
    if objects is not None:
        objects[id(array)] = value, array  # which stays alive, and so does its identity
    return array


def array(value: Any, dtype: Any, options: dict[str, Any]) -> np.ndarray:
    """`np.array(value, dtype, ...)` of a value with such objects in it."""
    objects: dict[int, tuple[Any, np.ndarray]] = {}
    made: np.ndarray = np.array(taken(value, objects), dtype, **options)
    if made.dtype == object:  # an element is an object itself
        for place, element in enumerate(made.flat):
            if id(element) in objects:
                made.flat[place] = objects[id(element)][0]
    return made
