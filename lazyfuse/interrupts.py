"""What must not be interrupted. Python raises KeyboardInterrupt, and runs whatever else handles a
signal, in the main thread and between any two of its steps; so such a call is made in another one.

That is for libraries which are not written for it: llvmlite frees a string before it forgets it
(`OutputString.close`), and with an interrupt in between it is freed again.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar

from lazyfuse.collecting import uncollected

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: A stack that is large enough for LLVM; a program may ask for smaller ones.
_STACK_BYTES = 1 << 20
#: Seconds after which a thread counts as one that does not begin.
_LONG = 2.0


def uninterrupted(function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """The result of a function, whose error is raised here. An interrupt is raised before it
    begins, or when it is done: the caller may have a lock that belongs to what is under way. (The
    second of two in a row may be raised at once.)

    It must import nothing: an import that was interrupted may have left locks taken, which this
    thread has and the other one would wait for. Nothing is collected meanwhile: a finalizer that
    computes would wait there for what this one has (`session.flush_lock`), for ever.
    """
    is_main = threading.get_ident() == threading.main_thread().ident
    has_room = not 0 < threading.stack_size() < _STACK_BYTES
    if is_main and has_room and not sys.is_finalizing():  # no thread runs on when Python ends
        return uncollected(_together, [lambda: function(*args, **kwargs)])[0]
    return function(*args, **kwargs)


def side_by_side(functions: Sequence[Callable[[], _R]]) -> list[_R]:
    """The results of functions that other threads call at the same time, while this one waits,
    where interrupts may come. All are over when an error of one is raised here, the first of
    them, or an interrupt. (The second of two in a row may be raised at once.) What is said of
    imports and of the collector above holds here, too.
    """
    if len(functions) == 1 or sys.is_finalizing():
        return [function() for function in functions]
    return uncollected(_together, functions)


def attempted(functions: Sequence[Callable[[], _R]], threads: int) -> list[_R | Exception]:
    """What each function gives, or the error that it raises, in order; so many threads take one
    after the other. See `side_by_side`."""
    found: dict[int, _R | Exception] = {}
    waiting = deque(enumerate(functions))

    def work() -> None:
        while waiting:
            try:
                number, function = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                found[number] = function()
            except Exception as error:
                if is_interrupt(error):
                    raise
                found[number] = error

    side_by_side([work] * min(threads, len(functions)))
    waiting.extend((number, each) for number, each in enumerate(functions) if number not in found)
    work()  # what a thread took that ended, or is not there: this may be a child of a fork
    return [found[number] for number in range(len(functions))]


def meanwhile(function: Callable[[], object]) -> None:
    """Have something done while a thread waits for what others call, from the moment at which that
    needs no Python (`leave_python`), or at `catch_up`: what is worth doing, and missed by nobody
    when it fails."""
    _postponed.append(function)


def leave_python() -> None:
    """Say that what this thread calls now is long and leaves Python to others."""
    _leaving.get(threading.get_ident(), _nothing)()


def _nothing() -> None:
    """What is said to nobody."""


def catch_up() -> None:
    """Do what has been put off."""
    while _postponed:
        with missed_by_nobody():
            _postponed.popleft()()


@contextmanager
def missed_by_nobody(kind: type[Exception] = Exception) -> Iterator[None]:
    """Failures of this kind of what is done within are nobody's; interrupts are raised."""
    try:
        yield
    except kind as error:
        if is_interrupt(error):
            raise


def is_interrupt(error: BaseException) -> bool:
    """Whether it is none of what has failed, but was raised from outside: KeyboardInterrupt and
    the like, and whatever handlers of signals raise (a limit of time, for instance)."""
    return not isinstance(error, Exception) or any(map(_handles_a_signal, _steps(error)))


def _steps(error: BaseException) -> Iterator[TracebackType]:
    """What was running when an error was raised, the outermost first."""
    at: TracebackType | None = error.__traceback__
    while at is not None:
        yield at
        at = at.tb_next


def _handles_a_signal(at: TracebackType) -> bool:
    """Whether the next that was running was given the frame of this one, as handlers of signals
    are that interrupt it. Which ones there are now says less: one may have put itself away. Nobody
    is asked for attributes, since objects may handle signals that have any."""
    if at.tb_next is None:
        return False
    handler = at.tb_next.tb_frame
    code = handler.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & _HAS_MORE)
    given = [handler.f_locals.get(name) for name in code.co_varnames[:count]]
    return any(each is at.tb_frame for each in _flat(given))


def _flat(given: list[Any]) -> Iterator[Any]:
    for each in given:
        yield from each if type(each) is tuple else (each,)


