"""Loads and stores of all lanes, by the way an argument moves along the lane axis.

UNIT is one vector access, FIXED one element in all lanes, STRIDED one access per lane. In a `Tail`
only the first `count` lanes exist: vector accesses are masked, and lanes past the end repeat the
last element, so nothing outside an array is touched, and no lane meets a floating point condition
(or trap) that no element meets.

b1 is one byte in memory, true when not 0, written as 0 or 1. A complex value is two neighbours in
memory, two vectors in registers.
"""

from __future__ import annotations

from lazyfuse.backends.cpu.byte_picks import VECTOR, cut
from lazyfuse.backends.cpu.emit_params import width
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.vector import Operand, part_dtype, scalar_type
from lazyfuse.ir.kernel import FIXED, UNIT

_SUFFIXES = {"double": "f64", "float": "f32"}


class Tail:
    """The last vector of a range, of which `count` lanes exist (1 to lanes - 1)."""

    def __init__(self, writer: FunctionWriter, count: str) -> None:
        self.writer = writer
        self.count = count
        self.last = writer.i64("sub", count, "1")
        self._masks: dict[int, str] = {}

    def mask(self, group: int = 1) -> str:
        """An i1 for each of lanes * group elements: `group` elements belong to a lane."""
        if group not in self._masks:
            self._masks[group] = self._write_mask(group)
        return self._masks[group]

    def _write_mask(self, group: int) -> str:
        writer = self.writer
        size = writer.lanes * group
        count = writer.i64("mul", self.count, str(group)) if group > 1 else self.count
        short = writer.value(f"trunc i64 {count} to i32")
        with writer.with_lanes(size):
            limit = writer.splat(short, "u4")
        order = ", ".join(f"i32 {lane}" for lane in range(size))
        return writer.value(f"icmp ult <{size} x i32> <{order}>, {limit}")


def load_vector(
    writer: FunctionWriter, dtype: str, pointer: str, *, stride: str, tail: Tail | None
) -> Operand:
    """All lanes from `pointer` on. `stride` is UNIT, FIXED or the name of a stride in bytes."""
    if stride == FIXED or writer.lanes == 1:
        return writer.splats(load_scalar(writer, dtype, pointer))
    if stride == UNIT:
        return _load_unit(writer, dtype, pointer, tail)
    return _load_strided(writer, dtype, pointer, stride, tail)


def load_scalar(writer: FunctionWriter, dtype: str, pointer: str) -> Operand:
    """One element."""
    part, size = part_dtype(dtype), width(dtype)
    names = []
    for place in range(2 if dtype[0] == "c" else 1):
        address = writer.offset(pointer, str(place), size)
        text = f"load {memory_type(part)}, ptr {address}, align {size}"
        names.append(_from_memory(writer, part, 1, text))
    return Operand(dtype, tuple(names))


def store_vector(
    writer: FunctionWriter, value: Operand, pointer: str, *, stride: str, tail: Tail | None
) -> None:
    """Write all lanes that exist. Along a FIXED axis the last one stays."""
    if stride == FIXED or writer.lanes == 1:
        lane = tail.last if tail else str(writer.lanes - 1)
        parts = [writer.extract(part, lane) for part in parts_of(value)]
        _store_scalar(writer, parts, pointer)
    elif stride == UNIT:
        _store_unit(writer, value, pointer, tail)
    elif tail:
        _scatter(writer, value, pointer, stride, tail)
    else:
        for number, address in enumerate(lane_addresses(writer, pointer, stride, None)):
            store_lane(writer, value, number, address)


def parts_of(value: Operand) -> list[Operand]:
    """The components of a complex value, or the value itself."""
    return [Operand(part_dtype(value.dtype), (name,)) for name in value.names]


def memory_type(part: str, lanes: int = 1) -> str:
    """The LLVM type of a part in memory: as in registers, but for bools, which are bytes."""
    scalar = "i8" if part == "b1" else scalar_type(part)
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def _from_memory(writer: FunctionWriter, part: str, lanes: int, text: str) -> str:
    name = writer.value(text)
    if part != "b1":
        return name
    zero = "0" if lanes == 1 else "zeroinitializer"
    return writer.value(f"icmp ne {memory_type(part, lanes)} {name}, {zero}")


def _to_memory(writer: FunctionWriter, part: Operand) -> str:
    if part.dtype != "b1":
        return part.name
    kinds = writer.type("b1"), memory_type("b1", writer.lanes)
    return writer.value(f"zext {kinds[0]} {part.name} to {kinds[1]}")


