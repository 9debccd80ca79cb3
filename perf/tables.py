"""The tables of the report page, in Markdown. Losses are bold."""

from __future__ import annotations

from collections.abc import Iterable

from perf.results import OWN, Entry, Results, geometric_mean

#: Arrays of this size are looked at closely.
CLOSE_SIZE = 1_000_000


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """Write a Markdown table; all columns but the first are right-aligned."""
    rule = ["---"] + ["---:"] * (len(heads) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [heads, rule, *rows])


def milliseconds(value: float | None) -> str:
    """Write a time with three figures."""
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def ratio(value: float | None) -> str:
    """Write a speedup; losses in bold."""
    if value is None:
        return ""
    text = f"{value:.2f}x" if value < 10 else f"{value:.0f}x"
    return f"**{text}**" if value < 1 else text


def percent(value: float | None) -> str:
    """Write a fraction."""
    return "" if value is None else f"{value:.0%}"


def means(results: Results, workloads: Iterable[str], key: str, own: str = "lazyfuse") -> str:
    """Geometric means by size: how many times faster than each library lazyfuse is."""
    chosen = list(workloads)
    peers = [peer for peer in results.peers("uses") if peer not in OWN]
    rows = []
    for size in results.sizes("uses"):
        by_peer = [
            [results.ratio(name, size, peer, key=key, own=own) for name in chosen]
            for peer in peers
        ]
        best = [
            results.ratio(name, size, peer, key=key, own=own)
            for name in chosen
            if (peer := results.fastest(name, size, key)) is not None
        ]
        cells = [mean_of(values) for values in (*by_peer, best)]
        rows.append([f"{size:,}", *cells])
    return markdown(["elements", *(f"/ {peer}" for peer in peers), "/ fastest peer"], rows)


def mean_of(values: list[float | None]) -> str:
    """A geometric mean and how many went into it."""
    present = [value for value in values if value is not None]
    mean = geometric_mean(present)
    return "" if mean is None else f"{ratio(mean)} ({len(present)})"


def speeds(results: Results, question: str, size: int) -> str:
    """Compare all libraries at one size: NumPy's ms, then how many times faster each is."""
    peers = [peer for peer in results.peers(question) if peer != "numpy"]
    rows = []
    for name in results.workloads(question):
        base = results.milliseconds(question, name, size, "numpy")
        if base is None:
            continue
        times = [results.milliseconds(question, name, size, peer) for peer in peers]
        cells = [ratio(base / time if time else None) for time in times]
        rows.append([name, milliseconds(base), *cells, *beside(results, question, name, size)])
    extra = ["fastest peer", *(f"{own} / it" for own in OWN)] if question == "uses" else []
    return markdown(["program", "NumPy ms", *peers, *extra], rows)


def beside(results: Results, question: str, name: str, size: int) -> list[str]:
    """The fastest peer, and how many times faster lazyfuse is, as it is and under `fuse`."""
    if question != "uses":
        return []
    best = results.fastest(name, size)
    if best is None:
        return ["", "", ""]
    return [best, *(ratio(results.ratio(name, size, best, own=own)) for own in OWN)]


def closer(results: Results, size: int) -> str:
    """Show what lazyfuse did for each workload, and how near to the machine."""
    rows = []
    for entry in results.of("uses"):
        if entry["peer"] != "lazyfuse" or entry["n"] != size or "kernels" not in entry:
            continue
        rows.append([
            entry["workload"],
            milliseconds(entry["median_ms"]),
            str(entry["kernels"]),
            str(entry["fallbacks"]),
            f"{entry['moved_bytes'] / 1e6:.1f}",
            f"{entry['ideal_bytes'] / 1e6:.1f}",
            percent(entry.get("of_bandwidth")),
            percent(entry.get("of_arithmetic")),
            f"{entry['error']:.0e}" if entry["error"] else "0",
        ])  # fmt: skip
    heads = ["program", "ms", "kernels", "fallbacks", "MB moved", "MB ideal", "of copy",
             "of arithmetic", "difference"]  # fmt: skip
    return markdown(heads, rows)


