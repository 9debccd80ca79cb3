"""Whether to record what a program does pays off, where plans are known: runs against NumPy.

    for t in range(1, n):
        s = v[:, None] + a              of 40,000 elements
        back[t] = s.argmax(0)           written each turn, so that the engine runs each turn
        v = s.max(0) + b[:, t]

A run by Python takes a tenth of a millisecond beside its kernels; NumPy has done these operations
by then. So what runs take more than NumPy is summed up, by the function that recorded them; where
that is as much as planning takes, its lines compute at once again (`frontend/novel.py`), for a
while that is twice as long each time. Of runs by machine code some are looked at, which count for
the others as well: many operations on few elements take longer to be recorded than NumPy takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from time import thread_time_ns

from lazyfuse import events
from lazyfuse.config import Options
from lazyfuse.ir.node import Fill, Gather, Map, Node, Opaque, Reduce, Scan, Update, View
from lazyfuse.ir.order import is_contiguous
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import met, session
from lazyfuse.runtime.known import Known
from lazyfuse.runtime.paces import pace
from lazyfuse.runtime.trace import Trace, trace
from lazyfuse.schedule.cost import map_cost

#: The least nanoseconds that NumPy takes for a call, for an element that an index picks, and for
#: one of a scan; and, where that cannot be measured, for each cycle that our kernels take for
#: eight elements.
_CALL_NS, _ELEMENT_NS, _SCANNED_NS = 500.0, 2.0, 1.0
_CYCLE_NS = 0.3 / 8
#: The same of what is folded: for an element of a sum along rows and of another one, for one that
#: is cast before, and for each byte of what is compared.
_SUMMED_NS, _ADDED_NS, _CAST_NS, _COMPARED_NS = 0.125, 0.06, 0.22, 0.01
_ARITHMETIC = frozenset(("add", "multiply"))
#: The same for each row of an operand that is a part of an array.
_ROW_NS = 15.0
#: The same for each byte that it reads or writes, of an operation with so many bytes at most:
#: those of one core's own cache, those of the cache of all, and others.
_BYTE_NS = ((1 << 20, 0.0045), (1 << 24, 0.009), (inf, 0.015))
#: What a plan takes longer by Python until machine code runs it.
_UNTIL_READY_NS = 1e6
#: What Python takes to record an operation; and how many times as long as NumPy runs may take, as
#: what is computed at once takes a little longer than with NumPy, too.
_RECORDED_NS, _TIMES = 2e3, 1.5
#: The same for machine code; what a write into a part takes besides, and an element that is read;
#: and what zeros, ones or a range take that Python records and then has written out, since a part
#: of them is wanted.
_BY_CODE_NS, _WRITTEN_NS, _READ_NS, _WRITTEN_OUT_NS = 1.8e3, 1e4, 1e4, 3e4
#: Of how many runs by machine code one is looked at: a prime, for loops have several in turn. It
#: counts as a quarter of what is too much, at most.
SAMPLED, _MOST_SAMPLED_NS = 61, met.PLAN_NS / 4
#: Doublings of the time after which it is tried again; functions that are remembered, and sizes
#: of one.
_MOST_DOUBLINGS, _MOST_FUNCTIONS, _MOST_PLACES = 10, 256, 64


@dataclass(slots=True)
class _Account:
    """The nanoseconds that runs of a function's operations took more than they may; those that
    they may besides, until machine code runs them; how often that was too much; and what took
    more, since nothing was lost."""

    spent: float = 0.0
    allowed: float = 0.0
    failures: int = 0
    places: set[tuple[int, int]] = field(default_factory=set)


#: By the identity of a function's code.
_accounts: dict[int, _Account] = {}
session.on_clear(_accounts.clear)


#: When the run began that is under way: by the time of its thread.
_begun = [0]


def begin() -> None:
    """A run by Python begins, perhaps of a known plan."""
    _begun[0] = thread_time_ns()


def go_on() -> None:
    """Its plan has been made meanwhile, once: that counts as where kernels are there."""
    _begun[0] = max(_begun[0], thread_time_ns() - int(met.NEXT_NS))


@contextmanager
def accounted(pending: Trace, known: Known, options: Options) -> Iterator[None]:
    """Account for a run of a known plan by Python that has begun, in which no kernel is made."""
    first = pending.outputs[0].origin
    if first is None or not _may_compute_at_once(known.device, options):
        yield
        return
    account = _checked(id(first[0]), pending)
    if known.numpys_ns is None and not known.follows:
        account.allowed += _UNTIL_READY_NS
    begun, before = _begun[0], thread_time_ns()
    least, kernels = _numpys_ns(pending, known), events.new_kernels()
    recorded = len(pending.nodes) - sum(map(_was_inside, pending.nodes))
    start = thread_time_ns()
    yield
    if events.new_kernels() == kernels:
        took = thread_time_ns() - start + before - begun  # without what is measured, once
        more = took + _RECORDED_NS * recorded - _TIMES * least
        account.spent = max(account.spent + more, 0.0)


def sampled(wanted: Sequence[Node], device: str, options: Options) -> Callable[[], None] | None:
    """A run by machine code begins, of which account is kept; what is to be called after it. None
    where there is no account."""
    first = wanted[0].origin
    if first is None or not _may_compute_at_once(device, options):
        return None
    pending = trace(wanted)
    known: Known | None = session.plans.get((pending.structure, options, device))
    if known is None or pending.is_stale:
        return None
    account, least = _checked(id(first[0]), pending), _TIMES * _numpys_ns(pending, known)
    recorded = [node for node in _new(pending) if node.srcs]
    parts = sum(isinstance(node, Update) for node in recorded)
    where = met.places(pending)
    elements = sum(isinstance(node, View) and not node.shape for node in recorded)
    before = _BY_CODE_NS * len(recorded) + _WRITTEN_NS * parts + _READ_NS * elements
    before += _WRITTEN_OUT_NS * sum(isinstance(node, Fill) for node in wanted)
    begun = thread_time_ns()

    def ended() -> None:
        start = max(begun, _begun[0])  # what is done once for a plan does not count
        more = SAMPLED * (thread_time_ns() - start + before - least)
        account.spent = max(account.spent + min(more, _MOST_SAMPLED_NS), 0.0)
        if not account.spent:
            account.places.clear()
        elif more > 0 and len(account.places) < _MOST_PLACES:
            account.places |= where

    return ended


def _may_compute_at_once(device: str, options: Options) -> bool:
    """Whether what is recorded could be computed at once instead."""
    return device == "cpu" and options.cold_size > 0 and options.eager_size > 0


def _checked(function: int, pending: Trace) -> _Account:
    """The account of a function, which gives up where too much has been spent."""
    account = _account(function)
    if account.spent >= met.PLAN_NS + account.allowed:
        _give_up(account, pending)
    return account


def _account(function: int) -> _Account:
    if function not in _accounts and len(_accounts) >= _MOST_FUNCTIONS:
        _accounts.clear()
    return _accounts.setdefault(function, _Account())


def _give_up(account: _Account, pending: Trace) -> None:
    """Have the lines of what is pending compute at once, twice as long as the last time."""
    met.give_up(account.places | met.places(pending), 1 << account.failures)
    account.spent = account.allowed = 0.0
    account.places.clear()
    account.failures = min(account.failures + 1, _MOST_DOUBLINGS)


def _was_inside(node: Node) -> bool:
    """Whether a pending operation was in an earlier run: NumPy has computed it by then."""
    return node.seen and node.buffer is None


def _new(pending: Trace) -> list[Node]:
    return [node for node in pending.nodes if node.buffer is None and not node.seen]


def _numpys_ns(pending: Trace, known: Known) -> float:
    """The least that NumPy takes for what is pending and new."""
    if known.numpys_ns is None:
        known.numpys_ns = sum(_least_ns(node) for node in pending.nodes if node.buffer is None)
    if any(map(_was_inside, pending.nodes)):
        return sum(map(_least_ns, _new(pending)))
    return known.numpys_ns


def _least_ns(node: Node) -> float:
    """The least that NumPy takes for an operation; anything for a library's."""
    if isinstance(node, Opaque):
        return inf
    if isinstance(node, View) or not node.srcs:
        return 0.0
    size = size_of(node.shape)
    if isinstance(node, Update):
        return _CALL_NS + _moved_ns(2 * size_of(node.layout.shape) * int(node.dtype[1:]))
    if isinstance(node, Gather):
        return _CALL_NS + size * _ELEMENT_NS
    if isinstance(node, Scan):
        return _CALL_NS + size * _SCANNED_NS
    if isinstance(node, Reduce):
        return _CALL_NS + _folded_ns(node)
    nbytes = node.nbytes + sum(src.nbytes for src in node.srcs)
    if not isinstance(node, Map):
        return _CALL_NS + _moved_ns(nbytes)
    each = pace(node)
    if each is None:
        each = _CYCLE_NS * map_cost(node)
    rows = sum(_rows(src) for src in node.srcs)
    return _CALL_NS + max(_moved_ns(nbytes), size * each) + _ROW_NS * rows


def _rows(source: Node) -> int:
    """The rows in which NumPy walks an operand that is a part of a larger array."""
    layout = source.layout if isinstance(source, View) else None
    if layout is None or len(layout.shape) < 2 or is_contiguous(layout.shape, layout.strides):
        return 0
    return size_of(layout.shape[:-1])


def _folded_ns(node: Reduce) -> float:
    source = node.srcs[0]
    if node.op.name not in _ARITHMETIC:
        return source.nbytes * _COMPARED_NS
    is_cast = source.dtype != node.accumulate
    are_rows = any(source.strides[axis] == 1 for axis in node.axes)
    return size_of(source.shape) * (_CAST_NS if is_cast else _SUMMED_NS if are_rows else _ADDED_NS)


def _moved_ns(nbytes: int) -> float:
    return next(nbytes * each for most, each in _BYTE_NS if nbytes <= most)
