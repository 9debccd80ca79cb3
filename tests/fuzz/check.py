"""Checks programs of a seed: one, or all that a process of the command is given."""

from __future__ import annotations

import argparse
import faulthandler
import gc
import random
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as host

from lazyfuse.frontend import shortcuts
from tests.fuzz.compare import problems, run
from tests.fuzz.modes import INTERPRETED, Mode, modes
from tests.fuzz.shrink import script, shrink
from tests.fuzz.statements import grow
from tests.older_processor import stand_in


@dataclass(frozen=True, slots=True)
class Failure:
    """A program, shrunk, that lazyfuse runs otherwise than NumPy."""

    seed: str
    mode: Mode
    lines: list[str]
    problems: list[str]

    def __str__(self) -> str:
        return f"# program {self.seed}\n{script(self.lines, self.mode, self.problems)}"


def program(seed: str, longest: int = 60) -> list[str]:
    """Return the program of a seed, "7/123": number 123 of seed 7."""
    with host.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return grow(random.Random(seed), longest).lines


def check(
    seed: str, *, longest: int = 60, shrinking: float = 30.0, interpreted: bool = False
) -> Failure | None:
    """Run the program of a seed in every mode; return its failure, shrunk, if there is one."""
    lines = program(seed, longest)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = run(lines, host)
        for mode in INTERPRETED if interpreted else modes(seed):
            found = problems(lines, mode, wanted)
            if found:
                return _shrunk(seed, mode, lines, found, shrinking)
    return None


def _shrunk(seed: str, mode: Mode, lines: list[str], found: list[str], seconds: float) -> Failure:
    small = shrink(lines, lambda some: bool(problems(some, mode)), seconds)
    return Failure(seed, mode, small, problems(small, mode) or found)


def work(arguments: argparse.Namespace, job: int, counts: Any) -> None:
    """Run every `jobs`-th program; print failures as they come."""
    faulthandler.enable()
    if arguments.older:
        stand_in()
    gc.set_threshold(100_000)  # programs make many objects, and few cycles
    shortcuts.learns_at_once[0] = True  # they run a few times each
    end = time.monotonic() + arguments.seconds
    stop = arguments.first + arguments.programs
    for number in range(arguments.first + job, stop, arguments.jobs):
        if time.monotonic() > end or counts[1] >= arguments.failures:
            return
        counts[2] = number
        failure = check(f"{arguments.seed}/{number}", interpreted=arguments.interpreted)
        if failure is not None:
            counts[1] += 1
            print(f"{failure}\n", flush=True)
        counts[0] += 1
        if counts[0] % 1000 == 0:
            print(f"job {job}: {counts[0]} programs, {counts[1]} differ", flush=True)
