"""The functions of the namespace: at once by NumPy when all operands are small, else the engine's.

A `Function` is an object as NumPy's are, not a Python function, so that machine code can take the
place of its call (`backends/cpu/methods_small_text.py`): then it has no Python frame, and what
NumPy warns of is said at the user's line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import update_wrapper, wraps
from inspect import unwrap
from types import BuiltinFunctionType, MethodType
from typing import Any

import numpy as np

from lazyfuse.frontend import numba, registry, rerecord, small
from lazyfuse.frontend.array_likes import for_numpys, is_asked, is_foreign, is_in_array_method
from lazyfuse.frontend.beside import beside, unless_given
from lazyfuse.frontend.convert import are_numbers_numpys, eager_size
from lazyfuse.frontend.foreign import with_foreign
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.of_numpys import with_numpys
from lazyfuse.frontend.references import may_be_kept
from lazyfuse.frontend.shortcuts import is_pending
from lazyfuse.frontend.windows import is_new
from lazyfuse.frontend.witnessed import written
from lazyfuse.ops.rules import FUNCTIONS, MADE, Middling, Rule, in_one, middling, of_own
from lazyfuse.runtime.caller import call_as_user

Method = Callable[..., Any]

#: Functions that compute transcendental functions: their bits are the kernels' own.
_OWN_BITS = frozenset("angle sinc i0 logspace geomspace kaiser".split())
#: Those among them of one number, of which the answer is NumPy's own, as that of ufuncs is.
_OF_NUMBERS = frozenset("angle sinc i0".split())

#: Functions whose results classes give NumPy in their `__array__`.
_GIVEN = frozenset(
    "arange array asanyarray asarray ascontiguousarray asfortranarray atleast_1d column_stack "
    "concatenate copy empty eye full full_like hstack linspace ones ones_like ravel reshape stack "
    "vstack where zeros zeros_like".split()
)
#: Functions that give objects of our own beside arrays: archives, mapped files, arrays in others'
#: memory.
_OWN_OBJECTS = frozenset(("load", "frombuffer", "from_dlpack"))
#: Functions of which NumPy leaves open what ours say.
_OPEN = frozenset(("unique_values",))
#: Functions that are the engine's for small arrays, too.
_NEVER_PLAIN = _OWN_BITS | _OWN_OBJECTS | _OPEN


def _copied(found: Any) -> Any:
    """What functions of the user's may have given, and keep: large arrays are copied."""
    if type(found) is np.ndarray:
        return found.copy(order="K") if found.size > eager_size() else found
    return type(found)(map(_copied, found)) if type(found) in (tuple, list) else found


