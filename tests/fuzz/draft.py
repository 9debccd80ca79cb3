"""A program being grown: its statements, and what its variables hold in NumPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as host

from tests.fuzz import rules
from tests.fuzz.code import compiled

#: Elements of one array, so that a program takes milliseconds.
LARGEST = 4096
#: How often a statement that raises stays in the program.
KEEP_ERRORS = 0.4


class Draft:
    """See the module. `rng` decides everything that is random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"np": host}
        self._count = 0

    def arrays(self) -> list[str]:
        """Return the variables that hold arrays."""
        return [name for name, value in self.names.items() if type(value) is host.ndarray]

    def new(self) -> str:
        """Return the variable of a new result: a fresh one, now and then one in use."""
        taken = self.arrays()
        if taken and self.rng.random() < 0.12:
            return self.rng.choice(taken)
        return f"v{self._count}"

    def value(self, text: str) -> Any:
        """Evaluate an expression in NumPy; None when NumPy refuses it."""
        try:
            return eval(compiled(text, "eval"), self.names)  # noqa: S307 - text made here
        except (ValueError, TypeError, IndexError, OverflowError, AttributeError):
            return None

    def add(self, line: str) -> bool:
        """Run a statement in NumPy and keep it, unless a rule excludes it or it is too large."""
        if rules.excluded(line, self.names):
            return False
        before = dict(self.names)
        try:
            exec(compiled(line), self.names)  # noqa: S102 - text made here
        except Exception:  # noqa: BLE001 - any exception is part of the program
            if self.rng.random() > KEEP_ERRORS:
                return False
        fresh = [value for name, value in self.names.items() if value is not before.get(name)]
        if any(not _is_small(value) for value in fresh):
            self.names = before
            return False
        self.lines.append(line)
        self._count += 1
        return True


def _is_small(value: Any) -> bool:
    if not isinstance(value, (host.ndarray, host.generic)):
        return True
    return value.size <= LARGEST and value.ndim <= 6 and value.dtype.char in "?bBhHiIlLqQefdFD"
