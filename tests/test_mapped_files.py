"""Files mapped for reading that the program writes while results of them are pending."""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests.oracle import IS_ENGINE, lf

#: Maps are host memory, and what is pending is asked of the engine.
pytestmark = [
    pytest.mark.cpu("memory that NumPy shares"),
    pytest.mark.skipif(not IS_ENGINE, reason="asks lazyfuse about itself"),
]
COUNT = 100_000
VALUES = host.random.default_rng(5).random(COUNT)
OTHERS = VALUES + 7.0


def is_pending(array: Any) -> bool:
    return array._storage.node.buffer is None


def saved(path: Path, mapped: Any) -> None:
    lf.save(path, lf.asarray(OTHERS))


def written(path: Path, mapped: Any) -> None:
    with open(path, "wb") as file:
        file.write(b"short")


def cut(path: Path, mapped: Any) -> None:
    os.truncate(path, 10)


def cut_by_number(path: Path, mapped: Any) -> None:
    number = os.open(path, os.O_RDWR)
    try:
        os.truncate(number, 10)
    finally:
        os.close(number)


def copied_over(path: Path, mapped: Any) -> None:
    other = path.with_name("other.npy")
    host.save(other, OTHERS)
    shutil.copyfile(other, path)


def mapped_again(path: Path, mapped: Any) -> None:
    host.load(path, mmap_mode="r+")[:] = OTHERS


def saved_itself(path: Path, mapped: Any) -> None:
    host.save(path, mapped * 3)


@pytest.mark.parametrize(
    "write", [saved, written, cut, cut_by_number, copied_over, mapped_again, saved_itself]
)
def test_what_is_pending_on_a_map_has_the_values_of_before(
    tmp_path: Path, write: Callable[[Path, Any], None]
) -> None:
    path = tmp_path / "values.npy"
    host.save(path, VALUES)
    mapped = lf.load(path, mmap_mode="r")
    results = [mapped + number for number in range(100)]  # more than are remembered
    part, total = lf.exp(mapped[::2]), (mapped * 2).sum()
    changed = lf.zeros(COUNT)
    changed[10:] = mapped[10:]
    write(path, mapped)
    for number in (0, 50, 99):
        host.testing.assert_array_equal(results[number], VALUES + number)
    host.testing.assert_allclose(part, host.exp(VALUES[::2]), rtol=1e-14)
    host.testing.assert_allclose(total, (VALUES * 2).sum(), rtol=1e-14)
    host.testing.assert_array_equal(changed[10:], VALUES[10:])


def test_of_a_map_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "values"
    VALUES.tofile(path)
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    result = lf.frombuffer(memory, "f8") * 2
    OTHERS.tofile(path)
    host.testing.assert_array_equal(result, VALUES * 2)


def test_what_is_pending_stays_so_when_other_files_are_written(tmp_path: Path) -> None:
    host.save(tmp_path / "values.npy", VALUES)
    mapped = lf.load(tmp_path / "values.npy", mmap_mode="r")
    result, other = mapped + 1, lf.asarray(VALUES) + 1
    (tmp_path / "log").write_text("begun")
    (tmp_path / "log").write_text("done")
    assert (tmp_path / "values.npy").read_bytes()  # this one is read
    assert is_pending(result)
    OTHERS.tofile(tmp_path / "values.npy")
    assert is_pending(other)
    assert not is_pending(result)
