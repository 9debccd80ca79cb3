"""Loops that write arrays piece by piece: what is pending is computed, then NumPy writes."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

N = 300


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    """Small operations are done at once."""
    with lf.options(eager_size=1000):
        yield


def in_place(a: Any, key: Any, other: Any) -> None:
    a[key] += other


LOOPS: dict[str, Callable[[Any, Any, int], Any]] = {
    "one row": lambda xp, a, i: in_place(a, 7, 1.0),
    "rows": lambda xp, a, i: in_place(a, i, 1.0),
    "column by column": lambda xp, a, i: in_place(a, (slice(None), i), a[:, i - 1]),
    "element": lambda xp, a, i: in_place(a, (i, 3), 2.0),
    "region": lambda xp, a, i: a.__setitem__((slice(3), slice(i)), 2.0),
    "row of NumPy's": lambda xp, a, i: a.__setitem__(i, host.arange(float(N))),
    "row computed from others": lambda xp, a, i: a.__setitem__(i, a[i - 1] * 0.5 + a[i + 1]),
    "positions": lambda xp, a, i: in_place(a, xp.array([3, 5, i]), 1.0),
    "swap": lambda xp, a, i: a.__setitem__([3, i], a[[i, 3]]),
    "output": lambda xp, a, i: xp.multiply(a[i], 0.5, out=a[i]),
    "output of own bits": lambda xp, a, i: xp.sqrt(xp.abs(a[i]), out=a[7]),
    "copied": lambda xp, a, i: xp.copyto(a[i], a[7]),
}


def pending(values: host.ndarray) -> tuple[host.ndarray, Any]:
    """An array of NumPy's and one of ours that is not computed."""
    there = lf.array(values) * 2.0
    assert there._host is None and there._storage.node.buffer is None
    return values * 2.0, there


@pytest.mark.cpu("writes at once")
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("is_held", [False, True])
def test_loops_write_at_once(name: str, is_held: bool) -> None:
    """After some steps nothing is pending any more; what has been read, and others hold, stays."""
    values, there = pending(host.random.default_rng(2).random((N, N)))
    read, row, seen = there + 1.0, there[7], None
    if is_held:
        seen = lf.asnumpy(there)
    kept = values.copy()
    for i in range(10, 40):
        LOOPS[name](host, values, i)
        LOOPS[name](lf, there, i)
        if i == 30:
            address = there._storage.node.buffer.pointer
    node = there._storage.node
    assert node.buffer is not None and node.buffer.pointer == address
    host.testing.assert_array_equal(lf.asnumpy(there), values)
    host.testing.assert_array_equal(lf.asnumpy(row), values[7])
    host.testing.assert_array_equal(lf.asnumpy(read), kept + 1.0)
    if seen is not None:
        host.testing.assert_array_equal(seen, kept)


def test_some_writes_stay_pending() -> None:
    """As those of boundaries, which fuse with what is computed besides."""
    values, there = pending(host.random.default_rng(3).random((N, N)))
    for array in (values, there):
        array[0] = 0.0
        array[-1] += 1.0
        array[:, 0] = array[:, 1]
    assert there._storage.node.buffer is None
    large = there[1:-1]
    for _ in range(20):
        large += 1.0  # more than is done at once
        values[1:-1] += 1.0
    assert there._storage.node.buffer is None
    host.testing.assert_array_equal(lf.asnumpy(there), values)


def test_what_fuse_records_stays_pending() -> None:
    """A loop in a fused function is a part of its plan."""

    @lf.fuse
    def filled(a: Any) -> Any:
        b = a * 1.0
        for i in range(20):
            b[i] += 1.0
            b[i, 3] = 5.0
        return b

    values = host.random.default_rng(4).random((N, N))
    expected = values.copy()
    expected[:20] += 1.0
    expected[:20, 3] = 5.0
    for _ in range(3):
        host.testing.assert_array_equal(lf.asnumpy(filled(lf.array(values))), expected)


