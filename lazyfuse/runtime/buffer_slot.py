"""Buffers of objects for C code, where Python has no `__buffer__` (before 3.12).

CPython asks a C function of the class. No callback of ctypes can be that: an exception there, be
it an interrupt at the first step, is printed and forgotten, and the result is whatever was in
memory. So it is machine code, and here as bytes, for it is needed before there is LLVM, which made
it (`minsize`) of what this does:

    int get_buffer(PyObject *self, Py_buffer *view, int flags) {
        view->obj = NULL;
        PyObject *found = table.PyObject_CallFunction(table.buffer, "Oi", self, flags);
        if (found == NULL) return -1;
        int result = table.PyObject_GetBuffer(found, view, flags);
        table.Py_DecRef(found);
        return result;
    }

On other processors than x86-64 there are no such buffers.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
from collections.abc import Callable
from typing import Any

_WORD = ctypes.sizeof(ctypes.c_void_p)
#: Where a class keeps its buffer procedures, of which what gets a buffer comes first
#: (tp_as_buffer of CPython's cpython/object.h, bf_getbuffer).
_PROCEDURES = 20 * _WORD
#: The function, in the calling convention of System V, up to the address of its table and from
#: there on. The table: PyObject_CallFunction, `buffer`, "Oi", PyObject_GetBuffer, Py_DecRef.
_BEGIN = bytes.fromhex("415741564154535089d34989f6488366080048 89fa 49bc")
_REST = bytes.fromhex(
    "498b7c2408 498b742410 89d9 31c0 41ff1424 4885c0 741e 4989c7 4889c7 4c89f6 89da 41ff542418"
    "89c3 4c89ff 41ff542420 89d8 eb03 6aff58 4883c408 5b 415c 415e 415f c3"
)
_FORMAT = b"Oi\0"

#: Functions, tables and pages: they are there as long as the process.
_kept: list[Any] = []


def give_buffers(kind: type, buffer: Callable[[Any, int], Any]) -> None:
    """Have objects of a class, and of classes derived from it later, give C code the buffer of
    what `buffer` gives for an object and the flags of PyObject_GetBuffer. Nothing is done where
    there is no such code, or memory for it."""
    if not _is_possible():
        return
    python = ctypes.pythonapi
    functions = python.PyObject_CallFunction, python.PyObject_GetBuffer, python.Py_DecRef
    call, get, drop = (ctypes.cast(each, ctypes.c_void_p).value for each in functions)
    format_ = ctypes.create_string_buffer(_FORMAT)
    table = (ctypes.c_void_p * 5)(call, id(buffer), ctypes.addressof(format_), get, drop)
    code = _BEGIN + ctypes.addressof(table).to_bytes(_WORD, "little") + _REST
    address = _executable(code)
    if address is not None:
        _kept.append((buffer, format_, table))
        procedures = ctypes.c_void_p.from_address(id(kind) + _PROCEDURES).value or 0
        ctypes.c_void_p.from_address(procedures).value = address


def _is_possible() -> bool:
    """Whether processor, system and Python are those that the code is for."""
    is_known = platform.machine() == "x86_64" and os.name == "posix"
    return is_known and sys.implementation.name == "cpython" and object.__basicsize__ == 2 * _WORD


def _executable(code: bytes) -> int | None:
    """The address of code in memory that is executed; None where the system allows none."""
    pages = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    system = ctypes.CDLL(None)
    protect = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if protect(("mprotect", system))(address, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC):
        return None
    _kept.append(pages)
    return address
