"""Known plans that machine code runs: what Python gives, leaves behind and counts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE or oracle.ON_GPU:
    pytest.skip("the code runs plans of the engine on the CPU", allow_module_level=True)

from lazyfuse.frontend import native_methods  # noqa: E402 - when there is an engine
from lazyfuse.ir import orphans  # noqa: E402 - likewise
from lazyfuse.ir.node import Const, Node  # noqa: E402 - likewise
from lazyfuse.runtime import (  # noqa: E402 - likewise
    engine,
    ready,
    replay_run,
    session,
    trace,
    unfinished,
)

#: What a flush was: by machine code, by it but for what is to be said of conditions, by Python.
DONE, TOLD, PYTHON = "done", "told", "python"


@pytest.fixture(autouse=True)
def flushes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What machine code answered, from the third run of a plan on."""
    monkeypatch.setattr(ready, "RUNS", 2)
    found: list[str] = []
    assert native_methods.make_native(lf.LazyArray)
    machine = engine.machines[-1]

    def noted(*given: Any) -> Any:
        answer = machine.flush(*given)
        told = type(answer) is tuple and len(answer) > 3
        found.append(DONE if answer is True else TOLD if told else PYTHON)
        return answer

    engine.machines.append(machine._replace(flush=noted))
    session.plans.clear()
    session.ready.clear()
    yield found
    session.ready.clear()
    engine.machines.pop()


def _numbers(*shape: int, dtype: str = "f8") -> host.ndarray:
    numbers = host.random.default_rng(7).random(shape) * 9 + 1
    return host.array(numbers.astype(dtype))


def _stencil(np: Any, a: Any, b: Any, s: Any) -> Any:
    u = a.copy()
    u[1:-1] += (u[2:] - u[:-2]) * b[1:-1]
    return u * s


