"""Array IR: nodes of an immutable graph in SSA form.

A node is what an array was at one moment. It knows its shape, dtype code and `strides` (in
elements): the dense memory order in which NumPy would have allocated it, also if it is never
stored, because that order decides the summation order of a later reduction. `srcs` are its
operands. Nothing changes after recording but `buffer`: when the value has been computed, the
buffer is attached and the operands are let go, so a node then acts as a Source.

    Source            memory that exists
    Const(value)      a scalar: an argument of the kernel, never part of its key
    Fill(start,step)  start + step * (index along the only axis), or start everywhere:
                      reads no memory
    Map(op)           elementwise, operands broadcast to the shape
    Reduce(op, axes)  an associative fold
    Scan(op, axis)    the running fold along one axis
    View(layout)      affine re-indexing of the source's memory
    Gather(layout)    the elements of the source's memory that `layout` and an index address
    Update(layout)    the base with the region `layout`, or the elements that `layout` and an index
                      address, replaced by the value
    Opaque(call)      a library call on arrays: nothing fuses with it
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeAlias

from lazyfuse.ir.form import UNKNOWN, Form, form_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.mapkind import MapKind, mapkind
from lazyfuse.ir.order import ReductionOrder, reduction_order
from lazyfuse.ir.origin import Origin
from lazyfuse.ir.orphans import watch
from lazyfuse.ir.slots import slots_of
from lazyfuse.ops.opdef import OpDef
from lazyfuse.ops.shapes import Shape, size_of
from lazyfuse.ops.table_reduce import ReduceDef

ScalarValue: TypeAlias = bool | int | float | complex


class Node:
    """What all nodes share.

    depth: pending operations on the longest path under it. held: bytes of the memory under it,
    counted once per path (an upper bound). users: pending nodes that were recorded on it, once per
    operand. seen: it was computed inside a kernel once, without being stored. handle: its Storage,
    if it is a version of one. is_scalar: NumPy has a scalar there, not an array without axes.
    form: shape, dtype and strides as one object, UNKNOWN until `formed` is asked.
    """

    __slots__ = (
        "shape", "dtype", "strides", "srcs", "buffer", "depth", "held", "users", "seen", "origin",
        "handle", "is_scalar", "form", "__weakref__",
    )  # fmt: skip

    kind = "node"
    #: Whether computing it again costs more than a load.
    is_costly: bool = False

    def __init__(
        self, shape: Shape, dtype: str, strides: tuple[int, ...], srcs: tuple[Node, ...] = ()
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self.srcs = srcs
        self.buffer: Any = None
        self.origin: Origin | None = None
        self.handle: weakref.ref[Any] | None = None
        self.users = 0
        self.seen = self.is_scalar = False
        self.form = UNKNOWN
        depth = held = 0
        for src in srcs:
            src.users += 1
            held += src.held
            if src.depth > depth:
                depth = src.depth
        self.depth: int = depth + 1
        self.held: int = held

    def formed(self) -> Form:
        """The form of the value."""
        if self.form is UNKNOWN:
            self.form = form_of(self.shape, self.dtype, self.strides)
        return self.form

    @property
    def signature(self) -> object:
        """Everything but the operands that decides the plan."""
        return (self.kind, self.shape, self.dtype, self.strides)

    def with_srcs(self, srcs: tuple[Node, ...]) -> Node:
        """The same operation on other operands."""
        kind = type(self)
        copy = object.__new__(kind)
        slots = slots_of(kind)
        for slot, value in zip(slots.names, slots.values(self), strict=True):
            setattr(copy, slot, value)
        copy.srcs, copy.handle = srcs, None
        return copy

    def attach(self, buffer: object) -> None:
        """The value is known: keep it, and let go the operands that only this node needed."""
        self.buffer = buffer
        watch(self)
        released = list(self.srcs)
        self.srcs = ()
        self.depth = 0
        self.held = self.nbytes
        for src in released:  # which grows
            src.users = users = src.users - 1
            if users == 0 and src.srcs and src.buffer is None and not src.is_held:
                released += src.srcs
                src.srcs = ()

    @property
    def nbytes(self) -> int:
        return size_of(self.shape) * int(self.dtype[1:])

    @property
    def is_held(self) -> bool:
        """Whether the array whose current version this node is still exists."""
        handle = self.handle
        storage = None if handle is None else handle()
        return storage is not None and storage.node is self

    def __repr__(self) -> str:
        return f"<{self.kind} {self.dtype}{list(self.shape)}>"


class Source(Node):
    """Dense memory that exists before the graph runs."""

    __slots__ = ()
    kind = "source"

    def __init__(self, shape: Shape, dtype: str, strides: tuple[int, ...], buffer: object) -> None:
        self.shape, self.dtype, self.strides = shape, dtype, strides
        self.srcs, self.buffer, self.origin, self.handle = (), buffer, None, None
        self.users = self.depth = 0
        self.seen = self.is_scalar = False
        self.form = form = form_of(shape, dtype, strides)
        self.held = form.nbytes


class Const(Node):
    """A scalar of shape (); its value is a launch argument. `from_shape`: it follows from shapes
    (a count), so it may be compared while planning; others may not. `identity`: equal for scalars
    whose value is one object, as that of a literal in a loop is; they share an argument."""

    __slots__ = ("value", "from_shape")
    kind = "const"

    def __init__(self, value: ScalarValue, dtype: str, *, from_shape: bool = False) -> None:
        self.shape = self.strides = self.srcs = ()
        self.dtype = dtype
        self.buffer = self.origin = self.handle = None
        self.held = self.users = 0
        self.seen = False
        self.is_scalar = True
        self.form = UNKNOWN
        self.value = value
        self.from_shape = from_shape
        self.depth = 0

    @property
    def signature(self) -> object:
        return (self.dtype, repr(self.value)) if self.from_shape else self.dtype

    @property
    def identity(self) -> object:
        return id(self.value), self.dtype, self.from_shape


class Fill(Node):
    """`start + step * i` along one axis, or `start` everywhere when there is no step;
    both are Consts."""

    __slots__ = ()
    kind = "fill"


class Map(Node):
    """An elementwise op; `loop` are the dtypes that the operands are converted to."""

    __slots__ = ("op", "loop", "is_costly", "_mapkind")
    kind = "map"

    def __init__(
        self, op: OpDef, loop: tuple[str, ...], dtype: str, shape: Shape,
        strides: tuple[int, ...], srcs: tuple[Node, ...],
    ) -> None:  # fmt: skip
        super().__init__(shape, dtype, strides, srcs)
        self.op, self.loop = op, loop
        self.is_costly = op.ulp > 0
        self._mapkind: MapKind | None = None

    @property
    def signature(self) -> MapKind:
        """What it has in common with Maps of other operands."""
        found = self._mapkind
        if found is None or found.form is not self.form:
            found = self._mapkind = mapkind(type(self), self.op, self.loop, self.formed())
        return found

    def with_srcs(self, srcs: tuple[Node, ...]) -> Map:
        """As every node's, in a fifth of the time: to plan a graph copies its nodes twice."""
        copy: Map = object.__new__(type(self))
        copy.shape, copy.dtype, copy.strides = self.shape, self.dtype, self.strides
        copy.buffer, copy.depth, copy.held = self.buffer, self.depth, self.held
        copy.users, copy.seen, copy.origin = self.users, self.seen, self.origin
        copy.is_scalar, copy.form, copy.srcs, copy.handle = self.is_scalar, self.form, srcs, None
        copy.op, copy.loop, copy.is_costly = self.op, self.loop, self.is_costly
        copy._mapkind = self._mapkind
        return copy


