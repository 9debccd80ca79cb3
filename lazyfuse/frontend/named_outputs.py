"""Outputs of NumPy's functions that stand among the arguments by position: given by name, they are
known for what they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def by_name(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments before `out`, if that is among them; it and those behind it are put into
    `options`. Whoever gives too many, or one twice, is told so by the function."""
    if len(args) < 2:
        return args
    names = from_output(function)
    if names is None:
        return args
    place, behind = names
    given = args[place:]
    if not given or len(given) > len(behind) or not options.keys().isdisjoint(behind):
        return args
    options.update(zip(behind, given, strict=False))
    return args[:place]


@lru_cache(maxsize=512)
def from_output(function: Callable[..., Any]) -> tuple[int, tuple[str, ...]] | None:
    """Where `out` stands, and the names from there on; None where it does not, and where a
    function does not say."""
    if isinstance(function, np.ufunc):  # which have theirs behind all operands
        return None
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    names = [*parameters]
    if "out" not in names:
        return None
    place = names.index("out")
    kinds = {parameters[name].kind for name in names[:place]}
    behind = [name for name in names[place:] if parameters[name].kind is _EITHER]
    is_positional = kinds <= {_EITHER, inspect.Parameter.POSITIONAL_ONLY}
    return (place, tuple(behind)) if is_positional and "out" in behind else None
