"""What pandas makes of NumPy's arrays it makes of LazyArrays: it asks for NumPy's own type in many
places, and takes other arrays for lists, labels or functions there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

pytestmark = pytest.mark.engine

lf = oracle.lf
SIZES = [6, 200_000]


def _frame(np: Any, size: int) -> Any:
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({"a": np.arange(size) % 7, "b": np.arange(size) * 1.5})


def arithmetic(np: Any, size: int) -> list[Any]:
    """A frame and a matrix, a row and a column, from both sides. They raised ValueError."""
    frame, ones = _frame(np, size), np.ones((size, 2))
    found = [frame - ones, ones * 3 - frame, frame + np.ones((1, 2)), frame * np.ones((size, 1))]
    return [*found, frame == ones, frame.sub(ones), ones > frame, frame.clip(ones, ones * 2)]


def logic(np: Any, size: int) -> list[Any]:
    """Integers of a series and of an array gave booleans."""
    numbers = _frame(np, size)["a"]
    return [numbers & np.arange(size), numbers | np.arange(size), (numbers > 3) ^ np.ones(size)]


def grouped(np: Any, size: int) -> list[Any]:
    """Groups by arrays raised TypeError: they were called, as functions of labels."""
    frame, keys = _frame(np, size), np.arange(size) % 3
    return [
        frame.groupby(keys).sum(),
        frame.groupby(["a", keys]).mean(),
        frame.groupby([keys, np.arange(size) % 2]).size(),
        frame["b"].groupby(np.where(keys > 1, "x", "y")).transform("mean"),
        frame.pivot_table(index=keys, values="b", aggfunc="sum"),
    ]


def labelled(np: Any, size: int) -> list[Any]:
    """Codes of values and an index made of an array raised TypeError."""
    pd = pytest.importorskip("pandas")
    frame, keys = _frame(np, size), np.arange(size) * 2
    codes, values = pd.factorize(keys % 5)
    unique = pd.unique(keys % 5)
    return [frame.set_index(keys), *map(pd.Series, (codes, values, unique))]


def empty(np: Any, size: int) -> list[Any]:
    """Empty ones had dtype object, and a frame had no columns."""
    pd = pytest.importorskip("pandas")
    return [pd.Series(np.zeros(0)), pd.DataFrame(np.zeros((0, 3))), pd.Index(np.arange(0))]


def written(np: Any, size: int) -> list[Any]:
    """A Series is written: so was a small array it was made of; that of a large one refused."""
    pd = pytest.importorskip("pandas")
    x = np.arange(float(size))
    series, index, frame = pd.Series(x), pd.Index(x), pd.DataFrame(x)
    series[0] = 7.0
    frame.iloc[1, 0] = 8.0
    wanted = pd.Series(host.array(x))
    x[2] = 9.0
    return [series, index, frame, wanted, pd.Series(host.array(x))]


def assigned(np: Any, size: int) -> list[Any]:
    """A mask with two axes raised AttributeError, floats without a fraction for a column of
    integers TypeError, places for rows AssertionError."""
    by_mask, by_label, by_place = (_frame(np, size) for _ in range(3))
    by_mask[np.ones((size, 2)) * np.array([1, 0]) > 0] = 7
    by_label.loc[:, "a"] = np.ones(size)
    by_place.iloc[np.array([1, 2])] = np.array([[1, 2], [3, 4]])
    return [by_mask, by_label, by_place]


def narrowed(np: Any, size: int) -> list[Any]:
    """It asked a LazyArray for `iloc`."""
    pd = pytest.importorskip("pandas")
    return [pd.Series(pd.to_numeric(np.arange(size) % 7 * 1.0, downcast="integer"))]


def read(np: Any, size: int) -> list[Any]:
    """Functions of a series, and an index as a key, took two to fifty times NumPy's time."""
    pd = pytest.importorskip("pandas")
    b, x = _frame(np, size)["b"] % 11, np.arange(size) * 1.0
    arrays = [np.unique(b), np.diff(b), np.where(b > 1, b, 0), np.hstack([b, b]), np.asarray(b)]
    arrays += [np.interp(x, b.index, b), x[b.index[1:4]], x[b > 3], np.append(b, 1)]
    arrays.append(np.corrcoef(b, x)[0])
    return [np.sqrt(b), np.isnan(b), np.maximum(b, 0), *map(pd.Series, arrays)]


PROGRAMS = [arithmetic, logic, grouped, labelled, empty, written, assigned, narrowed, read]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_arrays_of_pandas(program: Callable[[Any, int], list[Any]], size: int) -> None:
    """Types, dtypes, labels and values are those that NumPy's arrays give."""
    for given, wanted in zip(program(lf, size), program(host, size), strict=True):
        assert type(given) is type(wanted) and given.equals(wanted)


def test_frames_without_a_copy_are_written() -> None:
    """That of a large array refused it, as all do that are made by pandas before 3.0."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(lf.zeros((100_000, 2)) + 1.0, copy=False)
    frame.iloc[0, 0] = 5.0
    assert frame.iloc[:2, 0].tolist() == [5.0, 1.0]
