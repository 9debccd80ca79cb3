"""Known plans of a GPU as one function each, of memory and numbers: what a run costs the host.

The executor finds out at each step what is the same in all runs: which kernel is bound, which
operands and scalars it takes, how much memory. Here all of that is bound once. Machine code calls
such a function (`ready.py`), and it takes new memory for what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Items
from operator import itemgetter
from typing import Any, TypeAlias

from lazyfuse.config import Options
from lazyfuse.ir.plan import Launch, Renew
from lazyfuse.runtime.known import Known
from lazyfuse.runtime.repeats import may_pay, repeats
from lazyfuse.runtime.sequence import Sequence, sequence
from lazyfuse.runtime.tallies import tally

#: Of memory of the leaves, and the scalars after it: the memory of the results. None where there
#: is no memory for them: the executor may need less.
Queued: TypeAlias = Callable[..., tuple[Any, ...] | None]
#: Of memory and scalars: queues a launch or a copy.
Quick: TypeAlias = Callable[[Items[Any], Items[Any]], object]
#: Says that there was a run.
Count: TypeAlias = Callable[[], object]


def queued(
    known: Known, backend: Any, options: Options, *, plan_hits: int
) -> tuple[Queued, Sequence] | None:
    """What runs a plan, and the plan as it runs it. None for plans that do more than launch
    kernels and copy. `plan_hits`: how often a run found its plan."""
    found = sequence(known.plan, backend, None)
    if found is None or not found.steps:
        return None
    launches = len(found.steps) - found.copies
    count = tally(
        plan_hits=plan_hits,
        kernels_launched=launches,
        cache_hits=launches,
        copies=found.copies,
        bytes_read=found.read,
        bytes_written=found.written,
        donations=found.donations,
    )
    moved = found.read + found.written
    is_one = len(found.steps) == launches == 1
    if is_one and not may_pay([found.steps[0].launch], moved, backend, options):
        return _one(known, found, backend, count), found
    count_graph = tally(plan_hits=plan_hits)
    return _several(known, found, backend, options, (count, count_graph)), found


def replayed(
    known: Known, backend: Any, options: Options, leaves: Items[Any], scalars: Items[Any]
) -> list[Any] | None:
    """Run a plan, which does not write its leaves; None where the executor has to."""
    if known.queued is None:
        known.queued = queued(known, backend, options, plan_hits=0) or ()
    results = known.queued[0](*leaves, *scalars) if known.queued else None
    return None if results is None else list(results)


def _one(known: Known, found: Sequence, backend: Any, count: Count) -> Queued:
    """A plan of one kernel."""
    ((launch, scalars_of),) = _steps(known, found, backend)
    allocate, sizes = backend.allocate, found.memory
    nbytes = sizes[0] if len(sizes) == 1 else None

    def run(*given: Any) -> tuple[Any, ...] | None:
        try:
            made = tuple(map(allocate, sizes)) if nbytes is None else (allocate(nbytes),)
            launch(given + made, scalars_of(given) if scalars_of else ())
        except MemoryError:
            return None
        count()
        return made

    order = picked(found.outputs, len(sizes))
    if order is _all:
        return run

    def ordered(*given: Any) -> tuple[Any, ...] | None:
        made = run(*given)
        return None if made is None else tuple(order(made))

    return ordered


def _several(
    known: Known, found: Sequence, backend: Any, options: Options, counts: tuple[Count, Count]
) -> Queued:
    """A plan of several kernels, by a graph, which counts by itself, where that is worth it."""
    steps, (count, count_graph) = _steps(known, found, backend), counts
    allocate, leaves, sizes = backend.allocate, len(known.leaves), found.memory
    order = picked(found.outputs, len(sizes))

    def one_by_one(given: tuple[Any, ...]) -> Items[Any]:
        made = tuple(map(allocate, sizes))
        memory = given + made
        for queue, scalars_of in steps:
            queue(memory, scalars_of(given) if scalars_of else ())
        count()
        return order(made)

    def run(*given: Any) -> tuple[Any, ...] | None:
        graphs = repeats(known, backend, options)
        try:
            if graphs is None:
                return tuple(one_by_one(given))
            results = graphs.run(given[:leaves], given[leaves:])
        except MemoryError:
            return None
        if results is None:
            return None
        count_graph()
        return tuple(results)

    return run


def _steps(
    known: Known, found: Sequence, backend: Any
) -> list[tuple[Quick, Callable[[Items[Any]], Items[Any]] | None]]:
    """Each launch or copy as a function of what a run is given and then new memory, and what picks
    its scalars out of what the run is given, None where it has none."""
    leaves = len(known.leaves)
    given = leaves + len(known.constants)
    steps: list[tuple[Quick, Any]] = []
    for step in found.steps:
        places = [place if place >= 0 else given + ~place for place in step.operands]
        if isinstance(step.of, Renew):
            steps.append((_copy(step.of, backend, *places), None))
        else:
            queue = quick(step.launch, places, given + len(found.memory))
            steps.append((queue, _scalars(step.of, leaves)))
    return steps


def _copy(step: Renew, backend: Any, target: int, source: int) -> Quick:
    """What a write leaves of an array, between two places of memory."""
    dtype, kept, copy = step.dtype, step.kept, backend.copy_regions
    return lambda memory, scalars: copy(memory[source], memory[target], dtype, kept)


def quick(launch: Any, places: Items[int], count: int) -> Quick:
    """A launch as a function of memory, so much of it, and scalars; its operands have these places
    there."""
    make = getattr(launch, "quick", None)
    found: Quick | None = None if make is None else make(places)
    if found is not None:
        return found
    pick = picked(places, count)
    return lambda memory, scalars: launch(pick(memory), scalars, threads=1)


def picked(places: Items[int], count: int) -> Callable[[Any], Items[Any]]:
    """What gives the items at these places, of so many."""
    if list(places) == list(range(count)):
        return _all
    if len(places) == 1:
        (place,) = places
        return lambda items: (items[place],)
    return itemgetter(*places)


def _scalars(step: Any, leaves: int) -> Callable[[Items[Any]], Items[Any]] | None:
    """What picks the scalars of a launch out of what a run is given; None for no scalars."""
    if not isinstance(step, Launch) or not step.scalars:
        return None
    return lambda given: step.scalars_of(given[leaves:])


def _all(items: Any) -> Any:
    return items
