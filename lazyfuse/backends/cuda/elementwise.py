"""A kernel without inner axes -> one cupy.ElementwiseKernel.

Parameters are `a#` (arguments) and `x#` (scalars); the operation loads every argument into a value
before it stores one, so that an output may be an input. cupy works out shapes, strides and index
widths itself.

Only for kernels that `strategy.py` admits: cupy's compiler always flushes float32 denormals, so no
float32 and no float16 may occur in them, nor `index`, whose meaning cupy's axis merging would
change.
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyfuse.backends.cuda.prelude import with_prelude
from lazyfuse.backends.cuda.render_body import Site, render_body
from lazyfuse.ir.kernel import Kernel, Role

#: Contraction would round `x*y + z` once.
CUPY_OPTIONS = ("-fmad=false",)

#: cupy's names of types.
CUPY_TYPES = {
    "b1": "bool",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f8": "float64",
}


@dataclass(frozen=True, slots=True)
class ElementwiseText:
    """The arguments of cupy.ElementwiseKernel.

    `inputs` lists argument numbers in cupy's order, `outputs` likewise.
    """

    in_params: str
    out_params: str
    operation: str
    name: str
    preamble: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def source(self) -> str:
        """For people: what cupy is given."""
        head = f"// cupy.ElementwiseKernel {self.name}"
        parameters = f"// ({self.in_params}) -> ({self.out_params})"
        return f"{head}\n{parameters}\n{self.preamble}\n{self.operation}\n"


def render_cupy_elementwise(kernel: Kernel, name: str) -> ElementwiseText:
    """Write the parameters and the operation."""
    site = Site(load=lambda n: f"a{n}", index=_never, acc=lambda n, dtype: _never(n))
    phase = kernel.phases[0]
    lines = render_body(phase.body, site)
    lines += [f"a{store.arg} = v{store.value};" for store in phase.stores]
    operation = "\n".join(lines)
    return ElementwiseText(
        cupy_parameters(kernel, Role.IN, scalars=True),
        cupy_parameters(kernel, Role.OUT, scalars=False),
        operation,
        name,
        with_prelude(operation).removesuffix(operation),
        kernel.inputs,
        kernel.outputs,
    )


def cupy_parameters(kernel: Kernel, role: Role, *, scalars: bool) -> str:
    """Declare arguments of one role, then the scalars where asked."""
    parts = [
        f"{CUPY_TYPES[arg.dtype]} a{number}"
        for number, arg in enumerate(kernel.args)
        if arg.role is role
    ]
    if scalars:
        parts += [f"{CUPY_TYPES[dtype]} x{n}" for n, dtype in enumerate(kernel.scalars)]
    return ", ".join(parts)


def _never(number: int) -> str:
    raise AssertionError(f"position or accumulator {number} in a cupy elementwise kernel")
