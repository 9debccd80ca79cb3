"""Storage: the mutable cell behind arrays. Views of one array share it.

`node` is the current version of the whole memory. A write makes a new version; nodes recorded
before keep the old one. Every version has the same shape, dtype and strides, so the layouts of
views stay valid.
"""

from __future__ import annotations

import weakref

from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node


class Storage:
    """See the module. `device` is where its memory lies or will lie."""

    __slots__ = ("node", "device", "__weakref__")

    def __init__(self, node: Node, device: str) -> None:
        self.node = node
        self.device = device
        node.handle = weakref.ref(self)

    def replace(self, node: Node) -> None:
        """Make `node` the current version."""
        old = self.node
        assert (node.shape, node.dtype, node.strides) == (old.shape, old.dtype, old.strides)
        self.node = node
        node.handle = weakref.ref(self)

    @property
    def layout(self) -> Layout:
        """The layout of the whole."""
        return Layout(self.node.shape, self.node.strides, 0)
