"""Results that machine code writes into the memory of dead operands: where nobody can tell."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE or oracle.ON_GPU:
    pytest.skip("the code runs plans of the engine on the CPU", allow_module_level=True)

from lazyfuse.ir.plan import Wave  # noqa: E402 - when there is an engine
from lazyfuse.runtime import engine, session  # noqa: E402 - likewise
from lazyfuse.runtime.sequence import sequence  # noqa: E402 - likewise
from tests.test_ready import DONE, PYTHON, TOLD, flushes  # noqa: E402 - when there is an engine

__all__ = ["flushes"]
#: More than what is kept to tell conditions apart, and less.
LARGE, FEW = 40_000, 1000
TURNS = 8


def _numbers(size: int, dtype: str = "f8") -> host.ndarray:
    return host.random.default_rng(3).uniform(1, 2, size).astype(dtype)


def _address(x: Any) -> int:
    """Where the memory of an array begins that was computed."""
    return int(x._storage.node.buffer.pointer)


def _assert_same(wanted: Any, given: Any) -> None:
    """The same numbers; `given` is read without NumPy getting its memory."""
    values = host.array(given.tolist()) if type(given) is lf.LazyArray else given
    assert not list(oracle.compare("", wanted, values))


Turn = Callable[[Any, dict[str, Any], int], None]


def _in_place(np: Any, held: dict[str, Any], turn: int) -> None:
    held["x"] += turn + 0.5


def _anew(np: Any, held: dict[str, Any], turn: int) -> None:
    held["x"] = np.sqrt(held["x"] * 3 + turn) - held["y"]


def _two(np: Any, held: dict[str, Any], turn: int) -> None:
    held["x"] += held["v"] * 0.1
    held["v"] *= 0.5 + turn


def _part(np: Any, held: dict[str, Any], turn: int) -> None:
    held["x"][3:-5] *= 1.5 - turn


def _measured(np: Any, held: dict[str, Any], turn: int) -> None:
    """Other results have memory of their own."""
    held["x"] = held["x"] * 0.5 + turn
    held["v"] = (held["x"] * held["y"]).max()


def _between(np: Any, held: dict[str, Any], turn: int) -> None:
    """What is needed between two kernels has memory of its own, too."""
    held["x"] -= turn
    held["v"] = (np.cumsum(held["x"] * held["y"])[::-1] - np.cumsum(held["y"] + 1)).max()


def _apart(np: Any, held: dict[str, Any], turn: int) -> None:
    """Stored for nobody else: one kernel writes, the next one too."""
    held["x"][::2] += turn
    held["x"][1::2] -= turn


def _wave(np: Any, held: dict[str, Any], turn: int) -> None:
    grid = held["x"].reshape(200, -1)
    grid[1:-1, 1:-1] *= 0.5 + grid[1:-1, 1:-1]
    grid[1:-1, 1:-1] += turn


PROGRAMS: dict[str, tuple[Turn, tuple[str, ...]]] = {
    "in place": (_in_place, ("x",)),
    "anew": (_anew, ("x",)),
    "two": (_two, ("x", "v")),
    "part": (_part, ("x",)),
    "measured": (_measured, ("x",)),
    "between": (_between, ("x",)),
    "apart": (_apart, ("x",)),
    "wave": (_wave, ("x",)),
}


@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("name", PROGRAMS)
def test_taken(name: str, threads: int, flushes: list[str]) -> None:
    """The same memory in every turn, with NumPy's values; what else is read stays."""
    turn, names = PROGRAMS[name]
    wanted = {each: _numbers(LARGE) for each in "xyv"}
    held = {each: lf.array(values) for each, values in wanted.items()}
    places = set()
    with lf.options(threads=threads):
        for number in range(TURNS):
            turn(host, wanted, number)
            turn(lf, held, number)
            lf.materialize(*(held[each] for each in names), held["v"])
            places.add(frozenset(_address(held[each]) for each in names))
            for each, values in wanted.items():
                _assert_same(values, held[each])
    assert flushes.count(PYTHON) <= 3 and len(places) == 1


