"""Kernel -> the way it is compiled: through cupy where that is exact and at the limit, as own text
elsewhere.

cupy's compiler flushes float32 denormals to 0, whatever it is asked; so nothing with float32 or
float16 goes there. cupy's loops load one element per thread: at the limit for two or more inputs
of 8 bytes, not for narrow types. Its reductions of several inputs run on one block. `docs/design:
cuda.md` has the measurements.
"""

from __future__ import annotations

from enum import Enum

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.elementwise import CUPY_TYPES
from lazyfuse.backends.cuda.program import Program
from lazyfuse.backends.cuda.render_elementwise import render_elementwise
from lazyfuse.backends.cuda.render_reduction import render_reduction
from lazyfuse.backends.cuda.render_scan import render_scan
from lazyfuse.ir.kernel import FIXED, UNIT, Kernel, Lanes, Level, Phase, Role


class Strategy(Enum):
    """How a kernel reaches the device."""

    OWN = "own"  # self-contained text, compiled by NVRTC with IEEE options
    CUPY_ELEMENTWISE = "cupy.ElementwiseKernel"
    CUPY_REDUCTION = "cupy.ReductionKernel"


class Policy(Enum):
    """Which strategies may be chosen."""

    AUTO = "auto"  # cupy's kernels where they are exact and at the limit
    OWN = "own"  # never cupy's kernels
    CUPY = "cupy"  # cupy's kernels wherever they are exact


#: Accumulators that cupy's two-operand reduce expression can say.
_CUPY_FOLDS = frozenset(("add", "mul", "maximum", "minimum", "fmax", "fmin", "and", "or", "xor"))
#: The narrowest element that cupy's one-element-per-thread loops move at the limit.
_WIDE = 8


def choose(kernel: Kernel, policy: Policy = Policy.AUTO) -> Strategy:
    """Pick the strategy of a kernel."""
    if policy is Policy.OWN or not cupy_is_exact(kernel):
        return Strategy.OWN
    if kernel.inner == 0:
        good = policy is Policy.CUPY or _elementwise_at_limit(kernel)
        return Strategy.CUPY_ELEMENTWISE if good else Strategy.OWN
    if not cupy_can_reduce(kernel):
        return Strategy.OWN
    good = policy is Policy.CUPY or _reduction_at_limit(kernel)
    return Strategy.CUPY_REDUCTION if good else Strategy.OWN


def render_own(kernel: Kernel, name: str) -> Program:
    """Write the self-contained text of a kernel.

    Raises: Unsupported for a primitive without a CUDA spelling, or too many parameters.
    """
    if kernel.inner == 0:
        return render_elementwise(kernel, name)
    if kernel.scan is not None:
        return render_scan(kernel, name)
    return render_reduction(kernel, name)


def check_supported(kernel: Kernel) -> None:
    """Raise Unsupported when a dtype of the kernel has no CUDA type."""
    for dtype in _dtypes(kernel):
        if dtype not in CTYPES:
            raise Unsupported("kernel", dtype, "no CUDA type")


def cupy_is_exact(kernel: Kernel) -> bool:
    """No float32 or float16 anywhere, nothing complex, no axis positions, nothing indexed,
    something to store.
    """
    ops = {instr.op for phase in kernel.phases for instr in phase.body}
    roles = {arg.role for arg in kernel.args}
    return (
        _dtypes(kernel) <= CUPY_TYPES.keys()
        and not ops & {"index", "gather", "libm"}
        and not kernel.scattered
        and {Role.IN, Role.OUT} == roles
    )


def cupy_can_reduce(kernel: Kernel) -> bool:
    """One inner phase with one plain accumulator over one input, then one outer phase with one
    store.
    """
    if [phase.level for phase in kernel.phases] != [Level.INNER, Level.OUTER]:
        return False
    inner, outer = kernel.phases
    return (
        len(kernel.inputs) == len(kernel.outputs) == 1
        and len(inner.accumulators) == len(outer.stores) == 1
        and not inner.stores
        and not _loads(outer)
        and inner.accumulators[0].op in _CUPY_FOLDS
        and inner.accumulators[0].init is None
    )


def _elementwise_at_limit(kernel: Kernel) -> bool:
    """Two or more inputs, every moving argument 8 bytes wide."""
    moving = [arg for arg in kernel.args if set(arg.access) != {FIXED}]
    return len(kernel.inputs) >= 2 and all(CTYPES[arg.dtype].size >= _WIDE for arg in moving)


def _reduction_at_limit(kernel: Kernel) -> bool:
    """A contiguous full reduction, which cupy gives to CUB."""
    source = kernel.args[kernel.inputs[0]]
    return (
        kernel.outer == 0
        and kernel.lanes is Lanes.INNER
        and source.access == (UNIT,)
        and CTYPES[source.dtype].size >= _WIDE
    )


def _loads(phase: Phase) -> bool:
    return any(instr.op == "load" for instr in phase.body)


def _dtypes(kernel: Kernel) -> set[str]:
    """Every dtype that occurs in a kernel."""
    found = {arg.dtype for arg in kernel.args} | set(kernel.scalars)
    for phase in kernel.phases:
        found |= {instr.dtype for instr in phase.body}
        found |= {acc.dtype for acc in phase.accumulators}
    return found
