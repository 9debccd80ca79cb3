"""Digests: the names of what is cached, and whether it is whole."""

from __future__ import annotations


def digest(content: str | bytes) -> str:
    """The sha256 of bytes, or of a text as UTF-8, in hexadecimal digits. Names of files in it may
    be no UTF-8."""
    import hashlib  # starts OpenSSL, which takes a tenth of the time of importing this package

    if isinstance(content, str):
        content = content.encode(errors="surrogatepass")
    return hashlib.sha256(content).hexdigest()
