"""Other libraries meet LazyArrays: the smallest test of each, skipped where it is missing."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.environment import python_path

pytestmark = pytest.mark.engine

lf = oracle.lf
VALUES = host.arange(12.0) * 0.5
GRID = VALUES.reshape(3, 4)


def pending(values: Any = VALUES) -> Any:
    """Return a LazyArray of these values that has not been computed."""
    return lf.array(values) * 1


def is_lazy(value: Any) -> bool:
    """Say whether a result stayed in lazyfuse."""
    return type(value) is lf.LazyArray


# ---- tables


def test_pandas_takes_arrays() -> None:
    """Series, frames, assignment, Index, cut and boolean keys made from LazyArrays."""
    pd = pytest.importorskip("pandas")
    x = pending()
    pd.testing.assert_series_equal(pd.Series(x), pd.Series(VALUES))
    frame = pd.DataFrame({"a": x, "b": pending() > 2})
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"a": VALUES, "b": VALUES > 2}))
    pd.testing.assert_frame_equal(pd.DataFrame(pending(GRID)), pd.DataFrame(GRID))
    assert frame.assign(c=pending() + 1)["c"].tolist() == (VALUES + 1).tolist()
    frame["d"] = pending() * 2
    assert frame["d"].tolist() == (VALUES * 2).tolist()
    assert pd.Index(pending()).tolist() == VALUES.tolist()
    assert not pd.isna(pending()).any()
    assert (pd.cut(pending(), 3).codes == pd.cut(VALUES, 3).codes).all()
    assert frame[host.asarray(x > 3)].shape == (5, 3)


@pytest.mark.parametrize("size", [5, 200_000])
def test_masks_of_pandas(size: int) -> None:
    """They were taken for labels."""
    pd = pytest.importorskip("pandas")
    values = host.arange(float(size)) % 7

    def program(np: object, x: object) -> list[object]:
        frame = pd.DataFrame({"a": values, "b": values * 2})
        mask = x > 3
        found = [frame[mask], frame.loc[mask], frame.loc[~mask, "a"], frame["a"][mask]]
        found += [frame["a"].loc[mask], frame["a"].iloc[mask], frame.iloc[mask]]
        frame[mask] = 0.5
        frame.loc[x > 5, "b"] = -1.0
        series = pd.Series(values)
        series[mask] = 9.0
        return [*found, frame, series]

    wanted = program(host, values)
    given = program(lf, lf.asarray(values) + 0.0)
    for one, other in zip(given, wanted, strict=True):
        assert type(one) is type(other) and one.equals(other)
    mask = lf.asarray(values) > 3
    assert mask.__class__ is type(mask) and not isinstance(mask, host.ndarray)
    with pytest.raises((ValueError, IndexError)):
        pd.DataFrame({"a": values})[mask[1:]]


def test_pandas_keeps_its_types() -> None:
    """Arithmetic and ufuncs with a Series give a Series, from either side."""
    pd = pytest.importorskip("pandas")
    x, s = pending(), pd.Series(VALUES)
    for result in (x * s, s * x, x - s, divmod(x, s + 1)[0], host.add(x, s), lf.add(x, s)):
        assert isinstance(result, pd.Series)
    assert isinstance(lf.sin(s), pd.Series) and isinstance(host.sin(s), pd.Series)
    assert isinstance(x < s, pd.Series) and isinstance(x**s, pd.Series)
    s += x
    assert isinstance(s, pd.Series) and s.tolist() == (VALUES * 2).tolist()


def test_pandas_columns_come_in_safely() -> None:
    """A column is copied: pandas may write to it later."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": VALUES.copy()})
    x = lf.asarray(frame["a"].to_numpy()) + 0
    y = lf.asarray(frame["a"])
    frame.loc[:, "a"] = -1.0
    assert (host.asarray(x) == VALUES).all() and (host.asarray(y) == VALUES).all()


def test_polars() -> None:
    """Series and frames both ways."""
    pl = pytest.importorskip("polars")
    assert pl.Series("a", pending()).to_list() == VALUES.tolist()
    frame = pl.DataFrame({"a": pending(), "b": pending(host.arange(12))})
    assert frame["a"].to_list() == VALUES.tolist() and frame["b"].dtype == pl.Int64
    x = lf.asarray(frame["a"].to_numpy()) + 1
    assert is_lazy(x) and (host.asarray(x) == VALUES + 1).all()


