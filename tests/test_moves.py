"""`roll` and `pad` of arrays of the engine, `linspace` that is recorded, folds over lists of
arrays, and products of all pairs: as NumPy has them, and without what is between."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.frontend import at_once, moves
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

SHAPES = ((50,), (6, 7), (1, 9), (5, 1), (3, 4, 5))
WIDTHS = (0, 1, 3, (1, 2), [(0, 2)], "each", 9)
MODES = ("constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum")
TURNS: tuple[Callable[[Any], Any], ...] = (
    lambda a: a,
    lambda a: a[::-1],
    lambda a: a.T,
    lambda a: a[..., ::2],
)


def arrays(seed: int, *, dtypes: str = "b1 u1 i4 f4 f8 c16") -> Any:
    """Pairs of an array of NumPy's and one of the engine's, of all shapes and orders."""
    draw = random.Random(seed)
    for shape in SHAPES:
        for dtype in dtypes.split():
            values = (host.random.default_rng(seed).random(shape) * 200).astype(dtype)
            if draw.random() < 0.3:
                values = host.asfortranarray(values)
            ours, turn = lf.array(values, order="K"), draw.choice(TURNS)
            yield turn(values), turn(ours)


def outcome(function: Callable[[], Any]) -> Any:
    """The result, or what is raised."""
    try:
        with host.errstate(all="ignore"):
            return function()
    except Exception as error:
        return type(error), str(error)


def check(expected: Any, found: Any) -> None:
    """The same values, dtype, shape and memory order, or the same error."""
    if isinstance(expected, tuple):
        assert found == expected
        return
    assert found.strides == expected.strides
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    host.testing.assert_array_equal(lf.asnumpy(found), expected)


@pytest.mark.parametrize("mode", MODES)
def test_pad(mode: str) -> None:
    """Also where NumPy's own code has to do it: wide pads, other modes."""
    for values, ours in arrays(1, dtypes="u1 f8" if mode in moves._MODES else "f8"):
        for width in WIDTHS if mode in moves._MODES else WIDTHS[:3]:
            wide = [(number, 1) for number in range(values.ndim)] if width == "each" else width
            check(
                outcome(lambda w=wide, v=values: host.pad(v, w, mode)),
                outcome(lambda w=wide, o=ours: lf.pad(o, w, mode)),
            )


CONSTANTS = (
    1,
    0,
    -0.0,
    None,
    -1,
    2.5,
    300,
    2**60,
    True,
    float("nan"),
    1j,
    (1, 2),
    host.float32(1.5),
)


@pytest.mark.parametrize("value", CONSTANTS, ids=str)
def test_pad_by_a_constant(value: Any) -> None:
    """Numbers that a dtype holds are written by one fill; of others NumPy knows what they are."""
    for values, ours in arrays(2):
        check(
            outcome(lambda v=values: host.pad(v, 2, constant_values=value)),
            outcome(lambda o=ours: lf.pad(o, 2, constant_values=value)),
        )


def test_pads_of_none_and_wrong_ones() -> None:
    values = host.zeros((0, 3))
    for width in (1, -1, 1.5, "a", (1, 2, 3), {0: 1}):
        for each in (values, values[:, 0], host.ones((2, 3)), host.float64(1.0)):
            check(
                outcome(lambda e=each, w=width: host.pad(e, w)),
                outcome(lambda e=each, w=width: lf.pad(lf.array(e), w)),
            )
    with pytest.raises(ValueError, match="unsupported keyword"):
        lf.pad(lf.ones((3, 3)), 1, "edge", constant_values=1)


def test_rolls() -> None:
    for values, ours in arrays(3, dtypes="u1 c16"):
        for shift, axis in ((1, 0), (-2, -1), (100, 0), (0, 0), ((1, 2), (0, -1)), (3, None)):
            check(host.roll(values, shift, axis), lf.roll(ours, shift, axis))
        for shift, axis in ((1, 5), (1.5, 0), ("a", 0), ((1, 2), 0)):
            check(
                outcome(lambda v=values, s=shift, a=axis: host.roll(v, s, a)),
                outcome(lambda o=ours, s=shift, a=axis: lf.roll(o, s, a)),
            )


def test_moved_arrays_are_copies() -> None:
    """Writes into either are not seen in the other; those before are."""
    ours, values = lf.zeros((300, 300)) + 1.0, host.ones((300, 300))
    for xp, a in ((host, values), (lf, ours)):
        a[0] = 2.0
        rolled, padded = xp.roll(a, 1, 0), xp.pad(a, 1, "edge")
        a[1] = 3.0
        rolled[5] = 4.0
        if xp is host:
            expected = rolled, padded, a
        else:
            for one, other in zip(expected, (rolled, padded, a), strict=True):
                host.testing.assert_array_equal(lf.asnumpy(other), one)


