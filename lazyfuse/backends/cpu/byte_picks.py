"""Bytes of some vectors, in another order, by an instruction for each vector (vpermb of AVX-512
VBMI), and lanes of integers that are read or written so.

    memory   r0 g0 b0 a0 | r1 g1 b1 a1 | ...
    picked   b0 b1 ...      in bytes, or b0 0 b1 0 ... : what is widened next costs nothing

LLVM takes one instruction for two vectors (vpermt2b), which keeps the only unit that moves bytes
as busy as four of these do. So the order is hidden from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from lazyfuse.ops.body import Instr

if TYPE_CHECKING:
    from lazyfuse.backends.cpu.vector import Operand, VectorWriter

#: Bytes of a vector; a byte of a result that is 0.
VECTOR, ZERO = 64, -1
_KIND = f"<{VECTOR} x i8>"
_PERMUTE = "llvm.x86.avx512.permvar.qi.512"
_FENCE = "llvm.arithmetic.fence.v8f64"


class Collected(NamedTuple):
    """Lanes of `size` bytes of which each begins at byte `places[lane]` of the vectors, counted
    through."""

    vectors: Sequence[str]
    places: Sequence[int]
    size: int


def picks_bytes(features: frozenset[str]) -> bool:
    """Whether the processor has the instruction."""
    return "avx512vbmi" in features


def has_room(writer: VectorWriter, size: int) -> bool:
    """Whether lanes of so many bytes fit a vector."""
    return writer.lanes > 1 and writer.lanes * size <= VECTOR


def taken(writer: VectorWriter, lanes: Collected, dtype: str) -> Operand:
    """The lanes; `writer` knows where they come from, for what widens them."""
    side_by_side = pick(writer, lanes.vectors, _order(lanes, lanes.size))
    if dtype == "b1":
        return writer.write(Instr("cast", dtype), [_as_lanes(writer, side_by_side, "u1")])
    found = _as_lanes(writer, side_by_side, dtype)
    if dtype[0] == "u":
        writer.collected[found.name] = lanes
    return found


def widened(writer: VectorWriter, lanes: Collected, dtype: str) -> Operand:
    """The lanes as integers of a wider dtype, which have room."""
    size = int(dtype[1:])
    found = pick(writer, lanes.vectors, _order(lanes, size))
    return _as_lanes(writer, found, dtype)


def _order(lanes: Collected, size: int) -> list[int]:
    zeros = [ZERO] * (size - lanes.size)
    return [byte for place in lanes.places for byte in (*range(place, place + lanes.size), *zeros)]


def pick(writer: VectorWriter, vectors: Sequence[str], order: Sequence[int]) -> str:
    """A vector whose byte n is byte `order[n]` of all vectors, counted through, or 0."""
    order = [*order, *[ZERO] * (VECTOR - len(order))]
    found = "zeroinitializer"
    for number, vector in enumerate(vectors):
        is_here = [place // VECTOR == number for place in order]  # ZERO is nowhere
        if any(is_here):
            moved = _permuted(writer, vector, [place % VECTOR for place in order], is_here)
            mask = ", ".join(f"i1 {int(here)}" for here in is_here)
            text = f"select <{VECTOR} x i1> <{mask}>, {_KIND} {moved}, {_KIND} {found}"
            found = writer.assign(text, "u1").name
    return found


def _permuted(
    writer: VectorWriter, vector: str, places: Sequence[int], needed: Sequence[bool]
) -> str:
    """The bytes at the places. Behind the fence, which costs nothing, LLVM does not know them."""
    if all(place == n for n, place in enumerate(places) if needed[n]):
        return vector
    wide = f"<{VECTOR // 8} x double>"
    writer.declarations[_FENCE] = f"declare {wide} @{_FENCE}({wide})"
    writer.declarations[_PERMUTE] = f"declare {_KIND} @{_PERMUTE}({_KIND}, {_KIND})"
    numbers = ", ".join(f"i8 {place}" for place in places)
    name = writer.assign(f"bitcast {_KIND} <{numbers}> to {wide}", "f8").name
    name = writer.assign(f"call {wide} @{_FENCE}({wide} {name})", "f8").name
    name = writer.assign(f"bitcast {wide} {name} to {_KIND}", "u1").name
    return writer.assign(f"call {_KIND} @{_PERMUTE}({_KIND} {vector}, {_KIND} {name})", "u1").name


def _as_lanes(writer: VectorWriter, vector: str, dtype: str) -> Operand:
    """The first bytes of a vector as lanes."""
    return writer.assign(f"bitcast {_first(writer, vector, dtype)} to {writer.type(dtype)}", dtype)


def _first(writer: VectorWriter, vector: str, dtype: str) -> str:
    count = writer.lanes * int(dtype[1:])
    if count == VECTOR:
        return f"{_KIND} {vector}"
    return f"<{count} x i8> {cut(writer, vector, count)}"


def cut(writer: VectorWriter, vector: str, count: int) -> str:
    """The first bytes of a vector."""
    order = ", ".join(f"i32 {place}" for place in range(count))
    text = f"shufflevector {_KIND} {vector}, {_KIND} poison, <{count} x i32> <{order}>"
    return writer.assign(text, "u1").name


def as_bytes(writer: VectorWriter, lanes: Operand) -> str:
    """A vector whose first bytes are those of lanes."""
    count = writer.lanes * int(lanes.dtype[1:])
    kind = f"<{count} x i8>"
    name = writer.assign(f"bitcast {writer.type(lanes.dtype)} {lanes.name} to {kind}", "u1").name
    if count == VECTOR:
        return name
    order = ", ".join(f"i32 {n if n < count else 'poison'}" for n in range(VECTOR))
    text = f"shufflevector {kind} {name}, {kind} poison, <{VECTOR} x i32> <{order}>"
    return writer.assign(text, "u1").name
