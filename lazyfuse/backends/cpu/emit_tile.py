"""Tiles: short rows that follow each other in memory, turned so that each lane has a row.

    memory   a0 a1 a2 | b0 b1 b2 | c0 c1 c2 | d0 d1 d2        4 lanes, rows of 3
    tile     a0 b0 c0 d0,  a1 b1 c1 d1,  a2 b2 c2 d2

Rows of few elements are whole vectors of memory, of which each vector of the tile collects its
elements. Longer ones are turned in squares: rows are loaded, and log2 steps exchange halves of
pairs, quarters, and so on (Eklundh, A fast computer method for matrix transposing, 1972).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyfuse.backends.cpu.byte_picks import (
    VECTOR,
    Collected,
    as_bytes,
    has_room,
    pick,
    picks_bytes,
    taken,
)
from lazyfuse.backends.cpu.emit_memory import (
    load_bytes,
    load_vector,
    memory_type,
    store_bytes,
    store_vector,
)
from lazyfuse.backends.cpu.emit_params import COLLECTED
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.vector import Operand
from lazyfuse.ir.kernel import UNIT

#: What elements of so many bytes are moved as, whatever they mean.
_MOVED_AS = {1: "u1", 2: "u2", 4: "f4", 8: "f8"}


class Tile:
    """A vector of lanes for each of `row` elements, on the stack. `dtype` is not complex."""

    def __init__(self, writer: FunctionWriter, dtype: str, row: int) -> None:
        self.writer, self.dtype, self.row = writer, dtype, row
        self.lanes = writer.lanes
        self.size = int(dtype[1:])
        self.bits = _MOVED_AS[self.size]
        # as one array: LLVM keeps it in registers where every index is a constant
        self.slot = writer.slot(f"[{row} x {memory_type(self.bits, self.lanes)}]")
        is_short = row <= COLLECTED and self.size <= 2
        self.by_bytes = is_short and picks_bytes(writer.features) and has_room(writer, self.size)
        self.collected: dict[str, Collected] = {}
        self.given: dict[str, Operand] = {}  # by index, where all are numbers

    def load(self, index: str) -> Operand:
        """Element `index` of every row."""
        if index in self.collected:
            return taken(self.writer, self.collected[index], self.dtype)
        return load_vector(self.writer, self.dtype, self._at(index), stride=UNIT, tail=None)

    def store(self, index: str, value: Operand) -> None:
        store_vector(self.writer, value, self._at(index), stride=UNIT, tail=None)
        self.given[index] = value

    def read(self, pointer: str) -> None:
        """Take in `lanes` rows of memory."""
        if self.by_bytes:
            self._read_bytes(pointer)
            return
        if self.row <= COLLECTED:
            vectors = self._collect(self._vectors(pointer), self._column)
            for index, vector in enumerate(vectors):
                self._keep(index, vector)
            return
        for first, width in self._squares():
            rows = [self._load_part(pointer, row, first, width) for row in range(self.lanes)]
            columns = self._turn(self._gathered(rows, _power(width)))
            for index in range(width):
                self._keep(first + index, columns[index])

    def write(self, pointer: str) -> None:
        """Write `lanes` rows to memory."""
        if (
            self.by_bytes
            and self.dtype != "b1"
            and all(str(index) in self.given for index in range(self.row))
        ):
            self._write_bytes(pointer)
            return
        kept = [self._fetch(index) for index in range(self.row)]
        if self.row <= COLLECTED:
            for index, vector in enumerate(self._collect(kept, self._run)):
                place = self._address(pointer, index * self.lanes)
                self.writer.line(f"store {self._type()} {vector}, ptr {place}, align {self.size}")
            return
        for first, width in self._squares():
            side = _power(width)
            columns = [*kept[first : first + width], *["poison"] * (side - width)]
            rows = self._turn(columns)
            for row in range(self.lanes):
                self._store_part(pointer, row, first, width, rows[row % side])

    def _read_bytes(self, pointer: str) -> None:
        size, row = self.size, self.row
        vectors = load_bytes(self.writer, pointer, row * self.lanes * size)
        for index in range(row):
            places = [(lane * row + index) * size for lane in range(self.lanes)]
            self.collected[str(index)] = Collected(vectors, places, size)
            value = taken(self.writer, self.collected[str(index)], self.bits)
            self._keep(index, value.name)

    def _write_bytes(self, pointer: str) -> None:
        """From the values that have not been cut yet, if they fit."""
        writer = self.writer
        given = [self.given[str(index)] for index in range(self.row)]
        whole = [writer.uncut.get(value.name, value) for value in given]
        if all(has_room(writer, int(value.dtype[1:])) for value in whole):
            given = whole
        order = [
            index * VECTOR + lane * int(value.dtype[1:]) + byte
            for lane in range(self.lanes)
            for index, value in enumerate(given)
            for byte in range(self.size)
        ]
        vectors = [as_bytes(writer, value) for value in given]
        for start in range(0, len(order), VECTOR):
            part = order[start : start + VECTOR]
            address = writer.offset(pointer, str(start))
            store_bytes(writer, pick(writer, vectors, part), address, len(part))

    def _squares(self) -> list[tuple[int, int]]:
        """The parts of a row that are turned together: first element and width."""
        return [
            (first, min(self.lanes, self.row - first)) for first in range(0, self.row, self.lanes)
        ]

    def _collect(
        self, sources: Sequence[str], place: Callable[[int, int], tuple[int, int]]
    ) -> list[str]:
        """As many vectors as sources: lane k of vector n is at `place(n, k)`, source and lane."""
        found = []
        for number in range(self.row):
            places = [place(number, lane) for lane in range(self.lanes)]
            vector = sources[0]
            order = [lane if source == 0 else -1 for source, lane in places]
            for source in range(1, self.row):
                order = [
                    self.lanes + lane if origin == source else kept
                    for (origin, lane), kept in zip(places, order, strict=True)
                ]
                vector = self._shuffle(vector, sources[source], order)
                order = [lane if kept >= 0 else -1 for lane, kept in enumerate(order)]
            found.append(vector)
        return found

    def _column(self, element: int, lane: int) -> tuple[int, int]:
        """Where element `element` of row `lane` is among the vectors of memory."""
        return divmod(lane * self.row + element, self.lanes)

    def _run(self, number: int, lane: int) -> tuple[int, int]:
        """Where lane `lane` of vector `number` of memory is among the columns."""
        row, element = divmod(number * self.lanes + lane, self.row)
        return element, row

    def _gathered(self, rows: Sequence[str], side: int) -> list[str]:
        """Parts of `side` rows each, in whole vectors: vector k has rows k, k + side ..."""
        vectors = []
        for first in range(side):
            parts, width = list(rows[first::side]), side
            while len(parts) > 1:
                order = range(2 * width)
                pairs = zip(parts[::2], parts[1::2], strict=True)
                parts = [self._shuffle(*pair, order, lanes=width) for pair in pairs]
                width *= 2
            vectors += parts
        return vectors

    def _turn(self, vectors: list[str]) -> list[str]:
        """Transpose the squares that lie side by side in as many vectors as they have rows."""
        vectors, step = list(vectors), 1
        while step < len(vectors):
            for low in range(len(vectors)):
                if low & step:
                    continue
                pair = vectors[low], vectors[low + step]
                first = [k if not k & step else self.lanes + k - step for k in range(self.lanes)]
                second = [k + step if not k & step else self.lanes + k for k in range(self.lanes)]
                vectors[low] = self._shuffle(*pair, first)
                vectors[low + step] = self._shuffle(*pair, second)
            vectors = [self._fenced(vector) for vector in vectors]
            step *= 2
        return vectors

    def _fenced(self, name: str) -> str:
        """The same value, which costs nothing. LLVM would look through all the steps for one
        shuffle that does them: half of the time that a kernel takes to compile."""
        if self.bits not in ("f4", "f8"):
            return name
        value = Operand(self.bits, (name,))
        return self.writer.intrinsic("llvm.arithmetic.fence", self.bits, [value]).name

    def _shuffle(self, x: str, y: str, order: Sequence[int], *, lanes: int = 0) -> str:
        kind = self._type(lanes)
        mask = ", ".join(f"i32 {k}" if k >= 0 else "i32 poison" for k in order)
        text = f"shufflevector {kind} {x}, {kind} {y}, <{len(order)} x i32> <{mask}>"
        return self.writer.value(text)

    def _vectors(self, pointer: str) -> list[str]:
        return [
            self._load_bits(self._address(pointer, index * self.lanes), self.lanes)
            for index in range(self.row)
        ]

    def _load_part(self, pointer: str, row: int, first: int, width: int) -> str:
        """Elements [first, first + width) of a row, in a vector of a power of two."""
        side = _power(width)
        name = self._load_bits(self._address(pointer, row * self.row + first), width)
        if side == width:
            return name
        order = [k if k < width else -1 for k in range(side)]
        return self._shuffle(name, "poison", order, lanes=width)

    def _store_part(self, pointer: str, row: int, first: int, width: int, name: str) -> None:
        """Write them: they lie in the square of the row."""
        start = row // _power(width) * _power(width)
        part = self._shuffle(name, "poison", range(start, start + width))
        place = self._address(pointer, row * self.row + first)
        self.writer.line(f"store {self._type(width)} {part}, ptr {place}, align {self.size}")

    def _load_bits(self, place: str, lanes: int) -> str:
        return self.writer.value(f"load {self._type(lanes)}, ptr {place}, align {self.size}")

    def _fetch(self, index: int) -> str:
        return self._load_bits(self._at(str(index)), self.lanes)

    def _keep(self, index: int, name: str) -> None:
        place = self._at(str(index))
        self.writer.line(f"store {self._type()} {name}, ptr {place}, align {self.size}")

    def _type(self, lanes: int = 0) -> str:
        lanes = lanes or self.lanes
        return f"<{lanes} x {memory_type(self.bits)}>"

    def _at(self, index: str) -> str:
        return self.writer.offset(self.slot, index, self.lanes * self.size)

    def _address(self, pointer: str, element: int) -> str:
        return self.writer.offset(pointer, str(element), self.size)


def _power(number: int) -> int:
    """The next power of two."""
    return 1 << (number - 1).bit_length()
