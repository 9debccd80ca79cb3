"""Operations that several pending arrays share are computed once, in whatever order the arrays
are asked for, if that costs more than keeping them."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Iterator
from typing import Any
from weakref import ref

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.frontend import native_methods  # noqa: E402 - when there is an engine
from lazyfuse.ir.graph import Graph, is_leaf  # noqa: E402 - likewise
from lazyfuse.runtime import ready, session, shared, trace  # noqa: E402 - likewise

N = 4096


@pytest.fixture(autouse=True, params=("python", "native"))
def walks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The walks of Python, and of machine code with plans that it runs from the third time on."""
    if request.param == "python":
        monkeypatch.setattr(trace, "walks", trace.walks[:1])
    elif oracle.ON_GPU or not native_methods.make_native(lf.LazyArray):
        pytest.skip("there is no machine code")
    monkeypatch.setattr(ready, "RUNS", 2)
    shared.forget()
    monkeypatch.setattr(shared, "WORTH", N)
    session.plans.clear()
    session.ready.clear()
    yield
    session.ready.clear()
    shared.forget()


def inputs() -> tuple[Any, Any]:
    values = host.linspace(0.5, 2.0, N)
    return lf.array(values), lf.array(values[::-1].copy())


def two(a: Any, b: Any) -> tuple[Any, Any]:
    """Two results with a common part, which nobody holds."""
    common = lf.exp(-a * b) * lf.sin(a) + b
    return common * 2.0 - a, common / b


def apart(a: Any, b: Any) -> tuple[Any, Any]:
    """The same, of which the second takes more than the part that both have."""
    common = lf.exp(-a * b) * lf.sin(a) + b
    return common * 2.0 - a, lf.cos(common)


def pending(array: Any) -> list[Any]:
    """The operations under an array that are not computed."""
    return [node for node in Graph([array._storage.node]).nodes if not is_leaf(node)]


def test_the_second_finds_what_the_first_has_computed() -> None:
    a, b = inputs()
    wanted = [host.array(found) for found in lf.materialize(*apart(a, b))]
    for _ in range(6):
        first, second = apart(a, b)
        host.testing.assert_array_equal(host.array(first), wanted[0])
        assert [node.op.name for node in pending(second)] == ["cos"]
        host.testing.assert_array_equal(host.array(second), wanted[1])
        first, second = apart(a, b)
        host.testing.assert_array_equal(host.array(second), wanted[1])
        host.testing.assert_array_equal(host.array(first), wanted[0])


def test_the_second_is_computed_along() -> None:
    """Where it takes no more than the part that both have."""
    a, b = inputs()
    wanted = [host.array(found) for found in lf.materialize(*two(a, b))]
    for _ in range(6):
        for order in (0, 1), (1, 0):
            results = two(a, b)
            lf.reset_stats()
            for place in order:
                host.testing.assert_array_equal(host.array(results[place]), wanted[place])
                assert not pending(results[1 - place])
            assert lf.stats().kernels_launched + lf.stats().cold_runs == 1


def test_what_is_made_of_the_second() -> None:
    """It is no part of what is shared, and finds the second there."""
    a, b = inputs()
    for _ in range(4):
        first, second = two(a, b)
        third = second * 3.0
        plain = host.array(lf.exp(-a * b) * lf.sin(a) + b)
        host.array(first)
        assert not pending(second) and [node.op.name for node in pending(third)] == ["multiply"]
        host.testing.assert_array_equal(host.array(third), plain / host.array(b) * 3.0)


def test_others_that_are_not_computed_along() -> None:
    """Of other shapes, of other threads, with sums and picks on the way, or where a reader is not
    known: the part is stored."""
    a, b = inputs()
    makers = {
        "shape": lambda common: common[None] + host.ones((2, 1)),
        "sum": lambda common: common - common.sum(),
        "picks": lambda common: common[::-1][lf.arange(N)] * 2.0,
        "dear": lambda common: lf.log(common),
    }
    for name, make in makers.items():
        for _ in range(3):
            common = lf.exp(a) * b
            plain = host.array(lf.exp(a) * b)
            first, second = common * 2.0, make(common)
            del common
            host.testing.assert_array_equal(host.array(first), plain * 2.0)
            assert pending(second), name
            found, wanted = host.array(second), host.array(make(lf.array(plain)))
            host.testing.assert_array_equal(found, wanted)
    found: list[Any] = []
    common = lf.exp(a) * b
    thread = threading.Thread(target=lambda part: found.append(part * 3.0), args=(common,))
    thread.start()
    thread.join()
    first = common * 2.0
    del common
    host.array(first)
    assert pending(found[0])


