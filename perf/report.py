"""Turn pytest-benchmark's JSON into a short JSON, a Markdown page and plots."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from perf import plots, tables
from perf.bars import STANDARD, judge
from perf.peers import PEERS
from perf.results import Results, from_raw

SIDES = {
    "dtypes": "Other dtypes",
    "layouts": "Strided inputs",
    "indexing": "Indexing",
    "scans": "Scans",
    "everyday": "Everyday programs",
    "lengths": "Ever new lengths",
    "calls": "Single calls",
    "ufuncs": "Single ufuncs",
}


def page(results: Results, plot: str) -> str:
    """Write the whole report."""
    parts = [*head(results), *uses(results, plot)]
    for question, title in SIDES.items():
        for size in results.sizes(question):
            parts += [f"## {title}, {size:,} elements",
                      tables.speeds(results, question, size)]  # fmt: skip
    parts += first_calls(results) + small(results)
    if more := tables.threads(results):
        parts += ["## Threads", "Speedup of more threads, in turns.", more]
    parts += ["## Losses", "Where lazyfuse is slower than another library: its speed by theirs.",
              tables.losses(results)]  # fmt: skip
    parts += promises(results)
    parts += ["## Left out", tables.left_out(results)]
    return "\n\n".join(parts) + "\n"


def head(results: Results) -> list[str]:
    """Say where and how this was measured."""
    facts = results.machine
    ran = ", ".join(
        f"{peer} {number} ({PEERS[peer].about})" for peer, number in results.versions.items()
    )
    return [
        f"# {facts['processor']}, {facts['cores']} cores, {facts['simd']}",
        f"Made by `bash scripts/bench`. {facts['system']}, {facts['memory_gb']:.0f} GB, Python"
        f" {facts['python']}. {ran}. {facts['threads']} threads for every library but NumPy.",
        f"A copy moves {facts['copy_gb_s_8MB']:.0f} GB/s (read + written) for 8 MB,"
        f" {facts['copy_gb_s_256MB']:.0f} GB/s for 256 MB; a product of matrices makes"
        f" {facts['matmul_gflop_s']:.0f} Gflop/s. Load average:"
        f" {facts['load_average']:.1f}; far above {facts['threads']} means that other programs"
        " took part of the machine.",
        "Every library has a process of its own, and they are timed in turns: what counts are"
        " ratios. Each result was compared with NumPy's first. Each call of lazyfuse records the"
        " whole program again and waits for its results. Medians, where nothing else is said.",
    ]


def uses(results: Results, plot: str) -> list[str]:
    """The main question."""
    everything = results.workloads("uses")
    if not everything:
        return []
    standard = [name for name in everything if name in STANDARD]
    parts = [
        "## How many times faster than other libraries lazyfuse is",
        "Geometric means (of how many programs). JAX and Numba run functions that were compiled"
        " by a decorator; what compares with them is `lazyfuse.fuse`. The program as it stands,"
        " recorded at each call, is what replaces NumPy.",
    ]
    for title, chosen in (("the standard programs", standard), ("all programs", everything)):
        if not chosen or title == "all programs" and chosen == standard:
            continue
        for how, own in (("under `fuse`", "fuse"), ("as they stand", "lazyfuse")):
            parts += [
                f"{title.capitalize()}, {how}, medians:",
                tables.means(results, chosen, "median_ms", own),
                f"{title.capitalize()}, {how}, fastest rounds:",
                tables.means(results, chosen, "min_ms", own),
            ]
    parts += [
        "## Time against size",
        f"![Time against size]({plot})" if plot else "No plots: matplotlib is not installed.",
    ]
    for size in reversed(results.sizes("uses")):
        parts += [f"## {size:,} elements", "Times faster than NumPy; losses in bold.",
                  tables.speeds(results, "uses", size)]  # fmt: skip
    sizes = results.sizes("uses")
    size = max([n for n in sizes if n <= tables.CLOSE_SIZE], default=sizes[0])
    return [*parts, f"## What lazyfuse did, {size:,} elements",
            "Ideal: each input read once, each result written once. `of copy`: of the speed at"
            " which a copy moves as many bytes. `of arithmetic`: of the speed of a product of"
            " matrices, an operation counted once and a transcendental function as twenty.",
            tables.closer(results, size)]  # fmt: skip


def first_calls(results: Results) -> list[str]:
    """First calls and memory."""
    if not results.of("first calls"):
        return []
    return ["## First calls and memory",
            "Milliseconds in a new process. Start: importing and running one operation. Peak:"
            " memory that a call takes beyond its inputs, results included.",
            tables.first_calls(results)]  # fmt: skip


def small(results: Results) -> list[str]:
    """Overhead."""
    if not results.of("overhead"):
        return []
    lines = [
        f"Recording one operation ({entry.get('program', 'of ten')}) costs "
        f"{entry['median_ms'] * 1e3 / entry['operations']:.2f} us."
        for entry in results.of("record")
    ]
    return ["## Small arrays", *lines, tables.overhead(results)]


def promises(results: Results) -> list[str]:
    """The promises that can be judged."""
    bars = judge(results)
    if not bars:
        return []
    rows = [
        [bar.name, f"{bar.measured:.2f} {bar.unit[0:2].strip()}",
         f"{'at least' if bar.at_least else 'at most'} {bar.limit:g}",
         "holds" if bar.passed else "**does not hold**"]
        for bar in bars
    ]  # fmt: skip
    held = sum(bar.passed for bar in bars)
    heads = ["promise", "measured", "limit", "verdict"]
    return ["## Promises", f"{held} of {len(bars)} hold.", tables.markdown(heads, rows)]


def write(raw: Path, out: Path) -> Results:
    """Write `<out>.json`, `<out>.md` and `<out>.png`."""
    results = from_raw(json.loads(raw.read_text()))
    out.parent.mkdir(parents=True, exist_ok=True)
    results.save(Path(f"{out}.json"))
    plot = ""
    if results.of("uses") and plots.is_possible():
        plot = f"{out.name}.png"
        plots.draw(results, out.parent / plot)
    Path(f"{out}.md").write_text(page(results, plot))
    return results


def main() -> None:
    """Make the report of a run again."""
    parser = argparse.ArgumentParser(prog="perf.report", description=__doc__)
    parser.add_argument("raw", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="path without suffix")
    options = parser.parse_args()
    write(options.raw, options.out)


if __name__ == "__main__":
    main()
