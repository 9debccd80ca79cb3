"""What NumPy takes for an element is measured: once, of every operation, and quietly."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place records nothing", allow_module_level=True)

from lazyfuse.ir.node import Const, Map, Node  # noqa: E402 - when there is an engine
from lazyfuse.ops.table import OPS  # noqa: E402 - likewise
from lazyfuse.ops.types import code  # noqa: E402 - likewise
from lazyfuse.runtime import paces, payoff  # noqa: E402 - likewise

lf = oracle.lf
SIZE = 64


def node(name: str, loop: tuple[str, ...], dtype: str, *numbers: int) -> Map:
    """An operation on arrays, and on numbers in these places."""
    srcs: list[Node] = [
        Const(1, kind) if place in numbers else lf.ones(SIZE, kind)._read()
        for place, kind in enumerate(loop)
    ]
    return Map(OPS[name], loop, dtype, (SIZE,), (1,), tuple(srcs))


def loops(name: str) -> list[tuple[tuple[str, ...], str]]:
    """What NumPy has of an operation, of dtypes that arrays have here."""
    ufunc = OPS[name].ufunc
    assert ufunc is not None
    found = []
    for types in ufunc.types:
        given, _, made = types.partition("->")
        if set(types) <= set("?bBhHiIlLefdFD->"):
            kinds = tuple(code(host.dtype(letter)) for letter in given)
            found.append((kinds, code(host.dtype(made[0]))))
    return found


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.ufunc is not None])
def test_every_operation_has_a_pace(name: str) -> None:
    paces._paces.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for loop, dtype in loops(name):
            found = paces.pace(node(name, loop, dtype))
            assert found is not None and 0 <= found < 1e5 and math.isfinite(found)


@pytest.mark.parametrize("made", ["f4", "i8", "c16", "b1"])
def test_casts_and_choices(made: str) -> None:
    assert paces.pace(node("astype", ("f8",), made)) is not None
    with warnings.catch_warnings():  # NumPy tells of parts that are lost, and nobody asked
        warnings.simplefilter("error")
        found = paces.pace(node("astype", ("c16",), made))
    assert (found is None) == (made[0] in "fi")
    assert paces.pace(node("where", ("b1", "f8", "f8"), "f8")) is not None
    assert paces.pace(node("where", ("b1", "f8", "f8"), "f8", 2)) is not None


def test_what_cannot_be_measured() -> None:
    """Rows without a ufunc, and operations on numbers alone."""
    assert paces.pace(node("complex_of", ("f8", "f8"), "c16")) is None
    assert paces.pace(node("add", ("f8", "f8"), "f8", 0, 1)) is None


def test_each_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    paces._paces.clear()
    calls: list[Any] = []
    measured = paces._measured
    monkeypatch.setattr(paces, "_measured", lambda *given: calls.append(0) or measured(*given))
    for _ in range(3):
        paces.pace(node("exp", ("f8",), "f8"))
        paces.pace(node("floor_divide", ("i8", "i8"), "i8"))
        paces.pace(node("floor_divide", ("i8", "i8"), "i8", 1))  # by one number: a way of its own
    assert len(calls) == 3
    lf.cache_clear()
    assert not paces._paces


def test_estimates_follow_what_numpy_does() -> None:
    """Of what is slow by nature, and of what is moved: not in whose cache it is."""
    slow = payoff._least_ns(node("sin", ("f8",), "f8"))
    assert slow > payoff._least_ns(node("negative", ("f8",), "f8")) > 0
    fold = [lf.ones((300, 400), kind) for kind in ("f8", "u1")]
    lf.materialize(*fold)
    sums = [payoff._least_ns(each.sum(axis=1)._read()) for each in fold]
    assert sums[1] > sums[0]  # NumPy casts each element first
    compared = [payoff._least_ns(each.max(axis=1)._read()) for each in fold]
    assert compared[1] < compared[0] < sums[0]


def test_rows_of_parts_take_longer() -> None:
    table = lf.ones((300, 400))
    lf.materialize(table)
    with lf.options(eager_size=0, cold_size=0):
        whole = (table[1:-1] * 2.0)._read()
        inner = (table[:, 1:-1] * 2.0)._read()
    each = [payoff._least_ns(node) / math.prod(node.shape) for node in (whole, inner)]
    assert each[1] > each[0]
