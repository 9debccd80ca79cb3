"""The memory of one run of a launch: its jobs, its flags, and the parameters of each thread.

A run is used by one call at a time and then by the next one. Its words, of 64 bits:

    job (`launch_text.JOB`) | flags | parameters | parameters of helper 1 | ...

Helpers have parameters of their own only where a kernel has scratch memory. Jobs after the first
one have words elsewhere.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lazyfuse.backends.base import Scalar
from lazyfuse.backends.cpu.launch_text import JOB

Block = ctypes.Array[ctypes.c_int64]

#: Words of a cache line.
_LINE = 8
_FLAGS = len(JOB)
_PARAMS = 2 * _LINE
_FLOATS = {2: "e6x", 4: "f4x", 8: "d"}
_ALL_BITS = (1 << 64) - 1


class Job(NamedTuple):
    """What `launch_text` does with a kernel; `params` is an address."""

    kernel: int
    params: int
    end: int
    grain: int
    helpers: int
    wakes: int


class Run:
    """See above. `address` is that of the first job, `places` are where the parameters of each
    thread begin, in bytes from there."""

    __slots__ = ("address", "places", "words", "_kept")

    def __init__(self, template: Block, threads: int) -> None:
        size = -(-len(template) // _LINE) * _LINE
        self.words = (ctypes.c_int64 * (_PARAMS + size * threads))()
        self.address = ctypes.addressof(self.words)
        self.places = [8 * (_PARAMS + size * number) for number in range(threads)]
        for place in self.places:
            ctypes.memmove(self.address + place, template, 8 * len(template))
        self._kept: list[object] = []

    @property
    def params(self) -> int:
        """The address of the parameters of the calling thread."""
        return self.address + self.places[0]

    @property
    def block(self) -> Block:
        """The parameters of the calling thread, and what follows."""
        place = self.places[0]
        return (ctypes.c_int64 * (len(self.words) - place // 8)).from_buffer(self.words, place)

    def set_jobs(self, jobs: Sequence[Job], *kept: object) -> None:
        """Run these one after the other; they need what is `kept`."""
        stride = self.places[1] - self.places[0] if len(self.places) > 1 else 0
        rest = (ctypes.c_int64 * (len(JOB) * (len(jobs) - 1)))()
        self._kept = [rest, *kept]
        words, begin = self.words, 0
        following = ctypes.addressof(rest)
        for number, job in enumerate(jobs, 1):
            after = following if number < len(jobs) else 0
            flags = self.address + 8 * _FLAGS
            shared = (stride, job.end, job.grain, job.helpers)
            record = (job.kernel, job.params, *shared, flags, after, job.wakes)
            words[begin : begin + len(JOB)] = [*record]
            words, begin = rest, len(JOB) * (number - 1)
            following += 8 * len(JOB)

    def launch(self, call: Callable[[int], object], ran: list[object] | None) -> None:
        """Run the jobs, by a C function; `ran` of `Launch` in `backends/base.py` gets an entry:
        in one step of Python, behind which interrupts come."""
        if ran is None:
            call(self.address)
        else:
            ran.extend(map(call, (self.address,)))

    def met(self) -> int:
        """The flags that were collected, which are forgotten."""
        words = self.words
        flags: int = words[_FLAGS]
        if flags:
            words[_FLAGS] = 0
        return flags


class ScalarSlots:
    """Writes scalars as raw bits, one slot after the other. Integers wrap; what is too large for a
    float becomes infinite, as NumPy casts it."""

    def __init__(self, dtypes: Sequence[str]) -> None:
        self._dtypes = dtypes
        self._codes = [code for dtype in dtypes for code in _codes(dtype)]
        self._whole = struct.Struct("<" + "".join(self._codes))
        self._are_floats = all(dtype[0] == "f" for dtype in dtypes)

    def write(self, words: Block, place: int, scalars: Sequence[Scalar]) -> None:
        """Write at `place`, in bytes."""
        parts: Sequence[Any]
        if self._are_floats:
            parts = scalars
        else:
            pairs = zip(self._dtypes, scalars, strict=True)
            parts = [part for dtype, value in pairs for part in _parts(dtype, value)]
        try:
            self._whole.pack_into(words, place, *parts)
        except OverflowError:
            self._whole.pack_into(words, place, *map(_fitting, self._codes, parts))


def _codes(dtype: str) -> tuple[str, ...]:
    """What `struct` calls the slots of a scalar."""
    if dtype[0] in "biu":
        return ("Q",)
    if dtype[0] == "f":
        return (_FLOATS[int(dtype[1:])],)
    return (_FLOATS[int(dtype[1:]) // 2],) * 2


def _parts(dtype: str, value: Scalar) -> tuple[int | float, ...]:
    if dtype[0] == "f":
        return (float(value),)  # type: ignore[arg-type]  # never complex here
    if dtype[0] == "c":
        number = complex(value)
        return (number.real, number.imag)
    return (int(value) & _ALL_BITS,)  # type: ignore[arg-type]  # same


def _fitting(code: str, part: int | float) -> int | float:
    """A number that a slot can hold: itself, or the infinity of its sign."""
    try:
        struct.pack("<" + code, part)
    except OverflowError:
        return math.copysign(math.inf, part)
    return part
