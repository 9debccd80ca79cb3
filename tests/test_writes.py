"""Writes: in-place operators, slice assignment, `out=`, overlap, and who sees the new values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import Program

GRID = host.arange(30.0).reshape(5, 6)
LINE = host.arange(10.0)
WHOLE = host.arange(10, dtype="i4")

CASES: list[tuple[Program, tuple[Any, ...]]] = []


def on(*arrays: Any) -> Callable[[Program], Program]:
    """Register a program with the arrays it gets."""

    def register(program: Program) -> Program:
        CASES.append((program, arrays))
        return program

    return register


@on(LINE)
def readers_keep_old_values(np: Any, a: Any) -> list[Any]:
    """`v = a[1:]; b = a + 1; v += 5`: b is old, a is new."""
    v = a[1:]
    b = a + 1
    v += 5
    c = a + 1
    a[:] = 0
    return [b, v, c]


@on(LINE)
def every_in_place_operator(np: Any, a: Any) -> list[Any]:
    """Each operator writes into the same array, seen by a view made before."""
    view, same = a[::2], a
    a += 3
    a -= 1
    a *= 2
    a /= 4
    a //= 0.25
    a %= 7
    a **= 2
    return [view, a is same, same]


@on(WHOLE)
def every_in_place_bit_operator(np: Any, a: Any) -> list[Any]:
    """The bit operators too."""
    view, same = a[::-1], a
    a <<= 2
    a |= 1
    a ^= 6
    a &= 29
    a >>= 1
    return [view, a is same]


@on(GRID)
def slice_assignment(np: Any, x: Any) -> list[Any]:
    """Assignment broadcasts, casts, and takes any basic index."""
    x[1] = 7
    x[:, 2] = [1, 2, 3, 4, 5]
    x[::-2, 1:3] = x[0, :2]
    x[..., -1] = True
    x[2, 3] = -4.5
    x[3:, None, :2] = 9
    x[1:1] = 5
    x[0, ...] = x[4]
    return [x.copy()]


@on(GRID)
def assignment_of_a_wrong_shape(np: Any, x: Any) -> None:
    """A value that does not broadcast raises ValueError and writes nothing."""
    x[1:3] = np.ones((3, 6))


@on(GRID)
def assignment_with_leading_ones(np: Any, x: Any) -> None:
    """Leading axes of length one of the value are dropped."""
    x[0] = np.ones((1, 1, 6))


@on(WHOLE)
def assignment_casts(np: Any, x: Any) -> list[Any]:
    """Assignment casts unsafely: floats truncate."""
    x[:3] = np.array([1.9, -1.9, 2.5])
    x[4] = 3.7
    x[5:7] = True
    return [x]


@on(LINE)
def shift_by_one(np: Any, a: Any) -> None:
    """`a[1:] = a[:-1]` reads all before it writes (pitfall P03)."""
    a[1:] = a[:-1]
    a[:-1] = a[1:]
    a[::2] = a[1::2]
    a[::-1] = a


@on(LINE)
def accumulate_shifted(np: Any, a: Any) -> None:
    """`a[1:] += a[:-1]` is no cumulative sum."""
    a[1:] += a[:-1]
    a += a[::-1]
    a[2:8] *= a[4:10]
    np.add(a, a[::-1], out=a)
    np.multiply(a[1:], 2, out=a[:-1])


@on(GRID[:5, :5])
def add_the_transpose(np: Any, x: Any) -> None:
    """`x += x.T` reads all before it writes."""
    x += x.T
    x[:] = x.T
    x[0] += x[:, 0]
    x -= x[2]
    x *= x[:, 1:2]


@on(LINE)
def reduction_into_itself(np: Any, a: Any) -> list[Any]:
    """`a -= a.mean()` and `a /= a.max()` take the fold of the old values (pitfall P09)."""
    a -= a.mean()
    a[:5] += a.sum()
    b = a / a.max()
    a[...] = a - a.min()
    return [b, a + a.sum()]


@on(GRID)
def ufunc_out(np: Any, x: Any) -> list[Any]:
    """`out=` is written, returned, and may be a view, of another dtype or order."""
    o = np.zeros((5, 6), "f4")
    f = np.zeros((5, 6), order="F")
    results = [np.add(x, 1, out=o) is o, np.sqrt(x, out=f) is f, np.multiply(x, 2, f[:, :]) is f]
    np.subtract(x[1:], x[:-1], out=x[:-1])
    mantissa, exponent = np.zeros((5, 6)), np.zeros((5, 6), "i4")
    np.frexp(x, mantissa, exponent)
    np.divmod(x, 3, out=(mantissa, None))
    return [*results, o, f, mantissa, exponent]


@on(GRID)
def out_of_a_wrong_shape(np: Any, x: Any) -> Any:
    """An `out` that must itself be broadcast raises ValueError."""
    return np.add(x, x, out=np.zeros(6))


@on(GRID)
def out_that_is_too_narrow(np: Any, x: Any) -> Any:
    """A float result does not go into an integer `out` (UFuncTypeError)."""
    return np.add(x, x, out=np.zeros((5, 6), "i4"))


@on(GRID)
def out_that_broadcasts_inputs(np: Any, x: Any) -> list[Any]:
    """`out` takes part in broadcasting: its shape may be larger than the inputs'."""
    o = np.zeros((2, 5, 6))
    np.add(x[0], 1, out=o)
    np.multiply(x, x[:, :1], out=o[1])
    return [o]


