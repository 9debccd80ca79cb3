"""Keep the C library's heap from being given back and asked for again.

Small arrays are NumPy's, and their memory is `malloc`'s. glibc gives the end of its heap back to
the system where 128 KiB of it are free, so a loop that makes some arrays of 80 KB and drops them
may have the system map and clear the same pages at each turn: twice NumPy's time, or not,
depending on what else lies there. The limit grows with the largest piece that was mapped alone and
freed; in programs of NumPy's that is soon a large array. Here large arrays come from a pool, so
such a piece is freed once.

Arrays of NumPy's of 128 KiB to 8 MB come from the heap then, too, for the whole process:
`np.zeros` clears memory that is there instead of getting new pages.

Source: glibc's manual, `mallopt`, M_MMAP_THRESHOLD ("dynamic"); malloc/malloc.c: `__libc_free`
makes the limit twice the size of the piece. Who has set a limit (MALLOC_TRIM_THRESHOLD_) keeps it.
"""

from __future__ import annotations

import ctypes
import sys

#: Bytes: more than an array of `cold_size` elements has. Twice as many may stay in the heap.
_PIECE = 8 << 20


def keep() -> None:
    """Raise the limit, where the C library is glibc."""
    if sys.platform != "linux":
        return
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = (ctypes.c_size_t,)
    library.free.argtypes = (ctypes.c_void_p,)
    library.free(library.malloc(_PIECE))
