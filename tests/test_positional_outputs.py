"""Outputs by position, of operands that only NumPy has, and of another dtype than the result's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

lf = oracle.lf
Call = Callable[..., Any]

#: Of operands with two rows, by the shape of their result.
WHOLE: dict[str, Call] = {
    "cumsum": lambda np, z, out: np.cumsum(z, 0, None, out),
    "cumsum by name": lambda np, z, out: np.cumsum(z, axis=0, out=out),
    "cumprod": lambda np, z, out: np.cumprod(z, 1, None, out),
    "clip": lambda np, z, out: np.clip(z, -0.5, 0.5, out),
    "round": lambda np, z, out: np.round(z, 1, out),
    "around": lambda np, z, out: np.around(z, 1, out),
    "fix": lambda np, z, out: np.fix(z, out),
    "nancumsum": lambda np, z, out: np.nancumsum(z, 0, None, out),
    "take": lambda np, z, out: np.take(z, [1, 0], 0, out, "clip"),
    "choose": lambda np, z, out: np.choose([[1], [0]], [z, -z], out, "clip"),
}
FOLDED: dict[str, Call] = {
    "ptp": lambda np, z, out: np.ptp(z, 0, out),
    "nansum": lambda np, z, out: np.nansum(z, 0, None, out),
    "nanmax": lambda np, z, out: np.nanmax(z, 0, out),
    "nanmean": lambda np, z, out: np.nanmean(z, 0, None, out),
    "nanmedian": lambda np, z, out: np.nanmedian(z, 0, out),
}


@pytest.mark.parametrize("dtype", ["f8", ">f8", "longdouble"])
@pytest.mark.parametrize("columns", [4, 50_000])
@pytest.mark.parametrize("name", [*WHOLE, *FOLDED])
def test_outputs_by_position(name: str, columns: int, dtype: str) -> None:
    """They are written, and given back. NumPy was given read-only copies."""
    call, shape = (WHOLE | FOLDED)[name], (2, columns) if name in WHOLE else (columns,)

    def program(np: Any) -> Any:
        z = np.asarray(host.linspace(-1.0, 1.0, 2 * columns).astype(dtype).reshape(2, columns))
        out, table = np.zeros(shape), np.zeros((3, *shape))
        found, part = call(np, z, out), table[1]
        call(np, z, part)
        return found is out, out, table

    oracle.check(program)


@pytest.mark.parametrize("mode", [(), ("raise",), ("clip",), ("wrap",)])
def test_choose(mode: tuple[str, ...]) -> None:
    """Of arrays of the engine that NumPy computes: the third is its output."""

    def program(np: Any) -> Any:
        x, which = np.arange(30_000) * 1.0, np.arange(30_000) % 3
        out, table = np.zeros(30_000), np.zeros((3, 30_000))
        found = np.choose(which, [x, x + 1, x + 2], out, *mode)
        np.choose(which, [x, x + 1, x + 2], table[1], *mode)
        return found is out, out, table

    oracle.check(program)


def test_too_many_are_refused() -> None:
    def program(np: Any) -> Any:
        return np.nanmax(host.zeros((2, 3), ">f8"), 0, np.zeros(3), out=np.zeros(3))

    oracle.check(program)


FOLDS: dict[str, Call] = {
    "sum": lambda np, x, out: np.sum(x, axis=0, out=out),
    "sum of a dtype": lambda np, x, out: np.sum(x, axis=0, dtype="f4", out=out),
    "sum of a dtype by position": lambda np, x, out: np.sum(x, 0, "f4", out=out),
    "mean": lambda np, x, out: np.mean(x, axis=0, out=out),
    "var": lambda np, x, out: np.var(x, axis=0, out=out),
    "nansum": lambda np, x, out: np.nansum(x, axis=0, out=out),
    "round": lambda np, x, out: np.round(x[0], 2, out=out),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FOLDS)
def test_warnings_are_given_once(name: str, dtype: str) -> None:
    """Whatever dtype a row has that is an output."""

    def met(np: Any) -> tuple[list[str], Any]:
        x, table = np.asarray(host.full((200, 3000), 1e308)) * 1.0, np.zeros((200, 3000), dtype)
        host.asarray(x), host.asarray(table)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            FOLDS[name](np, x[:2], table[1])
            values = host.asarray(table)
        return [str(each.message) for each in caught], values

    (said, found), (numpys, wanted) = met(lf), met(host)
    assert said == numpys
    host.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("edge", [5, 400])
@pytest.mark.parametrize("dtype", ["f8", ">f8", ">i2", ">c16", "M8[s]"])
def test_contiguous_copies(dtype: str, edge: int) -> None:
    """Of dtypes that only NumPy has, too, however large."""

    def program(np: Any) -> Any:
        square = host.arange(edge * edge).astype(dtype).reshape(edge, edge)
        found = [np.ascontiguousarray(square.T), np.asfortranarray(square)]
        return [(each.flags.c_contiguous, each.flags.f_contiguous, each) for each in found]

    oracle.check(program)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3)])
def test_coordinates_at_the_end(shape: tuple[int, ...]) -> None:
    def program(np: Any) -> Any:
        walk = np.ones(shape).flat
        before = walk.coords
        return before, len(list(walk)), walk.coords

    oracle.check(program)


@pytest.mark.parametrize("which", [0, 1])
def test_choices_without_axes(which: int) -> None:
    """The result is a scalar."""
    oracle.check(lambda np: np.choose(which, [np.asarray(1.5), np.asarray(2)]))
    oracle.check(lambda np: np.choose(np.asarray(which), [np.float64(1.5), 2]))


@pytest.mark.parametrize("axis", [None, 0, -1, 1])
def test_scalars_are_repeated(axis: int | None) -> None:
    """As arrays of one axis."""
    oracle.check(lambda np: np.repeat((np.arange(4.0) + 1)[1], 2, axis))
    oracle.check(lambda np: np.repeat(np.asarray(3), 2, axis))


@pytest.mark.parametrize("bounds", [{"max": 0.5}, {"min": 0.5}, {"min": 0.2, "max": 0.4}])
def test_clip_into_rows(bounds: dict[str, float]) -> None:
    """With a bound, or with two; NaN stays."""

    def program(np: Any) -> Any:
        table, out = np.linspace(0.0, 1.0, 90_000).reshape(300, 300), np.zeros((300, 300))
        table[2, 3] = np.nan
        found, row = table[2].clip(**bounds, out=out[3]), out[5]
        table[4].clip(**bounds, out=row)
        table[1].clip(**bounds, out=table[1])
        return found, out, table

    oracle.check(program)
