"""NumPy's own arrays, of which a function makes numbers or masks: NumPy computes that at once.

The engine would copy such an array before it reads it, which takes as long as NumPy does for all
of it, and nothing fuses with what is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from lazyfuse.frontend import small, windows
from lazyfuse.frontend.convert import eager_size
from lazyfuse.frontend.mapped import is_frozen
from lazyfuse.frontend.rerecord import count
from lazyfuse.frontend.small import KNOWN, LARGE
from lazyfuse.ops.rules import PICKED, PICKED_ROWS, Numpys
from lazyfuse.runtime import under_way
from lazyfuse.runtime.caller import call_as_user
from lazyfuse.runtime.heard import heard

Method = Callable[..., Any]

#: What machine code saves of a call (`rerecord.count`).
_SAVED = 3
#: Elements of an axis that NumPy takes long for, row by row, in large arrays.
_SHORT = 64
#: Bytes of integers that are added up without a cast.
_WIDE = 8
#: Arguments that are no arrays; an axis may be a tuple of them.
_WORDS = frozenset((int, bool, float, type, type(None)))


def with_numpys(engine: Method, plain: Method, limits: Numpys) -> Method:
    """`engine`, a function of the namespace, with NumPy's beside it for such arrays."""
    if not limits.most:
        return engine

    @wraps(engine)
    def function(*args: Any, **kwargs: Any) -> Any:
        size = max([reach(each, limits) for each in args[:2]], default=0)
        if not size:
            return engine(*args, **kwargs)
        count(_SAVED)
        rest = (*args[1:], *kwargs.values())
        if _WORDS.issuperset(map(type, rest)) and small.OWN_WORDS.isdisjoint(kwargs):
            return small.lift(call_as_user(plain, *args, **kwargs), args[:1])
        found = small.at_once(plain, args, kwargs, size)
        return engine(*args, **kwargs) if found is LARGE else found

    return function


#: Ufuncs whose results are an eighth of what they read.
PREDICATES = frozenset(("isnan", "isinf", "isfinite", "signbit"))
_OF_PREDICATES = Numpys(1 << 62, PICKED)


def answering(
    ufunc: np.ufunc, exactly: Callable[[Sequence[Any]], Any]
) -> Callable[[Sequence[Any]], Any]:
    """`exactly`, which computes one of `PREDICATES`, also of large arrays of NumPy's own."""

    def answer(values: Sequence[Any]) -> Any:
        least = eager_size()
        if reach(values[0], _OF_PREDICATES) > least:
            return windows.made(heard(ufunc, values[0]), least)
        return exactly(values)

    return answer


def reach(value: Any, limits: Numpys) -> int:
    """The size of an array of NumPy's, of which NumPy computes a function at once, however large
    small arrays are; 0 for all else, and in what `fuse` records. Larger ones that nobody can write
    are the engine's, which reads them where they are, on all cores."""
    if type(value) is not np.ndarray or value.dtype not in KNOWN:
        return 0
    size, kind = value.size, value.dtype
    is_narrow = kind.kind in "iub" and kind.itemsize < _WIDE
    most = limits.narrow if is_narrow else PICKED if kind == np.float16 else limits.most
    if size > most or (value.ndim > 1 and size > PICKED and min(value.shape) < _SHORT):
        return 0
    if size > PICKED_ROWS and is_frozen(value):
        return 0
    return 0 if under_way.is_recording() or not eager_size() else size
