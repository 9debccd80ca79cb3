"""Scalars whose value is known: arithmetic of them is that of NumPy's scalars, at once."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.oracle import check

pytestmark = pytest.mark.engine

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "divmod": divmod, "pow": operator.pow,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift,
    "rshift": operator.rshift, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert, "bool": bool,
    "int": int, "float": float, "complex": complex, "index": operator.index, "round": round,
    "round to": lambda s: round(s, 1), "str": str, "repr": repr, "format": "{:.3}".format,
    "plain": "{}".format, "percent": "%d".__mod__, "hash": hash, "item": lambda s: s.item(),
    "item at": lambda s: s.item(0), "range": lambda s: list(range(s))[:3],
    "times a list": lambda s: [1] * s, "tolist": lambda s: s.tolist(),
}  # fmt: skip
OTHERS = (
    2, 3, 0, -1, 0.5, 2.0, 300, True, 1e30, -1e300, 2**40, 2**64, host.float32(1.5), host.int8(3),
    host.uint64(2),
)  # fmt: skip
CODES = ("f8", "f4", "f2", "i8", "i2", "u1", "u8", "?", "c8", "c16")


@pytest.fixture(autouse=True)
def small_sizes() -> Any:
    """Six elements are large, and numbers are computed at once."""
    with oracle.options(eager_size=2):
        yield


def _total(np: Any, code: str) -> Any:
    """A scalar whose value is known."""
    x = np.asarray(host.array([1, 0, 2, 0, 1, 3], code))
    total = x.any() if code == "?" else x.sum(dtype=code)
    complex(host.asarray(total))
    return total


def _outcome(function: Callable[..., Any], *operands: Any) -> Any:
    """The result, with its type, or the error, and what is said."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            found = function(*operands)
        except Exception as error:
            found = type(error)
    said = [(str(each.message), each.filename) for each in given]
    many = found if isinstance(found, tuple) else (found,)
    return [_plain(each) for each in many], said


def _plain(value: Any) -> Any:
    """A value and what it is: of scalars the bits."""
    if isinstance(value, host.generic):
        return host.asarray(value).dtype.str, host.asarray(value).tobytes()
    return type(value), value


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, code: str) -> None:
    """As NumPy's scalars, with what they warn of; powers of floats have the bits of kernels, but
    for the squares and the like."""
    function = BINARY[name]
    is_own = name == "pow" and code[0] in "fc" or name == "truediv" and code[0] == "c"
    for other in OTHERS:
        is_power = name == "pow" and not isinstance(other, int | host.integer)
        if is_power or is_own and (code[0] == "c" or other not in (2, -1)):
            continue
        if code[0] == "c" and abs(other) > 1e20:  # whose words are those of arrays
            continue
        mine, numpys = _total(lf, code), _total(host, code)
        assert _outcome(function, mine, other) == _outcome(function, numpys, other), other
        if not isinstance(other, host.generic) and not is_own:  # which asks the ufunc
            assert _outcome(function, other, mine) == _outcome(function, other, numpys), other


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, code: str) -> None:
    function = UNARY[name]
    if name == "abs" and code[0] == "c":  # whose bits are the kernels'
        function = lambda total: host.isclose(float(abs(total)), 7)  # noqa: E731
    assert _outcome(function, _total(lf, code)) == _outcome(function, _total(host, code))


def test_two_scalars() -> None:
    for name in ("add", "mul", "truediv", "lt", "eq", "divmod"):
        mine = BINARY[name](_total(lf, "f8"), _total(lf, "i2"))
        numpys = BINARY[name](_total(host, "f8"), _total(host, "i2"))
        assert _outcome(lambda found: found, mine) == _outcome(lambda found: found, numpys)


def test_kinds() -> None:
    """What is known gives NumPy's scalars; what is pending stays pending, and so it is with arrays
    beside it."""
    x = lf.arange(6.0)
    pending, total = (x + 1).max(), (x * 2).sum()
    float(total)
    assert type(total + 1) is host.float64
    assert type(2 - total) is host.float64
    assert type(total**2) is host.float64
    assert type(total > 3) is host.bool
    assert type(-total) is host.float64
    assert type(pending + 1) is type(total) is not host.float64
    assert type(total * x) is lf.LazyArray
    with oracle.options(eager_size=0):
        assert type(total + 1) is type(total)


def test_conditions_are_told_at_the_users_line() -> None:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        assert _total(lf, "f8") / 0 == host.inf
    assert [each.filename for each in given] == [__file__]
    with host.errstate(all="raise"), pytest.raises(FloatingPointError):
        _total(lf, "f8") / 0


def test_arrays_beside_scalars() -> None:
    """Arrays, and parts of complex numbers."""

    def program(np: Any, x: Any) -> Any:
        total = (x * x).sum()
        float(total)
        return x * total, total * x, total + x[1:], x @ (x * total), [total, total + 1]

    check(program, host.arange(1.0, 9.0))
    check(lambda np, x: (x.sum(), x.sum() * 2, abs(x.sum() - 1)), host.arange(4) * 1j)


def test_what_is_recorded_hears_of_it() -> None:
    """A number that a recorded function asks for is asked for at each call."""
    total = lf.arange(6.0).sum()
    float(total)

    @lf.fuse
    def scaled(x: Any) -> Any:
        return x * float(total) if total > 3 else x

    x = lf.arange(5.0)
    for _ in range(4):
        assert scaled(x).tolist() == (host.arange(5.0) * 15).tolist()


def test_a_copy_is_not_lent() -> None:
    """What is kept of the value does not follow memory that is written."""
    x = lf.arange(6.0)
    total, element = x.sum(), x[2]
    float(total), float(element)
    x[...] = 7.0
    assert (float(total), float(element), element + 1) == (15.0, 2.0, 3.0)


def test_attributes_are_not_set() -> None:
    """As NumPy's scalars; a shape that was set made an array of the value that is kept."""
    total = (lf.arange(6.0) * 2).sum()
    for name, value in (("shape", (1,)), ("strides", (8,)), ("dtype", "i8")):
        with pytest.raises(AttributeError, match="of 'numpy.generic' objects is not writable"):
            setattr(total, name, value)
        with pytest.raises(AttributeError, match="of 'numpy.generic' objects is not writable"):
            setattr(host.float64(3), name, value)
    assert (total.shape, total.strides, total.dtype) == ((), (), host.dtype("f8"))
