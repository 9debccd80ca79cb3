"""Runs a program in NumPy and in lazyfuse and tells what differs.

Compared are the exception of every statement, and of every variable at the end its type, dtype,
shape, strides, flags, values bit for bit, and which other variables it shares memory with.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as host

from tests import oracle
from tests.fuzz.code import compiled
from tests.fuzz.modes import Mode, running

#: Bound for the variables u..., which hold results of transcendental functions.
ULP = 4
#: Variables whose aliasing is compared pair by pair, at most.
PAIRS = 12


@dataclass(slots=True)
class Run:
    """What a program left: its variables, and its exceptions by statement."""

    names: dict[str, Any] = field(default_factory=dict)
    errors: dict[int, Exception] = field(default_factory=dict)


def run(
    lines: Sequence[str], module: Any, after: Callable[[dict[str, Any]], None] | None = None
) -> Run:
    """Run statements one by one; `after(names)` is called after each."""
    names: dict[str, Any] = {"np": module}
    errors: dict[int, Exception] = {}
    with host.errstate(all="ignore"):
        for number, line in enumerate(lines):
            try:
                exec(compiled(line), names)  # noqa: S102 - text made by the fuzzer
            except Exception as error:  # noqa: BLE001 - any exception is an answer here
                errors[number] = error.with_traceback(None)
            if after is not None:
                after(names)
    kept = {name: value for name, value in names.items() if name[0] in "uv"}
    return Run(kept, errors)


def problems(lines: Sequence[str], mode: Mode, wanted: Run | None = None) -> list[str]:
    """Return what lazyfuse does otherwise than NumPy in this mode, a line each."""
    if wanted is None:
        wanted = run(lines, host)
    with running(mode):
        try:
            given = run(lines, oracle.lf, forcing(mode))
            values = _read(given.names, mode)
        except Exception as error:  # noqa: BLE001 - reported with the program
            told = str(error).partition("\n")[0]
            return [f"{type(error).__name__} outside of the program: {told}"]
        return list(_differences(lines, wanted, given, values))


def forcing(mode: Mode) -> Callable[[dict[str, Any]], None] | None:
    """Return what computes arrays between statements."""
    if not oracle.IS_ENGINE or not mode.chance:
        return None
    rng = random.Random(f"forcing {mode.seed}")

    def after(names: dict[str, Any]) -> None:
        for value in list(names.values()):
            if is_lazy(value) and rng.random() < mode.chance:
                oracle.lf.materialize(value)

    return after


def is_lazy(value: Any) -> bool:
    return isinstance(value, oracle.LAZY) and not isinstance(value, host.ndarray)


def _read(names: dict[str, Any], mode: Mode) -> dict[str, Any]:
    """Return all variables as NumPy values, with what the arrays said about themselves before."""
    order = list(names)
    if mode.together and oracle.IS_ENGINE:
        oracle.lf.materialize(*[value for value in names.values() if is_lazy(value)])
    else:
        random.Random(f"reading {mode.seed}").shuffle(order)
    return {name: oracle.observe(names[name]) for name in order}


def _differences(
    lines: Sequence[str], wanted: Run, given: Run, values: dict[str, Any]
) -> Iterator[str]:
    for number in sorted({*wanted.errors, *given.errors}):
        for text in oracle.compare_errors(wanted.errors.get(number), given.errors.get(number)):
            yield f"{lines[number]}: {text}"
    if set(wanted.names) != set(given.names):
        yield f"variables are {sorted(given.names)}, not {sorted(wanted.names)}"
        return
    for name, value in wanted.names.items():
        rules = oracle.Rules(ulp=ULP if name[0] == "u" else 0, sums=True)
        if type(value) is type(values[name]) and type(value) in (float, complex):
            value, values[name] = host.asarray(value), host.asarray(values[name])  # NaN equals NaN
        yield from oracle.compare(name, value, values[name], rules)
        if type(value) is host.ndarray and type(wanted.names[name]) is host.ndarray:
            yield from _compare_flags(name, value, given.names[name])
    yield from _compare_aliasing(wanted.names, given.names)


def _compare_flags(name: str, wanted: Any, given: Any) -> Iterator[str]:
    for flag in ("writeable", "c_contiguous", "f_contiguous"):
        left, right = getattr(wanted.flags, flag), getattr(given.flags, flag)
        if left != right:
            yield f"{name}.flags.{flag}: expected {left}, got {right}"


def _compare_aliasing(wanted: dict[str, Any], given: dict[str, Any]) -> Iterator[str]:
    arrays = [name for name, value in wanted.items() if type(value) is host.ndarray][-PAIRS:]
    for a, b in itertools.combinations(arrays, 2):
        left = host.shares_memory(wanted[a], wanted[b])
        if left != oracle.lf.shares_memory(given[a], given[b]):
            yield f"shares_memory({a}, {b}): expected {left}"
