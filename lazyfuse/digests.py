"""Digests: the names of what is cached, and whether it is whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

_hash: Callable[[bytes], Any]
try:  # hashlib starts OpenSSL, which takes a tenth of the time of importing this package
    from _blake2 import blake2b

    _hash = partial(blake2b, digest_size=32)
    _hash(b"")
except (ImportError, ValueError):  # other Pythons, and where only what is approved of may be used
    from hashlib import sha256

    _hash = sha256


def digest(content: str | bytes) -> str:
    """A digest of bytes, or of a text as UTF-8: 64 hexadecimal digits. Names of files in it
    may be no UTF-8."""
    if isinstance(content, str):
        content = content.encode(errors="surrogatepass")
    found: str = _hash(content).hexdigest()
    return found
