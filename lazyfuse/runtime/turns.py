"""Turns of loops: a chain that the same line deepens again and again is cut behind that line.

    for k in range(700):
        p = np.minimum(p, p[:, k, None] + p[k])         # cut after a few turns, always here

To plan and compile an operation takes as long as NumPy takes for it on a hundred thousand elements
and more. A chain of a thousand would be planned whole, for little gain. Chains of a few turns each
are one structure, or one of a shape class, and planned once for all; so they are always cut at one
place, elsewhere each would be another: at one that comes once in a turn, and of these where the
program has the fewest arrays, which are all stored. What turns out to be long is cut less often:
its turns fuse with more of their like. Long expressions without loops stay whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyfuse import events
from lazyfuse.config import Options
from lazyfuse.ir.node import Node
from lazyfuse.ir.origin import Origin
from lazyfuse.ir.storage import RECENT
from lazyfuse.runtime import session
from lazyfuse.runtime.under_way import is_recording

#: Operations one upon the other from which a chain is a loop's; from which that is cut then, at
#: first, and at last: to store a value and to load it again costs some per cent of so many.
LONG, FEWEST, MOST = 128, 16, 256
#: From which it is looked at, so that it is known where it is best cut; and how often the arrays
#: are counted that are pending at one of its places.
LOOKED_AT, _MOST_COUNTED = 96, 4
#: Bytes of arrays up to which loops are cut: NumPy takes longer for an operation on more than it
#: takes to be planned, and to store and load them again costs much more than that.
_LARGE = 2 << 20
#: Bytes of results that known plans give for each structure that was new, before a loop is cut
#: half as often: some times as long as a kernel of twice the operations takes to be compiled.
_GROWS = 64 << 20
#: Places that are remembered, at most.
_MOST_PLACES = 256

#: Code by its identity, since its hash is one of all its instructions. That of code that is gone
#: may come again, which is then cut as the other was.
_Place = tuple[int, int]


@dataclass(slots=True)
class _Met:
    """Where a chain is deep: how deep the last time, how many times so far, and the fewest arrays
    that were pending then."""

    depth: int
    times: int
    pending: int


@dataclass(slots=True)
class _Turn:
    """Where a loop is cut: from which depth on; the bytes that known plans gave here since that is
    so, and how many plans were not known."""

    depth: int = FEWEST
    nbytes: int = 0
    unknown: int = 0


#: The depth of chains from which it is worth asking; machine code looks at it.
DEPTH = [LOOKED_AT]
#: Where loops are cut; and where long chains grew since.
_turns: dict[_Place, _Turn] = {}
_met: dict[_Place, _Met] = {}
#: How deep a chain is that is cut at a new place.
_longest = [LONG]
#: Whether the next operation that is asked about is the last one.
_soon: list[bool] = []


def is_turn(node: Node, options: Options, device: str) -> bool:
    """Whether a deep chain is to be cut behind its last operation: where one was cut before, or
    which has deepened it before. Not while a function is recorded, which is planned for good, nor
    where nothing is done for first calls (`cold_size`)."""
    origin = node.origin
    if origin is None or device != "cpu" or not options.cold_size or is_recording():
        return False
    if _nbytes(node) > _LARGE:
        return False
    if _soon:
        _soon.clear()
        DEPTH[0] = FEWEST if _turns else LOOKED_AT
        return True
    place, depth = _place(origin), node.depth
    turn = _turns.get(place)
    if turn is None:
        if not _has_grown(place, depth) or depth <= _longest[0]:
            return False
        chosen = _best(node, place)
        turn = _new_turn(chosen)
        if chosen != place:
            _longest[0] = 2 * depth  # it comes soon
            return False
    _longest[0] = LONG
    DEPTH[0] = turn.depth
    return depth > turn.depth


def _nbytes(node: Node) -> int:
    """The bytes of the result of an operation, or of an operand if that is larger."""
    return max(each.nbytes for each in (node, *node.srcs))


def _place(origin: Origin) -> _Place:
    return id(origin[0]), origin[1]


def compute_soon() -> None:
    """Have the next operation on something pending computed, with the arrays that are made of each
    other: what was recorded in vain is computed at once again where its operands are at hand."""
    _soon[:] = [True]
    DEPTH[0] = 1


def _has_grown(place: _Place, depth: int) -> bool:
    """Whether a chain grows where it has grown before; else it is a long expression, which is not
    asked about again soon."""
    before = _met.get(place)
    if before is None:
        if len(_met) >= _MOST_PLACES:
            _met.clear()
        _met[place] = _Met(depth, 1, _pending())
        return False
    has_grown = depth > before.depth
    if not has_grown:
        DEPTH[0] = min(max(DEPTH[0], depth), LONG)
    before.depth, before.times = depth, before.times + 1
    if before.times <= _MOST_COUNTED:
        before.pending = min(before.pending, _pending())
    return has_grown


def _best(node: Node, place: _Place) -> _Place:
    """The place of a loop where it is cut, which has grown at one: of those that come about once
    in a turn, one with the fewest arrays that are pending, as early as it is. Where other loops
    were is none, which would not come."""
    found, its = _met.copy(), _places(node)
    again = {each: met for each, met in found.items() if met.times > 1 and each in its}
    if not again:  # another thread has found its own
        return place
    most = 2 * min(met.times for met in again.values())
    once = [each for each, met in again.items() if met.times <= most]
    return min(once, key=lambda each: (again[each].pending, -again[each].depth))


def _places(node: Node) -> set[_Place]:
    """The places of the longest chain under a node."""
    found: set[_Place] = set()
    at: Node | None = node
    while at is not None and at.buffer is None:
        if at.origin is not None:
            found.add(_place(at.origin))
        at = max(at.srcs, key=lambda src: src.depth, default=None)
    return found


def _pending() -> int:
    """How many arrays are pending, of the last ones."""
    others = [None if handle is None else handle() for handle in RECENT]
    return sum(each is not None and each.node.buffer is None for each in others)


def _new_turn(place: _Place) -> _Turn:
    if len(_turns) >= _MOST_PLACES:
        _turns.clear()
    _met.clear()
    turn = _turns[place] = _Turn()
    return turn


def structures() -> tuple[int, int]:
    """How many runs there were without a plan, and how many structures were new: planned, or
    interpreted for the first time."""
    return events.unknown_runs(), events.new_plans() + len(session.met)


def learn(node: Node, before: tuple[int, int]) -> None:
    """A chain has been cut behind a node, and computed, by a plan that was known or not. What is
    interpreted once more says nothing, it may get its plan soon. `before`: `structures()`."""
    turn = None if node.origin is None else _turns.get(_place(node.origin))
    if turn is None:
        return
    runs, new = structures()
    if runs != before[0]:
        turn.unknown += new != before[1]
        return
    turn.nbytes += _nbytes(node)
    if turn.nbytes >= _GROWS * max(turn.unknown, 1) and turn.depth < MOST:
        turn.depth, turn.nbytes, turn.unknown = 2 * turn.depth, 0, 0


def forget() -> None:
    """Forget where loops are."""
    _turns.clear()
    _met.clear()
    _soon.clear()
    _longest[0] = LONG
    DEPTH[0] = LOOKED_AT


session.on_clear(forget)
