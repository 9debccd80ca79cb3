"""Options of the benchmarks, the arena that all of them use, and what the results say besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from perf.arena import Arena, Entrant, Outcome
from perf.cases import Case
from perf.clock import CLOCK
from perf.machine import describe
from perf.results import OWN
from perf.settings import OPTIONS, Settings, settings

Race = Callable[[Any, str, Case], None]
SETTINGS = pytest.StashKey[Settings]()
LEFT_OUT = pytest.StashKey[list[dict[str, Any]]]()
VERSIONS = pytest.StashKey[dict[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `scripts/bench`."""
    group = parser.getgroup("lazyfuse benchmarks")
    for name, how in OPTIONS.items():
        group.addoption(name, **how)


def pytest_configure(config: pytest.Config) -> None:
    """Read the options once."""
    config.stash[SETTINGS] = settings(config.getoption)
    config.stash[LEFT_OUT] = []
    config.stash[VERSIONS] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each question says what it measures: its module's `cases(settings)`."""
    if "case" in metafunc.fixturenames:
        cases = metafunc.module.cases(metafunc.config.stash[SETTINGS])
        metafunc.parametrize("case", cases, ids=[str(case) for case in cases])


def pytest_benchmark_update_json(
    config: pytest.Config, benchmarks: Any, output_json: dict[str, Any]
) -> None:
    """Add the machine, the versions, and what was left out."""
    output_json["machine"] = describe()
    output_json["versions"] = config.stash[VERSIONS]
    output_json["left_out"] = config.stash[LEFT_OUT]


@pytest.fixture(scope="session")
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    """The processes of the libraries."""
    made = Arena(request.config.stash[SETTINGS].device)
    yield made
    made.close()


@pytest.fixture(scope="session")
def settled(request: pytest.FixtureRequest) -> Settings:
    """What this run measures."""
    return request.config.stash[SETTINGS]


@pytest.fixture(scope="session")
def left_out(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Note why a benchmark has no result, and skip it; what NumPy or lazyfuse fail at fails."""
    noted = request.config.stash[LEFT_OUT]

    def note(facts: dict[str, Any], reason: str, *, failed: bool = False) -> None:
        noted.append(facts | {"reason": reason, "failed": failed})
        (pytest.fail if failed and facts["peer"] in ("numpy", *OWN) else pytest.skip)(reason)

    return note


@pytest.fixture(scope="session")
def race(arena: Arena, settled: Settings, left_out: Any, request: pytest.FixtureRequest) -> Race:
    """Time a workload with all entrants in turns, once, and report one of them as a benchmark."""
    done: dict[tuple[str, int, tuple[Entrant, ...]], dict[Entrant, Outcome]] = {}
    versions = request.config.stash[VERSIONS]

    def report(benchmark: Any, question: str, case: Case) -> None:
        workload, size, entrant = case.workload, case.size, case.entrant
        key = workload.name, size, case.entrants
        if key not in done:
            done.clear()
            done[key] = arena.compare(workload.name, size, case.entrants, settled.seconds)
        outcome = done[key][entrant]
        facts = {"question": question, "workload": workload.name, "family": workload.family,
                 "peer": entrant.peer, "threads": entrant.threads, "n": size}  # fmt: skip
        if outcome.reason:
            left_out(facts, outcome.reason, failed=outcome.failed)
        if entrant.peer not in versions:
            versions[entrant.peer] = arena.version(entrant)
        benchmark.group = f"{question}: {workload.name}, {size}"
        benchmark.extra_info |= facts | outcome.facts
        CLOCK.replay(benchmark, outcome.samples)

    return report
