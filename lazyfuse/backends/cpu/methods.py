"""Operators of small arrays in machine code.

An object that wraps a NumPy array spends more in its Python methods than NumPy spends on a few
hundred elements. These functions are what the methods do in the usual case, through CPython's C
interface: take the wrapped arrays, let CPython apply the operator, wrap the result. In any other
case they call the Python method. Having no Python frame, they are not seen by warnings either,
which NumPy gives at the user's line.

    lf_NAME(self, other)     a binary operator; `other` is of the class, or a number
    lf_iNAME(self, other)    an in-place operator
    lf_NAME(self, NULL)      a unary operator
    lf_item(self, key)       self[key] for integers, slices, ... and None
    lf_call(self, args...)   a ufunc on arrays of the class and numbers

`lf_table` is filled in by whoever loads the code (`runtime/native.py`): addresses of types and
where a wrapper keeps its parts. Sources: PyArrayObject_fields of NumPy's ndarraytypes.h (nd at 24,
dimensions at 32), PyUFuncObject of its ufuncobject.h (nin at 16), PyObject of CPython's object.h
(ob_type at 8), all without a free-threaded or debugging build.
"""

from __future__ import annotations

from collections.abc import Mapping

from lazyfuse.backends.cpu import methods_text as templates

#: Places of the table.
CLASS, NDARRAY, NONE, HOST, OWNER, UFUNC = range(6)
FLOAT, INT, SLICE, TUPLE, ELLIPSIS, NONE_TYPE, FLOAT64, INT64 = range(6, 14)
#: After them, the Python method of each function, in the order of `FUNCTIONS`.
METHODS = 14

#: Operators by the C function of CPython that applies them.
BINARY: Mapping[str, str] = {
    "add": "PyNumber_Add", "sub": "PyNumber_Subtract", "mul": "PyNumber_Multiply",
    "truediv": "PyNumber_TrueDivide", "and": "PyNumber_And", "or": "PyNumber_Or",
    "xor": "PyNumber_Xor",
}  # fmt: skip
#: Comparisons by their number in CPython's object.h.
COMPARISONS: Mapping[str, int] = {"lt": 0, "le": 1, "eq": 2, "ne": 3, "gt": 4, "ge": 5}
UNARY: Mapping[str, str] = {"neg": "PyNumber_Negative", "invert": "PyNumber_Invert"}

FUNCTIONS = (
    *BINARY,
    *(f"r{name}" for name in BINARY),
    *(f"i{name}" for name in BINARY),
    *COMPARISONS,
    *UNARY,
    "item",
    "call",
)


def text() -> str:
    """The module, for LLVM."""
    places = {
        "size": METHODS + len(FUNCTIONS), "none": NONE, "ndarray": NDARRAY, "class_": CLASS,
        "host": HOST, "owner": OWNER, "float_": FLOAT, "int_": INT, "slice_": SLICE,
        "tuple_": TUPLE, "ellipsis": ELLIPSIS, "none_type": NONE_TYPE, "ufunc": UFUNC,
        "float64": FLOAT64, "int64": INT64,
    }  # fmt: skip
    parts = [templates.HEAD.format(**places)]
    method = {name: METHODS + number for number, name in enumerate(FUNCTIONS)}
    for name, function in BINARY.items():
        in_place = function.replace("PyNumber_", "PyNumber_InPlace")
        parts += [f"declare ptr @{function}(ptr, ptr)", f"declare ptr @{in_place}(ptr, ptr)"]
        forward, backward = "(ptr %host, ptr %operand)", "(ptr %operand, ptr %host)"
        for prefix, call, done, any_shape in (
            ("", f"@{function}{forward}", templates.WRAP, "false"),
            ("r", f"@{function}{backward}", templates.WRAP, "false"),
            ("i", f"@{in_place}{forward}", templates.SAME, "true"),
        ):
            own = prefix + name
            parts.append(
                templates.BINARY.format(
                    name=own,
                    call=call,
                    done=done,
                    any_shape=any_shape,
                    method=method[own],
                    host=HOST,
                )
            )
    for name, number in COMPARISONS.items():
        call = f"@PyObject_RichCompare(ptr %host, ptr %operand, i32 {number})"
        how = {"call": call, "done": templates.WRAP, "any_shape": "false"}
        parts.append(templates.BINARY.format(name=name, method=method[name], host=HOST, **how))
    for name, function in UNARY.items():
        parts.append(f"declare ptr @{function}(ptr)")
        parts.append(
            templates.UNARY.format(name=name, function=function, method=method[name], host=HOST)
        )
    parts.append(templates.ITEM.format(method=method["item"], **places))
    parts.append(templates.CALL.format(method=method["call"], **places))
    return "\n".join(parts)
