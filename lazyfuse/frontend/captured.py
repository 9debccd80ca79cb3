"""Arrays that a function under `fuse` reads from its module and its closure.

They count as arguments before its own: a recording reads them anew at each call. To record, the
function is called with other globals and cells, in which copies are in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dis import get_instructions
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from lazyfuse.frontend.handle import Handle

#: More of them are left to the function.
_MOST = 32
_WRITES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"))


class Captured:
    """A function as one of the arrays that it reads, too. `names` are those of globals, `cells`
    places in its closure; `instead` is called with its own arguments where `skip` is."""

    def __init__(
        self,
        function: FunctionType,
        names: Sequence[str],
        cells: Sequence[int],
        instead: Callable[..., Any],
    ) -> None:
        self.names, self.cells = tuple(names), tuple(cells)
        self.__wrapped__ = function  # under which its code is found
        self._instead = instead
        self._count = len(names) + len(cells)

    def values(self) -> tuple[Any, ...] | None:
        """What is there now; None where something is not."""
        function = self.__wrapped__
        names, closure = function.__globals__, function.__closure__ or ()
        try:
            found = [names[name] for name in self.names]
            return (*found, *[closure[place].cell_contents for place in self.cells])
        except (KeyError, ValueError):
            return None

    def __call__(self, *given: Any, **words: Any) -> Any:
        """The function's result if it reads the first values given."""
        return self._reading(given[: self._count])(*given[self._count :], **words)

    def skip(self, *given: Any, **words: Any) -> Any:
        """What is called where the function would be; it reads for itself."""
        return self._instead(*given[self._count :], **words)

    def _reading(self, values: Sequence[Any]) -> FunctionType:
        function = self.__wrapped__
        own = len(self.names)
        names = {**function.__globals__, **dict(zip(self.names, values[:own], strict=True))}
        closure = list(function.__closure__ or ())
        for place, value in zip(self.cells, values[own:], strict=True):
            closure[place] = CellType(value)
        made = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, tuple(closure)
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made


def captured(function: Any, instead: Callable[..., Any]) -> Captured | None:
    """The function with the arrays that it reads now, None where there are none. Names that it
    writes stay its own."""
    if not isinstance(function, FunctionType):
        return None
    code, closure = function.__code__, function.__closure__ or ()
    names = [
        name
        for name in sorted(globals_of(code) - _written(code))
        if isinstance(function.__globals__.get(name), Handle | np.ndarray)
    ]
    cells = [
        place
        for place, (name, cell) in enumerate(zip(code.co_freevars, closure, strict=True))
        if name not in _written(code) and isinstance(content(cell), Handle | np.ndarray)
    ]
    if not 0 < len(names) + len(cells) <= _MOST:
        return None
    return Captured(function, names, cells, instead)


@lru_cache(maxsize=1024)
def globals_of(code: CodeType) -> frozenset[str]:
    """The names that code, and the functions and comprehensions in it, read from the module."""
    return _named(code, frozenset(("LOAD_GLOBAL",)))


@lru_cache(maxsize=1024)
def _written(code: CodeType) -> frozenset[str]:
    """The names of globals, and of variables around it, that code assigns."""
    return _named(code, _WRITES)


def _named(code: CodeType, operations: frozenset[str]) -> frozenset[str]:
    instructions = (item for each in _codes(code) for item in get_instructions(each))
    return frozenset(item.argval for item in instructions if item.opname in operations)


def content(cell: Any, nothing: Any = None) -> Any:
    """What is in a cell; `nothing` where it has none so far."""
    try:
        return cell.cell_contents
    except ValueError:
        return nothing


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and those of the functions that are defined inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
