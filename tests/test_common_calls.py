"""Calls that programs make at each turn take no long way: what they give is NumPy's, and what
they would ask in vain is not asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.backends.cpu import CpuBackend, compiler
from lazyfuse.backends.cpu.compiler import NotKept
from lazyfuse.frontend import beside, fallback, rerecord, small_methods
from lazyfuse.frontend.handle import Handle
from lazyfuse.ops import rules
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

X = host.linspace(-1, 1, 1200)


@pytest.fixture(autouse=True)
def engine() -> Iterator[None]:
    """Hardly any array is small."""
    with lf.options(eager_size=8):
        yield


def refused(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("asked in vain")


AS_IT_IS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda np, x: np.asarray(x),
    lambda np, x: np.asarray(x, x.dtype),
    lambda np, x: np.asarray(x, dtype=float),
    lambda np, x: np.asarray(x, dtype=host.float64),
    lambda np, x: np.asarray(x, "f8"),
    lambda np, x: np.asarray(x, dtype="float64"),
    lambda np, x: np.asarray(x, None),
    lambda np, x: np.asarray(x, dtype=None),
)


@pytest.mark.parametrize("number", range(len(AS_IT_IS)))
def test_arrays_as_they_are(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`asarray` of an array that is one of this dtype."""
    assert AS_IT_IS[number](host, X) is X
    x = lf.array(X)
    lf.materialize(x)
    monkeypatch.setattr(beside, "called", refused)
    assert AS_IT_IS[number](lf, x) is x


@pytest.mark.parametrize("program", (
    lambda np, x: np.asarray(x, dtype="f4"),
    lambda np, x: np.asarray(x, dtype=int),
    lambda np, x: np.asarray(x, dtype=object),
    lambda np, x: np.asarray(x, "no dtype"),
    lambda np, x: np.asarray(x, "i4"),
    lambda np, x: np.asarray(x, dtype=[]),
    lambda np, x: np.asarray(x, dtype=host.dtype),
    lambda np, x: np.asarray(x, dtype=">f8"),
    lambda np, x: np.asarray(x, order="F"),
    lambda np, x: np.asarray(x, copy=True),
    lambda np, x: np.asarray(x, float, "C"),
    lambda np, x: np.asarray(x, float, dtype=float),
    lambda np, x: np.asarray(x, nothing=1),
    lambda np, x: np.asarray(a=x),
    lambda np, x: np.asarray(),
    lambda np, x: np.asarray((x * x).sum()),
))  # fmt: skip
def test_arrays_as_something_else(program: Any) -> None:
    oracle.check(program, X, sums=True)


def test_arrays_of_a_dtype_that_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    x = lf.array(X)
    assert x.astype(float, copy=False) is x.astype("f8", copy=False) is x
    asked = vars(lf.LazyArray.__mro__[1])["astype"]
    monkeypatch.setattr(rerecord, "recorded", refused)
    assert asked(x, host.float64, copy=False) is x


@pytest.mark.parametrize("program", (
    lambda np, x: x.astype(None, copy=False),
    lambda np, x: x.astype("f4").astype(None, copy=False),
    lambda np, x: x.astype("f4", copy=False),
    lambda np, x: x.astype(float, copy=True),
    lambda np, x: x.astype(float, "F", copy=False),
    lambda np, x: x.reshape(30, 40).astype(float, order="F", copy=False),
    lambda np, x: x.astype(dtype=float, copy=False),
    lambda np, x: x.astype(float, nothing=False),
    lambda np, x: x.astype(copy=False),
    lambda np, x: x.astype(list, copy=False),
    lambda np, x: x[0].astype(float, copy=False),
    lambda np, x: x[0:1].astype(float, copy=False).base is None,
))  # fmt: skip
def test_arrays_of_dtypes(program: Any) -> None:
    oracle.check(program, X)


