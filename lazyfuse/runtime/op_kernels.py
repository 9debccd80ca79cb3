"""Kernels of single elementwise operations, for what is computed one operation at a time and has
to have the bits of kernels: transcendental functions.

Such a kernel does not depend on what is around the operation. It is made once for each op and
dtypes, on arrays that are dense and lie alike, bound once for each size, and called on memory
wherever it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lazyfuse import config
from lazyfuse.backends.base import Backend
from lazyfuse.ir.node import Const, Map, Node, Source
from lazyfuse.ir.plan import Launch
from lazyfuse.runtime import session
from lazyfuse.runtime.plans import make_plan
from lazyfuse.runtime.trace import Trace

#: Sizes to which a kernel is kept bound.
_MOST_BOUND = 512
#: Elements of the arrays with which a kernel is made; it runs on any number.
_SAMPLE = 64


class OpKernel(NamedTuple):
    """`arrays`: of each array that the kernel takes the number of the operand; the result has the
    number of operands. `numbers`: the operand that each scalar is, with its dtype. `bind` fixes a
    size, `bound` are those fixed."""

    arrays: tuple[int, ...]
    numbers: tuple[tuple[int, str], ...]
    bind: Callable[[int], Any]
    bound: dict[int, Any]

    def launch(self, size: int) -> Any:
        """The kernel for dense arrays of so many elements."""
        found = self.bound.get(size)
        if found is None:
            if len(self.bound) >= _MOST_BOUND:
                self.bound.clear()
            found = self.bound[size] = self.bind(size)
        return found


def op_kernel(node: Map, device: str) -> OpKernel | None:
    """The kernel of the operation of a node on arrays and scalars of its operands' dtypes; None
    where it is not one kernel, or cannot be built: the engine warns of those, and has another
    way. Raises: MemoryError."""
    scalars = tuple(isinstance(src, Const) for src in node.srcs)
    dtypes = tuple(src.dtype for src in node.srcs)
    known = session.op_kernels
    key = (node.op.name, node.loop, node.dtype, dtypes, scalars, config.current(), device)
    if key not in known:
        if len(known) >= session.PLANS:
            known.clear()
        known[key] = _made(node, session.backend(device), scalars)
    found: OpKernel | None = known[key]
    return found


def _made(node: Map, backend: Backend, scalars: Sequence[bool]) -> OpKernel | None:
    """See `op_kernel`."""
    if all(scalars):
        return None
    operands: list[Node] = [  # each scalar an object of its own: equal objects are one scalar
        Const(float(number), src.dtype)
        if scalars[number]
        else Source((_SAMPLE,), src.dtype, (1,), "placeholder")
        for number, src in enumerate(node.srcs)
    ]
    sample = Map(node.op, node.loop, node.dtype, (_SAMPLE,), (1,), tuple(operands))
    pending = Trace([sample])
    steps = make_plan(pending, config.current(), backend).steps
    if len(steps) != 1 or not isinstance(steps[0], Launch):
        return None
    step = steps[0]
    if step.extents != (_SAMPLE,) or any(kind != "const" for kind, _ in step.scalars):
        return None
    place = {operand: number for number, operand in enumerate(operands)}
    inside = pending.graph().nodes
    leaves = [place[leaf] for leaf in inside if leaf.buffer is not None]
    consts = [place[leaf] for leaf in inside if isinstance(leaf, Const)]
    arrays = tuple(
        leaves[item.slot] if item.slot < len(leaves) else len(operands) for item in step.operands
    )
    numbers = tuple((consts[item], operands[consts[item]].dtype) for _, item in step.scalars)
    try:
        made = session.executable(step.kernel, backend, step.name)
    except MemoryError:
        raise
    except Exception:  # any failure of a compiler: the engine says which
        return None
    strides, offsets = ((1,),) * len(step.operands), (0,) * len(step.operands)
    return OpKernel(arrays, numbers, lambda size: made.bind((size,), strides, offsets), {})
