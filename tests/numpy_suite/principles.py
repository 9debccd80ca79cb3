"""Which of NumPy's tests look at what only NumPy's own memory can have.

A test is kept out by what its own source uses: its body, the helpers, constants and fixtures of
its module that it reaches, and the values of its case. Never by its name: see `PRINCIPLES`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.numpy_suite.sources import (
    LETTERS,
    NAMES,
    defined,
    is_internal,
    mentioned,
    of_text,
    principles_of,
    private_names,
    statements,
)

#: Principle -> what it says; in the order in which they are asked.
PRINCIPLES = {
    "object": "arrays of Python objects, which are pointers and reference counts",
    "structured": "structured dtypes, void and records",
    "string": "strings and bytes as elements",
    "datetime": "dates and time differences as elements",
    "subclass": "subclasses of ndarray: matrix, masked arrays, memmap, and the test's own",
    "private": "names of private modules that are not NumPy's public objects under another name",
    "references": "reference counts, garbage collection and the size of objects in memory",
    "buffer": "the layout of memory for C: buffers, ctypes, the array interface",
    "compiler": "extension modules compiled by the test",
}


class Principles:
    """The principles on one module, read once."""

    def __init__(self, path: Path) -> None:
        self.tree = ast.parse(path.read_text())
        self.names = {name: node for node in statements(self.tree) for name in defined(node)}
        self.private = dict(private_names(self.tree))
        self._of_source: dict[tuple[str | None, str], str | None] = {}
        self._of_definition: dict[ast.AST, frozenset[str]] = {}
        self._mentions: dict[ast.AST, list[str]] = {}

    def of(self, item: pytest.Item) -> str | None:
        """The principle that keeps a test out, or None."""
        function = getattr(item, "originalname", item.name)
        owner = item.cls.__name__ if getattr(item, "cls", None) is not None else None
        callspec = getattr(item, "callspec", None)
        for value in callspec.params.values() if callspec is not None else ():
            found = of_value(value)
            if found:
                return found
        key = (owner, function)
        if key not in self._of_source:
            internal = owner is not None and any(map(is_internal, vars(item.cls).values()))
            self._of_source[key] = "private" if internal else self.of_source(owner, function)
        return self._of_source[key]

    def of_source(self, owner: str | None, function: str) -> str | None:
        """The principle that the source of a test falls under, whatever its cases."""
        found = {why for node in self._reached(owner, function) for why in self._of_node(node)}
        return next((principle for principle in PRINCIPLES if principle in found), None)

    def _of_node(self, root: ast.AST) -> frozenset[str]:
        """The principles of a definition, found once."""
        if root not in self._of_definition:
            self._of_definition[root] = frozenset(principles_of(root, self.private))
        return self._of_definition[root]

    def _reached(self, owner: str | None, function: str) -> Iterator[ast.AST]:
        """The nodes of a test: its function, and all of its module that they name."""
        members = self._members(owner)
        pending = [function, *(n for n in members if n.startswith(("setup", "teardown")))]
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            node = members.get(name) or self.names.get(name)
            if node is None:
                continue
            yield node
            if node not in self._mentions:
                self._mentions[node] = mentioned(node)
            pending += self._mentions[node]

    def _members(self, owner: str | None) -> dict[str, ast.AST]:
        """The definitions in a class and in its bases of this module."""
        node = self.names.get(owner or "")
        if not isinstance(node, ast.ClassDef):
            return {}
        members: dict[str, ast.AST] = {}
        for base in node.bases:
            members |= self._members(ast.unparse(base))
        return members | {name: item for item in node.body for name in defined(item)}


def of_value(value: Any, depth: int = 0) -> str | None:
    """The principle that a value among a case's parameters falls under."""
    if isinstance(value, np.dtype):
        return LETTERS.get(value.kind) if value.isbuiltin != 2 else "private"
    if isinstance(value, type):
        return _of_type(value)
    if isinstance(value, np.ndarray | np.generic):
        is_subclass = isinstance(value, np.ndarray) and type(value) is not np.ndarray
        return "subclass" if is_subclass else of_value(value.dtype)
    if isinstance(value, str):
        return LETTERS.get(value) or next(of_text(value), None)
    if isinstance(value, list | tuple | set) and depth < 3:
        if _is_record(value):
            return "structured"
        return next((found for item in value if (found := of_value(item, depth + 1))), None)
    if type(value).__name__ in NAMES["object"]:
        return "object"
    return None


def _is_record(value: Any) -> bool:
    return isinstance(value, list) and any(
        isinstance(item, tuple) and len(item) in (2, 3) and isinstance(item[0], str)
        and isinstance(item[1], str | type | np.dtype) for item in value
    )  # fmt: skip


def _of_type(value: type) -> str | None:
    if value in (object, str, bytes):
        return "object" if value is object else "string"
    if issubclass(value, np.generic):
        if value.__module__ != "numpy" or value.__name__ == "rational":
            return "private"
        if value in (np.generic, np.flexible, np.character):
            return "string"
        is_abstract = value in (np.number, np.integer, np.inexact, np.floating, np.complexfloating)
        is_abstract |= value in (np.signedinteger, np.unsignedinteger)
        return None if is_abstract else LETTERS.get(np.dtype(value).kind)
    if issubclass(value, np.ndarray) and value is not np.ndarray:
        return "subclass"
    if issubclass(value, np.dtype) and value is not np.dtype:
        letter = {"ObjectDType": "O", "VoidDType": "V", "StrDType": "U", "BytesDType": "S",
                  "DateTime64DType": "M", "TimeDelta64DType": "m", "StringDType": "T"}  # fmt: skip
        return LETTERS.get(letter.get(value.__name__, ""))
    return None
