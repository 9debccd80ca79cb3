"""An older processor in place of this one: without AVX-512, of which others have the half of the
registers, and other instructions."""

from __future__ import annotations

from lazyfuse.backends.cpu import compiler
from lazyfuse.backends.cpu.host import Host, not_kept


def older() -> Host:
    """What LLVM would say there. Raises: RuntimeError where this is no x86 processor."""
    found = compiler.host(not_kept)
    if not found.triple.startswith(("x86_64", "amd64")):
        raise RuntimeError(f"{found.triple} cannot stand for an older x86 processor")
    flags = [flag for flag in found.flags.split(",") if "avx512" not in flag]
    return found._replace(cpu="haswell", flags=",".join(flags))


def stand_in() -> None:
    """Compile for it in this process, from now on; other processes do as they do."""
    there = older()
    compiler.host = lambda kept: there
