"""CUDA C text -> a shared library through g++ and `lf_cuda_host.h`, loaded with ctypes.

Many kernels in one translation unit cost some ms each; a lone one about 200 ms, half of it saved
by a precompiled header. Libraries are kept in a directory of this user, under the digest of
everything that decides them.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lazyfuse.digests import digest

HEADER = Path(__file__).with_name("lf_cuda_host.h")
#: Without `-fno-gnu-unique` the shared memory of a template (a static variable there) would be one
#: for all libraries of the process, of the size that the first one gave it.
FLAGS = (
    "-std=c++17", "-w", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv",
    "-fno-gnu-unique",
)  # fmt: skip
#: The level of optimization: 0 compiles in a third of the time, which is most of what tests of
#: small arrays take; 1 runs large arrays faster.
LEVEL = 0


class HostBuildError(RuntimeError):
    """g++ refused a kernel text: a bug. The message has the compiler's words and the text."""


def find_compiler() -> str | None:
    """The path of g++, or None."""
    return shutil.which("g++")


def fingerprint(level: int) -> str:
    """The shim and the flags, as a digest."""
    return _digest("", level)


def build_library(
    source: str, entries: Sequence[str], directory: Path, level: int = LEVEL
) -> bytes:
    """Compile `source`, export `lf_launch_NAME` for each entry, and return the library's bytes.
    `level` is g++'s level of optimization.

    Raises: HostBuildError.
    """
    text = source + "".join(f"LF_EXPORT({entry})\n" for entry in entries)
    path = directory / f"{_digest(text, level)}.so"
    if not path.exists():
        _compile(text, path, directory, level)
    return path.read_bytes()


def load_library(binary: bytes, directory: Path) -> ctypes.CDLL:
    """Load a library from its bytes."""
    path = directory / f"{digest(binary)[:32]}.loaded.so"
    if not path.exists():
        _write(path, binary)
    return ctypes.CDLL(str(path))


def default_directory() -> Path:
    """A directory for libraries that only this user can enter: they are executed when loaded."""
    path = Path(tempfile.gettempdir()) / f"lazyfuse-cuda-host-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    state = path.lstat()
    if state.st_uid != os.getuid() or state.st_mode & 0o077 or not path.is_dir():
        raise PermissionError(f"{path} must be a directory of this user with mode 700: remove it")
    return path


def _compile(text: str, path: Path, directory: Path, level: int) -> None:
    header = _precompiled_header(directory, level)
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        unit, output = Path(scratch) / "kernel.cpp", Path(scratch) / "kernel.so"
        unit.write_text(f'#include "{header.name}"\n{text}')
        flags = [*FLAGS, f"-O{level}", "-shared", f"-I{directory}"]
        _run_compiler([*flags, "-o", str(output), str(unit)], text)
        os.replace(output, path)


def _precompiled_header(directory: Path, level: int) -> Path:
    """Copy the header beside its precompiled form, under the digest of its text and the flags."""
    content = HEADER.read_text()
    header = directory / f"lf_{_digest(content, level)}.h"
    compiled = header.with_suffix(".h.gch")
    if not compiled.exists():
        _write(header, content.encode())
        with tempfile.TemporaryDirectory(dir=directory) as scratch:
            output = Path(scratch) / "header.gch"
            flags = [*FLAGS, f"-O{level}", "-x", "c++-header"]
            _run_compiler([*flags, "-o", str(output), str(header)], content)
            os.replace(output, compiled)
    return header


def _run_compiler(arguments: list[str], text: str) -> None:
    compiler = find_compiler()
    if compiler is None:
        raise HostBuildError("g++ is not installed")
    done = subprocess.run([compiler, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise HostBuildError(f"{done.stderr[:4000]}\n{text}")


def _write(path: Path, content: bytes) -> None:
    """Write through a temporary file, so that a reader never sees half of one."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)


def _digest(text: str, level: int) -> str:
    everything = "\0".join([text, HEADER.read_text(), *FLAGS, str(level)])
    return digest(everything)[:32]
