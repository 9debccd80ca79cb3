"""Arrays that fused functions read from their modules and closures: read anew at each call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

SIZE = 6_000
KINDS = {"large": 1_000, "small": 20_000}


@pytest.fixture(params=KINDS, autouse=True)
def kind(request: pytest.FixtureRequest) -> Any:
    """As arrays of the engine, and as small ones."""
    with lf.options(eager_size=KINDS[request.param]):
        yield request.param


def numbers(start: float = 1.0) -> host.ndarray:
    return host.linspace(start, start + 2.0, SIZE)


def same(found: Any, wanted: Any) -> None:
    host.testing.assert_array_equal(host.asarray(found), host.asarray(wanted))


def defined(source: str, **names: Any) -> Any:
    """The function `f` of a module with these globals, and the globals."""
    exec(source, names)
    return names["f"], names


def test_a_global_is_read_at_each_call() -> None:
    f, names = defined("def f(x): return x * w + 1.0", w=lf.asarray(numbers()))
    fused, x = lf.fuse(f), numbers(0.5)
    for start in (1.0, 1.0, 1.0, 1.0, -3.0, -3.0, 7.0):
        names["w"] = lf.asarray(numbers(start))
        same(fused(lf.asarray(x)), x * numbers(start) + 1.0)
    assert fused.replays >= 4 and fused.recordings == 1 and not fused.reason


@pytest.mark.parametrize("make", (lf.asarray, host.asarray), ids=("ours", "NumPy's"))
def test_what_is_written_into_it_is_seen(make: Callable[[Any], Any]) -> None:
    weights, x = make(numbers()), numbers(2.0)
    fused = lf.fuse(lambda x: x - weights)
    for number in range(6):
        weights[number] = 100.0
        same(fused(lf.asarray(x)), x - host.asarray(weights))
    assert fused.replays >= 3


def test_cells_and_globals_of_inner_functions() -> None:
    first, second = lf.asarray(numbers(3.0)), lf.asarray(numbers(4.0))

    def outer(x: Any, by: float = 2.0, *, more: Any = None) -> Any:
        return (lambda y: y * first)(x) + [second * by for _ in range(2)][1] + (more or 0.0)

    fused, x = lf.fuse(outer), numbers()
    for by in (2.0, 2.0, 2.0, 3.0, 3.0, 3.0):
        wanted = outer(x, by, more=1.5)
        same(fused(lf.asarray(x), by, more=1.5), wanted)
    first = lf.asarray(numbers(9.0))
    same(fused(lf.asarray(x), 3.0, more=1.5), x * numbers(9.0) + numbers(4.0) * 3.0 + 1.5)
    assert fused.replays >= 3


def test_it_may_become_something_else() -> None:
    f, names = defined("def f(x): return x * w", w=lf.asarray(numbers()))
    fused, x = lf.fuse(f), numbers(0.25)
    others = (2.0, 2.5, host.float32(0.5), numbers(5.0)[::2].repeat(2), numbers(5.0)[:1], True)
    for _ in range(4):
        for value in (lf.asarray(numbers()), *others):
            names["w"] = value
            same(fused(lf.asarray(x)), x * host.asarray(value))
    del names["w"]
    with pytest.raises(NameError, match="'w'"):
        fused(lf.asarray(x))
    names["w"] = 4.0
    same(fused(lf.asarray(x)), x * 4.0)


def test_one_array_as_argument_and_read() -> None:
    weights = lf.asarray(numbers())
    fused = lf.fuse(lambda x: x * 2.0 - weights)
    for _ in range(4):
        same(fused(weights), numbers())
    same(fused(lf.asarray(numbers(2.0))), numbers(2.0) * 2.0 - numbers())


def test_results_are_not_what_is_read() -> None:
    weights = lf.asarray(numbers())
    fused = lf.fuse(lambda x: (x + 1.0, weights))
    for _ in range(4):
        assert fused(lf.asarray(numbers()))[1] is weights
    assert not fused.replays


def test_what_a_function_assigns_is_its_own() -> None:
    """Rebinding a global or a variable around it is a change that each call makes."""
    source = "def f(x):\n    global w\n    w = w + x\n    return w * 2.0"
    f, names = defined(source, w=lf.asarray(numbers()))
    fused, wanted, x = lf.fuse(f), numbers(), numbers(0.5)
    for _ in range(5):
        wanted = wanted + x
        same(fused(lf.asarray(x)), wanted * 2.0)
        same(names["w"], wanted)
    assert not fused.replays


def test_methods_partials_and_fused_functions_inside() -> None:
    weights = lf.asarray(numbers())
    inner = lf.fuse(lambda x: x * weights)

    class Model:
        rate = 0.5

        @lf.fuse
        def step(self, x: Any) -> Any:
            return x * self.rate + weights

    model, x = Model(), numbers(1.5)
    outer = lf.fuse(lambda x: inner(x) - 1.0)
    partial = lf.fuse(functools.partial(lambda by, x: x * by + weights, 3.0))
    for _ in range(5):
        same(model.step(lf.asarray(x)), x * 0.5 + numbers())
        same(outer(lf.asarray(x)), x * numbers() - 1.0)
        same(partial(lf.asarray(x)), x * 3.0 + numbers())
    assert Model.step.replays >= 3


def test_errors_name_the_function(capsys: pytest.CaptureFixture[str]) -> None:
    f, names = defined("def f(x): return x * w", w=lf.asarray(numbers()))
    fused = lf.fuse(f)
    for _ in range(3):
        fused(lf.asarray(numbers()))
    names["w"] = lf.asarray(numbers()[:5])
    with pytest.raises(ValueError, match="broadcast"):
        fused(lf.asarray(numbers()))
    with pytest.raises(TypeError, match=r"f\(\) missing 1 required positional argument: 'x'"):
        fused()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        fused(lf.asarray(numbers()), z=1)
