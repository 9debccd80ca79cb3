"""`np.nditer` over LazyArrays: NumPy's own, which reads the values of arrays of the engine once;
what is written into such arrays is written back."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.naming import sign

_WRITING = {"readwrite", "writeonly"}


class _Kind(type):
    """The class of `nditer`, which NumPy's own iterators are instances of, too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, np.nditer)


class nditer(metaclass=_Kind):  # noqa: N801 - NumPy's name
    """As `np.nditer`, by NumPy; one of NumPy's where no array of the engine is written. Such an
    array gets its new elements when the iteration ends, and when the iterator is closed.

    Raises: ValueError for a read-only array that is to be written.
    """

    __slots__ = ("_iterator", "_written")

    def __new__(cls, op: Any, flags: Any = None, op_flags: Any = None, *rest: Any,
                **options: Any) -> Any:  # fmt: skip
        several = isinstance(op, list | tuple)
        if cls is nditer and not several and not _is_engines(op):
            return np.nditer(_lowered(op), flags, op_flags, *rest, **options)
        operands = list(op) if several else [op]
        each = _flags_of_each(op_flags, len(operands))
        written: dict[int, tuple[Handle, np.ndarray]] = {}
        for value, own in zip(operands, each, strict=False):
            if _is_engines(value) and _WRITING & {*own}:
                value._check_writeable()
                written[id(value)] = (value, np.array(value))
        lowered = [
            written[id(value)][1] if id(value) in written else _lowered(value)
            for value in operands
        ]
        made = np.nditer(lowered if several else lowered[0], flags, op_flags, *rest, **options)
        if cls is nditer and not written:
            return made
        around = super().__new__(cls)
        object.__setattr__(around, "_iterator", made)
        object.__setattr__(around, "_written", list(written.values()))
        return around

    def _settle(self) -> None:
        for array, values in self._written:
            array[...] = values

    def __iter__(self) -> nditer:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            self._settle()
            raise

    def iternext(self) -> bool:
        """Move on; False at the end."""
        more: bool = self._iterator.iternext()
        if not more:
            self._settle()
        return more

    def close(self) -> None:
        """Write back, and let the operands go."""
        self._iterator.close()
        self._settle()

    def __enter__(self) -> nditer:
        self._iterator.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._iterator.__exit__(*error)
        self._settle()

    def copy(self) -> nditer:
        """A second iterator over the same arrays, at the same place."""
        made = object.__new__(nditer)
        object.__setattr__(made, "_iterator", self._iterator.copy())
        object.__setattr__(made, "_written", self._written)
        return made

    __copy__ = copy

    def __len__(self) -> int:
        return len(self._iterator)

    def __getitem__(self, index: Any) -> Any:
        return self._iterator[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._iterator[index] = fallback.lower(value)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._iterator, name, value)


def _delegated(name: str) -> Any:
    """A method of NumPy's iterator."""

    def call(self: nditer, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._iterator, name)(*args, **kwargs)

    call.__name__, call.__qualname__ = name, f"nditer.{name}"
    call.__doc__ = getattr(np.nditer, name).__doc__
    return call


class _Signature:
    """The signature of NumPy's iterator, read when it is asked for."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        return inspect.signature(np.nditer)


for _name in "debug_print enable_external_loop remove_axis remove_multi_index reset".split():
    setattr(nditer, _name, _delegated(_name))
sign(nditer, np.nditer)
nditer.__signature__ = _Signature()  # type: ignore[attr-defined]  # `inspect` asks


def _is_engines(value: Any) -> bool:
    return isinstance(value, Handle) and value._host is None


def _lowered(value: Any) -> Any:
    """An operand for NumPy; the memory of a small array, in which it writes."""
    is_small = isinstance(value, Handle) and value._host is not None
    return value._host.view() if is_small else fallback.lower(value)


def _flags_of_each(op_flags: Any, count: int) -> list[Any]:
    """The flags of each operand: one list for all, or one each."""
    if op_flags is None:
        return [()] * count
    one = all(isinstance(item, str) for item in op_flags)
    return [op_flags] * count if one else list(op_flags)
