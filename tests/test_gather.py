"""Gathers, scatters and masked reductions as kernels: how many there are, what they compute and
copy, and that what was read before a write keeps its values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.errors import VerifyError
from lazyfuse.ir.graph import Graph
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Gather, Update
from lazyfuse.ir.verify import verify_graph
from tests.oracle import check, check_modes

pytestmark = pytest.mark.engine

SIZE = 50_000  # more than what the engine keeps to tell conditions apart
DATA = host.random.default_rng(11).random(SIZE) - 0.25
ROWS = host.random.default_rng(12).integers(0, SIZE, 7000)


def run(program: Callable[..., Any], *arrays: Any) -> lf.Stats:
    """What the engine does for a program, whose answer is NumPy's."""
    check(lambda np, *given: program(*given), *arrays)
    lazy = [lf.array(array) for array in arrays]
    lf.materialize(*lazy)
    lf.reset_stats()
    lf.materialize(program(*lazy), *lazy)
    return lf.stats()


def plus_one(x: Any, where: Any) -> Any:
    x[where] += 1


def own_product(x: Any, where: Any) -> Any:
    x[where] = x[where] * (x[where] - 3)


def test_a_gather_is_part_of_a_kernel() -> None:
    """`x[rows] * 2 + 1` loads through the index: one kernel, nothing between is stored."""
    stats = run(lambda x, rows: x[rows] * 2 + 1, DATA, ROWS)
    assert (stats.kernels_launched, stats.unfused, stats.bytes_written) == (1, 0, 8 * len(ROWS))


def test_several_indices_are_added_in_the_kernel() -> None:
    """`x[i, j]`, negative and of several dtypes: no array of offsets is made."""
    x = DATA[: 100 * 150].reshape(100, 150)
    i, j = ROWS.astype("i4") % 200 - 100, ROWS % 150
    stats = run(lambda x, i, j: x[i, j] - x[i[::-1], j], x, i, j)
    assert (stats.kernels_launched, stats.bytes_written) == (1, 8 * len(ROWS))


def test_rows_are_loaded_as_vectors() -> None:
    """A sum over gathered rows, along either axis, in NumPy's order."""
    x = DATA[: 200 * 99].reshape(200, 99)
    for axis in (0, 1, None):
        stats = run(lambda x, rows, a=axis: (x[rows] * 2).sum(axis=a), x, ROWS[:500] % 200)
        # a pairwise run over all of it has to be one loop: it is stored densely, as in NumPy
        assert stats.kernels_launched == (2 if axis is None else 1)


def test_gathers_inside_reductions_and_scans() -> None:
    """An index that moves along the lanes, across them, or along both; folded along every axis."""

    def program(np: Any, a: Any, x: Any, columns: Any, rows: Any, both: Any) -> Any:
        g = x[both]
        return (
            (a * x[columns]).sum(axis=0), (a * x[rows][:, None]).sum(axis=0),
            (a * x[rows][:, None]).sum(axis=1), (a * g).sum(axis=0), (a * g).sum(axis=1),
            (a * g).sum(), (g - g.max(axis=1, keepdims=True)).sum(axis=1), g.argmax(axis=1),
            g.argmin(), g.T.sum(axis=0), np.cumsum(x[columns] * 2), np.cumsum(g, axis=0),
            g[::2, ::-1] + 1, g.reshape(-1)[3:50] * 2, g.ravel().sum(), np.maximum(g, a).prod(0),
            g.astype("f4").sum(axis=1), a[rows % 70][:, columns % 45].sum(axis=1),
            a[np.ix_(rows % 70, columns % 45)].sum(axis=0), x.astype("f2")[both].sum(axis=1),
            (x + 1j)[both].sum(axis=0), (np.ones((70, 1)) * x[columns[:1]]).sum(axis=0),
        )  # fmt: skip

    rng = host.random.default_rng(3)
    indices = [rng.integers(-200, 200, shape) for shape in (45, 70, (70, 45))]
    check(program, rng.random((70, 45)), rng.random(200), *indices)


