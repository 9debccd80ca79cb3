"""What the programs are warned of, in NumPy and in lazyfuse: message and statement.

NumPy is heard in full, with the statement that was running, for its Python code warns at lines of
its own files. lazyfuse is heard under the "default" filter, so that kernels compute. A result that
nobody reads need not warn, so only what lazyfuse says and NumPy does not is wrong.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as host

from lazyfuse.runtime import conditions
from tests import oracle
from tests.fuzz.code import compiled
from tests.fuzz.compare import forcing, is_lazy
from tests.fuzz.modes import Mode, running

FILE = "<program>"


def false_warnings(lines: Sequence[str], mode: Mode) -> list[str]:
    """Return what lazyfuse warns of in a mode and NumPy does not, or not as often, a line each."""
    conditions._fruitless.clear()  # search in every run
    wanted = _heard(lines, host, None, "always")
    with running(mode):
        given = _heard(lines, oracle.lf, mode, "default")
    return [
        f"{lines[number]}: {text}"
        for number, text in given
        if given.count((number, text)) > wanted.count((number, text))
    ]


def _heard(
    lines: Sequence[str], module: Any, mode: Mode | None, action: Any
) -> list[tuple[int, str]]:
    """Run a program; return the numbers of statements, and of what they were warned."""
    found: list[tuple[int, str]] = []

    def show(message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
        number = lineno if module is not host and filename == FILE else _running()
        found.append((number - 1, f"{category.__name__}: {message}"))

    names: dict[str, Any] = {"np": module}
    after = forcing(mode) if mode is not None else None
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        warnings.showwarning = show
        for number, line in enumerate(lines):
            try:
                exec(compiled("\n" * number + line), names)  # noqa: S102 - made by the fuzzer
            except Exception:  # noqa: BLE001, S110 - part of the program
                pass
            if after is not None:
                after(names)
        if module is not host:
            oracle.lf.materialize(*[value for value in names.values() if is_lazy(value)])
    return found


def _running() -> int:
    """The line of the program that is running; 0 when none is."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != FILE:
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
    return frame.f_lineno if frame is not None else 0
