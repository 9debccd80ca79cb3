"""How the module of methods calls the loops of `rows_text.py`, as LLVM text.

Loops over elements are worth LLVM's optimization, which takes four times as long; what calls them,
of which there is much more, is not. So they are in a module of their own, with a table of all;
here each has a function that calls it by its place there.
"""

from __future__ import annotations

from lazyfuse.backends.cpu.methods_folds_text import FOLDS
from lazyfuse.backends.cpu.methods_loops_text import CHOICES, LOOP, NAMES

#: Loops of `methods_loops_text.py` first, by their numbers.
_LOOPS = tuple(f"loop_{name}" for name in NAMES)
_FOLDS = tuple(f"{name}_{type_}" for name, types in FOLDS.items() for type_ in types)
TABLE = (*_LOOPS, *CHOICES, *_FOLDS)

_FOLD = "ptr %data, i64 %count, ptr %out"
_CHOICE = "ptr %out, ptr %condition, ptr %x, i64 %x_step, ptr %y, i64 %y_step, i64 %count"
#: A number that is known before a loop's first byte is that of its place (`lf_rows`).
_CALL = """
define internal {result} @{name}({parameters}){prefix} {{
  %table = get ptr @state[LOOPS]
  %loop = get ptr %table[{number}]
  {returned}call {result} %loop({parameters})
  ret {result}{value}
}}
"""


def table() -> str:
    """The table, and what says where it is."""
    items = ", ".join(f"ptr @{name}" for name in TABLE)
    size = len(TABLE)
    return (
        f"@loops = internal constant [{size} x ptr] [{items}]\n"
        "define ptr @lf_loops() {\n  ret ptr @loops\n}\n"
    )


def calls() -> str:
    """Functions that call those of the table, with their names."""
    kinds = ((_LOOPS, LOOP, "void"), (CHOICES, _CHOICE, "void"), (_FOLDS, _FOLD, "i1"))
    return "".join(
        _call(name, parameters, result) for names, parameters, result in kinds for name in names
    )


def _call(name: str, parameters: str, result: str) -> str:
    number, gives = TABLE.index(name), result != "void"
    return _CALL.format(
        name=name, number=number, parameters=parameters, result=result,
        prefix=f" prefix i64 {number}" if name in _LOOPS else "",
        returned="%found = " if gives else "", value=" %found" if gives else "",
    )  # fmt: skip
