"""The object code of operators of small arrays. From disk it needs no text, which is long to
import."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from lazyfuse.runtime import recorder
from lazyfuse.runtime.recorder import Recording


class Binaries(NamedTuple):
    """Object code: of the methods, and of `backends/cpu/rows_text.py`, which is optimized."""

    methods: bytes
    rows: bytes


def binaries(compiler: Any, recording: Recording, *, compiles: bool) -> Binaries:
    """The object code, from disk or compiled. Raises: LookupError where that is not to be."""
    from lazyfuse.backends.cpu import record

    places, text = recorder.places(recording, record.ATTRIBUTES, record.place_name), _text_of
    of_methods: bytes = compiler.module(
        f"methods {places}", lambda: text("methods_module", places, compiler.triple),
        compiles=compiles, level=1,
    )  # fmt: skip
    of_rows: bytes = compiler.module("rows", lambda: text("rows_text"), compiles=compiles, level=2)
    return Binaries(of_methods, of_rows)


def _text_of(module: str, *given: object) -> str:
    """What is compiled: needed once for all processes."""
    found: str = import_module(f"lazyfuse.backends.cpu.{module}").text(*given)
    return found
