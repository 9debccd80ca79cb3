"""Loads the code that runs known kernels (`backends/cpu/replay.py`), and gives its call to the
class of fused functions.

As for the operators of small arrays (`native.py`), the layout of objects is looked at first, and
where something is not as it is known, the Python method stays.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from lazyfuse import config, events
from lazyfuse.forks import renewed
from lazyfuse.interrupts import is_interrupt
from lazyfuse.locks import RLock
from lazyfuse.runtime import native, native_parts, session, under_way
from lazyfuse.runtime.error_modes import current_modes
from lazyfuse.runtime.native_parts import METH_KEYWORDS, free_slot, set_called, set_method
from lazyfuse.runtime.native_places import interpreted

_state: dict[str, Any] = {}
_lock = renewed(RLock())


def layout() -> Any:
    """The module that says what the code reads; it is there when the backend is."""
    from lazyfuse.backends.cpu import replay

    return replay


def is_installed() -> bool:
    """Whether calls of fused functions look at their entries."""
    return "kind" in _state


def is_possible() -> bool:
    """Whether they do, or may as soon as there are entries."""
    return config.current().native and "failure" not in _state


def install(kind: type, parts: Parts, objects: dict[str, Any], doc: str) -> bool:
    """Give the class of fused functions the call, and whether that was possible.

    `parts`: under the names of the code's table, objects and what they keep somewhere; `objects`:
    what the code uses by itself.
    """
    with session.flush_lock, _lock:  # whoever forks waits for the compiler
        if is_installed() or not is_possible():
            return is_installed()
        try:
            _install(kind, parts, objects, doc)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # any failure of a compiler: the Python method does the same
            if is_interrupt(error):
                raise
            _state["failure"] = error.with_traceback(None)
        return is_installed()


Parts: TypeAlias = dict[str, tuple[Any, Any]]


def _install(kind: type, parts: Parts, objects: dict[str, Any], doc: str) -> None:
    """Raises: LookupError where objects are not laid out as the code believes, and others."""
    _load()
    places = {name: _known_place(*pair) for name, pair in parts.items()}
    places["VECTOR"] = native_parts.vector_place(kind)
    objects = objects | {"METHOD": interpreted(kind, "__call__")}
    _write(_state["table"], places | {name: id(value) for name, value in objects.items()})
    code = _state["code"]
    free_slot(kind)
    set_method(kind, "__call__", code.address("lf_replay"), METH_KEYWORDS, doc)
    set_called([kind])
    _state.update(kind=kind, objects=objects)


def load() -> int | None:
    """The address of `lf_perform`, which runs kernels for other machine code; None where it cannot
    be had. The caller holds the lock of a flush."""
    with _lock:
        if not is_possible():
            return None
        try:
            _load()
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # any failure of a compiler: Python does the same
            if is_interrupt(error):
                raise
            _state["failure"] = error.with_traceback(None)
            return None
        address: int = _state["code"].address("lf_perform")
        return address


def _load() -> None:
    """Have the code, and in its table all that it needs but for calls of fused functions. Raises:
    as `_install`."""
    if "table" in _state:
        return
    backend: Any = session.backend("cpu")
    compiler = getattr(backend, "compiler", None)
    known = native.is_known_python() and native.is_known_numpy()
    known = known and _is_known_array() and _is_known_dict()
    if compiler is None or not known:
        raise LookupError("not CPython, NumPy and LLVM as they are known")
    codes = layout()
    binary = compiler.module("replay", codes.text)
    code = compiler.link(binary, ["lf_open", "lf_replay", "lf_perform"])
    opened = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address("lf_open"))()
    table = (ctypes.c_int64 * len(codes.TABLE)).from_address(opened)
    memory = backend.allocate(1)
    known_objects = {
        "NDARRAY": np.ndarray, "NONE": None, "TRUE": True, "NO_KEY": (), "EMPTY": np.empty,
        "VARIABLE": config.variable, "EXCEPTION": Exception, "ALLOCATE": backend.allocate,
        "MEMORY": type(memory), "RECORDINGS": under_way.recordings,
    }  # fmt: skip
    calls = compiler.calls
    _write(table, {name: id(value) for name, value in known_objects.items()} | {
        "POINTER": _known_place(memory, memory.pointer),
        "LAUNCHER": calls.addresses["lf_launch"], "CONDITIONS": _conditions(calls),
    })  # fmt: skip
    _state.update(code=code, known=known_objects, table=table)  # the last that may fail is over
    events.count_elsewhere(_counted)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget_threads)


def _write(table: Any, words: dict[str, int]) -> None:
    """Put words into the table of the code."""
    for name, word in words.items():
        table[layout().TABLE[name]] = word


def _known_place(whole: Any, part: Any) -> int:
    found = native_parts.place_of(whole, part)
    if found is None:
        raise LookupError(f"{type(whole).__name__} is not laid out as it is known")
    return found


def _conditions(calls: Any) -> int:
    """The CPU's flags that are conditions somebody may want to hear of."""
    flags = len(calls.decoded).bit_length() - 1
    return sum(1 << flag for flag in range(flags) if calls.decoded[1 << flag])