def recipes(function: Any, *args: Any, **kwargs: Any) -> int:
    """How many recipes a function has more, when it has been called twice."""
    before = len(function._learned)
    for _ in range(2):
        function(*args, **kwargs)
    return len(function._learned) - before


@pytest.mark.parametrize("name", ("array", "zeros_like", "ones_like", "empty_like"))
def test_copies_and_likes_are_recorded_by_recipes(name: str) -> None:
    """In each memory order, and not those that give the array itself."""
    function, x = getattr(lf, name), lf.array(X)
    for array in (x + 1, (x.reshape(30, 40) + 1).T, (x + 1)[::2]):
        assert recipes(function, array) >= 1
        plain = getattr(host, name)(host.asarray(array))
        for _ in range(2):
            made = function(array)
            assert made.strides == plain.strides
            assert made.dtype == plain.dtype
            made[...] = 7  # nobody else's
            assert host.asarray(made).min() == 7 > host.asarray(array).max()
    assert recipes(lf.array, x, copy=None) == 0
    assert lf.array(x, copy=None) is x


def test_folds_of_ufuncs_are_recorded_by_recipes() -> None:
    assert recipes(lf.fmax.reduce, lf.array(X) + 1) >= 1


@pytest.mark.parametrize("program", (
    lambda np, x: [np.array(x, ndmin=2), np.array(x, dtype="f4"), np.array(x, order="F")],
    lambda np, x: [np.zeros_like(x, shape=(3, 1000)), np.ones_like(x, "i4", "F")],
    lambda np, x: [np.full_like(x, 2.5), np.full_like(x, 3), np.full_like(x, x)],
    lambda np, x: np.full_like(x, 300, dtype="u1"),
    lambda np, x: [np.add.reduce(x), np.add.reduce(x.reshape(30, 40), axis=1)],
    lambda np, x: [np.add.reduce(x, keepdims=True), np.multiply.reduce(x, dtype="f4")],
    lambda np, x: np.add.reduce(x, axis=1),
    lambda np, x: np.add.reduce(x, where=x > 0),
    lambda np, x: np.add.reduce(x, out=np.empty(())),
    lambda np, x: [np.maximum.reduce(x.reshape(30, 40), None), np.hypot.reduce(x[:9])],
    lambda np, x: [x.flatten(), x.reshape(30, 40).flatten(), x.reshape(30, 40).T.flatten()],
    lambda np, x: [x.reshape(30, 40).flatten("F"), x[:0].flatten(), x[0].flatten()],
    lambda np, x: x.reshape(0, 3).flatten(),
))  # fmt: skip
def test_copies_and_likes(program: Any) -> None:
    """Twice: the second time by a recipe."""

    def twice(np: Any, x: Any) -> Any:
        program(np, x + 1)
        return program(np, x + 1)

    oracle.check(twice, X, sums=True)


@pytest.mark.cpu("results at once")
def test_flattened_arrays_are_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """As copies are; and so is how many elements are true."""
    x = lf.array(X).reshape(30, 40)
    lf.materialize(x)
    for flat in (x.flatten(), x.T.flatten(), x.flatten("F"), x[:, ::2].flatten()):
        assert flat._storage.node.buffer is not None
    monkeypatch.setattr(lf.count_nonzero, "_engine", beside.beside(
        refused, host.count_nonzero, rules.Rule.FIRST, rules.middling("count_nonzero")
    ))  # fmt: skip
    assert lf.count_nonzero(x) == host.count_nonzero(X)


def test_flattened_arrays_are_copies() -> None:
    x = lf.array(X)
    flat = x.reshape(30, 40).flatten()
    assert flat.base is None
    assert flat.flags.owndata
    flat[0] = 5
    assert x[0] == -1


@pytest.mark.parametrize("key", (0, -1, 1199, 1200, -1201, True, 2.0, (3,), host.int64(4), None))
def test_items(key: Any) -> None:
    oracle.check(lambda np, x: [x.item(key), type(x.item(key)).__name__], X)
    oracle.check(lambda np, x: x.reshape(30, 40).item(3, key), X)


