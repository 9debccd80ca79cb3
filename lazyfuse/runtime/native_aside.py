"""Compiles the object code of methods while a program goes on without: in a process of its own,
which keeps it on disk, or else in a thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from lazyfuse import config
from lazyfuse.interrupts import missed_by_nobody
from lazyfuse.runtime import beside, session
from lazyfuse.runtime.aside import afterwards, begin
from lazyfuse.runtime.native_binaries import CAREFUL, HASTY, Binaries, binaries, made
from lazyfuse.runtime.recorder import Recording

#: Told at the end of a thread that compiles, with the error if there is one.
Done = Callable[[BaseException | None], None]
#: The object code that a thread compiled, last of all, until it is loaded.
_aside: list[Binaries] = []
#: The thread that begins the process, as the only entry; the process; and whether it has ended, or
#: could not be had.
_beginner: dict[str, int] = {}
_processes: list[beside.Process] = []
_over: list[bool] = []


def compiler() -> Any:
    """What compiles for the CPU; None where another backend stands in its place."""
    return getattr(session.backend("cpu"), "compiler", None)


def found(own: Any, recording: Recording, *, compiles: bool) -> Binaries:
    """The object code: what a thread compiled, else that on disk, which is made better where it
    was made in haste. Raises: LookupError where there is none and it is not to be compiled."""
    if _aside:
        return _aside.pop()
    there = binaries(own, recording, compiles=compiles)
    if there.is_hasty and not _over:  # else the other process does
        afterwards(partial(_improve, recording))
    return there


# ---- another process


def is_beside() -> bool:
    """Whether another process compiles it, or is to: its work is looked for on disk. That is tried
    once."""
    return not _over and config.current().disk_cache and beside.is_possible()


def begin_process(statement: str) -> None:
    """Begin a process that runs a statement, which is to `keep` the object code; one for all
    threads that ask, and for whoever is interrupted and asks again. The options are those of the
    caller."""
    if _beginner.setdefault("", threading.get_ident()) != threading.get_ident():
        return
    try:
        with missed_by_nobody():
            disk = session.disk_cache(config.current().cache_dir)
            disk.make()
            if disk.keeps() and compiler() is not None:
                _processes.append(beside.begin(statement, _settings()))
    finally:
        if not _processes:  # none can be had, or its work could not be kept
            _over.append(True)


def is_at_work() -> bool:
    """Whether the process has not ended: when it has, its work is on disk, or has failed."""
    for process in _processes[:]:
        if not process.has_ended():
            return True
        _over.append(True)
        _processes.clear()
    return False


def _begin_child() -> None:
    """Forget, after a fork, the process of another one."""
    _processes.clear()
    _over.clear()
    _beginner.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def _settings() -> dict[str, str]:
    """The environment of a process that keeps it where this one looks for it."""
    folder = config.current().cache_dir
    return {
        "LAZYFUSE_CACHE_DIR": folder, "LAZYFUSE_DISK_CACHE": "1", "LAZYFUSE_DEVICE": "cpu",
        "LAZYFUSE_NATIVE": "0",  # it wants none itself, whatever an installation has it do first
        "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip


def keep(recording: Recording) -> None:
    """Have it on disk, in a process of its own: made in haste for the one that waits, then with
    care for those that come after it."""
    disk = session.disk_cache(config.current().cache_dir)
    disk.is_made = False  # a folder that is not there any more was somebody's for a while
    own = compiler()
    _ = own.calls  # whoever loads it loads these as well
    binaries(own, recording, compiles=True, levels=HASTY)
    if disk.keeps():
        beside.go_on()
        made(own, recording, CAREFUL)


# ---- a thread


def compile_aside(recording: Recording, done: Done) -> bool:
    """Compile it in a thread, which calls `done` at its end; False where another one does so or
    forks. The program waits for the thread when it ends or forks. The options are those of the
    caller. Raises: RuntimeError where there can be no thread."""

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
    one, and this may wait for a flush. When this returns, nothing of LLVM is left of it."""
    return binaries(compiler().aside(), recording, compiles=True, levels=HASTY)


def _improve(recording: Recording) -> None:
    """Have better object code on disk for the processes that come after this one. Raises:
    LookupError where nothing has been kept there: a folder may be one to read only."""
    if config.current().disk_cache:
        own = compiler().aside()
        made(own, recording, HASTY, compiles=False)
        made(own, recording, CAREFUL)
