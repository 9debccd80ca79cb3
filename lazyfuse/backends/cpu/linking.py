"""Object code -> a piece of memory that runs wherever it lies, once few words have been written.

The sections are laid out one after the other: code and constants, then *stubs*, then on pages of
their own what is written. Relocations are computed with the places of all that. A stub is for a
function of the process, which may be too far away for a call: it jumps to the address that it
holds. That address is also what code reads that asks for one.

    jmp *2(%rip)            6 bytes
    ud2                     2 bytes
    address                 8 bytes

Source: the supplement of the System V ABI for AMD64, version 1.0 (psABI), sections 4.4.1
"Relocation Types" (S, A, P, L, G and GOT as there) and 5.2 "Dynamic Linking" (tables of
addresses and jumps).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lazyfuse.backends.cpu.loader import Piece, Unknown
from lazyfuse.backends.cpu.object_file import UNDEFINED, ObjectFile, read
from lazyfuse.backends.cpu.pages import whole

#: What a relocation writes: S + A; S + A - P; L + A - P; and G + GOT + A - P, the place of an
#: address. L is the stub of a function that is not here.
_64, _PC32, _PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX = 1, 2, 4, 9, 41, 42
_INDIRECT = (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX)
_RELATIVE = (_PC32, _PLT32, *_INDIRECT)

_JUMP = b"\xff\x25\2\0\0\0\x0f\x0b"
_STUB, _HELD = 16, 8
#: The place of a symbol that lies nowhere here.
_NOWHERE = -1


def linked(content: bytes) -> Piece:
    """The piece of object code. Raises: Unknown for what only LLVM can link."""
    found = read(content)
    layout = _Layout(found)
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

    def __init__(self, found: ObjectFile) -> None:
        self._found = found
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
            is_wanted = _among(rows["kind"], _INDIRECT) | outside[rows["symbol"]]
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
            memory[start : start + len(_JUMP)] = _JUMP
            self.words.append((start + _HELD, *self._address(symbol)))
        for number, rows in self._found.relocations:
            start, size = self._starts[number], self._found.sections[number].size
            part = np.frombuffer(memory, np.uint8)[start : start + size]
            is_word = rows["kind"] == _64
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
        """Write distances into a section whose bytes are `part`, and begin at `begin`."""
        kinds, symbols, at = rows["kind"], rows["symbol"], rows["offset"].astype(np.int64)
        if not _among(kinds, _RELATIVE).all():
            raise Unknown(f"relocations of types {sorted({*kinds.tolist()})}")
        stubs = self._stubs[symbols]
        is_call = (kinds == _PLT32) & (stubs != _NOWHERE)
        targets = np.where(is_call, stubs, self.places[symbols])
        targets = np.where(_among(kinds, _INDIRECT), stubs + _HELD, targets)
        if (targets == _NOWHERE).any():
            raise Unknown("a relocation of what is not loaded")
        values = targets + rows["addend"] - begin - at
        written = values.astype("<i4")
        if (written != values).any():
            raise Unknown("an address that is too far away")
        _check_places(rows, 4, len(part))
        part[at[:, None] + np.arange(4)] = written.view(np.uint8).reshape(-1, 4)


def _check_places(rows: np.ndarray, width: int, size: int) -> None:
    at = rows["offset"].astype(np.int64)
    if ((at < 0) | (at + width > size)).any():
        raise Unknown("a relocation outside of its section")


def _among(kinds: np.ndarray, some: tuple[int, ...]) -> np.ndarray:
    found: np.ndarray = (kinds[:, None] == some).any(axis=1)
    return found