#: CO_VARARGS of `inspect`, which is long to import.
_HAS_MORE = 4


_postponed: deque[Callable[[], object]] = deque()
#: What tells those who wait for a thread, by its number, that it leaves Python to them.
_leaving: dict[int, Callable[[], None]] = {}


def _together(functions: Sequence[Callable[[], _R]]) -> list[_R]:
    """The results of functions that other threads call, or this one where no more can be had."""
    calls = [_Call(function) for function in functions]
    try:
        for call in calls:
            call.start()
        if _postponed:
            calls[0].wait_to_leave()
            catch_up()
        for call in calls:
            call.wait()
    except BaseException as error:  # behind a start, what was put off, or where a `wait` begins
        has_thread = not _is_no_thread(error)
        for call in calls:
            if not call.begins() or not has_thread:
                call.wait()
        if has_thread:
            raise
    return [call.result() for call in calls]


class _Sign:
    """A thread has it as long as there is one."""

    __slots__ = ("__weakref__",)


class _Call(Generic[_R]):
    """A call that one thread makes and another one waits for."""

    def __init__(self, function: Callable[[], _R]) -> None:
        self._function = function
        #: Who has begun, as the only entry.
        self._maker: dict[str, int] = {}
        self._is_done = threading.Lock()
        self._is_done.acquire()
        self._has_left = threading.Lock()
        self._has_left.acquire()
        #: Who may still release that, once.
        self._leaves = [self._has_left.release]
        self._sign: Callable[[], _Sign | None] = lambda: None
        self._process = os.getpid()
        self._results: list[_R] = []
        self._failures: list[BaseException] = []
        #: What was raised in who waits.
        self.interrupts: list[BaseException] = []

    def start(self) -> None:
        """Have a thread make it."""
        # `Thread.start`, interrupted, can block for ever. The thread takes the sign out of a list:
        # what is raised here, behind the start, may keep the arguments
        _thread.start_new_thread(self._make, ([self._signed()],))

    def _signed(self) -> _Sign:
        sign = _Sign()
        self._sign = weakref.ref(sign)
        return sign

    def begins(self) -> bool:
        """Whether nobody else has begun; the same answer to who asks again, interrupted."""
        return self._maker.setdefault("", threading.get_ident()) == threading.get_ident()

    def _make(self, signs: list[_Sign]) -> None:
        """Make it in a thread, unless somebody else has begun."""
        sign = signs.pop()  # noqa: F841  # as long as this runs
        own = threading.get_ident()
        try:
            if self.begins():
                _leaving[own] = self._leave
                try:
                    self._go_on()
                finally:
                    self._is_done.release()
        finally:
            _leaving.pop(own, None)
            self._leave()

    def _leave(self) -> None:
        """Let who waits do something else."""
        with suppress(IndexError):
            self._leaves.pop()()

    def wait_to_leave(self) -> None:
        """Wait until what is called leaves Python to others, or is over; not for long."""
        self._has_left.acquire(timeout=_LONG)

    def _go_on(self) -> None:
        try:
            self._results.append(self._function())
        except BaseException as error:  # it belongs to who waits
            self._failures.append(error)

    def wait(self) -> None:
        """Wait until it is made. Make it, where the thread has ended without, or has not begun for
        long: one that was started may never run, or have no memory to go on; and there is none in
        the child of a fork."""
        while True:
            try:
                while not self._is_over():
                    # an interrupt may come before it waits, or behind it
                    if self._has_nobody():
                        if not self._is_over():
                            self._go_on()
                    elif not self._is_done.acquire(timeout=_LONG):
                        self.begins()
                return
            except BaseException as error:  # whatever handlers of signals raise
                self.interrupts.append(error)

    def _is_over(self) -> bool:
        return bool(self._results or self._failures)

    def _has_nobody(self) -> bool:
        """Whether no other thread makes it, or will."""
        is_here = self._maker.get("") == threading.get_ident()
        return is_here or self._sign() is None or self._process != os.getpid()

    def result(self) -> _R:
        """What it gave. Raises: what it raised, and before that, what was raised in who waits."""
        raised = self.interrupts + self._failures
        self.interrupts, self._failures = [], []
        try:
            for each in raised:
                raise each
            return self._results.pop()
        finally:
            raised.clear()  # what is raised refers to this frame


def _is_no_thread(error: BaseException) -> bool:
    """Whether no more threads can be had; a handler of a signal may raise RuntimeError, too."""
    has_no_room = type(error) is MemoryError
    return has_no_room or type(error) is RuntimeError and "new thread" in str(error)