def _store_scalar(writer: FunctionWriter, parts: list[Operand], pointer: str) -> None:
    with writer.with_lanes(1):
        for place, part in enumerate(parts):
            size = width(part.dtype)
            address = writer.offset(pointer, str(place), size)
            name = _to_memory(writer, part)
            writer.line(f"store {memory_type(part.dtype)} {name}, ptr {address}, align {size}")


def store_lane(writer: FunctionWriter, value: Operand, lane: int, pointer: str) -> None:
    parts = [writer.extract(part, lane) for part in parts_of(value)]
    _store_scalar(writer, parts, pointer)


def _load_unit(writer: FunctionWriter, dtype: str, pointer: str, tail: Tail | None) -> Operand:
    part, group = part_dtype(dtype), 2 if dtype[0] == "c" else 1
    lanes = writer.lanes * group
    kind = memory_type(part, lanes)
    if tail is None:
        text = f"load {kind}, ptr {pointer}, align {width(dtype)}"
    else:
        rest = _last_element(writer, dtype, pointer, tail)
        text = _masked_load(writer, part, lanes, pointer, tail.mask(group), rest)
    name = _from_memory(writer, part, lanes, text)
    if group == 1:
        return Operand(dtype, (name,))
    with writer.with_lanes(lanes):
        both = Operand(part, (name,))
        halves = [writer.shuffle(both, range(place, lanes, 2)) for place in (0, 1)]
    return Operand(dtype, tuple(half.name for half in halves))


def _last_element(writer: FunctionWriter, dtype: str, pointer: str, tail: Tail) -> str:
    """The last element of a tail in all lanes, as in memory (complex: both parts by turns)."""
    part, lanes = part_dtype(dtype), writer.lanes
    bits = "u2" if part == "f2" else part
    address = writer.offset(pointer, tail.last, int(dtype[1:]))
    if dtype[0] != "c":
        name = writer.value(f"load {memory_type(bits)}, ptr {address}, align {width(dtype)}")
        return writer.splat(name, "u1" if part == "b1" else bits)
    pair = f"<2 x {memory_type(part)}>"
    name = writer.value(f"load {pair}, ptr {address}, align {width(dtype)}")
    order = ", ".join(["i32 0, i32 1"] * lanes)
    return writer.value(
        f"shufflevector {pair} {name}, {pair} poison, <{2 * lanes} x i32> <{order}>"
    )


def _masked_load(
    writer: FunctionWriter, part: str, lanes: int, pointer: str, mask: str, rest: str
) -> str:
    """The elements under the mask, and those of the vector `rest`."""
    kind, scalar = memory_type(part, lanes), memory_type(part)
    if scalar == "half":  # most targets split masked loads of half into lanes, but not of i16
        bits = writer.value(_masked_load(writer, "u2", lanes, pointer, mask, rest))
        return f"bitcast <{lanes} x i16> {bits} to {kind}"
    symbol = f"llvm.masked.load.v{lanes}{_SUFFIXES.get(scalar, scalar)}.p0"
    writer.declarations[symbol] = f"declare {kind} @{symbol}(ptr, i32, <{lanes} x i1>, {kind})"
    place = f"ptr {pointer}, i32 {width(part)}, <{lanes} x i1> {mask}"
    return f"call {kind} @{symbol}({place}, {kind} {rest})"


def store_past_caches(writer: FunctionWriter, value: Operand, pointer: str) -> None:
    """Write all lanes, one element after the other, to the beginning of a line, without reading
    the line first; what fills too little of a line, as any other."""
    kind, name, size = _in_memory(writer, value)
    if size < 16:
        writer.line(f"store {kind} {name}, ptr {pointer}, align {size}")
        return
    writer.declarations["!0"] = "!0 = !{i32 1}"
    align = min(size, 64)
    writer.line(f"store {kind} {name}, ptr {pointer}, align {align}, !nontemporal !0")


def _in_memory(writer: FunctionWriter, value: Operand) -> tuple[str, str, int]:
    """Type, name and bytes of a value with its elements side by side."""
    parts = parts_of(value)
    part, lanes = parts[0].dtype, writer.lanes * len(parts)
    name = _interleave(writer, parts) if len(parts) == 2 else _to_memory(writer, parts[0])
    return memory_type(part, lanes), name, lanes * width(part)


def _store_unit(writer: FunctionWriter, value: Operand, pointer: str, tail: Tail | None) -> None:
    parts = parts_of(value)
    part, lanes = parts[0].dtype, writer.lanes * len(parts)
    kind, name, _ = _in_memory(writer, value)
    if tail is None:
        writer.line(f"store {kind} {name}, ptr {pointer}, align {width(part)}")
        return
    mask = tail.mask(len(parts))
    if part == "f2":
        name, part = writer.value(f"bitcast {kind} {name} to <{lanes} x i16>"), "u2"
        kind = memory_type(part, lanes)
    _masked_store(writer, part, lanes, pointer, mask, name)


