"""Pieces of memory with code in them -> code that runs, without LLVM, which takes a hundred times
as long to start. `linking` makes such a piece of object code, once; it is what is kept on disk.
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import struct
import sys
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from lazyfuse.backends.cpu.pages import Pages

#: What the bytes of a piece begin with.
_BEGIN = b"lazyfuse-piece\n"
_WORD = struct.Struct("<q")


class Unknown(Exception):
    """Object code that is not of the kind that is read here."""


class Piece(NamedTuple):
    """Memory that is the same wherever it lies, but for some words.

    size: its bytes; code: of these, those that are run and not written. content: the first of
    them; the others are zero. words: of each word that is an address its place, the name of a
    function of the process, or "" for the begin of this memory, and what is added to that.
    places: of what is asked for by name. source: the object code.
    """

    size: int
    code: int
    content: bytes
    words: tuple[tuple[int, str, int], ...]
    places: dict[str, int]
    source: bytes

    def dumped(self) -> bytes:
        """It as bytes."""
        return _BEGIN + marshal.dumps(tuple(self))


def piece_of(content: bytes) -> Piece:
    """What was dumped; of object code, what becomes of that. Raises: Unknown for what only LLVM
    can link."""
    if not sys.platform.startswith("linux"):
        raise Unknown("not Linux")
    if content.startswith(_BEGIN):
        return Piece(*marshal.loads(memoryview(content)[len(_BEGIN) :]))
    from lazyfuse.backends.cpu.linking import linked

    return linked(content)


def dumped(content: bytes) -> bytes:
    """Object code as it is kept: linked as far as that goes without an address."""
    try:
        return piece_of(content).dumped()
    except Unknown:
        return content


def object_code(content: bytes) -> bytes:
    """The object code that `dumped` was given."""
    return piece_of(content).source if content.startswith(_BEGIN) else content


class Image:
    """Loaded code: addresses of its global symbols by name. Unloaded when collected."""

    def __init__(self, content: bytes) -> None:
        """Raises: Unknown for what only LLVM can link, OSError where the system refuses."""
        piece = piece_of(content)
        if piece.code % mmap.PAGESIZE:
            raise Unknown("laid out for smaller pages")
        self._pages = Pages(piece.size)
        base = self._pages.address
        memory = bytearray(piece.content)
        for place, name, more in piece.words:
            _WORD.pack_into(memory, place, (address_of(name) if name else base) + more)
        self._pages.write(memory)
        self._pages.make_code(piece.code)
        self._places = piece.places

    def __getitem__(self, name: str) -> int:
        """The address of a symbol. Raises: KeyError."""
        return self._pages.address + self._places[name]


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
