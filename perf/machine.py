"""Name this machine: `python -m perf.machine` prints a short name for result files."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any


def processor() -> str:
    """Give the processor's model name, or the architecture when it is not known."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def simd() -> str:
    """Give the widest SIMD family of the host."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("sse2", "SSE2")):
        if f" {flag} " in text:
            return name
    return "NEON" if platform.machine() in ("aarch64", "arm64") else "unknown SIMD"


def memory_gb() -> float:
    """Give the size of the memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def describe() -> dict[str, Any]:
    """Describe the machine and how busy it is."""
    return {
        "processor": processor(),
        "simd": simd(),
        "cores": cores(),
        "memory_gb": round(memory_gb(), 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[1], 2),
    }


def short_name() -> str:
    """Give processor and cores in lower case, letters, digits and dashes only; and the SIMD family
    where it is not AVX-512: virtual machines call processors of ten years `AMD EPYC`."""
    kind = "" if simd() == "AVX-512" else simd()
    text = f"{processor()} {kind} {cores()}c".lower().replace("(r)", "").replace("(tm)", "")
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")


if __name__ == "__main__":
    print(short_name())
