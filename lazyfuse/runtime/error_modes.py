"""Which `np.errstate` is in force, and telling the user about a condition as it says.

`current_modes()` runs for every recorded operation, so it compares two identities: that of
NumPy's own state object and that of Python's list of warning filters. Both are decoded only when
they changed.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy._core import umath

from lazyfuse.ir.origin import Origin, line_of
from lazyfuse.ops.float_flags import BITS, WORDS, ErrorModes
from lazyfuse.runtime.caller import globals_of

#: NumPy's ContextVar behind `np.errstate` (2.0 and later); its values are opaque, but new for
#: every state.
STATE = getattr(umath, "_extobj_contextvar", None)


class _Known:
    """What was decoded last, and from what."""

    __slots__ = ("state", "filters", "first", "modes")

    def __init__(self, state: object, filters: list[Any], first: object, modes: ErrorModes):
        self.state, self.filters, self.first, self.modes = state, filters, first, modes


def current_modes() -> ErrorModes:
    """What is to be done about conditions of an operation that is recorded now."""
    state = STATE.get() if STATE is not None else None
    filters = warnings.filters
    known = _known
    if (
        known.state is state
        and known.filters is filters
        and known.first is (filters[0] if filters else None)
        and state is not None
    ):
        return known.modes
    return _learn(state, filters)  # type: ignore[arg-type]  # typeshed says Sequence


def _learn(state: object, filters: list[Any]) -> ErrorModes:
    global _known
    modes = _decode(filters)
    _known = _Known(state, filters, filters[0] if filters else None, modes)
    return modes


def _decode(filters: list[Any]) -> ErrorModes:
    by_name: dict[str, str] = {**np.geterr()}  # type: ignore[dict-item]  # a TypedDict
    wanted = _bits(by_name)
    warned = {name: _filtered(name, filters) for name, mode in by_name.items() if mode == "warn"}
    by_name |= {name: "ignore" for name, found in warned.items() if found is _Filtered.IGNORED}
    modes = set(by_name.values())
    immediate = bool(modes - {"warn", "ignore"}) or _Filtered.WATCHED in warned.values()
    handler = np.geterrcall() if modes & {"call", "log"} else None
    key = *by_name.values(), wanted, immediate, id(handler)
    if len(_met) >= _MOST_MET:
        _met.clear()
    made = ErrorModes(by_name, _bits(by_name), immediate, handler, wanted)
    return _met.setdefault(key, made)


def _bits(by_name: Mapping[str, str]) -> int:
    """The conditions that are not ignored."""
    return sum(bit for name, bit in BITS.items() if by_name[name] != "ignore")


#: Modes that have been in force: equal ones are one object, so that it is enough to compare
#: identities.
_met: dict[tuple[Any, ...], ErrorModes] = {}
_MOST_MET = 64


#: The filters of the process, as against those of a `warnings.catch_warnings` block.
OUTERMOST = warnings.filters


class _Filtered(Enum):
    """What the warning filters in force do with a condition."""

    IGNORED, WATCHED, LATER = "nothing", "a warning, or an error, at the call", "a warning"


def _filtered(name: str, filters: list[Any]) -> _Filtered:
    """What filters do with a condition. It has to be known at the call where it is an error, where
    somebody listens for every warning inside a `warnings.catch_warnings` block, and where a filter
    of such a block is for some operations or modules only."""
    for item in filters:
        action, message, category, module, line = item
        is_met = _is_met(message, WORDS[name])
        if is_met is False or not issubclass(RuntimeWarning, category):
            continue
        if is_met and module is None and not line:
            if action == "ignore":
                return _Filtered.IGNORED
            is_inner = action in ("always", "all") and filters is not OUTERMOST
            return _Filtered.WATCHED if action == "error" or is_inner else _Filtered.LATER
        if filters is not OUTERMOST and item not in OUTERMOST:
            return _Filtered.WATCHED
    return _Filtered.LATER


def _is_met(pattern: Any, words: str) -> bool | None:
    """Whether a filter's pattern is met by messages that begin with these words; None where that
    depends on the operation."""
    if pattern is None:
        return True
    if not isinstance(pattern, re.Pattern):
        return False
    if pattern.match(f"{words} encountered in "):
        return True
    text = str(pattern.pattern)
    return None if words in text.lower() or _META.intersection(text) else False


#: Characters of patterns that are more than text.
_META = frozenset(r".^$*+?{}[]\|()")


_known = _Known(None, [], None, _decode([]))


def tell(origin: Origin, message: str, bits: int) -> None:
    """Do what the modes of a recorded operation say about one of NumPy's messages; `bits` are all
    conditions that the operation met.

    Raises: FloatingPointError, or what a handler or a warning filter raises.
    """
    modes = origin[2]
    name = keyword_of(message)
    match modes.by_name[name]:
        case "warn":
            warn(origin, message)
        case "raise":
            raise FloatingPointError(message)
        case "call":
            modes.handler(WORDS[name], bits)
        case "log":
            modes.handler.write(f"Warning: {message}\n")
        case "print":
            sys.stderr.write(f"Warning: {message}\n")


def keyword_of(message: str) -> str:
    """The keyword of `np.errstate` that decides about a message."""
    return next(name for name, words in WORDS.items() if message.startswith(words))


def warn(origin: Origin, message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Give a warning at the line that recorded an operation, once per line as Python does."""
    file, line = line_of(origin)
    names = globals_of(origin[0])
    module = names.get("__name__", "__main__")
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, file, line, module=module, registry=registry)
    _told[message, file, line] = (warnings.filters, tuple(warnings.filters))


#: Warnings given, with the filters of that time.
_told: dict[tuple[str, str, int], tuple[object, tuple[object, ...]]] = {}


class Outlook(Enum):
    """What a message would come to, if its operation gave it now."""

    SILENT = "nothing: it is ignored, or its line has given it before"
    FIRST = "a warning, the first of its line"
    ALWAYS = "something every time"


def outlook(origin: Origin, message: str) -> Outlook:
    """Whether it is worth finding out that an operation gives `message`."""
    mode = origin[2].by_name[keyword_of(message)]
    if mode != "warn":
        return Outlook.SILENT if mode == "ignore" else Outlook.ALWAYS
    file, line = line_of(origin)
    action = _action(message, globals_of(origin[0]).get("__name__", "__main__"), line)
    if action == "ignore":
        return Outlook.SILENT
    if action in ("error", "always", "all"):
        return Outlook.ALWAYS
    filters, items = _told.get((message, file, line), (None, ()))
    is_told = filters is warnings.filters and items == tuple(warnings.filters)
    return Outlook.SILENT if is_told else Outlook.FIRST


def _action(message: str, module: str, line: int) -> str:
    """What Python's filters do with a RuntimeWarning."""
    for action, text, category, place, number in warnings.filters:
        if (
            issubclass(RuntimeWarning, category)
            and _matches(text, message)
            and _matches(place, module)
            and number in (0, line)
        ):
            return str(action)
    return "default"


def _matches(pattern: Any, text: str) -> bool:
    if pattern is None:
        return True
    if isinstance(pattern, str):  # as the interpreter itself writes its first filters
        return pattern == text
    return isinstance(pattern, re.Pattern) and pattern.match(text) is not None
