"""Known plans of a GPU that machine code finds, and one function queues: the same answers, counts
and errors as by the executor, on a fake GPU."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from cuda_check import needs_ptx
from fake_cupy import FakeCupy, cupy, fake_gpu

import lazyfuse as lf
from lazyfuse.errors import DeviceUnavailableError
from lazyfuse.frontend import native_methods
from lazyfuse.frontend.handle import Handle, handle
from lazyfuse.frontend.there import maker
from lazyfuse.ir.node import Node, Source
from lazyfuse.ir.storage import Storage
from lazyfuse.runtime import engine, ready, repeats, session, trace
from tests.concurrently import concurrently

pytestmark = [pytest.mark.engine, needs_ptx]
N = 600
#: What a flush was.
DONE, PYTHON = "done", "python"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    for module in (ready, repeats):
        monkeypatch.setattr(module, "RUNS", 2)
    with fake_gpu(monkeypatch) as fake:
        yield fake


@pytest.fixture
def flushes(gpu: FakeCupy) -> Iterator[list[str]]:
    """What machine code answered, from the third run of a plan on."""
    found: list[str] = []
    if not native_methods.make_native(lf.LazyArray):
        pytest.skip("the methods are Python's here")
    machine = engine.machines[-1]

    def noted(*given: Any) -> Any:
        answer = machine.flush(*given)
        found.append(DONE if answer is True else PYTHON)
        return answer

    engine.machines.append(machine._replace(flush=noted))
    yield found
    engine.machines.pop()


def numbers(seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 99, N).astype(float)


PROGRAMS: dict[str, Callable[[Any, Any, Any, float], Any]] = {
    "one": lambda xp, a, b, s: a * b,
    "scalars": lambda xp, a, b, s: (a * s + 0.25) - (b + s) * 3,
    "filled": lambda xp, a, b, s: xp.zeros_like(a) + s,
    "views": lambda xp, a, b, s: a[::-1] + b[:1] * s,
    "types": lambda xp, a, b, s: xp.where(a > s, a.astype("f4"), 2),
    "fold": lambda xp, a, b, s: (a * b + s).sum(),
    "two results": lambda xp, a, b, s: (a + b, (a * b)[:50] * s),
    "several kernels": lambda xp, a, b, s: xp.cumsum(a - s) + b.max(),
    "written": lambda xp, a, b, s: written(xp, a) * s,
}  # fmt: skip
#: What the executor has to do.
OTHERS: dict[str, Callable[[Any, Any, Any, float], Any]] = {
    "a call": lambda xp, a, b, s: xp.sort(a * 2) + s,
}


def written(xp: Any, x: Any) -> Any:
    y = x * 2
    y[10:-10:3] += x[:-20:3]
    return y


def hosts(found: Any) -> list[np.ndarray]:
    return [lf.asnumpy(each) for each in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_the_same_values(flushes: list[str], name: str) -> None:
    """With scalars that differ from run to run."""
    program = (PROGRAMS | OTHERS)[name]
    a, b = numbers(1), numbers(2)
    x, y = lf.asarray(a), lf.asarray(b)
    for number in range(8):
        found = program(lf, x, y, number + 0.5)
        lf.materialize(found)
        expected = program(np, a, b, number + 0.5)
        for own, theirs in zip(
            hosts(found), expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            assert own.dtype == theirs.dtype and np.array_equal(own, theirs), number
    assert (DONE in flushes) == (name in PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_counters(flushes: list[str], name: str) -> None:
    """Those of the executor: launches, bytes, hits of plans and of kernels."""
    x, y = lf.asarray(numbers(1)), lf.asarray(numbers(2))

    def counted() -> tuple[dict[str, Any], int]:
        for _ in range(5):
            lf.reset_stats()
            before = lf.cache_info().hits
            lf.materialize(PROGRAMS[name](lf, x, y, 1.5))
        return asdict(lf.stats()), lf.cache_info().hits - before

    with lf.options(native=False):
        wanted = counted()
    assert counted() == wanted
    assert flushes[-1] == DONE and wanted[0]["plan_hits"] == 1


def test_nodes_are_left_as_python_leaves_them(flushes: list[str]) -> None:
    """Also operands that others read, and results that nobody holds any more."""
    a, b = lf.asarray(numbers(1)), lf.asarray(numbers(2))

    def left(node: Node) -> tuple[Any, ...]:
        memory = node.buffer and (type(node.buffer), node.buffer.nbytes, node.buffer.exclusive)
        own = (node.depth, node.held, node.users, node.seen, len(node.srcs))
        return (type(node), type(node.handle), memory, *own)

    def run() -> list[Any]:
        inner = a * 2.0
        other = inner - 1.0
        mine, yours = inner + b, (b * 3.0).sum()
        nodes = [mine._storage.node, yours._storage.node]
        pending = trace.trace(nodes).nodes + [other._storage.node]
        del yours
        engine.flush(nodes, a._storage.device)
        return [*map(left, pending), lf.asnumpy(other).tobytes()]

    found = [run() for _ in range(6)]
    assert DONE in flushes and all(each == found[0] for each in found)


def test_out_of_memory(flushes: list[str], gpu: FakeCupy) -> None:
    """What was recorded is kept, and computed when there is room."""
    x = lf.asarray(numbers())
    for _ in range(5):
        lf.materialize(x * 2 + 1)
    gc.collect()
    y = x * 2 + 1
    gpu.limit = gpu.used
    with pytest.raises(MemoryError, match=r"cuda:0 has no .*delete arrays"):
        lf.materialize(y)
    gpu.limit = None
    assert np.array_equal(lf.asnumpy(y), numbers() * 2 + 1)
    assert flushes[-3:] == [DONE, PYTHON, DONE]


def test_faults(flushes: list[str], gpu: FakeCupy) -> None:
    """The error says what to do, wherever CUDA reports it; the operation stays pending."""
    x = lf.asarray(numbers())
    for _ in range(5):
        lf.materialize(x * 2)
    for call in ("alloc", "launch"):
        y = x * 2
        gpu.faults[call] = cupy.cuda.runtime.CUDARuntimeError(700)
        with pytest.raises(DeviceUnavailableError, match="cuda:0 failed.*illegal"):
            lf.materialize(y)
        assert np.array_equal(lf.asnumpy(y), numbers() * 2)
    assert flushes[-1] == DONE


def test_streams(flushes: list[str], gpu: FakeCupy) -> None:
    """Work goes to the current one, where memory is taken, too."""
    x = lf.asarray(numbers())
    for stream in range(7, 13):
        gpu.stream.ptr = stream
        lf.materialize(x * 3)
    assert [stream for _, stream in gpu.launched] == list(range(7, 13)) and DONE in flushes


def test_each_gpu_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """One structure on two GPUs, in turn."""
    monkeypatch.setattr(ready, "RUNS", 2)
    with fake_gpu(monkeypatch, gpus=2) as gpu:
        native_methods.make_native(lf.LazyArray)
        arrays = [lf.asarray(numbers(number), device=f"cuda:{number}") for number in range(2)]
        gpu.places.clear()
        gpu.calls.clear()
        for turn in range(12):
            found = arrays[turn // 3 % 2] * 2
            lf.materialize(found)
            assert found.device == f"cuda:{turn // 3 % 2}"
            assert np.array_equal(lf.asnumpy(found), numbers(turn // 3 % 2) * 2)
        launches = zip(gpu.places, gpu.calls, strict=True)
        places = [place for place, call in launches if call == "launch"]
        assert places == [0, 0, 0, 1, 1, 1] * 2


def test_large_dead_inputs_are_reused(flushes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the executor; of small ones a run takes new memory, which the pool has."""
    for least, expected in ((8 * N, 1), (8 * N + 1, 0)):
        monkeypatch.setattr(ready, "LEAST_REUSED", least)
        session.plans.clear()
        session.ready.clear()
        x = lf.asarray(numbers())
        for _ in range(6):
            x = x * 0.5
            lf.reset_stats()
            lf.materialize(x)
        assert lf.stats().donations == expected
        assert (flushes[-1] == DONE) == (not expected)