def test_pyarrow() -> None:
    """Arrow arrays both ways, by both of its protocols."""
    pa = pytest.importorskip("pyarrow")
    assert pa.array(pending()).equals(pa.array(VALUES))
    assert pa.array(pending(), type=pa.float32()).type == pa.float32()
    assert pa.table({"a": pending()})["a"].to_pylist() == VALUES.tolist()
    schema, array = pending().__arrow_c_array__()
    assert pa.Array._import_from_c_capsule(schema, array).to_pylist() == VALUES.tolist()
    assert not hasattr(pending(GRID), "__arrow_c_array__")
    with pytest.raises(pa.ArrowInvalid):
        pa.array(pending(GRID))
    memory = VALUES.copy()
    x = lf.asarray(pa.array(memory).to_numpy())  # Arrow's array lies over memory that is written
    memory[:] = -1
    assert (host.asarray(x) == VALUES).all()
    assert (host.asarray(lf.from_dlpack(pa.array(VALUES))) == VALUES).all()


# ---- labelled and larger arrays


def test_xarray() -> None:
    """Arithmetic, reductions, where, concat, pad, rolling and groupby keep lazy data; nothing is
    computed for the repr.
    """
    xr = pytest.importorskip("xarray")
    x = pending(GRID)
    d = xr.DataArray(x, dims=("u", "t"))
    wanted = xr.DataArray(GRID, dims=("u", "t"))
    assert "pending" in repr(xr.Dataset({"d": d}))
    assert is_lazy(d.data) and is_lazy(((d - d.mean()) / d.std()).data)
    programs = (
        lambda a: (a - a.mean("t")) / a.std("t"), lambda a: a.where(a > 2, 0), lambda a: a.sum(),
        lambda a: xr.concat([a, a + 1], "t"), lambda a: a.pad(t=1, constant_values=0),
        lambda a: a.rolling(t=2).mean(), lambda a: a.isel(t=slice(1, 3)).T, lambda a: a.max("u"),
        lambda a: a.copy(deep=True) + a, lambda a: a.clip(1, 4), lambda a: a.cumsum("t"),
        lambda a: xr.dot(a, a, dim="t"), lambda a: a.quantile(0.5, "t"), lambda a: a.median("t"),
        lambda a: a.fillna(0), lambda a: a.diff("t"), lambda a: a.stack(z=("u", "t")),
        lambda a: a.assign_coords(u=[1, 1, 2]).groupby("u").mean(), lambda a: a.astype("f4"),
        lambda a: host.sin(a), lambda a: a.argmax("t"), lambda a: a.isin([1.0, 2.0]),
        lambda a: a.shift(t=1), lambda a: a.roll(t=1), lambda a: a.interp(t=[0.5, 1.5]),
    )  # fmt: skip
    for program in programs:
        given, expected = program(d), program(wanted)
        xr.testing.assert_allclose(given.as_numpy(), expected)
    assert isinstance(d.values, host.ndarray)


def test_dask() -> None:
    """Chunks may be LazyArrays once they are registered, and names are given without computing."""
    da = pytest.importorskip("dask.array")
    da.register_chunk_type(lf.LazyArray)
    x = pending(GRID)
    chunked = da.from_array(x, chunks=2)
    assert x._storage.node.buffer is None
    assert da.from_array(pending(GRID), chunks=2).name == chunked.name
    assert da.from_array(pending(GRID + 1), chunks=2).name != chunked.name
    assert (host.asarray((chunked * 2 + 1).compute()) == GRID * 2 + 1).all()
    assert float((chunked * 2).sum().compute()) == GRID.sum() * 2
    for program in (
        lambda a: a.mean(axis=0), lambda a: a[1:, ::2] + 1, lambda a: a @ a.T, lambda a: a.max(1),
        lambda a: da.where(a > 2, a, 0), lambda a: da.concatenate([a, a]), lambda a: a.std(),
        lambda a: a.rechunk(3).reshape(-1), lambda a: a.astype("f4"), lambda a: a.argmax(1),
    ):  # fmt: skip
        wanted = program(da.from_array(GRID, chunks=2)).compute()
        assert host.allclose(host.asarray(program(chunked).compute()), wanted)


# ---- scientific code


