"""Memory for other libraries: buffers, DLPack, CUDA and Arrow interfaces, pickle; names for Dask;
numbers for SymPy.

Whoever gets memory of the engine gets it read-only and finished: the engine does not write to it
any more. (That of small arrays is theirs, and both write.) Asking what an array could give never
computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dis import opmap
from importlib.util import find_spec
from sys import _getframe, modules
from types import FrameType
from typing import Any, SupportsIndex
from weakref import WeakKeyDictionary, finalize, ref

import numpy as np

from lazyfuse.frontend.convert import adopted
from lazyfuse.frontend.convert import to_array as from_host
from lazyfuse.frontend.export import FORGOTTEN, as_numpys, forget, numpys_for, to_array
from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.lending import lend
from lazyfuse.frontend.numba import LOOKS_FOR_BUFFER, type_of_array
from lazyfuse.ir.interp import view_of
from lazyfuse.ir.node import Node
from lazyfuse.ir.order import is_dense
from lazyfuse.ir.recast import elements
from lazyfuse.ir.storage import Storage
from lazyfuse.runtime import engine, gpu_arrays, session
from lazyfuse.runtime.callees import calls_cython

_WRITABLE, _STRIDES, _FULL_RO = 0x1, 0x10, 0x11C  # PyBUF_WRITABLE, ...
#: What takes any kind of buffer as NumPy does, and raises what it meets, by name.
_NAMES = frozenset(("memoryview", "PickleBuffer", "bytearray", "from_buffer"))


def buffer(self: Any, flags: int = 0) -> memoryview:
    """The buffer protocol: `memoryview(x)`, `hashlib.sha1(x)`, `file.write(x)`, views of Cython;
    and NumPy, which asks for buffers before it asks for arrays.

    Aliasing: as `numpy.asarray(x)`. Raises: ValueError for writable memory where that is
    read-only, and for dtypes without a format, as ndarray; BufferError for arrays on a GPU, and
    for `torch.asarray`, which would take the bytes for float32.
    """
    try:
        values = _lent(self, flags, _getframe(1))
        if not flags & _STRIDES and not values.flags.c_contiguous:
            raise ValueError("ndarray is not C-contiguous")
        return _view(values)
    except BaseException as error:
        FORGOTTEN.append(error)  # by NumPy
        raise


def _is_told_by_buffer(array: Any) -> bool:
    """Whether NumPy makes the same array of the buffer of one: that has no metadata, and where an
    axis has no or one element other strides; and of what does not lie in rows NumPy finds no
    buffer later, when it is told that the array may be written (`flags.writeable = True`)."""
    may_be_odd = 0 in array.shape or 1 in array.shape
    is_odd = may_be_odd and memoryview(array).strides != array.strides
    return array.dtype.metadata is None and array.flags.c_contiguous and not is_odd


def _view(array: Any) -> memoryview:
    """The buffer of an array of NumPy's, which its type has from Python 3.12 on."""
    return memoryview(array)


def buffer_for_c(self: Any, flags: int) -> np.ndarray:
    """What has the buffer, where `buffer_slot.py` asks for it."""
    return _lent(self, flags, _getframe(1))


def _lent(self: Any, flags: int, asking: FrameType) -> np.ndarray:
    """What has the buffer of an array, for who asks for it with such flags."""
    names = asking.f_code.co_names
    if not flags & ~_WRITABLE and "asarray" in names and "torch" in modules:
        raise BufferError("torch.asarray would take the bytes for float32; use torch.as_tensor")
    if (asking.f_code.co_name, asking.f_globals.get("__name__")) == LOOKS_FOR_BUFFER:
        raise TypeError("a LazyArray has more than a buffer")  # `_numba_type_`
    if FORGOTTEN:
        forget(asking)
    if self._host is None and self._storage.device.startswith("cuda:"):
        raise BufferError(f"the array is on {self._storage.device}; use x.to_numpy()")
    values = numpys_for(asking, self)
    is_numpys = flags == _FULL_RO and _NAMES.isdisjoint(names)
    if is_numpys and not _is_told_by_buffer(values) and not calls_cython(asking):
        raise BufferError("use numpy.asarray(x)")  # which NumPy does
    if is_numpys and self._is_scalar:
        return values.copy()  # what NumPy makes of a scalar is written
    if flags & _WRITABLE and not values.flags.writeable:
        raise ValueError("buffer source array is read-only: use numpy.array(x)")
    return values


