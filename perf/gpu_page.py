"""The page of a run of `scripts/gpu_check`: its JSON as Markdown.

    python -m perf.gpu_page perf/results/gpu-NAME.json     # writes gpu-NAME.md beside it

What a report lacks is left out; what fell short of a promise is bold.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perf.gpu import FUSED_HOST_US, HOST_US, RIVAL_RATIO, STATE_RATIO, fastest_rival

Report = dict[str, Any]


def page(report: Report) -> str:
    """The whole page."""
    device, speed = report["device"], report.get("speed", {})
    parts = [f"# {device['name']}\n"]
    cuda = f"{device['driver'] // 1000}.{device['driver'] % 1000 // 10}"
    parts.append(f"CUDA {cuda}, CuPy {device['cupy']}, NumPy {device['numpy']}.\n")
    parts += [f"{note}\n" for note in report.get("notes", ())]
    rows = speed.get("bandwidth", [])
    if rows:
        parts += [*shares(rows), *rivals(rows)]
    if "host" in speed:
        parts += host(speed)
    if "state" in speed:
        parts += state(speed["state"])
    if "sums" in speed:
        parts += sums(speed["sums"])
    return "\n".join([*parts, *checks(report)])


def shares(rows: list[Report]) -> Iterator[str]:
    """How near programs come to the speed of a copy."""
    yield "## Shares of a copy\n"
    copy = max(row["copy_gb_per_s"] for row in rows)
    yield (
        f"A copy of 512 MiB on the device moves {copy:,.0f} GB/s, read and written. Arrays of as\n"
        "many bytes, rows of 8,192 elements; the least of groups of 20 calls that are not\n"
        "waited for. Read once and written once is what 100 % means; of sums, read once. Bold:\n"
        "below what is promised.\n"
    )
    yield from _by_dtype(rows, "promised", _wanted, _share)


def rivals(rows: list[Report]) -> Iterator[str]:
    """The same programs by compilers that others use."""
    if not any(row.get("rivals_s") for row in rows):
        return
    yield "## Beside torch.compile, jax.jit and cupy.fuse\n"
    yield (
        "The time of the fastest of them in lazyfuse's, same memory, same run: above 1 lazyfuse\n"
        "is faster. Bold: slower by more than 2 %. torch computes float16 in float32 and rounds\n"
        "at the end, where NumPy and lazyfuse round each result; JAX, as it is by default,\n"
        "multiplies matrices of float32 in TF32.\n"
    )
    yield from _by_dtype(rows, "CuPy, op by op, float32", _op_by_op, _fastest)


def _by_dtype(rows: list[Report], aside: str, before: Any, cell: Any) -> Iterator[str]:
    """A table of programs by dtypes; `before` fills the column before them from all rows."""
    dtypes = list(dict.fromkeys(row["dtype"] for row in rows))
    yield f"| program | {aside} | {' | '.join(dtypes)} |"
    yield "| --- |" + " ---: |" * (len(dtypes) + 1)
    for name in dict.fromkeys(row["workload"] for row in rows):
        found = {row["dtype"]: row for row in rows if row["workload"] == name}
        cells = [cell(found[dtype]) if dtype in found else "" for dtype in dtypes]
        yield f"| {name} | {before(found)} | {' | '.join(cells)} |"
    yield ""


def _wanted(found: dict[str, Report]) -> str:
    wanted = next(iter(found.values()))["wanted"]
    return f"{wanted:.0%}" if wanted else ""


def _share(row: Report) -> str:
    return _bold(f"{row['of_copy']:.0%}", row["of_copy"] < row["wanted"])


def _op_by_op(found: dict[str, Report]) -> str:
    row = found.get("float32") or next(iter(found.values()))
    return f"{row['peer_s'] / row['lazyfuse_s']:.1f}"


def _fastest(row: Report) -> str:
    first = fastest_rival(row)
    if first is None:
        return ""
    name, ratio = first
    return _bold(f"{ratio:.2f} ({name.split('.')[0]})", ratio < RIVAL_RATIO)


def _bold(text: str, is_short: bool) -> str:
    return f"**{text}**" if is_short else text


def host(speed: Report) -> Iterator[str]:
    """What the host does for a launch."""
    yield "## The host\n"
    yield "| | us | promised |\n| --- | ---: | ---: |"
    for name, key, limit in (
        ("ten operations recorded, and queued by a known plan", "plain_us", HOST_US),
        ("the same under `fuse`", "fuse_us", FUSED_HOST_US),
    ):
        value = speed["host"][key]
        yield f"| {name} | {_bold(f'{value:.1f}', value > limit)} | {limit:g} |"
    graphs = speed.get("graphs")
    if graphs:
        times = f"{graphs['one_by_one_us']:.1f} / {graphs['graph_us']:.1f}"
        yield f"| four small kernels, one by one / as a CUDA graph, per run | {times} | |"
    yield ""


def state(found: Report) -> Iterator[str]:
    """The equation of state."""
    yield "## An equation of state\n"
    yield (
        f"{found['lazyfuse_s'] * 1e3:.2f} ms, by CuPy operation by operation "
        f"{found['peer_s'] * 1e3:.2f}: {found['ratio']:.0f} times (promised: {STATE_RATIO:g}).\n"
    )


def sums(rows: list[Report]) -> Iterator[str]:
    """Sums of other shapes, beside CuPy's."""
    yield "## Sums, ms (GB/s), beside CuPy's `sum`\n"
    yield "| shape | axis | dtype | lazyfuse | CuPy |\n| --- | ---: | --- | ---: | ---: |"
    for row in rows:
        shape = " x ".join(f"{extent:,}" for extent in row["shape"])
        own = f"{row['lazyfuse_ms']:.3f} ({row['gb_per_s']:,})"
        yield f"| {shape} | {row['axis']} | {row['dtype']} | {own} | {row['cupy_ms']:.3f} |"
    yield ""


def checks(report: Report) -> Iterator[str]:
    """What was compared with NumPy on the card."""
    yield "## What was checked\n"
    kernels = report["kernels"]
    runs = sum(value for value in kernels.values() if isinstance(value, int))
    wrong = len(kernels["wrong"])
    yield f"- {runs:,} runs of the kernels of `tests/cuda`, by every strategy: {wrong} wrong."
    library = report["library"]
    yield (
        f"- {library['programs']} library calls beside NumPy: {len(library['wrong'])} wrong, "
        f"{library['on_host']} on the host."
    )
    if "interpreter" in report:
        same, differ = report["interpreter"]["same"], report["interpreter"]["differ"]
        yield (
            f"- {same} of {same + len(differ)} primitives have the same bits on the PTX\n"
            f"  interpreter as on the card; the others differ in {sum(differ.values())} elements."
        )
    for name, result in report.get("tests", {}).items():
        yield f"- The suite, {name}: {_outcome(result)}."
    yield ""


def _outcome(result: int | str) -> str:
    if isinstance(result, str):
        return result
    return "passed" if result == 0 else f"failed (pytest's status {result})"


def main() -> None:
    """Write the page of a report."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("report", type=Path)
    path = arguments.parse_args().report
    path.with_suffix(".md").write_text(page(json.loads(path.read_text())))


if __name__ == "__main__":
    main()
