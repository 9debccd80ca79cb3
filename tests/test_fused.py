"""`fuse`: a recorded function gives what the function gives, and is replayed where that is so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.concurrently import concurrently

SIZE = 5000
SCALE = 2.0
WEIGHTS = lf.asarray(host.arange(SIZE) * 0.5)
HOLDER = {"weights": host.arange(SIZE) * 0.5}
WRITTEN = lf.asarray(host.ones(SIZE))


def _arrays(count: int, size: int = SIZE) -> list[host.ndarray]:
    rng = host.random.default_rng(3)
    return [rng.random(size) + 0.5 for _ in range(count)]


def _check(function: Any, *arrays: Any, calls: int = 4, **options: Any) -> Any:
    """Compare calls of a fused function with the function under NumPy; return the fused one."""
    fused = lf.fuse(function)
    for _ in range(calls):
        given = fused(*[lf.asarray(a) if isinstance(a, host.ndarray) else a for a in arrays])
        wanted = function(*[a.copy() if isinstance(a, host.ndarray) else a for a in arrays])
        problems = list(
            oracle.compare("result", wanted, oracle.observe(given), oracle.Rules(**options))
        )
        assert not problems, problems
    return fused


KINDS = {
    "engine": {"eager_size": 0},
    "small": {"eager_size": 65536},
    "engine in Python": {"eager_size": 0, "native": False},
    "small in Python": {"eager_size": 65536, "native": False},
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a test on arrays of the engine, and on small ones, as if NumPy were never faster, in
    machine code and without."""
    monkeypatch.setattr("lazyfuse.frontend.recording._REPLAY", 0.0)
    with lf.options(**request.param):
        yield request.param["eager_size"]


def test_replays(kind: int) -> None:
    fused = _check(lambda a, b, c: (a * b + c) / b - 1.5, *_arrays(3))
    assert (fused.recordings, fused.replays, fused.reason) == (1, 2, "")


@pytest.mark.cpu("small arrays that are NumPy's")
def test_what_numpy_does_faster_is_left_to_it() -> None:
    """A few operations on some thousand elements; not many, nor transcendental functions."""
    with lf.options(eager_size=30_000, native=False):
        a, b = (lf.asarray(x) for x in _arrays(2))
        few = lf.fuse(lambda a, b: a * b + 1)
        many = lf.fuse(lambda a, b: lf.exp(a) * lf.log(b) + lf.sin(a * b))
        for _ in range(4):
            few(a, b), many(a, b)
    assert "NumPy is faster" in few.reason and not few.replays
    assert not many.reason and many.replays == 2


def test_results_in_tuples_lists_and_dicts(kind: int) -> None:
    def function(a: Any, b: Any) -> Any:
        return a + b, [a - b, {"product": a * b}], None, 3

    fused = lf.fuse(function)
    a, b = _arrays(2)
    for _ in range(3):
        total, (difference, products), nothing, three = fused(lf.asarray(a), lf.asarray(b))
        host.testing.assert_array_equal(host.asarray(total), a + b)
        host.testing.assert_array_equal(host.asarray(difference), a - b)
        host.testing.assert_array_equal(host.asarray(products["product"]), a * b)
        assert nothing is None and three == 3
    assert fused.replays == 1


def test_reductions_and_scalars(kind: int) -> None:
    fused = _check(lambda a, b: (a * b).reshape(50, 100).max(axis=0), *_arrays(2))
    assert fused.replays == 2
    total = _check(lambda a: a.max(), *_arrays(1))
    assert total.replays == 2


def test_keywords_defaults_and_methods(kind: int) -> None:
    class Model:
        rate = 0.25

        @lf.fuse
        def step(self, a: Any, *, by: float = 1.0) -> Any:
            return a * self.rate + by

    model = Model()
    (a,) = _arrays(1)
    for by in (1.0, 1.0, 1.0, 2.0, 2.0, 2.0):
        host.testing.assert_array_equal(
            host.asarray(model.step(lf.asarray(a), by=by)), a * 0.25 + by
        )
    assert Model.step.recordings == 2 and Model.step.replays == 2


