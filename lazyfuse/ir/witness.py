"""Arrays that a thread makes while it records a function for `fuse`: it may write no others, since
nothing is written when the function is replayed.

Memory of the engine is known by its identity when it is made, and a write into any other is
refused before it is done. Small arrays are NumPy's own, and made in a hundred places: those that
are written are kept with what was in them, and what somebody still has when the function has ended
was there before, or is there from now on. What was there before gets its values back: the function
is going to be called again for its result.
"""

from __future__ import annotations

from sys import getrefcount
from threading import get_ident
from typing import Any

import numpy as np


class OutsideError(BaseException):
    """An array is to be written that was there before the recording. It is raised through the
    function, whatever errors that catches."""


class Witness:
    """What one recording has made; whether it was refused to write something else; and the small
    arrays that it has written, by their identities, each with its values before. own: those that
    it has made, by the identities of whose memory it is."""

    def __init__(self) -> None:
        self.made: set[int] = set()
        self.has_refused = False
        self.written: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.own: set[int] = set()

    def restore(self) -> bool:
        """Give small arrays that somebody else has their values back, but for those that the
        recording has made itself: a cache that it has filled stays filled. Whether there are any,
        also of those."""
        is_any = False
        for array, before in reversed(self.written.values()):  # which may overlap
            if getrefcount(array) > _ALONE[0]:
                is_any = True
                if id(array) not in self.own:
                    _put_back(array, before)
        self.written.clear()
        return is_any


def _put_back(array: np.ndarray, before: np.ndarray) -> None:
    was_writeable = array.flags.writeable
    try:
        array.flags.writeable = True
        array[...] = before
    except ValueError:  # it is memory that nobody may write, any more
        return
    finally:
        if not was_writeable:
            array.flags.writeable = False


#: How many references `restore` sees of an array that nobody else has.
_ALONE = [1 << 30]


def _of_nobody() -> int:
    """That number."""
    probe, found = Witness(), 0
    probe.written[0] = (np.empty(1), np.empty(1))
    for array, _ in reversed(probe.written.values()):
        found = getrefcount(array)
    return found


_ALONE[0] = _of_nobody()

#: The recordings under way, by their threads.
WITNESSES: dict[int, Witness] = {}


def note(storage: object) -> None:
    """Memory has been made. Its identity is enough: what was there before has another one."""
    witness = WITNESSES.get(get_ident())
    if witness is not None:
        witness.made.add(id(storage))


def check(storage: object) -> None:
    """Memory is to be written. Raises: OutsideError where a recording has not made it."""
    witness = WITNESSES.get(get_ident())
    if witness is not None and id(storage) not in witness.made:
        witness.has_refused = True
        raise OutsideError


def keep(array: Any) -> None:
    """A small array is to be written: its values are kept, once."""
    witness = WITNESSES.get(get_ident())
    if witness is None:
        return
    array = root(array)
    if id(array) not in witness.written:
        witness.written[id(array)] = (array, array.copy())


def root(array: np.ndarray) -> np.ndarray:
    """The array of NumPy's whose memory a view has."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array
