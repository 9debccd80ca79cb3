"""Locks for `with`, which an interrupt does not leave taken.

`with lock` calls `__enter__`. CPython 3.14 looks for interrupts when a call to C is over, and what
is raised then comes before the block, so that `__exit__` is not called: the lock has been taken,
for ever. 3.11 to 3.13 have an instruction that enters, and from 3.15 on that call does not look.
Python's own function is left without a look; but where a program is traced by functions in Python,
which run as `__enter__` returns, an interrupt in those may still leave a lock taken.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info[:2] != (3, 14):
    Lock, RLock = threading.Lock, threading.RLock
else:
    from _thread import RLock as _RLock

    class RLock(_RLock):
        """A lock that an interrupt which comes as it is taken gives back. `__exit__` stays C's:
        whatever is in Python may be interrupted before it gives back anything."""

        __slots__ = ()

        def __enter__(self) -> bool:
            before = self._recursion_count()
            try:
                return self.acquire()
            except BaseException:
                if self._recursion_count() > before:
                    self.release()
                raise

    #: Who has it may take it again, which nobody here relies on: `locked` is asked first.
    Lock = RLock
