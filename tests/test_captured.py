"""Arrays that fused functions read from their modules and closures: read anew at each call."""

from __future__ import annotations

import functools
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently

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


def test_what_is_written_into_it_is_seen() -> None:
    weights, x = lf.asarray(numbers()), numbers(2.0)
    fused = lf.fuse(lambda x: x - weights)
    for number in range(6):
        weights[number] = 100.0
        same(fused(lf.asarray(x)), x - host.asarray(weights))
    assert fused.replays >= 3


def test_arrays_of_numpy_are_left_to_the_function() -> None:
    """What it makes of them is NumPy's, and seen by nobody."""
    weights = numbers()
    fused = lf.fuse(
        lambda x: (x * float(weights[0]), weights + 1.0, isinstance(weights, lf.ndarray))
    )
    for number in range(6):
        weights[0] = number
        found = fused(lf.asarray(numbers()))
        same(found[0], numbers() * number)
        assert type(found[1]) is host.ndarray
    assert not fused.replays


ALONE = {
    "identity": "def f(x): return x * 3.0 if v is w else x * 5.0",
    "of an argument": "def f(x): return x * 3.0 if x is w else x * 5.0",
    "type": "def f(x): return x * 3.0 if type(w) is type(v) else w",
    "read by a helper": "def h(): return float(w[0])\ndef f(x): return x * h() + w",
    "written by a helper": "def h(): w[0] += 1.0\ndef f(x): h(); return x * w",
    "rebound by a helper": "def h():\n global w; w = w * 2.0\ndef f(x): h(); return x * w",
    "made when wanted": (
        "ready = False\ndef h():\n global w, ready\n if not ready: w, ready = w + 1.0, True\n"
        "def f(x): h(); return x * w"
    ),
    "rebound by it": "def f(x):\n global w; w = w + x; return w",
    "another rebound": "def f(x):\n global v; v = x * w; return v + 1.0",
}


@pytest.mark.parametrize("name", ALONE)
def test_what_cannot_be_told_is_called(name: str) -> None:
    """Where it, or a function that it names, does more with them than to read them."""
    programs = []
    for array in (lf.asarray, host.asarray):
        v = array(numbers())
        programs.append(defined(ALONE[name], w=v, v=v))
    fused = lf.fuse(programs[0][0])
    for number in range(8):
        if number in (3, 6):
            for (_, names), array in zip(programs, (lf.asarray, host.asarray), strict=True):
                names["w"] = array(numbers(number))
        given = [
            names["w"] if name == "of an argument" else array(numbers(0.5))
            for (_, names), array in zip(programs, (lf.asarray, host.asarray), strict=True)
        ]
        same(fused(given[0]), programs[1][0](given[1]))
    assert not fused.replays


def test_own_variables_of_inner_functions() -> None:
    weights = lf.asarray(numbers())

    def outer(x: Any) -> Any:
        total = x * 0.5

        def more() -> None:
            nonlocal total
            total = total + weights

        more()
        return total

    fused = lf.fuse(outer)
    for _ in range(4):
        same(fused(lf.asarray(numbers())), numbers() * 0.5 + numbers())
    assert fused.replays


def test_raising_when_recorded() -> None:
    """It is called alone from then on."""

    def function(x: Any) -> Any:
        function.calls += 1  # type: ignore[attr-defined]
        if function.calls == 2:  # type: ignore[attr-defined]
            raise OSError("no")
        return x * 2.0

    function.calls = 0  # type: ignore[attr-defined]
    fused = lf.fuse(function)
    for _ in range(5):
        same(fused(lf.asarray(numbers())), numbers() * 2.0)
    assert function.calls == 6 and "OSError" in fused.reason  # type: ignore[attr-defined]
    assert not fused.replays


def test_threads_that_begin_together() -> None:
    """All have one set of captured arrays."""
    f, names = defined("def f(x, k=2.0): return x * w * k - v", w=lf.asarray(numbers()), v=1.0)
    wrong: list[int] = []
    fused = lf.fuse(f)

    def work(number: int) -> None:
        for _ in range(30):
            names["v"] = lf.asarray(numbers()) if number % 2 else numbers()[:1]
            found = host.asarray(fused(lf.asarray(numbers())))
            wanted = [numbers() * numbers() * 2.0 - v for v in (1.0, numbers())]
            if not any(host.array_equal(found, each) for each in wanted):
                wrong.append(number)

    concurrently(work, [(number,) for number in range(4)])
    assert not wrong


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


def test_errors_name_the_function() -> None:
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
