"""The methods of LazyArray: at once by NumPy when the array is small, else the engine's."""

from __future__ import annotations

from collections.abc import Callable
from sys import _getframe, getrefcount
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback, rerecord
from lazyfuse.frontend.array_likes import MET, computed, in_memory, is_asked, numpys_key
from lazyfuse.frontend.convert import eager_size
from lazyfuse.frontend.direct import direct
from lazyfuse.frontend.handle import Handle, small_array
from lazyfuse.frontend.keys import as_tuple, in_hand, is_basic
from lazyfuse.frontend.naming import name_methods, sign
from lazyfuse.frontend.native_methods import make_native_if_worth
from lazyfuse.frontend.opened import called
from lazyfuse.frontend.passing import Reuse
from lazyfuse.frontend.resizing import resize
from lazyfuse.frontend.sequences import SCALARS, are_numbers
from lazyfuse.frontend.small import KNOWN, LARGE, answer, fits, is_exact, is_output, lift, lowered
from lazyfuse.frontend.small_special import (
    contains,
    divided,
    dot,
    is_complex,
    number,
    power,
    reflected_power,
    viewed,
)
from lazyfuse.frontend.windows import (
    at_hand,
    changed,
    largest,
    made,
    operated,
    reach,
    window,
)
from lazyfuse.frontend.witnessed import written
from lazyfuse.ir.witness import WITNESSES, keep
from lazyfuse.ops.rules import METHODS, Rule, middling
from lazyfuse.runtime.caller import call_as_user
from lazyfuse.runtime.heard import heard

Method = Callable[..., Any]

#: What machine code saves (`rerecord.count`): 0.2 us of an element that is read or an attribute,
#: 0.4 of a view.
_READ, _VIEWED = 0.125, 0.25


def binary(name: str, special: str, engine: Method, array: type) -> Method:
    """A binary operator of the class `array`, plain or reflected."""
    if not is_exact((name,)):
        return engine
    plain = getattr(np.ndarray, special)
    reuse = Reuse(special)
    ndarray, new = np.ndarray, object.__new__

    def method(self: Any, other: Any) -> Any:
        host, kind = self._host, type(other)
        theirs = other._host if kind is array else host
        if host is None or theirs is None:
            references = getrefcount(self), getrefcount(other)
            found = reuse.passed(self, other, references, _getframe(1))
            found = operated(plain, self, other) if found is None else found
            return engine(self, other) if found is None else found
        if kind is array:
            if host.shape != theirs.shape and not fits(host, theirs):
                return engine(self, other)
            value = heard(plain, host, theirs)
        elif kind in SCALARS:
            value = heard(plain, host, other)
        else:
            found = _beside(plain, host, other)
            return engine(self, other) if found is LARGE else found
        rerecord.count()
        if type(value) is not ndarray:
            return value  # NumPy gives scalars for arrays without axes
        made: Any = new(array)  # small_array, written out
        made._host, made._owner = value, None
        return made

    return method


def _beside(plain: Method, host: np.ndarray, other: Any) -> Any:
    """The result of an operator on a small array and what is neither one nor a number; LARGE where
    the engine is to be asked. Raises: what it does."""
    kind = type(other)
    if kind not in _READ_AT_ONCE:
        if isinstance(other, np.generic):  # of a dtype that only NumPy has
            return lift(heard(plain, host, other))
        if is_asked(kind) and kind not in MET:
            found = computed(plain, host, other)
            return LARGE if found is plain else lift(found)
    theirs = _plain(other)
    if theirs is None or not fits(host, theirs):
        return LARGE
    rerecord.count()
    return _value(heard(plain, host, theirs))


_READ_AT_ONCE = frozenset((np.ndarray, list, tuple, range))


def _plain(other: Any) -> Any:
    """NumPy's array of an operand that is one, or of what NumPy makes one of; None for others, and
    those that are large or of other dtypes."""
    kind = type(other)
    if kind is np.ndarray:
        return other if other.size <= eager_size() and other.dtype in KNOWN else None
    if kind in (list, tuple) and len(other) <= eager_size():
        given = ([other],) if are_numbers(other) else lowered((other,), {})
        try:
            return None if given is None else _plain(np.asarray(given[0][0]))
        except (ValueError, TypeError):
            return None  # the engine says why
    if kind in MET:
        found = call_as_user(other.__array__)
        is_numpys = type(found) is np.ndarray
        return found._host if isinstance(found, Handle) else _plain(found) if is_numpys else None
    found = in_memory(other, eager_size())
    return None if found is other else _plain(found)


