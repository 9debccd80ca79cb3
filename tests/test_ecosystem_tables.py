"""Libraries that look up what they do with an array by its type: Dask, autograd."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests import oracle

pytestmark = [pytest.mark.engine, pytest.mark.cpu("memory that NumPy shares")]

lf = oracle.lf


@pytest.mark.parametrize("size", [10, 100_000])
def test_dask(size: int) -> None:
    """Percentiles raised TypeError: there is a function for NumPy's arrays alone."""
    da = pytest.importorskip("dask.array")
    dispatch = pytest.importorskip("dask.array.dispatch")
    x = da.from_array(lf.arange(float(size)), chunks=size // 2)
    wanted = da.percentile(da.from_array(host.arange(float(size)), chunks=size // 2), [50])
    assert da.percentile(x, [50]).compute() == wanted.compute()
    assert type(dispatch.to_numpy_dispatch(lf.arange(3))) is host.ndarray


def test_dtypes_of_dask() -> None:
    """It asks whether a function takes a dtype, and took ours for one that does not."""
    da = pytest.importorskip("dask.array")
    for np in (lf, host):
        found = da.reduction(da.from_array(np.ones(4), chunks=2), np.sum, np.sum, dtype="f4")
        assert found.dtype == found.compute().dtype == "f4"


def test_autograd() -> None:
    """Each argument of ours was refused."""
    autograd, anp = map(pytest.importorskip, ("autograd", "autograd.numpy"))

    def loss(x: Any) -> Any:
        return anp.sum(anp.tanh(x) ** 2) / anp.mean(x * x)

    for size in (4, 100_000):
        x = lf.linspace(1.0, 2.0, size)
        given = host.asarray(autograd.grad(loss)(x))
        assert host.allclose(given, autograd.grad(loss)(host.linspace(1.0, 2.0, size)), 1e-12, 0)
    number = lf.sin(lf.linspace(0, 1, 200_000)).mean()
    assert float(autograd.grad(anp.tanh)(number)) == autograd.grad(anp.tanh)(float(number))


AUTOGRAD = {
    "__init__.py": "",
    "numpy/__init__.py": "from . import numpy_boxes, numpy_vspaces",
    "numpy/numpy_boxes.py": """
class ArrayBox:
    types = []
    register = types.append
""",
    "numpy/numpy_vspaces.py": """
import numpy
class VSpace:
    mappings = {numpy.ndarray: "of an array"}
    register = mappings.__setitem__
""",
}


@pytest.mark.parametrize("first", ["autograd.numpy", "lazyfuse"])
def test_whichever_is_imported_first(first: str, tmp_path: Path) -> None:
    """What is registered for NumPy's arrays is so for ours; other versions are left alone."""
    for name, text in AUTOGRAD.items():
        path = tmp_path / "autograd" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    second = {"autograd.numpy": "lazyfuse", "lazyfuse": "autograd.numpy"}[first]
    other = tmp_path / "dask" / "array"
    other.mkdir(parents=True)
    (other.parent / "__init__.py").write_text("")
    (other / "__init__.py").write_text("")
    (other / "backends.py").write_text("known = True")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        f"import {first}, {second}\n"
        "import lazyfuse, dask.array.backends, autograd.numpy as anp\n"
        "kinds = [lazyfuse.LazyArray, lazyfuse.LazyScalar]\n"
        "assert anp.numpy_boxes.ArrayBox.types == kinds\n"
        "assert all(kind in anp.numpy_vspaces.VSpace.mappings for kind in kinds)\n"
        "assert dask.array.backends.known\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