@on(GRID)
def where_keyword(np: Any, x: Any) -> list[Any]:
    """`where=` leaves the other elements of `out` as they were."""
    o = np.full((5, 6), -1.0)
    np.add(x, 1, out=o, where=x > 12)
    np.log(x, out=o, where=(x > 20) & (x < 25))
    np.negative(x, out=x, where=x % 2 == 0)
    return [o]


@on(GRID)
def copies_are_apart(np: Any, x: Any) -> list[Any]:
    """A copy shares nothing, whichever way it is made (pitfall P04)."""
    copies = [
        x.copy(),
        np.array(x),
        np.copy(x),
        x + 0,
        x.astype("f8"),
        +x,
        np.positive(x),
        x.flatten(),
    ]
    for copy in copies:
        copy[...] = 9
    x += 1
    return copies


@on(GRID)
def no_copies(np: Any, x: Any) -> list[Any]:
    """`asarray`, `astype(copy=False)`, `atleast_1d`, `ravel` and `x[...]` share (pitfall P05)."""
    shares = [
        np.asarray(x),
        x.astype("f8", copy=False),
        np.atleast_1d(x),
        x.ravel(),
        x[...],
        x.view(),
        np.array(x, copy=False),
    ]
    for share in shares:
        share += 1
    return [np.asarray(x) is x]


@on(GRID)
def assignment_copies_values(np: Any, s: Any) -> list[Any]:
    """`d[:] = s[:]` copies now: a later write to s is not seen (pitfall P02)."""
    d = np.zeros((5, 6))
    d[:] = s[:]
    s += 1
    e = np.empty_like(s)
    e[...] = s.T.T
    s[2] = 0
    return [d, e]


@on(LINE)
def views_of_one_base(np: Any, base: Any) -> list[Any]:
    """Overlapping views as two arguments of one function (pitfall P06)."""

    def double_first(x: Any, y: Any) -> Any:
        x *= 2
        return x + y

    apart = double_first(base[:4], base[4:8])
    overlapping = double_first(base[:4], base[2:6])
    same = double_first(base[1:5], base[1:5])
    return [apart, overlapping, same]


@on(host.zeros(8), host.zeros(8))
def jacobi_pair(np: Any, a: Any, b: Any) -> list[Any]:
    """Equal sizes at different offsets do not fuse wrongly (pitfall P12)."""
    a[:] = np.arange(8)
    b[:] = np.arange(8)[::-1]
    for _ in range(10):
        a[1:-1] = b[:-2] + b[2:]
        b[1:-1] = a[1:-1] * 2
    return []


@on(host.zeros((6, 7)))
def heat_step(np: Any, u: Any) -> list[Any]:
    """A stencil that writes in place through slices."""
    u[2:4, 2:5] = 100
    for _ in range(8):
        u[1:-1, 1:-1] += 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return [u.sum(), u[::-1]]


@on(host.zeros((4, 5)))
def fill_by_rows(np: Any, x: Any) -> list[Any]:
    """A Python loop of row and element writes, then whole-array work (pitfall P11)."""
    for i in range(4):
        x[i] = np.arange(5) * i
        x[i, i] += 100
    y = x * 2
    x -= y / (1 + y)
    for row in x:
        row += 1
    return [y]


@on(LINE)
def write_between_reads(np: Any, a: Any) -> list[Any]:
    """Each read sees the writes before it and none after (pitfalls P01, P10)."""
    seen = []
    for k in range(5):
        seen.append(a * 1)
        a[k : k + 3] += 10
        seen.append(a[k])
        seen.append(float(a[k + 1]))
    return seen


@on(GRID)
def write_through_many_views(np: Any, x: Any) -> list[Any]:
    """A write through any view is seen through all of them."""
    views = [
        x.T,
        x[::-1],
        x[1:, ::2],
        x.reshape(6, 5),
        x[2],
        x[None],
        x.ravel(),
        x[:, 1].reshape(5, 1),
    ]
    for k, view in enumerate(views):
        view *= 1 + k / 8
        view[..., 0] = k
    return [view.sum() for view in views] + views


