"""Arrays that a thread makes while it records a function for `fuse`: it may write no others, since
nothing is written when the function is replayed."""

from __future__ import annotations

from threading import get_ident


class OutsideError(BaseException):
    """An array is to be written that was there before the recording. It is raised through the
    function, whatever errors that catches."""


class Witness:
    """What one recording has made, and whether it was refused to write something else."""

    def __init__(self) -> None:
        self.made: set[int] = set()
        self.has_refused = False


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
