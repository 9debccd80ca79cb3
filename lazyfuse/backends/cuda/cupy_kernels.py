"""cupy.ElementwiseKernel and cupy.ReductionKernel as executables.

Buffers become cupy arrays that share their memory; broadcast axes get a stride of 0, which cupy
takes as it is. cupy compiles at the first call with a new set of dtypes and layouts, and keeps its
own caches in memory and on disk, so `binary` holds the name only. What it refuses then runs as own
text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import cupy
import numpy as np
from cupy.cuda.compiler import CompileException

from lazyfuse.backends.base import Buffer, Executable, Launch, Scalar
from lazyfuse.backends.cuda.buffers import as_cupy
from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.device import Device
from lazyfuse.backends.cuda.elementwise import (
    CUPY_OPTIONS,
    ElementwiseText,
    render_cupy_elementwise,
)
from lazyfuse.backends.cuda.executable import pack_binary
from lazyfuse.backends.cuda.launch import Layout
from lazyfuse.backends.cuda.program import Strategy
from lazyfuse.backends.cuda.reduction import ReductionText, render_cupy_reduction
from lazyfuse.ir.kernel import Kernel, Role

Run = Callable[[list[cupy.ndarray], list[np.generic], Any], None]


class CupyExecutable:
    """A kernel that cupy compiles; `own` makes the executable of its own text."""

    __slots__ = ("kernel", "source", "binary", "run", "gpu", "own")

    def __init__(
        self,
        kernel: Kernel,
        strategy: Strategy,
        name: str,
        gpu: Device,
        own: Callable[[], Executable],
    ) -> None:
        self.kernel = kernel
        self.gpu = gpu
        self.own = own
        self.binary = pack_binary(name, b"")
        if strategy is Strategy.ELEMENTWISE_KERNEL:
            elementwise = render_cupy_elementwise(kernel, name)
            self.source, self.run = elementwise.source, _elementwise(kernel, elementwise)
        else:
            reduction = render_cupy_reduction(kernel, name)
            self.source, self.run = reduction.source, _reduction(kernel, reduction)

    def bind(
        self,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> Launch:
        """Fix extents, strides and offsets; see backends/base.py."""
        layout = Layout.of(self.kernel, extents, strides, offsets)

        def own() -> Launch:
            return self.own().bind(extents, strides, offsets)

        return CupyLaunch(self.kernel, self.run, layout, self.gpu, own)


class CupyLaunch:
    """Arrays over the buffers of a call, then the cupy kernel."""

    __slots__ = ("run", "views", "scalars", "is_empty", "is_reduction", "gpu", "make_own", "own",
                 "stream")  # fmt: skip
    queued = 1

    def __init__(
        self,
        kernel: Kernel,
        run: Run,
        layout: Layout,
        gpu: Device,
        make_own: Callable[[], Launch],
    ) -> None:
        self.run, self.gpu, self.make_own = run, gpu, make_own
        self.own: Any = None
        self.stream: Any = None
        self.views = [_view(kernel, layout, number) for number in range(len(kernel.args))]
        self.scalars = [np.dtype(dtype) for dtype in kernel.scalars]
        self.is_empty = 0 in layout.extents[: kernel.outer]
        self.is_reduction = kernel.inner > 0

    @property
    def is_capturable(self) -> bool:
        """Reductions may take memory from the pool, which a graph would not keep."""
        return self.own is not None or not self.is_reduction

    def on(self, recorder: Any) -> Launch:
        """The same launch, recorded."""
        if self.own is not None:
            recorded: Launch = self.own.on(recorder)
            return recorded
        launch = copy(self)
        launch.stream = recorder.stream
        return launch

    def __call__(self, buffers: Sequence[Buffer], scalars: Sequence[Scalar], **_: object) -> int:
        """Run on buffers and scalars; the rest is a CPU's. Returns 0: a GPU has no floating point
        flags."""
        if self.is_empty:
            return 0
        if self.own is not None:
            return int(self.own(buffers, scalars))
        typed = [dtype.type(scalar) for dtype, scalar in zip(self.scalars, scalars, strict=True)]
        try:
            with self.gpu.reported, self.gpu.use():
                pairs = zip(buffers, self.views, strict=True)
                arrays = [as_cupy(buffer, *view) for buffer, view in pairs]
                self.run(arrays, typed, self.stream)
        except CompileException:  # of another version of cupy, say
            self.own = self.make_own()
            return int(self.own(buffers, scalars))
        return 0


def _view(
    kernel: Kernel, layout: Layout, number: int
) -> tuple[np.dtype, tuple[int, ...], tuple[int, ...], int]:
    """Dtype, shape, strides and offset (bytes): inputs span all axes, outputs the outer ones."""
    arg = kernel.args[number]
    strides, size = layout.strides[number], CTYPES[arg.dtype].size
    assert strides is not None, number
    ndim = len(layout.extents) if arg.role is Role.IN else kernel.outer
    steps = tuple(stride * size for stride in strides[:ndim])
    return np.dtype(arg.dtype), layout.extents[:ndim], steps, layout.offsets[number] * size


def _elementwise(kernel: Kernel, text: ElementwiseText) -> Run:
    function = cupy.ElementwiseKernel(
        text.in_params,
        text.out_params,
        text.operation,
        text.name,
        preamble=text.preamble,
        options=CUPY_OPTIONS,
    )

    def run(arrays: list[cupy.ndarray], scalars: list[np.generic], stream: Any) -> None:
        inputs = [arrays[number] for number in text.inputs]
        outputs = [arrays[number] for number in text.outputs]
        named = {} if stream is None else {"stream": stream}
        function(*inputs, *scalars, *outputs, **named)

    return run


def _reduction(kernel: Kernel, text: ReductionText) -> Run:
    function = cupy.ReductionKernel(
        text.in_params,
        text.out_params,
        text.map_expr,
        text.reduce_expr,
        text.post_map_expr,
        text.identity,
        text.name,
        reduce_type=text.reduce_type,
        preamble=text.preamble,
        options=CUPY_OPTIONS,
    )
    axes = tuple(range(kernel.outer, kernel.outer + kernel.inner))

    def run(arrays: list[cupy.ndarray], scalars: list[np.generic], stream: Any) -> None:
        source, output = arrays[kernel.inputs[0]], arrays[kernel.outputs[0]]
        function(source, *scalars, output, axis=axes)

    return run