def numba_type(self: Any) -> Any:
    """What Numba takes the array for; computes it. Raises: AttributeError."""
    asking = _getframe(1)
    return type_of_array(lambda: numpys_for(asking, self), is_scalar=self._is_scalar)


def data(self: Any) -> memoryview:
    """As ndarray's, but read-only."""
    return _view(as_numpys(self)).toreadonly()


def ctypes(self: Any) -> Any:
    """As ndarray's, of the finished values. Aliasing: as `numpy.asarray(x)`, as long as there is
    an array with this memory: an address says nothing of who has it. That of an array on a GPU is
    one in a copy on the host, which stays until the array is written or gone."""
    return _in_place(self).ctypes


def array_interface(self: Any) -> dict[str, Any]:
    """`x.__array_interface__`, for code that says just that, as Pillow's does. NumPy, which asks
    for it before it asks for `__array__` and would keep an address in memory that another version
    takes the place of, gets none; nor does who asks whether there is one, for it may be computed.

    There are always strides, for Pillow wants a buffer where there are none, but for NumPy's
    `as_ctypes`, which takes no others. Aliasing: as `ctypes`. Raises: AttributeError.
    """
    asking = _getframe(1)
    function = asking.f_code.co_name, asking.f_globals.get("__name__")
    if function == _AS_CTYPES:
        return _in_place(self).__array_interface__
    if function != _FOOTPRINTS and not _says(asking, "__array_interface__"):
        raise AttributeError  # without words, for NumPy asks often
    values = _in_place(self)
    return {**values.__array_interface__, "strides": values.strides}


#: What takes arrays in rows alone (NumPy's).
_AS_CTYPES = "as_ctypes", "numpy.ctypeslib._ctypeslib"
#: What takes all that has no interface for a list (scikit-image's).
_FOOTPRINTS = "_footprint_is_sequence", "skimage.morphology.footprints"
#: Instructions of Python that ask for an attribute; that of methods is there up to 3.11.
_ASKS = frozenset((opmap["LOAD_ATTR"], opmap.get("LOAD_METHOD")))
_CACHE = 0


def _says(asking: FrameType, name: str) -> bool:
    """Whether code in Python asks for an attribute by its name, as `x.name`. Python 3.12 is behind
    the instruction's caches where it has often asked for a property there."""
    code, at = asking.f_code, asking.f_lasti
    if name not in code.co_names:
        return False
    instructions = code.co_code
    while instructions[at] == _CACHE and at > 0:
        at -= 2
    return instructions[at] in _ASKS


def array_wrap(self: Any) -> Callable[..., Any]:
    """`x.__array_wrap__`, for code that says just that (SciPy's Newton-Krylov solvers): what makes
    arrays of NumPy's such as this one. NumPy, which would wrap what its functions give, gets none.
    Raises: AttributeError."""
    if not _says(_getframe(1), "__array_wrap__"):
        raise AttributeError("__array_wrap__")
    return _wrapped


def _wrapped(array: Any, context: Any = None, return_scalar: bool = False, /) -> Any:
    """An array as one of ours; with `return_scalar` the scalar of one without axes."""
    if return_scalar and not np.ndim(array):
        return array[()]
    return array if isinstance(array, Handle) else from_host(array)


