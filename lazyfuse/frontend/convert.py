"""Whatever a user passes -> operands: nodes for arrays, Python scalars as they are (they are weak,
NEP 50).

Host memory is copied in, unless nobody can write to it (architecture promise: no wrong answer
because the caller writes its array later).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
from numpy.exceptions import ComplexWarning

from lazyfuse import config
from lazyfuse.frontend.array_likes import MET, host_array, is_memory, own_or_host
from lazyfuse.frontend.handle import Handle, new, small_array, view
from lazyfuse.frontend.mapped import is_frozen, watch
from lazyfuse.frontend.references import is_alone
from lazyfuse.frontend.varying import Varying, asked, constant, is_varying
from lazyfuse.ir.node import Const, Node, ScalarValue, Source, View
from lazyfuse.ir.order import c_strides, copy_strides
from lazyfuse.ir.orphans import orphaned
from lazyfuse.ops.numpy_version import NUMPY
from lazyfuse.ops.table import DTYPES
from lazyfuse.ops.types import OperandType, code
from lazyfuse.runtime import gpu_arrays, session
from lazyfuse.runtime.caller import call_as_user, warn_here


class Operand(NamedTuple):
    """`type` is a dtype code, or a Python type for weak scalars;
    exactly one of node and value is set."""

    type: OperandType
    node: Node | None
    value: ScalarValue | None
    device: str | None


class ForeignError(Exception):
    """An operand that the engine does not handle (object, string, long double, datetime...):
    NumPy takes over."""


_WEAK: dict[type, type] = {bool: bool, int: int, float: float, complex: complex}


def operands_of(values: Sequence[Any], *others: Any) -> list[Operand]:
    """Convert the operands of one operation. Lists and NumPy's arrays go where the arrays beside
    them live, `others` included. Raises ForeignError for what only NumPy handles."""
    return [
        operand(value)
        if type(value) in _WEAK or isinstance(value, Handle)
        else operand(value, device_beside((*values, *others)))
        for value in values
    ]


def device_beside(values: Sequence[Any]) -> str | None:
    """The device of the first array of ours among values, or of another library's on a GPU."""
    for value in values:
        if isinstance(value, Handle):
            return _device_of(value)
        home = None if value is None else gpu_home(value)
        if home is not None:
            return home
    return None


def check_home(home: str | None, device: str) -> None:
    """Raises: ValueError where an array, if it is one, lives on another device than this one."""
    if home is not None and home != device:
        raise ValueError(
            f"operands live on different devices ({device}, {home}); move them with to_device"
        )


def _device_of(array: Handle) -> str:
    return "cpu" if array._host is not None else array._storage.device


def operand(value: Any, device: str | None = None) -> Operand:
    """Convert one operand; what is the host's goes to the default device, or to this one.
    Raises ForeignError for what only NumPy handles."""
    if isinstance(value, Handle):
        node = value._read()
        return Operand(node.dtype, node, None, _device_of(value))
    kind = type(value)
    if kind in _WEAK:
        return Operand("b1" if kind is bool else kind, None, value, None)
    if kind is Varying:
        given = type(value.value)
        return Operand("f8" if given is np.float64 else given, None, value, None)
    if isinstance(value, np.generic):
        dtype = _known(value.dtype)
        return Operand(dtype, None, value.item(), None)
    is_numpy = isinstance(value, np.ndarray)
    if hasattr(value, "__array_ufunc__") and not is_numpy and not gpu_arrays.is_cupy(value):
        raise ForeignError(kind.__name__)
    home = gpu_home(value)
    if home is not None:
        node = adopted(value, home)._read()
        orphaned(node.srcs[0] if isinstance(node, View) else node)
        return Operand(node.dtype, node, None, home)
    array = plain(value)
    dtype = _known(array.dtype)
    if array.ndim == 0:
        return Operand(dtype, None, array.item(), None)
    home = device or session.default_device()
    node = source(array, home, owned=type(value) in _COPIED)
    orphaned(node)
    return Operand(node.dtype, node, None, home)


#: What NumPy makes a new array of; a subclass may have `__array__`.
_COPIED = (list, tuple)
#: What is never another library's array on a GPU.
_HOST = (Handle, np.ndarray, np.generic, list, tuple, bool, int, float, complex)


def gpu_home(value: Any) -> str | None:
    """The GPU on which another library's array is; None for all else."""
    return None if isinstance(value, _HOST) else gpu_arrays.device_of(value)


def adopted(value: Any, home: str, *, borrow: bool = False) -> Any:
    """A LazyArray of another library's array on a GPU, which stays there.

    Aliasing: a copy, unless `borrow` promises that nobody will write to it.
    Raises: what `gpu_arrays.leaf` does.
    """
    memory, layout = gpu_arrays.leaf(value, home, borrow=borrow)
    whole = new(memory, home)
    return whole if layout is None else view(whole, layout)


