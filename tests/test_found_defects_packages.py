"""What packages ask of NumPy beside results: how a function is called, private modules, arrays of
any dtype, what a class that overrides functions is handed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

pytestmark = pytest.mark.engine

lf = oracle.lf
EAGER = (0, 8192)


@pytest.mark.parametrize("name", ["sum", "mean", "std", "take", "cumsum", "argmax", "percentile"])
def test_arguments_of_what_a_function_wraps(name: str) -> None:
    """Dask asks it whether there is a `dtype`, and gave none: there were no arguments."""
    wanted = inspect.getfullargspec(getattr(host, name).__wrapped__)
    function = getattr(lf, name)
    assert inspect.getfullargspec(function.__wrapped__) == wanted
    assert inspect.signature(function) == inspect.signature(getattr(host, name))
    assert function(lf.arange(6.0), *([50] if name == "percentile" else [0])) is not None


def test_what_a_function_wraps_is_called() -> None:
    x = lf.arange(6.0)
    assert lf.sum.__wrapped__(x) == 15.0 and lf.mean.__wrapped__(x, axis=0) == 2.5


DTYPES = (object, ">f4", "U3", "S1", "M8[s]", [("a", "f8")], "(3,)i4", "(2,)U2")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(2,), (2, 3), ()])
def test_arrays_of_any_dtype(dtype: Any, shape: tuple[int, ...]) -> None:
    """An error of the engine's own came to the program."""
    for order in "CF":
        given = lf.ndarray(shape, dtype, order=order)
        wanted = host.ndarray(shape, dtype, order=order)
        assert given.shape == wanted.shape and given.dtype == wanted.dtype
        assert given.strides == wanted.strides
    assert lf.ndarray((2,), object).tolist() == [None, None]


class Delegating:
    """Functions of it are those of its array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return host.asarray(self.array, dtype=dtype)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        others = tuple(kind for kind in types if kind is not Delegating)
        return self.array.__array_function__(func, others, args, kwargs)


def _calls(np: Any) -> list[Callable[[Any], Any]]:
    return [
        *(lambda w: np.concatenate([w, w]), lambda w: np.mean(w), lambda w: np.stack([w, w])),
        *(lambda w: np.cov(w, w), lambda w: np.where(w, w, w), lambda w: np.sum(w, axis=0)),
        *(lambda w: np.percentile(w, 50), lambda w: np.pad(w, 1), lambda w: np.fft.fft(w).real),
        *(lambda w: np.einsum("ij->i", w), lambda w: np.linalg.norm(w), lambda w: np.vstack((w,))),
        *(lambda w: np.shape(w), lambda w: np.zeros_like(w), lambda w: np.array_equal(w, w)),
    ]


@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("size", [4, 20_000])
def test_classes_that_delegate_functions(size: int, eager_size: int) -> None:
    """NumPy's method calls what the function does, and does not ask again: RecursionError."""
    with lf.options(eager_size=eager_size):
        given = Delegating(lf.arange(float(size)).reshape(2, -1))
        wanted = Delegating(host.arange(float(size)).reshape(2, -1))
        for own, theirs in zip(_calls(lf), _calls(host), strict=True):
            for call in (own, theirs):
                host.testing.assert_allclose(call(given), theirs(wanted), 1e-12)


class Asking(host.ndarray):
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return [array.flags.writeable for array in inputs]


@pytest.mark.cpu("memory that NumPy shares")
@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("size", [3, 100_000])
def test_classes_are_handed_memory_that_they_may_write(size: int, eager_size: int) -> None:
    """C code of such classes wants it; large arrays were read-only there."""
    own: Any = host.zeros(size).view(Asking)
    with lf.options(eager_size=eager_size):
        x = lf.arange(size)
        assert x * own == own * x == lf.add(x**2, own) == [True, True]


def test_private_modules() -> None:
    """Results of eigenvalues are known by their classes, which have no public names."""
    assert isinstance(lf.linalg.eig(lf.eye(2)), lf.linalg._linalg.EigResult)
    with pytest.raises(AttributeError):
        lf.linalg._no_such_module  # noqa: B018 - asked for its error
