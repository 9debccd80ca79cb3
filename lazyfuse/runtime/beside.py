"""Another process of this Python, which compiles while this one goes on.

A thread that compiles needs Python some thousand times: each import and each call of LLVM gives it
up for a moment. Who asks for it anew waits 5 ms for a program that does not let go of it, and for
ever for one whose calls of NumPy do, some ten thousand times a second: CPython wakes who waits at
each of them, and by the time that a thread has woken, the next call has it. Beside such programs
0.3 s of work took 4 to 9 s, and one line of Python up to a second; so no thread of this process
waits for the other one either. It is asked from time to time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress

#: What the other process writes when there is what this one waits for; what an installation has
#: each Python print comes before it.
_SIGN = b"\0done\0"


def is_possible() -> bool:
    """Whether there can be one: this program may be Python within another program, or all of it in
    one file, which would begin a second time."""
    name = os.path.basename(sys.executable or "").lower()
    return hasattr(os, "posix_spawn") and name.startswith("python") and not _is_frozen()


def _is_frozen() -> bool:
    return bool(getattr(sys, "frozen", False))


def begin(statement: str, settings: Mapping[str, str]) -> tuple[int, int]:
    """Begin a process that runs a statement, with what this one may import, and these variables
    in its environment. Its number, and where it is heard. Raises: OSError."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        if min(reading, writing) <= 2:
            raise OSError("no standard streams")
        process = os.posix_spawn(
            sys.executable, [sys.executable, *_flags(), "-c", _program(statement)],
            {**os.environ, **settings},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
        )  # fmt: skip
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return process, reading


def _flags() -> list[str]:
    """No environment of Python's, since what may be imported is said in the program."""
    return ["-I", "-B"] if sys.flags.dont_write_bytecode else ["-I"]


def _program(statement: str) -> str:
    paths = [path for path in sys.path if isinstance(path, str)]
    return f"import sys; sys.path[:] = {paths!r}; {statement}"


def tell() -> None:
    """Say, in the other process, that there is what this one waits for."""
    with suppress(BrokenPipeError):  # that one has ended
        os.write(1, _SIGN)


def heard(reading: int) -> bool | None:
    """Whether the other process has told; False where it has ended without, None so far."""
    try:
        said = os.read(reading, 1 << 16)
    except BlockingIOError:
        return None
    return said.endswith(_SIGN) or (None if said else False)


def end(process: int, reading: int) -> None:
    """Forget a process that ends: the system keeps its number until somebody waits for it."""
    os.close(reading)
    with suppress(ChildProcessError):  # the program waits for whatever ends
        os.waitpid(process, 0)


def go_on() -> None:
    """End this process for the one that waits, and go on in another one, which leaves the
    processor to others where they want it."""
    if os.fork():
        os._exit(0)
    with suppress(OSError):
        os.nice(10)
