"""Groups stored results into kernels: Graph -> Groups, in an order in which they can run.

Results are taken in topological order. Each joins the group of a producer, else a group that reads
the same memory, else it opens a group. `Fuser.refusal` is the whole legality and profit test; what
it refuses is kept for `explain`.

Invariants: a group is convex (no path leaves and re-enters it); all its results fit one iteration
space; a result is read inside its group only at the index at which it is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from lazyfuse.ir.expression import Expression, NotAffineError, NotStoredError, Term, walk
from lazyfuse.ir.group import Group, Level, body_terms, collapses, home, place_in_space
from lazyfuse.ir.layout import identity
from lazyfuse.ir.node import Const, Node, Opaque, Reduce, Scan, Update
from lazyfuse.ir.order import ReductionOrder
from lazyfuse.ir.plan import Refusal, WhyNot
from lazyfuse.ops.shapes import Shape, size_of
from lazyfuse.schedule import cost


class Limits(NamedTuple):
    """What one kernel may hold. `exact_order`: whether sums must keep NumPy's order (on a CPU)."""

    fusion: bool = True
    max_ops: int = 400
    max_args: int = 64
    exact_order: bool = True


class Joined(NamedTuple):
    """How a result would sit in a group."""

    shape: Shape
    axes: frozenset[int]
    level: Level
    order: ReductionOrder | None
    phase: int
    expression: Expression


#: How many groups that share memory with a result are tried before it opens its own.
SIBLINGS = 4


def fuse(stored: dict[Node, None], limits: Limits) -> tuple[list[Group], list[Refusal]]:
    """Partition the stored nodes (in topological order) into groups,
    in an order in which they can run."""
    fuser = Fuser(stored, limits)
    for root in stored:
        fuser.place(root)
    return fuser.ordered(), fuser.refusals


