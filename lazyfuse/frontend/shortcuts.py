"""The short way to record an operation: one that has been recorded before.

Loops, shapes and memory orders follow from the forms of the operands and from arguments that are
no arrays. So what the long way has recorded is kept under these as a recipe (`recipes.py`), and
the next time the same nodes are made directly. Whatever is out of the ordinary (small arrays,
other libraries' operands, numbers that a dtype cannot hold, several devices or threads, an
errstate that raises) goes the long way.

Recording is what an array program pays for each operation: this makes it 2 us instead of 7 to 50.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from threading import get_ident
from typing import Any, TypeVar

from lazyfuse.frontend import rerecord
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.patterns import fits, pattern_of, recorded_like
from lazyfuse.frontend.recipes import Recipe, learn, number_of
from lazyfuse.frontend.rerecord import (
    ARRAYS,
    NUMBERS,
    Key,
    Recipes,
    form,
    key_mark,
    key_of,
    map_recorded,
    shares_storage,
    static,
    write_key,
)
from lazyfuse.frontend.small import entered
from lazyfuse.ir.node import Node, Update
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime.caller import given_warnings

Binary = Callable[[Any, Any], Any]
Unary = Callable[[Any], Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Recipes that are remembered for each op.
_MOST = 1024
#: Elements that are few: what picks or writes them costs less than recording that.
FEW = 256


def binary(general: Binary, *, reflected: bool = False) -> Binary:
    """`general`, the long way of a binary operation, with a short way beside it. `reflected`: the
    second operand goes first."""
    known: Recipes = {}

    def call(operands: Sequence[Any]) -> Any:
        first, second = operands
        return general(second, first) if reflected else general(first, second)

    def method(self: Any, other: Any) -> Any:
        thread = get_ident()
        own = form(self, thread)
        kind = type(other)
        is_number = kind in NUMBERS
        mark: Any = kind if is_number else form(other, thread) if kind in ARRAYS else None
        found = known.get((mark, own) if reflected else (own, mark))
        if found is None or found.kind is None:
            return _record(known, (other, self) if reflected else (self, other), None, call)
        number = made = None
        if is_number:
            number = number_of(other, found.numbers[not reflected])  # type: ignore[arg-type]  # that of a number
            if number is not None:
                made = map_recorded(found.kind, self, thread, None, number, reflected)
        elif self._storage.device == other._storage.device:
            made = map_recorded(found.kind, self, thread, other, None, reflected)
        return general(self, other) if made is None else made

    return _with_recipes(method, known)


def number_first(method: Binary, general: Binary) -> Binary:
    """`general`, the long way of a binary operation, for a number and an array, with a short way
    beside it, which knows what `method` does."""
    known: Recipes = method.recipes  # type: ignore[attr-defined]  # `_with_recipes` gives them

    def call(number: Any, array: Any) -> Any:
        made = rerecord.recorded(known, (number, array), None)
        if made is not None:
            return made
        return _record(known, (number, array), None, lambda operands: general(*operands))

    return call


def unary(general: Unary) -> Unary:
    """`general`, the long way of a unary operation, with a short way beside it."""
    known: Recipes = {}

    def method(self: Any) -> Any:
        thread = get_ident()
        found = known.get((form(self, thread),))
        if found is None or found.kind is None:
            return _record(known, (self,), None, lambda operands: general(*operands))
        made = map_recorded(found.kind, self, thread)
        return general(self) if made is None else made

    return _with_recipes(method, known)


def _with_recipes(method: _Function, known: Recipes) -> _Function:
    """For machine code, which takes the place of a method."""
    method.recipes = known  # type: ignore[attr-defined]  # functions take attributes
    return method


def _nothing(operands: Sequence[Any]) -> None:
    """No choice."""


def several(
    general: _Function, *, choice: Callable[[Sequence[Any]], Hashable] = _nothing
) -> _Function:
    """`general`, the long way of an operation on arrays and numbers (where, clip), with a short
    way beside it; `choice`: what the values of these numbers decide."""
    known: Recipes = {}

    @wraps(general)
    def method(*operands: Any, **options: Any) -> Any:
        if options or len(operands) == 1:  # `where` of a condition alone, which is not recorded
            return general(*operands, **options)
        chosen = choice(operands)
        made = rerecord.recorded(known, operands, chosen)
        if made is not None:
            return made
        return _record(known, operands, chosen, lambda operands: general(*operands))

    _with_recipes(method, known)  # which finds keys without a choice alone
    return method  # type: ignore[return-value]  # it takes what `general` does


def remembered(general: _Function, *, is_for_any_shape: bool = True) -> _Function:
    """`general`, the long way of an operation on one array whose other arguments are axes, dtypes
    and the like, with a short way beside it. `is_for_any_shape`: what is one operation on elements
    is that for arrays of other shapes, too."""
    known: Recipes = {}

    @wraps(general)
    def method(*args: Any, **kwargs: Any) -> Any:
        if not args or type(args[0]) is not Handle._concrete:  # a scalar's copy is a scalar
            return general(*args, **kwargs)
        operands, extra = args[:1], None
        if kwargs or len(args) > 1:
            extra = static(args[1:], kwargs)
            if extra is None:
                return general(*args, **kwargs)
        made = rerecord.recorded(known, operands, extra)
        if made is not None:
            return made
        return _record(
            known, operands, extra, lambda operands: general(*args, **kwargs),
            is_for_any_shape=is_for_any_shape,
        )  # fmt: skip

    method.learned = known  # type: ignore[attr-defined]  # for machine code
    return method  # type: ignore[return-value]  # it takes what `general` does


def in_place(general: Binary) -> Binary:
    """`general`, the long way of an operation that is written into its first operand, with a short
    way beside it."""
    known: Recipes = {}

    def method(self: Any, other: Any) -> Any:
        if rerecord.written(known, (self, other), None):
            return self
        return _write(known, (self, other), None, lambda operands: general(*operands))

    return _with_recipes(method, known)


def into(
    general: Callable[[Sequence[Any], Any], Any],
) -> Callable[[Sequence[Any], Any], Any]:
    """`general`, the long way of an operation that is written into an array of the engine, which
    is given last, with a short way beside it."""
    known: Recipes = {}

    def method(args: Sequence[Any], out: Any) -> Any:
        operands, places, mark = _told_apart(args, out)
        if not rerecord.written(known, operands, mark):
            _write(
                known, operands, mark,
                lambda given: general([given[place] for place in places], given[0]),
                is_ordered=False,
            )  # fmt: skip
        return out

    return _with_recipes(method, known)


def _told_apart(args: Sequence[Any], out: Any) -> tuple[tuple[Any, ...], list[int], int]:
    """An output and arguments, each there once; where among them each argument is, and that as
    one number, two bits for each."""
    operands, places, mark = [out], [], 0
    for number, arg in enumerate(args):
        place = next((at for at, known in enumerate(operands) if known is arg), len(operands))
        if place == len(operands):
            operands.append(arg)
        places.append(place)
        mark |= place << 2 * number
    return tuple(operands), places, mark


def assignment(
    general: Callable[[Any, Any, Any], None], at_once: Callable[[Any, Any, Any], bool]
) -> Callable[[Any, Any, Any], None]:
    """`general`, the long way of array[key] = value, with a short way beside it, and what may
    write at once."""
    known: Recipes = {}

    def method(self: Any, key: Any, value: Any) -> None:
        if at_once(self, key, value):
            return
        operands: tuple[Any, ...] = (self, value)
        extra = None
        if type(key) in ARRAYS:
            if type(value) not in NUMBERS or key._code != "b1":  # others are looked at each time
                general(self, key, value)
                return
            operands = (self, key, value)
        else:
            extra = key_mark(key)
            is_own = type(value) in ARRAYS and shares_storage(self, value)
            if extra is not None and is_own and _is_written(self, key, value):
                return
            if extra is None or is_own:
                general(self, key, value)
                return
        if not rerecord.written(known, operands, extra):
            _write(known, operands, extra, lambda given: general(self, key, given[-1]))

    return method


def _is_written(array: Any, key: Any, value: Any) -> bool:
    """Whether a value is a view of what it is assigned to: what `x[1:3] += y` assigns last."""
    if value._owner is None or array._writeable is not True:
        return False
    part = array[key]
    return isinstance(part, Handle) and value.is_same_memory(part)


# ---- learning


def _record(
    known: Recipes,
    operands: Sequence[Any],
    extra: Any,
    call: Callable[[Sequence[Any]], Any],
    *,
    is_for_any_shape: bool = True,
) -> Any:
    """The result by the long way, whose recipe is kept; a small array beside others goes into the
    engine first."""
    given = entered(operands)
    if given is not operands or key_of(given, extra) in known:
        made = rerecord.recorded(known, given, extra)
        if made is not None:
            return made
    key = key_of(given, extra)
    if key is None:
        return call(operands)
    is_met, pattern = _is_met(known, key), pattern_of(key) if is_for_any_shape else None
    like = None if pattern is None else known.get(pattern)
    made = None if like is None else recorded_like(like, key, given)
    if made is None and not is_met and (like or pattern is None or not _is_met(known, pattern)):
        return call(given)
    if made is not None and not is_met:
        return made
    memory = _memory(given)
    before = given_warnings()
    made = call(given) if made is None else made
    is_operand = any(made is each for each in operands)
    is_new = _is_new(made) and not is_operand and made._storage.node not in memory
    if is_new and before == given_warnings():
        found = learn(made._storage.node, given, memory)
        if found is not None and not _reads_whole_memory(found):
            kind = found.kind if type(made) is Handle._concrete else None
            found = found._replace(array=_without_memory(made), kind=kind)
            _keep(known, key, found)
            if pattern is not None and like is None:
                _keep(known, pattern, found if fits(found, key) else found._replace(kind=None))
    return made


def _write(
    known: Recipes,
    operands: Sequence[Any],
    extra: Any,
    call: Callable[[Sequence[Any]], Any],
    *,
    is_ordered: bool = True,
) -> Any:
    """A write by the long way, whose recipe is kept; a small array goes into the engine first.
    `is_ordered`: the operands are those of the operation in their order, so they need not be told
    apart by what they read."""
    if operands[0]._host is not None:
        return call(operands)
    given = entered(operands)
    if given is not operands and rerecord.written(known, given, extra):
        return operands[0]
    key = write_key(given, extra)
    if key is None:
        return call(operands)
    if not _is_met(known, key):
        return call(given)
    memory = _memory(given)
    before = given_warnings()
    made = call(given)
    node: Node = given[0]._storage.node
    region = node.layout.shape if type(node) is Update else node.shape
    is_clear = is_ordered or len(set(memory)) == len(memory)
    is_large = size_of(region) > FEW
    if node is not memory[0] and before == given_warnings() and is_large and is_clear:
        found = learn(node, given, memory)
        if found is not None and not _reads_whole_memory(found, 1):
            numbers = None, *found.numbers[1:]  # where the target lies is part of the key
            _keep(known, key, found._replace(numbers=numbers))
    return made


#: Keys that have been met once, by the table that they are for.
_met: set[tuple[int, Key]] = set()
#: Whether what is recorded once is learnt, for tests: they run programs a few times.
learns_at_once = [False]


def _is_met(known: Recipes, key: Key) -> bool:
    """Whether a key has been met before: what is recorded once is not learnt, which takes a third
    of the time."""
    mark = id(known), key
    if learns_at_once[0] or mark in _met:
        return True
    if len(_met) >= _MOST:
        _met.clear()
    _met.add(mark)
    return False


def _memory(operands: Sequence[Any]) -> list[Node | None]:
    return [each._storage.node if type(each) in ARRAYS else None for each in operands]


def _is_new(made: Any) -> bool:
    """Whether a result is pending and has memory of its own."""
    if type(made) not in ARRAYS or made._host is not None or made._cast is not None:
        return False
    layout = made._storage.node.formed().layout
    return made._owner is None and made._writeable is True and made._layout is layout


def _reads_whole_memory(recipe: Recipe, first: int = 0) -> bool:
    """Whether a recipe depends on where in its memory an operand lies, from the `first` on: keys
    of writes say it of their target."""
    return any(place <= ~first for step in recipe.steps for place in step.places)


def _without_memory(array: Any) -> Any:
    made: Any = object.__new__(type(array))
    made._layout, made._writeable = array._layout, True
    made._owner = made._cast = made._host = None
    return made


def _keep(known: Recipes, key: Key, recipe: Recipe) -> None:
    if len(known) >= _MOST:
        known.clear()
    known[key] = recipe


def is_pending(value: Any) -> bool:
    """Whether a value is an array of the engine, or a pending scalar."""
    return type(value) in ARRAYS and value._host is None
