"""The interpreter as a Runtime (`backends/cuda/launch.py`): memory, and launches of PTX."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyfuse.backends.base import Buffer
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.launch import Function, Value
from lazyfuse.backends.cuda_ptx.launch import PtxModule
from lazyfuse.backends.cuda_ptx.memory import ALIGNMENT, GAP, Region, new_region

#: The address of the first buffer; no address is used twice.
FIRST = 0x70_0000_0000


class PtxBuffer:
    """Flat memory of the interpreter's device."""

    __slots__ = ("pointer", "nbytes", "device", "exclusive", "region", "__weakref__")

    def __init__(self, region: Region) -> None:
        self.pointer = region.base
        self.nbytes = region.nbytes
        self.device = "cuda-ptx"
        self.exclusive = True
        self.region = region

    @property
    def memory(self) -> np.ndarray:
        """The bytes, shared."""
        return self.region.data[: self.nbytes]

    def check(self) -> None:
        """Nothing to do: a store outside a buffer is an error when it happens."""


class PtxRuntime:
    """A device that interprets PTX. `order` above 0 shuffles blocks and atomics by that seed."""

    def __init__(self, target: Target, order: int = 0) -> None:
        self.target = target
        self.order = order
        self.word: Callable[[int], Any] = int
        self._next = itertools.count(FIRST, ALIGNMENT)
        self._buffers: weakref.WeakSet[PtxBuffer] = weakref.WeakSet()

    def allocate(self, nbytes: int) -> PtxBuffer:
        """Memory that holds a pattern, at an address of its own."""
        base = next(self._next)
        self._next = itertools.count(base + -(-nbytes // GAP) * GAP + GAP, ALIGNMENT)
        buffer = PtxBuffer(new_region(base, nbytes))
        self._buffers.add(buffer)
        return buffer

    def workspace(self, nbytes: int, *, zeroed: bool) -> Buffer:
        """Memory for one launch."""
        buffer = self.allocate(nbytes)
        if zeroed:
            buffer.memory[:] = 0
        return buffer

    def table(self, words: np.ndarray) -> Buffer:
        """Memory for one launch that holds these words."""
        buffer = self.allocate(words.nbytes)
        buffer.memory[:] = words.view(np.uint8)
        return buffer

    def functions(self, module: PtxModule, names: Sequence[str]) -> dict[str, Function]:
        """The launchers of a module's entries."""
        return {name: self._function(module, name) for name in names}

    def _function(self, module: PtxModule, name: str) -> Function:
        def launch(
            grid: tuple[int, int], block: tuple[int, int], values: Sequence[Value], shared: int = 0
        ) -> None:
            given = [_bytes(value) for value in values]
            memory = [buffer.region for buffer in list(self._buffers)]
            module.launch(
                name, (*grid, 1), (*block, 1), given, memory, order=self.order, shared=shared
            )

        return launch


def _bytes(value: Value) -> bytes:
    """A parameter as a launch passes it: integers take 8 bytes."""
    return (np.int64(value) if isinstance(value, int) else value).tobytes()
