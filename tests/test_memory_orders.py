"""Where NumPy lays the elements of results, for every function and every way to lie in memory.

Strides of axes of one element, which nothing reads, may differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf

DTYPES = ("f8", "i8", "c16", "b1", "f4")
#: Functions whose last bits are the kernels'.
INEXACT = ("exp", "angle", "sinc", "fft", "logaddexp", "i0", "power", "abs")


def _matrices(np: Any, a: Any) -> Iterator[Any]:
    yield from (a, a.T, a[:, ::2].T, a[::-1], a[:, ::-1], np.asfortranarray(a))
    yield from (np.broadcast_to(a[0], (3, 6)), np.broadcast_to(a[:, :1], (4, 3)).T)
    yield from (a[:0], a[:, :0].T, a[1:2], a[:, None], a[:, 2])


def layouts(np: Any) -> Iterator[Any]:
    """Arrays that lie in all ways."""
    whole = np.arange(24).reshape(4, 6)
    for dtype in DTYPES:
        array = whole % 3 > 1 if dtype == "b1" else whole.astype(dtype)
        yield from _matrices(np, array)
    h, z = np.arange(60.0).reshape(3, 4, 5), whole * (1 + 2j)
    yield from (h, h.T, h.transpose(1, 0, 2), h[:, ::-1, ::2].transpose(2, 0, 1))
    yield from (h[::-1].swapaxes(0, 1), h[:, :0], h.T[:0])
    yield np.broadcast_to(h[:, :1], (3, 4, 5))
    for part in (z.real, z.T.imag, np.broadcast_to(z[0], (2, 6)).real, z[::-1, ::2].imag):
        yield from (part, part[::-1], part.T)
    yield np.broadcast_to(z, (3, 4, 6)).transpose(2, 0, 1).imag


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "round": lambda np, v: v.round(1),
    "round to tens": lambda np, v: v.round(-1),
    "rint": lambda np, v: np.rint(v),
    "astype": lambda np, v: v.astype("c16"),
    "astype A": lambda np, v: v.astype("f4", order="A") if v.dtype.kind != "c" else v,
    "copy A": lambda np, v: v.copy("A"),
    "array": lambda np, v: np.array(v, order="K"),
    "positive": lambda np, v: ~v if v.dtype == bool else +v,
    "add": lambda np, v: v + v[::-1],
    "add a row": lambda np, v: v + v[:1],
    "add into": lambda np, v: np.add(v, v, out=np.zeros_like(v)),
    "add C": lambda np, v: np.add(v, v, order="C"),
    "add F": lambda np, v: np.add(v, v, order="F"),
    "add cast": lambda np, v: np.add(v, v, dtype="c16"),
    "equal": lambda np, v: v == v,
    "where": lambda np, v: np.where(v != 3, v, v),
    "where scalar": lambda np, v: np.where(v != 3, v, 0),
    "sum": lambda np, v: v.sum(0),
    "sum last": lambda np, v: v.sum(-1),
    "sum kept": lambda np, v: v.sum(0, keepdims=True),
    "mean": lambda np, v: v.mean(-1),
    "std": lambda np, v: v.std(0),
    "var": lambda np, v: v.var(-1),
    "max": lambda np, v: v.max(0),
    "argmax": lambda np, v: v.argmax(0),
    "argmin kept": lambda np, v: np.argmin(v, -1, keepdims=True),
    "count_nonzero": lambda np, v: np.count_nonzero(v, 0),
    "any": lambda np, v: v.any(0),
    "cumsum": lambda np, v: v.cumsum(0),
    "cumsum flat": lambda np, v: np.cumsum(v),
    "cumprod": lambda np, v: np.cumprod(v, -1),
    "nanmean": lambda np, v: np.nanmean(v, -1),
    "median": lambda np, v: np.median(v, 0),
    "percentile": lambda np, v: np.percentile(v, 30, axis=-1),
    "average": lambda np, v: np.average(v, 0),
    "sort": lambda np, v: np.sort(v, 0),
    "argsort": lambda np, v: v.argsort(-1, kind="stable"),
    "take": lambda np, v: v.take([0, 0], -1),
    "rows": lambda np, v: v[[0, 0]],
    "columns": lambda np, v: v[..., [0, 0]],
    "mask": lambda np, v: v[v != 3],
    "mask of rows": lambda np, v: v[np.ones(v.shape[0], bool)],
    "take_along_axis": lambda np, v: np.take_along_axis(v, np.zeros(v.shape, int), 0),
    "concatenate": lambda np, v: np.concatenate([v, v]),
    "concatenate last": lambda np, v: np.concatenate([v, v], -1),
    "stack": lambda np, v: np.stack([v, v]),
    "stack last": lambda np, v: np.stack([v, v], -1),
    "repeat": lambda np, v: np.repeat(v, 2, 0),
    "tile": lambda np, v: np.tile(v, 2),
    "roll": lambda np, v: np.roll(v, 1, 0),
    "roll flat": lambda np, v: np.roll(v, 1),
    "flip": lambda np, v: np.flip(v),
    "pad": lambda np, v: np.pad(v, 1),
    "diff": lambda np, v: np.diff(v, axis=0),
    "gradient": lambda np, v: np.gradient(v, axis=0),
    "insert": lambda np, v: np.insert(v, 0, 1, 0),
    "zeros_like": lambda np, v: np.zeros_like(v),
    "full_like": lambda np, v: np.full_like(v, 1, dtype="i4"),
    "matmul": lambda np, v: v @ v.T,
    "dot": lambda np, v: np.dot(v, v.T),
    "outer": lambda np, v: np.multiply.outer(v, [1, 2]),
    "einsum": lambda np, v: np.einsum("ij,ij->i", v, v),
    "tensordot": lambda np, v: np.tensordot(v, v, (0, 0)),
    "fft": lambda np, v: np.fft.fft(v, axis=0),
    "ravel K": lambda np, v: v.ravel("K"),
    "ravel A": lambda np, v: v.ravel("A"),
    "flatten K": lambda np, v: v.flatten("K"),
    "flatten F": lambda np, v: v.flatten("F"),
    "reshape": lambda np, v: v.reshape(-1),
    "reshape F": lambda np, v: v.reshape(-1, order="F"),
    "reshape 2": lambda np, v: v.reshape((2, -1)),
    "squeeze": lambda np, v: v.squeeze(),
    "expand_dims": lambda np, v: np.expand_dims(v, 1).sum(0),
    "atleast_3d": lambda np, v: np.atleast_3d(v).sum(0),
    "moveaxis": lambda np, v: np.moveaxis(v, 0, -1) + 1,
    "diagonal": lambda np, v: v.diagonal(),
    "tril": lambda np, v: np.tril(v),
    "exp": lambda np, v: np.exp(v * 0.01),
    "abs": lambda np, v: abs(v),
    "real": lambda np, v: v.real,
    "imag": lambda np, v: v.imag,
    "conj": lambda np, v: v.conj(),
    "angle": lambda np, v: np.angle(v),
    "power": lambda np, v: v**2,
    "divmod": lambda np, v: np.divmod(v, 2)[0],
    "frexp": lambda np, v: np.frexp(v)[0],
    "modf": lambda np, v: np.modf(v)[1],
    "clip": lambda np, v: np.clip(v, 1, 3),
    "nan_to_num": lambda np, v: np.nan_to_num(v),
    "select": lambda np, v: np.select([v != 3], [v], 0),
    "choose": lambda np, v: np.choose((v != 3) * 1, [v, v]),
    "interp": lambda np, v: np.interp(v, [0, 1], [1, 2]),
    "digitize": lambda np, v: np.digitize(v, [1, 2]),
    "accumulate": lambda np, v: np.add.accumulate(v, -1),
    "reduceat": lambda np, v: np.add.reduceat(v, [0], 0),
    "sinc": lambda np, v: np.sinc(v),
    "logaddexp": lambda np, v: np.logaddexp(v, v),
    "kron": lambda np, v: np.kron(v, [1, 2]),
    "cross": lambda np, v: np.cross(v[..., :3], v[..., :3]),
    "unique": lambda np, v: np.unique(v),
    "argwhere": lambda np, v: np.argwhere(v),
    "partition": lambda np, v: np.partition(v, 0, 0),
    "ascontiguousarray": lambda np, v: np.ascontiguousarray(v),
}


def _outcomes(np: Any, name: str) -> list[Any]:
    """Shape, dtype, strides and elements of each result, or the error."""
    found: list[Any] = []
    for array in layouts(np):
        try:
            result = FUNCTIONS[name](np, array)
        except Exception as error:  # as NumPy's
            found.append((type(error), str(error)))
            continue
        pairs = zip(result.strides, result.shape, strict=True)
        strides = [stride if n > 1 else None for stride, n in pairs] if result.size else None
        elements = None if name in INEXACT else host.asarray(result).tobytes()
        found.append((result.shape, str(result.dtype), strides, elements))
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("eager_size", (0, 30_000))
def test_function(name: str, eager_size: int) -> None:
    with warnings.catch_warnings(), host.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = _outcomes(host, name)
        with lf.options(eager_size=eager_size, cold_size=1 << 40, device="cpu"):
            found = _outcomes(lf, name)
    for number, pair in enumerate(zip(found, wanted, strict=True)):
        assert pair[0] == pair[1], (name, number)
