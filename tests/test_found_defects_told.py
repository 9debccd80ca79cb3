"""Programs that differed from NumPy in what they were told: warnings, and the layout of views."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lazyfuse as lf

UFUNCS = [
    name
    for name in sorted(dir(np))
    if isinstance(ufunc := getattr(np, name), np.ufunc)
    and ufunc.signature is None
    and ufunc.nout == 1
    and ufunc.nin == 2
    and "dd->d" in ufunc.types
]


@pytest.mark.parametrize("limit", [0, 8192])
@pytest.mark.parametrize("name", UFUNCS)
def test_out_by_name_gives_no_warning(name: str, limit: int) -> None:
    """`np.maximum(x, y, out)` warns, so nothing may hand `out` on by position."""
    x, y = np.linspace(1.0, 7.0, 100_000).reshape(200, 500), np.full(500, 2.0)
    expected = getattr(np, name)(x[1], y)
    with warnings.catch_warnings(), lf.options(eager_size=limit):
        warnings.simplefilter("error")
        for _ in range(3):
            for target in (lf.zeros(x.shape) * 1, lf.zeros((2, 500)), np.zeros((2, 500))):
                for source in (lf.asarray(x), lf.asarray(x) * 1):
                    lf.materialize(source)
                    getattr(lf, name)(source[1], y, out=target[0])
                    np.testing.assert_allclose(np.asarray(target[0]), expected, rtol=1e-14)
            changed = lf.asarray(x) * 1
            lf.materialize(changed)
            getattr(lf, name)(changed[1], y, out=changed[1])
            np.testing.assert_allclose(np.asarray(changed)[1], expected, rtol=1e-14)


def _slices(np: Any, size: int, more: int) -> None:
    x = np.zeros(size) * 1
    x[...] = np.ones(size + more, "c16") * 2


def _column(np: Any, size: int, more: int) -> None:
    x = np.zeros((size, 2)) * 1
    x[:, 0] = np.ones(size + more, "c16") * 2


def _mask(np: Any, size: int, more: int) -> None:
    x = np.zeros(size) * 1
    x[x == 0] = np.ones(size + more, "c16") * 2


def _picks(np: Any, size: int, more: int) -> None:
    x = np.zeros(size) * 1
    x[np.arange(3)] = np.ones(3 + more, "c16") * 2


def _copyto(np: Any, size: int, more: int) -> None:
    x = np.zeros(size) * 1
    np.copyto(x, np.ones(size + more, "c16"), casting="unsafe")


@pytest.mark.parametrize("limit", [0, 1 << 20])
@pytest.mark.parametrize("size", [10, 5000, 200_000])
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("write", [_slices, _column, _mask, _picks, _copyto])
def test_complex_into_real(write: Any, more: int, size: int, limit: int) -> None:
    """What does not fit is refused, and no cast is warned of before."""

    def told(module: Any) -> tuple[list[type], type | None]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                write(module, size, more)
            except ValueError as error:
                return [one.category for one in found], type(error)
        return [one.category for one in found], None

    with lf.options(eager_size=limit):
        assert told(lf) == told(np)


@pytest.mark.parametrize("shape", [(2, 1, 50), (1, 50), (3, 1, 1, 50), (2, 4, 50)])
def test_strides_of_what_is_broadcast(shape: tuple[int, ...]) -> None:
    """An axis of one element has no stride."""
    host = np.arange(50.0).reshape(1, 50)
    found = lf.broadcast_to(lf.asarray(host) + 0.0, shape)
    assert found.strides == np.broadcast_to(host, shape).strides
    np.testing.assert_array_equal(np.asarray(found), np.broadcast_to(host, shape))


@pytest.mark.parametrize("limit", [0, 8192])
def test_powers_that_go_another_way(limit: int) -> None:
    """Numbers to the power of arrays go by the ufunc, complex arrays to NumPy at once."""
    x, z = np.linspace(0.1, 2.0, 300), np.linspace(0.1, 1.0, 300) * (1 + 1j)
    with lf.options(eager_size=limit):
        for base in (1.01, 2, 0, -3, True, np.float32(1.5)):
            for exponents in (np.arange(4), np.arange(4.0), x.astype("f4")):
                with np.errstate(all="ignore"):
                    found = np.asarray(base ** lf.asarray(exponents))
                    expected = base**exponents
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=1e-6, equal_nan=True)
        for exponent in (3, 2, -1, 0.5, 2.5, 1 + 2j, 0, True, np.float64(3.0)):
            np.testing.assert_array_equal(np.asarray(lf.asarray(z) ** exponent), z**exponent)
        with pytest.raises(TypeError):
            pow(2, lf.arange(3), 3)


@pytest.mark.parametrize("size", [10, 50_000])
def test_ranges_as_keys_and_elements_that_are_written(size: int) -> None:
    """Whatever the size."""

    def program(np: Any) -> list[Any]:
        picked = np.arange(size * 2).reshape(size, 2) * 1
        found = [picked[range(size), np.arange(size) % 2].sum(), picked[range(0, 6, 2)].tolist()]
        steps = np.arange(float(size))
        for number, value in enumerate(steps):
            found.append(float(value))
            if number == 7:
                break
            steps[number + 1] = value + 2
        return found

    assert program(lf) == program(np)