def _value(result: Any) -> Any:
    """The result of an operator: NumPy gives scalars for arrays without axes."""
    return small_array(result) if type(result) is np.ndarray else result


def in_place(name: str, special: str, engine: Method) -> Method:
    """An in-place operator: NumPy's memory stays the array's."""
    plain = getattr(np.ndarray, special)
    exact = is_exact((name,))

    def method(self: Any, other: Any) -> Any:
        host = self._host
        if host is None:
            is_done = exact and changed(plain, self, other)
            return self if is_done else engine(self, other)
        if WITNESSES:
            keep(host)
        theirs = _host_of(other) if exact else None
        if theirs is None:
            return engine(self, other)
        heard(plain, host, theirs)
        rerecord.count()
        return self

    return method


def _host_of(other: Any) -> Any:
    """An operand for NumPy, None when it is the engine's."""
    if type(other) in SCALARS:
        return other
    return at_hand(other, largest()) if isinstance(other, Handle) else _plain(other)


def unary(name: str, special: str, engine: Method, array: type) -> Method:
    """A unary operator; the absolute value of complex numbers is the kernels' own."""
    plain = getattr(np.ndarray, special)
    modulus = direct(name) if name == "absolute" else None

    def method(self: Any) -> Any:
        host = self._host
        if modulus is not None and is_complex(self):
            found = modulus((self,))
            return engine(self) if found is None else found
        if host is None:
            host = window(self, reach((self,), largest()))
        if host is None or host.dtype.kind not in "biufc":
            return engine(self)
        rerecord.count()
        return made(plain(host), largest())  # these meet no condition

    return method


def method(name: str, engine: Method) -> Method:
    """Any other method that ndarray has."""
    plain = getattr(np.ndarray, name)
    writes = name in _WRITING
    run = _call if name in _SILENT else call_as_user
    is_short = name in _SHORT
    known = "" if name == "item" else name  # which looks there itself, at one element
    rule, larger = METHODS.get(known, Rule.NONE), middling(name)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        host = self._host
        if host is None:
            if rule and self._storage.node.buffer is not None:
                found = called(plain, (self, *args), kwargs, rule, 3, larger)
                if found is not LARGE:
                    return found
            return engine(self, *args, **kwargs)
        if is_short and not args and not kwargs:
            rerecord.count()
            return _value(heard(plain, host))
        if writes and WITNESSES:
            keep(host)
        given = lowered(args, kwargs, host.size)
        rerecord.count(2)
        if given is not None:
            written(plain, (self, *args), kwargs)
            found = run(plain, host, *given.args, **given.kwargs)
            if is_output(found, args):
                return found
            return answer(lift(found, (self, *given.arrays)), kwargs)
        if writes:
            named = {key: fallback.lower(value) for key, value in kwargs.items()}
            fallback.called(plain, [host, *fallback.lower(list(args))], named)
            return None
        return engine(self, *args, **kwargs)

    return call


def item(engine: Method) -> Method:
    """`x[key]`: for the keys of loops and slices without looking at them closely."""
    general = method("__getitem__", engine)

    def call(self: Any, key: Any) -> Any:
        host = self._host
        key = as_tuple(key)
        if host is None:
            return engine(self, key)
        if not is_basic(key):
            return general(self, numpys_key(in_hand(key)))
        found = host[key]
        if type(found) is not np.ndarray:
            rerecord.count(_READ)
            return found
        rerecord.count(_VIEWED)
        return small_array(found, self if self._owner is None else self._owner)

    return call


def set_item(engine: Method) -> Method:
    """`x[key] = value`: for the keys and numbers of loops without looking at them closely."""
    general = method("__setitem__", engine)

    def call(self: Any, key: Any, value: Any) -> None:
        host = self._host
        key = as_tuple(key)
        if host is None or not is_basic(key):
            (engine if host is None else general)(self, key, value)
            return
        if WITNESSES:
            keep(host)
        kind = type(value)
        if kind is Handle._concrete:
            theirs = value._host
            if theirs is None or theirs.dtype is not host.dtype:
                general(self, key, value)
                return
            value = theirs
        elif kind is not int and kind is not float:
            general(self, key, value)
            return
        heard(host.__setitem__, key, value)
        rerecord.count()

    return call


