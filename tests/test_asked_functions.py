"""NumPy's own functions, called with arrays of ours: ours do it, or the array has the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.python_calls import python_calls

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)


@pytest.fixture(autouse=True, params=[0, 1000])
def eager_size(request: pytest.FixtureRequest) -> Iterator[int]:
    with lf.options(eager_size=request.param):
        yield request.param


#: By name: calls that take few functions of Python's.
CALLS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: host.shape(x),
    "ndim": lambda x: host.ndim(x),
    "size": lambda x: host.size(x),
    "result_type": lambda x: host.result_type(x),
    "iscomplexobj": lambda x: host.iscomplexobj(x),
    "isrealobj": lambda x: host.isrealobj(x),
    "concatenate": lambda x: host.concatenate([x, x]),
    "sum": lambda x: host.sum(x),
    "axis": lambda x: host.sum(x, -1),
    "reshape": lambda x: host.reshape(x, (2, 3)),
    "dot": lambda x: host.dot(x, x),
    "where": lambda x: host.where(x > 1, x, 0.0),
}
#: Those that do more.
OTHERS: dict[str, Callable[[Any], Any]] = {
    "of a list": lambda x: (host.shape([x, x]), host.ndim([x]), host.result_type(x, 1j)),
    "of a size": lambda x: (host.size(x, 0), host.size([x, x])),
    "keywords": lambda x: host.sum(x, keepdims=True),
    "with NumPy's": lambda x: host.concatenate([x, host.ones(2)]),
    "no such axis": lambda x: host.sum(x, 7),
    "unique": lambda x: host.unique(x),
    "inverse": lambda x: host.unique(x, return_inverse=True),
    "interp": lambda x: host.interp(2.0, x, x),
    "strings": lambda x: host.full_like(x, "a", dtype=object),
    "zeros_like": lambda x: host.zeros_like(x),
    "at least": lambda x: host.atleast_2d(x),
    "callbacks": lambda x: host.apply_along_axis(lambda row: row.sum(), 0, x),
    "refused": lambda x: host.concatenate(x, None, x),
}


@pytest.mark.parametrize("name", [*CALLS, *OTHERS])
def test_answers_are_numpys(name: str) -> None:
    oracle.check(lambda np, x: (CALLS | OTHERS)[name](x), host.arange(6.0))


@pytest.mark.cpu("small arrays that are NumPy's")
@pytest.mark.parametrize("name", CALLS)
def test_little_is_asked(name: str, eager_size: int) -> None:
    """They took 20 functions of Python's before ours was called."""
    x = lf.arange(6.0)
    CALLS[name](x)
    calls = python_calls(lambda: CALLS[name](x))
    assert "_at_once" in calls[calls.index("array_function") :][:5]


def test_scalars_of_ours() -> None:
    total = lf.arange(50_000.0).sum()
    assert host.shape(total) == () and host.ndim(total) == 0
    assert host.result_type(total) == "f8" and not host.iscomplexobj(total)


def test_others_decide() -> None:
    class Deciding:
        def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return function.__name__

    x = lf.arange(3.0)
    assert host.concatenate([x, Deciding()]) == "concatenate"
    assert host.dot(x, Deciding()) == "dot"
