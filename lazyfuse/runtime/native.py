"""Loads the operators of small arrays (`backends/cpu/methods.py`) and gives them to their class.

That needs CPython with a GIL, LLVM, and objects that are laid out as the code believes: each is
looked at first, and where one is missing the Python methods stay. The code is kept on disk as
kernels are, so a process pays a few milliseconds once.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
import sysconfig
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from lazyfuse import config
from lazyfuse.runtime import session

_WORD = ctypes.sizeof(ctypes.c_void_p)
_METH_NOARGS, _METH_O, _METH_KEYWORDS = 4, 8, 0x82


class _MethodDef(ctypes.Structure):
    """PyMethodDef of CPython's methodobject.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


#: What the code refers to; it is never unloaded.
_kept: list[Any] = []


def install(sample: Any, array: np.ndarray, owner: Any, function: Any) -> bool:
    """Give the class of `sample` the operators, and that of `function`, which wraps `np.add`, the
    call; and whether that was possible. `sample` wraps `array` and refers to `owner`."""
    compiler = getattr(session.backend("cpu"), "compiler", None)
    if not config.current().native or not _is_known_python() or compiler is None:
        return False
    from lazyfuse.backends.cpu import methods

    specials = {name: f"__{name}__" for name in methods.FUNCTIONS} | {"item": "__getitem__"}
    places = [_place(sample, array), _place(sample, owner), _place(function, np.add)]
    if None in places or not _is_known_numpy():
        return False
    owners = {name: type(function if name == "call" else sample) for name in specials}
    slow = [vars(owners[name])[special] for name, special in specials.items()]
    code = compiler.link(
        _object_code(compiler, methods.text()),
        ["lf_open", *(f"lf_{name}" for name in methods.FUNCTIONS)],
    )
    kinds = (float, int, slice, tuple, EllipsisType, NoneType, np.float64, np.int64)
    known = (type(sample), np.ndarray, None)
    entries = [*map(id, known), *places, *map(id, kinds), *map(id, slow)]
    opened = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address("lf_open"))()
    table = (ctypes.c_int64 * len(entries)).from_address(opened)
    for number, entry in enumerate(entries):
        table[number] = entry  # type: ignore[assignment]  # no None in it
    _kept.extend((code, slow))
    for name, special in specials.items():
        flags = _METH_NOARGS if name in methods.UNARY else _METH_O
        flags = _METH_KEYWORDS if name == "call" else flags
        _set_method(owners[name], special, code.address(f"lf_{name}"), flags)
    return True


def is_at_hand() -> bool:
    """Whether LLVM has been loaded already."""
    return "lazyfuse.backends.cpu" in sys.modules


def _is_known_python() -> bool:
    is_free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    probe = object()
    word = ctypes.c_void_p.from_address(id(probe) + _WORD).value if _is_cpython() else 0
    return _is_cpython() and not is_free_threaded and word == id(object)


def _is_cpython() -> bool:
    return sys.implementation.name == "cpython" and _WORD == 8


def _is_known_numpy() -> bool:
    """Whether arrays keep their shape, and ufuncs their counts, where the code looks for them."""
    counts = (ctypes.c_int * 2).from_address(id(np.add) + 2 * _WORD)
    probe = np.empty((3, 5))
    axes = ctypes.c_int.from_address(id(probe) + 24).value
    where = ctypes.c_void_p.from_address(id(probe) + 32).value
    if axes != 2 or where is None or list(counts) != [np.add.nin, np.add.nout]:
        return False
    return list((ctypes.c_int64 * 2).from_address(where)) == [3, 5]


def _place(sample: Any, part: Any) -> int | None:
    """At which byte an object keeps a part of it; None when that is not one place."""
    words = (ctypes.c_uint64 * (type(sample).__basicsize__ // _WORD)).from_address(id(sample))
    found = [number for number, word in enumerate(words) if word == id(part)]
    return found[0] * _WORD if len(found) == 1 else None


def _object_code(compiler: Any, text: str) -> bytes:
    """The compiled module, from disk if it is there."""
    if not config.current().disk_cache:
        compiled: bytes = compiler.compile(text)
        return compiled
    disk = session.disk_cache(config.current().cache_dir)
    key = hashlib.sha256(f"{compiler.version}\n{text}".encode()).hexdigest()
    found = disk.read(key)
    if found is None:
        found = compiler.compile(text)
        disk.write(key, found)
    return found


def _set_method(kind: type, name: str, address: int, flags: int) -> None:
    """Make a method of a class of a C function."""
    taken = {_METH_NOARGS: ", /", _METH_O: ", value, /", _METH_KEYWORDS: ", /, *args, **kwargs"}
    known = getattr(np.ufunc if flags == _METH_KEYWORDS else np.ndarray, name)
    doc = f"{name}($self{taken[flags]})\n--\n\n{known.__doc__ or ''}"
    made = _MethodDef(name.encode(), address, flags, doc.encode())
    new_method = ctypes.pythonapi.PyDescr_NewMethod
    new_method.restype, new_method.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    _kept.append(made)
    setattr(kind, name, new_method(kind, ctypes.addressof(made)))
