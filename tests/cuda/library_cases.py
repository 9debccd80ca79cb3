"""Programs of library calls, for the fake GPU and, by `scripts/gpu_check`, for a real one.

A program is `program(np, *arrays)`; what it makes besides library calls is views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

Program = Callable[..., Any]

#: Sums in another order: relative to the largest magnitude of the result, in units of its eps.
SUM_EPS = 64


def numbers(*shape: int, dtype: str = "f8") -> np.ndarray:
    """Small integers in an irregular order, so that sums are exact in every dtype."""
    values = (np.arange(int(np.prod(shape))) * 7 % 11 - 3).reshape(shape)
    parts = values + 1j * values[..., ::-1] if dtype[0] == "c" else values
    return (parts > 0 if dtype == "?" else abs(values) if dtype[0] == "u" else parts).astype(dtype)


def regular(dtype: str = "f8", size: int = 4) -> np.ndarray:
    """A square matrix that is far from singular."""
    return numbers(size, size, dtype=dtype) + 9 * size * np.eye(size, dtype=dtype)


#: Program, and shapes of the operands.
PRODUCTS: dict[str, tuple[Program, tuple[int, ...], tuple[int, ...]]] = {
    "matmul": (lambda np, a, b: a @ b, (4, 6), (6, 5)),
    "matmul of stacks": (lambda np, a, b: a @ b, (3, 4, 6), (3, 6, 5)),
    "matmul, broadcast": (lambda np, a, b: a @ b, (2, 1, 4, 6), (3, 6, 5)),
    "matmul of a stack and a matrix": (lambda np, a, b: a @ b, (3, 4, 6), (6, 5)),
    "large matmul": (lambda np, a, b: a @ b, (65, 130), (130, 33)),
    "row @ matrix": (lambda np, a, b: a @ b, (6,), (6, 5)),
    "matrix @ column": (lambda np, a, b: a @ b, (4, 6), (6,)),
    "row @ stack": (lambda np, a, b: a @ b, (6,), (3, 6, 5)),
    "row @ column": (lambda np, a, b: a @ b, (6,), (6,)),
    "one element": (lambda np, a, b: a @ b, (1, 6), (6, 1)),
    "dot": (lambda np, a, b: np.dot(a, b), (4, 6), (6, 5)),
    "dot of vectors": (lambda np, a, b: np.dot(a, b), (6,), (6,)),
    "dot, many axes": (lambda np, a, b: np.dot(a, b), (2, 3, 6), (4, 6, 5)),
    "dot with a vector": (lambda np, a, b: np.dot(a, b), (2, 3, 6), (6,)),
    "inner": (lambda np, a, b: np.inner(a, b), (2, 3, 6), (5, 6)),
    "vdot": (lambda np, a, b: np.vdot(a, b), (4, 6), (6, 4)),
    "vecdot": (lambda np, a, b: np.vecdot(a, b), (3, 1, 6), (4, 6)),
    "matvec": (lambda np, a, b: np.matvec(a, b), (3, 4, 6), (3, 6)),
    "vecmat": (lambda np, a, b: np.vecmat(a, b), (3, 6), (3, 6, 5)),
    "tensordot": (lambda np, a, b: np.tensordot(a, b, ((0, 2), (1, 0))), (2, 3, 6), (6, 2, 5)),
    "einsum": (lambda np, a, b: np.einsum("ij,jk", a, b), (4, 6), (6, 5)),
    "einsum, transposed": (lambda np, a, b: np.einsum("ij,jk->ki", a, b), (4, 6), (6, 5)),
    "einsum, batch": (lambda np, a, b: np.einsum("bij,bkj->bik", a, b), (2, 3, 6), (2, 5, 6)),
    "einsum, two sums": (lambda np, a, b: np.einsum("aij,jib->ab", a, b), (2, 3, 6), (6, 3, 5)),
    "einsum, outer": (lambda np, a, b: np.einsum("i,j->ji", a, b), (4,), (6,)),
    "einsum, full": (lambda np, a, b: np.einsum("ij,ji->", a, b), (4, 6), (6, 4)),
}
#: Views of an operand of shape (6, 8).
LAYOUTS: dict[str, Program] = {
    "transposed": lambda np, x: x.T,
    "strided": lambda np, x: x[::2, 1::2],
    "reversed": lambda np, x: x[::-1, ::-1],
    "offset": lambda np, x: x[3:, 2:],
    "broadcast": lambda np, x: np.broadcast_to(x[1], (6, 8)),
    "diagonal": lambda np, x: np.broadcast_to(np.diagonal(x), (4, 6)),
    "one row": lambda np, x: x[2:3],
}
#: Of an operand of shape (6, 8).
TRANSFORMS: dict[str, Program] = {
    "fft": lambda np, x: np.fft.fft(x),
    "ifft": lambda np, x: np.fft.ifft(x),
    "rfft": lambda np, x: np.fft.rfft(x.real),
    "rfft, odd": lambda np, x: np.fft.rfft(x.real[:, 1:]),
    "irfft": lambda np, x: np.fft.irfft(x),
    "irfft, odd": lambda np, x: np.fft.irfft(x, 7),
    "hfft": lambda np, x: np.fft.hfft(x),
    "ihfft": lambda np, x: np.fft.ihfft(x.real),
    "shorter": lambda np, x: np.fft.fft(x, 5),
    "longer": lambda np, x: np.fft.rfft(x.real, 12),
    "axis": lambda np, x: np.fft.ifft(x, axis=0),
    "ortho": lambda np, x: np.fft.rfft(x.real, norm="ortho"),
    "forward": lambda np, x: np.fft.fft(x, norm="forward", axis=0),
    "fft2": lambda np, x: np.fft.fft2(x),
    "irfftn": lambda np, x: np.fft.irfftn(x),
}
#: NaNs of both signs, both zeros, infinities and ties.
UNORDERED = np.array(
    [[3, -np.nan, 1, 3], [np.nan, -2, -np.inf, -0.0], [1, 1, -np.nan, 0.0], [0.5, -0.0, 0, 1]]
)
SORTS: dict[str, Program] = {
    "sort": lambda np, x: np.sort(x),
    "sort, axis 0": lambda np, x: np.sort(x, axis=0),
    "sort all": lambda np, x: np.sort(x, axis=None),
    "sort one axis": lambda np, x: np.sort(x[0]),
    "sort many": lambda np, x: np.sort(np.broadcast_to(x, (1024, *x.shape)), axis=None),
    "sort stably": lambda np, x: np.sort(x[1], kind="stable"),
    "argsort": lambda np, x: np.argsort(x, stable=True),
    "argsort, axis 0": lambda np, x: np.argsort(x, axis=0, kind="stable"),
    "argsort one axis": lambda np, x: np.argsort(x[:, 0], kind="mergesort"),
}
#: Of a vector of 48.
MASKS: dict[str, Program] = {
    "read": lambda np, x: x[x > 2],
    "nonzero": lambda np, x: np.nonzero(x.reshape(6, 8) > 2)[1],
    "argwhere": lambda np, x: np.argwhere(x.reshape(2, 3, 8) > 5),
    "flatnonzero": lambda np, x: np.flatnonzero(x > 2),
    "none": lambda np, x: x[x > 99],
    "all": lambda np, x: x[x > -99],
}
TYPED: dict[str, Program] = {
    "narrower": lambda np, x: x.view("u4") + 1,
    "wider": lambda np, x: (x.astype("f4") + 1).view("u8"),
    "bits": lambda np, x: (x.view("i8") >> 52) & 0x7FF,
    "transposed": lambda np, x: (x.reshape(6, 8) * 2).T.copy(order="K").T.view("i2") ^ 5,
}
#: Of a regular matrix, and the function of CuPy that is called.
AT_ONCE: dict[str, tuple[Program, str]] = {
    "inv": (lambda np, a: np.linalg.inv(a), "linalg.inv"),
    "solve": (lambda np, a: np.linalg.solve(a, a[:, :2] + 1), "linalg.solve"),
    "solve, a vector": (lambda np, a: np.linalg.solve(a, a[:, 1]), "linalg.solve"),
    "cholesky": (lambda np, a: np.linalg.cholesky(a @ a.conj().T), "linalg.cholesky"),
    "eigvalsh": (lambda np, a: np.linalg.eigvalsh(a + a.conj().T, "U"), "linalg.eigvalsh"),
    "svd": (lambda np, a: np.linalg.svd(a[:, 1:], compute_uv=False), "linalg.svd"),
    "svdvals": (lambda np, a: np.linalg.svdvals(a), "linalg.svd"),
}


class Case(NamedTuple):
    """A program, and what it runs on. Its result is compared with NumPy's by `difference`."""

    name: str
    program: Program
    arrays: tuple[np.ndarray, ...]


