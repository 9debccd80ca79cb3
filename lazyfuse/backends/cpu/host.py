"""What LLVM says of this machine, remembered on disk: to ask LLVM takes a tenth of a second.

What it says follows from which LLVM it is and from the words of the processor: CPUID and XGETBV;
on 64-bit ARM what Linux says of each core. LLVM reads the same. The record is kept under a digest
of these. So another processor, another hypervisor that hides instructions, and another llvmlite
have a record of their own, wherever the folder is and whatever the machine is called.

Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, "CPUID" and
"XGETBV"; getHostCPUName and getHostCPUFeatures of LLVM's lib/TargetParser/Host.cpp; Linux'
arch/arm64/kernel/cpuinfo.c.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from lazyfuse.backends.cpu.pages import Pages
from lazyfuse.digests import digest
from lazyfuse.forks import unforked
from lazyfuse.interrupts import uninterrupted

#: Gives object code by all that decides it: from where it is kept, else by calling and keeping.
Kept = Callable[[str, Callable[[], bytes]], bytes]


def not_kept(key: str, make: Callable[[], bytes]) -> bytes:
    """Keep nothing."""
    return make()


class Host(NamedTuple):
    """The target of this process, in LLVM's words: `flags` are features as "+avx,-sse4a"."""

    llvmlite: str
    llvm: str
    triple: str
    cpu: str
    flags: str


def host(kept: Kept) -> Host:
    """From where code is kept, else from LLVM. Raises: ImportError where there is none."""
    found = _identity()
    if found is None:
        return _asked()
    record = kept(f"lines {Host._fields} of {found}", lambda: "\n".join(_asked()).encode())
    return Host(*record.decode().split("\n"))


def _asked() -> Host:
    from lazyfuse.backends.cpu import jit

    return uninterrupted(unforked, jit.host)


@cache
def _identity() -> str | None:
    """What decides the answers of LLVM; None where only LLVM can tell, or is not there."""
    library, words = _llvmlite(), _processor()
    return None if library is None or words is None else f"{library} {words}"


def _llvmlite() -> str | None:
    """Which llvmlite would be imported."""
    try:
        found = find_spec("llvmlite")
    except ValueError:  # something else stands in its place
        return None
    if found is None or not found.origin:
        return None
    folder = Path(found.origin).parent
    try:
        version = (folder / "_version.py").read_bytes()
        status = (folder / "binding" / "libllvmlite.so").stat()
    except OSError:
        return None
    written = digest(version)
    return f"{folder} {status.st_size} {status.st_mtime_ns} {written}"


#: Leaves and subleaves of CPUID that tell of instructions, and the registers of each: others tell
#: of the core that one is on, or of what is switched on at the moment.
_LEAVES = (
    (0, 0, "abcd"), (1, 0, "acd"), (7, 0, "abcd"), (7, 1, "abcd"), (7, 2, "abcd"), (0xD, 0, "a"),
    (0xD, 1, "a"), (0x14, 0, "b"), (0x19, 0, "abcd"), (0x1E, 1, "abcd"), (0x24, 0, "abcd"),
    (0x80000000, 0, "abcd"), (0x80000001, 0, "abcd"), (0x80000008, 0, "b"), (0x80000021, 0, "ab"),
)  # fmt: skip
#: push rbx; mov eax, [rdi]; mov ecx, [rdi + 8]; cpuid; mov [rdi], eax; mov [rdi + 4], ebx;
#: mov [rdi + 8], ecx; mov [rdi + 12], edx; pop rbx; ret
_CPUID = bytes.fromhex("53 8b07 8b4f08 0fa2 8907 895f04 894f08 89570c 5b c3")
#: mov ecx, [rdi + 8]; xgetbv; mov [rdi], eax; mov [rdi + 12], edx; ret
_XGETBV = bytes.fromhex("8b4f08 0f01d0 8907 89570c c3")
_XGETBV_AT = 32
#: Of ECX of leaf 1: XGETBV may be executed.
_OSXSAVE = 1 << 27

Registers = dict[str, int]


def _processor() -> str | None:
    """The processor's words; None for other processors and systems."""
    if not sys.platform.startswith("linux"):
        return None
    known = {"x86_64": _of_x86_64, "aarch64": _of_aarch64}.get(os.uname().machine)
    return None if known is None else known()


#: What tells kinds of cores apart.
_OF_CORES = ("Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part")


def _of_aarch64() -> str | None:
    """What Linux says of the cores, of each kind once."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return "; ".join(sorted({line for line in lines if line.startswith(_OF_CORES)})) or None


def _of_x86_64() -> str | None:
    try:
        pages = Pages(_XGETBV_AT + len(_XGETBV))
        pages.write(_CPUID.ljust(_XGETBV_AT) + _XGETBV)
        pages.make_code(pages.nbytes)
    except OSError:
        return None
    last = {begin: _asked_of(pages.address, begin)["a"] for begin in (0, 0x80000000)}
    told = []
    for leaf, subleaf, names in _LEAVES:
        if leaf <= last[leaf & 0x80000000]:  # behind the last one are the words of another
            words = _asked_of(pages.address, leaf, subleaf)
            told += [f"{leaf:x}.{subleaf}{name}{words[name]:x}" for name in names]
    if _asked_of(pages.address, 1)["c"] & _OSXSAVE:
        told.append(f"xcr0 {_asked_of(pages.address + _XGETBV_AT)}")
    return " ".join(told)


def _asked_of(function: int, leaf: int = 0, subleaf: int = 0) -> Registers:
    """EAX, EBX, ECX and EDX after an instruction with these in EAX and ECX."""
    words = (ctypes.c_uint32 * 4)(leaf, 0, subleaf, 0)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(ctypes.addressof(words))
    return dict(zip("abcd", words, strict=True))
