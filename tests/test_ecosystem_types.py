"""Functions of SciPy, matplotlib and SymPy that refuse arrays of types other than NumPy's, or take
them for something else."""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

from tests import oracle

pytestmark = pytest.mark.engine

lf = oracle.lf
SQUARE = host.random.default_rng(0).standard_normal((20, 20))


def solved(np: Any, matrix: Any) -> list[Any]:
    """Solvers of dense systems, eigenvalues, and a product with an operator."""
    linalg = pytest.importorskip("scipy.sparse.linalg")
    ones = np.ones(20)
    definite = matrix @ matrix.T + 20 * np.eye(20)
    return [
        linalg.aslinearoperator(matrix) @ ones,
        linalg.cg(definite, ones)[0],
        linalg.lsqr(matrix, ones)[0],
        linalg.eigsh(definite, k=3, v0=ones)[0],
        linalg.svds(matrix, k=3, v0=ones)[1],
    ]


def low_rank(np: Any, matrix: Any) -> list[Any]:
    """Interpolative decompositions."""
    interpolative = pytest.importorskip("scipy.linalg.interpolative")
    return [
        *interpolative.interp_decomp(matrix, 3, rand=False),
        interpolative.svd(matrix, 3, rand=False)[1],
        interpolative.estimate_rank(matrix, 1e-3),
    ]


def peaks(np: Any, matrix: Any) -> list[Any]:
    """Limits of peaks, one for each sample."""
    signal = pytest.importorskip("scipy.signal")
    x, limit = matrix.ravel(), np.full(400, 0.5)
    return [
        signal.find_peaks(x, height=limit)[0],
        signal.find_peaks(x, threshold=(limit * 0.1, limit * 2))[0],
    ]


def systems(np: Any, matrix: Any) -> list[Any]:
    """A system times a matrix, from both sides, and one that is divided by a scalar array."""
    signal = pytest.importorskip("scipy.signal")
    one = np.ones(20)
    system = signal.StateSpace(matrix, one[:, None], one[None], np.zeros((1, 1)))
    gain = np.array([[2.0]])
    with pytest.raises(ValueError, match="Cannot divide"):
        system / gain
    return [(system * gain).B, (gain * system).C, (system + gain).D]


def correlated(np: Any, matrix: Any) -> list[Any]:
    """A test of independence, which takes no lists."""
    stats = pytest.importorskip("scipy.stats")
    return [stats.multiscale_graphcorr(matrix[0], matrix[1], reps=3, random_state=1).statistic]


@pytest.mark.parametrize("program", [solved, low_rank, peaks, systems, correlated])
def test_functions_that_ask_for_numpys_type(program: Any) -> None:
    """They refused LazyArrays, and a limit of peaks was compared with all samples."""
    for given, wanted in zip(program(lf, lf.array(SQUARE)), program(host, SQUARE), strict=True):
        assert host.shape(given) == host.shape(wanted)
        host.testing.assert_allclose(host.asarray(given), host.asarray(wanted), 1e-9, 1e-12)


def drawn(np: Any, matrix: Any) -> bytes:
    """A picture of streamlines of varying color and width, and of markers of corners."""
    figure_type = pytest.importorskip("matplotlib.figure").Figure
    figure = figure_type(figsize=(3, 2), dpi=50)
    canvas = pytest.importorskip("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    x = np.arange(20.0)
    speed = np.abs(matrix)
    axes.streamplot(x, x, speed + 0.5, matrix, color=matrix, linewidth=speed)
    axes.plot(x, x, marker=np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]), markersize=9)
    canvas.draw()
    return bytes(canvas.buffer_rgba())


def test_plots_that_ask_for_numpys_type() -> None:
    """Colors of streamlines were taken for one color, corners of markers for a name."""
    assert drawn(lf, lf.array(SQUARE)) == drawn(host, SQUARE)


def expressions(np: Any, size: int) -> list[Any]:
    """Expressions and SymPy's numbers on the left, and numbers that are integers."""
    sympy = pytest.importorskip("sympy")
    x, half, numbers = sympy.Symbol("x"), sympy.Rational(1, 2), np.arange(size)
    found = [x * numbers[:3], half + np.ones((2, 2)), half ** numbers[:3], x / (numbers[:2] + 1)]
    found += [half < numbers[:3], half == np.ones(2) / 2, x == numbers[:3], x == np.array(3)]
    found += [sympy.pi * np.array(3), x * np.sum(numbers), sympy.Integer(3) == np.array(3)]
    return [*found, sympy.sympify(numbers[1:3]), sympy.Matrix(numbers[:4].reshape(2, 2))]


@pytest.mark.parametrize("size", [6, 20_000])
def test_expressions_of_sympy(size: int) -> None:
    """It took arrays for numbers, which have `__float__`, and raised TypeError."""
    for given, wanted in zip(expressions(lf, size), expressions(host, size), strict=True):
        assert host.shape(given) == host.shape(wanted)
        assert str(given) == str(wanted)
