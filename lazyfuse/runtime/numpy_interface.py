"""Functions of NumPy's C interface, which machine code calls on the engine's memory.

They have fixed numbers in a table (numpy/_core/code_generators/numpy_api.py), which NumPy keeps
in a capsule for extensions.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

#: PyArray_Scalar, PyArray_Return, PyArray_NewCopy, PyArray_NewFromDescr, PyArray_CountNonzero,
#: PyArray_MatrixProduct2 and PyArray_SetBaseObject.
NEW_SCALAR, AS_SCALAR, NEW_COPY, NEW_ARRAY, COUNT_NONZERO = 60, 76, 85, 94, 270
MATRIX_PRODUCT, SET_BASE = 280, 282


def address(number: int) -> int:
    """The address of a function. Raises: AttributeError where NumPy keeps no table."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]  # private
    return (ctypes.c_uint64 * (number + 1)).from_address(table)[number]


@cache
def is_known() -> bool:
    """Whether the functions do what machine code asks of them, tried out."""
    kind, pointer, number = ctypes.py_object, ctypes.c_void_p, ctypes.c_int
    try:
        new = ctypes.PYFUNCTYPE(kind, kind, kind, number, *[pointer] * 3, number, pointer)
        scalar = ctypes.PYFUNCTYPE(kind, pointer, kind, pointer)
        keep = ctypes.PYFUNCTYPE(number, kind, kind)
        values, dtype = np.arange(12.0), np.dtype("f8")
        data = values.ctypes.data
        extents, steps = (ctypes.c_int64 * 2)(2, 3), (ctypes.c_int64 * 2)(48, -8)
        _keep_one(dtype)  # that is taken
        made = new(address(NEW_ARRAY))(
            np.ndarray, dtype, 2, ctypes.addressof(extents), ctypes.addressof(steps),
            data + 24, 0, None,
        )  # fmt: skip
        _keep_one(values)  # likewise
        if keep(address(SET_BASE))(made, values):
            return False
        element = scalar(address(NEW_SCALAR))(data + 16, dtype, None)
        copy = ctypes.PYFUNCTYPE(kind, kind, number)(address(NEW_COPY))(values, 0)
        count = ctypes.PYFUNCTYPE(ctypes.c_int64, kind)(address(COUNT_NONZERO))(values > 3.0)
        product = ctypes.PYFUNCTYPE(kind, kind, kind, pointer)
        squares = product(address(MATRIX_PRODUCT))(values, values, None)
        _keep_one(squares)  # likewise
        number_of = ctypes.PYFUNCTYPE(kind, kind)(address(AS_SCALAR))(squares)
    except AttributeError:
        return False
    is_fine = made.base is values and not made.flags.writeable
    is_fine = is_fine and type(number_of) is np.float64 and number_of == np.dot(values, values)
    is_fine = is_fine and copy.flags.owndata and copy.tolist() == values.tolist() and count == 8
    return bool(is_fine and made.tolist() == [[3.0, 2.0, 1.0], [9.0, 8.0, 7.0]] and element == 2.0)


def _keep_one(value: Any) -> None:
    """One reference more, which nobody gives back but who takes it."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
