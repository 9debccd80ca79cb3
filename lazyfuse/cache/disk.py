"""Compiled kernels on disk: one file per key, checked when read, written whole or not at all.

A file is a header line (magic and the sha256 of the rest) and the binary. It is written beside its
place under a name of its own and renamed over it, so readers in other processes see the old file,
the new one, or none. A file that does not match its header, or lies in a folder that others may
write to, is not used. The folder is created for the user alone (mode 0700); code on disk is
trusted as far as the user's own files are.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

MAGIC = b"lazyfuse-kernel-1 "
#: Bytes kept; the files that were read or written longest ago go first.
LIMIT = 256 << 20
#: Writes between two checks of the limit.
PRUNE_EVERY = 64


class DiskCache:
    """A folder of binaries."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder) if folder else _users_folder()
        self._writes = 0

    def read(self, key: str) -> bytes | None:
        """The binary of `key`; None when there is none that can be trusted."""
        path = self._path(key)
        try:
            content = path.read_bytes()
            header, _, binary = content.partition(b"\n")
            if header != _header(binary) or not self._is_private():
                return None
        except OSError:
            return None
        with suppress(OSError):  # a folder that may only be read
            os.utime(path)
        return binary

    def write(self, key: str, binary: bytes) -> None:
        """Keep a binary. A disk that is full or read-only is not an error:
        the kernel just stays in memory."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self._is_private():
                return
            new = self.folder / f".new-{os.urandom(8).hex()}"
            with open(new, "xb", opener=_private) as file:
                file.write(_header(binary) + b"\n" + binary)
            os.replace(new, self._path(key))
        except OSError:
            return
        self._writes += 1
        if self._writes % PRUNE_EVERY == 0:
            self.prune()

    def remove(self, key: str) -> None:
        """Forget a binary that could not be loaded."""
        _unlink(self._path(key))

    def clear(self) -> None:
        """Remove every kernel."""
        for path in self._files():
            _unlink(path)

    def prune(self) -> None:
        """Remove the oldest files beyond LIMIT."""
        sized = []
        for path in self._files():
            try:
                status = path.stat()
            except OSError:
                continue
            sized.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in sized)
        for _, size, path in sorted(sized):
            if total <= LIMIT:
                return
            _unlink(path)
            total -= size

    def _files(self) -> list[Path]:
        return list(self.folder.glob("*.kernel")) if self.folder.is_dir() else []

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.kernel"

    def _is_private(self) -> bool:
        """Whether only this user can write to the folder (not asked on systems without owners)."""
        if not hasattr(os, "getuid"):
            return True
        status = self.folder.stat()
        return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _unlink(path: Path) -> None:
    """Remove a file, if that may be done."""
    with suppress(OSError):
        path.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _users_folder() -> Path:
    """In the user's cache folder. platformdirs, which knows it on every system, takes longer to
    import than a kernel to load; where it is XDG's, this is short.
    Source: XDG Base Directory Specification 0.8."""
    system: str = sys.platform
    if system.startswith("linux"):
        given = os.environ.get("XDG_CACHE_HOME", "")
        try:
            caches = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
        except RuntimeError:  # a user without a home, in a container
            caches = Path("/nonexistent")  # where nothing can be kept
        return caches / "lazyfuse" / "kernels"
    import platformdirs

    return Path(platformdirs.user_cache_dir("lazyfuse")) / "kernels"


def _header(binary: bytes) -> bytes:
    return MAGIC + hashlib.sha256(binary).hexdigest().encode()
