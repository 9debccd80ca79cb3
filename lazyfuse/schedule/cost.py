"""What fusion decides by: every threshold in one place,
with its unit, reason and the file that measures it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from lazyfuse.ir.node import Map, Node
from lazyfuse.ops.shapes import size_of

#: Cost (cycles for 8 doubles) from which storing a shared value beats computing it twice: one
#: store plus one load of 64 bytes each at about 10 bytes per cycle (perf/roofline.py).
STORE_COST = 30.0

#: Cost of a load of 8 doubles from the first cache.
LOAD_COST = 1.0

#: Elements up to which a whole reduction and its readers share one thread's kernel: a launch costs
#: more than the second pass over data that is still in the cache.
SINGLE_PASS_ELEMENTS = 1 << 16

#: Kept indices from which row- or column-wise phases have enough parallel work:
#: one vector of lanes.
MIN_OUTER = 8

#: Columns from which threads can share a column reduction, some 64 each. The rows of narrower ones
#: are added by one thread; what is then computed for every element is left to a kernel of its own,
#: which they can share (perf/workloads, standardize).
MIN_COLUMNS = 128

#: Rows up to which a column reduction and what is then computed for every element share a kernel.
#: Of more, a block of columns is in no cache, and walking down columns twice takes longer than
#: going along rows (x - x.mean(axis=0) of 10,000 x 1,000: 1.6 times; of 100 rows 0.6 times).
MOST_ROWS = 1024

#: Reductions that need one another in one kernel, which computes what is in between once more for
#: each of them, or keeps a row of it; of columns, which are not kept; and of columns that are in
#: no cache when they are read again (40 times (x - x.mean(axis=0)) / x.std(axis=0) of 4,000 x 100:
#: 9 ms, with four 15).
MOST_PHASES, MOST_COLUMN_PHASES, MOST_FAR_PHASES = 8, 4, 2

#: Reductions up to which grouping looks at everything: what it finds is better, and soon found.
FEW_STEPS = 4

#: Cost from which a step of a loop is stored that several kernels need: less than other values
#: that two kernels need, since each phase of these computes it (40 times x - x.mean(axis=0) * 0.5
#: of 4,000 x 100: 3 ms, from 30 on 6; of rows 1 to 10 % faster).
STEP_COST = 10.0

#: A value of at least this cost that a broadcast would repeat is stored when the repeats cost more
#: than a store.
BROADCAST_COST = 10.0

#: The same of what follows from a reduction, which is stored itself if this is not: a division.
RESULT_COST = 8.0

#: Elements of a row from which what repeats in rows is worth a kernel of its own: shorter ones
#: compute it once a row (rows of 3 to 7: 5 to 30 % slower so, of 8 to 16 5 to 30 % faster).
SHARED_ROW = 8

#: Values that are read at other places, one inside the other, in one kernel: three stencils of 5
#: points are some 25 places, all of which are looked at while planning.
MOST_NESTED = 3

#: Simple operations for which a transcendental function counts in the size of a kernel. Compiling
#: one takes 9 ms, a simple operation 0.1 ms; but kernels of few functions would store too much.
HEAVY = 8


def body_size(nodes: Iterable[Node]) -> int:
    """The operations of a kernel, in simple ones."""
    return sum(HEAVY if is_heavy(node) else 1 for node in nodes)


def is_heavy(node: Node) -> bool:
    """Whether a node is a transcendental function."""
    return isinstance(node, Map) and node.is_costly


def map_cost(node: Node) -> float:
    """Cost of one evaluation of a node alone; 0 for everything that is not an op."""
    return node.op.cost(node.loop, node.dtype) if isinstance(node, Map) else 0.0


def is_expensive(cost: float) -> bool:
    """Whether a value of this recompute cost should be stored when two kernels need it."""
    return cost > STORE_COST


def is_expensive_step(cost: float) -> bool:
    """The same of a step of a loop, which every phase of these kernels needs."""
    return cost > STEP_COST


def is_broadcast_waste(node: Node, reader: Node, cost: float) -> bool:
    """Whether inlining `node` into the larger `reader` would compute each element many times
    over."""
    if size_of(node.shape) <= 1:
        return False  # computed once, before the loop
    return cost >= BROADCAST_COST and _repeats_cost(node, reader, cost)


def is_repeated_result(
    node: Node, reader: Node, cost: float, *, last: Node, hoists_scalars: bool
) -> bool:
    """The same of what follows from a reduction in another kernel, which has to store something in
    any case. `last`: the last of these, whose kernel can store it where they have as many
    elements; `hoists_scalars`: what all elements share is computed once, before the loop."""
    if hoists_scalars and size_of(node.shape) <= 1:
        return False
    if size_of(node.shape) != size_of(last.shape) and reader.shape[-1] < SHARED_ROW:
        return False
    return cost >= RESULT_COST and _repeats_cost(node, reader, cost)


def _repeats_cost(node: Node, reader: Node, cost: float) -> bool:
    reuse = size_of(reader.shape) // max(size_of(node.shape), 1)
    return (reuse - 1) * cost >= STORE_COST


def most_phases(axes: Collection[int], shape: Sequence[int]) -> int:
    """How many reductions along these axes one kernel may have, of which one needs the other."""
    if len(shape) - 1 in axes or not axes:
        return MOST_PHASES
    inner = size_of(tuple(shape[axis] for axis in axes))
    outer = size_of(tuple(shape)) // max(inner, 1)
    stays = may_store_from_columns(outer, inner, shape[-1])
    return MOST_COLUMN_PHASES if stays else MOST_FAR_PHASES


def may_share_phases(outer: int, inner: int) -> bool:
    """Whether a reduction and its readers may run as phases of one kernel:
    enough kept indices, or little work."""
    return outer >= MIN_OUTER or outer * inner <= SINGLE_PASS_ELEMENTS


def may_store_from_columns(outer: int, inner: int, width: int) -> bool:
    """Whether a column reduction may also write a result that has all its elements: where a block
    of columns is still in the cache, and `width` of them lie side by side."""
    return MIN_COLUMNS <= width and inner <= MOST_ROWS or outer * inner <= SINGLE_PASS_ELEMENTS
