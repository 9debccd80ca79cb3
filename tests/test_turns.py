"""Loops are cut behind one of their lines: each of their turns is planned once, not the whole."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place cuts nothing", allow_module_level=True)

from lazyfuse.frontend import native_methods  # noqa: E402 - when there is an engine
from lazyfuse.runtime import engine, met, payoff, session, turns  # noqa: E402 - likewise
from lazyfuse.schedule import fusion  # noqa: E402 - likewise
from tests.not_new import not_new  # noqa: E402 - likewise

lf = oracle.lf
pytestmark = pytest.mark.engine
#: More elements than are computed at once, or interpreted.
SIZE = 3000


@pytest.fixture(autouse=True)
def loops() -> Iterator[None]:
    """Where loops are is not known yet; arrays are pending, and planned when they are computed."""
    lf.cache_clear()
    lf.reset_stats()
    with lf.options(cold_size=1, eager_size=0, device="cpu", threads=1):
        yield
    lf.cache_clear()


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How deep what was computed was, each time."""
    depths: list[int] = []
    run = engine.flush

    def flush(nodes: Any, *args: Any) -> None:
        depths.extend(node.depth for node in nodes[:1] if node.buffer is None)
        run(nodes, *args)

    monkeypatch.setattr(engine, "flush", flush)
    return depths


def row() -> Any:
    return lf.asarray(host.linspace(0.5, 2.0, SIZE))


def same(found: Any, wanted: Any) -> None:
    assert lf.asnumpy(found).tobytes() == wanted.tobytes()


def _sums(np: Any, x: Any, y: Any, count: int) -> Any:
    for number in range(count):
        y = y + x[number : number + SIZE]
        y = y * 0.5
    return y


def test_a_loop_is_cut_at_one_line(flushed: list[int]) -> None:
    x = host.linspace(0.0, 1.0, SIZE + 400)
    with lf.options(check=False):  # else each plan that follows from others is made as well
        found = _sums(lf, lf.asarray(x), row(), 200)
    assert flushed[0] > turns.LONG
    assert set(flushed[1:]) == {turns.FEWEST + 1} and len(flushed) > 10
    assert lf.stats().plans_built <= 5  # the first is a long one; the others are of one class
    wanted = _sums(host, x, host.linspace(0.5, 2.0, SIZE), 200)
    same(found, wanted)


@pytest.mark.parametrize("native", [False, True])
def test_a_loop_is_cut_where_it_comes_once_in_a_turn(
    *, native: bool, monkeypatch: pytest.MonkeyPatch, flushed: list[int]
) -> None:
    """And where the fewest arrays are pending. It was cut where a chain had grown first, in the
    middle of a sum: each time in another one of its terms, with all that a turn needs."""
    if native:
        native_methods.make_native(lf.LazyArray)
    made: list[int] = []
    run = engine._run

    def noted(pending: Any, device: str) -> Any:
        made.append(len(pending.outputs))
        return run(pending, device)

    def program(np: Any, u: Any) -> Any:
        for _ in range(60):
            around = sum(u[number : number - 3] for number in range(3))
            turned = u[::-1] * 0.25
            u = u * 0.5 + turned
            u[1:-2] += around * 0.1
        return u

    monkeypatch.setattr(engine, "_run", noted)
    found = program(lf, row())
    assert len(set(flushed[2:])) == 1 and len(flushed) > 10
    assert max(made[2:]) <= 4  # `u`, what it was, and what else has a name
    same(found, program(host, host.linspace(0.5, 2.0, SIZE)))


def _helped(u: Any) -> Any:
    first = u * 0.5
    second = first + u
    third = second - first
    return third * 0.25 + second * 0.5


