"""The exact source that cupy generates for our ElementwiseKernel and ReductionKernel texts,
without a device.

Uses functions of cupy 14.2 that are private but visible from Python; `needs_cupy_source` skips
where they are not. The source is compiled by NVRTC as cupy would, or by g++ through the host shim
with cupy's own CArray and CIndexer (`cupy/carray.cuh`; the other headers of cupy's list serve
complex numbers and atomics, which are never admitted).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from cuda_cases import Case

from lazyfuse.backends.cuda.elementwise import CUPY_OPTIONS, render_cupy_elementwise
from lazyfuse.backends.cuda.reduction import render_cupy_reduction
from lazyfuse.backends.cuda_host import compiler
from lazyfuse.backends.cuda_host.runtime import _How
from lazyfuse.ir.kernel import Role

_NDARRAY, _INDEXER, _SCALAR = 1, 2, 3  # cupy's _ArgKind


def cupy_modules():  # type: ignore[no-untyped-def]
    """cupy and the private modules, or skip."""
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    try:
        from cupy._core import _carray, _kernel, _reduction, _scalar, core

        needed = (_kernel._ArgInfo, _kernel._TypeMap, _kernel._get_elementwise_kernel_code)
        assert needed and _reduction._ReductionKernel_get_cached_function_code
    except (ImportError, AttributeError) as error:
        pytest.skip(f"cupy {cupy.__version__} hides its source generator: {error}")
    return cupy, _carray, _kernel, _reduction, _scalar, core


def _array_info(array: np.ndarray):  # type: ignore[no-untyped-def]
    cupy, _, kernel, _, _, _ = cupy_modules()
    return kernel._ArgInfo(
        _NDARRAY, cupy.ndarray, array.dtype, array.ndim, array.flags.c_contiguous, True
    )


def _scalar_info(dtype: str):  # type: ignore[no-untyped-def]
    _, _, kernel, _, scalar, _ = cupy_modules()
    return kernel._ArgInfo(_SCALAR, scalar.CScalar, np.dtype(dtype), 0, True, True)


def _indexer_info(ndim: int):  # type: ignore[no-untyped-def]
    _, carray, kernel, _, _, _ = cupy_modules()
    return kernel._ArgInfo(_INDEXER, carray.Indexer, None, ndim, True, True)


def _parameters(text: str, *, const: bool):  # type: ignore[no-untyped-def]
    kernel = cupy_modules()[2]
    return tuple(kernel.ParameterInfo(part, const) for part in text.split(","))


def headers() -> str:
    return "".join(f"#include <{name}>\n" for name in cupy_modules()[5]._cupy_header_list)


def views(case: Case) -> list[np.ndarray]:
    """The arrays as a cupy kernel gets them: reduced axes first in inputs, outer axes only in
    outputs.
    """
    kernel = case.kernel
    order = (*range(kernel.outer, kernel.outer + kernel.inner), *range(kernel.outer))
    return [
        array.transpose(order) if arg.role is Role.IN else array[(..., *(0,) * kernel.inner)]
        for arg, array in zip(kernel.args, case.arrays, strict=True)
    ]


def elementwise_source(case: Case) -> str:
    """Without headers."""
    cupy, _, kernel, _, _, _ = cupy_modules()
    text = render_cupy_elementwise(case.kernel, f"lf_{case.name}")
    function = cupy.ElementwiseKernel(
        text.in_params, text.out_params, text.operation, text.name, preamble=text.preamble,
        options=CUPY_OPTIONS,
    )  # fmt: skip
    arrays = views(case)
    infos = [_array_info(arrays[n]) for n in text.inputs]
    infos += [_scalar_info(dtype) for dtype in case.kernel.scalars]
    infos += [_array_info(arrays[n]) for n in text.outputs]
    types = [info.dtype for info in infos]
    split = len(text.inputs) + len(case.kernel.scalars)
    _, _, typemap = function._decide_params_type(tuple(types[:split]), tuple(types[split:]))
    everything = (*infos, _indexer_info(max(case.kernel.outer, 1)))
    return kernel._get_elementwise_kernel_code(
        everything, typemap, function.params, function.operation, function.name,
        function.preamble, **function.kwargs,
    )  # fmt: skip


def reduction_source(case: Case) -> str:
    """Without headers."""
    _, _, kernel, reduction, _, _ = cupy_modules()
    text = render_cupy_reduction(case.kernel, f"lf_{case.name}")
    source, output = (views(case)[n] for n in (case.kernel.inputs[0], case.kernel.outputs[0]))
    inputs = _parameters(text.in_params, const=True)
    outputs = _parameters(text.out_params, const=False)
    extra = _parameters("CIndexer _in_ind, CIndexer _out_ind", const=False)
    extra += _parameters("int32 _block_stride", const=True)
    infos = (
        _array_info(source),
        *(_scalar_info(dtype) for dtype in case.kernel.scalars),
        _array_info(output),
        _indexer_info(source.ndim),
        _indexer_info(output.ndim),
        _scalar_info("int32"),
    )
    typemap = kernel._TypeMap((("IndexT", np.dtype("int32")),))
    return reduction._ReductionKernel_get_cached_function_code(
        len(inputs), len(outputs), (*inputs, *outputs, *extra), infos, typemap, text.name, 512,
        text.reduce_type, text.identity, text.map_expr, text.reduce_expr, text.post_map_expr,
        text.preamble, (),
    )  # fmt: skip


def compile_as_cupy(source: str, architecture: str) -> bytes:
    """By NVRTC with the options that cupy would pass."""
    core = cupy_modules()[5]
    from cupy_backends.cuda.libs import nvrtc

    options = core.assemble_cupy_compiler_options(CUPY_OPTIONS)
    options += ("-ftz=true", f"-arch=sm_{architecture}", "--device-as-default-execution-space")
    program = nvrtc.createProgram(headers() + source, "cupy.cu", (), ())
    try:
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError as error:
            raise AssertionError(f"{nvrtc.getProgramLog(program)}\n{source}") from error
        return bytes(nvrtc.getCUBIN(program))
    finally:
        nvrtc.destroyProgram(program)


def build_as_cupy(named: Sequence[tuple[Case, str]], directory: Path) -> ctypes.CDLL:
    """Compile all sources with g++ and the shim, each in a namespace of its own."""
    include = Path(cupy_modules()[0].__file__).parent / "_core" / "include"
    text = f'#include "{include}/cupy/carray.cuh"\n'
    for number, (case, source) in enumerate(named):
        text += f"namespace scope{number} {{\n{source}}}\nusing scope{number}::lf_{case.name};\n"
    binary = compiler.build_library(text, [f"lf_{case.name}" for case, _ in named], directory)
    return compiler.load_library(binary, directory)


def run_as_cupy(case: Case, source: str, library: ctypes.CDLL) -> list[np.ndarray]:
    """Launch with the structs that cupy would pass; returns the outputs."""
    reduces = case.kernel.inner > 0
    arrays = views(case)
    values = [_carray(arrays[n]) for n in case.kernel.inputs]
    values += [
        np.dtype(d).type(v).tobytes()
        for d, v in zip(case.kernel.scalars, case.scalars, strict=True)
    ]
    values += [_carray(arrays[n]) for n in case.kernel.outputs]
    values.append(_indexer(arrays[0].shape or (1,)))
    if reduces:
        values += [_indexer(case.extents[: case.kernel.outer]), np.int32(1).tobytes()]
    held = [ctypes.create_string_buffer(value, len(value)) for value in values]
    pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(value) for value in held))
    how = _How((3, 1, 1), (512 if reduces else 128, 1, 1), int("__sync" in source), 0)
    assert getattr(library, f"lf_launch_lf_{case.name}")(ctypes.byref(how), pointers) == 0
    return [case.arrays[n] for n in case.kernel.outputs]


def _carray(array: np.ndarray) -> bytes:
    """CArray: data, size, shape, strides in bytes."""
    words = [array.__array_interface__["data"][0], array.size, *array.shape, *array.strides]
    return np.array(words, np.int64).tobytes()


def _indexer(shape: tuple[int, ...]) -> bytes:
    """CIndexer: size, shape, and room for the index."""
    return np.array([int(np.prod(shape)), *shape, *(0,) * len(shape)], np.int64).tobytes()
