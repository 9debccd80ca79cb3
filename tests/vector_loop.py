"""Compile a straight-line body to a loop over contiguous arrays, to measure vector math on
millions of points.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray

from lazyfuse.backends.cpu.features import feature_names
from lazyfuse.backends.cpu.vector import Operand, VectorWriter, scalar_type, vector_type
from lazyfuse.ops.body import Body, Instr
from lazyfuse.ops.primitives import PRIMITIVES

ArrayFunction = Callable[..., NDArray[np.generic]]


def call_body(name: str, dtype: str, arity: int) -> tuple[Body, int]:
    """A body that applies one primitive to its operands (`load` slots)."""
    body = Body()
    operands = [body.emit("load", dtype, attr=slot) for slot in range(arity)]
    return body, body.emit(name, dtype, *operands).index


def host_features() -> frozenset[str]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    found = llvm.get_host_cpu_features().flatten()
    return feature_names(found, "", llvm.get_process_triple())


def loop_text(body: Body, result: int, *, lanes: int, features: frozenset[str]) -> str:
    """LLVM IR of `void f(ptr in0, ptr in1, ptr out, i64 n)`, n a multiple of `lanes`."""
    writer = VectorWriter(lanes, features=features)
    writer.label("loop")
    writer.lines.append("%i = phi i64 [ 0, %entry ], [ %next, %tail ]")
    values: list[Operand] = []
    for instr in body.instrs:
        values.append(
            _load(writer, instr)
            if instr.op == "load"
            else writer.write(instr, [values[k] for k in instr.args])
        )
    value = values[result]
    _store(writer, value)
    writer.lines.append("br label %tail")
    writer.label("tail")
    writer.lines += [
        f"%next = add i64 %i, {lanes}",
        "%more = icmp ult i64 %next, %n",
        "br i1 %more, label %loop, label %end",
    ]
    lines = "\n".join(writer.lines)
    externals = "\n".join(writer.declarations.values())
    return (
        f"{externals}\ndefine void @f(ptr %in0, ptr %in1, ptr %out, i64 %n) {{\nentry:\n"
        f"br label %loop\n{lines}\nend:\nret void\n}}\n"
    )


def _load(writer: VectorWriter, instr: Instr) -> Operand:
    if instr.dtype == "b1":
        raise NotImplementedError("bool memory is bytes: load u1 and compare")
    kind = scalar_type(instr.dtype)
    place = writer.assign(f"getelementptr {kind}, ptr %in{instr.attr}, i64 %i", "u8").name
    return writer.assign(f"load {writer.type(instr.dtype)}, ptr {place}, align 1", instr.dtype)


def _store(writer: VectorWriter, value: Operand) -> None:
    dtype, name = value.dtype, value.name
    if dtype == "b1":
        value = writer.write(Instr("cast", "u1"), [value])
        dtype, name = value.dtype, value.name
    place = writer.assign(f"getelementptr {scalar_type(dtype)}, ptr %out, i64 %i", "u8").name
    writer.lines.append(f"store {vector_type(dtype, writer.lanes)} {name}, ptr {place}, align 1")


class CompiledLoop:
    """A compiled body: call it with one or two arrays; keeps the engine, so the code, alive."""

    def __init__(self, text: str, *, features: frozenset[str]) -> None:
        host_features()
        llvm.load_library_permanently("libm.so.6")
        names = ",".join(
            f"{'+' if is_on and name in features else '-'}{name}"
            for name, is_on in llvm.get_host_cpu_features().items()
        )
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=names, opt=3
        )
        self.module = llvm.parse_assembly(text)
        self.module.triple, self.module.data_layout = machine.triple, str(machine.target_data)
        self.module.verify()
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(self.module, builder)
        self.assembly = machine.emit_assembly(self.module)
        self.engine = llvm.create_mcjit_compiler(self.module, machine)
        self.engine.finalize_object()
        address = self.engine.get_function_address("f")
        pointer = ctypes.c_void_p
        self.function = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_int64)(address)

    def run(self, inputs: list[NDArray[np.generic]], out: NDArray[np.generic]) -> None:
        first, second = inputs[0], inputs[-1]
        self.function(first.ctypes.data, second.ctypes.data, out.ctypes.data, out.size)


def compile_body(
    body: Body, result: int, *, lanes: int, features: frozenset[str] | None = None
) -> ArrayFunction:
    """A function of contiguous one-dimensional arrays of any length (padded inside)."""
    features = host_features() if features is None else features
    loop = CompiledLoop(loop_text(body, result, lanes=lanes, features=features), features=features)
    dtype = np.dtype(body.instrs[result].dtype.replace("b1", "?"))

    def apply(*arrays: NDArray[np.generic]) -> NDArray[np.generic]:
        size = arrays[0].size
        padded = [np.ones(-(-size // lanes) * lanes, array.dtype) for array in arrays]
        for target, array in zip(padded, arrays, strict=True):
            target[:size] = array
        out = np.empty(padded[0].size, dtype)
        if size:
            loop.run(padded, out)
        return out[:size]

    apply.loop = loop  # type: ignore[attr-defined]  # benchmarks call it without padding
    return apply


def compile_function(
    name: str, dtype: str, *, lanes: int, arity: int = 1, features: frozenset[str] | None = None
) -> ArrayFunction:
    """One primitive as a function of arrays."""
    body, result = call_body(name, dtype, arity)
    return compile_body(body, result, lanes=lanes, features=features)


def without_avx512(name: str, dtype: str) -> ArrayFunction:
    """One primitive as processors compute it that have no AVX-512."""
    features = frozenset(each for each in host_features() if "avx512" not in each)
    arity = PRIMITIVES[name].arity
    return compile_function(name, dtype, lanes=4, arity=arity, features=features)
