"""What new arrays of NumPy's have in common that become arrays of the engine's: prototypes, of
which machine code makes copies (`backends/cpu/methods_adopt_text.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.node import Source
from lazyfuse.ir.order import c_strides
from lazyfuse.ops.shapes import Shape
from lazyfuse.ops.types import code
from lazyfuse.runtime.recorder import come_again, memory

#: Dtypes and shapes that are remembered.
_MOST = 1024

#: Of each dtype and shape: a node, memory, an array, and its bytes; of a dtype and a number of
#: axes the same without what follows from the shape.
PROTOTYPES: dict[tuple[np.dtype, Shape | int], tuple[Source, Any, Handle, int | None]] = {}


#: Whether there is machine code that asks for them.
_is_asked = [False]


def begin() -> None:
    """There is machine code from now on."""
    _is_asked[0] = True
    come_again[:] = [_learn_again]


def learn(value: np.ndarray) -> None:
    """Remember what arrays have that are like this one, for machine code."""
    key = (value.dtype, value.shape)
    if not _is_asked[0] or key in PROTOTYPES:
        return
    if len(PROTOTYPES) >= _MOST:
        PROTOTYPES.clear()
    PROTOTYPES[key] = _prototypes(value)
    node, buffer, array, _ = _prototypes(value)
    del node.shape, node.strides, node.held, node.form, buffer.nbytes, array._layout
    PROTOTYPES[value.dtype, value.ndim] = node, buffer, array, None


def _learn_again(value: np.ndarray) -> None:
    """Remember what comes again, as long as there is room: of ever new shapes that come in turns
    none would stay."""
    if len(PROTOTYPES) < _MOST // 2:
        learn(value)


def _prototypes(value: np.ndarray) -> tuple[Source, Any, Handle, int]:
    """Objects that nobody uses: what differs from one array to the next is not set."""
    node = Source(value.shape, code(value.dtype), c_strides(value.shape), None)
    layout = node.formed().layout
    del node.buffer, node.handle
    buffer = memory()
    buffer.nbytes, buffer.exclusive = value.nbytes, True
    del buffer.pointer, buffer._block
    array: Any = object.__new__(Handle._concrete)
    array._layout, array._writeable = layout, True
    array._owner = array._cast = array._host = None
    return node, buffer, array, value.nbytes