@pytest.mark.parametrize(
    "fold",
    ["sum", "mean", "min", "max", "prod", "any", "all", "std", "var", "argmax"],
)
def test_masked_reductions_make_no_compressed_copy(fold: str) -> None:
    """`x[mask].sum()` and its kin read x through the list of true positions, 4 bytes each, and
    have NumPy's bits."""
    mask = DATA > 0.1
    stats = run(lambda x, m: getattr(x[m], fold)(), DATA, mask)
    assert (stats.kernels_launched, stats.unfused) == (1, 1)
    assert stats.bytes_written <= 4 * mask.sum() + 8


def test_the_positions_of_a_mask_are_listed_once() -> None:
    """Later reductions under a mask that is still there read the list again."""
    x, mask = lf.array(DATA), lf.array(DATA > 0.1)
    lf.materialize(x[mask].sum())
    lf.reset_stats()
    lf.materialize(x[mask].mean(), (x * 2)[mask].max())
    assert lf.stats().unfused == 0
    mask[3] = ~mask[3]
    assert int(x[mask].argmax()) == int(DATA[lf.asnumpy(mask)].argmax())


@pytest.mark.parametrize("program", [plus_one, own_product])
def test_masked_writes_are_in_place(program: Callable[..., Any]) -> None:
    """`x[mask] op= y` reads and writes the selected elements, in one kernel, in x itself."""
    mask = DATA > 0.1
    stats = run(program, DATA, mask)
    assert (stats.kernels_launched, stats.copies) == (1, 0)
    assert stats.bytes_written <= 12 * mask.sum() + 8


def test_a_masked_scalar_is_a_where() -> None:
    """`x[mask] = 0` selects while x is computed: one kernel, no list of positions."""

    def program(x: Any, mask: Any) -> Any:
        y = x * 2
        y[mask] = 0
        return y + 1

    stats = run(program, DATA, DATA > 0.1)
    assert (stats.kernels_launched, stats.unfused, stats.copies) == (1, 0, 0)


def test_scattered_writes_cost_what_they_write() -> None:
    """`x[rows] = f(y)` and `x[rows] += 1` on a large array copy none of it."""

    def assign(x: Any, rows: Any, y: Any) -> Any:
        x[rows] = y * 2
        x[rows + 1] = x[rows] - 1

    few = ROWS[:300] % (SIZE - 1)
    for program, rest in ((assign, (DATA[:300],)), (plus_one, ())):
        stats = run(program, DATA, few, *rest)
        assert stats.copies == 0
        assert stats.bytes_written < 8 * SIZE / 2


def test_regions_that_read_their_neighbours_are_not_whole_copies() -> None:
    """`x[1:50] += x[:49]` stores 49 values first, not all of x."""

    def program(x: Any) -> None:
        x[1:50] += x[:49]

    stats = run(program, DATA)
    assert (stats.copies, stats.bytes_written) == (0, 2 * 8 * 49)


def test_element_writes_do_not_copy() -> None:
    """`x[i] = v` in a loop changes the memory at once, unless something still needs it."""
    x = lf.array(DATA)
    lf.reset_stats()
    before = x * 1
    for i in range(100):
        x[i] = x[i + 1] - 1
    assert lf.stats().copies <= 1
    assert lf.stats().kernels_launched < 20
    old = x + 0
    x[7] = 5.0
    assert (lf.asnumpy(before) == DATA).all()
    assert float(old[7]) == DATA[8] - 1
    assert float(x[7]) == 5.0


def test_old_readers_keep_their_values() -> None:
    """P01, P02, P07: what was recorded before a write sees what there was before it."""

    def program(np: Any, x: Any, rows: Any, mask: Any) -> Any:
        first = x[rows]
        doubled = x * 2
        view = x[2:9]
        x[rows] = -1
        second = x[rows]
        x[mask] *= 10
        view[[0, 1]] = x[[5, 6]]
        x[rows] += first
        return first, doubled, view, second, x, x[mask].sum()

    for size in (40, SIZE):
        x, rows = host.arange(float(size)), host.array([3, 5, 3, -1])
        check_modes(program, x, rows, x % 3 == 0)