def cases() -> Iterator[Case]:
    """All programs, in the dtypes that GPUs compute."""
    yield from products()
    yield from others()


def products() -> Iterator[Case]:
    """Of every kind, dtype and layout."""
    for name, (program, left, right) in PRODUCTS.items():
        for dtype in "? i1 u2 i4 i8 f2 f4 f8 c8 c16".split():
            operands = numbers(*left, dtype=dtype), numbers(*right, dtype=dtype)
            yield Case(f"{name} {dtype}", program, operands)
    signs = np.where(np.arange(8192) < 4096, 256, -256).astype("f2")  # half of a sum overflows
    parts = np.full((8, 8192), 256, "f2"), np.repeat(signs, 8).reshape(8192, 8)
    yield Case("parts of sums f2", lambda np, a, b: a @ b, parts)
    for name, view in LAYOUTS.items():
        for dtype in ("f2", "f4", "f8", "c8"):
            product = lambda np, x, view=view: view(np, x) @ view(np, x).T  # noqa: E731
            yield Case(f"{name} {dtype}", product, (numbers(6, 8, dtype=dtype),))


def others() -> Iterator[Case]:
    """Transforms, sorts, masks, typed views and linear algebra."""
    for name, program in TRANSFORMS.items():
        for dtype in ("c16", "c8", "f8", "f4", "i4"):
            yield Case(f"{name} {dtype}", program, (numbers(6, 8, dtype=dtype),))
    for name, program in SORTS.items():
        for dtype in ("f2", "f4", "f8", "c8", "c16"):
            yield Case(f"{name} {dtype}", program, (UNORDERED.astype(dtype),))
        for dtype in ("?", "i1", "u4", "i8"):
            yield Case(f"{name} {dtype}", program, (numbers(40, 30, dtype=dtype),))
    for name, program in (MASKS | TYPED).items():
        yield Case(name, program, (numbers(48),))
    for name, (program, _) in AT_ONCE.items():
        for dtype in ("f4", "f8", "c8", "c16"):
            yield Case(f"{name} {dtype}", program, (regular(dtype, 40),))


def difference(found: np.ndarray, expected: np.ndarray) -> str:
    """What is wrong with a result; "" when nothing is: integers and order bit for bit."""
    expected = np.asarray(expected)
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"
    same = found == expected
    if expected.dtype.kind in "fc":
        finite = np.abs(np.where(np.isfinite(expected), expected, 0))
        bound = SUM_EPS * float(np.finfo(expected.dtype).eps) * float(finite.max(initial=0))
        with np.errstate(all="ignore"):
            same |= np.abs(found.astype("c16") - expected.astype("c16")) <= bound
        same |= np.isnan(found) & np.isnan(expected)
    if same.all():
        return ""
    first = tuple(np.argwhere(~same)[0])
    return f"{(~same).sum()} of {same.size} differ, at {first}: {found[first]}, {expected[first]}"
