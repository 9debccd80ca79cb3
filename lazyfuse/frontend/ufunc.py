"""The ufuncs of the namespace: callable as NumPy's, with reduce, accumulate, reduceat, outer, at.

What a call means is in `call_form.py`; methods that kernels do not compute are recorded NumPy
calls where their outcome is known, else they run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from lazyfuse.frontend import (
    at_once,
    elementwise,
    fallback,
    folds,
    foreign,
    numba,
    of_numpys,
    opened,
    operators,
    others,
    picking,
    products,
    registry,
    scans,
    small,
    under_mask,
    windows,
)
from lazyfuse.frontend.call_form import as_arrays, call, warn_of_position
from lazyfuse.frontend.convert import ForeignError, are_numbers_numpys, device_beside, eager_size
from lazyfuse.frontend.direct import direct
from lazyfuse.frontend.folding import Folding
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.manipulation import asarray
from lazyfuse.frontend.rerecord import NUMBERS, count
from lazyfuse.frontend.sequences import SCALARS
from lazyfuse.frontend.shortcuts import (
    binary,
    into,
    is_pending,
    number_first,
    unary,
)
from lazyfuse.frontend.varying import on_numbers
from lazyfuse.ops.rules import Rule
from lazyfuse.ops.shapes import MOST_AXES
from lazyfuse.ops.table import MULTIPLE, OPS
from lazyfuse.runtime.heard import heard

#: What machine code saves of a call on numbers, and into a small array (`rerecord.count`).
_OF_NUMBERS, _OF_SMALL = 1, 5


class _Short(NamedTuple):
    """The short way of recording, for calls of `nin` operands; where the first is a number; and
    into an array."""

    nin: int
    method: Callable[..., Any]
    number_first: Callable[[Any, Any], Any] | None = None
    into: Callable[[Sequence[Any], Any], Any] | None = None


def _shortcut(ufunc: np.ufunc, name: str) -> _Short:
    """The short way of a ufunc, if it has one."""
    if ufunc.nout == 1 and ufunc.signature is None and ufunc.nin in (1, 2):

        def general(*args: Any) -> Any:
            return elementwise.apply(name, args)

        written = into(lambda args, out: call(name, ufunc, args, {"out": out}))
        if ufunc.nin == 1:
            return _Short(1, unary(general), into=written)
        method = binary(general)
        return _Short(2, method, number_first(method, general), written)
    return _Short(-1, elementwise.apply)


def _computing(name: str, ufunc: np.ufunc) -> Callable[[Sequence[Any]], Any]:
    """What computes a ufunc of small operands at once: NumPy where its bits are the kernels'."""

    def exactly(values: Sequence[Any]) -> Any:
        return windows.operated(ufunc, *values)

    if name in of_numpys.PREDICATES:
        return of_numpys.answering(ufunc, exactly)
    if name == "absolute":  # they are, but for complex numbers
        modulus = direct(name)
        return lambda values: modulus(values) if _is_complex(values[0]) else exactly(values)
    return exactly if small.is_exact((name,)) else direct(name)


def _is_complex(value: Any) -> bool:
    return isinstance(value, Handle) and np.iscomplexobj(cast(Any, value))


_OUT_WHERE = frozenset(("out", "where"))


class UfuncType(type):
    """Makes `isinstance(f, lazyfuse.ufunc)` true for NumPy's ufuncs too: programs ask for any."""

    def __instancecheck__(cls, instance: object) -> bool:
        whole = getattr(instance, "__wrapped__", instance)  # a ufunc that only NumPy computes
        return type.__instancecheck__(cls, instance) or (
            cls is Ufunc and isinstance(whole, np.ufunc)
        )


