"""Makes a failing program small: fewer statements, then simpler ones."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as host

from tests.fuzz import rules
from tests.fuzz.code import compiled

Fails = Callable[[Sequence[str]], bool]


def shrink(lines: Sequence[str], fails: Fails, seconds: float = 30.0) -> list[str]:
    """Return a smaller program that still fails; what the rules exclude is no program."""
    end = time.monotonic() + seconds
    best, before = list(lines), None
    while best != before and time.monotonic() < end:
        before = best
        for propose in (_shorter, _renamed, _simpler):
            best = _improve(best, propose, fails, end)
    return best


def _improve(
    lines: list[str], propose: Callable[[list[str]], Iterator[list[str]]], fails: Fails, end: float
) -> list[str]:
    """Take the first proposal that fails, and go on from there."""
    found: list[str] | None = lines
    while found is not None and time.monotonic() < end:
        lines, found = found, None
        for candidate in propose(lines):
            if time.monotonic() > end:
                break
            if _is_allowed(candidate) and fails(candidate):
                found = candidate
                break
    return lines


def _is_allowed(lines: Sequence[str]) -> bool:
    names: dict[str, Any] = {"np": host}
    with host.errstate(all="ignore"):
        for line in lines:
            if rules.excluded(line, names):
                return False
            try:
                exec(compiled(line), names)  # noqa: S102 - text made by the fuzzer
            except Exception:  # noqa: BLE001, S112 - part of the program
                continue
    return all(isinstance(value, _VALUES) for name, value in names.items() if name[0] in "uv")


#: What variables may hold; programs do not become bound methods on their way to be small.
_VALUES = (host.ndarray, host.generic, bool, int, float, complex)


def _shorter(lines: list[str]) -> Iterator[list[str]]:
    """Propose to drop runs of statements, long runs first, the last ones first."""
    length = len(lines) // 2
    while length:
        for start in range(len(lines) - length, -1, -1):
            yield lines[:start] + lines[start + length :]
        length = min(length // 2, 8)


def _renamed(lines: list[str]) -> Iterator[list[str]]:
    """Propose to drop second names."""
    for number, line in enumerate(lines):
        names = re.fullmatch(r"(\w+) = ([a-z]\w*)", line)
        if names:
            word = re.compile(rf"\b{names[1]}\b")
            rest = [word.sub(names[2], text) for text in lines[number + 1 :]]
            yield [*lines[:number], *rest]


def _simpler(lines: list[str]) -> Iterator[list[str]]:
    """Propose to replace an expression by a part of it, or a number by a smaller one."""
    for number in range(len(lines) - 1, -1, -1):
        for text in _variants(lines[number]):
            if len(text) < len(lines[number]):
                yield [*lines[:number], text, *lines[number + 1 :]]


def _variants(line: str) -> Iterator[str]:
    count = sum(isinstance(node, ast.expr) for node in ast.walk(ast.parse(line)))
    for position in range(count):
        for choice in range(12):
            text = _replaced(line, position, choice)
            if text is None:
                break
            yield text


def _replaced(line: str, position: int, choice: int) -> str | None:
    """Replace the expression at a position by its part `choice`; None when it has fewer parts."""
    tree = ast.parse(line)
    expressions = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    chosen = expressions[position]
    parts = list(_parts(chosen))
    if choice >= len(parts):
        return None
    replacement = parts[choice]

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return replacement if node is chosen else self.generic_visit(node)

    try:
        text = ast.unparse(ast.fix_missing_locations(Replace().visit(tree)))
        compile(text, "<shrunk>", "exec")
    except (SyntaxError, ValueError, AttributeError):
        return ""  # a target that cannot be assigned to; the empty text is no candidate
    return text


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call) and node.keywords:
        for index in range(len(node.keywords)):
            rest = node.keywords[:index] + node.keywords[index + 1 :]
            yield ast.Call(node.func, node.args, rest)
    if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 1:
        for index in range(len(node.elts)):
            yield type(node)(node.elts[:index] + node.elts[index + 1 :], node.ctx)
    if isinstance(node, ast.Slice):
        yield ast.Slice(None, None, node.step)
        yield ast.Slice(node.lower, node.upper, None)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from () if _is_module(node.func.value) else (node.func.value,)
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(node, ast.Call) and child is node.func
        if isinstance(child, ast.expr) and not is_function and not _is_module(child):
            yield child


def _is_module(node: ast.expr) -> bool:
    """Whether an expression is np, or a function of it."""
    inner = node.value if isinstance(node, ast.Attribute) else node
    return isinstance(inner, ast.Name) and inner.id == "np"


def script(lines: Sequence[str], mode: object, problems: Sequence[str]) -> str:
    """Return a failing program as a script that can be pasted."""
    body = "\n".join(f"    {line}" for line in lines)
    told = "\n".join(f"# {text[:200]}" for text in problems[:6])
    return f"{told}\n# in {mode}\ndef program(np):\n{body}\n    return locals()\n"
