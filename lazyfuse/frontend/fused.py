"""`@lazyfuse.fuse`: a function that is recorded once per signature, and then replayed.

An early call with a signature records the function on its arguments; later ones run the plan that
was made then, without calling the function. So a hot loop pays a microsecond or a few a call
instead of two for each operation. Results are computed when the call returns.

A signature is what a recording depends on: shape, dtype and strides of each array, the value
of everything else, also of what the function reads from its module and its closure, and the
options in force. Numbers among the arguments belong to it until a call comes that differs
from another one in them alone: the next recording then holds for any number there (`varying.py`).
What cannot be replayed is called as it stands, with the same answer: see `Fused.reason`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, update_wrapper
from threading import get_ident
from types import MethodType
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config
from lazyfuse.frontend import registry
from lazyfuse.frontend.captured import captured
from lazyfuse.frontend.containers import Spread, Structure, taken_apart
from lazyfuse.frontend.fused_entry import can_enter
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.identity import asks_which, asks_who
from lazyfuse.frontend.places import ANY, Family, Path, numbers_in, replaced, seen_arguments
from lazyfuse.frontend.recording import (
    Recording,
    UnfitError,
    is_faster_unfused,
    is_only_array,
    kernel_run,
    rebuilt,
)
from lazyfuse.frontend.registry import Itself
from lazyfuse.frontend.replaying import replay
from lazyfuse.frontend.signature import Reads, array_mark, plain_mark
from lazyfuse.frontend.tracing import Arguments, AskedError, recorded
from lazyfuse.interrupts import is_interrupt
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime import engine, replay_code
from lazyfuse.runtime import replay as machine
from lazyfuse.runtime.replay_run import Run

#: Elements of the largest argument up to which a replay in Python does not pay; and calls of a
#: signature before it is recorded, of more elements and of at most so many.
FEW = 4096
_CALLS, CALLS_OF_FEW = 1, 15
#: Calls on few elements that were in vain before no more of them are looked at: an argument is
#: another number each time.
_IN_VAIN = 100

#: What stands for a signature that is unknown, or cannot be replayed; for one that is not recorded
#: so far, there is the number of its calls.
_NEVER, _UNFIT = 0, object()


class Key(NamedTuple):
    """What a recording depends on, and the numbers among it, None for those of any value."""

    signature: Any
    numbers: tuple[Any, ...]


class Fused(Itself):
    """A function under `fuse`; calling it is calling the function.

    Once something is recorded, the call itself is machine code where that can be had
    (`runtime/replay.py`), which comes here for what it does not know.
    """

    __slots__ = ("_entries", "__dict__", "__weakref__")  # machine code looks at the first

    def __init__(
        self,
        function: Callable[..., Any],
        signatures: int,
        instead: Callable[..., Any] | None = None,
    ) -> None:
        """`instead` is called where the function would be for a result, not to record it."""
        update_wrapper(self, function)
        self._function: Any = function
        self._whole: Any = function  # not what takes it apart
        self._instead = function if instead is None else instead
        self._signatures = signatures
        self._reads = Reads(function)
        self._known: dict[Any, Any] = {}
        self._families: dict[Any, Family] = {}
        self._asks_who: bool | None = None  # not known so far
        self._in_vain = self._replayed = self._recorded = 0
        self._recorders: set[int] = set()  # the threads that record it now
        self._machine = machine.Entries()
        self._entries = self._machine.head
        self._reason = ""
        self._reading: Fused | None = None  # the same with captured arrays among its arguments
        self._is_closed = False  # whether such arrays cannot be told
        self._spreads: dict[Any, Fused] = {}  # the same of what is in containers
        self._last = self  # of these, what was called last

    @property
    def reason(self) -> str:
        """Why calls of the last signature that was recorded cannot be replayed; empty when they
        can."""
        return self._reason if self._last is self else self._last.reason

    @property
    def recordings(self) -> int:
        """Calls that have been recorded."""
        return self._recorded + sum(inner.recordings for inner in self._inner())

    @property
    def replays(self) -> int:
        """Calls for which the function did not have to be called."""
        own = self._replayed + self._machine.replays
        return own + sum(inner.replays for inner in self._inner())

    def _inner(self) -> list[Fused]:
        return [*self._spreads.values(), *([] if self._reading is None else [self._reading])]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method; the instance is an argument like others."""
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result for these arguments. Raises: what the function raises."""
        inner = self._with_more(args, kwargs)
        if inner is not None:
            return inner()
        self._last = self
        if registry.SETTLE and registry.SETTLE[0]():
            return self(*args, **kwargs)  # machine code may know it now
        given = (*args, *kwargs.values()) if kwargs else args
        size = _most_elements(given)
        if size <= FEW and (not size or self._in_vain > _IN_VAIN or not replay_code.is_possible()):
            return self._instead(*args, **kwargs)
        numbers = numbers_in(given)
        signature = self._signature(given, tuple(kwargs), numbers)
        if signature is None and self._capture():
            return self(*args, **kwargs)
        key, found = self._find(signature, numbers)
        if type(found) is Recording:
            self._machine.hire(key)
            return self._replay(found, args, kwargs)
        if key is not None and (found or len(self._known) < self._signatures):
            if found is not _UNFIT:
                if found >= (_CALLS if size > FEW else CALLS_OF_FEW):
                    return self._record(key, args, kwargs)
                self._known[key] = found + 1
        else:
            self._in_vain += 1
        return self._instead(*args, **kwargs)

    def _find(self, signature: Any, numbers: Mapping[Path, Any]) -> tuple[Key | None, Any]:
        """The key of a call, None where it has none, and what is known of it."""
        try:
            key = None if signature is None else self._key(signature, numbers)
            return key, self._known.get(key, _NEVER)
        except Exception as error:
            if is_interrupt(error):  # a user's __hash__ or __eq__ may raise any other
                raise
            self._reason = "an argument, or what it reads, is neither a number nor has a hash"
            return None, _NEVER

    def _replay(self, found: Recording, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The result of a recording, or of the function where conditions have to be told."""
        engine.count_asked()  # for a recording around this one
        result = replay(found, (*args, *kwargs.values()) if kwargs else args)
        if result is None:
            return self._instead(*args, **kwargs)
        self._replayed += 1
        return result[0]

    def _signature(
        self, given: tuple[Any, ...], names: tuple[str, ...], numbers: Mapping[Path, Any]
    ) -> Any:
        """What a recording depends on, but for the values of numbers; None for calls that are
        better left alone."""
        by = {path: ANY[type(number)] for path, number in numbers.items()}
        marks: list[Any] = []
        for value in replaced(given, by) if by else given:
            is_array = isinstance(value, Handle | np.ndarray)
            mark = array_mark(value) if is_array else plain_mark(value)
            if mark is None:
                self._reason = f"an argument of type {type(value).__name__} is " + (
                    "a view, a scalar, or of a dtype without kernels"
                    if is_array
                    else "more than its value"
                )
                return None
            marks.append(mark)
        reads = self._reads.marks()
        if None in reads:
            self._reason = "it reads what can change unseen: " + self._reads.unmarked()
            return None
        return tuple(marks), names, reads, config.current()

    def _capture(self) -> bool:
        """Count the arrays that the function reads among its arguments from now on; whether there
        are any, and that is new."""
        if self._reading is not None or self._is_closed:
            return False
        try:
            found = captured(self._function, self._instead)
        except LookupError:
            self._is_closed = True
            return False
        if found is not None:
            self._reading = Fused(found, self._signatures, found.skip)
        return found is not None

    def _with_more(self, args: Any, kwargs: Any) -> Callable[[], Any] | None:
        """The call as one with more arguments: with the arrays that the function reads, or with
        those in containers; None where there are none."""
        reading = self._reading
        arrays = None if reading is None else reading._function.values()
        if reading is not None and arrays is not None:
            self._last = reading
            return partial(reading, *arrays, *args, **kwargs)
        apart = taken_apart(args, kwargs)
        if apart is None:
            return None
        structure, leaves = apart
        if structure not in self._spreads and None in self._reads.marks() and self._capture():
            return partial(self, *args, **kwargs)
        inner = self._spread(structure)
        if inner is None:
            return None
        return partial(inner._function.call, inner, leaves, args, kwargs)

    def _spread(self, structure: Structure) -> Fused | None:
        """The function of the leaves of calls with a structure; None past the bound of
        signatures."""
        inner = self._spreads.get(structure)
        if inner is None:
            left = self._signatures - sum(len(each._known) for each in self._spreads.values())
            if left <= 0:
                return None
            spread = Spread(self._function, structure, self._instead)
            inner = self._spreads[structure] = Fused(spread, left, spread.skip)
            inner._reads, inner._asks_who = self._reads, asks_who(self._function)
            inner._whole = self._whole
        self._last = inner
        return inner

    def _key(self, signature: Any, numbers: Mapping[Path, Any]) -> Key:
        """A signature with its numbers. Past the bound of signatures, they all count."""
        if not numbers:
            return Key(signature, ())
        family = self._families.get(signature)
        if family is None:
            family = Family(numbers)
            if self._asks_who is None:
                self._asks_who = asks_who(self._function)
            if self._asks_who:
                family.fix(frozenset(numbers))
            if len(self._families) < self._signatures:
                self._families[signature] = family
        return Key(signature, family.key(numbers))

    def _record(self, key: Key, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Keep how to replay a call, and call the function. It is recorded once where it calls
        itself: else each of its levels would be called as often as all those before together."""
        thread = get_ident()
        if thread not in self._recorders:
            try:
                self._recorders.add(thread)
                if not self._is_learned(key, args, kwargs):
                    result = self._instead(*args, **kwargs)
                    self._known[key] = _UNFIT  # it raises nothing but when it is recorded
                    return result
            finally:
                self._recorders.discard(thread)
        return self._instead(*args, **kwargs)

    def _is_learned(self, key: Key, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Call the function on copies of its arguments, and keep how to replay it, if it can be;
        whether it raises nothing."""
        given = (*args, *kwargs.values())
        arrays = sum(isinstance(value, Handle | np.ndarray) for value in given)
        if asks_which(self._whole, arrays):
            self._known[key], self._reason = _UNFIT, "it asks which array is which"
            return True
        marks = zip(numbers_in(given), key.numbers, strict=True)
        varying = [path for path, mark in marks if mark is None]
        seen = seen_arguments(given, varying)  # before the function changes it
        reads = self._reads.seen()
        found: Any = _UNFIT
        run: Any = self._instead
        try:
            found = recorded(self._function, Arguments(given, tuple(kwargs)), varying)
            run = self._fastest(found, given, bool(kwargs))
            self._recorded += 1
            self._reason = ""
        except AskedError as asked:
            self._families[key.signature].fix(asked.places)
            self._reason = "it wants to know a number that differs from call to call"
            return True
        except UnfitError as unfit:
            found, self._reason = _UNFIT, str(unfit)
        except Exception as error:  # the function raises it, or engine's copies do
            if is_interrupt(error):
                raise
            self._reason = f"it raises {type(error).__name__}: {error}"
            return False
        self._known[key] = found
        if can_enter(self):
            call = machine.Call(len(args), tuple(kwargs), config.current(), [*seen, *reads])
            self._machine.add(key, call, run)
            if isinstance(run, Run) and call.may_be_pending:
                self._machine.add(key, call, self._replayer(found, bool(kwargs)))
        return True

    def _fastest(self, found: Recording, given: Sequence[Any], names: bool) -> Any:
        """What replays a recording on arguments like these: a kernel that machine code runs, or
        else Python. Raises: UnfitError when the function takes less."""
        run = kernel_run(found, given, config.current().threads) if can_enter(self) else None
        if run is not None:
            return run
        if is_faster_unfused(found.known):
            raise UnfitError("NumPy is faster on so few elements")
        return self._replayer(found, names)

    def _replayer(self, found: Recording, names: bool) -> Callable[..., Any]:
        """What replays a recording in Python; `names`: of calls with arguments by name."""
        if found.there is None or found.single is None or found.numbers is not None:
            return lambda *args, **kwargs: self._replay(found, args, kwargs)
        run, scalars, whole = found.there, found.single.scalars, found.whole
        is_only = is_only_array(whole)

        def replayed(*given: Any) -> Any:  # while nobody records a function
            arrays = run(given, scalars)
            self._replayed += 1
            return arrays[0] if is_only else rebuilt(whole, arrays)

        return (lambda *args, **kwargs: replayed(*args, *kwargs.values())) if names else replayed


def _most_elements(given: Sequence[Any]) -> int:
    """The size of the largest array among arguments; of the engine's on the CPU, if it is more
    than FEW. On a GPU they are all large: what they save is launches."""
    most = 0
    for value in given:
        if isinstance(value, Handle):
            host = value._host
            size = size_of(value._layout.shape) if host is None else host.size
            if host is None and 0 < size <= FEW:
                is_there = value._storage.device != "cpu" and not value._is_scalar
                size = FEW + 1 if is_there else 0
        elif isinstance(value, np.ndarray):
            size = value.size
        else:
            continue
        if size > most:
            most = size
    return most
