"""Turn pytest-benchmark's JSON into a short JSON and a Markdown page."""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

from perf.machine import cores, processor, simd
from perf.roofline import copy_bandwidth

Entry = dict[str, Any]


def entries(raw: dict[str, Any]) -> list[Entry]:
    """Keep the facts and the statistics of each benchmark."""
    kept = []
    for item in raw["benchmarks"]:
        stats = item["stats"]
        times = {f"{key}_ms": stats[key] * 1e3 for key in ("min", "median", "iqr")}
        kept.append(
            {"group": item["group"], "name": item["name"], "rounds": stats["rounds"]}
            | item["extra_info"]
            | times
        )
    return kept


def machine() -> dict[str, Any]:
    """Describe the machine and its bandwidth."""
    return {
        "processor": processor(),
        "simd": simd(),
        "cores": cores(),
        "python": platform.python_version(),
        "load_average": os.getloadavg()[1],
        "copy_gb_s_8MB": copy_bandwidth(1 << 23) / 1e9,
        "copy_gb_s_512MB": copy_bandwidth(1 << 29) / 1e9,
    }


def markdown_table(heads: list[str], rows: list[list[str]]) -> str:
    """Write a Markdown table; all columns but the first are right-aligned."""
    rule = ["---"] + ["---:"] * (len(heads) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [heads, rule, *rows])


def milliseconds(value: float) -> str:
    """Write a time with three figures."""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def speed_table(found: list[Entry], size: int) -> str:
    """Compare all libraries at one size: NumPy's ms, then how many times faster each is."""
    chosen = [entry for entry in found if entry.get("n") == size and "ideal_bytes" in entry]
    peers = list(dict.fromkeys(entry["peer"] for entry in chosen))
    peers.remove("numpy")
    rows = []
    for group in dict.fromkeys(entry["group"] for entry in chosen):
        by_peer = {entry["peer"]: entry for entry in chosen if entry["group"] == group}
        if "numpy" not in by_peer:
            continue
        base = by_peer["numpy"]["median_ms"]
        cells = [group, milliseconds(base)]
        for peer in peers:
            entry = by_peer.get(peer)
            cells.append(ratio(base / entry["median_ms"]) if entry else "")
        rows.append(cells)
    return markdown_table(["workload", "NumPy ms", *peers], rows)


def ratio(value: float) -> str:
    """Write a speedup; losses in bold."""
    text = f"{value:.2f}x" if value < 10 else f"{value:.0f}x"
    return f"**{text}**" if value < 1 else text


def own_table(found: list[Entry], size: int) -> str:
    """Show what lazyfuse did for each workload."""
    rows = []
    for entry in found:
        if entry.get("peer") != "lazyfuse" or entry.get("n") != size or "kernels" not in entry:
            continue
        rows.append([
            entry["group"],
            milliseconds(entry["median_ms"]),
            str(entry["kernels"]),
            str(entry["fallbacks"]),
            optional(entry, "first_ms_cold"),
            optional(entry, "first_ms_disk"),
            optional(entry, "compile_ms"),
            f"{entry['moved_bytes'] / 1e6:.1f}",
            f"{entry['ideal_bytes'] / 1e6:.1f}",
            f"{entry['bandwidth_fraction']:.0%}",
            f"{entry['error']:.0e}" if entry["error"] else "0",
        ])  # fmt: skip
    heads = ["workload", "ms", "kernels", "fallbacks", "first call ms", "first, disk cache ms",
             "compile ms", "MB moved", "MB ideal", "of copy bandwidth", "difference"]  # fmt: skip
    return markdown_table(heads, rows)


def optional(entry: Entry, key: str) -> str:
    """Write a time that not every entry has."""
    return f"{entry[key]:.1f}" if key in entry else ""


def overhead_table(found: list[Entry]) -> str:
    """Show what laziness costs on small arrays, in microseconds."""
    rows = []
    for group in ("one op", "ten ops"):
        chosen = [entry for entry in found if entry["group"] == group]
        for size in sorted({entry["n"] for entry in chosen}):
            by_peer = {e["peer"]: e["median_ms"] * 1e3 for e in chosen if e["n"] == size}
            if len(by_peer) < 2:
                continue
            base, own = by_peer["numpy"], by_peer["lazyfuse"]
            rows.append([f"{group}, {size}", f"{base:.1f}", f"{own:.1f}", ratio(base / own)])
    return markdown_table(["program, elements", "NumPy us", "lazyfuse us", "speedup"], rows)


def losses(found: list[Entry]) -> str:
    """List where lazyfuse is slower than NumPy."""
    medians = {(e["group"], e.get("n"), e.get("peer")): e["median_ms"] for e in found}
    lines = []
    for (group, size, peer), own in medians.items():
        base = medians.get((group, size, "numpy"))
        if peer == "lazyfuse" and base is not None and own > base:
            lines.append(f"- {group}, {size} elements: {base / own:.2f}x")
    return "\n".join(lines) or "None measured."


def page(facts: dict[str, Any], found: list[Entry], bars: list[Entry]) -> str:
    """Write the whole report."""
    threads = max(entry.get("threads", 1) for entry in found)
    versions = {entry["peer"]: entry["version"] for entry in found if "version" in entry}
    parts = [
        f"# {facts['processor']}, {facts['cores']} cores, {facts['simd']}",
        f"Python {facts['python']}, "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + f"; {threads} threads for every library but NumPy. Medians. Copy bandwidth (read +"
        f" written): {facts['copy_gb_s_8MB']:.0f} GB/s for 8 MB, {facts['copy_gb_s_512MB']:.0f}"
        " GB/s for 512 MB. Each round records the whole program again and waits for its results."
        f" Load average over the last five minutes: {facts['load_average']:.1f}; far above"
        f" {threads} means that other programs took part of the machine."
        " Made by `bash scripts/bench`.",
    ]
    for size in sorted({e["n"] for e in found if "ideal_bytes" in e}, reverse=True):
        parts += [
            f"## {size:,} elements",
            "Times faster than NumPy; losses in bold.",
            speed_table(found, size),
            own_table(found, size),
        ]
    record = [entry["us_per_op"] for entry in found if "us_per_op" in entry]
    parts.append("## Overhead")
    if record:
        parts.append(f"Recording one operation costs {record[0]:.2f} us.")
    parts += [overhead_table(found), "## Losses", "Slower than NumPy here:", losses(found)]
    if bars:
        rows = [
            [b["name"], f"{b['measured']:.2f} {b['unit']}", f"{b['limit']:g} {b['unit']}",
             "pass" if b["passed"] else "**fail**", b["detail"]]
            for b in bars
        ]  # fmt: skip
        heads = ["bar", "measured", "limit", "verdict", "detail"]
        parts += ["## Bars", markdown_table(heads, rows)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Read the raw results, write `<out>.json` and `<out>.md`."""
    parser = argparse.ArgumentParser(prog="perf.report", description=__doc__)
    parser.add_argument("raw", type=Path)
    parser.add_argument("--bars", type=Path, help="JSON written by perf.bars")
    parser.add_argument("--out", type=Path, required=True, help="path without suffix")
    options = parser.parse_args()
    found = entries(json.loads(options.raw.read_text()))
    has_bars = options.bars is not None and options.bars.exists()
    bars = json.loads(options.bars.read_text()) if has_bars else []
    facts = machine()
    content = {"machine": facts, "benchmarks": found, "bars": bars}
    Path(f"{options.out}.json").write_text(json.dumps(content, indent=1) + "\n")
    Path(f"{options.out}.md").write_text(page(facts, found, bars))


if __name__ == "__main__":
    main()
