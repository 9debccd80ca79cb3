"""Memory of the engine that NumPy's arrays share: what one writes the other sees, as between two
of NumPy's arrays, and what has been recorded keeps what it has read.
"""

from __future__ import annotations

import gc
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

pytestmark = [pytest.mark.engine, pytest.mark.cpu("memory that NumPy shares")]

lf = oracle.lf


@pytest.fixture(autouse=True)
def engine() -> Iterator[None]:
    """All arrays are the engine's."""
    with oracle.options(eager_size=0):
        yield


@pytest.mark.parametrize("eager_size", (0, 100_000))
def test_what_may_be_written_can_be_said_to_be(eager_size: int) -> None:
    """As scipy.sparse does with arrays of indices; NumPy asks what is below for a buffer."""
    with oracle.options(eager_size=eager_size):
        for part in (slice(None), slice(None, None, 3), (slice(None), 2), (slice(2, 5), 1), 3):
            array = lf.asarray(host.arange(48.0).reshape(12, 4))[part]
            for each in (array, array.T):
                found = host.asarray(each)
                found.flags.writeable = True
                found[...] = 7.0
                assert (each == 7.0).all()


def is_lent(array: Any) -> bool:
    return bool(array._storage.is_lent)


def address(array: host.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_both_write() -> None:
    """In the same memory, as long as NumPy has an array there; then it is lazy as before."""
    x = lf.arange(6.0) * 2
    theirs = host.asarray(x)
    theirs[0] = 7
    assert float(x[0]) == 7 and x.tolist() == theirs.tolist()
    x += 1
    x[1:3] = lf.ones(2) * 5
    x[[3, 4]] = lf.array([8.0, 9.0])
    x[x > 10] = -1
    lf.multiply(x, 2, out=x)
    assert theirs.tolist() == x.tolist() == [16, 10, 10, 16, 18, -2]
    assert is_lent(x)
    part = theirs[1:]
    del theirs
    assert is_lent(x)  # a part of it is there
    part[0] = 3
    assert float(x[1]) == 3
    del part
    assert not is_lent(x)
    y = x + 1
    assert y._storage.node.buffer is None and y.tolist() == (host.asarray(x) + 1).tolist()


def test_what_was_recorded_before_and_meanwhile() -> None:
    """Reads what was there then."""
    x = lf.arange(5.0) * 1
    before = x + 1
    theirs = host.asarray(x)
    theirs[:] = 100
    meanwhile, total, view = x * 2, x.sum(), x[1:4]
    later = view - 1
    theirs[:] = 0
    assert before.tolist() == [1, 2, 3, 4, 5]
    assert meanwhile.tolist() == [200] * 5 and float(total) == 500 and later.tolist() == [99] * 3
    assert view.tolist() == [0] * 3 and float(x.sum()) == 0


def test_what_is_known_of_masks_and_indices() -> None:
    """Is asked again: how many are true, whether all are inside."""
    values = lf.arange(2_000.0) * 1
    mask, where = values < 1_000, lf.zeros(500, "i8") + 3
    lf.materialize(values, mask, where)
    assert values[mask].size == 1_000 and float(values[where].sum()) == 1_500
    theirs, indices = host.asarray(mask), host.asarray(where)
    theirs[:10] = False
    indices[0] = 5
    assert values[mask].size == 990 and float(values[where].sum()) == 1_502
    theirs[:] = False
    indices[0] = 2_000
    assert values[mask].size == 0
    with pytest.raises(IndexError):
        lf.materialize(values[where])


@pytest.mark.parametrize("part", [(slice(None), slice(3)), (slice(None, None, -1),), (1,)])
def test_keys_with_arrays_into_views(part: Any) -> None:
    """Values that are yet to be computed are written where they belong: they went where they would
    in a copy of the view."""
    values = host.arange(24.0).reshape(6, 4) % 7
    x, n = lf.array(values) * 1, values.copy()
    theirs = host.asarray(x)
    for array, np in ((x, lf), (n, host)):
        view = array[part]
        view[view > 3] += 10
        view[np.asarray([0, 2])] *= np.asarray(2.0) * 3
        assert host.array(view[np.asarray(1)]).tolist() == view[1].tolist()
    assert x.tolist() == theirs.tolist() == n.tolist()


def test_views_of_another_dtype() -> None:
    """Parts of complex numbers and bytes of integers are memory, too: they were read-only."""
    x, whole = lf.arange(4.0) * 2j + 1, lf.arange(6) * 1
    real, imaginary = host.asarray(x.real), host.asarray(x.imag)
    real[1] = 7
    imaginary[:2] -= 3
    x.imag[3] = 5
    assert x.tolist() == [1 - 3j, 7 - 1j, 1 + 4j, 1 + 5j] and real.tolist() == [1, 7, 1, 1]
    small = host.asarray(whole.view("i4")[2::2])
    small[:] = [9, 8, 7, 6, 5]
    assert whole.tolist() == [0, 9, 8, 7, 6, 5]
    del small
    assert not is_lent(whole) and is_lent(x)


def test_views_that_nobody_may_write() -> None:
    """Are of the same memory, to be read: they were copies."""
    x = lf.arange(9.0).reshape(3, 3) * 1
    theirs = host.asarray(x)
    fixed = x[1:]
    fixed.setflags(write=False)
    given = [host.asarray(each) for each in (lf.diagonal(x), lf.broadcast_to(x[0], (2, 3)), fixed)]
    theirs[:] = 50
    assert all((each == 50).all() and not each.flags.writeable for each in given)
    del theirs
    assert is_lent(x)
    given.clear()
    assert not is_lent(x)


def test_it_is_shared() -> None:
    """As NumPy's functions say that are asked whether a result may be written there."""
    x, y = lf.arange(8.0) * 1, lf.arange(8.0) * 2
    theirs = host.asarray(x)
    lf.materialize(y)
    for ask in (host.shares_memory, host.may_share_memory):
        assert ask(theirs, x) and ask(x[:2], theirs) and not ask(x[:2], theirs[3:])
        assert not ask(theirs, y) and not ask(theirs, x + 1)
    del theirs
    host.asarray(y)[0] = 1
    assert y._storage.node.buffer.exclusive


def test_a_mask_that_changes_while_it_is_read() -> None:
    """Picks what it picked when it was looked at: how much of it was true was another number than
    that of its positions."""
    x, mask = lf.arange(12.0).reshape(6, 2) * 1, lf.arange(6) < 2
    theirs = host.asarray(mask)

    class Column:
        def __index__(self) -> int:
            theirs[:] = True
            return 1

    assert x[mask, Column()].tolist() == [1, 3]
    theirs[3:] = False
    assert x[mask, 1].tolist() == [1, 3, 5]
    repeated = lf.broadcast_to(mask[:2], (6, 2))
    assert x[repeated].size == 12 and lf.nonzero(repeated)[0].size == 12
    theirs[1] = False
    assert x[repeated].tolist() == [0, 2, 4, 6, 8, 10]


def test_a_value_that_lends_what_it_is_written_to() -> None:
    """Its conversion to a number may ask for the array: what is lent is what is written."""
    x = lf.arange(3.0) * 1
    lf.materialize(x)
    before, held = x + 1, []

    class Value:
        def __float__(self) -> float:
            held.append(host.asarray(x))
            return 5.0

    x[1] = Value()
    assert held[0].tolist() == x.tolist() == [0, 5, 2] and before.tolist() == [1, 2, 3]
    held[0][2] = 9
    assert x.tolist() == [0, 5, 9]


def test_errors_of_arithmetic_write_as_numpys() -> None:
    """The values are there when the error is raised."""
    x = lf.ones(4) * 1
    theirs = host.asarray(x)
    with host.errstate(divide="raise"), pytest.raises(FloatingPointError):
        x /= lf.array([1.0, 0.0, 2.0, 4.0])
    assert theirs.tolist() == [1, host.inf, 0.5, 0.25]


def test_memory_that_somebody_else_has() -> None:
    """Is not lent: of what has been given away to stay as it is the array gets a copy, of what is
    borrowed NumPy gets a view to read."""
    x = lf.arange(4.0) * 1
    lf.materialize(x)
    x.setflags(write=False)
    kept = host.asarray(x)
    x.setflags(write=True)
    theirs = host.asarray(x)
    theirs[0] = 9
    assert kept.tolist() == [0, 1, 2, 3] and float(x[0]) == 9 and not kept.flags.writeable
    memory = host.arange(4.0)
    borrowed = host.asarray(lf.asarray(memory, copy=False))
    assert address(borrowed) == address(memory) and not borrowed.flags.writeable
    one = lf.arange(4.0) * 3
    two = one.copy()
    lf.materialize(one, two)
    host.asarray(one)[:] = 0
    assert one.tolist() == [0] * 4 and two.tolist() == [0, 3, 6, 9]


def test_results_do_not_move_into_lent_memory() -> None:
    """It is kept, also that of arrays which have gone."""
    theirs = host.asarray(lf.arange(1_000.0) * 2)
    for _ in range(20):
        lf.materialize(lf.arange(1_000.0) + 1)
    assert (theirs == host.arange(1_000.0) * 2).all()
    x = lf.arange(1_000.0) * 2
    theirs = host.asarray(x)
    x = x * 3  # noqa: PLW2901
    assert (host.asarray(x) == theirs * 3).all() and theirs[1] == 2
    gc.collect()
    x += 1
    assert theirs[1] == 2


def test_functions_that_are_replayed() -> None:
    """Read what is there, whenever they are called."""
    function = lf.fuse(lambda x, y: (x * 2 + y, (x - y).sum()))
    x, y = lf.arange(100.0) * 1, lf.ones(100)
    theirs = None
    for turn in range(12):
        if turn % 4 == 1:
            theirs = host.asarray(x)
        if theirs is not None:
            theirs[turn] = -turn
        found, total = function(x, y)
        values = host.array(x)
        assert (host.asarray(found) == values * 2 + 1).all() and float(total) == (values - 1).sum()
        if turn % 4 == 3:
            theirs = None


def test_many_at_once() -> None:
    """Loans that are over are forgotten."""
    from lazyfuse.frontend import lending

    for _ in range(300):
        x = lf.ones(3) * 2
        host.asarray(x)[0] = 1
        assert x.tolist() == [1, 2, 2]
    assert len(lending._loans) <= 100
    held = [host.asarray(lf.ones(3) * number) for number in range(200)]
    del x
    assert [float(each[0]) for each in held] == list(range(200))


def test_threads_lend_and_return() -> None:
    """At the same time, of arrays of their own and of one that all read."""
    whole, failures = lf.arange(500.0) * 1, []
    lf.materialize(whole)

    def work(number: int) -> None:
        try:
            for turn in range(200):
                x = lf.zeros(50) + number
                theirs = host.asarray(x)
                theirs[turn % 50] = -1
                assert float(x.sum()) == 49 * number - 1
                x += 1
                del theirs
                assert float((x * 2).sum()) == 2 * (50 * number - number - 1 + 50)
                assert host.asarray(whole)[7] == 7
        except BaseException as error:  # noqa: BLE001 - whatever it is
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and (host.asarray(whole) == host.arange(500.0)).all()


def test_threads_write_different_parts() -> None:
    """Nothing is lost: what was computed for one part came with all others as they had been."""
    x, lost, is_over = lf.zeros(40_000) + 1, [], threading.Event()
    theirs = host.asarray(x)

    def count() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            theirs[-1] = number
            lost.extend([number] * any(theirs[-1] != number for _ in range(50)))

    thread = threading.Thread(target=count)
    thread.start()
    for _ in range(200):
        x[:30_000] = (x[:30_000] * 3 + 1) % 5
        x[lf.arange(10)] += 1
    is_over.set()
    thread.join()
    assert lost == []


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals")
def test_interrupts() -> None:
    """Are raised, and end loans: one that came when NumPy asked for a buffer, or when the last of
    its arrays went, was lost, and such an array stayed lent for ever."""

    class Interrupt(Exception):
        pass

    met: list[bool] = []

    def interrupt(number: int, frame: Any) -> None:
        met.append(True)
        raise Interrupt

    arrays, before = [lf.arange(8.0) * 1 for _ in range(40)], sys.unraisablehook
    lf.materialize(*arrays)
    ignored: list[Any] = []

    def lend_until(number: int) -> None:
        while len(met) < number:
            for x in arrays:
                host.asarray(x)[0] = 3

    sys.unraisablehook, handler = ignored.append, signal.signal(signal.SIGALRM, interrupt)
    try:
        for number in range(300):
            with pytest.raises(Interrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.001 + number * 1e-6)
                lend_until(number + 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        sys.unraisablehook = before
    assert not any(map(is_lent, arrays)) and ignored == []
    assert all(x.tolist() == [3, *range(1, 8)] for x in arrays)


# ---- programs at random: each array of ours beside one of NumPy's

Pair = tuple[Any, host.ndarray]
SIZE = 24
KEYS: tuple[Any, ...] = (
    slice(None), slice(2, 9), slice(None, None, 3), slice(None, None, -1), 5, -1,
    host.array([1, 4, 1, 3]), [0, 2],
)  # fmt: skip


def write(draw: random.Random, pairs: list[Pair], held: list[Pair]) -> None:
    """Into an array, or through NumPy's array of one."""
    target, other = draw.choice(pairs), draw.choice(pairs)
    key, kind = draw.choice(KEYS), draw.randrange(7)
    number = draw.randrange(-9, 9)
    into = draw.choice(held) if held and kind < 3 else target
    for (array, value), np in zip(zip(into, other, strict=True), (lf, host), strict=True):
        if kind % 3 == 0 and (kind < 3 or array.ndim == 1):
            array[key] = number
        elif kind in (1, 4):
            array += value[: len(array)].sum() % 5 if kind == 1 else number
        elif kind == 2:
            array[...] = array[::-1] * 0.5
        elif array.shape == value.shape and kind == 5:
            np.subtract(array, value, out=array)
        else:
            array[array > number] = number


def step(draw: random.Random, pairs: list[Pair], held: list[Pair], waiting: list[Pair]) -> None:
    kind, (x, n) = draw.randrange(9), draw.choice(pairs)
    if kind == 0:
        held.append((host.asarray(x), n))
    elif kind == 1 and held:
        del held[draw.randrange(len(held))]
    elif kind == 2 and len(n) > 11:
        part = draw.choice((slice(3, None), slice(None, None, 2), slice(None, None, -1)))
        pairs.append((x[part], n[part]))
    elif kind == 3:
        waiting.append((x * 2 - 1, n * 2 - 1))
        waiting.append((x.sum(), n.sum()))
    elif kind == 4:
        more = draw.randrange(5)
        pairs.append((x + more, n + more))
    elif kind == 5:
        assert (host.array(x) == n).all()
    else:
        write(draw, pairs, held)
    del pairs[6:], waiting[:-6], held[:-4]


@pytest.mark.parametrize("size", [0, 12])
def test_programs(size: int, full: bool) -> None:
    """What NumPy's arrays hold, ours hold; also where parts are small enough for NumPy."""
    with oracle.options(eager_size=size):
        for seed in range(3_000 if full else 80):
            draw = random.Random(f"{seed} {size}")
            values = host.arange(SIZE) * 1.0
            pairs: list[Pair] = [(lf.array(values) * 1, values.copy()) for _ in range(2)]
            held: list[Pair] = []
            waiting: list[Pair] = []
            for _ in range(30):
                step(draw, pairs, held, waiting)
            for own, theirs in (*pairs, *held, *waiting):
                host.testing.assert_array_equal(host.array(own), theirs, f"seed {seed}")


CALLS: dict[str, Callable[[Any], Any]] = {
    "a buffer": lambda x: host.frombuffer(memoryview(x).cast("B"), x.dtype),
    "DLPack": host.from_dlpack,
    "to_numpy": lambda x: x.to_numpy(),
    "without a copy": lambda x: host.array(x, copy=False),
    "of an object": lambda x: host.asarray(Around(x)),
}


class Around:
    """Has an array inside."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __array__(self, dtype: Any = None, copy: Any = None) -> host.ndarray:
        return host.asarray(self.x)


@pytest.mark.parametrize("name", CALLS)
def test_ways(name: str) -> None:
    """All of them give the memory."""
    x = lf.arange(8.0) * 1
    theirs = CALLS[name](x)
    theirs[2] = 50
    assert float(x[2]) == 50
    x[3] = 60
    assert theirs[3] == 60
