"""A slice of the fuzzer's programs, and proof that it finds what it is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests import oracle
from tests.fuzz import statements
from tests.fuzz.check import check, program
from tests.fuzz.compare import problems
from tests.fuzz.modes import Mode, modes
from tests.fuzz.shrink import script, shrink
from tests.fuzz.warned import false_warnings

pytestmark = pytest.mark.engine

#: Programs of the slice, and of --full.
SLICE, FULL = 48, 5000
#: Programs whose warnings are compared.
WARNED = 30
#: Programs among which a planted fault must show.
WITHIN = 240
#: The first of them, for faults that show late from 0 on.
FIRST = {"_ignores_overlap": 140, "_promotes": 20}


@pytest.mark.parametrize("part", range(4))
def test_programs_give_what_numpy_gives(part: int, full: bool) -> None:
    """Every program, in every mode, gives NumPy's results and errors (pitfall P55)."""
    for number in range(part, FULL if full else SLICE, 4):
        failure = check(f"ci/{number}")
        assert failure is None, f"\n{failure}"


def test_programs_warn_of_nothing_that_numpy_does_not_warn_of(full: bool) -> None:
    """In every mode: the category, the words and the line of each warning are one of NumPy's."""
    for number in range(1000 if full else WARNED):
        lines = program(f"warned/{number}")
        for mode in modes(f"warned/{number}"):
            found = false_warnings(lines, mode)
            assert not found, script(lines, mode, found)


@pytest.mark.cpu("floating point flags")
def test_the_fuzzer_hears_a_false_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is planted: kernels compute what a mask leaves out, and nobody knows of masks."""
    from lazyfuse.runtime import conditions

    lines = ["v0 = np.arange(4.0)", "np.log(v0, out=v0, where=v0 > 0)"]
    mode = Mode("fused", {"max_pending_nodes": 1000})
    assert false_warnings(lines, mode) == []
    monkeypatch.setattr(conditions, "_masks", lambda graph: {})
    assert [text.partition(": ")[2] for text in false_warnings(lines, mode)] == [
        "RuntimeWarning: divide by zero encountered in log"
    ]


def test_programs_follow_from_the_seed() -> None:
    """The same seed gives the same program; another one another."""
    assert program("7/1") == program("7/1") != program("7/2")


def test_every_kind_of_statement_comes_up() -> None:
    """No kind is left out by an error in it."""
    seen = "\n".join(line for number in range(400) for line in program(f"kinds/{number}"))
    wanted = ("= v", "+= ", "out=", "where=", "np.where(", ".astype(", "[np.array(", "[v", "del ",
              "keepdims=True", "initial=", "dtype=", ".accumulate(", "cumsum", "np.concatenate(",
              "np.divmod(", "np.broadcast_to(", " @ ", "[None]", ".shape = ",
              "np.clip(", ".reshape(", "::-1", ".diagonal()", "u")  # fmt: skip
    assert [text for text in wanted if text not in seen] == []
    assert all(weight >= 0 for weight in statements.WEIGHTS.values())


def test_shrinking_keeps_what_fails() -> None:
    """What is left of a program is what the failure needs."""
    lines = ["v0 = np.arange(6)", "v1 = v0 + 1", "v2 = (v1[::-1] * 3 - v0) // 2", "v3 = v0 * 2"]

    def fails(some: Any) -> bool:
        return any("//" in line for line in some)

    assert shrink(lines, fails) == ["v2 = v1 // 2"]


# ---- planted faults: each is a mistake that lazy engines make, at the place where it belongs


def _rebinds(patch: pytest.MonkeyPatch) -> None:
    """`a += b` makes a new array: views of the old one do not see the sum."""
    patch.setattr(oracle.lf.LazyArray, "__iadd__", lambda self, other: self + other)


def _copies(patch: pytest.MonkeyPatch) -> None:
    """A basic index gives a copy."""
    from lazyfuse.frontend import indexing

    plain = indexing.getitem

    def getitem(self: Any, key: Any) -> Any:
        found = plain(self, key)
        return found.copy() if found.shape else found

    patch.setattr(oracle.lf.LazyArray, "__getitem__", getitem)


def _moves_reads(patch: pytest.MonkeyPatch) -> None:
    """Memory is written in place while results recorded before still have to read it."""
    from lazyfuse.runtime.executor import Executor

    patch.setattr(Executor, "_may_reuse", lambda self, slot, nbytes: True)


def _ignores_overlap(patch: pytest.MonkeyPatch) -> None:
    """`a += a[::-1]` and `a[1:] = a[:-1]` run as one loop over their own memory."""
    from lazyfuse.runtime import planner

    def donors(launch: Any) -> Any:
        written = [slot for slot, _ in launch.allocates]
        read = [launch.operands[number].slot for number in launch.kernel.inputs]
        return tuple(zip(written, read, strict=False))

    patch.setattr(planner, "donors", donors)
    patch.setattr(planner, "reads_elsewhere", lambda node, expression: False)


def _promotes(patch: pytest.MonkeyPatch) -> None:
    """float32 and float64 give float32."""
    from lazyfuse.frontend import elementwise

    plain = elementwise.resolve

    def resolve(name: str, types: Any) -> Any:
        loop = plain(name, types)
        narrow = "f4" in types and loop.result == "f8"
        return loop._replace(result="f4") if narrow else loop

    patch.setattr(elementwise, "resolve", resolve)


def _keeps_plans(patch: pytest.MonkeyPatch) -> None:
    """The plan of one write runs another, to another region of an array of the same shape."""
    from lazyfuse.ir.node import Update, View

    for kind in (Update, View):
        stale = property(lambda self: (self.kind, self.shape, self.dtype))
        patch.setattr(kind, "signature", stale)


FAULTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    _rebinds, _copies, _moves_reads, _ignores_overlap, _promotes, _keeps_plans,
)  # fmt: skip


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__.strip("_"))
def test_planted_faults_are_found(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fault shows within a few programs, and is shrunk."""
    with monkeypatch.context() as patch:
        _forget()
        plant(patch)
        first = FIRST.get(plant.__name__, 0)
        numbers = range(first, first + WITHIN)
        failures = (check(f"plant/{number}", shrinking=3) for number in numbers)
        found = next((failure for failure in failures if failure is not None), None)
    _forget()
    assert found is not None, "no program showed the fault"
    assert len(found.lines) <= 12, f"\n{found}"
    assert problems(found.lines, found.mode) == [], f"it fails without the fault too\n{found}"


def _forget() -> None:
    """Drop plans and types that were made with or without a fault."""
    from lazyfuse.frontend import elementwise

    oracle.lf.cache_clear()
    elementwise._outline.cache_clear()


def test_a_program_that_ended_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code took the first of no axes of a small array beside arrays of the engine."""
    shortcuts = pytest.importorskip("lazyfuse.frontend.shortcuts")
    monkeypatch.setattr(shortcuts, "learns_at_once", [True])
    assert check("777/164") is None