class Fuser:
    """The growing partition."""

    def __init__(self, stored: dict[Node, None], limits: Limits) -> None:
        self.stored = stored
        self.limits = limits
        self.group_of: dict[Node, Group] = {}
        self.readers: dict[Node, dict[Group, None]] = {}
        self.refusals: list[Refusal] = []
        self.position = {root: number for number, root in enumerate(stored)}
        self.alone: dict[Node, Expression] = {}

    def place(self, root: Node) -> None:
        """Put a result into a group."""
        alone = join_alone(root, self.stored, self.limits)
        self.alone[root] = alone.expression
        producers = self._producers(alone)
        if not self.limits.fusion or is_barrier(root):
            why = _barrier(root) if self.limits.fusion else WhyNot.DISABLED
            for group in producers:
                self._refuse(group, root, why)
        else:
            for group in [*producers, *self._siblings(alone, producers)]:
                if self._try_join(root, group, is_producer=group in producers):
                    for other in producers:
                        self._try_merge(other, group)
                    return
        self._add(root, Group(alone.shape), alone)

    def _refuse(self, group: Group, root: Node, why: WhyNot) -> None:
        """Note why `root` is not in the group of a result that it reads."""
        read = next(read.node for read in self.alone[root].reads if read.node in group.roots)
        self.refusals.append(Refusal(read, root, why))

    def _producers(self, alone: Joined) -> dict[Group, None]:
        reads = [read.node for read in alone.expression.reads]
        return {self.group_of[node]: None for node in reversed(reads) if node in self.group_of}

    def _siblings(self, alone: Joined, producers: dict[Group, None]) -> list[Group]:
        found: dict[Group, None] = {}
        for read in alone.expression.reads:
            for group in list(self.readers.get(read.node, ()))[-SIBLINGS:]:
                if group not in producers:
                    found[group] = None
        return list(found)[-SIBLINGS:]

    def _try_join(self, root: Node, group: Group, *, is_producer: bool) -> bool:
        verdict = self.refusal(root, group)
        if isinstance(verdict, Joined):
            self._add(root, group, verdict)
            return True
        if is_producer:
            self._refuse(group, root, verdict)
        return False

    def _add(self, root: Node, group: Group, joined: Joined) -> None:
        group.shape, group.axes = joined.shape, joined.axes
        group.roots[root] = joined.level
        group.order = joined.order or group.order
        group.phases[root] = joined.phase
        group.expressions[root] = joined.expression
        group.terms.update(joined.expression.terms)
        group.nodes.update(joined.expression.operations)
        if joined.level is Level.INNER:
            group.accesses |= _accesses(root, joined.expression)
        else:
            group.accesses |= joined.expression.accesses
        self.group_of[root] = group
        for read in joined.expression.reads:
            group.reads.add(read.node)
            self.readers.setdefault(read.node, {})[group] = None
        if isinstance(root, Update):
            group.reads.add(root.srcs[0])

    def _try_merge(self, other: Group, group: Group) -> None:
        """Move the results of `other` into `group` when all of them fit."""
        if other is group or any(is_barrier(root) for root in other.roots):
            return
        between = {
            self.group_of[node] for node in (*other.reads, *group.reads) if node in self.group_of
        }
        if any(
            self._depends(third, group) or self._depends(third, other)
            for third in between - {other, group}
        ):
            return
        trial = Fuser({}, self.limits)
        trial.stored, trial.position, trial.alone = self.stored, self.position, self.alone
        merged = Group(group.shape)
        for root in sorted((*other.roots, *group.roots), key=self.position.__getitem__):
            verdict = trial.refusal(root, merged)
            if not isinstance(verdict, Joined):
                return
            trial._add(root, merged, verdict)
        merged.reads -= set(merged.roots)
        for root in merged.roots:
            self.group_of[root] = merged
        for groups in self.readers.values():
            if other in groups or group in groups:
                groups.pop(other, None)
                groups.pop(group, None)
                groups[merged] = None

    def refusal(self, root: Node, group: Group) -> Joined | WhyNot:
        """How `root` joins `group`, or why not."""
        if any(is_barrier(member) for member in group.roots):
            return _barrier(next(iter(group.roots)))
        placed = place_in_space(root, group)
        if isinstance(placed, WhyNot):
            return placed
        shape, axes, level = placed
        if self._is_too_large(root, group):
            return WhyNot.TOO_LARGE_BODY
        order = root.order if isinstance(root, Reduce) else None
        if order and group.order and order != group.order and self.limits.exact_order:
            return WhyNot.ORDER_CLASS
        misread = self._misread_alone(root, group, shape)
        if misread is not None:
            return misread
        try:
            expression = self._expression_in(root, group, shape, axes, level)
        except NotStoredError:
            return WhyNot.GATHER
        except NotAffineError:
            return WhyNot.NOT_AFFINE
        roots = [each for each in expression.roots if isinstance(each, Term)]
        misread = _misread([*expression.terms, *roots], group)
        if misread is not None:
            return misread
        if self.limits.exact_order and not _runs_collapse(root, group, expression):
            return WhyNot.ORDER_CLASS
        joined = Joined(shape, axes, level, order, _phase(expression, group), expression)
        return self._limit(root, group, joined) or self._cycle(group, expression) or joined

    def _expression_in(
        self, root: Node, group: Group, shape: Shape, axes: frozenset[int], level: Level
    ) -> Expression:
        """What the root computes inside the group: what it does alone, if it reads none of the
        group's results and runs over the whole space."""
        alone = self.alone.get(root)
        fills = home(root)[0] == shape
        if alone and fills and not any(read.node in group.roots for read in alone.reads):
            return alone
        return _expression(root, level, shape, axes, self.stored, inline=group.roots)

    def _misread_alone(self, root: Node, group: Group, shape: Shape) -> WhyNot | None:
        """The same as `_misread`, before anything is walked, from what the root reads in a group
        of its own: steps of a loop are refused here, each at every place that it is read at."""
        alone = self.alone.get(root)
        if alone is None or home(root)[0] != shape:
            return None
        own = [read for read in alone.reads if read.node in group.roots]
        if any(read.map is None for read in own):
            return None  # asked again by who walks
        return _misread([Term(read.node, read.map) for read in own if read.map is not None], group)

    def _is_too_large(self, root: Node, group: Group) -> bool:
        """A bound from the nodes alone, before anything is walked:
        long chains are refused here."""
        own = self.alone.get(root)
        if own is None:
            return False
        new = own.operations - group.nodes
        return cost.body_size(group.nodes) + cost.body_size(new) > self.limits.max_ops

    def _limit(self, root: Node, group: Group, joined: Joined) -> WhyNot | None:
        added = cost.body_size(
            term.node
            for term in joined.expression.terms
            if term not in group.terms and not isinstance(term.node, Const)
        )
        if cost.body_size(group.operations) + added > self.limits.max_ops:
            return WhyNot.TOO_LARGE_BODY
        arguments = (
            len(group.reads | {read.node for read in joined.expression.reads})
            + len(group.roots)
            + 1
        )
        if arguments > self.limits.max_args:
            return WhyNot.TOO_MANY_ARGUMENTS
        phases = joined.phase + isinstance(root, Reduce)
        if phases > cost.most_phases(joined.axes, joined.shape):
            return WhyNot.TOO_LARGE_BODY
        if joined.phase > 0 and joined.level is Level.INNER or _is_late(root, joined):
            inner = size_of(tuple(joined.shape[axis] for axis in joined.axes))
            outer = size_of(joined.shape) // max(inner, 1)
            stays = cost.may_share_phases(outer, inner)
            if joined.level is Level.INNER and not _is_pairwise(group):
                width = _columns_in_a_row(group, joined)
                stays = stays and cost.may_store_from_columns(outer, inner, width)
            return None if stays else WhyNot.REDUCE_THEN_BROADCAST
        return None

    def _cycle(self, group: Group, expression: Expression) -> WhyNot | None:
        for read in expression.reads:
            other = self.group_of.get(read.node)
            if other is not None and other is not group and self._depends(other, group):
                return WhyNot.CYCLE
        return None

    def _depends(self, group: Group, on: Group) -> bool:
        """Whether `group` needs a result of `on`, directly or not."""
        stack, seen = [group], set()
        while stack:
            current = stack.pop()
            if current is on:
                return True
            if current in seen:
                continue
            seen.add(current)
            stack.extend(self.group_of[node] for node in current.reads if node in self.group_of)
        return False

    def ordered(self) -> list[Group]:
        """The groups, producers first."""
        order: dict[Group, None] = {}
        for root in self.stored:
            stack = [(self.group_of[root], False)]
            while stack:
                group, done = stack.pop()
                if done:
                    order[group] = None
                elif group not in order:
                    stack.append((group, True))
                    needs = {
                        self.group_of[node]: None for node in group.reads if node in self.group_of
                    }
                    stack.extend(
                        (need, False) for need in needs if need is not group and need not in order
                    )
        return list(order)