def test_waves_in_taken_memory(flushes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that write more than a cache holds run band by band there, too."""
    backend = session.backend("cpu")
    monkeypatch.setattr(type(backend), "band_bytes", 1 << 15)
    wanted, held = {"x": _numbers(LARGE)}, {"x": lf.array(_numbers(LARGE))}
    for number in range(TURNS):
        for np, arrays in ((host, wanted), (lf, held)):
            _wave(np, arrays, number)
            _wave(np, arrays, 2)
        lf.materialize(held["x"])
    _assert_same(wanted["x"], held["x"])
    assert flushes[-1] == DONE
    (ready,) = session.ready.values()
    found = sequence(ready.known.plan, backend, None, {0})
    assert found is not None and not found.memory
    assert [type(step.of) for step in found.steps] == [Wave]


def _held(x: Any, kept: list[Any]) -> None:
    """Another array has the old version."""
    kept.append(x * 1)
    kept[-1] = x


def _read(x: Any, kept: list[Any]) -> None:
    """A pending array reads it."""
    kept.append(x * 2)


def _read_inside(x: Any, kept: list[Any]) -> None:
    """A pending array reads one that reads it."""
    kept.append((x - 1) * 2)


def _exported(x: Any, kept: list[Any]) -> None:
    """NumPy has its memory."""
    kept.append(lf.asnumpy(x))


def _view(x: Any, kept: list[Any]) -> None:
    kept.append(x[5:])


@pytest.mark.parametrize("keep", (_held, _read, _read_inside, _exported, _view))
def test_what_somebody_needs_is_not_taken(
    keep: Callable[[Any, list[Any]], None], flushes: list[str]
) -> None:
    """Also after turns in which nobody did."""
    for late in (False, True):
        x, number = lf.array(_numbers(LARGE)), _numbers(LARGE)
        for turn in range(TURNS):
            kept: list[Any] = []
            if not late or turn == TURNS - 1:
                keep(x, kept)
            before = number
            x, number = (x - 1) * 0.5, (number - 1) * 0.5
            lf.materialize(x)
            _assert_same(number, x)
            for found in kept:
                wanted: list[Any] = []
                keep(before, wanted)
                _assert_same(wanted[-1], found)
        assert flushes.count(DONE) > 2


@pytest.mark.parametrize("keep", ("", "x", "y", "z"))
def test_memory_is_taken_for_results_alone(keep: str, flushes: list[str]) -> None:
    """Where what is stored for other kernels alone would take a leaf, nothing is taken."""

    def program(np: Any, held: dict[str, Any]) -> None:
        held["z"][1::2] *= 2.0
        held["y"] = np.where(held["y"] > 1.2, held["x"], held["y"])
        held["z"] = np.where(held["z"] > 1.2, held["y"], held["y"])

    for turn in range(TURNS):
        wanted = {each: _numbers(LARGE) + 0.1 * place for place, each in enumerate("xyz")}
        held = {each: lf.array(values) for each, values in wanted.items()}
        kept = [(given[keep] * 3) for given in (wanted, held)] if keep and turn > 4 else []
        program(host, wanted)
        program(lf, held)
        del held["x"]
        lf.materialize(*held.values())
        for each, values in held.items():
            _assert_same(wanted[each], values)
        if kept:
            _assert_same(*kept)
    assert flushes.count(DONE) > 2


def test_a_shared_inside_is_not_lost(flushes: list[str]) -> None:
    """An array that is computed on the way and held is still there, for whoever asks later."""
    x, number = lf.array(_numbers(LARGE)), _numbers(LARGE)
    for turn in range(TURNS):
        inside, wanted = x + turn, number + turn
        x, number = inside * 0.5, wanted * 0.5
        lf.materialize(x)
        _assert_same(number, x)
        _assert_same(wanted, inside)
        del inside


def test_borrowed_memory_is_not_taken(flushes: list[str]) -> None:
    """That of an array of NumPy's which is not copied."""
    data = _numbers(LARGE)
    for _ in range(TURNS):
        x = lf.from_dlpack(data, copy=False)
        before = data.copy()
        x = x * 0.5
        lf.materialize(x)
        _assert_same(before, data)
        _assert_same(before * 0.5, x)
    assert flushes.count(DONE) > 2


def test_counted(flushes: list[str]) -> None:
    x = lf.array(_numbers(LARGE))
    for _ in range(TURNS):
        x += 1.0
        lf.reset_stats()
        lf.materialize(x)
    stats = lf.stats()
    assert flushes[-1] == DONE
    assert (stats.donations, stats.kernels_launched, stats.plan_hits) == (1, 1, 1)
    assert (stats.bytes_read, stats.bytes_written) == (8 * LARGE, 8 * LARGE)


def test_conditions_are_told_without_the_operands(flushes: list[str]) -> None:
    """The line that overflowed; the values are those of the operation, and stay."""
    number = _numbers(LARGE) * 1e300
    x = lf.array(number)
    for turn in range(TURNS):
        factor = 1e30 if turn == TURNS - 1 else 1.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x *= factor
            lf.materialize(x)
        assert [str(each.message) for each in caught] == (
            ["overflow encountered in multiply"] if factor > 1 else []
        )
    assert flushes[-1] == TOLD
    with host.errstate(over="ignore"):
        _assert_same(number * 1e30, x)
    with pytest.raises(FloatingPointError), host.errstate(invalid="raise"):
        x *= 0.0
        lf.materialize(x)
    assert host.isnan(host.array(x)).all()


@pytest.mark.parametrize("is_raised", (False, True))
@pytest.mark.parametrize("is_known", (False, True))
def test_interrupted_before_conditions_are_told(
    is_known: bool, is_raised: bool, flushes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler of a signal that asks for the result, or raises: the operand is gone by then."""
    number = _numbers(LARGE)
    number[7] *= 1e300
    x = lf.array(number)
    for _ in range(TURNS if is_known else 2):
        x *= 1.0
        lf.materialize(x)
    asked: list[bool] = []

    def handled() -> None:
        asked.append(True)
        if is_raised:
            raise KeyboardInterrupt
        with host.errstate(over="ignore"):
            _assert_same(number * 1e30, x)

    machine, found = engine.machines[-1], engine.find

    def flush(*given: Any) -> Any:
        answer = machine.flush(*given)
        if not asked:
            handled()
        return answer

    def find(*given: Any, **named: Any) -> Any:
        handled()
        return found(*given, **named)

    if is_known:
        monkeypatch.setattr(engine, "machines", [machine._replace(flush=flush)])
    elif is_raised:
        monkeypatch.setattr(engine, "find", find)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        x *= 1e30
        if is_raised:
            with pytest.raises(KeyboardInterrupt):
                lf.materialize(x)
        else:
            lf.materialize(x)
    with host.errstate(over="ignore"):
        _assert_same(number * 1e30, x)
    assert asked or not (is_known or is_raised)


def test_few_are_kept_to_tell_conditions_apart(flushes: list[str]) -> None:
    """Where two operations may meet the same condition, the operand tells which of them did."""
    x = lf.array(_numbers(FEW) * 1e300)
    for turn in range(TURNS):
        factor = 1e30 if turn == TURNS - 1 else 1.0
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = x * 1.0
            x = x * factor  # this one
            lf.materialize(x)
        line = test_few_are_kept_to_tell_conditions_apart.__code__.co_firstlineno + 8
        assert [each.lineno for each in caught] == ([line] if factor > 1 else [])
    assert flushes[-1] == TOLD
