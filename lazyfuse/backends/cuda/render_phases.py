"""What the phases of a reduction have in common, whatever the thread layout: their accumulators,
the launches they need, their order, and what follows an inner phase.
"""

from __future__ import annotations

from collections.abc import Callable

from lazyfuse.backends.cuda.accumulate import Fold, read, start
from lazyfuse.backends.cuda.render_access import element, loaded
from lazyfuse.backends.cuda.render_body import Site, render_body
from lazyfuse.backends.cuda.render_inner import InnerPhase, PackPlan
from lazyfuse.backends.cuda.render_shared import SharedPlan
from lazyfuse.ir.kernel import FIXED, Kernel, Level, Role


def folds_of(kernel: Kernel) -> list[list[Fold]]:
    """Number the accumulators, one list per phase."""
    result, number = [], 0
    for phase in kernel.phases:
        result.append([Fold(number + i, acc) for i, acc in enumerate(phase.accumulators)])
        number += len(phase.accumulators)
    return result


def launch_ranges(kernel: Kernel) -> tuple[tuple[int, int], ...]:
    """Cut the phases before every inner phase but the first."""
    inner = [n for n, phase in enumerate(kernel.phases) if phase.level is Level.INNER]
    cuts = [0, *inner[1:], len(kernel.phases)]
    return tuple(zip(cuts, cuts[1:], strict=False))


def precedes_outer(kernel: Kernel, number: int) -> bool:
    """Whether an outer phase follows phase `number`."""
    following = kernel.phases[number + 1 : number + 2]
    return bool(following) and following[0].level is Level.OUTER


def awaits(kernel: Kernel, number: int) -> list[str]:
    """A barrier before outer phase `number`, where what it stores may be the memory of an input
    of which all threads of a group read one element: none may be late."""
    inner = range(kernel.outer, kernel.outer + kernel.inner)
    before = [phase for phase in kernel.phases[:number] if phase.level is Level.INNER]
    read = {arg for phase in before for arg in loaded(phase)}
    taken = {
        kernel.args[arg].dtype
        for arg in read
        if kernel.args[arg].role is Role.IN
        and all(kernel.args[arg].access[axis] == FIXED for axis in inner)
    }
    stored = {kernel.args[store.arg].dtype for store in kernel.phases[number].stores}
    ran = f"first <= {number} && {number} < last"
    return [f"if ({ran}) __syncthreads();"] if taken & stored else []


def finish(folds: list[Fold]) -> list[str]:
    """Move the combined state `a` into the totals `t` and fold the starting scalars in."""
    lines = []
    for fold in folds:
        lines.append(f"t.f{fold.number} = a.f{fold.number};")
        if fold.keeps_index:
            lines.append(f"t.g{fold.number} = a.g{fold.number};")
        lines += start(fold)
    return lines


def reader(folds: list[list[Fold]]) -> Callable[[int, str], str]:
    """The finished accumulators in the totals `t`, by number and dtype."""
    by_number = {fold.number: fold for phase in folds for fold in phase}
    return lambda number, dtype: read(by_number[number], dtype)


def phase_by_phase(
    kernel: Kernel,
    packs: PackPlan,
    shared: SharedPlan,
    inner: Callable[[InnerPhase], list[str]],
    outer: Callable[[int, str], list[str]],
) -> list[str]:
    """The lines of all phases in order, as a thread layout writes them. Of an outer phase it is
    given the number and what else must hold: before the first inner phase one block is enough."""
    folds = folds_of(kernel)
    lines, alone = [], " && blockIdx.y == 0"
    for number, phase in enumerate(kernel.phases):
        if phase.level is Level.INNER:
            alone = ""
            lines += inner(InnerPhase(kernel, number, folds[number], packs, reader(folds), shared))
        else:
            lines += awaits(kernel, number) + outer(number, alone)
    return lines


def outer_body(kernel: Kernel, number: int) -> list[str]:
    """The body of outer phase `number` at the current outer positions, and its stores."""
    axes, phase = range(kernel.outer), kernel.phases[number]

    def place(arg: int) -> str:
        return element(arg, kernel.args[arg], axes)

    site = Site(load=place, index=lambda axis: f"i{axis}", acc=reader(folds_of(kernel)))
    stores = [f"{place(store.arg)} = v{store.value};" for store in phase.stores]
    return render_body(phase.body, site) + stores
