"""Elementwise operations: operands in, one recorded Map out. Nothing runs here.

`apply(name, operands)` is the one way in, for operators, ufuncs and functions alike; its keywords
have NumPy's meaning. What the engine has no code for goes to NumPy as a recorded call, or at once
when the dtypes are foreign (object, string, long double...).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.frontend import fallback
from lazyfuse.frontend.convert import (
    ForeignError,
    Operand,
    check_c_integer,
    check_home,
    device_beside,
    integer_range,
    operands_of,
    scalar,
    warn_of_cast,
)
from lazyfuse.frontend.handle import Handle, new, result
from lazyfuse.frontend.integer_powers import check_exponents, is_brief, may_be_refused, product
from lazyfuse.frontend.outputs import (
    check_output,
    check_outputs,
    check_writeable,
    counted,
    deliver,
    ordered_strides,
)
from lazyfuse.frontend.varying import is_varying, known
from lazyfuse.ir.interp import operands_in
from lazyfuse.ir.node import Const, Fill, Map, Node, Opaque, ScalarValue
from lazyfuse.ir.order import c_strides, result_strides
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.shapes import Shape, broadcast, size_of
from lazyfuse.ops.table import MULTIPLE, OPS
from lazyfuse.ops.types import Loop, OperandType, Types, resolve, resolve_fixed
from lazyfuse.runtime import session
from lazyfuse.runtime.caller import call_as_user

_COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}


def apply(
    name: str,
    values: Sequence[Any],
    *,
    out: Any = None,
    where: Any = True,
    casting: str = "same_kind",
    types: Types | None = None,
    order: str = "K",
) -> Any:
    """Record op `name`; `types` are the dtypes that `signature=` and `dtype=` fix.

    Raises what the ufunc raises: TypeError, ValueError, OverflowError.
    """
    if isinstance(out, Handle):
        check_writeable(out)
    operands: list[Operand] = []
    try:
        operands += operands_of(values, out)
        if out is not None and not isinstance(out, Handle):
            raise ForeignError("out")
        if name == "power" and where is not True and may_be_refused(operands, types):
            raise ForeignError("where")  # not for what is left out
        how: dict[str, Any] = {"types": types, "casting": casting}
        how["order"] = _order_of(values) if order == "A" else order
        home = None if out is None else device_beside((out,))
        node, device = record(name, operands, home=home, **how)
    except ForeignError:
        options = _given(out=out, where=where, casting=casting, types=types, order=order)
        return _foreign(name, values, options)
    except TypeError:
        if types is not None:  # NumPy looks at integers before it looks at casts
            with suppress(ForeignError):
                _check_types(name, operands, None, casting="unsafe", types=types)
        raise
    except ValueError:
        if operands:  # shapes do not fit; NumPy looks at dtypes and numbers first
            _check_types(name, operands, out, casting=casting, types=types)
            around = [] if out is None else [out.shape]
            around += [] if where is True else [np.shape(where)]
            broadcast([*_shapes(operands), *around])
        raise
    if out is None and where is True:
        return new(node, device) if name == "where" else result(node, device)
    how = {"where": where, "casting": casting, "order": order, "shapes": _shapes(operands)}
    return deliver(name, node, device, out=out, **how)


def _order_of(values: Sequence[Any]) -> str:
    """The order "A" of a result, by how arrays lie: copies of small ones may lie otherwise."""
    arrays: list[Any] = [each for each in values if isinstance(each, Handle | np.ndarray)]
    return "F" if all(each.flags.f_contiguous for each in arrays) else "C"


def _shapes(operands: Sequence[Operand]) -> list[Shape]:
    return [() if item.node is None else item.node.shape for item in operands]


def _check_types(
    name: str, operands: Sequence[Operand], out: Any, *, casting: str, types: Types | None
) -> None:
    """Raise what NumPy raises before it looks at shapes."""
    loop = _loop(name, tuple(item.type for item in operands), types, casting)
    if out is not None:
        check_output(name, loop.result, out, casting)
    for item, dtype in zip(operands, loop.operands, strict=True):
        if item.type is int:
            _scalar(name, item, dtype)


def _given(
    *, out: Any, where: Any, casting: str, types: Types | None, order: str
) -> dict[str, Any]:
    """The keywords of a call that say something, for NumPy."""
    options = {"out": out, "signature": types}
    given = {key: value for key, value in options.items() if value is not None}
    given |= {} if where is True else {"where": where, "out": out}
    given |= {} if casting == "same_kind" else {"casting": casting}
    return given | ({} if order == "K" else {"order": order})


def _foreign(name: str, values: Sequence[Any], options: dict[str, Any]) -> Any:
    op = OPS[name]
    if op.ufunc is None:
        return fallback.call(getattr(np, name), *values)
    found = fallback.call(op.ufunc, *values, **options)
    return found[op.output] if op.ufunc.nout > 1 else found


def record(
    name: str,
    operands: Sequence[Operand],
    *,
    types: Types | None = None,
    casting: str = "same_kind",
    order: str = "K",
    home: str | None = None,
) -> tuple[Node, str]:
    """The node of op `name` on converted operands, and its device; `home` is that of numbers."""
    memory = tuple(
        [None if item.node is None else (item.node.shape, item.node.strides) for item in operands]
    )
    given = tuple([item.type for item in operands])
    loop, shape, strides = _outline(name, given, memory, types, casting, order)
    device = common_device(operands, home)
    if casting == "unsafe" and not OPS[name].output:  # else the first one has warned
        for kind, dtype in zip(given, loop.operands, strict=True):
            warn_of_cast("c" if kind is complex else str(kind), dtype)
    if int in given and name in _COMPARISONS and _is_out_of_range(operands, loop):
        return Fill(shape, "b1", strides, (_constant_comparison(name, operands),)), device
    nodes = tuple(
        [
            counted(item.node, dtype) if item.node is not None else _scalar(name, item, dtype)
            for item, dtype in zip(operands, loop.operands, strict=True)
        ]
    )
    if not loop.native:
        if name == "power" and is_brief(nodes[1]):
            made = loop.result, shape, strides
            return product(nodes[0], nodes[1].value, *made), device  # type: ignore[attr-defined]
        return _call(name, nodes, loop, shape, strides), device
    return Map(OPS[name], loop.operands, loop.result, shape, strides, nodes), device


class Outline(NamedTuple):
    """What follows from dtypes and memory alone: the loop, and shape and strides of the result."""

    loop: Loop
    shape: Shape
    strides: tuple[int, ...]


@lru_cache(maxsize=8192)
def _outline(
    name: str,
    given: tuple[OperandType, ...],
    memory: tuple[tuple[Shape, tuple[int, ...]] | None, ...],
    types: Types | None,
    casting: str,
    order: str,
) -> Outline:
    """The outline of an op on operands of these types; memory is shape and strides, None for
    scalars. Programs ask the same again and again, so the answers are kept."""
    loop = _loop(name, given, types, casting)
    arrays = [item for item in memory if item is not None]
    shape = broadcast([own for own, _ in arrays]) if arrays else ()
    casts = any(
        item is not None and item[0] and kind != wanted
        for item, kind, wanted in zip(memory, given, loop.operands, strict=True)
    )
    if order == "K":
        return Outline(loop, shape, _strides(name, arrays, shape, casts=casts))
    return Outline(loop, shape, ordered_strides(arrays, shape, order, trivial=False))


def _scalar(name: str, item: Operand, dtype: str) -> Const:
    """A scalar operand of a loop; until NumPy 2.5 `where` casts it, so that integers wrap."""
    assert item.value is not None
    if NUMPY < (2, 5) and name == "where" and item.type is int and dtype[0] in "iu":
        low, high = integer_range(dtype)
        assert isinstance(item.value, int)
        check_c_integer(item.value, 64)
        return Const((item.value - low) % (high - low + 1) + low, dtype)
    if item.type is not int and not is_varying(item.value):
        if dtype == "b1":
            return Const(bool(item.value), dtype)
        if dtype[0] in "iu" and not _holds(dtype, item.value):  # asked for with casting="unsafe"
            kind = np.dtype(item.type) if isinstance(item.type, str) else None
            number = np.asarray(item.value, kind).real
            return Const(call_as_user(number.astype, dtype).item(), dtype)
    return scalar(item.value, dtype)


def _holds(dtype: str, value: ScalarValue) -> bool:
    """Whether an integer dtype has the integer part of a number."""
    low, high = integer_range(dtype)
    return low <= value.real <= high


def _loop(name: str, given: tuple[OperandType, ...], types: Types | None, casting: str) -> Loop:
    if types is None and casting == "same_kind":
        loop = resolve(name, given)
    else:
        loop = resolve_fixed(name, given, types, casting)
    if not fallback.KNOWN.issuperset((*loop.operands, loop.result)):
        raise ForeignError(loop.result)
    return loop


def common_device(operands: Sequence[Operand], home: str | None = None) -> str:
    """The device on which all operands live; of numbers it is `home`, or the default one.
    Raises: ValueError when there are several."""
    found: str | None = None
    for item in operands:
        if found is None:
            found = item.device
        else:
            check_home(item.device, found)
    return found or home or session.default_device()


def _strides(
    name: str, arrays: Sequence[tuple[Shape, tuple[int, ...]]], shape: Shape, *, casts: bool
) -> tuple[int, ...]:
    """The memory order of the result, K as NumPy allocates it."""
    contiguous = c_strides(shape)
    if all(own == shape and strides == contiguous for own, strides in arrays if own):
        return contiguous
    trivial = not casts and name != "where" and name not in _SEVERAL_RESULTS
    return result_strides(arrays, shape, trivial=trivial)


_SEVERAL_RESULTS = {part for parts in MULTIPLE.values() for part in parts}


def _is_out_of_range(operands: Sequence[Operand], loop: Loop) -> bool:
    """Whether a Python integer is compared with integers that can never reach it."""
    if any(item.type == "b1" for item in operands):
        return False
    for item, dtype in zip(operands, loop.operands, strict=True):
        if item.type is int and dtype[0] in "iu":
            low, high = integer_range(dtype)
            assert isinstance(item.value, int)
            return not low <= known(item.value) <= high
    return False


def _constant_comparison(name: str, operands: Sequence[Operand]) -> Const:
    """The comparison with an unreachable integer: the same answer everywhere."""
    numbers = [0 if item.node is not None else item.value for item in operands]
    ufunc = OPS[name].ufunc
    assert ufunc is not None
    return Const(bool(ufunc(*(np.array(number, object) for number in numbers))), "b1")


def fill(start: Const, shape: Shape) -> Node:
    """A node that is `start` everywhere and reads no memory."""
    return Fill(shape, start.dtype, c_strides(shape), (start,))


def _call(
    name: str, nodes: tuple[Node, ...], loop: Loop, shape: Shape, strides: tuple[int, ...]
) -> Node:
    """A recorded NumPy call, for dtypes that kernels have no code for."""
    op = OPS[name]
    function = OutputOf(op.ufunc, op.output, loop.operands) if op.ufunc else getattr(np, name)
    if name == "power" and loop.operands[1][0] == "i" and size_of(shape):
        check_exponents(nodes)
    return Opaque(
        name,
        function,
        f"no kernel code for {name} on {', '.join(loop.operands)}",
        shape=shape,
        dtype=loop.result,
        strides=strides,
        srcs=nodes,
    )


class OutputOf:
    """One output of a ufunc in a fixed loop; equal to its likes, so that plans are found again."""

    __slots__ = ("ufunc", "output", "loop")

    def __init__(self, ufunc: np.ufunc, output: int, loop: tuple[str, ...]) -> None:
        self.ufunc, self.output, self.loop = ufunc, output, loop

    def __call__(self, *arrays: Any) -> Any:
        found = self.ufunc(*operands_in(self.loop, arrays))
        return found[self.output] if self.ufunc.nout > 1 else found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputOf) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return (self.ufunc, self.output, self.loop)


def multiple(name: str, values: Sequence[Any], **options: Any) -> tuple[Any, ...]:
    """A ufunc of several results: one recorded op each; they fuse into one kernel.

    out= takes a tuple. All results are recorded and checked before one is written, so an output
    may be an operand.
    """
    parts = MULTIPLE[name]
    outs = options.pop("out", None) or (None,) * len(parts)
    where, casting = options.pop("where", True), options.pop("casting", "same_kind")
    types, order = options.pop("types", None), options.pop("order", "K")
    try:
        if any(out is not None and not isinstance(out, Handle) for out in outs):
            raise ForeignError("out")
        operands = operands_of(values, *outs)
        how = {"types": types, "casting": casting, "order": order, "home": device_beside(outs)}
        recorded = [record(part, operands, **how) for part in parts]
    except ForeignError:
        given = outs if any(out is not None for out in outs) else None
        called = _given(out=given, where=where, casting=casting, types=types, order=order)
        return tuple(fallback.call(OPS[parts[0]].ufunc, *values, **called))
    check_outputs(parts[0], [node for node, _ in recorded], outs, casting)
    return tuple(
        deliver(part, node, device, out=out, where=where, casting=casting, order=order)
        for part, (node, device), out in zip(parts, recorded, outs, strict=True)
    )
