"""Options, marks and fixtures that the whole suite shares."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from typing import Any

# Small arrays are NumPy's own: the suite tests the engine, and tests/test_small_arrays.py those.
os.environ.setdefault("LAZYFUSE_EAGER_SIZE", "0")
# Likewise what is met for the first time, in tests/test_cold_runs.py.
os.environ.setdefault("LAZYFUSE_COLD_SIZE", "0")

import pytest
from hypothesis import HealthCheck, settings

from tests import OWN_FOLDER, oracle

settings.register_profile(
    "lazyfuse",
    max_examples=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
settings.register_profile(
    "full",
    max_examples=2000,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--full`: the whole cross products and many random programs, instead of a slice of
    them; and `--older`: as on a processor without AVX-512.
    """
    parser.addoption("--full", action="store_true", help="run the full cross products (slow)")
    parser.addoption("--older", action="store_true", help="compile without AVX-512 (x86)")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark and the size of the random tests."""
    config.addinivalue_line("markers", "engine: needs lazyfuse itself, not NumPy in its place")
    config.addinivalue_line("markers", "cpu(what): is about what only the CPU backend has")
    config.addinivalue_line("filterwarnings", "ignore::RuntimeWarning")
    # not in setup.cfg: pytest would import lazyfuse before it is told of the environment above
    config.addinivalue_line("filterwarnings", "error::lazyfuse.errors.UnfusedWarning")
    if oracle.IS_ENGINE:
        from lazyfuse.frontend import shortcuts

        shortcuts.learns_at_once[0] = True  # tests run programs a few times
    if config.getoption("--older"):
        from tests.older_processor import stand_in

        stand_in()
    settings.load_profile("full" if config.getoption("--full") else "lazyfuse")


def pytest_unconfigure() -> None:
    """Remove the compiled kernels of this run."""
    if OWN_FOLDER is not None:
        shutil.rmtree(OWN_FOLDER, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what only the engine has when NumPy stands in its place, and what only the CPU has when
    a GPU is the default device.
    """
    no_engine = pytest.mark.skip(reason="NumPy in lazyfuse's place has no engine")
    for item in items:
        if not oracle.IS_ENGINE and item.get_closest_marker("engine"):
            item.add_marker(no_engine)
        cpu = item.get_closest_marker("cpu")
        if oracle.ON_GPU and cpu:
            item.add_marker(pytest.mark.skip(reason=f"only a CPU has {cpu.args[0]}"))


def pytest_collection_finish() -> None:
    """Have the collector of garbage pass by the tests themselves, of which there are thousands: it
    would look at them whenever one of them asks for it.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """Say whether the full cross products were asked for."""
    return bool(request.config.getoption("--full"))


@pytest.fixture(autouse=True)
def fresh_stats() -> Iterator[Any]:
    """Start every test with counters at zero."""
    if oracle.IS_ENGINE:
        oracle.lf.reset_stats()
    yield
