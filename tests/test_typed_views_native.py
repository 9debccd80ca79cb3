"""Parts of complex arrays and memory that is read as another dtype, in machine code: elements,
rows and blocks of them, what NumPy computes of these at once, and what is written there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.deferring import deferring  # noqa: E402 - when there is an engine
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

ROWS, COLUMNS, TIMES = 40, 30, 4
REALS = host.linspace(-3.0, 5.0, ROWS * COLUMNS).reshape(ROWS, COLUMNS)
ARRAYS = {
    "c16": REALS + 1j * REALS[::-1],
    "c8": (REALS + 1j * REALS[::-1]).astype("c8"),
    "turned": (REALS + 1j * REALS[::-1]).T.copy().T,
    "every other": host.repeat(REALS + 1j * REALS[::-1], 2, axis=1)[:, ::2],
}
PARTS: dict[str, Callable[[Any], Any]] = {
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "backwards": lambda x: x[::-1].imag,
    "of a row": lambda x: x[3:5].real,
    "of a column": lambda x: x[:, 4:6].imag,
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "i8": lambda np: np.array(REALS).view("i8"),
    "bytes": lambda np: np.array(REALS).view("u1"),
    "pairs": lambda np: np.array(REALS).view("c16"),
    "narrower": lambda np: np.array(REALS).view("i4"),
    "bool": lambda np: np.array((REALS > 0).astype("u1")).view(bool),
    "half": lambda np: np.array(REALS.astype("f4").view("u4") >> 16).astype("u2").view("f2"),
    "of an imaginary part": lambda np: np.array(ARRAYS["c16"]).imag.view("i8"),
}
USES: dict[str, Callable[[Any, Any], Any]] = {
    "an element": lambda np, v: v[1, 2],
    "the last": lambda np, v: v[-1, -1],
    "a row": lambda np, v: v[1],
    "a column": lambda np, v: v[:, 1],
    "a block": lambda np, v: v[:2, ::-1],
    "a row of a block": lambda np, v: v[:2][1][::2],
    "a sum": lambda np, v: v[1].sum(),
    "a maximum": lambda np, v: v[:, 1].max(),
    "a product": lambda np, v: v[1] * 2,
    "of both": lambda np, v: v[0] + v[1],
    "a comparison": lambda np, v: v[0] > v[1],
    "a ufunc": lambda np, v: np.maximum(v[0], v[1]),
    "a copy": lambda np, v: v[1].copy(),
    "sorted": lambda np, v: np.sort(v[1]),
    "put together": lambda np, v: np.concatenate([v[0], v[1]]),
    "filtered": lambda np, v: v[1][v[1] > v[0]],
    "by a list": lambda np, v: v[1][[0, 1]],
    "elements": lambda np, v: [each for each in v[1][:4]],
    "a scalar of a row": lambda np, v: v[1][1] + v[0][1],
    "without axes": lambda np, v: v[1, ..., 0],
    "out of bounds": lambda np, v: error_of(lambda: v[1, 1000]),
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "an element": lambda np, v: v.__setitem__((1, 1), 1),
    "a row": lambda np, v: v.__setitem__(1, v[0]),
    "a number": lambda np, v: v.__setitem__((slice(None), 1), 1),
    "in place": lambda np, v: v[1].__iadd__(v[0]),
    "through a row": lambda np, v: v[1].__setitem__(slice(1, 3), 1),
    "filled": lambda np, v: v[0].fill(1),
    "by a mask": lambda np, v: v[1].__setitem__(v[1] > v[0], 1),
}


def error_of(call: Callable[[], Any]) -> str:
    try:
        call()
    except IndexError as error:
        return str(error)
    return ""


@pytest.fixture(autouse=True)
def sizes() -> Any:
    with lf.options(eager_size=100, cold_size=100_000):
        yield


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("array", ARRAYS)
def test_parts_are_read(array: str, part: str, use: str) -> None:
    def program(np: Any) -> Any:
        x = np.array(ARRAYS[array])
        return [USES[use](np, PARTS[part](x)) for _ in range(TIMES)]

    oracle.check(program)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_are_read(view: str, use: str) -> None:
    if view in ("pairs", "half") and use in ("a maximum", "filtered", "a comparison", "a ufunc"):
        pytest.skip("NumPy orders complex numbers, and halves have loops of their own")

    def program(np: Any) -> Any:
        x = VIEWS[view](np)
        with host.errstate(all="ignore"):
            return [USES[use](np, x) for _ in range(TIMES)]

    oracle.check(program)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("array", ARRAYS)
def test_parts_are_written(array: str, part: str, write: str) -> None:
    """What was read before is as it was."""

    def program(np: Any) -> Any:
        x = np.array(ARRAYS[array])
        seen = []
        for _ in range(TIMES):
            v = PARTS[part](x)
            seen.append((v[1, 1], v[0] * 1, v[1].sum()))
            WRITES[write](np, v)
            x += 1
        return seen, x

    oracle.check(program)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_are_written(view: str, write: str) -> None:
    def program(np: Any) -> Any:
        v = VIEWS[view](np)
        with host.errstate(all="ignore"):
            for _ in range(TIMES):
                WRITES[write](np, v)
        return v, v.base is None or v.base

    if view != "pairs":  # NumPy orders complex numbers
        oracle.check(program)


@pytest.mark.cpu("small arrays that are put off")
def test_small_arrays_that_are_put_off_have_no_layout() -> None:
    """By which keys that are no slices are told apart from others."""
    with deferring(), lf.options(eager_size=10_000):
        for _ in range(TIMES):
            x = lf.array(host.arange(-6.0, 6.0).reshape(4, 3))
            y = lf.maximum(x[:2], x[2:]) * 1.0
            assert (host.asarray(y[y > 3]) == [4.0, 5.0]).all()
            z = x * 2.0
            assert z[[1, 2]].shape == (2, 3) and z[x > 0].shape == (5,)


def test_no_reference_is_lost() -> None:
    """To None, and to how memory is read, by views that machine code makes."""
    x = lf.array(ARRAYS["c16"])
    real = x.real
    cast = real._cast
    for views in (lambda: x[3], lambda: x[1:3], lambda: real[3], lambda: real[1:3, ::2]):
        for turns in (100, 1000):
            before = sys.getrefcount(None), sys.getrefcount(cast)
            for _ in range(turns):
                views()
            after = sys.getrefcount(None), sys.getrefcount(cast)
        assert max(abs(after[0] - before[0]), abs(after[1] - before[1])) < 50
