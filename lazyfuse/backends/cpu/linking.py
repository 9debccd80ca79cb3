"""Object code -> a piece of memory that runs wherever it lies, once few words have been written.

The sections are laid out one after the other: code and constants, then *stubs*, then on pages of
their own what is written. Relocations are computed with the places of all that. A stub is for a
function of the process, which may be too far away for a call: it jumps to the address that it
holds. That address is also what code reads that asks for one.

    code that jumps there   8 bytes
    address                 8 bytes

Sources: those of `relocations.py`; section 5.2 "Dynamic Linking" of the supplement for AMD64
(tables of addresses and jumps).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lazyfuse.backends.cpu.loader import Piece, Unknown
from lazyfuse.backends.cpu.object_file import UNDEFINED, ObjectFile, read
from lazyfuse.backends.cpu.pages import whole
from lazyfuse.backends.cpu.relocations import Processor, among, own_processor

_STUB, _HELD = 16, 8
#: The place of a symbol that lies nowhere here.
_NOWHERE = -1


def linked(content: bytes, processor: Processor | None = None) -> Piece:
    """The piece of object code, for this process's processor or another one.
    Raises: Unknown for what only LLVM can link."""
    processor = processor or own_processor()
    found = read(content, processor.machine)
    layout = _Layout(found, processor)
    memory = layout.memory()
    places = {
        name: int(layout.places[number])
        for number, name in found.names.items()
        if layout.places[number] != _NOWHERE
    }
    words = tuple(layout.words)
    end = max([len(memory.rstrip(b"\0")), *(place + 8 for place, *_ in words)])
    return Piece(layout.size, layout.code, bytes(memory[:end]), words, places, content)


class _Layout:
    """Where everything of an object file lies, in bytes from the begin of its memory."""

    def __init__(self, found: ObjectFile, processor: Processor) -> None:
        self._found = found
        self._processor = processor
        self._starts: dict[int, int] = {}
        self._stubs_at = self._place(0, is_written=False)
        self._stubs_at += -self._stubs_at % _STUB
        wanted = self._needs_stub()
        self.code = whole(self._stubs_at + _STUB * len(wanted))
        self.size = self._place(self.code, is_written=True)
        #: Of each symbol, and of its stub.
        self.places = self._symbols()
        self._stubs = np.full(len(self.places), _NOWHERE)
        self._stubs[wanted] = self._stubs_at + _STUB * np.arange(len(wanted))
        self.words: list[tuple[int, str, int]] = []

    def _place(self, end: int, *, is_written: bool) -> int:
        """Put sections one after the other; where the last one ends."""
        for number, section in self._found.sections.items():
            if section.is_written == is_written:
                self._starts[number] = end + -end % section.alignment
                end = self._starts[number] + section.size
        return end

    def _needs_stub(self) -> list[int]:
        """The symbols that are called elsewhere, or whose address is read."""
        wanted: set[int] = set()
        outside = self._found.symbols["section"] == UNDEFINED
        for _, rows in self._found.relocations:
            if len(rows) and rows["symbol"].max() >= len(outside):
                raise Unknown("a relocation of no symbol")
            is_wanted = among(rows["kind"], self._processor.indirect) | outside[rows["symbol"]]
            wanted.update(rows["symbol"][is_wanted].tolist())
        return sorted(wanted)

    def _symbols(self) -> np.ndarray:
        """S of each symbol, from the begin of the memory."""
        symbols = self._found.symbols
        found = np.full(len(symbols), _NOWHERE)
        for number, start in self._starts.items():
            mine = symbols["section"] == number
            found[mine] = start + symbols["value"][mine].astype(np.int64)
        return found

    def memory(self) -> bytearray:
        """All of it; `words` are those that are addresses."""
        memory = bytearray(self.size)
        for number, section in self._found.sections.items():
            start = self._starts[number]
            memory[start : start + len(section.content)] = section.content
        for symbol in np.flatnonzero(self._stubs != _NOWHERE).tolist():
            start = int(self._stubs[symbol])
            memory[start : start + _HELD] = self._processor.stub
            self.words.append((start + _HELD, *self._address(symbol)))
        for number, rows in self._found.relocations:
            start, size = self._starts[number], self._found.sections[number].size
            part = np.frombuffer(memory, np.uint8)[start : start + size]
            is_word = rows["kind"] == self._processor.absolute
            self.words += self._absolute(rows[is_word], start, size)
            self._relate(part, rows[~is_word], start)
        return memory

    def _address(self, symbol: int) -> tuple[str, int]:
        """What the address of a symbol is, as in `Piece.words`."""
        if self.places[symbol] != _NOWHERE:
            return "", int(self.places[symbol])
        name = self._found.names.get(symbol, "")
        if self._found.symbols["section"][symbol] != UNDEFINED or not name:
            raise Unknown("a relocation of what is not loaded")
        return name, 0

    def _absolute(self, rows: np.ndarray, start: int, size: int) -> Iterator[tuple[int, str, int]]:
        """The words of a section, which begins at `start`, that relocations make addresses."""
        _check_places(rows, 8, size)
        for row in rows:
            name, more = self._address(int(row["symbol"]))
            yield start + int(row["offset"]), name, more + int(row["addend"])

    def _relate(self, part: np.ndarray, rows: np.ndarray, begin: int) -> None:
        """Write into a section whose bytes are `part`, and begin at `begin`."""
        _check_places(rows, 4, len(part))
        kinds, symbols, at = rows["kind"], rows["symbol"], rows["offset"].astype(np.int64)
        stubs = self._stubs[symbols]
        is_call = among(kinds, self._processor.calls) & (stubs != _NOWHERE)
        targets = np.where(is_call, stubs, self.places[symbols])
        targets = np.where(among(kinds, self._processor.indirect), stubs + _HELD, targets)
        if (targets == _NOWHERE).any():
            raise Unknown("a relocation of what is not loaded")
        self._processor.write(part, kinds, at, targets + rows["addend"], begin + at)


def _check_places(rows: np.ndarray, width: int, size: int) -> None:
    at = rows["offset"].astype(np.int64)
    if ((at < 0) | (at + width > size)).any():
        raise Unknown("a relocation outside of its section")
