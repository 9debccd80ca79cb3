"""P01 to P14: aliasing and ordering, as other engines' users reported it
(`design/pitfalls.md`).
"""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import check

GRID = host.arange(24.0).reshape(4, 6)


def test_p01_read_moved_past_a_later_write() -> None:
    """pytorch#198101: `y = x * 2; x[:, 1:3] = -1` leaves old values in y."""

    def program(np: Any, x: Any) -> Any:
        y, z = x * 2, x[:, 2:5].sum(1)
        x[:, 1:3] = -1
        return [y, z, x + 0]

    check(program, GRID)


def test_p02_copy_elided_then_source_mutated() -> None:
    """pytorch#198131: `d[:] = s[:]; s += 1` copies the old s."""

    def program(np: Any, d: Any, s: Any) -> Any:
        d[:] = s[:]
        s += 1

    check(program, host.zeros((4, 6)), GRID)


@pytest.mark.parametrize("size", (8, 2**22))
def test_p03_self_overlap(size: int) -> None:
    """pytorch#198033: `a[1:] = a[:-1]` and `x += x[::-1]` read before they write, at any size."""

    def program(np: Any, a: Any, x: Any) -> Any:
        a[1:] = a[:-1]
        x += x[::-1]

    check(program, host.arange(float(size)), host.arange(size))


def test_p04_returned_value_aliases_an_input() -> None:
    """pytorch#195451: an identity op or a copy is not the input."""

    def program(np: Any, x: Any) -> Any:
        y = x.copy()
        z = y + 0
        z[:] = 9
        w = np.where(True, x, 0)
        w[:] = 8
        return [y, z]

    check(program, GRID)


def test_p05_mutation_through_an_identity_op() -> None:
    """pytorch#195422: `y = asarray(x); y += y` changes x, and so does `atleast_1d`."""

    def program(np: Any, x: Any) -> Any:
        y = np.asarray(x)
        y += y
        z = np.atleast_1d(x)
        z += 1

    check(program, GRID)


def test_p06_cached_kernel_under_new_aliasing() -> None:
    """pytorch#139789: first without aliasing, then with overlapping views of one base; broadcasts
    are read-only.
    """

    def f(x: Any, y: Any) -> Any:
        x *= 2
        return x + y

    def program(np: Any, p: Any, q: Any, base: Any) -> Any:
        return [f(p, q), f(base[:4], base[2:6])]

    check(program, host.ones(4), host.ones(4), host.ones(6))
    check(lambda np, x: np.broadcast_to(x, (3, 4)).__imul__(2), host.ones(4))


def test_p07_in_place_on_a_slice_is_one_store() -> None:
    """tinygrad#9940: `t[:3] *= 10` is applied once."""

    def program(np: Any, t: Any) -> Any:
        t[:3] *= 10
        t[1:3][:1] *= 10

    check(program, host.ones(6))


def test_p08_in_place_update_in_a_loop() -> None:
    """tinygrad#16618: `w -= 0.1 * g(w)` five times gives five different sums."""

    def program(np: Any, w: Any) -> Any:
        sums = []
        for _ in range(5):
            w -= 0.1 * (w * w)
            sums.append(float(w.sum()))
        return np.array(sums)

    check(program, host.linspace(0.1, 1, 9), sums=True)


def test_p09_reduction_fused_into_its_own_consumer() -> None:
    """numba#9139: `a / a.max()` and `a + a.sum()` use the finished fold."""

    def program(np: Any, a: Any) -> Any:
        return [a / a.max(), a + a.sum(), a - a.mean(), (a == a.max()).sum()]

    check(program, host.arange(3.0))
    check(program, host.arange(30_000.0))

    def rows(np: Any, x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return (abs((e / e.sum(axis=1, keepdims=True)).sum(axis=1) - 1) < 1e-12).all()

    check(rows, GRID)


def test_p10_side_effects_reordered() -> None:
    """numba#3534: `print(a[3])` twice after one write shows it twice."""

    def program(np: Any, a: Any) -> Any:
        a[1:8] = np.arange(7)
        first = str(a[3])
        return [first, str(a[3]), f"{a[3]:.1f}"]

    check(program, host.zeros(9))


def test_p11_element_writes_and_whole_array_operations() -> None:
    """numba#7578: rows filled in a Python loop, then a fused in-place operation, 50 times."""

    def program(np: Any, b: Any, c: Any) -> Any:
        for i in range(5):
            b[i] = i * c
            b[i, i] = -1
        b -= c / (1 + c)

    for _ in range(50):
        check(program, host.zeros((5, 300)), host.arange(300.0))


def test_p12_same_size_different_ranges() -> None:
    """ramba#1, dace#1445: a Jacobi pair over shifted slices for ten steps."""

    def program(np: Any, a: Any, b: Any) -> Any:
        for _ in range(10):
            a[1:-1] = b[:-2] + b[2:]
            b[1:-1] = a[1:-1] * 2

    check(program, host.arange(50.0), host.ones(50))


@pytest.mark.parametrize("look", (False, True))
def test_p13_temporary_freed_or_refilled(look: bool) -> None:
    """bohrium#178: a buffer filled from nine slices inside a function, then reduced, printed or
    not.
    """

    def gather(np: Any, u: Any) -> Any:
        p = np.empty((4, 5, 3, 3))
        for i in range(3):
            for j in range(3):
                p[:, :, i, j] = u[i : i + 4, j : j + 5]
        return p

    def program(np: Any, u: Any, weights: Any, res: Any) -> Any:
        p = gather(np, u)
        if look:
            str(p)
        res[...] = np.add.reduce(weights * p, axis=(2, 3))

    check(
        program,
        host.arange(42.0).reshape(6, 7),
        host.arange(9.0).reshape(3, 3),
        host.zeros((4, 5)),
    )


@pytest.mark.parametrize("make", ("array", "asarray"))
def test_p14_caller_mutates_the_host_buffer(make: str) -> None:
    """jax#899: `x = array(h); y = x + 1; h[:] = 100` leaves y alone."""
    if make == "asarray" and not oracle.IS_ENGINE:
        pytest.skip("NumPy's asarray shares")
    h = host.arange(6.0)
    y = getattr(oracle.lf, make)(h) + 1
    h[:] = 100
    assert oracle.to_numpy(y).tolist() == [1, 2, 3, 4, 5, 6]
