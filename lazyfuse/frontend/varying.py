"""Stand-ins for numbers that change from call to call, while a function is recorded.

A `Varying` takes the place of a number among the arguments. Arithmetic with other numbers
is noted on its `Tape`, to be done again at each replay; where it meets an array it is a weak
scalar like the number itself, and an argument of the kernel. Whatever else is asked of it (a
comparison, `float`, a hash) ends the recording (`Stopped`): the next one stands for that number
alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.node import Const
from lazyfuse.runtime.arithmetic import Given, Literal, Register, Row, Step

#: Numbers that may vary: Python's, for which a bool is a choice, and NumPy's float, which ufuncs
#: give, and a loop over `np.linspace`.
KINDS = (int, float, complex, np.float64)
_OPERANDS = frozenset((*KINDS, bool))


class Silent:
    """A function of NumPy's scalars that raises FloatingPointError where NumPy would warn."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *operands: Any) -> Any:
        with np.errstate(all="raise"):
            return self._function(*operands)


class Tape:
    """What is done with the numbers of a call: `rows`, one for each register. `asked`: those whose
    value was asked for."""

    def __init__(self, given: Sequence[Any], paths: Sequence[tuple[Any, ...]]) -> None:
        self.rows: list[Row] = []
        self.asked: set[int] = set()
        self.is_open = True
        self.numbers = [self._at(given, path, place) for place, path in enumerate(paths)]

    def _at(self, given: Sequence[Any], path: tuple[Any, ...], place: int) -> Varying:
        """The stand-in for what is at a path among arguments."""
        first, *keys = path
        value, register = given[first], self._row(Given(first))
        for key in keys:
            value = value[key]
            step = Step(operator.getitem, (register, self._row(Literal(key))), type(value))
            register = self._row(step)
        return Varying(self, register, value, frozenset((place,)))

    def close(self) -> None:
        """The recording is over; stand-ins that something kept are numbers like others."""
        self.is_open = False

    def _row(self, row: Row) -> Register:
        self.rows.append(row)
        return len(self.rows) - 1

    def compute(self, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """What an operator gives of one or two numbers, with this tape's among them.
        Raises: what it raises."""
        if any(isinstance(each, Handle) for each in operands):
            return NotImplemented
        is_numpys = np.float64 in [type(known(each)) for each in operands]
        found = self.note(Silent(function) if is_numpys else function, operands)
        return function(*map(asked, operands)) if found is None else found

    def note(self, function: Callable[..., Any], operands: Sequence[Any]) -> Varying | None:
        """The number that a function gives of numbers in each call; None where it gives no number,
        or NumPy has something to say. Raises: what Python raises."""
        if not self._knows(operands):
            return None
        try:
            value = function(*map(known, operands))
        except FloatingPointError:
            return None
        except Exception:  # which the function may catch: another branch for this number alone
            for operand in operands:
                asked(operand)
            raise
        if type(value) not in KINDS:
            return None
        places = frozenset().union(*[each.places for each in operands if type(each) is Varying])
        registers = tuple(map(self._register, operands))
        return Varying(self, self._row(Step(function, registers, type(value))), value, places)

    def _knows(self, operands: Sequence[Any]) -> bool:
        """Whether operands are numbers of this tape, or the same in each call."""
        return self.is_open and all(
            each.tape is self if type(each) is Varying else type(each) in _OPERANDS
            for each in operands
        )

    def _register(self, number: Any) -> Register:
        return number.register if type(number) is Varying else self._row(Literal(number))


def is_varying(number: Any) -> TypeGuard[Varying]:
    """Whether a number is a stand-in, which `isinstance` does not tell."""
    return type(number) is Varying


def known(number: Any) -> Any:
    """The value of a number in this call, which nobody learns."""
    return number.value if type(number) is Varying else number


class Stopped(BaseException):
    """The value of a number was asked for while its tape records: with stand-ins, the function is
    not called to its end. No Exception, so that functions do not catch it; and what they keep for
    later calls, they keep for numbers."""

    def __init__(self, tape: Tape) -> None:
        super().__init__()
        self.tape = tape


def asked(number: Any) -> Any:
    """The value of a number, which was asked for. Raises: Stopped."""
    if type(number) is not Varying:
        return number
    if number.tape.is_open:
        number.tape.asked |= number.places
        raise Stopped(number.tape)
    return number.value


def on_numbers(function: Callable[..., Any], operands: Sequence[Any]) -> Varying | None:
    """What a ufunc gives of numbers alone, with stand-ins among them; None where that has to be
    known."""
    first = next(filter(is_varying, operands), None)
    return None if first is None else first.tape.note(Silent(function), operands)


def constant(number: Varying, dtype: str) -> Const | None:
    """A scalar of a loop whose value is that of a number in each call; None where that has to be
    known: where NumPy warns of the cast, or refuses it, or it depends on the value."""
    fits = type(number.value) in _TAKEN.get(dtype[0], ())
    return Const(number, dtype) if fits and number.tape.is_open else None  # type: ignore[arg-type]  # a number, see `recording.py`


#: What loops of real, complex and integer dtypes take of any value.
_TAKEN = {"f": (int, float, np.float64), "c": KINDS, "i": (int,), "u": (int,)}


def _noted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method of an operator that is done again in each call."""

    def method(self: Varying, *others: Any) -> Any:
        if len(others) > 1:  # a power with a modulus
            return function(*map(asked, (self, *others)))
        return self.tape.compute(function, (self, *others))

    return method


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Varying, other: Any) -> Any:
        return self.tape.compute(function, (other, self))

    return method


def _answered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that needs the value."""

    def method(self: Varying, *others: Any) -> Any:
        return function(*map(asked, (self, *others)))

    return method


def _compared(function: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison: with an array, it is the array's."""

    def method(self: Varying, other: Any) -> Any:
        return NotImplemented if isinstance(other, Handle) else function(asked(self), asked(other))

    return method


class Varying:
    """See the module. tape, register: where its value is noted. value: that of this call. places:
    the numbers of the call that it follows from."""

    __slots__ = ("tape", "register", "value", "places")

    def __init__(self, tape: Tape, register: Register, value: Any, places: frozenset[int]) -> None:
        self.tape, self.register, self.value, self.places = tape, register, value, places

    @property  # type: ignore[misc]  # to `isinstance` it is the number that it stands for
    def __class__(self) -> type:
        return type(self.value)

    __add__, __radd__ = _noted(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _noted(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _noted(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _noted(operator.truediv), _reflected(operator.truediv)
    __floordiv__, __rfloordiv__ = _noted(operator.floordiv), _reflected(operator.floordiv)
    __mod__, __rmod__ = _noted(operator.mod), _reflected(operator.mod)
    __pow__, __rpow__ = _noted(pow), _reflected(pow)
    __neg__, __pos__, __abs__ = _noted(operator.neg), _noted(operator.pos), _noted(abs)

    __lt__, __le__ = _compared(operator.lt), _compared(operator.le)
    __gt__, __ge__ = _compared(operator.gt), _compared(operator.ge)
    __eq__, __ne__ = _compared(operator.eq), _compared(operator.ne)

    __float__, __int__, __complex__ = _answered(float), _answered(int), _answered(complex)
    __bool__, __hash__, __index__ = _answered(bool), _answered(hash), _answered(operator.index)
    __round__, __trunc__ = _answered(round), _answered(int)
    __divmod__, __rdivmod__ = _answered(divmod), _answered(lambda self, other: divmod(other, self))
    __and__, __rand__ = _answered(operator.and_), _answered(operator.and_)
    __or__, __ror__ = _answered(operator.or_), _answered(operator.or_)
    __xor__, __rxor__ = _answered(operator.xor), _answered(operator.xor)
    __lshift__, __rlshift__ = _answered(operator.lshift), _answered(lambda a, b: b << a)
    __rshift__, __rrshift__ = _answered(operator.rshift), _answered(lambda a, b: b >> a)
    __invert__ = _answered(operator.invert)
    __repr__, __str__, __format__ = _answered(repr), _answered(str), _answered(format)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self.value), (asked(self),)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'{type(self.value).__name__}' object has no attribute '{name}'")
        return getattr(asked(self), name)

    # ---- NumPy

    def __array__(self, *args: Any, **options: Any) -> Any:
        return np.array(asked(self), *args, **options)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """A ufunc of NumPy: noted on numbers alone, else with the values."""
        if method == "__call__" and not options and ufunc.nout == 1:
            found = on_numbers(ufunc, inputs)
            if found is not None:
                return found
        return getattr(ufunc, method)(*map(asked, inputs), **options)
