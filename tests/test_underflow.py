"""Powers that underflow: zeros and subnormal numbers as NumPy has them, and its condition, though
the instruction that scales is kept from what takes it long (`vecmath/exponential.within`).
"""

from __future__ import annotations

import numpy as host
import pytest

from tests import oracle

pytestmark = pytest.mark.engine

#: Exponents of e, around the smallest result that is normal, the smallest of all, and beyond.
EXPONENTS = {
    "f4": (-80.0, -87.0, -87.5, -95.0, -103.2, -104.1, -106.0, -150.0, -360.0, -1e4, -1e38),
    "f8": (-700.0, -708.0, -709.0, -740.0, -745.1, -746.5, -749.0, -2000.0, -1e4, -1e300),
}
PROGRAMS = {
    "exp": lambda np, x: np.exp(x),
    "exp2": lambda np, x: np.exp2(x * x.dtype.type(1.4426950408889634)),
    "expm1": lambda np, x: np.expm1(x),
    "power": lambda np, x: x.dtype.type(2.718281828459045) ** x,
    "softmax": lambda np, x: np.exp(x - x.max()) + x.dtype.type(1),
    "gaussian": lambda np, x: np.exp(-(np.sqrt(-x) ** 2)),
}


@pytest.mark.parametrize("dtype", EXPONENTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str, dtype: str) -> None:
    """In all lanes and in some, beside numbers that do not underflow; -inf and NaN too."""
    program = PROGRAMS[name]
    for x in (*EXPONENTS[dtype], -host.inf, host.nan):
        for count in (1, 5, 40):
            values = host.full(count, -0.5, dtype)
            values[count // 2 :] = x
            with host.errstate(all="ignore"):
                oracle.check(program, values, ulp=4)


@pytest.mark.cpu("floating point flags")
@pytest.mark.parametrize("dtype", EXPONENTS)
@pytest.mark.parametrize("name", ["exp", "exp2", "power"])
def test_conditions(name: str, dtype: str) -> None:
    """UNDERFLOW where the result is 0, but of -inf; none of others."""
    told: list[str] = []
    is_told = {-host.inf: False, host.nan: False, -3.0: False}
    is_told |= dict.fromkeys(EXPONENTS[dtype][-4:], True)
    for x, wanted in is_told.items():
        values = host.full(40, -0.5, dtype)
        values[7] = x
        for np, array in ((host, values), (oracle.lf, oracle.lf.asarray(values))):
            told.clear()
            with np.errstate(under="call", call=lambda kind, flag: told.append(kind)):
                host.asarray(PROGRAMS[name](np, array))
            assert set(told) == ({"underflow"} if wanted else set()), (x, np)


@pytest.mark.parametrize("dtype", EXPONENTS)
def test_powers_of_zero(dtype: str) -> None:
    """Zeros and small numbers to positive and negative powers."""
    info = host.finfo(dtype)
    kind = host.dtype(dtype).type
    bases = host.array([0.0, -0.0, info.tiny, info.smallest_subnormal, 1e-30, 0.5, 1.0], dtype)
    for exponent in (2.4, 0.3, 3.0, 4.0, -0.5, -1.0, 50.0, 1e4):
        with host.errstate(all="ignore"):
            oracle.check(lambda np, x, y=exponent: x ** kind(y), bases.repeat(9), ulp=4)
