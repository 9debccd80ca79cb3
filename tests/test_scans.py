"""Scans equal NumPy bit for bit, for every op, dtype, axis, layout and keyword; and a scan is one
kernel with the expression under it.
"""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

from lazyfuse.backends.cuda_host import CudaHostBackend
from tests import corpus, oracle
from tests.corpus import DTYPES, LAYOUTS
from tests.test_fusion import kernels

FUNCTIONS = ("cumsum", "cumprod")
#: Each has a step in kernels for some dtype.
STEPS = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "maximum",
    "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor", "bitwise_and",
    "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "copysign", "nextafter", "heaviside",
)  # fmt: skip
#: Those that NumPy runs: they are not exact, have no body, or compare.
CALLS = ("power", "hypot", "arctan2", "logaddexp", "gcd", "lcm", "less", "equal", "ldexp")
SHAPES = (
    (1,), (7,), (8,), (9,), (1000,), (0,), (3, 0), (0, 3), (6, 1), (1, 7), (5, 130), (130, 5),
    (3, 4, 5), (2, 1, 30), (17, 3, 1),
)  # fmt: skip


def _values(dtype: str, *shape: int) -> Any:
    size = int(host.prod(shape))
    if dtype == "f2":
        return (corpus.random_values("f4", size) / 64).astype(dtype).reshape(shape)
    return corpus.random_values(dtype, size).reshape(shape)