@on(GRID)
def chained_assignment(np: Any, x: Any) -> list[Any]:
    """`x[1:][0][2] = v` reaches x; `x[1] += 1` writes once (pitfall P07)."""
    x[1:][0][2] = -1
    x[:3] *= 10
    x[1][2:4] += 5
    return []


@on(WHOLE)
def augmented_with_other_dtypes(np: Any, a: Any) -> list[Any]:
    """In-place keeps the dtype of the target."""
    a += np.ones(10, "i2")
    a *= True
    f = np.ones(10, "f4")
    f += np.arange(10)
    f *= np.float64(1.1)
    h = np.ones(10, "f2")
    h += np.full(10, 1e-3)
    return [a, f, h]


@on(WHOLE)
def augmented_needs_a_safe_cast(np: Any, a: Any) -> None:
    """`int += 0.5` raises at the call and changes nothing (pitfall P42)."""
    a += 0.5


@on(WHOLE)
def true_divide_in_place(np: Any, a: Any) -> None:
    """`int /= int` raises at the call."""
    a /= 2


@on(host.arange(5, dtype="u1"))
def unsigned_minus_signed_in_place(np: Any, a: Any) -> None:
    """uint8 += int8 array needs int16, which does not cast back."""
    a += np.ones(5, "i1")


@on(GRID)
def broadcast_views_are_read_only(np: Any, x: Any) -> None:
    """A write to a broadcast view raises ValueError."""
    np.broadcast_to(x, (2, 5, 6))[0] = 1


@on(GRID)
def broadcast_views_in_place(np: Any, x: Any) -> None:
    """So does an in-place operator."""
    view = np.broadcast_to(x[0], (5, 6))
    view += 1


@on(GRID)
def out_that_is_read_only(np: Any, x: Any) -> Any:
    """And `out=`."""
    return np.add(x, 1, out=np.broadcast_to(x[0], (5, 6)))


@on(GRID)
def in_place_cannot_grow(np: Any, x: Any) -> None:
    """The target of an in-place operator does not broadcast."""
    row = x[0]
    row += x


@on(LINE)
def swap(np: Any, a: Any) -> list[Any]:
    """Swapping names and swapping contents."""
    b = a[::-1].copy()
    a, b = b, a
    a[:5], b[:5] = b[:5].copy(), a[:5].copy()
    t = a[2:4] * 1
    a[2:4] = a[4:6]
    a[4:6] = t
    return [a, b]


@on(LINE)
def duplicate_indices(np: Any, a: Any) -> list[Any]:
    """Fancy assignment: the last value wins; in-place adds once (pitfall P45)."""
    a[[1, 1, 2]] = [5, 6, 7]
    a[[3, 3]] += 1
    a[a > 6] = 0
    a[np.array([True, False] * 5)] *= 2
    return [a[[0, -1]], a[a > 2]]


@on(LINE)
def fill_and_put(np: Any, a: Any) -> list[Any]:
    """`fill`, `copyto` and `put` write in place."""
    view = a[2:5]
    view.fill(3)
    np.copyto(a[5:], a[:5])
    np.copyto(a, 1, where=a > 3)
    np.put(a, [0, 1], [8, 9])
    return [view]


@on(LINE)
def setitem_of_a_list(np: Any, a: Any) -> list[Any]:
    """Lists, nested arrays and scalars are values."""
    a[1:4] = [1, 2.5, np.float32(3)]
    a[4:6] = (7, 8)
    a[6] = np.array([9.0])[0]
    a[7] = np.array(4)
    return []


@on(LINE)
def text_does_not_go_in(np: Any, a: Any) -> None:
    """A value that is no number raises ValueError and leaves the array alone."""
    a[2] = "seven"


@on(GRID)
def write_after_pending_reduction(np: Any, x: Any) -> list[Any]:
    """A fold recorded before a write folds the old values, whenever it is read."""
    total, rows, top = x.sum(), x.sum(1), x.argmax()
    x[2:] = 0
    later = x.sum()
    x[:, 0] = rows
    return [total, rows, top, later, x.sum(0)]


@on(LINE, WHOLE)
def elements_are_values(np: Any, x: Any, i: Any) -> list[Any]:
    """`x[0]` is a value, not a view: `y = x[0]; y += 1` leaves x alone, and a later write to x
    leaves y alone.
    """
    y, z = x[0], x[1]
    y += 5
    x[1] = 99
    i[2] += 0.75
    i[3] *= 2.5
    same = y
    y *= 2
    return [y, z, same]


