"""Run NumPy's own tests with lazyfuse in NumPy's place and report.

    python -m tests.numpy_suite                     # all modules; writes docs/numpy-tests.md
    python -m tests.numpy_suite test_umath indexing # the modules whose name has one of these
    python -m tests.numpy_suite --stepwise ...      # each operation computed at once
    python -m tests.numpy_suite --failures out/x.md # the failures grouped by reason

Exits 1 when fewer than `--goal` per cent of the counted tests pass.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.environment import ROOT
from tests.numpy_suite import report
from tests.numpy_suite.driver import Suite, modules

PAGE = ROOT / "docs" / "numpy-tests.md"


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="words of the modules to run; all without")
    parser.add_argument("--stepwise", action="store_true", help="compute each operation at once")
    parser.add_argument("--failures", type=Path, help="write the failures by reason into a file")
    parser.add_argument("--processes", type=int, default=2, help="modules that run at once")
    parser.add_argument("--goal", type=float, default=99.0, help="per cent that must pass")
    parser.add_argument("--keep", type=Path, help="folder for the copies and logs")
    chosen = parser.parse_args()
    paths = modules(chosen.modules)
    reference = baseline().run(paths, chosen.processes)
    with tempfile.TemporaryDirectory(prefix="numpy-suite-") as folder:
        if chosen.keep:
            shutil.rmtree(chosen.keep, ignore_errors=True)
        lazy = Suite(chosen.keep or Path(folder), lazy=True, environment=modes(chosen.stepwise))
        results = lazy.run(paths, chosen.processes, only=reference)
    summary = report.summarize(reference, results)
    print(report.table(summary))
    if chosen.failures:
        chosen.failures.write_text(report.by_reason(summary))
    if not chosen.modules and not chosen.stepwise:
        PAGE.write_text(report.page(summary))
        print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
    return 0 if report.rate(summary) >= chosen.goal else 1


def baseline() -> Suite:
    """The run with NumPy itself, kept until NumPy or a principle changes."""
    sources = [
        Path(__file__).parent / f"{name}.py"
        for name in ("driver", "principles", "recorder", "sources")
    ]
    state = np.__version__.encode() + b"".join(path.read_bytes() for path in sources)
    digest = hashlib.sha256(state).hexdigest()[:12]
    return Suite(ROOT / "out" / "numpy-suite" / digest, lazy=False, environment={})


def modes(stepwise: bool) -> dict[str, str]:
    """The environment of the lazy run, or of the run that computes each operation at once."""
    recorded = {"LAZYFUSE_DEVICE": "cpu", "LAZYFUSE_CHECK": "0", "LAZYFUSE_EAGER_SIZE": "0"}
    return recorded | ({"LAZYFUSE_MAX_PENDING_NODES": "1"} if stepwise else {})


if __name__ == "__main__":
    sys.exit(main())
