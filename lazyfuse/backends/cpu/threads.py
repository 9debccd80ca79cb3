"""Worker threads that help with the jobs of `launch_text.py`.

`Workers.start(count)` sees to it that so many are there; from then on they wait inside compiled
code, without the GIL, for whoever launches a job.

- Fork: threads do not survive it; the child starts new ones when it needs them.
- Exit: they are daemon threads that stay where they wait. Their code stays loaded, because each
  thread holds it.
- Workers that nobody can start jobs for any more go home.
"""

from __future__ import annotations

import _thread
import os
import weakref
from collections.abc import Callable

from lazyfuse.backends.cpu.compiler import Calls, Compiler
from lazyfuse.backends.cpu.launch_text import WORKERS
from lazyfuse.locks import RLock


class Workers:
    """Daemon threads, started when first needed, for jobs that are launched from any thread."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._calls: Calls | None = None
        self._reset()
        reset = weakref.WeakMethod(self._reset)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: _call_if_alive(reset))

    def start(self, count: int) -> None:
        """Have so many workers, or as many as can be had."""
        if self.count >= count:
            return
        with self._lock:
            if self._calls is None:
                self._calls = self._compiler.calls
                weakref.finalize(self, self._calls.close).atexit = False
            while self.count < count:
                if self.count < WORKERS:
                    _start(self._calls)
                self.count += 1

    def _reset(self) -> None:
        self._lock = RLock()
        self.count = 0
        if self._calls is not None:
            self._calls.open()


def _start(calls: Calls) -> None:
    try:
        # `Thread.start`, interrupted, may stay half done
        _thread.start_new_thread(_serve, (calls,))
    except RuntimeError:  # no more threads can be had, or the interpreter is about to end
        return


def _serve(calls: Calls) -> None:
    calls.serve()


def _call_if_alive(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    function = method()
    if function is not None:
        function()
