"""What functions ask arrays for before they begin: the same answers from machine code, the array
itself where nothing else is asked for, and no reference lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """As users have it."""
    with lf.options(eager_size=30_000, cold_size=400_000):
        yield


ARRAYS: dict[str, Callable[[Any], Any]] = {
    "large": lambda np: np.arange(60_000.0).reshape(200, 300),
    "pending": lambda np: np.arange(60_000.0).reshape(200, 300) + 1,
    "line": lambda np: np.arange(60_000.0) * 2,
    "row": lambda np: (np.arange(60_000.0) * 2).reshape(200, 300)[3],
    "column": lambda np: (np.arange(60_000.0) * 2).reshape(200, 300)[:, 3],
    "transposed": lambda np: np.arange(60_000.0).reshape(200, 300).T,
    "in part": lambda np: np.arange(60_000.0).reshape(200, 300)[:, 5:],
    "single axes": lambda np: np.arange(60_000.0).reshape(1, 60_000, 1),
    "single axes of a part": lambda np: np.arange(60_000.0).reshape(200, 300)[3:4, 5:6],
    "repeated": lambda np: np.broadcast_to(np.arange(60_000.0), (3, 60_000)),
    "without elements": lambda np: np.arange(60_000.0).reshape(200, 300)[3:3],
    "without axes": lambda np: np.arange(60_000.0).reshape(200, 300)[3, 4:5].reshape(()),
    "integers": lambda np: np.arange(60_000) * 2,
    "bools": lambda np: np.arange(60_000) > 7,
    "singles": lambda np: np.arange(60_000, dtype="f4") * 2,
    "complex": lambda np: np.arange(60_000) * 2j,
    "real parts": lambda np: (np.arange(60_000) * 2j).real,
    "read as integers": lambda np: (np.arange(60_000.0) * 2).view("i8"),
    "sum": lambda np: (np.arange(60_000.0) * 2).sum(keepdims=True),
    "small": lambda np: np.arange(6.0).reshape(2, 3),
}
FORMS = ("shape", "ndim", "size")
SELF: dict[str, Callable[[Any, Any], Any]] = {
    **{name: lambda np, x, name=name: getattr(np, name)(x) for name in (
        "asarray", "asanyarray", "atleast_1d", "atleast_2d", "ascontiguousarray")},
    "asarray of floats": lambda np, x: np.asarray(x, float),
    "asarray of integers": lambda np, x: np.asarray(x, dtype=np.int64),
    "asarray of bools": lambda np, x: np.asarray(x, dtype=bool),
    "asanyarray of singles": lambda np, x: np.asanyarray(x, "f4"),
    "astype float": lambda np, x: x.astype(float, copy=False),
    "astype integers": lambda np, x: x.astype("i8", copy=False),
    "astype bool": lambda np, x: x.astype(bool, copy=False),
    "astype its own": lambda np, x: x.astype(x.dtype, copy=False),
    "astype with a copy": lambda np, x: x.astype(float, copy=True),
    "astype by position": lambda np, x: x.astype(float, "K"),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_forms(name: str) -> None:
    def program(np: Any) -> list[Any]:
        x = ARRAYS[name](np)
        found = [getattr(np, form)(x) for form in FORMS]
        return [*found, [type(each) for each in found], np.size(x, 0) if x.ndim else 0]

    oracle.check(program)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("asked", SELF)
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_themselves(name: str, asked: str) -> None:
    """An array comes back as itself where NumPy's does."""

    def program(np: Any) -> list[Any]:
        x = ARRAYS[name](np)
        found = SELF[asked](np, x)
        return [found, found is x]

    oracle.check(program)


def test_no_reference_is_lost() -> None:
    arrays = [make(lf) for make in ARRAYS.values()]
    lf.materialize(*arrays)

    def run() -> None:
        for x in arrays:
            for form in FORMS:
                getattr(lf, form)(x)
            for asked in ("asarray", "atleast_2d", "ascontiguousarray", "astype float"):
                SELF[asked](lf, x)

    lf.cache_clear()
    kept = [*arrays, *(x._layout for x in arrays), host.dtype("f8"), float, "copy"]
    assert_nothing_is_lost(run, kept, known=40, rounds=40)