def is_barrier(node: Node) -> bool:
    """Whether a result never shares a kernel: library calls, scans, and writes into part of an
    array."""
    return isinstance(node, Opaque | Update | Scan)


def _barrier(node: Node) -> WhyNot:
    if isinstance(node, Scan):
        return WhyNot.SCAN
    return WhyNot.OPAQUE if isinstance(node, Opaque) else WhyNot.HAZARD


def join_alone(root: Node, stored: dict[Node, None], limits: Limits) -> Joined:
    """How a result sits in a group of its own."""
    if isinstance(root, Opaque):
        return Joined(root.shape, frozenset(), Level.INNER, None, 0, _operand_reads(root, stored))
    shape, axes = home(root)
    level = Level.OUTER if isinstance(root, Reduce) else Level.INNER
    order = root.order if isinstance(root, Reduce) else None
    expression = _expression(root, level, shape, axes, stored, inline=())
    return Joined(shape, axes, level, order, 0, expression)


def _runs_collapse(root: Node, group: Group, expression: Expression) -> bool:
    """Whether the axes of a pairwise run stay one loop with this result's reads and stores."""
    folds = [node for node in (root, *group.reductions) if isinstance(node, Reduce)]
    runs = [node for node in folds if has_run(node)]
    if not runs:
        return True
    axes = runs[0].order.axes[-runs[0].order.run_axes :]
    if any(node.op.gives_index for node in folds) and runs[0].order.axes != tuple(sorted(axes)):
        return False
    own = _accesses(root, expression) if home(root)[0] == group.shape else set()
    accesses = group.accesses | own | expression.accesses
    return collapses(list(accesses), home(runs[0])[0], axes)


def _accesses(root: Node, expression: Expression) -> set[tuple[int, ...]]:
    """Strides per axis of what a result reads, and of itself when it fills the space."""
    found = set(expression.accesses)
    if not isinstance(root, Reduce) and len(root.strides) == expression.axes:
        found.add(root.strides)
    return found


def has_run(node: Reduce) -> bool:
    """Whether a float sum adds pairwise along several axes as if they were one."""
    adds = node.op.fold == "add" and node.accumulate[0] in "fc"
    return adds and node.order.run_axes > 1 and size_of(node.srcs[0].shape) > 0


def _operand_reads(root: Opaque, stored: dict[Node, None]) -> Expression:
    """The memory that a library call reads."""
    expression = Expression(0)
    for src in root.srcs:
        expression.roots += walk([Term(src, identity(src.shape))], len(src.shape), stored).roots
    return expression


def _expression(
    root: Node,
    level: Level,
    shape: Shape,
    axes: frozenset[int],
    stored: dict[Node, None],
    inline: Collection[Node],
) -> Expression:
    """What the root's body computes, in the axes of the space `shape`."""
    return walk(body_terms(root, level, shape, axes), len(shape), stored, {*inline, root})


def _misread(terms: Iterable[Term], group: Group) -> WhyNot | None:
    """Why a result of the group would be read at another index than it is computed at."""
    for term in terms:
        if term.node in group.roots and term.map != group.map_of(term.node):
            folds = isinstance(term.node, Reduce)
            return WhyNot.REDUCE_THEN_BROADCAST if folds else WhyNot.DIFFERENT_SPACE
    return None


def _phase(expression: Expression, group: Group) -> int:
    """The inner phase after the reductions that an expression reads."""
    after = [group.phases[t.node] + 1 for t in expression.terms if isinstance(t.node, Reduce)]
    return max(after, default=0)


def _columns_in_a_row(group: Group, joined: Joined) -> int:
    """How many neighbouring columns everything that is read has side by side."""
    shape, accesses = joined.shape, list(group.accesses | joined.expression.accesses)
    width = 1
    for axis in range(len(shape) - 1, max(joined.axes), -1):
        if not collapses(accesses, shape, tuple(range(axis, len(shape)))):
            break
        width *= shape[axis]
    return width


def _is_pairwise(group: Group) -> bool:
    """Whether the group adds along its rows, not from row to row."""
    return group.order is not None and group.order.pairwise


def _is_late(root: Node, joined: Joined) -> bool:
    return isinstance(root, Reduce) and joined.phase > 0