def test_faults_leave_the_array() -> None:
    """Errors are NumPy's, in a loop as well."""
    values, there = pending(host.random.default_rng(5).random((N, N)))
    for array in (values, there):
        for i in range(12):
            array[i] += 1.0
            array[[i, 3]] = 2.0
        for wrong in (
            lambda a=array: a.__setitem__([3, N], 1.0),
            lambda a=array: a.__setitem__([3, 4], host.ones((3, N))),
            lambda a=array: (host if a is values else lf).add(a[3], 1j, out=a[4]),
            lambda a=array: a.__setitem__(3, [1.0, 2.0]),
        ):
            with pytest.raises((IndexError, ValueError, TypeError)):
                wrong()
    host.testing.assert_array_equal(lf.asnumpy(there), values)


def relaxed(xp: Any, u: Any, steps: int) -> Any:
    """Steps on the interior of a grid, whose edges are set from their neighbours."""
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1])
        u[:, -1] = u[:, -2]
        u[0] = u[1]
        u[:, 0] = u[:, 1]
        u[-1, :] = 0.0
    return u


@pytest.mark.cpu("writes at once")
@pytest.mark.parametrize("is_held", [False, True])
def test_edges_of_a_grid_are_written_at_once(is_held: bool) -> None:
    """The interior is computed, with no kernel for any edge; who holds the array from before keeps
    what it was."""
    values = host.random.default_rng(3).random((N, N))
    wanted, there = relaxed(host, values.copy(), 9), lf.array(values)
    seen = lf.asnumpy(there) if is_held else values
    lf.reset_stats()
    relaxed(lf, there, 9)
    assert there._storage.node.buffer is not None
    assert lf.stats().kernels_launched == 9
    host.testing.assert_array_equal(lf.asnumpy(there), wanted)
    host.testing.assert_array_equal(seen, values)


def test_edges_stay_pending_where_nothing_is_small() -> None:
    values = host.random.default_rng(3).random((N, N))
    with lf.options(eager_size=0):
        there = lf.array(values)
        relaxed(lf, there, 1)
        assert there._storage.node.buffer is None
        host.testing.assert_array_equal(lf.asnumpy(there), relaxed(host, values.copy(), 1))


TOUCHES: dict[str, Callable[[Any, Any, int], Any]] = {
    "an element is read and dropped": lambda xp, a, i: (a.__setitem__((i, 3), 2.0), a[i, 3]),
    "elements from slices": lambda xp, a, i: in_place(a, (i, i), -xp.dot(a[i, :i], a[i - 1, :i])),
    "elements from an empty slice": lambda xp, a, i: in_place(a, (i, 0), -(a[i, :0] @ a[:0, i])),
}


@pytest.mark.cpu("writes at once")
@pytest.mark.parametrize("name", TOUCHES)
@pytest.mark.parametrize("is_pending", [False, True])
@pytest.mark.parametrize("is_held", [False, True])
def test_elements_are_read_between_writes(name: str, is_pending: bool, is_held: bool) -> None:
    """Nothing is copied after the first turns: reads that nobody waits for are forgotten."""
    values = host.random.default_rng(4).random((N, N)) / N
    there = lf.array(values)
    if is_pending:
        values, there = pending(values)
    seen = lf.asnumpy(there) if is_held else None
    kept = values.copy()
    for i in range(10, 60):
        TOUCHES[name](host, values, i)
        TOUCHES[name](lf, there, i)
        if i == 18:
            lf.reset_stats()
    assert there._storage.node.buffer is not None
    assert (lf.stats().copies, lf.stats().kernels_launched) == (0, 0)
    host.testing.assert_allclose(lf.asnumpy(there), values, rtol=1e-14)
    if seen is not None:
        host.testing.assert_array_equal(seen, kept)