def test_errors_are_told_for_each() -> None:
    """What the second meets is told at its line, whether it is computed along or not."""
    a, b = inputs()
    zero = lf.array(host.zeros(N))
    for _ in range(4):
        with pytest.warns(RuntimeWarning, match="divide by zero") as told:
            common = lf.exp(a) * b
            first, second = common * 2.0, common / zero
            del common
            host.array(first)
            assert host.isinf(host.array(second)).all()
        assert len(told) == 1 and told[0].filename == __file__


@pytest.mark.filterwarnings("default::RuntimeWarning")
def test_warnings_that_are_errors() -> None:
    """Each is raised where its own result is asked for."""
    a, b = inputs()
    zero = lf.array(host.zeros(N))
    common = lf.exp(a) * lf.sin(b)
    results = common / zero, common / (zero * 1.0)
    del common
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for result in results:
            with pytest.raises(RuntimeWarning, match="divide by zero"):
                lf.materialize(result)


def test_several_that_share() -> None:
    """Each is computed from what is there, also where the places are known."""
    a, b = inputs()
    for _ in range(4):
        common = lf.exp(a) * b
        results = [common + float(number) for number in range(5)]
        del common
        plain = host.array(lf.exp(a) * b)
        for number, result in enumerate(results):
            host.testing.assert_array_equal(host.array(result), plain + float(number))
            assert all(len(pending(other)) == 1 for other in results[number + 1 :])


def test_what_the_others_read_is_stored_once() -> None:
    """A cheap value above what is stored is computed again."""
    a, b = inputs()
    low = lf.exp(a)
    high = low + b
    one, other = low * high, lf.cos(low - high)
    del low, high
    host.array(one)
    assert [node.op.name for node in pending(other)] == ["add", "subtract", "cos"]


def test_cheap_operations_are_computed_again() -> None:
    a, b = inputs()
    common = a * b + 1.0
    first, second = common * 2.0, common * 3.0
    del common
    host.array(first)
    assert len(pending(second)) == 3


def test_large_ones_are_computed_again() -> None:
    """What is larger than all operands and results would take memory that nobody expects."""
    values = host.linspace(0.5, 2.0, 300)
    a, b = lf.array(values), lf.array(values[::-1].copy())
    table = lf.exp(a[:, None] * b)
    first, second = table.max(axis=0), table.min(axis=1)
    del table
    host.array(first)
    assert any(node.shape == (300, 300) and node.is_costly for node in pending(second))
    table = lf.exp(a[:, None] * b)
    host.testing.assert_array_equal(host.array(second), host.array(table).min(axis=1))


def test_alone_nothing_more_is_stored() -> None:
    """Nor where others were, and are not any more: their structure is that of one alone."""
    a, b = inputs()
    first, second = two(a, b)
    host.array(first)
    host.array(second)
    alone = lf.exp(-a * b) * lf.sin(a) + b
    result = alone * 2.0 - a
    node = alone._storage.node
    del alone
    host.array(result)
    assert node.buffer is None


