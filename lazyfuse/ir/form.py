"""Forms: what recording has to know of an array, as one object for each that is met.

Two arrays of one shape, dtype and memory order share a Form, so a table keyed by forms compares
identities. Forms are forgotten when there are too many; arrays that keep an old one are then
looked at more closely, nothing else.
"""

from __future__ import annotations

from lazyfuse.ir.layout import Layout
from lazyfuse.ops.shapes import Shape, size_of

#: Forms that are remembered.
_MOST = 1 << 16


class Form:
    """Shape, dtype code and strides in elements; `layout` is that of the whole array."""

    __slots__ = ("shape", "dtype", "strides", "layout", "size", "nbytes")

    def __init__(self, shape: Shape, dtype: str, strides: tuple[int, ...]) -> None:
        self.shape, self.dtype, self.strides = shape, dtype, strides
        self.layout: Layout | None = Layout(shape, strides, 0)
        self.size = size_of(shape)
        self.nbytes = self.size * int(dtype[1:])

    def __repr__(self) -> str:
        return repr((self.shape, self.dtype, self.strides))


#: What nodes have before somebody asks.
UNKNOWN = Form((), "b1", ())
UNKNOWN.layout = None

#: By what is in them.
FORMS: dict[tuple[Shape, str, tuple[int, ...]], Form] = {}


def form_of(shape: Shape, dtype: str, strides: tuple[int, ...]) -> Form:
    """The form of these."""
    key = (shape, dtype, strides)
    found = FORMS.get(key)
    if found is None:
        if len(FORMS) >= _MOST:
            FORMS.clear()
        found = FORMS.setdefault(key, Form(*key))
    return found
