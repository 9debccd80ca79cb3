"""Memory for machine code: written first, then run, never both at a time (Linux).

Sources: POSIX mmap, mprotect, munmap; Linux' values of their constants on x86-64 and AArch64.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from functools import cache
from typing import Any

_FAILED = ctypes.c_void_p(-1).value


class Pages:
    """Whole pages of fresh memory at `address`, zeroed; unmapped when collected. At exit they
    stay: threads may still be in their code, and methods of classes may be called.

    Raises: OSError when there is no memory, or no such system.
    """

    def __init__(self, nbytes: int) -> None:
        self.nbytes = whole(nbytes)
        flags, access = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
        found = _system().mmap(None, self.nbytes, access, flags, -1, 0)
        if found is None or found == _FAILED:
            raise _error()
        self.address: int = found
        weakref.finalize(self, _unmap, found, self.nbytes).atexit = False

    def write(self, content: bytes | bytearray) -> None:
        """Fill the begin of the memory."""
        assert len(content) <= self.nbytes
        ctypes.memmove(self.address, bytes(content), len(content))

    def make_code(self, nbytes: int) -> None:
        """Let the first bytes, whole pages of them, be run and no longer written.
        Raises: OSError where the system refuses."""
        access = mmap.PROT_READ | mmap.PROT_EXEC
        if _system().mprotect(self.address, whole(nbytes), access):
            raise _error()


def whole(nbytes: int) -> int:
    """As many bytes in whole pages."""
    return -(-max(nbytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE


def _unmap(address: int, nbytes: int) -> None:
    _system().munmap(address, nbytes)


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


@cache
def _system() -> Any:
    """The C library, with the types of what is called. Raises: OSError where these are others."""
    if not hasattr(mmap, "MAP_ANONYMOUS") or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise OSError("no anonymous memory")
    found = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    found.mmap.restype = pointer
    found.mmap.argtypes = (pointer, size, number, number, number, ctypes.c_int64)
    found.mprotect.argtypes = (pointer, size, number)
    found.munmap.argtypes = (pointer, size)
    return found
