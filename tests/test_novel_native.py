"""What is new to a line is computed at once in machine code: as Python does it, and no reference
lost."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.frontend import deferred, novel  # noqa: E402 - when there is an engine
from lazyfuse.runtime import caller, recorder, session  # noqa: E402 - likewise
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too
from tests.test_novel import *  # noqa: E402, F403 - again, in machine code
from tests.test_novel import (  # noqa: E402
    BROADCASTS,
    COLD,
    EXPRESSIONS,
    VALUES,
    WRITES,
    evaluated,
    is_at_hand,
    made,
)


def test_no_reference_is_lost() -> None:
    """Neither kept for ever nor given away."""
    ours = {name: made(value) for name, value in VALUES.items()}
    kept = (lf.LazyArray, host.dtype("f8"), host.dtype("i8"), type(ours["x"]._storage.node.buffer))

    def run() -> None:
        for source in EXPRESSIONS:
            evaluated(source, lf, ours)
        for write in WRITES.values():
            write(made(VALUES["x"]), ours["y"])
        for length in range(4_000, 4_020):  # of no known shape
            ours["line"][:length] * 2.0

    assert_nothing_is_lost(run, kept, known=12, rounds=5)


class Interrupt(Exception):
    """What a handler of a signal raises."""


def interrupted(*args: Any) -> None:
    raise Interrupt


@pytest.mark.parametrize("source", BROADCASTS)
def test_operands_of_broadcasts_are_given_back(source: str) -> None:
    code = compile(source, f"<{source}>", "eval")
    with lf.options(eager_size=500):
        names = {"np": lf, "x": made(VALUES["x"]), "small": lf.array(VALUES["x"][:, :1])}
        kept = (names["x"]._storage.node.buffer, names["small"]._host)
        counts = []
        for _ in range(50):
            eval(code, globals(), names)
            counts.append([sys.getrefcount(each) for each in kept])
    assert counts[-1] == counts[20]


def test_workers_are_hired_once_they_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose kernels are all called by machine code has workers, too: as many as may
    help."""
    workers, hired = session.backend("cpu").workers, []
    monkeypatch.setattr(workers, "start", hired.append)
    small, large = made(VALUES["line"][:100]), made(host.linspace(0.0, 1.0, COLD))
    for _ in range(10):  # machine code knows the kernel then
        lf.exp(small)
    hired.clear()
    deferred._put("HIRED", 0)
    lf.exp(small)
    assert not hired
    for threads, wanted in ((1, []), (3, [2]), (2, [2]), (5, [2, 4])):
        with lf.options(threads=threads):
            results = [lf.exp(large) for _ in range(3)]
        assert hired == wanted
        assert all(map(is_at_hand, results))
    deferred._put("HIRED", 0)
    monkeypatch.setattr(workers, "start", interrupted)
    with lf.options(threads=2), pytest.raises(Interrupt):
        lf.exp(large)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows")
def test_workers_of_a_forked_child() -> None:
    """It has none of its parent's; they are hired anew."""
    small, large = made(VALUES["line"][:100]), made(host.linspace(0.0, 1.0, COLD))
    for _ in range(10):  # machine code knows the kernel then
        lf.exp(small)
    with lf.options(threads=3):
        lf.exp(large)
        before = session.backend("cpu").workers.count
        child = os.fork()
        if not child:
            failed = True
            try:
                found = deferred._word("HIRED"), session.backend("cpu").workers.count
                results = [host.asarray(lf.exp(large)).tobytes() for _ in range(2)]
                found += session.backend("cpu").workers.count, len(set(results))
                failed = found != (0, 0, 2, 1)
            finally:
                os._exit(failed)
        assert os.waitpid(child, 0)[1] == 0 and before >= 2


def raises_once(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """A function of the package's, as it is where a handler raises in the middle of it."""
    function = getattr(module, name)
    done: list[bool] = []

    def interrupted(*args: Any) -> Any:
        value = function(*args)
        if not done:
            done.append(True)
            raise Interrupt
        return value

    monkeypatch.setattr(module, name, interrupted)


INTERRUPTED = """x + y; np.add(x, y); -x; x ** 2; x ** 1.5; np.exp(x); np.add(x, y, out=x)
np.exp(y, out=x); x.sum(); np.where(mask, x, y); x.__imul__(2.0); x.__iadd__(y); x[1:].__isub__(1)
np.linspace(0.0, 1.0, 5_001)"""


@pytest.mark.parametrize(
    "source", [each.strip() for each in INTERRUPTED.replace("\n", ";").split(";")]
)
def test_interrupts_of_the_question(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a handler raises while it is asked whose line that is, reaches the user, also where all
    is known that recording needs."""
    known = {name: made(value) for name, value in VALUES.items()}
    with lf.options(cold_size=0):
        evaluated(source, lf, known)
    known = {name: made(value) for name, value in VALUES.items()}
    for _ in range(10):  # machine code knows the kernel then
        evaluated(source, lf, known)
    ours = {name: made(value) for name, value in VALUES.items()}
    novel.forget()
    caller.THEIRS.clear()  # by addresses, which may come again
    raises_once(monkeypatch, deferred, "is_users")
    globals_of_nobody = {"np": lf, "__name__": "nobody", **ours}
    with pytest.raises(Interrupt):
        eval(compile(source, "<nobody>", "eval"), globals_of_nobody)
    evaluated(source, lf, ours)


def test_interrupts_of_adopting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one lost in the middle of making an array of a new shape."""
    ours = {name: made(value) for name, value in VALUES.items()}
    ours["line"][:4_031] * 2.0
    part = ours["line"][:4_037]
    raises_once(monkeypatch, recorder, "c_strides")
    with pytest.raises(Interrupt):
        part * 2.0
    host.testing.assert_array_equal(host.asarray(part * 2.0), VALUES["line"][:4_037] * 2.0)
