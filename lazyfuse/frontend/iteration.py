"""`np.nditer` over LazyArrays: the values are read once; what is written is written back."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.small_methods import sign

_WRITING = {"readwrite", "writeonly"}


class nditer:  # noqa: N801 - NumPy's name
    """As `np.nditer`, by NumPy. A LazyArray that is written gets its new elements when the
    iteration ends, and when the iterator is closed.

    Raises: ValueError for a read-only array that is to be written.
    """

    __slots__ = ("_iterator", "_written")

    def __init__(self, op: Any, flags: Any = None, op_flags: Any = None, *rest: Any,
                 **options: Any) -> None:  # fmt: skip
        several = isinstance(op, list | tuple)
        operands = list(op) if several else [op]
        each = _flags_of_each(op_flags, len(operands))
        written: dict[int, tuple[Handle, np.ndarray]] = {}
        for value, own in zip(operands, each, strict=False):
            if isinstance(value, Handle) and _WRITING & {*own}:
                value._check_writeable()
                written[id(value)] = (value, np.array(value))
        lowered = [
            written[id(value)][1] if id(value) in written else fallback.lower(value)
            for value in operands
        ]
        made = np.nditer(lowered if several else lowered[0], flags, op_flags, *rest, **options)
        object.__setattr__(self, "_iterator", made)
        object.__setattr__(self, "_written", list(written.values()))

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


def _flags_of_each(op_flags: Any, count: int) -> list[Any]:
    """The flags of each operand: one list for all, or one each."""
    if op_flags is None:
        return [()] * count
    one = all(isinstance(item, str) for item in op_flags)
    return [op_flags] * count if one else list(op_flags)
