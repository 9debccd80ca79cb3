"""Functions of parts of large arrays ask NumPy once: what it gives is new memory, whatever holds
it, and what is not is refused before anything is computed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """As users have it."""
    with lf.options(eager_size=30_000, cold_size=400_000):
        yield


def parts(np: Any) -> dict[str, Any]:
    table = np.array(host.arange(60_000.0).reshape(200, 300) % 17)
    whole = np.array(host.arange(60_000).reshape(200, 300) % 7)
    if np is lf:
        lf.materialize(table, whole)
    return {
        "x": table[3],
        "y": table[4, :9],
        "k": whole[5],
        "p": whole[6, :12],
        "m": table[3:9, :8],
    }


CALLS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "histogramdd": lambda np, d: np.histogramdd((d["x"], d["x"]), 5),
    "unique_inverse": lambda np, d: tuple(np.unique_inverse(d["k"])),
    "unique_counts": lambda np, d: tuple(np.unique_counts(d["k"])),
    "unique_all": lambda np, d: tuple(np.unique_all(d["k"])),
    "outer": lambda np, d: np.outer(d["y"], d["p"]),
    "outer of a list": lambda np, d: np.outer(d["p"], [1, 2, 3]),
    "kron": lambda np, d: np.kron(d["y"], d["p"]),
    "tensordot": lambda np, d: np.tensordot(d["m"], d["m"], ((0, 1), (0, 1))),
    "tensordot by hand": lambda np, d: np.tensordot(d["p"], d["p"], 0),
    "meshgrid": lambda np, d: np.meshgrid(d["y"], d["p"]),
    "fft": lambda np, d: np.fft.fft(d["k"]),
    "fft of more": lambda np, d: np.fft.fft(d["k"], 512),
    "repeat": lambda np, d: np.repeat(d["y"], 3),
    "tile": lambda np, d: np.tile(d["y"], (2, 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_values(name: str) -> None:
    oracle.check(lambda np: CALLS[name](np, parts(np)))


def times(name: str, run: Callable[[], object]) -> int:
    """How often NumPy's function of this name runs."""
    found = 0

    def look(frame: FrameType, event: str, argument: object) -> None:
        nonlocal found
        code = frame.f_code
        is_call = event == "call" and code.co_name == name
        found += is_call and "lazyfuse" not in code.co_filename

    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_numpy_is_asked_once(name: str) -> None:
    function, d = name.partition(" ")[0], parts(lf)
    assert times(function, lambda: CALLS[name](lf, d)) == 1


def test_counts_that_are_large_are_not_computed_at_once() -> None:
    """What an array of counts makes is not known before."""
    d = parts(lf)
    assert times("repeat", lambda: lf.repeat(d["x"], d["k"])) <= 1
    oracle.check(lambda np: np.repeat(parts(np)["x"], parts(np)["k"]))


def test_lists_that_hold_themselves() -> None:
    inside: list[Any] = [1, 2]
    inside.append(inside)
    with pytest.raises((ValueError, TypeError, RecursionError)):
        lf.outer(parts(lf)["y"], inside)


@pytest.mark.parametrize("listed", [[1] * 5000, [0.0] * 5000, [[1, 2], [3, 4]], [10**6], [], 7])
def test_lists_in_outer_products(listed: Any) -> None:
    """Their items are values, of which there are so many."""
    oracle.check(lambda np: np.outer(parts(np)["x"], listed))
