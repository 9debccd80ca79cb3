"""`lazyfuse.polynomial` and `lazyfuse.rec`: NumPy's functions ask whether an operand is a
`numpy.ndarray`, which arrays of ours are not."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

SERIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg",
    "hermite": "herm", "hermite_e": "herme", "laguerre": "lag",
}  # fmt: skip

EVALUATE: dict[str, Callable[[Any, Any, str], Any]] = {
    "val": lambda np, f, p: getattr(f, p)(np.linspace(-1, 1, 40), np.arange(6.0).reshape(2, 3)),
    "val2d": lambda np, f, p: getattr(f, p)(
        np.linspace(-1, 1, 40), np.linspace(0, 1, 40), np.arange(6.0).reshape(2, 3)
    ),
    "grid2d": lambda np, f, p: getattr(f, p)(
        np.linspace(-1, 1, 40), np.linspace(0, 1, 3), np.arange(6.0).reshape(2, 3)
    ),
    "grid3d": lambda np, f, p: getattr(f, p)(
        np.linspace(-1, 1, 4), np.linspace(0, 1, 3), np.ones(2), np.arange(24.0).reshape(2, 3, 4)
    ),
    "vander": lambda np, f, p: getattr(f, p)(np.linspace(-1, 1, 40).reshape(2, 20), 3),
    "vander2d": lambda np, f, p: getattr(f, p)(np.linspace(-1, 1, 40), np.ones(40), [2, 1]),
    "add": lambda np, f, p: getattr(f, p)(np.arange(3.0), [1.0, 2.0]),
    "mul": lambda np, f, p: getattr(f, p)(np.arange(3.0), [1.0, 2.0]),
    "div": lambda np, f, p: getattr(f, p)(np.arange(1.0, 5.0), np.array([1.0, 2.0])),
    "fit": lambda np, f, p: getattr(f, p)(np.linspace(-1, 1, 40), np.linspace(0, 2, 40) ** 2, 2),
}


@pytest.mark.parametrize("eager_size", [0, 1000])
@pytest.mark.parametrize("name", EVALUATE)
@pytest.mark.parametrize("module", SERIES)
def test_series(module: str, name: str, eager_size: int) -> None:
    """A column of coefficients stood beside an array of ours as a row: `legval` raised, or gave
    wrong values where shapes fitted by chance."""

    def program(np: Any) -> Any:
        return EVALUATE[name](np, getattr(np.polynomial, module), SERIES[module] + name)

    with lf.options(eager_size=eager_size):
        oracle.check(program)


def test_roots_of_several_polynomials() -> None:
    def program(np: Any) -> Any:
        value = np.polynomial.polynomial.polyvalfromroots
        return value(np.arange(1.0, 4.0), [-1, 0, 1]), value(np.ones((2, 3)), np.ones((2, 1)))

    oracle.check(program)


@pytest.mark.parametrize("module", SERIES)
def test_numpys_own_functions_take_our_arrays(module: str) -> None:
    """Of programs that import `numpy.polynomial` itself."""
    x, c = lf.linspace(-1, 1, 40), lf.arange(6.0).reshape(2, 3)
    for name in ("val", "grid2d"):
        function = getattr(getattr(host.polynomial, module), SERIES[module] + name)
        more = (x[:3],) if name == "grid2d" else ()
        found = function(x, *more, c)
        expected = function(*map(lf.asnumpy, (x, *more, c)))
        assert host.asarray(found).tobytes() == expected.tobytes()


def test_a_series_of_large_arrays_is_recorded() -> None:
    x = lf.linspace(-1, 1, 100_000)
    y = lf.polynomial.chebyshev.chebval(x, [1.0, 2.0, 3.0, 4.0])
    lf.reset_stats()
    expected = host.polynomial.chebyshev.chebval(host.linspace(-1, 1, 100_000), [1.0, 2.0, 3, 4])
    assert y.tobytes() == expected.tobytes() and lf.stats().fallbacks == 0


def test_numpys_arrays_are_operands_too() -> None:
    x, c = host.linspace(-1, 1, 5), host.arange(6.0).reshape(2, 3)
    found = lf.polynomial.legendre.legval(x, c)
    assert type(found) is lf.ndarray
    assert found.tobytes() == host.polynomial.legendre.legval(x, c).tobytes()


def test_modules_are_modules() -> None:
    from lazyfuse.polynomial import Polynomial, chebyshev
    from lazyfuse.polynomial.polynomial import polyval

    assert Polynomial is host.polynomial.Polynomial and chebyshev is lf.polynomial.chebyshev
    assert polyval is lf.polynomial.polynomial.polyval
    assert pickle.loads(pickle.dumps(polyval)) is polyval
    add = chebyshev.chebadd
    assert pickle.loads(pickle.dumps(add)) is add
    assert [*map(float, Polynomial([1, 2, 3])(lf.arange(3.0)))] == [1.0, 6.0, 17.0]
    for module in (lf.polynomial, lf.polynomial.legendre, lf.rec, lf.lib.stride_tricks):
        assert pickle.loads(pickle.dumps(module)) is module
    with pytest.raises(AttributeError, match="no attribute 'polyvalue'"):
        lf.polynomial.polynomial.polyvalue  # noqa: B018


@pytest.mark.parametrize("name", ["polynomial", "rec"])
def test_the_first_module_is_the_only_one(name: str) -> None:
    """NumPy imports these when they are asked for: what came of the first question was forgotten,
    and its functions could not be pickled."""
    program = f"import lazyfuse as lf; assert lf.{name} is lf.{name}"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_records_of_arrays() -> None:
    def program(np: Any) -> Any:
        whole = np.rec.array(np.arange(6).reshape(2, 3))
        columns = np.rec.fromarrays([np.arange(3), np.arange(3) * 0.5], names="a,b")
        return type(whole).__name__, whole.tolist(), columns.b.tolist(), columns[1].a

    oracle.check(program)


def test_information_is_of_the_array(capsys: pytest.CaptureFixture[str]) -> None:
    lf.info(lf.ones((2, 3)))
    assert "shape:  (2, 3)" in capsys.readouterr().out