def _is_known_array() -> bool:
    """Whether arrays keep memory, dtype and flags where the code looks for them."""
    probe = np.empty((3, 5))
    data, dtype = [ctypes.c_void_p.from_address(id(probe) + at).value for at in (16, 56)]
    flags = ctypes.c_int.from_address(id(probe) + 64).value
    return (data, dtype, flags) == (probe.ctypes.data, id(probe.dtype), probe.flags.num)


def _is_known_dict() -> bool:
    """Whether dicts keep how many keys they have where the code looks for it."""
    probes = [dict.fromkeys(range(count)) for count in range(3)]
    return [ctypes.c_ssize_t.from_address(id(each) + 16).value for each in probes] == [0, 1, 2]


def _counted() -> dict[str, int]:
    """What the code has run since this was asked last."""
    table, places = _state["table"], layout().TABLE
    found = {}
    for name, event in _EVENTS.items():
        found[event] = table[places[name]]
        table[places[name]] = 0
    session.kernels.count_hits(found["cache_hits"])
    return found


_EVENTS = MappingProxyType({
    "ALL_LAUNCHES": "kernels_launched", "ALL_COPIES": "copies", "ALL_DONATIONS": "donations",
    "ALL_READS": "bytes_read", "ALL_WRITES": "bytes_written", "ALL_HITS": "cache_hits",
    "ALL_PLANS": "plan_hits",
})  # fmt: skip


def hire(helpers: int) -> None:
    """Have so many workers that help with launches."""
    table, place = _state["table"], layout().TABLE["WORKERS"]
    if table[place] < helpers:
        session.backend("cpu").workers.start(helpers)  # type: ignore[attr-defined]  # LLVM's
        table[place] = helpers


def _forget_threads() -> None:
    """A forked child has no workers, and none of the threads that record."""
    _state["table"][layout().TABLE["WORKERS"]] = 0
    for each, thread in list(under_way.recordings.items()):
        if thread != threading.get_ident():
            under_way.recordings.pop(each, None)


def copy_address() -> int:
    """Where the kernel is that copies."""
    address: int = session.backend("cpu").compiler.calls.addresses["lf_copy"]  # type: ignore[attr-defined]  # LLVM's
    return address


def teller(told: int) -> Callable[[int], bool]:
    """Whether somebody wants to hear of the CPU's flags: the user now, or an errstate inside the
    function, which wants `told`."""
    known = decoded()

    def is_told(flags: int) -> bool:
        return bool(known[flags] & (current_modes().reported | told))

    return is_told


def decoded() -> Sequence[int]:
    """The conditions of `ops/float_flags.py` by the CPU's flags."""
    found: Sequence[int] = session.backend("cpu").compiler.calls.decoded  # type: ignore[attr-defined]  # LLVM's
    return found
