"""Kernels of single functions: soon there at first, fast after a while, on disk from the first
compile on; with the same bits always.
"""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.frontend.direct import direct
from lazyfuse.ir.node import Map, Source
from lazyfuse.ops.table import OPS
from lazyfuse.runtime import op_kernels, session
from lazyfuse.runtime.op_kernels import AnotherKernelError, OpKernel, op_kernel
from lazyfuse.runtime.single import Address
from tests.environment import ROOT, python_path

pytestmark = [pytest.mark.engine, pytest.mark.cpu("kernels that are called on NumPy's memory")]
LOOPS = [
    (name, op, dtype)
    for name, op in OPS.items()
    for dtype in ("f4", "f8", "c16")
    if op.ulp
    and op.ufunc is not None
    and op.ufunc.nout == 1
    and host.dtype(dtype).char * op.ufunc.nin in {loop.split("->")[0] for loop in op.ufunc.types}
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of their own, in which nothing is."""
    given = {"disk_cache": True, "cache_dir": str(tmp_path), "check": False, "device": "cpu"}
    with lf.options(cold_size=100_000, eager_size=30_000, **given):
        lf.cache_clear()
        yield tmp_path
    lf.cache_clear()


def made(name: str, dtype: str) -> OpKernel | None:
    """The kernel of a function on arrays of a dtype."""
    count = OPS[name].ufunc.nin  # type: ignore[union-attr]  # not None
    operands = tuple(Source((8,), dtype, (1,), "placeholder") for _ in range(count))
    return op_kernel(Map(OPS[name], (dtype,) * count, dtype, (8,), (1,), operands), "cpu")


def file_of_sin(folder: Path) -> Path:
    """Where its kernel is kept; the first compile of a process leaves other files beside it."""
    asked = ("sin", ("f8",), "f8", ("f8",), (False,))
    return folder / f"{op_kernels._name(asked, session.backend('cpu'))}.kernel"


def values(dtype: str, size: int) -> list[host.ndarray]:
    """Three arrays of numbers of all kinds."""
    draw = host.random.default_rng(7)
    found = []
    for _ in range(3):
        reals = draw.normal(0, 1, size) * 10.0 ** draw.integers(-30, 30, size)
        reals[:7] = [0.0, -0.0, host.inf, -host.inf, host.nan, 1.0, 0.5]
        draw.shuffle(reals)
        with host.errstate(all="ignore"):
            found.append((reals + 1j * draw.normal(0, 1, size)).astype(dtype, casting="unsafe")
                         if dtype[0] == "c" else reals.astype(dtype))  # fmt: skip
    return found


def run(kernel: OpKernel, operands: list[host.ndarray], size: int) -> tuple[bytes, int]:
    """What a kernel computes of the first elements, and the conditions that it meets."""
    result = host.full(size + 9, 77, operands[0].dtype)
    given = [*operands[: len(kernel.arrays) - 1], result]
    memory = [Address(given[place]) for place in kernel.arrays]
    flags: int = kernel.launch(size)(memory, [], threads=2)
    assert (result[size:] == 77).all()
    return result[:size].tobytes(), flags


@pytest.mark.parametrize("name,op,dtype", LOOPS, ids=[f"{n}-{d}" for n, _, d in LOOPS])
def test_the_first_kernel_has_the_bits_of_the_last(name: str, op: Any, dtype: str) -> None:
    """Of all functions, in whole vectors and parts of them; and the conditions."""
    kernel = made(name, dtype)
    if kernel is None:
        pytest.skip("not one kernel")
    operands = values(dtype, 700)
    sizes = (1, 7, 16, 33, 64, 700)
    first = [run(kernel, operands, size) for size in sizes]
    compiled = lf.stats().kernels_compiled
    kernel.improve()
    assert lf.stats().kernels_compiled == compiled + 1
    assert [run(kernel, operands, size) for size in sizes] == first


def test_a_kernel_that_has_computed_much_is_compiled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(op_kernels, "_BRIEF", 3000)
    x, exp = lf.asarray(host.linspace(0, 1, 1000)), direct("exp")  # machine code has its own
    lf.reset_stats()
    found = [host.asarray(exp([x])).tobytes() for _ in range(3)]
    assert lf.stats().kernels_compiled == 1
    found += [host.asarray(exp([x])).tobytes() for _ in range(2)]
    assert lf.stats().kernels_compiled == 2 and len(set(found)) == 1


def test_files_of_another_kind_are_made_anew(folder: Path) -> None:
    """Files that match their digest but are no kernels."""
    disk = session.disk_cache(str(folder))
    assert made("sin", "f8") is not None
    path = file_of_sin(folder)
    kept = disk.read(path.stem)
    assert kept is not None
    for content in (b"", b"garbage", marshal.dumps([1, 2]), kept[:-1]):
        disk.write(path.stem, content)
        lf.cache_clear()
        lf.reset_stats()
        assert made("sin", "f8") is not None
        assert lf.stats().kernels_compiled == 1 and disk.read(path.stem) == kept


def test_want_of_memory_leaves_files_and_another_attempt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that could not be read for want of memory was removed; an interrupt or want of memory
    while a kernel was compiled again left the brief one for ever."""
    assert made("sin", "f8") is not None
    path = file_of_sin(folder)
    assert path.exists()
    lf.cache_clear()

    def no_room(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(op_kernels, "loaded_parts", no_room)
        patched.setattr(session.disk_cache(str(folder)), "write", lambda *_: None)
        assert made("sin", "f8") is not None
    assert path.exists()
    found = made("sin", "f8")
    assert found is not None
    brief = found._made
    assert found._better is not None
    for error in (MemoryError, KeyboardInterrupt):
        with monkeypatch.context() as patched, pytest.raises(error):
            patched.setattr(op_kernels, "_best", Mock(side_effect=error))
            found.improve()
    found.improve()
    assert found._made is not brief


def test_who_verifies_compares_what_is_on_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made("sin", "f8") is not None
    lf.cache_clear()
    name = file_of_sin(folder).stem
    monkeypatch.setattr(op_kernels, "_name", lambda *_: name)
    with lf.options(check=True):
        assert made("sin", "f8") is not None
        with pytest.raises(AnotherKernelError):
            made("cos", "f8")


def printed(code: str, folder: Path) -> str:
    """What a program prints in a process of its own."""
    given = {
        "LAZYFUSE_CACHE_DIR": str(folder), "LAZYFUSE_DISK_CACHE": "1", "LAZYFUSE_CHECK": "0",
        "LAZYFUSE_COLD_SIZE": "400000", "LAZYFUSE_EAGER_SIZE": "30000", "LAZYFUSE_DEVICE": "cpu",
        "PYTHONPATH": python_path(),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True,
        timeout=120, check=False, env=os.environ | given,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_common_functions_are_there_after_the_first_compile(tmp_path: Path) -> None:
    """In this process, and in others, which need no compiler; and they count for nobody."""
    begin = """
    import sys
    import numpy as np, lazyfuse as lf
    x = lf.array(np.linspace(0, 1, 500_000))
    """
    functions = """
    lf.reset_stats()
    y = np.linspace(0, 1, 50_000)
    for dtype in (np.float32, np.float64):
        z = lf.array(y.astype(dtype))
        lf.materialize(lf.exp(z) / lf.log(z + 1))
    print(lf.stats().kernels_compiled, "llvmlite" in sys.modules)
    """
    compiles = "\n    lf.materialize(lf.sinh(x))\n    print(lf.stats().kernels_compiled)\n"
    aside = """
    from lazyfuse.runtime import aside
    for _ in range(3):
        lf.materialize(x * 2.0)
        aside.wait()
    print(lf.stats().kernels_compiled)
    """
    here, there, beside = (tmp_path / name for name in ("here", "there", "beside"))
    assert printed(begin + compiles + functions, here) == "1\n0 True"
    assert printed(begin + functions, here) == "0 False"
    assert printed(begin + functions, there) == "4 True"
    assert printed(begin + aside + functions, beside) == "1\n0 True"


@pytest.mark.parametrize("is_kept", [True, False])
def test_nothing_is_made_for_a_folder_that_keeps_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    """Each process would make it, of which most have no use for it."""
    asked = []
    backend = type(session.backend("cpu"))
    monkeypatch.setattr(backend, "compile_together", lambda *given, **_: asked.append(given) or [])
    place = folder / "new" if is_kept else folder / "file" / "new"
    (folder / "file").write_text("no folder")
    with lf.options(cache_dir=str(place), cold_size=0, eager_size=0):
        x = lf.asarray(host.arange(100.0))
        assert float((x * 2.0 + x)[1]) == 3.0
    assert bool(asked) == is_kept
