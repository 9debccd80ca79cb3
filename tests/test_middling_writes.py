"""What is done at once with whole arrays of some tens of thousands of elements, and with long
lists of small ones: NumPy's answers, and NumPy's work alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests.oracle import IS_ENGINE, check, lf, options

#: More elements than small arrays have; up to `AT_ONCE` of `frontend/windows.py`.
SHAPE = (250, 200)


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """As users have it."""
    with options(eager_size=30_000, cold_size=400_000):
        yield


def pair(np: Any, dtype: str = "f8", shape: tuple[int, ...] = SHAPE) -> tuple[Any, Any]:
    count = int(host.prod(shape))
    target = np.zeros(shape, dtype)
    target[...] = np.asarray(host.arange(count) % 7).reshape(shape)
    return target, (np.arange(count).reshape(shape) % 11 + 1).astype(dtype)


def assigned(key: Any) -> Callable[[Any, Any, Any], Any]:
    def program(np: Any, x: Any, y: Any) -> Any:
        x[key] = y[key]
        return x

    return program


def left(function: str, *rest: Any, **options: Any) -> Callable[[Any, Any, Any], Any]:
    """A function that changes its first argument."""

    def program(np: Any, x: Any, y: Any) -> Any:
        given = [each(np, x, y) if callable(each) else each for each in rest]
        named = {key: each(np, x, y) if callable(each) else each for key, each in options.items()}
        getattr(np, function)(x, *given, **named)
        return x

    return program


def mask(np: Any, x: Any, y: Any) -> Any:
    return y > 5


def other(np: Any, x: Any, y: Any) -> Any:
    return y


def itself_reversed(np: Any, x: Any, y: Any) -> Any:
    return x[::-1]


WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "...": assigned(...),
    ":": assigned(slice(None)),
    ":, :": assigned((slice(None), slice(None))),
    "inside": assigned((slice(1, -1), slice(1, -1))),
    "backwards": assigned((slice(None, None, -1), ...)),
    "copyto": left("copyto", other),
    "copyto itself": left("copyto", itself_reversed),
    "copyto where": left("copyto", other, where=mask),
    "copyto itself where": left("copyto", itself_reversed, where=mask),
    "copyto a number where": left("copyto", 3, where=mask),
    "putmask": left("putmask", mask, other),
    "putmask a list": left("putmask", mask, [1, 2, 3]),
    "place": left("place", mask, [3, 1]),
    "put": left("put", [3, 5, -1], [1, 2, 0]),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "c16", "?"])
@pytest.mark.parametrize("name", WRITES)
def test_arrays_written_whole(name: str, dtype: str) -> None:
    def program(np: Any) -> list[Any]:
        x, y = pair(np, dtype)
        before, part = x * 1, x[3:5]
        result = WRITES[name](np, x, y)
        return [result, before, part, y]

    check(program)


@pytest.mark.parametrize("given", ["f4", "i4", "c16", "u1"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "c8"])
def test_arrays_of_other_dtypes(dtype: str, given: str) -> None:
    def program(np: Any) -> list[Any]:
        x, _ = pair(np, dtype)
        _, y = pair(np, given)
        x[...] = y
        return [x]

    check(program)


def test_outputs_of_clip() -> None:
    def program(np: Any) -> list[Any]:
        x, y = pair(np)
        k, _ = pair(np, "i8")
        found = [np.clip(x, 1.5, 4, y), x.clip(2, None, out=x), np.clip(k, 2, 5, out=k)]
        return [*found, x, y, k, found[0] is y, found[1] is x, found[2] is k]

    check(program)


def test_outputs_of_clip_that_do_not_fit() -> None:
    """They raise what NumPy raises, and nothing is written."""

    def program(np: Any) -> list[Any]:
        x, y = pair(np)
        k, _ = pair(np, "i8")
        closed = y * 1
        closed.flags.writeable = False
        told = []
        for given in ((x, 1, 3, k), (x, 1, 3, x[:3]), (x, 1, 3, closed), (k, 1.5, 3, k)):
            try:
                np.clip(*given)
            except (TypeError, ValueError) as error:
                told.append(type(error).__name__)
        return [*told, np.clip(k, 0.5, 3, x), x, y, k, closed]

    check(program)


BLOCKS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "row": lambda np, x, y: [x, y],
    "column": lambda np, x, y: [[x], [y]],
    "table": lambda np, x, y: [[x, y], [y, x]],
    "one": lambda np, x, y: [[x]],
    "one in a row": lambda np, x, y: [x],
    "uneven": lambda np, x, y: [[x[:, :50], y], [y, x[:, :50]]],
    "uneven rows": lambda np, x, y: [[x], [y[:, :100], y[:, 100:]]],
    "lines": lambda np, x, y: [x[3], y[4]],
    "of other axes": lambda np, x, y: [[x], [y[3]]],
    "of other dtypes": lambda np, x, y: [[x], [y.astype("f4")]],
    "F order": lambda np, x, y: [[np.asfortranarray(x), np.asfortranarray(y)]],
    "that do not fit": lambda np, x, y: [[x], [y[:, 1:]]],
    "rows that do not fit": lambda np, x, y: [[x, y[1:]]],
    "of other depths": lambda np, x, y: [[x], y],
    "empty": lambda np, x, y: [[x], []],
    "deep": lambda np, x, y: [[[x], [y]]],
    "large": lambda np, x, y: [[np.concatenate([x] * 8)], [np.concatenate([y] * 8)]],
    "of no elements": lambda np, x, y: [[x[:0], y[:0]]],
    "stacks": lambda np, x, y: [[x.reshape(5, 50, 200)], [y.reshape(5, 50, 200)]],
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks(name: str) -> None:
    def program(np: Any) -> list[Any]:
        x, y = pair(np)
        try:
            found = np.block(BLOCKS[name](np, x, y))
        except ValueError as error:
            return [str(error)]
        x[...] = 0  # of which the blocks are copies
        return [found, found.flags.c_contiguous, found.flags.f_contiguous]

    check(program)


@pytest.mark.parametrize("full", [True, False])
def test_conditions_of_flat(full: bool) -> None:
    def program(np: Any) -> list[Any]:
        x, y = pair(np)
        given = x if full else x.T
        where = (y if full else y.T).ravel() > 5
        found = [given.flat[where], given.flat[host.asarray(where)], given.flat[where & False]]
        given.flat[where] = 7.5
        given.flat[~where] = [1.0, 2.0]
        for other in (where[:-1], where.reshape(2, -1)):  # which NumPy refuses from 2.4 on
            try:
                found.append(given.flat[other])
            except IndexError as error:
                found.append(type(error).__name__)
        return [*found, x]

    check(program)


MANY = 40_000
PIECES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda np: [np.arange(3.0) + n for n in range(MANY)],
    "pairs": lambda np: [[np.arange(2) + n, np.arange(2)] for n in range(MANY)],
    "a number first": lambda np: [1.0, *[np.array(2.0)] * MANY],
    "a list first": lambda np: [[1.0, 2.0], *[np.arange(2.0)] * MANY],
    "a list last": lambda np: [*[np.arange(2.0)] * MANY, [1.0, 2.0]],
    "a number last": lambda np: [*[np.array(2)] * MANY, 1.0],
    "tuples": lambda np: tuple((1, np.float64(n)) for n in range(MANY)),
    "NumPy's": lambda np: [host.arange(2.0) for n in range(MANY)],
    "one in the middle": lambda np: [1.0] * MANY + [np.array(2.0)] + [3.0] * MANY,
    "of no elements": lambda np: [np.zeros((0, 2))] * MANY,
}
JOINED: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda np, items: np.array(items),
    "asarray": lambda np, items: np.asarray(items, "f4"),
    "concatenate": lambda np, items: np.concatenate(items),
    "stack": lambda np, items: np.stack(items, axis=-1),
    "vstack": lambda np, items: np.vstack(items),
    "sum": lambda np, items: np.sum(items, axis=0),
    "add": lambda np, items: np.add(items, 1),
}


@pytest.mark.parametrize("joined", JOINED)
@pytest.mark.parametrize("name", PIECES)
def test_long_lists(name: str, joined: str) -> None:
    def program(np: Any) -> list[Any]:
        try:
            return [JOINED[joined](np, PIECES[name](np))]
        except ValueError as error:
            return [str(error)]

    check(program)


@pytest.mark.skipif(not IS_ENGINE, reason="NumPy in lazyfuse's place has no engine")
def test_long_lists_are_joined_once() -> None:
    """No piece goes into the engine by itself: that took a hundred times as long."""
    items = PIECES["rows"](lf)
    found = lf.concatenate(items)
    assert found.shape == (3 * MANY,) and found._storage.node.buffer is not None


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("call", ["sin", "array", "sum", "concatenate"])
def test_long_lists_that_hold_themselves(call: str, place: int) -> None:
    items: list[Any] = [1.0] * MANY
    items[place] = items
    with pytest.raises((ValueError, RecursionError)):
        getattr(lf, call)(items)


RANGES = [range(0), range(5), range(2, 40, 3), range(9, -1, -2), range(300), range(70_000)]


@pytest.mark.parametrize("given", RANGES, ids=str)
def test_ranges(given: range) -> None:
    def program(np: Any) -> list[Any]:
        found = [
            np.array(given),
            np.asarray(given),
            np.asarray(given, float),
            np.asanyarray(given),
        ]
        joined = [np.concatenate([given, given]), np.sum(given), np.array([given, given])]
        return [*found, np.array(given, np.uint8) if len(given) < 9 else 0, *joined]

    check(program)


def test_ranges_that_no_array_holds() -> None:
    for given in (range(10**30), range(10**25, 10**25 + 2)):
        for make in ("array", "asarray"):
            outcome = []
            for np in (lf, host):
                try:
                    outcome.append(getattr(np, make)(given).dtype)
                except (ValueError, OverflowError, MemoryError) as error:
                    outcome.append(type(error))
            assert outcome[0] == outcome[1]


@pytest.mark.parametrize("dtype", ["c16", "c8", "f8", "i4", "?"])
def test_python_numbers_of_elements(dtype: str) -> None:
    def program(np: Any) -> list[Any]:
        x = np.array(1, dtype)
        told: list[Any] = []
        for given in (x, np.zeros(2, dtype)):
            for kind in (complex, bool):
                try:
                    told.append(kind(given))
                except (TypeError, ValueError) as error:
                    told.append(str(error))
        return told

    check(program)
