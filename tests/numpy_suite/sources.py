"""What the source of one of NumPy's tests says: its nodes, names and private modules."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from tests.numpy_suite.rewrite import is_private

#: Principle -> the names and attributes that only its tests use.
NAMES: dict[str, set[str]] = {
    "object": {"object_", "Decimal", "Fraction", "rational"},
    "structured": {
        *("void", "record", "recarray", "recfunctions", "fromrecords", "rec", "rfn", "names"),
        *("fields", "isalignedstruct"),
    },
    "string": {
        *("str_", "bytes_", "char", "strings", "chararray", "StringDType", "stringdtype"),
        *("character", "flexible"),
    },
    "datetime": {
        *("datetime64", "timedelta64", "isnat", "busday_count", "busday_offset", "is_busday"),
        *("busdaycalendar", "datetime_data", "datetime_as_string", "timedelta"),
    },
    "subclass": {
        *("matrix", "asmatrix", "bmat", "matlib", "ma", "masked_array", "MaskedArray", "memmap"),
        *("masked", "__array_finalize__", "__array_wrap__", "__array_prepare__"),
    },
    "references": {
        *("getrefcount", "gc", "weakref", "HAS_REFCOUNT", "_assert_valid_refcount", "tracemalloc"),
        *("assert_no_gc_cycles", "break_cycles", "getsizeof", "__sizeof__"),
    },
    "buffer": {
        *("memoryview", "ctypes", "__array_interface__", "__array_struct__", "ndpointer", "mmap"),
        *("shared_memory", "_gen_alignment_data", "ctypeslib"),
    },
    "compiler": {"extbuild", "cython", "Cython", "sysconfig"},
}

#: Text that names a dtype wherever it stands. One letter alone counts in a dtype's place only.
_TEXT = {
    "object": r"[|<>=]O|O[48]|object_?",
    "structured": r"[|<>=]?V\d+|void\d*|[|<>=]V",
    "string": r"[|<>=]?[SU]\d+|[|<>=][SU]|str_?|bytes_?|unicode_?|string",
    "datetime": r"[|<>=]?[Mm]8(\[.*\])?|datetime64(\[.*\])?|timedelta64(\[.*\])?|NaT|nat",
}
LETTERS = {"O": "object", "V": "structured", "S": "string", "U": "string", "T": "string",
            "M": "datetime", "m": "datetime"}  # fmt: skip
_TYPECODES = re.compile(r"[?bBhHiIlLqQpPefdgFDGOSUVMm]{4,}")
_RECORD_TEXT = re.compile(
    r"[^a-z]*[|<>=]?[a-zA-Z?]\d*(\s*,\s*(\(.*?\)|\d*)[|<>=]?[a-zA-Z?]\d*)+,?"
)
_SHAPED = ("zeros", "ones", "empty", "fromiter", "frombuffer")
_MAKERS = ("array", "asarray", "asanyarray", "full", "ascontiguousarray")


def principles_of(root: ast.AST, private: dict[str, Any]) -> Iterator[str]:
    """The principles that a definition falls under."""
    for node in walk(root):
        yield from _of_names(node)
        yield from _of_calls(node)
        if isinstance(node, ast.ClassDef):
            yield from _of_bases(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from of_text(node.value)
        if _is_private_use(node, private):
            yield "private"


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """All nodes but the values of cases, which are judged one by one."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.Call) and _last(node.func) == "parametrize":
            continue
        pending += ast.iter_child_nodes(node)


def _last(node: ast.expr) -> str:
    """The last word of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _of_names(node: ast.AST) -> Iterator[str]:
    """Names and attributes that only a principle's tests use."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    if name is None or not isinstance(getattr(node, "ctx", None), ast.Load):
        return
    for principle, names in NAMES.items():
        if name in names:
            yield principle
    if isinstance(node, ast.Name) and name == "object":
        yield "object"
    if isinstance(node, ast.Attribute) and name == "data" and _last(node.value) != "self":
        yield "buffer"


def _of_bases(node: ast.ClassDef) -> Iterator[str]:
    """Classes made from NumPy's own."""
    for base in node.bases:
        text = ast.unparse(base)
        is_scalar = text.startswith("np.") and isinstance(getattr(np, text[3:], None), type)
        if text.endswith("ndarray") or is_scalar:
            yield "subclass"


def of_text(text: str) -> Iterator[str]:
    for principle, pattern in _TEXT.items():
        if re.fullmatch(pattern, text):
            yield principle
    if _TYPECODES.fullmatch(text):
        yield from (LETTERS[letter] for letter in text if letter in LETTERS)


def _of_calls(node: ast.AST) -> Iterator[str]:
    """dtypes and elements given to calls, `typecodes["All"]`, lists that are records."""
    if isinstance(node, ast.Subscript) and _last(node.value) == "typecodes":
        kinds = np.typecodes.get(getattr(node.slice, "value", ""), "")
        yield from (LETTERS[letter] for letter in kinds if letter in LETTERS)
    if isinstance(node, ast.List) and any(map(_is_field, node.elts)):
        yield "structured"
    if not isinstance(node, ast.Call):
        return
    for value in _dtype_places(node):
        yield from _of_dtype(value)
    if _last(node.func) in _MAKERS and node.args:
        yield from _of_elements(node.args[0])
    for keyword in node.keywords:
        if keyword.arg == "subok" and getattr(keyword.value, "value", None) is True:
            yield "subclass"
        if keyword.arg == "buffer":
            yield "buffer"