def _in_place(self: Any) -> np.ndarray:
    """The finished values in the memory whose address is asked for."""
    if self._host is None and self._storage.device != "cpu":
        return _host_copy(self)
    alias = numpys_for(_getframe(2), self)
    holder: Any = self._storage if self._host is None else self
    known = _addressed.get(id(holder))
    if known is None:
        finalize(holder, _addressed.pop, id(holder)).atexit = False
    if known is None or alias.flags.writeable and not known.flags.writeable:
        _addressed[id(holder)] = alias  # with which nothing is put off that reads the memory
    return alias


#: Arrays of NumPy's in memory whose address was given away, by the identity of the small array, or
#: of the storage: as long as that is there the memory is lent, and stays where it is.
_addressed: dict[int, np.ndarray] = {}


#: Copies on the host whose address was given away, and of which version each is, by the storage.
_copies: WeakKeyDictionary[Storage, tuple[ref[Node], np.ndarray]] = WeakKeyDictionary()


def _host_copy(self: Any) -> np.ndarray:
    """The values of an array on a GPU, of a view of it in the same copy: who has asked for an
    address often keeps nothing else."""
    storage = self._storage
    with session.flush_lock:
        node = storage.node
        engine.flush([node], storage.device)
        memory: Any = node.buffer
        memory.exclusive = False  # what the copy is of is not overwritten
        kept = _copies.get(storage)
        if kept is None or kept[0]() is not node:
            kept = _copies[storage] = ref(node), session.backend(storage.device).to_host(memory)
    values = view_of(elements(kept[1], self._reading), self._layout)
    values.flags.writeable = False
    return values


# ---- DLPack and CUDA


def dlpack(
    self: Any,
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: Any = None,
) -> Any:
    """Export through DLPack.

    Aliasing: as `numpy.asarray(x)`, unless `copy`. A consumer that cannot be told that memory is
    read-only (`max_version` below 1.0) gets a copy of that. Raises: BufferError when `copy` is
    False and a copy is needed, for such a consumer or for the device, and for a read-only array.
    """
    options = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    if not self._storage.device.startswith("cuda:"):
        if self._host is not None and not copy and self.flags.behaved:
            return _in_place(self).__dlpack__(**options)
        lent = None if copy or self._host is not None else lend(self)
        is_old = max_version is None or max_version < (1, 0)
        if lent is not None and (lent.flags.writeable or not is_old):
            return lent.__dlpack__(**options)
        private = is_old and copy is None and self.flags.behaved
        return to_array(self, copy=private or None).__dlpack__(**options)
    if dl_device is not None and tuple(dl_device)[0] == 1:
        if copy is False:
            raise BufferError("an array on a GPU cannot be exported to the CPU without a copy")
        return to_array(self).__dlpack__(**{**options, "stream": None})
    return on_gpu(self).__dlpack__(**options)


def dlpack_device(self: Any) -> tuple[int, int]:
    """(1, 0) for the CPU, (2, number) for CUDA."""
    device = self._storage.device
    return (2, int(device.partition(":")[2] or 0)) if device.startswith("cuda:") else (1, 0)


def cuda_array_interface(self: Any) -> dict[str, Any]:
    """The CUDA Array Interface of an array on a GPU. Raises: AttributeError on the CPU."""
    device = self._storage.device
    if not device.startswith("cuda:"):
        raise AttributeError(f"the array is on the {device}, not on a GPU")
    interface: dict[str, Any] = on_gpu(self).__cuda_array_interface__
    # The interface is an address: its memory has to outlive writes to the array.
    memory = self._storage.node.buffer
    _exported.setdefault(self._storage, {})[id(memory)] = memory
    return interface


#: Memory whose address was given away, by the storage that keeps it.
_exported: WeakKeyDictionary[Storage, dict[int, Any]] = WeakKeyDictionary()


