"""What programs met in which `import lazyfuse as np` is all that was changed: usual calls
that went the long way through the engine, and answers that only NumPy gave."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.frontend import fallback, indexing, small_methods
from lazyfuse.frontend import small as small_arrays
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.test_native import operators, small  # noqa: E402, F401 - fixtures of this module, too

pytestmark = pytest.mark.cpu("where arrays live on a GPU, nothing is computed at once")


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], None]:
    """Makes a test fail where a function is called that is only on the long way."""

    def refuse(module: Any, name: str) -> None:
        def fail(*args: Any, **kwargs: Any) -> Any:
            raise AssertionError(f"{name} was asked")

        monkeypatch.setattr(module, name, fail)

    return refuse


SEQUENCES: dict[str, Callable[[Any], Any]] = {
    "frames": lambda np: np.stack(frames(np)),
    "frames behind each other": lambda np: np.concatenate(frames(np)),
    "rows": lambda np: np.vstack(frames(np)),
    "a mean of frames": lambda np: np.mean(frames(np), axis=0),
    "a sum of numbers": lambda np: np.sum(deque([1, 2.5, 4])),
    "a deviation": lambda np: np.std(deque([1, 2.5, 4])),
    "a range": lambda np: np.sum(range(10)),
    "a mean of a range": lambda np: np.mean(range(3, 9, 2)),
    "an empty one": lambda np: np.sum(deque()),
    "another dtype": lambda np: np.mean(frames(np), axis=1, dtype="f4"),
    "shapes that differ": lambda np: np.stack(deque([np.ones(2), np.ones(3)])),
}


def frames(np: Any) -> deque[Any]:
    return deque([np.full((2, 3), number) for number in range(5)], maxlen=3)


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_of_the_standard_library(name: str, refused: Callable[[Any, str], None]) -> None:
    """A deque of small arrays was read by the engine item by item: `np.stack` of the last four
    frames took 50 times as long as NumPy's, `np.sum(range(10))` 9 times."""
    refused(small_arrays, "_snapshot")
    oracle.check(lambda np, x: SEQUENCES[name](np), host.zeros(1))


def test_large_sequences() -> None:
    """Those are the engine's, as lists are."""

    def program(np: Any, x: Any) -> Any:
        many = deque([x, x + 1, x * 2])
        return np.stack(many), np.mean(many, axis=0), np.sum(range(40_000)), np.array(many)

    with lf.options(eager_size=1000):
        oracle.check(program, host.arange(40_000.0))


def test_a_deque_stays_as_it_is() -> None:
    many = frames(lf)
    given = list(many)
    lf.stack(many)
    assert many.maxlen == 3 and all(new is old for new, old in zip(many, given, strict=True))


@pytest.mark.parametrize("array", [host.arange(4), host.eye(2), host.array(1.5)])
def test_text_of_small_arrays(array: Any, refused: Callable[[Any, str], None]) -> None:
    """They were copied into the engine to be printed."""
    refused(small_arrays, "_snapshot")
    x = lf.asarray(array)
    assert (str(x), repr(x), f"{x}") == (str(array), repr(array), f"{array}")


@pytest.mark.parametrize("name", ["tobytes", "sort", "partition", "trace"])
def test_methods_of_keys_and_loops(name: str) -> None:
    """`x.tobytes()`, by which programs remember arrays, took 50 times NumPy's time."""
    assert not isinstance(vars(lf.LazyArray)[name], FunctionType)


