"""Functions of the namespace share memory exactly when NumPy's do, and are writeable when they
are: the result is written, then the operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests.oracle import check

RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "append nothing": lambda np, m: np.append(m, []),
    "array_split": lambda np, m: np.array_split(m, 2, axis=1)[0],
    "asarray": lambda np, m: np.asarray(m),
    "atleast_3d": lambda np, m: np.atleast_3d(m),
    "block of one": lambda np, m: np.block(m),
    "broadcast_arrays": lambda np, m: np.broadcast_arrays(m, m[0])[0],
    "broadcast_arrays, larger": lambda np, m: np.broadcast_arrays(m, m[0])[1],
    "c_": lambda np, m: np.c_[m],
    "clip without bounds": lambda np, m: np.clip(m, None, None),
    "column_stack": lambda np, m: np.column_stack((m,)),
    "delete nothing": lambda np, m: np.delete(m, [], axis=0),
    "diag": lambda np, m: np.diag(m),
    "dstack": lambda np, m: np.dstack((m,)),
    "einsum diagonal": lambda np, m: np.einsum("ii->i", m[:, :3]),
    "einsum ellipsis": lambda np, m: np.einsum("...j->j...", m[::-1]),
    "einsum transposed": lambda np, m: np.einsum("ij->ji", m),
    "einsum by lists": lambda np, m: np.einsum(m, [0, 1], [1, 0]),
    "einsum by lists, diagonal": lambda np, m: np.einsum(m[:, :3], [0, 0], [0]),
    "fftshift": lambda np, m: np.fft.fftshift(m),
    "fix into": lambda np, m: np.fix(m, out=m),
    "ix_": lambda np, m: np.ix_(m[0].astype(int), m[1].astype(int))[0],
    "linalg.diagonal": lambda np, m: np.linalg.diagonal(m),
    "linalg.matrix_transpose": lambda np, m: np.linalg.matrix_transpose(m),
    "meshgrid": lambda np, m: np.meshgrid(m[0], m[1], copy=False)[1],
    "nan_to_num": lambda np, m: np.nan_to_num(m, copy=False),
    "pad by nothing": lambda np, m: np.pad(m, 0),
    "ravel": lambda np, m: np.ravel(m),
    "real": lambda np, m: np.real(m),
    "real_if_close": lambda np, m: np.real_if_close(m + 0j),
    "repeat once": lambda np, m: np.repeat(m, 1),
    "require": lambda np, m: np.require(m),
    "resize to itself": lambda np, m: np.resize(m, m.shape),
    "roll by nothing": lambda np, m: np.roll(m, 0),
    "rollaxis": lambda np, m: np.rollaxis(m, 1),
    "select": lambda np, m: np.select([m > 0], [m]),
    "sort": lambda np, m: np.sort(m),
    "split": lambda np, m: np.split(m, 3)[1],
    "squeeze": lambda np, m: np.squeeze(m[None]),
    "tile once": lambda np, m: np.tile(m, 1),
    "tril of all": lambda np, m: np.tril(m, 9),
    "trim_zeros": lambda np, m: np.trim_zeros(m[0]),
    "unstack": lambda np, m: np.unstack(m)[0],
    "unwrap": lambda np, m: np.unwrap(m),
}


@pytest.mark.filterwarnings("ignore:Numpy has detected:DeprecationWarning")
@pytest.mark.parametrize("name", RESULTS)
def test_aliasing(name: str) -> None:
    def program(np: Any, m: Any) -> Any:
        found = RESULTS[name](np, m)
        writeable = found.flags.writeable
        if writeable:
            found[...] = -7
        m[0] = 99
        return found, m, writeable

    check(program, host.arange(12.0).reshape(3, 4))


METHODS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda a: a.sort(),
    "sort a view": lambda a: a[::-2].sort(),
    "sort along": lambda a: a.reshape(2, 3).sort(axis=0),
    "partition": lambda a: a.partition((0, 1, 2, 3, 4)),
}


@pytest.mark.parametrize("name", METHODS)
def test_in_place(name: str) -> None:
    """What sorts in place sorts the memory that all views see."""

    def program(np: Any, a: Any) -> Any:
        view, before = a[1:4], a * 1
        assert METHODS[name](a) is None
        return a, view, before

    check(program, host.array([3.0, 1.0, 2.0, 5.0, 4.0, 0.0]))
