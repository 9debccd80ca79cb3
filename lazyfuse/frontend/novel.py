"""What lines of the user's have not often done yet, which is computed at once.

A plan and a kernel cost milliseconds, a recorded run of what has no plan yet some hundred
microseconds: what runs once or twice on less than a hundred thousand elements, or each time on
others, NumPy has done by then. So an operation on arrays that are at hand is computed at once, as
on small ones (`windows.py`), until its line has computed as much of arrays of that size as takes
the time of planning; then it is recorded. Machine code counts for itself
(`backends/cpu/methods_novel_text.py`).
"""

from __future__ import annotations

from lazyfuse import config
from lazyfuse.ops.rules import ENOUGH
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import is_users, user_frame

#: Lines and sizes that are remembered.
_MOST = 4096
#: Elements by the user's code, which is not held, its instruction and the size.
_done: dict[tuple[int, int, int], int] = {}
session.on_clear(_done.clear)


def cold_size() -> int:
    """The largest size of arrays that may be computed at once; the caller knows that some are."""
    return config.current().cold_size


def is_novel(size: int) -> bool:
    """Whether the user's line has not done much yet with so many elements; it does now, then."""
    frame = user_frame(0)
    if frame is None:
        return False
    is_users(frame.f_globals)  # known from now on, to machine code
    place = id(frame.f_code), frame.f_lasti, size
    before = _done.get(place, 0)
    if before >= ENOUGH:
        return False
    if len(_done) >= _MOST:
        _done.clear()
    _done[place] = before + size
    return True