class Ufunc(registry.AtOnce, metaclass=UfuncType):
    """A NumPy ufunc that records.

    Attributes that are not calls (nin, types, identity...) are NumPy's.
    """

    def __init__(self, ufunc: np.ufunc, name: str) -> None:
        self._ufunc = self._numpys = ufunc
        self._name = name
        self._is_exact = small.is_exact(MULTIPLE.get(name, (name,)))
        self.__name__ = self.__qualname__ = ufunc.__name__
        self.__doc__ = ufunc.__doc__
        self._short = _shortcut(ufunc, name)
        self._recipes = getattr(self._short.method, "recipes", None)
        self._into = getattr(self._short.into, "recipes", None)
        self._exact = ufunc if self._is_exact else None
        self._learned = self._code = self._kernels = None
        self._rule = Rule.SPREAD
        self._at_once = None if self._short.nin < 0 else _computing(name, ufunc)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._ufunc.nout == 1:  # no output, as NumPy's own code says it
            if len(kwargs) == 1 and kwargs.get("out", kwargs) is None:
                kwargs = {}
            if len(args) == self._ufunc.nin + 1 and args[-1] is None and "out" not in kwargs:
                warn_of_position(self._ufunc)
                args = args[:-1]
        if not kwargs and len(args) == self._short.nin:
            are_numbers = type(args[0]) in SCALARS and type(args[-1]) in SCALARS
            if are_numbers and are_numbers_numpys():
                count(_OF_NUMBERS)
                return heard(self._ufunc, *args)  # which gives numbers
            found = None if self._at_once is None else self._at_once(args)
            if found is not None:
                return found
            if is_pending(args[0]):
                return self._short.method(*args)
            if type(args[0]) in NUMBERS and is_pending(args[-1]):
                assert self._short.number_first is not None
                return self._short.number_first(*args)
        return self._general(*args, **kwargs)

    #: For callers inside the package: machine code, which takes the place of `__call__`, would
    #: leave warnings at their lines.
    call_as_user = __call__

    def _general(self, *args: Any, **kwargs: Any) -> Any:
        are_numbers = small.are_scalars(args)
        if are_numbers and not kwargs and are_numbers_numpys():
            return heard(self._ufunc, *args)
        found = foreign.of_ufunc(self._ufunc, args, kwargs)
        if found is not small.LARGE:
            return found
        at_once = self._is_exact or are_numbers
        found = small.ufunc(self._ufunc, args, kwargs) if at_once else small.LARGE
        if found is small.LARGE:
            is_output = isinstance(args[-1] if args else None, Handle | np.ndarray)
            if is_output and len(args) == self._ufunc.nin + 1 and "out" not in kwargs:
                warn_of_position(self._ufunc)
            found = self._on_parts(args, kwargs)
        else:
            count(_OF_SMALL)
        if found is not small.LARGE:
            return found
        if kwargs or len(args) != self._ufunc.nin or self._ufunc.nout > 1:
            out = self._output(args, kwargs)
            if type(out) is Handle._concrete and self._short.into is not None:
                return self._short.into(args[: self._ufunc.nin], out)
            return call(self._name, self._ufunc, args, kwargs)
        noted = on_numbers(self, args) if eager_size() else None
        return elementwise.apply(self._name, args) if noted is None else noted

    def _output(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What the only result is written to, where nothing else is asked for; else None."""
        nin = self._ufunc.nin
        if self._at_once is None or self._ufunc.nout > 1 or len(args) < nin:
            return None
        given = (kwargs["out"],) if len(kwargs) == 1 and "out" in kwargs else ()
        outs = (*args[nin:], *(given[0] if given and type(given[0]) is tuple else given))
        return outs[0] if len(outs) == 1 and (given or not kwargs) else None

    def _on_parts(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result where operands or the output are small parts of the engine's memory; LARGE
        where they are not."""
        out, nin = self._output(args, kwargs), self._ufunc.nin
        if out is not None:
            return out if self._is_delivered(args[:nin], out) else small.LARGE
        if kwargs.keys() == _OUT_WHERE and len(args) == nin:
            return kwargs["out"] if self._is_delivered_where(args, **kwargs) else small.LARGE
        if not self._has_numpys_bits(args):
            return small.LARGE
        return opened.called(self._ufunc, args, kwargs, Rule.SPREAD, nin)

    def has_written(self, inputs: Sequence[Any], out: Sequence[Any]) -> bool:
        """Whether the result is written into one array of NumPy's. Raises: what NumPy does."""
        is_numpys = len(out) == 1 and type(out[0]) is np.ndarray
        return is_numpys and self._has_numpys_bits(inputs) and self._is_delivered(inputs, out[0])

    def _has_numpys_bits(self, args: Sequence[Any]) -> bool:
        """Whether kernels give NumPy's bits for these operands."""
        is_modulus = self._ufunc is np.absolute and _is_complex(args[0] if args else None)
        return self._is_exact and not is_modulus

    def _is_delivered_where(self, inputs: Sequence[Any], out: Any, where: Any) -> bool:
        """The same where a mask holds."""
        if self._has_numpys_bits(inputs):
            return under_mask.delivered(self._ufunc, inputs, out, where)
        compute = self._at_once
        return compute is not None and under_mask.computed(compute, inputs, out, where)

    def _is_delivered(self, inputs: Sequence[Any], out: Any) -> bool:
        """Whether the result has been written at once."""
        if self._has_numpys_bits(inputs):
            return windows.delivered(self._ufunc, inputs, out)
        found = None if self._at_once is None else self._at_once(inputs)
        return isinstance(found, Handle) and windows.put(found, out)

    @Folding
    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
               keepdims: Any = False, initial: Any = np._NoValue,
               where: Any = True) -> Any:  # fmt: skip
        """Fold over axes; by default the first."""
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "initial": initial}
        if out is Ellipsis:
            return as_arrays(folds.reduce(self._ufunc, array, out=None, where=where, **options))
        return folds.reduce(self._ufunc, array, out=out, where=where, **options)

    @Folding
    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """The running folds along an axis."""
        return scans.accumulate(self._ufunc, array, axis, dtype, None if out is ... else out)

    @Folding
    def reduceat(
        self, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
    ) -> Any:
        """Folds of the slices that begin at `indices` along an axis."""
        out = None if out is Ellipsis else out
        return folds.reduceat(self._ufunc, array, indices, axis, dtype, out)

    @Folding
    def outer(self, *args: Any, **kwargs: Any) -> Any:
        """The op on all pairs: recorded through broadcasting."""
        is_plain = len(args) == self._ufunc.nin == 2 and self._ufunc.signature is None
        try:
            if not is_plain:
                raise ForeignError("outer")
            home = device_beside(args)
            left, right = asarray(args[0], home), asarray(args[1], home)
            if left.ndim + right.ndim > MOST_AXES:
                raise ForeignError("too many axes")
        except ForeignError:
            return fallback.call(self._ufunc.outer, *args, **kwargs)
        return self(left[(..., *(None,) * right.ndim)], right, **kwargs)

    @Folding
    def at(self, a: Any, indices: Any, *values: Any) -> None:
        """Unbuffered in-place operation on indexed elements."""
        picking.at(self._ufunc, a, indices, *values)

    def resolve_dtypes(self, dtypes: Any, **options: Any) -> Any:
        """The dtypes of the loop that operands of `dtypes` take."""
        return self._ufunc.resolve_dtypes(dtypes, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__signature__", "__text_signature__"):
            raise AttributeError(name)
        return getattr(self._ufunc, name)

    @property
    def _numba_type_(self) -> Any:
        return numba.type_of_function(self._ufunc)

    def __eq__(self, other: object) -> bool:
        """Whether both are one ufunc; NumPy's own is the same one."""
        return self._ufunc is getattr(other, "_ufunc", other)

    def __hash__(self) -> int:
        return hash(self._ufunc)

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self._name,)

    def __repr__(self) -> str:
        return repr(self._ufunc)


