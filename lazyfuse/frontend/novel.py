"""What functions of the user's have not often done yet, which is computed at once.

A plan and a kernel cost milliseconds, a recorded run of what has no plan yet some hundred
microseconds: what runs once or twice on less than some hundred thousand elements, or each time on
others, NumPy has done by then. So an operation on arrays that are at hand is computed at once, as
on small ones (`windows.py`), until its function has computed as much of arrays of that size as
takes the time of planning. From then on all that it does with such arrays is recorded, so that a
loop records all of its body at once, not one more line each time. Where that turns out to be in
vain, since what is recorded is another structure each time and no plan follows from another, or
takes longer than NumPy (`runtime/payoff.py`), the function computes at once for a while again.

Machine code asks for itself, of the same table (`backends/cpu/methods_novel_text.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence

from lazyfuse import config
from lazyfuse.ops.rules import ENOUGH, LIGHT, NOVEL_BITS, SPREAD
from lazyfuse.runtime import met, session
from lazyfuse.runtime.caller import is_users, user_frame

#: How many times as many elements a function computes at once when it has recorded in vain: a
#: second attempt takes a hundredth of the time of these.
_AGAIN = 2
_WORD = 1 << 64


class _Table:
    """Of functions and sizes by a hash: what is kept there, and how many elements the function is
    yet to compute at once, negative. Each has two places, and takes that of one with nothing left
    to compute at once only where both are: a loop of ever new sizes does not make others new."""

    def __init__(self) -> None:
        self.words: MutableSequence[int] = [0] * (2 << NOVEL_BITS)
        self.first = 0

    def place(self, code: int, size: int) -> tuple[int, int]:
        """The word of what is kept of a function and a size, and what says that it is that."""
        key = ((code * SPREAD + size) * SPREAD) % _WORD
        signed = key - _WORD if key >= _WORD >> 1 else key
        entry = key >> 64 - NOVEL_BITS
        own, other, words = self.first + 2 * entry, self.first + 2 * (entry ^ 1), self.words
        if words[own] == signed:
            return own, signed
        is_taken = words[own] != 0 and words[own + 1] >= 0
        return (other if is_taken or words[other] == signed else own), signed

    def left(self, place: tuple[int, int]) -> int:
        """How many elements are left to be computed at once, negative; else 0 or more."""
        word, key = place
        return self.words[word + 1] if self.words[word] == key else -ENOUGH

    def note(self, place: tuple[int, int], left: int) -> None:
        word, key = place
        self.words[word], self.words[word + 1] = key, left

    def clear(self) -> None:
        length = 2 << NOVEL_BITS
        self.words[self.first : self.first + length] = [0] * length


_table = _Table()


def forget() -> None:
    """Everything is new again."""
    _table.clear()


session.on_clear(forget)


def share(words: MutableSequence[int], first: int) -> None:
    """Keep the table where machine code has it, from a word on."""
    last = _table.first + (2 << NOVEL_BITS)
    words[first : first + (2 << NOVEL_BITS)] = _table.words[_table.first : last]
    _table.words, _table.first = words, first


def cold_size() -> int:
    """The largest size of arrays that may be computed at once; the caller knows that some are."""
    return config.current().cold_size


def is_novel(size: int, work: int) -> bool:
    """Whether the user's function has not done much yet with so many elements; it does now, then.
    `work`: as many bytes as so many elements of 8 have."""
    if work * LIGHT <= config.current().eager_size:
        return True
    frame = user_frame(0)
    if frame is None:
        return False
    is_users(frame.f_globals)  # known from now on, to machine code
    place = _table.place(id(frame.f_code), size)
    left = _table.left(place)
    if left < 0:
        _table.note(place, left + work)
    return left < 0


def _was_in_vain(where: Iterable[tuple[int, int]], times: int) -> None:
    """The functions that have recorded operations in vain on arrays of some sizes are new again,
    and remain so for longer."""
    for function, size in where:
        _table.note(_table.place(function, size), -times * _AGAIN * ENOUGH)


met.when_vain.append(_was_in_vain)
