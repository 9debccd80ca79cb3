"""Methods of ufuncs, each a function of one ufunc, which is made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import MethodType
from typing import Any

from lazyfuse.frontend import others
from lazyfuse.frontend.function import Function
from lazyfuse.frontend.shortcuts import remembered
from lazyfuse.ops.rules import OF_UFUNCS, Rule, of_ufuncs
from lazyfuse.ops.table import REDUCTIONS


class _Folded(Function):
    """A method of one ufunc."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return getattr, (vars(self)["__self__"], vars(self)["__name__"])


class Folding:
    """A method of ufuncs that machine code takes calls of, too: a function of each ufunc, which is
    made when it is asked for and stays there."""

    def __init__(self, engine: Callable[..., Any]) -> None:
        self._engine, self.__doc__ = engine, engine.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._unbound = _unbound(owner, self._engine)

    def __get__(self, ufunc: Any, owner: type | None = None) -> Any:
        engine, name = self._engine, self._engine.__name__
        if ufunc is None:
            return self._unbound

        @wraps(MethodType(engine, ufunc))
        def method(*args: Any, **kwargs: Any) -> Any:
            return _asked(ufunc, engine, args, kwargs)

        method = remembered(method) if name == "reduce" else method
        own = f"{ufunc.__name__}.{name}"
        is_exact = ufunc._is_exact or (name == "reduce" and ufunc.__name__ not in REDUCTIONS)
        rule, plain = OF_UFUNCS.get(name, Rule.NONE), getattr(ufunc._ufunc, name)
        function = _Folded(own, method, plain, rule, larger=of_ufuncs(name), is_exact=is_exact)
        function.__qualname__ = f"ufunc.{name}"
        vars(function)["__self__"] = ufunc
        return vars(ufunc).setdefault(name, function)


def _unbound(owner: type, engine: Callable[..., Any]) -> Callable[..., Any]:
    """The method of the class, of the ufunc that is its first argument."""
    name = engine.__name__

    @wraps(engine)
    def method(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise TypeError(f"unbound method ufunc.{name}() needs an argument")
        if not isinstance(args[0], owner):
            kind = type(args[0]).__name__
            raise TypeError(
                f"descriptor {name!r} for 'numpy.ufunc' objects doesn't apply to a {kind!r} object"
            )
        return getattr(args[0], name)(*args[1:], **kwargs)

    method.__module__, method.__qualname__ = "lazyfuse", f"ufunc.{name}"  # for pickles
    return method


def _asked(
    ufunc: Any, engine: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """What a method of a ufunc gives; that of the first operand's library, where it has one."""
    if args and others.overrides(args[0]):
        return getattr(ufunc._ufunc, engine.__name__)(*args, **kwargs)  # which asks it
    return engine(ufunc, *args, **kwargs)
