"""The verification ladder (cuda_ladder.py): every op row and hundreds of random programs, by every
strategy, against NumPy; and proof that it finds what it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from cuda_check import ARCHITECTURES, needs_host, needs_ptx
from cuda_cupy_ladder import CupyShelf
from cuda_ladder import (
    ROWS,
    STRATEGIES,
    AssembledBackend,
    Programs,
    Shelf,
    program_of,
    random_check,
    refused_by_nvrtc,
    row_check,
)

from lazyfuse.backends.cuda.program import Strategy
from lazyfuse.backends.cuda.simulator import SimulatedBackend
from lazyfuse.backends.cuda.strategy import CUPY, obstacle
from lazyfuse.backends.cuda_host import CudaHostBackend
from lazyfuse.backends.cuda_host.runtime import HostMemoryError
from lazyfuse.backends.cuda_ptx import CudaPtxBackend
from lazyfuse.backends.cuda_ptx.faults import PtxMemoryError, PtxRaceError

pytestmark = [pytest.mark.engine, needs_host, needs_ptx]
#: Random programs of the default run and of --full.
PROGRAMS, FULL = 300, 4000
#: Parts of random programs and of op rows, so that processes share them.
PARTS = 4
#: Op rows in one part of them.
KINDS = ("programs", "rows")
#: Programs of the default run that cupy's strategies run.
WITH_CUPY = 15
#: Programs in which a planted fault must show.
WITHIN = 60
#: Of the programs that a forced strategy applies to, the default run takes one of so many: on the
#: host, and on the interpreter.
ON_HOST, FORCED = 10, 20
#: Of the sources that the interpreter is given, one of so many is made a cubin as well.
ASSEMBLED = 4


@cache
def parts(kind: str, part: int, count: int) -> Programs:
    """A part of the programs, with their kernels."""
    if kind == "rows":
        checks = [row_check(*row) for row in ROWS[part::PARTS]]
    else:
        checks = [random_check(f"ladder/{number}") for number in range(part, count, PARTS)]
    programs = Programs(checks)
    programs.plan("cuda-host", host())
    return programs


def host() -> CudaHostBackend:
    return CudaHostBackend(level=0)


def climb(
    programs: Programs,
    device: str,
    backend: SimulatedBackend,
    strategies: Sequence[Strategy],
    every: int = 1,
) -> list[str]:
    """Run the programs by all strategies, one of `every` by those that are forced; what differs
    from NumPy.
    """
    shelf = Shelf(backend)
    problems = []
    for place, strategy in enumerate(strategies):
        numbers = programs.numbers(strategy)
        if strategy is not Strategy.OWN:
            numbers = numbers[place % every :: every] or numbers[:1]
        shelf.fill(programs.distinct(numbers), [strategy, Strategy.OWN])
        problems += programs.climb(device, shelf, strategy, numbers)
    assert set(shelf.used) == set(strategies)
    return problems


@pytest.fixture(params=[(kind, part) for kind in KINDS for part in range(PARTS)], ids=str)
def rung(request: pytest.FixtureRequest, full: bool) -> tuple[Programs, tuple[Strategy, ...]]:
    """Programs, and the strategies to run them by: an op row has one that matters."""
    kind, part = request.param
    programs = parts(kind, part, FULL if full else PROGRAMS)
    return programs, (STRATEGIES if kind == "programs" else (Strategy.OWN,))


def test_host(rung: tuple[Programs, tuple[Strategy, ...]], full: bool) -> None:
    """The text, compiled by g++, in shuffled orders of threads."""
    programs, strategies = rung
    every = 1 if full else ON_HOST
    assert climb(programs, "cuda-host", host(), strategies, every) == []


def test_interpreter(rung: tuple[Programs, tuple[Strategy, ...]], full: bool) -> None:
    """What NVRTC makes of it: no access out of bounds, no race, no divergent barrier; a cubin of
    some, of one architecture each.
    """
    programs, strategies = rung
    every, backend = (1, CudaPtxBackend()) if full else (FORCED, AssembledBackend(ASSEMBLED))
    assert climb(programs, "cuda-ptx", backend, strategies, every) == []


def test_cubins(rung: tuple[Programs, tuple[Strategy, ...]], full: bool) -> None:
    """Every kernel becomes a cubin of every architecture, for all strategies."""
    if not full:
        pytest.skip("test_interpreter makes some; all with --full")
    programs, strategies = rung
    made = {
        program.name: program
        for kernel in programs.distinct()
        for strategy in strategies
        if not obstacle(kernel, strategy)
        for program in [program_of(kernel, strategy)]
    }
    for architecture in ARCHITECTURES:
        assert refused_by_nvrtc(list(made.values()), architecture) == []


@pytest.mark.parametrize("strategy", sorted(CUPY, key=str))
def test_cupy_strategies(strategy: Strategy, full: bool, tmp_path: Path) -> None:
    """cupy's own source for our kernels, in whole programs."""
    programs = parts("programs", 0, FULL if full else PROGRAMS)
    numbers = programs.numbers(strategy)[: None if full else WITH_CUPY]
    own = Shelf(host())
    own.fill(programs.distinct(numbers), [Strategy.OWN])
    shelf = CupyShelf(own)
    assert programs.climb("cuda-host", shelf, strategy, numbers) == []
    shelf.build(tmp_path)
    assert programs.climb("cuda-host", shelf, strategy, numbers) == []
    assert shelf.launches >= len(numbers) > 10


# ---- planted faults


def without_barrier(text: str) -> str:
    """No barrier after warps have left their sums in shared memory."""
    before, found, after = text.partition("    a = warps[base + (lane & (count - 1))];")
    return before.removesuffix("    __syncthreads();\n") + found + after if found else text


def one_too_far(text: str) -> str:
    """Loops over elements go one further."""
    return text.replace("flat < total;", "flat <= total;")


def narrow_casts(text: str) -> str:
    """What becomes a float64 is a byte before."""
    return text.replace("(double)v", "(double)(unsigned char)v")


FAULTS: tuple[tuple[Callable[[str], str], Strategy, tuple[type[Exception], ...]], ...] = (
    (without_barrier, Strategy.ROWS_BY_BLOCK, (PtxRaceError,)),
    (one_too_far, Strategy.STRIDED, (HostMemoryError, PtxMemoryError)),
    (narrow_casts, Strategy.OWN, ()),
)
NAMES = [tamper.__name__ for tamper, _, _ in FAULTS]


@pytest.mark.parametrize("device", ["cuda-host", "cuda-ptx"])
@pytest.mark.parametrize("tamper, strategy, errors", FAULTS, ids=NAMES)
def test_planted_faults_are_found(
    tamper: Callable[[str], str],
    strategy: Strategy,
    errors: tuple[type[Exception], ...],
    device: str,
) -> None:
    """Each shows in a few random programs, as an error of its kind or a wrong result."""
    programs = Programs([random_check(f"ladder/{number}") for number in range(WITHIN)])
    backend = host() if device == "cuda-host" else CudaPtxBackend()
    programs.plan(device, backend)
    shelf = Shelf(backend, tamper)
    assert any(
        shows(programs, number, device, shelf, strategy, errors)
        for number in programs.numbers(strategy)
    )


def shows(
    programs: Programs,
    number: int,
    device: str,
    shelf: Shelf,
    strategy: Strategy,
    errors: tuple[type[Exception], ...],
) -> bool:
    """Whether a program shows the fault of a shelf."""
    shelf.fill(programs.distinct([number]), [strategy, Strategy.OWN])
    try:
        return programs.climb(device, shelf, strategy, [number]) != []
    except errors:
        return True