PROGRAMS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "one": lambda np, a, b, s: a * b,
    "scalars": lambda np, a, b, s: (a * s + 0.25) / (b + s) - 3,
    "twice": lambda np, a, b, s: (a + s) * (b + s) + s,
    "fold": lambda np, a, b, s: (a * b + s).sum(),
    "axis": lambda np, a, b, s: (a.reshape(-1, 5) * s).sum(axis=0) + b[:5],
    "functions": lambda np, a, b, s: np.exp(-a * s) + np.log(b),
    "types": lambda np, a, b, s: np.where(a > s, a.astype("f4") * 2, b.astype("i4") + 1),
    "logic": lambda np, a, b, s: (a > s) & (b < 5.0) | (a == b),
    "views": lambda np, a, b, s: a[::-1] + b[:1] * s,
    "stencil": _stencil,
    "two kernels": lambda np, a, b, s: (a - a.mean()) / (b.max() - s),
    "complex": lambda np, a, b, s: a * (s + 2j) - b,
    "integers": lambda np, a, b, s: a.astype("u8") + 5 - (b.astype("i2") * 3).astype("u8"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_bits(name: str, flushes: list[str]) -> None:
    """With scalars that differ from run to run."""
    program = PROGRAMS[name]
    a, b = _numbers(1000), _numbers(1000)[::-1].copy()
    x, y = lf.asarray(a), lf.asarray(b)
    for number in range(9):
        scalar = 1.5 + number / 8
        found = lf.materialize(program(lf, x, y, scalar))
        problems = (
            oracle.compare(name, program(host, a, b, scalar), oracle.observe(found), oracle.EXACT)
            if name != "functions"
            else ()
        )
        assert not list(problems)
        with lf.options(native=False):
            again = program(lf, x, y, scalar)
            assert host.asarray(again).tobytes() == host.asarray(found).tobytes()
    assert flushes.count(DONE) > 4


def _left(nodes: list[Node]) -> list[Any]:
    """What a flush leaves of nodes."""
    return [
        (
            type(node), node.depth, node.held, node.users, node.seen, len(node.srcs),
            type(node.handle), None if node.buffer is None else vars_of(node.buffer),
        )
        for node in nodes
    ]  # fmt: skip


def vars_of(buffer: Any) -> tuple[Any, ...]:
    return type(buffer), buffer.nbytes, buffer.device, buffer.exclusive


def test_nodes_are_left_as_python_leaves_them(flushes: list[str]) -> None:
    """Also operands that others read, and results that nobody holds any more."""
    a, b = lf.asarray(_numbers(500)), lf.asarray(_numbers(500))

    def run() -> list[Any]:
        inner = a * 2.0
        other = inner - 1.0
        mine, yours = inner + b, (b * 3.0).sum()
        nodes = [mine._storage.node, yours._storage.node]
        pending = trace.trace(nodes).nodes + [other._storage.node]
        del yours
        engine.flush(nodes, "cpu")
        left = _left(pending)
        assert mine._storage.node.handle.node() is mine._storage.node
        return [*left, host.asarray(other).tobytes()]

    found = [run() for _ in range(6)]
    assert flushes.count(DONE) >= 2
    assert all(left == found[0] for left in found)


def test_what_is_stored_inside(flushes: list[str]) -> None:
    """A loop that asks whether anything has changed: what it goes on with is stored with the
    answer, by machine code, too, and so is what was computed before and not stored."""

    def program(np: Any, values: Any) -> list[Any]:
        found = []
        for _ in range(20):
            new = np.sqrt(values * values + 1.0) - 0.5
            new[1:] += new[:-1] * 0.25
            found.append(bool((new == values).all()))
            values = np.minimum(np.minimum(new, 50.0), values + 1.0)
        return [*found, values]

    expected = program(host, _numbers(500))
    ours = lf.asarray(_numbers(500))
    found = program(lf, ours)
    assert found[:-1] == expected[:-1]
    host.testing.assert_allclose(lf.asnumpy(found[-1]), expected[-1], rtol=1e-14)
    assert flushes[4:24] == [PYTHON, DONE] * 10, " ".join(flushes)


def test_finalizers_that_compute_meanwhile(
    flushes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is found what is stored inside, the owner of that goes, after computing the rest:
    what it alone had is not computed again, without operands."""
    for module in (engine, trace):
        kept = engine.kept
        a = lf.asarray(_numbers(400))
        lf.materialize(a)
        own = {"k": lf.exp(a)}
        total = own["k"] * 2 + 1

        def found(
            wanted: Any, walked: Any, own: Any = own, total: Any = total, kept: Any = kept
        ) -> Any:
            nodes = kept(wanted, walked)
            if own:
                own.clear()
                host.asarray(total)
            return nodes

        with monkeypatch.context() as patch:
            patch.setattr(module, "kept", found)
            if module is trace:
                session.ready.clear()
            else:
                for number in range(6):
                    lf.materialize(a + number)
                assert session.ready
            result = lf.asnumpy(total)
        host.testing.assert_allclose(result, host.exp(_numbers(400)) * 2 + 1, rtol=1e-14)


def test_orphans_are_noticed(flushes: list[str]) -> None:
    """A result that only a pending operation needs any more counts among the orphans."""
    a = lf.asarray(_numbers(500))
    for _ in range(5):
        before = orphans.BYTES[0]
        y = lf.materialize(a * 2.0)
        z = y + 1.0
        del y
        assert orphans.BYTES[0] - before == 4000
        del z
        assert orphans.BYTES[0] == before
    assert DONE in flushes


@pytest.mark.parametrize("name", PROGRAMS)
def test_counters(name: str, flushes: list[str]) -> None:
    """Those of Python: launches, bytes, copies, hits of plans and of kernels."""
    program = PROGRAMS[name]
    x, y = lf.asarray(_numbers(1000)), lf.asarray(_numbers(1000))

    def counted() -> list[tuple[dict[str, Any], int]]:
        found = []
        for _ in range(5):
            lf.reset_stats()
            before = lf.cache_info().hits
            lf.materialize(program(lf, x, y, 1.5))
            found.append((asdict(lf.stats()), lf.cache_info().hits - before))
        return found

    with lf.options(native=False):
        wanted = counted()[-1]
    assert counted()[-1] == wanted
    assert flushes[-1] == DONE and wanted[0]["plan_hits"]


def test_other_options_are_pythons(flushes: list[str]) -> None:
    """What is ready for some options is not run under others."""
    a = _numbers(300)
    x = lf.asarray(a)
    for _ in range(4):
        lf.materialize(x * 3.0 + 1.0)
    assert flushes.pop() == DONE
    for options in ({"fusion": False}, {"float_errors": "check"}, {"native": False}):
        with lf.options(**options):
            for _ in range(4):
                lf.reset_stats()
                host.testing.assert_array_equal(host.asarray(x * 3.0 + 1.0), a * 3.0 + 1.0)
                assert lf.stats().kernels_launched == 2 - lf.config.current().fusion
        is_ready = options == {"fusion": False}
        assert (DONE in flushes) == is_ready
        flushes.clear()
    for _ in range(2):
        lf.materialize(x * 3.0 + 1.0)
    assert flushes == [PYTHON, DONE]


def test_caches_that_forget(flushes: list[str]) -> None:
    """Kernels that are gone are counted as such, and plans that are gone are made again."""
    x = lf.asarray(_numbers(300))
    for _ in range(4):
        lf.materialize(x * 3.0)
    assert flushes.pop() == DONE
    lf.cache_clear()
    lf.reset_stats()
    lf.materialize(x * 3.0)
    assert lf.stats().plan_hits == lf.stats().cache_hits == 0
    for _ in range(4):
        lf.materialize(x * 3.0)
    assert flushes.pop() == DONE
    known = next(iter(session.plans.values()))
    old = known.ready
    session.kernels.put("another", old, 1)  # evicts
    try:
        lf.materialize(x * 3.0)
        assert lf.stats().kernels_compiled + lf.stats().kernels_loaded >= 2
        lf.materialize(x * 3.0)
        assert flushes[-1] == DONE and known.ready is not old
    finally:
        session.kernels.put("another", old, lf.config.current().cache_size)
        lf.cache_clear()


@pytest.mark.parametrize(
    "dtype,value",
    [("i4", 1 << 40), ("f4", 1e300), ("u8", -1), ("b1", 2), ("f2", 1.5)],
)
def test_scalars_out_of_the_ordinary(dtype: str, value: Any, flushes: list[str]) -> None:
    """What a dtype does not take as it is, Python writes as it does."""
    a = lf.asarray(_numbers(100, dtype=dtype))
    lf.materialize(a)
    results = []
    for number in (1, 1, 1, 1, value, value):
        node = Const(number, dtype)
        sources = (a._storage.node, node)
        made = (a + lf.asarray(1, dtype=dtype))._storage.node.with_srcs(sources)
        for source in sources:
            source.users += 1
        with host.errstate(all="ignore"):
            try:
                engine.flush([made], "cpu")
                results.append(bytes(made.buffer.array))
            except OverflowError:
                results.append(b"")
    assert results[4] == results[5]
    if dtype != "f2":
        assert flushes[-3:] == [DONE, PYTHON, PYTHON]


def test_large_dead_inputs_are_reused(flushes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By Python where machine code cannot; of small ones that is not worth the time."""
    monkeypatch.setattr(ready, "LEAST_REUSED", 300_000)
    monkeypatch.setattr(ready, "_taking", lambda trace, known, *rest: ready._Taking(known))
    for size, expected in ((40_000, 1), (1000, 0)):
        x = lf.asarray(_numbers(size))
        with lf.options(float_errors="off"):
            for _ in range(6):
                x = x * 0.5
                lf.reset_stats()
                lf.materialize(x)
            assert lf.stats().donations == expected
        assert (flushes[-1] == DONE) == (not expected)
        held = x
        with lf.options(float_errors="off"):
            lf.materialize(x * 0.5)
        assert flushes[-1] == DONE and held is x


def test_runs_that_did_not_end_are_pythons(
    flushes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = lf.asarray(_numbers(300))
    for _ in range(4):
        lf.materialize(x * 3.0)
    flushes.clear()
    monkeypatch.setattr(unfinished, "runs", [unfinished.Unfinished((), lambda: None)])
    lf.materialize(x * 3.0)
    assert not flushes and not unfinished.runs


def test_no_memory_keeps_the_trace(flushes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The exception is the user's, and the array can be asked for again."""
    from lazyfuse.backends.cpu import buffers

    x = lf.asarray(_numbers(700))
    for _ in range(4):
        lf.materialize(x * 3.0)

    def refuse(*_: Any) -> Any:
        raise MemoryError

    y = x * 3.0
    with monkeypatch.context() as patch:
        patch.setattr(buffers.BufferPool, "take", refuse)
        for _ in range(3):
            with pytest.raises(MemoryError):
                lf.materialize(y)
    assert y._storage.node.buffer is None and y._storage.node.srcs
    host.testing.assert_array_equal(host.asarray(y), host.asarray(x) * 3.0)
    assert flushes[-1] == DONE


def test_conditions_are_told_where_they_were_recorded(flushes: list[str]) -> None:
    a, zeros = lf.asarray(_numbers(200)), lf.asarray(host.zeros(200))

    def program() -> Any:
        y = a * 2.0
        z = y / zeros
        return lf.materialize(z + 1.0)

    line = program.__code__.co_firstlineno + 2
    for _ in range(6):
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            found = program()
        assert [(item.lineno, str(item.message)) for item in met] == [
            (line, "divide by zero encountered in divide")
        ]
        assert host.isinf(host.asarray(found)).all()
    assert flushes.count(TOLD) >= 3
    with host.errstate(divide="raise"):
        for _ in range(3):
            with pytest.raises(FloatingPointError):
                a / zeros
        assert flushes[-1] == TOLD
    with host.errstate(divide="ignore"):
        for _ in range(4):
            lf.reset_stats()
            with warnings.catch_warnings(record=True) as met:
                program()
            assert not met
    assert flushes[-1] == TOLD
    assert lf.stats().kernels_launched == lf.stats().plan_hits == 1


def test_references_are_kept_and_given_back(flushes: list[str]) -> None:
    warnings.simplefilter("default")  # until the end of the test
    a, zeros = lf.asarray(_numbers(200)), lf.asarray(host.zeros(200))
    half = 0.5
    node = a._storage.node

    def work() -> None:
        lf.materialize((a * half + 1.0) * a, a + half)
        lf.materialize(a / zeros)  # the first has warned

    work()
    kept = (
        True, False, None, (), half, 0, 1, node, node.buffer, node.form, a._storage, node.nbytes,
        lf.config.current(), *session.ready.values(), type(node.buffer), orphans.Watch,
    )  # fmt: skip
    assert_nothing_is_lost(work, kept, known=50, rounds=50)
    assert flushes.count(DONE) > 60 and flushes.count(TOLD) > 60


@pytest.mark.parametrize("long_ns", [replay_run.LONG_NS, -1.0])
def test_threads(long_ns: float, flushes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Several ask for arrays that share operands, and for the same one; also where others run
    while a kernel does."""
    monkeypatch.setattr(replay_run, "LONG_NS", long_ns)
    a, b = _numbers(30_000), _numbers(30_000)[::-1].copy()
    x, y = lf.asarray(a), lf.asarray(b)
    wanted = (a * b + 0.5) * a
    wrong: list[int] = []
    shared = [(x * y + 0.5) * x for _ in range(200)]

    def work() -> None:
        for own in shared:
            mine = (x * y + 0.5) * x
            for array in (own, mine):
                if not (host.asarray(array) == wanted).all():
                    wrong.append(1)

    concurrently(work, [()] * 4)
    assert not wrong and flushes.count(DONE) > 500


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_its_own_workers(
    flushes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lazyfuse.backends.cpu.launch.NS_PER_THREAD", 0.01)
    with lf.options(threads=2):
        x = lf.asarray(_numbers(700))
        for _ in range(4):
            lf.materialize(x * 3.0)
        assert flushes.pop() == DONE
        workers = session.backend("cpu").workers  # type: ignore[attr-defined]
        child = os.fork()
        if not child:
            flushes.clear()
            same = [(host.asarray(x * 3.0) == host.asarray(x) * 3).all() for _ in range(3)]
            is_right = all(same) and flushes == [PYTHON, DONE, DONE] and workers.count == 1
            os._exit(0 if is_right else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        lf.materialize(x * 3.0)
        assert flushes[-1] == DONE