def _attempt(call: Any) -> Any:
    try:
        return call()
    except Exception as raised:  # noqa: BLE001 - any exception type is an answer here
        return corpus.refusal(raised)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_axis(shape: tuple[int, ...], dtype: str) -> None:
    """Sums and products along each axis, and of all elements in C order."""
    axes = (None, *range(len(shape)), -1, len(shape))

    def program(np: Any, x: Any) -> dict[str, Any]:
        return {
            f"{name} {axis}": _attempt(
                lambda name=name, axis=axis: getattr(np, name)(x, axis=axis)
            )
            for name in FUNCTIONS
            for axis in axes
        }

    array = _values(dtype, *shape)
    if oracle.ON_GPU and dtype[0] == "c":  # in another order, products overflow elsewhere
        array /= host.maximum(abs(array), 1.0)
    oracle.check(program, array, sums=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", (*STEPS, *CALLS))
def test_every_op(name: str, dtype: str) -> None:
    """`ufunc.accumulate` of every binary op, special values among the elements."""
    special = corpus.special_values(dtype)
    plain = _values(dtype, 19, 23)
    signed_zeros = name in ("maximum", "minimum", "fmax", "fmin")

    def program(np: Any, x: Any, y: Any) -> Any:
        ufunc = getattr(np, name)
        return [
            _attempt(lambda: ufunc.accumulate(x)),
            *(_attempt(lambda axis=axis: ufunc.accumulate(y, axis)) for axis in (0, 1)),
        ]

    oracle.check(program, special, plain, zero_sign=not signed_zeros, sums=True)


@pytest.mark.parametrize("dtype", ("f4", "f8", "i2", "?", "c8"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, dtype: str) -> None:
    """The result has NumPy's memory order, whatever the operand's and whatever is computed."""

    def program(np: Any, base: Any) -> dict[str, Any]:
        x = LAYOUTS[layout].view(np, base)
        axes = (None, *range(x.ndim))
        found = {f"{axis}": np.cumsum(x, axis=axis) for axis in axes}
        found |= {f"computed {axis}": np.cumsum(x + x, axis=axis) for axis in axes}
        return found | {
            f"maximum {axis}": np.maximum.accumulate(x, axis) for axis in range(x.ndim)
        }

    array = LAYOUTS[layout].prepare(_values(dtype, 40, 133))
    oracle.check(program, array, zero_sign=False, sums=True)


@pytest.mark.parametrize("source", ("?", "i1", "u2", "i8", "f2", "f4", "f8", "c8"))
@pytest.mark.parametrize("target", ("?", "i1", "i4", "u8", "f2", "f4", "f8", "c16"))
def test_dtypes_and_outputs(source: str, target: str) -> None:
    """`dtype=` is what a scan computes in; `out=` takes part in the choice and gets a cast."""

    def program(np: Any, x: Any) -> Any:
        out = np.zeros((4, 9), target)
        part = np.zeros((4, 20), target)
        return [
            _attempt(lambda: np.cumsum(x, 1, target)),
            _attempt(lambda: np.multiply.accumulate(x, dtype=target)),
            _attempt(lambda: np.add.accumulate(x, 1, out=out) is out),
            _attempt(lambda: np.cumprod(x, axis=0, out=part[:, ::2][:, :9]) is not None),
            out,
            part,
        ]

    values = (abs(_values(source, 4, 9)) % 3).astype(source) if source[0] in "iuf" else (
        _values(source, 4, 9)
    )  # fmt: skip
    oracle.check(program, values, sums=True)


def test_outputs_that_are_operands() -> None:
    """A scan may write into its own operand, also reversed or shifted: it is read first."""

    def program(np: Any, x: Any) -> Any:
        y = np.arange(12.0)
        np.cumsum(x, out=x)
        np.add.accumulate(y[::-1], out=y)
        np.add.accumulate(y[:-1], out=y[1:])
        np.add.accumulate(x, 0, None, out=(x,))
        return x, y

    oracle.check(program, host.arange(9.0) / 3)


REFUSALS = {
    "scalar": lambda np, x: np.add.accumulate(x[0, 0]),
    "several axes": lambda np, x: np.add.accumulate(x, axis=(0, 1)),
    "no axis": lambda np, x: np.add.accumulate(x, axis=None),
    "axis too large": lambda np, x: np.cumsum(x, axis=2),
    "axis a float": lambda np, x: np.cumsum(x, axis=1.0),
    "axis a bool": lambda np, x: np.add.accumulate(x, axis=True),
    "unary": lambda np, x: np.sqrt.accumulate(x),
    "several results": lambda np, x: np.divmod.accumulate(x),
    "out of another shape": lambda np, x: np.cumsum(x, out=np.zeros(3)),
    "two outputs": lambda np, x: np.add.accumulate(x, out=(x, x)),
    "unknown keyword": lambda np, x: np.add.accumulate(x, where=True),
    "too many arguments": lambda np, x: np.add.accumulate(x, 0, None, None, 1),
    "nothing": lambda np, x: np.add.accumulate(),
    "no loop": lambda np, x: np.logical_xor.accumulate(x, dtype=int),
    "a dtype of text": lambda np, x: np.cumsum(x, dtype="U3"),
    "negative power": lambda np, x: np.power.accumulate(np.array([2, -1])),
    "cumulative_sum without axis": lambda np, x: np.cumulative_sum(x),
    "out that is read-only": lambda np, x: np.cumsum(x, 0, out=np.broadcast_to(x[0], x.shape)),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case: str) -> None:
    """What NumPy refuses is refused at the call, and nothing is written."""
    oracle.check(lambda np, x: REFUSALS[case](np, x), host.arange(6.0).reshape(2, 3))


def test_scalars_and_lists() -> None:
    """Scalars and 0-d arrays are one element; lists are arrays; one axis may come in a tuple."""

    def program(np: Any, x: Any) -> Any:
        return (
            np.cumsum(5), np.cumsum(5.0, axis=0), np.cumprod([1, 2, 3]), np.cumsum([[1], [2]]),
            np.cumsum(x[3]), np.add.accumulate(x, (0,)), np.add.accumulate([1, 2], axis=None),
            x.cumsum(), x.cumprod(0), np.cumsum(x).sum(), np.array(7).cumsum(axis=-1),
            np.add.accumulate(array=x), host.cumsum(x), host.add.accumulate(x),
        )  # fmt: skip

    oracle.check(program, host.arange(6.0))


@pytest.mark.parametrize("dtype", ("?", "i2", "f4", "c16"))
def test_cumulative_functions(dtype: str) -> None:
    """The Array API's spelling, with and without the initial value."""

    def program(np: Any, x: Any) -> Any:
        out = np.zeros((5, 7), x.dtype)
        return [
            *(np.cumulative_sum(x, axis=axis) for axis in (0, 1, -1)),
            *(np.cumulative_prod(x, axis=axis, include_initial=True) for axis in (0, 1)),
            np.cumulative_sum(x.T, axis=0, include_initial=True),
            np.cumulative_sum(x[0], include_initial=True, dtype="f8"),
            np.cumulative_sum(x, axis=0, include_initial=True, out=out) is out,
            out,
            np.cumulative_prod(3),
        ]

    oracle.check(program, _values(dtype, 4, 7))


@pytest.mark.engine
def test_a_scan_is_one_kernel() -> None:
    """The expression under a scan is computed inside it; what follows reads its result."""
    x = host.random.default_rng(1).normal(size=(300, 70))
    assert kernels(lambda np, x: np.cumsum(np.sqrt(x * x + 1) - x[::-1], axis=0), x) == 1
    assert kernels(lambda np, x: np.cumsum(x[:, :30] * 2, axis=1), x) == 1
    assert kernels(lambda np, x: np.cumsum(x.ravel() + 1), x) == 1
    assert kernels(lambda np, x: np.cumsum(x, axis=1) * 2 - x, x) == 2
    assert kernels(lambda np, x: np.cumsum(np.cumsum(x, axis=0), axis=1), x) == 2
    assert kernels(lambda np, x: np.cumsum(x, axis=0) + np.cumsum(x, axis=0), x) == 2


@pytest.mark.engine
def test_explained() -> None:
    """The plan names the scan and why its readers are not in its kernel."""
    lf = oracle.lf
    total = lf.cumsum(lf.arange(40.0) * 2) + 1
    text = lf.explain(total)
    assert "scan.add[0]" in text and "SCAN" in text


def test_writes_before_and_after() -> None:
    """A scan reads what was there when it was recorded, through views too."""

    def program(np: Any, x: Any) -> Any:
        before = np.cumsum(x[::2])
        x[2:6] = 7
        after = np.cumsum(x, out=np.zeros(10))
        x[1:] += np.cumsum(x)[:-1]
        return before, after, x

    oracle.check_modes(program, host.arange(10.0))


def test_threads_and_modes_keep_the_bits() -> None:
    """Large scans along both axes, on one thread and two, fused and not."""
    x = host.random.default_rng(3).normal(size=(700, 900))
    oracle.check_modes(
        lambda np, x: (np.cumsum(x * 3 + 1, axis=0), np.cumprod(x, axis=1), np.cumsum(x[:9])),
        x,
        sums=True,
    )


needs_host = pytest.mark.skipif(
    not CudaHostBackend.available()[0], reason=CudaHostBackend.available()[1]
)


@needs_host
@pytest.mark.engine
@pytest.mark.parametrize("dtype", DTYPES)
def test_on_cuda_text_along_columns(dtype: str) -> None:
    """The CUDA text of scans, run on the host: a thread per column adds in NumPy's order."""

    def program(np: Any, x: Any) -> list[Any]:
        return [
            np.cumsum(x + x, axis=0),
            np.maximum.accumulate(x[::-1], axis=0),
            np.cumprod(x.T, axis=1),
            np.subtract.accumulate((x != 0).astype("f4"), axis=1),
            np.cumsum(x[:0], axis=0),
        ]

    with oracle.options(device="cuda-host"):
        oracle.check(program, _values(dtype, 13, 9), zero_sign=False)


@needs_host
@pytest.mark.engine
@pytest.mark.parametrize("dtype", DTYPES)
def test_on_cuda_text_along_rows(dtype: str) -> None:
    """A block per row adds along a tree: around its tile of 1792 elements, with numbers whose sums
    and products are exact in any order.
    """
    ones = (host.arange(4001) % 3 == 0).astype(dtype)
    signs = host.where(host.arange(4001) % 3 == 0, -1, 1).astype(dtype)

    def program(np: Any, x: Any, y: Any) -> list[Any]:
        return [
            *(np.cumsum(x[:length]) for length in (1, 6, 7, 8, 1791, 1792, 1793, 4001)),
            np.cumsum(x[: 5 * 800].reshape(5, 800) + x[:800], axis=1),
            np.cumprod(y[::-1]),
            np.maximum.accumulate(np.negative(y.astype("f8")) * np.arange(4001.0)),
            np.logical_xor.accumulate(x),
        ]

    with oracle.options(device="cuda-host"):
        oracle.check(program, ones, signs, zero_sign=False)


@pytest.mark.parametrize("dtype", ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"))
@pytest.mark.parametrize("length", (1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 1000))
def test_running_sums_of_integers(dtype: str, length: int) -> None:
    """In vectors, whose lanes are added in steps: also past the ends of a dtype."""
    values = host.random.default_rng(length).integers(0, 2**62, (3, length), "i8").astype(dtype)

    def program(np: Any, x: Any) -> Any:
        kind = None if x.dtype == bool else x.dtype
        sums = np.cumsum(x, axis=1), np.cumsum(x, dtype=kind), np.add.accumulate(x, 1, kind)
        return [*sums, np.cumsum(x[:, ::2], axis=1), np.cumsum(x[0] + x[1], dtype=kind)]

    oracle.check(program, values)
