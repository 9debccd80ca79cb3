"""A kernel with one inner phase and one accumulator over one input -> one cupy.ReductionKernel.

The inner body becomes the device function `lf_map`, the outer body (if any) `lf_post`: cupy wants
expressions. cupy runs one input with contiguous reduced axes through CUB. Admitted by
`strategy.py` for f8 and integers only: cupy's compiler flushes float32 denormals.
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyfuse.backends.cuda.accumulate import Fold, neutral, pair
from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.elementwise import cupy_parameters
from lazyfuse.backends.cuda.prelude import with_prelude
from lazyfuse.backends.cuda.render_body import Site, render_body
from lazyfuse.ir.kernel import Kernel, Level, Phase, Role


@dataclass(frozen=True, slots=True)
class ReductionText:
    """The arguments of cupy.ReductionKernel."""

    in_params: str
    out_params: str
    map_expr: str
    reduce_expr: str
    post_map_expr: str
    identity: str
    name: str
    reduce_type: str
    preamble: str

    @property
    def source(self) -> str:
        """For people: what cupy is given."""
        head = (
            f"// cupy.ReductionKernel {self.name}\n// ({self.in_params}) -> ({self.out_params})\n"
        )
        body = f"map: {self.map_expr}\nreduce: {self.reduce_expr}\npost: {self.post_map_expr}\n"
        return f"{head}{self.preamble}\n{body}"


def render_cupy_reduction(kernel: Kernel, name: str) -> ReductionText:
    """Write the expressions and the functions that they call."""
    inner = next(phase for phase in kernel.phases if phase.level is Level.INNER)
    outer = next(phase for phase in kernel.phases if phase.level is Level.OUTER)
    accumulator = inner.accumulators[0]
    fold = Fold(0, accumulator)
    source, output = kernel.inputs[0], kernel.outputs[0]
    scalars = "".join(f", x{n}" for n in range(len(kernel.scalars)))
    map_site = Site(load=lambda n: f"a{n}", index=_never, acc=lambda n, dtype: _never(n))
    post_site = Site(load=_never, index=_never, acc=lambda n, dtype: "total")
    source_type = CTYPES[kernel.args[source].dtype].value
    value_type = CTYPES[accumulator.dtype].value
    result_type = CTYPES[kernel.args[output].dtype].value
    functions = _function(
        kernel,
        inner,
        map_site,
        head=f"{value_type} lf_map({source_type} a{source}",
        value=accumulator.value,
    )
    functions += _function(
        kernel,
        outer,
        post_site,
        head=f"{result_type} lf_post({value_type} total",
        value=outer.stores[0].value,
    )
    return ReductionText(
        cupy_parameters(kernel, Role.IN, scalars=True),
        cupy_parameters(kernel, Role.OUT, scalars=False),
        f"lf_map(a{source}{scalars})",
        pair(fold, "a", "b"),
        f"a{output} = lf_post(a{scalars})",
        neutral(accumulator.op, accumulator.dtype),
        name,
        value_type,
        with_prelude(functions),
    )


def _function(kernel: Kernel, phase: Phase, site: Site, *, head: str, value: int) -> str:
    """A device function from one operand and the scalars to body value `value`."""
    scalars = "".join(f", {CTYPES[d].value} x{n}" for n, d in enumerate(kernel.scalars))
    lines = [f"  {line}" for line in render_body(phase.body, site)]
    start = f"__device__ __forceinline__ {head}{scalars}) {{"
    return "\n".join([start, *lines, f"  return v{value};", "}", ""])


def _never(number: int) -> str:
    raise AssertionError(f"position, load or accumulator {number} where cupy has none")