def test_scipy() -> None:
    """Ufuncs of scipy keep LazyArrays, everything else takes them and gives its own results."""
    special = pytest.importorskip("scipy.special")
    import scipy.interpolate
    import scipy.linalg
    import scipy.ndimage
    import scipy.optimize
    import scipy.signal
    import scipy.sparse
    import scipy.stats

    x, square = pending(), pending(GRID[:, :3] + 3 * host.eye(3))
    y = special.erf(x)
    assert is_lazy(y) and (host.asarray(y) == special.erf(VALUES)).all()
    assert type(scipy.stats.zscore(x)) is host.ndarray
    matrix = host.asarray(square)
    for given, wanted in (
        (scipy.linalg.solve(square, pending(GRID[:, 0])), scipy.linalg.solve(matrix, GRID[:, 0])),
        (scipy.ndimage.gaussian_filter(square, 1), scipy.ndimage.gaussian_filter(matrix, 1)),
        (scipy.signal.convolve(x, x), scipy.signal.convolve(VALUES, VALUES)),
        (scipy.stats.linregress(x, x * 2).slope, 2.0),
        (scipy.interpolate.interp1d(x, x * 2)(1.25), 2.5),
        (scipy.optimize.minimize(lambda p: float(((lf.array(p) - 1) ** 2).sum()), [0.0, 0]).x, 1),
        (scipy.sparse.csr_array(matrix) @ pending(GRID[:, 0]), matrix @ GRID[:, 0]),
    ):
        assert host.allclose(host.asarray(given), wanted, atol=1e-6)


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP", "BFGS", "TNC", "trust-constr"])
def test_gradients_for_scipys_c_code(method: str) -> None:
    """`minimize` refused gradients that are arrays of lazyfuse: its C code takes NumPy's alone."""
    optimize = pytest.importorskip("scipy.optimize")
    found = optimize.minimize(
        lambda p: ((lf.asarray(p) - 1) ** 2).sum(),
        host.zeros(3),
        jac=lambda p: 2 * (lf.asarray(p) - 1),
        method=method,
    )
    assert host.allclose(host.asarray(found.x), 1, atol=1e-4)
    roots = optimize.least_squares(
        lambda p: lf.asarray(p) - 1, host.zeros(3), jac=lambda p: lf.eye(3), method="lm"
    )
    assert host.allclose(roots.x, 1)
    assert is_lazy(host.atleast_2d(lf.ones(3)))


#: Run with SCIPY_ARRAY_API=1, which scipy reads when it is imported.
_SCIPY_ARRAY_API = """
import numpy, scipy.stats, scipy.fft, scipy.signal, scipy.integrate
import lazyfuse as lf
v = numpy.arange(12.0) * 0.5
x = lf.array(v) * 1
for given, wanted in [
    (scipy.stats.zscore(x), scipy.stats.zscore(v)), (scipy.stats.skew(x), scipy.stats.skew(v)),
    (scipy.fft.rfft(x).real, scipy.fft.rfft(v).real),
    (scipy.signal.convolve(x, x), scipy.signal.convolve(v, v)),
    (scipy.integrate.trapezoid(x), scipy.integrate.trapezoid(v)),
]:
    assert type(given).__module__.startswith("lazyfuse"), type(given)
    assert numpy.allclose(numpy.asarray(given), wanted)
"""


