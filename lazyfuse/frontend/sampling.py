"""Random numbers: NumPy's own streams, seed for seed.

Samples are drawn at once, so a stream never depends on what is computed when; they come back as
LazyArrays. `shuffle` and `out=` write through.

The classes are NumPy's own by inheritance, so `isinstance` and libraries that take a generator
work. Each holds a plain NumPy generator of the same bit generator, which draws: NumPy's C code
calls its own methods and needs arrays of NumPy there.
"""

from __future__ import annotations

from functools import cache, wraps
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback


@cache
def _method(kind: type, name: str) -> Any:
    """The method of a class here: that of the plain generator inside, with lazy samples. One per
    name, so that bound methods compare as NumPy's do."""

    @wraps(getattr(kind, name))
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        draw = getattr(self._plain, name)
        if all(map(_is_plain, args)) and all(map(_is_plain, kwargs.values())):
            return fallback.of_plain(draw, *args, **kwargs)
        return fallback.run(draw, *args, **kwargs)

    return method


def _is_plain(value: Any) -> bool:
    """Whether an argument is a number, a shape, or nothing."""
    kind = type(value)
    return kind in _PLAIN or kind is tuple and all(type(extent) is int for extent in value)


_PLAIN = frozenset((int, float, bool, str, type(None)))


class Generator(np.random.Generator):
    """`np.random.Generator` with LazyArrays as samples."""

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        self._plain = np.random.Generator(self.bit_generator)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.bit_generator,)

    def __getattribute__(self, name: str) -> Any:
        if name in _DRAWS:
            return _method(np.random.Generator, name).__get__(self)
        return super().__getattribute__(name)


class RandomState(np.random.RandomState):
    """`np.random.RandomState` with LazyArrays as samples."""

    def __init__(self, seed: Any = None) -> None:
        self._plain = np.random.RandomState(fallback.lower(seed))
        super().__init__(self._plain._bit_generator)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._plain.get_state(legacy=False),)

    def __getattribute__(self, name: str) -> Any:
        if name in _LEGACY:
            return _method(np.random.RandomState, name).__get__(self)
        return super().__getattribute__(name)


def _restored(state: dict[str, Any]) -> RandomState:
    """The RandomState of a pickled state."""
    made = RandomState(getattr(np.random, state["bit_generator"])())
    made.set_state(state)
    return made


def default_rng(seed: Any = None) -> Generator:
    """A Generator of PCG64 from a seed; a generator that is given is used, its stream shared."""
    if isinstance(seed, Generator):
        return seed
    return Generator(np.random.default_rng(fallback.lower(seed)).bit_generator)


def _public(kind: type, *others: str) -> frozenset[str]:
    return frozenset(name for name in dir(kind) if not name.startswith("_")) - {*others}


_DRAWS = _public(np.random.Generator, "bit_generator", "spawn")
_LEGACY = _public(np.random.RandomState)
