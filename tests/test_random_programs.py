"""Random programs give NumPy's results: lazily, with everything forced after each line, unfused,
and cut short.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings

from tests import oracle, strategies

#: Programs that once failed, or that a careful reader would try first.
KNOWN = (
    "v0 = np.arange(6.0)\nv1 = v0[1:]\nv2 = v0 + 1\nv1 += 5\nv3 = v0 * v2",
    "v0 = np.arange(9.0)\nv0[1:] += v0[:-1]\nv1 = v0[::-1]\nv0 += v1\nv2 = v1.sum()",
    "v0 = np.array((np.arange(12) * 7 % 11).reshape(3, 4), dtype='f4')\n"
    "v1 = v0.T\nv1 *= v1[:1]\nv2 = v1.sum(axis=0)",
    "v0 = np.zeros((0, 3))\nv1 = v0.sum(axis=0)\nv2 = np.concatenate([v0, v0]) + v1",
)


def _text_program(source: str, force: Any = None) -> oracle.Program:
    return lambda np: strategies.run(source, np, force=force)


def _force(value: Any) -> None:
    if oracle.IS_ENGINE and isinstance(value, oracle.lf.LazyArray):
        oracle.lf.materialize(value)


@given(strategies.programs())
@example(KNOWN[0])
@example(KNOWN[1])
@example(KNOWN[2])
@example(KNOWN[3])
def test_lazy(source: str) -> None:
    """All at the end (pitfall P55)."""
    _check(source)


@given(strategies.programs())
def test_forced_after_each_line(source: str) -> None:
    """Each variable is computed after each line (pitfall P55)."""
    _check(source, force=_force)


@given(strategies.programs(minimum=6, maximum=24))
def test_cut_short(source: str) -> None:
    """The trace is cut after every few nodes."""
    with oracle.options(max_pending_nodes=4):
        _check(source)


@given(strategies.programs())
def test_unfused(source: str) -> None:
    """Every operation is a kernel of its own."""
    with oracle.options(fusion=False):
        _check(source)


@pytest.mark.slow
@settings(max_examples=max(10, settings.default.max_examples // 10))
@given(strategies.programs(minimum=20, maximum=60))
def test_long(source: str) -> None:
    """Longer programs, whole."""
    _check(source)


def _check(source: str, force: Any = None) -> None:
    problems = list(oracle.differences(_text_program(source, force), rules=RULES))
    assert not problems, f"import numpy as np\n{source}\n\n" + "\n".join(problems)


#: Zeros of either sign tie in max and min.
RULES = oracle.Rules(zero_sign=False, sums=True)
