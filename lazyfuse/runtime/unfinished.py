"""Runs that did not end, after they had overwritten inputs that nobody held any more.

Such inputs cannot be read again. A run that ended for want of memory, or interrupted on a CPU,
keeps its place and goes on with the next flush that needs its results. After any other error the
step under way may have happened or not: the inputs are lost, and reading them is an error. Runs
that overwrote nothing are forgotten with their memory: what was recorded is still there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn

from lazyfuse.errors import LazyfuseError
from lazyfuse.ir.node import Node


class Unfinished(NamedTuple):
    """A run: its outputs, and what goes on with it (and may raise again)."""

    outputs: Sequence[Node]
    go_on: Callable[[], object]


runs: list[Unfinished] = []


def finish(pending: Iterable[Node]) -> bool:
    """Finish the runs whose results are among pending nodes; whether there were any. Those whose
    results nobody holds are forgotten. Raises: MemoryError, when there still is not enough."""
    needed = set(pending)
    runs[:] = [run for run in runs if any(map(_is_needed, run.outputs))]
    found = [run for run in runs if not needed.isdisjoint(run.outputs)]
    for run in found:
        run.go_on()
        runs.remove(run)
    return bool(found)


def _is_needed(node: Node) -> bool:
    return node.buffer is None and bool(node.is_held or node.users)


class Lost:
    """In place of memory that was overwritten: any use of it raises."""

    def __init__(self, error: BaseException) -> None:
        self._why = f"{type(error).__name__}: {error}"

    def __getattr__(self, name: str) -> NoReturn:
        raise LazyfuseError(
            f"a run that did not end ({self._why}) has overwritten memory that this needs: "
            "compute it from its inputs again"
        )
