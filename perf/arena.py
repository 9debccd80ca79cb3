"""Time libraries against each other: a process for each, and rounds in turn.

Whatever else uses the machine, a slow moment then hits all libraries alike, and the medians of
many rounds can be compared. No two libraries share a process, so that their pools of threads,
allocators and floating-point modes stay apart; a process sleeps while another is timed.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from perf.environment import variables
from perf.worker import serve

#: A peer is asked for this long in a round.
BLOCK_SECONDS = 0.03
LEAST_ROUNDS = 3
#: A compiler that takes longer is given up.
PREPARE_SECONDS = 90.0


class Entrant(NamedTuple):
    """A library with a number of threads."""

    peer: str
    threads: int


@dataclass(slots=True)
class Outcome:
    """What one library did with a workload: samples in seconds and facts, or why there are none.

    `failed` tells a wrong result or an error from a version that does not exist.
    """

    samples: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    failed: bool = False

    def take(self, answer: tuple[str, Any]) -> None:
        """Note an answer of the worker."""
        kind, value = answer
        if kind != "ok":
            self.reason, self.failed = value, kind == "error"
        elif isinstance(value, list):
            self.samples += value
        else:
            self.facts |= value


class Remote:
    """A worker process and the connection to it."""

    def __init__(self, entrant: Entrant, device: str, reference: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=serve, args=(theirs, *entrant, reference), daemon=True
        )
        with environment(variables(entrant.threads, device)):
            self.process.start()
        theirs.close()

    def ask(self, *request: Any) -> None:
        """Send a request: the name of a method of Worker, then its arguments."""
        with suppress(ConnectionError):  # a dead one gives no answer
            self.connection.send(request)

    def answer(self, seconds: float) -> tuple[str, Any]:
        """Wait for the answer; a worker that is dead or too slow is ended."""
        try:
            if self.connection.poll(seconds):
                kind, value = self.connection.recv()
                return kind, value
            problem = f"took more than {seconds:.0f} s"
        except (EOFError, ConnectionError):
            problem = "its process died"
        self.end()
        return "error", problem

    def end(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.kill()
        self.process.join()


class Arena:
    """The workers of a session by library and threads; made when first needed."""

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.folder = tempfile.TemporaryDirectory(prefix="lazyfuse-bench-")
        self.remotes: dict[Entrant, Remote] = {}

    def compare(
        self, name: str, size: int, entrants: Sequence[Entrant], seconds: float
    ) -> dict[Entrant, Outcome]:
        """Time a workload at a size with each entrant for about `seconds` each, in turns."""
        outcomes = {entrant: Outcome() for entrant in entrants}
        first = next((own for own in entrants if own.peer == "numpy"), Entrant("numpy", 1))
        others = [entrant for entrant in entrants if entrant != first]
        for group in ([first], others):  # NumPy leaves the results that others are compared with
            for entrant in group:
                self.remote(entrant).ask("prepare", name, size)
            for entrant in group:
                outcomes.setdefault(entrant, Outcome()).take(self.receive(entrant))
        ready = [entrant for entrant in entrants if not outcomes[entrant].reason]
        self.take_turns({entrant: outcomes[entrant] for entrant in ready}, seconds)
        for entrant in ready:
            if not outcomes[entrant].reason:
                outcomes[entrant].take(self.request(entrant, "facts"))
        return {entrant: outcomes[entrant] for entrant in entrants}

    def take_turns(self, outcomes: dict[Entrant, Outcome], seconds: float) -> None:
        """Ask each for a block of samples, again and again."""
        block = min(BLOCK_SECONDS, seconds / LEAST_ROUNDS)
        for turn in range(max(round(seconds / block), LEAST_ROUNDS)):
            for entrant, outcome in outcomes.items():
                is_done = turn >= LEAST_ROUNDS and sum(outcome.samples) > seconds
                if not (is_done or outcome.reason):
                    outcome.take(self.request(entrant, "block", block))

    def version(self, entrant: Entrant) -> str:
        """The version of a library; empty when it is not installed."""
        kind, value = self.request(entrant, "version")
        return str(value) if kind == "ok" else ""

    def request(self, entrant: Entrant, *request: Any) -> tuple[str, Any]:
        """Ask a worker and wait."""
        self.remote(entrant).ask(*request)
        return self.receive(entrant)

    def receive(self, entrant: Entrant) -> tuple[str, Any]:
        """Wait for an answer; forget a worker that has ended."""
        remote = self.remotes[entrant]
        answer = remote.answer(PREPARE_SECONDS)
        if not remote.process.is_alive():
            del self.remotes[entrant]
        return answer

    def remote(self, entrant: Entrant) -> Remote:
        """The worker of a library, a new one when there is none."""
        if entrant not in self.remotes:
            self.remotes[entrant] = Remote(entrant, self.device, self.folder.name)
        return self.remotes[entrant]

    def close(self) -> None:
        """End all workers."""
        for remote in self.remotes.values():
            remote.end()
        self.remotes.clear()
        self.folder.cleanup()


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for the processes that start inside."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