def test_numbers_that_the_function_reads_are_part_of_the_signature(
    kind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    offset = 1.0

    def function(a: Any) -> Any:
        return a * SCALE + offset

    fused = lf.fuse(function)
    (a,) = _arrays(1)
    for scale, new in ((2.0, 1.0), (3.0, 1.0), (3.0, -4.0)):
        monkeypatch.setitem(globals(), "SCALE", scale)
        offset = new
        for _ in range(4):
            host.testing.assert_array_equal(host.asarray(fused(lf.asarray(a))), a * scale + new)
    assert fused.replays == 6


def test_the_sign_of_a_zero_is_part_of_the_signature(kind: int) -> None:
    fused = lf.fuse(lambda a, zero: a * zero)
    (a,) = _arrays(1)
    for zero in (0.0, 0.0, 0.0, -0.0, -0.0, -0.0):
        assert host.signbit(host.asarray(fused(lf.asarray(a), zero))).all() == host.signbit(zero)


UNFIT = {
    "writes": (lambda a, b: a.__iadd__(b) * 2, "writes"),
    "asks": (lambda a, b: a * 2 if float(a.sum()) > 0 else b, "asks for values"),
    "reads an array in a dict": (lambda a, b: a * HOLDER["weights"], "can change unseen: HOLDER"),
    "writes what it reads": (lambda a, b: WRITTEN.__imul__(1.0) + a, "writes"),
    "gives an argument": (lambda a, b: a, "not new"),
    "gives one twice": (lambda a, b: (lambda c: (c, c))(a + b), "not new"),
    "gives a view": (lambda a, b: (a + b)[1:], "views"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_cannot_be_replayed_is_called(kind: int, name: str) -> None:
    function, reason = UNFIT[name]
    fused = lf.fuse(function)
    a, b = _arrays(2)
    mine = a.copy()
    array = lf.asarray(a)
    for _ in range(4):
        given = fused(array, lf.asarray(b))
        wanted = function(mine, b)
        for left, right in zip(
            *(x if isinstance(x, tuple) else (x,) for x in (given, wanted)), strict=True
        ):
            host.testing.assert_array_equal(host.asarray(left), right)
        host.testing.assert_array_equal(host.asarray(array), mine)
    assert reason in fused.reason and not fused.replays


def test_random_numbers_are_drawn_at_every_call(kind: int) -> None:
    fused = lf.fuse(lambda a: a + lf.random.rand(SIZE))
    (a,) = _arrays(1)
    lf.random.seed(1)
    given = [host.asarray(fused(lf.asarray(a))) for _ in range(4)]
    assert not host.array_equal(given[2], given[3]) and not fused.replays


def test_views_lists_and_few_elements_are_left_to_the_function(kind: int) -> None:
    fused = lf.fuse(lambda a: lf.asarray(a) * 2)
    (a,) = _arrays(1)
    few = () if oracle.ON_GPU else (lf.asarray(a[:10]),)  # which a GPU leaves to nobody
    for value in (lf.asarray(a)[::2], list(a), *few):
        for _ in range(3):
            host.testing.assert_array_equal(host.asarray(fused(value)), host.asarray(value) * 2)
    assert not fused.replays and not fused.recordings


PARTS: dict[str, Any] = {
    "rows": lambda a: a[1:-1],
    "columns": lambda a: a[:, 2:-3],
    "steps": lambda a: a[::2, 1::3],
    "turned": lambda a: a.T,
    "turned steps": lambda a: a[::2].T,
    "new axis": lambda a: a[:, None, 1:],
    "broadcast": lambda a: host.broadcast_to(a[:1], a.shape),
    "backward": lambda a: a[::-1],
    "bytes": lambda a: a.view("u1")[:, 3:190],
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("native", (True, False), ids=("machine", "python"))
def test_numpys_arrays_that_do_not_lie_in_one_piece(name: str, native: bool) -> None:
    def program(a: Any, b: Any) -> Any:
        return a * 2 + b, (a - b).sum(axis=0)

    fused = lf.fuse(program)
    with lf.options(native=native):
        for call in range(20):
            whole = host.arange(40000.0).reshape(100, 400) + call
            a, b = PARTS[name](whole), PARTS[name](whole * 0.5)
            for one, other in zip(fused(a, b), program(a, b), strict=True):
                problems = oracle.compare("result", other, oracle.observe(one), oracle.Rules())
                assert not list(problems)
    is_known = name != "backward" and not oracle.ON_GPU
    assert bool(fused.replays) == is_known, fused.reason


def test_other_strides_are_another_signature() -> None:
    fused = lf.fuse(lambda a: a * 3 - 1)
    whole = host.arange(60000.0).reshape(200, 300)
    parts = (whole[:, :150], whole[:, ::2], whole[:, 150:], host.ascontiguousarray(whole[:, ::2]))
    for part in parts * 3:
        host.testing.assert_array_equal(host.asarray(fused(part)), part * 3 - 1)
    assert fused.recordings == (1 if oracle.ON_GPU else 3)


def test_arguments_keep_their_values_and_may_be_pending_or_numpys(kind: int) -> None:
    fused = lf.fuse(lambda a, b: a * b - a)
    a, b = _arrays(2)
    for _ in range(4):
        pending = lf.asarray(a) + 1
        host.testing.assert_array_equal(host.asarray(fused(pending, b)), (a + 1) * b - (a + 1))
        host.testing.assert_array_equal(host.asarray(pending), a + 1)
    assert fused.replays == 2


def test_one_array_as_two_arguments(kind: int) -> None:
    fused = lf.fuse(lambda a, b: a - 2 * b)
    a, b = _arrays(2)
    for left, right in ((a, a), (a, a), (a, a), (a, b), (b, a)):
        x = lf.asarray(left)
        y = x if right is left else lf.asarray(right)
        host.testing.assert_array_equal(host.asarray(fused(x, y)), left - 2 * right)


def test_results_are_arrays_of_their_own(kind: int) -> None:
    fused = lf.fuse(lambda a: a + 1)
    (a,) = _arrays(1)
    x = lf.asarray(a)
    results = [fused(x) for _ in range(5)]
    for result in results:
        result *= 2
        host.testing.assert_array_equal(host.asarray(result), (a + 1) * 2)
    host.testing.assert_array_equal(host.asarray(x), a)
    again = fused(results[-1])
    host.testing.assert_array_equal(host.asarray(again), (a + 1) * 2 + 1)


@pytest.mark.cpu("floating point flags")
def test_conditions_are_told_as_ever(kind: int) -> None:
    fused = lf.fuse(lambda a, b: a / b)
    a, b = _arrays(2)
    good = [lf.asarray(a), lf.asarray(b)]
    for _ in range(3):
        fused(*good)
    b[7] = 0
    with pytest.raises(FloatingPointError), lf.errstate(divide="raise"):
        fused(lf.asarray(a), lf.asarray(b))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        result = host.asarray(fused(lf.asarray(a), lf.asarray(b)))
    assert [str(item.message) for item in heard] == ["divide by zero encountered in divide"]
    with host.errstate(all="ignore"):
        host.testing.assert_array_equal(result, a / b)


def test_errors_of_the_function_pass(kind: int) -> None:
    fused = lf.fuse(lambda a, b: a + b)
    (a,) = _arrays(1)
    for _ in range(4):
        with pytest.raises(ValueError, match="broadcast"):
            fused(lf.asarray(a), lf.asarray(a[:-1]))


def test_signatures_are_bounded(kind: int) -> None:
    fused = lf.fuse(lambda a, number: a + number, signatures=3)
    (a,) = _arrays(1)
    for _ in range(3):
        for number in host.arange(10):
            host.testing.assert_array_equal(host.asarray(fused(lf.asarray(a), number)), a + number)
    assert fused.recordings == 3


def test_options_and_dtypes_are_part_of_the_signature(kind: int) -> None:
    fused = lf.fuse(lambda a: a * 3)
    (a,) = _arrays(1)
    for dtype in ("f8", "f4", "i4"):
        for fusion in (True, False):
            with lf.options(fusion=fusion):
                for _ in range(3):
                    given = host.asarray(fused(lf.asarray(a.astype(dtype))))
                    host.testing.assert_array_equal(given, a.astype(dtype) * 3)
    assert fused.recordings == 6


def test_many_threads(kind: int) -> None:
    fused = lf.fuse(lambda a, b: a * b + a)
    a, b = _arrays(2)
    wrong: list[Any] = []

    def work() -> None:
        x, y = lf.asarray(a), lf.asarray(b)
        for _ in range(50):
            if not host.array_equal(host.asarray(fused(x, y)), a * b + a):
                wrong.append(1)

    concurrently(work, [()] * 4)
    assert not wrong


def test_its_name_and_signature_are_the_functions() -> None:
    @lf.fuse
    def step(a: Any, dt: float = 0.1) -> Any:
        """A step."""
        return a * dt

    assert step.__name__ == "step" and step.__doc__ == "A step." and step.__wrapped__
