"""The user's code: the first frame outside the package, and acting in its name.

Warnings belong to the line that the user wrote. `warn_here` gives one there; `call_as_user` calls
a function of NumPy from there, so that whatever it warns of, and however it looks for its caller,
is said of the user's line.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from lazyfuse.ir.origin import Origin, line_of

_PACKAGE = __name__.partition(".")[0]


def user_frame(depth: int) -> FrameType | None:
    """The first frame outside the package, from `depth` frames above the caller on."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None:
        names = frame.f_globals
        if id(names) not in OURS:
            name = names.get("__name__", "")
            if name[: len(_PACKAGE)] != _PACKAGE or not is_ours(names):
                return frame
        frame = frame.f_back
    return None


def is_users(names: dict[str, Any]) -> bool:
    """Whether globals are not of this package. Those of users are remembered by their address,
    which is no proof: they may go. So this is for what recording says of its caller, and asks
    after ours first."""
    if id(names) in THEIRS:
        return True
    if is_ours(names):
        return False
    if len(THEIRS) >= _REMEMBERED:
        THEIRS.clear()
    THEIRS.add(id(names))
    return True


def is_ours(names: dict[str, Any]) -> bool:
    """Whether a module's globals are of this package; ours are remembered by their address."""
    name = names.get("__name__", "")
    ours = bool(name == _PACKAGE or name.startswith(f"{_PACKAGE}."))
    if ours and id(names) not in OURS:
        _our_globals.append(names)  # also a copy stays, so that its address means no other
        OURS.add(id(names))
    return ours


_our_globals: list[dict[str, Any]] = []
OURS: set[int] = set()
THEIRS: set[int] = set()


def given_warnings() -> int:
    """How many warnings have been given here."""
    return _given[0]


_given = [0]


def warn_here(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the user's line, now."""
    _given[0] += 1
    frame = user_frame(0)
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__", "__main__"),
        registry=names.setdefault("__warningregistry__", {}),
    )


class WarningsHere:
    """The module `warnings` for code of NumPy that runs inside the package: what it says of its
    caller is said at the user's line."""

    def warn(
        self,
        message: str,
        category: type[Warning] = UserWarning,
        stacklevel: int = 1,
        source: object = None,
    ) -> None:
        """As `warnings.warn`, wherever the user's frame is."""
        warn_here(message, category)

    def __getattr__(self, name: str) -> Any:
        return getattr(warnings, name)


WARNINGS_HERE = WarningsHere()


def call_as_user(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`, called from a frame that has the user's file, line and
    globals."""
    frame = user_frame(0)
    if frame is None:
        return function(*args, **kwargs)
    place = id(frame.f_code), frame.f_lasti
    code, stand_in = _stand_ins.get(place, _NONE)
    if code is not frame.f_code:
        stand_in = _stand_in(frame.f_code, frame.f_lineno)
        _remember(place, frame.f_code, stand_in)
    return FunctionType(stand_in, frame.f_globals)(function, args, kwargs)


def call_from(origin: Origin, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`, called from a frame that has the file, the line and the globals
    of where an operation was recorded."""
    code, instruction, _ = origin
    place = id(code), instruction
    known, stand_in = _stand_ins.get(place, _NONE)
    if known is not code:
        stand_in = _stand_in(code, line_of(origin)[1])
        _remember(place, code, stand_in)
    return FunctionType(stand_in, globals_of(code))(function, args, kwargs)


def _remember(place: tuple[int, int], code: CodeType, stand_in: CodeType) -> None:
    if len(_stand_ins) >= _REMEMBERED:
        _stand_ins.clear()
    _stand_ins[place] = code, stand_in


#: Places in users' code that are remembered.
_REMEMBERED = 4096


def _stand_in(code: CodeType, line: int) -> CodeType:
    """Code that calls a function, and looks like a line of the user's."""
    return _call.__code__.replace(
        co_filename=code.co_filename, co_firstlineno=line - 1, co_name=code.co_name
    )


def called_as_user(frame: FrameType) -> Callable[..., Any] | None:
    """The function that is called from a frame which stands in for the user's; None for others."""
    is_it = frame.f_code.co_code == _call.__code__.co_code
    return frame.f_locals.get("function") if is_it else None


def _call(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return function(*args, **kwargs)


_NONE = (None, _call.__code__)
#: The user's code, held so that its address stays its own, and what stands in for it, by place.
_stand_ins: dict[tuple[int, int], tuple[CodeType | None, CodeType]] = {}


# ---- code that has no frame any more


def globals_of(code: CodeType) -> dict[str, Any]:
    """The names of the module that code comes from; of __main__ for code without a file."""
    file, count = code.co_filename, len(sys.modules)
    name, counted = _modules.get(file, ("", 0))
    found = sys.modules.get(name)
    if found is None or getattr(found, "__file__", None) != file and counted != count:
        found = _module_of(file)
        _modules[file] = found.__name__, count
    return vars(found)


def _module_of(file: str) -> ModuleType:
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == file:
            return module
    return sys.modules["__main__"]


#: Module names by file, and how many modules there were: code of no file (a notebook's) is looked
#: for again when there are others.
_modules: dict[str, tuple[str, int]] = {}
