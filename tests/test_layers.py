"""Imports go downward only, and files stay small: an AST walk over a literal table.

The layers are those of CONTRIBUTING.md. An import the table does not name fails, also under
`if TYPE_CHECKING`, so that the picture stays true for readers as well as for the machine.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "lazyfuse"

BASE = {
    "errors",
    "config",
    "events",
    "digests",
    "sources",
    "collecting",
    "interrupts",
    "forks",
    "locks",
    "processors",
}
IR = BASE | {"ops", "ir"}
BACKEND = IR | {"backends.base"}
ENGINE = BACKEND | {
    *("passes", "schedule", "lower", "cache", "backends"),
    *("backends.cpu", "backends.cuda", "backends.cuda_host", "backends.cuda_ptx"),
    "backends.reference",
    "backends.driver",
}
EVERYTHING = ENGINE | {"runtime", "frontend", "observe", "integrations", "testing"}

#: What each part may import, besides itself. Parts of one layer never import each other.
ALLOWED: dict[str, set[str]] = {
    # L0: the standard library only
    "errors": set(),
    "locks": set(),
    "forks": {"locks"},
    "events": {"forks", "locks"},
    "digests": set(),
    "collecting": set(),
    "processors": set(),
    "interrupts": {"collecting"},
    "sources": {"digests", "interrupts"},
    "config": {"errors"},
    # L1, L2
    "ops": BASE,
    "ir": BASE | {"ops"},
    # L3: they share only the types of ir
    "passes": IR,
    "schedule": IR,
    "lower": IR,
    # L4: backends see kernels and buffers, never the graph's passes, the scheduler or each other
    "backends": {"backends.base"},
    "backends.base": IR,
    "backends.driver": set(),
    "backends.cpu": BACKEND,
    "backends.cuda": BACKEND | {"backends.driver"},
    "backends.reference": BACKEND,
    # run the CUDA text without a GPU: the only edges between backends
    "backends.cuda_host": BACKEND | {"backends.cuda"},
    "backends.cuda_ptx": BACKEND | {"backends.cuda"},
    "cache": BACKEND,
    # L5
    "runtime": ENGINE,
    # L6: records, and asks the runtime to run
    "frontend": IR | {"runtime"},
    # L7: leaves
    # modules of NumPy's names, and its assertions
    "linalg": {"frontend"},
    "fft": {"frontend"},
    "random": {"frontend"},
    "testing": {"frontend"},
    "array_api": {"frontend"},
    "observe": EVERYTHING,
    "integrations": EVERYTHING,
    "__main__": {"integrations"},
    "": EVERYTHING,
}

#: Where each package from outside may be imported; NumPy everywhere above L0.
OUTSIDE: dict[str, tuple[str, ...]] = {
    "numpy": ("",),
    "llvmlite": ("backends/cpu/jit.py",),
    "cupy": ("backends/cuda/", "backends/cuda_host/"),
    "cupy_backends": ("backends/cuda/",),
    "cupyx": ("backends/cuda/",),
    "cachetools": ("cache/memory.py",),
    "platformdirs": ("cache/disk.py",),
    "pyarrow": ("frontend/exchange.py",),
    "numba": ("frontend/jitted.py",),
    "dask": ("integrations/dask.py",),
    "distributed": ("integrations/dask.py",),
    "graphviz": ("observe/picture.py",),
}

#: Own parts that are chosen when they are needed, most of which import an optional package at
#: their top; they may be imported in functions.
OPTIONAL_PARTS = {
    *("runtime.planner", "frontend.deferred", "frontend.fused"),  # which many programs do not need
    "frontend.jitted",
    *("backends.cpu", "backends.cuda", "backends.cuda_host", "backends.cuda_ptx"),
    "backends.reference",
    *("integrations", "observe"),
}
#: Those that may be imported in functions; platformdirs, because it takes long and is seldom
#: asked.
OPTIONAL_PACKAGES = set(OUTSIDE) - {"numpy", "cachetools"}

FILE_LINES, TABLE_LINES, FUNCTION_LINES = 400, 600, 60
TABLES = ("ops/table", "backends/cpu/vecmath/", "frontend/namespace.py")


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module: where, whether inside a function, and whether for types only."""

    target: str
    line: int
    in_function: bool
    types_only: bool


def files() -> list[Path]:
    """List the package's modules."""
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """Give a file's path inside the package."""
    return path.relative_to(PACKAGE).as_posix()


def module_of(path: Path) -> str:
    """Give a file's dotted name inside the package; the package itself is empty."""
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """Give the part of the table that a module belongs to."""
    parts = module.split(".")
    if parts[0] == "backends":
        return ".".join(parts[:2])
    return parts[0]


