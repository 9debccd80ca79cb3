"""Loads and stores that an i8 value moves: elements that lie anywhere in an argument.

Where the value is the same in all lanes (the rows that `a[rows]` picks), the address moves and the
lanes are loaded as ever. Else each lane has an address of its own, and stores happen lane by lane:
when two lanes write one element, the later one stays. Lanes past the end of a tail read the last
element again, so that they meet no floating point condition of their own.
"""

from __future__ import annotations

from lazyfuse.backends.cpu.emit_memory import (
    Tail,
    lane_addresses,
    load_lanes,
    load_vector,
    store_lane,
    store_vector,
)
from lazyfuse.backends.cpu.emit_params import width
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.vector import Operand
from lazyfuse.ir.kernel import FIXED, UNIT


def load_indexed(
    writer: FunctionWriter,
    dtype: str,
    pointer: str,
    index: Operand,
    *,
    stride: str,
    tail: Tail | None,
    is_uniform: bool,
) -> Operand:
    """The elements `index` further on than `pointer` and the lanes; `stride` as in
    `load_vector`."""
    if is_uniform or writer.lanes == 1:
        moved = _moved(writer, dtype, pointer, index, 0)
        return load_vector(writer, dtype, moved, stride=stride, tail=tail)
    addresses = _addresses(writer, dtype, pointer, index, stride, tail)
    return load_lanes(writer, dtype, addresses)


def store_indexed(
    writer: FunctionWriter,
    value: Operand,
    pointer: str,
    index: Operand,
    *,
    stride: str,
    tail: Tail | None,
    is_uniform: bool,
) -> None:
    """Write where `load_indexed` reads, lane by lane."""
    if is_uniform or writer.lanes == 1:
        moved = _moved(writer, value.dtype, pointer, index, 0)
        store_vector(writer, value, moved, stride=stride, tail=tail)
        return
    addresses = _addresses(writer, value.dtype, pointer, index, stride, tail)
    for lane, address in enumerate(addresses):
        if tail is None:
            store_lane(writer, value, lane, address)
            continue
        with writer.when(writer.value(f"icmp slt i64 {lane}, {tail.count}")):
            store_lane(writer, value, lane, address)


def _addresses(
    writer: FunctionWriter,
    dtype: str,
    pointer: str,
    index: Operand,
    stride: str,
    tail: Tail | None,
) -> list[str]:
    if tail is not None:
        last = writer.splats(writer.extract(index, tail.last))
        index = writer.select(Operand("b1", (tail.mask(),)), index, last)
    starts = [pointer] * writer.lanes
    if stride != FIXED:
        step = str(_size(dtype)) if stride == UNIT else stride
        starts = lane_addresses(writer, pointer, step, tail)
    return [_moved(writer, dtype, start, index, lane) for lane, start in enumerate(starts)]


def _moved(writer: FunctionWriter, dtype: str, pointer: str, index: Operand, lane: int) -> str:
    number = writer.extract(index, lane).name
    return writer.offset(pointer, number, _size(dtype))


def _size(dtype: str) -> int:
    return width(dtype) * (2 if dtype[0] == "c" else 1)
