"""What is recorded and takes longer than NumPy though its plans are known is computed at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place records nothing", allow_module_level=True)

from lazyfuse.frontend import native_methods  # noqa: E402 - when there is an engine
from lazyfuse.runtime import engine, known, met, payoff, ready, session  # noqa: E402 - likewise
from tests.not_new import not_new  # noqa: E402 - likewise

lf = oracle.lf
pytestmark = pytest.mark.engine
#: More elements than are computed at once, and fewer than make it worth waiting.
SIZE = 30


@pytest.fixture(autouse=True)
def everyday(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is known; what is met is planned when it is computed."""
    monkeypatch.setattr(met, "PLAN_NS", 1)
    monkeypatch.setattr(met, "PLAN_OPERATION_NS", 0)
    lf.cache_clear()
    with lf.options(cold_size=100_000, eager_size=100, device="cpu", threads=1):
        yield
    lf.cache_clear()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many nodes there were each time that the engine ran."""
    found: list[int] = []
    run = engine._run

    def noted(pending: Any, device: str) -> Any:
        found.append(len(pending.nodes))
        return run(pending, device)

    monkeypatch.setattr(engine, "_run", noted)
    return found


def _clock(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    """Each run takes so many nanoseconds."""
    times = iter(range(0, 1 << 62, int(step)))
    monkeypatch.setattr(payoff, "thread_time_ns", lambda: next(times))
    monkeypatch.setattr(payoff, "_begun", [0])  # by the clock before


def _paths(np: Any, costs: Any, turns: int) -> Any:
    """Each turn writes a row of a table."""
    value, back = costs[0] * 1.0, np.zeros((turns, len(costs)), int)
    for turn in range(turns):
        sums = value[:, None] + costs
        back[turn] = sums.argmax(0)
        value = sums.max(0) * 0.5
    return back, value


def _same(found: Any, wanted: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert lf.asnumpy(one).tobytes() == other.tobytes()


@pytest.mark.parametrize("pays", [False, True])
def test_what_takes_longer_than_numpy(
    *, pays: bool, monkeypatch: pytest.MonkeyPatch, runs: list[int]
) -> None:
    """It computes at once after a while; and what takes less does not."""
    native_methods.make_native(lf.LazyArray)
    costs = host.random.default_rng(1).random((SIZE, SIZE))
    monkeypatch.setattr(payoff, "_least_ns", lambda node: 1e6)
    _clock(monkeypatch, 1)
    not_new(_paths, SIZE**2)
    _clock(monkeypatch, 1e5 if pays else 1e9)
    wanted = _paths(host, costs, 60)
    counts = []
    for _ in range(8):
        runs.clear()
        _same(_paths(lf, lf.asarray(costs), 60), wanted)
        counts.append(len(runs))
    assert counts[0] > 2 and (counts[-1] == 0) != pays, counts


def _blended(np: Any, parts: Any, turns: int) -> Any:
    """Each turn computes the parts of an array anew from their sum, as a lattice's."""
    for _ in range(turns):
        total = parts.sum(axis=0)
        anew = np.zeros(parts.shape)
        for k in range(len(parts)):
            anew[k] = total * 0.1 * (1.0 + parts[k] + 0.5 * parts[k] ** 2)
        parts = parts - 0.5 * (parts - anew)
    return (parts,)


