"""What `scripts/gpu_check` measures, asked of the CPU and NumPy on small arrays."""

from __future__ import annotations

import numpy as np
import pytest

from perf import gpu
from perf.bars import Bar
from perf.gpu_page import page
from perf.gpu_rivals import Program, Ready


def by_numpy(program: Program, there: np.ndarray) -> Ready:
    """A rival that is there without a GPU, and refuses float16."""
    if there.dtype == np.float16:
        raise TypeError(there.dtype)
    return lambda: program(np, there), lambda: None


CARD = gpu.Card(
    "cpu", np, lambda: None, 1 << 16, repeats=1, calls=2, rivals={"numpy.numpy": by_numpy}
)


@pytest.mark.engine
def test_everything_is_measured_and_judged() -> None:
    """Each question gets an answer, and each promise a verdict."""
    shown: list[str] = []
    report = gpu.measure(CARD, shown.append)
    asked = {(row["workload"], row["dtype"]) for row in report["bandwidth"]}
    assert len(asked) == 3 * len(gpu.QUESTIONS) + len(gpu.CHAINS)
    assert all(row["lazyfuse_s"] > 0 and row["peer_s"] > 0 for row in report["bandwidth"])
    assert report["graphs"]["same_bits"] and report["graphs"]["graphs"] == 0
    judged = list(gpu.bars(report))
    refused = [row for row in report["bandwidth"] if row["rivals_s"]["numpy.numpy"] is None]
    assert {row["dtype"] for row in refused} == {"float16"}
    beside = len(report["bandwidth"]) - len(refused)
    assert len(judged) == 4 * len(gpu.CHAINS) + 3 * 6 + beside + 3
    assert all(isinstance(bar, Bar) and bar.measured > 0 for bar in judged)
    assert len(shown) == len(report["bandwidth"]) + len(judged)
    shows(report)


def shows(speed: dict[str, object]) -> None:
    """The page has a row for each question, twice, and says what was wrong."""
    device = {"name": "A card", "driver": 13000, "cupy": "14", "numpy": "2"}
    text = page(
        {
            "device": device,
            "speed": speed,
            "kernels": {"own": 1200, "strided": 34, "wrong": ["one"]},
            "library": {"programs": 5, "on_host": 2, "wrong": []},
            "tests": {"engine": 0, "cuda": 1},
        }
    )
    assert "CUDA 13.0" in text and "1,234 runs" in text and "1 wrong" in text
    assert all(text.count(f"| {asked.name} |") == 2 for asked in gpu.QUESTIONS)
    assert "engine: passed" in text and "cuda: failed" in text


@pytest.mark.parametrize("question", gpu.QUESTIONS, ids=lambda asked: asked.name)
def test_questions_agree_with_numpy(question: gpu.Question) -> None:
    """A program that is wrong is no measure of speed."""
    import lazyfuse as lf

    x = np.random.default_rng(3).random((64, 96))
    expected = question.program(np, x)
    np.testing.assert_allclose(lf.asnumpy(question.program(lf, lf.array(x))), expected, 1e-12)


@pytest.mark.parametrize("count", gpu.CHAINS)
def test_chains_are_so_long(count: int) -> None:
    """And one kernel, from which nothing can be left out."""
    import lazyfuse as lf

    y = gpu.chain(count)(lf, lf.array(np.ones((4, 70_000))))
    text = lf.explain(y)
    assert text.startswith("1 kernel") and f"{count} operations" in text
