"""Whether a thread may ask for another processor, where system calls are filtered (Linux).

Services of systemd that may use no `@resources` are killed for `sched_setaffinity`. A process does
not see what its filter (seccomp) forbids; but services that have one may gain no privileges any
more, unless they run as root, and containers, whose filters allow it, usually may.
"""

from __future__ import annotations

from pathlib import Path


def may_move() -> bool:
    """Whether no filter is known that could kill this process for it."""
    try:
        return is_open(Path("/proc/self/status").read_text())
    except (OSError, ValueError):
        return True  # another system, where threads stay where they are


def is_open(status: str) -> bool:
    """The same, by what Linux says of a process."""
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    words = {name: fields.get(name, "").strip() for name in ("Seccomp", "NoNewPrivs")}
    return words != {"Seccomp": "2", "NoNewPrivs": "1"}
