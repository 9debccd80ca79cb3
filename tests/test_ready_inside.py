"""Known plans that machine code runs: what else runs meanwhile, and what is kept of the user's."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE or oracle.ON_GPU:
    pytest.skip("the code runs plans of the engine on the CPU", allow_module_level=True)

from lazyfuse.backends.cpu import buffers  # noqa: E402 - when there is an engine
from lazyfuse.frontend import native_methods  # noqa: E402 - likewise
from lazyfuse.ir import orphans  # noqa: E402 - likewise
from lazyfuse.runtime import engine, known, ready, session, trace  # noqa: E402 - likewise
from lazyfuse.runtime.executor import Executor  # noqa: E402 - likewise


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What machine code answered, from the third run of a plan on."""
    monkeypatch.setattr(ready, "RUNS", 2)
    assert native_methods.make_native(lf.LazyArray)
    found: list[Any] = []
    machine = engine.machines[-1]

    def noted(*given: Any) -> Any:
        found.append(None)
        found[-1] = answer = machine.flush(*given)
        return answer

    engine.machines.append(machine._replace(flush=noted))
    session.plans.clear()
    session.ready.clear()
    yield found
    session.ready.clear()
    engine.machines.pop()


@pytest.fixture
def collector() -> Iterator[None]:
    """Whatever a test does to it."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)
    gc.enable()


class Finalized:
    """Garbage that only a collection finds; then it calls a function."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.function, self.itself = function, self

    def __del__(self) -> None:
        self.function()


def _collect_after(allocations: int) -> None:
    """Have the next collection after so many new objects."""
    gc.set_threshold(1 << 30, 1000, 1000)
    gc.set_threshold(gc.get_count()[0] + allocations, 1000, 1000)


def _inside(call: Callable[[], object]) -> list[int]:
    """After how many new objects a collection was inside a call of machine code."""
    found: list[int] = []
    is_inside = [False]
    for allocations in range(1, 60):
        Finalized(lambda now=allocations: found.append(now) if is_inside[0] else None)
        _collect_after(allocations)
        is_inside[0] = True
        call()
        is_inside[0] = False
        gc.set_threshold(1 << 30, 1000, 1000)
        assert gc.isenabled()
        gc.collect(0)
    return found


@pytest.mark.usefixtures("collector")
def test_no_collections_inside() -> None:
    """Python 3.11 collects in any function that allocates: a walk and recording hold objects that
    a finalizer could take away."""
    x = lf.asarray(host.arange(50.0))
    y = x
    for number in range(20):
        y = (y * 2.0 + float(number)) * x
    lists = [[y._storage.node] for _ in range(60)]
    walk: Any = trace.walks[-1]
    assert walk is not trace.walk
    assert not _inside(lambda: walk(lists.pop()))

    def write() -> None:
        x[2:9] *= 0.5

    for _ in range(4):
        write()
        x * 3.0
    assert not _inside(lambda: x * 3.0)
    gc.disable()
    walk([y._storage.node])
    x * 3.0
    write()
    lf.materialize(x * 4.0)
    assert not gc.isenabled()


def test_finalizers_may_ask_for_what_is_computed() -> None:
    """Whenever they run: they and the outer run give the same, and nothing is freed too early,
    which an allocator that overwrites what is freed shows."""
    program = """
    import gc, sys
    import numpy as host
    import lazyfuse as lf
    from lazyfuse.frontend import native_methods
    from lazyfuse.runtime import engine, ready

    ready.RUNS = 2
    assert native_methods.make_native(lf.LazyArray)
    machine, done = engine.machines[-1], []

    def noted(*given):
        answer = machine.flush(*given)
        done.append(answer is True)
        return answer

    engine.machines.append(machine._replace(flush=noted))

    class Asked:
        def __init__(self, array):
            self.array, self.itself = array, self
        def __del__(self):
            host.asarray(self.array)

    def make(x):
        t = x * 2.0 + 1.5
        u = t * 3.5 - 0.25
        y = (u + 7.5) * t - x * 11.0
        return y, y + 1.0

    numbers = host.arange(50.0)
    x = lf.materialize(lf.asarray(numbers))
    wanted = make(numbers)
    for _ in range(4):
        lf.materialize(make(x)[1])
    gc.collect()
    gc.freeze()
    for turn in range(3000):
        y, z = make(x)
        gc.set_threshold(1 << 30, 1000, 1000)
        Asked(y), Asked(z)
        gc.set_threshold(gc.get_count()[0] + 1 + turn % 40, 1000, 1000)
        lf.materialize(z)
        gc.set_threshold(1 << 30, 1000, 1000)
        assert (host.asarray(y) == wanted[0]).all() and (host.asarray(z) == wanted[1]).all()
    assert sum(done) > 30
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PYTHONMALLOC": "debug"},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_run_while_memory_is_allocated(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then machine code has computed nodes that are not pending any more, and leaves it."""
    data = host.arange(300.0)
    x = lf.asarray(data)
    take = buffers.BufferPool.take
    for also in (False, True):
        for _ in range(4):
            y = x * 2.0 + 1.0
            z = y * y
            lf.materialize(z)
        assert answers[-1] is True

        y = x * 2.0 + 1.0
        z = y * y
        inner: list[Any] = []

        def interrupted(self: Any, nbytes: int, asked: Any = z if also else y) -> Any:
            patch.undo()
            inner.append(host.asarray(asked))  # noqa: B023 - it is called in this turn
            return take(self, nbytes)

        runs = session.runs[0]
        with monkeypatch.context() as patch:
            patch.setattr(buffers.BufferPool, "take", interrupted)
            lf.materialize(z)
        assert len(inner) == 1 and answers[-1] is None and session.runs[0] > runs
        wanted = data * 2.0 + 1.0
        assert (host.asarray(y) == wanted).all() and (host.asarray(z) == wanted * wanted).all()
        assert y._storage.node.users == z._storage.node.users == 0


