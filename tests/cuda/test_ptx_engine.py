"""The whole engine on device "cuda-ptx": op rows on special values, the named programs, and random
fused ones, against NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda_check import needs_ptx

import lazyfuse as lf
from lazyfuse.runtime.session import backend
from tests import corpus, oracle
from tests.fuzz.check import program as fuzz_program
from tests.fuzz.compare import ULP, run
from tests.programs import Example, examples

pytestmark = [pytest.mark.engine, needs_ptx]
#: Op rows and dtypes of the default run: one of so many.
SLICE = 10
#: Random programs of the default run and of --full, and their statements.
PROGRAMS, FULL, LONGEST = 10, 400, 12
EXAMPLES = examples()
ROWS = [
    (family, dtypes)
    for family in corpus.FAMILIES
    for dtypes in (
        [(dtype,) for dtype in corpus.DTYPES]
        if family.arity == 1
        else [*((dtype, dtype) for dtype in corpus.DTYPES), *corpus.MIXED]
    )
]


@pytest.fixture(autouse=True)
def on_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """New arrays live on the interpreter; sums are trees there."""
    monkeypatch.setattr(oracle, "ON_GPU", True)
    with lf.options(device="cuda-ptx", disk_cache=False):
        yield


def operands(family: corpus.Family, dtypes: tuple[str, ...]) -> list[Any]:
    """Special values, and for two operands every pair of them."""
    if family.arity == 1:
        return [corpus.unary_values(dtypes[0])]
    return list(corpus.usable(family, *corpus.pair_values(*dtypes)))


def test_the_interpreter_computes() -> None:
    """Results live on the device, and come from PTX that was executed, thread by thread."""
    before = backend("cuda-ptx").counts()
    y = lf.array(np.arange(1000.0)) * 3.25 + 1
    assert lf.asnumpy(y)[999] == 999 * 3.25 + 1 and y.device == "cuda-ptx"
    executed = backend("cuda-ptx").counts() - before
    assert executed["mul.rn.f64"] >= 1000 and executed["add.rn.f64"] >= 1000


def test_op_rows(full: bool) -> None:
    """Every op, on every dtype and special value: fused by family, within the row's bound."""
    rows = ROWS if full else ROWS[::SLICE]
    assert full or {family.name for family, _ in rows} == {f.name for f in corpus.FAMILIES}
    problems = []
    with np.errstate(all="ignore"):
        for family, dtypes in rows:

            def program(
                np: Any, *arrays: Any, ops: tuple[str, ...] = family.ops
            ) -> dict[str, Any]:
                return {op: corpus.attempt(np, op, arrays) for op in ops}

            rules = corpus.family_rules(family, *dtypes)
            given = operands(family, dtypes)
            problems += [
                f"{family.name} {dtypes}: {line}"
                for line in oracle.differences(program, *given, rules=rules)
            ]
    assert problems == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_programs(name: str) -> None:
    """The named programs."""
    example = EXAMPLES[name]
    problems = list(oracle.differences(example.program, *example.arrays, rules=rules_of(example)))
    assert problems == []


def rules_of(example: Example) -> oracle.Rules:
    """Sums are trees, and what is divided by them has their error."""
    return oracle.Rules(ulp=max(example.ulp, 64), normwise=True, sums=True)


def test_writes_and_views() -> None:
    """Aliasing does not depend on the device."""

    def program(np: Any, x: Any) -> Any:
        before = x * 2
        x[1:] += x[:-1]
        x.T[0] = -1
        x[::-1][:2] *= x[:2]
        return x + before[::-1], x

    oracle.check(program, np.arange(24.0).reshape(4, 6))


def test_indexing_and_scans() -> None:
    """Gathers, scatters, masks, running sums and arg reductions: no access out of bounds, no
    race.
    """

    def program(np: Any, x: Any, line: Any, rows: Any) -> list[Any]:
        scattered = x * 1
        scattered[:, rows] = 5
        scattered[1:3, :4] += 1
        return [
            x[:, rows] * 2 + 1,
            line[line > 0] - 1,
            scattered,
            *(np.cumsum(x * 2, axis=axis) for axis in (0, 1)),
            np.cumsum(line),
            np.maximum.accumulate(x, axis=1),
            np.minimum.accumulate(line[::-1]),
            x.argmax(axis=1),
            x.argmin(axis=0),
            line.argmax(),
            x.sum(axis=1, where=x > 0),
        ]

    rng = np.random.default_rng(8)
    x, line = rng.normal(size=(7, 150)), rng.normal(size=1500)
    oracle.check(program, x, line, rng.integers(0, 150, 40), sums=True)


@pytest.mark.parametrize("part", range(2))
def test_random_programs(part: int, full: bool) -> None:
    """Random programs give NumPy's results; sums are trees, and what follows from them is near."""
    problems = []
    for number in range(part, FULL if full else PROGRAMS, 2):
        lines = fuzz_program(f"ptx/{number}", longest=LONGEST)
        wanted, given = run(lines, np), run(lines, lf)
        assert set(wanted.errors) == set(given.errors), lines
        for name, value in wanted.names.items():
            rules = oracle.Rules(ULP * (name[0] == "u"), zero_sign=False, strides=False, sums=True)
            seen = oracle.observe(given.names[name])
            problems += [f"{number} {text}" for text in oracle.compare(name, value, seen, rules)]
    assert problems == []
