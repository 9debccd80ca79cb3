"""Ufuncs of operands at hand, into an array at hand, where a mask holds: computed at once.

`np.divide(a, b, out=np.zeros_like(a), where=b != 0)` and `np.log(p, out=..., where=p > 0)` are how
NumPy's users keep conditions away. NumPy computes those whose bits are the kernels'; of others the
kernel computes the elements that the mask picks, so there are conditions of no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend.handle import small_array
from lazyfuse.frontend.rerecord import ARRAYS, count
from lazyfuse.frontend.windows import SAVED, altered, at_hand, largest, reach
from lazyfuse.runtime.caller import call_as_user
from lazyfuse.runtime.heard import heard


def delivered(plain: np.ufunc, inputs: Sequence[Any], out: Any, where: Any) -> bool:
    """Whether a ufunc of NumPy's has written its result for operands at hand into an array of ours
    where a mask holds. Raises: what it does."""
    if type(out) not in ARRAYS:
        return False
    if out._host is not None:
        given = _at_hand((where, *inputs))
        if given is None:
            return False
        mask, *operands = given
        count(SAVED)
        by = call_as_user if out._host.dtype.kind == "c" else heard  # of parts that are lost
        by(plain, *operands, out=out._host, where=mask)
        return True
    dtypes = [each.dtype for each in inputs if hasattr(each, "dtype")]
    if out.dtype.kind == "c" or any(dtype != out.dtype for dtype in dtypes):
        return False  # NumPy says what is left out of what was there

    def write(target: np.ndarray, mask: Any, *operands: Any) -> None:
        plain(*operands, out=target, where=mask)

    return altered(write, out, where, *inputs)


def copied(values: Any, out: Any, where: Any, casting: str) -> bool:
    """Whether values at hand have been written into a small array where a mask holds. Raises: what
    `np.copyto` does."""
    given = None if out._host is None else _at_hand((where, values))
    if given is None:
        return False
    mask, theirs = given
    count(SAVED)
    call_as_user(np.copyto, out._host, theirs, casting=casting, where=mask)
    return True


def computed(
    compute: Callable[[Sequence[Any]], Any], inputs: Sequence[Any], out: Any, where: Any
) -> bool:
    """Whether `compute` has given the elements that a mask of the output's shape picks, of its
    dtype, and they have been written. Nothing is lost where they are not."""
    given = _at_hand((where, *inputs)) if type(out) in ARRAYS else None
    if given is None:
        return False
    mask, *operands = given
    if type(mask) is not np.ndarray or mask.dtype != bool or mask.shape != out.shape:
        return False
    picked = _picked(operands, mask)
    if picked is None or (out._host is not None and not out._host.flags.writeable):
        return False
    try:
        values = at_hand(compute(picked), mask.size)
    except ValueError:
        return False  # which is said when the engine records it, after what is wrong with `out`
    if type(values) is not np.ndarray or values.dtype != out.dtype:
        return False
    if out._host is None:
        return altered(_put, out, mask, values)
    _put(out._host, mask, values)
    return True


def _at_hand(values: Sequence[Any]) -> list[Any] | None:
    """Values as NumPy takes them; None where one is not at hand, and while this thread records for
    `fuse`, which has to see what is written."""
    limit = largest()
    limit = reach(values, limit)
    given = [at_hand(value, limit) for value in values] if limit else [None]
    return None if any(each is None for each in given) else given


def _picked(operands: Sequence[Any], mask: np.ndarray) -> list[Any] | None:
    """The elements of operands that a mask picks, small arrays; numbers as they are. None where
    operands are no arrays, or none of that shape."""
    shapes = {each.shape for each in operands if type(each) is np.ndarray}
    try:
        shape = np.broadcast_shapes(mask.shape, *shapes) if shapes != {mask.shape} else mask.shape
    except ValueError:
        return None  # which is said when the engine records it
    if not shapes or shape != mask.shape:
        return None
    return [_elements(each, mask) if type(each) is np.ndarray else each for each in operands]


def _elements(array: np.ndarray, mask: np.ndarray) -> Any:
    wide = array if array.shape == mask.shape else np.broadcast_to(array, mask.shape)
    return small_array(wide[mask])


def _put(target: np.ndarray, mask: np.ndarray, values: np.ndarray) -> None:
    target[mask] = values
