"""ld, st, atom, red and cvta: memory in all its spaces; bounds and races are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from lazyfuse.backends.cuda_ptx.faults import PtxMemoryError, PtxRaceError, UnknownInstruction
from lazyfuse.backends.cuda_ptx.frame import Frame, Lanes
from lazyfuse.backends.cuda_ptx.memory import WINDOWS, Region
from lazyfuse.backends.cuda_ptx.operands import (
    Reader,
    Writer,
    address,
    parameter_place,
    reader,
    vector,
    writer,
)
from lazyfuse.backends.cuda_ptx.parse import Function, Instruction
from lazyfuse.backends.cuda_ptx.races import Shadow
from lazyfuse.backends.cuda_ptx.types import TYPES, PtxType, unsigned

Step = Callable[[Frame, Lanes], None]
_SPACES = ("global", "shared", "local", "const", "param")
_WIDTHS = {"v2": 2, "v4": 4, "v8": 8}
#: What may be said of a load or a store besides its space, width and type.
_HINTS = frozenset(
    ("nc", "ca", "cg", "cs", "cv", "lu", "wb", "wt", "weak", "volatile")
    + ("relaxed", "acquire", "release", "cta", "gpu", "sys")
)


def load(instruction: Instruction, function: Function) -> Step:
    """ld.space.vN.type"""
    space, kind, count = _form(instruction)
    targets = [writer(name, function) for name in vector(instruction.operands[0])]
    if space == "param":
        return _load_parameter(instruction, kind, targets)
    find = address(instruction.operands[1], function)

    def step(frame: Frame, lanes: Lanes) -> None:
        values = np.empty((count, frame.size(lanes)), unsigned(kind.bits))
        for name, region, places, index in _locate(frame, lanes, space, find, kind, count):
            if name != "local":
                _shadow(region).read(
                    index, count * kind.size, frame.who(_selected(frame, lanes, places)),
                    frame.world.clock,
                )  # fmt: skip
            words = region.words(kind)
            for part in range(count):
                values[part, places] = words[index // kind.size + part]
        for target, value in zip(targets, values, strict=True):
            target(frame, lanes, value.view(kind.dtype))

    return step


def _load_parameter(instruction: Instruction, kind: PtxType, targets: Sequence[Writer]) -> Step:
    name, offset = parameter_place(instruction.operands[1])

    def step(frame: Frame, lanes: Lanes) -> None:
        for part, target in enumerate(targets):
            start = offset + part * kind.size
            rows = frame.parameters[name][:, start : start + kind.size]
            value = np.ascontiguousarray(rows).view(kind.dtype)[:, 0]
            target(frame, lanes, value if len(value) == 1 else value[lanes])

    return step


def store(instruction: Instruction, function: Function) -> Step:
    """st.space.vN.type"""
    space, kind, count = _form(instruction)
    bits = TYPES[f"b{kind.bits}"]
    sources = [reader(name, bits, function) for name in vector(instruction.operands[1])]
    if space == "param":
        name, offset = parameter_place(instruction.operands[0])

        def store_parameter(frame: Frame, lanes: Lanes) -> None:
            for part, source in enumerate(sources):
                value = np.broadcast_to(source(frame, lanes), (frame.size(lanes),))
                start = offset + part * kind.size
                rows = np.ascontiguousarray(value).view(np.uint8).reshape(-1, kind.size)
                frame.parameters[name][lanes, start : start + kind.size] = rows

        return store_parameter
    find = address(instruction.operands[0], function)

    def step(frame: Frame, lanes: Lanes) -> None:
        size = frame.size(lanes)
        values = np.stack([np.broadcast_to(source(frame, lanes), size) for source in sources])
        for name, region, places, index in _locate(frame, lanes, space, find, kind, count):
            _write(frame, lanes, name, region, places, index, kind, values[:, places])

    return step


def _write(
    frame: Frame, lanes: Lanes, space: str, region: Region, places: np.ndarray,
    index: np.ndarray, kind: PtxType, values: np.ndarray,
) -> None:  # fmt: skip
    """Store `values` (one row per word of a vector) at byte `index` of a region."""
    words = region.words(kind)
    cells = index // kind.size + np.arange(len(values))[:, None]
    if space != "local":
        changed = (words[cells] != values).any(axis=0)
        who = frame.who(_selected(frame, lanes, places))
        _shadow(region).write(index, len(values) * kind.size, changed, who, frame.world.clock)
    words[cells] = values
    lost = (words[cells] != values).any(axis=0)
    if lost.any():
        raise PtxRaceError(f"{int(lost.sum()) + 1} threads write different values to one place")


def atomic(instruction: Instruction, function: Function) -> Step:
    """atom and red: one thread after the other, in the order of the run."""
    kind = TYPES[instruction.types[-1]]
    space = next(
        (word for word in instruction.modifiers if word in ("global", "shared")), "generic"
    )
    name = next((word for word in instruction.modifiers if word in _ATOMIC), None)
    if name is None:
        raise UnknownInstruction("no such atomic operation")
    combine = _ATOMIC[name]
    operands = list(instruction.operands)
    target = writer(operands.pop(0) if instruction.opcode == "atom" else "_", function)
    find = address(operands[0], function)
    sources = [reader(text, kind, function) for text in operands[1:]]

    def step(frame: Frame, lanes: Lanes) -> None:
        size = frame.size(lanes)
        given = [np.broadcast_to(source(frame, lanes), size) for source in sources]
        before = np.empty(size, kind.dtype)
        for _, region, places, index in _locate(frame, lanes, space, find, kind, 1):
            words = region.words(kind).view(kind.dtype)
            for place in _order(frame, len(places)):
                lane, cell = places[place], index[place] // kind.size
                old = before[lane] = words[cell]
                words[cell] = combine(old, *(value[lane] for value in given))
                block = int(frame.threads.blocks[lanes][lane])
                frame.world.clock.atomic(block, region.base + int(index[place]))
        target(frame, lanes, before)

    return step


def _order(frame: Frame, count: int) -> np.ndarray:
    """Who goes first among the threads of an atomic instruction."""
    generator = frame.world.generator
    return np.arange(count) if generator is None else generator.permutation(count)


def fence(instruction: Instruction, function: Function) -> Step:
    """membar.gl and fence: of the whole device."""
    if not {"gl", "sys", "gpu", "sc", "acq_rel"} & set(instruction.modifiers):
        raise UnknownInstruction("a fence of less than the device")
    return lambda frame, lanes: frame.world.clock.fence(np.unique(frame.threads.blocks[lanes]))


def convert_address(instruction: Instruction, function: Function) -> Step:
    """cvta: between the addresses of a space and generic ones."""
    space = next(word for word in instruction.modifiers if word in _SPACES)
    window = np.uint64(WINDOWS.get(space, 0))
    kind = TYPES[instruction.types[-1]]
    read, target = (
        reader(instruction.operands[1], kind, function),
        writer(instruction.operands[0], function),
    )
    if "to" in instruction.modifiers:
        return lambda frame, lanes: target(frame, lanes, read(frame, lanes) - window)
    return lambda frame, lanes: target(frame, lanes, read(frame, lanes) + window)


def _form(instruction: Instruction) -> tuple[str, PtxType, int]:
    """The space, type and number of words of a load or a store."""
    words = set(instruction.modifiers)
    space = next((word for word in _SPACES if word in words), "generic")
    kind = TYPES[instruction.types[-1]]
    count = next((n for word, n in _WIDTHS.items() if word in words), 1)
    unknown = words - _HINTS - {space, kind.name} - _WIDTHS.keys()
    if unknown:
        raise UnknownInstruction(f"modifiers {sorted(unknown)}")
    return space, kind, count


def _locate(
    frame: Frame, lanes: Lanes, space: str, find: Reader, kind: PtxType, count: int
) -> Iterator[tuple[str, Region, np.ndarray, np.ndarray]]:
    """The regions that an access touches: space, region, places among the lanes, byte indices."""
    frame.world.clock.tick()
    addresses = find(frame, lanes)
    if space == "generic":
        space, addresses = _resolve(addresses)
    instances = frame.instances(space, lanes)
    for region, places, offsets in frame.space(space).find(addresses, kind.size * count):
        of = instances if isinstance(instances, int) else instances[places]
        yield space, region, places, offsets + of * region.stride


def _resolve(addresses: np.ndarray) -> tuple[str, np.ndarray]:
    """The space of generic addresses, and the addresses in it."""
    lowest, highest = int(addresses.min()), int(addresses.max())
    for space in ("local", "shared"):
        if lowest >= WINDOWS[space]:
            return space, addresses - np.uint64(WINDOWS[space])
        if highest >= WINDOWS[space]:
            raise PtxMemoryError("one access to two address spaces")
    return "global", addresses


def _selected(frame: Frame, lanes: Lanes, places: np.ndarray) -> Lanes:
    return places if isinstance(lanes, slice) else lanes[places]


def _shadow(region: Region) -> Shadow:
    if region.shadow is None:
        region.shadow = Shadow(len(region.data))
    return region.shadow


_ATOMIC: dict[str, Callable[..., np.generic]] = {
    "add": lambda old, x: old + x,
    "min": min,
    "max": max,
    "and": lambda old, x: old & x,
    "or": lambda old, x: old | x,
    "xor": lambda old, x: old ^ x,
    "exch": lambda old, x: x,
    "cas": lambda old, compare, x: x if old == compare else old,
    "inc": lambda old, x: old * 0 if old >= x else old + 1,
    "dec": lambda old, x: x if old == 0 or old > x else old - 1,
}
