"""Interrupts (Ctrl-C, alarms) may come between any two steps: nothing stays half done."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lazyfuse as lf
from lazyfuse import config
from lazyfuse.frontend import deferred, native_methods
from lazyfuse.runtime import replay_code
from tests.deferring import deferring, is_deferred

if not native_methods.make_native(lf.LazyArray):
    pytest.skip("operators are not machine code here", allow_module_level=True)

import numpy as host  # noqa: E402 - what may be skipped comes first

pytestmark = pytest.mark.engine
ROOT = Path(__file__).resolve().parents[1]


class Interrupted(dict):  # type: ignore[type-arg]
    """A dict whose user is interrupted right after a change."""

    def __init__(self, after: str) -> None:
        super().__init__()
        self.after = after

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._interrupt("an entry")

    def pop(self, *given: Any) -> Any:
        found = super().pop(*given)
        self._interrupt("an exit")
        return found

    def _interrupt(self, what: str) -> None:
        if self.after == what:
            self.after = ""
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", ("an entry", "an exit"))
def test_a_recording_that_is_interrupted(after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was counted as under way for ever, so that no machine code ran recorded functions."""
    a, recordings = lf.asarray(host.arange(50_000.0)), Interrupted(after)
    first, fused = lf.fuse(lambda a: a * 2.0), lf.fuse(lambda a: a * 2.0 + 1.0)
    for _ in range(3):
        first(a)  # machine code has the dict itself
    monkeypatch.setattr(replay_code, "recordings", recordings)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(3):
            fused(a)
    assert recordings == {}
    for _ in range(4):
        host.testing.assert_array_equal(host.asarray(fused(a)), host.arange(50_000.0) * 2.0 + 1.0)
    assert fused._machine.replays


def test_recordings_keep_calls_from_machine_code() -> None:
    """While any is under way, functions are called as Python calls them; then no more."""
    fused, a, found = lf.fuse(lambda a: a * 2.0), lf.asarray(host.arange(50_000.0)), []
    for under_way in ((), (), (), (), ("one",), ("one", "another"), (), ("one",), ()):
        replay_code.recordings.update(dict.fromkeys(under_way, True))
        fused(a)
        replay_code.recordings.clear()
        found.append(fused._machine.replays)
    assert found == [0, 0, 1, 2, 2, 2, 3, 3, 4]


@pytest.fixture
def putting_off() -> Iterator[None]:
    with lf.options(eager_size=1000), deferring():
        deferred.allow()
        deferred.look_around()
        yield


def after_the_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose caller is interrupted once, when it is done."""
    left = [1]

    def interrupted(*given: Any) -> Any:
        found = function(*given)
        if left:
            left.pop()
            raise KeyboardInterrupt
        return found

    return interrupted


@pytest.mark.parametrize("step", ("deferred", "settle", "release"))
def test_settling_that_is_interrupted(
    step: str, putting_off: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was put off was held to be in work until somebody asked for it."""
    functions = deferred._code[0].functions
    a, before = lf.asarray(host.linspace(1.0, 2.0, 50)), config.current()
    found = a * 3.0
    assert is_deferred(found)
    monkeypatch.setitem(functions, step, after_the_call(functions[step]))
    with pytest.raises(KeyboardInterrupt):
        deferred.settle()
    assert not deferred._word("IS_BUSY") and config.current() is before
    host.testing.assert_array_equal(host.asarray(found), host.asarray(a) * 3.0)
    assert is_deferred(a * 5.0)


def test_options_after_settling_that_is_interrupted(
    putting_off: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of what was put off stayed in force."""
    a, before = lf.asarray(host.linspace(1.0, 2.0, 50)), config.current()
    with lf.options(threads=1):
        deferred.allow()
        deferred.look_around()
        found = a * 3.0
        assert is_deferred(found)
    assert config.current() is before

    def interrupted(*given: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(deferred, "_computed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            deferred.settle()
    assert config.current() is before
    host.testing.assert_array_equal(host.asarray(found), host.asarray(a) * 3.0)


AT_RANDOM = """
import gc, random, signal, sys
import numpy, lazyfuse as lf
from lazyfuse import config
from lazyfuse.frontend import deferred
from lazyfuse.runtime import replay_code, session
from tests.deferring import deferring

def interrupt(number, frame):
    raise KeyboardInterrupt

def work(draw, a, fused):
    for _ in range(50):  # one that comes in a finalizer is ignored
        b = a * draw.random()
        for _ in range(draw.randrange(5)):
            b = b + draw.randrange(30)
        numpy.asarray(b * a - 1)
        place = draw.randrange(3)
        fused[place](a)
        if draw.random() < 0.05:
            fused[place] = lf.fuse(lambda x, n=draw.randrange(100): (x * n + 1) / 2)

sys.unraisablehook = lambda what: None
signal.signal(signal.SIGALRM, interrupt)
draw, data, options = random.Random(1), numpy.linspace(1, 2, 500), config.current()
turns, caught = int(sys.argv[1]), 0
with deferring():
    for turn in range(turns):
        if turn % 7 == 0:
            deferred.forget()
        a, fused = lf.asarray(data), [lf.fuse(lambda x, n=n: x * n + 1) for n in range(3)]
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(0.0005, 0.006))
            work(draw, a, fused)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except KeyboardInterrupt:
            caught += 1
        assert not replay_code.recordings, turn
        assert not deferred._word("IS_BUSY"), turn
        assert config.current() is options and gc.isenabled(), turn
        assert not session.flush_lock._is_owned(), turn
        assert numpy.array_equal(numpy.asarray(a * 2.0 + 1), data * 2.0 + 1), turn
assert caught > turns // 2, caught
"""


def test_interrupts_at_random(*, full: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_RANDOM, "5000" if full else "150"], capture_output=True,
        text=True, cwd=ROOT, check=False, timeout=900,
        env=os.environ | {"LAZYFUSE_EAGER_SIZE": "1000", "LAZYFUSE_COLD_SIZE": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
