"""Chains of operations on few elements, as on the means of columns, are cut: they gain nothing by
waiting, and what comes behind is computed at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has nothing pending", allow_module_level=True)

from lazyfuse.frontend import native_methods  # noqa: E402 - when there is an engine
from lazyfuse.ir.graph import Graph, is_leaf, operands_of  # noqa: E402 - likewise
from lazyfuse.runtime.budget import MOST_ON_FEW  # noqa: E402 - likewise

pytestmark = pytest.mark.cpu("few elements that NumPy computes")
TABLE = host.random.default_rng(0).uniform(0.5, 2.0, (2000, 4))
RATES = host.array([0.9, 0.8, 0.7, 0.6])


@pytest.fixture(params=("Python", "machine code"), autouse=True)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "machine code":
        native_methods.make_native(lf.LazyArray)
    with lf.options(eager_size=1000, cold_size=0):
        yield str(request.param)


def depth(array: Any) -> int:
    """The operations that are pending, one upon the other: nodes only bound them."""
    if array._host is not None:
        return 0
    found: dict[Any, int] = {}
    for node in Graph([array._storage.node]).nodes:
        below = [found[src] for src in operands_of(node)]
        found[node] = 0 if is_leaf(node) else 1 + max(below)
    return found[array._storage.node]


def test_chains_are_cut() -> None:
    """Then the results are small arrays, at once; all of them are NumPy's."""
    for _ in range(4):
        given, wanted = lf.asarray(TABLE).mean(axis=0), TABLE.mean(axis=0)
        rates, found = lf.asarray(RATES), []
        assert depth(given)
        for _ in range(60):
            given, wanted = given * 0.5 + rates, wanted * 0.5 + RATES
            found.append((given, wanted))
            assert depth(given) <= MOST_ON_FEW + 1
        assert given._host is not None
        assert all(host.array_equal(host.asarray(one), other) for one, other in found)


def test_chains_of_scalars_are_not() -> None:
    """What follows a scalar that is computed is pending again."""
    for _ in range(4):
        total, wanted = lf.asarray(TABLE).sum(), TABLE.sum()
        for number in range(60):
            total, wanted = total * 0.5 + number, wanted * 0.5 + number
        assert depth(total) == 121
        assert total == wanted


def test_what_is_written_is_cut() -> None:
    for _ in range(4):
        given, wanted = lf.asarray(TABLE).mean(axis=0), TABLE.mean(axis=0)
        for _ in range(60):
            given *= 0.5
            given += RATES
            wanted *= 0.5
            wanted += RATES
            assert depth(given) <= MOST_ON_FEW + 2  # what was there is cut
        assert host.array_equal(host.asarray(given), wanted)


def newton(xp: Any, table: Any) -> Any:
    """Each step reads what it starts from several times."""
    root = table.mean()
    for _ in range(12):
        root = root - (root * root - 2.0) / (2.0 * root)
    return root


def two_means(xp: Any, table: Any) -> Any:
    """The chain reads the same two at each step."""
    square, cube = (table**2).mean(), (table**3).mean()
    found = square
    for _ in range(16):
        found = found * square + cube
    return found


def two_chains(xp: Any, table: Any) -> Any:
    """Others read, in another chain, what nobody holds."""
    first = second = table[0] * 0.0
    for turn in range(8):
        mean = (table * (turn + 1.0)).mean(axis=0)
        first, second = first * 0.9 + mean * 0.1, second * 0.8 + mean * 0.2
    del mean
    return first * second + (first - second) * 2.0


@pytest.mark.parametrize("program", (newton, two_means, two_chains))
def test_what_is_computed_from_many_is_computed_once(program: Any) -> None:
    """Where a chain is cut in the middle of a step, too."""
    for _ in range(4):
        table = lf.asarray(TABLE)
        lf.reset_stats()
        found = host.asarray(program(lf, table))
        assert lf.stats().bytes_read < PASSES[program] * TABLE.nbytes
        assert host.array_equal(found, program(host, TABLE))


#: How often each program may read the table.
PASSES = {newton: 1.5, two_means: 1.5, two_chains: 2.5}


def test_chains_on_many_elements_are_not() -> None:
    for _ in range(4):
        given, wanted = lf.asarray(TABLE) * 1.0, TABLE * 1.0
        for _ in range(60):
            given, wanted = given * 0.5 + 1.0, wanted * 0.5 + 1.0
        assert depth(given) == 121
        mean = given.mean(axis=0) * 2.0 - 1.0  # few operations on few elements
        assert depth(mean) > 121
        assert host.array_equal(host.asarray(mean), wanted.mean(axis=0) * 2.0 - 1.0)


def test_functions_that_are_recorded_are_whole() -> None:
    @lf.fuse
    def smoothed(table: Any) -> Any:
        found = table.mean(axis=0)
        for _ in range(40):
            found = found * 0.5 + 1.0
        return found

    for _ in range(5):
        wanted = TABLE.mean(axis=0)
        for _ in range(40):
            wanted = wanted * 0.5 + 1.0
        assert host.array_equal(host.asarray(smoothed(lf.asarray(TABLE))), wanted)
    assert smoothed.recordings == 1


EMPTY: dict[str, Any] = {
    "power": lambda np, x: np.power(x, 1),
    "two powers": lambda np, x: np.power(x, -(x + 1.0)),
    "operator": lambda np, x: x**1.5,
    "cos of a part": lambda np, x: np.cos(x[..., :0]),
    "exp": lambda np, x: np.exp(x),
    "integers": lambda np, x: np.log(x.astype(int)),
    "float32": lambda np, x: np.arctan2(x.astype("f4"), 1.0),
    "complex": lambda np, x: np.exp(x * 1j),
    "broadcast": lambda np, x: np.hypot(x, np.ones((3, 1, 1))),
    "in place": lambda np, x: x.__ipow__(2.5),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("shape", [(0,), (4, 0)])
def test_nothing_is_computed_at_once(name: str, shape: tuple[int, ...]) -> None:
    """Transcendental functions of no elements were recorded, planned and run: 30 us."""
    for _ in range(4):
        found = EMPTY[name](lf, lf.zeros(shape))
        assert found._host is not None
    oracle.check(lambda np, x: EMPTY[name](np, x), host.zeros(shape))


def test_what_does_not_fit_nothing_is_told_last() -> None:
    """As in NumPy: after what is wrong with the dtype of the result."""

    def told(np: Any) -> tuple[type, str]:
        with pytest.raises((TypeError, ValueError)) as caught:
            np.power(np.zeros(100), np.zeros(0), np.zeros(0, bool))
        return caught.type, str(caught.value)

    assert told(lf) == told(host)
