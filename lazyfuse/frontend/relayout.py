"""Views whose layout follows from the array's and from plain arguments: what a function found for
one array holds for the next of the same layout.

To reshape takes 3 us of arithmetic in Python; to look up what came of it, 0.5. Machine code looks
there, too (`methods_reshapes_text.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from lazyfuse.frontend.handle import Handle, view
from lazyfuse.ir.layout import Layout

View = Callable[..., Any]

#: Layouts that are remembered for each function.
_MOST = 1024
_PLAIN = frozenset((int, str, type(None)))
_INT = frozenset((int,))


def remembered(function: View) -> View:
    """A function that gives a view of its first argument, mostly, with its layouts remembered: by
    the array's and the other arguments, as its `views`."""
    known: dict[Any, Layout] = {}

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not args or not _is_known(args[0]) or not _is_plain(args[1:]):
            return function(*args, **kwargs)
        array = args[0]
        key = (array._layout, *args[1:])
        found = known.get(key)
        if found is not None:
            return view(array, found)
        made = function(*args)
        if made is not array and _is_view(made, array):
            if len(known) >= _MOST:
                known.clear()
            known[key] = made._layout
        return made

    call.views = known  # type: ignore[attr-defined]
    return call


def _is_known(array: Any) -> bool:
    """Whether something is an array of the engine's that is all that its layout says."""
    is_array = type(array) is Handle._concrete
    return is_array and array._host is None and array._cast is None


def _is_plain(args: tuple[Any, ...]) -> bool:
    """Whether arguments are equal only to others of their types: 1.0 and True are no axes."""
    for arg in args:
        kind = type(arg)
        if kind not in _PLAIN and (kind is not tuple or {*map(type, arg)} - _INT):
            return False
    return True


def _is_view(made: Any, array: Any) -> bool:
    """Whether an array is what `view` makes of another."""
    owner = array if array._owner is None else array._owner
    return (
        type(made) is type(array)
        and made._host is None  # a small copy has no storage, and would be given one
        and made._storage is array._storage
        and made._owner is owner
        and made._writeable is array._writeable
        and made._cast is None
    )
