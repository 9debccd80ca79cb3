"""What machine code that records has to be told: where objects keep their attributes, and the
objects that it asks. The frontend says what its own are (`Recording`)."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config
from lazyfuse.ir import form
from lazyfuse.ir.form import Form
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.mapkind import MapKind
from lazyfuse.ir.node import Const, Fill, Map, Source, Update, View
from lazyfuse.ir.order import c_strides
from lazyfuse.ir.orphans import BYTES, Watch, gone, orphaned
from lazyfuse.ir.storage import MOST_WRITTEN, RECENT, WRITTEN, Storage
from lazyfuse.ops.float_flags import ErrorModes
from lazyfuse.ops.types import code
from lazyfuse.runtime import caller, engine, error_modes, native_parts, session, trace
from lazyfuse.runtime.budget import FEW_BYTES, MOST_ON_FEW, PARTS, READERS, SMALL_HELD
from lazyfuse.runtime.turns import DEPTH

_WORD = ctypes.sizeof(ctypes.c_void_p)
_new = object.__new__


class Recording(NamedTuple):
    """Of the frontend: the classes of arrays and of pending scalars, the recipes of each operator,
    the floats of small integers, the most steps and operands of a recipe, how many elements are
    written at once, after how many writes of pieces in a row is asked whether the next is, and how
    many pieces an array has then, at least."""

    array: type
    scalar: type
    recipes: Mapping[str, dict[Any, Any]]
    floats: tuple[float, ...]
    most_steps: int
    most_operands: int
    at_once: int
    most_in_a_row: int
    least_pieces: int


def places(
    recording: Recording, attributes: Mapping[str, str], name: Callable[[str, str], str]
) -> dict[str, int]:
    """Where objects keep their attributes, in bytes, and how many words they have."""
    classes: dict[str, type] = {
        "node": Source, "view": View, "const": Const, "map": Map, "mapkind": MapKind,
        "update": Update, "storage": Storage,
        "handle": recording.array, "form": Form, "modes": type(error_modes._known),
        "options": config.Options, "watch": Watch, "buffer": type(memory()),
    }  # fmt: skip
    found = {
        name(kind, attribute): offset(classes[kind], attribute)
        for kind, names in attributes.items()
        for attribute in names.split()
    }
    words = ("view", "const", "storage", "handle", "node", "buffer")
    found |= {f"{kind}_words": classes[kind].__basicsize__ // _WORD for kind in words}
    found["immediate"] = ErrorModes._fields.index("is_immediate")
    found["small_held"], found["small_floats"] = SMALL_HELD, len(recording.floats)
    found["few_bytes"], found["most_on_few"] = FEW_BYTES, MOST_ON_FEW
    found["most_written"], found["recent_mask"] = MOST_WRITTEN, len(RECENT) - 1
    found["deep"] = trace.DEEP
    found |= {"tuple_items": tuple.__basicsize__, "list_items": native_parts.LIST_ITEMS}
    found["weak_object"] = native_parts.WEAK_OBJECT
    found |= {"most_steps": recording.most_steps, "most_operands": recording.most_operands}
    found |= {"at_once": recording.at_once, "most_in_a_row": recording.most_in_a_row}
    found["least_pieces"] = recording.least_pieces
    found["least_readers"], found["most_parts"] = READERS, PARTS
    return found


def offset(kind: type, attribute: str) -> int:
    """At which byte objects of a class keep an attribute that is not in their dict."""
    value, sample = object(), _sample(kind)
    object.__setattr__(sample, attribute, value)
    words = (ctypes.c_uint64 * (kind.__basicsize__ // _WORD)).from_address(id(sample))
    return [*words].index(id(value)) * _WORD


def _sample(kind: type) -> Any:
    """An object whose attributes nobody reads, and which goes at once: nodes are looked for."""
    if kind is Watch:
        return Watch(_storage())
    return memory() if kind is _memory_class() else _new(kind)


@cache
def _memory_class() -> type:
    return type(memory())


def objects(recording: Recording) -> dict[str, Any]:
    """The objects of the table by name; whoever loads the code keeps them."""
    return {
        "SCALAR": recording.scalar, "FORMS": form.FORMS, "FLOATS": recording.floats,
        "TRUE": True, "FALSE": False, "MANY": 1 << 40,
        "OURS": caller.OURS, "THEIRS": caller.THEIRS,
        "ERROR_NAMES": vars(error_modes), "KNOWN_NAME": "_known", "STATE": error_modes.STATE,
        "WARNINGS": vars(warnings), "FILTERS_NAME": "filters", "CONST": _constant(),
        "VIEW": _view(), "STORAGE": _storage(), "OPTIONS": config.variable,
        "LAYOUT": Layout, "VIEW_ARRAY": _view_array(recording.array),
        "MAP": Map, "UPDATE": Update, "CONST_CLASS": Const, "SIGNATURE": "signature",
        "IS_COSTLY": "is_costly", "TURN_DEPTH": DEPTH,
        "ORPHAN_BYTES": BYTES, "ORPHANED": orphaned, "ENFORCE": engine.enforce_budget,
        "ACQUIRE": session.flush_lock.acquire, "RELEASE": session.flush_lock.release,
        "MEMORY": type(memory()), "MEMORY_BLOCK": type(memory()._block), "READY": session.ready,
        "WATCH": Watch, "GONE": gone, "RUNS": session.runs, "FORM_OF": _form_of,
        "WRITTEN": WRITTEN, "RECENT": RECENT, "FILL": Fill,
    }  # fmt: skip


#: What is told of arrays of NumPy's whose forms have come before.
come_again: list[Callable[[np.ndarray], None]] = []


def _form_of(array: np.ndarray) -> Form:
    """The form of a dense array of NumPy's in C order."""
    key = (array.shape, code(array.dtype), c_strides(array.shape))
    if key in form.FORMS:
        for tell in come_again:
            tell(array)
    return form.form_of(*key)


def memory() -> Any:
    """Some memory of the CPU's, which is not the pool's."""
    return session.backend("cpu").from_host(np.empty(1, np.uint8), borrow=True)


def _constant() -> Const:
    made = Const(0, "f8")
    del made.value, made.dtype
    return made


def _view() -> View:
    made: View = _new(View)
    made.buffer = made.origin = made.handle = None
    made.users = 0
    made.seen = made.is_scalar = False
    return made


def _view_array(kind: type) -> Any:
    made: Any = _new(kind)
    made._host = None
    return made


def _storage() -> Storage:
    made: Storage = _new(Storage)
    made._is_shared = False
    return made
