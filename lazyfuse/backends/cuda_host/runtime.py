"""The host shim as a Runtime: kernels called through ctypes, memory from NumPy."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lazyfuse.backends.base import Buffer
from lazyfuse.backends.cuda.geometry import Target
from lazyfuse.backends.cuda.launch import Function, Value, words_of

#: Words of kernel text at which a thread may have to wait for another: such kernels run as fibers.
WAITS = ("__syncthreads", "__shfl_xor_sync")
#: Alignment of buffers, as backends/base.py promises.
ALIGNMENT = 64


#: Bytes around every buffer that no kernel may write, and what they hold.
GUARD, GUARD_BYTE = 64, 0xC3


class HostLaunchError(RuntimeError):
    """Threads of a block wait at different barriers: on a GPU this kernel would hang."""


class HostMemoryError(RuntimeError):
    """A kernel wrote outside a buffer: on a GPU it would overwrite a neighbour or fault."""


class HostBuffer:
    """Flat host memory between two guards, as if it were a device's."""

    __slots__ = ("pointer", "nbytes", "device", "exclusive", "memory", "guarded", "__weakref__")

    def __init__(self, nbytes: int) -> None:
        raw = np.empty(nbytes + 2 * GUARD + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        self.guarded = raw[start : start + nbytes + 2 * GUARD]
        self.guarded[:GUARD] = self.guarded[GUARD + nbytes :] = GUARD_BYTE
        self.memory = self.guarded[GUARD : GUARD + nbytes]
        self.pointer = int(self.guarded.ctypes.data) + GUARD
        self.nbytes = nbytes
        self.device = "cuda-host"
        self.exclusive = True

    def check(self) -> None:
        """Raise HostMemoryError when a guard has changed."""
        guards = (self.guarded[:GUARD], self.guarded[GUARD + self.nbytes :])
        if any((guard != GUARD_BYTE).any() for guard in guards):
            raise HostMemoryError(f"a kernel wrote outside a buffer of {self.nbytes} bytes")


class _How(ctypes.Structure):
    """lfh::Launch."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("fibers", ctypes.c_int),
        ("order", ctypes.c_int),
        ("shared", ctypes.c_uint),
    ]


class HostRuntime:
    """A small make-believe GPU.

    `order` is the thread order: 0 forward, 1 reverse, above shuffled by that seed.
    """

    def __init__(self, target: Target, order: int = 0) -> None:
        self.target = target
        self.order = order
        self.word: Callable[[int], Any] = int
        self._workspaces: weakref.WeakSet[HostBuffer] = weakref.WeakSet()

    def workspace(self, nbytes: int, *, zeroed: bool) -> Buffer:
        """Memory for one launch; filled with 0xa5 unless zeroed, so that reading it unwritten
        shows.
        """
        buffer = HostBuffer(nbytes)
        self._workspaces.add(buffer)
        buffer.memory.fill(0 if zeroed else 0xA5)
        return buffer

    def table(self, words: np.ndarray) -> Buffer:
        """Memory for one launch that holds these words."""
        buffer = HostBuffer(words.nbytes)
        buffer.memory[:] = words.view(np.uint8)
        return buffer

    def functions(
        self, library: ctypes.CDLL, names: Sequence[str], source: str
    ) -> dict[str, Function]:
        """Look up the exported launchers of `library`."""
        fibers = any(word in source for word in WAITS)
        return {
            name: self._function(getattr(library, f"lf_launch_{name}"), name, fibers)
            for name in names
        }

    def _function(self, entry: ctypes._FuncPointer, name: str, fibers: bool) -> Function:
        def launch(
            grid: tuple[int, int], block: tuple[int, int], values: Sequence[Value], shared: int = 0
        ) -> None:
            how = _How((*grid, 1), (*block, 1), int(fibers), self.order, shared)
            slots = words_of(values)
            places = (ctypes.c_void_p * len(values))(
                *(slots.ctypes.data + 8 * position for position in range(len(values)))
            )
            if entry(ctypes.byref(how), places) != 0:
                raise HostLaunchError(f"{name}: threads of a block wait at different barriers")
            for workspace in list(self._workspaces):
                workspace.check()

        return launch
