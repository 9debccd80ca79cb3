"""The user's code: the first frame outside the package, and acting in its name.

Warnings belong to the line that the user wrote. `warn_here` gives one there; `call_as_user` calls
a function of NumPy from there, so that whatever it warns of, and however it looks for its caller,
is said of the user's line.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType, FunctionType
from typing import Any

_PACKAGE = __name__.partition(".")[0]


def user_frame(depth: int) -> FrameType | None:
    """The first frame outside the package, from `depth` frames above the caller on."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None:
        names = frame.f_globals
        if id(names) not in _OURS and not _is_ours(names):
            return frame
        frame = frame.f_back
    return None


def _is_ours(names: dict[str, Any]) -> bool:
    """Whether a module's globals are of this package; ours are remembered by their address."""
    name = names.get("__name__", "")
    ours = bool(name == _PACKAGE or name.startswith(f"{_PACKAGE}."))
    if ours:
        _OURS.add(id(names))  # our modules stay, so the address cannot come to mean another
    return ours


_OURS: set[int] = set()


def warn_here(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the user's line, now."""
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


def call_as_user(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`, called from a frame that has the user's file, line and
    globals."""
    frame = user_frame(0)
    if frame is None:
        return function(*args, **kwargs)
    code = _stand_in(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    return FunctionType(code, frame.f_globals)(function, args, kwargs)


@lru_cache(maxsize=4096)
def _stand_in(file: str, line: int, name: str) -> CodeType:
    return _call.__code__.replace(co_filename=file, co_firstlineno=line - 1, co_name=name)


def _call(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return function(*args, **kwargs)
