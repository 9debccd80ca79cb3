"""Arrays on another device than the default one: functions make what they need beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazyfuse as lf
from lazyfuse.backends.cuda_host import CudaHostBackend
from tests import oracle
from tests.namespace_calls import CALLS, arrays

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not CudaHostBackend.available()[0], reason=CudaHostBackend.available()[1]),
]

#: Functions that make arrays of numbers, of lists, or of nothing, and those that NumPy computes.
NAMES = (
    "corrcoef cov nanargmax nancumsum nanmean nanstd nansum nan_to_num unwrap interp cross "
    "polyder polyint select piecewise take take_along_axis i0 diff iscomplex bincount histogram "
    "unique isin diag_indices_from unravel_index argwhere"
).split()


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    """New arrays are on a GPU, where nothing is small."""
    with lf.options(device="cuda-host"):
        yield


@pytest.mark.parametrize("line", [line for name in NAMES for line in CALLS[name]])
def test_calls(line: str) -> None:
    """Of arrays on the CPU, while the default device is a GPU."""
    values = arrays()
    given = {name: lf.asarray(value, device="cpu") for name, value in values.items()}
    found, wanted = (
        _leaves(eval(line, {"np": lf, **given})),
        _leaves(eval(line, {"np": np} | values)),
    )
    assert {item.device for item in found if isinstance(item, oracle.LAZY)} <= {"cpu"}
    for mine, numpys in zip(found, wanted, strict=True):
        np.testing.assert_allclose(lf.asnumpy(mine), numpys, rtol=1e-14, atol=1e-15)


def _leaves(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def test_several_devices() -> None:
    """Nobody decides for the user where two devices meet."""
    there, here = lf.ones(3), lf.ones(3, device="cpu")
    with pytest.raises(ValueError, match="move"):
        lf.take(here, there.astype("i8"))
    with pytest.raises(ValueError, match="move"):
        lf.select([here > 0], [there])


LIST = [1.0, 2.0, 3.0, 4.0]
GRID = np.arange(12.0).reshape(3, 4)
EIGHT = np.arange(8.0)

#: What NumPy's arrays and lists are operands of: of operators, functions, keys, masks and writes.
BESIDE: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda np, x: x * LIST,
    "NumPy's first": lambda np, x: GRID - x,
    "in place": lambda np, x: x.__iadd__(LIST),
    "ufunc": lambda np, x: np.hypot(x, LIST),
    "output": lambda np, x: np.add([1.0, 2.0, 3.0, 4.0], LIST, out=x),
    "output of numbers": lambda np, x: np.add(1.0, 2, out=x),
    "two results": lambda np, x: np.divmod(x + 1, LIST),
    "outer": lambda np, x: np.add.outer(x, LIST),
    "mask": lambda np, x: np.add(x, 1.0, out=x, where=GRID > 3),
    "mask of a fold": lambda np, x: x.sum(where=GRID > 3),
    "where": lambda np, x: np.where(GRID > 2, x, LIST),
    "clip": lambda np, x: np.clip(x, None, LIST),
    "joined": lambda np, x: np.concatenate([GRID, x]),
    "stacked": lambda np, x: np.stack([LIST, x[0]]),
    "written": lambda np, x: [x.__setitem__(0, LIST), x],
    "written by a mask": lambda np, x: [x.__setitem__(GRID > 3, EIGHT), x],
    "written by places": lambda np, x: [x.__setitem__([0, 1], LIST), x],
    "copied": lambda np, x: [np.copyto(x, LIST, where=GRID > 3), x],
    "product": lambda np, x: x @ GRID[0],
    "chosen": lambda np, x: x.compress([True, False, True], axis=0),
}


@pytest.mark.parametrize("home", ("cpu", "cuda-host"))
@pytest.mark.parametrize("name", BESIDE)
def test_host_arrays(name: str, home: str) -> None:
    """They go where the array beside them lives."""
    with lf.options(device="cuda-host" if home == "cpu" else "cpu", eager_size=0):
        for _ in range(3):  # by recipes, too
            x = lf.asarray(GRID.copy(), device=home)
            found, wanted = BESIDE[name](lf, x), BESIDE[name](np, GRID.copy())
            for mine, numpys in zip(_leaves(found), _leaves(wanted), strict=True):
                if mine is not None:
                    assert mine.device == home
                    np.testing.assert_allclose(lf.asnumpy(mine), numpys, rtol=1e-15)


#: Arrays of two devices in one operation, the first on the CPU.
MIXED: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda x, y: x + y,
    "in place": lambda x, y: x.__iadd__(y),
    "output": lambda x, y: lf.add(y, 1.0, out=x),
    "output of a fold": lambda x, y: y.sum(axis=0, out=x[0]),
    "output of a scan": lambda x, y: lf.cumsum(y, 0, out=x),
    "output of a product": lambda x, y: lf.matmul(y[:, :3], y, out=x),
    "mask": lambda x, y: lf.add(x, 1.0, out=x, where=y > 3),
    "mask of a fold": lambda x, y: x.sum(where=y > 3),
    "key": lambda x, y: x.__setitem__(y > 3, 0.0),
    "element": lambda x, y: x.__setitem__((0, 0), y[0, 0]),
    "values of a mask": lambda x, y: x.__setitem__(x > 3, y.ravel()[:8]),
    "pending": lambda x, y: x.__setitem__(0, y[0] * 2),
    "copied": lambda x, y: lf.copyto(x, y),
}


@pytest.mark.parametrize("name", MIXED)
def test_two_devices_are_refused(name: str) -> None:
    """Kernels of one device were given the memory of another one."""
    with lf.options(eager_size=0):
        x, y = lf.asarray(GRID, device="cpu"), lf.asarray(GRID, device="cuda-host")
        with pytest.raises(ValueError, match="move"):
            MIXED[name](x, y)
        np.testing.assert_array_equal(lf.asnumpy(x), GRID)
