"""Object code as LLVM writes it for Linux -> sections, symbols and relocations.

Read is what modules of this package become: code, constants and zeroed memory, and references
between them and to functions of the process. Anything else is refused (`Unknown`), and then LLVM's
own linker is asked.

Sources: System V ABI, edition 4.1 (gABI), chapter 4: "ELF Header", "Sections", "Symbol Table",
"Relocation"; its supplement for AMD64, version 1.0 (psABI), section 4.2 "Sections".
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.backends.cpu.loader import Unknown

#: e_ident, e_type, e_machine, e_version, e_entry, e_phoff, e_shoff, e_flags, e_ehsize,
#: e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx.
_HEADER = struct.Struct("<16s2HI3QI6H")
_ROW = struct.Struct("<2I4Q2I2Q")
_SYMBOL = np.dtype([
    ("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
    ("size", "<u8"),
])  # fmt: skip
_RELOCATION = np.dtype([
    ("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8"),
])  # fmt: skip

#: 64 bits, little-endian, version 1 of the format; relocatable.
_IDENT, _RELOCATABLE = b"\x7fELF\2\1\1", 1
#: Code, constants, and what is written; others (constructors, notes) would have to be acted on.
_NAMES = (".text", ".rodata", ".data", ".bss")
_UNWIND = ".eh_frame"
_PROGRAM, _SYMBOLS, _ADDENDS, _ZEROS, _REL = 1, 2, 4, 8, 9
_WRITTEN, _ALLOCATED, _EXECUTED = 1, 2, 4
#: What sections that occupy memory may be marked with besides: that equal constants and strings
#: may be merged, and what `info` and `link` hold.
_HARMLESS = _WRITTEN | _ALLOCATED | _EXECUTED | 0x10 | 0x20 | 0x40 | 0x80
#: Memory begins at pages, which have at least so many bytes.
_MOST_ALIGNED = 4096
UNDEFINED = 0
_LOCAL, _GLOBAL = 0, 1
#: No type, an object, a function, a section, a file.
_TYPES = (0, 1, 2, 3, 4)


class _Row(NamedTuple):
    """Of the table of sections, in its order."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class Section(NamedTuple):
    """Memory that is needed; `content` is empty where it starts with zeros."""

    content: bytes
    size: int
    alignment: int
    is_written: bool


class ObjectFile(NamedTuple):
    """`sections` by number, those that occupy memory; `symbols` as a table of NumPy; `names` of
    global symbols by number, whether defined here or elsewhere; `relocations`, tables too, each
    with the number of its section."""

    sections: dict[int, Section]
    symbols: np.ndarray
    names: dict[int, str]
    relocations: list[tuple[int, np.ndarray]]


def read(content: bytes, machine: int) -> ObjectFile:
    """Take object code for a processor apart. Raises: Unknown."""
    rows, texts = _rows(content, machine)
    named = [(row, _text(content, texts, row.name)) for row in rows]
    sections = {
        number: _section(content, row, name)
        for number, (row, name) in enumerate(named)
        if row.flags & _ALLOCATED and name != _UNWIND  # no exceptions pass our code
    }
    symbols, names = _symbols(content, rows)
    relocations = [
        (row.info, _table(content, _RELOCATION, row))
        for row in rows
        if row.type in (_ADDENDS, _REL) and _is_needed(row, sections)
    ]
    return ObjectFile(sections, symbols, names, relocations)


def _rows(content: bytes, machine: int) -> tuple[list[_Row], _Row]:
    """The table of sections, and which of them has their names."""
    if len(content) < _HEADER.size:
        raise Unknown("no object file")
    ident, kind, target, *_, begin, _, _, _, _, size, count, names = _HEADER.unpack_from(content)
    if (ident[:7], kind, target, size) != (_IDENT, _RELOCATABLE, machine, _ROW.size):
        raise Unknown("no relocatable ELF file for this processor")
    if names >= count or begin + count * _ROW.size > len(content):
        raise Unknown("a table of sections that is not whole")
    rows = [_Row(*_ROW.unpack_from(content, begin + n * _ROW.size)) for n in range(count)]
    return rows, rows[names]


def _table(content: bytes, dtype: np.dtype[Any], row: _Row) -> np.ndarray:
    """The table that a section is."""
    if row.offset + row.size > len(content):
        raise Unknown("a table that ends behind the file")
    return np.frombuffer(content, dtype, row.size // dtype.itemsize, row.offset)


def _text(content: bytes, texts: _Row, start: int) -> str:
    """The text that starts at a byte of a section of texts."""
    stop = content.find(b"\0", texts.offset + start, texts.offset + texts.size)
    if stop < 0:
        raise Unknown("a name that does not end")
    return content[texts.offset + start : stop].decode()


def _section(content: bytes, row: _Row, name: str) -> Section:
    if not name.startswith(_NAMES) or row.type not in (_PROGRAM, _ZEROS) or row.flags & ~_HARMLESS:
        raise Unknown(f"a section {name} of type {row.type:#x} and flags {row.flags:#x}")
    if row.flags & _WRITTEN and row.flags & _EXECUTED:
        raise Unknown("code that changes itself")
    if row.alignment > _MOST_ALIGNED:
        raise Unknown("a section that begins at more than a page")
    held = b"" if row.type == _ZEROS else content[row.offset : row.offset + row.size]
    if row.type == _PROGRAM and len(held) != row.size:
        raise Unknown("a section that ends behind the file")
    return Section(held, row.size, max(row.alignment, 1), bool(row.flags & _WRITTEN))


def _symbols(content: bytes, rows: list[_Row]) -> tuple[np.ndarray, dict[int, str]]:
    """All symbols, and the names of the global ones."""
    found = [row for row in rows if row.type == _SYMBOLS]
    if len(found) != 1 or found[0].link >= len(rows):
        raise Unknown("not one table of symbols")
    texts = rows[found[0].link]
    symbols = _table(content, _SYMBOL, found[0])
    names = {}
    pairs = zip(symbols["name"].tolist(), symbols["info"].tolist(), strict=True)
    for number, (start, info) in enumerate(pairs):
        binding, kind = info >> 4, info & 15
        if kind not in _TYPES or binding not in (_LOCAL, _GLOBAL):
            raise Unknown(f"a symbol of binding {binding} and type {kind}")
        if binding == _GLOBAL:
            names[number] = _text(content, texts, start)
    return symbols, names


def _is_needed(row: _Row, sections: dict[int, Section]) -> bool:
    """Whether relocations are of a section that is needed."""
    if row.info not in sections:
        return False
    if row.type == _REL:
        raise Unknown("relocations without addends")
    return True
