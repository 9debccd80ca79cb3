"""Code that makes many objects and no cycles of them: Python does not look for garbage meanwhile.

To plan and write a kernel of 300 operations makes 30,000 objects, most of which stay until it is
done. That is two collections of all objects of the process, 10 ms each: a fifth of the time.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


#: The thresholds that will be switched back to, while a call is under way.
_usual: list[tuple[int, int, int] | None] = [None]


def uncollected(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """The result of a function during which no collection begins. It is a call, the switch is
    inside `try`, and one call switches back, since an interrupt may come behind any call; the
    threshold is switched, not the collector, which others may switch off meanwhile."""
    before = gc.get_threshold()
    if not before[0]:  # never, or another thread is here
        return function(*args, **kwargs)
    try:
        _usual[0] = before
        gc.set_threshold(0, *before[1:])
        return function(*args, **kwargs)
    finally:
        try:
            now = gc.get_threshold()
        finally:
            _usual[0] = None
            gc.set_threshold(*before)
        if now[0]:  # the program has chosen another one meanwhile
            gc.set_threshold(*now)


def imported(name: str) -> ModuleType:
    """A module, imported with all that it imports. Most of what that makes stays: instead of the
    forty collections that it takes, which bring near the one of all objects of the process (10 ms
    and more, often in the first call), young objects are looked at once."""
    module = uncollected(import_module, name)
    if gc.isenabled() and gc.get_threshold()[0]:
        gc.collect(1)
    return module


def _begin_child() -> None:
    """Another thread may have been here when the process was forked."""
    usual = _usual[0]
    if usual is not None:
        gc.set_threshold(*usual)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