METHODS: dict[str, Callable[[Any], Any]] = {
    "bytes": lambda x: (x.tobytes(), x.T.tobytes(), x.tobytes("F"), x.tobytes(order="A")),
    "sorted": lambda x: (x.sort(), x.sort(axis=0, kind="stable"), x[::-1].sort()),
    "parted": lambda x: (x.partition(1), x.partition([0, 2], axis=1)),
    "traced": lambda x: (x.trace(), x.trace(1), x.trace(offset=-1, dtype="f4")),
    "no such axis": lambda x: x.sort(axis=5),
    "read-only": lambda x: (x.setflags(write=False), x.sort()),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("size", [12, 40_000])
def test_what_methods_give_and_write(name: str, size: int) -> None:
    def program(np: Any, x: Any) -> Any:
        return METHODS[name](x), x, x[1:]

    oracle.check(program, host.random.default_rng(0).random((4, size // 4)))


def test_numbers_in_small_arrays(refused: Callable[[Any, str], None]) -> None:
    """`n in board[row]` took three times NumPy's time."""
    board = lf.arange(9).reshape(3, 3)
    refused(small_methods, "lowered")
    assert 4 in board[1] and 4 not in board[0] and 4.0 in board and host.int8(4) in board
    assert 2**80 not in board and host.nan not in board


SHUFFLES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "an array": lambda np, draw, x: (draw(x), x),
    "a view": lambda np, draw, x: (draw(x[::2]), x),
    "a column": lambda np, draw, x: (draw(x.T), x),
    "a list": lambda np, draw, x: given_back(draw, [3, 1, 2]),
    "a list of arrays": lambda np, draw, x: given_back(draw, [x[0], x[1], x[2]]),
}


def given_back(draw: Callable[[Any], None], items: list[Any]) -> Any:
    return draw(items), items


@pytest.mark.parametrize("maker", ["default_rng", "RandomState"])
@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffles(name: str, maker: str, refused: Callable[[Any, str], None]) -> None:
    """Small arrays were copied, and the copy written back: 15 us."""
    refused(fallback, "_run")

    def program(np: Any, x: Any) -> Any:
        return SHUFFLES[name](np, getattr(np.random, maker)(3).shuffle, x)

    oracle.check(program, host.arange(12).reshape(4, 3))


SHUFFLED: dict[str, Callable[[Any], Any]] = {
    "by name": lambda np: np.random.default_rng(3).shuffle(x=np.arange(4)),
    "along an axis": lambda np: np.random.default_rng(3).shuffle(np.eye(3), 1),
    "a tuple": lambda np: np.random.default_rng(3).shuffle((1, 2)),
    "read-only": lambda np: np.random.default_rng(3).shuffle(np.broadcast_to(1, 3)),
    "without axes": lambda np: np.random.default_rng(3).shuffle(np.array(1)),
}


@pytest.mark.parametrize("name", SHUFFLED)
def test_other_shuffles(name: str) -> None:
    oracle.check(lambda np, x: SHUFFLED[name](np), host.zeros(1))


MADE: dict[str, Callable[[Any], Any]] = {
    "of a generator": lambda np: np.fromiter((n * n for n in range(4)), float),
    "of text": lambda np: np.fromstring("1 2 3", sep=" "),
    "a window": lambda np: np.hanning(8),
    "indices": lambda np: np.tril_indices(3),
    "a day": lambda np: np.is_busday("2026-11-26"),
}


@pytest.mark.parametrize("name", MADE)
def test_arrays_that_are_made_of_no_array(name: str, refused: Callable[[Any, str], None]) -> None:
    """NumPy makes them, and what it makes was looked at as if it could be an argument: 15 us."""
    refused(fallback, "_run")
    oracle.check(lambda np, x: MADE[name](np), host.zeros(1))


class Diagonal:
    """As in NumPy's guide to `__array_function__`: a table of functions."""

    def __init__(self, np: Any) -> None:
        self.handled = {np.sum: "sum", np.linalg.norm: "norm", np.stack: "stack", np.add: "add"}

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.handled[function] if function in self.handled else NotImplemented

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.handled.get(ufunc, NotImplemented)


@pytest.mark.parametrize("table", [lf, host])
@pytest.mark.parametrize("caller", [lf, host])
def test_tables_of_functions(table: Any, caller: Any) -> None:
    """A table with lazyfuse's functions as keys did not know NumPy's, which it was asked for."""
    x = Diagonal(table)
    found = [caller.sum(x), caller.linalg.norm(x), caller.stack([x]), caller.add(x, 1)]
    assert found == ["sum", "norm", "stack", "add"]
    with pytest.raises(TypeError, match="no implementation found"):
        caller.mean(x)


def test_functions_are_numpys_functions_to_tables_alone() -> None:
    assert lf.sum == host.sum and host.sum == lf.sum and lf.sum != host.mean and lf.sum != lf.mean
    assert len({lf.sum, host.sum, lf.mean, lf.sum}) == 2


def _functions(module: Any) -> set[str]:
    names = (name for name in dir(module) if not name.startswith("_"))
    return {name for name in names if hasattr(getattr(module, name), "_implementation")}


@pytest.mark.parametrize("module", ["", "linalg", "fft"])
def test_all_functions_are_numpys_functions_to_tables(module: str) -> None:
    """`array_repr`, `save`, `savetxt`, `einsum_path` and others that NumPy runs were not, and
    `around` was `round`: a table of numpoly refuses two functions that are one."""
    own, theirs = (getattr(np, module) if module else np for np in (lf, host))
    names = sorted(_functions(theirs))
    table = {getattr(own, name): getattr(theirs, name).__name__ for name in names}
    assert [table.get(getattr(theirs, name)) for name in names] == [
        getattr(theirs, name).__name__ for name in names
    ]
    assert len(table) == len({getattr(theirs, name) for name in names})


class Asked(host.ndarray):
    """An array of a class derived from NumPy's that decides on functions."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function.__name__, [len(args), sorted(kwargs)]


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "concatenate": lambda np, x: np.concatenate([x, x]),
    "diag": lambda np, x: np.diag(x),
    "dstack": lambda np, x: np.dstack((x, x)),
    "apply_along_axis": lambda np, x: np.apply_along_axis(np.sum, 0, x),
    "sum": lambda np, x: np.sum(x, axis=0),
    "array_repr": lambda np, x: np.array_repr(x),
    "multi_dot": lambda np, x: np.linalg.multi_dot([x, x]),
    "piecewise": lambda np, x: np.piecewise(np.ones(2), [x, x], [1, 2]),
    "where": lambda np, x: np.where(np.ones((2, 3)) > 0, x, 0),
    "linspace": lambda np, x: np.linspace(0, x),
    "copyto": lambda np, x: np.copyto(np.ones((2, 3)), x),
    "around": lambda np, x: np.around(x, 1),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("size", [1, 20_000])
def test_derived_arrays_that_decide_on_functions(name: str, size: int) -> None:
    """NumPy's code was run on our names with them, and what it called was asked for instead."""
    x = host.ones((size, 3)).view(Asked)
    assert CALLS[name](lf, x) == CALLS[name](host, x) == (name, CALLS[name](host, x)[1])


def test_derived_arrays_are_not_asked_for_what_is_not_called() -> None:
    """Whether results share their memory was asked of a list's items."""
    items = [host.ones((2, 3)).view(Asked) for _ in range(2)]
    assert type(lf.unique(items)) is lf.ndarray
    with pytest.raises(TypeError, match="missing"):
        lf.linspace(items[0])


def test_sizes_in_bytes() -> None:
    """`sys.getsizeof` was 144 of all arrays."""
    for make in (
        lambda np: np.zeros(0),
        lambda np: np.zeros((5, 3), "f4"),
        lambda np: np.arange(6)[2:],
        lambda np: np.array(1.5),
        lambda np: np.zeros(90_000) + 1,
        lambda np: np.arange(90_000.0).reshape(300, 300).T,
        lambda np: np.arange(90_000).sum(),
    ):
        assert sys.getsizeof(make(lf)) == sys.getsizeof(make(host))


MASKS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "behind a number": lambda f, g, mask: g[2, mask],
    "behind a slice": lambda f, g, mask: g[1:3, mask],
    "behind all": lambda f, g, mask: g[:, mask],
    "behind integers": lambda f, g, mask: g[[0, 2, 1], mask[:, :3].any(axis=1)],
    "before a slice": lambda f, g, mask: g.transpose(1, 2, 0)[mask, 1:],
    "nothing": lambda f, g, mask: g[1, mask & False],
    "written": lambda f, g, mask: f.__setitem__((3, mask), g[2, mask]),
    "written in all": lambda f, g, mask: f.__setitem__((slice(None), mask), g[::-1, mask]),
    "a number": lambda f, g, mask: f.__setitem__((1, mask), 5),
    "a list": lambda f, g, mask: f.__setitem__((1, mask[:, 0], 2), [1.5] * int(mask[:, 0].sum())),
    "into a view": lambda f, g, mask: f[:, ::-1].__setitem__((2, mask), g[2, mask]),
    "too many values": lambda f, g, mask: f.__setitem__((3, mask), g[2, 0]),
    "another shape": lambda f, g, mask: g[2, mask[:-1]],
    "too many parts": lambda f, g, mask: g[2, mask, 0],
    "too many numbers": lambda f, g, mask: g[mask, 0, 1, 2],
}


def masked(np: Any, g: Any, name: str) -> Any:
    mask = np.zeros((90, 40), dtype=bool)
    mask[20:30, 5:9] = True
    f = g - 0.25
    pending = f * 2
    return MASKS[name](f, g, mask), f, pending


@pytest.mark.parametrize("name", MASKS)
def test_masks_beside_other_parts(name: str) -> None:
    with lf.options(eager_size=30_000):
        oracle.check(
            lambda np, g: masked(np, g, name), host.random.default_rng(0).random((9, 90, 40))
        )


def test_obstacles_are_read_and_written_at_once() -> None:
    """`f[i, obstacle] = g[opposite[i], obstacle]`, as flows around obstacles have it, was recorded
    line by line, and with it all that followed: 5 times NumPy's time."""
    with lf.options(eager_size=30_000):
        g = lf.asarray(host.random.default_rng(0).random((9, 90, 40)))
        mask = lf.zeros((90, 40), dtype=bool)
        mask[20:30, 5:9] = True
        f = g - 0.25
        for number in range(9):
            assert g[8 - number, mask]._host is not None
            f[number, mask] = g[8 - number, mask]
            assert f._storage.node.buffer is not None


PLACES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "an element": lambda x, i, j: (x[i, j], x[i, -1], x[2, j]),
    "rows and columns": lambda x, i, j: (x[i], x[:, j], x[i, 1:3], x[i, None, ..., j]),
    "a written element": lambda x, i, j: x.__setitem__((i, j), 7),
    "written rows": lambda x, i, j: (x.__setitem__(i, 5), x.__setitem__((slice(1, 3), j), 6.5)),
    "a written view": lambda x, i, j: x.T.__setitem__((j, i), 8),
    "added": lambda x, i, j: x.__setitem__((i, j), x[i, j] + x[i, 0]),
    "outside": lambda x, i, j: x[j, i + 500],
    "written outside": lambda x, i, j: x.__setitem__((j, i - 500), 1),
    "too many": lambda x, i, j: x[i, j, i],
    "beside an array": lambda x, i, j: x[i, [0, 2]],
}


@pytest.mark.parametrize("name", PLACES)
def test_numpys_integers_are_places(name: str) -> None:
    """Of arrays of more than `eager_size` elements `image[y, x]` took 100 times NumPy's time where
    y and x come from `np.argwhere`."""

    def program(np: Any, x: Any) -> Any:
        x = x + 1
        return PLACES[name](x, np.int64(3), np.int64(-4)), x, x[:4]

    with lf.options(eager_size=1000):
        oracle.check(program, host.random.default_rng(0).random((50, 60)))


def test_numpys_integers_are_looked_up_in_machine_code(
    refused: Callable[[Any, str], None],
) -> None:
    with lf.options(eager_size=1000):
        x = lf.ones((50, 60)) + 1
        lf.materialize(x)
        refused(indexing, "basic_layout")
        for y, z in host.argwhere(host.eye(5)):
            x[y, z] = x[z, y] + 1
        assert x[host.int64(4), 4] == 3.0 and x[0][host.int64(1)] == 2.0
