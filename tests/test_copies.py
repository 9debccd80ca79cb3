"""Copies of memory that `memmove` is slow at: the same bytes, and only those."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.ir.copies import copy_to, is_copied
from tests.deferring import deferring

PAGE = 4096


def placed(dtype: str, count: int, offset: int, pages: host.ndarray) -> host.ndarray:
    """`count` elements that begin `offset` bytes behind the first page of some memory."""
    first = -pages.ctypes.data % PAGE + offset
    return pages[first : first + count * host.dtype(dtype).itemsize].view(dtype)


@pytest.mark.parametrize("dtype", ("?", "i1", "f2", "u4", "f4", "i8", "f8", "c8", "c16"))
@pytest.mark.parametrize("ahead", (-8, 0, 1, 8, 15, 16, 4088))
def test_bytes_are_copied_wherever_they_lie(dtype: str, ahead: int) -> None:
    count, rest = 3001, host.random.default_rng(1)
    one, other = (rest.integers(0, 2, 8 * PAGE * 16, host.uint8) for _ in range(2))
    source, target = placed(dtype, count, 64, one), placed(dtype, count, 64 + ahead, other)
    before = other.copy()
    copy_to(target, source)
    assert target.tobytes() == source.tobytes()
    changed = host.flatnonzero(other != before) + other.ctypes.data
    inside = (target.ctypes.data <= changed) & (changed < target.ctypes.data + target.nbytes)
    assert inside.all()


def test_what_the_slow_copy_is() -> None:
    """Many bytes, near in their pages, of one dtype, in one piece, and not of the same memory."""
    pages = host.zeros(64 * PAGE, host.uint8)
    other = host.zeros(64 * PAGE, host.uint8)
    source, target = placed("f8", 1000, 0, pages), placed("f8", 1001, 0, other)
    assert is_copied(target, slice(1, None), source)
    assert is_copied(target[1:], ..., source)
    assert not is_copied(target, slice(0, 1000), source)
    assert not is_copied(target, slice(1, 101), source[:100])
    assert not is_copied(target, slice(1, None), source.astype("f4"))
    assert not is_copied(target, slice(1, None), 1.0)
    assert not is_copied(target, (slice(1, None),), source)
    wide = placed("f8", 2000, 0, pages)
    assert not is_copied(target, slice(1, None), wide[::2])
    assert not is_copied(wide, slice(1, None), wide[:-1])


@pytest.mark.parametrize("dtype", ("u1", "f4", "f8"))
@pytest.mark.parametrize("count", (50_000, 100_000))
@pytest.mark.parametrize("native", (False, True))
def test_shifts_from_array_to_array(dtype: str, count: int, native: bool) -> None:
    """The same values as NumPy's, when new, recorded, and in machine code; the arrays' memory
    begins at pages."""
    x, y = (host.random.default_rng(n).integers(0, 99, count).astype(dtype) for n in (1, 2))

    def shifted() -> None:
        one, other = lf.array(x), lf.array(y)
        lf.materialize(one, other)
        for _ in range(30):
            other[1:] = one[:-1]
            one[2:] = other[:-2]
            one[3:] = one[:-3]
        expected, result = x.copy(), y.copy()
        for _ in range(30):
            result[1:] = expected[:-1]
            expected[2:] = result[:-2]
            expected[3:] = expected[:-3]
        host.testing.assert_array_equal(host.asarray(one), expected)
        host.testing.assert_array_equal(host.asarray(other), result)

    if native:
        with deferring():
            shifted()
    else:
        shifted()


#: In a process of its own, for machine code, where it has come, does it itself.
_AT_ONCE = """
import numpy as host
import lazyfuse as lf
from lazyfuse.ir import copies
seen, moved = [], copies._is_moved
copies._is_moved = lambda *places: seen.append(moved(*places)) or seen[-1]
one, other = lf.array(host.arange(60_000.0)), lf.array(host.zeros(60_000))
lf.materialize(one, other)
for _ in range(60):
    other[1:] = one[:-1]
lf.materialize(other)
assert len(seen) >= 60 and all(seen), seen
assert host.asarray(other)[-1] == 59_998.0
"""


def test_engines_arrays_take_the_other_way() -> None:
    """Both arrays begin at a page, and what is done at once asks here, new or not."""
    subprocess.run([sys.executable, "-c", _AT_ONCE], check=True, timeout=60)


def test_rolls_are_copied_right() -> None:
    for dtype, by in product(("u1", "f4", "f8"), (1, 3, -1, 1000)):
        x = (host.arange(65_000) % 251).astype(dtype)
        for _ in range(3):
            host.testing.assert_array_equal(host.roll(x, by), host.asarray(lf.roll(x, by)))
