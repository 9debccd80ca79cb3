"""What lines of the user's have not often done yet, which is computed at once.

A plan and a kernel cost milliseconds, a recorded run of what has no plan yet some hundred
microseconds: what runs once or twice on less than some hundred thousand elements, or each time on
others, NumPy has done by then. So an operation on arrays that are at hand is computed at once, as
on small ones (`windows.py`), until its line has computed as much of arrays of that size as takes
the time of planning. From then on all that its function does with such arrays is recorded, so that
a loop records all of its body at once, not one more line each time. Where that turns out to be in
vain, since what is recorded is another structure each time and no plan follows from another, the
lines compute at once for a while again.

Machine code asks for itself, of the same table (`backends/cpu/methods_novel_text.py`).
"""

from __future__ import annotations

from collections.abc import MutableSequence

from lazyfuse import config
from lazyfuse.frontend.convert import eager_size
from lazyfuse.ops.rules import ENOUGH, LIGHT, NOVEL_BITS, SPREAD
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import met, session
from lazyfuse.runtime.caller import is_users, user_frame
from lazyfuse.runtime.trace import Trace

#: In the place of an instruction: all of them.
_ALL = -1
#: Elements that a function computes at once, for each of its lines that were recorded in vain: a
#: second attempt takes a hundredth of the time of these.
_AGAIN = 16 * ENOUGH
_WORD = 1 << 64


class _Table:
    """Of lines and sizes by a hash: what is kept there, and how many elements it has computed; of
    all lines of a function, where one has computed enough, and less than none where they compute
    as many at once. Others may take their place."""

    def __init__(self) -> None:
        self.words: MutableSequence[int] = [0] * (2 << NOVEL_BITS)
        self.first = 0

    def place(self, code: int, instruction: int, size: int) -> tuple[int, int]:
        """The word of what is kept of an instruction and a size, and what says that it is that."""
        key = (((code ^ instruction) * SPREAD + size) * SPREAD) % _WORD
        signed = key - _WORD if key >= _WORD >> 1 else key
        return self.first + 2 * (key >> 64 - NOVEL_BITS), signed

    def done(self, place: tuple[int, int]) -> int:
        """How many elements it has computed."""
        word, key = place
        return self.words[word + 1] if self.words[word] == key else 0

    def note(self, place: tuple[int, int], elements: int) -> None:
        word, key = place
        self.words[word], self.words[word + 1] = key, elements

    def clear(self) -> None:
        for word in range(self.first, self.first + (2 << NOVEL_BITS)):
            self.words[word] = 0


_table = _Table()


def forget() -> None:
    """Everything is new again."""
    _table.clear()


session.on_clear(forget)


def share(words: MutableSequence[int], first: int) -> None:
    """Keep the table where machine code has it, from a word on."""
    for number, word in enumerate(_table.words[_table.first :][: 2 << NOVEL_BITS]):
        words[first + number] = word
    _table.words, _table.first = words, first


def cold_size() -> int:
    """The largest size of arrays that may be computed at once; the caller knows that some are."""
    return config.current().cold_size


def is_novel(size: int, work: int) -> bool:
    """Whether the user's line, and each other one of its function, has not done much yet with so
    many elements; it does now, then. `work`: as many bytes as so many elements of 8 have."""
    if work * LIGHT <= eager_size():
        return True
    frame = user_frame(0)
    if frame is None:
        return False
    is_users(frame.f_globals)  # known from now on, to machine code
    code = id(frame.f_code)
    everywhere = _table.place(code, _ALL, size)
    done = _table.done(everywhere)
    if done < 0:  # the function has recorded in vain
        _table.note(everywhere, done + work)
    if done:
        return done < 0
    here = _table.place(code, frame.f_lasti, size)
    before = _table.done(here)
    if before >= ENOUGH:
        _table.note(everywhere, before)
        return False
    _table.note(here, before + work)
    return True


def _was_in_vain(pending: Trace, times: int) -> None:
    """The functions that have recorded operations in vain compute all of their lines at once with
    arrays of those sizes, and do so for longer."""
    lines: dict[tuple[int, int], set[int]] = {}
    for node in pending.nodes:
        if node.buffer is None and node.origin is not None:
            code, instruction = id(node.origin[0]), node.origin[1]
            for size in {size_of(each.shape) for each in (node, *node.srcs)}:
                lines.setdefault((code, size), set()).add(instruction)
    for (code, size), its in lines.items():
        _table.note(_table.place(code, _ALL, size), -times * len(its) * _AGAIN)


met.when_vain.append(_was_in_vain)
