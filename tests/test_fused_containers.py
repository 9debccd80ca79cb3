"""`fuse` on arrays in lists, tuples, named tuples and dicts: recorded as if each were an argument,
and left to the function where it does more with a container than to read it."""

from __future__ import annotations

import copy
import operator
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently

SIZE = 5000
SCALE = lf.asarray(host.linspace(1.0, 2.0, SIZE))


class State(NamedTuple):
    place: Any
    speed: Any
    time: float = 0.0


@pytest.fixture(params=[True, False], ids=["machine code", "Python"], autouse=True)
def _native(request: pytest.FixtureRequest) -> Iterator[None]:
    with lf.options(native=request.param):
        yield


def _array(seed: int, kind: Any = host) -> Any:
    return kind.asarray(host.random.default_rng(seed).random(SIZE) + 0.5)


def _same(given: Any, wanted: Any) -> None:
    """Compare results in containers."""
    if isinstance(wanted, tuple | list):
        assert type(given) is type(wanted) and len(given) == len(wanted)
        for one, other in zip(given, wanted, strict=True):
            _same(one, other)
    elif isinstance(wanted, dict):
        assert list(given) == list(wanted)
        _same(list(given.values()), list(wanted.values()))
    else:
        problems = list(oracle.compare("result", wanted, oracle.observe(given), oracle.Rules()))
        assert not problems, problems


def _calls(np: Any) -> dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Functions, and arguments of `np`'s arrays."""
    a, b, c = (_array(seed, np) for seed in range(3))
    parameters, gradients = {"w": a, "b": b}, {"w": b, "b": c}

    def descend(parameters: Any, gradients: Any, rate: float = 0.5) -> Any:
        return {name: parameters[name] - rate * gradients[name] for name in parameters}

    def advance(state: State, dt: float) -> State:
        speed = state.speed - dt * state.place
        return State(state.place + dt * speed, speed * 1, 1.5)

    return {
        "a dict": (descend, (parameters, gradients), {}),
        "by name": (descend, (parameters,), {"gradients": gradients, "rate": 0.25}),
        "a named tuple": (advance, (State(a, b, 1.0), 0.125), {}),
        "a list": (lambda arrays: sum(arrays), ([a, b, c],), {}),
        "a tuple and an array": (lambda pair, x: pair[0] * x + pair[1], ((a, b), c), {}),
        "in one another": (
            lambda d: d["l"][1][0] * d["l"][0] - d[2], ({"l": [a, (b,)], 2: c},), {},
        ),
        "with what is no array": (
            lambda d: d["x"] * 2 if d["how"] == "twice" else d["x"], ({"x": a, "how": "twice"},),
            {},
        ),
        "one array in two places": (lambda d: d["x"] * d["y"] + 1, ({"x": a, "y": a},), {}),
        "stacked": (lambda arrays: np.stack(arrays).sum(axis=0), ([a, b],), {}),
    }  # fmt: skip


@pytest.mark.parametrize("name", _calls(host))
def test_arrays_in_containers_are_arguments(name: str) -> None:
    function, args, kwargs = _calls(lf)[name]
    wanted_of, wanted_args, wanted_kwargs = _calls(host)[name]
    wanted = wanted_of(*wanted_args, **wanted_kwargs)
    fused = lf.fuse(function)
    for _ in range(5):
        _same(fused(*args, **kwargs), wanted)
    assert (fused.recordings, fused.replays, fused.reason) == (1, 3, "")


def test_numbers_in_containers_may_differ() -> None:
    fused = lf.fuse(lambda state: state["x"] * state["dt"] + state["t"])
    x = _array(0)
    for count in range(8):
        given = fused({"x": lf.asarray(x), "dt": 0.5 * count, "t": float(count)})
        _same(given, x * (0.5 * count) + float(count))
    assert fused.recordings <= 2 and fused.replays >= 4 and not fused.reason


def test_each_structure_is_its_own() -> None:
    """Other names, another order, keys that are equal but not the same, other lengths."""

    def function(d: Any) -> Any:
        return [*map(repr, d)], [value * 2 for value in d.values()]

    fused = lf.fuse(function)
    a, b = _array(0), _array(1)
    for keys in (("a", "b"), ("b", "a"), (1, 2), (True, 2), (1.0, 2), ((1,), 2), ((True,), 2)):
        given = dict(zip(keys, map(lf.asarray, (a, b)), strict=True))
        for _ in range(4):
            _same(fused(given)[1], [a * 2, b * 2])
            assert fused(given)[0] == [*map(repr, keys)]
    assert fused.recordings == 7 and not fused.reason
    count = lf.fuse(lambda arrays: sum(arrays) / len(arrays))
    for number in (1, 2, 3, 2, 1, 3, 1):
        _same(count([lf.asarray(a)] * number), sum([a] * number) / number)


