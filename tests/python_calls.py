"""Which functions of Python's a program calls: what is machine code calls none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def python_calls(program: Callable[[], object]) -> list[str]:
    """The names of those that a program calls, in order; it is one itself, which is left out."""
    frames: list[str] = []

    def noted(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            frames.append(frame.f_code.co_name)

    sys.setprofile(noted)
    try:
        program()
    finally:
        sys.setprofile(None)
    return frames[1:]
