"""Plans of ever new shapes follow from others of their shape class: each is what the planner makes
of the same trace, number by number. So is what is recorded for shapes that nobody has met."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place plans nothing", allow_module_level=True)

from lazyfuse.errors import VerifyError  # noqa: E402 - when there is an engine
from lazyfuse.frontend import shortcuts  # noqa: E402 - likewise
from lazyfuse.ir.plan import Launch, Plan, Wave, WhyNot  # noqa: E402 - likewise
from lazyfuse.runtime import alike as alike_module  # noqa: E402 - likewise
from lazyfuse.runtime import engine, session  # noqa: E402 - likewise
from lazyfuse.runtime.alike import Alike, verify_alike  # noqa: E402 - likewise
from lazyfuse.runtime.renumber import numbered, renumbered  # noqa: E402 - likewise
from lazyfuse.runtime.shape_class import shape_class  # noqa: E402 - likewise
from lazyfuse.runtime.trace import Trace  # noqa: E402 - likewise
from tests.new_shapes import extents, outputs  # noqa: E402 - likewise

lf = oracle.lf
pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Nothing is known before, or kept afterwards."""
    lf.cache_clear()
    lf.reset_stats()
    yield
    lf.cache_clear()


def pending(*arrays: Any) -> list[Any]:
    """The nodes of arrays that are to be computed, each once."""
    nodes = [array._storage.node for array in arrays if isinstance(array, lf.LazyArray)]
    return [node for node in dict.fromkeys(nodes) if node.buffer is None]


def plan_of(*arrays: Any, device: str = "cpu") -> Plan:
    """The plan by which arrays would be computed."""
    return engine.prepare(pending(*arrays), device)[1].plan


def row(size: int) -> Any:
    return lf.asarray(host.linspace(0.5, 2.0, size))


# ---- what follows is what is made


def lagged(xp: Any, x: Any, lag: int) -> Any:
    return (x[lag:] * x[: x.size - lag] + 1.0) / x[lag:]


def moments(xp: Any, x: Any, lag: int) -> Any:
    part = x[lag:]
    return part.mean() * part.var() + (part**2).sum() - part.max()