@pytest.mark.parametrize("lead", range(5))
def test_a_loop_is_cut_where_the_fewest_arrays_are(
    lead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the middle of a function that it calls, wherever the chain gets long."""
    made: list[int] = []
    run = engine._run

    def noted(pending: Any, device: str) -> Any:
        made.append(len(pending.outputs))
        return run(pending, device)

    monkeypatch.setattr(engine, "_run", noted)
    u = row()
    for _ in range(lead):
        u = u + 1.0
    for _ in range(80):
        u = _helped(u) + 0.125
    assert len(made) > 10 and max(made[2:]) <= 2  # `u`, and what it was


def test_a_loop_is_cut_where_its_inner_loop_is_over(flushed: list[int]) -> None:
    """Though fewer arrays are pending in the inner one, which is cut at another of its turns each
    time."""
    u = row()
    for _ in range(60):
        for _ in range(5):
            u = u * 0.875
        first = u + 1.0
        second = first * 0.5
        u = first + second
        del first, second
    assert len(set(flushed[2:])) == 1 and len(flushed) > 10


@pytest.mark.parametrize("count,depth", ((100, 100), (200, turns.LONG)))
def test_long_expressions_are_not_asked_about_again(count: int, depth: int) -> None:
    names = {"x": row()}
    lines = compile("x = x + 1.0\n" * count, "lines", "exec")
    for _ in range(2):
        exec(lines, names)
        lf.materialize(names["x"])
    assert turns.DEPTH == [depth] and not turns._turns


def test_long_expressions_do_not_look_at_other_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation beyond the longest ones did once they were known: 200 took 1.1 ms to record,
    not 0.4."""
    names = {"x": row()}
    lines = compile("y = x\n" + "y = y + 1.0\n" * 200, "lines", "exec")
    asked: list[int] = []
    pending = turns._pending
    monkeypatch.setattr(turns, "_pending", lambda: asked.append(1) or pending())
    for _ in range(turns._MOST_COUNTED + 2):
        exec(lines, names)
        lf.materialize(names["y"])
        before, asked[:] = asked.copy(), []
    assert not before and turns.DEPTH == [turns.LONG]


def _turned(x: Any, y: Any) -> Any:
    z = x + y
    for _ in range(120):
        x, y, z = y * 0.5 + z * 0.2, z * 0.3 + x, x * 0.1 - y * 0.2
    return x + y + z


def _generated(x: Any, y: Any) -> Any:
    def terms() -> Iterator[Any]:
        term = x
        while True:
            term = term * 0.5 + 1.0
            yield term

    for _, term in zip(range(150), terms(), strict=False):
        y = y * 0.5 + term
    return y


def test_a_loop_is_not_cut_where_another_was(flushed: list[int]) -> None:
    """Which had deepened a chain as often, with fewer arrays: it comes no more, and a loop was not
    cut before it was twice as long."""
    first = lf.asnumpy(_turned(row(), row() * 0.1))
    wanted = flushed.copy()
    lf.cache_clear()
    for program in (_generated, _turned):
        flushed.clear()
        found = lf.asnumpy(program(row(), row() * 0.1))
    assert flushed == wanted and len(flushed) > 5
    values = host.linspace(0.5, 2.0, SIZE)
    assert found.tobytes() == first.tobytes() == _turned(values, values * 0.1).tobytes()


def test_writes_into_the_same_array(flushed: list[int]) -> None:
    x = row()
    for _ in range(200):
        x[1:-1] = (x[:-2] + x[2:]) * 0.5
    assert len(flushed) > 10 and max(flushed[1:]) <= 2 * turns.FEWEST
    y = host.linspace(0.5, 2.0, SIZE)
    for _ in range(200):
        y[1:-1] = (y[:-2] + y[2:]) * 0.5
    same(x, y)


def test_long_expressions_stay_whole(flushed: list[int]) -> None:
    """Each line is met once, or at the same depth; and no more is asked about them."""
    text = "\n".join(["x = x + 1.5", "x = abs(x)"] * 80)
    code = compile(text, "long", "exec")
    for _ in range(60):
        names = {"x": row()}
        exec(code, names)
        lf.materialize(names["x"])
    assert set(flushed) == {160} and not turns._turns


def test_loops_where_nothing_is_done_for_first_calls(flushed: list[int]) -> None:
    x = host.linspace(0.0, 1.0, SIZE + 400)
    with lf.options(cold_size=0):
        _sums(lf, lf.asarray(x), row(), 150)
        assert not flushed


def test_what_is_recorded_for_fuse_stays_whole() -> None:
    @lf.fuse
    def function(x: Any) -> Any:
        for _ in range(150):
            x = x * 0.5 + 1.0
        return x

    x = host.linspace(0.5, 2.0, 100_000)
    for _ in range(4):  # it is recorded when it comes again
        lf.reset_stats()
        found = function(lf.asarray(x))
    assert lf.stats().kernels_launched == 1
    for _ in range(150):
        x = x * 0.5 + 1.0
    same(found, x)


def test_loops_of_few_turns_and_of_large_arrays_stay_whole(flushed: list[int]) -> None:
    """What is compiled for them is soon there, and NumPy takes as long for a turn."""
    large = lf.asarray(host.ones(turns._LARGE // 8 + 1))
    for x, count in ((row(), 60), (large, 150)):
        for _ in range(count):
            x = x * 0.5 + 1.0
        assert not [depth for depth in flushed if depth <= turns.LONG]
        flushed.clear()
    for _ in range(100):  # a mask is a small result of a large array
        large = large * (large <= 4.0)
    assert not [depth for depth in flushed if depth <= turns.LONG]


def test_long_loops_are_cut_less_often(
    monkeypatch: pytest.MonkeyPatch, flushed: list[int]
) -> None:
    """Once known plans have computed as much as larger kernels take to be compiled."""
    monkeypatch.setattr(turns, "_GROWS", 40 * SIZE)
    x = row()
    for _ in range(4000):
        x = x * 0.5
        x = x + 1.0
    assert flushed[1] <= 2 * turns.FEWEST
    assert flushed[-1] in (turns.MOST + 1, turns.MOST + 2)
    seen = list(dict.fromkeys(flushed[1:]))
    assert seen == sorted(seen)


def test_ever_new_structures_are_cut_as_often_as_before(
    monkeypatch: pytest.MonkeyPatch, flushed: list[int]
) -> None:
    """What is planned each time gains nothing by being longer."""
    monkeypatch.setattr(turns, "_GROWS", 1)
    x, y = row(), lf.asarray(host.ones(SIZE))
    for number in range(1, 600):
        x = x[1:] + y[number:]
    assert max(flushed[1:]) <= 2 * turns.FEWEST and len(flushed) > 20


def test_places_are_forgotten() -> None:
    """There are not more than so many, and none after `cache_clear`."""
    for number in range(turns._MOST_PLACES + 10):
        names = {"x": row()}
        exec(compile("for _ in range(200): x = x + 1.0", f"loop {number}", "exec"), names)
    assert 0 < len(turns._turns) <= turns._MOST_PLACES
    lf.cache_clear()
    assert not turns._turns and not turns._met
    assert turns.DEPTH == [turns.LOOKED_AT] and turns._longest == [turns.LONG]


def test_threads_have_long_expressions_and_loops_of_their_own() -> None:
    """What one remembers another adds to meanwhile, or forgets."""
    before, errors = sys.getswitchinterval(), []
    lines = "".join(f"    x = x + {number}.0\n" for number in range(70))
    wanted: dict[str, Any] = {"x": host.zeros(SIZE)}
    exec("for _ in range(3):\n" + lines, wanted)

    def work(number: int) -> None:
        try:
            for turn in range(5):
                names = {"x": lf.asarray(host.zeros(SIZE))}
                with lf.options(cold_size=1, eager_size=0, device="cpu", threads=1):
                    text = "for _ in range(3):\n" + lines
                    exec(compile(text, f"{number} {turn}", "exec"), names)
                    same(names["x"], wanted["x"])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not errors
    turns.forget()
    assert turns._best(row()._storage.node, (1, 2)) == (1, 2)  # all have been forgotten


def test_code_is_known_by_its_identity() -> None:
    """To look for it by what it says takes longer than an operation: all its instructions are."""
    codes = [compile("for _ in range(200): x = x + 1.0", "twice", "exec") for _ in range(2)]
    for code in codes:
        exec(code, {"x": row()})
    assert {place[0] for place in turns._turns} == {id(code) for code in codes}


def test_steps_are_not_walked_in_groups_that_they_do_not_join(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Floyd and Warshall's read the step before at other places: one look at what a step reads
    says so. All that a group computes was walked, at every place where it is read."""
    walked: list[Any] = []
    inside = fusion._expression

    def expression(*args: Any, inline: Any, **kwargs: Any) -> Any:
        walked.extend(inline)
        return inside(*args, inline=inline, **kwargs)

    monkeypatch.setattr(fusion, "_expression", expression)
    paths = host.random.default_rng(1).random((40, 40))

    def program(np: Any, p: Any) -> Any:
        for k in range(20):
            p = np.minimum(p, p[:, k, None] + p[k])
        return p

    with lf.options(cold_size=0):
        found = program(lf, lf.asarray(paths))
        lf.materialize(found)
    same(found, program(host, paths))
    assert not walked


# ---- arrays that are computed together


def _moments(np: Any, x: Any, count: int) -> Any:
    """Three arrays that are made of each other; one is read by nobody but its next version."""
    mean, spread, most = x * 0.0, x * 0.0, x * 0.0
    for _ in range(count):
        mean = mean * 0.9 + x * 0.1
        spread = spread * 0.99 + mean * mean * 0.01
        x = x - mean / (spread + 1.0)
        most = np.maximum(most, x)
    return x, most


@pytest.mark.parametrize("native", [False, True])
def test_the_state_of_a_loop_is_computed_together(
    *, native: bool, flushed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So each cut is the same structure. One array after the other was cut, each time with other
    ones left pending, and what these read was stored for them, turn by turn."""
    if native:
        native_methods.make_native(lf.LazyArray)
    made: list[tuple[int, int]] = []
    run = engine._run

    def noted(pending: Any, device: str) -> Any:
        made.append((len(pending.nodes), len(pending.outputs)))
        return run(pending, device)

    monkeypatch.setattr(engine, "_run", noted)
    found = _moments(lf, row(), 200)
    assert len(flushed) > 10
    wanted = _moments(host, host.linspace(0.5, 2.0, SIZE), 200)
    for one, other in zip(found, wanted, strict=True):
        same(one, other)
    assert len(set(made[2:-2])) == 1
    assert made[3][1] <= 6  # with two values of the line itself


def test_what_was_made_before_the_loop_is_left_pending() -> None:
    """Of something that the loop begins with: it was computed with the loop, all of it."""
    _halved(row(), 200)  # its line is a loop's now
    lf.reset_stats()
    base = row() * 2.0 + 1.0
    parts = [base + float(k) for k in range(40)]
    _halved(base, 15)
    assert all(each._storage.node.buffer is None for each in parts)
    assert lf.stats().kernels_launched


def test_there_is_a_limit_for_what_is_computed_together(flushed: list[int]) -> None:
    with lf.options(max_pending_bytes=3 * 8 * SIZE):
        found = _moments(lf, row(), 200)
    wanted = _moments(host, host.linspace(0.5, 2.0, SIZE), 200)
    for one, other in zip(found, wanted, strict=True):
        same(one, other)


def _halved(x: Any, count: int) -> Any:
    for _ in range(count):
        x = x * 0.5 + 1.0
    return x


def test_others_are_left_pending() -> None:
    """What has nothing to do with the loop; and what belongs to another thread, or is gone."""
    _halved(row(), 200)  # its line is a loop's now
    lf.reset_stats()
    x, other = row(), row() * 3.0 + 1.0
    gone = [x * 2.0 + float(number) for number in range(3)]
    del gone
    theirs: list[Any] = []
    thread = threading.Thread(target=lambda: theirs.append((row() + 1.0) * 2.0))
    thread.start()
    thread.join()
    x = _halved(x + theirs[0], 15)  # while they are still among the last ones
    assert other._storage.node.buffer is None and theirs[0]._storage.node.buffer is None
    assert lf.stats().kernels_launched


def test_there_is_no_memory_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that nobody had asked for were computed with a loop, and the loop ended."""
    run = engine._run

    def limited(pending: Any, device: str) -> Any:
        if len(pending.outputs) > 8:
            raise MemoryError
        return run(pending, device)

    monkeypatch.setattr(engine, "_run", limited)
    x = row() * 2.0 + 1.0
    others = [x + float(number) for number in range(20)]
    for _ in range(40):
        x = x * 0.5 + 1.0
    wanted = host.linspace(0.5, 2.0, SIZE) * 2.0 + 1.0
    for number, other in enumerate(others):
        same(other, wanted + float(number))
    for _ in range(40):
        wanted = wanted * 0.5 + 1.0
    same(x, wanted)


# ---- what is recorded in vain


def _swept(np: Any, x: Any, count: int) -> Any:
    """Another column each turn, of an array that is changed as a whole."""
    for k in range(count):
        x = np.minimum(x, x[:, k : k + 1] + x[k : k + 1, :])
    return x


def _written(np: Any, x: Any, count: int) -> Any:
    for k in range(count):
        x[k] /= x[k, k]
        column = x[:, k].copy()
        column[k] = 0.0
        x -= column[:, None] * x[k]
    return x


@pytest.mark.parametrize("program", [_swept, _written], ids=lambda each: each.__name__)
def test_what_is_recorded_in_vain_is_computed_at_once_again(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops whose turns are no shape class: each was interpreted or planned anew, at a tenth of
    NumPy's speed and less, for ever."""
    runs: list[int] = []
    run = engine._run

    def noted(pending: Any, device: str) -> Any:
        runs.append(len(pending.nodes))
        return run(pending, device)

    values = host.random.default_rng(2).random((120, 120)) + 120.0 * host.eye(120)
    monkeypatch.setattr(engine, "_run", noted)
    counts, found = [], []
    not_new(program, values.size)
    with lf.options(cold_size=100_000, eager_size=1000):
        for _ in range(6):
            runs.clear()
            found.append(program(lf, lf.array(values), 120))
            lf.materialize(found[-1])
            counts.append(len(runs))
    assert max(counts) >= met._MOST_ONCE and counts[-1] <= 2, counts
    wanted = program(host, values.copy(), 120)
    for each in found:
        same(each, wanted)


@pytest.mark.parametrize("native", [False, True])
def test_the_next_operation_is_computed_once_that_is_asked_for(*, native: bool) -> None:
    """And those behind it are not."""
    if native:
        native_methods.make_native(lf.LazyArray)
    for is_asked in (False, True, False):  # machine code knows the operations at the second
        x = row() * 2.0
        if is_asked:
            turns.compute_soon()
        y = x + 1.0
        z = (y - 3.0) * 0.5
        assert (y._storage.node.buffer is not None) == is_asked
        assert z._storage.node.buffer is None


def test_what_comes_again_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop without a class whose turns are one structure is planned, and fused from then on,
    where that pays off."""
    monkeypatch.setattr(payoff, "_least_ns", lambda node: 1e9)  # whatever the clock says

    def program(x: Any) -> Any:
        for _ in range(1000):
            x = (x * 0.5 + x[::-1]) * 0.5
        return x

    x = lf.asarray(host.random.default_rng(2).random((6, 5, 4, 3, 20)))
    not_new(program, x.size)
    with lf.options(cold_size=100_000, eager_size=100):
        for _ in range(4):
            lf.reset_stats()
            lf.materialize(program(x))
    assert lf.stats().kernels_launched > 10  # fewer the more turns are one kernel by now
    assert lf.stats().cold_runs <= 2  # the first turns, and the last ones


def test_structures_that_come_again_are_not_in_vain() -> None:
    """However many there are: only those without a class that come once each are."""
    with lf.options(cold_size=100_000):
        for size in range(20, 20 + 2 * met._MOST_ONCE):
            x = lf.asarray(host.ones((6, 5, 4, 3, size)))
            for _ in range(2):
                lf.materialize((x * 0.5 + x[::-1]) * 0.5)
    families = [*session.families.values()]
    assert families and all(each.vain < met._MOST_VAIN for each in families)
