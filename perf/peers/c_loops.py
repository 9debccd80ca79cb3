"""Loops in C (`loops.c`) for programs that are bound by memory: how fast this machine moves their
bytes when somebody tunes them by hand. Results go to memory that is kept from call to call.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from perf.environment import CACHE
from perf.workloads.base import Data

SOURCE = Path(__file__).with_name("loops.c")
FLAGS = (
    "-std=c11", "-O3", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=off",
    "-fno-math-errno", "-fno-trapping-math", "-fopenmp", "-shared", "-fPIC",
)  # fmt: skip
#: Bytes of results from which they are stored past the caches: a usual share of the last one.
STREAM_BYTES = 32 << 20

Version = Callable[[Data], Callable[[], tuple[np.ndarray, ...]]]


def compiler() -> str | None:
    """The C compiler of this machine."""
    return shutil.which(os.environ.get("CC", "cc"))


def version() -> str:
    """What the compiler calls itself."""
    found = compiler()
    if found is None:
        return ""
    words = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
    return words.stdout.partition("\n")[0]


@cache
def library() -> ctypes.CDLL:
    """The compiled loops: from the cache of the benchmarks, else compiled now."""
    found = compiler()
    assert found is not None
    text = " ".join((version(), *FLAGS)).encode() + SOURCE.read_bytes()
    target = CACHE / "c" / f"{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(f".{os.getpid()}")
        command = [found, *FLAGS, str(SOURCE), "-o", str(unfinished), "-lm"]
        subprocess.run(command, check=True)
        unfinished.replace(target)
    return ctypes.CDLL(str(target))


def prepared(name: str, *values: Any) -> Callable[[], Any]:
    """A call of a loop on arrays and numbers; it keeps the arrays, of which C has addresses."""
    function = getattr(library(), name)
    function.restype = None
    given = [
        ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else value
        for value in values
    ]
    return lambda kept=values: function(*given)  # type: ignore[misc]  # mypy infers no default


def elementwise(name: str, *inputs: str, results: int = 1) -> Version:
    """A loop over the named inputs with results that lie as the first does."""

    def version(data: Data) -> Callable[[], tuple[np.ndarray, ...]]:
        arrays = [data[each] for each in inputs]
        out = tuple(_aligned(arrays[0].shape, arrays[0].dtype) for _ in range(results))
        size = ctypes.c_ssize_t(arrays[0].size)
        call = prepared(name, *arrays, *out, size, _streams(*out))
        return lambda: (call(), out)[1]

    return version


def layer_norm(data: Data) -> Callable[[], tuple[np.ndarray, ...]]:
    """Rows."""
    x = data["x"]
    out = _aligned(x.shape, x.dtype)
    extents = map(ctypes.c_ssize_t, x.shape)
    call = prepared("layer_norm", x, data["gain"], data["bias"], out, *extents, _streams(out))
    return lambda: (call(), (out,))[1]


def standardize(data: Data) -> Callable[[], tuple[np.ndarray, ...]]:
    """Columns."""
    x = data["x"]
    out = _aligned(x.shape, x.dtype)
    call = prepared("standardize", x, out, ctypes.c_ssize_t(len(x)), _streams(out))
    return lambda: (call(), (out,))[1]


def heat(data: Data) -> Callable[[], tuple[np.ndarray, ...]]:
    """Steps between two arrays."""
    u = data["u"]
    out, other = (_aligned(u.shape, u.dtype) for _ in range(2))
    call = prepared("heat", u, out, other, ctypes.c_ssize_t(len(u)), 5)
    return lambda: (call(), (out,))[1]


def _aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory that begins at a cache line."""
    nbytes = int(np.prod(shape)) * dtype.itemsize
    memory = np.empty(nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + nbytes].view(dtype).reshape(shape)


def _streams(*results: np.ndarray) -> int:
    return int(sum(result.nbytes for result in results) >= STREAM_BYTES)


VERSIONS: dict[str, Version] = {
    "chain": elementwise("chain", "a", "b", "c"),
    "adam": elementwise("adam", "gradient", "first", "second", "weights", results=3),
    "tone_map": elementwise("tone_map", "photo", "gain"),
    "layer_norm": layer_norm,
    "standardize": standardize,
    "heat": heat,
}
