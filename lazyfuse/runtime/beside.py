"""Another process of this Python, which compiles while this one goes on.

A thread that compiles needs Python some thousand times: each import and each call of LLVM gives it
up for a moment. Who asks for it anew waits 5 ms for a program that does not let go of it, and for
ever for one whose calls of NumPy do, some ten thousand times a second: CPython wakes who waits at
each of them, and by the time that a thread has woken, the next call has it. Beside such programs
0.3 s of work took 4 to 9 s, and one line of Python up to a second; so no thread of this process
waits for the other one either. It is asked from time to time whether it has ended.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

#: Seconds that a process may take; where it has not ended by then, it hangs. Usual are 0.5 and,
#: for what it leaves to another one (`go_on`), 4.
LONGEST = 20
#: Seconds for what is left to another one, which has a processor when nobody else wants it.
LONGEST_LEFT = 300


class Process(NamedTuple):
    """A process that has begun: its number, and when."""

    number: int
    begun: float

    def has_ended(self) -> bool:
        """Whether it has, or has been ended since it takes too long; does not wait. Whoever has
        asked before gets the same answer."""
        try:
            ended, _ = os.waitpid(self.number, os.WNOHANG)
        except ChildProcessError:  # the program waits for whatever ends, or has the system do so
            return True
        if not ended and time.monotonic() - self.begun > LONGEST:
            with suppress(OSError):  # another thread was faster
                os.kill(self.number, signal.SIGKILL)
        return bool(ended)


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError:  # the folder that the program is in has gone
        return path


#: What may be imported, wherever the program goes.
_PATHS = [_absolute(path) for path in sys.path if isinstance(path, str)]


def is_possible() -> bool:
    """Whether there can be one: this program may be Python within another program, or all of it in
    one file, which would begin a second time."""
    name = os.path.basename(sys.executable or "").lower()
    return hasattr(os, "posix_spawn") and name.startswith("python") and not _is_frozen()


def _is_frozen() -> bool:
    return bool(getattr(sys, "frozen", False))


def begin(statement: str, settings: Mapping[str, str]) -> Process:
    """Begin a process that runs a statement, with what this one could import at first, and these
    variables in its environment. It has no open files of this one, and is in no group with it, so
    that Ctrl-C does not end it. Raises: OSError."""
    number = os.posix_spawn(
        sys.executable, [sys.executable, *_flags(), "-c", _program(statement)],
        {**os.environ, **settings},
        file_actions=[
            *((os.POSIX_SPAWN_OPEN, file, os.devnull, os.O_RDWR, 0) for file in range(3)),
            *((os.POSIX_SPAWN_CLOSE, file) for file in _inheritable()),
        ],
        setpgroup=0, setsigmask=[], setsigdef=[signal.SIGALRM],
    )  # fmt: skip
    return Process(number, time.monotonic())


def _flags() -> list[str]:
    """No environment of Python's, but for where bytecode is kept: what may be imported is said in
    the program."""
    flags = ["-I"]
    if sys.dont_write_bytecode:
        flags.append("-B")
    if sys.pycache_prefix is not None:
        flags += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return flags


def _program(statement: str) -> str:
    """`statement`, of which the process runs no longer than it may, also when nobody asks."""
    limit = f"import sys, _signal; _signal.alarm({LONGEST})"
    return f"{limit}; sys.path[:] = {ascii(_PATHS)}; {statement}"


def _inheritable() -> list[int]:
    """Files that a new process would have as well: others wait until all who have them have closed
    them, or ended."""
    found = []
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # that of the listing itself
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
    return found


def go_on() -> None:
    """End this process for the one that asks, and go on in another one, which leaves the
    processor to others where they want it."""
    if os.fork():
        os._exit(0)
    signal.alarm(LONGEST_LEFT)
    with suppress(OSError):
        os.nice(10)
