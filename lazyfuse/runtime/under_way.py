"""Which threads are recording functions for `fuse` now."""

from __future__ import annotations

import threading

#: The recordings under way, an object each, and the thread of each. While there are any, machine
#: code leaves all calls to the Python method, since they have to see them. Whoever adds one in a
#: `try` and takes it out in its `finally`, by one call each, keeps the number right whatever
#: interrupt comes when.
recordings: dict[object, int] = {}


def is_recording() -> bool:
    """Whether this thread is recording a function for `fuse`."""
    return bool(recordings) and threading.get_ident() in recordings.values()