def test_items_of_what_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its address, not by a function of the whole array."""
    x = lf.array(X)
    lf.materialize(x)
    monkeypatch.setattr(small_methods, "called", refused)
    assert x.item(3) == X.item(3)
    assert x.reshape(30, 40).item(3, -2) == X.reshape(30, 40).item(3, -2)
    assert type(x.item(0)) is float


def test_machine_code_is_made_anew_with_its_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on disk was made for the rules that are there: they are part of its text."""
    folders: list[str] = []
    monkeypatch.setattr(compiler, "sources", lambda *names: folders.extend(names) or "none")
    with pytest.raises(NotKept):
        CpuBackend().compiler.module("nothing", refused, compiles=False)
    assert {"backends/cpu", "ops"} <= set(folders)


def test_long_tuples_are_not_walked() -> None:
    """Of numbers that are given to NumPy nobody asks each for an array."""
    numbers = tuple(range(1000))
    assert len(fallback._leaves([numbers, [numbers]])) == 2
    assert [id(array) for array in fallback._arrays((numbers, (X,)))] == [id(X)]
    assert host.array_equal(lf.fromiter(numbers, "f8"), host.arange(1000.0))
    array = lf.array(X)
    assert fallback._leaves([(array, numbers)])[-1] is array


@pytest.mark.cpu("results at once")
def test_rows_that_are_picked_are_at_hand() -> None:
    """NumPy copies long rows as fast as memory is, also many of them."""
    table = lf.zeros((4000, 50)) + 1
    lf.materialize(table)
    picked = table[host.arange(4000) % 2 == 0]
    assert isinstance(picked, Handle)
    assert picked._storage.node.buffer is not None
    assert picked.shape == (2000, 50)
    picked[0] = 5
    assert table.max() == 1


@pytest.mark.cpu("results at once")
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_small_arrays_beside_masked_ones_and_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are NumPy's already: nothing has to be computed, copied or asked."""
    small, two = host.arange(4.0), host.arange(4.0).reshape(2, 2)
    masked, matrix = host.ma.array(small, mask=[0, 1, 0, 1]), host.asmatrix(two)
    plain = small - masked, masked * small, small == masked, two * matrix, two @ matrix
    with lf.options(eager_size=30_000):
        x, m = lf.array(small), lf.array(two)
        monkeypatch.setattr(fallback, "_run", refused)
        ours = x - masked, masked * x, x == masked, m * matrix, m @ matrix
    for mine, theirs in zip(ours, plain, strict=True):
        assert type(mine) is type(theirs)
        assert repr(mine) == repr(theirs)


