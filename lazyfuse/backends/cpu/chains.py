"""How many instructions a body becomes, and how many of them wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from lazyfuse.backends.cpu.vecmath import VECMATH, expansion
from lazyfuse.ops.body import Instr
from lazyfuse.ops.primitives import PRIMITIVES

#: What costs no instruction of its own.
_READS = frozenset({"load", "scalar", "const", "index", "acc"})


class Size(NamedTuple):
    """`total` instructions, vector math written out; `depth` of them one after the other."""

    total: int
    depth: int


def size_of(body: Sequence[Instr]) -> Size:
    """Measure a body."""
    total = 0
    depths: list[int] = []
    for instr in body:
        own = _own(instr, body)
        total += own.total
        depths.append(own.depth + max((depths[arg] for arg in instr.args), default=0))
    return Size(total, max(depths, default=0))


def _own(instr: Instr, body: Sequence[Instr]) -> Size:
    if instr.op in _READS:
        return Size(0, 0)
    if PRIMITIVES[instr.op].transcendental and instr.op in VECMATH:
        return _expanded(instr.op, body[instr.args[0]].dtype)
    return Size(1, 1)


@cache
def _expanded(name: str, dtype: str) -> Size:
    body, _ = expansion(name, dtype)
    return size_of(body.instrs)
