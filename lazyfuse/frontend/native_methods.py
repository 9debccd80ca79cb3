"""When the methods of arrays become machine code, and what that is told of the frontend."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from lazyfuse.frontend import (
    adopting,
    derived,
    manipulation,
    operators,
    protocols,
    registry,
    rerecord,
    walking,
)
from lazyfuse.frontend.adopting import PROTOTYPES, learn
from lazyfuse.frontend.convert import FLOATS
from lazyfuse.frontend.function import Function, of_shape
from lazyfuse.frontend.handle import Handle, small_array
from lazyfuse.frontend.masks import filtered
from lazyfuse.frontend.passing import left_of
from lazyfuse.frontend.pieces import compute_mask
from lazyfuse.frontend.piecewise import MANY_IN_A_ROW, write_out
from lazyfuse.frontend.recipes import MOST_OPERANDS, MOST_STEPS
from lazyfuse.frontend.small import MISSING, OWN_WORDS, enter, lift
from lazyfuse.frontend.windows import AT_ONCE
from lazyfuse.interrupts import is_interrupt
from lazyfuse.ir.storage import Storage
from lazyfuse.runtime import native, native_aside, ready, session, trace, under_way
from lazyfuse.runtime.budget import PIECES
from lazyfuse.runtime.recorder import Recording

#: After how many uses (`rerecord.py`) machine code is worth it; each is a microsecond saved.
#: To load it from disk costs 8 ms, and 17 where there has been no kernel so far. To compile it
#: costs this process nothing where another one does so; else 300 to 500 ms of another thread, once
#: for all processes, and LLVM has to be there or to be started.
_WORTH_LOADING, _WORTH_STARTING = 2_000, 4_000
_WORTH_COMPILING, _VERY_HOT = 4_000, 20_000


#: Whoever is putting the machine code in.
_installing: dict[object, bool] = {}
_failures: list[BaseException] = []
#: What has been done: "looked" for on disk, "begun" to compile, "compiled", "used". It is used
#: once: methods that somebody puts in its place stay there.
_steps: set[str] = set()


def make_native_if_worth(kind: type) -> None:
    """Replace the methods of arrays by machine code where that is worth it so far."""
    uses = session.uses[0]
    if native_aside.is_at_work():
        return
    looks = "looked" not in _steps or "compiled" in _steps
    is_known = uses >= (_WORTH_LOADING if native.has_backend() else _WORTH_STARTING)
    hot = _WORTH_COMPILING if native.has_llvm() else _VERY_HOT
    loads, compiles = looks and is_known, is_known if native_aside.is_beside() else uses >= hot
    is_over = "used" in _steps or "begun" in _steps and "compiled" not in _steps
    if _failures or is_over or not (loads or compiles) or not native.is_possible():
        return
    try:
        _take(kind, compiles=compiles)
    except MemoryError:
        raise
    except Exception as error:  # any failure of a compiler: the Python methods do the same
        if is_interrupt(error):
            raise
        _failures.append(error.with_traceback(None))


def _take(kind: type, *, compiles: bool) -> None:
    """The machine code from where it is; else begin to compile it, once."""
    _steps.add("looked")
    if make_native(kind, compiles=False) or not compiles:
        return
    if "compiled" in _steps:
        raise RuntimeError("the machine code has been compiled and cannot be loaded")
    if native_aside.is_beside():
        _steps.discard("looked")
        native_aside.begin_process(_KEEP)
    elif native_aside.compile_aside(_recording(kind), _compiled):
        _steps.add("begun")


#: What another process runs.
_KEEP = f"import lazyfuse, {__name__} as methods; methods.keep(lazyfuse.LazyArray)"


def keep(kind: type) -> None:
    """Compile the machine code and have it on disk for other processes."""
    native_aside.keep(_recording(kind))


def _begin_child() -> None:
    """Ask again after a fork: the thread that would have told is gone."""
    if not _steps & {"compiled", "used"}:
        _steps.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


def _compiled(failure: BaseException | None) -> None:
    """The machine code can be loaded, at the next use; or not."""
    if failure is not None:
        _failures.append(failure)
    _steps.add("compiled")
    rerecord.ask_again()


def make_native(kind: type, *, compiles: bool = True) -> bool:
    """Replace the methods of arrays and functions by machine code, where that can be done; unless
    `compiles`, where it has been compiled before. Whether they are there."""
    with session.flush_lock:
        own = object()
        if _installing:
            return False  # a finalizer asks, in the middle of it
        try:  # whatever interrupt comes when
            _installing[own] = True
            if not isinstance(vars(kind)[native.LAST], FunctionType):
                return True
            found = native.prepared(native_sample(), _recording(kind), compiles=compiles)
            if found is not None:
                _use(found)
                native.install(found)
                _steps.add("used")
            return found is not None
        finally:
            _installing.pop(own, None)


def _use(code: native.Code) -> None:
    from lazyfuse.frontend import deferred  # long to import

    adopting.begin()
    trace.walks[1:] = [code.functions["traced"]]
    ready.use(code.functions["flushed"])
    rerecord.use({name: code.functions[name] for name in ("recorded", "written")})
    walking.use(code.functions)
    deferred.use(code)


def native_sample() -> native.Sample:
    """Objects that machine code measures."""
    host, owner, ufunc = np.empty(1), object(), registry.NATIVE["add"]
    wrapper: Any = small_array(host)
    wrapper._owner = owner
    return native.Sample(
        wrapper, host, owner, ufunc, ufunc._recipes, _lifted, Function, OWN_WORDS, of_shape,
        registry.NATIVE["power"], operators.SQUARES, registry.NATIVE["matmul"], enter,
        under_way.recordings, Storage, _elementwise(), write_out, compute_mask, filtered,
        left_of,
        PROTOTYPES,
        walking.Steps, walking.leave, registry.TOLD, MISSING, derived.NAMES,
        vars(manipulation.ravel)["views"], vars(manipulation.reshape)["views"],
    )  # fmt: skip


def _elementwise() -> dict[Any, Any]:
    """Our ufuncs by NumPy's, without those over whole vectors, which are called otherwise."""
    kind, found = type(registry.NATIVE["add"]), protocols.own_ufuncs()
    return {ufunc: own for ufunc, own in found.items() if type(own) is kind}


def _lifted(value: Any, operands: tuple[Any, ...]) -> Any:
    """NumPy's result of these operands for the user."""
    found = lift(value, tuple(_flat(operands)))
    if type(value) is np.ndarray and type(found) is Handle._concrete and found._host is None:
        learn(value)
    return found


def _flat(operands: Iterable[Any]) -> Iterator[Any]:
    for operand in operands:
        if isinstance(operand, list | tuple):
            yield from _flat(operand)
        else:
            yield operand


def _recording(kind: type) -> Recording:
    """What machine code that records has to know of the frontend."""
    methods = {name.strip("_"): method for name, method in vars(kind.__mro__[1]).items()}
    known = {
        name: found
        for name, method in methods.items()
        for found in (getattr(method, each, None) for each in ("recipes", "learned", "views"))
        if found is not None
    }
    bounds = MOST_STEPS, MOST_OPERANDS, AT_ONCE, MANY_IN_A_ROW, PIECES
    return Recording(kind, Handle._scalar, known, FLOATS, *bounds)
