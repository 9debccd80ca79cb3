"""The cupy strategies: the source that cupy makes of our texts compiles for three GPUs and
computes as NumPy does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cuda_cases import Case, elementwise_case
from cuda_check import ARCHITECTURES, mismatch, needs_host
from cuda_cupy_source import (
    build_as_cupy,
    compile_as_cupy,
    elementwise_source,
    reduction_source,
    run_as_cupy,
)
from cuda_kernels import fold_case, normal, positive, tree_bound

from lazyfuse.backends.cuda.strategy import Policy, Strategy, choose
from lazyfuse.ops.body import Value, cast

DTYPES = ("f8", "i8", "u8", "i4", "u1", "b1")


def _body(body, p: Value, q: Value) -> tuple[Value, ...]:  # type: ignore[no-untyped-def]
    if p.dtype == "b1":
        return p & q, cast(p, "i8")
    return p * q + p, cast(p < q, "i8")


def _expected(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    if x.dtype == bool:
        return [x & y, x.astype("i8")]
    return [x * y + x, (x < y).astype("i8")]


def _values(dtype: str, *shape: int) -> np.ndarray:
    if dtype == "f8":
        return normal(*shape, dtype="f8")
    rng = np.random.default_rng(4)
    return rng.integers(0, 2 if dtype == "b1" else 99, shape).astype(dtype)


def elementwise_cases() -> Iterator[Case]:
    for dtype in DTYPES:
        x, y = _values(dtype, 1000), _values(dtype, 1000)[::-1].copy()
        yield elementwise_case(f"line_{dtype}", [x, y], _body, _expected(x, y))
        x, y = _values(dtype, 12, 30)[:, ::2], _values(dtype, 12, 1)
        yield elementwise_case(f"strided_{dtype}", [x, y], _body, _expected(x, y))
    x, y = positive(99, dtype="f8"), positive(99, dtype="f8")
    yield elementwise_case(
        "scalars",
        [x, y],
        lambda b, p, q, s: p * s + q.unary("sqrt"),
        [x * 2.5 + np.sqrt(y)],
        scalars=[("f8", 2.5)],
    )


def reduction_cases() -> Iterator[Case]:
    for dtype in DTYPES:
        x = _values(dtype, 7, 300)
        kind = "i8" if dtype == "b1" else dtype
        if dtype != "f8":
            yield fold_case(f"sum_{dtype}", x, "add", x.sum(1, dtype=kind), 1, dtype=kind)
            yield fold_case(f"max_{dtype}", x, "maximum", x.max(1), 1)
    x = positive(7, 300, dtype="f8")
    yield fold_case("sum_f8", x, "add", x.sum(1), 1, tolerance=[tree_bound(300, "f8", 2)])
    yield fold_case("total_f8", x[0], "add", x[0].sum(), 0, tolerance=[tree_bound(300, "f8", 2)])
    x = x.copy()
    x[3, 7] = np.nan
    yield fold_case("max_f8", x, "maximum", x.max(1), 1)
    yield fold_case("fmin_f8", x, "fmin", np.fmin.reduce(x, 1), 1)


def cases() -> list[tuple[Case, Strategy]]:
    return [
        *((case, Strategy.ELEMENTWISE_KERNEL) for case in elementwise_cases()),
        *((case, Strategy.REDUCTION_KERNEL) for case in reduction_cases()),
    ]


def source_of(case: Case, strategy: Strategy) -> str:
    if strategy is Strategy.ELEMENTWISE_KERNEL:
        return elementwise_source(case)
    return reduction_source(case)


@needs_host
def test_cupy_source_computes_what_numpy_computes(tmp_path: Path) -> None:
    """Executed through the host shim with cupy's own array structs; no float32 in any of them."""
    named = [(case, source_of(case, strategy)) for case, strategy in cases()]
    assert not [case.name for case, source in named if re.search(r"\bfloat\b", source)]
    library = build_as_cupy(named, tmp_path)
    found = [mismatch(case, run_as_cupy(case, source, library)) for case, source in named]
    assert [text for text in found if text] == []


def test_cupy_strategies_are_chosen() -> None:
    """Every case here is one that the policy gives to cupy."""
    for case, strategy in cases():
        assert choose(case.kernel, Policy.CUPY) is strategy


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_cupy_source_compiles(architecture: str) -> None:
    """By NVRTC with cupy's headers and options; one architecture takes all kernels, the others
    two.
    """
    chosen = cases() if architecture == "90" else [cases()[0], cases()[-1]]
    for case, strategy in chosen:
        assert compile_as_cupy(source_of(case, strategy), architecture).startswith(b"\x7fELF")