@pytest.mark.parametrize("pays", [False, True])
def test_runs_by_machine_code_are_accounted_for(
    *, pays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each that is looked at, as of many: where they take longer than NumPy the function
    computes at once, all of it, whichever run it was at."""
    native_methods.make_native(lf.LazyArray)
    monkeypatch.setattr(engine, "SAMPLED", 1)
    monkeypatch.setattr(payoff, "accounted", lambda *given: nullcontext())
    monkeypatch.setattr(engine, "accounted", lambda *given: nullcontext())
    monkeypatch.setattr(payoff, "_MOST_SAMPLED_NS", 1e8)
    monkeypatch.setattr(payoff, "_least_ns", lambda node: 1e6)
    sampled, counted = payoff.sampled, [0]

    def noted(*given: Any) -> Any:
        found = sampled(*given)
        counted[0] += found is not None
        return found

    monkeypatch.setattr(engine, "sampled", noted)
    parts = host.random.default_rng(1).random((9, 8, 10))
    wanted = _blended(host, parts, 20)
    with lf.options(cold_size=0):
        for _ in range(3):
            _same(_blended(lf, lf.asarray(parts), 20), wanted)
    not_new(_blended, parts.size, 80)
    _clock(monkeypatch, 1e3 if pays else 1e9)
    counts = []
    for _ in range(10):
        counted[0] = 0
        _same(_blended(lf, lf.asarray(parts), 20), wanted)
        counts.append(counted[0])
    assert max(counts) > 2 and (counts[-1] == 0) != pays, counts


def test_what_was_lost_is_forgotten_when_it_is_won(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given up is what has taken more since nothing was lost."""
    native_methods.make_native(lf.LazyArray)
    monkeypatch.setattr(payoff, "_least_ns", lambda node: 1e6)
    monkeypatch.setattr(met, "PLAN_NS", 1e12)
    x = lf.asarray(host.arange(400.0))
    with lf.options(cold_size=0):
        lf.materialize(x * 2.0 + 1.0)
        y = x * 2.0 + 1.0
    node, options = y._storage.node, engine.config.current()
    plans = {key[0]: plan for key, plan in session.plans.items()}
    pending = payoff.trace([node])
    session.plans[pending.structure, options, "cpu"] = plans[pending.structure]
    places = []
    for step in (1e10, 1.0):
        _clock(monkeypatch, step)
        ended = payoff.sampled([node], "cpu", options)
        assert ended is not None
        ended()
        (account,) = payoff._accounts.values()
        places.append(len(account.places))
        account.spent = min(account.spent, 1.0)
    assert places[0] and not places[1]


def test_it_is_tried_again_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(met, "when_vain", [lambda where, times: told.append(times)])
    monkeypatch.setattr(met, "compute_soon", lambda: None)
    monkeypatch.setattr(met, "places", lambda pending: set())
    account, pending = payoff._Account(spent=1e9), None
    for _ in range(payoff._MOST_DOUBLINGS + 3):
        payoff._give_up(account, pending)  # type: ignore[arg-type]  # not asked for
        assert not account.spent
    assert told[:3] == [1, 2, 4] and max(told) == told[-1] == 1 << payoff._MOST_DOUBLINGS


def test_what_kernels_are_made_for_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    _clock(monkeypatch, 1e9)
    x = lf.asarray(host.arange(400.0))
    for turn in range(4):
        with lf.options(eager_size=0):
            y = x.reshape(20, 20) * 2.0 + 1.0
        lf.reset_stats()
        lf.materialize(y)
        assert bool(lf.stats().kernels_launched) == (turn > 0)
        (account,) = payoff._accounts.values() or [payoff._Account()]
        assert bool(account.spent) == (turn > 1), turn


@pytest.mark.parametrize("is_any_ready", [False, True])
def test_what_comes_before_the_kernels_counts(
    *, is_any_ready: bool, runs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find out what is pending takes as long as many kernels, and to record it takes a while;
    what the program does between two runs is its own."""
    native_methods.make_native(lf.LazyArray)
    x = lf.asarray(host.arange(400.0))
    for _ in range(ready.RUNS + 2 if is_any_ready else 0):
        with lf.options(eager_size=0):
            lf.materialize(x * 3.0)
    assert bool(session.ready) == is_any_ready
    clock, traced = [0], engine.trace
    monkeypatch.setattr(payoff, "thread_time_ns", lambda: clock[0])
    monkeypatch.setattr(payoff, "_least_ns", lambda node: 0.0)

    def slowly(*args: Any) -> Any:
        clock[0] += 10**9
        return traced(*args)

    def run() -> float:
        before = sum(account.spent for account in payoff._accounts.values())
        with lf.options(eager_size=0):
            y = x.reshape(20, 20) * 2.0 + 1.0
        clock[0] += 10**9
        lf.materialize(y)
        return sum(account.spent for account in payoff._accounts.values()) - before

    assert [run() for _ in range(4)][-1] == payoff._RECORDED_NS * runs[-1] > 0
    monkeypatch.setattr(engine, "trace", slowly)
    assert run() > 0.9e9


@pytest.mark.parametrize(
    "module,name,counts", [(known, "make_plan", met.NEXT_NS), (ready, "_written", 0)]
)
def test_what_is_done_once_for_a_plan(
    module: Any, name: str, counts: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To make a plan, of kernels that are there, counts as little as that mostly takes; to write
    it down for machine code, which may have to be loaded then, does not."""
    native_methods.make_native(lf.LazyArray)
    clock, slow, does = [0], [], getattr(module, name)
    monkeypatch.setattr(payoff, "thread_time_ns", lambda: clock[0])
    monkeypatch.setattr(payoff, "_least_ns", lambda node: 0.0)
    monkeypatch.setattr(payoff, "_RECORDED_NS", 0.0)
    monkeypatch.setattr(payoff, "_UNTIL_READY_NS", 10 * met.NEXT_NS)
    x = lf.asarray(host.arange(400.0))

    def slowly(*args: Any) -> Any:
        clock[0] += 10**9
        slow.append(name)
        return does(*args)

    monkeypatch.setattr(module, name, slowly)
    session.runs[0] += payoff.SAMPLED - session.runs[0] % payoff.SAMPLED + 1  # none is a sample
    for _ in range(2):  # the kernels are there the second time
        for plans in (session.plans, session.relatives, session.ready):
            plans.clear()
        for _ in range(ready.RUNS + 4):
            with lf.options(eager_size=0):
                y = x.reshape(20, 20) * 2.0 + 1.0
            lf.materialize(y)
    (account,) = payoff._accounts.values()
    assert slow and account.spent == counts and not account.failures


def test_accounts_are_forgotten() -> None:
    for number in range(payoff._MOST_FUNCTIONS + 5):
        payoff._account(number).spent = 1.0
    assert 0 < len(payoff._accounts) <= payoff._MOST_FUNCTIONS
    lf.cache_clear()
    assert not payoff._accounts


def test_the_least_that_numpy_takes() -> None:
    """By the bytes that an operation reads and writes; a write counts what it changes."""
    x = lf.asarray(host.arange(90_000.0))
    with lf.options(eager_size=0):
        nodes = [each._storage.node for each in (x + 1.0, lf.exp(x), x.sum(), x[::2] + 1.0)]
        y = x * 2.0
        y[5:10] = 3.0
        nodes.append(y._storage.node)
    added, exp, summed, half, written = map(payoff._least_ns, nodes)
    assert exp > added > half > written and summed > 0
    assert written < payoff._CALL_NS + 200
    with lf.options(eager_size=0):
        nodes = [each._storage.node for each in (x % 1.3, x // 0.1, lf.cumsum(x), lf.sort(x))]
    rest, floored, scanned, ordered = map(payoff._least_ns, nodes)
    assert rest > 1.5 * added and floored > 1.5 * added and scanned > added
    assert ordered == float("inf")


def test_plans_may_take_longer_until_machine_code_runs_them() -> None:
    """Each once: a function of many lines is not given up for that."""
    x = lf.asarray(host.arange(400.0))
    for turn in range(5):
        with lf.options(eager_size=0):
            y = x.reshape(20, 20) * 2.0 + 1.0
        lf.materialize(y)
        allowed = [account.allowed for account in payoff._accounts.values()]
        assert allowed == ([payoff._UNTIL_READY_NS] if turn else []), turn


def test_plans_that_follow_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of parts that lie elsewhere each time come once: machine code runs none of them."""
    monkeypatch.setattr(payoff, "thread_time_ns", lambda: 0)  # nothing is given up
    monkeypatch.setattr(payoff, "_RECORDED_NS", 0)
    x = lf.asarray(host.arange(400.0).reshape(20, 20))
    followed = 0
    for row in range(1, 18):
        with lf.options(eager_size=0):
            y = x[row : row + 2] * 2.0 + x[row - 1, None]
        before = sum(account.allowed for account in payoff._accounts.values())
        lf.reset_stats()
        with lf.options(check=False):
            lf.materialize(y)
        after = sum(account.allowed for account in payoff._accounts.values())
        assert after - before == payoff._UNTIL_READY_NS * lf.stats().plans_built
        followed += lf.stats().plans_alike
    assert followed >= 8


def test_what_was_in_an_earlier_run_is_no_work_for_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that asks for one element of what it goes on with: each run computes that element of
    all turns, of which NumPy computes the last."""
    counted: list[int] = []
    account = payoff._numpys_ns

    def noted(pending: Any, plan: Any) -> float:
        least = account(pending, plan)
        counted.append(round(least))
        return least

    monkeypatch.setattr(payoff, "_numpys_ns", noted)
    monkeypatch.setattr(payoff, "_least_ns", lambda node: float(bool(node.shape and node.srcs)))
    for _ in range(4):
        with lf.options(eager_size=0):
            x = lf.asarray(host.arange(400.0)) * 2.0
        for _ in range(4):
            with lf.options(eager_size=0):
                x *= 0.5
                element = x[3]
            float(element)
    assert counted and max(counted) <= 2  # with the first multiplication


def test_what_plans_may_cost_at_first_is_allowed_once() -> None:
    """Also of one that always has something inside that an earlier run computed."""
    for _ in range(40):
        with lf.options(eager_size=0):
            x = lf.asarray(host.arange(400.0)) * 2.0
            first, second = x.sum(), (x * x).max()
        float(first)
        float(second)
    allowed = [account.allowed for account in payoff._accounts.values()]
    assert allowed and max(allowed) <= 4 * payoff._UNTIL_READY_NS
