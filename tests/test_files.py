"""Files: what one module writes the other reads, and arrays come back as LazyArrays."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests.oracle import IS_ENGINE, check, lf

needs_engine = pytest.mark.skipif(not IS_ENGINE, reason="asks lazyfuse about itself")


def through_npy(np: Any, m: Any) -> Any:
    """Save and load an array, a view and a pending result."""
    found = []
    for value in (m, m.T, m[::2, 1] * 2):
        file = io.BytesIO()
        np.save(file, value)
        file.seek(0)
        found.append(np.load(file))
    return found


def through_npz(np: Any, m: Any) -> Any:
    """Save and load several arrays by position and name."""
    found = []
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, m, total=m.sum(axis=0))
        file.seek(0)
        with np.load(file) as archive:
            found += [sorted(archive.files), archive["arr_0"] + 1, dict(archive)["total"]]
            found += [archive.f.total, "total" in archive, len(archive)]
    return found


def through_text(np: Any, m: Any) -> Any:
    """Write and read text in every way."""
    file = io.StringIO()
    np.savetxt(file, m * 2, fmt="%.3f", delimiter=",")
    text = file.getvalue()
    lines = text.splitlines()
    return (
        text,
        np.loadtxt(lines, delimiter=","),
        np.loadtxt(lines, delimiter=",", unpack=True),
        np.genfromtxt(lines, delimiter=",", usecols=(0, 2)),
        np.fromregex(io.StringIO("x1 y2\nx3 y4\n"), r"x(\d) y\d", [("x", "i4")])["x"],
        np.fromstring("1 2 3", dtype=int, sep=" "),
    )  # fmt: skip


def pickles(np: Any, m: Any) -> Any:
    """Pickle arrays by their own methods."""
    file = io.BytesIO()
    (m + 1).dump(file)
    return pickle.loads(file.getvalue()), pickle.loads(m.T.dumps())


@pytest.mark.parametrize("program", [through_npy, through_npz, through_text, pickles])
def test_files(program: Any) -> None:
    """What is written and read is NumPy's."""
    check(program, host.arange(12.0).reshape(3, 4) / 3)


def test_bytes(tmp_path: Path) -> None:
    """`tofile` writes the values in C order, `fromfile` reads them."""
    path = tmp_path / "values"

    def program(np: Any, m: Any) -> Any:
        m.T.tofile(path)
        binary = np.fromfile(path), np.fromfile(path, "f4", count=3, offset=8)
        (m * 2).tofile(path, sep=" ", format="%.1f")
        return *binary, path.read_text(), np.fromfile(path, sep=" ")

    check(program, host.arange(6.0).reshape(2, 3))


@pytest.mark.cpu("memory that NumPy shares")
@needs_engine
def test_mapped_files(tmp_path: Path) -> None:
    """A file mapped for reading is read without a copy; one mapped for writing stays NumPy's."""
    path = tmp_path / "values.npy"
    host.save(path, host.arange(1000.0))
    mapped = lf.load(path, mmap_mode="r")
    assert type(mapped) is lf.LazyArray
    memory = host.load(path, mmap_mode="r")
    address = host.asarray(mapped).__array_interface__["data"][0]
    again = lf.asarray(memory)
    assert host.asarray(again).__array_interface__["data"][0] == memory.ctypes.data
    assert address != memory.ctypes.data  # a mapping of its own
    assert float((mapped * 2).sum()) == 999_000.0
    writable = lf.load(path, mmap_mode="r+")
    assert type(writable) is host.memmap
    writable[:3] = lf.ones(3)
    writable.flush()
    assert host.load(path)[:4].tolist() == [1.0, 1.0, 1.0, 3.0]


RESIZES = {
    "longer": lambda np, m: m.resize(4, 4, refcheck=False),
    "shorter": lambda np, m: m.resize((5,), refcheck=False),
    "nothing": lambda np, m: m.resize(),
    "negative": lambda np, m: m.resize(-1, 2),
    "a view": lambda np, m: m[1:].resize(2),
}


@pytest.mark.parametrize("name", RESIZES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_resize(name: str, order: str) -> None:
    """An array is resized in place, its memory keeps its order."""

    def program(np: Any, values: Any) -> Any:
        m = np.array(values, order=order)
        RESIZES[name](np, m)
        return m

    check(program, host.arange(6.0).reshape(2, 3))