def _changes(d: dict[str, Any]) -> Any:
    d["x"] = d["x"] + 1
    return d["x"] * 2


def _adds(d: dict[str, Any]) -> Any:
    if d.pop("y", None) is None:
        d["y"] = 1
    return d["x"] * 2


def _writes(d: dict[str, Any]) -> Any:
    d["x"] += 1
    return d["x"] * 2


def _replaces(arrays: list[Any]) -> Any:
    arrays[-1] = arrays[-1] * 2 if arrays[-1] < 4 else 1.0
    return arrays[0] * 2


@pytest.mark.parametrize("function", [_changes, _adds, _writes, _replaces])
def test_containers_that_change_are_the_callers(function: Any) -> None:
    mine, theirs = _array(0, lf), _array(0)
    is_list = function is _replaces
    given: Any = [mine, 1.0] if is_list else {"x": mine}
    wanted: Any = [theirs, 1.0] if is_list else {"x": theirs}
    fused = lf.fuse(function)
    for _ in range(5):
        _same(fused(given), function(wanted))
        _same(given, wanted)
    assert (
        not fused.replays
        and ("it writes" if function is _writes else "it changes") in fused.reason
    )


def test_the_reason_is_that_of_the_last_call() -> None:
    """Also where calls with containers and without take turns."""
    fused = lf.fuse(lambda x: (x, x[0] * 2) if isinstance(x, list) else x * 2)
    a = _array(0, lf)
    for _ in range(3):
        fused([a])
    assert "gives a container back" in fused.reason
    for _ in range(3):
        fused(a)
    assert not fused.reason


def test_a_container_that_is_given_back_is_the_callers() -> None:
    fused = lf.fuse(lambda d: (d, d["x"] * 2))
    given = {"x": _array(0, lf)}
    for _ in range(4):
        assert fused(given)[0] is given
    assert "gives a container back" in fused.reason


def test_arrays_that_the_function_reads_beside_containers() -> None:
    fused = lf.fuse(lambda pair: (pair[0] + pair[1]) * SCALE)
    a, b = _array(0), _array(1)
    for _ in range(5):
        _same(fused([lf.asarray(a), lf.asarray(b)]), (a + b) * host.linspace(1.0, 2.0, SIZE))
    assert fused.replays >= 2 and not fused.reason


def test_a_list_that_holds_itself_is_left_to_the_function() -> None:
    a = _array(0)
    ring: list[Any] = [lf.asarray(a)]
    ring += [ring] * 40
    fused = lf.fuse(lambda x: x[3][0] * 2)
    for _ in range(3):
        _same(fused(ring), a * 2)
    assert not fused.replays


def test_functions_that_call_themselves_and_errors() -> None:
    """What is under way is of the innermost call, and of the one before when that has ended."""

    @lf.fuse
    def halve(tree: dict[str, Any], depth: int) -> Any:
        if not depth:
            tree["seen"] = tree.get("seen", 0) + 1  # so that the caller's dict is given
            return tree["x"] * 0.5
        return halve({"x": tree["x"], "depth": depth}, depth - 1) + tree["x"]

    tree = {"x": _array(0, lf)}
    for _ in range(4):
        _same(halve(tree, 2), _array(0) * 0.5 + _array(0) + _array(0))
    assert list(tree) == ["x"]
    for count in range(4):
        halve(tree, 0)
        assert tree["seen"] == count + 1
    with pytest.raises(KeyError, match="'x'"):
        halve({"y": _array(0, lf)}, 0)


def test_methods_on_containers() -> None:
    class Model:
        def __init__(self, rate: float) -> None:
            self.rate = rate

        @lf.fuse
        def step(self, parameters: dict[str, Any]) -> Any:
            return {name: value * self.rate for name, value in parameters.items()}

    a = _array(0)
    for rate in (0.5, 0.25):
        model = Model(rate)
        for _ in range(4):
            _same(model.step({"a": lf.asarray(a)}), {"a": a * rate})
        model.rate = 3.0
        _same(model.step({"a": lf.asarray(a)}), {"a": a * 3.0})


def test_structures_are_bounded() -> None:
    fused = lf.fuse(lambda arrays: sum(arrays), signatures=2)
    a = _array(0)
    for number in (1, 2, 3, 4):
        for _ in range(4):
            _same(fused([lf.asarray(a)] * number), sum([a] * number))
    assert fused.recordings == 2