def plain(value: Any, dtype: Any = None) -> np.ndarray:
    """An array of NumPy's own class.
    Raises: ForeignError for its subclasses (masked arrays, matrices), which know better."""
    if is_subclass(value):
        raise ForeignError(type(value).__name__)
    return host_array(value, dtype, copy=None)


def is_subclass(value: Any) -> bool:
    """Whether a value is an array of a class derived from NumPy's; files in memory do not
    count."""
    return isinstance(value, np.ndarray) and type(value) not in (np.ndarray, np.memmap)


def is_for_numpy(value: Any) -> bool:
    """Whether an argument is one that machine code does not look into, and NumPy knows best."""
    kind = type(value)
    return kind is deque or kind in MET or is_memory(kind) or is_subclass(value)


def _known(dtype: np.dtype) -> str:
    if code(dtype) not in DTYPES or dtype.kind in "OSUVMm":
        raise ForeignError(str(dtype))
    return code(dtype)


def scalar(value: ScalarValue, dtype: str) -> Const:
    """A Const of a loop's dtype.
    Raises OverflowError for an integer out of range, as NumPy does."""
    if is_varying(value):
        return constant(value, dtype) or scalar(asked(value), dtype)
    kind = dtype[0]
    if kind in "iu":
        number = int(value.real) if isinstance(value, complex) else int(value)
        low, high = integer_range(dtype)
        if not low <= number <= high:
            check_c_integer(number, 64 if dtype in ("u4", "u8") else 63)
            raise OverflowError(
                f"Python integer {number} out of bounds for {np.dtype(dtype).name}"
            )
        return Const(number, dtype)
    if kind == "b":
        if type(value) is int:
            check_c_integer(value, 63)
        return Const(bool(value), dtype)
    inexact = complex(value) if kind == "c" else as_float(value.real)
    if dtype in _TOO_LARGE and _TOO_LARGE[dtype] <= _larger_part(inexact) < math.inf:
        call_as_user(np.asarray(inexact).astype, dtype)  # warns as np.errstate says
    return Const(inexact, dtype)


def assigned_scalar(given: Operand, dtype: str) -> Const:
    """A scalar as a target's dtype, converted as NumPy converts what is assigned.

    Raises: OverflowError, ValueError (NaN into integers), TypeError (complex into real)."""
    assert given.value is not None
    plain = isinstance(given.type, str) or given.type in (int, bool) and dtype[0] in "iufc"
    is_open = is_varying(given.value) and dtype[0] in "fc"
    if is_open or plain and given.type in (int, dtype):
        return scalar(given.value, dtype)
    cell = np.empty((), np.dtype(dtype))
    strong = isinstance(given.type, str) and given.type != "b1"
    number = np.asarray(given.value, np.dtype(given.type)) if strong else given.value
    call_as_user(cell.__setitem__, ..., number)
    return scalar(cell.item(), dtype)


def quiet_scalar(value: ScalarValue, dtype: str) -> ScalarValue | None:
    """The value of a scalar; None where NumPy would warn or raise."""
    try:
        if dtype in _TOO_LARGE and _TOO_LARGE[dtype] <= _larger_part(value) < math.inf:
            return None
        return scalar(value, dtype).value
    except OverflowError:
        return None


def _larger_part(number: complex) -> float:
    """The size of the larger part: that of the whole may be too large for a float."""
    return max(abs(number.real), abs(number.imag))


def as_float(number: float) -> float:
    """The float of a real number. A small integer's is one object, so that the same literal
    everywhere is one scalar of a kernel."""
    if type(number) is int and 0 <= number < len(FLOATS):
        return FLOATS[number]
    return float(number)


def check_c_integer(value: int, bits: int) -> None:
    """Raises: OverflowError, in CPython's words, for what C's integers do not hold."""
    if not -(1 << 63) <= value < 1 << bits:
        raise OverflowError("Python int too large to convert to C long")


#: Magnitudes from which a number rounds to infinity in the smaller float dtypes.
_TOO_LARGE = {"f2": 65520.0, "f4": 2.0**128 - 2.0**103, "c8": 2.0**128 - 2.0**103}
#: The floats of small integers.
FLOATS = tuple(map(float, range(257)))


def warn_of_cast(source: str, target: str) -> None:
    """NumPy's warning, at the user's line, when complex values become real ones."""
    if source[0] == "c" and target[0] not in "cb":
        warn_here("Casting complex values to real discards the imaginary part", ComplexWarning)


#: What NumPy says of attributes that are set, from which version on.
_SETTING = {
    "shape": ((2, 5), "As an alternative, you can create a new view using np.reshape "
                      "(with copy=False if needed)."),
    "dtype": ((2, 5), "Instead of changing the dtype on an array x, create a new array with "
                      "x.view(new_dtype)"),
    "strides": ((2, 4), "As an alternative, you can create a new view using "
                        "np.lib.stride_tricks.as_strided."),
}  # fmt: skip


def warn_of_setting(attribute: str) -> None:
    """NumPy's warning, at the user's line, when an attribute of an array is set."""
    since, instead = _SETTING[attribute]
    if since <= NUMPY:
        warn_here(
            f"Setting the {attribute} on a NumPy array has been deprecated in NumPy "
            f"{since[0]}.{since[1]}.\n{instead}",
            DeprecationWarning,
        )


