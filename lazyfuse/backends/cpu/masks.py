"""What masks pick from arrays in one piece, packed by vectors: up to ten times as fast as NumPy.

    masks.pick(values, mask, out)        out[...] = values[mask]
    masks.place(target, mask, values)    target[mask] = values
    masks.fill(target, mask, value)      target[mask] = value, an array of one element
    masks.list_true(mask, out)           out[...] = np.flatnonzero(mask)

Arrays are C-contiguous and none shares memory with what is written; `values` and `mask` have as
many elements, `out` as many as are true. The code is loaded where so much was asked that it is
worth it, and compiled where that is; before, and for elements of other sizes, nothing is done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from lazyfuse.backends.cpu.compiler import Code, Compiler, NotKept
from lazyfuse.backends.cpu.masks_text import FUNCTIONS, PLACES, TYPES, text
from lazyfuse.forks import renewed
from lazyfuse.locks import RLock

#: Elements after which code from disk is worth it (half a millisecond; one saves 1 to 8 ns), code
#: that is compiled (50 ms), and to start LLVM for that (100 ms).
_WORTH_LOADING, _WORTH_COMPILING, _WORTH_STARTING = 100_000, 1 << 24, 1 << 25


class Masks:
    """See the module. Each function says whether it has done it."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._asked = 0
        self._has_looked = False
        self._functions: dict[str, Callable[..., None]] = {}
        self._code: Code | None = None
        self._lock = renewed(RLock())

    def pick(self, values: np.ndarray, mask: np.ndarray, out: np.ndarray) -> bool:
        """values[mask] into `out`."""
        if values.itemsize not in TYPES or not self._is_there(mask.size):
            return False
        self._run(f"lf_pick_{values.itemsize}", values, mask, out, count=out.size, size=mask.size)
        return True

    def place(self, target: np.ndarray, mask: np.ndarray, values: np.ndarray) -> bool:
        """target[mask] = values."""
        if target.itemsize not in TYPES or not self._is_there(mask.size):
            return False
        name = f"lf_place_{target.itemsize}"
        self._run(name, target, mask, values, count=values.size, size=mask.size)
        return True

    def fill(self, target: np.ndarray, mask: np.ndarray, value: np.ndarray) -> bool:
        """target[mask] = value."""
        if target.itemsize not in TYPES or not self._is_there(mask.size):
            return False
        self._run(f"lf_fill_{target.itemsize}", target, mask, value, size=mask.size)
        return True

    def list_true(self, mask: np.ndarray, out: np.ndarray) -> bool:
        """np.flatnonzero(mask) into `out`, which is of integers."""
        if out.itemsize not in PLACES or not self._is_there(mask.size):
            return False
        self._run(f"lf_list_{out.itemsize}", mask, out, count=out.size, size=mask.size)
        return True

    def _run(self, name: str, *arrays: np.ndarray, size: int, count: int | None = None) -> None:
        places = [array.__array_interface__["data"][0] for array in arrays]
        counts = (size,) if count is None else (count, size)
        self._functions[name](*places, *counts)

    def _is_there(self, elements: int) -> bool:
        """Whether there is code, also for so many elements more."""
        if not self._functions:
            self._asked += elements
            self._load()
        return bool(self._functions)

    def _load(self) -> None:
        has_llvm = "lazyfuse.backends.cpu.jit" in sys.modules
        compiles = self._asked >= (_WORTH_COMPILING if has_llvm else _WORTH_STARTING)
        if not compiles and (self._has_looked or self._asked < _WORTH_LOADING):
            return
        with self._lock:
            self._has_looked = True
            if self._functions:
                return
            try:
                code = self._compiled(compiles=compiles)
            except (NotKept, ImportError):
                return
            self._code = code
            self._functions = {
                name: code.function(name, arguments) for name, arguments in FUNCTIONS.items()
            }

    def _compiled(self, *, compiles: bool) -> Code:
        packs = "avx512f" in self._compiler.features and "avx512bw" in self._compiler.features
        binary = self._compiler.module(
            f"masks {packs}", lambda: text(packs=packs), compiles=compiles, level=2
        )
        return self._compiler.link(binary, tuple(FUNCTIONS))
