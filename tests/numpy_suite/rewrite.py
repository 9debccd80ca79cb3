"""A test module of NumPy -> the same module with lazyfuse in NumPy's place.

- `import numpy as np` imports lazyfuse, `from numpy import x` takes x from lazyfuse.
- Public submodules are reached through lazyfuse, `numpy.testing` is `lazyfuse.testing`.
- Private modules (`numpy._core...`) and `numpy.ma` stay NumPy's.
- A block that listens for warnings computes the value of each of its statements: the warnings of a
  computation come when the value is computed, and many tests throw it away.
"""

from __future__ import annotations

import ast

#: Calls whose `with` block listens for warnings.
LISTENERS = (
    "warns",
    "catch_warnings",
    "assert_warns",
    "assert_no_warnings",
    "suppress_warnings",
    "deprecated_call",
)
#: Submodules of subclasses of ndarray, which no other array can be.
KEPT = ("numpy.ma", "numpy.matrixlib", "numpy.f2py", "numpy.distutils")
COMPUTED, COMPUTING, ORIGINAL = "_computed", "_computing", "_numpy"
_HEADER = f"""
import numpy as {ORIGINAL}
from lazyfuse import materialize as {COMPUTED}
from lazyfuse.testing import computing as {COMPUTING}
"""


def rewrite(source: str) -> str:
    """Rewrite the text of one module."""
    tree = Rewriter().visit(ast.parse(source))
    position = next(i for i, statement in enumerate(tree.body) if not _is_head(statement))
    tree.body[position:position] = ast.parse(_HEADER).body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _is_head(statement: ast.stmt) -> bool:
    """Tell whether a statement must stay before all others: docstring, `from __future__`."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def is_private(module: str) -> bool:
    """Tell whether a module stays NumPy's."""
    parts = module.split(".")
    return module.startswith(KEPT) or any(part.startswith("_") for part in parts)


class Rewriter(ast.NodeTransformer):
    """Replaces the imports of NumPy, and computes what listening blocks leave pending."""

    def __init__(self) -> None:
        self._listening = False

    # ---- imports

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [statement for alias in node.names for statement in self._import(alias)]

    def _import(self, alias: ast.alias) -> list[ast.stmt]:
        top, _, rest = alias.name.partition(".")
        if top != "numpy" or is_private(alias.name):
            return [ast.Import([alias])]
        if not rest or alias.asname is None:
            return [ast.Import([ast.alias("lazyfuse", alias.asname or "numpy")])]
        return _through_lazyfuse(rest, alias.asname)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | list[ast.stmt]:
        module = node.module or ""
        if module == "numpy.ma.testutils":
            return [node, *(_computing(alias.asname or alias.name) for alias in node.names)]
        if node.level or module.split(".")[0] != "numpy" or is_private(module):
            return node
        if module in ("numpy", "numpy.testing"):
            node.module = module.replace("numpy", "lazyfuse")
            return node
        rest = module.partition(".")[2]
        return [
            statement
            for alias in node.names
            for statement in _through_lazyfuse(f"{rest}.{alias.name}", alias.asname or alias.name)
        ]

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        """`np._core` is NumPy's."""
        self.generic_visit(node)
        is_module = isinstance(node.value, ast.Name) and node.value.id in ("np", "numpy")
        if is_module and node.attr.startswith("_") and not node.attr.startswith("__array_"):
            node.value = ast.Name(ORIGINAL, ast.Load())
        return node

    # ---- blocks that listen for warnings

    def visit_With(self, node: ast.With) -> ast.With:
        outside = self._listening
        self._listening = outside or any(_listens(item.context_expr) for item in node.items)
        self.generic_visit(node)
        self._listening = outside
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        outside, self._listening = self._listening, False
        self.generic_visit(node)
        self._listening = outside
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        self.generic_visit(node)
        if self._listening and not isinstance(node.value, ast.Constant | ast.Yield):
            node.value = _computed(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        if self._listening:
            node.value = _computed(node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        self.generic_visit(node)
        if not self._listening:
            return [node]
        target = ast.parse(ast.unparse(node.target), mode="eval").body
        return [node, ast.Expr(_computed(target))]


def _listens(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and ast.unparse(context.func).endswith(LISTENERS)


def _computed(value: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(COMPUTED, ast.Load()), [value], [])


def _computing(name: str) -> ast.stmt:
    """An assertion of NumPy's about masked arrays that computes its arguments first."""
    return ast.parse(f"{name} = {COMPUTING}({name})").body[0]


def _through_lazyfuse(path: str, name: str) -> list[ast.stmt]:
    """`from numpy.a import b as name`, by attributes: not all of lazyfuse's submodules are files.
    NumPy has some of its own only once they are imported.
    """
    module = path.rpartition(".")[0] or path
    original = f"import lazyfuse, numpy.{module} as {ORIGINAL}_{module.replace('.', '_')}"
    return ast.parse(f"{original}\n{name} = lazyfuse.{path}").body
