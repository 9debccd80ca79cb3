"""CUDA C text -> cubin or PTX through NVRTC, with no device and no driver needed.

The options are the reason that this module exists: cupy's own compiler appends `-ftz=true`, with
which every float32 denormal is 0, and leaves contraction on, which rounds `x*y + z` once where
NumPy rounds twice.
"""

from __future__ import annotations

import tempfile
from functools import cache

from cupy_backends.cuda.libs import nvrtc

#: No contraction, no flush to zero (NVRTC's default), IEEE division and square root (defaults).
OPTIONS = ("-std=c++17", "-fmad=false")


class BuildError(RuntimeError):
    """NVRTC refused a text that lazyfuse wrote: a bug.

    The message has the compiler's log and the path of a file with the text.
    """


def nvrtc_version() -> str:
    return ".".join(map(str, nvrtc.getVersion()))


def build_cubin(source: str, architecture: str, *, verbose: bool = False) -> tuple[bytes, str]:
    """Compile for `architecture` ("90"); return the cubin and the compiler's log.

    With `verbose` the log has the registers and spills of every kernel.
    Raises: BuildError.
    """
    options = (*OPTIONS, f"-arch=sm_{architecture}")
    cubin, _, log = _compile(source, (*options, "--ptxas-options=-v") if verbose else options)
    return cubin, log


def build_ptx(source: str, architecture: str) -> str:
    """Compile to PTX text, for inspection."""
    return _compile(source, (*OPTIONS, f"-arch=compute_{architecture}"))[1]


def build_both(source: str, architecture: str) -> tuple[bytes, str]:
    """Compile to a cubin and the PTX that it was assembled from."""
    return _compile(source, (*OPTIONS, f"-arch=sm_{architecture}"))[:2]


@cache
def _kept(source: str) -> str:
    """The path of a file with a text that was refused, for whoever reports it."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="lazyfuse-refused-", suffix=".cu", delete=False
    ) as file:
        file.write(source)
    return file.name


def _compile(source: str, options: tuple[str, ...]) -> tuple[bytes, str, str]:
    """The cubin, empty for a virtual architecture; the PTX; the compiler's log."""
    program = nvrtc.createProgram(source, "lazyfuse.cu", (), ())
    try:
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError as error:
            log = nvrtc.getProgramLog(program)
            path = _kept(source)
            raise BuildError(f"NVRTC {options}: {error}\nsource: {path}\n{log}") from error
        is_virtual = any(option.startswith("-arch=compute_") for option in options)
        cubin = b"" if is_virtual else bytes(nvrtc.getCUBIN(program))
        ptx = bytes(nvrtc.getPTX(program)).decode().rstrip("\0")
        return cubin, ptx, nvrtc.getProgramLog(program)
    finally:
        nvrtc.destroyProgram(program)
