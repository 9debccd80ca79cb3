"""Operations on small arrays that a program repeats are put off, and run as one kernel.

Small arrays are computed at once by NumPy (`small.py`): what runs once is not worth a kernel.
Where a line has spent as much time as compiling takes, its operations are put off instead, by
machine code (`backends/cpu/defer_text.py`), and so are those that come after. The tape of them is
settled when somebody asks for an array on it: if the same tape has come before, by one call of a
function under `fuse` that does the same, else operation by operation. Results that nobody can
reach any more are not computed.

An array that is put off has no NumPy's array inside, and neither has one that it reads: whoever
looks for it comes by `settle` first. So nothing can be read too early or written too soon. Only
arrays in whose memory nobody else is are read by what is put off.

What an operation says of floating point conditions is said of its own line, when the tape is
settled: then its operations are computed one by one, as from there.
"""

from __future__ import annotations

import atexit
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config
from lazyfuse.frontend import registry
from lazyfuse.frontend.handle import Handle, small_array
from lazyfuse.ir.origin import Origin
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import call_from, is_users, user_frame
from lazyfuse.runtime.error_modes import OUTERMOST, current_modes
from lazyfuse.runtime.native import Code

#: Elements that are worth a place on the tape; nanoseconds that its first line has spent before,
#: so that what it is part of has spent what compiling takes.
SMALLEST, HOT = 1_000, 1_000_000
#: Operations of a tape that are worth a kernel, of which that of few more costs as much.
WORTH = 3
#: Tapes that were settled one by one before their line is left alone for a while: until it has
#: spent so many nanoseconds.
PATIENCE, COLD = 60, -400_000_000
#: Tapes that are known at most.
_MOST = 256

_SYMBOLS = {
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__pow__": "**",
    "__lt__": "<", "__le__": "<=", "__eq__": "==", "__ne__": "!=", "__gt__": ">", "__ge__": ">=",
    "__and__": "&", "__or__": "|", "__xor__": "^", "__neg__": "-", "__invert__": "~",
}  # fmt: skip


class Step(NamedTuple):
    """An operation on a tape: its name, and its operands: leaves from 0 on, and ~steps."""

    name: str
    operands: tuple[int, ...]


#: Empty where there is no machine code.
_code: list[Code] = []
_programs: dict[tuple[bytes, bytes], Program] = {}
#: For machine code: what one call does, by the bytes of both.
KNOWN: dict[bytes, Callable[..., Any]] = {}
#: Tapes that were not fused, by the place where they began.
_patience: dict[int, int] = {}


def use(code: Code) -> None:
    """Put operations off from now on, by machine code."""
    _code[:] = [code]
    _refer("ASK", allow)
    _refer("FULL", settle)
    _refer("LOST", look_around)
    _refer("KNOWN", KNOWN)
    _refer("HOST_NAME", sys.intern("_host"))
    for name, number in code.codes.items():
        ufunc = registry.NATIVE.get(name)
        if isinstance(ufunc, registry.Itself):
            ufunc._code = number  # type: ignore[attr-defined]  # of `ufunc.py`
    Handle._host_of = staticmethod(host_of)
    _put("WEAK_OFFSET", Handle._concrete.__weakrefoffset__)
    _refer("OUTERMOST", OUTERMOST)
    registry.DEFER[:], registry.SETTLE[:] = [defer], [settle_any]
    tune(SMALLEST, HOT)
    for name, dtype in (("DOUBLE", "f8"), ("SINGLE", "f4"), ("BOOL", "?")):
        _refer(f"DTYPE_{name}", np.dtype(dtype))  # last: other threads put off from here on
    atexit.register(_stop)


def tune(smallest: int, hot: int) -> None:
    """Say what is put off: arrays of so many elements, where a line has spent so much time."""
    _put("SMALLEST", smallest)
    _put("HOT", hot)


