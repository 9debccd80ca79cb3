"""Plots: time against size, one panel per workload, all libraries, losses as they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from perf.results import Results

COLUMNS = 4
COLOURS = {
    "numpy": "#777777",
    "lazyfuse": "#d62728",
    "fuse": "#8c1a1b",
    "numexpr": "#bcbd22",
    "numba": "#1f77b4",
    "c": "#000000",
    "jax": "#2ca02c",
    "torch": "#ff7f0e",
    "torch_cuda": "#ff7f0e",
    "cupy": "#9467bd",
    "cupy_fuse": "#c5b0d5",
}


def is_possible() -> bool:
    """Tell whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(results: Results, path: Path) -> None:
    """Write a PNG file with a panel per workload: nanoseconds per element against elements."""
    from matplotlib.figure import Figure

    names = results.workloads("uses")
    rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(4.2 * COLUMNS, 3.0 * rows), layout="constrained")
    panels = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        draw_panel(panel, results, name)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    handles = {line.get_label(): line for panel in figure.axes for line in panel.get_lines()}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=10)
    figure.supxlabel("elements")
    figure.supylabel("ns per element, median")
    figure.savefig(path, dpi=70)


def draw_panel(panel: Any, results: Results, name: str) -> None:
    """Draw one workload."""
    for peer in results.peers("uses"):
        found = [
            (size, time * 1e6 / size)
            for size in results.sizes("uses")
            if (time := results.milliseconds("uses", name, size, peer)) is not None
        ]
        if not found:
            continue
        own = peer in ("lazyfuse", "fuse")
        panel.plot(
            *zip(*found, strict=True), label=peer, color=COLOURS.get(peer), marker="o",
            markersize=3, linewidth=2.2 if own else 1.2, zorder=3 if own else 2,
        )  # fmt: skip
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_title(name, fontsize=10)
    panel.grid(alpha=0.3)