def _masked_store(
    writer: FunctionWriter, part: str, lanes: int, pointer: str, mask: str, name: str
) -> None:
    """Write the elements under the mask."""
    kind, scalar = memory_type(part, lanes), memory_type(part)
    symbol = f"llvm.masked.store.v{lanes}{_SUFFIXES.get(scalar, scalar)}.p0"
    writer.declarations[symbol] = f"declare void @{symbol}({kind}, ptr, i32, <{lanes} x i1>)"
    operands = f"{kind} {name}, ptr {pointer}, i32 {width(part)}, <{lanes} x i1> {mask}"
    writer.line(f"call void @{symbol}({operands})")


def load_bytes(writer: FunctionWriter, pointer: str, count: int) -> list[str]:
    """Vectors of bytes of memory: all of so many, and nothing behind them."""
    vectors = []
    for start in range(0, count, VECTOR):
        address = writer.offset(pointer, str(start))
        if count - start >= VECTOR:
            text = f"load {memory_type('u1', VECTOR)}, ptr {address}, align 1"
        else:
            mask = _first_bytes(count - start)
            text = _masked_load(writer, "u1", VECTOR, address, mask, "zeroinitializer")
        vectors.append(writer.value(text))
    return vectors


def store_bytes(writer: FunctionWriter, vector: str, pointer: str, count: int) -> None:
    """Write the first bytes of a vector of bytes."""
    if count & (count - 1) == 0:
        name = vector if count == VECTOR else cut(writer, vector, count)
        writer.line(f"store {memory_type('u1', count)} {name}, ptr {pointer}, align 1")
    else:
        _masked_store(writer, "u1", VECTOR, pointer, _first_bytes(count), vector)


def _first_bytes(count: int) -> str:
    """The mask of the first bytes of a vector of them."""
    return f"<{', '.join(f'i1 {int(place < count)}' for place in range(VECTOR))}>"


def _interleave(writer: FunctionWriter, parts: list[Operand]) -> str:
    lanes, kind = writer.lanes, writer.type(parts[0].dtype)
    order = ", ".join(f"i32 {lane}, i32 {lane + lanes}" for lane in range(lanes))
    left, right = (part.name for part in parts)
    mask = f"<{2 * lanes} x i32> <{order}>"
    return writer.value(f"shufflevector {kind} {left}, {kind} {right}, {mask}")


def lane_addresses(
    writer: FunctionWriter, pointer: str, stride: str, tail: Tail | None
) -> list[str]:
    """The address of each lane; past the end of a tail, of its last lane."""
    places = []
    for lane in range(writer.lanes):
        number = str(lane) if tail is None else writer.least(str(lane), tail.last)
        distance = writer.i64("mul", stride, number) if number != "0" else "0"
        places.append(writer.offset(pointer, distance))
    return places


def _load_strided(
    writer: FunctionWriter, dtype: str, pointer: str, stride: str, tail: Tail | None
) -> Operand:
    return load_lanes(writer, dtype, lane_addresses(writer, pointer, stride, tail))


def load_lanes(writer: FunctionWriter, dtype: str, addresses: list[str]) -> Operand:
    """One element from each address."""
    part, size, lanes = part_dtype(dtype), width(dtype), writer.lanes
    kind, scalar = memory_type(part, lanes), memory_type(part)
    names = []
    for place in range(2 if dtype[0] == "c" else 1):
        vector = "poison"
        for lane, address in enumerate(addresses):
            element = writer.offset(address, str(place), size)
            item = writer.value(f"load {scalar}, ptr {element}, align {size}")
            text = f"insertelement {kind} {vector}, {scalar} {item}, i64 {lane}"
            vector = writer.value(text)
        names.append(_truth(writer, vector) if part == "b1" else vector)
    return Operand(dtype, tuple(names))


def _truth(writer: FunctionWriter, name: str) -> str:
    return writer.value(f"icmp ne {memory_type('b1', writer.lanes)} {name}, zeroinitializer")


def _scatter(
    writer: FunctionWriter, value: Operand, pointer: str, stride: str, tail: Tail
) -> None:
    for lane, address in enumerate(lane_addresses(writer, pointer, stride, tail)):
        with writer.when(writer.value(f"icmp slt i64 {lane}, {tail.count}")):
            store_lane(writer, value, lane, address)