def test_many_threads_have_their_own_containers() -> None:
    wrong: list[Any] = []

    @lf.fuse
    def note(d: dict[str, Any]) -> Any:
        d["calls"] = d["calls"] + 1
        return d["x"] * d["y"]

    def work(number: int) -> None:
        a = _array(number)
        mine = {"x": lf.asarray(a), "y": float(number), "calls": 0}
        for count in range(20):
            if not host.array_equal(host.asarray(note(mine)), a * float(number)):
                wrong.append(number)
            if mine["calls"] != count + 1:
                wrong.append(number)

    concurrently(work, [(number,) for number in range(4)])
    assert not wrong


def test_code_in_containers_is_left_to_the_function() -> None:
    """It may read anything. NumPy's functions and dtypes stay what they are."""

    class Model:
        rate = 1.0

        def act(self, values: Any) -> Any:
            return values * self.rate

    model, a = Model(), _array(0)
    fused = lf.fuse(lambda p: p["act"](p["x"]))
    for count in range(6):
        model.rate = float(count)
        _same(fused({"x": lf.asarray(a), "act": model.act}), a * float(count))
    assert not fused.replays
    known = lf.fuse(lambda p: p["act"](p["x"]).astype(p["as"]))
    for _ in range(4):
        _same(
            known({"x": lf.asarray(a), "act": lf.negative, "as": host.float32}), (-a).astype("f4")
        )
    assert known.replays == 2


def test_functions_that_ask_which_container_is_which() -> None:
    fused = lf.fuse(lambda p, q: p[0] * 2 if p is q else p[0] * 3)
    arrays, other = [_array(0, lf)], [_array(0, lf)]
    for _ in range(4):
        _same(fused(arrays, arrays), _array(0) * 2)
        _same(fused(arrays, other), _array(0) * 3)


def test_identities_of_what_is_inside() -> None:
    """Also those that no code shows, and copies of two that are one."""

    class Asking:
        @staticmethod
        def same(one: Any, other: Any) -> bool:
            return one is other

    def copied(p: Any, q: Any) -> Any:
        one, other = copy.deepcopy((p, q))
        one["x"] = one["x"] + 1
        return other["x"] * 2

    a = _array(0)
    for function in (
        lambda p, q: p["x"] * (2 if Asking.same(p, q) else 3),
        lambda p, q: p["x"] * (2 if operator.is_(p["x"], q["x"]) else 3),
        copied,
    ):
        fused = lf.fuse(function)
        for count in range(8):
            mine = {"x": lf.asarray(a)}
            theirs = {"x": a}
            other, same = ({"x": lf.array(a)}, {"x": a.copy()}) if count % 3 else (mine, theirs)
            _same(fused(mine, other), function(theirs, same))


def test_lists_of_numbers_among_arrays_that_change() -> None:
    fused = lf.fuse(lambda d, e: (d["n"].append(5), d["x"] * len(e["n"]))[1])
    a = _array(0)
    for _ in range(5):
        numbers = [1]
        _same(fused({"x": lf.asarray(a), "n": numbers}, {"y": lf.asarray(a), "n": numbers}), a * 2)
        assert numbers == [1, 5]


def test_objects_among_arrays_are_left_to_the_function() -> None:
    """Their methods may read anything."""
    held = {"rate": 0.0}

    class Model:
        def scale(self, values: Any) -> Any:
            return values * held["rate"]

    a, model, module = _array(0), Model(), types.ModuleType("settings")
    fused = lf.fuse(lambda pair: pair[1].scale(pair[0]))
    read = lf.fuse(lambda pair: pair[0] * pair[1].rate)
    for count in range(6):
        held["rate"] = module.rate = float(count)  # type: ignore[attr-defined]  # of a module
        _same(fused([lf.asarray(a), model]), a * float(count))
        _same(read([lf.asarray(a), module]), a * float(count))


def test_a_dict_that_another_thread_changes() -> None:
    fused = lf.fuse(lambda d: d["x"] * 2)
    shared: dict[Any, Any] = {"x": _array(0, lf)}
    done: list[int] = []
    wrong: list[BaseException] = []

    def change() -> None:
        while not done:
            for key in range(20):
                shared[key] = 0
            for key in range(20):
                shared.pop(key)

    def call() -> None:
        try:
            for _ in range(2000):
                fused(shared)
        except BaseException as error:  # noqa: BLE001  # told below
            wrong.append(error)
        done.append(1)

    concurrently(lambda work: work(), [(change,), (call,)])
    assert not wrong


def test_recordings_of_all_structures_are_bounded() -> None:
    fused = lf.fuse(lambda arrays: sum(arrays), signatures=4)
    for number in range(1, 5):
        for more in range(4):
            arrays = [host.ones(SIZE + more)] * number
            for _ in range(4):
                _same(fused([lf.asarray(a) for a in arrays]), sum(arrays))
    assert fused.recordings == 4
