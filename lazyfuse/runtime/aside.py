"""What is compiled aside, in a thread of its own, while the program goes on without it: kernels of
structures that are interpreted meanwhile, and machine code of methods.

One thing at a time, and a few kernels after it; after those what is in no hurry. Whoever forks
waits for what is being compiled then, and so does a program at its end.
"""

from __future__ import annotations

import _imp
import _thread
import atexit
import contextvars
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from lazyfuse import config, events
from lazyfuse.backends.base import Aside, Backend
from lazyfuse.forks import LONGEST, Turn, guarded
from lazyfuse.interrupts import missed_by_nobody
from lazyfuse.ir.kernel import Kernel
from lazyfuse.locks import Lock
from lazyfuse.processors import default_threads
from lazyfuse.runtime import session

#: Held by the thread that compiles until it has told its end: in a child process there would be no
#: thread that goes on, and LLVM's own locks would stay taken.
compiling = guarded(Lock(), Turn.ASIDE)
#: Whether the program ends.
_ending: list[bool] = []
#: What kernels are compiled next, and how many may wait.
_waiting: deque[Callable[[], None]] = deque()
_MOST_WAITING = 16
#: What is done when nothing waits, and the program has run for so many seconds: who runs a short
#: one would wait at its end for what is of no use to it.
_later: deque[Callable[[], None]] = deque()
PATIENCE = 5.0
_begun = time.monotonic()
#: Whether somebody forks: what waits goes on when that is done, and in the parent only. Single
#: calls, which no interrupt divides.
_forking: list[bool] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=partial(_forking.append, True),
        after_in_parent=_forking.clear,
        after_in_child=_forking.clear,
    )
    os.register_at_fork(after_in_child=_waiting.clear)
    os.register_at_fork(after_in_child=_later.clear)


def begin(work: Callable[[], object]) -> bool:
    """Have something done in a thread; False where another one does so or forks. The options are
    those of the caller. Raises: RuntimeError where there can be no thread."""
    context, beginning, is_possible = contextvars.copy_context(), threading.Lock(), []

    def run() -> None:
        """All that has to come in pairs, since interrupts come to the main thread."""
        if not compiling.acquire(blocking=False):
            beginning.release()
            return
        try:
            is_possible.append(True)
            beginning.release()
            context.run(work)
        finally:
            _compile_waiting()

    beginning.acquire()
    _thread.start_new_thread(run, ())  # an interrupt in `Thread.start` can block both for ever
    beginning.acquire()
    return bool(is_possible)


def afterwards(work: Callable[[], object]) -> None:
    """Have something done in a thread when it has nothing else to do, the program has run for some
    seconds and does not end. Its failures are nobody's. The options are those of the caller, of
    whose context nothing else is kept: that may wait for ever."""
    options = config.current()

    def later() -> None:
        with missed_by_nobody(), config.using(options):
            if not _ending:
                work()

    _later.append(later)
    with suppress(RuntimeError):  # there can be no thread
        _thread.start_new_thread(_when_it_is_late, ())


def _when_it_is_late() -> None:
    """Begin with what is in no hurry."""
    while (left := PATIENCE - (time.monotonic() - _begun)) > 0.0:
        time.sleep(left)
    if _later and not _ending:
        with missed_by_nobody(RuntimeError):
            begin(_nothing)


def _next() -> deque[Callable[[], None]]:
    """What is done next, from its left end."""
    is_late = time.monotonic() - _begun >= PATIENCE
    return _waiting or (_later if is_late else _waiting)


def wait() -> None:
    """Wait for what is compiled aside."""
    with compiling:
        pass


@atexit.register
def _end() -> None:
    """The program ends: what has not begun to be compiled is left. An interrupt may have left
    locks of imports taken for ever, for which whoever compiles would wait, and this for them."""
    _ending.append(True)
    with suppress(RuntimeError):  # until it is not this thread's; nothing is imported now
        while True:
            _imp.release_lock()
    if compiling.acquire(timeout=LONGEST):
        compiling.release()


class _Target(Aside, Backend, Protocol):
    """A backend that compiles aside."""


class Compilation:
    """Kernels that are compiled aside; what cannot be compiled is left to who needs it, and so is
    the rest where the program ends."""

    def __init__(self) -> None:
        self._is_done = False

    @property
    def is_over(self) -> bool:
        """Whether nobody compiles them any more: also in a child process, where the thread is
        gone."""
        return self._is_done or not compiling.locked()

    def compile(self, kernels: Sequence[tuple[str, Kernel]], target: _Target) -> None:
        """Compile kernels, each with the key that it is kept under on disk, but for those that
        others have compiled since."""
        try:
            coder = target.aside()
            for key, kernel in session.missing([kernel for _, kernel in kernels], target):
                if _ending:
                    return
                with missed_by_nobody(), events.compiled():
                    session.keep_binary(key, coder.code(kernel))
        finally:
            self._is_done = True


def is_worth(options: config.Options, target: Backend) -> bool:
    """Whether another processor may compile while this one computes."""
    return isinstance(target, Aside) and (options.threads or default_threads()) > 1


def compile_aside(kernels: Sequence[tuple[str, Kernel]], target: _Target) -> Compilation | None:
    """Begin to compile kernels, or have them compiled after what is being compiled; None where too
    many wait already, or where another thread forks."""
    made, context = Compilation(), contextvars.copy_context()

    def work() -> None:
        with missed_by_nobody():
            context.run(made.compile, kernels, target)

    with missed_by_nobody(RuntimeError):
        if begin(work):
            return made
        if len(_waiting) < _MOST_WAITING:
            _waiting.append(work)
            if not compiling.locked():  # the other thread has ended meanwhile
                begin(_nothing)
            return made
    return None


def _nothing() -> None:
    """What is done before what waits."""


def _compile_waiting() -> None:
    """Compile what waits, with what is added meanwhile: until this thread has given the lock back,
    others leave it to this one."""
    is_taken = True
    while is_taken:
        try:
            while _next() and not _forking:
                _next().popleft()()
        finally:
            compiling.release()
        is_taken = bool(_next()) and compiling.acquire(blocking=bool(_forking))
