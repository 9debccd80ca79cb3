"""What a run of the benchmarks measures; the options of `scripts/bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from perf.arena import Entrant
from perf.machine import cores
from perf.peers import PEERS
from perf.workloads import BY_NAME, FAMILIES, USES, Workload

SIZES = (10, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
#: Programs besides the standard ones leave some out.
FEWER_SIZES = (1_000, 10_000, 1_000_000, 10_000_000)
QUICK_SIZES = (1_000, 1_000_000)
QUICK_WORKLOADS = ("chain", "black_scholes", "softmax", "heat", "sobel", "revenue", "asian_option")
#: Side questions ask at one size.
SIDE_SIZE = 1_000_000
SIDE_PEERS = ("numpy", "lazyfuse", "jax")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a run."""

    device: str
    quick: bool
    seconds: float
    threads: int
    sizes: tuple[int, ...]
    workloads: tuple[str, ...]
    peers: tuple[str, ...]
    named_peers: bool
    named_sizes: bool

    def chosen(self, family: str) -> list[Workload]:
        """The workloads of a family that this run measures."""
        return [workload for workload in FAMILIES[family] if workload.name in self.workloads]

    def uses(self) -> list[Workload]:
        """The workloads that stand for real use."""
        return [workload for family in USES for workload in self.chosen(family)]

    def sizes_of(self, workload: Workload) -> tuple[int, ...]:
        """The sizes of a workload of real use."""
        if self.named_sizes or self.quick or workload.family == "standard":
            return self.sizes
        return FEWER_SIZES

    def entrants(self, workload: Workload, among: tuple[str, ...] = ()) -> list[Entrant]:
        """Who runs a workload: slow compilers run the standard ones only, unless named."""
        return [
            Entrant(peer, 1 if peer == "numpy" else self.threads)
            for peer in self.peers
            if (self.named_peers or not among or peer in among)
            and (
                self.named_peers
                or not PEERS[peer].compiles_slowly
                or workload.family == "standard"
            )
        ]

    @property
    def side_size(self) -> int:
        """The size of the side questions: a million, or the largest that was asked for."""
        return min(SIDE_SIZE, max(self.sizes))


OPTIONS: dict[str, dict[str, Any]] = {
    "--quick": {"action": "store_true", "help": "few workloads and sizes, no side questions"},
    "--workloads": {"default": "", "help": "names of workloads or families, separated by commas"},
    "--sizes": {"default": "", "help": "numbers of elements, separated by commas"},
    "--peers": {"default": "", "help": f"of {', '.join(PEERS)}; absent ones are left out"},
    "--threads": {"type": int, "default": 0, "help": "for every library but NumPy; 0: 2 or 1"},
    "--seconds": {"type": float, "default": 0.0, "help": "per workload, size and peer"},
    "--on": {"choices": ("cpu", "cuda"), "default": "cpu", "help": "the device"},
}


def settings(option: Callable[[str], Any]) -> Settings:
    """Make the settings from the options of the command line, asked for by name."""
    quick, device = bool(option("--quick")), str(option("--on"))
    everything = QUICK_WORKLOADS if quick else tuple(BY_NAME)
    available = tuple(name for name, peer in PEERS.items() if device in peer.devices)
    return Settings(
        device=device,
        quick=quick,
        seconds=option("--seconds") or (0.1 if quick else 0.15),
        threads=option("--threads") or min(cores(), 2),
        sizes=tuple(map(int, words(option("--sizes")))) or (QUICK_SIZES if quick else SIZES),
        workloads=tuple(names(words(option("--workloads")))) or everything,
        peers=known(words(option("--peers")), PEERS) or available,
        named_peers=bool(option("--peers")),
        named_sizes=bool(option("--sizes")),
    )


def words(text: str) -> list[str]:
    """Split at commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def names(chosen: list[str]) -> Iterator[str]:
    """Give the names of workloads for names of workloads and families."""
    for word in known(chosen, BY_NAME | FAMILIES):
        yield from [work.name for work in FAMILIES[word]] if word in FAMILIES else [word]


def known(chosen: list[str], table: dict[str, Any]) -> tuple[str, ...]:
    """Refuse names that nobody knows."""
    unknown = [word for word in chosen if word not in table]
    if unknown:
        raise pytest.UsageError(f"{', '.join(unknown)}: not one of {', '.join(table)}")
    return tuple(chosen)
