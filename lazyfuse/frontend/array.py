"""LazyArray: NumPy's ndarray whose operations are recorded.

An array is a Storage (memory, shared by its views, in versions) and a Layout (which elements of
it). Reading an array gives a node of the graph; writing gives the Storage a new version. Metadata
never computes anything.
"""

from __future__ import annotations

from abc import ABCMeta
from typing import Any

import numpy as np

from lazyfuse.frontend import (
    asked_class,
    buffers,
    exchange,
    export,
    files,
    indexing,
    linalg,
    manipulation,
    methods,
    operators,
    picking,
    pieces,
    protocols,
    recasting,
    reductions,
    rerecord,
    scalars,
    scans,
    shortcuts,
    small,
    small_methods,
    sorting,
    statistics,
    text,
    tokens,
    views,
    walking,
)
from lazyfuse.frontend.beside import unless_same
from lazyfuse.frontend.derived import Derived, Overriding, attribute
from lazyfuse.frontend.flags import Flags, setflags
from lazyfuse.frontend.flat import flat_of, set_flat
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.novel import asked
from lazyfuse.ops.shapes import size_of
from lazyfuse.runtime.buffer_slot import give_buffers


class ArrayInterface(Handle):
    """What arrays and pending scalars have in common: ndarray's attributes and methods."""

    __slots__ = ()
    __array_priority__ = 1000

    # ---- metadata

    @property
    def shape(self) -> tuple[int, ...]:
        return self._layout.shape

    @shape.setter
    def shape(self, value: int | tuple[int, ...]) -> None:
        self._layout = manipulation.reshaped_in_place(self, value)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self._code)

    @dtype.setter
    def dtype(self, value: Any) -> None:
        recasting.set_dtype(self, value)

    @property
    def ndim(self) -> int:
        return len(self._layout.shape)

    @property
    def size(self) -> int:
        return size_of(self._layout.shape)

    @property
    def itemsize(self) -> int:
        return int(self._code[1:])

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes, as NumPy would have laid the array out, whether or not it is stored yet."""
        itemsize = self.itemsize
        return tuple(stride * itemsize for stride in self._layout.strides)

    @strides.setter
    def strides(self, value: Any) -> None:
        recasting.set_strides(self, value)

    @property
    def flags(self) -> Flags:
        return Flags(self)

    setflags = setflags

    @property
    def device(self) -> str:
        """Where the array lives: "cpu", "cuda:0", ..."""
        return self._storage.device if self._host is None else "cpu"

    @device.setter
    def device(self, value: Any) -> None:
        raise AttributeError("attribute 'device' of 'numpy.ndarray' objects is not writable")

    @property
    def base(self) -> Any:
        """The array whose memory this view shares; None for an array with memory of its own."""
        return self._owner

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def materialize(self) -> ArrayInterface:
        """Compute the array if it is pending, and return it."""
        asked()
        self._flush()
        return self

    # ---- the rest of the interface lives in the module of its family

    __getitem__ = indexing.getitem
    __setitem__ = shortcuts.assignment(indexing.setitem, pieces.assigned)

    __repr__ = text.array_repr
    __str__ = text.array_str
    __format__ = text.array_format
    _repr_inline_ = text.inline

    __array__ = export.array_protocol
    __bool__ = export.to_bool
    __int__ = export.to_int
    __float__ = export.to_float
    __complex__ = export.to_complex
    __index__ = export.to_index
    __bytes__ = export.to_bytes
    to_numpy = export.to_numpy
    get = export.to_numpy
    item = export.item
    tolist = export.tolist
    tobytes = export.tobytes
    to_device = export.to_device
    __buffer__ = exchange.buffer
    __dlpack__ = exchange.dlpack
    __dlpack_device__ = exchange.dlpack_device
    __cuda_array_interface__ = property(exchange.cuda_array_interface)
    __array_interface__ = property(exchange.array_interface)
    __array_wrap__ = property(exchange.array_wrap)
    __arrow_array__ = exchange.arrow_array
    __arrow_c_array__ = property(exchange.arrow_c_array)
    _sympy_ = property(exchange.sympified)
    _numba_type_ = property(exchange.numba_type)
    __dask_tokenize__ = tokens.dask_tokenize
    __reduce_ex__ = exchange.reduce_ex
    __class_getitem__: Any = classmethod(protocols.subscripted)
    data = property(exchange.data)
    ctypes = property(exchange.ctypes)
    __array_ufunc__ = protocols.array_ufunc
    __array_function__ = protocols.array_function
    __array_namespace__ = protocols.array_namespace
    __copy__ = protocols.shallow_copy
    __deepcopy__ = protocols.deep_copy
    __contains__ = protocols.contains
    __round__ = protocols.python_round
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
    __rpow__ = operators.reflected_power
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

    astype = unless_same(shortcuts.remembered(methods.astype))
    clip = shortcuts.several(methods.clip_method, choice=methods.open_bounds)
    conj = conjugate = methods.conjugate_method
    round = shortcuts.remembered(methods.round_method)
    real = property(recasting.real, recasting.set_real)
    imag = property(recasting.imag, recasting.set_imag)
    flat = property(flat_of, set_flat)

    sum = shortcuts.remembered(reductions.sum_method)
    prod = shortcuts.remembered(reductions.prod_method)
    min = shortcuts.remembered(reductions.min_method)
    max = shortcuts.remembered(reductions.max_method)
    any = shortcuts.remembered(reductions.any_method)
    all = shortcuts.remembered(reductions.all_method)
    mean = shortcuts.remembered(statistics.mean_method)
    var = shortcuts.remembered(statistics.var_method)
    std = shortcuts.remembered(statistics.std_method)
    trace = statistics.trace_method
    argmin = shortcuts.remembered(reductions.argmin_method)
    argmax = shortcuts.remembered(reductions.argmax_method)
    cumsum = scans.cumsum_method
    cumprod = scans.cumprod_method
    sort = sorting.sort_method
    argsort = sorting.argsort_method
    partition = sorting.partition_method
    argpartition = sorting.argpartition_method
    searchsorted = sorting.searchsorted_method

    take = picking.take_method
    compress = picking.compress_method
    choose = picking.choose_method
    nonzero = picking.nonzero_method
    put = picking.put_method

    dot = linalg.dot_method
    copy = shortcuts.remembered(manipulation.copy_method)
    fill = indexing.fill
    reshape = manipulation.reshape_method
    ravel = manipulation.ravel_method
    flatten = manipulation.flatten
    transpose = manipulation.transpose_method
    swapaxes = manipulation.swapaxes_method
    squeeze = manipulation.squeeze_method
    repeat = manipulation.repeat_method
    diagonal = views.diagonal_method
    view = recasting.view_method
    T = property(manipulation.transposed)
    mT = property(manipulation.matrix_transposed)

    getfield = recasting.getfield
    setfield = recasting.setfield
    byteswap = recasting.swapped_bytes
    resize = manipulation.resize_method
    tofile = files.tofile
    dump = files.dump
    dumps = files.dumps


class ArrayType(ABCMeta):
    """The class of `lazyfuse.ndarray`.

    `isinstance(x, lazyfuse.ndarray)` is true for NumPy's arrays too: programs ask for any array.
    A class that a program derives from it is a subclass of NumPy's ndarray.
    `lazyfuse.ndarray(shape, dtype)` makes an array, as NumPy's constructor does.
    """

    def __new__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> Any:
        if any(isinstance(base, ArrayType) for base in bases):
            own = Overriding if "__array_ufunc__" in namespace else Derived
            real = tuple(own if isinstance(base, ArrayType) else base for base in bases)
            return type(name, real, namespace, **options)
        return super().__new__(cls, name, bases, namespace)

    __getattribute__ = attribute

    def __instancecheck__(cls, instance: object) -> bool:
        if type(instance) is cls or isinstance(instance, np.ndarray):
            return True
        return getattr(instance, "__class__", None) is cls  # what stands for one says so

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, np.ndarray)


class LazyArray(ArrayInterface, metaclass=ArrayType):
    """An n-dimensional array that records what is done to it and computes it in fused kernels when
    it is needed.

    Made by `lazyfuse.array`, `asarray`, `zeros`, ... and by operations on arrays.
    Aliasing: as NumPy's. Basic slices, transposes and reshapes without copy share memory:
    a write is seen by all views.
    """

    __slots__ = ()
    __class__ = property(asked_class.class_of)  # see there
    __hash__ = None  # type: ignore[assignment]  # as ndarray: mutable, and == is elementwise

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        kind: Any = cls
        if kind is not LazyArray:  # `np.ndarray.__new__(cls, shape)` of a class derived from it
            return buffers.derived(kind, args, kwargs)
        return buffers.ndarray(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in small.MISSING:
            return small.missing(self, name)
        raise AttributeError(f"'LazyArray' object has no attribute {name!r}")

    def __len__(self) -> int:
        host = self._host
        if host is not None:
            return len(host)
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    __iter__ = walking.iterate


small_methods.install(LazyArray, ArrayInterface)


class LazyScalar(ArrayInterface):
    """A pending value of shape (): what NumPy gives as a scalar (an element, a full reduction).

    It is a value: operators make new ones, nothing writes into it. To `isinstance` and `hash` it
    is NumPy's scalar of its dtype.
    """

    __slots__ = ("_known",)
    _is_scalar = True
    __class__ = property(scalars.class_of)  # see scalars.class_of
    __hash__ = scalars.hash_of
    __iter__ = None  # else Python would iterate by __getitem__
    __contains__ = None  # type: ignore[assignment]  # a number holds nothing
    __mul__ = scalars.times
    __rmul__ = scalars.reflected_times
    __matmul__ = __rmatmul__ = __imatmul__ = scalars.no_product
    T = property(scalars.giving_scalars(manipulation.transposed))
    transpose = scalars.giving_scalars(manipulation.transpose_method)
    reshape = scalars.giving_scalars(manipulation.reshape_method)
    argmax = scalars.giving_scalars(reductions.argmax_method)
    argmin = scalars.giving_scalars(reductions.argmin_method)
    fill, put, sort = map(scalars.on_a_copy, ("fill", "put", "sort"))
    resize, setfield, setflags = map(scalars.on_a_copy, ("resize", "setfield", "setflags"))
    item = scalars.item
    __trunc__ = scalars.truncated
    __str__, __repr__, __format__ = scalars.written_out, scalars.shown, scalars.formatted
    __conform__ = scalars.conforming
    mT = dot = partition = argpartition = scalars.Missing()

    def __getattr__(self, name: str) -> Any:
        return scalars.attribute(self, name)


scalars.install(LazyScalar)
export.remember(vars(LazyScalar)["_known"])
for _kind in (LazyArray, LazyScalar):
    give_buffers(_kind, exchange.buffer_for_c, export.FORGOTTEN)
Handle._concrete, Handle._scalar = LazyArray, LazyScalar
rerecord.recognize(LazyArray, LazyScalar)
protocols.PLAIN.update((LazyArray, LazyScalar))
Handle._node_of = staticmethod(small.node_of)
