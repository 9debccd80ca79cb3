"""What must not be interrupted. Python raises KeyboardInterrupt, and runs whatever else handles a
signal, in the main thread and between any two of its steps; so such a call is made in another one.

That is for libraries which are not written for it: llvmlite frees a string before it forgets it
(`OutputString.close`), and with an interrupt in between it is freed again.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from lazyfuse.collecting import uncollected

_P = ParamSpec("_P")
_R = TypeVar("_R")


def uninterrupted(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """The result of a function, whose error is raised here. An interrupt is raised when it is
    done: the caller may have a lock that belongs to what is under way.

    It must import nothing: an import that was interrupted may have left locks taken, which this
    thread has and the other one would wait for. Nothing is collected meanwhile: a finalizer that
    computes would wait there for what this one has (`session.flush_lock`), for ever.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return function(*args, **kwargs)
    return uncollected(_aside, lambda: function(*args, **kwargs))


def _aside(function: Callable[[], _R]) -> _R:
    """The result of a function that another thread calls."""
    results: list[_R] = []
    failures: list[BaseException] = []
    is_done = threading.Lock()

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:  # it belongs to who waits
            failures.append(error)
        finally:
            is_done.release()

    is_done.acquire()
    try:
        _thread.start_new_thread(work, ())  # `Thread.start` can be interrupted, and blocks then
    except RuntimeError:  # no more threads can be had, or the interpreter is about to end
        return function()
    interrupts: list[BaseException] = []
    while not (results or failures):
        try:
            is_done.acquire()  # an interrupt may come before it waits, and when it has the lock
        except BaseException as error:  # whatever handlers of signals raise
            interrupts.append(error)
    raised = interrupts + failures
    failures.clear()
    try:
        for each in raised:
            raise each
        return results.pop()
    finally:
        raised.clear()  # what is raised refers to this frame
        interrupts.clear()
