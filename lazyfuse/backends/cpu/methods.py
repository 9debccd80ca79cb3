"""Operators of small arrays in machine code: which there are, and what they are told. Their text
is that of `methods_module.py`, which takes long to import.

An object that wraps a NumPy array spends more in its Python methods than NumPy spends on a few
hundred elements. These functions are what the methods do in the usual case, through CPython's C
interface: take the wrapped arrays, let CPython apply the operator, wrap the result. In any other
case they call the Python method. Having no Python frame, they are not seen by warnings either,
which NumPy gives at the user's line.

    lf_NAME(self, other)     a binary operator; `other` is of the class, or a number
    lf_iNAME(self, other)    an in-place operator
    lf_NAME(self, NULL)      a unary operator
    lf_item(self, key)       self[key] for integers, slices, ... and None
    lf_missing(self, name)   what a slot of an array does not have yet
    lf_call(self, args...)   a ufunc on arrays of the class and numbers
    lf_NAME_method(self, args...)   any other method of NumPy's arrays
    lf_function(self, args...)      a function of the namespace
    lf_product(self, args...)       a ufunc over whole vectors or matrices
    lf_class_attribute(kind, name)  what the class has by a name

An array of the engine has no array inside: on it they record, by recipes (`record.py`). Operations
that a program repeats are put off (`defer_text.py`).
Operators, ufuncs and reductions of a few hundred elements are computed here, without NumPy
(`methods_quick_text.py`).
`lf_table` is filled in by whoever loads the code (`runtime/native.py`): addresses of types and
where a wrapper keeps its parts. Sources: PyArrayObject_fields of NumPy's ndarraytypes.h (data at
16, nd at 24, dimensions at 32, base at 48, descr at 56, flags at 64), PyArray_Descr of the same
(byteorder at 26, type_num at 28), PyUFuncObject of its ufuncobject.h (nin at 16), PyObject of
CPython's object.h (ob_type at 8), all without a free-threaded or debugging build;
`runtime/native.py` looks at each.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu import record

#: Places of the table.
CLASS, NDARRAY, NONE, HOST, OWNER, UFUNC, RECIPES, CODE = range(8)
FLOAT, INT, SLICE, TUPLE, ELLIPSIS, NONE_TYPE, FLOAT64, INT64 = range(8, 16)
#: After them, the Python method of each function, in the order of `FUNCTIONS`; then its recipes;
#: then the objects of `record.OBJECTS`.
METHODS = 16

#: Operators by the C function of CPython that applies them.
BINARY: Mapping[str, str] = {
    "add": "PyNumber_Add", "sub": "PyNumber_Subtract", "mul": "PyNumber_Multiply",
    "truediv": "PyNumber_TrueDivide", "and": "PyNumber_And", "or": "PyNumber_Or",
    "xor": "PyNumber_Xor", "floordiv": "PyNumber_FloorDivide", "mod": "PyNumber_Remainder",
    "lshift": "PyNumber_Lshift", "rshift": "PyNumber_Rshift",
}  # fmt: skip
#: Comparisons by their number in CPython's object.h.
COMPARISONS: Mapping[str, int] = {"lt": 0, "le": 1, "eq": 2, "ne": 3, "gt": 4, "ge": 5}
UNARY: Mapping[str, str] = {"neg": "PyNumber_Negative", "invert": "PyNumber_Invert",
                                "abs": "PyNumber_Absolute"}  # fmt: skip

#: Methods that are called by name.
NAMED = tuple(
    f"{name}_method"
    for name in (
        "sum prod max min any all mean var std argmax argmin cumsum cumprod astype copy reshape "
        "ravel transpose squeeze swapaxes flatten round clip fill item tolist repeat diagonal "
        "argsort nonzero take dot searchsorted conj conjugate view tobytes sort partition trace"
    ).split()
)
#: Operators whose operands need not have one shape.
OPERATORS = ("matmul", "rmatmul")
FUNCTIONS = (
    *BINARY,
    *(f"r{name}" for name in BINARY),
    *(f"i{name}" for name in BINARY),
    *COMPARISONS,
    *UNARY,
    *"item missing set_item len iter array_ufunc power call function product".split(),
    "class_attribute",
    *OPERATORS,
    *NAMED,
)
#: The C functions that take no arguments.
WITHOUT_ARGUMENTS = frozenset((*UNARY, "len", "iter"))
#: The C functions that take positional arguments and keywords.
WITH_KEYWORDS = frozenset(
    ("set_item", "array_ufunc", "power", "call", "function", "product", *NAMED)
)
#: Objects of the table beside those of `record.OBJECTS`: where functions keep their parts; types
#: and functions that are asked. After them the types of plain arguments, then NumPy's own
#: methods and operators by name.
OBJECTS = (
    *record.OBJECTS,
    *("FUNCTION_SIZE", "FUNCTION_ENGINE", "FUNCTION_RULE", "FUNCTION_VIEWS"),
    *("LIST", "DTYPE", "GENERIC", "LIFT", "OWN_WORDS", "OF_SHAPE"),
    *("GET_ITEM", "STORAGE_WEAK", "WEAK_NEXT"),
    *("KERNELS", "NUMPYS", "INTO", "LEARNED", "EMPTY_LIKE", "ABSOLUTE", "POWER", "SQUARES"),
    *("OUT", "ALL", "AXIS", "KEEPDIMS", "ENTER", "ENTERED"),
    *("CPU", "RECORDINGS", "DTYPES", "NEW_ARRAY", "SET_BASE", "NEW_SCALAR", "NEW_COPY"),
    *("MATRIX_PRODUCT", "AS_SCALAR", "DOT"),
    *("BOOL", "RENEW", "UFUNCS", "MATMUL", "CALL_NAME", "LISTENING", "MESSAGES", "TELL", "FORGET"),
    *("WRITE_OUT", "ADOPTED", "MEMORY_BLOCK", "AS_ARRAY", "COUNT_NONZERO"),
    *("COMPUTE_MASK", "FILTERED", "LEFT_OF", "FRAME_MEMORY", "FIRST_VARIABLE"),
    *("NUMPY_NAMES", "TYPE_ATTRIBUTE"),
    *("NAME_IN_STATE", "NAME_IN_INNER", "NAME_IN_CODE", "NAME_IN_NAME", "ARRAY_NAME"),
    *("STEPS", "STEPS_ARRAY", "STEPS_LINE", "STEPS_REST", "LEAVE", "TOLD", "WEIGHTS"),
    *("DELETE_ITEM", "VECTOR", "NAMED_CALL", "NAMED_FUNCTION", "NAMED_PRODUCT"),
    *("ARRAY", "ZEROS", "ONES", "EMPTY_ARRAY", "ARANGE", "COPY", "AS_ANY_ARRAY", "DTYPE_NAME"),
    *("TYPE", "TEXT", "RAVEL", "RESHAPES", "CASTS_OF_PARTS", "RANGE"),
    *("SHAPE_OF", "NDIM_OF", "SIZE_OF", "LINES", "ROWS", "DENSE", "COPY_NAME"),
)
#: Functions of calls, and the objects that are called where there are keywords.
CALLS: Mapping[str, str] = {
    name: f"NAMED_{name.upper()}" for name in "call function product".split()
}
#: What CPython calls at once in the place of methods (`methods_slots_text.py`).
SLOTS: Mapping[str, str] = {
    **{name: f"slot_{name.removeprefix('r')}" for name in OPERATORS},
    **{f"{side}{name}": f"slot_{name}" for name in BINARY for side in ("", "r")},
    **{f"i{name}": f"i{name}" for name in BINARY},
    **dict.fromkeys(COMPARISONS, "slot_compare"),
    **{name: f"slot_{name}" for name in (*UNARY, *CALLS, "iter", "len", "set_item")},
    "item": "item",
}
#: The functions of `rows_text.py`.
ROWS = ("lf_rows", "lf_rows_copy", "lf_line_copy", "lf_line_fill", "lf_line_where",
        "lf_line_count", "lf_line_pick")  # fmt: skip
