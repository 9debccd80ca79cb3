"""Compiles the object code of methods while a program goes on without: in a process of its own,
which keeps it on disk, or else in a thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from lazyfuse import config
from lazyfuse.runtime import beside, session
from lazyfuse.runtime.aside import afterwards, begin
from lazyfuse.runtime.native_binaries import CAREFUL, HASTY, Binaries, binaries, made
from lazyfuse.runtime.recorder import Recording

#: Told at the end of compiling, with the error if there is one.
Done = Callable[[BaseException | None], None]
#: The object code that was compiled aside, last of all, until it is loaded.
_aside: list[Binaries] = []
#: Whether no process has been tried so far, and the one that compiles, with where it is heard.
_untried: list[bool] = [True]
_processes: list[tuple[int, int]] = []


def compiler() -> Any:
    """What compiles for the CPU; None where another backend stands in its place."""
    return getattr(session.backend("cpu"), "compiler", None)


def found(own: Any, recording: Recording, *, compiles: bool) -> Binaries:
    """The object code: what was compiled aside, else that on disk, which is made better where it
    was made in haste. Raises: LookupError where there is none and it is not to be compiled."""
    if _aside:
        return _aside.pop()
    there = binaries(own, recording, compiles=compiles)
    if there.is_hasty and _untried:  # else the other process does
        afterwards(partial(_improve, recording))
    return there


def compile_aside(recording: Recording, statement: str, done: Done) -> bool:
    """Have it compiled: `statement` has another process `keep` it, once, and `ask` says when that
    is done. Where there can be none, a thread compiles and tells `done`; the program waits for
    that when it ends or forks. False where that is to be asked later: another thread compiles, or
    forks. The options are those of the caller. Raises: RuntimeError where there can be no thread.
    """
    if not is_beside():
        return _in_thread(recording, done)
    with suppress(OSError, IndexError):  # another thread was faster
        _untried.pop()
        session.disk_cache(config.current().cache_dir).make()
        _processes.append(beside.begin(statement, _settings()))
        return True
    return False


def is_beside() -> bool:
    """Whether another process would compile it: this one looks for it on disk."""
    return bool(_untried) and config.current().disk_cache and beside.is_possible()


def ask() -> bool:
    """Whether the other process has ended: it has kept what it was to compile, or has failed."""
    with suppress(IndexError):  # there is none, or another thread asks
        process, reading = _processes.pop()
        if beside.heard(reading) is not None:
            beside.end(process, reading)
            return True
        _processes.append((process, reading))
    return False


def _begin_child() -> None:
    """Forget, after a fork, the process that another one waits for."""
    while _processes:
        _, reading = _processes.pop()
        os.close(reading)
    _untried[:] = [True]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def _settings() -> dict[str, str]:
    """The environment of a process that keeps it where this one looks for it."""
    folder = config.current().cache_dir
    return {
        "LAZYFUSE_CACHE_DIR": folder, "LAZYFUSE_DISK_CACHE": "1", "LAZYFUSE_DEVICE": "cpu",
        "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip


def keep(recording: Recording) -> None:
    """Have it on disk, in a process of its own: made in haste for the one that waits, then with
    care for those that come after it."""
    # a folder that is not there any more was somebody's for a while
    session.disk_cache(config.current().cache_dir).is_made = False
    own = compiler()
    _ = own.calls  # whoever loads it loads these as well
    binaries(own, recording, compiles=True, levels=HASTY)
    beside.tell()
    beside.go_on()
    made(own, recording, CAREFUL)


def _in_thread(recording: Recording, done: Done) -> bool:
    """Compile it in a thread; False where another one does so or forks. When it is done, nothing
    of LLVM is left of it."""

    def work() -> None:
        failure: BaseException | None = None
        try:
            _aside[:] = [_made_aside(recording)]
            afterwards(partial(_improve, recording))
        except BaseException as error:  # any failure of a compiler: told to the caller
            failure = error.with_traceback(None)
        done(failure)

    return begin(work)


def _made_aside(recording: Recording) -> Binaries:
    """The object code, by a compiler of its own: whoever flushes waits for the locks of the other
    one, and this may wait for a flush."""
    return binaries(compiler().aside(), recording, compiles=True, levels=HASTY)


def _improve(recording: Recording) -> None:
    """Have better object code on disk for the processes that come after this one. Raises:
    LookupError where nothing has been kept there: a folder may be one to read only."""
    if config.current().disk_cache:
        own = compiler().aside()
        made(own, recording, HASTY, compiles=False)
        made(own, recording, CAREFUL)
