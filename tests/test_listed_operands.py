"""Operators of small arrays beside lists and tuples: what NumPy makes of these."""

from __future__ import annotations

import operator
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests.oracle import check, options

Pair = namedtuple("Pair", "x y")


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """As users have it."""
    with options(eager_size=30_000, cold_size=400_000):
        yield


OPERATORS = {
    name: getattr(operator, name)
    for name in "add sub mul truediv floordiv mod matmul eq ne lt ge and_ or_ lshift".split()
}
IN_PLACE = {
    name: getattr(operator, name) for name in "iadd isub imul itruediv iand imatmul".split()
}
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "integers": lambda np: np.array([5, 7]),
    "floats": lambda np: np.array([0.5, 2.0]),
    "singles": lambda np: np.array([0.5, 2.0], "f4"),
    "bools": lambda np: np.array([True, False]),
    "complex": lambda np: np.array([1 + 2j, 3.0]),
    "rows": lambda np: np.arange(6).reshape(3, 2),
    "without axes": lambda np: np.array(3),
    "without elements": lambda np: np.zeros((0, 2)),
    "many": lambda np: np.arange(29_000.0).reshape(14_500, 2),
    "column": lambda np: np.arange(10_000.0).reshape(10_000, 1),
    "read-only": lambda np: np.broadcast_to(np.array([5, 7]), (2, 2)),
}
LISTED: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda np: (3, 4),
    "list": lambda np: [3, 4],
    "floats": lambda np: (0.5, 2.0),
    "mixed": lambda np: [True, 2.5],
    "NumPy's": lambda np: (np.float32(1.5), np.int8(3)),
    "large": lambda np: (10**30, 1),
    "three": lambda np: (1, 2, 3),
    "empty": lambda np: (),
    "one": lambda np: [2],
    "nested": lambda np: [[1, 2], [3, 4]],
    "ragged": lambda np: [[1, 2], [3]],
    "holds an array": lambda np: [np.array(1.0), 2],
    "words": lambda np: ("a", "b"),
    "None": lambda np: (None, 1),
    "a named one": lambda np: Pair(3, 4),
    "many": lambda np: [1] * 40,
    "thirty": lambda np: [1.5] * 30,
    "a range": lambda np: range(2),
}


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("listed", LISTED)
def test_operators(listed: str, array: str) -> None:
    def program(np: Any) -> list[Any]:
        found: list[Any] = []
        for name, apply in OPERATORS.items():
            for swaps in (False, True):
                x, y = ARRAYS[array](np), LISTED[listed](np)
                if listed == "large" and name == "lshift":
                    continue  # Python's integers would not end
                try:
                    result = apply(y, x) if swaps else apply(x, y)
                except Exception as error:  # noqa: BLE001 - whatever NumPy raises
                    found.append((name, swaps, type(error).__name__, str(error)))
                else:
                    is_list = isinstance(result, list | tuple)
                    found.append((name, swaps, type(result).__name__ if is_list else result))
        return [
            value if isinstance(value, host.ndarray | np.ndarray) else repr(value)
            for entry in found
            for value in entry
        ]

    with host.errstate(all="ignore"):
        check(program)


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("listed", LISTED)
def test_operators_in_place(listed: str, array: str) -> None:
    if (listed, array) == ("ragged", "read-only"):
        pytest.skip("two faults, of which NumPy tells the other one first")

    def program(np: Any) -> list[Any]:
        found: list[Any] = []
        for name, apply in IN_PLACE.items():
            x, y = ARRAYS[array](np), LISTED[listed](np)
            view = x[:1] if x.ndim else x
            try:
                result = apply(x, y)
            except Exception as error:  # noqa: BLE001 - whatever NumPy raises
                found += [name, type(error).__name__, str(error), x]
            else:
                found += [name, result, result is x, view]
        return [value if isinstance(value, host.ndarray | np.ndarray) else repr(value)
                for value in found]  # fmt: skip

    with host.errstate(all="ignore"):
        check(program)
