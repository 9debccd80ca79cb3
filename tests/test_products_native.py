"""Products of vectors and matrices in memory of the engine, in machine code: by NumPy, at once."""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_at_once import (  # noqa: E402, F401 - again, in machine code
    small_arrays,
    test_the_method_dot_is_the_function,
    test_the_method_dot_of_matrices,
    test_the_method_dot_with_one_element,
)
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

lf = oracle.lf
pytestmark = pytest.mark.engine


def products(np: Any, a: Any, b: Any, v: Any) -> Any:
    return (
        np.matmul(a, v), np.matmul(v, b), np.matmul(a[3], b[4]), np.matmul(a[2:9], b),
        np.matmul(a[:, 3], b[::-1, 2]), np.matmul(a.T, b), a[3].dot(b[:, 1]), a.dot(v),
        a[2:9].dot(b), np.matmul(a[0], a[0]), a[1].dot(a[1]), np.matmul(a[:1], v[:, None]),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "c16", "u1"))
def test_values(dtype: str) -> None:
    draw = host.random.default_rng(8)
    a, b = (draw.uniform(1.0, 9.0, (200, 200)).astype(dtype) for _ in range(2))
    with lf.options(eager_size=30_000):
        oracle.check(products, a, b, a[7].copy())


def batches(np: Any, a: Any, b: Any) -> Any:
    """Matrices of arrays of more axes, and vectors; where there are none."""
    x = a[:24, :].reshape(2, 3, 4, -1)
    return (
        x @ b, x[0] @ b, np.matmul(x, b), x @ b[0], np.matmul(x[:, :0], b), x[:, :, 0] @ b.T,
        x[..., :5] @ b[:5], x.transpose(2, 1, 0, 3) @ b[:, :7], x @ b.reshape(1, 1, *b.shape),
        x[..., :0] @ b[:0],
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "c16"))
def test_batches(dtype: str) -> None:
    """What has more than two axes took 30 us."""
    draw = host.random.default_rng(9)
    a, b = (draw.uniform(1.0, 9.0, (200, 200)).astype(dtype) for _ in range(2))
    with lf.options(eager_size=30_000):
        oracle.check(batches, a, b)
        x = lf.asarray(a[:24]).reshape(2, 12, -1)
        found = x @ lf.asarray(b)
    assert found._host is not None or found._storage.node.buffer is not None


def test_bad_operands() -> None:
    def program(np: Any, a: Any) -> Any:
        return np.matmul(a, a[0, :5])

    def method(np: Any, a: Any) -> Any:
        return a.dot(a[:5])

    def number(np: Any, a: Any) -> Any:
        return np.matmul(a, 2.0)

    def batch(np: Any, a: Any) -> Any:
        return np.matmul(a.reshape(2, 100, 200), a[:5])

    with lf.options(eager_size=30_000):
        for each in (program, method, number, batch):
            oracle.check(each, host.ones((200, 200)))


def test_they_are_at_once() -> None:
    """Nothing is recorded."""
    a = lf.asarray(host.ones((200, 200)))
    with lf.options(eager_size=30_000):
        for found in (lf.matmul(a, a[0]), a.dot(a[0]), lf.matmul(a[:9], a), lf.matmul(a, a)):
            assert found._host is not None or found._storage.node.buffer is not None
