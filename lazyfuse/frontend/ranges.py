"""Ranges that are recorded: no memory until it is needed, and none at all where they are fused."""

from __future__ import annotations

import sys
from math import isfinite
from typing import Any

import numpy as np

from lazyfuse.frontend.handle import new
from lazyfuse.frontend.registry import NATIVE
from lazyfuse.ir.node import Const, Fill
from lazyfuse.runtime import session

#: The least normal number: below it, dividing by the number of steps meets a condition.
_TINY = float(np.finfo(float).tiny)


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: str | None = None,
) -> Any:
    """`num` float64 between two numbers, and with `retstep` how far apart; None for calls that
    NumPy's own code has to look at: arrays, other dtypes, steps of 0 or nearly, what is not
    finite. The operations are those of NumPy's `linspace` (numpy/_core/function_base.py)."""
    plain = _is_real(start) and _is_real(stop) and type(num) is int
    usual = plain and num > 1 and axis == 0 and (dtype is None or dtype is float)
    if not usual or type(endpoint) is not bool or device is not None:
        return None
    first, last = float(start), float(stop)
    step = (last - first) / (num - 1 if endpoint else num)
    if abs(step) <= _TINY or not isfinite(step) or num > sys.maxsize // 8:
        return None
    counted = Fill((num,), "f8", (1,), (Const(0.0, "f8"), Const(1.0, "f8")))
    places = new(counted, session.default_device())
    found = NATIVE["add"](NATIVE["multiply"](places, step), first)
    if endpoint:
        found = NATIVE["where"](NATIVE["equal"](places, float(num - 1)), last, found)
    return (found, np.float64(step)) if retstep else found


def _is_real(number: Any) -> bool:
    """Whether it is a Python number that NumPy does not keep as an object."""
    return type(number) is float or type(number) is int and -(2**63) <= number < 2**64