@pytest.mark.cpu("results at once")
def test_what_asks_for_one_answer_is_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By NumPy, not by a library call or a comparison that is recorded."""
    x, many = lf.array(X), lf.array(host.tile(X, 200))
    lf.materialize(x, many)
    for name in ("einsum", "isclose", "allclose", "nanmean", "nanstd", "cov"):
        function = getattr(lf, name)
        monkeypatch.setattr(function, "_engine", beside.beside(
            refused, function._public, rules.FUNCTIONS[name], rules.middling(name)
        ))  # fmt: skip
    assert lf.einsum("i,i", x, x) == host.einsum("i,i", X, X)
    assert lf.allclose(x, x)
    assert lf.nanmean(many) == host.nanmean(host.asarray(many))
    assert lf.nanstd(many) == host.nanstd(host.asarray(many))
    assert lf.cov(many, many).shape == (2, 2)
    assert lf.isclose(x, 0).sum() == host.isclose(X, 0).sum()


@pytest.mark.cpu("results at once")
def test_rows_are_written_where_they_lie() -> None:
    """Also many of them, and what is pending: no write is recorded."""
    rows = host.arange(4000) % 2 == 0
    with lf.options(eager_size=5000):
        table = lf.zeros((4000, 50)) + 1
        lf.materialize(table)
        table[rows] = 3
        table[rows] += table[rows] * 2
        assert table._storage.node.buffer is not None
        assert [table[0, 0], table[1, 0], table[-2, 49]] == [9, 1, 9]


@pytest.mark.parametrize("program", (
    lambda np, t, r: t.__setitem__(r, t[r] * 2),
    lambda np, t, r: t.__setitem__(r, (t[r] * 2).astype("f4")),
    lambda np, t, r: t.__setitem__(r, (t[r] * 2j)),
    lambda np, t, r: t.__setitem__(r, np.arange(50) * 2),
    lambda np, t, r: t.__setitem__(r, np.arange(49) * 2),
    lambda np, t, r: t.__setitem__(r, t.sum() * 2),
    lambda np, t, r: t.__setitem__(r, t[~r] * 2),
    lambda np, t, r: t.__setitem__([3, 3, 5], t[[5, 7, 3]] * 2),
    lambda np, t, r: t.T.__setitem__(slice(3), t.T[:3] * 2),
    lambda np, t, r: t[:, 3:43].__setitem__(r, t[r, 3:43] + t[r, :40]),
))  # fmt: skip
def test_written_rows(program: Any) -> None:
    """What was read before, and views, see of it what NumPy's see."""
    table = host.arange(4000 * 50.0).reshape(4000, 50)

    def program_with_readers(np: Any, t: Any, r: Any) -> Any:
        t, view = t + 0, t[1:]
        before, part = t * 1, t[2:4]
        program(np, t, r)
        return [t, view, before, part]

    rows = host.arange(4000) % 3 == 0
    with lf.options(eager_size=5000):
        oracle.check(program_with_readers, table, rows)
        oracle.check(lambda np, t, r: [program(np, t, r), t][1], table, rows)


@pytest.mark.parametrize(
    "key", (0, 3, -1, 1199, 1200, -1201, True, 1.0, None, slice(2, 5), [1, 2])
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_flat_positions(key: Any) -> None:
    """Of small arrays and others, of one axis and two."""
    for size in (8, 5000):
        with lf.options(eager_size=size):
            oracle.check(lambda np, x: x.flat[key], X)
            oracle.check(lambda np, x: x.reshape(30, 40).flat[key], X)
            oracle.check(lambda np, x: x.reshape(30, 40).T.flat[key], X)


@pytest.mark.parametrize("program", (
    lambda np, x, m: [np.r_[x, x], np.c_[x, x], np.r_[m, m], np.c_[m, m]],
    lambda np, x, m: [np.r_[x, x.astype("f4"), x > 0], np.c_[x > 0, x.astype("i1")]],
    lambda np, x, m: [np.c_[x[::2], x[1::2]], np.r_[m.T, m.T], np.c_[m.T, m.T], np.r_[m[:, 0], x]],
    lambda np, x, m: [np.r_[x[:0], x], np.c_[m[:, :0], m], np.r_[x[0], x], np.r_[x], np.c_[x,]],
    lambda np, x, m: [np.c_[x[:30], m], np.r_["0,2", x, x], np.r_[0, x, 2:5], np.c_[m, x[:30]]],
    lambda np, x, m: np.r_[x, m],
    lambda np, x, m: np.c_[x, m],
    lambda np, x, m: np.c_[x, x[:5]],
    lambda np, x, m: np.r_[m, m.T],
    lambda np, x, m: np.c_[m[None], m[None]],
    lambda np, x, m: np.r_[m[None], m[None]],
))  # fmt: skip
def test_joined_by_keys(program: Any) -> None:
    for size in (8, 5000):
        with lf.options(eager_size=size):
            oracle.check(program, X, X.reshape(30, 40))


def test_arrays_in_keys_are_joined_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    x = lf.array(X)
    for grid in (lf.r_, lf.c_):
        monkeypatch.setattr(grid, "_get", refused)
        assert grid[x, x].size == 2 * X.size
