"""Blank: memory of no particular values. Passes put it under writes that cover all of it."""

from __future__ import annotations

from lazyfuse.ir.node import Node


class Blank(Node):
    """Memory each element of which is written before it is read."""

    __slots__ = ()
    kind = "blank"
