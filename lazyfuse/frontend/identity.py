"""Whether a function may treat an object otherwise than its equals: by `type(x)`, or by `is`.

A stand-in for a number (`varying.py`) is known as one by these alone, and nothing would be
noticed. So the code of a function is read, and that of the functions that it names.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType, MethodType
from typing import Any

#: Functions that are followed from one.
_MOST = 64
#: Code that is known: NumPy's, and ours.
_KNOWN = ("numpy", "lazyfuse")
_IDENTITIES = frozenset(("type", "id"))
#: Functions and attributes that tell copies of arrays from them.
_WHOSE = frozenset(("id", "shares_memory", "may_share_memory"))
_ATTRIBUTES = frozenset(("base", "owndata", "writeable"))


def asks_who(function: Callable[..., Any]) -> bool:
    """Whether a function, or one that it names, looks at types or identities of objects."""
    return any(
        _IDENTITIES.intersection(code.co_names) or _compares(code)
        for each in functions_from(function)
        for code in codes_in(each.__code__)
    )


def asks_which(function: Callable[..., Any], arrays: int) -> bool:
    """Whether a function, or one that it names, may treat copies of so many arrays otherwise than
    them: it asks which is which, or whose their memory is."""
    return any(
        _asks(code) or arrays > 1 and _compares(code)
        for each in functions_from(function)
        for code in codes_in(each.__code__)
    )


def _asks(code: CodeType) -> bool:
    """Whether a code calls a function that tells arrays apart, or reads an attribute of a variable
    that says whose memory is; not one of modules, classes and instances."""
    if (_WHOSE | _ATTRIBUTES).isdisjoint(code.co_names):
        return False
    before: dis.Instruction | None = None
    for each in dis.get_instructions(code):
        name, is_attribute = each.argval, each.opname in ("LOAD_ATTR", "LOAD_METHOD")
        if name in _WHOSE and (name != "id" or not is_attribute) and name in code.co_names:
            return True
        if is_attribute and name in _ATTRIBUTES and before is not None:
            if before.opname != "LOAD_GLOBAL" and before.argval != "self":
                return True
        before = each
    return False


def functions_from(function: Callable[..., Any]) -> Iterator[FunctionType]:
    """A function and those that it names, and so on, but for NumPy's and ours."""
    waiting: list[Any] = [function]
    met: set[FunctionType] = set()
    for each in map(_python_function, waiting):  # which grows
        if each is None or each in met or len(met) >= _MOST:
            continue
        met.add(each)
        if (each.__module__ or "").partition(".")[0] in _KNOWN:
            continue
        yield each
        for code in codes_in(each.__code__):
            waiting += [each.__globals__.get(name) for name in code.co_names]
        for cell in each.__closure__ or ():
            with suppress(ValueError):  # filled later
                waiting.append(cell.cell_contents)


def _python_function(value: Any) -> FunctionType | None:
    """The function that an object is, binds or wraps (a cache, say), found without asking it."""
    if type(value) is MethodType:
        value = value.__func__
    elif type(value) is not FunctionType:
        value = inspect.getattr_static(value, "__wrapped__", None)
    return value if type(value) is FunctionType else None


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code and those of the functions that are defined inside."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def _is_constant(instruction: dis.Instruction) -> bool:
    """Whether an instruction loads what no number and no array is."""
    if instruction.opname == "LOAD_CONST":
        return instruction.argval is None or instruction.argval in (True, False, ...)
    return instruction.opname == "LOAD_GLOBAL" and "NotImplemented" in str(instruction.argval)


def _compares(code: CodeType) -> bool:
    """Whether a code has an `is` with anything but None and the like."""
    before: dis.Instruction | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP":
            if before is None or not _is_constant(before):
                return True
        before = instruction
    return False
