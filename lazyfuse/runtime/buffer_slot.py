"""Buffers of objects for C code.

CPython asks a C function of the class, which is its own where that has `__buffer__` (since 3.12).
Whoever asks may forget what is raised, as NumPy does; so it has to be kept, and no function of
Python's can do that: an interrupt comes at its first step, too. A callback of ctypes prints an
exception, and the result is whatever was in memory. So it is machine code, and here as bytes, for
it is needed before there is LLVM, which made it (`minsize`) of what this does:

    int get_buffer(PyObject *self, Py_buffer *view, int flags) {
        view->obj = NULL;
        PyObject *found = table.PyObject_CallFunction(table.buffer, "Oi", self, flags);
        if (found == NULL) {
            PyObject *kind, *error, *trace;
            table.PyErr_Fetch(&kind, &error, &trace);
            table.PyErr_NormalizeException(&kind, &error, &trace);
            if (trace != NULL) table.PyException_SetTraceback(error, trace);
            table.PyList_Append(table.errors, error);
            table.PyErr_Restore(kind, error, trace);
            return -1;
        }
        int result = table.PyObject_GetBuffer(found, view, flags);
        table.Py_DecRef(found);
        return result;
    }

On other processors than x86-64 there are no such buffers, but for those of `__buffer__`.
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
#: there on. The table: PyObject_CallFunction, `buffer`, "Oi", PyObject_GetBuffer, Py_DecRef,
#: PyErr_Fetch, PyErr_NormalizeException, PyException_SetTraceback, PyList_Append, `errors`,
#: PyErr_Restore.
_BEGIN = bytes.fromhex("415741564154534883ec1889d34989f648836608004889fa 49bc")
_REST = bytes.fromhex(
    "498b7c2408 498b742410 89d9 31c0 41ff1424 4885c0 741e 4989c7 4889c7 4c89f6 89da 41ff542418"
    "89c3 4c89ff 41ff542420 89d8 eb5e 4889e3 4c8d742410 4c8d7c2408 4889df 4c89f6 4c89fa 41ff542428"
    "4889df 4c89f6 4c89fa 41ff542430 498b1e 4d8b37 4d85f6 740b 4889df 4c89f6 41ff542438"
    "498b7c2448 4889de 41ff542440 488b3c24 4889de 4c89f2 41ff542450 6aff58"
    "4883c418 5b 415c 415e 415f c3"
)
_FORMAT = b"Oi\0"

#: Functions, tables and pages: they are there as long as the process.
_kept: list[Any] = []


def give_buffers(
    kind: type, buffer: Callable[[Any, int], Any], errors: list[BaseException]
) -> None:
    """Have objects of a class, and of classes derived from it later, give C code the buffer of
    what `buffer` gives for an object and the flags of PyObject_GetBuffer; what that raises is
    added to `errors`. Nothing is done where there is no such code, or memory for it."""
    if not _is_possible():
        return
    api = ctypes.pythonapi
    format_ = ctypes.create_string_buffer(_FORMAT)
    functions = (
        api.PyObject_CallFunction, api.PyObject_GetBuffer, api.Py_DecRef, api.PyErr_Fetch,
        api.PyErr_NormalizeException, api.PyException_SetTraceback, api.PyList_Append,
        api.PyErr_Restore,
    )  # fmt: skip
    call, *rest = [ctypes.cast(each, ctypes.c_void_p).value for each in functions]
    text = ctypes.addressof(format_)
    table = (ctypes.c_void_p * 11)(call, id(buffer), text, *rest[:-1], id(errors), rest[-1])
    code = _BEGIN + ctypes.addressof(table).to_bytes(_WORD, "little") + _REST
    address = _executable(code)
    if address is not None:
        _kept.append((buffer, errors, format_, table))
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
