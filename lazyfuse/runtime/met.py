"""Structures that are interpreted: what that has cost so far, and until when it is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from time import thread_time_ns
from typing import Any, TypeGuard

from lazyfuse import events
from lazyfuse.backends.base import Aside, Backend
from lazyfuse.config import Options
from lazyfuse.ir.node import Const, Map, Node, View
from lazyfuse.ir.plan import Launch
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import session
from lazyfuse.runtime.aside import Compilation, compile_aside, compiling, is_worth
from lazyfuse.runtime.known import Known, kept, planned
from lazyfuse.runtime.op_kernels import op_kernel
from lazyfuse.runtime.plans import is_on_disk
from lazyfuse.runtime.shape_class import shape_class
from lazyfuse.runtime.trace import Trace
from lazyfuse.runtime.turns import compute_soon

#: Nanoseconds of interpreting after which a structure is planned: what compiling it takes; and for
#: each of its operations, what planning takes.
PLAN_NS, PLAN_OPERATION_NS = 20e6, 0.2e6
#: The same for the second structure of a family, whose kernels may be there, and for a plan on
#: disk; and the least.
NEXT_NS, _LEAST_NS = 2e6, 1e6
#: Plans of a family from which it is not tried again whether they follow from one another: what
#: their numbers follow from is seen in two or three.
#: As many count those of structures that have no shape class; and structures without one that come
#: one after the other, none a second time, from which nothing is planned at all.
_MOST_VAIN, _NO_CLASS, _MOST_ONCE = 5, 3, 8
#: What is told of a structure that comes for the first time, and is to be interpreted like others
#: of its family, which came once each: to record such operations gains nothing, of these functions
#: (the identity of their code) on arrays of these sizes; and for how many
#: times as long as at first this is to be remembered.
when_vain: list[Callable[[Iterable[tuple[int, int]], int], object]] = []
#: Estimated nanoseconds of a run, of an operation, and of each byte of its elements; of each
#: element of a transcendental function's.
_RUN_NS, _OPERATION_NS, _BYTE_NS, _FUNCTION_NS = 50_000.0, 10_000.0, 0.09, 4.0
#: How many times as many elements as `cold_size` are interpreted as well, the first time and while
#: their kernels are compiled aside, and the same of a run up to which they are: half of what
#: compiling takes. Not transcendental functions, whose own kernels would be compiled.
_TIMES, _MOST_NS = 64, 10e6


@dataclass(slots=True)
class Family:
    """Structures of the same operations, whatever their shapes: kernels of one serve others. After
    so many nanoseconds of interpreting one it is planned: as many as that has taken the last time.

    Structures that come once each are planned as well, one after as much interpreting, since their
    plans may follow from one another; no more of them where several did not.

    spent: nanoseconds of interpreting since. vain: how many did not follow. once: structures since
    one came again. alike: whether the last plan followed from others. awaited: kernels that are
    compiled aside.
    """

    bound: float | None = None
    spent: float = 0.0
    vain: int = 0
    once: int = 0
    alike: bool = False
    awaited: Compilation | None = None

    def is_awaited(self) -> bool:
        """Whether kernels of the family are being compiled. Once they are there the next structure
        is planned."""
        if self.awaited is None:
            return False
        if not self.awaited.is_over:
            return True
        self.awaited, self.spent = None, inf
        return False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count what it takes to plan a structure, and to run it for the first time."""
        start = thread_time_ns()
        yield
        took = max(thread_time_ns() - start, _LEAST_NS)
        self.bound = NEXT_NS if self.bound is None else took

    def planned(self, pending: Trace, key: tuple[object, Options, str]) -> Known | None:
        """The plan of a structure of the family; see `known.planned`."""
        before = events.alike_plans()
        found = planned(pending, key)
        self.alike = events.alike_plans() > before
        self.spent = 0.0
        if self.alike:
            self.vain = 0
        else:
            self.vain += _NO_CLASS if shape_class(pending) is None else 1
        return found

    def has_come(self, pending: Trace) -> None:
        """A structure has come for the first time."""
        self.once += 1
        if self.once == _MOST_ONCE and shape_class(pending) is None:
            self.vain = _MOST_VAIN

    def is_due(self, plan_ns: float) -> bool:
        """Whether one more structure of the family is worth a plan that takes so long."""
        if self.alike:
            return True
        bound = plan_ns if self.bound is None else min(plan_ns, self.bound)
        return self.vain < _MOST_VAIN and self.spent >= bound


