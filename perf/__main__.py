"""Run the benchmarks and write the report: `python -m perf [options] [pytest options]`.

Options: --quick, --workloads, --sizes, --peers, --threads, --seconds, --on (perf/settings.py), and
--out PATH for the results, without suffix. All others go to pytest: `-k scan` picks a question.
"""

from __future__ import annotations

import argparse
import compileall
import tempfile
from pathlib import Path

import pytest

from perf import report, tables
from perf.environment import ROOT
from perf.machine import short_name


def main() -> int:
    """Run pytest over perf/, then write JSON, page and plots."""
    parser = argparse.ArgumentParser(prog="perf", description=__doc__, add_help=False)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--on", default="cpu")
    options, passed_on = parser.parse_known_args()
    out = options.out or ROOT / "perf" / "results" / f"{options.on}-{short_name()}"
    # as pip does with what it installs: else each process would compile a checkout anew where
    # Python is told to write no bytecode, and not the peers
    compileall.compile_dir(ROOT / "lazyfuse", quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw.json"
        status = pytest.main([
            str(ROOT / "perf"), f"--rootdir={ROOT}", f"--on={options.on}", "-q", "-o", "addopts=",
            "-p", "no:cacheprovider", f"--benchmark-json={raw}", "--benchmark-quiet", *passed_on,
        ])  # fmt: skip
        if not raw.exists() or not raw.stat().st_size:
            print("nothing was measured")
            return int(status) or 1
        results = report.write(raw, out)
    print(tables.means(results, results.workloads("uses"), "median_ms"))
    print(f"wrote {out}.json, .md and .png")
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())
