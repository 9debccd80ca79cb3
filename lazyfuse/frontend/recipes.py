"""Recipes: what the long way recorded for an operation, to be recorded again on other operands.

The nodes that an operation makes follow from the forms of its operands and from its other
arguments. So they are kept as prototypes, with the places of their operands, and made again:

    x.mean(axis=0)   ->   step 0: reduce add of operand 0      step 1: const 300
                          step 2: map divide of steps 0, 1     an array of step 2

A place is the number of an operand, which is read anew each time; ~number is the whole memory of
that operand; from the count of operands on it is the number of a step. The layout of a view is
one in the memory under it: where it stands on an operand, that has to be the whole of its memory
each time, and not a part of the same form, which begins elsewhere (`WHOLE`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np

from lazyfuse.frontend.convert import as_float, limits
from lazyfuse.ir import recast
from lazyfuse.ir.mapkind import MapKind
from lazyfuse.ir.node import Const, Fill, Map, Masked, Node, Reduce, Update, View
from lazyfuse.ir.origin import Origin
from lazyfuse.ir.recast import FLOAT_OF
from lazyfuse.ir.slots import slots_of
from lazyfuse.ops.table import OPS

#: Steps and operands of recipes: machine code has room for so many.
MOST_STEPS, MOST_OPERANDS = 24, 8
_KINDS = frozenset((Map, Masked, Reduce, View, Fill, Const, Update))
_WORD = 8
_new = object.__new__


class Number(NamedTuple):
    """A number among the operands: the dtype that it takes, and the range in which it does; of
    complex dtypes twice that of each part."""

    dtype: str
    low: float
    high: float


#: Among the numbers of a recipe: an array that is the whole of its memory.
WHOLE: Final = True


class Step(NamedTuple):
    """A node without what differs each time (`_OPEN`); the places of its operands; whether it has
    an origin (else it is None in the prototype); the words of its memory."""

    prototype: Node
    places: tuple[int, ...]
    has_origin: bool
    words: int


class Recipe(NamedTuple):
    """`numbers`: per operand, None or WHOLE for arrays. `array`: the result without its memory,
    None where an operand's memory is written. `kind`: of an array that is one Map of the operands
    in their order."""

    numbers: tuple[Number | bool | None, ...]
    steps: tuple[Step, ...]
    array: Any
    kind: MapKind | None


def number_of(value: float, number: Number) -> Const | None:
    """A number as a scalar of a kernel; None for one that its dtype does not take so."""
    if isinstance(value, np.generic):
        value = value.item()
    if number.dtype[0] == "c":
        size = max(abs(value.real), abs(value.imag))
        return Const(complex(value), number.dtype) if size <= number.high / 2 else None
    if not number.low <= value <= number.high:
        return None
    return Const(as_float(value) if number.dtype[0] == "f" else value, number.dtype)


def remade(
    recipe: Recipe, operands: Sequence[Any], scalars: Sequence[Const | None], origin: Origin
) -> Node:
    """The nodes of a recipe on other operands; `scalars` are those of the numbers. Gives the last
    one, which has no array yet."""
    made: list[Node] = []
    count = len(operands)
    for prototype, places, has_origin, _ in recipe.steps:
        srcs: list[Node] = []
        for place in places:
            if place >= count:
                srcs.append(made[place - count])
            elif place < 0:
                srcs.append(operands[~place]._storage.current())
            else:
                scalar = scalars[place]
                srcs.append(operands[place]._read() if scalar is None else scalar)
        made.append(_remade(prototype, tuple(srcs), origin if has_origin else None))
    return made[-1]


def _remade(prototype: Node, srcs: tuple[Node, ...], origin: Origin | None) -> Node:
    kind = type(prototype)
    if type(prototype) is Map:
        node = _map_like(prototype)
    else:
        names, values = _CLOSED[kind]
        node = _new(kind)
        for name, value in zip(names, values(prototype), strict=True):
            setattr(node, name, value)
    depth = held = 0
    for src in srcs:
        src.users += 1
        held += src.held
        if src.depth > depth:
            depth = src.depth
    node.srcs, node.origin, node.held = srcs, origin, held
    node.depth = 0 if kind is Const else depth + 1
    return node


def _map_like(prototype: Map) -> Node:
    """What most nodes are, written out."""
    node = _new(Map)
    node.form = form = prototype.form
    node.shape, node.dtype, node.strides = form.shape, form.dtype, form.strides
    node.op, node.loop, node._mapkind = prototype.op, prototype.loop, prototype._mapkind
    node.is_costly, node.is_scalar = prototype.is_costly, prototype.is_scalar
    node.buffer = node.handle = None
    node.seen = False
    node.users = 0
    return node


#: What a prototype lacks.
_OPEN = frozenset(("srcs", "depth", "held", "origin"))


def _taken_over(kind: type[Node]) -> tuple[tuple[str, ...], Callable[[Node], tuple[Any, ...]]]:
    """What nodes of a class take over from a prototype: the names, and what gets the values."""
    names = tuple(name for name in slots_of(kind).names if name not in _OPEN)
    return names, attrgetter(*names)


_CLOSED = {kind: _taken_over(kind) for kind in _KINDS}


# ---- learning


def learn(node: Node, operands: Sequence[Any], memory: Sequence[Node | None]) -> Recipe | None:
    """The recipe of what has been recorded: `node` on operands whose memory was `memory`, None for
    numbers. None for what is not so simple: results at hand, library calls, operands that
    cannot be told apart."""
    if node.buffer is not None or type(node) not in _KINDS or len(operands) > MOST_OPERANDS:
        return None
    found = _one_map(node, operands, memory)
    if found is not None:
        return found
    arrays = [item for item in memory if item is not None]
    if len(set(arrays)) < len(arrays) or len(memory) - len(arrays) > 1:
        return None
    return _Learner(operands, memory).recipe(node)


def _one_map(node: Node, operands: Sequence[Any], memory: Sequence[Node | None]) -> Recipe | None:
    """The recipe of a Map of the operands in their order."""
    if type(node) is not Map or len(node.srcs) != len(operands):
        return None
    numbers: list[Number | None] = []
    for src, item, operand in zip(node.srcs, memory, operands, strict=True):
        number = _number(src, operand) if item is None else None
        if number is None and (item is None or not _is_read(src, item, operand)):
            return None
        numbers.append(number)
    kind = node.signature
    places = tuple(range(len(operands)))
    return Recipe(tuple(numbers), (_step(node, places),), None, kind)


def _number(src: Node, value: Any) -> Number | None:
    """How a number became this node, if it did."""
    bounds = limits(FLOAT_OF.get(src.dtype, src.dtype))
    if type(src) is not Const or src.from_shape or bounds is None:
        return None
    is_same_kind = isinstance(value, int | np.integer) or src.dtype[0] in "fc"
    return Number(src.dtype, *bounds) if is_same_kind and src.value == value else None


def _is_read(src: Node, memory: Node, operand: Any) -> bool:
    """Whether a node is what an operand reads of its memory."""
    layout, form = operand._layout, memory.formed()
    if operand._cast is not None:  # a part of complex numbers, which is read by an operation
        return _is_part(src, memory, operand)
    if layout == form.layout:  # of the array itself, or of a view of all of it
        return src is memory
    return type(src) is View and src.srcs == (memory,) and src.layout == layout


def _is_part(src: Node, memory: Node, operand: Any) -> bool:
    """Whether a node is the part of complex memory that an operand reads."""
    part = recast.part(memory, operand._cast, operand._layout)
    if part is None or type(src) is not Map or src.op is not OPS[recast.PARTS[part.number]]:
        return False
    pairs = src.srcs[0]
    return type(pairs) is View and pairs.srcs == (memory,) and pairs.layout == part.layout


def _step(node: Node, places: tuple[int, ...]) -> Step:
    form = node.formed()
    assert form is not None
    prototype = _new(type(node))
    for name in _CLOSED[type(node)][0]:
        setattr(prototype, name, getattr(node, name))
    prototype.users, prototype.handle, prototype.seen = 0, None, False
    if node.origin is None:
        prototype.origin = None
    words = type(node).__basicsize__ // _WORD
    return Step(prototype, places, node.origin is not None, words)


class _Learner:
    """Finds the steps of a recipe of several nodes."""

    def __init__(self, operands: Sequence[Any], memory: Sequence[Node | None]) -> None:
        self.operands, self.memory = operands, memory
        self.numbers: list[Number | bool | None] = [None] * len(operands)
        self.places: dict[Node, int] = {}
        self.steps: list[Step] = []

    def recipe(self, node: Node) -> Recipe | None:
        """The recipe of a node, if it has one."""
        stack = [node]
        for _ in range(MOST_STEPS * 4):
            current = stack[-1]
            missing = [src for src in current.srcs if self._place(src) is None]
            if missing:
                stack += missing
            elif not self._add(current):
                return None
            else:
                stack.pop()
            if not stack:
                break
        taken = [item is None and number is None
                 for item, number in zip(self.memory, self.numbers, strict=True)]  # fmt: skip
        if stack or any(taken):
            return None
        return Recipe(tuple(self.numbers), tuple(self.steps), None, None)

    def _place(self, src: Node) -> int | None:
        """The place of a node that is there already, or is read."""
        found = self.places.get(src)
        if found is not None:
            return found
        for number, (item, operand) in enumerate(zip(self.memory, self.operands, strict=True)):
            if item is None:
                number_found = _number(src, operand)
                if number_found is not None:
                    if self.numbers[number] is not None:
                        return None
                    self.numbers[number] = number_found
                    self.places[src] = number
                    return number
            elif _is_read(src, item, operand):
                return number
            elif src is item:
                return ~number
        return None

    def _add(self, node: Node) -> bool:
        """Make a node a step, if it can be one."""
        if node in self.places:
            return True
        if type(node) not in _KINDS or node.buffer is not None or len(self.steps) >= MOST_STEPS:
            return False
        if type(node) is Const and None in self.memory:
            return False  # it may follow from the number
        places = tuple([self._place(src) for src in node.srcs])
        base = places[0] if type(node) in (View, Update) else None
        if base is not None and 0 <= base < len(self.memory) and self.memory[base] is not None:
            self.numbers[base] = WHOLE
        self.steps.append(_step(node, places))  # type: ignore[arg-type]  # all are there
        self.places[node] = len(self.operands) + len(self.steps) - 1
        return True