@dataclass(slots=True)
class Met:
    """A structure that is interpreted: the nanoseconds that went into it, those of a run, and what
    a run does, known from the first one on. plan_ns: what planning takes. `is_asked`: whether it
    has been looked for on disk. known: its plan, whose kernels are compiled aside once that
    `is_begun`."""

    cost: float
    family: Family
    plan_ns: float
    spent: float = 0.0
    steps: list[Any] | None = None
    is_asked: bool = False
    known: Known | None = None
    is_begun: bool = False

    def is_interpreted(self, pending: Trace, key: tuple[object, Options, str]) -> bool:
        """Whether to interpret it once more: while that costs less than a plan, and while kernels
        are compiled for it by another processor."""
        _, options, device = key
        if self.family.is_awaited() or self.is_cold(pending, options, device):
            in_vain = self.family.vain >= _MOST_VAIN and options.eager_size > 0
            if in_vain and self.steps is None:
                give_up(places(pending))
            return True
        target = session.backend(device)
        if self.is_begun or not is_worth(options, target):
            return False
        if self.known is None:
            self.known = self.family.planned(pending, key)
        return self.known is not None and self._waits(self.known, key, target)

    def _waits(self, known: Known, key: object, target: Backend) -> bool:
        """Have the kernels of a plan compiled aside, once, if there are any to be compiled: a plan
        that is not kept is not used."""
        launches = [step for step in known.plan.steps if isinstance(step, Launch)]
        wanted = session.missing([step.kernel for step in launches], target)
        if not wanted or not isinstance(target, Aside):
            return False
        self.family.awaited = compile_aside(wanted, target)
        self.is_begun = self.family.awaited is not None
        if self.is_begun or compiling.locked():
            session.plans.pop(key, None)
            return True
        return False

    def plan(self, pending: Trace, key: tuple[object, Options, str]) -> Known | None:
        """The plan to be used from now on; None for a trace that is stale."""
        if self.known is None:
            return self.family.planned(pending, key)
        is_made = self.known.plan.seconds > 0
        return kept(self.known, key) if is_made else self.known

    def is_cold(self, pending: Trace, options: Options, device: str) -> bool:
        """Whether interpreting it once more costs less than planning it, or reading a plan that
        an earlier process has left."""
        least = max(self.spent, self.cost)
        if self.family.bound is None and not self.is_asked and least >= NEXT_NS:
            self.is_asked = True
            if is_on_disk(pending, options, device):
                self.family.bound = NEXT_NS
                if self.cost >= NEXT_NS:
                    return False
        bound = self.family.bound
        is_paid = self.spent >= (self.plan_ns if bound is None else min(self.plan_ns, bound))
        return not is_paid and not self.family.is_due(self.plan_ns)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count what a run costs: the time of this thread where that is more than estimated
        (memory comes from the system page by page), but for the first one, which makes kernels."""
        is_first, start = self.steps is None, thread_time_ns()
        self.spent += self.cost
        self.family.spent += self.cost
        yield
        if not is_first:
            more = max(thread_time_ns() - start - self.cost, 0.0)
            self.spent += more
            self.family.spent += more


def places(pending: Trace) -> set[tuple[int, int]]:
    """The functions that recorded what is pending, and the sizes of what they read and made."""
    return {
        (id(node.origin[0]), size_of(each.shape))
        for node in pending.nodes
        if node.buffer is None and node.origin is not None
        for each in (node, *node.srcs)
    }


def give_up(where: Iterable[tuple[int, int]], times: int = 1) -> None:
    """What functions do with arrays of some sizes is recorded in vain: have them compute at once
    for a while, so many times as long as at first."""
    compute_soon()
    for function in when_vain:
        function(where, times)


def met(pending: Trace, key: tuple[object, Options, str]) -> Met | None:
    """What is known of a structure, options and a device that are interpreted; None where that has
    not the bits of the kernels, or would take long."""
    if key in session.met:
        known: Met | None = session.met[key]
        if known is not None:
            known.family.once = 0
        return known
    if len(session.met) >= session.PLANS:
        session.met.clear()
    found = session.met[key] = _first_met(pending, key[1], key[2])
    if found is not None:
        found.family.has_come(pending)
    return found


def _first_met(pending: Trace, options: Options, device: str) -> Met | None:
    limit = options.cold_size
    if not limit or device != "cpu":
        return None
    work = _work(pending)
    cost = _RUN_NS + sum(_cost_ns(node, size) for node, size in work.items())
    own = [node for node in work if has_own_bits(node)]
    most = max(work.values(), default=0)
    is_large = most > limit
    if is_large and (own or cost > _MOST_NS or most > _TIMES * limit):
        return None
    if any(op_kernel(node, device) is None for node in own):
        return None
    met = Met(cost, _family(pending), PLAN_NS + len(work) * PLAN_OPERATION_NS)
    if is_large:
        met.spent = met.plan_ns - cost
    elif met.family.vain < _MOST_VAIN and _was_computed(work, options):
        met.spent = met.plan_ns - NEXT_NS
    return met


def _work(pending: Trace) -> dict[Node, int]:
    """How many elements each operation that is pending computes or reads; a view reads none."""
    found: dict[Node, int] = {}
    sizes = {node: size_of(node.shape) for node in pending.nodes if not isinstance(node, Const)}
    for node, size in sizes.items():
        if node.buffer is None:
            operands = () if isinstance(node, View) else node.srcs
            found[node] = max([size, *[sizes.get(src, 1) for src in operands]])
    return found


def _was_computed(work: Mapping[Node, int], options: Options) -> bool:
    """Whether all operations are of functions that have computed as much at once as planning takes
    (`frontend/novel.py`): of arrays that are not small, and were at hand."""
    least = options.eager_size
    return least > 0 and all(size > least for node, size in work.items() if node.srcs)


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


def _cost_ns(node: Node, size: int) -> float:
    """Estimated nanoseconds of interpreting an operation on so many elements."""
    if has_own_bits(node):
        return _OPERATION_NS + size * _FUNCTION_NS
    widest = max([int(each.dtype[1:]) for each in (node, *node.srcs)])
    return _OPERATION_NS + size * _BYTE_NS * widest


def has_own_bits(node: Node) -> TypeGuard[Map]:
    """Whether kernels give other bits than NumPy: of complex numbers' modulus, too."""
    if not isinstance(node, Map) or not node.is_costly:
        return False
    return node.op.name != "absolute" or node.loop[0][0] == "c"