def stored(array: Any) -> int:
    """How many operations are stored for others when an array is asked for. A list of them would
    be one more reader."""
    counts: list[int] = []

    def counted(*walked: Any) -> Any:
        found = shared.shared(*walked)
        counts.append(len(found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "shared", counted)
        host.array(array)
    return sum(counts)


def test_what_is_stored_anyway_is_no_reason() -> None:
    """Above an array that is held, or is asked for as well, there is nothing costly left."""
    a, _ = inputs()
    low = lf.exp(a)
    high = low + 1.0
    first, second = high * 2.0, high * 3.0
    del high
    assert stored(first) == 0
    assert low._storage.node.buffer is not None and len(pending(second)) == 2
    low = lf.exp(a)
    high = low + 1.0
    first, second = high * 2.0, high * 3.0
    del high
    lf.materialize(low, first)
    assert len(pending(second)) == 2


def test_long_chains_take_one_pass() -> None:
    a = lf.array(host.linspace(0.0, 1.0, N))
    x, others = a, []
    for _ in range(300):
        x = lf.sin(x)
        others.append(x + 1.0)
    assert stored(x) == 4
    wanted = host.array(a)
    for other in others:
        wanted = host.sin(wanted)
        host.testing.assert_allclose(host.array(other), wanted + 1.0, rtol=1e-13)  # of 300 sines


def test_clearing_forgets_structures() -> None:
    first, second = two(*inputs())
    host.array(first)
    assert shared._inside and shared._stored
    lf.cache_clear()
    assert not shared._inside and not shared._stored
    del second


def test_readers_that_have_gone_count_for_nothing() -> None:
    a, b = inputs()
    for _ in range(3):
        total = b
        for number in range(5):
            c = lf.exp(a * (number / 10.0))
            d = c * 2.0  # nobody asks for it
            total = total + c
        del c, d
        assert not stored(total)


def test_threads_count_for_nothing() -> None:
    """An array that two threads have touched counts a reader more for each version."""
    a, b = inputs()
    b = b * 1.0
    host.array(b)

    def work(b: Any) -> None:
        for number in range(5):
            b += lf.exp(a * (number / 10.0))

    thread = threading.Thread(target=work, args=(b,))
    thread.start()
    thread.join()
    assert not stored(b)


def test_equal_structures_share_other_parts() -> None:
    """What is known of a structure holds for it, whoever reads which part."""
    a, b = inputs()

    def cheap() -> tuple[Any, Any]:
        low = a + b
        return lf.exp(a) * low, low * 3.0

    def dear() -> tuple[Any, Any]:
        low, high = a + b, lf.exp(a)
        return high * low, high * 3.0

    for _ in range(3):
        for program, is_stored in ((cheap, False), (dear, True), (cheap, False)):
            wanted = [host.array(found) for found in lf.materialize(*program())]
            first, second = program()
            assert stored(first) == is_stored
            host.testing.assert_array_equal(host.array(first), wanted[0])
            host.testing.assert_array_equal(host.array(second), wanted[1])


def test_all_together_have_few_bytes() -> None:
    a, b = inputs()
    parts = [lf.exp(a * float(number)) for number in range(12)]
    first, others = sum(parts[1:], parts[0]), [part + 1.0 for part in parts]
    del parts
    assert stored(first) == 4
    for number, other in enumerate(others):
        host.testing.assert_array_equal(
            host.array(other), host.array(lf.exp(a * float(number)) + 1.0)
        )


def test_little_work_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "WORTH", 2 * N + 1)
    a, b = inputs()
    first, second = two(a, b)  # two costly operations
    assert not stored(first)
    monkeypatch.setattr(shared, "WORTH", 2 * N)
    shared.forget()
    first, second = two(a, b)
    assert stored(first)
    del second


def test_memory_goes_with_who_reads_it() -> None:
    a, b = inputs()
    first, second = apart(a, b)
    host.array(first)
    there = [src for node in pending(second) for src in node.srcs if src.buffer is not None]
    kept = [node for node in there if node is not a._storage.node and node is not b._storage.node]
    assert len(kept) == 1
    buffer = kept[0].buffer
    del there, kept, second
    gc.collect()
    assert len(gc.get_referrers(buffer)) <= 1  # this frame's


def test_written_meanwhile() -> None:
    """What is shared has the values of its time."""
    a, b = inputs()
    wanted = [host.array(found) for found in lf.materialize(*two(a, b))]
    first, second = two(a, b)
    host.testing.assert_array_equal(host.array(first), wanted[0])
    a[:] = 0.0
    b += 1.0
    host.testing.assert_array_equal(host.array(second), wanted[1])


def test_what_is_held_is_looked_at_each_time() -> None:
    """Structures are remembered, with what is known of each node: which of two arrays the program
    keeps, and which were inside an earlier run."""
    a, b = inputs()
    for kept in ("one", "both", "other", "one", "none", "both", "other", "none"):
        one, other = lf.exp(a), lf.sin(b)
        nodes = [ref(each._storage.node) for each in (one, other)]  # others would be readers
        result = one * 2.0 + other
        if kept in ("other", "none"):
            del one
        if kept in ("one", "none"):
            del other
        values = host.array(result)
        stored = [node() is not None and node().buffer is not None for node in nodes]
        assert stored == [kept in ("one", "both"), kept in ("other", "both")]
        assert values.tobytes() == host.array(lf.exp(a) * 2.0 + lf.sin(b)).tobytes()