def look_at_all(*, filters: bool = False) -> None:
    """Look at every operation, as where a place is hot; with `filters`, under any filters of
    warnings, too."""
    _put("IS_ANY_HOT", 1)
    if filters:
        _put("OUTERMOST", 0)


def _stop() -> None:
    """Put nothing off from now on: what machine code refers to may go."""
    settle()
    tune(1 << 62, HOT)


def _put(name: str, word: int) -> None:
    """Write a word of the state."""
    _code[0].state[_code[0].places[name]] = word


def _refer(name: str, value: Any) -> None:
    """Let a word of the state refer to an object."""
    _held[name] = value
    _put(name, id(value))


def _word(name: str) -> int:
    """A word of the state."""
    return int(_code[0].state[_code[0].places[name]])


def allow() -> None:
    """Tell machine code whether operations are put off under the options in force."""
    options = config.current()
    is_allowed = (
        options.defer
        and options.fusion
        and options.native
        and options.eager_size > 0
        and options.float_errors == "flags"
        and session.default_device() == "cpu"
    )
    _refer("ALLOWED" if is_allowed else "REFUSED", options)
    if is_allowed:
        _allowed[id(options)] = options


#: What words of the state refer to.
_held: dict[str, Any] = {}
#: Options under which something was put off, by their address, which stays theirs.
_allowed: dict[int, config.Options] = {}


def look_around() -> None:
    """Know the caller for a user, and what errors do there."""
    frame = user_frame(0)
    if frame is not None:
        is_users(frame.f_globals)
    current_modes()


def defer(name: str, *operands: Any) -> Any:
    """The result of an operation that is put off; None where it is to be computed at once."""
    code = _code[0]
    number = code.codes.get(name)
    return None if number is None else code.functions["defer"](number, *operands)


def forget() -> None:
    """Forget the tapes that have come."""
    _programs.clear()
    KNOWN.clear()
    _patience.clear()


session.on_clear(forget)


def programs() -> Sequence[Program]:
    """What is known of tapes that have come."""
    return tuple(_programs.values())


# ---- settling


def settle() -> None:
    """Compute what is put off. Raises: MemoryError, and what is put off stays so; what a filter
    makes of a warning, when it is done."""
    functions = _code[0].functions
    told: Sequence[Telling] = ()
    with session.flush_lock:
        is_settled = False
        while not is_settled:  # something may be put off meanwhile
            found = functions["deferred"]()
            if found is None:
                return
            number, codes, live, leaves, origins = found
            options = _allowed[_word("OWN_OPTIONS")] if codes else None
            try:
                with config.using(options or config.current()):
                    done = _computed(codes, live, leaves, origins)
                is_settled = functions["settle"](number, done.values, done.heat, live)
                told = done.told
            finally:
                functions["release"](number)  # of what has not been settled
    for each in told:
        each.tell()


def settle_any() -> bool:
    """The same; whether there was anything, and nobody is at it."""
    if not is_pending() or _word("IS_BUSY"):
        return False
    settle()
    return True


def is_pending() -> bool:
    """Whether something is put off."""
    return bool(_word("ROW_COUNT") or _word("LEAF_COUNT"))


class Telling(NamedTuple):
    """An operation that met conditions: where it was recorded, and operands of its own."""

    origin: Origin
    function: Callable[..., Any]
    operands: tuple[Any, ...]

    def tell(self) -> None:
        """Say so, as from its line, and as the errstate there wanted it."""
        with np.errstate(**self.origin[2].by_name):  # type: ignore[arg-type]  # of geterr
            _small(call_from(self.origin, self.function, *self.operands))


class Done(NamedTuple):
    """What a tape gives: the results that are alive, what becomes of the heat of its first line
    (None: nothing), and what is to be told."""

    values: tuple[Any, ...]
    heat: int | None = None
    told: Sequence[Telling] = ()


