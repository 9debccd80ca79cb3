"""Arrays that a function under `fuse` reads from its module and its closure.

They count as arguments before its own: a recording reads them anew at each call. To record, the
function is called with other globals and cells, in which copies are in their place. NumPy's own
arrays are left alone: what is done with them is NumPy's, and nobody would notice that it is done
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dis import get_instructions
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.identity import asks_who, codes_in, functions_from

#: More of them are left to the function.
_MOST = 32


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
    """The function with the arrays that it reads now; None where there are none. Raises:
    LookupError where they cannot be arguments: it, or a function that it names, looks at
    identities or assigns names of others, or another function reads one of them."""
    if not isinstance(function, FunctionType):
        return None
    code, closure = function.__code__, function.__closure__ or ()
    own = function.__globals__
    names = sorted(name for name in globals_of(code) if isinstance(own.get(name), Handle))
    cells = [place for place, cell in enumerate(closure) if isinstance(content(cell), Handle)]
    if not names and not cells:
        return None
    if len(names) + len(cells) > _MOST or asks_who(function):
        raise LookupError
    for each in functions_from(function):
        read = globals_of(each.__code__) if each.__globals__ is own else ()
        around = each.__closure__ or ()
        is_shared = any(name in read for name in names) or any(
            closure[place] is cell for place in cells for cell in around
        )
        if _written(each.__code__) or is_shared and each is not function:
            raise LookupError
    return Captured(function, names, cells, instead)


@lru_cache(maxsize=1024)
def globals_of(code: CodeType) -> frozenset[str]:
    """The names that code, and the functions and comprehensions in it, read from the module."""
    return _named(code, frozenset(("LOAD_GLOBAL",)))


@lru_cache(maxsize=1024)
def _written(code: CodeType) -> frozenset[str]:
    """The names of globals, and of variables around it, that code assigns."""
    around = _named(code, frozenset(("STORE_DEREF", "DELETE_DEREF"))).intersection(
        code.co_freevars
    )
    return around | _named(code, frozenset(("STORE_GLOBAL", "DELETE_GLOBAL")))


def _named(code: CodeType, operations: frozenset[str]) -> frozenset[str]:
    instructions = (item for each in codes_in(code) for item in get_instructions(each))
    return frozenset(item.argval for item in instructions if item.opname in operations)


def content(cell: Any, nothing: Any = None) -> Any:
    """What is in a cell; `nothing` where it has none so far."""
    try:
        return cell.cell_contents
    except ValueError:
        return nothing