@pytest.mark.cpu("writes at once")
def test_reads_that_are_waited_for_keep_their_values() -> None:
    """Of readers that live, none is forgotten."""
    values, there = pending(host.random.default_rng(5).random((N, N)))
    elements = []
    for i in range(20):
        elements.append((there[i, 1], values[i, 1]))
        there[i, 1] = values[i, 1] = 7.0
        rows = there[i] * 2.0, values[i] * 2.0
        there[i] = values[i] = float(i)
        host.testing.assert_array_equal(lf.asnumpy(rows[0]), rows[1])
    for own, wanted in elements:
        assert float(own) == wanted
    host.testing.assert_array_equal(lf.asnumpy(there), values)


def fields(xp: Any, u: Any, v: Any, steps: int) -> tuple[Any, Any]:
    """Two fields that step in turn, with an edge that is written first."""
    for step in range(steps):
        u[0, :] = float(step)
        u[1:, :] -= 0.5 * (v[1:, :] - v[:-1, :])
        v[:-1, :] -= 0.7 * (u[1:, :] - u[:-1, :])
    return u, v


@pytest.mark.cpu("writes at once")
def test_edges_of_fields_that_others_read() -> None:
    """No field is computed twice for the edge of another one."""
    random = host.random.default_rng(6)
    values = random.random((N, N)), random.random((N, N))
    wanted = fields(host, *[each.copy() for each in values], 12)
    there = [lf.array(each) for each in values]
    lf.reset_stats()
    found = [lf.asnumpy(each) for each in fields(lf, *there, 12)]
    assert lf.stats().kernels_launched <= 12 * 3
    for own, each in zip(found, wanted, strict=True):
        host.testing.assert_array_equal(own, each)


def columns(xp: Any, c: Any, d: Any, w: Any) -> tuple[Any, Any]:
    """A loop over slices of arrays that read each other, as of the columns of an atmosphere."""
    for k in range(1, c.shape[2]):
        c[:, :, k] = 0.25 * (w[:, :, k] + w[:, :, k - 1])
        divided = 1.0 / (3.0 - c[:, :, k - 1] * w[:, :, k])
        c[:, :, k] = c[:, :, k] * divided
        d[:, :, k] = (d[:, :, k] - d[:, :, k - 1] * w[:, :, k]) * divided
    return c, d


@pytest.mark.cpu("counts copies")
def test_arrays_that_are_written_slice_by_slice_are_not_copied() -> None:
    """What is pending keeps no memory alive that it is to write into."""
    random = host.random.default_rng(7)
    values = [random.random((90, 90, 100)) for _ in range(3)]
    wanted = columns(host, *[each.copy() for each in values])
    there = [lf.array(each) for each in values]
    lf.reset_stats()
    found = [lf.asnumpy(each) for each in columns(lf, *there)]
    assert lf.stats().copies <= 4
    for own, each in zip(found, wanted, strict=True):
        host.testing.assert_allclose(own, each, rtol=1e-14)


