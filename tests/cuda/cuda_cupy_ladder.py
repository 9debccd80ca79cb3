"""cupy's strategies on the ladder: the source that cupy makes for every kernel of random programs
that it may have, on the host shim, with the engine around it.

cupy's source depends on which arrays are contiguous. So programs run once on own text, which notes
the layouts that kernels are bound to, and again when all sources are compiled together.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cuda_cases import Case
from cuda_cupy_source import (
    build_as_cupy,
    elementwise_source,
    reduction_source,
    run_as_cupy,
    views,
)
from cuda_ladder import Shelf

from lazyfuse.backends.base import Buffer, Executable, Scalar
from lazyfuse.backends.cuda.backend import wanted
from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.strategy import CUPY, choose
from lazyfuse.ir.kernel import Kernel

#: A kernel, and which of its arrays are contiguous.
Key = tuple[str, tuple[bool, ...]]


class CupyShelf(Shelf):
    """A shelf with cupy's kernels on it. Before `build`, own text stands for them."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(shelf.backend)
        self.built = shelf.built
        self.cases: dict[Key, Case] = {}
        self.sources: dict[Key, str] = {}
        self.library: ctypes.CDLL | None = None
        self.launches = 0

    def compile(self, kernel: Kernel, name: str) -> Executable:
        """cupy's kernel where the option asks for it and it applies."""
        own = super().compile(kernel, name)
        return CupyOnHost(self, own) if choose(kernel, wanted()) in CUPY else own  # type: ignore[return-value]

    def build(self, directory: Path) -> None:
        """Compile everything that was bound."""
        for key, case in self.cases.items():
            source = reduction_source if case.kernel.inner else elementwise_source
            self.sources[key] = source(case)
        named = [(case, self.sources[key]) for key, case in self.cases.items()]
        self.library = build_as_cupy(named, directory)


class CupyOnHost:
    """A kernel as cupy compiles it."""

    def __init__(self, shelf: CupyShelf, own: Executable) -> None:
        self.shelf, self.own, self.kernel = shelf, own, own.kernel
        self.source, self.binary = own.source, b""

    def bind(
        self,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> Any:
        """Note the layout, or make a launch for it."""
        kernel, shelf = self.kernel, self.shelf
        arrays = [
            np.lib.stride_tricks.as_strided(
                np.zeros(1, arg.dtype), extents, [step * CTYPES[arg.dtype].size for step in steps]
            )
            for arg, steps in zip(kernel.args, strides, strict=True)
        ]
        case = Case("", kernel, arrays, extents, [])
        key = (kernel.digest, tuple(view.flags.c_contiguous for view in views(case)))
        if shelf.library is None:
            case.name = f"{kernel.digest[:12]}_{len(shelf.cases)}"
            shelf.cases.setdefault(key, case)
            return self.own.bind(extents, strides, offsets)

        def launch(buffers: Sequence[Buffer], scalars: Sequence[Scalar], **_: object) -> int:
            if 0 in extents[: kernel.outer]:
                return 0
            given = [
                np.ndarray(
                    array.shape,
                    array.dtype,
                    buffer.memory,  # type: ignore[attr-defined]
                    offset * array.itemsize,
                    array.strides,
                )
                for array, buffer, offset in zip(arrays, buffers, offsets, strict=True)
            ]
            name = shelf.cases[key].name
            typed = Case(name, kernel, given, extents, [], tuple(scalars))
            assert shelf.library is not None
            run_as_cupy(typed, shelf.sources[key], shelf.library)
            shelf.launches += 1
            return 0

        return launch
