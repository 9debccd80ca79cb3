"""Elements of pending arrays that are asked for at once, as a simulation does that keeps what a
probe measures:

    for t in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + ...)
        trace[t] = u[3, 3]

To record the element, to plan it with the array and to run both takes three times as long as to
compute the array and to look. So an array that is stored anyway is computed where an element of it
is read, in places of the user's code where that has been asked for some times.
"""

from __future__ import annotations

from typing import Any

from lazyfuse.ir.node import Map, Node, View
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import user_frame
from lazyfuse.runtime.trace import is_dear

#: How often elements have to be asked for in a place, before anything else is recorded on the
#: array; and places that are remembered.
_TIMES, _MOST = 4, 1024

#: By the identity of a function's code and the instruction, which is another one once Python has
#: specialized it.
_asked: dict[tuple[int, int], int] = {}
session.on_clear(_asked.clear)


def is_probe(current: Node) -> bool:
    """Whether an element of a pending array is read in such a place, and the array is stored
    anyway."""
    if not _asked or not is_dear(current):
        return False
    frame = user_frame(0)
    return frame is not None and _asked.get((id(frame.f_code), frame.f_lasti), 0) >= _TIMES


def note(element: Any) -> None:
    """Remember where a pending scalar was recorded that is asked for now, if it is an element of
    an array on which nothing else is recorded yet."""
    node: Node = element._storage.node
    srcs = node.srcs if isinstance(node, Map) else ()  # once: another thread may compute meanwhile
    places = srcs[0].srcs if srcs and isinstance(srcs[0], View) else ()
    array = places[0] if places else None
    if array is None or array.buffer is not None or array.users > 1 or node.origin is None:
        return
    if is_dear(array) and array.is_held:
        if len(_asked) >= _MOST:
            _asked.clear()
        place = (id(node.origin[0]), node.origin[1])
        _asked[place] = _asked.get(place, 0) + 1