def factored(xp: Any, a: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        for j in range(3):
            a[i, j] = (a[i, j] - xp.dot(a[i, :j], a[j, :j])) / a[j, j]


@pytest.mark.cpu("writes at once")
def test_elements_of_a_large_copy() -> None:
    """Each element that is read was computed by itself, from all that was written before."""
    values = host.random.default_rng(8).random((800, 800)) + 1.0
    wanted, there = values.copy(), lf.array(values).copy()
    factored(host, wanted, 3, 10)
    factored(lf, there, 3, 10)
    lf.reset_stats()
    factored(host, wanted, 10, 60)
    factored(lf, there, 10, 60)
    assert lf.stats().kernels_launched == 0
    host.testing.assert_allclose(lf.asnumpy(there), wanted, rtol=1e-12)


@pytest.mark.cpu("counts kernels")
def test_arrays_that_are_written_slice_by_slice_are_computed_together() -> None:
    """By itself, each is computed with what it reads of the others, and they once more."""
    random = host.random.default_rng(7)
    values = [random.random((300, 300, 20)) for _ in range(3)]
    wanted = columns(host, *[each.copy() for each in values])
    with lf.options(cold_size=0):
        there = [lf.array(each) for each in values]
        lf.reset_stats()
        found = [lf.asnumpy(each) for each in columns(lf, *there)]
    assert lf.stats().kernels_launched <= 100
    for own, each in zip(found, wanted, strict=True):
        host.testing.assert_allclose(own, each, rtol=1e-14)


@pytest.mark.cpu("writes at once")
def test_readers_that_are_gone_do_not_count() -> None:
    """What is recorded and dropped leaves the memory to the next write."""
    values = host.random.default_rng(10).random((N, N))
    there = lf.array(values)
    for i in range(20):
        there * 2.0
        there[i, 3] = values[i, 3] = 7.0
        assert there._storage.node.buffer is not None
        assert there._storage.node.users == 0
    host.testing.assert_array_equal(lf.asnumpy(there), values)


@pytest.mark.cpu("writes at once")
@pytest.mark.parametrize("times", [1, 5])
def test_new_arrays_have_memory_before_small_parts_are_written(times: int) -> None:
    """As a whole they are recorded, by machine code as well."""
    values = host.random.default_rng(11).random((N, N))
    with lf.options(cold_size=0):
        given = lf.array(values)
        for _ in range(times):
            small, large = lf.zeros((N, N)), lf.zeros((N, N))
            small[5:25] = given[5:25] * 3.0
            large[1:-1] = given[1:-1] * 3.0
            bases = [each._storage.node.srcs[0] for each in (small, large)]
            assert [each.buffer is not None for each in bases] == [True, False]
            wanted = host.zeros((N, N))
            wanted[5:25] = values[5:25] * 3.0
            host.testing.assert_array_equal(lf.asnumpy(small), wanted)
            wanted[1:-1] = values[1:-1] * 3.0
            host.testing.assert_array_equal(lf.asnumpy(large), wanted)


@pytest.mark.cpu("writes at once")
def test_versions_stay_where_nobody_else_knows_them() -> None:
    """What has been written while it was pending is known only until it is written at once: each
    write made a version of it, and took ten times as long."""
    values, there = pending(host.random.default_rng(8).random((N, N)))
    there[5:200] = there[5:200] * 2.0
    lf.materialize(there)
    there[3, 3] = 1.0
    version = weakref.ref(there._storage.node)
    there[4, 4] = 2.0
    assert there._storage.node is version()


@pytest.mark.cpu("writes at once")
@pytest.mark.parametrize("make", [lambda np: np.zeros(120_000), lambda np: np.ones(120_000) * 2.0])
def test_versions_stay_where_they_were_among_the_last_pending(make: Callable[[Any], Any]) -> None:
    """The list of the last pending arrays knew them for as long as no others came: an element that
    a loop wrote took 1.6 us instead of 0.2."""
    there, wanted = make(lf), make(host)
    for k in range(20):  # after some, they are written at once
        there[k], wanted[k] = k, k
    version = weakref.ref(there._storage.node)
    there[-1] = wanted[-1] = 5.0
    assert there._storage.node is version()
    later, kept = there + 1.0, wanted + 1.0
    there[-1] = 6.0
    assert there._storage.node is not version()
    assert host.array_equal(host.asarray(later), kept)


@pytest.mark.parametrize("eager_size", [0, 1000])
@pytest.mark.parametrize("shape", [(N, N), (0, 5)])
def test_places_of_no_elements(shape: tuple[int, ...], eager_size: int) -> None:
    """With nothing done at once, NumPy was asked for elements behind the memory."""

    def program(xp: Any, x: Any) -> Any:
        x, length = x.reshape(shape), shape[0]
        for part in (slice(length, None), slice(0, 0), (slice(length, None), slice(3, None, -3))):
            x[part] += 1.0
            x[part] = x[part] * 2.0
            x[part] = x[part]
            x[part] = 5.0
        return x[length:] + x[:0], xp.exp(x[length:])

    with lf.options(eager_size=eager_size, cold_size=eager_size):
        oracle.check(program, host.random.default_rng(9).random(math.prod(shape)))
