"""The order in which operations are evaluated one by one: operands first, few values at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place evaluates at once", allow_module_level=True)

from lazyfuse.ir.evaluation import frugal  # noqa: E402 - when there is an engine
from lazyfuse.ir.graph import memory_of, topological  # noqa: E402 - likewise
from lazyfuse.ir.node import Node, View  # noqa: E402 - likewise
from lazyfuse.runtime import cold  # noqa: E402 - likewise

lf = oracle.lf
pytestmark = pytest.mark.engine
SIZE, TURNS = 1000, 60


def nodes_of(*arrays: Any) -> list[Node]:
    return [array._storage.node for array in arrays]


def most_bytes(order: Sequence[Node], kept: Sequence[Node]) -> int:
    """The most bytes of values that are there at a time; those of views stay as long as these."""
    last = {memory_of(src): node for node in order if node.buffer is None for src in node.srcs}
    stay = {memory_of(node) for node in kept}
    there = most = 0
    for node in order:
        if node.buffer is None and not isinstance(node, View):
            there += node.nbytes
        most = max(most, there)
        if node.buffer is None:
            for memory in {*map(memory_of, node.srcs)} - stay:
                there -= memory.nbytes if memory.buffer is None and last[memory] is node else 0
    return most


def prices(np: Any, noise: Any) -> tuple[Any, Any]:
    """Two results that go on beside each other."""
    price = noise[0] * 0.0 + 100.0
    highest = price + 0.0
    for turn in range(TURNS):
        price = price * np.exp(0.01 * noise[turn % len(noise)] - 0.0001)
        highest = np.maximum(highest, price)
    return price, highest


def lowest_first(np: Any, noise: Any) -> tuple[Any, Any]:
    """The same, where what is new comes first."""
    price = noise[0] * 0.0 + 100.0
    lowest = price + 0.0
    for turn in range(TURNS):
        price = (noise[turn % len(noise)] * 0.01 + 1.0) * price
        lowest = np.minimum(price, lowest)
    return lowest, price


@pytest.mark.parametrize("program", (prices, lowest_first))
def test_loops_of_two_results_need_few_arrays(program: Any) -> None:
    with lf.options(eager_size=0, cold_size=0):
        outputs = nodes_of(*program(lf, lf.asarray(host.ones((4, SIZE)))))
    walk = topological(outputs)
    order = frugal(walk, outputs)
    assert most_bytes(walk, outputs) > TURNS * SIZE * 8  # what there is to gain
    assert most_bytes(order, outputs) <= 6 * SIZE * 8


def in_pairs(np: Any, noise: Any) -> tuple[Any, ...]:
    """Sums of pairs of what is read the other way round."""
    parts = [(noise[turn % len(noise)] * float(turn))[::-1] for turn in range(64)]
    while len(parts) > 1:
        parts = [(one + other)[::-1] for one, other in zip(parts[::2], parts[1::2], strict=True)]
    return tuple(parts)


def test_views_free_no_memory() -> None:
    """The last to read an array is a view of it, which goes on reading it."""
    with lf.options(eager_size=0, cold_size=0):
        outputs = nodes_of(*in_pairs(lf, lf.asarray(host.ones((4, SIZE)))))
    assert most_bytes(frugal(topological(outputs), outputs), outputs) <= 10 * SIZE * 8


@pytest.mark.parametrize("program", (prices, lowest_first, in_pairs))
def test_long_cold_runs(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the values of all others."""
    monkeypatch.setattr(cold, "_MUCH", 0)
    noise = host.random.default_rng(3).normal(size=(4, SIZE))
    found = []
    for cold_size in (0, 100_000):
        lf.cache_clear()
        lf.reset_stats()
        with lf.options(eager_size=0, cold_size=cold_size):
            results = program(lf, lf.asarray(noise))
            lf.materialize(*results)
        found.append([*map(lf.asnumpy, results)])
        assert bool(lf.stats().cold_runs) == bool(cold_size)
    for one, other in zip(*found, strict=True):
        host.testing.assert_array_equal(one, other)


def test_orders_are_found_for_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a quarter of a first run, for nothing where caches hold all values."""
    found: list[int] = []
    monkeypatch.setattr(cold, "frugal", lambda order, kept: found.append(len(order)) or order)
    with lf.options(eager_size=0, cold_size=1_000_000):
        for size in (100, 100_000):
            lf.cache_clear()
            lf.materialize(*lowest_first(lf, lf.asarray(host.ones((4, size)))))
            assert bool(found) == (size == 100_000)


OPERATIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda one, other: one + other,
    lambda one, other: one[::-1] * 2.0,
    lambda one, other: lf.maximum(one, one),
    lambda one, other: one.reshape(2, 4).sum(axis=0).repeat(2),
    lambda one, other: -one,
)


@pytest.mark.parametrize("seed", range(20))
def test_operands_come_first(seed: int) -> None:
    """Whatever the graph is like: each node once, behind its operands."""
    draw = random.Random(seed)
    with lf.options(eager_size=0, cold_size=0):
        arrays = [lf.asarray(host.ones(8)) + 1.0]
        for _ in range(120):
            one, other = draw.choice(arrays[-12:]), draw.choice(arrays)
            arrays.append(draw.choice(OPERATIONS)(one, other))
        outputs = nodes_of(*draw.sample(arrays[1:], 5))
    walk = topological(outputs)
    order = frugal(walk, outputs)
    assert len(order) == len(walk) and set(order) == set(walk)
    place = {node: number for number, node in enumerate(order)}
    for node in order:
        if node.buffer is None:
            assert all(place[src] < place[node] for src in node.srcs)
