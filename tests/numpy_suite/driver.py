"""Run test modules of NumPy in processes of their own and collect what the recorder wrote."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from tests.environment import python_path
from tests.numpy_suite.rewrite import rewrite

NUMPY = Path(numpy.__file__).parent
FOLDERS = ("_core/tests", "lib/tests")
#: Seconds for one module, and processes of one module that may crash.
MODULE_LIMIT, CRASHES = 1500, 20


@dataclass
class Outcome:
    """What happened to one test: passed, failed, error, skipped, xfailed, crashed or missing."""

    outcome: str
    reason: str = ""
    place: str = ""
    seconds: float = 0.0
    arrays: int = 0

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"


@dataclass
class ModuleResult:
    """What happened to a module: its tests in order, and why they are kept out where they are."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    excluded: dict[str, str | None] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    unreadable: str = ""
    finished: bool = False

    @property
    def left_out(self) -> list[str]:
        """The tests that do not count: kept out by a principle, or not passed."""
        return [
            key
            for key, why in self.excluded.items()
            if why is not None or key not in self.outcomes or not self.outcomes[key].passed
        ]


def modules(wanted: list[str]) -> list[Path]:
    """List NumPy's test modules, those whose name contains one of the given words."""
    found = [path for folder in FOLDERS for path in sorted((NUMPY / folder).glob("test_*.py"))]
    return [path for path in found if not wanted or any(word in name(path) for word in wanted)]


def name(path: Path) -> str:
    """Name a module as the report does: `_core/test_umath`."""
    return f"{path.parent.parent.name}/{path.stem}"


def prepare(folder: Path, *, lazy: bool) -> None:
    """Copy the tests into a folder, rewritten when `lazy`. Files beside them are kept."""
    for source in FOLDERS:
        target = folder / source.split("/")[0]
        shutil.copytree(NUMPY / source, target, ignore=shutil.ignore_patterns("__pycache__"))
        (target / "__init__.py").unlink(missing_ok=True)
        for path in target.glob("test_*.py"):
            if lazy:
                path.write_text(rewrite(path.read_text()))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")


class Suite:
    """One way to run the tests: a folder of modules and an environment."""

    def __init__(self, folder: Path, *, lazy: bool, environment: dict[str, str]) -> None:
        self.folder = folder
        self.lazy = lazy
        self.environment = environment
        if not (folder / "pytest.ini").exists():
            prepare(folder, lazy=lazy)

    def run(
        self, paths: list[Path], processes: int, only: dict[str, ModuleResult] | None = None
    ) -> dict[str, ModuleResult]:
        """Run modules, the longest first, several at once; of those of a run in `only`, the tests
        that count.
        """
        ordered = sorted(paths, key=lambda path: -path.stat().st_size)
        left_out = [only[name(path)].left_out if only else [] for path in ordered]
        with ThreadPoolExecutor(processes) as pool:
            done = list(pool.map(self.run_module, ordered, left_out))
        results = {name(path): result for path, result in zip(ordered, done, strict=True)}
        return {name(path): results[name(path)] for path in paths}

    def run_module(self, path: Path, left_out: list[str]) -> ModuleResult:
        """Run one module; after a crash, run the tests that come after it."""
        out = self.folder / f"{path.parent.parent.name}-{path.stem}.jsonl"
        done = out.with_suffix(".done")
        result = ModuleResult()
        if out.exists() and _read(out, result) is None and result.finished:
            return result
        result = ModuleResult()
        for _ in range(CRASHES):
            out.write_text("")
            done.write_text("\n".join([*left_out, *result.outcomes]))
            why = self._process(path, out, done)
            running = _read(out, result)
            if running is None:
                break
            result.outcomes[running] = Outcome("crashed", why)
            result.finished = False
        print(f"{name(path)}: {len(result.outcomes)}", file=sys.stderr)
        return result

    def _process(self, path: Path, out: Path, done: Path) -> str:
        target = self.folder / path.parent.parent.name / path.name
        environment = {**os.environ, **self.environment, "PYTHONPATH": python_path()}
        environment |= {"LAZYFUSE_SUITE_OUT": str(out), "LAZYFUSE_SUITE_SKIP": str(done)}
        environment["LAZYFUSE_SUITE_LAZY" if self.lazy else "LAZYFUSE_SUITE_PRINCIPLES"] = "1"
        # Memory that a test asks NPY_AVAILABLE_MEM for is more than a shared machine has to spare.
        environment |= {"NPY_AVAILABLE_MEM": "1G", "CUDA_VISIBLE_DEVICES": ""}
        plugins = ["-p", "numpy.conftest", "-p", "tests.numpy_suite.recorder"]
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "--tb=short"]
        command += [*plugins, f"--rootdir={self.folder}", str(target)]
        log = out.with_suffix(".log")
        with log.open("w") as text:
            try:
                status = subprocess.run(
                    command, cwd=self.folder, env=environment, stdout=text, stderr=text,
                    timeout=MODULE_LIMIT, check=False,
                ).returncode  # fmt: skip
            except subprocess.TimeoutExpired:
                return f"the module took longer than {MODULE_LIMIT} s"
        return f"the process ended with status {status}"


def _read(out: Path, result: ModuleResult) -> str | None:
    """Add the recorder's lines to a result; give the test that was running at the end, if any."""
    running = None
    for line in out.read_text().splitlines():
        record: dict[str, Any] = json.loads(line)
        match record.pop("event"):
            case "collected":
                result.excluded[record["key"]] = record["why"]
                result.ids[record["key"]] = record["id"]
            case "unreadable":
                result.unreadable = record["reason"]
            case "finished":
                result.finished = True
            case "start":
                running = record["key"]
            case "end":
                running = None
                key = record.pop("key")
                result.outcomes[key] = Outcome(**record)
    return running