def test_writes_stay_in_place(flushes: list[str]) -> None:
    """The executor knows that nobody else needs the memory, where machine code would copy it."""
    x, a = lf.asarray(numbers()), numbers()
    for number in range(6):
        before = x._storage.node.buffer.pointer
        x[:10] = number + 0.5
        lf.materialize(x)
        a[:10] = number + 0.5
        assert x._storage.node.buffer.pointer == before
    assert np.array_equal(lf.asnumpy(x), a) and DONE not in flushes


def test_graphs(flushes: list[str], gpu: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of several kernels are graphs where they would be."""
    monkeypatch.setattr(repeats, "TIMES", 2)
    gpu.pool = {}
    a = numbers()
    x = lf.asarray(a)
    lf.reset_stats()
    for _ in range(12):
        y = lf.cumsum(x * 0.5)
        z = lf.cumsum(y - y.max())
        assert np.allclose(lf.asnumpy(z), np.cumsum(np.cumsum(a / 2) - a.sum() / 2))
    assert lf.stats().graph_launches >= 3 and lf.stats().plan_hits == 11 and flushes[-1] == DONE


def test_what_computes_meanwhile(flushes: list[str], gpu: FakeCupy) -> None:
    """A finalizer that runs while memory is taken asks for the very result."""
    x = lf.asarray(numbers())
    for _ in range(5):
        lf.materialize(x * 2)
    y = x * 2

    def listen(call: str) -> None:
        if call == "alloc":
            gpu.listener = None
            assert np.array_equal(lf.asnumpy(y), numbers() * 2)

    gpu.listener = listen
    lf.materialize(y)
    assert np.array_equal(lf.asnumpy(y), numbers() * 2) and DONE in flushes


def test_threads(flushes: list[str]) -> None:
    """Each gets its own answers, and all runs are counted."""
    x = lf.asarray(numbers())
    for _ in range(4):
        lf.materialize(x * 2.5)
    lf.reset_stats()

    def work(number: int) -> None:
        mine = lf.asarray(numbers(number))
        for turn in range(20):
            found = lf.asnumpy(mine * (turn + 0.5))
            assert np.array_equal(found, numbers(number) * (turn + 0.5))

    concurrently(Context.run, [(copy_context(), work, number) for number in range(4)])
    assert lf.stats().kernels_launched == lf.stats().plan_hits == 80
    assert flushes.count(DONE) >= 80


def test_other_options(flushes: list[str]) -> None:
    """What is ready for some options is not run under others."""
    x = lf.asarray(numbers())
    for _ in range(4):
        lf.materialize(x * 3.0 + 1.0)
    assert flushes[-1] == DONE
    for options in ({"float_errors": "check"}, {"native": False}):
        with lf.options(**options):
            for _ in range(4):
                flushes.append("")
                assert np.array_equal(lf.asnumpy(x * 3.0 + 1.0), numbers() * 3 + 1)
                assert flushes[-1] != DONE


# ---- under `fuse`


def test_few_elements_are_replayed(gpu: FakeCupy) -> None:
    """What a replay saves is launches, of however few elements they are."""
    fused = lf.fuse(lambda x: ((x * 2) + 1) * x)
    a = np.arange(8.0)
    x = lf.asarray(a)
    for _ in range(5):
        gpu.calls.clear()
        found = fused(x)
        assert np.array_equal(lf.asnumpy(found), (a * 2 + 1) * a)
    assert gpu.calls == ["alloc", "launch", "download", "sync"]
    assert fused.replays == 3 and fused.recordings == 1 and fused.reason == ""


def test_replays_of_scalars_and_several_results(gpu: FakeCupy) -> None:
    """They are arrays and pending scalars as the function gives them."""
    fused = lf.fuse(lambda x: {"total": x.sum(), "twice": (x * 2,)})
    x = lf.asarray(np.arange(8.0))
    for _ in range(4):
        found = fused(x)
        assert type(found["total"]) is Handle._scalar and float(found["total"]) == 28
        assert np.array_equal(lf.asnumpy(found["twice"][0]), np.arange(8.0) * 2)
        total = found["twice"][0] + found["total"]
        assert np.array_equal(lf.asnumpy(total), np.arange(8) * 2 + 28)


def test_what_is_given_to_replays(gpu: FakeCupy) -> None:
    """What is pending is computed first; numbers may vary; scalars alone are no arrays to replay
    with, and the function is called."""
    scaled = lf.fuse(lambda x, by: x * by + 1)
    a = np.arange(8.0)
    x = lf.asarray(a)
    for number in range(6):
        found = scaled(x + number, number * 0.5)
        assert np.array_equal(lf.asnumpy(found), (a + number) * (number * 0.5) + 1)
    assert scaled.replays >= 2
    total = lf.fuse(lambda x: x * 2)
    for _ in range(4):
        assert float(total(x.sum())) == 56
    assert total.recordings == total.replays == 0 and total.reason == ""


def test_arrays_are_as_constructors_make_them(gpu: FakeCupy) -> None:
    """Slot by slot."""
    x = lf.asarray(numbers())
    form, buffer = x._storage.node.formed(), x._storage.node.buffer
    for kind in (Handle._concrete, Handle._scalar):
        node = Source(form.shape, form.dtype, form.strides, buffer)
        node.form, node.is_scalar = form, kind._is_scalar
        theirs = handle(kind, Storage(node, "cuda:0"))
        own = maker("cuda:0", form, is_scalar=kind._is_scalar)(buffer)
        assert own._storage.node.handle.node() is own._storage.node
        assert own._storage.node.handle() is own._storage
        for path in ("", "_storage", "_storage.node"):
            one, other = own, theirs
            for name in path.split(".") if path else ():
                one, other = getattr(one, name), getattr(other, name)
            assert slots(one) == slots(other)


def slots(value: Any) -> dict[str, Any]:
    """What is in the slots of an object, of objects without values of their own the class."""
    names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    found = {name: getattr(value, name, "unset") for name in names if "weakref" not in name}
    own = (Node, Storage)
    return {
        name: type(item) if isinstance(item, own) or name == "handle" else item
        for name, item in found.items()
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_counters_of_replays(gpu: FakeCupy, name: str) -> None:
    """Launches, bytes and copies are those of the function when it is called."""
    program, x, y = PROGRAMS[name], lf.asarray(numbers(1)), lf.asarray(numbers(2))
    fused = lf.fuse(lambda a, b: program(lf, a, b, 1.5))

    def counted() -> dict[str, Any]:
        lf.reset_stats()
        lf.materialize(fused(x, y))
        found = asdict(lf.stats())
        return {name: found[name] for name in ("kernels_launched", "copies", "bytes_read")}

    wanted = counted()
    counted()
    assert counted() == counted() == wanted and fused.replays >= 2
