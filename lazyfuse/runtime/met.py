"""Structures that are interpreted: what that has cost so far, and until when it is worth it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import thread_time_ns
from typing import Any, TypeGuard

from lazyfuse.config import Options
from lazyfuse.ir.node import Map, Node
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import session
from lazyfuse.runtime.op_kernels import op_kernel
from lazyfuse.runtime.plans import is_on_disk
from lazyfuse.runtime.trace import Trace

#: Nanoseconds of interpreting after which a structure is planned: what compiling it takes.
PLAN_NS = 20e6
#: The same for the second structure of a family, whose kernels may be there, and for a plan on
#: disk; and the least.
_NEXT_NS, _LEAST_NS = 2e6, 1e6
#: Estimated nanoseconds of a run, of an operation, and of each of its elements; of a
#: transcendental function's.
_RUN_NS, _OPERATION_NS, _ELEMENT_NS, _FUNCTION_NS = 50_000.0, 10_000.0, 0.7, 4.0


@dataclass(slots=True)
class Family:
    """Structures of the same operations, whatever their shapes: kernels of one serve others. After
    so many nanoseconds of interpreting one it is planned: as many as that has taken the last time.
    """

    bound: float | None = None

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count what it takes to plan a structure, and to run it for the first time."""
        start = thread_time_ns()
        yield
        took = max(thread_time_ns() - start, _LEAST_NS)
        self.bound = _NEXT_NS if self.bound is None else took


@dataclass(slots=True)
class Met:
    """A structure that is interpreted: the nanoseconds that went into it, those of a run, and what
    a run does, known from the first one on. `is_asked`: whether it has been looked for on disk."""

    cost: float
    family: Family
    spent: float = 0.0
    steps: list[Any] | None = None
    is_asked: bool = False

    def is_cold(self, pending: Trace, options: Options, device: str) -> bool:
        """Whether interpreting it once more costs less than planning it, or reading a plan that
        an earlier process has left."""
        if self.family.bound is None and not self.is_asked and self.spent >= _NEXT_NS:
            self.is_asked = True
            self.family.bound = _NEXT_NS if is_on_disk(pending, options, device) else None
        bound = self.family.bound
        return self.spent < (PLAN_NS if bound is None else min(PLAN_NS, bound))

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count what a run costs: the time of this thread where that is more than estimated
        (memory comes from the system page by page), but for the first one, which makes kernels."""
        is_first, start = self.steps is None, thread_time_ns()
        self.spent += self.cost
        yield
        if not is_first:
            self.spent += max(thread_time_ns() - start - self.cost, 0.0)


def met(pending: Trace, key: tuple[object, Options, str]) -> Met | None:
    """What is known of a structure, options and a device that are interpreted; None where that has
    not the bits of the kernels, or would take long."""
    if key not in session.met:
        if len(session.met) >= session.PLANS:
            session.met.clear()
        session.met[key] = _first_met(pending, key[1], key[2])
    found: Met | None = session.met[key]
    return found


def _first_met(pending: Trace, options: Options, device: str) -> Met | None:
    limit = options.cold_size
    if not limit or device != "cpu":
        return None
    is_fine = all(
        size_of(node.shape) <= limit
        and (not has_own_bits(node) or op_kernel(node, device) is not None)
        for node in pending.nodes
    )
    if not is_fine:
        return None
    met = Met(_cost_ns(pending), _family(pending))
    if _was_computed(pending, options):
        met.spent = PLAN_NS - _NEXT_NS
    return met


def _was_computed(pending: Trace, options: Options) -> bool:
    """Whether all operations are of lines that have computed as much at once as planning takes
    (`frontend/novel.py`): of arrays that are not small, and were at hand."""
    least = options.eager_size
    return least > 0 and all(
        _elements(node) > least for node in pending.nodes if node.buffer is None and node.srcs
    )


def _family(pending: Trace) -> Family:
    """The family of a structure: its operations, and the dtypes and axes of what they give."""
    key = tuple([(node.kind, _op(node), node.dtype, len(node.shape)) for node in pending.nodes])
    if len(session.families) >= session.PLANS:
        session.families.clear()
    found: Family = session.families.setdefault(key, Family())
    return found


def _op(node: Node) -> object:
    op = getattr(node, "op", None)
    return getattr(op, "name", op)


def _cost_ns(pending: Trace) -> float:
    """Estimated nanoseconds of interpreting."""
    return _RUN_NS + sum(
        _OPERATION_NS + _elements(node) * (_FUNCTION_NS if has_own_bits(node) else _ELEMENT_NS)
        for node in pending.nodes
        if node.buffer is None
    )


def _elements(node: Node) -> int:
    """How many elements an operation computes or reads."""
    return max(size_of(each.shape) for each in (node, *node.srcs))


def has_own_bits(node: Node) -> TypeGuard[Map]:
    """Whether kernels give other bits than NumPy: of complex numbers' modulus, too."""
    if not isinstance(node, Map) or not node.is_costly:
        return False
    return node.op.name != "absolute" or node.loop[0][0] == "c"
