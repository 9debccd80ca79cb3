"""Libraries that ask whether an array is NumPy's before they take it: scikit-learn, statsmodels,
torch, gymnasium, astropy, CVXPY, h5py, and NumPy for C libraries."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

pytestmark = [pytest.mark.engine, pytest.mark.cpu("memory that NumPy shares")]

lf = oracle.lf
SIZES = (0, 30_000)  # with arrays of the engine, and small ones
RANDOM = host.random.default_rng(0)
X, SQUARE = RANDOM.random((60, 4)), RANDOM.random((4, 4))


@pytest.mark.parametrize("size", SIZES)
def test_who_is_told_what(size: int) -> None:
    """Functions of a table, whole packages, and nobody else."""
    with lf.options(eager_size=size):
        x = lf.arange(5.0)

        def is_numpys(module: Any, function: str) -> bool:
            space = {"__name__": module, "numpy": host}
            exec(f"def {function}(x): return isinstance(x, numpy.ndarray)", space)  # noqa: S102
            found: bool = space[function](x)  # type: ignore[operator]  # a function
            return found

        for module in ("cvxpy.expressions.leaf", "gymnasium.spaces.box", "astropy.table.table"):
            assert is_numpys(module, "validate")
        assert is_numpys("torch.utils.data._utils.collate", "collate")
        for module in ("torch.utils.data._utils.collate", "cvxpylayers", "mine", "", None, 5):
            assert not is_numpys(module, "validate")


def grids(np: Any) -> Any:
    search = pytest.importorskip("sklearn.model_selection")
    linear = pytest.importorskip("sklearn.linear_model")
    grid = {"alpha": np.logspace(-2, 2, 5)}
    found = search.GridSearchCV(linear.Ridge(), grid, cv=2).fit(np.array(X), np.array(X[:, 0]))
    drawn = search.ParameterSampler({"alpha": np.logspace(-2, 2, 9)}, 3, random_state=0)
    return [*search.ParameterGrid(grid)], [*drawn], found.best_params_


def first_values(np: Any) -> Any:
    manifold = pytest.importorskip("sklearn.manifold")
    neighbors = pytest.importorskip("sklearn.neighbors")
    x, start = np.array(X), np.array(X[:, :2].astype("f4"))
    placed = manifold.TSNE(init=start, perplexity=5, max_iter=250, random_state=0)
    learned = neighbors.NeighborhoodComponentsAnalysis(init=np.eye(4), max_iter=3)
    labels = np.array([0, 1] * 30)
    return placed.fit_transform(x).shape, learned.fit(x, labels).transform(x).round(9).tolist()


def series(np: Any) -> Any:
    models = pytest.importorskip("statsmodels.tsa.api")
    walk = np.cumsum(np.array(X[:, 0]))
    return (
        models.AutoReg(walk, 1).fit().params.round(6).tolist(),
        models.VAR(np.array(X[:, :2])).fit(1).params.round(6).tolist(),
    )


def batches(np: Any) -> Any:
    data = pytest.importorskip("torch.utils.data")
    x = np.array(X)
    both = next(iter(data.DataLoader([(x[n], n) for n in range(4)], batch_size=2)))
    return [each.tolist() for each in both]


def spaces(np: Any) -> Any:
    made = pytest.importorskip("gymnasium.spaces")
    low = np.array([-1.0, -2.0], dtype=np.float32)
    box = made.Box(low, -low, dtype=host.float32)
    return (
        box.contains(np.zeros(2, dtype=np.float32)),
        np.zeros(2) in box,
        made.MultiDiscrete(np.array([3, 4])).contains(np.array([1, 2])),
        made.MultiBinary(np.array([2, 2])).shape,
    )


def tables(np: Any) -> Any:
    table = pytest.importorskip("astropy.table").Table({"a": np.array(X[:, 0])})
    picked = table[np.argsort(np.array(X[:, 1]))]
    grouped = table.group_by(np.arange(60) % 3).groups
    return table[np.array(X[:, 0]) > 0.5]["a"].tolist(), picked["a"].tolist(), len(grouped)


def problems(np: Any) -> Any:
    cvxpy = pytest.importorskip("cvxpy")
    given, x = cvxpy.Parameter((4, 4)), cvxpy.Variable(4)
    given.value, x.value = np.array(SQUARE), np.ones(4)
    return given.value.tolist(), float(cvxpy.sum_squares(given @ x).value)


def masks_of_files(np: Any) -> Any:
    h5py = pytest.importorskip("h5py")
    with h5py.File(io.BytesIO(), "w") as file:
        stored = file.create_dataset("x", data=np.array(X))
        return stored[np.array(X) > 0.5].tolist()


def c_libraries(np: Any) -> Any:
    copy = ctypes.CDLL(None).memcpy
    pointer = host.ctypeslib.ndpointer(host.float64, flags="C")
    copy.argtypes = [pointer, pointer, ctypes.c_size_t]
    source, target = np.array(SQUARE), np.zeros((4, 4))
    copy(target, source, 128)
    with pytest.raises(ctypes.ArgumentError):
        copy(target, source.astype("f4"), 64)
    with pytest.raises(TypeError):
        host.ctypeslib.as_ctypes(source.T)
    return target.tolist(), [list(row) for row in host.ctypeslib.as_ctypes(source)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "program",
    (grids, first_values, series, batches, spaces, tables, problems, masks_of_files, c_libraries),
)
def test_programs(program: Callable[[Any], Any], size: int) -> None:
    with lf.options(eager_size=size):
        assert program(lf) == program(host)


def test_sparse_products() -> None:
    """The product of a sparse array of three axes was None."""
    sparse = pytest.importorskip("scipy.sparse")
    cube = sparse.coo_array(host.ones((2, 3, 3)))
    assert host.asarray(cube @ lf.ones(3)).tolist() == (cube @ host.ones(3)).tolist()


def test_solvers_of_scipy() -> None:
    """They wrap what they find as the first guess is."""
    optimize = pytest.importorskip("scipy.optimize")

    def cube(x: Any) -> Any:
        return x * x - 2.0

    start = [1.0, 1.2]
    for solve in (optimize.broyden1, optimize.anderson, optimize.newton_krylov):
        own, numpys = solve(cube, lf.array(start)), solve(cube, host.array(start))
        assert host.allclose(host.asarray(own), numpys)


@pytest.mark.parametrize("size", SIZES)
def test_views_of_cython(size: int) -> None:
    """Arrays that do not lie in rows were refused."""
    moments = pytest.importorskip("skimage.measure._moments_cy")
    with lf.options(eager_size=size):
        x, y = lf.asarray(SQUARE), host.asarray(SQUARE)
        for key in (slice(None), slice(None, None, -1), (slice(None), slice(None, None, -1))):
            own, numpys = moments.moments_hu(x[key].T), moments.moments_hu(y[key].T)
            assert host.asarray(own).tolist() == host.asarray(numpys).tolist()


@pytest.mark.parametrize("size", SIZES)
def test_functions_of_fortran(size: int) -> None:
    """They wrote over what they were given, which they take for a copy of theirs."""
    lapack = pytest.importorskip("scipy.linalg.lapack")
    wanted = SQUARE + 4.0 * host.eye(4)
    with lf.options(eager_size=size):
        for order in "CF":
            matrix, right = lf.asarray(wanted, order=order), lf.arange(4.0)
            calls: tuple[Callable[[], Any], ...] = (
                lambda a=matrix, b=right: lapack.dgesv(a, b),
                lambda a=matrix, b=right: lapack.dgesv(*(a, b)),
                lambda a=matrix, b=right: lapack.dgesv(a=a, b=b),
            )
            for call in calls:
                found = call()[2]
                assert host.allclose(found, host.linalg.solve(wanted, host.arange(4.0)))
                assert matrix.tolist() == wanted.tolist() and right.tolist() == [0, 1, 2, 3]
            lapack.dgetrf(matrix)
            lapack.dsyev(matrix.T)
            try:
                raise ValueError
            except ValueError:
                lapack.dgetrf(matrix)
            assert matrix.tolist() == wanted.tolist()
