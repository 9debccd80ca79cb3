"""Ufunc calls: what their arguments mean, or None where NumPy has to say what is wrong.

Every form that NumPy takes is understood here: outputs by position or keyword, alone or in a
tuple; `where`, `casting`, `order`, `subok`; `dtype` and `signature` in all their spellings.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend import elementwise, fallback
from lazyfuse.frontend.convert import to_array
from lazyfuse.frontend.handle import Handle, view
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.types import Types
from lazyfuse.runtime.caller import warn_here

_KEYWORDS = frozenset({"out", "where", "dtype", "casting", "order", "subok", "signature", "sig"})
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_LETTERS = np.typecodes["All"]
_ORDERS = {None: "K", "C": "C", "F": "F", "A": "A", "K": "K"}


class Form(NamedTuple):
    """A call: operands; one output or None per result; the mask, the fixed dtypes, the rules."""

    values: tuple[Any, ...]
    outs: tuple[Any, ...]
    where: Any
    types: Types | None
    casting: str
    order: str

    @property
    def options(self) -> dict[str, Any]:
        """The keywords of `elementwise.apply`."""
        names = ("where", "types", "casting", "order")
        return {name: getattr(self, name) for name in names}


def call(name: str, ufunc: np.ufunc, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Record a call of the ufunc of op `name`, or let NumPy refuse it. Raises: what it raises."""
    if kwargs.get("out") is Ellipsis:
        return as_arrays(call(name, ufunc, args, {**kwargs, "out": None}))
    form = parse(ufunc, args, kwargs)
    if form is None:
        return fallback.call(ufunc, *args, **kwargs)
    if ufunc.nout > 1:
        return elementwise.multiple(name, form.values, out=form.outs, **form.options)
    return elementwise.apply(name, form.values, out=form.outs[0], **form.options)


def as_arrays(found: Any) -> Any:
    """Results of `out=...`: 0-d arrays where NumPy otherwise gives scalars."""
    if isinstance(found, tuple):
        return tuple(as_arrays(item) for item in found)
    if not isinstance(found, Handle):
        return to_array(found)
    return view(found, found._layout) if found._is_scalar else found


def parse(ufunc: np.ufunc, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Form | None:
    """The form of a call; None for what NumPy refuses or what only NumPy does.

    Warns, as NumPy, where a mask leaves elements of a new array undefined.
    """
    if not ufunc.nin <= len(args) <= ufunc.nargs or not kwargs.keys() <= _KEYWORDS:
        return None
    outs = _outputs(ufunc, args[ufunc.nin :], kwargs)
    casting, order = kwargs.get("casting", "same_kind"), kwargs.get("order")
    if outs is None or casting not in _CASTINGS or order not in _ORDERS:
        return None
    if type(kwargs.get("subok", True)) is not bool:
        return None
    if casting == "no" and any(map(_is_swapped, args)):
        return None  # the engine would read it as native
    where = _mask(kwargs.get("where", True))
    if where is None:
        return None
    is_known, types = _types(ufunc, kwargs)
    if not is_known:
        return None
    is_masked = "where" in kwargs and kwargs["where"] is not True
    if is_masked and len(args) == ufunc.nin and "out" not in kwargs:
        _warn_of_gaps()
    return Form(tuple(args[: ufunc.nin]), outs, where, types, casting, _ORDERS[order])


def _is_swapped(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.dtype.isnative


def _outputs(
    ufunc: np.ufunc, positional: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """One output or None per result."""
    out = kwargs.get("out")
    if positional:
        given = tuple(positional) + (None,) * (ufunc.nout - len(positional))
        given = given if "out" not in kwargs else ()
    elif out is None:
        given = (None,) * ufunc.nout
    elif isinstance(out, tuple):
        given = out
    else:
        given = (out,) if ufunc.nout == 1 else ()
    fits = len(given) == ufunc.nout and all(
        item is None or isinstance(item, Handle | np.ndarray) for item in given
    )
    return given if fits else None


def _mask(where: Any) -> Any:
    """The mask: a bool, or an array of which the recording checks the dtype; else None."""
    if where is np._NoValue:
        return True
    if where is None or isinstance(where, bool | np.bool):
        return bool(where)
    if type(where) in (int, float, list):
        made = np.asarray(fallback.lower(where), bool)
        return made if made.ndim else bool(made)
    if isinstance(where, np.ndarray):
        return np.asarray(where)  # of a class derived from it, too
    return where if isinstance(where, Handle) else None


def _types(ufunc: np.ufunc, kwargs: Mapping[str, Any]) -> tuple[bool, Types | None]:
    """Whether the dtypes are given in a way that we know, and which they fix."""
    asked = [
        kwargs[name] for name in ("dtype", "signature", "sig") if kwargs.get(name) is not None
    ]
    if not asked:
        return True, None
    if len(asked) > 1:
        return False, None
    signature = asked[0]
    if kwargs.get("dtype") is not None:
        signature = (None,) * ufunc.nin + (signature,) * ufunc.nout
    elif isinstance(signature, str):
        before, arrow, after = signature.partition("->")
        if not arrow or len(before) != ufunc.nin or len(after) != ufunc.nout:
            return False, None
        if not set(before + after) <= set(_LETTERS):
            return False, None
        signature = tuple(before + after)
    if not isinstance(signature, tuple) or len(signature) != ufunc.nargs:
        return False, None
    types = tuple(_dtype(item) for item in signature)
    return True, types if any(types) else None


def _dtype(item: Any) -> np.dtype | None:
    if isinstance(item, type) and issubclass(item, np.dtype):
        made: np.dtype = item()  # type: ignore[call-overload]  # one dtype per class, or TypeError
        return made
    return None if item is None else np.dtype(item)


def warn_of_position(ufunc: np.ufunc) -> None:
    """NumPy's warning, at the user's line, where the output of a call is given by its position."""
    if ufunc in (np.maximum, np.minimum) and NUMPY >= (2, 4):
        warn_here(
            "Passing more than 2 positional arguments to np.maximum and np.minimum is deprecated. "
            "If you meant to use the third argument as an output, use the `out` keyword argument "
            "instead. If you hoped to work with more than 2 inputs, combine them into a single "
            "array and get the extrema for the relevant axis.",
            DeprecationWarning,
        )


def _warn_of_gaps() -> None:
    depth, frame = 3, sys._getframe(2)
    while frame.f_back is not None and _is_inner(frame.f_globals.get("__name__", "")):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(
        "'where' used without 'out', expect unitialized memory in output. "
        "If this is intentional, use out=None.",
        UserWarning,
        stacklevel=depth,
    )


def _is_inner(module: str) -> bool:
    return module.partition(".")[0] in ("lazyfuse", "numpy")
