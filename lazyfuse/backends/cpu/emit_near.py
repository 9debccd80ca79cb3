"""Loads of lanes that lie a few elements apart: whole vectors of memory, from which the lanes are
picked.

    memory   r0 g0 b0 r1 | g1 b1 r2 g2 | . . b2 r3 g3 b3           4 lanes, step 3
    lanes    r0 r1 r2 r3

The last of the vectors ends where the last lane does, so nothing else is touched. A tail is
collected one by one. Small elements are picked byte by byte where one instruction does that.
"""

from __future__ import annotations

from lazyfuse.backends.cpu.byte_picks import Collected, has_room, picks_bytes, taken
from lazyfuse.backends.cpu.emit_memory import (
    Tail,
    load_bytes,
    load_scalar,
    load_vector,
    memory_type,
    store_vector,
)
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.vector import Operand
from lazyfuse.ir.kernel import UNIT

#: What elements of so many bytes are moved as, whatever they mean.
_MOVED_AS = {1: "u1", 2: "u2", 4: "f4", 8: "f8"}


def load_near(
    writer: FunctionWriter, dtype: str, pointer: str, *, step: int, tail: Tail | None
) -> Operand:
    """All lanes from `pointer` on, `step` elements apart. `dtype` is not complex."""
    size = int(dtype[1:])
    if writer.lanes == 1:
        return load_scalar(writer, dtype, pointer)
    if tail is None and size <= 2 and picks_bytes(writer.features) and has_room(writer, size):
        return _by_bytes(writer, dtype, pointer, step)
    room = writer.slot(memory_type(_MOVED_AS[size], writer.lanes))
    if tail is None:
        picked = _picked(writer, pointer, step, size)
        writer.line(f"store {_type(writer, size)} {picked}, ptr {room}, align {size}")
    else:
        _collect(writer, dtype, pointer, step, tail, room)
    return load_vector(writer, dtype, room, stride=UNIT, tail=None)


def _by_bytes(writer: FunctionWriter, dtype: str, pointer: str, step: int) -> Operand:
    """All lanes, and where they come from, for what widens them."""
    size = int(dtype[1:])
    places = [lane * step * size for lane in range(writer.lanes)]
    lanes = Collected(load_bytes(writer, pointer, places[-1] + size), places, size)
    return taken(writer, lanes, dtype)


def _picked(writer: FunctionWriter, pointer: str, step: int, size: int) -> str:
    """The bits of the lanes."""
    places = [lane * step for lane in range(writer.lanes)]
    span = places[-1] + 1
    width = _width(writer, span, size)
    kind = memory_type(_MOVED_AS[size], width)
    starts = [*range(0, span - width, width), span - width]
    picked = "poison"
    for number, start in enumerate(starts):
        address = writer.offset(pointer, str(start), size)
        vector = writer.value(f"load {kind}, ptr {address}, align {size}")
        order = [
            _origin(lane, place // width - number, width + place - start)
            for lane, place in enumerate(places)
        ]
        if number < len(starts) - 1:  # the next step takes vectors as wide as those loaded
            order += [-1] * (width - len(places))
        picked = _shuffled(writer, picked, vector, order, kind)
    return picked


def _origin(lane: int, vectors: int, place: int) -> int:
    """Where a lane comes from that lies so many vectors further on: out of what is picked before,
    the vector at hand, or nowhere yet."""
    return lane if vectors < 0 else place if vectors == 0 else -1


def _width(writer: FunctionWriter, span: int, size: int) -> int:
    """How many elements are loaded at a time: as many as there are lanes, or more that fill a
    register. Measured with bytes on AVX-512, 64 of them are no faster than 32."""
    most = 32 if "avx2" in writer.features else 16
    width = writer.lanes
    while 2 * width <= span and 2 * width * size <= most:
        width *= 2
    return width


def _shuffled(writer: FunctionWriter, x: str, y: str, order: list[int], kind: str) -> str:
    mask = ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in order)
    return writer.value(f"shufflevector {kind} {x}, {kind} {y}, <{len(order)} x i32> <{mask}>")


def _collect(
    writer: FunctionWriter, dtype: str, pointer: str, step: int, tail: Tail, room: str
) -> None:
    """Put the lanes of a tail into the room, the last one also where there are none."""
    size, lanes = int(dtype[1:]), writer.lanes
    with writer.with_lanes(1), writer.loop("0", str(lanes)) as lane:
        place = writer.i64("mul", writer.least(lane, tail.last), str(step))
        value = load_scalar(writer, dtype, writer.offset(pointer, place, size))
        store_vector(writer, value, writer.offset(room, lane, size), stride=UNIT, tail=None)


def _type(writer: FunctionWriter, size: int) -> str:
    return memory_type(_MOVED_AS[size], writer.lanes)
