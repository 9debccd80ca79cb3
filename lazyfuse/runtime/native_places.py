"""Where in classes the functions of machine code belong: as methods that are looked up, and as
what CPython calls at once (`backends/cpu/methods.py` says which)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lazyfuse.runtime.native_parts import (
    METH_KEYWORDS,
    METH_NOARGS,
    METH_O,
    Place,
    Wrapper,
    method_of,
)

#: The methods of classes before.
_methods: dict[tuple[type, str], Any] = {}


def specials(functions: Sequence[str], named: Sequence[str]) -> dict[str, str]:
    """The methods whose places the functions take."""
    own = {"item": "__getitem__", "missing": "__getattr__", "set_item": "__setitem__",
           "power": "__pow__", "function": "__call__", "product": "__call__",
           "class_attribute": "__getattribute__"}  # fmt: skip
    own |= {name: name.removesuffix("_method") for name in named}
    return {name: own.get(name, f"__{name}__") for name in functions}


def owners(
    names: Iterable[str], array: type, ufunc: type, function: type, product: type
) -> dict[str, type]:
    """The classes in whose methods' places the functions are."""
    holders = {"call": ufunc, "function": function, "product": product,
               "class_attribute": type(array)}  # fmt: skip
    return {name: holders.get(name, array) for name in names}


def interpreted(kind: type, name: str) -> Any:
    """The method that Python runs, also where a part of the machine code has its place already."""
    if (kind, name) not in _methods:
        _methods[kind, name] = vars(kind)[name]
    return _methods[kind, name]


def methods_of(code: Any, owners: Mapping[str, type], specials: Mapping[str, str]) -> list[Place]:
    """The functions that are looked up as methods."""
    from lazyfuse.backends.cpu.methods import SLOTS

    return [
        Place(owners[name], special, code.address(f"lf_{name}"), _flags(name), None)
        for name, special in specials.items()
        if name not in ("missing", "class_attribute", *SLOTS)
    ]


def _flags(name: str) -> int:
    """How the C function of a method is called."""
    from lazyfuse.backends.cpu import methods

    if name in methods.WITH_KEYWORDS:
        return METH_KEYWORDS
    return METH_NOARGS if name in methods.WITHOUT_ARGUMENTS else METH_O


def wrappers_of(
    code: Any, owners: Mapping[str, type], specials: Mapping[str, str]
) -> list[Wrapper]:
    """What CPython calls at once in the place of methods."""
    from lazyfuse.backends.cpu.methods import SLOTS

    found = {name: code.address(f"lf_{function}") for name, function in SLOTS.items()}
    deleting = Wrapper(owners["set_item"], "__delitem__", found["set_item"])
    return [deleting, *(Wrapper(owners[name], specials[name], found[name]) for name in found)]


def named_calls(code: Any, owners: Mapping[str, type]) -> dict[str, Any]:
    """What is called at once goes on with these where there are keywords."""
    from lazyfuse.backends.cpu.methods import CALLS

    return {
        named: method_of(owners[name], "__call__", code.address(f"lf_{name}"), METH_KEYWORDS)
        for name, named in CALLS.items()
    }
