"""Libraries of files: arrays of ours are keys, values and outputs as NumPy's are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests import oracle

pytestmark = [pytest.mark.engine, pytest.mark.cpu("memory that NumPy shares")]

lf = oracle.lf
EAGER = (0, 8192)


def written(np: Any, folder: Path) -> list[Any]:
    """Rows of a file of HDF5 that an array picks; writing to them raised TypeError."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "rows.h5", "w") as file:
        file["x"] = host.zeros((4, 3))
        x = file["x"]
        x[np.array([0, 2])] = np.ones((2, 3))
        x[:, np.array([0, 2])] = np.ones((4, 2)) * 3
        x[np.array([True, False, False, True])] = np.ones((2, 3)) * 4
        x[np.arange(12).reshape(4, 3) % 5 == 0] = 7.0
        return [x[()], x[np.array([1, 3])], x[[0, 1], :], x[np.array([0, 1]).max()]]


def objects(np: Any, folder: Path) -> list[Any]:
    """Text, of which rows were refused."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "text.h5", "w") as file:
        rows = host.array([list("abc")] * 3, object)
        x = file.create_dataset("x", data=rows, dtype=h5py.string_dtype())
        mask, places = np.array([True, False, True]), np.array([0, 2])
        return [x[mask], x[mask, :], x[places, :]]


def attributes(np: Any, folder: Path) -> list[Any]:
    """One with a dtype of several elements raised ValueError."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "attributes.h5", "w") as file:
        file.attrs.create("x", data=np.arange(3, dtype="i4"), dtype=host.dtype("(3,)i4"))
        file.attrs.create("y", data=np.arange(3.0), dtype="f2")
        return [file.attrs["x"], file.attrs["y"]]


def direct(np: Any, folder: Path) -> list[Any]:
    """Reads into an array, and writes of one, which were refused."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "direct.h5", "w") as file:
        file["x"] = host.arange(40_000.0)
        read, view = np.zeros(40_000), np.zeros((3, 100))
        before, row = read + 1, view[1]
        file["x"].read_direct(read)
        file["x"].read_direct(view, source_sel=host.s_[:100], dest_sel=host.s_[1])
        file["x"].write_direct(read * 2, np.arange(5), host.s_[:5])
        return [read, before, view, row, file["x"][()], read.sum()]


def pictures(np: Any, folder: Path) -> list[Any]:
    """They raised ValueError."""
    util = pytest.importorskip("imageio.core.util")
    picture = util.Array(np.arange(6).reshape(2, 3), {"by": "me"})
    return [picture, util.image_as_uint(np.ones((2, 2)) * 0.5), len(picture.meta)]


@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("program", [written, objects, attributes, direct, pictures])
def test_files(program: Callable[[Any, Path], list[Any]], eager_size: int, tmp_path: Path) -> None:
    """What is read is what NumPy's arrays give."""
    with lf.options(eager_size=eager_size):
        for given, wanted in zip(program(lf, tmp_path), program(host, tmp_path), strict=True):
            assert host.asarray(given).dtype == host.asarray(wanted).dtype
            host.testing.assert_array_equal(given, wanted)


@pytest.mark.parametrize("shape", [(2, 3), (300, 200)])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_pages_are_read_into_an_array(
    shape: tuple[int, ...], compression: str | None, tmp_path: Path
) -> None:
    """An output was taken for the name of a file."""
    tifffile = pytest.importorskip("tifffile")
    values = host.arange(host.prod(shape), dtype="f4").reshape(shape)
    tifffile.imwrite(tmp_path / "x.tif", values, compression=compression)
    out, numpys = lf.zeros(shape, "f4"), host.zeros(shape, "f4")
    doubled = out + 1
    is_given_back = tifffile.imread(tmp_path / "x.tif", out=numpys) is numpys  # up to 2025
    found = tifffile.imread(tmp_path / "x.tif", out=out)
    assert (found is out) == is_given_back and lf.array_equal(found, values)
    assert lf.array_equal(out, values) and doubled.max() == 1.0
    with pytest.raises(ValueError, match="cannot reshape"):
        tifffile.imread(tmp_path / "x.tif", out=lf.zeros((5, 5), "f4"))
