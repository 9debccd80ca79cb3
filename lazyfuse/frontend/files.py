"""Files: NumPy reads and writes them; arrays come back as LazyArrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.export import to_array


class Archive(np.lib.npyio.NpzFile):
    """The arrays of an .npz file, read when they are asked for, as LazyArrays."""

    def __getitem__(self, key: str) -> Any:
        return fallback.run(super().__getitem__, key)


def load(file: Any, mmap_mode: Any = None, **options: Any) -> Any:
    """Arrays from .npy, .npz and pickle files.

    Aliasing: with mmap_mode="r" the file's memory, without a copy: what is pending on it is
    computed before this program opens the file to write it; the modes that write give NumPy's
    memmap, which writes to the file. Raises: as `np.load`.
    """
    found = fallback.run(np.load, file, mmap_mode, **options)
    if isinstance(found, np.lib.npyio.NpzFile):
        found.__class__ = Archive  # the same object, which closes its file once
    return found


def tofile(self: Any, fid: Any, /, sep: str = "", format: str = "%s") -> None:
    """Write the values in C order, as bytes or as text between separators."""
    to_array(self).tofile(fid, sep, format)


def dump(self: Any, file: Any) -> None:
    """Pickle the values, as NumPy's array, to a file."""
    to_array(self).dump(file)


def dumps(self: Any) -> bytes:
    """The pickle of the values as NumPy's array."""
    return to_array(self).dumps()
