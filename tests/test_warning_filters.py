"""Python's warning filters hold for operations as they were when these were recorded."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf

pytestmark = pytest.mark.cpu("floating point flags")

SIZE = 5000


def _log(np: Any) -> Any:
    return np.log(np.zeros(SIZE))


def _several(np: Any) -> list[Any]:
    return [np.log(np.zeros(SIZE)), 1 / np.zeros(SIZE), np.sqrt(-np.ones(SIZE)),
            np.full(SIZE, 1e300) * 1e300]  # fmt: skip


FILTERS: dict[str, Callable[[], Any]] = {
    "ignore": lambda: warnings.simplefilter("ignore"),
    "a category": lambda: warnings.simplefilter("ignore", RuntimeWarning),
    "another category": lambda: warnings.simplefilter("ignore", DeprecationWarning),
    "a message": lambda: warnings.filterwarnings("ignore", message="divide by zero"),
    "another message": lambda: warnings.filterwarnings("ignore", message="hello"),
    "an operation": lambda: warnings.filterwarnings("ignore", message=".* encountered in log"),
    "all of a message": lambda: warnings.filterwarnings("ignore", message="overflow encountered"),
    "one of them": lambda: warnings.filterwarnings(
        "ignore", message="invalid value encountered in (sqrt|log)"
    ),
    "a pattern": lambda: warnings.filterwarnings(
        "ignore", message=r"\w+ by zero encountered in divide"
    ),
    "a module": lambda: warnings.filterwarnings("ignore", module=__name__.replace(".", r"\.")),
    "another module": lambda: warnings.filterwarnings("ignore", module="elsewhere"),
}


@pytest.mark.parametrize("size", [0, 65536], ids=["engine", "small"])
@pytest.mark.parametrize("name", FILTERS)
def test_filters_of_a_block_are_those_of_its_operations(name: str, size: int) -> None:
    """What is computed after the block warns as NumPy has warned inside."""
    with lf.options(eager_size=size):
        for _ in range(3):
            assert _heard(lf, FILTERS[name]) == _heard(host, FILTERS[name])


def _heard(np: Any, change: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with warnings.catch_warnings():
            change()
            results = _several(np)
        results += _several(np)
        for result in results:
            float(result.max())
    return sorted(str(each.message) for each in heard)


@pytest.mark.parametrize("size", [0, 65536], ids=["engine", "small"])
def test_a_filter_that_raises_for_one_message(size: int) -> None:
    with lf.options(eager_size=size), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="divide by zero")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in log"):
            _log(lf)
        float(lf.sqrt(-lf.ones(SIZE)).max())  # nothing
