"""A pytest plugin that writes what happened to each test as lines of JSON.

`LAZYFUSE_SUITE_OUT` names the file, `LAZYFUSE_SUITE_SKIP` a file of keys to leave out (tests that
ran before a crash). A test is named by its module, class, function and the number of the case
among the function's, since the ids of cases contain the values. Tests end after a time limit.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

#: Seconds for one test: NumPy needs five for the longest, in loops over very small arrays.
TIME_LIMIT = 300
_OUT = Path(os.environ["LAZYFUSE_SUITE_OUT"])
_KEYS: dict[str, str] = {}
_RECORDS: dict[str, dict[str, Any]] = {}
_MADE = Counter[str]()


class OutOfTime(BaseException):
    """A test took longer than the limit."""


def _write(record: dict[str, Any]) -> None:
    with _OUT.open("a") as out:
        out.write(json.dumps(record) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Count the arrays that lazyfuse makes, to tell which tests it takes part in at all."""
    if not os.environ.get("LAZYFUSE_SUITE_LAZY"):
        return
    from lazyfuse.ir.storage import Storage

    original = Storage.__init__

    def counting(self: Storage, *args: Any, **kwargs: Any) -> None:
        _MADE["arrays"] += 1
        original(self, *args, **kwargs)

    Storage.__init__ = counting  # type: ignore[method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Name the tests, and leave out those that ran already."""
    seen = Counter[str]()
    for item in items:
        function = item.nodeid.split("[")[0]
        function = function.rpartition("/")[2]
        seen[function] += 1
        _KEYS[item.nodeid] = f"{function}::{seen[function] - 1}"
    skip = os.environ.get("LAZYFUSE_SUITE_SKIP")
    done = set(Path(skip).read_text().split("\n")) if skip else set()
    items[:] = [item for item in items if _KEYS[item.nodeid] not in done]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write each test with the principle that keeps it out, where one does."""
    if not os.environ.get("LAZYFUSE_SUITE_PRINCIPLES"):
        return
    from tests.numpy_suite.principles import Principles

    principles = {path: Principles(path) for path in {item.path for item in session.items}}
    for item in session.items:
        why = principles[item.path].of(item)
        _write({"event": "collected", "key": _KEYS[item.nodeid], "id": item.name, "why": why})


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write why a module could not be read."""
    if report.failed:
        _write({"event": "unreadable", "reason": _reason(str(report.longrepr))})


def pytest_sessionfinish() -> None:
    """Say that the process came to its end."""
    _write({"event": "finished"})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Run one test under the time limit."""

    def out_of_time(number: int, frame: Any) -> None:
        raise OutOfTime(f"longer than {TIME_LIMIT} s")

    _write({"event": "start", "key": _KEYS[item.nodeid]})
    _MADE["arrays"] = 0
    begun = time.perf_counter()
    signal.signal(signal.SIGALRM, out_of_time)
    signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        record = _RECORDS.pop(item.nodeid, {"outcome": "lost", "reason": ""})
        seconds = round(time.perf_counter() - begun, 3)
        _write({"event": "end", "key": _KEYS[item.nodeid], "seconds": seconds,
                "arrays": _MADE["arrays"], **record})  # fmt: skip


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the worst of setup, call and teardown."""
    record = _RECORDS.setdefault(report.nodeid, {"outcome": "passed", "reason": ""})
    if report.outcome != "passed" and record["outcome"] == "passed":
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        record.update(outcome=outcome, reason=_reason(_text(report)), place=_place(report))


def _text(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)


def _place(report: pytest.TestReport) -> str:
    """The deepest line of the traceback, and the line of the test."""
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", [])
    lines = [entry.reprfileloc for entry in entries if getattr(entry, "reprfileloc", None)]
    return " < ".join(f"{Path(line.path).name}:{line.lineno}" for line in (lines[-1:] + lines[:1]))


def _reason(text: str) -> str:
    return " ".join(text.split())[:400]
