"""Worker threads that call compiled code together with the thread that launches it.

`Workers.run(work, helpers)` calls `work()` on the calling thread and on up to `helpers` workers,
and returns when all that began have finished. `work` claims its share itself (compiled code does,
with an atomic counter), so a worker that wakes too late finds nothing to do and is not waited for:
it drew no ticket.

Fork safety: threads do not survive a fork; the child starts new ones when it needs them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue

Work = Callable[[], object]


class _Call:
    """One fork-join. A helper draws a ticket to take part; the caller draws the rest to close."""

    __slots__ = ("work", "helpers", "tickets", "finished")

    def __init__(self, work: Work, helpers: int) -> None:
        self.work = work
        self.helpers = helpers
        self.tickets = [None] * helpers
        self.finished: SimpleQueue[BaseException | None] = SimpleQueue()

    def draw(self) -> bool:
        try:
            self.tickets.pop()  # atomic
        except IndexError:
            return False
        return True

    def help(self) -> None:
        """Take part as a worker, unless the call is closed."""
        if not self.draw():
            return
        error: BaseException | None = None
        try:
            self.work()
        except BaseException as caught:  # noqa: BLE001 - raised again on the calling thread
            error = caught
        self.finished.put(error)

    def close(self) -> list[BaseException]:
        """Wait for the helpers that began; return what they raised."""
        begun = self.helpers
        while self.draw():
            begun -= 1
        results = [self.finished.get() for _ in range(begun)]
        return [error for error in results if error is not None]


class Workers:
    """Daemon threads, started when first needed, that serve calls from any thread."""

    def __init__(self) -> None:
        self._reset()
        reset = weakref.WeakMethod(self._reset)
        os.register_at_fork(after_in_child=lambda: _call_if_alive(reset))

    def run(self, work: Work, helpers: int) -> None:
        """Call `work()` here and on up to `helpers` workers. Raises: what any of them raised."""
        if helpers <= 0:
            work()
            return
        self._start(helpers)
        call = _Call(work, helpers)
        for _ in range(helpers):
            self._calls.put(call)
        try:
            work()
        finally:
            errors = call.close()
        if errors:
            raise errors[0]

    def _start(self, count: int) -> None:
        if self._count >= count:
            return
        with self._lock:
            while self._count < count:
                name = f"lazyfuse-{self._count}"
                args = (self._calls,)
                threading.Thread(target=_serve, args=args, name=name, daemon=True).start()
                self._count += 1

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._calls: SimpleQueue[_Call] = SimpleQueue()
        self._count = 0


@cache
def default_threads() -> int:
    """The processors this process may run on; fewer when OMP_NUM_THREADS says so, as it does in
    worker processes that share a machine."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(asked)) if asked.isdigit() and int(asked) > 0 else available


def _serve(calls: SimpleQueue[_Call]) -> None:
    while True:
        calls.get().help()


def _call_if_alive(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    function = method()
    if function is not None:
        function()
