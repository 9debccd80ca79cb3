"""Locks and forks. A child process has one thread: what another thread of its parent had at that
moment is taken in the child for ever, and what it was changing stays half done.

Whoever forks takes the locks of `guarded` first, in the order of `Turn`, and both processes give
them back. It waits for the run that is under way, however long that takes, with what is compiled
for it; and for all the rest, which is the compiler of other threads, `LONGEST` at most. Locks of
`renewed` are not waited for. In the child all of them are free, whatever has happened.
What another thread was importing is imported anew there.

A handler of a signal may raise in the middle of a hook; Python forks all the same. Locks are taken
and given back by single calls therefore, and Ctrl-C is raised when the fork is done.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from importlib import _bootstrap
from operator import methodcaller
from typing import Any, TypeVar

from lazyfuse.locks import RLock

_R = TypeVar("_R")

#: Seconds that a fork, or the end of a program, waits at most for what is compiled; a large kernel
#: takes half a second.
LONGEST = 10.0


class Turn(IntEnum):
    """When whoever forks takes a lock; who has one takes none of an earlier turn."""

    ASIDE = 0  # machine code of methods is compiled
    RUN = 1
    SHORT = 2  # whoever has it needs nothing else
    GATE = 3  # before anybody calls LLVM
    COMPILER = 4  # while somebody calls LLVM
    LLVM = 5


_give_back = methodcaller("release")
#: By their identity, weak references to locks, and their turns.
_guarded: dict[int, tuple[Callable[[], Any], Turn | None]] = {}
#: By thread: the locks that it has taken to fork, above None.
_taken: dict[int, list[Any]] = {}
#: By thread: what it has while it calls LLVM.
_inside: dict[int, Any] = {}
#: By thread: what was raised as it began to fork.
_interrupts: dict[int, BaseException] = {}


def guarded(lock: Any, turn: Turn = Turn.SHORT) -> Any:
    """A lock that whoever forks takes."""
    return _known(lock, turn)


def renewed(lock: Any) -> Any:
    """A lock that is free in a child, though what it guards may be half done there."""
    return _known(lock, None)


def _known(lock: Any, turn: Turn | None) -> Any:
    number = id(lock)
    _guarded[number] = weakref.ref(lock, lambda _: _guarded.pop(number, None)), turn
    return lock


_gate = guarded(RLock(), Turn.GATE)


def unforked(function: Callable[[], _R]) -> _R:
    """The result of a function; whoever forks waits until it is over."""
    thread = threading.get_ident()
    if thread in _inside:  # a finalizer, in the middle of it
        return function()
    own = RLock()
    with own:
        with _gate:
            _inside[thread] = guarded(own, Turn.COMPILER)
        try:
            return function()
        finally:
            _inside.pop(thread, None)


def _locks(turn: Turn | None) -> list[Any]:
    found = [lock() for lock, its in list(_guarded.values()) if its is turn]
    return [lock for lock in found if lock is not None]


def _take_all() -> None:
    """Take all, or those that can be had in time, whatever handlers of signals raise meanwhile."""
    taken = _taken.setdefault(threading.get_ident(), [None])
    end = time.monotonic() + LONGEST
    for turn in Turn:
        is_over = False
        while not is_over:
            try:
                _take(turn, taken, end)
                is_over = True
            except BaseException as error:
                _interrupts[threading.get_ident()] = error
        if turn is Turn.RUN:
            end = time.monotonic() + LONGEST


def _take(turn: Turn, taken: list[Any], end: float) -> None:
    """Take what is not taken yet of a turn. An interrupt comes while it waits for a lock, which is
    not taken then, or between two."""
    for lock in _locks(turn):
        if not any(lock is each for each in taken):
            left = -1.0 if turn is Turn.RUN else max(0.0, end - time.monotonic())
            taken.extend(filter(methodcaller("acquire", True, left), (lock,)))


def _give_all_back() -> None:
    taken = _taken.pop(threading.get_ident(), None)
    if taken:
        deque(map(_give_back, iter(taken.pop, None)), maxlen=0)


def _go_on_in_parent() -> None:
    _give_all_back()
    interrupt = _interrupts.pop(threading.get_ident(), None)
    if isinstance(interrupt, KeyboardInterrupt):  # what hooks raise is told and forgotten
        _thread.start_new_thread(_interrupt, ())
    elif interrupt is not None:
        raise interrupt


def _interrupt() -> None:
    """Interrupt the main thread, which goes on as this one begins, and has left the hooks."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _begin_child() -> None:
    """Free what other threads had: those that were not taken in time, and those of `renewed`."""
    _give_all_back()
    _taken.clear()
    _interrupts.clear()
    own = _inside.get(threading.get_ident())
    _inside.clear()
    if own is not None:
        _inside[threading.get_ident()] = own
    for turn in (None, *Turn):
        for lock in _locks(turn):
            if not (hasattr(lock, "_is_owned") and lock._is_owned()):
                lock._at_fork_reinit()
    _forget_imports()


def _forget_imports() -> None:
    """Forget what other threads were importing, with a module of ours, and what we import where it
    is needed: Python has a lock for each module, and renews none of them in a child."""
    locks: dict[str, Any] = getattr(_bootstrap, "_module_locks", {})
    owners = {name: getattr(lock(), "owner", None) for name, lock in list(locks.items())}
    ours = {owner for name, owner in owners.items() if name.partition(".")[0] in _OURS}
    for name, owner in owners.items():
        if owner in ours - {None, threading.get_ident()}:
            del locks[name]
            if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                del sys.modules[name]


_OURS = frozenset((__name__.partition(".")[0], "llvmlite", "platformdirs"))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_take_all, after_in_parent=_go_on_in_parent, after_in_child=_begin_child
    )