class Function(registry.AtOnce):
    """A function of the namespace: `plain`, NumPy's own, when all its operands are small, else
    `engine`. It has the engine's signature and docstring. `rule` and `larger`: those of a function
    that is not listed. `announce`: what is told of calls that leave the engine, if any is.
    `is_exact`: whether NumPy's bits are the kernels'."""

    __slots__ = ("__dict__", "__weakref__", "_engine", "_public", "_size", "_views")

    def __init__(
        self,
        name: str,
        engine: Method,
        plain: Method,
        rule: Rule = Rule.NONE,
        announce: Callable[[], None] | None = None,
        *,
        larger: Middling | None = None,
        is_exact: bool = True,
    ) -> None:
        update_wrapper(self, engine)
        inner = unwrap(engine)
        if inner is getattr(plain, "__wrapped__", None):  # as programs look it up in NumPy's
            self.__wrapped__ = inner
        self.__module__, self.__qualname__ = "lazyfuse", name
        if hasattr(plain, "__signature__"):  # of C functions
            self.__signature__ = plain.__signature__
        is_at_once = is_exact and name not in _NEVER_PLAIN
        self._exact = plain if is_at_once else None
        self._recipes = getattr(engine, "recipes", None)
        self._learned = getattr(engine, "learned", None)
        self._views = getattr(engine, "views", None)
        self._code = self._kernels = None
        own_rule = FUNCTIONS.get(name, rule) if is_at_once else Rule.NONE
        larger = middling(name) if larger is None else larger
        self._rule = in_one(own_rule, larger, is_told=announce is not None)
        if announce is not None:
            registry.TOLD[plain] = announce
        own_engine = _on_numbers(engine, plain) if name in _OF_NUMBERS else engine
        own_engine = beside(own_engine, plain, own_rule, larger, announce)
        self._engine = with_numpys(own_engine, plain, of_own(name))
        self._engine = with_foreign(self._engine, plain, own_rule)
        if name == "asarray":
            self._engine = unless_given(self._engine)
        self._is_given = name in _GIVEN
        if self._is_given:
            self._engine = for_numpys(self._engine)
        self._size = _SIZES.get(name)
        self._public = plain

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._exact is None or args and is_pending(args[0]):
            return self._engine(*args, **kwargs)
        if args and is_foreign(type(args[0])):
            return self._engine(*args, **kwargs)
        if self._is_given and (is_in_array_method() or args and is_asked(type(args[0]))):
            return self._engine(*args, **kwargs)
        least = small.largest((*args, *kwargs.values()) if kwargs else args)
        given = small.lowered(args, kwargs, least)
        if given is None or self._makes_large(args, kwargs):
            return self._engine(*args, **kwargs)
        rerecord.count(5)
        written(self._exact, args, kwargs)
        found = call_as_user(self._exact, *given.args, **given.kwargs)
        if may_be_kept((*args, *kwargs.values()) if kwargs else args):
            found = _copied(found)
        if small.is_output(found, args[1:]):
            return found
        return small.answer(small.lift(found, given.arrays), kwargs)

    #: For callers inside the package: machine code, which takes the place of `__call__`, would
    #: leave warnings at their lines.
    call_as_user = __call__

    def _makes_large(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether it makes a large array of no arrays."""
        if self._size is None:
            return False
        size, least = self._size(*args, **kwargs), eager_size()
        most = max(least, MADE) if least and self._size is of_shape else least
        if size <= most:
            return False
        return not (least and is_new(size))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method of a class that has it as an attribute, where NumPy's is one."""
        is_plain = instance is None or isinstance(self._exact, BuiltinFunctionType)
        return self if is_plain else MethodType(self, instance)

    @property
    def _numba_type_(self) -> Any:
        return numba.type_of_function(self._public)

    def __eq__(self, other: object) -> bool:
        """As NumPy's function, which a table of a class's own functions is asked for."""
        return other is self or other is self._public

    def __hash__(self) -> int:
        return hash(self._public)

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"


def _on_numbers(engine: Method, plain: Method) -> Method:
    """`engine`, with NumPy's function beside it for numbers."""

    @wraps(engine)
    def function(*args: Any, **kwargs: Any) -> Any:
        if small.are_scalars(args) and not kwargs and are_numbers_numpys():
            return call_as_user(plain, *args)
        return engine(*args, **kwargs)

    return function


# ---- how large the arrays are that functions make of no arrays


def of_shape(shape: Any = 0, *rest: Any, **options: Any) -> float:
    """How many elements; 0 for what NumPy refuses, which says it better."""
    try:
        if isinstance(shape, tuple | list | np.ndarray | Handle):
            return float(math.prod(shape if np.iterable(shape) else (shape,)))
        return float(shape) if hasattr(shape, "__index__") else 0
    except (TypeError, ValueError, OverflowError):
        return 0


def _of_range(*given: Any, **named: Any) -> float:
    first = enumerate(("start", "stop", "step"))
    start, stop, step = [
        given[place] if place < len(given) else named.get(name) for place, name in first
    ]
    if stop is None:
        start, stop = 0, start
    try:
        return float((stop - (start or 0)) / (step or 1))
    except (TypeError, ZeroDivisionError, OverflowError):
        return 0


def _of_number(start: Any = 0, stop: Any = 0, num: Any = 50, *rest: Any, **options: Any) -> float:
    return float(num) * max(_count(start), _count(stop)) if isinstance(num, int) else 0


def _count(value: Any) -> int:
    if isinstance(value, np.ndarray):  # of a class that may decide on functions
        return value.size
    return 1 if type(value) in (int, float) else np.size(value)


def _of_square(N: Any = 0, M: Any = None, *rest: Any, **options: Any) -> float:
    return of_shape((N, N if M is None else M))


_SIZES: Mapping[str, Callable[..., float]] = {
    **dict.fromkeys(("zeros", "ones", "empty", "full", "indices"), of_shape),
    **dict.fromkeys(("linspace", "logspace", "geomspace"), _of_number),
    "tri": _of_square,
    "arange": _of_range,
    **dict.fromkeys(("fft.fftfreq", "fft.rfftfreq"), of_shape),
    "fromfunction": lambda function, shape, *rest, **options: of_shape(shape),
}
