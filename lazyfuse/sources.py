"""Which version of the package is there: part of the names of what is kept on disk."""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path

from lazyfuse.digests import digest
from lazyfuse.interrupts import is_interrupt

_PACKAGE = Path(__file__).parent
#: When the modules were imported, in nanoseconds: this one is the first of them. Clocks of file
#: systems may be some milliseconds behind.
_STARTED = time.time_ns() - 20_000_000


@cache
def sources(*folders: str) -> str:
    """A digest of the names, sizes and times of the files in folders of the package, and below
    them: to read the files would cost more than to load a kernel. Of this run alone where there
    are none (a package in one file), and where one has been changed since it was imported: nothing
    is found again then."""
    try:
        found, changed = _files([str(_PACKAGE / folder) for folder in folders])
    except OSError as error:
        if is_interrupt(error):
            raise
        found = []
    if not found or changed >= _STARTED:
        return os.urandom(32).hex()
    return digest("\n".join(found))


def _files(folders: list[str]) -> tuple[list[str], int]:
    """Name, size and time of each file of the package in and below some folders; and when one of
    them was changed last."""
    found, changed = [], 0
    for folder in folders:  # which grows
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        for entry in inside:
            if entry.name.endswith((".py", ".pyc")):
                status = entry.stat()
                found.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
                changed = max(changed, status.st_mtime_ns, status.st_ctime_ns)
            elif entry.is_dir() and entry.name != "__pycache__":
                folders.append(entry.path)
    return found, changed
