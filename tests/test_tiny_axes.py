"""Arrays with a tiny last axis: what repeats along it, columns that are reduced, short rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as host
import pytest

from lazyfuse.backends.cpu import CpuBackend
from lazyfuse.errors import VerifyError
from lazyfuse.ir.kernel import PERIOD, ROW, Kernel, Lanes
from lazyfuse.ir.plan import Launch
from lazyfuse.ir.verify import verify_kernel, verify_plan
from lazyfuse.ops.body import Body
from lazyfuse.runtime import engine
from tests import corpus, oracle
from tests.kernel_runner import elementwise

lf = oracle.lf
DTYPES = ("b1", "u1", "i2", "i8", "f2", "f4", "f8")
ON_CPU = pytest.mark.skipif(oracle.ON_GPU, reason="what the CPU's kernels look like")


def values(dtype: str, *shape: int) -> Any:
    """Random values of a shape."""
    return corpus.random_values(dtype, int(host.prod(shape))).reshape(shape)


def launches(*arrays: Any) -> list[Launch]:
    """The launches of the plan for pending arrays."""
    plan = engine.plan_for([array._storage.current() for array in arrays], "cpu")
    return [step for step in plan.steps if isinstance(step, Launch)]


def kernel_of(*arrays: Any) -> Kernel:
    """The only kernel of the plan for pending arrays."""
    (launch,) = launches(*arrays)
    return launch.kernel


# ---- axes that are walked as one


@pytest.mark.parametrize("period", [2, 3, 7, 16, 100, PERIOD, PERIOD + 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_operands_repeat_along_a_tiny_axis(dtype: str, period: int) -> None:
    """One value per column, and what is computed from such values alone, in every dtype."""
    for rows in (8, 61, 1501):
        x, gain = values(dtype, rows, period), values(dtype, period)
        oracle.check(lambda np, x, g: np.where(g > 0, x, g), x, gain)
        oracle.check(lambda np, x, g: x + (g * g).astype("f8"), x, gain, strides=False)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_operands_repeat(dtype: str) -> None:
    """Both components, and parts of complex arrays, which lie two apart."""
    x, gain = values(dtype, 700, 3), values(dtype, 3)
    oracle.check(lambda np, x, g: x * g + g, x, gain)
    oracle.check(lambda np, x, g: x.imag * g.real, x, gain)


def test_layouts_of_operands_that_repeat() -> None:
    """Strided, reversed, along two tiny axes, different in every image, and an index."""
    x, planes = values("f8", 300, 2, 3), values("f8", 30, 40, 6)
    oracle.check(lambda np, x: x * x[0, :, ::-1] + x[5, :, :1] - x[7, 0], x)
    oracle.check(lambda np, x: x[:, :, 1:] * x[0, 0, 1:] + x[0, :, :1], x)
    oracle.check(lambda np, p: p[:, 3:35] * p[0, 0], planes)
    oracle.check(lambda np, p: p[:, 3:35] * p[:, :1] + np.sqrt(abs(p[:, :1])), planes)
    oracle.check(lambda np, x: x * np.arange(3) + np.arange(2)[:, None], x)
    oracle.check(lambda np, x: x * np.arange(300)[:, None, None], x)


def test_writes_in_place_with_what_repeats() -> None:
    """The result takes the place of the operand, element by element."""

    def program(np: Any, x: Any, gain: Any) -> Any:
        x *= gain
        x[:, 1:] -= gain[1:]
        return x

    oracle.check_modes(program, values("f4", 5003, 3), values("f4", 3))


def test_lanes_past_the_end_do_what_an_element_does() -> None:
    """0/0 would be met only where the last element, 0, met the divisor of another column."""
    x, divisor = host.ones((67, 3)), host.array([0.0, 1.0, 1.0])
    x[-1, -1] = 0.0
    with host.errstate(divide="ignore", invalid="raise"):
        oracle.check(lambda np, x, d: x / d, x, divisor)


@pytest.mark.engine
@ON_CPU
def test_joined_axes_and_their_limits() -> None:
    """Which kernels promise that their last axes can be walked as one."""
    x = lf.asarray(values("f4", 500, 3))
    wide = lf.asarray(values("f4", 500, PERIOD + 1))
    assert kernel_of(x * x[0]).joined == 2
    assert kernel_of(lf.asarray(values("f4", 50, 2, 3)) * x[0]).joined == 2
    assert kernel_of(wide * wide[0]).joined == 1
    assert kernel_of(x * x[:, :1]).joined == 1
    assert kernel_of(x[:, :2] * x[0, :2]).joined == 1


@pytest.mark.engine
@ON_CPU
def test_the_verifier_knows_joined_axes() -> None:
    """A launch whose strides do not chain, and a kernel that reads the index of the long axis."""
    x = lf.asarray(values("f4", 500, 3))
    plan = engine.plan_for([(x * x[0])._storage.current()], "cpu")
    verify_plan(plan)
    (launch,) = plan.steps
    assert isinstance(launch, Launch)
    broken = replace(launch, extents=(500, 2))
    with pytest.raises(VerifyError, match="cannot be joined"):
        verify_plan(replace(plan, steps=(broken,)))
    body = Body()
    counts = elementwise(body, [("out", "i8", "s1")], {0: body.emit("index", "i8", attr=0)})
    verify_kernel(counts)
    with pytest.raises(VerifyError, match="cannot be joined"):
        verify_kernel(replace(counts, joined=2))


# ---- columns


@pytest.mark.parametrize("columns", [1, 2, 3, 8, 10, 16, 17, 33, 64, 130, 300])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16", "i4", "u1"])
def test_columns_are_reduced_in_order(dtype: str, columns: int) -> None:
    """Any number of columns and of rows, which are taken some at a time."""
    for rows in (1, 7, 8, 9, 203):
        x = values(dtype, rows, columns)
        oracle.check(lambda np, x: [x.sum(axis=0), (x * x[:, :1]).sum(axis=0)], x, sums=True)
        if dtype != "c16":
            oracle.check(lambda np, x: [x.max(axis=0), x.argmin(axis=0)], x, zero_sign=False)


def test_columns_of_several_axes() -> None:
    """Two reduced axes, rows with a value of their own, and one that costs."""
    x = values("f8", 9, 20, 12)
    oracle.check(lambda np, x: x.sum(axis=(0, 1)), x, sums=True)
    oracle.check(lambda np, x: (x * x[:, :, :1]).max(axis=(0, 1)), x)
    oracle.check(lambda np, x: (x * np.exp(x[:, :, :1])).max(axis=1), x, ulp=4)
    oracle.check(lambda np, x: (x * x[:, :, :1] // 0.3).max(axis=1), x)


@pytest.mark.engine
@ON_CPU
def test_kernels_over_values_that_no_row_changes() -> None:
    """What a column has once, in folds and in scans of several dtypes: it is compiled and runs."""
    backend = CpuBackend()
    for dtype in ("f4", "f8", "i2", "b1"):
        x = values(dtype, 1, 40)
        for name in ("cumsum", "cumprod", "sum", "prod"):
            program = partial(_repeated_rows, name=name)
            backend.compile(kernel_of(program(lf, lf.asarray(x))), name)
            oracle.check(program, x, sums=True)


def _repeated_rows(np: Any, x: Any, *, name: str) -> Any:
    """A scan or a fold down 30 equal rows."""
    return getattr(np, name)(np.broadcast_to(x, (30, 40)), axis=0)


def test_standardize_narrow_tables() -> None:
    """Columns are reduced, then every element is changed: the same bits in every mode."""
    x = values("f8", 9001, 11)
    oracle.check_modes(lambda np, x: (x - x.mean(axis=0)) / x.std(axis=0), x, sums=True)


@pytest.mark.engine
@ON_CPU
def test_a_sum_that_is_asked_for_twice_is_added_once() -> None:
    """The mean of a column, which its standard deviation needs too."""
    x = lf.asarray(values("f8", 200, 150))
    kernel = kernel_of(x.mean(axis=0), x.std(axis=0))
    assert len(kernel.accumulators) == 2


@pytest.mark.engine
@ON_CPU
def test_narrow_tables_leave_their_elements_to_all_threads() -> None:
    """A column reduction of few columns is one thread's; what follows is a kernel of its own."""
    narrow, small = lf.asarray(values("f8", 9001, 11)), lf.asarray(values("f8", 90, 11))
    first, second = launches((narrow - narrow.mean(axis=0)) / narrow.std(axis=0))
    assert first.kernel.inner == 1 and second.kernel.joined == 2
    assert len(launches((small - small.mean(axis=0)) / small.std(axis=0))) == 1