@on(LINE)
def folds_are_values(np: Any, x: Any) -> list[Any]:
    """`s = x.sum(); t = s; s += 1` leaves t alone: a full fold is a scalar."""
    s = x.sum()
    t = s
    s += 1
    top, same = x.max(), None
    same = top
    top *= 2
    count = (x > 3).sum()
    count = count / 4
    count += 0.5
    whole = x.astype("i4").sum()
    whole += 0.5
    return [s, t, top, same, count, whole]


@on(GRID)
def functional_and_in_place(np: Any, x: Any) -> list[Any]:
    """Many versions of one array, each with readers."""
    versions = []
    for k in range(6):
        versions.append(x[k % 5] + x[:, :1])
        x[k % 5, ::2] = versions[-1].sum(0)[::2] / 7
        versions.append(x.T[1:3])
    return [v * 1 for v in versions] + versions


@pytest.mark.parametrize("program,arrays", CASES, ids=[case[0].__name__ for case in CASES])
def test_program(program: Program, arrays: tuple[Any, ...]) -> None:
    """Run each program above."""
    oracle.check(program, *arrays, sums=True)


@pytest.mark.engine
@pytest.mark.parametrize("program,arrays", CASES, ids=[case[0].__name__ for case in CASES])
def test_program_cut_short(program: Program, arrays: tuple[Any, ...]) -> None:
    """The same with the trace cut after every few nodes, and without fusion."""
    for mode in ({"max_pending_nodes": 2}, {"fusion": False}):
        with oracle.options(**mode):
            oracle.check(program, *arrays, sums=True)


SIZES = (8, 1000, 2**20)


@pytest.mark.parametrize("size", SIZES)
def test_overlap_at_sizes(size: int) -> None:
    """Overlap is right when one vector, one block, or several threads do the work (pitfall
    P03).
    """

    def program(np: Any, a: Any) -> list[Any]:
        a[1:] = a[:-1]
        a += a[::-1]
        a[: size // 2] += a[size // 2 :]
        a[::2] = a[1::2] * 2
        a[3:] -= a[:-3]
        return [a.sum()]

    oracle.check(program, host.arange(float(size)), sums=True)


@pytest.mark.parametrize("size", (100, 3000))
def test_overlap_in_two_dimensions(size: int) -> None:
    """Overlap of transposed and shifted blocks."""

    def program(np: Any, x: Any) -> None:
        x += x.T
        x[1:, 1:] += x[:-1, :-1]
        x[::-1] -= x[:, ::-1]

    oracle.check(program, host.random.default_rng(0).random((size, size)).astype("f4"))


def test_host_memory_is_copied() -> None:
    """A NumPy array written later does not change what was made from it (pitfall P14)."""
    lf = oracle.lf
    source = host.arange(5.0)
    made = lf.array(source) + 1
    source[:] = 100
    assert (oracle.to_numpy(made) == host.arange(5.0) + 1).all()


@pytest.mark.engine
def test_asarray_of_host_memory() -> None:
    """`lf.asarray(h)` gives no wrong answer because h is written later."""
    lf = oracle.lf
    source = host.arange(5.0)
    held = lf.asarray(source)
    made = held + 1
    source[:] = 100
    assert (oracle.to_numpy(made) == host.arange(5.0) + 1).all()
    assert (oracle.to_numpy(held) == host.arange(5.0)).all()


@pytest.mark.engine
def test_a_host_operand_is_read_at_the_call() -> None:
    """A NumPy array as an operand, as a value of an assignment, or after a fallback is read when
    it is given.
    """
    lf = oracle.lf
    source = host.arange(5.0)
    x = lf.zeros(5)
    total = x + source
    x[:] = source
    y = lf.where(source > 2, source, 0)
    z = source * x
    source[:] = 100
    for given, wanted in (
        (total, [0, 1, 2, 3, 4]),
        (x, [0, 1, 2, 3, 4]),
        (y, [0, 0, 0, 3, 4]),
        (z, [0, 1, 4, 9, 16]),
    ):
        assert oracle.to_numpy(given).tolist() == wanted


@pytest.mark.engine
def test_numpy_result_does_not_change_later() -> None:
    """What `asnumpy` gave keeps its values when the lazy array is written afterwards; what
    `np.asarray` gave is the array's memory.
    """
    lf = oracle.lf
    x = lf.arange(5.0)
    before = lf.asnumpy(x)
    x += 1
    assert before.tolist() == [0, 1, 2, 3, 4] and lf.asnumpy(x).tolist() == [1, 2, 3, 4, 5]
    seen = host.asarray(x)
    seen[0] = 50
    assert x.tolist()[:2] == [50.0, 2.0]