class Product(Ufunc):
    """A ufunc over whole vectors or matrices (matmul, vecdot...): a recorded library call."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = small.ufunc(self._ufunc, args, kwargs)
        if found is small.LARGE and self._ufunc is np.matmul and len(args) == 2 and not kwargs:
            product = at_once.product(*args)
            found = small.LARGE if product is None else product
        if found is small.LARGE:
            found = opened.called(self._ufunc, args, kwargs, Rule.SPREAD, self._ufunc.nin)
        if found is not small.LARGE:
            return found
        if any(map(others.overrides, args)):
            return self._ufunc(*args, **kwargs)  # which asks them
        if kwargs.get("out") is Ellipsis:
            return as_arrays(products.call(self._ufunc, args, {**kwargs, "out": None}))
        return products.call(self._ufunc, args, kwargs)

    call_as_user = __call__


def named(name: str) -> Any:
    """The ufunc of this name: what a pickle of one names."""
    return registry.NATIVE[name]


def _elementwise_ufuncs() -> dict[str, np.ufunc]:
    """Every ufunc of the table by its public name."""
    found: dict[str, np.ufunc] = {}
    for name, op in OPS.items():
        ufunc = op.ufunc
        public: object = getattr(np, name, None)
        if ufunc is not None and ufunc.nout == 1 and public is ufunc:
            found[name] = ufunc
    for name in MULTIPLE:
        found[name] = getattr(np, name)
    return found


UFUNCS: Mapping[str, Ufunc] = {
    **{name: Ufunc(ufunc, name) for name, ufunc in _elementwise_ufuncs().items()},
    **{name: Product(getattr(np, name), name) for name in products.NAMES},
}
operators.power_ufunc.append(UFUNCS["power"])
