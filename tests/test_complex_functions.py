"""Functions of complex numbers that kernels compute: errors, special values, conditions."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import complex_ulp, oracle

NAMES = tuple(complex_ulp.BOUNDS)
DTYPES = ("c8", "c16")


def special(dtype: str) -> Any:
    """Every pair of zeros, infinities, NaN, extremes, and what overflows on the way."""
    info = host.finfo(dtype)
    far = 709.5 if dtype == "c16" else 88.5
    parts = [0.0, 1.0, 0.5, 2.5, 3.0, 1e-3, 100.0, far, 1500.0, host.inf, host.nan]
    parts += [float(info.smallest_normal), float(info.smallest_subnormal), float(info.max)]
    parts += [-part for part in parts if part == part]
    pairs = host.array(list(itertools.product(parts, parts)), f"f{int(dtype[1:]) // 2}")
    return host.ascontiguousarray(pairs).view(dtype)[:, 0]


#: ULP of products of CUDA's functions, which are others than the CPU backend's.
CUDAS = 4.5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_error(name: str, dtype: str, full: bool) -> None:
    """Of each part, against long double."""
    if not oracle.IS_ENGINE:
        pytest.skip("NumPy has its own")

    def computed(z: Any) -> Any:
        return getattr(lf, name)(lf.array(z))

    bound = complex_ulp.BOUNDS[name][DTYPES.index(dtype)]
    bound = max(bound, CUDAS) if oracle.ON_GPU else bound
    count = 3_000_000 if full else 100_000
    assert complex_ulp.measure(name, dtype, count, computed) <= bound


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str, dtype: str) -> None:
    """NaN, infinities and zeros, with their signs, are those of NumPy, part by part."""
    z = special(dtype)
    with host.errstate(all="ignore"):
        wanted = getattr(host, name)(z)
        given = host.asarray(getattr(lf, name)(lf.array(z)))
    smallest = host.finfo(dtype).smallest_normal
    for part in ("real", "imag"):
        ours, theirs = getattr(given, part), getattr(wanted, part)
        host.testing.assert_array_equal(host.isnan(ours), host.isnan(theirs))
        number = ~host.isnan(theirs)
        host.testing.assert_array_equal(host.signbit(ours[number]), host.signbit(theirs[number]))
        host.testing.assert_array_equal(host.isinf(ours), host.isinf(theirs))
        finite = host.isfinite(theirs)
        host.testing.assert_allclose(
            ours[finite], theirs[finite], rtol=8 * float(host.finfo(dtype).eps),
            atol=8 * float(smallest) * float(host.finfo(dtype).eps),
        )  # fmt: skip


@pytest.mark.cpu("floating point flags")
@pytest.mark.parametrize("eager_size", (0, 100))
@pytest.mark.parametrize("name", NAMES)
def test_conditions(name: str, eager_size: int) -> None:
    """NumPy's warnings, for each special value; once for all of them together."""

    def heard(np: Any, z: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            host.asarray(getattr(np, name)(z if np is host else np.array(z)))
        assert {each.filename for each in caught} <= {__file__}
        return sorted(str(each.message) for each in caught)

    values = special("c16")
    with lf.options(eager_size=eager_size) if oracle.IS_ENGINE else warnings.catch_warnings():
        for z in values[:: 7 if eager_size else 11]:
            assert heard(lf, host.array([z, 0.5])) == heard(host, host.array([z, 0.5])), z
        assert heard(lf, values) == heard(host, values)
        assert heard(lf, host.array([0.5 + 0.25j, -3.0j])) == []


def test_they_are_fused() -> None:
    """A carrier, mixed with a signal, is one kernel with what it is made of."""
    if not oracle.IS_ENGINE:
        pytest.skip("NumPy fuses nothing")
    signal, time = lf.array(host.linspace(-1.0, 1.0, 500)), lf.array(host.linspace(0.0, 9.0, 500))
    lf.reset_stats()
    mixed = signal * lf.exp(-0.3j * time)
    found = lf.abs(mixed) + lf.log(mixed + 2.0).imag
    lf.materialize(found)
    assert lf.stats().kernels_launched == 1 and lf.stats().fallbacks == 0
    x, t = host.asarray(signal), host.asarray(time)
    wanted = host.abs(x * host.exp(-0.3j * t)) + host.log(x * host.exp(-0.3j * t) + 2.0).imag
    host.testing.assert_allclose(host.asarray(found), wanted, rtol=1e-14)


@pytest.mark.cpu("small arrays that are NumPy's")
@pytest.mark.parametrize("eager_size", (0, 100))
@pytest.mark.parametrize("dtype", ("c8", "c16"))
def test_powers_of_small_arrays(dtype: str, eager_size: int) -> None:
    """Theirs are NumPy's bits, so they are computed at once; they were pending, and all that was
    computed with them."""
    values = (host.arange(1.0, 7) * (0.5 - 0.25j)).astype(dtype)

    def program(np: Any, z: Any) -> list[Any]:
        n = np.arange(6) - 2
        whole = [1j**n, z**n, n**z, n.astype("f4") ** z, z ** n.astype("f8"), n**1j, z ** z[::-1]]
        whole += [np.power(1j, n), np.power(z, z[:, None]), host.complex128(1j) ** n, 0.5**z]
        return [*whole, z ** host.float32(0.5), host.arange(6) ** z, z[1] ** n, z ** z[1]]

    with oracle.options(eager_size=eager_size), host.errstate(all="ignore"):
        oracle.check(program, values)
        if eager_size:
            found = program(lf, lf.array(values))
            assert all(each._host is not None for each in found)
    if eager_size:
        with oracle.options(eager_size=eager_size):
            with pytest.warns(RuntimeWarning, match="invalid value encountered in power"):
                lf.array([0, 1]) ** 1j
            with pytest.raises(ValueError, match="broadcast"):
                lf.array(values) ** lf.array(values)[:4]