def integer_range(dtype: str) -> tuple[int, int]:
    """The smallest and the largest value of an integer dtype."""
    bits = 8 * int(dtype[1:])
    return (0, (1 << bits) - 1) if dtype[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)


def limits(dtype: str) -> tuple[float, float] | None:
    """Bounds of the Python numbers that a dtype takes without a word; None where there are
    none."""
    return integer_range(dtype) if dtype[0] in "iu" else _FLOAT_LIMITS.get(dtype)


_FLOAT_LIMITS = {"f2": (-65000.0, 65000.0), "f4": (-1e38, 1e38), "f8": (-math.inf, math.inf)}


#: Memory from outside, which nobody is to write, and of which a copy may be much.
BORROWED: WeakSet[Any] = WeakSet()


def source(array: np.ndarray, device: str, *, borrow: bool = False, owned: bool = False) -> Source:
    """Memory of a host array, kept in its own order (K). It is shared when it is `owned` (a
    temporary of ours), when `borrow` says that nobody will write to it, or when it is read-only
    all the way down; else copied."""
    flags = array.flags
    if owned and flags.c_contiguous and flags.aligned and array.dtype.isnative and array.size:
        return _adopted(array, device)
    dtype = array.dtype.newbyteorder("=")
    strides = copy_strides(array.shape, _element_strides(array))
    dense = _as_dense(array, dtype, strides)
    owned = owned or dense is not array
    borrow = borrow or is_frozen(array)
    buffer = session.backend(device).from_host(_flat(dense), borrow=borrow or owned)
    if owned and array.size:
        buffer.exclusive = True
    elif borrow and device == "cpu":
        BORROWED.add(buffer)
        watch(buffer, array)
    return Source(
        array.shape, code(dtype), strides if array.size else c_strides(array.shape), buffer
    )


def _adopted(array: np.ndarray, device: str) -> Source:
    """The memory of a temporary of ours in C order, for an array alone."""
    flat = array if array.ndim == 1 else array.reshape(-1)
    buffer = session.backend(device).from_host(flat, borrow=True)
    buffer.exclusive = True
    return Source(array.shape, code(array.dtype), c_strides(array.shape), buffer)


def _element_strides(array: np.ndarray) -> tuple[int, ...]:
    """Strides in elements; fractions of an element (fields of records) only order the axes."""
    return tuple(
        stride // array.itemsize if stride % array.itemsize == 0 else stride
        for stride in array.strides
    )


def _as_dense(array: np.ndarray, dtype: np.dtype, strides: tuple[int, ...]) -> np.ndarray:
    """The array itself when its memory is dense in this order and native, else a copy that is."""
    same = array.dtype == dtype and array.dtype.isnative and array.flags.aligned
    if same and _element_strides(array) == strides:
        return array
    copy = np.empty(array.size, dtype)
    shaped = np.lib.stride_tricks.as_strided(
        copy, array.shape, tuple(s * dtype.itemsize for s in strides)
    )
    shaped[...] = array
    return shaped


def _flat(dense: np.ndarray) -> np.ndarray:
    """The memory of a dense array as one axis."""
    if dense.size == 0:
        return np.empty(0, dense.dtype)
    return np.lib.stride_tricks.as_strided(dense, (dense.size,), (dense.itemsize,))


def are_numbers_numpys() -> bool:
    """Whether what is asked of numbers alone is answered by NumPy: wherever arrays live, for one
    number is no work for a GPU."""
    return config.current().eager_size > 0


def eager_size() -> int:
    """The largest size of an array that is computed at once; 0 where arrays live on a GPU."""
    size = config.current().eager_size
    return size if size and session.default_device() == "cpu" else 0


def to_array(
    value: Any,
    *,
    dtype: Any = None,
    device: str | None = None,
    borrow: bool = False,
    owned: bool = False,
) -> Any:
    """A new LazyArray from host data; `borrow` and `owned` as in `source`. Arrays on a GPU stay
    there, and an object that stands for a LazyArray gives that. Raises ForeignError for dtypes
    that only NumPy handles."""
    home = gpu_home(value)
    if home is not None:
        return adopted(value, home, borrow=borrow)
    array = plain(value, dtype) if is_subclass(value) else own_or_host(value, dtype, copy=None)
    if isinstance(array, Handle):
        if dtype is None:
            return array
        array = plain(value, dtype)
    if code(array.dtype) not in DTYPES or array.dtype.kind in "OSUVMm" or not array.dtype.isnative:
        raise ForeignError(str(array.dtype))
    target = device or session.default_device()
    made = array is not value and array.base is None and array.flags.owndata
    fresh = owned or (made and is_alone(array))
    if array.size <= eager_size() and target == "cpu" and not borrow:
        return small_array(array if fresh else array.copy(order="K"))
    return new(source(array, target, borrow=borrow, owned=fresh), target)
