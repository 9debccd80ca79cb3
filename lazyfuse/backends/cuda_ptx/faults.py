"""What the interpreter reports: each names the line of the PTX and what was done there."""

from __future__ import annotations

from typing import Self


class PtxFault(RuntimeError):
    """The PTX does what a GPU forbids or leaves open, or what the interpreter does not know."""

    def at(self, line: int, text: str) -> Self:
        """The same fault with its place in the PTX; the innermost place stays."""
        message = str(self)
        return (
            self if message.startswith("line ") else type(self)(f"line {line}: {text}: {message}")
        )


class PtxSyntaxError(PtxFault):
    """A text that is not PTX as NVRTC writes it."""


class UnknownInstruction(PtxFault):
    """An instruction, or a form of it, that the interpreter does not know."""


class PtxMemoryError(PtxFault):
    """An access outside every allocation, or to an address that is not a multiple of its size."""


class PtxRaceError(PtxFault):
    """Two threads touch one place, one of them writes another value, and nothing orders them."""


class PtxBarrierError(PtxFault):
    """Threads wait at different barriers, or at a shuffle to which others of its mask never come:
    on a GPU this kernel hangs or computes anything."""
