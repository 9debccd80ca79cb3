"""Memory of a plan: when slots die, which dead input may give its buffer to an output, and how
much is read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lazyfuse.ir.kernel import Kernel, Phase, Role
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node, Update
from lazyfuse.ir.plan import Call, Launch, Operand, Renew, Step
from lazyfuse.ir.region import left_by
from lazyfuse.ops.shapes import size_of


def with_frees(steps: Sequence[Step], outputs: Sequence[int]) -> tuple[Step, ...]:
    """Each step with the slots that nothing reads after it; outputs live on."""
    last: dict[int, int] = {}
    for number, step in enumerate(steps):
        for slot in _touched(step):
            last[slot] = number
    dying: dict[int, list[int]] = {}
    for slot, number in last.items():
        if slot not in outputs:
            dying.setdefault(number, []).append(slot)
    return tuple(
        _with_frees(step, tuple(dying.get(number, ())), number, last, outputs)
        for number, step in enumerate(steps)
    )


def _with_frees(
    step: Step, frees: tuple[int, ...], number: int, last: dict[int, int], outputs: Sequence[int]
) -> Step:
    if isinstance(step, Renew) and step.base is not None:
        dies = last[step.base] <= number + 1 and step.base not in outputs
        return replace(step, frees=frees, base_dies=dies)
    return replace(step, frees=frees)


def _touched(step: Step) -> list[int]:
    match step:
        case Launch():  # a kernel may read less than what stands in for it
            operands = [operand.slot for operand in step.operands]
            return operands + [slot for call in step.calls for _, slot in call.reads]
        case Renew():
            return [step.target] if step.base is None else [step.target, step.base]
        case Call():
            return [*(slot for _, slot in step.reads), step.target]


def donors(launch: Launch) -> tuple[tuple[int, int], ...]:
    """Pairs (written slot, read slot) such that the output may take the input's buffer.

    The input must have the output's dtype and size, and every read of it must be at the element
    that is stored (equal strides and offset), in no phase after the store: each element is then
    read before it is overwritten. Whether the input is dead is asked when the plan runs.
    """
    pairs: list[tuple[int, int]] = []
    taken: set[int] = set()
    kernel = launch.kernel
    sizes = dict(launch.allocates)
    for number in kernel.outputs:
        target = launch.operands[number]
        if target.slot not in sizes:
            continue
        for candidate in kernel.inputs:
            source = launch.operands[candidate]
            same_place = (source.strides, source.offset) == (target.strides, target.offset)
            if (
                source.slot not in taken
                and same_place
                and kernel.args[candidate].dtype == kernel.args[number].dtype
                and candidate not in kernel.gathered
                and _reads_once(launch, source.slot)
                and _last_load(kernel, candidate) <= _store_phase(kernel, number)
            ):
                pairs.append((target.slot, source.slot))
                taken.add(source.slot)
                break
    return tuple(pairs)


#: Copying a piece of memory takes the time of copying so many bytes besides: some 5 ns.
_PIECE_BYTES = 64


def kept_by(node: Update) -> tuple[Layout, ...]:
    """What a write leaves of its base; all of it where that is in pieces so short that copying
    them takes longer, as those between the elements of `x[..., 1]`."""
    whole = (Layout(node.shape, node.strides, 0),)
    if node.index is not None:
        return whole
    kept = tuple(left_by(node.layout, node.shape, node.strides))
    size = int(node.dtype[1:])
    cost = sum(_pieces(part) * _PIECE_BYTES + size_of(part.shape) * size for part in kept)
    return whole if cost > node.nbytes else kept


def _pieces(layout: Layout) -> int:
    """How many pieces of memory a layout has."""
    length = 1
    for stride, extent in sorted(zip(layout.strides, layout.shape, strict=True)):
        if extent != 1:
            if stride != length:
                break
            length *= extent
    return size_of(layout.shape) // length if length else 0


def traffic(
    kernel: Kernel,
    extents: Sequence[int],
    operands: Sequence[Operand],
    slots: Sequence[Node] | Mapping[int, Node],
) -> tuple[int, int]:
    """Bytes that a launch has to read and to write: each distinct element once."""
    totals = {Role.IN: 0, Role.OUT: 0}
    args = [arg for arg in kernel.args if arg.role is not Role.SCRATCH]
    for arg, operand in zip(args, operands, strict=True):
        elements = 1
        for extent, stride in zip(extents, operand.strides, strict=True):
            elements *= extent if stride else 1
        elements = min(elements, size_of(slots[operand.slot].shape))
        totals[arg.role] += elements * int(arg.dtype[1:])
    return totals[Role.IN], totals[Role.OUT]


def _reads_once(launch: Launch, slot: int) -> bool:
    """Whether one argument only reads the slot."""
    return sum(operand.slot == slot for operand in launch.operands) == 1


def _last_load(kernel: Kernel, arg: int) -> int:
    return max(
        (number for number, phase in enumerate(kernel.phases) if _loads(phase, arg)), default=-1
    )


def _loads(phase: Phase, arg: int) -> bool:
    return any(instr.op == "load" and instr.attr == arg for instr in phase.body)


def _store_phase(kernel: Kernel, arg: int) -> int:
    return next(number for number, phase in enumerate(kernel.phases) if arg in phase.written)
