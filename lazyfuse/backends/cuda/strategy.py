"""Kernel -> the strategy it runs by: lazyfuse's own text, or the one that option `cuda_strategy`
forces, where that can run the kernel.

Through cupy runs what it computes exactly, where it is asked for: its compiler flushes float32
denormals to 0, whatever it is told; so nothing with float32 or float16 goes there, and no function
of float64, some of which use float32 inside. An H100 moves elements of 8 bytes as fast either way
(3.1 TB/s), sums slower (2.8, own text 2.9), and a reduction takes cupy 1 to 4 s to compile (40
ms). Own text costs the host half of a launch by cupy's kernels and can be part of a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.elementwise import CUPY_TYPES
from lazyfuse.backends.cuda.program import PARAMETER_BYTES, Program, Strategy
from lazyfuse.backends.cuda.render_elementwise import pack_width, render_elementwise
from lazyfuse.backends.cuda.render_reduction import render_reduction
from lazyfuse.backends.cuda.render_scan import render_scan, shares_rows
from lazyfuse.ir.kernel import Kernel, Lanes, Level, Phase, Role
from lazyfuse.ops.primitives import PRIMITIVES


class Policy(Enum):
    """How a strategy is chosen where none is forced."""

    AUTO = "auto"  # lazyfuse's own text
    CUPY = "cupy"  # cupy's kernels wherever they are exact


#: What option `cuda_strategy` may ask for.
Wanted = Policy | Strategy
#: Its values.
WANTED: dict[str, Wanted] = {item.value: item for kind in (Policy, Strategy) for item in kind}
#: The strategies that cupy compiles.
CUPY = (Strategy.ELEMENTWISE_KERNEL, Strategy.REDUCTION_KERNEL)


#: Accumulators that cupy's two-operand reduce expression can say.
_CUPY_FOLDS = frozenset(("add", "mul", "maximum", "minimum", "fmax", "fmin", "and", "or", "xor"))


def choose(kernel: Kernel, wanted: Wanted = Policy.AUTO, *, has_cupy: bool = True) -> Strategy:
    """Pick the strategy of a kernel: the wanted one where it applies, else as AUTO does."""
    if isinstance(wanted, Strategy) and not obstacle(kernel, wanted, has_cupy=has_cupy):
        return wanted
    for strategy in CUPY if wanted is Policy.CUPY else ():
        if not obstacle(kernel, strategy, has_cupy=has_cupy):
            return strategy
    return Strategy.OWN


def obstacle(kernel: Kernel, strategy: Strategy, *, has_cupy: bool = True) -> str:
    """Why a strategy cannot run a kernel; empty when it can."""
    if strategy in CUPY and not has_cupy:
        return "cupy needs a GPU"
    if strategy in CUPY and not cupy_is_exact(kernel):
        return "cupy would change its results"
    return _OBSTACLES[strategy](kernel)


def describe(kernel: Kernel, wanted: Wanted, chosen: Sequence[Strategy], *, has_cupy: bool) -> str:
    """Say for people how a kernel runs, and why not as it was asked for."""
    text = ", ".join(strategy.value for strategy in chosen)
    why = ""
    if isinstance(wanted, Strategy):
        why = obstacle(kernel, wanted, has_cupy=has_cupy)
    return f"{text} ({why}: not {wanted.value})" if why else text


def render_own(
    kernel: Kernel,
    name: str,
    strategy: Strategy = Strategy.OWN,
    limit: int = PARAMETER_BYTES,
) -> Program:
    """Write the self-contained text of a kernel, for a strategy that applies to it; `limit` bytes
    of parameters fit.

    Raises: Unsupported for a primitive without a CUDA spelling.
    """
    if kernel.inner == 0:
        return render_elementwise(kernel, name, strategy, limit)
    laid_out = replace(kernel, lanes=_LANES.get(strategy, kernel.lanes))
    render = render_reduction if kernel.scan is None else render_scan
    return replace(render(laid_out, name, limit), kernel=kernel, strategy=strategy)


#: The axis that runs across threads, where a strategy says it.
_LANES = {
    Strategy.ROWS_BY_WARP: Lanes.INNER,
    Strategy.ROWS_BY_BLOCK: Lanes.INNER,
    Strategy.COLUMNS: Lanes.OUTER,
    Strategy.SCAN_BY_THREAD: Lanes.OUTER,
    Strategy.SCAN_BY_BLOCK: Lanes.INNER,
}


def check_supported(kernel: Kernel) -> None:
    """Raise Unsupported when a dtype of the kernel has no CUDA type."""
    for dtype in _dtypes(kernel):
        if dtype not in CTYPES:
            raise Unsupported("kernel", dtype, "no CUDA type")


def cupy_is_exact(kernel: Kernel) -> bool:
    """No float32 or float16 anywhere, nothing complex, no transcendental functions, no axis
    positions, nothing indexed, something to store.
    """
    ops = {instr.op for phase in kernel.phases for instr in phase.body}
    roles = {arg.role for arg in kernel.args}
    return (
        _dtypes(kernel) <= CUPY_TYPES.keys()
        and not ops & {"index", "gather", "libm"}
        and not any(PRIMITIVES[op].transcendental for op in ops)
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


def _not_elementwise(kernel: Kernel) -> str:
    return "it is no elementwise kernel" if kernel.inner else ""


def _not_packable(kernel: Kernel) -> str:
    if kernel.inner:
        return _not_elementwise(kernel)
    return "" if pack_width(kernel) > 1 else "no 16 bytes of its arguments lie together"


def _no_reduction(kernel: Kernel) -> str:
    is_reduction = kernel.inner and kernel.scan is None
    return "" if is_reduction else "it is no reduction"


def _not_one_fold(kernel: Kernel) -> str:
    return "" if cupy_can_reduce(kernel) else "it is not one fold of one array"


def _no_scan(kernel: Kernel) -> str:
    return "it is no scan" if kernel.scan is None else ""


def _not_associative(kernel: Kernel) -> str:
    if kernel.scan is None:
        return _no_scan(kernel)
    shared = shares_rows(replace(kernel, lanes=Lanes.INNER))
    return "" if shared else "its steps cannot be taken apart"


_OBSTACLES: dict[Strategy, Callable[[Kernel], str]] = {
    Strategy.ELEMENTWISE_KERNEL: _not_elementwise,
    Strategy.REDUCTION_KERNEL: _not_one_fold,
    Strategy.OWN: lambda kernel: "",
    Strategy.VECTORIZED: _not_packable,
    Strategy.STRIDED: _not_elementwise,
    Strategy.ROWS_BY_WARP: _no_reduction,
    Strategy.ROWS_BY_BLOCK: _no_reduction,
    Strategy.COLUMNS: _no_reduction,
    Strategy.ONE_PASS: _no_reduction,
    Strategy.SCAN_BY_THREAD: _no_scan,
    Strategy.SCAN_BY_BLOCK: _not_associative,
}


def _loads(phase: Phase) -> bool:
    return any(instr.op == "load" for instr in phase.body)


def _dtypes(kernel: Kernel) -> set[str]:
    """Every dtype that occurs in a kernel."""
    found = {arg.dtype for arg in kernel.args} | set(kernel.scalars)
    for phase in kernel.phases:
        found |= {instr.dtype for instr in phase.body}
        found |= {acc.dtype for acc in phase.accumulators}
    return found