def _computed(codes: bytes, live: bytes, leaves: tuple[Any, ...], origins: Sequence[Any]) -> Done:
    if 1 not in live:
        return Done(())
    key = codes, live
    program = _programs.get(key)
    if program is None:
        if len(_programs) >= _MOST:
            forget()
        program = _programs[key] = Program(list(_steps(codes)), live, len(leaves))
    place = _word("PLACE")
    if program.is_worth and origins[0][2] is current_modes():
        values = program.at_once(leaves)
        if values is not None:
            _patience.pop(place, None)
            KNOWN[codes + live] = program.fused
            return Done(values)
    met = _patience[place] = _patience.get(place, 0) + (1 if program.is_worth else 8)
    if met > PATIENCE:
        del _patience[place]
    values, told = program.one_by_one(leaves, origins)
    return Done(values, COLD if met > PATIENCE else None, told)


def _steps(codes: bytes) -> Iterator[Step]:
    """What machine code has written down."""
    code = _code[0]
    names = {number: name for name, number in code.codes.items()}
    words = np.frombuffer(codes, np.int64).tolist()
    for place in range(0, len(words), code.code_words):
        number, *operands = words[place : place + code.code_words]
        rows = [
            ~(each - code.first_row) if each >= code.first_row else each
            for each in operands
            if each >= 0
        ]
        yield Step(names[number], tuple(rows))


class Program:
    """What is done for one tape: its steps, which of the results are alive, the number of leaves.

    `is_worth`: whether it is worth a kernel. `fused`: a function under `fuse` that does it, once
    it has come.
    """

    def __init__(self, steps: Sequence[Step], live: bytes, leaves: int) -> None:
        self._steps = steps
        self._live = [place for place, is_live in enumerate(live) if is_live]
        self._leaves = leaves
        self._needed = self._ancestors()
        self.fused: Any = None
        self.is_worth = len(self._needed) >= WORTH

    @property
    def replays(self) -> int:
        """How often one call has done it."""
        return 0 if self.fused is None else int(self.fused.replays)

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

            self.fused = Fused(self._function(), 8, lambda *leaves: None)
        found = self.fused(*leaves)
        if found is None:
            return None
        return tuple(map(_small, found if type(found) is tuple else (found,)))

    def _function(self) -> Callable[..., Any]:
        """A Python function that does the same."""
        names = {step.name: registry.find(step.name) for step in self._steps
                 if step.name not in _SYMBOLS}  # fmt: skip
        space = {"__name__": __name__, **names}
        exec(self.source(), space)  # noqa: S102  # our own text
        function = space["tape"]
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
                results.append(_small(call_from(origin, function, *operands)))
                if met:
                    own = tuple([_own(operand) for operand in operands])
                    told.append(Telling(origin, function, own))
                    met.clear()
        return tuple([results[place] for place in self._live]), told


def _own(operand: Any) -> Any:
    """An operand that nobody else writes."""
    return small_array(operand._host.copy()) if isinstance(operand, Handle) else operand


def _small(value: Any) -> Any:
    """A result as a small array."""
    return value if value._host is not None else small_array(np.array(value))


def _function_of(name: str) -> Callable[..., Any]:
    if name in _SYMBOLS:
        return vars(operator)[name]  # type: ignore[no-any-return]  # a function
    function = registry.find(name)
    return getattr(function, "call_as_user", function)  # type: ignore[no-any-return]  # likewise


def _written(step: Step) -> str:
    operands = [f"t{~each}" if each < 0 else f"a{each}" for each in step.operands]
    symbol = _SYMBOLS.get(step.name)
    if symbol is None:
        return f"{step.name}({', '.join(operands)})"
    return f"{symbol}{operands[0]}" if len(operands) == 1 else f" {symbol} ".join(operands)


def host_of(array: Handle) -> Any:
    """NumPy's array of an array that is put off, or read by what is. Raises: AttributeError for
    others without."""
    while True:
        settle()
        try:
            return own_host(array)
        except AttributeError:
            if not is_pending():  # else somebody has put it off again
                raise


#: NumPy's array that an array has inside. Raises: AttributeError where there is none.
own_host: Callable[[Any], Any] = vars(Handle)["_host"].__get__
