"""shfl.sync and vote.sync: what the threads of a warp tell each other.

Both wait on hardware until every living thread of their mask has come; `missing` tells the machine
whether they have.
"""

from __future__ import annotations

import numpy as np

from lazyfuse.backends.cuda_ptx.access import Step
from lazyfuse.backends.cuda_ptx.faults import PtxBarrierError, UnknownInstruction
from lazyfuse.backends.cuda_ptx.frame import WARP, Frame, Lanes
from lazyfuse.backends.cuda_ptx.operands import Reader, reader, writer
from lazyfuse.backends.cuda_ptx.parse import Function, Instruction
from lazyfuse.backends.cuda_ptx.types import TYPES

OPCODES = ("shfl", "vote")
_U32 = TYPES["u32"]


def mask_of(instruction: Instruction, function: Function) -> Reader:
    """The mask of the threads that take part: the last operand."""
    if "sync" not in instruction.modifiers:
        raise UnknownInstruction("without .sync")
    return reader(instruction.operands[-1], _U32, function)


def is_missing(frame: Frame, lanes: Lanes, mask: np.ndarray) -> bool:
    """Whether a living thread of a mask is not among `lanes`."""
    here = _bits(frame, lanes)
    living = _bits(frame, np.flatnonzero(frame.alive))
    warps = frame.warps[lanes]
    return bool(((mask & living[warps]) & ~here[warps]).any())


def step_of(instruction: Instruction, function: Function) -> Step:
    """Bind a warp instruction."""
    return (
        _shuffle(instruction, function)
        if instruction.opcode == "shfl"
        else _vote(instruction, function)
    )


def _shuffle(instruction: Instruction, function: Function) -> Step:
    """shfl.sync.mode.b32 d|p, a, b, c, mask"""
    mode = next(word for word in instruction.modifiers if word in ("bfly", "up", "down", "idx"))
    targets = [writer(text, function) for text in instruction.operands[0].split("|")]
    value, offset, clamp = (reader(text, _U32, function) for text in instruction.operands[1:4])

    def step(frame: Frame, lanes: Lanes) -> None:
        size = frame.size(lanes)
        given = np.broadcast_to(value(frame, lanes), size)
        places, warps = frame.places[lanes], frame.warps[lanes]
        by = np.broadcast_to(offset(frame, lanes), size).astype(np.int64)
        bound = np.broadcast_to(clamp(frame, lanes), size).astype(np.int64)
        source, inside = _source(mode, places, by, bound)
        table = np.full((int(frame.warps.max()) + 1) * WARP, -1)
        table[warps * WARP + places] = np.arange(size)
        found = table[warps * WARP + np.where(inside, source, places)]
        if (found < 0).any():
            raise PtxBarrierError("a shuffle reads a thread that does not take part")
        for target, result in zip(targets, (given[found], inside), strict=False):
            target(frame, lanes, result)

    return step


def _source(
    mode: str, places: np.ndarray, by: np.ndarray, bound: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whom each lane reads, and whether that lies inside its segment (PTX ISA, "shfl.sync")."""
    segment, clamp = (bound >> 8) & 31, bound & 31
    lowest, highest = places & segment, (places & segment) | (clamp & ~segment)
    if mode == "up":
        source = places - by
        return source, source >= highest
    if mode == "down":
        source = places + by
    elif mode == "bfly":
        source = places ^ by
    else:
        source = lowest | (by & ~segment & 31)
    return source, source <= highest


def _vote(instruction: Instruction, function: Function) -> Step:
    """vote.sync.mode d, p, mask"""
    mode = next(
        (word for word in instruction.modifiers if word in ("ballot", "any", "all", "uni")), None
    )
    if mode is None:
        raise UnknownInstruction("no such vote")
    target = writer(instruction.operands[0], function)
    predicate = reader(instruction.operands[1], TYPES["pred"], function)

    def step(frame: Frame, lanes: Lanes) -> None:
        yes = np.broadcast_to(predicate(frame, lanes), frame.size(lanes))
        numbers = np.arange(frame.count)[lanes]
        here, warps = _bits(frame, lanes), frame.warps[lanes]
        ballots = _bits(frame, numbers[yes])[warps]
        everyone = here[warps]
        results = {"ballot": ballots, "any": ballots != 0, "all": ballots == everyone}
        results["uni"] = results["all"] | ~results["any"]
        target(frame, lanes, results[mode])

    return step


def _bits(frame: Frame, lanes: Lanes) -> np.ndarray:
    """The lanes of each warp as a word of bits."""
    words = np.zeros(int(frame.warps.max(initial=0)) + 1, np.uint32)
    np.bitwise_or.at(
        words, frame.warps[lanes], np.uint32(1) << frame.places[lanes].astype(np.uint32)
    )
    return words
