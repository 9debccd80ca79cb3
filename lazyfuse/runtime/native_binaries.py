"""The object code of operators of small arrays. From disk it needs no text, which is long to
import.

LLVM makes it in three seconds, or in a tenth of that where it takes no care; operations take a
tenth to a fifth longer then. A program waits for neither, but runs without meanwhile, several
times as long. So the first process of an installation makes the latter, then the former for those
that come after it.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

from lazyfuse.runtime import recorder
from lazyfuse.runtime.recorder import Recording


class Binaries(NamedTuple):
    """Object code: of the methods, and of `backends/cpu/rows_text.py`. `is_hasty`: there may be
    better."""

    methods: bytes
    rows: bytes
    is_hasty: bool = False


#: LLVM's levels of optimization, of the methods and of the rows: with care (`compiler.THOROUGH`),
#: and in haste.
CAREFUL, HASTY = (3, 2), (0, 0)


def binaries(
    compiler: Any, recording: Recording, *, compiles: bool, levels: tuple[int, int] = CAREFUL
) -> Binaries:
    """The object code: from disk, as good as it is there, else compiled at these levels.
    Raises: LookupError where that is not to be."""
    for there in CAREFUL, HASTY:
        with suppress(LookupError):
            return made(compiler, recording, there, compiles=False)
    return made(compiler, recording, levels, compiles=compiles)


def made(
    compiler: Any, recording: Recording, levels: tuple[int, int], *, compiles: bool = True
) -> Binaries:
    """Of these levels alone, and kept. Raises: LookupError where it would have to be compiled, and
    is not to be."""
    from lazyfuse.backends.cpu import record

    places, text = recorder.places(recording, record.ATTRIBUTES, record.place_name), _text_of
    of_methods: bytes = compiler.module(
        f"methods {places}", lambda: text("methods_module", places, compiler.triple),
        compiles=compiles, level=levels[0],
    )  # fmt: skip
    of_rows: bytes = compiler.module(
        "rows", lambda: text("rows_text"), compiles=compiles, level=levels[1]
    )
    return Binaries(of_methods, of_rows, levels == HASTY)


def _text_of(module: str, *given: object) -> str:
    """What is compiled: needed once for all processes."""
    found: str = import_module(f"lazyfuse.backends.cpu.{module}").text(*given)
    return found
