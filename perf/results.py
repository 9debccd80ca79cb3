"""The results of a run: read from pytest-benchmark's file, looked up, kept as a short JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from typing import Any

from perf import roofline
from perf.flops import flops

Entry = dict[str, Any]
#: lazyfuse in its two forms; all the rest but NumPy are peers.
OWN = ("lazyfuse", "fuse")
#: Not libraries that somebody would take instead: what programs start from, and how fast the
#: machine is.
NO_LIBRARY = ("numpy", "c")


@dataclass(slots=True)
class Results:
    """The machine, the versions of the libraries, the benchmarks, and what has no result."""

    machine: dict[str, Any]
    versions: dict[str, str]
    entries: list[Entry]
    left_out: list[Entry]
    index: dict[tuple[Any, ...], Entry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.entries:
            self.index[self.key(entry)] = entry

    @staticmethod
    def key(entry: Entry) -> tuple[Any, ...]:
        """What identifies an entry; the threads only where they are the question."""
        threads = entry.get("threads") if entry["question"] == "threads" else None
        return entry["question"], entry.get("workload"), entry.get("n"), entry.get("peer"), threads

    def of(self, question: str) -> list[Entry]:
        """The entries of a question."""
        return [entry for entry in self.entries if entry["question"] == question]

    def get(
        self, question: str, workload: str, size: int, peer: str, threads: int | None = None
    ) -> Entry | None:
        """One entry, if there is one."""
        return self.index.get((question, workload, size, peer, threads))

    def milliseconds(
        self, question: str, workload: str, size: int, peer: str, key: str = "median_ms"
    ) -> float | None:
        """The median of one entry, if there is one; another of its times by its key."""
        entry = self.get(question, workload, size, peer)
        return entry[key] if entry else None

    def ratio(
        self,
        workload: str,
        size: int,
        peer: str,
        question: str = "uses",
        key: str = "median_ms",
        own: str = "lazyfuse",
    ) -> float | None:
        """How many times faster than a peer lazyfuse is; `own="fuse"`: under `lazyfuse.fuse`."""
        ours = self.milliseconds(question, workload, size, own, key)
        theirs = self.milliseconds(question, workload, size, peer, key)
        return theirs / ours if ours and theirs else None

    def fastest(self, workload: str, size: int, key: str = "median_ms") -> str | None:
        """The fastest library but NumPy and lazyfuse; loops in C are no library."""
        times = {
            peer: time
            for peer in self.peers("uses")
            if peer not in (*NO_LIBRARY, *OWN)
            and (time := self.milliseconds("uses", workload, size, peer, key)) is not None
        }
        return min(times, key=lambda peer: times[peer]) if times else None

    def peers(self, question: str) -> list[str]:
        """The libraries that answered a question, in order."""
        return list(dict.fromkeys(entry["peer"] for entry in self.of(question)))

    def sizes(self, question: str) -> list[int]:
        """The sizes of a question."""
        return sorted({entry["n"] for entry in self.of(question)})

    def workloads(self, question: str) -> list[str]:
        """The workloads of a question, in order."""
        return list(dict.fromkeys(entry["workload"] for entry in self.of(question)))

    def save(self, path: Path) -> None:
        """Write a JSON file with a line per entry."""
        head = {"machine": self.machine, "versions": self.versions}
        parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        for key, rows in (("entries", self.entries), ("left_out", self.left_out)):
            lines = ",\n  ".join(json.dumps(row) for row in rows)
            parts.append(f'"{key}": [\n  {lines}\n]')
        path.write_text("{" + ",\n".join(parts) + "}\n")


def load(path: Path) -> Results:
    """Read what `save` wrote."""
    return Results(**json.loads(path.read_text()))


def from_raw(raw: Mapping[str, Any]) -> Results:
    """Take what matters from pytest-benchmark's file, and say how near to the machine it is."""
    entries = []
    for item in raw["benchmarks"]:
        stats = item["stats"]
        times = {f"{key}_ms": rounded(stats[key] * 1e3) for key in ("median", "min", "iqr")}
        entries.append(item["extra_info"] | {"rounds": stats["rounds"]} | times)
    threads = max((entry.get("threads", 1) for entry in entries), default=1)
    for entry in entries:
        if entry["question"] == "uses" and entry["peer"] in OWN:
            entry |= nearness(entry)
    machine = raw["machine"] | {"threads": threads} | measured(threads)
    return Results(machine, raw["versions"], entries, raw["left_out"])


def nearness(entry: Entry) -> Entry:
    """The fractions of the bandwidth and of the arithmetic of this machine that were reached."""
    operations = flops(entry["workload"], entry["n"])
    moving, computing = roofline.bounds(entry["ideal_bytes"], operations, entry["threads"])
    seconds = entry["median_ms"] / 1e3
    return {
        "of_bandwidth": rounded(moving / seconds),
        "of_arithmetic": rounded(computing / seconds),
    }


def measured(threads: int) -> dict[str, float]:
    """What the roofline is made of."""
    return {
        "copy_gb_s_8MB": round(roofline.copy_bandwidth(1 << 23, threads) / 1e9, 1),
        "copy_gb_s_256MB": round(roofline.copy_bandwidth(1 << 28, threads) / 1e9, 1),
        "matmul_gflop_s": round(roofline.peak_flops(threads) / 1e9, 1),
    }


def rounded(value: float) -> float:
    """Keep five figures."""
    return float(f"{value:.5g}")


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean; None of nothing."""
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs)) if logs else None
