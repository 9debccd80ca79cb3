"""A Program together with loaded functions: what `compile` and `load` of the GPU and of the host
shim return.

`binary` is the entry's name, a zero byte, and the compiled code: names are for profilers, so a
kernel may be loaded under another name than it was compiled under.
"""

from __future__ import annotations

import re

from lazyfuse.backends.base import Launch
from lazyfuse.backends.cuda.launch import Function, Layout, Runtime, bind
from lazyfuse.backends.cuda.program import Program
from lazyfuse.ir.kernel import Kernel

#: Characters of a kernel name: profilers cut longer ones.
NAME_LENGTH = 100


class OwnExecutable:
    """A self-contained kernel, loaded."""

    __slots__ = ("kernel", "source", "binary", "program", "runtime", "functions")

    def __init__(
        self, program: Program, runtime: Runtime, functions: dict[str, Function], binary: bytes
    ) -> None:
        self.kernel: Kernel = program.kernel
        self.source = program.source
        self.binary = binary
        self.program = program
        self.runtime = runtime
        self.functions = functions

    def bind(
        self,
        extents: tuple[int, ...],
        strides: tuple[tuple[int, ...], ...],
        offsets: tuple[int, ...],
    ) -> Launch:
        """Fix extents, strides and offsets; see backends/base.py."""
        layout = Layout.of(self.kernel, extents, strides, offsets)
        return bind(self.program, self.runtime, self.functions, layout)


def entries(program: Program) -> tuple[str, ...]:
    """The `__global__` functions of a program."""
    vector = () if program.vector_entry is None else (program.vector_entry,)
    return (program.entry, *vector)


def symbol(name: str) -> str:
    """A readable name -> a C identifier that starts with `lf_`."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII)
    word = word if word.startswith("lf_") else f"lf_{word}"
    return word[:NAME_LENGTH]


def pack_binary(name: str, code: bytes) -> bytes:
    return name.encode() + b"\0" + code


def unpack_binary(binary: bytes) -> tuple[str, bytes]:
    name, _, code = binary.partition(b"\0")
    return name.decode(), code
