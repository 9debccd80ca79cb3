"""A clock that replays: pytest-benchmark keeps statistics of samples that were taken before.

It times one function after the other, while libraries are measured here in turns. So each
benchmark runs a function that moves this clock by the next sample.
"""

from __future__ import annotations

from typing import Any


class Clock:
    """A clock that stands still between samples."""

    def __init__(self) -> None:
        self.now = 0.0

    def read(self) -> float:
        """The time in seconds."""
        return self.now

    def replay(self, benchmark: Any, samples: list[float]) -> None:
        """Make a benchmark of samples; it must be marked with `benchmark(timer=CLOCK.read)`."""
        remaining = iter(samples)

        def advance() -> None:
            self.now += next(remaining)

        benchmark.pedantic(advance, rounds=len(samples), iterations=1)


CLOCK = Clock()