# ---- short rows


@pytest.mark.parametrize("row", [2, 3, 4, 5, 8, 11, 16, ROW, ROW + 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_short_rows(dtype: str, row: int) -> None:
    """Sums in NumPy's order, extremes and their places, of rows that lanes take."""
    for rows in (32, 77):
        x = values(dtype, rows, row)
        oracle.check(lambda np, x: [x.sum(axis=1), x.prod(axis=-1)], x, sums=True)
        oracle.check(
            lambda np, x: [x.max(axis=1), x.argmax(axis=1), x.argmin(axis=1)], x, zero_sign=False
        )


@pytest.mark.parametrize("row", [3, 6, 10, 16, ROW])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_along_short_rows(dtype: str, row: int) -> None:
    """Phases after one another: each element is changed by what its row adds up to."""
    x, weights = values(dtype, 1003, row), values(dtype, row)
    oracle.check(lambda np, x: (x - x.mean(axis=1, keepdims=True)) * 2, x, sums=True)
    oracle.check(
        lambda np, x, w: [x * w, (x * w).sum(axis=1), x.std(axis=1)], x, weights, sums=True
    )

    def softmax(np: Any, x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    oracle.check(softmax, x, ulp=16)
    oracle.same_bits(softmax, x)


def test_layouts_of_short_rows() -> None:
    """Parts of rows, rows with gaps, a start, negative zeros and NaN."""
    x = values("f8", 40, 50, 12)
    oracle.check(lambda np, x: [x[:, 3:40].sum(axis=2), x[:, :, 2:9].sum(axis=2)], x, sums=True)
    oracle.check(lambda np, x: x.sum(axis=2, initial=3.5), x, sums=True)
    oracle.check(lambda np, x: (x * x[0, :, :1]).max(axis=2), x)
    zeros = host.full((64, 11), -0.0)
    oracle.check(lambda np, z: [z.sum(axis=1), z[:, :3].sum(axis=1)], zeros)
    holes = values("f8", 100, 10)
    holes[7, [2, 6]] = holes[9, 9] = host.nan
    oracle.check(lambda np, h: [h.argmax(axis=1), h.max(axis=1), h.sum(axis=1)], holes, sums=True)


def test_rows_change_in_place() -> None:
    """A row is read as a whole before its results are written over it."""

    def program(np: Any, x: Any) -> Any:
        x /= np.sqrt((x * x).sum(axis=1, keepdims=True))
        return x

    oracle.check_modes(program, values("f8", 5003, 5), sums=True)


@pytest.mark.engine
@ON_CPU
def test_which_rows_lanes_take() -> None:
    """Short ones without gaps, if there are enough of them."""

    def lanes(*shape: int, dtype: str = "f4") -> Lanes:
        return kernel_of(lf.asarray(values(dtype, *shape)).sum(axis=-1)).lanes

    assert lanes(100, 3) is lanes(100, ROW) is lanes(10, 10, 3) is Lanes.ROWS
    assert lanes(100, ROW + 1) is lanes(10, 3) is Lanes.INNER
    assert lanes(100, 3, dtype="c8") is Lanes.INNER
    gaps = lf.asarray(values("f4", 100, 20))
    assert kernel_of(gaps[:, 1:6].sum(axis=1)).lanes is Lanes.ROWS
    assert kernel_of(gaps[:, 1:16].sum(axis=1)).lanes is Lanes.INNER
    turned = lf.asarray(values("f4", 100, 3, 3)) * gaps[0, :3]
    assert kernel_of(turned.sum(axis=-1)).lanes is Lanes.ROWS


@pytest.mark.engine
@ON_CPU
def test_which_elements_are_computed_in_rows() -> None:
    """Results with a tiny last axis, one of whose operands has a value per row, or gaps."""
    x, wide = lf.asarray(values("f4", 100, 3)), lf.asarray(values("f4", 100, 20))
    for result in (x * x[:, :1], wide[:, :3] + wide[:, 3:4], x[:, ::-1] * 2):
        kernel = kernel_of(result)
        assert kernel.lanes is Lanes.ROWS and set(kernel.outputs) <= set(kernel.dense)
    assert kernel_of(wide * wide[:, :1]).lanes is Lanes.OUTER
    assert kernel_of(x[:20] * x[:20, :1]).lanes is Lanes.OUTER


@pytest.mark.parametrize("row", [2, 3, 5, 7, 8])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_in_short_rows(dtype: str, row: int) -> None:
    """A value per row, rows with gaps, reversed rows, and the index along a row."""
    for rows in (32, 75):
        x, wide = values(dtype, rows, row), values(dtype, rows, row + 2)
        oracle.check(lambda np, x: np.where(x[:, :1] > 0, x, x[:, ::-1]), x, strides=False)
        oracle.check(lambda np, w: [w[:, 2:] == w[:, :1], w[:, 1:-1] + 1], wide, strides=False)
        oracle.check(lambda np, x: x * np.arange(x.shape[1]) + x[:, :1], x, strides=False)


def test_results_of_several_shapes_in_short_rows() -> None:
    """Two results, one in place, and outer products of a vector with a few numbers."""

    def program(np: Any, x: Any, a: Any) -> Any:
        y = x - a[:, None]
        x *= a[:, None]
        return x, y, a[:, None] * x[0], a[:, None, None] * x[:2, :2]

    oracle.check_modes(program, values("f8", 2503, 4), values("f8", 2503))


@pytest.mark.engine
@ON_CPU
def test_the_verifier_knows_short_rows() -> None:
    """A launch with rows of another length than its kernel's."""
    x = lf.asarray(values("f4", 500, 3))
    plan = engine.plan_for([x.sum(axis=1)._storage.current()], "cpu")
    verify_plan(plan)
    (launch,) = plan.steps
    assert isinstance(launch, Launch)
    with pytest.raises(VerifyError, match="rows of"):
        verify_plan(replace(plan, steps=(replace(launch, extents=(500, 2)),)))
    with pytest.raises(VerifyError, match="rows of"):
        verify_kernel(replace(launch.kernel, row=ROW + 1))


# ---- division of integers


@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_quotients_of_all_small_integers(dtype: str) -> None:
    """Every pair of bytes, the wrapping one and division by zero included."""
    info = host.iinfo(dtype)
    every = host.arange(info.min, info.max + 1, dtype=dtype)
    with host.errstate(all="ignore"):
        oracle.check(lambda np, x: [x[:, None] // x, x[:, None] % x], every)
        oracle.check(lambda np, x: np.fmod(x[:, None], x), every)


@pytest.mark.parametrize("dtype", ["i2", "u2", "i4", "u4", "i8", "u8"])
def test_quotients_next_to_whole_ones(dtype: str) -> None:
    """One below and at a multiple of the divisor, where a quotient that is rounded would fail."""
    info = host.iinfo(dtype)
    top = info.max
    divisors = host.array([1, 2, 3, 7, 255, top // 3, top // 2, top - 1, top], "u8").astype(dtype)
    multiples = (top // divisors * divisors).astype(dtype)
    x = host.concatenate([multiples, multiples - 1, multiples // 2, [info.min, info.min + 1]])
    oracle.check(lambda np, x, y: [x[:, None] // y, x[:, None] % y], x.astype(dtype), divisors)
    oracle.check(lambda np, x: [x // 3, x % 7, x // -5 if info.min else x // 5], x.astype(dtype))
