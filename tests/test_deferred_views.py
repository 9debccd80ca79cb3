"""Views of small arrays as operands of what is put off: NumPy's answers, whoever writes what."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as np
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.backends.cpu.defer import MOST_LEAVES  # noqa: E402 - when there is an engine
from lazyfuse.frontend import deferred  # noqa: E402 - likewise
from tests.deferring import deferring, is_deferred, replays  # noqa: E402 - likewise

pytestmark = pytest.mark.cpu("small arrays that are put off")


@pytest.fixture(autouse=True)
def putting_off() -> Iterator[None]:
    with np.options(eager_size=1000), deferring():
        deferred.allow()
        deferred.look_around()
        yield


def grid(rows: int = 9, columns: int = 8, dtype: str = "f8") -> Any:
    return np.asarray(host.arange(rows * columns).reshape(rows, columns).astype(dtype) / 7)


def values(array: Any) -> host.ndarray:
    return host.array(array)


def check(program: Callable[..., Any], *given: Any) -> None:
    """A program gives NumPy's results, and leaves NumPy's values in its arguments."""
    for _ in range(4):
        own = [np.asarray(array.copy()) for array in given]
        wanted = [array.copy() for array in given]
        found, expected = program(*own), program(*wanted)
        for one, other in zip((*found, *own), (*expected, *wanted), strict=True):
            host.testing.assert_array_equal(values(one), other)
            assert one.dtype == other.dtype and one.strides == other.strides


KEYS: dict[str, Any] = {
    "rows": slice(1, -1),
    "columns": (slice(None), slice(2, 5)),
    "steps": (slice(None, None, 2), slice(1, None, 3)),
    "a row": 3,
    "a column": (slice(None), 4),
    "new axes": (slice(2, 7), None),
    "all": ...,
    "one element": (slice(3, 4), slice(3, 4)),
}
BACKWARD = {"backward": slice(None, None, -1), "both": (slice(None, None, -1), slice(4, 1, -2))}


@pytest.mark.parametrize("dtype", ("f8", "f4"))
@pytest.mark.parametrize("name", KEYS)
def test_views_are_put_off(name: str, dtype: str) -> None:
    array = grid(dtype=dtype)
    view = array[KEYS[name]]
    assert is_deferred(view) and is_deferred(array)
    found = view * 2 + view
    assert is_deferred(found) and found.shape == view.shape
    plain = values(array)[KEYS[name]]
    host.testing.assert_array_equal(values(found), plain * 2 + plain)
    assert found.dtype == plain.dtype and np.shares_memory(view, array) and view.base is array


@pytest.mark.parametrize("name", BACKWARD)
def test_what_goes_backward_is_computed_at_once(name: str) -> None:
    array = grid()
    view = array[BACKWARD[name]]
    assert not is_deferred(view)
    host.testing.assert_array_equal(values(view + 1.0), values(array)[BACKWARD[name]] + 1.0)


def test_one_call_does_it() -> None:
    before = replays()
    for number in range(6):
        u = grid() + number
        u[0, 0] = number  # asked for, so that it is an array of its own
        found = values(u[1:] - u[:-1] * 0.5)
        plain = values(u)
        host.testing.assert_array_equal(found, plain[1:] - plain[:-1] * 0.5)
    assert replays() >= before + 3


def test_views_at_other_places_are_the_same_tape() -> None:
    u, before = grid(40), len(deferred.programs())
    for start in range(12):
        a, b = u[start : start + 9], u[start + 3 : start + 12]
        found, plain = values(a * b - a), values(u)
        one, other = plain[start : start + 9], plain[start + 3 : start + 12]
        host.testing.assert_array_equal(found, one * other - one)
        del a, b
    assert len(deferred.programs()) == before + 1
    assert deferred.programs()[-1].recordings == 1


def _heat(u: Any) -> Any:
    for _ in range(4):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += 0.1 * (around - 4.0 * u[1:-1, 1:-1])
    return (u,)


def _in_place(u: Any) -> Any:
    view = u[1:]
    kept = view * 2.0
    view += kept
    view *= u[:-1]
    return view, kept


def _whole(u: Any) -> Any:
    view, before = u[2:], u[2:] * 1.0
    u += 1.0
    return view, before, view + u[2:]


def _assigned(u: Any) -> Any:
    left, right = u[:, :3], u[:, 3:6]
    total = left + right
    u[:, :3] = total
    u[0] = 5.0
    return total, left, right * 2.0


def _shifted(u: Any) -> Any:
    u[1:] = u[:-1] + u[1:]
    u[:-1] -= u[1:]
    return (u[::2] * 3.0,)


def _of_views(u: Any) -> Any:
    view = u[1:-1]
    inner = view[1:, 1:]
    view[0] = 2.0
    total = inner + view[:-1, 1:]
    inner[...] = total * 0.5
    return view, inner, total


def _broadcast(u: Any) -> Any:
    row, column = u[0], u[:, :1]
    product = u[1:] * row
    column += product[:1, :1]
    return row * 2.0, product + column[1:], column


def _masks(u: Any) -> Any:
    mask = u[1:] > u[:-1]
    chosen = np.where(mask[:, 1:], u[1:, 1:], 0.0)
    u[mask.shape[0]] = 1.0
    return mask, chosen, ~mask[:4]


def _elements(u: Any) -> Any:
    a = u[1:] * 2.0
    number = u[3, 4] + u[2][1]
    u[3, 4] = number
    return a, host.asarray(number) * a


def _reduced(u: Any) -> Any:
    means = u[:, 1:].mean(axis=0)
    u[:, 1:] -= means
    return means, u[2:].sum(axis=1) + u[2:].max(axis=1)


def _narrow(u: Any) -> Any:
    half = u[1:, ::2]
    half -= half[:1]
    return half, (half[1:] + half[:-1]) / 2


PROGRAMS = (
    _heat, _in_place, _whole, _assigned, _shifted, _of_views, _broadcast, _elements, _reduced,
    _narrow,
)  # fmt: skip


@pytest.mark.parametrize("dtype", ("f8", "f4"))
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: Callable[..., Any], dtype: str) -> None:
    check(program, host.arange(72.0).reshape(9, 8).astype(dtype) / 7)


def _distances(u: Any) -> Any:
    points, centres = u[:, None, :], u[None, :5, :]
    difference = points - centres
    return (difference * difference).sum(axis=2), (points + centres).max(axis=0)


def _outer(u: Any) -> Any:
    left, top = u[:, :1], u[:1]
    table = left * top - 0.5
    table += left
    return table, (left - top) * (top + left), table[1:] * top


def _growing(u: Any) -> Any:
    line, page = u[0], u[:, None, :]
    column = u[:, :1] * 1.0
    return column + line, page + column[:3], (column * line)[:, None] - page


@pytest.mark.parametrize("program", (_distances, _outer, _growing))
def test_shapes_that_no_operand_has(program: Callable[..., Any]) -> None:
    check(program, host.arange(72.0).reshape(9, 8) / 7)
    u = grid()
    assert is_deferred(u[:, :1] * u[:1]) and is_deferred(u[:, None] - u[None, :2])


def test_shapes_that_no_operand_has_are_small_or_computed_at_once() -> None:
    a, b = np.asarray(host.arange(40.0)), np.asarray(host.arange(30.0))
    large = a[:, None] - b[None, :]  # 1,200 elements
    assert not is_deferred(large)
    plain = host.arange(40.0)[:, None] - host.arange(30.0)
    host.testing.assert_array_equal(values(large), plain)
    small = a[:30, None] * b[None] + 1.0
    assert is_deferred(small)
    with pytest.raises(ValueError, match="could not be broadcast together"):
        a[:, None, None] * 1.0 + b[:7, None] + b[None, :3, None]
    host.testing.assert_array_equal(
        values(small), host.arange(30.0)[:, None] * host.arange(30.0) + 1
    )


def test_choices_of_shapes_that_none_has() -> None:
    for _ in range(4):
        u = grid()
        mask = u[:, :1] > 3.0
        found = np.where(mask, u[:1], 0.5)
        plain = values(u)
        host.testing.assert_array_equal(
            values(found), host.where(plain[:, :1] > 3.0, plain[:1], 0.5)
        )
        three = np.where(mask, u[0] * 2.0, u[None, 3:4, :] - 1.0)
        wanted = host.where(plain[:, :1] > 3.0, plain[0] * 2.0, plain[None, 3:4] - 1.0)
        assert three.shape == wanted.shape
        host.testing.assert_array_equal(values(three), wanted)


def test_choices_of_masks() -> None:
    for _ in range(4):
        u = grid()
        found = _masks(u)
        plain = host.arange(72.0).reshape(9, 8) / 7
        mask = plain[1:] > plain[:-1]
        wanted = mask, host.where(mask[:, 1:], plain[1:, 1:], 0.0), ~mask[:4]
        for one, other in zip(found, wanted, strict=True):
            host.testing.assert_array_equal(values(one), other)


def test_a_view_that_is_kept_is_written_with_its_array() -> None:
    u = grid()
    view = u[1:]
    total = view + 1.0
    u += 10.0
    plain = host.arange(72.0).reshape(9, 8) / 7
    host.testing.assert_array_equal(values(total), plain[1:] + 1.0)
    host.testing.assert_array_equal(values(view), (plain + 10.0)[1:])
    view[0] = -1.0
    assert values(u)[1].tolist() == [-1.0] * 8


def test_an_array_outside_sees_what_is_written() -> None:
    u = grid()
    outside = host.asarray(u)
    u[1:] += u[:-1] * 2.0
    plain = host.arange(72.0).reshape(9, 8) / 7
    plain[1:] += plain[:-1] * 2.0
    host.testing.assert_array_equal(outside, plain)
    assert not is_deferred(u[1:])  # somebody else may write it


def test_an_element_is_read_without_settling() -> None:
    u = grid()
    total = u[1:] + 1.0
    assert u[2, 3] == 19 / 7 and is_deferred(total) and is_deferred(u)
    with pytest.raises(IndexError, match="out of bounds"):
        u[9, 0]
    assert values(total)[0, 0] == 8 / 7 + 1.0


def test_faults_of_writes() -> None:
    u = grid()
    view = u[1:]
    with pytest.raises(ValueError, match="could not be broadcast"):
        view += u[2:]
    with pytest.raises(ValueError, match="non-broadcastable output operand"):
        view[0] += u[1:3] * 1.0
    u.flags.writeable = False
    fixed = u[1:]
    with pytest.raises(ValueError, match="read-only"):
        fixed += 1.0
    host.testing.assert_array_equal(values(u), host.arange(72.0).reshape(9, 8) / 7)


def test_a_read_only_array_can_be_read() -> None:
    u = grid()
    u.flags.writeable = False
    view = u[1:]
    assert not view.flags.writeable
    host.testing.assert_array_equal(values(view * 2.0), values(u)[1:] * 2.0)


def test_conditions_are_told_from_their_line() -> None:
    u = grid()
    view = u[1:, ::2]
    plain = host.arange(72.0).reshape(9, 8) / 7
    for own in (view, plain[1:, ::2]):
        with host.errstate(over="raise"), pytest.raises(FloatingPointError):
            own *= 1e308
    host.testing.assert_array_equal(values(u), plain)  # it is written nevertheless
    with host.errstate(divide="call", call=lambda *what: met.append(what)):
        met: list[Any] = []
        found = 1.0 / u[:, ::2]
        assert values(found)[0, 0] == host.inf
    assert met


def test_full_tapes() -> None:
    u = grid(MOST_LEAVES * 2)
    rows = [u[n : n + 1] for n in range(MOST_LEAVES * 2)]
    total = rows[0] * 1.0
    for row in rows[1:]:
        total = total + row
    wanted = values(u)[0] * 1.0
    for row in values(u)[1:]:
        wanted = wanted + row
    host.testing.assert_array_equal(values(total)[0], wanted)


def test_memory_is_given_back() -> None:
    u = grid()
    before = sys.getrefcount(deferred.own_host(u))
    for _ in range(20):
        found = u[1:] * 2.0 + u[:-1]
        values(found)
        u[2:] += 1.0
    deferred.settle()
    gc.collect()
    after = sys.getrefcount(deferred.own_host(u))
    assert after == before
    view = u[1:]
    del u
    assert values(view).shape == (8, 8) and deferred.own_host(view).base is not None


def test_other_threads() -> None:
    u = grid()
    total = u[1:] * 2.0
    found: list[Any] = []

    def other() -> None:
        view = u[2:]
        found.append(values(view + 1.0))
        u[0] = 100.0

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    plain = host.arange(72.0).reshape(9, 8) / 7
    host.testing.assert_array_equal(found[0], plain[2:] + 1.0)
    host.testing.assert_array_equal(values(total), plain[1:] * 2.0)
    assert u[0, 0] == 100.0


def test_a_place_whose_views_nobody_reads_is_left_alone() -> None:
    with deferring(smallest=1, hot=1000):
        (grid() + 1.0)[0]  # that is known: what is allowed
        u, put_off = grid(), 0
        for _ in range(50):
            view = u[1:]
            put_off += is_deferred(view)
            float(view.sum())
            del view
        assert 1 <= put_off <= 3


def test_views_of_nothing_are_computed_at_once() -> None:
    u = grid()
    other, view = u * 2.0, u[3:3, None]
    assert not is_deferred(view) and view.shape == (0, 1, 8)
    with pytest.raises(ValueError, match="no identity"):
        view.max(axis=0)
    with pytest.raises(ValueError, match="no identity"):
        (view * 2.0).min(axis=0)
    assert other[0, 1] == 2 / 7


def test_views_that_nobody_reads_do_not_fill_the_tape() -> None:
    arrays = [grid() for _ in range(MOST_LEAVES)]
    for array in arrays:
        array[1:]
    assert not any(map(is_deferred, arrays))
    own = grid()
    assert is_deferred(own * 2.0)


def test_operations_make_room_where_views_have_taken_it() -> None:
    arrays = [grid() for _ in range(MOST_LEAVES // 2 - 1)]
    views = [array[1:] for array in arrays]
    assert all(map(is_deferred, views))
    own = grid()
    own * 2.0
    assert not any(map(is_deferred, views)) and is_deferred(own * 2.0)
