"""Names -> our functions, for `__array_function__`: those of submodules are dotted.
`namespace.py` fills it from its tables when it is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Itself:
    """Objects of which a recording depends on which one it is alone.

    A copy is the object itself, and a pickle its name, as those of functions. `_vector` is for
    CPython: the address of what it calls, in machine code (`native_parts.set_called`).
    """

    __slots__ = ("_vector",)

    def __reduce__(self) -> Any:
        return vars(self)["__qualname__"]


class AtOnce(Itself):
    """A function that NumPy computes at once on small arrays.

    `_exact`: NumPy's function, None where its bits are not the kernels'. `_recipes`: of calls
    without keywords, if any; `_learned`: of calls of an array and arguments that are none.
    `_code`: of what can be put off (`deferred.py`), else None.
    `_kernels`: the address of records of its own kernels, None for none (`direct.py`).
    `_numpys`: NumPy's ufunc, which plain numbers are given to; `_into`: recipes of results that
    are written into an array, if any.
    `_rule`: which operands may be parts of the engine's memory, and how large (`ops/rules.py`).
    """

    __slots__ = (
        "_exact",
        "_recipes",
        "_learned",
        "_code",
        "_kernels",
        "_rule",
        "_numpys",
        "_into",
    )

    _exact: Any
    _recipes: Any
    _learned: Any
    _code: int | None
    _kernels: int | None
    _rule: int
    _numpys: Any
    _into: Any


NATIVE: dict[str, Any] = {}
#: Of NumPy's functions that only it has: what is told before one computes large arrays.
TOLD: dict[Any, Callable[[], None]] = {}
#: What settles what is put off (`deferred.py`), where there is machine code; whether there was
#: anything.
SETTLE: list[Callable[[], bool]] = []
#: What makes those that are made when they are asked for.
MADE_LATE: dict[str, Callable[[str], Any]] = {}


def find(name: str) -> Any:
    """Our function of a name, or None."""
    make = MADE_LATE.get(name)
    return NATIVE.get(name) if make is None else make(name)
