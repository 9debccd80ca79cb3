"""Operations on small arrays that a program repeats are put off, and run as one kernel.

Small arrays are computed at once by NumPy (`small.py`): what runs once is not worth a kernel.
Where a line has spent as much time as compiling takes, its operations are put off instead, by
machine code (`backends/cpu/defer_text.py`), and so are those that come after. The tape of them is
settled when somebody asks for an array on it: if the same tape has come before, by one call of a
function under `fuse` that does the same, else operation by operation. Results that nobody can
reach any more are not computed.

An array that is put off has no NumPy's array inside, and neither has one that it reads: whoever
looks for it comes by `settle` first. So nothing can be read too early or written too soon. Only
arrays in whose memory nobody else is are read by what is put off, and views of them that come on
the tape together with them.

What an operation says of floating point conditions is said of its own line, when the tape is
settled: then its operations are computed one by one, as from there.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config
from lazyfuse.forks import guarded
from lazyfuse.frontend import novel, registry
from lazyfuse.frontend.convert import eager_size
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.tapes import Program, Step, Telling
from lazyfuse.locks import RLock
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import is_users, user_frame
from lazyfuse.runtime.error_modes import OUTERMOST, current_modes
from lazyfuse.runtime.native import Code
from lazyfuse.runtime.replay_code import teller

#: Elements that are worth a place on the tape; nanoseconds that its first line has spent before,
#: so that what it is part of has spent what compiling takes.
SMALLEST, HOT = 1_000, 1_000_000
#: Tapes that were settled one by one before their line is left alone for a while: until it has
#: spent so many nanoseconds.
PATIENCE, COLD = 60, -400_000_000
#: Words of the state for the entries of `backends/cpu/rows_text.py`.
_ROWS = ("ROWS", "ROWS_COPY", "LINE_COPY", "LINE_FILL", "LINE_WHERE", "LINE_COUNT",
         "LINE_PICK")  # fmt: skip
#: Words of the state for dtypes of NumPy's.
_DTYPES = {
    "DOUBLE": "f8", "SINGLE": "f4", "BOOL": "?", "LONG": "i8", "BYTE": "i1", "UNSIGNED_BYTE": "u1",
    "SHORT": "i2", "UNSIGNED_SHORT": "u2", "INT": "i4", "UNSIGNED_INT": "u4",
}  # fmt: skip
#: Tapes that are known at most.
_MOST = 256

#: Empty where there is no machine code.
_code: list[Code] = []
_programs: dict[tuple[bytes, bytes, int], Program] = {}
#: For machine code: what one call does, by the bytes of both.
KNOWN: dict[bytes, Callable[..., Any]] = {}
#: Tapes that were not fused, by the place where they began.
_patience: dict[int, int] = {}


def use(code: Code) -> None:
    """Put operations off from now on, by machine code."""
    if _code:
        settle()
    _code[:] = [code]
    _refer("ASK", allow)
    _refer("FULL", settle)
    _refer("LOST", look_around)
    _refer("WHOLE", reduced)
    _refer("KNOWN", KNOWN)
    _refer("HOST_NAME", sys.intern("_host"))
    for name, number in code.codes.items():
        is_function = not name.startswith(("_", "astype_"))
        function = registry.find(name) if is_function else None
        if isinstance(function, registry.AtOnce):
            function._code = number
    Handle._host_of = staticmethod(host_of)
    _put("WEAK_OFFSET", Handle._concrete.__weakrefoffset__)
    _refer("OUTERMOST", OUTERMOST)
    registry.SETTLE[:] = [settle_any]
    _refer("ASK_SIZE", _tell_size)
    _refer("HIRE", _hire)
    if hasattr(os, "register_at_fork"):  # a child has no workers
        os.register_at_fork(after_in_child=lambda: _put("HIRED", 0))
    _put("FLAG_MASK", code.flag_mask)
    _refer("ASK_FLAGS", teller(0))
    _put("LAUNCH", code.launch)
    for name, address in zip(_ROWS, code.rows, strict=True):
        _put(name, address)
    _put("LOOPS", code.loops)
    tune(SMALLEST, HOT)
    novel.share(code.state, code.places["NOVEL"])
    _refer("CASTS", _casts(code.codes))
    for name, dtype in reversed(_DTYPES.items()):
        _refer(f"DTYPE_{name}", np.dtype(dtype))  # last: other threads put off from here on
    atexit.register(_stop)


def _casts(codes: Mapping[str, int]) -> dict[Any, int]:
    """The codes of casts by what dtypes are called."""
    found: dict[Any, int] = {bool: codes["astype_bool"]}
    for name, code in codes.items():
        if name.startswith("astype_"):
            dtype = np.dtype(name.removeprefix("astype_"))
            found |= dict.fromkeys((dtype.type, dtype.name, dtype.str[1:]), code)
    return found | {float: codes["astype_float64"], int: codes["astype_int64"]}


def tune(smallest: int, hot: int) -> None:
    """Say what is put off: arrays of so many elements, where a line has spent so much time. None
    has spent any so far."""
    _put("SMALLEST", smallest)
    _put("HOT", hot)
    _put("VIEWS_GAP", 0)
    _put("VIEWS_LEFT", 0)
    _put("WHOLE_GAP", 0)
    _put("WHOLE_LEFT", 0)
    np.frombuffer(_code[0].state, np.int64)[_code[0].places["HEAT"] :] = 0


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
    """Let a word of the state refer to an object; what it referred to is there until it does."""
    before = _held.get(name)
    _held[name] = (value, before)
    _put(name, id(value))
    _held[name] = (value, None)


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


def _tell_size() -> int:
    """How large small arrays are under the options in force, which machine code remembers. It may
    read all three words or none of them: interrupts, finalizers and other threads come in
    between."""
    options = config.current()
    size, helpers = eager_size(), _code[0].helpers(options.threads)
    with _telling:
        _put("SIZE_OPTIONS", 0)
        _put("EAGER_SIZE", size)
        _put("COLD_SIZE", options.cold_size)
        _put("HELPERS", helpers)
        _refer("SIZE_OPTIONS", options)
        words = (_word("EAGER_SIZE"), _word("COLD_SIZE"), _word("HELPERS"))
        if words != (size, options.cold_size, helpers):
            _put("SIZE_OPTIONS", 0)
    return size


def _hire() -> None:
    """Have as many workers as may help under the options in force."""
    helpers = _code[0].helpers(config.current().threads)
    session.backend("cpu").workers.start(helpers)  # type: ignore[attr-defined]  # LLVM's
    _put("HIRED", helpers)


_telling = guarded(RLock())
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
            number = _word("GENERATION")
            try:  # whatever interrupt comes when
                found = functions["deferred"]()
                if found is None:
                    return
                number, codes, live, leaves, origins = found
                options = _allowed[_word("OWN_OPTIONS")] if codes else config.current()
                done = _under(options, _computed, codes, live, leaves, origins)
                is_settled = functions["settle"](number, done.values, done.heat, live)
                told = done.told
            finally:
                functions["release"](number)  # of what has not been settled
    current_modes()  # machine code knows them again
    for each in told:
        each.tell()


def reduced(extra: bytes) -> Any:
    """The value of a reduction over all axes, an array of one element: `extra` is its code, after
    those of the tape, which stays as it is. False where it is computed by itself for now, None
    where that has been so for long."""
    functions = _code[0].functions
    with session.flush_lock:
        number = _word("GENERATION")
        try:  # whatever interrupt comes when
            found = functions["deferred"]()
            if found is None:
                return None
            number, codes, live, leaves, _ = found
            key = codes + extra, bytes(len(live)) + b"\1", len(leaves)
            program = _program(*key)
            values = program.at_once(leaves)
            if values is None:
                program.misses += 1
                return None if program.misses > PATIENCE else False
            _known(program, *key)
            return values[0]
        finally:
            functions["release"](number)


def _under(options: config.Options, function: Callable[..., Done], *given: Any) -> Done:
    """The result of a function under such options. Where they are others, in a copy of the
    context: a finalizer may settle in the middle of a change of the caller's own, and CPython 3.11
    does not survive that it is changed there."""
    if options is config.current():
        return function(*given)

    def changed() -> Done:
        config.variable.set(options)
        return function(*given)

    return copy_context().run(changed)


def settle_any() -> bool:
    """The same; whether there was anything, and nobody is at it."""
    if not is_pending() or _word("IS_BUSY"):
        return False
    settle()
    return True


def is_pending() -> bool:
    """Whether something is put off."""
    return bool(_word("ROW_COUNT") or _word("LEAF_COUNT"))


class Done(NamedTuple):
    """What a tape gives: the results that are alive, what becomes of the heat of its first line
    (None: nothing), and what is to be told."""

    values: tuple[Any, ...]
    heat: int | None = None
    told: Sequence[Telling] = ()


def _computed(codes: bytes, live: bytes, leaves: tuple[Any, ...], origins: Sequence[Any]) -> Done:
    if 1 not in live:
        return Done(())
    key = codes, live, len(leaves)
    program = _program(*key)
    place = _word("PLACE")
    if program.is_worth and origins[0][2] is current_modes():
        recordings = program.recordings
        values = program.at_once(leaves)
        if program.recordings > recordings:
            _patience.pop(place, None)  # for another shape: machine code will know it
        if values is not None:
            _patience.pop(place, None)
            _known(program, *key)
            return Done(values)
    met = _patience[place] = _patience.get(place, 0) + (1 if program.is_worth else 8)
    if met > PATIENCE:
        del _patience[place]
    values, told = program.one_by_one(leaves, origins)
    return Done(values, COLD if met > PATIENCE else None, told)


def _program(codes: bytes, live: bytes, leaves: int) -> Program:
    """What is done for a tape with so many leaves."""
    key = codes, live, leaves
    program = _programs.get(key)
    if program is None:
        if len(_programs) >= _MOST:
            forget()
        program = _programs[key] = Program(list(_steps(codes)), live, leaves)
    return program


def _known(program: Program, codes: bytes, live: bytes, leaves: int) -> None:
    """Machine code knows what is done for a tape."""
    KNOWN[codes + live + bytes([leaves])] = program.fused


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
        what = -2 - min(operands)  # of a reduction: twice the axis, and whether it is kept
        axis = None if what >> 1 == code.all_axes else what >> 1
        options = {} if what < 0 else {"axis": axis, "keepdims": bool(what & 1)}
        yield Step(names[number], tuple(rows), options)


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
