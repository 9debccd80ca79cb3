"""Recipes for whatever shape: what has been recorded for arrays of one shape tells how it is for
arrays of another one that nobody has met.

An operation on elements gives an array of the shape of its operands, where they have one and lie
in C order; loop and dtype follow from theirs. So the recipe of one shape has all that another one
needs. Programs whose arrays have ever new lengths would go the long way each time.

An order that a call asks for (`x.astype("f4", order="F")`) shows only where two axes have several
elements. So those arrays and the ones of one axis have patterns of their own, and others none.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Any

from lazyfuse.frontend.recipes import Recipe, number_of
from lazyfuse.frontend.rerecord import ARRAYS, Key, map_recorded
from lazyfuse.ir.form import Form, form_of
from lazyfuse.ir.mapkind import mapkind
from lazyfuse.ir.node import Map
from lazyfuse.ir.order import c_strides

#: The first part of a pattern, which no key of forms has.
_ANY_SHAPE = object()


def pattern_of(key: Key) -> Key | None:
    """The key of operands of one shape in C order without that; None for others."""
    forms = [mark for mark in key if type(mark) is Form]
    shape = forms[0].shape if forms else ()
    is_row = len(shape) == 1
    if 0 in shape or not is_row and len(shape) - shape.count(1) < 2:
        return None
    strides = c_strides(shape)
    if any(form.shape != shape or form.strides != strides for form in forms):
        return None
    return (_ANY_SHAPE, is_row, *[mark.dtype if type(mark) is Form else mark for mark in key])


def fits(recipe: Recipe, key: Key) -> bool:
    """Whether a recipe for this key, which has a pattern, is one for all keys of that."""
    own = _form_in(key)
    kind = recipe.kind
    return kind is not None and (kind.form.shape, kind.form.strides) == (own.shape, own.strides)


def recorded_like(recipe: Recipe, key: Key, operands: Sequence[Any]) -> Any:
    """The result of an operation on operands of this key by a recipe of its pattern; None where
    the long way has to be gone."""
    kind, own, thread = recipe.kind, _form_in(key), get_ident()
    if kind is None or kind.kind is not Map or len(operands) > 2:
        return None
    form = form_of(own.shape, kind.form.dtype, own.strides)
    made_kind = mapkind(Map, kind.op, kind.loop, form)
    arrays = [operand for operand in operands if type(operand) in ARRAYS]
    if len(arrays) == len(operands):
        if arrays[0]._storage.device != arrays[-1]._storage.device:
            return None
        return map_recorded(made_kind, arrays[0], thread, *arrays[1:])
    place = 0 if operands[1] is arrays[0] else 1
    number = number_of(operands[place], recipe.numbers[place])  # type: ignore[arg-type]  # that of a number
    if number is None:
        return None
    return map_recorded(made_kind, arrays[0], thread, None, number, place == 0)


def _form_in(key: Key) -> Form:
    return next(mark for mark in key if type(mark) is Form)