class Masked(Map):
    """A `where` of mask, new and old value whose new value NumPy computes where the mask is true
    and nowhere else: a ufunc with `where=`."""

    __slots__ = ()


class Reduce(Node):
    """A fold of `srcs[0]` over `axes`; a second operand is the initial value.
    `accumulate` is the fold's dtype.

    `order` is how NumPy walks the operand's memory:
    fixed when recorded, whatever memory the operand gets later.
    """

    __slots__ = ("op", "axes", "accumulate", "order")
    kind = "reduce"
    is_costly = True

    def __init__(
        self,
        op: ReduceDef,
        axes: tuple[int, ...],
        accumulate: str,
        dtype: str,
        shape: Shape,
        strides: tuple[int, ...],
        srcs: tuple[Node, ...],
    ) -> None:
        super().__init__(shape, dtype, strides, srcs)
        self.op = op
        self.axes = axes
        self.accumulate = accumulate
        src = srcs[0]
        self.order: ReductionOrder = reduction_order(
            src.shape, src.strides, axes, cast=src.dtype != accumulate
        )

    @property
    def signature(self) -> object:
        shape = (self.shape, self.dtype, self.strides)
        return (self.kind, self.op.name, self.axes, self.accumulate, self.order, *shape)


class Scan(Node):
    """`ufunc.accumulate` of `srcs[0]` along `axis`, computed and given in the node's dtype."""

    __slots__ = ("op", "axis")
    kind = "scan"
    is_costly = True

    def __init__(
        self, op: OpDef, axis: int, dtype: str, strides: tuple[int, ...], src: Node
    ) -> None:
        super().__init__(src.shape, dtype, strides, (src,))
        self.op = op
        self.axis = axis

    @property
    def signature(self) -> object:
        return (self.kind, self.op.name, self.axis, self.shape, self.dtype, self.strides)


