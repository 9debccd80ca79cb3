"""All 56 pitfalls have tests that carry their numbers: what each is about, its tests say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
COUNT = 56


def numbered() -> dict[int, list[str]]:
    """Return the names of the tests of each pitfall: `test_p07_...` is one of number 7."""
    found: dict[int, list[str]] = {}
    for path in sorted(FOLDER.glob("test_pitfalls_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in re.findall(r"(?<=_)p(\d\d)(?=_)", node.name):
                    found.setdefault(int(number), []).append(f"{path.name}::{node.name}")
    return found


def test_every_pitfall_has_a_test() -> None:
    """None is missing, and no number is invented."""
    assert sorted(numbered()) == list(range(1, COUNT + 1))


def test_every_test_of_a_pitfall_says_where_it_was_met() -> None:
    """Each names the project that reported it, or the file where the rest of it is tested."""
    silent = []
    for path in sorted(FOLDER.glob("test_pitfalls_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_p"):
                text = ast.get_docstring(node) or ""
                if not re.search(r"#\d+|[A-Za-z]+: |numexpr|CuPy|cupy", text):
                    silent.append(node.name)
    assert not silent
