"""Locks are given back whatever interrupts: `with lock` of CPython 3.14 may take one for ever."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine
ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "lazyfuse"
#: What has locks that one thread takes and another one gives back.
OTHERS = {"locks.py", "interrupts.py", "runtime/aside.py"}

INTERRUPTED = """
import signal, sys, time
from lazyfuse import locks

class Interrupt(Exception):
    pass

def interrupt(*_):
    raise Interrupt

def take(lock):
    while True:
        with lock:
            pass

def given_back(lock):
    taken = lock.acquire(blocking=False)
    if taken:
        lock.release()
    return taken and not getattr(lock, "_is_owned", bool)()

signal.signal(signal.SIGALRM, interrupt)
for kind in (locks.Lock, locks.RLock):
    lock, interrupts, end = kind(), 0, time.monotonic() + 1.0
    while time.monotonic() < end or interrupts < 100:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0003)
            take(lock)
        except Interrupt:
            interrupts += 1
            assert given_back(lock), (kind, interrupts)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_interrupts_leave_no_lock_taken() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, cwd=ROOT,
        check=False, timeout=300, env=os.environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def plain_locks(path: Path) -> Iterator[str]:
    """Where a file makes a lock of Python's own."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in ("Lock", "RLock"):
            if isinstance(node.value, ast.Name) and node.value.id in ("threading", "_thread"):
                yield f"{path.name}:{node.lineno}"
        elif isinstance(node, ast.ImportFrom) and node.module in ("threading", "_thread"):
            yield from [path.name for name in node.names if name.name in ("Lock", "RLock")]


def test_locks_for_with_are_those_of_one_module() -> None:
    paths = [*PACKAGE.rglob("*.py")]
    others = [path for path in paths if str(path.relative_to(PACKAGE)) not in OTHERS]
    assert [found for path in others for found in plain_locks(path)] == []
    assert list(plain_locks(PACKAGE / "locks.py")), "the rule sees none any more"
