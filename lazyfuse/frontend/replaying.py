"""Replaying a recording of `fuse` in Python: in pooled memory, on any device, for every plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse import config
from lazyfuse.frontend.convert import eager_size
from lazyfuse.frontend.handle import Handle, small_array
from lazyfuse.frontend.recording import (
    Recording,
    Result,
    engine_array,
    is_small,
    rebuilt,
    takes_hosts,
)
from lazyfuse.frontend.strided import span
from lazyfuse.frontend.there import memory_of
from lazyfuse.ir.form import Form
from lazyfuse.ir.interp import view_of
from lazyfuse.ir.layout import Layout
from lazyfuse.runtime import engine, session
from lazyfuse.runtime.error_modes import current_modes
from lazyfuse.runtime.single import Address


def replay(found: Recording, given: Sequence[Any]) -> tuple[Any] | None:
    """The result for arguments of the recording's signature; None when somebody wants to hear of
    conditions that were met, or of what is wrong with a number."""
    device, single, now = found.known.device, found.single, found.now(given)
    if now is None:
        return None
    scalars, numbers = now
    if single is not None and found.numbers is not None:
        single = single.with_constants(scalars)
    if found.there is not None and single is not None:
        if config.current().float_errors == "check":
            return None
        arrays = found.there(given, single.scalars)
        return (rebuilt(found.whole, [*arrays, *numbers]),)
    limit = eager_size() if device == "cpu" else 0
    is_host = device == "cpu" and takes_hosts(found, given)
    sizes = [is_small(result, limit, is_host) for result in found.results]
    with session.flush_lock:
        memory = [_memory(given[place], device) for place in found.leaves]
        if single is not None:
            buffers = list(map(_room, found.results, sizes))
            met = single(memory, buffers, config.current().threads)
        else:
            leaves = [_owned(buffer, device) for buffer in memory]
            buffers, met = engine.replay(found.known, leaves, scalars)
    if met & (current_modes().reported | found.told) or config.current().float_errors == "check":
        return None
    arrays = [
        (_small_array if small else engine_array)(result, device, buffer)
        for result, buffer, small in zip(found.results, buffers, sizes, strict=True)
    ]
    return (rebuilt(found.whole, [*arrays, *numbers]),)


def _memory(value: Any, device: str) -> Any:
    """The buffer of an argument; one in NumPy's memory is only read, so it is shared."""
    if device != "cpu" or isinstance(value, Handle) and value._host is None:
        return memory_of(value, device)
    return Address(value._host if isinstance(value, Handle) else value)


def _owned(memory: Any, device: str) -> Any:
    """Memory as plans of several steps take it: a buffer."""
    if not isinstance(memory, Address):
        return memory
    return session.backend(device).from_host(span(memory.array), borrow=True)


class _Room:
    """Memory for a small result: an array of NumPy's, and its address."""

    __slots__ = ("pointer", "flat")

    def __init__(self, form: Form) -> None:
        self.flat = np.empty(form.nbytes // int(form.dtype[1:]), form.dtype)
        self.pointer = Address(self.flat).pointer


def _room(result: Result, small: bool) -> Any:
    """Where a result on the CPU goes."""
    if small:
        return _Room(result.form)
    return session.backend("cpu").allocate(result.form.nbytes)


def _small_array(result: Result, device: str, buffer: Any) -> Any:
    """A small array, or NumPy's scalar, in memory that a replay has written."""
    form = result.form
    if type(buffer) is _Room:
        flat = buffer.flat
    else:
        flat = session.backend(device).to_host(buffer).view(form.dtype)
        flat = flat if buffer.exclusive else flat.copy()  # another result has the same memory
    if result.is_scalar:
        return flat[0]
    return small_array(view_of(flat, Layout(form.shape, form.strides, 0)))
