"""LazyArray: NumPy's ndarray whose operations are recorded.

An array is a Storage (memory, shared by its views, in versions) and a Layout (which elements of
it). Reading an array gives a node of the graph; writing gives the Storage a new version. Metadata
never computes anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lazyfuse.frontend import (
    export,
    indexing,
    linalg,
    manipulation,
    methods,
    operators,
    protocols,
    reductions,
    statistics,
    text,
    views,
)
from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.order import is_contiguous, is_f_contiguous
from lazyfuse.ops.shapes import size_of


class ArrayType(type):
    """Makes `isinstance(x, lazyfuse.ndarray)` true for NumPy's arrays too:
    programs ask for any array."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, np.ndarray)


class LazyArray(Handle, metaclass=ArrayType):
    """An n-dimensional array that records what is done to it and computes it in fused kernels when
    it is needed.

    Made by `lazyfuse.array`, `asarray`, `zeros`, ... and by operations on arrays.
    Aliasing: as NumPy's. Basic slices, transposes and reshapes without copy share memory:
    a write is seen by all views.
    """

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # as ndarray: mutable, and == is elementwise

    # ---- metadata

    @property
    def shape(self) -> tuple[int, ...]:
        return self._layout.shape

    @shape.setter
    def shape(self, value: int | tuple[int, ...]) -> None:
        self._layout = manipulation.reshaped_in_place(self, value)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self._storage.node.dtype)

    @property
    def ndim(self) -> int:
        return len(self._layout.shape)

    @property
    def size(self) -> int:
        return size_of(self._layout.shape)

    @property
    def itemsize(self) -> int:
        return int(self._storage.node.dtype[1:])

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes, as NumPy would have laid the array out, whether or not it is stored yet."""
        return tuple(stride * self.itemsize for stride in self._layout.strides)

    @property
    def flags(self) -> Flags:
        return Flags(self)

    @property
    def device(self) -> str:
        """Where the array lives: "cpu", "cuda:0", ..."""
        return self._storage.device

    @property
    def base(self) -> LazyArray | None:
        """An array of the whole memory when this is a view of part of it, else None."""
        return None if self._layout == self._storage.layout else LazyArray(self._storage)

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def materialize(self) -> LazyArray:
        """Compute the array if it is pending, and return it."""
        self._flush()
        return self

    # ---- the rest of the interface lives in the module of its family

    __getitem__ = indexing.getitem
    __setitem__ = indexing.setitem

    def __iter__(self) -> Iterator[Any]:
        return export.iterate(self)

    __repr__ = text.array_repr
    __str__ = text.array_str
    __format__ = text.array_format

    __array__ = export.to_array
    __bool__ = export.to_bool
    __int__ = export.to_int
    __float__ = export.to_float
    __complex__ = export.to_complex
    __index__ = export.to_index
    to_numpy = export.to_numpy
    get = export.to_numpy
    item = export.item
    tolist = export.tolist
    tobytes = export.tobytes
    to_device = export.to_device
    __dlpack__ = protocols.dlpack
    __dlpack_device__ = protocols.dlpack_device
    __array_ufunc__ = protocols.array_ufunc
    __array_function__ = protocols.array_function
    __array_namespace__ = protocols.array_namespace
    __reduce_ex__ = protocols.reduce_ex
    __copy__ = protocols.shallow_copy
    __deepcopy__ = protocols.deep_copy
    __contains__ = protocols.contains
    __sizeof__ = protocols.sizeof

    __add__ = operators.operator("add")
    __radd__ = operators.reflected("add")
    __sub__ = operators.operator("subtract")
    __rsub__ = operators.reflected("subtract")
    __mul__ = operators.operator("multiply")
    __rmul__ = operators.reflected("multiply")
    __truediv__ = operators.operator("divide")
    __rtruediv__ = operators.reflected("divide")
    __floordiv__ = operators.operator("floor_divide")
    __rfloordiv__ = operators.reflected("floor_divide")
    __mod__ = operators.operator("remainder")
    __rmod__ = operators.reflected("remainder")
    __divmod__ = operators.divmod_operator
    __rdivmod__ = operators.reflected_divmod
    __pow__ = operators.power_operator
    __rpow__ = operators.reflected("power")
    __and__ = operators.operator("bitwise_and")
    __rand__ = operators.reflected("bitwise_and")
    __or__ = operators.operator("bitwise_or")
    __ror__ = operators.reflected("bitwise_or")
    __xor__ = operators.operator("bitwise_xor")
    __rxor__ = operators.reflected("bitwise_xor")
    __lshift__ = operators.operator("left_shift")
    __rlshift__ = operators.reflected("left_shift")
    __rshift__ = operators.operator("right_shift")
    __rrshift__ = operators.reflected("right_shift")
    __eq__ = operators.comparison("equal")  # elementwise, as ndarray's
    __ne__ = operators.comparison("not_equal")
    __lt__ = operators.operator("less")
    __le__ = operators.operator("less_equal")
    __gt__ = operators.operator("greater")
    __ge__ = operators.operator("greater_equal")
    __neg__ = operators.prefix("negative")
    __pos__ = operators.prefix("positive")
    __abs__ = operators.prefix("absolute")
    __invert__ = operators.prefix("invert")
    __iadd__ = operators.in_place("add")
    __isub__ = operators.in_place("subtract")
    __imul__ = operators.in_place("multiply")
    __itruediv__ = operators.in_place("divide")
    __ifloordiv__ = operators.in_place("floor_divide")
    __imod__ = operators.in_place("remainder")
    __ipow__ = operators.in_place_power
    __iand__ = operators.in_place("bitwise_and")
    __ior__ = operators.in_place("bitwise_or")
    __ixor__ = operators.in_place("bitwise_xor")
    __ilshift__ = operators.in_place("left_shift")
    __irshift__ = operators.in_place("right_shift")
    __matmul__ = linalg.matmul_operator
    __rmatmul__ = linalg.reflected_matmul
    __imatmul__ = linalg.in_place_matmul

    astype = methods.astype
    clip = methods.clip_method
    conj = conjugate = methods.conjugate_method
    round = methods.round_method
    real = property(methods.real, methods.set_real)
    imag = property(methods.imag, methods.set_imag)

    sum = reductions.sum_method
    prod = reductions.prod_method
    min = reductions.min_method
    max = reductions.max_method
    any = reductions.any_method
    all = reductions.all_method
    mean = statistics.mean_method
    var = statistics.var_method
    std = statistics.std_method
    trace = statistics.trace_method
    argmin = reductions.argmin_method
    argmax = reductions.argmax_method

    dot = linalg.dot_method
    copy = manipulation.copy_method
    fill = manipulation.fill
    reshape = manipulation.reshape_method
    ravel = manipulation.ravel_method
    flatten = manipulation.flatten
    transpose = manipulation.transpose_method
    swapaxes = manipulation.swapaxes_method
    squeeze = manipulation.squeeze_method
    diagonal = views.diagonal_method
    view = manipulation.view_method
    T = property(manipulation.transposed)
    mT = property(manipulation.matrix_transposed)

    def __getattr__(self, name: str) -> Any:
        """Methods of ndarray that are not native:
        they run through NumPy (`frontend/fallback.py`)."""
        return protocols.fallback_attribute(self, name)


class Flags:
    """The flags of an array, without computing it;
    `a.flags["C_CONTIGUOUS"]` and `a.flags.c_contiguous`."""

    __slots__ = ("_array",)
    _NAMES = ("c_contiguous", "f_contiguous", "owndata", "writeable", "aligned", "writebackifcopy")

    def __init__(self, array: LazyArray) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        return is_contiguous(self._array._layout.shape, self._array._layout.strides)

    @property
    def f_contiguous(self) -> bool:
        return is_f_contiguous(self._array._layout.shape, self._array._layout.strides)

    contiguous = c_contiguous

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def owndata(self) -> bool:
        return self._array._layout == self._array._storage.layout

    @property
    def writeable(self) -> bool:
        return self._array._writeable

    @writeable.setter
    def writeable(self, value: bool) -> None:
        self._array._writeable = bool(value)

    aligned = property(lambda self: True)
    writebackifcopy = property(lambda self: False)

    def __getitem__(self, name: str) -> bool:
        short = {
            "C": "c_contiguous",
            "F": "f_contiguous",
            "O": "owndata",
            "W": "writeable",
            "A": "aligned",
        }
        attribute = short.get(name, name.lower())
        if attribute not in (*self._NAMES, "contiguous", "forc", "fnc"):
            raise KeyError("Unknown flag")
        value = getattr(self, attribute)
        return bool(value)

    def __repr__(self) -> str:
        return "\n".join(f"  {name.upper()} : {self[name]}" for name in self._NAMES)