def test_duplicates() -> None:
    """P45: the last value wins, and `x[rows] += 1` adds once where a row comes twice."""

    def program(np: Any, x: Any, rows: Any, y: Any) -> Any:
        a, b, c = x * 1, x * 1, x * 1
        a[rows] = y * 2
        b[rows] += 1
        c[rows[::-1]] = c[rows] + y
        return a, b, c

    check_modes(program, DATA[:50], host.arange(400) * 7 % 50, host.arange(400.0))


def test_the_callers_index_may_change_later() -> None:
    """P14: an index array of NumPy's is taken as it is at the call."""

    def program(np: Any, x: Any) -> Any:
        rows = host.array([0, 1, 2])
        picked = x[rows] * 2
        mask = host.array([True, False] * 5)
        masked = x[mask] + 1
        rows[:], mask[:] = 9, False
        return picked, masked

    check(program, host.arange(10.0))


def test_indices_of_a_written_index() -> None:
    """An index that is an array of ours is read as it was when it was used."""

    def program(np: Any, x: Any, rows: Any, mask: Any) -> Any:
        picked, masked = x[rows] + 1, x[mask] * 2
        rows[0], mask[0] = 4, False
        return picked, masked, x[rows], x[mask], rows

    mask = host.array([True, False, True, True, False])
    check(program, host.arange(5.0), host.array([1, 2, 3]), mask)


def test_masked_writes_where_elements_share_memory() -> None:
    """Overlapping windows: what is written to one is not read for the next."""

    def program(np: Any, x: Any) -> Any:
        y = x * 1
        windows = np.lib.stride_tricks.as_strided(y, (6, 3), (x.itemsize, x.itemsize))
        windows[windows % 2 == 0] += 1
        windows[[1, 0, 2]] += windows[[0, 1, 1]]
        return y

    check(program, host.arange(8.0))


def test_conditions_come_from_selected_elements_only() -> None:
    """`1 / x[x != 0]` divides by no zero, also not in the lanes past the end of a vector."""
    for size in (5, 8, 13, 1000):
        x = lf.array(host.arange(size) % 3.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lf.materialize(1 / x[x != 0], (1 / x[x != 0]).sum())
            x[x != 0] = 1 / x[x != 0]
            lf.materialize(x)


def test_bounds_hold_when_nothing_is_picked() -> None:
    """P44 at its edges: empty arrays, empty indices, masks that are false everywhere."""

    def program(np: Any, x: Any, none: Any) -> Any:
        y = x * 1
        y[none] = 7
        y[x > 100] += 1
        y[[]] = 3
        return x[none].sum(), x[none] * 2, (x[x > 100] + 1).sum(), y, x[none].any()

    check(program, host.arange(5.0), host.array([], int))
    check(program, host.zeros((3, 4)), host.array([], int))
    check(lambda np, x: x[x > 100].max(), host.arange(5.0))
    check(lambda np, x: (np.ones((4, 1)) * x[[1, 2]])[:0].sum(axis=0), host.arange(5.0))


@pytest.mark.parametrize(
    ("shape", "reach", "problem"),
    [((3,), (0, 5), "leaves"), ((3,), (-1, 0), "leaves"), ((0,), (0, 0), "gather of nothing")],
)
def test_a_gather_that_leaves_its_memory_is_caught(
    shape: tuple[int, ...], reach: tuple[int, int], problem: str
) -> None:
    """The bounds that the frontend has checked go with the node, and the verifier reads them."""
    base, index = (lf.array(host.arange(n))._read() for n in (5, 3))
    layout = Layout(shape, (0,), 0)
    for node in (
        Gather(base, layout, index, reach=reach, strides=(1,)),
        Update(base, layout, base, index, reach),
    ):
        if shape != (0,) or isinstance(node, Gather):
            with pytest.raises(VerifyError, match=problem):
                verify_graph(Graph([node]))


def test_explain() -> None:
    """The plan says what is gathered and scattered."""
    x, rows = lf.array(DATA), lf.array(ROWS)
    y = x * 1
    y[rows] = x[rows] * 2
    told = str(lf.explain(y))
    assert "gather f8[7000]" in told
    assert f"scatter f8[{SIZE}]" in told
