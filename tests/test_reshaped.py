"""Parts of an array in other shapes: views and copies exactly where NumPy's are, with its strides,
whatever tells the shape."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

#: Keys of an array of (6, 4, 6): parts that lie together, apart, backwards, and with steps.
PARTS: dict[str, Any] = {
    "all": (),
    "rows": slice(1, 4),
    "block": (slice(1, 5), slice(1, 3)),
    "columns": (slice(None), slice(None), slice(1, 4)),
    "one column": (slice(None), slice(None), 2),
    "one row": (3,),
    "thin": (slice(2, 3), slice(None), slice(2, 5)),
    "steps": (slice(None, None, 2), slice(None, None, 2), slice(None, None, 3)),
    "last steps": (Ellipsis, slice(None, None, 2)),
    "backwards": (slice(None, None, -1),),
    "new axes": (None, slice(0, 2), None, slice(0, 2)),
    "element": (slice(1, 2), slice(1, 2), slice(1, 2)),
    "nothing": (slice(2, 2),),
}
TURNS = ("itself", "T", "repeated")


@pytest.fixture(autouse=True)
def small_parts() -> Iterator[None]:
    """Parts are small; the array itself is not."""
    with lf.options(eager_size=100):
        yield


def part(xp: Any, whole: Any, key: Any, turn: str) -> Any:
    """A part of an array, as it lies, turned, or repeated without copies."""
    found = whole[key]
    if turn == "repeated":
        return xp.broadcast_to(found, (2, *found.shape))
    return found.T if turn == "T" else found


def shapes(size: int) -> Iterator[tuple[int, ...]]:
    """Shapes of one to four axes, with ones, and some with an extent that is not said."""
    extents = [n for n in range(1, size + 1) if size % n == 0] if size else [0, 1, 3]
    draw = random.Random(size)
    for axes in (1, 2, 3, 4):
        fitting = [
            shape
            for shape in itertools.product(extents, repeat=axes)
            if host.prod(shape, dtype=int) == size
        ]
        for shape in draw.sample(fitting, min(6, len(fitting))):
            yield shape
            place = draw.randrange(axes)
            if size:
                yield (*shape[:place], -1, *shape[place + 1 :])


def assert_same(expected: host.ndarray, found: Any, memory: host.ndarray, whole: Any) -> None:
    """Values, dtype, shape, strides, and whether it is a view."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    steps = [  # of one element there are none
        [step for step, extent in zip(array.strides, array.shape, strict=True) if extent > 1]
        for array in (expected, found)
    ]
    assert steps[0] == steps[1] or not expected.size
    host.testing.assert_array_equal(lf.asnumpy(found), expected)
    assert (found.base is None) == (expected.base is None)
    assert lf.shares_memory(found, whole) == host.shares_memory(expected, memory)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("name", PARTS)
def test_shapes(name: str, turn: str) -> None:
    """By the method and by the function, in ints, tuples and lists, in both orders."""
    memory = host.arange(144.0).reshape(6, 4, 6)
    whole = lf.array(memory)
    lf.materialize(whole)
    values, there = (part(xp, a, PARTS[name], turn) for xp, a in ((host, memory), (lf, whole)))
    for shape in shapes(values.size):
        assert_same(values.reshape(*shape), there.reshape(*shape), memory, whole)
        assert_same(values.reshape(shape), there.reshape(shape), memory, whole)
        assert_same(host.reshape(values, shape), lf.reshape(there, shape), memory, whole)
        assert_same(values.reshape(list(shape)), there.reshape(list(shape)), memory, whole)
        assert_same(values.reshape(shape, order="F"), there.reshape(shape, order="F"),
                    memory, whole)  # fmt: skip
    for order in ("C", "F", "A", "K"):
        assert_same(host.ravel(values, order), lf.ravel(there, order), memory, whole)
        assert_same(values.ravel(order), there.ravel(order), memory, whole)
    assert_same(host.ravel(values), lf.ravel(there), memory, whole)


def test_what_is_no_shape() -> None:
    """NumPy's errors, and nothing is lost."""
    memory = host.arange(144.0).reshape(6, 4, 6)
    whole = lf.array(memory)
    lf.materialize(whole)
    values, there = memory[1:5, 1:3], whole[1:5, 1:3]
    for shape in ((7,), (-1, -1), (-1, 5), (2**62,), (-2,), (48, 0), ("a",), (1.5,), (True, 48)):
        outcomes = []
        for array in (values, there):
            try:
                outcomes.append(array.reshape(shape).shape)
            except (TypeError, ValueError) as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1], shape


def test_a_copy_is_not_written_through() -> None:
    """And what was recorded on it keeps its values."""
    memory = host.arange(144.0).reshape(6, 4, 6)
    whole = lf.array(memory)
    lf.materialize(whole)
    copy, view = whole[1:5, 1:3].reshape(-1), whole[1:5].reshape(-1)
    doubled = copy * 2
    copy[0] = -1.0
    view[1] = -2.0
    whole[1, 1] = -3.0
    memory[1, 0, 1] = -2.0
    before = memory[1:5, 1:3].reshape(-1)
    memory[1, 1] = -3.0
    host.testing.assert_array_equal(lf.asnumpy(whole), memory)
    host.testing.assert_array_equal(lf.asnumpy(doubled), before * 2)
    host.testing.assert_array_equal(lf.asnumpy(copy), [-1.0, *before[1:]])
