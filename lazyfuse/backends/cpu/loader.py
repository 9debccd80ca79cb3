"""Object code -> code that runs, without LLVM: starting LLVM takes a hundred times as long.

The sections are laid out in one piece of memory: code and constants, then *stubs*, then on pages
of their own what is written. Relocations are computed with the addresses of all that. A stub
stands for a function of the process, which may be too far away for a call: it jumps to the address
that it holds. That address is also what code reads that asks for one.

    jmp *2(%rip)            6 bytes
    ud2                     2 bytes
    address                 8 bytes

Source: the supplement of the System V ABI for AMD64, version 1.0 (psABI), sections 4.4.1
"Relocation Types" (S, A, P, L, G and GOT as there) and 5.2 "Dynamic Linking" (tables of
addresses and jumps).
"""

from __future__ import annotations

import ctypes
import struct
import sys
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from lazyfuse.backends.cpu.object_file import UNDEFINED, ObjectFile, Unknown, read
from lazyfuse.backends.cpu.pages import Pages, whole

#: What a relocation writes: S + A; S + A - P; L + A - P; and G + GOT + A - P, the address of an
#: address. L is the stub of a function that is not here.
_64, _PC32, _PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX = 1, 2, 4, 9, 41, 42
_INDIRECT = (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX)
_RELATIVE = (_PC32, _PLT32, *_INDIRECT)

_JUMP = b"\xff\x25\2\0\0\0\x0f\x0b"
_STUB, _HELD = 16, 8


class Image:
    """Loaded code: addresses of its global symbols by name. Unloaded when collected."""

    def __init__(self, content: bytes) -> None:
        """Raises: Unknown for what only LLVM can link, OSError where the system refuses."""
        if not sys.platform.startswith("linux"):
            raise Unknown("not Linux")
        found = read(content)
        layout = _Layout(found)
        self._pages = Pages(layout.size)
        base = self._pages.address
        memory, addresses = layout.image(base)
        self._pages.write(memory)
        self._pages.make_code(layout.code)
        self._addresses = {
            name: int(addresses[number])
            for number, name in found.names.items()
            if found.symbols["section"][number] in found.sections
        }

    def __getitem__(self, name: str) -> int:
        """The address of a symbol. Raises: KeyError."""
        return self._addresses[name]


class _Layout:
    """Where everything of an object file lies, in bytes from the begin of its memory."""

    def __init__(self, found: ObjectFile) -> None:
        self._found = found
        self._starts: dict[int, int] = {}
        self.stubs = self._place(0, is_written=False)
        self.stubs += -self.stubs % _STUB
        self.wanted = self._needs_stub()
        self.code = whole(self.stubs + _STUB * len(self.wanted))
        self.size = self._place(self.code, is_written=True)

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

    def image(self, base: int) -> tuple[bytearray, np.ndarray]:
        """The content of the memory, if it begins at `base`, and the addresses of all symbols."""
        memory = bytearray(self.size)
        for number, section in self._found.sections.items():
            start = self._starts[number]
            memory[start : start + len(section.content)] = section.content
        addresses = self._addresses(base)
        stubs = np.zeros(len(addresses), np.int64)
        for place, symbol in enumerate(self.wanted):
            start = self.stubs + place * _STUB
            stubs[symbol] = base + start
            struct.pack_into("<8sq", memory, start, _JUMP, int(addresses[symbol]))
        for number, rows in self._found.relocations:
            start, size = self._starts[number], self._found.sections[number].size
            part = np.frombuffer(memory, np.uint8)[start : start + size]
            _relocate(part, rows, base + start, addresses, stubs)
        return memory, addresses

    def _addresses(self, base: int) -> np.ndarray:
        """S of each symbol; 0 for those that lie nowhere or that nothing asks for."""
        symbols = self._found.symbols
        found = np.zeros(len(symbols), np.int64)
        for number, start in self._starts.items():
            mine = symbols["section"] == number
            found[mine] = base + start + symbols["value"][mine].astype(np.int64)
        for number in self.wanted:
            if symbols["section"][number] == UNDEFINED:
                found[number] = address_of(self._found.names.get(number, ""))
        return found


def _relocate(
    part: np.ndarray, rows: np.ndarray, begin: int, addresses: np.ndarray, stubs: np.ndarray
) -> None:
    """Write what the relocations of a section say whose bytes are `part`, and will be at
    `begin`; addresses and stubs are those of all symbols."""
    kinds, symbols, places = rows["kind"], rows["symbol"], rows["offset"].astype(np.int64)
    if not _among(kinds, (_64, *_RELATIVE)).all():
        raise Unknown(f"relocations of types {sorted({*kinds.tolist()})}")
    if not addresses[symbols].all():
        raise Unknown("a relocation of what is not loaded")
    is_call = (kinds == _PLT32) & (stubs[symbols] != 0)
    targets = np.where(is_call, stubs[symbols], addresses[symbols])
    targets = np.where(_among(kinds, _INDIRECT), stubs[symbols] + _HELD, targets)
    targets += rows["addend"]
    for width, mine in ((8, kinds == _64), (4, kinds != _64)):
        at = places[mine]
        values = targets[mine] if width == 8 else targets[mine] - begin - at
        written = values.astype(f"<i{width}")
        if (written != values).any():
            raise Unknown("an address that is too far away")
        if ((at < 0) | (at + width > len(part))).any():
            raise Unknown("a relocation outside of its section")
        part[at[:, None] + np.arange(width)] = written.view(np.uint8).reshape(-1, width)


def _among(kinds: np.ndarray, some: tuple[int, ...]) -> np.ndarray:
    found: np.ndarray = (kinds[:, None] == some).any(axis=1)
    return found


@cache
def address_of(name: str) -> int:
    """Where the process has a function, of CPython or the C library. Raises: Unknown."""
    for library in _libraries():
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            continue
    raise Unknown(f"no function {name!r} in this process")


@cache
def _libraries() -> list[Any]:
    """The process, and the C math library, which nobody in it may have asked for so far."""
    found = [ctypes.CDLL(None)]
    with suppress(OSError):  # where it is part of the C library
        found.append(ctypes.CDLL("libm.so.6"))
    return found