class View(Node):
    """The elements of the source's memory that `layout` addresses."""

    __slots__ = ("layout",)
    kind = "view"

    def __init__(self, src: Node, layout: Layout) -> None:
        super().__init__(layout.shape, src.dtype, layout.strides, (src,))
        self.layout = layout

    @property
    def signature(self) -> object:
        return (self.kind, self.layout, self.dtype)


class Gather(Node):
    """The elements of the memory of `srcs[0]` at `layout` moved by `srcs[1]`, an i8 index that is
    broadcast to the shape:

        result[i, j, ...] = memory[offset + i*strides[0] + j*strides[1] + ... + index[i, j, ...]]

    `reach` bounds the values of the index: whoever records a Gather has checked them. It is never
    empty: a kernel may read an index before it knows that its loops are empty.
    """

    __slots__ = ("layout", "reach")
    kind = "gather"

    def __init__(
        self,
        base: Node,
        layout: Layout,
        index: Node,
        *,
        reach: tuple[int, int],
        strides: tuple[int, ...],
    ) -> None:
        super().__init__(layout.shape, base.dtype, strides, (base, index))
        self.layout = layout
        self.reach = reach

    @property
    def signature(self) -> object:
        return (self.kind, self.layout, self.reach, self.dtype, self.strides)


class Update(Node):
    """`srcs[0]`, the base, with its region `layout` replaced by `srcs[1]`,
    broadcast and of the same dtype.

    A third operand is an index as Gather has it, within `reach`: then the elements that it picks
    are replaced. Where it picks one twice, the last value in C order of the layout's axes stays;
    `unique`: it picks none twice.
    """

    __slots__ = ("layout", "reach", "unique")
    kind = "update"
    is_costly = True

    def __init__(
        self,
        base: Node,
        layout: Layout,
        value: Node,
        index: Node | None = None,
        reach: tuple[int, int] = (0, 0),
        *,
        unique: bool = False,
    ) -> None:
        srcs = (base, value) if index is None else (base, value, index)
        super().__init__(base.shape, base.dtype, base.strides, srcs)
        self.layout = layout
        self.reach = reach
        self.unique = unique

    @property
    def index(self) -> Node | None:
        """What moves the elements of the region, if anything does."""
        return self.srcs[2] if len(self.srcs) > 2 else None

    @property
    def signature(self) -> object:
        shape = (self.shape, self.dtype, self.strides)
        return (self.kind, self.layout, self.reach, self.unique, len(self.srcs), *shape)


class Opaque(Node):
    """`call` on the operands as arrays gives an array of this shape and dtype.
    `name` is for people.

    Two calls are never the same: the signature holds the function itself. It depends on its
    operands alone: it may be called again to find out what it warned of.
    """

    __slots__ = ("call", "name", "reason")
    kind = "opaque"
    is_costly = True

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        reason: str,
        *,
        shape: Shape,
        dtype: str,
        strides: tuple[int, ...],
        srcs: tuple[Node, ...],
    ) -> None:
        super().__init__(shape, dtype, strides, srcs)
        self.name = name
        self.call = call
        self.reason = reason

    @property
    def signature(self) -> object:
        return (self.kind, self.call, self.shape, self.dtype, self.strides)
