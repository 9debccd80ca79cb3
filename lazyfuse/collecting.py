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


#: The thresholds that will be switched back to, while calls are under way; and a mark of each.
_usual: list[tuple[int, int, int] | None] = [None]
_inside: dict[object, None] = {}
#: Fewer objects are no program's, which freezes all that there are: Python 3.12 itself freezes 375
#: when it begins.
_FROZEN = 1000


def uncollected(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """The result of a function during which no collection begins: the last of several threads
    switches back. What is done is inside `try`, and one call switches back, since an interrupt,
    and another thread, may come behind any call; the threshold is switched, not the collector,
    which others may switch off meanwhile."""
    mark = object()
    try:
        if _inside:
            _inside[mark] = None
        else:
            before = gc.get_threshold()
            if before[0]:
                _inside[mark], _usual[0] = None, before
                gc.set_threshold(0, *before[1:])
        return function(*args, **kwargs)
    finally:
        try:
            now = gc.get_threshold()
        finally:
            try:
                _inside.pop(mark, None)
            finally:
                if not _inside and _usual[0] is not None:
                    usual, _usual[0] = _usual[0], None
                    gc.set_threshold(*usual)
        if now[0]:  # the program has chosen another one meanwhile
            gc.set_threshold(*now)


def imported(name: str) -> ModuleType:
    """A module, imported with all that it imports. Most of what that makes stays: instead of the
    forty collections that it takes, which bring near the one of all objects of the process (10 ms
    and more, often in the first call), what is there counts as old, without a look (6 ms)."""
    module = uncollected(import_module, name)
    if gc.isenabled() and gc.get_threshold()[0] and gc.get_freeze_count() < _FROZEN:
        gc.freeze()
        gc.unfreeze()
    return module


def _begin_child() -> None:
    """Another thread may have been here when the process was forked."""
    _inside.clear()
    usual = _usual[0]
    if usual is not None:
        gc.set_threshold(*usual)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
