"""What NumPy gives as scalars has, while it is pending, the methods of NumPy's scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf

METHODS: dict[str, Callable[[Any], Any]] = {
    "T": lambda s: s.T,
    "transpose": lambda s: s.transpose(),
    "reshape to no axes": lambda s: s.reshape(()),
    "reshape": lambda s: s.reshape(1),
    "reshape wrongly": lambda s: s.reshape(2),
    "squeeze": lambda s: s.squeeze(),
    "copy": lambda s: s.copy(),
    "real": lambda s: s.real,
    "ravel": lambda s: s.ravel(),
    "astype": lambda s: s.astype("f4"),
    "take": lambda s: s.take(0),
    "repeat": lambda s: s.repeat(2),
    "cumsum": lambda s: s.cumsum(),
    "argmax": lambda s: s.argmax(),
    "argmin of an axis": lambda s: s.argmin(axis=0),
    "of no axes": lambda s: s[()],
    "new axis": lambda s: s[None],
    "fill": lambda s: s.fill(1),
    "put": lambda s: s.put(0, 1),
    "sort": lambda s: s.sort(),
    "resize": lambda s: s.resize(1),
    "setflags": lambda s: s.setflags(write=True),
    "setfield": lambda s: s.setfield(1, "f8"),
    "mT": lambda s: s.mT,
    "dot": lambda s: s.dot(2),
    "partition": lambda s: s.partition(0),
    "argpartition": lambda s: s.argpartition(0),
}


def _outcome(function: Callable[[Any], Any], scalar: Any) -> Any:
    """What comes of it: the kind of object, or the error."""
    try:
        found = function(scalar)
    except Exception as error:
        return type(error), str(error)
    if found is None:
        return found, float(scalar)
    kind = "scalar" if isinstance(found, host.generic) else "array"
    return kind, found.shape, str(found.dtype), host.asarray(found).tolist(), float(scalar)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("is_computed", (False, True))
def test_method(name: str, is_computed: bool) -> None:
    """As NumPy's; whatever it is, the scalar stays as it was."""
    x = host.arange(40_000.0)
    pending = lf.asarray(x).mean()
    assert isinstance(pending, lf.LazyScalar)
    if is_computed:
        lf.materialize(pending)
    assert _outcome(METHODS[name], pending) == _outcome(METHODS[name], x.mean())


def test_operators_in_place_rebind_what_a_method_gave() -> None:
    x = host.arange(40_000.0)
    for np, array in ((host, x), (lf, lf.asarray(x))):
        scalar = before = array.mean().T
        scalar -= array
        assert scalar.shape == array.shape and float(before) == 19999.5
        assert type(scalar) is np.ndarray or np is lf


def test_an_output_comes_back_as_a_scalar() -> None:
    x = host.arange(40_000.0)
    for np, array in ((host, x), (lf, lf.asarray(x))):
        out = np.ones((), int)
        found = array.mean().argmax(out=out)
        assert isinstance(found, host.int64) and int(found) == int(out) == 0


def test_scalars_that_are_not_made_yet() -> None:
    """Whoever asks for the class of all objects that there are meets them, too: it raised
    RecursionError."""
    blank = object.__new__(type(lf.ones(3).sum() * lf.exp(lf.ones(9)).sum()))
    assert not isinstance(blank, str)
    assert not hasattr(blank, "is_integer")


FROM_SCALARS: dict[str, Callable[[Any], Any]] = {
    "asarray": host.asarray,
    "asanyarray": host.asanyarray,
    "dtype": lambda s: host.asarray(s, dtype=s.dtype),
    "cast": lambda s: host.asarray(s, dtype="f4"),
    "contiguous": host.ascontiguousarray,
    "maybe copied": lambda s: host.array(s, copy=None),
    "in a list": lambda s: host.asarray([s, s]),
    "memory": host.frombuffer,
    "view of memory": lambda s: memoryview(s),
    "protocol": lambda s: s.__array__(),
}


def _written(function: Callable[[Any], Any], scalar: Any) -> Any:
    """What becomes of the array and of the scalar when that is written into, or the error."""
    try:
        array = function(scalar)
        array[...] = 7
    except Exception as error:
        return type(error), float(scalar)
    return array.shape, array.dtype, array.tolist(), float(scalar)


@pytest.mark.parametrize("name", FROM_SCALARS)
@pytest.mark.parametrize("is_computed", (False, True))
def test_arrays_of_scalars_are_written(name: str, is_computed: bool) -> None:
    """`numpy.asarray(x.mean())` is an array of its own: it was read-only."""
    x = host.arange(40_000.0)
    pending = lf.asarray(x).mean()
    assert isinstance(pending, lf.LazyScalar)
    if is_computed:
        lf.materialize(pending)
    assert _written(FROM_SCALARS[name], pending) == _written(FROM_SCALARS[name], x.mean())
