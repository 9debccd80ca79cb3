"""Methods and functions of small arrays with plain arguments, which machine code hands to NumPy as
they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

pytestmark = pytest.mark.usefixtures("operators")


@pytest.fixture(autouse=True)
def sizes() -> Iterator[None]:
    with lf.options(eager_size=1000):
        yield


class Place(IntEnum):
    FIRST = 0
    SECOND = 1


class Pair(NamedTuple):
    first: int
    second: int


class Index:
    def __index__(self) -> int:
        return 1


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "reshape": lambda np, x: x.reshape(3, 2),
    "reshape to a tuple": lambda np, x: x.reshape((-1, 3)),
    "reshape in order": lambda np, x: x.reshape(3, 2, order="F"),
    "reshape that does not fit": lambda np, x: x.reshape(5, 7),
    "astype": lambda np, x: x.astype(int),
    "astype to its own": lambda np, x: x.astype(x.dtype, copy=False),
    "astype by name": lambda np, x: x.astype("f4"),
    "astype to objects": lambda np, x: x.astype(object),
    "astype of an unknown": lambda np, x: x.astype("no dtype"),
    "sum of an axis": lambda np, x: x.sum(axis=0),
    "sum of axes": lambda np, x: x.sum(axis=(0, 1), keepdims=True),
    "sum of no axis": lambda np, x: x.sum(axis=()),
    "sum of a wrong axis": lambda np, x: x.sum(axis=2),
    "sum of an unknown word": lambda np, x: x.sum(axes=0),
    "sum into nothing": lambda np, x: x.sum(axis=0, out=None),
    "sum into an array": lambda np, x: x.sum(axis=0, out=np.zeros(3)),
    "sum of few": lambda np, x: x.sum(where=np.array([True, False, True])),
    "max of an axis": lambda np, x: x.max(1, initial=2.0),
    "argmax": lambda np, x: x.argmax(),
    "argmax of an axis": lambda np, x: x.argmax(axis=1),
    "transpose": lambda np, x: x.transpose(1, 0),
    "transpose by a list": lambda np, x: x.transpose([1, 0]),
    "squeeze": lambda np, x: x[:1].squeeze(),
    "squeeze of nothing": lambda np, x: x.squeeze(),
    "ravel": lambda np, x: x.ravel("F"),
    "diagonal": lambda np, x: x.diagonal(1),
    "clip": lambda np, x: x.clip(1, 4),
    "round": lambda np, x: (x / 3).round(2),
    "repeat": lambda np, x: x.repeat(2, axis=1),
    "repeat beyond": lambda np, x: x.repeat(1000),
    "take": lambda np, x: x.take(2),
    "take of a list": lambda np, x: x.take([2, 0], axis=1),
    "nonzero": lambda np, x: x.nonzero(),
    "item": lambda np, x: x.item(1, 2),
    "tolist": lambda np, x: x.tolist(),
    "view": lambda np, x: x.view("i8"),
    "view of another": lambda np, x: x.view(np.dtype("i4,f4")),
    "tobytes": lambda np, x: x.tobytes("F"),
    "copy in order": lambda np, x: x.copy("F"),
    "searchsorted": lambda np, x: x[0].searchsorted(1.5),
    "swapaxes": lambda np, x: x.swapaxes(0, 1),
    "std": lambda np, x: x.std(0, ddof=1),
    "cumsum": lambda np, x: x.cumsum(axis=1, dtype=float),
    "fill": lambda np, x: x.fill(3),
    "sort": lambda np, x: x.sort(axis=0),
    "trace": lambda np, x: x.trace(offset=1),
    "a true axis": lambda np, x: x.sum(True),
}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "concatenate": lambda np, x: np.concatenate([x, x + 1]),
    "concatenate a tuple": lambda np, x: np.concatenate((x, x, x), axis=1),
    "concatenate one": lambda np, x: np.concatenate([x]),
    "concatenate with a list": lambda np, x: np.concatenate([x, [[1, 2, 3]]]),
    "concatenate numbers": lambda np, x: np.concatenate([x, 3]),
    "concatenate other shapes": lambda np, x: np.concatenate([x, x[0]]),
    "concatenate large": lambda np, x: np.concatenate([x.ravel(), np.arange(2000.0)])[:20],
    "concatenate to large": lambda np, x: np.concatenate([np.arange(900.0)] * 3)[895:905],
    "concatenate many": lambda np, x: np.concatenate([x] * 20),
    "concatenate into": lambda np, x: np.concatenate([x, x], out=np.zeros((4, 3))),
    "concatenate as": lambda np, x: np.concatenate((x, x), dtype="f4", casting="unsafe"),
    "stack": lambda np, x: np.stack([x, x], axis=-1),
    "vstack": lambda np, x: np.vstack([x, x[0]]),
    "array": lambda np, x: np.array([x, x]),
    "block": lambda np, x: np.block([[x, x], [x, x]]),
    "dot": lambda np, x: np.dot(x, x.T),
    "inner": lambda np, x: np.inner(x[0], x[1]),
    "outer": lambda np, x: np.outer(x, x),
    "einsum": lambda np, x: np.einsum("ij,ij->i", x, x),
    "where": lambda np, x: np.where(x > 2),
    "argmax": lambda np, x: np.argmax(x, axis=0),
    "sum": lambda np, x: np.sum(x, axis=(0, 1), keepdims=True),
    "atleast": lambda np, x: np.atleast_3d(x),
    "atleast as it is": lambda np, x: np.atleast_1d(x),
    "broadcast": lambda np, x: np.broadcast_arrays(x, x[0])[1],
    "broadcast to": lambda np, x: np.broadcast_to(x, (2, 2, 3)),
    "moveaxis": lambda np, x: np.moveaxis(x, 0, 1),
    "expand_dims": lambda np, x: np.expand_dims(x, (0, 2)),
    "a list of keys": lambda np, x: x[[np.array(1), np.array(0)]],
    "a tuple of keys": lambda np, x: x[(np.array([1, 0]), np.array([2, 0]))],
    "take": lambda np, x: np.take(x, [np.array(1), np.array(5)]),
    "split": lambda np, x: np.split(x, 3, axis=1)[1],
    "copyto": lambda np, x: np.copyto(x, x[::-1]),
    "shared": lambda np, x: np.shares_memory(x, x[0]),
    "equal": lambda np, x: np.array_equal(x, x),
    "unique": lambda np, x: np.unique(x, return_counts=True),
    "interp": lambda np, x: np.interp(2.5, x[0], x[1]),
    "tile": lambda np, x: np.tile(x, 2),
    "full_like": lambda np, x: np.full_like(x, 3),
    "lexsort": lambda np, x: np.lexsort((x[1], x[0])),
}
#: Views by arguments that machine code does not know: Python does, and the engine is not asked.
OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "an item by an enum": lambda np, x: x[Place.SECOND],
    "an item by an index": lambda np, x: x[Index()],
    "items by a key of enums": lambda np, x: x[:, Place.FIRST],
    "items by a named tuple": lambda np, x: x[Pair(slice(1, 2), slice(2))],
    "reshape by an enum": lambda np, x: x.reshape(Place.SECOND, -1),
    "reshape by a named tuple": lambda np, x: x.reshape(Pair(3, 2)),
    "reshape by a range": lambda np, x: np.reshape(x, range(6, 7)),
    "swapaxes by enums": lambda np, x: x.swapaxes(Place.FIRST, Place.SECOND),
    "squeeze by an enum": lambda np, x: np.squeeze(x[:1], Place.FIRST),
    "transpose by a range": lambda np, x: np.transpose(x, range(1, -1, -1)),
    "transpose by a named tuple": lambda np, x: np.transpose(x, Pair(1, 0)),
    "expand_dims by an enum": lambda np, x: np.expand_dims(x, Place.FIRST),
    "expand_dims by a named tuple": lambda np, x: np.expand_dims(x, Pair(0, 1)),
    "rot90 of a range": lambda np, x: np.rot90(x, 1, range(2)),
    "concatenate a named tuple": lambda np, x: np.concatenate(Pair(x, x)),  # type: ignore[arg-type]
}
GIVEN: dict[str, Callable[[Any], Any]] = {
    "floats": lambda np: np.arange(6.0).reshape(2, 3),
    "ints": lambda np: np.arange(6).reshape(2, 3),
    "rows": lambda np: np.arange(24.0).reshape(4, 6)[::2, ::2],
    "columns": lambda np: np.arange(6.0).reshape(3, 2).T,
    "float32": lambda np: np.arange(6, dtype="f4").reshape(2, 3),
    "of a part": lambda np: (np.arange(5000.0) + 1)[6:12].reshape(2, 3),
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("call", [*CALLS, *FUNCTIONS, *OTHERS])
def test_calls(call: str, given: str) -> None:
    """Results, what they share with the array, and what a write through them does."""

    def program(np: Any) -> Any:
        x = GIVEN[given](np)
        found = (CALLS | FUNCTIONS | OTHERS)[call](np, x)
        if not isinstance(found, np.ndarray) or found.dtype.fields or found.dtype.hasobject:
            return found, x
        facts = found is x, np.shares_memory(found, x), found.flags.writeable, found.strides
        before = found.copy()
        if facts[2]:
            found[...] = 7
        return before, facts, x

    oracle.check(program)


def test_views_keep_their_arrays() -> None:
    """A view of a view is one of the first array, which stays as long as one of them."""
    view = lf.arange(6.0).reshape(2, 3).transpose(1, 0)[1:].reshape(4)
    assert view.tolist() == [1.0, 4.0, 2.0, 5.0]
    x = lf.arange(6.0)
    rows = x.reshape(2, 3)
    assert rows.base is x and rows.reshape(6).base is x
    del x
    assert rows.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_no_reference_is_lost() -> None:
    x, shape, dtype = lf.arange(6.0).reshape(2, 3), (3, 2), host.dtype("f4")

    def program() -> None:
        x.reshape(shape), x.astype(dtype), x.sum(axis=0), x.argmax(), x.transpose(1, 0).T
        lf.concatenate([x, x]), lf.concatenate((x, x)), lf.dot(x, x.T), lf.stack([x, x], axis=1)
        lf.concatenate([x, [[1.0, 2.0, 3.0]]]), lf.atleast_1d(x), lf.broadcast_to(x, (2, 2, 3))
        x.squeeze(), x.nonzero(), x.tolist(), x.round(1), x.astype(object), x.view("i4,f4")
        with pytest.raises(ValueError, match="reshape"):
            x.reshape(7)

    assert_nothing_is_lost(program, (x, shape, dtype), known=20, rounds=50)
