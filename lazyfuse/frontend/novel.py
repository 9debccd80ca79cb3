"""What functions of the user's have not often done yet, which is computed at once.

A plan and a kernel cost milliseconds, a recorded run of what has no plan yet some hundred
microseconds: what runs once or twice on less than some hundred thousand elements, or each time on
others, NumPy has done by then. So an operation on arrays that are at hand is computed at once, as
on small ones (`windows.py`), until its function has computed as much of arrays of that size as
takes the time of planning; sooner where values are asked for after few operations. From then on
all that it does with such arrays is recorded, so that a loop records all of its body at once, not
one more line each time. Where that turns out to be in vain, since what is recorded is another
structure each time and no plan follows from another, or takes longer than NumPy
(`runtime/payoff.py`), the function computes at once for a while again.

Machine code asks for itself, of the same table (`backends/cpu/methods_novel_text.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence

from lazyfuse import config
from lazyfuse.ops.rules import (
    ASKED_SOON,
    ASKED_TIMES,
    ASKED_WORDS,
    ENOUGH,
    LIGHT,
    NOVEL_BITS,
    NOVEL_WORDS,
    SPREAD,
)
from lazyfuse.runtime import met, session
from lazyfuse.runtime.caller import is_users, user_frame

#: How many times as many elements a function computes at once when it has recorded in vain: a
#: second attempt takes a hundredth of the time of these.
_AGAIN = 2
_WORD = 1 << 64
#: Words of the table.
WORDS = (NOVEL_WORDS << NOVEL_BITS) + ASKED_WORDS


class _Table:
    """Of functions and sizes by a hash: what is kept there, and how many elements the function is
    yet to compute at once, negative; since which series of operations, and how many those were
    when it began. Each has two places, and takes that of one with nothing left to compute at once
    only where both are: a loop of ever new sizes does not make others new. Behind them, which
    series this is, and the lengths of it and of the last one: values are asked for in between."""

    def __init__(self) -> None:
        self.words: MutableSequence[int] = [0] * WORDS
        self.first = 0

    def place(self, code: int, size: int) -> tuple[int, int]:
        """The word of what is kept of a function and a size, and what says that it is that."""
        key = ((code * SPREAD + size) * SPREAD) % _WORD
        signed = key - _WORD if key >= _WORD >> 1 else key
        entry, words = key >> 64 - NOVEL_BITS, self.words
        own = self.first + NOVEL_WORDS * entry
        if words[own] == signed:
            return own, signed
        other = self.first + NOVEL_WORDS * (entry ^ 1)
        is_taken = words[own] != 0 and words[own + 1] >= 0
        return (other if is_taken or words[other] == signed else own), signed

    def left(self, place: tuple[int, int]) -> int:
        """How many elements are left to be computed at once, negative; else 0 or more."""
        word, key = place
        return self.words[word + 1] if self.words[word] == key else -ENOUGH

    def note(self, place: tuple[int, int], left: int) -> None:
        """Put down how many are left."""
        word, key = place
        self._begin(word, left)
        self.words[word], self.words[word + 1] = key, left

    def count(self, place: tuple[int, int], work: int) -> bool:
        """Count an operation on so many elements; whether it is computed at once."""
        left, (word, key) = self.left(place), place
        if left >= 0:
            return False
        words, series = self.words, self._series()
        if words[word] != key:
            self.note(place, left)
        elif words[word + 2] != words[series]:
            is_next = words[word + 2] + 1 == words[series]
            if is_next and words[series + 2] <= ASKED_SOON:
                left += max(left - words[word + 3], 0) * (ASKED_TIMES - 1)
            self._begin(word, left)
        words[word + 1] = left + work
        words[series + 1] += 1
        return True

    def asked(self) -> None:
        """Values are asked for: another series of operations begins, if there were any."""
        series = self._series()
        if self.words[series + 1]:
            self.words[series + 2], self.words[series + 1] = self.words[series + 1], 0
            self.words[series] += 1

    def clear(self) -> None:
        self.words[self.first : self.first + WORDS] = [0] * WORDS

    def _begin(self, word: int, left: int) -> None:
        """Remember how many were left when the series began."""
        self.words[word + 2], self.words[word + 3] = self.words[self._series()], left

    def _series(self) -> int:
        return self.first + (NOVEL_WORDS << NOVEL_BITS)


_table = _Table()


def forget() -> None:
    """Everything is new again."""
    _table.clear()


session.on_clear(forget)


def asked() -> None:
    """Values of the engine's arrays are asked for."""
    _table.asked()


def share(words: MutableSequence[int], first: int) -> None:
    """Keep the table where machine code has it, from a word on."""
    last = _table.first + WORDS
    words[first : first + WORDS] = _table.words[_table.first : last]
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
    return _table.count(_table.place(id(frame.f_code), size), work)


def _was_in_vain(where: Iterable[tuple[int, int]], times: int) -> None:
    """The functions that have recorded operations in vain on arrays of some sizes are new again,
    and remain so for longer."""
    for function, size in where:
        _table.note(_table.place(function, size), -times * _AGAIN * ENOUGH)


met.when_vain.append(_was_in_vain)
