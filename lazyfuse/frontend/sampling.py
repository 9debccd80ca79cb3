"""Random numbers: NumPy's own streams, seed for seed.

Samples are drawn at once, so a stream never depends on what is computed when; they come back as
LazyArrays. `shuffle` and `out=` write through.

The classes are NumPy's own by inheritance, so `isinstance` and libraries that take a generator
work. Each holds a plain NumPy generator of the same bit generator, which draws: NumPy's C code
calls its own methods and needs arrays of NumPy there.
"""

from __future__ import annotations

import sys
import weakref
from abc import ABCMeta
from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.function import Function


class _Drawing(Function):
    """A method of one generator, which has it. It keeps that which draws alone alive, and finds
    the one that it was asked of, or another one of its stream."""

    __slots__ = ("_draw", "_maker", "_owner")

    def __init__(self, generator: Any, draw: Any) -> None:
        name = draw.__name__
        super().__init__(
            f"random.{name}", _outside(draw), draw, is_exact=not fallback.writes_first(draw)
        )
        self._draw, self._maker = draw, generator._of_plain
        self._owner = weakref.ref(generator)
        self.__qualname__ = f"{type(generator).__name__}.{name}"

    @property
    def __self__(self) -> Any:
        found = self._owner()
        if found is None:
            found = self._maker(self._draw.__self__)
            self._owner = weakref.ref(found)
        return found

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self._draw.__name__)


def _outside(draw: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a plain generator, on any arguments."""
    place = _PLACES_OF_OUT.get(draw.__name__)
    is_writing = fallback.writes_first(draw)

    @wraps(draw)
    def method(*args: Any, **kwargs: Any) -> Any:
        if is_writing:
            return fallback.write(draw, *args, **kwargs)
        if place is not None and len(args) == place + 1 and "out" not in kwargs:
            return fallback.run(draw, *args[:place], out=args[place], **kwargs)
        return fallback.run(draw, *args, **kwargs)

    return method


#: Where `out` stands among the positional arguments of methods.
_PLACES_OF_OUT = {
    "random": 2,
    "standard_normal": 2,
    "standard_gamma": 3,
    "standard_exponential": 3,
}


class _Method:
    """A method that draws: of an object the function that it keeps, of a class NumPy's. What is in
    the dict of an object goes before this. An object of a subclass may override it, and is not as
    good as another one of its stream, so its methods are bound to it at each call."""

    def __init__(self, kind: type, name: str) -> None:
        self._numpys, self._name = getattr(kind, name), name
        update_wrapper(self, self._numpys)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self._numpys
        if type(instance) in (Generator, RandomState):
            return self._of(instance, self._name)
        return MethodType(self, instance)

    def __call__(self, instance: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._of(instance, f"{self._name}()")(*args, **kwargs)

    def _of(self, instance: Any, key: str) -> _Drawing:
        """What an object keeps under a key."""
        kept = vars(instance)
        found: _Drawing | None = kept.get(key)
        if found is None:
            made = _Drawing(instance, getattr(instance._plain, self._name))
            found = kept.setdefault(key, made)
        return found


def _drawing(kind: type, *others: str) -> Callable[[type], type]:
    """Gives a class the public methods of NumPy's, but for some."""

    def give(own: type) -> type:
        for name in dir(kind):
            if not name.startswith("_") and name not in others:
                setattr(own, name, _Method(kind, name))
        return own

    return give


_SEEDED = {
    name: getattr(np.random, name)
    for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "SeedSequence")
}
_NUMPYS = (np.random.Generator, np.random.RandomState, *_SEEDED.values())


class _Kind(ABCMeta):
    """The class of generators, to which NumPy's own belong, too: programs ask for any, as for
    `np.random.mtrand._rand`. A program's class may be an abstract one besides."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, _numpys(cls))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return super().__subclasscheck__(subclass) or issubclass(subclass, _numpys(cls))


def _numpys(kind: type) -> tuple[type, ...]:
    """NumPy's class, for ours; for those of a program none."""
    return tuple(each for each in _NUMPYS if each in kind.__bases__)


@_drawing(np.random.Generator, "bit_generator", "spawn")
class Generator(np.random.Generator, metaclass=_Kind):
    """`np.random.Generator` with LazyArrays as samples."""

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        self._plain = np.random.Generator(self.bit_generator)

    def __reduce__(self) -> tuple[Any, ...]:
        return Generator, (self.bit_generator,)  # also of a subclass, as NumPy's

    @classmethod
    def _of_plain(cls, plain: np.random.Generator) -> Generator:
        return cls(plain.bit_generator)


@_drawing(np.random.RandomState)
class RandomState(np.random.RandomState, metaclass=_Kind):
    """`np.random.RandomState` with LazyArrays as samples."""

    def __init__(self, seed: Any = None) -> None:
        self._plain = np.random.RandomState(fallback.lower(seed))
        super().__init__(self._plain._bit_generator)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._plain.get_state(legacy=False),)

    @classmethod
    def _of_plain(cls, plain: np.random.RandomState) -> RandomState:
        made = cls(plain._bit_generator)
        made._plain = plain  # which keeps the second number of a pair
        return made


def _restored(state: dict[str, Any]) -> RandomState:
    """The RandomState of a pickled state."""
    made = RandomState(getattr(np.random, state["bit_generator"])())
    made.set_state(state)
    return made


def _seeded(kind: type) -> type:
    """NumPy's class, which its C code knows, for seeds and keys that are LazyArrays, too."""

    @wraps(kind.__init__)  # type: ignore[misc]
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        lowered = {name: fallback.lower(value) for name, value in kwargs.items()}
        kind.__init__(self, *map(fallback.lower, args), **lowered)  # type: ignore[misc]

    names = {"__init__": __init__, "__module__": __name__, "__doc__": kind.__doc__}
    return _Kind(kind.__name__, (kind,), names)


MT19937, PCG64, PCG64DXSM, Philox, SFC64, SeedSequence = map(_seeded, _SEEDED.values())


def default_rng(seed: Any = None) -> Generator:
    """A Generator of PCG64 from a seed; a generator that is given is used, its stream shared."""
    if isinstance(seed, Generator):
        return seed
    return Generator(np.random.default_rng(fallback.lower(seed)).bit_generator)


class _Legacy(ModuleType):
    """`numpy.random.mtrand`, where older programs find RandomState: our version of its names."""

    def __getattr__(self, name: str) -> Any:
        plain = getattr(np.random.mtrand, name)
        is_public = getattr(np.random, name, None) is plain
        return getattr(sys.modules["lazyfuse.random"], name) if is_public else plain

    def __dir__(self) -> list[str]:
        return dir(np.random.mtrand)


mtrand = _Legacy("lazyfuse.random.mtrand", np.random.mtrand.__doc__)
#: The generator behind the functions of the module.
vars(mtrand)["_rand"] = RandomState._of_plain(np.random.mtrand._rand)
