"""What a row kernel keeps in shared memory between its phases: scratch arguments, and inputs that
several phases read, so that they come from memory once.

A thread visits the same positions in every phase, so nothing there is exchanged between threads,
and no barrier is needed. What is dead when another begins, and as wide, lends it its room: in
softmax the exponentials take the place of the row.

    float* const S0 = reinterpret_cast<float*>(lf_shared + ...);     // one row per row of threads
    const float* const R0 = in_shared ? S0 + slot * inner_total : a0 + ...;   // in later phases
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.render_access import offset, touched
from lazyfuse.ir.kernel import UNIT, Kernel, Lanes, Level, Role


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """`staged`: the phase that reads an input first, per input that is kept. `rooms`: the room of
    each argument that has one, and `sizes`, bytes of an element, per room."""

    staged: dict[int, int]
    rooms: dict[int, int]
    sizes: tuple[int, ...]

    def is_kept(self, arg: int, phase: int) -> bool:
        """Whether a phase finds an input where an earlier one has left it."""
        return arg in self.staged and self.staged[arg] < phase


def plan_shared(kernel: Kernel) -> SharedPlan:
    """Nothing for columns, whose threads have no rows."""
    if kernel.lanes is Lanes.OUTER:
        return SharedPlan({}, {}, ())
    lives = _lives(kernel)
    staged = {
        arg: begin
        for arg, (begin, end) in lives.items()
        if end > begin and kernel.args[arg].role is Role.IN and _is_row(kernel, arg)
    }
    rooms: dict[int, int] = {}
    sizes: list[int] = []
    ends: list[int] = []
    for arg, (begin, end) in sorted(lives.items(), key=lambda item: item[1]):
        if arg not in staged and kernel.args[arg].role is not Role.SCRATCH:
            continue
        size = CTYPES[kernel.args[arg].dtype].size
        free = [n for n, last in enumerate(ends) if last <= begin and sizes[n] == size]
        if not free:
            free = [len(sizes)]
            sizes.append(size)
            ends.append(end)
        rooms[arg], ends[free[0]] = free[0], end
    return SharedPlan(staged, rooms, tuple(sizes))


def _lives(kernel: Kernel) -> dict[int, tuple[int, int]]:
    """The first and the last inner phase that touches an argument."""
    lives: dict[int, tuple[int, int]] = {}
    for number, phase in enumerate(kernel.phases):
        if phase.level is Level.INNER:
            for arg in touched(phase):
                lives[arg] = lives.get(arg, (number, 0))[0], number
    return lives


def _is_row(kernel: Kernel, arg: int) -> bool:
    """Whether the elements of a row lie side by side, so that a pointer finds them."""
    return kernel.inner == 1 and not kernel.gathered and kernel.args[arg].access[-1] == UNIT


def shared_places(kernel: Kernel, plan: SharedPlan) -> list[str]:
    """Where each argument of the plan lies: rows of a block, one room after the other."""
    places = ["0"]
    for size in plan.sizes:
        places.append(f"{places[-1]} + (rows * inner_total * {size} + 15) / 16 * 16")
    lines = []
    for arg, room in plan.rooms.items():
        memory = CTYPES[kernel.args[arg].dtype].memory
        place = f"reinterpret_cast<{memory}*>(lf_shared + {places[room]})"
        if kernel.args[arg].role is Role.SCRATCH:
            place = f"in_shared ? {place} : a{arg}"
        lines.append(f"{memory}* const S{arg} = {place};")
    return lines


def row_places(kernel: Kernel, plan: SharedPlan) -> list[str]:
    """Where the row of a tile lies in it, and in the inputs that are kept."""
    if not plan.rooms:
        return []
    apart = "gridDim.y > 1 ? o : (ux)blockIdx.x * rows + row"
    lines = [f"const unsigned long long slot = in_shared ? row : {apart};"]
    for arg in plan.staged:
        memory = CTYPES[kernel.args[arg].dtype].memory
        there = f"a{arg} + ({offset(arg, kernel.args[arg], range(kernel.outer))})"
        here = f"S{arg} + slot * inner_total"
        lines.append(f"const {memory}* const R{arg} = in_shared ? {here} : {there};")
    return lines