def test_another_thread_writes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is copied at once is the version that was there when it was asked for."""
    ours = lf.array(host.arange(900.0).reshape(30, 30))
    plain = at_once.engine.flush

    def flush(nodes: Any, device: str) -> None:
        plain(nodes, device)
        monkeypatch.setattr(at_once.engine, "flush", plain)
        thread = threading.Thread(target=lambda: ours.__setitem__(..., -1.0))
        thread.start()
        thread.join()

    pending = ours * 1.0
    monkeypatch.setattr(at_once.engine, "flush", flush)
    ours = pending
    with lf.options(eager_size=100):
        found = lf.roll(pending, 1, 0)
    host.testing.assert_array_equal(
        lf.asnumpy(found), host.roll(host.arange(900.0).reshape(30, 30), 1, 0)
    )


def test_where_regions_lie_is_remembered() -> None:
    """By how an array lies and what is asked, not by the array."""
    moves._rolls.cache_clear()
    for _ in range(5):
        lf.materialize(lf.roll(lf.zeros((300, 301)) + 1.0, 1, 0))
    assert moves._rolls.cache_info().misses == 1


LINES = (
    (0, 1), (0.0, 10.0), (-3.5, 2), (5, -7), (1e300, -1e300), (1e-310, 3e-310), (0, 0), (2, 2),
    (-1e308, 1e308), (0, 1e-320), (2**64 - 1, 0), (-(2**63), 5),
    (0.0, float("inf")), (1, float("nan")),
)  # fmt: skip


@pytest.mark.parametrize("ends", LINES, ids=str)
def test_linspace(ends: tuple[float, float]) -> None:
    """NumPy's bits, recorded or not."""
    for number in (2, 3, 101, 4000):
        for endpoint in (True, False):
            for step in (False, True):
                results = []
                for xp in (host, lf):
                    with host.errstate(all="ignore"):
                        found = xp.linspace(*ends, number, endpoint=endpoint, retstep=step)
                    line, apart = found if step else (found, 0.0)
                    results.append((lf.asnumpy(line), float(apart)))
                (one, apart), (other, found_apart) = results
                assert one.tobytes() == other.tobytes()
                assert host.array_equal(apart, found_apart, equal_nan=True)


def test_linspace_is_fused() -> None:
    """It is not stored: the kernel that reads it computes it."""
    x = lf.linspace(0.0, 1.0, 4000)
    found = (lf.sin(x) * x).sum()
    lf.reset_stats()
    lf.materialize(found)
    assert lf.stats().kernels_launched == 1 and lf.stats().bytes_read < 100


def test_linspace_of_other_calls() -> None:
    """Arrays, dtypes, axes, wrong numbers: as NumPy's code has it."""
    table = host.arange(3.0)
    for args, options in (
        ((0, 10, 7), {"dtype": int}), ((table, 5.0, 6), {}), ((table, 5.0, 6), {"axis": 1}),
        ((0, 1, -2), {}), ((0, 1, 2.5), {}), ((None, 1, 5), {}), ((0, 1j, 5), {}),
        ((0, 1, 0), {}), ((2**70, 0, 5), {}), ((0, 1, 1), {"retstep": True}), ((True, 5, 6), {}),
    ):  # fmt: skip
        expected = outcome(lambda a=args, o=options: host.linspace(*a, **o))
        found = outcome(lambda a=args, o=options: lf.linspace(*a, **o))
        if isinstance(expected, tuple) and isinstance(expected[0], type):
            assert found == expected
        elif isinstance(expected, tuple):
            host.testing.assert_array_equal(lf.asnumpy(found[0]), expected[0])
        else:
            host.testing.assert_array_equal(lf.asnumpy(found), expected, strict=True)


def bits(values: host.ndarray) -> bytes:
    """All but which NaN: the signs of zeros."""
    return host.where(values != values, host.nan, values).tobytes()


FOLDS = ("minimum", "maximum", "fmin", "fmax", "bitwise_or", "logical_and", "add", "multiply")


