"""What the relocations of each processor write into code, and how a stub jumps.

S is the place of a symbol, A what is added to it, P the place that is written; all of them are
counted from the begin of the memory, which begins at a page.

Sources: the supplement of the System V ABI for AMD64, version 1.0 (psABI), section 4.4.1
"Relocation Types"; ELF for the Arm 64-bit Architecture (AAELF64), 2023Q3, section 5.7 "Relocation
types"; Arm Architecture Reference Manual, "ADRP", "LDR (literal)" and "BR".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lazyfuse.backends.cpu.loader import Unknown

#: Writes into the bytes of a section: for kinds of relocations, where they are in it, S + A and P.
Writer = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]


class Processor(NamedTuple):
    """machine: its number in ELF. absolute: the kind that writes the address S + A, of 64 bits.
    calls: kinds that may go by a stub. indirect: those that want S to be a place that holds the
    address. stub: its code, before that address. write: does the others. Raises: Unknown."""

    machine: int
    absolute: int
    calls: tuple[int, ...]
    indirect: tuple[int, ...]
    stub: bytes
    write: Writer


def among(kinds: np.ndarray, some: tuple[int, ...]) -> np.ndarray:
    """Which kinds are some of these."""
    found: np.ndarray = (kinds[:, None] == some).any(axis=1)
    return found


def _fitting(values: np.ndarray, bits: int) -> np.ndarray:
    """They themselves. Raises: Unknown where one has more than so many bits, the sign included."""
    if (values >> (bits - 1) != values >> 63).any():
        raise Unknown("an address that is too far away")
    return values


def _refuse(kinds: np.ndarray, known: tuple[int, ...]) -> None:
    if not among(kinds, known).all():
        raise Unknown(f"relocations of types {sorted({*kinds.tolist()})}")


# ---- x86-64

_PC32, _PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX = 2, 4, 9, 41, 42
_OF_ADDRESSES = (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX)


def _write_x86_64(
    part: np.ndarray, kinds: np.ndarray, at: np.ndarray, values: np.ndarray, places: np.ndarray
) -> None:
    """All are distances, S + A - P, in 32 bits."""
    _refuse(kinds, (_PC32, _PLT32, *_OF_ADDRESSES))
    distances = _fitting(values - places, 32).astype("<i4")
    part[at[:, None] + np.arange(4)] = distances.view(np.uint8).reshape(-1, 4)


#: jmp *2(%rip); ud2
_X86_64 = Processor(
    62, 1, (_PLT32,), _OF_ADDRESSES, bytes.fromhex("ff2502000000 0f0b"), _write_x86_64
)


# ---- 64-bit ARM

_PREL32, _PAGE, _LOW, _JUMP26, _CALL26, _ADDRESS_PAGE, _ADDRESS_LOW = (
    261, 275, 277, 282, 283, 311, 312,
)  # fmt: skip
#: Instructions with the low bits of a place in them, in units of so many bits: an addition; loads
#: and stores of 1, 2, 4, 8 and 16 bytes; the load of an address.
_SCALES = {_LOW: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4, _ADDRESS_LOW: 3}
_PAGES, _BRANCHES = (_PAGE, _ADDRESS_PAGE), (_JUMP26, _CALL26)


def _write_aarch64(
    part: np.ndarray, kinds: np.ndarray, at: np.ndarray, values: np.ndarray, places: np.ndarray
) -> None:
    """Fields of instructions, which are zero so far, and distances."""
    _refuse(kinds, (_PREL32, *_PAGES, *_BRANCHES, *_SCALES))
    bytes_at = at[:, None] + np.arange(4)
    words = np.ascontiguousarray(part[bytes_at]).view("<u4").ravel().astype(np.int64)
    is_far = kinds == _PREL32
    words[is_far] = _fitting((values - places)[is_far], 32)
    of_pages, is_jump = among(kinds, _PAGES), among(kinds, _BRANCHES)
    pages = _fitting(((values >> 12) - (places >> 12))[of_pages], 21)
    words[of_pages] |= (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    words[is_jump] |= _scaled(_fitting((values - places)[is_jump], 28), 2) & 0x3FFFFFF
    for kind, scale in _SCALES.items():
        words[kinds == kind] |= _scaled(values[kinds == kind] & 0xFFF, scale) << 10
    part[bytes_at] = words.astype("<u4").view(np.uint8).reshape(-1, 4)


def _scaled(values: np.ndarray, scale: int) -> np.ndarray:
    """In units of 1 << `scale`. Raises: Unknown for what is no multiple of that."""
    if (values & (1 << scale) - 1).any():
        raise Unknown("an address between two units")
    return values >> scale


#: ldr x16, 8; br x16
_AARCH64 = Processor(
    183, 257, _BRANCHES, (_ADDRESS_PAGE, _ADDRESS_LOW), bytes.fromhex("50000058 00021fd6"),
    _write_aarch64,
)  # fmt: skip

#: By the names that systems give them.
PROCESSORS = {"x86_64": _X86_64, "aarch64": _AARCH64}


def own_processor() -> Processor:
    """That of this process. Raises: Unknown for others."""
    name = os.uname().machine
    if name not in PROCESSORS:
        raise Unknown(f"code for {name}")
    return PROCESSORS[name]