def _dtype_places(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments that are dtypes: `dtype=`, of `astype`, `np.dtype`, the second of makers."""
    yield from (item.value for item in call.keywords if item.arg in ("dtype", "dtypes"))
    function = _last(call.func)
    if function in ("astype", "dtype", "view") and call.args:
        yield call.args[0]
    if function in (*_MAKERS, *_SHAPED) and call.args[1:]:
        yield call.args[1]


def _of_dtype(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Name) and value.id in ("str", "bytes"):
        yield "string"
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        text = value.value
        if text.lstrip("|<>=") in LETTERS:
            yield LETTERS[text.lstrip("|<>=")]
        elif _RECORD_TEXT.fullmatch(text):
            yield "structured"
    if isinstance(value, ast.Dict | ast.List):
        yield "structured"


def _of_elements(value: ast.expr) -> Iterator[str]:
    """Strings and None as elements."""
    for node in ast.walk(value) if isinstance(value, ast.List | ast.Tuple) else (value,):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield "string"
        if isinstance(node, ast.Constant) and node.value is None:
            yield "object"


def _is_field(node: ast.expr) -> bool:
    """Tell whether a tuple is a field of a record: a name and a dtype."""
    if not isinstance(node, ast.Tuple) or len(node.elts) not in (2, 3):
        return False
    name, kind = node.elts[:2]
    is_name = isinstance(name, ast.Constant) and isinstance(name.value, str)
    text = kind.value if isinstance(kind, ast.Constant) else None
    is_kind = isinstance(kind, ast.Name) and kind.id in ("int", "float", "complex", "bool")
    is_kind |= isinstance(kind, ast.Attribute) and isinstance(getattr(np, kind.attr, None), type)
    is_kind |= isinstance(text, str) and re.fullmatch(r"[|<>=]?[a-zA-Z?]\d*", text) is not None
    return is_name and is_kind


# --- private modules ----------------------------------------------------------------------------


def private_names(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Names bound to private modules or to objects of theirs, with what they are in NumPy."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname and _is_numpy_internal(alias.name):
                    yield alias.asname, importlib.import_module(alias.name)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            for alias in node.names:
                if _is_numpy_internal(f"{module}.{alias.name}") or _is_numpy_internal(module):
                    yield alias.asname or alias.name, _imported(module, alias.name)


def _is_numpy_internal(module: str) -> bool:
    """Tell whether a module is private, the helpers of the tests themselves left out."""
    helpers = ("numpy.testing", "numpy._core.tests", "numpy.ma")
    return module.startswith("numpy.") and not module.startswith(helpers) and is_private(module)


def is_internal(value: Any) -> bool:
    """Tell whether an attribute of a test's class is a private module."""
    return _is_module(value) and is_private(value.__name__)


def _imported(module: str, name: str) -> Any:
    found = importlib.import_module(module)
    try:
        return getattr(found, name)
    except AttributeError:
        return importlib.import_module(f"{module}.{name}")


def _is_private_use(node: ast.AST, private: dict[str, Any]) -> bool:
    """Tell whether a node uses a private object that is not public under another name."""
    if isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id in ("np", "numpy"):
            return node.attr.startswith("_") and not node.attr.startswith("__")
        if isinstance(node.value, ast.Name) and node.value.id in private:
            value = getattr(private[node.value.id], node.attr, None)
            return not _is_module(private[node.value.id]) or not is_public(value)
        return False
    if isinstance(node, ast.Name) and node.id in private:
        return not _is_module(private[node.id]) and not is_public(private[node.id])
    return False


def _is_module(value: Any) -> bool:
    return type(value) is type(np)


def is_public(value: Any) -> bool:
    """Tell whether an object is one of NumPy's public names, or plain data."""
    if isinstance(value, bool | int | float | str | dict | list | tuple):
        return True
    return id(value) in _public_ids()


@cache
def _public_ids() -> frozenset[int]:
    spaces = (np, np.linalg, np.lib, np.lib.stride_tricks, np.lib.mixins, np.exceptions, np.fft)
    spaces += (np.random, np.dtypes, np.lib.array_utils, np.lib.format, np.lib.npyio)
    return frozenset(
        id(getattr(space, name)) for space in spaces for name in dir(space) if name[0] != "_"
    )


# --- reading a module ---------------------------------------------------------------------------


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements of a module, those inside `if` and `try` too."""
    pending: list[ast.AST] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            pending += ast.iter_child_nodes(node)


def defined(node: ast.AST) -> list[str]:
    """The names that a statement defines."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign():
            return [n.id for target in node.targets for n in ast.walk(target)
                    if isinstance(n, ast.Name)]  # fmt: skip
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def mentioned(node: ast.AST) -> list[str]:
    """The names, attributes of self and arguments that a definition mentions."""
    names = []
    for child in walk(node):
        match child:
            case ast.Name(id=name):
                names.append(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                names.append(name)
            case ast.arg(arg=name):
                names.append(name)
    return names