def test_scipy_with_its_array_api() -> None:
    """With SCIPY_ARRAY_API=1 results stay lazy."""
    pytest.importorskip("scipy")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": python_path()}
    done = subprocess.run(
        [sys.executable, "-c", _SCIPY_ARRAY_API], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_scikit_learn() -> None:
    """Estimators take LazyArrays; with array_api_dispatch they give them back."""
    sklearn = pytest.importorskip("sklearn")
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LinearRegression
    from sklearn.preprocessing import StandardScaler

    wanted = StandardScaler().fit_transform(GRID)
    assert host.allclose(StandardScaler().fit_transform(pending(GRID)), wanted)
    model = LinearRegression().fit(pending(GRID), pending(GRID[:, 0]))
    assert host.allclose(model.predict(pending(GRID)), GRID[:, 0])
    os.environ.setdefault("SCIPY_ARRAY_API", "1")
    try:
        context = sklearn.config_context(array_api_dispatch=True)
    except (RuntimeError, ImportError) as reason:
        pytest.skip(str(reason))
    with context:
        try:
            scaled = StandardScaler().fit_transform(pending(GRID))
        except RuntimeError as reason:  # scipy was imported without its array API
            pytest.skip(str(reason))
        assert is_lazy(scaled) and host.allclose(host.asarray(scaled), wanted)
        assert is_lazy(PCA(2, svd_solver="full").fit_transform(pending(GRID)))


@pytest.mark.parametrize("eager_size", [0, 8192])
def test_pillow(eager_size: int) -> None:
    """A picture of an array, also of one whose rows are read backwards, and of one channel."""
    Image = pytest.importorskip("PIL.Image")
    values = host.arange(27, dtype=host.uint8).reshape(3, 3, 3)
    with lf.options(eager_size=eager_size):
        for made in (lambda x: x, lambda x: x[:, ::-1] // 2, lambda x: x[..., 0]):
            picture = Image.fromarray(made(pending(values)))
            assert host.array_equal(host.asarray(picture), made(values))


def test_matplotlib() -> None:
    """Lines, histograms, bars, images and scatters, each computing once."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    x = pending()
    (line,) = axes.plot(x, x * 2)
    assert (line.get_ydata() == VALUES * 2).all()
    lf.reset_stats()
    counts, _, _ = axes.hist(pending(host.arange(50_000.0)))
    assert counts.sum() == 50_000 and lf.stats().kernels_launched < 50
    axes.bar(pending(VALUES[:4]), pending(VALUES[:4]))
    axes.imshow(pending(GRID))
    axes.scatter(x, x, c=pending())
    axes.fill_between(x, x, x + 1)
    axes.errorbar(x, x, yerr=pending())
    axes.contour(pending(GRID))
    figure.savefig(io.BytesIO())
    plt.close(figure)


def test_torch() -> None:
    """Tensors both ways through DLPack. `torch.asarray` takes buffers for numbers of its own
    dtype: it gets none.
    """
    torch = pytest.importorskip("torch")
    for make in (torch.from_dlpack, torch.as_tensor, torch.tensor):
        assert torch.equal(make(pending(GRID)).cpu(), torch.from_numpy(GRID))
    with pytest.raises(RuntimeError, match="buffer"):
        torch.asarray(pending(GRID))
    tensor = torch.arange(4.0)
    x = lf.from_dlpack(tensor)
    tensor += 1
    assert is_lazy(x) and host.asarray(x).tolist() == [0, 1, 2, 3]
    try:  # which of both would the result be? torch says, another from version to version
        both = tensor + pending(VALUES[:4])
    except TypeError:
        return
    assert host.asarray(both).tolist() == (host.arange(1.0, 5) + VALUES[:4]).tolist()


def test_numba() -> None:
    """Functions made by `vectorize` take LazyArrays."""
    numba = pytest.importorskip("numba")
    double = numba.vectorize(["float64(float64)"])(lambda value: value * 2)
    assert host.allclose(host.asarray(double(pending())), VALUES * 2)
    summed = numba.njit(lambda values: values.sum())
    assert summed(host.asarray(pending())) == VALUES.sum()


# ---- storage


def test_h5py() -> None:
    """Datasets are made from and filled with LazyArrays."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(io.BytesIO(), "w") as file:
        data = file.create_dataset("a", data=pending(GRID))
        assert (data[...] == GRID).all()
        data[1:] = pending(GRID[:2]) * 2
        assert (data[1:] == GRID[:2] * 2).all()
        assert is_lazy(lf.asarray(data)) and (host.asarray(lf.asarray(data)[0]) == GRID[0]).all()


def test_zarr() -> None:
    """Chunked stores take LazyArrays."""
    zarr = pytest.importorskip("zarr")
    store = zarr.create_array(store={}, shape=(3, 4), chunks=(2, 2), dtype="f8")
    store[:] = pending(GRID)
    assert (store[:] == GRID).all()
    assert (zarr.create_array(store={}, data=pending(GRID))[1:] == GRID[1:]).all()


def test_numpys_own_files(tmp_path: Path) -> None:
    """save, load, savez, savetxt, tofile and fromfile."""
    lf.save(tmp_path / "a.npy", pending(GRID))
    assert (host.load(tmp_path / "a.npy") == GRID).all()
    assert is_lazy(lf.load(tmp_path / "a.npy"))
    host.savez(tmp_path / "b.npz", grid=pending(GRID))
    assert (host.load(tmp_path / "b.npz")["grid"] == GRID).all()
    lf.savetxt(tmp_path / "c.txt", pending(GRID))
    assert is_lazy(lf.loadtxt(tmp_path / "c.txt"))
    pending(GRID).tofile(tmp_path / "d")
    assert (host.asarray(lf.fromfile(tmp_path / "d")) == VALUES).all()


def test_standard_library() -> None:
    """math, statistics, random, json and struct meet arrays as they meet NumPy's."""
    import json
    import math
    import statistics

    x = pending()
    assert math.fsum(x) == math.fsum(VALUES) and math.hypot(*x[:3]) == math.hypot(*VALUES[:3])
    assert statistics.mean(x) == statistics.mean(VALUES)
    assert json.dumps(x.tolist()) == json.dumps(VALUES.tolist())
    assert max(x) == 5.5 and sum(x) == VALUES.sum() and sorted(-x)[0] == -5.5
