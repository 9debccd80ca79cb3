"""How long NumPy takes for an element of an operation: measured, once for each and its dtypes.

It has vector code for some functions, dtypes and processors, and takes ten times as long for the
others: 0.7 ns for `exp` of a double where there is AVX-512, 7.5 for `sin`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from lazyfuse.ir.node import Const, Map
from lazyfuse.runtime import session

#: Elements of which operations are measured: more and fewer, whose difference is without the call.
_MANY, _FEW = 2048, 256
#: How often: the least counts, for other programs take time as well.
_ROUNDS = 7
#: Elements of a mask that are the same, one after the other: NumPy takes five times as long where
#: nobody can tell what the next one is.
_ALIKE = 64
#: Which value stands for numbers.
_NUMBER = 2

#: What was measured, None where NumPy has no such operation: of an operation, its dtypes, which of
#: them are those of numbers, and what it gives.
_paces: dict[tuple[str, tuple[str, ...], tuple[bool, ...], str], float | None] = {}
_UNKNOWN = -1.0
session.on_clear(_paces.clear)


def pace(node: Map) -> float | None:
    """The nanoseconds that NumPy takes for an element in cache; None where it is not known."""
    are_numbers = tuple(isinstance(src, Const) for src in node.srcs)
    key = (node.op.name, node.loop, are_numbers, node.dtype)
    found = _paces.get(key, _UNKNOWN)
    if found is _UNKNOWN:
        found = _paces[key] = _measured(node, are_numbers)
    return found


def _measured(node: Map, are_numbers: Sequence[bool]) -> float | None:
    call = _call(node)
    if call is None or all(are_numbers):
        return None
    kinds = list(zip(node.loop, are_numbers, strict=True))

    def least(size: int) -> int:
        return _least(call, [_sample(code, size)[_NUMBER if one else ...] for code, one in kinds])

    with np.errstate(all="ignore"):
        try:
            return max(least(_MANY) - least(_FEW), 0) / (_MANY - _FEW)
        except (TypeError, ValueError):  # of no such loop, or of these values
            return None


def _call(node: Map) -> Callable[..., Any] | None:
    if node.op.name == "astype":
        is_told = node.loop[0][0] == "c" and node.dtype[0] not in "cb"  # that parts are lost
        return None if is_told else lambda values: values.astype(node.dtype)
    if node.op.name == "where":
        return np.where
    ufunc, out = node.op.ufunc, np.empty(_MANY, node.dtype)
    if ufunc is None or ufunc.nout > 1:
        return ufunc
    return lambda *given: ufunc(*given, out=out[: max(map(np.size, given))])


def _least(call: Callable[..., Any], operands: Sequence[Any]) -> int:
    call(*operands)
    found = []
    for _ in range(_ROUNDS):
        start = perf_counter_ns()
        call(*operands)
        found.append(perf_counter_ns() - start)
    return min(found)


def _sample(code: str, size: int) -> np.ndarray:
    """Values of usual sizes: numbers from 0.5 to 1.5, and integers from 1 to 100."""
    numbers = np.arange(size)
    if code == "b1":
        return np.asarray(numbers // _ALIKE % 2 == 1)
    if code[0] in "iu":
        return np.asarray(numbers % 100 + 1, code)
    return np.asarray(numbers / size + 0.5, code)
