"""More wrong calls, beside those of `test_errors.py`: NumPy's exception at the call, and no array
half written.

Each program gets a float grid, an integer grid, a mask of its shape and a read-only view, all of
which must be afterwards what NumPy leaves of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

F = host.arange(12.0).reshape(3, 4)
I = host.arange(12).reshape(3, 4)  # noqa: E741 - I for integers, as F and B
B = I % 3 == 0

Faulty = Callable[..., Any]


def put(x: Any, key: Any, value: Any) -> None:
    """Assign elements, as an expression."""
    x[key] = value


WRITES: dict[str, Faulty] = {
    "list beyond": lambda np, f, i, b: put(f, [0, 3], 9.0),
    "array beyond, second axis": lambda np, f, i, b: put(f, (slice(None), np.array([1, 4])), 9.0),
    "array far below": lambda np, f, i, b: put(f, np.array([0, -4]), 9.0),
    "array of floats": lambda np, f, i, b: put(f, np.array([0.0, 1.0]), 9.0),
    "lists of two lengths": lambda np, f, i, b: put(f, ([0, 1, 2], [0, 1]), 9.0),
    "too many lists": lambda np, f, i, b: put(f, ([0], [0], [0]), 9.0),
    "values of another length": lambda np, f, i, b: put(f, [0, 1], np.ones((3, 4))),
    "mask of another length": lambda np, f, i, b: put(f, np.array([True, False]), 9.0),
    "mask of another shape": lambda np, f, i, b: put(f, b.T, 9.0),
    "mask and too few values": lambda np, f, i, b: put(f, b, np.ones(2)),
    "mask and too many values": lambda np, f, i, b: put(f, b, np.arange(12.0)),
    "slice and another shape": lambda np, f, i, b: put(f, slice(1), np.ones((2, 4))),
    "text": lambda np, f, i, b: put(f, 0, "word"),
    "object": lambda np, f, i, b: put(f, 0, object()),
    "ragged": lambda np, f, i, b: put(f, 0, [1, [2, 3]]),
    "list into an element": lambda np, f, i, b: put(f, (0, 0), [1.0, 2.0]),
    "integer beyond the dtype": lambda np, f, i, b: put(i.astype("u1"), 0, 300),
    "negative into unsigned": lambda np, f, i, b: put(i.astype("u8"), 0, -1),
    "integer beyond int64": lambda np, f, i, b: put(i, 0, 2**70),
    "complex into float": lambda np, f, i, b: put(f, 0, 1j),
    "two ellipses": lambda np, f, i, b: put(f, (..., ...), 1),
    "in place, mask": lambda np, f, i, b: f[b].__iadd__(np.ones(3)),
    "in place, list beyond": lambda np, f, i, b: f.__getitem__([0, 7]).__iadd__(1),
    "iadd casts": lambda np, f, i, b: i.__iadd__(f),
    "itruediv casts": lambda np, f, i, b: i.__itruediv__(i),
    "ipow casts": lambda np, f, i, b: i.__ipow__(0.5),
    "iand of floats": lambda np, f, i, b: f.__iand__(i),
    "imatmul shapes": lambda np, f, i, b: f.__imatmul__(f),
    "isub of masks": lambda np, f, i, b: b.__isub__(b),
    "out of another shape": lambda np, f, i, b: np.add(f, 1, out=f[:2]),
    "out that would broadcast": lambda np, f, i, b: np.add(f, np.ones((2, 3, 4)), out=f),
    "out of integers": lambda np, f, i, b: np.add(f, 1, out=i),
    "out of a mask": lambda np, f, i, b: np.add(i, 1, out=b),
    "two outs for one": lambda np, f, i, b: np.add(f, 1, out=(f, f)),
    "one out for two, too small": lambda np, f, i, b: np.modf(f, out=(f, f[:1])),
    "second out casts": lambda np, f, i, b: np.modf(f, out=(f, i)),
    "out of sum": lambda np, f, i, b: f.sum(axis=1, out=f[0]),
    "out of cumsum": lambda np, f, i, b: np.cumsum(f, axis=0, out=f[:2]),
    "out of concatenate": lambda np, f, i, b: np.concatenate([f, f], out=f),
    "out of matmul": lambda np, f, i, b: np.matmul(f, f.T, out=f),
    "out of clip casts": lambda np, f, i, b: np.clip(f, 1, 2, out=i),
    "out of take": lambda np, f, i, b: np.take(f, [0, 1], axis=0, out=f),
    "where of floats": lambda np, f, i, b: np.add(f, 1, out=f, where=f),
    "where of another shape": lambda np, f, i, b: np.add(f, 1, out=f, where=b.T),
    "copyto shape": lambda np, f, i, b: np.copyto(f, np.ones(3)),
    "copyto casts": lambda np, f, i, b: np.copyto(i, f),
    "copyto where": lambda np, f, i, b: np.copyto(f, 1.0, where=b.T),
    "fill with text": lambda np, f, i, b: f.fill("word"),
    "fill with a list": lambda np, f, i, b: f.fill([1.0, 2.0]),
    "fill beyond the dtype": lambda np, f, i, b: i.astype("i1").fill(200),
    "put beyond": lambda np, f, i, b: np.put(f, [12, 0], [9.0, 9.0]),
    "place with nothing": lambda np, f, i, b: np.place(f, b, []),
    "putmask of another shape": lambda np, f, i, b: np.putmask(f, b[:2], 9.0),
    "add.at beyond": lambda np, f, i, b: np.add.at(f, [0, 3], 1.0),
    "put_along_axis": lambda np, f, i, b: np.put_along_axis(f, np.array([[5]]), 1.0, axis=1),
    "fill_diagonal of a vector": lambda np, f, i, b: np.fill_diagonal(f[0], 1.0),
    "sort along no axis": lambda np, f, i, b: f.sort(axis=2),
    "sort by an unknown kind": lambda np, f, i, b: f.sort(kind="bogo"),
    "partition beyond": lambda np, f, i, b: f.partition(4),
    "shape that does not fit": lambda np, f, i, b: setattr(f, "shape", (5, 2)),
    "shape of a transpose": lambda np, f, i, b: setattr(f.T, "shape", (12,)),
    "dtype that does not fit": lambda np, f, i, b: f[:, :3].T.view("c16"),
    "imag of a real array": lambda np, f, i, b: setattr(f, "imag", 1.0),
    "flat beyond": lambda np, f, i, b: put(f.flat, 12, 1.0),
    "unpack too few": lambda np, f, i, b: (lambda a, c: None)(*f),
    "shuffle of a scalar": lambda np, f, i, b: np.random.default_rng(0).shuffle(f[0, 0]),
}  # fmt: skip

READ_ONLY: dict[str, Faulty] = {
    "element": lambda np, r: put(r, (0, 0), 1.0),
    "slice": lambda np, r: put(r, slice(1), 1.0),
    "view of it": lambda np, r: put(r[1:].T, 0, 1.0),
    "mask": lambda np, r: put(r, r > 3, 1.0),
    "list": lambda np, r: put(r, [0, 1], 1.0),
    "iadd": lambda np, r: r.__iadd__(1),
    "imatmul": lambda np, r: r[:, :3].__imatmul__(np.eye(3)),
    "out": lambda np, r: np.negative(r, out=r),
    "out of a sum": lambda np, r: np.ones((5, 4)).sum(axis=0, out=r[0]),
    "second out": lambda np, r: np.modf(np.ones((3, 4)), out=(np.ones((3, 4)), r)),
    "fill": lambda np, r: r.fill(0),
    "sort": lambda np, r: r.sort(),
    "put": lambda np, r: np.put(r, [0], [1.0]),
    "place": lambda np, r: np.place(r, r > 3, [1.0]),
    "copyto": lambda np, r: np.copyto(r, 1.0),
    "add.at": lambda np, r: np.add.at(r, [0], 1.0),
    "flat": lambda np, r: put(r.flat, 0, 1.0),
    "real": lambda np, r: setattr(r, "real", 1.0),
    "fill_diagonal": lambda np, r: np.fill_diagonal(r, 1.0),
    "shuffle": lambda np, r: np.random.default_rng(0).shuffle(r),
}

READS: dict[str, Faulty] = {
    "list beyond": lambda np, f, i, b: f[[0, 3]],
    "array beyond": lambda np, f, i, b: f[:, np.array([0, 4])],
    "mask of another length": lambda np, f, i, b: f[np.array([True, False])],
    "mask of another shape": lambda np, f, i, b: f[b.T],
    "lists of two lengths": lambda np, f, i, b: f[[0, 1, 2], [0, 1]],
    "array of floats": lambda np, f, i, b: f[np.array([0.0])],
    "text": lambda np, f, i, b: f["a", 0],
    "object": lambda np, f, i, b: f[object()],
    "slice by float": lambda np, f, i, b: f[0.0:2.0],
    "too many": lambda np, f, i, b: f[0, 0, None, 0],
    "take beyond": lambda np, f, i, b: np.take(f, [12]),
    "take by a word": lambda np, f, i, b: np.take(f, [0], mode="bounce"),
    "take along no axis": lambda np, f, i, b: np.take(f, [0], axis=2),
    "choose beyond": lambda np, f, i, b: np.choose(i, [f, f]),
    "compress too long": lambda np, f, i, b: np.compress([True] * 5, f, axis=0),
    "repeat counts": lambda np, f, i, b: np.repeat(f, [1, 2], axis=0),
    "repeat negative": lambda np, f, i, b: np.repeat(f, -1),
    "split unequally": lambda np, f, i, b: np.split(f, 2),
    "stack nothing": lambda np, f, i, b: np.stack([]),
    "vstack widths": lambda np, f, i, b: np.vstack([f, f[:, :2]]),
    "hstack heights": lambda np, f, i, b: np.hstack([f, f[:2]]),
    "tile negative": lambda np, f, i, b: np.tile(f, -1) + f,
    "roll along no axis": lambda np, f, i, b: np.roll(f, 1, axis=3),
    "flip along no axis": lambda np, f, i, b: np.flip(f, 2),
    "rot90 axes": lambda np, f, i, b: np.rot90(f, axes=(0, 0)),
    "pad by a word": lambda np, f, i, b: np.pad(f, 1, mode="wobble"),
    "pad negative": lambda np, f, i, b: np.pad(f, -1),
    "order": lambda np, f, i, b: f.copy(order="Q"),
    "order of zeros": lambda np, f, i, b: np.zeros((2, 2), order="Q"),
    "reshape order": lambda np, f, i, b: f.reshape(4, 3, order="K"),
    "casting by a word": lambda np, f, i, b: np.add(f, 1, casting="perhaps"),
    "astype by a word": lambda np, f, i, b: f.astype("i4", casting="perhaps"),
    "astype safely": lambda np, f, i, b: f.astype("i4", casting="same_kind"),
    "dtype of sum": lambda np, f, i, b: f.sum(dtype="nonsense"),
    "argmax along no axis": lambda np, f, i, b: f.argmax(axis=7),
    "cumsum along no axis": lambda np, f, i, b: f.cumsum(axis=2),
    "diff negative": lambda np, f, i, b: np.diff(f, n=-1),
    "diff of masks along no axis": lambda np, f, i, b: np.diff(b, axis=2),
    "trace of a vector": lambda np, f, i, b: np.trace(f[0]),
    "diagonal of one axis": lambda np, f, i, b: f.diagonal(axis1=1, axis2=1),
    "percentile beyond": lambda np, f, i, b: np.percentile(f, 101),
    "histogram of no bins": lambda np, f, i, b: np.histogram(f, bins=0),
    "bincount of negatives": lambda np, f, i, b: np.bincount(i.ravel() - 5),
    "bincount of floats": lambda np, f, i, b: np.bincount(f.ravel()),
    "searchsorted of a grid": lambda np, f, i, b: np.searchsorted(f, 1.0),
    "interp lengths": lambda np, f, i, b: np.interp(f, [1, 2, 3], [1, 2]),
    "convolve nothing": lambda np, f, i, b: np.convolve(f[0], []),
    "dot shapes": lambda np, f, i, b: np.dot(f, f),
    "matmul of a scalar": lambda np, f, i, b: f @ 2,
    "einsum by nonsense": lambda np, f, i, b: np.einsum("ij,jk->iq", f, f),
    "einsum shapes": lambda np, f, i, b: np.einsum("ij,jk", f, f),
    "tensordot shapes": lambda np, f, i, b: np.tensordot(f, f, axes=1),
    "cross": lambda np, f, i, b: np.cross(f, f),
    "inverse of no square": lambda np, f, i, b: np.linalg.inv(f),
    "inverse of a singular": lambda np, f, i, b: np.linalg.inv(np.zeros((3, 3))),
    "solve shapes": lambda np, f, i, b: np.linalg.solve(np.eye(3), np.ones(4)),
    "cholesky": lambda np, f, i, b: np.linalg.cholesky(-np.eye(3)),
    "fft of nothing": lambda np, f, i, b: np.fft.fft(f, n=0),
    "fft along no axis": lambda np, f, i, b: np.fft.fft(f, axis=4),
    "random range": lambda np, f, i, b: np.random.default_rng(0).integers(5, 1),
    "random shape": lambda np, f, i, b: np.random.default_rng(0).normal(size=-1),
    "random scale": lambda np, f, i, b: np.random.default_rng(0).normal(0, -1, 3),
    "where with one branch": lambda np, f, i, b: np.where(b, f),
    "select lengths": lambda np, f, i, b: np.select([b, b], [f]),
    "broadcast": lambda np, f, i, b: np.broadcast_arrays(f, np.ones(3)),
    "meshgrid indexing": lambda np, f, i, b: np.meshgrid(f[0], f[1], indexing="kl"),
    "full of text": lambda np, f, i, b: np.full(3, "word", dtype="f8"),
    "array of text": lambda np, f, i, b: np.array(["a"], dtype="f8"),
    "ragged": lambda np, f, i, b: np.array([[1, 2], [3]]),
    "arange without end": lambda np, f, i, b: np.arange(0, 1, 0),
    "arange too long": lambda np, f, i, b: np.arange(0.0, float("inf")),
    "shape of floats": lambda np, f, i, b: np.ones((2.0, 3)),
    "shape too large": lambda np, f, i, b: np.ones((2**62, 2**62)),
    "eye negative": lambda np, f, i, b: np.eye(-1) @ f,
    "logical shift": lambda np, f, i, b: np.left_shift(f, 1),
    "isnan of text": lambda np, f, i, b: np.isnan("word"),
    "compare shapes": lambda np, f, i, b: f < np.ones(3),
    "equal shapes": lambda np, f, i, b: f == np.ones(3),
    "ufunc with three": lambda np, f, i, b: np.negative(f, f, f),
    "reduce of a unary": lambda np, f, i, b: np.negative.reduce(f),
    "reduce along no axis": lambda np, f, i, b: np.add.reduce(f, axis=2),
    "reduce several of subtract": lambda np, f, i, b: np.subtract.reduce(f, axis=(0, 1)),
    "accumulate of a scalar": lambda np, f, i, b: np.add.accumulate(np.array(2.0)),
    "accumulate several axes": lambda np, f, i, b: np.add.accumulate(f, axis=(0, 1)),
    "reduceat beyond": lambda np, f, i, b: np.add.reduceat(f, [0, 3]),
    "outer of a unary": lambda np, f, i, b: np.negative.outer(f, f),
    "item beyond": lambda np, f, i, b: f.item(12),
    "item of a pair": lambda np, f, i, b: f.item((0, 9)),
    "view of another size": lambda np, f, i, b: f[:, :3].copy().view("c16"),
    "unknown device": lambda np, f, i, b: np.asarray(f, device="abacus"),
    "copy that cannot be avoided": lambda np, f, i, b: np.asarray(f, dtype="f4", copy=False),
    "as_strided negative": lambda np, f, i, b: np.lib.stride_tricks.as_strided(f, (-1,), (8,)),
    "window too wide": lambda np, f, i, b: np.lib.stride_tricks.sliding_window_view(f, (4, 4)),
}  # fmt: skip


def refused(program: Faulty, *arrays: Any) -> None:
    """Assert that NumPy refuses the program, and lazyfuse with the same exception and arrays."""
    with pytest.raises(Exception):  # noqa: B017, PT011 - a fault that NumPy accepts is no fault
        program(host, *(array.copy() for array in arrays))
    oracle.check(program, *arrays)


@pytest.mark.parametrize("name", WRITES)
def test_refused_writes_write_nothing(name: str) -> None:
    """A refused write leaves every array as NumPy leaves it: as it was."""
    refused(WRITES[name], F, I, B)


@pytest.mark.parametrize("name", WRITES)
def test_pending_arrays_survive_refused_writes(name: str) -> None:
    """The same on arrays with recorded writes and pending values: both are still right."""

    def program(np: Any, f: Any, i: Any, b: Any) -> Any:
        f += 1
        before = f * 2
        try:
            WRITES[name](np, f, i, b)
        except Exception as error:  # noqa: BLE001 - which one, the other test says
            kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__
        else:
            kind = "nothing"
        f[0] -= 3
        return [kind, before, f.sum(), i, b]

    oracle.check(program, F, I, B)


@pytest.mark.parametrize("name", READ_ONLY)
@pytest.mark.parametrize("make", ("broadcast", "flag", "diagonal"))
def test_read_only_arrays_stay(name: str, make: str) -> None:
    """Whatever writes refuses arrays that NumPy makes read-only."""

    def program(np: Any, x: Any) -> Any:
        if make == "broadcast":
            r = np.broadcast_to(x[0], (3, 4))
        elif make == "flag":
            r = x[:]
            r.flags.writeable = False
        else:
            r = np.stack([x, x, x]).diagonal(0, 1, 0)  # of shape (4, 3)
        READ_ONLY[name](np, r)

    if make == "diagonal" and name in ("imatmul", "second out", "out of a sum"):
        pytest.skip("of another shape")
    refused(program, F)


@pytest.mark.parametrize("name", READS)
def test_refused_reads(name: str) -> None:
    """NumPy's exception comes at the call."""
    refused(READS[name], F, I, B)