def on_gpu(self: Any) -> Any:
    """The memory as an array of the device's library (CuPy)."""
    with session.flush_lock:  # before the memory is marked no run may reuse it
        node = self._storage.node
        engine.flush([node], self._storage.device)
        memory = node.buffer
        memory.exclusive = False
    target: Any = session.backend(self._storage.device)  # only GPUs have `as_array`
    offset = self._layout.offset * self.itemsize
    return target.as_array(memory, self.dtype, self.shape, self.strides, offset)


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Any:
    """The array that another library exports through DLPack.

    Aliasing: none, unless `copy` is False: then the memory is borrowed, and whoever owns it
    promises not to write to it. Of an array of lazyfuse a view, unless `copy`. An array on a GPU
    stays there, unless `device` says otherwise.
    Raises: what `x.__dlpack__` raises; BufferError for memory that cannot be read or shared.
    """
    if isinstance(x, Handle):
        array: Any = x  # every Handle is a LazyArray
        moved = array if device is None else array.to_device(device)
        return moved.copy() if copy else moved.view()
    target = None if device is None else session.resolve_device(device)
    if target is not None:
        session.backend(target)
    where = getattr(x, "__dlpack_device__", None)
    kind, number = (0, 0) if where is None else where()
    if kind in gpu_arrays.ON_CUDA:
        taken = adopted(x, f"cuda:{int(number)}", borrow=copy is False)
        return taken if target is None else taken.to_device(target)
    return from_host(np.from_dlpack(x), borrow=copy is False, device=target)


# ---- Arrow


def arrow_array(self: Any, type: Any = None) -> Any:
    """What `pyarrow.array(x)` gives, sharing memory where Arrow can. Raises: pyarrow's errors, for
    arrays that have not one axis among others."""
    import pyarrow

    return pyarrow.array(to_array(self), type=type)


def arrow_c_array(self: Any) -> Callable[..., Any]:
    """`__arrow_c_array__`, where pyarrow is installed and the array has one axis.
    Raises: AttributeError elsewhere."""
    if self.ndim != 1 or find_spec("pyarrow") is None:
        raise AttributeError("__arrow_c_array__ needs one axis and the package pyarrow")

    def export(requested_schema: object = None) -> Any:
        return arrow_array(self).__arrow_c_array__(requested_schema)

    return export


# ---- SymPy


def sympified(self: Any) -> Callable[[], Any]:
    """`_sympy_`, for SymPy's `sympify`, which knows NumPy's arrays by their module and takes all
    else that has `__float__` for a number: what it makes of NumPy's, called in the same way. So
    it refuses an array beside an expression, and the array's operators run. Raises:
    AttributeError for whoever else asks: `==`, which leaves NumPy's arrays alone.
    """
    asking = _getframe(1)
    if (asking.f_code.co_name, asking.f_globals.get("__name__")) != _SYMPIFY:
        raise AttributeError("_sympy_")
    given = asking.f_locals
    options = {name: given[name] for name in _SYMPIFY_OPTIONS if name in given}

    def convert() -> Any:
        values = to_array(self)
        return asking.f_globals["sympify"](values[()] if self._is_scalar else values, **options)

    return convert


_SYMPIFY = "sympify", "sympy.core.sympify"
_SYMPIFY_OPTIONS = ("locals", "convert_xor", "strict", "rational", "evaluate")


# ---- pickle


def rebuild(values: np.ndarray) -> Any:
    """The array of pickled values."""
    return from_host(values, owned=values.base is None)


def reduce_ex(self: Any, protocol: SupportsIndex) -> tuple[Any, ...]:
    """Pickle as the values; protocol 5 sends them out of band, without a copy when the array is
    one whole memory. What NumPy gives as a scalar becomes NumPy's scalar."""
    values: Any = lend(self) if self._host is None else self._host
    if values is None:  # a copy that lies as NumPy's lies when it is pickled
        is_kept = is_dense(self.shape, self.strides, self.itemsize)
        values = to_array(self) if is_kept else np.ascontiguousarray(to_array(self))
    return values[()].__reduce__() if self._is_scalar else (rebuild, (values,))
