"""Compiled kernels and plans on disk: one file per key, checked when read, written whole or not.

A file is a header line (magic and the digest of key and binary) and the binary. It is written
beside its place under a name of its own and renamed over it, so readers in other processes see the
old file, the new one, or none. A file that does not match its header, or lies in a folder that
others may write to, is not used. The folder is created for the user alone (mode 0700); code on
disk is trusted as far as the user's own files are.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

from lazyfuse.digests import digest
from lazyfuse.interrupts import is_interrupt, missed_by_nobody

MAGIC = b"lazyfuse-kernel-2 "
#: Bytes kept; the files that were read or written longest ago go first.
LIMIT = 256 << 20
#: Bytes written between two checks of the limit, on average over all processes.
PRUNE_EVERY = LIMIT // 64
#: How files are called while they are written, and seconds after which nobody does any more.
_NEW, _LONGEST_WRITE = ".new-", 3600.0
#: Seconds for which it is not written down that a file was used once more.
_LATELY = 3600.0
_SUFFIX = ".kernel"
#: Bytes that a file takes at least: a block of usual file systems.
_LEAST_ON_DISK = 4096


class DiskCache:
    """A folder of binaries."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder) if folder else _users_folder()
        self._name = os.fspath(self.folder)
        #: Whether a folder that is missing is made when something is written.
        self.is_made = True
        self._prefix = os.path.join(self._name, "")
        # each process begins anywhere between two checks, since most end before the next
        self._unchecked = int.from_bytes(os.urandom(8)) % PRUNE_EVERY

    def read(self, key: str) -> bytes | None:
        """The binary of `key`; None when there is none that can be trusted."""
        path = f"{self._prefix}{key}{_SUFFIX}"
        try:
            content, written = _read(path)
            header, _, binary = content.partition(b"\n")
            if header != _header(key, binary) or not self._is_private():
                return None
        except OSError as error:
            if is_interrupt(error):
                raise
            return None
        if abs(time.time() - written) > _LATELY:
            with missed_by_nobody(OSError):  # a folder that may only be read
                os.utime(path)
        return binary

    def has(self, key: str) -> bool:
        """Whether there is a file of `key`, which `read` may still refuse."""
        found = False
        with missed_by_nobody(OSError):
            found = self._path(key).exists()
        return found

    def keeps(self) -> bool:
        """Whether files can be written, for all that the folder says."""
        found = False
        with missed_by_nobody(OSError):
            found = os.access(self._name, os.W_OK) and self._is_private()
        return found

    def make(self) -> None:
        """Make the folder, if that may be done."""
        with missed_by_nobody(OSError):
            self._make()

    def write(self, key: str, binary: bytes) -> None:
        """Keep a binary. A disk that is full or read-only is not an error, nor is a memory that is
        full: the kernel just stays in memory."""
        new = self.folder / f"{_NEW}{os.urandom(8).hex()}"
        try:
            if self.is_made:
                self._make()
            if not self._is_private():
                return
            with open(new, "xb", opener=_private) as file:
                file.write(_header(key, binary) + b"\n" + binary)
            os.replace(new, self._path(key))
        except (OSError, MemoryError) as error:
            _unlink(new)
            if is_interrupt(error):
                raise
            return
        self._unchecked += max(len(binary), _LEAST_ON_DISK)
        if self._unchecked >= PRUNE_EVERY:
            self._unchecked = 0
            self.prune()

    def remove(self, key: str) -> None:
        """Forget a binary that could not be loaded."""
        _unlink(self._path(key))

    def clear(self) -> None:
        """Remove every kernel, and what was being written."""
        for path in [*self._files(), *self._files(f"{_NEW}*")]:
            _unlink(path)

    def prune(self) -> None:
        """Remove the oldest files beyond LIMIT, and what writers that ended have left."""
        sized = []
        for path in self._files(f"{_NEW}*"):
            with missed_by_nobody(OSError):
                if path.stat().st_mtime < time.time() - _LONGEST_WRITE:
                    path.unlink()
        for path in self._files():
            with missed_by_nobody(OSError):
                status = path.stat()
                sized.append((status.st_mtime, max(status.st_size, _LEAST_ON_DISK), path))
        total = sum(size for _, size, _ in sized)
        for _, size, path in sorted(sized):
            if total <= LIMIT:
                return
            _unlink(path)
            total -= size

    def _make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _files(self, pattern: str = f"*{_SUFFIX}") -> list[Path]:
        found: list[Path] = []
        with missed_by_nobody(OSError):  # it may not be looked into, or has just gone
            found = list(self.folder.glob(pattern)) if self.folder.is_dir() else []
        return found

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _is_private(self) -> bool:
        """Whether only this user can write to the folder (not asked on systems without owners)."""
        if not hasattr(os, "getuid"):
            return True
        status = os.stat(self._name)
        return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: str) -> tuple[bytes, float]:
    """All bytes of a file, and when it was written or used last. With one call of the system for
    each: Python's own files take three times as long."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(file)
        content = os.read(file, status.st_size)
    finally:
        os.close(file)
    return content, status.st_mtime


def _unlink(path: Path) -> None:
    """Remove a file, if that may be done."""
    with missed_by_nobody(OSError):
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


def _header(key: str, binary: bytes) -> bytes:
    return MAGIC + digest(key.encode() + b"\n" + binary).encode()
