"""The kernel cache: what is a new kernel, what is not, its bound, and the kernels kept on disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from lazyfuse.runtime import engine
from tests import oracle
from tests.environment import python_path

pytestmark = pytest.mark.engine

lf = oracle.lf


def compiled(*programs: Any) -> int:
    """Count the kernels that programs compile, starting from an empty cache."""
    with oracle.options(disk_cache=False):
        lf.cache_clear()
        lf.reset_stats()
        for program in programs:
            result = program()
            lf.materialize(*(result if isinstance(result, (list, tuple)) else (result,)))
        return int(lf.stats().kernels_compiled)


def test_lengths_and_literals_are_arguments() -> None:
    """50 lengths and 50 literals of one program compile at most 3 kernels (pitfalls P25, P28)."""
    x = lf.array(host.arange(4000.0))
    lengths = [lambda n=n: lf.sqrt(x[:n] * 2 + 1).sum() for n in range(100, 4000, 78)]
    literals = [lambda k=k: lf.sqrt(x * k + 1).sum() for k in range(50)]
    floats = [lambda k=k: lf.sqrt(x * (k / 7) + 1).sum() for k in range(50)]
    assert len(lengths) == 50
    assert compiled(*lengths, *literals, *floats) <= 3


def test_literals_give_their_own_values() -> None:
    """A cached kernel takes the new literal, not the old one, special ones included."""
    x = lf.array(host.arange(1000.0))
    for value in (0, 1, 2, -3, 0.5, float("inf"), -0.0, float("nan"), 2**53 + 1.0, True):
        oracle.check(lambda np, x: (x * value + value) / 2, host.arange(1000.0))  # noqa: B023
    assert lf.asnumpy(x * 3)[5] == 15


def test_one_literal_is_one_argument() -> None:
    """A literal in a loop is one scalar of the kernel; equal values of their own are several."""
    x = lf.array(host.arange(1000.0))

    def steps(*numbers: float) -> int:
        y = x
        for number in numbers:
            y = y * number + number
        launch = engine.plan_for([y._storage.node], "cpu").steps[0]
        return len(launch.kernel.scalars)

    assert steps(2.5, 2.5, 2.5) == 1
    assert steps(2, 2, 2) == 1
    assert steps(2.5, 3.5, 2.5) == 2
    assert steps(*[float(str(2.5)) for _ in range(3)]) == 3  # nothing is known of their values


def test_equal_literals_and_others_do_not_share_a_plan() -> None:
    """Which scalars are one is part of the structure."""
    floats = [(2.0, 2.0, 2.0), (2.0, 3.5, 2.0), (2.0, 2.0, 3.5), (3.5, 2.0, 2.0), (1.5, 2.5, 3.5)]
    for a, b, c in floats * 3 + [(2, 2, 2), (3, 2, 3), (0.0, -0.0, 0.0), (2, 2.0, True)]:
        oracle.check(lambda np, x: ((x * a + b) * c - a) / b, host.arange(1000.0))  # noqa: B023


def test_closures_are_not_keys() -> None:
    """A program built anew each time compiles once (pitfall P26)."""
    x = lf.array(host.arange(3000.0))

    def build(k: int) -> Any:
        return lambda: (lambda y: y * y + k)(x)

    assert compiled(*[build(k) for k in range(100)]) <= 1


def test_dtypes_are_keys() -> None:
    """The same structure with other dtypes is another kernel with another answer (pitfall P27)."""
    order = [
        (True, "?"),
        (1, "i8"),
        (1.0, "f8"),
        (host.float32(1), "f4"),
        (1j, "c16"),
        (host.uint8(1), "u1"),
    ]
    values = host.arange(700)
    for repeat in range(2):
        for scalar, name in order[:: 1 if repeat else -1]:
            for dtype in ("u1", "i4", "f4", "f8"):
                oracle.check(lambda np, x: [x * scalar, x + scalar], values.astype(dtype))  # noqa: B023
            oracle.check(lambda np, x: x.astype("u2").astype("i4").astype(name), values)  # noqa: B023


def test_layouts_are_keys() -> None:
    """One structure over contiguous, strided, reversed and broadcast memory never mixes its
    kernels.
    """
    base = host.arange(900.0)
    views = (
        lambda b: b[:300],
        lambda b: b[::3],
        lambda b: b[299::-1],
        lambda b: b[:900:3][::-1],
        lambda b: b[7:307],
    )
    for _ in range(2):
        for left in views:
            for right in views:
                oracle.check(lambda np, b: left(b) * 2 + right(b), base)  # noqa: B023
        oracle.check(lambda np, b: np.broadcast_to(b[:1], (300,)) * 2 + b[:300], base)


def test_outputs_are_keys() -> None:
    """The same work with another set of outputs is another kernel."""
    for picks in ((0,), (1,), (0, 1), (1, 0), (0, 1, 2), (2,)):

        def program(np: Any, x: Any) -> Any:
            parts = [x + 1, (x + 1) * 2, (x + 1) * 2 - x]
            return [parts[k] for k in picks]  # noqa: B023

        oracle.check(program, host.arange(600.0))


def test_second_run_compiles_nothing() -> None:
    """A second run hits the cache, and says so."""
    x = lf.array(host.arange(5000.0))
    lf.materialize(lf.cos(x) * 3 - x)
    lf.reset_stats()
    lf.materialize(lf.cos(x) * 3 - x)
    assert lf.stats().kernels_compiled == 0 and lf.stats().cache_hits >= 1


def test_info_and_clear() -> None:
    """`cache_info` counts entries, `cache_clear` empties, and everything still works."""
    x = lf.array(host.arange(5000.0))
    lf.cache_clear()
    assert lf.cache_info().currsize == 0
    lf.materialize(x * 2 + 1, (x - 1).sum())
    assert lf.cache_info().currsize >= 1 and lf.cache_info().maxsize >= 100
    lf.cache_clear()
    assert lf.cache_info().currsize == 0
    assert float((x * 2 + 1)[3]) == 7


def test_the_cache_is_bounded() -> None:
    """`cache_size` bounds the entries; the least recently used go first."""
    x = lf.array(host.arange(2000.0))
    programs = [
        lambda: x + 1, lambda: x * x, lambda: x - x / 2, lambda: lf.sqrt(x), lambda: abs(x) * x,
        lambda: (x > 3) * x, lambda: x.sum(), lambda: x.max(),
    ]  # fmt: skip
    with oracle.options(cache_size=3, disk_cache=False):
        lf.cache_clear()
        for program in programs:
            lf.materialize(program())
            lf.materialize(programs[0]())
            assert lf.cache_info().currsize <= 3
        lf.reset_stats()
        lf.materialize(programs[0]())
        assert lf.stats().kernels_compiled == 0, "the most recently used kernel was dropped"
        lf.materialize(programs[2]())
        assert lf.stats().kernels_compiled == 1, "the least recently used kernel was kept"


PROGRAM = textwrap.dedent(
    """
    import sys, numpy, lazyfuse as lf
    values = numpy.arange(20000.0)
    x = lf.array(values)
    y = lf.asnumpy(lf.exp(-x / 20000) * 3 + lf.sqrt(x))
    z = float((x * x - 1).sum())
    assert abs(y - (numpy.exp(-values / 20000) * 3 + numpy.sqrt(values))).max() < 1e-12
    assert z == float((values**2 - 1).sum())
    print(lf.stats().kernels_compiled)
    """
)


def _start(folder: Path) -> subprocess.Popen[str]:
    environment = os.environ | {
        "LAZYFUSE_CACHE_DIR": str(folder), "LAZYFUSE_DISK_CACHE": "1", "PYTHONPATH": python_path(),
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(folder: Path) -> int:
    """Run the program in a process of its own and return how many kernels it compiled."""
    process = _start(folder)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return int(out.split()[-1])


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def test_disk_cache_is_warm_in_another_process(tmp_path: Path) -> None:
    """What one process compiled, the next one loads."""
    assert _run(tmp_path) >= 1
    assert _files(tmp_path)
    assert _run(tmp_path) == 0


def test_disk_cache_is_private(tmp_path: Path) -> None:
    """The folder and its files belong to the user alone and hold no pickle."""
    folder = tmp_path / "cache"
    _run(folder)
    assert folder.stat().st_mode & 0o077 == 0
    for path in _files(folder):
        assert path.stat().st_mode & 0o022 == 0 and not path.name.endswith(
            (".pkl", ".pickle", ".tmp")
        )


@pytest.mark.parametrize("damage", ("flip", "truncate", "empty", "garbage"))
def test_damaged_files_are_rebuilt(tmp_path: Path, damage: str) -> None:
    """A file whose content does not match its digest is rejected and written again, never run."""
    built = _run(tmp_path)
    for path in _files(tmp_path):
        content = bytearray(path.read_bytes())
        if damage == "flip":
            content[len(content) // 2] ^= 0xFF
        path.write_bytes(
            {
                "flip": content,
                "truncate": content[: len(content) // 2],
                "empty": b"",
                "garbage": b"\x7fELF" * 99,
            }[damage]
        )
    assert _run(tmp_path) == built
    assert _run(tmp_path) == 0


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """Without a folder to write to, everything works from memory."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert _run(blocked / "below") >= 1


def test_many_processes_on_one_empty_cache(tmp_path: Path) -> None:
    """Processes that compile the same kernels at once, one of them killed, all end right (pitfall
    P30).
    """
    processes = [_start(tmp_path) for _ in range(5)]
    processes[0].send_signal(signal.SIGKILL)
    for process in processes[1:]:
        _, err = process.communicate(timeout=180)
        assert process.returncode == 0, err
    processes[0].communicate(timeout=60)
    assert _run(tmp_path) == 0
    assert not [
        path for path in _files(tmp_path) if "tmp" in path.name and path.stat().st_size == 0
    ]