@pytest.mark.parametrize("name", FOLDS)
def test_folds_over_lists(name: str) -> None:
    """Of arrays of one shape, of different ones, of numbers beside them."""
    draw = host.random.default_rng(5)
    odd = host.array([host.nan, 0.0, -0.0, host.inf, 1.0] * 20)
    lists = [
        [draw.permutation(odd).reshape(20, 5) for _ in range(4)],
        [draw.integers(0, 9, (20, 5)) for _ in range(3)],
        [draw.random((20, 5)) < 0.5 for _ in range(3)],
        [draw.random((20, 5)), draw.random((20, 5)).astype("f4")],
        [draw.random((20, 5)), draw.random(5)],
        [draw.random((20, 5)), 1.0],
        [draw.random((20, 5))],
    ]
    for items in lists:
        for axis in (0, 1):
            expected = outcome(lambda i=items, a=axis: getattr(host, name).reduce(i, axis=a))
            ours = [lf.array(item) if isinstance(item, host.ndarray) else item for item in items]
            found = outcome(lambda o=ours, a=axis: getattr(lf, name).reduce(o, axis=a))
            if isinstance(expected, tuple):
                assert found[0] is expected[0]
                continue
            values = lf.asnumpy(found)
            assert values.dtype == expected.dtype
            host.testing.assert_array_equal(values, expected)
            if name[0] != "f":  # of zeros `fmin` takes any, by how NumPy was built
                assert bits(values) == bits(expected)


FOLD_OPTIONS: tuple[dict[str, Any], ...] = (
    {"out": "same"}, {"out": ("same",)}, {"dtype": host.dtype("f8")}, {"dtype": "f4"},
    {"axis": 0.0}, {"axis": False}, {"axis": host.array([0, 1])}, {"axis": None}, {"axis": -3},
    {"keepdims": True}, {"initial": 3}, {"where": host.ones((3, 20, 5), bool), "initial": 0},
)  # fmt: skip


@pytest.mark.parametrize("options", FOLD_OPTIONS, ids=str)
def test_options_of_folds_over_lists(options: dict[str, Any]) -> None:
    """As for any array."""
    items = [host.random.default_rng(n).integers(0, 9, (20, 5)) for n in range(3)]
    results = []
    for xp in (host, lf):
        given = dict(options)
        if "out" in given:
            out = xp.zeros((20, 5), int)
            given["out"] = (out,) if isinstance(given["out"], tuple) else out
        ours = items if xp is host else [lf.array(item) for item in items]
        results.append(outcome(lambda x=xp, o=ours, g=given: x.maximum.reduce(o, **g)))
    expected, found = results
    if isinstance(expected, tuple):
        assert found[0] is expected[0]
    else:
        host.testing.assert_array_equal(lf.asnumpy(found), expected, strict=True)


def test_folds_over_lists_are_in_c_order() -> None:
    """Whatever order the items are in."""
    values = host.asfortranarray(host.random.random((30, 20)))
    ours = lf.array(values, order="K")
    for turn in (lambda a: a, lambda a: a.T, lambda a: a[::-1], lambda a: a.reshape(5, 6, 20).T):
        expected = host.minimum.reduce([turn(values), turn(values)])
        found = lf.minimum.reduce([turn(ours), turn(ours)])
        check(expected, found)


def test_what_is_too_large() -> None:
    """Refused at the call, as by NumPy."""
    values = host.arange(50.0)
    for function in (
        lambda xp, a: xp.pad(a, 2**62), lambda xp, a: xp.pad(a, 2**61, "edge"),
        lambda xp, a: xp.linspace(0, 1, 2**62), lambda xp, a: xp.linspace(0, 1, 2**60),
    ):  # fmt: skip
        with pytest.raises((ValueError, MemoryError)):
            function(host, values)
        with pytest.raises((ValueError, MemoryError)):
            lf.materialize(function(lf, lf.array(values)))


def test_steps_that_are_not_normal() -> None:
    """Dividing by their number meets a condition, which NumPy's code sees."""
    for ends in ((1e-310, 0), (0, 1e-306)):
        with host.errstate(under="raise"):
            with pytest.raises(FloatingPointError):
                host.linspace(*ends, 40_000)
            with pytest.raises(FloatingPointError):
                lf.materialize(lf.linspace(*ends, 40_000))


def test_a_fold_over_a_list_joins_nothing() -> None:
    """It reads each array, and writes one."""
    items = [lf.array(host.random.default_rng(n).random((40, 50))) for n in range(4)]
    lf.materialize(*items)
    lf.reset_stats()
    lf.materialize(lf.minimum.reduce([item[1:] for item in items]))
    assert lf.stats().kernels_launched == 1 and lf.stats().bytes_written == 39 * 50 * 8


def test_products_of_all_pairs() -> None:
    a, b = host.arange(30.0), host.arange(40)
    for one, other in ((a, b), (a, a), (a.reshape(5, 6), b), (a, 2.0), (a[:0], b)):
        expected = host.outer(one, other)
        found = lf.outer(
            lf.array(one), lf.array(other) if isinstance(other, host.ndarray) else other
        )
        host.testing.assert_array_equal(lf.asnumpy(found), expected, strict=True)
    out = lf.zeros((30, 40))
    assert lf.outer(lf.array(a), lf.array(b), out) is out
    host.testing.assert_array_equal(lf.asnumpy(out), host.outer(a, b))