def test_an_interrupt_is_not_lost(answers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes when results are known: they are there, and it is raised."""
    x = lf.asarray(host.arange(300.0))

    class Interrupting:
        def __contains__(self, _: object) -> bool:
            raise KeyboardInterrupt

    for turn in range(5):
        y = x * 2.0
        node, z = y._storage.node, y + 1.0
        del y
        if turn < 4:
            engine.flush([node], "cpu")
    assert answers[-1] is True
    with monkeypatch.context() as patch:
        patch.setattr(orphans, "_orphans", Interrupting())
        with pytest.raises(KeyboardInterrupt):
            engine.flush([node], "cpu")
    assert len(answers) > 2 and answers[-1] is None  # it was machine code that raised
    assert node.buffer is not None and node.srcs == () and gc.isenabled()
    host.testing.assert_array_equal(host.asarray(z), host.arange(300.0) * 2.0 + 1.0)


def test_namespaces_are_let_go() -> None:
    """Those of a caller are not kept by what is known of it."""
    x = lf.asarray(host.arange(40_000.0))

    class Large:
        pass

    names = {"x": x, "large": Large()}
    alive = weakref.ref(names["large"])
    exec("for _ in range(50):\n  y = x * 2.0 + 1.0\n  z = y + y", names)
    del names
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("keep", (False, True))
def test_a_flush_while_another_one_plans(monkeypatch: pytest.MonkeyPatch, *, keep: bool) -> None:
    """As a finalizer may do, or a handler of a signal: the plan is of the graph that is left, and
    not kept for the structure that there was."""
    data = host.arange(3000.0)
    make, inner = known.make_plan, []

    def interrupted(*given: Any) -> Any:
        monkeypatch.setattr(known, "make_plan", make)
        inner.append(host.asarray(y if keep else y[:10]))
        return make(*given)

    with lf.options(cold_size=0, eager_size=0):
        x = lf.materialize(lf.asarray(data) + 0.0)
        for _ in range(3):
            y = x * 2.0 + 1.5
            y = (y * 3.5 - 0.25) * y
            z = y + 1.0
            if not inner:
                monkeypatch.setattr(known, "make_plan", interrupted)
            wanted = data * 2.0 + 1.5
            wanted = (wanted * 3.5 - 0.25) * wanted
            assert (host.asarray(z) == wanted + 1.0).all()
            assert (host.asarray(y) == wanted).all()
    assert inner


def test_a_flush_inside_another_one_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outer one has the memory of its inputs in hand, also of those that nobody else needs."""
    data = host.arange(100_000.0)
    run, done = Executor.run, []

    def interrupted(self: Any, leaves: Any) -> Any:
        monkeypatch.setattr(Executor, "run", run)
        done.append(lf.materialize(y))
        return run(self, leaves)

    with lf.options(cold_size=0, eager_size=0, native=False):
        x = lf.materialize(lf.asarray(data) + 0.0)
        y = x * 2.0
        z = y + 1.0
        del x
        monkeypatch.setattr(Executor, "run", interrupted)
        assert (host.asarray(z) == data * 2.0 + 1.0).all()
        assert done and (host.asarray(done[0]) == data * 2.0).all()


def test_memory_of_what_a_destructor_keeps() -> None:
    """A collection of garbage destroys the buffer of an array that another destructor keeps."""
    data, kept = host.arange(40_000.0), []

    class Holder:
        def __init__(self, array: Any) -> None:
            self.array, self.itself = array, self

        def __del__(self) -> None:
            kept.append(self.array)

    with lf.options(eager_size=0):
        x = lf.materialize(lf.asarray(data) + 0.0)
        y = lf.materialize(x + 1.0)
        holder = Holder(y)
        del y, holder
        gc.collect()
        others = [lf.materialize(x * 0.0 - 7.0) for _ in range(3)]
        assert (host.asarray(kept[0]) == data + 1.0).all() and len(others) == 3
