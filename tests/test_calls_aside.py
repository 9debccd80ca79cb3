"""Calls that another thread makes end, whatever becomes of that thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine
ROOT = Path(__file__).resolve().parents[1]

#: Threads that never run, run late, end before they have made the call, or cannot be had.
BEGIN = """
import _thread, faulthandler, random, signal, threading, time
from lazyfuse import interrupts
faulthandler.dump_traceback_later(60, exit=True)
interrupts._LONG = 0.001
start, draw = _thread.start_new_thread, random.Random(1)

def lost(function, args):
    return start(time.sleep, (0.0,))

def late(function, args):
    return start(lambda *given: time.sleep(0.002) or function(*given), args)

def ending(function, args):
    return start(lambda signs: signs.pop() and function.__self__.begins(), args)

def without_room(function, args):
    raise MemoryError

def refused(function, args):
    raise RuntimeError("can't start new thread")
"""


def run(program: str) -> None:
    """Run a program in a process of its own, which must end well."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program], capture_output=True, text=True, cwd=ROOT,
        check=False, timeout=120, env=os.environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


ENDINGS = """
calls = []
for _thread.start_new_thread in (lost, late, ending, without_room, refused, start):
    assert interrupts.uninterrupted(lambda: calls.append(0) or 5) == 5
    assert interrupts.side_by_side([lambda: 1, lambda: 2]) == [1, 2]
    assert interrupts.attempted([lambda: 1, lambda: 2, lambda: 3], 2) == [1, 2, 3]
time.sleep(0.01)
assert len(calls) == 6, "each is called once"
"""


def test_threads_that_end_too_soon() -> None:
    """One that had begun and had no memory to go on was waited for, for ever."""
    run(ENDINGS)


AS_IT_BEGINS = """
begins, seen = interrupts._Call.begins, []

def interrupted(self):
    found = begins(self)
    if threading.current_thread() is threading.main_thread() and not seen:
        seen.append(found)
        raise KeyboardInterrupt
    return found

interrupts._Call.begins = interrupted
is_over, calls = threading.Event(), []
_thread.start_new_thread = lambda function, args: start(
    lambda *given: is_over.wait() and function(*given), args)
try:
    interrupts.uninterrupted(lambda: calls.append(0))
except KeyboardInterrupt:
    pass
is_over.set()
time.sleep(0.01)
assert seen == [True] and len(calls) == 1
"""


def test_an_interrupt_as_who_waits_begins() -> None:
    """Nobody else would make the call then, and it was waited for, for ever."""
    run(AS_IT_BEGINS)


BEHIND_A_START = """
def ending_first(function, args):
    start(lambda signs: signs.pop() and function.__self__.begins(), args)
    time.sleep(0.2)
    raise KeyboardInterrupt

_thread.start_new_thread, calls = ending_first, []
try:
    interrupts.uninterrupted(lambda: calls.append(0))
except KeyboardInterrupt:
    pass
assert calls == [0]
"""


def test_an_interrupt_behind_a_start() -> None:
    """What is raised there keeps the thread's arguments, and so its sign of life: the thread had
    ended, and was waited for, for ever (once in some thousand runs of the test below)."""
    run(BEHIND_A_START)


AT_RANDOM = """
def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
caught = made = 0
for turn in range(600):
    _thread.start_new_thread = draw.choice((lost, late, ending, without_room, refused, start))
    try:
        try:
            again = draw.choice((0.0, draw.uniform(5e-5, 5e-4)))
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-5, 2e-3), again)
            found = interrupts.side_by_side([lambda: time.sleep(0.0001) or 1, lambda: 2])
            assert found == [1, 2]
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            made += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        caught += 1
assert caught > 50 and made > 50, (caught, made)
"""


def test_interrupts_at_random() -> None:
    """One, or one after the other: who waits comes to an end."""
    run(AT_RANDOM)
