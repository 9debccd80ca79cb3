"""What is done for a tape of operations that were put off (`deferred.py`): one call of a function
under `fuse`, or operation by operation."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend import registry
from lazyfuse.frontend.handle import Handle, small_array
from lazyfuse.ir.origin import Origin
from lazyfuse.runtime.caller import call_from

#: Operations of a tape that are worth a kernel: `a * b + c` of a thousand numbers takes two thirds
#: of the time as one, of ten thousand half of it.
WORTH = 2
#: Shapes that a tape has a kernel for at most.
_SHAPES = 64
#: The globals of all functions: frames are known for ours by the address of theirs.
_SPACE: dict[str, Any] = {"__name__": __name__}

_SYMBOLS = {
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__pow__": "**",
    "__lt__": "<", "__le__": "<=", "__eq__": "==", "__ne__": "!=", "__gt__": ">", "__ge__": ">=",
    "__floordiv__": "//", "__mod__": "%", "__and__": "&",
    "__or__": "|", "__xor__": "^", "__neg__": "-", "__invert__": "~",
}  # fmt: skip
#: What casts begin with; their dtypes follow.
_CAST = "astype_"


class Step(NamedTuple):
    """An operation on a tape: its name, its operands: leaves from 0 on, and ~steps; and of a
    reduction its axis and whether that is kept."""

    name: str
    operands: tuple[int, ...]
    options: Mapping[str, Any] = MappingProxyType({})


class Telling(NamedTuple):
    """An operation that met conditions: where it was recorded, and operands of its own."""

    origin: Origin
    function: Callable[..., Any]
    operands: tuple[Any, ...]
    options: Mapping[str, Any]

    def tell(self) -> None:
        """Say so, as from its line, and as the errstate there wanted it."""
        with np.errstate(**self.origin[2].by_name):  # type: ignore[arg-type]  # of geterr
            _small(call_from(self.origin, self.function, *self.operands, **self.options))


class Program:
    """What is done for one tape: its steps, which of the results are alive, the number of leaves.

    `is_worth`: whether it is worth a kernel. `fused`: a function under `fuse` that does it, once
    it has come. `misses`: calls that were in vain, of a reduction to a number.
    """

    def __init__(self, steps: Sequence[Step], live: bytes, leaves: int) -> None:
        self._steps = steps
        self._live = [place for place, is_live in enumerate(live) if is_live]
        self._leaves = leaves
        self._needed = self._ancestors()
        self.fused: Any = None
        self.misses = 0
        self.is_worth = len(self._needed) >= WORTH

    @property
    def replays(self) -> int:
        """How often one call has done it."""
        return 0 if self.fused is None else int(self.fused.replays)

    @property
    def recordings(self) -> int:
        """For how many shapes there is such a call."""
        return 0 if self.fused is None else int(self.fused.recordings)

    def _ancestors(self) -> list[int]:
        """The steps that live results need, in order."""
        found = set(self._live)
        for place in reversed(range(len(self._steps))):
            if place in found:
                found |= {~each for each in self._steps[place].operands if each < 0}
        return sorted(found)

    def at_once(self, leaves: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The results that are alive, from one call; None where they are better computed one by
        one: so far, or since there is something to be told."""
        if self.fused is None:
            from lazyfuse.frontend.fused import Fused  # long to import, and seldom needed

            self.fused = Fused(self._function(), _SHAPES, lambda *leaves: None)
        found = self.fused(*leaves)
        if found is None:
            return None
        return tuple(map(_small, found if type(found) is tuple else (found,)))

    def _function(self) -> Callable[..., Any]:
        """A Python function that does the same."""
        names = {step.name: registry.find(step.name) for step in self._steps
                 if step.name not in _SYMBOLS and not step.name.startswith(_CAST)}  # fmt: skip
        _SPACE.update(names)
        made: dict[str, Any] = {}
        exec(self.source(), _SPACE, made)  # noqa: S102  # our own text
        function = made["tape"]
        assert isinstance(function, FunctionType)
        return function

    def source(self) -> str:
        """Its text."""
        lines = [f"def tape({', '.join(f'a{n}' for n in range(self._leaves))}):"]
        for place in self._needed:
            step = self._steps[place]
            lines.append(f"    t{place} = {_written(step)}")
        lines.append(f"    return {', '.join(f't{place}' for place in self._live)}")
        return "\n".join(lines)

    def one_by_one(
        self, leaves: Sequence[Any], origins: Sequence[Origin]
    ) -> tuple[tuple[Any, ...], list[Telling]]:
        """The results that are alive, each operation called as from its own line; and those that
        met conditions."""
        given = [small_array(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        results: list[Any] = []
        met: list[str] = []
        told: list[Telling] = []
        with np.errstate(all="call", call=lambda kind, flag: met.append(kind)):
            for step, origin in zip(self._steps, origins, strict=True):
                operands = [results[~each] if each < 0 else given[each] for each in step.operands]
                function = _function_of(step.name)
                made = call_from(origin, function, *operands, **step.options)
                results.append(_small(made))
                if met:
                    own = tuple([_own(operand) for operand in operands])
                    told.append(Telling(origin, function, own, step.options))
                    met.clear()
        return tuple([results[place] for place in self._live]), told


def _own(operand: Any) -> Any:
    """An operand that nobody else writes."""
    return small_array(operand._host.copy()) if isinstance(operand, Handle) else operand


def _small(value: Any) -> Any:
    """A result as a small array."""
    return value if value._host is not None else small_array(np.array(value))


def _function_of(name: str) -> Callable[..., Any]:
    if name.startswith(_CAST):
        return operator.methodcaller("astype", name.removeprefix(_CAST))
    if name in _SYMBOLS:
        return vars(operator)[name]  # type: ignore[no-any-return]  # a function
    function = registry.find(name)
    return getattr(function, "call_as_user", function)  # type: ignore[no-any-return]  # likewise


def _written(step: Step) -> str:
    operands = [f"t{~each}" if each < 0 else f"a{each}" for each in step.operands]
    symbol = _SYMBOLS.get(step.name)
    if step.name.startswith(_CAST):
        return f"{operands[0]}.astype({step.name.removeprefix(_CAST)!r})"
    if symbol is None:
        words = [f"{name}={value}" for name, value in step.options.items()]
        return f"{step.name}({', '.join((*operands, *words))})"
    return f"{symbol}{operands[0]}" if len(operands) == 1 else f" {symbol} ".join(operands)