def _call(function: Method, /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


#: Methods that write into the array: what they need of the engine is computed at once.
_WRITING = frozenset("__setitem__ fill put setfield sort partition".split())
#: Methods that never warn: they neither compute nor convert.
_SILENT = frozenset(
    "__getitem__ __copy__ all any argmax argmin argsort copy diagonal "
    "flatten item max min nonzero ravel repeat reshape squeeze swapaxes take tobytes tolist "
    "transpose".split()
)
#: Methods that are new without arguments, and that warn of floating point conditions alone.
_SHORT = frozenset(
    "sum prod cumsum cumprod max min any all argmax argmin copy __copy__ __bool__".split()
)


def attribute(name: str, engine: property, *, wrapped: bool = False) -> property:
    """A property that ndarray has."""

    def get(self: Any) -> Any:
        host = self._host
        if host is None:
            return engine.fget(self)  # type: ignore[misc]  # every property here can be read
        value = getattr(host, name)
        rerecord.count(_VIEWED if wrapped else _READ)
        if not wrapped:
            return value
        if value.base is host:
            return small_array(value, self if self._owner is None else self._owner)
        return lift(value, (self,))

    def put(self: Any, value: Any) -> None:
        host = self._host
        if host is None:
            assert engine.fset is not None
            engine.fset(self, value)
        elif name == "dtype" and np.dtype(value) not in KNOWN:
            raise TypeError(f"cannot set the dtype of this array to {np.dtype(value)} in place")
        else:
            theirs = _host_of(value)
            if theirs is None:
                theirs = np.asarray(value) if wrapped else value
            call_as_user(setattr, host, name, theirs)

    return property(get, put if engine.fset is not None else None, doc=engine.__doc__)


# ---- the class

_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
_COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal",
}  # fmt: skip
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}
_PLAIN_ATTRIBUTES = "shape dtype ndim size itemsize nbytes strides flags".split()
_VIEWS = "T mT real imag".split()
#: Special methods that need no care beyond that of any method.
_SPECIAL = (
    "__getitem__ __setitem__ __bool__ __int__ __float__ __complex__ "
    "__index__ __copy__ __divmod__ __rdivmod__ __matmul__ __rmatmul__ __imatmul__"
).split()


#: Those that give Python's numbers.
_NUMBERS = "__bool__ __int__ __float__ __complex__ __index__".split()
#: Methods that NumPy knows less of.
_OURS = {"to_device"}


def install(kind: type, interface: type) -> None:
    """Give `kind` the methods of `interface`, each at once when the array is small."""
    found: dict[str, Any] = {}
    for table, make in ((_BINARY, binary), (_COMPARISONS, binary), (_UNARY, unary)):
        for short, name in table.items():
            engine = vars(interface)[f"__{short}__"]
            found[f"__{short}__"] = make(name, f"__{short}__", engine, kind)
    for short, name in _BINARY.items():
        special = f"__r{short}__"
        found[special] = binary(name, special, vars(interface)[special], kind)
        special = f"__i{short}__"
        found[special] = in_place(name, special, vars(interface)[special])
    for name in _PLAIN_ATTRIBUTES + _VIEWS:
        found[name] = attribute(name, vars(interface)[name], wrapped=name in _VIEWS)
    public = (name for name in vars(interface) if not name.startswith("_") and name not in _OURS)
    for name in (*public, *_SPECIAL):
        value = vars(interface)[name]
        if name not in found and callable(value) and hasattr(np.ndarray, name):
            found[name] = method(name, value)
    found["__getitem__"] = item(vars(interface)["__getitem__"])
    found["__setitem__"] = set_item(vars(interface)["__setitem__"])
    found["dot"] = dot(method("dot", vars(interface)["dot"]))
    found["view"] = viewed(found["view"])
    found["__rpow__"] = reflected_power(vars(interface)["__rpow__"])
    for name in ("__divmod__", "__rdivmod__"):
        found[name] = divided(name, found[name])
    for name in _NUMBERS:
        found[name] = number(name, found[name])
    found["__contains__"] = contains(method("__contains__", vars(interface)["__contains__"]))
    found["resize"] = resize(vars(interface)["resize"])
    found["__pow__"] = power(vars(interface)["__pow__"])
    found["__array_ufunc__"] = vars(interface)["__array_ufunc__"]  # machine code takes its place
    for name, value in found.items():
        setattr(kind, name, value)
    name_methods(interface, interface)
    name_methods(kind, interface)
    rerecord.when_hot.append(lambda: make_native_if_worth(kind))
    sign(kind, np.ndarray)
