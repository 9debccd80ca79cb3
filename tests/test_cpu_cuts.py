"""How launches are cut where no cache holds what they read."""

from __future__ import annotations

import numpy as np
import pytest

import lazyfuse as lf
from lazyfuse.backends.cpu import CpuBackend, launch_cut
from tests.kernel_runner import KernelRunner, column_kernel, run_columns, same, values

BACKEND = CpuBackend()
RUN = KernelRunner(BACKEND)


@pytest.mark.parametrize(
    ("columns", "threads", "unit", "block", "rows"),
    [
        (8, 2, 512, 512, 16),  # 1 KB at once
        (16, 2, 512, 512, 8),
        (32, 2, 512, 512, 4),
        (40, 2, 512, 512, 1),  # by one thread, as it lies
        (512, 2, 512, 512, 1),
        (520, 2, 512, 512, 8),  # a page of each row for each
        (5000, 2, 512, 512, 8),
        (512, 4, 128, 128, 8),  # four narrow strips are faster than one
        (256, 4, 512, 512, 1),  # two are not
        (5000, 16, 128, 128, 8),
    ],
)
def test_columns_that_no_cache_holds(
    monkeypatch: pytest.MonkeyPatch, columns: int, threads: int, unit: int, block: int, rows: int
) -> None:
    """Memory is read along its rows, as wide as can be; the sums are those of NumPy."""
    monkeypatch.setattr(launch_cut, "default_threads", lambda: threads)
    monkeypatch.setattr(launch_cut, "stream_bytes", lambda: 1 << 12)
    kernel = column_kernel("f8", "add")
    compiled = BACKEND.compile(kernel, "columns")
    launch = compiled.bind((columns, 1000), ((1, columns), (1,)), (0, 0))
    assert launch._cut == (0, unit, block, rows)
    x = values("f8", (300, columns))
    assert same(run_columns(RUN, kernel, x, threads=threads)[1], x.sum(axis=0))


@pytest.mark.parametrize("threads", [2, 4, 16])
def test_whatever_the_cut(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Sums, extremes, scans and what is computed with them have the bits that they have where
    caches hold all of it."""
    draw = np.random.default_rng(threads)
    for shape in ((70, 3), (70, 8), (200, 31), (50, 129), (33, 512), (20, 1030), (6, 9, 600)):
        for dtype in ("f8", "f4", "i4", "u1", "c16"):
            x = (draw.random(shape) * 100).astype(dtype)

            def results(x: np.ndarray = x) -> list[bytes]:
                lf.cache_clear()
                a = lf.asarray(x)
                some = [a.sum(-2), a.cumsum(-2), a - a.mean(-2, keepdims=True), (a * a).sum(-2)]
                if x.dtype.kind != "c":
                    some += [a.max(-2), a.argmin(-2), a.std(-2), (a > 50).any(-2)]
                lf.materialize(*some)
                return [np.asarray(each).tobytes() for each in some]

            monkeypatch.undo()
            usual = results()
            monkeypatch.setattr(launch_cut, "default_threads", lambda: threads)
            monkeypatch.setattr(launch_cut, "stream_bytes", lambda: 1)
            assert results() == usual