def base_of(node: ast.ImportFrom, path: Path) -> str:
    """Give the absolute module of a `from` import."""
    if node.level == 0:
        return node.module or ""
    folder = ["lazyfuse", *path.relative_to(PACKAGE).parent.parts]
    anchor = folder[: len(folder) - node.level + 1]
    return ".".join([*anchor, *([node.module] if node.module else [])])


def targets(node: ast.Import | ast.ImportFrom, path: Path) -> list[str]:
    """List the modules that a statement imports: submodules by their own name."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = base_of(node, path)
    folder = ROOT.joinpath(*base.split("."))
    return [
        f"{base}.{alias.name}"
        if (folder / alias.name).is_dir() or (folder / f"{alias.name}.py").is_file()
        else base
        for alias in node.names
    ]


@cache
def tree_of(path: Path) -> ast.Module:
    """Parse a file."""
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """List the imports of a file."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    pending: list[tuple[ast.AST, bool, bool]] = [(tree_of(path), False, False)]
    while pending:
        node, in_function, types_only = pending.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in targets(node, path):
                yield Import(target, node.lineno, in_function, types_only)
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        typed = types_only or is_type_checking(node)
        pending += [(child, inside, typed) for child in ast.iter_child_nodes(node)]


def is_type_checking(node: ast.AST) -> bool:
    """Tell whether a statement is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def every_import() -> Iterator[tuple[Path, Import]]:
    """Walk the imports of all modules."""
    for path in files():
        for item in imports(path):
            yield path, item


def own_imports(path: Path) -> Iterator[tuple[Import, str]]:
    """Walk the imports of the package's own modules, with their dotted names inside it."""
    for item in imports(path):
        top, _, rest = item.target.partition(".")
        if top == "lazyfuse":
            yield item, rest


def test_imports_go_downward() -> None:
    """Each import between parts is an edge of the table."""
    wrong = []
    for path in files():
        part = part_of(module_of(path))
        assert part in ALLOWED, f"{part}: a new part needs a row in the table"
        wrong += [
            f"{name_of(path)}:{item.line} imports {item.target}"
            for item, module in own_imports(path)
            if part_of(module) != part and part_of(module) not in ALLOWED[part]
        ]
    assert wrong == []


def test_packages_from_outside_have_one_home() -> None:
    """llvmlite, cupy, cachetools and dask are each imported in one place; L0 is plain Python."""
    wrong = []
    for path, item in every_import():
        top = item.target.split(".")[0]
        if top == "lazyfuse" or top in sys.stdlib_module_names:
            continue
        homes = OUTSIDE.get(top, ())
        is_base = part_of(module_of(path)) in BASE
        if is_base or not name_of(path).startswith(homes):
            wrong.append(f"{name_of(path)}:{item.line} imports {item.target}")
    assert wrong == []


def test_imports_in_functions_are_for_optional_packages() -> None:
    """All other imports stand at the top of the file."""
    wrong = []
    for path, item in every_import():
        if not item.in_function:
            continue
        top, _, rest = item.target.partition(".")
        is_optional = bool({rest, part_of(rest)} & OPTIONAL_PARTS) if top == "lazyfuse" else (
            top in OPTIONAL_PACKAGES
        )  # fmt: skip
        if not is_optional:
            wrong.append(f"{name_of(path)}:{item.line} imports {item.target} in a function")
    assert wrong == []


def test_no_import_cycles() -> None:
    """The modules can be put in an order, by the imports at their top that run."""
    graph = {
        module_of(path): {
            module
            for item, module in own_imports(path)
            if not (item.in_function or item.types_only) and module != module_of(path)
        }
        for path in files()
        if module_of(path)
    }
    while graph:
        ready = [module for module, needs in graph.items() if not needs & graph.keys()]
        assert ready, f"modules import each other: {sorted(graph)}"
        for module in ready:
            del graph[module]


def test_files_are_small() -> None:
    """A file has at most 400 lines, a table 600."""
    long = [
        f"{name_of(path)} has {lines} lines"
        for path in files()
        for limit in [TABLE_LINES if name_of(path).startswith(TABLES) else FILE_LINES]
        if (lines := len(path.read_text().splitlines())) > limit
    ]
    assert long == []


def test_functions_are_short() -> None:
    """A function has at most 60 lines, tables excepted."""
    long = [
        f"{name_of(path)}:{node.lineno} {node.name} has {lines} lines"
        for path in files()
        if not name_of(path).startswith(TABLES)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert long == []


def test_the_table_has_no_dead_rows() -> None:
    """Each part named in the table exists."""
    parts = {part_of(module_of(path)) for path in files()}
    assert set(ALLOWED) - parts <= {"integrations", "observe"}
