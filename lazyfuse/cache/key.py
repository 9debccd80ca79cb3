"""The identity of a compiled kernel: its canonical text and everything else that decides the
compiled bits."""

from __future__ import annotations

from lazyfuse.digests import digest
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ops.table import table_digest


def kernel_key(kernel: Kernel, fingerprint: str) -> str:
    """A digest of that of the kernel text, the backend's fingerprint and the op table."""
    return digest("\n".join((kernel.digest, fingerprint, table_digest())))
