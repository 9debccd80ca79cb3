"""Methods of small arrays that are asked often, and have a way of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyfuse.frontend import rerecord
from lazyfuse.frontend.direct import direct
from lazyfuse.frontend.dots import is_matmul
from lazyfuse.frontend.handle import Handle, small_array
from lazyfuse.frontend.sequences import SCALARS
from lazyfuse.frontend.windows import largest, made, reach, window
from lazyfuse.runtime.heard import heard

Method = Callable[..., Any]


def is_complex(array: Any) -> bool:
    """Whether an array of ours is."""
    host = array._host
    return bool(array._code[0] == "c" if host is None else host.dtype.kind == "c")


def contains(general: Method) -> Method:
    """`value in x`: of a number NumPy is asked at once, for `==` meets no condition."""
    plain = np.ndarray.__contains__

    def call(self: Any, value: Any) -> Any:
        is_number = type(value) in SCALARS and self._host is not None
        return plain(self._host, value) if is_number else general(self, value)

    return call


def number(name: str, general: Method) -> Method:
    """`float(x)` and the like, of an element of an array without axes; NumPy asks any key
    whether it is an index."""
    plain = getattr(np.ndarray, name)
    is_silent = name == "__index__"
    kinds = "biufc" if name in ("__bool__", "__complex__") else "biuf"  # without a warning

    def call(self: Any) -> Any:
        host = self._host
        if host is None or not is_silent and (host.ndim or host.dtype.kind not in kinds):
            return general(self)
        rerecord.count()
        return plain(host)

    return call


def viewed(general: Method) -> Method:
    """`x.view(np.ndarray)`, a view of the class that it has."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        host = self._host
        if host is None or kwargs or args != (Handle._concrete,):
            return general(self, *args, **kwargs)
        rerecord.count()
        return small_array(host.view(), self if self._owner is None else self._owner)

    return call


def power(engine: Method) -> Method:
    """`x ** 2` and the other exponents that need no power, and numbers for complex arrays, whose
    powers are NumPy's; the rest by the kernel of powers, else by the engine."""
    at_once = direct("power")

    def call(self: Any, exponent: Any, *modulus: Any) -> Any:
        host, kind = self._host, type(exponent)
        if modulus:
            return engine(self, exponent, *modulus)
        rerecord.count()
        is_plain = kind in (int, float) and exponent in (0.5, 1, 2, -1)
        if not is_plain and (kind not in (int, float, complex) or not is_complex(self)):
            found = at_once((self, exponent))
            return engine(self, exponent) if found is None else found
        if host is None:
            host = window(self, reach((self,), largest()))
        if host is None:
            return engine(self, exponent)
        return made(heard(pow, host, exponent), largest())

    return call


def reflected_power(engine: Method) -> Method:
    """`2 ** x` of integers, whose bits are NumPy's."""
    plain = np.ndarray.__rpow__

    def call(self: Any, base: Any, *modulus: Any) -> Any:
        host = self._host
        if modulus or host is None or type(base) is not int or host.dtype.kind not in "iu":
            return engine(self, base, *modulus)
        rerecord.count()
        return made(heard(plain, host, base), largest())

    return call


def divided(name: str, general: Method) -> Method:
    """`divmod(x, 3)` and its like, of a real number."""
    plain = getattr(np.ndarray, name)

    def call(self: Any, other: Any) -> Any:
        host = self._host
        if host is None or type(other) not in (int, float):
            return general(self, other)
        rerecord.count()
        quotient, remainder = heard(plain, host, other)
        return made(quotient, largest()), made(remainder, largest())

    return call


def dot(general: Method) -> Method:
    """`x.dot(y)`, as `x @ y` where that is the same."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_alone = len(args) == 1 and not kwargs and type(args[0]) is type(self)
        is_product = is_alone and is_matmul(self, args[0])
        return self @ args[0] if is_product else general(self, *args, **kwargs)

    return call