def first_calls(results: Results) -> str:
    """Show first calls in new processes, and the memory that a program needs."""
    rows = []
    for entry in results.of("first calls"):
        compiling = max(entry["first_ms"] - entry["second_ms"], 0.0)
        peak = entry.get("peak_mb")
        rows.append([
            f"{entry['workload']}, {entry['n']:,}",
            entry["peer"],
            milliseconds(entry["start_ms"]),
            milliseconds(entry.get("disk_start_ms")),
            milliseconds(entry["first_ms"]),
            milliseconds(entry.get("disk_ms")),
            milliseconds(entry["second_ms"]),
            milliseconds(compiling),
            "" if peak is None else f"{peak:.0f}",
        ])  # fmt: skip
    heads = ["program, elements", "library", "start", "start, caches on disk", "first call",
             "first, caches on disk", "second", "first - second",
             "peak MB, 10 times the size"]  # fmt: skip
    return markdown(heads, rows)


def threads(results: Results) -> str:
    """Show what more threads bring."""
    entries = results.of("threads")
    counts = sorted({entry["threads"] for entry in entries})
    if len(counts) < 2:
        return ""
    few, many = counts[0], counts[-1]
    peers = results.peers("threads")
    rows = []
    for name in results.workloads("threads"):
        size = next(entry["n"] for entry in entries if entry["workload"] == name)
        cells = []
        for peer in peers:
            one, more = (results.get("threads", name, size, peer, count) for count in (few, many))
            both = one and more
            cells.append(milliseconds(one["median_ms"]) if one else "")
            cells.append(ratio(one["median_ms"] / more["median_ms"]) if both else "")
        rows.append([name, *cells])
    heads = [text for peer in peers for text in (f"{peer}, {few} thread, ms", f"{many} threads")]
    return markdown(["program", *heads], rows)


def overhead(results: Results) -> str:
    """Show what laziness costs on small arrays, in microseconds."""
    peers = results.peers("overhead")
    rows = []
    for name in results.workloads("overhead"):
        for size in results.sizes("overhead"):
            times = [results.milliseconds("overhead", name, size, peer) for peer in peers]
            cells = ["" if time is None else f"{time * 1e3:.1f}" for time in times]
            rows.append([f"{name}, {size}", *cells, ratio(results.ratio(name, size, "numpy",
                                                                       "overhead"))])  # fmt: skip
    return markdown(["program, elements", *(f"{peer} us" for peer in peers), "speedup"], rows)


def losses(results: Results) -> str:
    """List where lazyfuse is slower than NumPy, and than the fastest peer."""
    rows = []
    sides = ("dtypes", "layouts", "indexing", "scans", "everyday", "lengths", "calls", "ufuncs")
    for question in ("uses", *sides, "overhead"):
        for entry in results.of(question):
            if entry["peer"] in OWN:
                continue
            value = results.ratio(entry["workload"], entry["n"], entry["peer"], question)
            if value is not None and value < 1:
                rows.append((entry["n"], value, entry))
    rows.sort(key=lambda row: (-row[0], row[1]))
    cells = [[f"{entry['workload']}, {size:,}", entry["peer"], ratio(value)]
             for size, value, entry in rows]  # fmt: skip
    return markdown(["program, elements", "against", "speed"], cells) if rows else "None measured."


def left_out(results: Results) -> str:
    """List what has no result, and why."""
    reasons: dict[tuple[str, str, bool], list[str]] = {}
    for entry in results.left_out:
        key = entry["peer"], entry["reason"], bool(entry["failed"])
        reasons.setdefault(key, []).append(named(entry))
    rows = [
        [f"{peer} (failed)" if failed else peer, reason.replace("|", "\\|"),
         ", ".join(dict.fromkeys(names)) if len(set(names)) < 12 else f"{len(names)} benchmarks"]
        for (peer, reason, failed), names in reasons.items()
    ]  # fmt: skip
    return markdown(["library", "why", "programs"], rows) if rows else "Nothing."


def named(entry: Entry) -> str:
    """Name a benchmark, with its size where it failed."""
    return f"{entry['workload']}, {entry['n']:,}" if entry["failed"] else str(entry["workload"])
