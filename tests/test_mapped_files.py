"""Files mapped for reading that the program writes while results of them are pending."""

from __future__ import annotations

import mmap
import os
import shutil
import sys
import threading
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


def test_other_files_are_opened_whatever_maps_there_are(tmp_path: Path) -> None:
    """Maps without a file, and those that somebody wants to close."""
    host.save(tmp_path / "values.npy", VALUES)
    (tmp_path / "other").write_text("begun")
    raw = host.load(tmp_path / "values.npy", mmap_mode="r")
    mapped = lf.asarray(raw) + 1
    memory = mmap.mmap(-1, VALUES.nbytes, access=mmap.ACCESS_READ)
    nowhere = lf.frombuffer(memory, "f8") + 1
    with pytest.raises(BufferError):
        raw._mmap.close()  # which would end the process when the sum is computed
    (tmp_path / "other").write_text("done")
    host.testing.assert_array_equal(nowhere, host.ones(COUNT))
    host.testing.assert_array_equal(mapped, VALUES + 1)
    del mapped
    raw._mmap.close()


def test_events_of_others_are_passed_over(tmp_path: Path) -> None:
    host.save(tmp_path / "values.npy", VALUES)
    mapped = lf.load(tmp_path / "values.npy", mmap_mode="r")
    result = mapped + 1
    for args in ((), ("x",), ("x", None, None), (3, "w", os.O_WRONLY), (None, None, os.O_RDWR)):
        sys.audit("open", *args)
        sys.audit("os.truncate", *args)
    assert is_pending(result)


def test_other_threads_go_on(tmp_path: Path) -> None:
    """A list of all objects has tuples in it that another thread is still making."""
    host.save(tmp_path / "values.npy", VALUES)
    host.save(tmp_path / "other.npy", VALUES)
    mapped = lf.load(tmp_path / "values.npy", mmap_mode="r")
    kept = [[number] for number in range(100_000)]
    failures: list[BaseException] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                assert len(tuple(str(number) for number in range(500))) == 500
                assert float((lf.asarray(mapped) * 2)[3]) == VALUES[3] * 2
            except BaseException as error:  # noqa: BLE001 - all are asked for below
                failures.append(error)
                return

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        open(tmp_path / "other.npy", "r+b").close()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures and kept


@pytest.mark.parametrize("kind", ["map", "view", "buffer"])
def test_copies_are_copies(tmp_path: Path, kind: str) -> None:
    """`array` of what lies over a map does not change with the file."""
    host.save(tmp_path / "values.npy", VALUES)
    raw = host.load(tmp_path / "values.npy", mmap_mode="r")
    given = {"map": raw, "view": host.asarray(raw), "buffer": host.frombuffer(raw, "f8")}[kind]
    copy, shared = lf.array(given), lf.asarray(given)
    with (tmp_path / "values.npy").open("r+b") as file:
        file.seek(-VALUES.nbytes, os.SEEK_END)
        file.write(OTHERS.tobytes())
    host.testing.assert_array_equal(copy, VALUES)
    host.testing.assert_array_equal(shared, OTHERS)