def rows(xp: Any, x: Any, lag: int) -> Any:
    table = x[lag : lag + (x.size - lag) // 5 * 5].reshape(-1, 5)
    return (table - table.mean(axis=0)) / table.std(axis=0)


def running(xp: Any, x: Any, lag: int) -> Any:
    return (x[lag:] * 2.0).cumsum() - x[lag:][::-1]


def outer(xp: Any, x: Any, lag: int) -> Any:
    return (x[lag:, None] - x[None, : 64 + lag]).max(axis=1) * x[lag:]


def ramp(xp: Any, x: Any, lag: int) -> Any:
    return x[lag:] * xp.arange(x.size - lag) + xp.sqrt(x[lag:])


def eliminated(xp: Any, x: Any, lag: int) -> Any:
    """Steps of an elimination, in place."""
    matrix = x[:4900].reshape(70, 70) + 0.0
    float(matrix[0, 0])  # it is in memory
    for place in range(lag - 65, lag - 62):
        factors = matrix[place + 1 :, place] / matrix[place, place]
        matrix[place + 1 :, place] = factors
        matrix[place + 1 :, place + 1 :] -= factors[:, None] * matrix[place, place + 1 :]
        float(matrix[-1, -1])
    return matrix


def halves(xp: Any, x: Any, lag: int) -> Any:
    """The second half of what is read from is written."""
    values = x[lag:] * 1.0
    float(values[0])
    half = values.size // 2
    values[half:] *= 2.0
    values[half : 2 * half] += values[:half]
    return values


def taps(xp: Any, x: Any, lag: int) -> Any:
    """Many parts of an array: there is a letter for where each begins."""
    count = x.size - 300
    total = x[lag : lag + count] * 1.0
    for place in range(30):
        total = total + x[lag + 3 * place : lag + 3 * place + count]
    return total


PROGRAMS: tuple[Callable[..., Any], ...] = (
    lagged, moments, rows, running, outer, ramp, eliminated, halves, taps,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_of_new_lengths(program: Callable[..., Any]) -> None:
    """Most plans follow from others, and the values are NumPy's."""
    with lf.options(check=False):
        for lag in range(65, 105):
            x = host.linspace(0.5, 2.0, 5_000 + 7 * lag)
            wanted, given = program(host, x, lag), program(lf, lf.asarray(x), lag)
            rules = oracle.Rules(ulp=8, sums=True)
            assert list(oracle.compare("", wanted, host.asarray(given), rules)) == []
    assert lf.stats().plans_alike > 20


@pytest.mark.parametrize("device", ("cpu", "cuda-ptx"))
def test_random_programs(device: str, *, full: bool) -> None:
    """Each plan that follows is compared with the one that is made (`options(check=True)`)."""
    with lf.options(check=True, disk_cache=False):
        for seed in range(3000 if full else 80):
            for run in extents(random.Random(seed)):
                nodes = pending(*outputs(seed, run))
                if nodes:
                    engine.prepare(nodes, device)
            lf.cache_clear()
    stats = lf.stats()
    assert stats.plans_alike > 0.2 * stats.plans_built


def test_how_often_a_result_is_read() -> None:
    """A quotient under 9 rows of a part of it: read 4 times for each of its elements it is
    computed each time, read 5 times it is stored. These are no class."""
    columns = [(1000, 520), (1001, 525), (1003, 530), (1005, 560), (1006, 570), (1010, 525)]
    stores = []
    with lf.options(check=True, disk_cache=False, eager_size=0, cold_size=0):
        for whole, part in columns:
            x, y = lf.asarray(host.ones((30, whole))), lf.asarray(host.ones((9, part)))
            z = y - (x.sum(axis=0) / 3)[:part]
            stores.append("RECOMPUTE_COST" in str(lf.explain(z)))
            lf.materialize(z)
    assert stores == [9 * part // whole > 4 for whole, part in columns]


def test_refusals_have_an_order() -> None:
    """The planner tells of several repeated values in the order in which they were recorded."""
    x, y = lf.asarray(host.ones((300, 400))), lf.asarray(host.ones((9, 400)))
    kept = []  # so that nodes have other addresses
    with lf.options(eager_size=0, cold_size=0):
        for _ in range(8):
            found = y - x.sum(axis=0) / 3 - lf.sqrt(x.max(axis=0)) - lf.log(x.prod(axis=0))
            kept.append(found := found - x.min(axis=0) / (1 + x.max(axis=0)))
            refusals = engine.plan_for(pending(found), "cpu").refusals
            repeated = [each for each in refusals if each.why is WhyNot.RECOMPUTE_COST]
            names = [each.producer.op.name for each in repeated]
            assert names == ["divide", "sqrt", "log", "divide"]


def sum_of_lags(xp: Any, x: Any, n: int, a: int, b: int, c: int) -> Any:
    y = x[:n] * 2.0
    part = (y[a:] + 1.0)[b:]
    return part * y[c : c + part.size]


def two_lags(xp: Any, x: Any, n: int, a: int, b: int, c: int) -> Any:
    return (x[a:n] * 2.0)[b:] + 1.0


def initial(xp: Any, x: Any, n: int, a: int, b: int, c: int) -> Any:
    """As many operands, but of other operations."""
    if a:
        return x[:n].sum(initial=3.0), xp.full(n, 2.0)
    return x[:n].sum(), xp.arange(n, dtype="f8")


def part_of_rows(xp: Any, x: Any, n: int, a: int, b: int, c: int) -> Any:
    """Rows that go on where the ones before end, or not."""
    return x[: n * a].reshape(n, a)[:, : 2 * b : 2] * 2.0


def ramp_from(xp: Any, x: Any, n: int, a: int, b: int, c: int) -> Any:
    """A start that is the step, or not."""
    return x[:100] * xp.arange(n)[a : a + 500 : 5]


def lag_of_its_length(xp: Any, x: Any, n: int, a: int, b: int, c: int) -> Any:
    """An offset that is met before the equal extent."""
    part = x[n : 2 * n]
    return part.sum(), ((part - part.mean()) ** 2).max()


def neighbours(xp: Any, x: Any, n: int, a: int, b: int, c: int) -> Any:
    """Lags that are near each other, or not."""
    return x[a : a + n] * x[b : b + n] - x[c : c + n]


def many_windows(xp: Any, x: Any, n: int, a: int, b: int, c: int) -> Any:
    """Each value is read once, or twice."""
    values = xp.exp(xp.sin(xp.exp(x[:n])))
    return xp.lib.stride_tricks.sliding_window_view(values, a)[::b] * 2.0


#: What classes told by too little: programs with extents and lags of two traces, and of one that
#: is planned otherwise.
RELATED: tuple[tuple[Callable[..., Any], tuple[tuple[int, ...], ...]], ...] = (
    (sum_of_lags, ((1000, 100, 70, 170), (1001, 101, 71, 172), (1002, 102, 73, 171))),
    (sum_of_lags, ((1000, 100, 70, 165), (1000, 100, 70, 166), (1000, 100, 70, 170))),
    (two_lags, ((1000, 5, 8, 0), (1010, 6, 7, 0), (1020, 6, 9, 0))),
    (initial, ((1000, 1, 0, 0), (1001, 1, 0, 0), (1002, 0, 0, 0))),
    (part_of_rows, ((90, 203, 100, 0), (91, 208, 101, 0), (92, 204, 102, 0))),
    (ramp_from, ((1000, 6, 0, 0), (1001, 7, 0, 0), (1002, 5, 0, 0))),
    (lag_of_its_length, ((65_000, 0, 0, 0), (65_001, 0, 0, 0), (66_000, 0, 0, 0))),
    (neighbours, ((1000, 70, 72, 90), (1001, 71, 73, 91), (1001, 71, 74, 91))),
    (neighbours, ((1000, 0, 2, 7), (1001, 0, 5, 9), (1001, 0, 6, 8))),
    (many_windows, ((1100, 300, 100, 0), (1105, 290, 101, 0), (1440, 305, 127, 0))),
)


@pytest.mark.parametrize(
    ("program", "runs"), RELATED, ids=[f"{n}-{each[0].__name__}" for n, each in enumerate(RELATED)]
)
@pytest.mark.parametrize("check", (True, False))
def test_numbers_that_are_related(
    program: Callable[..., Any], runs: tuple[tuple[int, ...], ...], *, check: bool
) -> None:
    """Sums of lags, equal lags, rows without gaps: what differs in these is planned anew."""
    x = host.random.default_rng(1).random(200_000)
    with lf.options(check=check, disk_cache=False):
        for run in runs:
            wanted, given = program(host, x, *run), program(lf, lf.asarray(x.copy()), *run)
            rules = oracle.Rules(ulp=8)
            pairs = zip(wanted, given, strict=True) if type(wanted) is tuple else [(wanted, given)]
            lf.materialize(*(given if type(given) is tuple else (given,)))
            for one, other in pairs:
                assert list(oracle.compare("", one, host.asarray(other), rules)) == []


def test_a_wrong_plan_is_noticed() -> None:
    plan = plan_of(row(1000) * 2.0)
    launch = plan.steps[0]
    assert isinstance(launch, Launch)
    verify_alike(plan, plan)
    for other in (
        replace(launch, extents=(999,)),
        replace(launch, allocates=((1, 8008),)),
        replace(launch, name="another"),
    ):
        with pytest.raises(VerifyError):
            verify_alike(replace(plan, steps=(other,)), plan)


def test_a_plan_that_runs_band_by_band_is_the_same_plan() -> None:
    """Programs that have each plan verified raised an error where one was made for a class of
    others: what follows from plans runs whole."""
    plan = plan_of(row(1000) * 2.0)
    verify_alike(plan, replace(plan, waves={0: Wave(0, (), (), (), 0)}))


def test_numbers_of_a_plan() -> None:
    whole = numbered(plan_of(row(1000)[7:] * 2.0))
    assert whole is not None
    assert {1000, 993, 7, 8 * 993} <= set(whole.numbers)
    verify_alike(renumbered(whole, whole.numbers), whole.plan)
    moved = renumbered(whole, [number + 1 for number in whole.numbers]).steps[0]
    assert isinstance(moved, Launch)
    assert moved.extents == (994,)
    assert moved.operands[0].offset == 8


# ---- what is known


def test_a_plan_follows_where_all_that_is_possible_agrees() -> None:
    """One plan tells nothing of another length; two do, unless a letter was the same in both."""
    plans = {(n, lag): plan_of(row(n)[lag:] * 2.0) for n in (1000, 1001) for lag in (7, 8, 9)}
    alike = Alike(plans[1000, 7], (1000, 993, 7), (0, 1))
    assert alike.plan((1001, 993, 8)) is None
    alike.add(plans[1000, 8], (1000, 992, 8))
    found = alike.plan((1000, 991, 9))
    assert found is not None
    verify_alike(found, plans[1000, 9])
    assert alike.plan((1001, 992, 9)) is None  # is 1000 a constant?
    alike.add(plans[1001, 9], (1001, 992, 9))
    found = alike.plan((1001, 994, 7))
    assert found is not None
    verify_alike(found, plans[1001, 7])


def test_plans_of_other_kernels_are_not_alike() -> None:
    alike = Alike(plan_of(row(1000) * 2.0), (1000,), (0,))
    alike.add(plan_of(row(1001) + 2.0), (1001,))
    assert alike.plan((1002,)) is None
    alike.add(plan_of(row(1003) * 2.0), (1003,))
    assert alike.plan((1002,)) is None


def test_a_plan_that_is_added_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the handler of a signal, which computes."""
    plans = {size: plan_of(row(size) * 2.0) for size in range(1000, 1005)}
    alike = Alike(plans[1000], (1000,), (0,))
    whole, left = alike_module._explained, [1002, 1003]

    def explained(samples: Any, sizes: Any) -> Any:
        if left:
            alike.add(plans[left[0]], (left.pop(0),))
        return whole(samples, sizes)

    monkeypatch.setattr(alike_module, "_explained", explained)
    alike.add(plans[1001], (1001,))
    found = alike.plan((1004,))
    assert found is not None
    verify_alike(found, plans[1004])


def class_of(*arrays: Any) -> Any:
    return shape_class(Trace(pending(*arrays)))


def test_a_region_of_many_axes_is_in_no_class() -> None:
    """Each set of its axes would be measured."""
    with lf.options(eager_size=0):
        line, values = lf.arange(1000.0) + 1, lf.arange(897.0) * 3
        lf.materialize(line, values)
        line.reshape(*(1,) * 12, -1)[..., 3:900] = values + 1
        assert class_of(line) is None


def key_of(array: Any) -> Any:
    found = class_of(array)
    return None if found is None else found.key


def test_classes() -> None:
    """Two traces are of one class where they differ by numbers that no planner tells apart."""
    x = row(3000)
    assert class_of(x[7:] * 2.0).numbers == class_of(x[7:] * 5.0).numbers == (2993, 7, 3000)
    assert class_of(x[7:] * 2.0).sizes == (0, 2)
    assert key_of(x[7:] * 2.0) == key_of(x[7:-8] * 2.0) == key_of(row(3001)[80:] * 2.0)
    others = [
        x * 2.0, x[7:] + 2.0, x[7:] * x[7:], x[7::2] * 2.0, x[7:].astype("f4") * 2.0,
        x[:7] * 2.0, x[7:1000] * 2.0, row(5000)[7:] * 2.0, row(2048 + 7)[7:] * 2.0,
        (x[7:] * 2.0).sum(),
    ]  # fmt: skip
    keys = [key_of(x[7:] * 2.0), *map(key_of, others)]
    assert len(set(keys)) == len(keys)


def test_only_offsets_are_near_each_other() -> None:
    """Extents that are near offsets, or other extents, make no classes of their own."""
    x = row(3000)
    assert key_of(x[998 : 998 + 990] * 2.0) == key_of(x[1000 : 1000 + 970] * 2.0)
    assert key_of(row(1003) * row(1001)[5:, None]) == key_of(row(1013) * row(1002)[7:, None])
    for a in (0, 70):
        pairs = [x[a : a + 1000] * x[a + b : a + b + 1000] for b in (1, 2, 4, 5, 9)]
        keys = [key_of(pair) for pair in pairs]
        assert len(set(keys)) == 4 and keys[3] == keys[4]


def test_equal_numbers_are_one_letter() -> None:
    one = row(300)[:, None] * row(300)[None, :]
    two = row(300)[:, None] * row(301)[None, :]
    three = row(301)[:, None] * row(300)[None, :]
    assert len({key_of(one), key_of(two), key_of(three)}) == 3


def test_axes_that_can_be_walked_as_one() -> None:
    """Every other row of an even number of rows is 400 elements behind the one before, also from
    table to table; it is not of an odd number."""
    with lf.options(check=True):
        for counts in ((300, 304, 302, 301, 303), (301, 303, 305, 300, 302), (300, 301, 302, 303)):
            for count in counts:
                tables = lf.asarray(host.empty((10, count, 200)))
                plan_of(tables[:, ::2] * 2.0)
            lf.cache_clear()


def test_written_regions() -> None:
    """Where what is written meets what is read is no matter of letters."""

    def written(size: int, read: slice) -> Any:
        x = row(size)
        x[1000:2000] += x[read]
        return x

    known = key_of(written(4000, slice(1000, 2000)))
    assert known is not None
    assert known == key_of(written(4001, slice(1000, 2000)))
    apart = key_of(written(4000, slice(2001, 3001)))
    assert apart not in (None, known)
    assert apart == key_of(written(4000, slice(2010, 3010)))
    assert key_of(written(4000, slice(1999, 2999))) is None
    assert key_of(written(4000, slice(999, 1999))) is None


def test_what_has_no_class() -> None:
    x, table = row(3000), row(3000).reshape(30, 100)
    written = x * 1.0
    written[5:] = 2.0
    assert all(
        class_of(array) is None
        for array in (
            row(60) * 2.0,  # all is small
            row(0) * 2.0,
            lf.sort(x * 2.0),
            lf.take(x, lf.arange(100)),
            written,
            (table * 2.0)[1:, 1:] + 1.0,
            lf.broadcast_to(x, (2, 1, 1, 1, 3000)) * 2.0,
        )
    )
    assert class_of((table * 2.0).T + 1.0) is not None
    assert class_of((x * 2.0)[1:] + 1.0) is not None


# ---- what is kept


def test_a_structure_is_kept_when_it_comes_again() -> None:
    """Of ever new lengths no plans are kept."""
    with lf.options(check=False):
        for size in range(3000, 3050):
            plan_of(row(size) * 2.0)
        assert lf.stats().plans_alike == 48
        assert len(session.plans) == 2
        for _ in range(3):
            plan_of(row(3049) * 2.0)
        assert len(session.plans) == 3
        assert (lf.stats().plans_alike, lf.stats().plan_hits) == (49, 2)


def test_classes_are_forgotten_with_plans() -> None:
    for size in (3000, 3001):
        plan_of(row(size) * 2.0)
    assert session.relatives
    lf.cache_clear()
    assert not session.relatives


def test_what_computes_is_the_plan_that_follows() -> None:
    """Also with inputs that may be overwritten, and with a number that is no literal."""
    with lf.options(check=False):
        for size in range(3000, 3020):
            values = host.linspace(0.0, 1.0, size)
            found = lf.asarray(values) * 2.0
            lf.materialize(found)
            found = found * float(size) + 1.0
            assert host.array_equal(host.asarray(found), values * 2.0 * size + 1.0)
    assert lf.stats().plans_alike == 2 * 18


# ---- recording


def forms(array: Any) -> tuple[Any, ...]:
    node = array._storage.node
    srcs = [(src.kind, src.shape, src.dtype) for src in node.srcs]
    return node.kind, node.op.name, node.loop, node.shape, node.dtype, node.strides, srcs


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "arrays": lambda x, y: x * y,
    "number": lambda x, y: x - 2,
    "number first": lambda x, y: 2 - x,
    "one": lambda x, y: -x,
    "other dtype": lambda x, y: x + y.astype("f4"),
    "comparison": lambda x, y: x < y,
    "function": lambda x, y: lf.exp(x),
    "two": lambda x, y: lf.maximum(x, y),
    "round": lambda x, y: x.round(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("at_once", (False, True))
def test_recording_new_shapes(
    call: Callable[[Any, Any], Any], at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is recorded by the pattern of other shapes is what the long way records."""
    monkeypatch.setattr(shortcuts, "learns_at_once", [at_once])
    shapes = [(3000,), (3001,), (3002,), (40, 75), (3002,), (2, 3, 500), (1, 1), (3003,)]
    for shape in shapes:
        x, y = (lf.asarray(host.ones(shape)) for _ in "xy")
        with monkeypatch.context() as patch:
            patch.setattr(shortcuts, "pattern_of", lambda key: None)
            patch.setattr(shortcuts, "_is_met", lambda known, key: False)
            patch.setattr(shortcuts.rerecord, "recorded", lambda *_: None)
            wanted = forms(call(x, y))
        assert forms(call(x, y)) == wanted
        assert type(call(x, y)) is lf.LazyArray


def test_new_shapes_of_other_orders_go_the_long_way() -> None:
    for size in range(3000, 3010):
        x = lf.asarray(host.ones((2, size)))
        assert (x.T * x.T).strides == (8, 8 * size)
        assert (x * x).strides == (8 * size, 8)
        assert (x[:, ::2] * x[:, ::2]).flags.c_contiguous
        assert (x * x[0]).shape == (2, size)


def test_orders_that_a_call_asks_for() -> None:
    """They show only where two axes have several elements."""
    for shapes in ([3000, 3001, 3002, (40, 75), (50, 60)], [(1, 3000), (3001, 1), (40, 76)]):
        for shape in shapes:
            x = host.ones(shape)
            wanted, found = (xp.asarray(x).astype("f4", order="F") for xp in (host, lf))
            assert found.strides == wanted.strides


def test_numbers_that_do_not_fit_new_shapes() -> None:
    for size in range(3000, 3010):
        x = lf.asarray(host.ones(size, "u1"))
        assert (x + 3).dtype == "u1"
        with pytest.raises(OverflowError, match="300 out of bounds"):
            x + 300
