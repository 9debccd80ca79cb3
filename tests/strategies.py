"""Hypothesis strategies: random programs as source text that can be pasted after `import numpy as
np`.

A program is grown statement by statement against NumPy itself: a statement that NumPy refuses is
left out, so what is left runs, and its shapes are known while the next statement is drawn. Values
are small, so that sums and products of floats neither overflow nor turn into NaN too often, and
every operation is exact: results are compared bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as host
from hypothesis import strategies as st

DTYPES = ("f8", "f8", "f4", "i8", "i4", "u1", "i2", "?", "f2")
SHAPES = ((6,), (4, 3), (3, 4), (2, 3, 4), (1, 4), (5, 1), (), (0, 3), (9,), (3, 3), (17,), (4, 4))
BINARY = ("+", "-", "*", "<", ">=", "==", "!=", "&", "|", "^")
FUNCTIONS = (
    "np.maximum",
    "np.minimum",
    "np.fmax",
    "np.add",
    "np.subtract",
    "np.multiply",
    "np.logical_or",
    "np.copysign",
)
UNARY = (
    "abs({})",
    "-{}",
    "np.sqrt(abs({}))",
    "np.floor({})",
    "np.square({})",
    "np.sign({})",
    "~{}",
    "np.isnan({})",
    "np.rint({})",
    "np.signbit({})",
    "np.positive({})",
)
IN_PLACE = ("+=", "-=", "*=", "|=", "//=")
FOLDS = ("sum", "max", "min", "mean", "any", "all", "argmax", "argmin", "prod", "std", "var")
TARGETS = ("f8", "f4", "i8", "i4", "?", "u1", "f2")
INDICES = ("...", "1:", "::2", "0", ":, 0", "::-1", "..., -1", ":-1", "1:, 1:", "0, 0")
COPIES = ("{}.copy()", "np.array({})", "{} + 0", "np.concatenate([{0}, {0}])")
SCALARS = ("0", "1", "2", "-1", "3", "0.5", "2.0", "True", "-0.0", "np.float32(1.5)", "np.int8(2)")
MOVES = (
    "{}.T",
    "{}[::-1]",
    "{}[..., ::2]",
    "{}[None]",
    "{}.ravel()",
    "{}.reshape(-1)",
    "{}[1:]",
    "{}[:-1]",
    "{}[..., 0]",
    "{}[0]",
    "{}[..., None]",
    "{}.swapaxes(0, -1)",
    "{}[1:, 1:]",
    "{}[:2]",
    "{}[-2:]",
    "{}[:, ::-1]",
    "{}[::2, 1:]",
    "{}.squeeze()",
    "np.broadcast_to({0}, (2,) + {0}.shape)",
    "{}.reshape(-1, 2)",
    "{}[()]",
    "np.expand_dims({}, -1)",
)


@dataclass
class Draft:
    """A program being grown: its lines, and what its variables hold in NumPy."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)

    def arrays(self) -> list[str]:
        """Return the variables that hold arrays (a fold to a scalar gives none)."""
        return [name for name, value in self.names.items() if isinstance(value, host.ndarray)]

    def add(self, line: str) -> bool:
        """Keep a line if NumPy runs it and the values stay comparable."""
        trial = Draft([*self.lines, line])
        try:
            trial.names = run(trial.source(), host)
        except (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError):
            return False
        if not all(_is_tame(value) for value in trial.names.values()):
            return False
        self.lines, self.names = trial.lines, trial.names
        return True

    def source(self) -> str:
        """Return the program as text."""
        return "\n".join(self.lines)


def run(source: str, np: Any, *, force: Any = None) -> dict[str, Any]:
    """Run a program's text; `force(value)` is called on each variable after each line."""
    names: dict[str, Any] = {"np": np}
    with host.errstate(all="ignore"):
        for line in source.splitlines():
            exec(line, names)  # noqa: S102 - the text was made here
            for value in list(names.values()) if force else ():
                force(value)
    return {name: value for name, value in names.items() if name.startswith("v")}


def _is_tame(value: Any) -> bool:
    """Say whether an array is small and far from overflow, where float to integer casts are
    undefined.
    """
    array = host.asarray(value)
    if array.size > 400 or array.ndim > 5 or array.dtype.kind not in "biufc":
        return False
    return bool((~host.isfinite(array) | (abs(array.astype("c16")) < 1e4)).all())


@st.composite
def programs(draw: Any, minimum: int = 3, maximum: int = 14) -> str:
    """Draw a program of up to `maximum` statements after its inputs."""
    draft = Draft()
    for index in range(draw(st.integers(1, 3))):
        draft.add(f"v{index} = {_input(draw)}")
    for index in range(maximum):
        if index >= minimum and draw(st.integers(0, maximum)) == 0:
            break  # drawn per statement, so that a failing program shrinks by dropping any of them
        draft.add(_statement(draw, draft))
    return draft.source()


def _input(draw: Any) -> str:
    shape, dtype = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(DTYPES))
    size = int(host.prod(shape))
    step = {"f": "0.75", "i": "3", "u": "3", "b": "1"}[host.dtype(dtype).kind]
    offset = draw(st.integers(0, 5))
    values = f"(np.arange({size}) * 7 % 11 - {offset if dtype not in ('u1', '?') else 0}) * {step}"
    return f"np.array(({values}).reshape({shape}), dtype={dtype!r})"


def _statement(draw: Any, draft: Draft) -> str:
    a, b = draw(st.sampled_from(draft.arrays())), draw(st.sampled_from(draft.arrays()))
    return STATEMENTS[draw(st.sampled_from(tuple(STATEMENTS)))](draw, draft, a, b)


def _new(draft: Draft) -> str:
    return f"v{len(draft.names)}"


def _moved(draw: Any, name: str) -> str:
    """Return the name, or a view of it."""
    return draw(st.sampled_from(("{}", *MOVES))).format(name) if draw(st.booleans()) else name


def _other(draw: Any, name: str) -> str:
    """Return a second operand: a view of an array, or a scalar."""
    return draw(st.sampled_from(SCALARS)) if draw(st.integers(0, 3)) == 0 else _moved(draw, name)


def _castable(draft: Draft, name: str, value: str, target: host.dtype[Any]) -> str:
    """Return the value brought into the range where a cast from float to integer is defined."""
    if target.kind in "iu" and draft.names[name].dtype.kind == "f":
        return f"np.where(np.isfinite({value}), abs({value}), 1) % 100"
    return value


def _binary(draw: Any, draft: Draft, a: str, b: str) -> str:
    return f"{_new(draft)} = {_moved(draw, a)} {draw(st.sampled_from(BINARY))} {_other(draw, b)}"


def _function(draw: Any, draft: Draft, a: str, b: str) -> str:
    function = draw(st.sampled_from(FUNCTIONS))
    return f"{_new(draft)} = {function}({_moved(draw, a)}, {_other(draw, b)})"


def _unary(draw: Any, draft: Draft, a: str, b: str) -> str:
    return f"{_new(draft)} = {draw(st.sampled_from(UNARY)).format(_moved(draw, a))}"


def _view(draw: Any, draft: Draft, a: str, b: str) -> str:
    return f"{_new(draft)} = {draw(st.sampled_from(MOVES)).format(a)}"


def _in_place(draw: Any, draft: Draft, a: str, b: str) -> str:
    return f"{a} {draw(st.sampled_from(IN_PLACE))} {_other(draw, b)}"


def _assign(draw: Any, draft: Draft, a: str, b: str) -> str:
    operator = draw(st.sampled_from(("=", "=", "+=", "*=")))
    value = _other(draw, b)
    if operator == "=" and value not in SCALARS:
        value = _castable(draft, b, value, draft.names[a].dtype)
    return f"{a}[{draw(st.sampled_from(INDICES))}] {operator} {value}"


def _out(draw: Any, draft: Draft, a: str, b: str) -> str:
    function, target = (
        draw(st.sampled_from(FUNCTIONS)),
        _moved(draw, draw(st.sampled_from((a, b)))),
    )
    return f"{function}({_moved(draw, a)}, {_other(draw, b)}, out={target})"


def _fold(draw: Any, draft: Draft, a: str, b: str) -> str:
    axis = draw(st.sampled_from(("None", "0", "-1", "1", "(0, 1)")))
    keep = draw(st.sampled_from(("", ", keepdims=True")))
    fold = draw(st.sampled_from(FOLDS))
    return f"{_new(draft)} = np.asarray({_moved(draw, a)}.{fold}(axis={axis}{keep}))"


def _where(draw: Any, draft: Draft, a: str, b: str) -> str:
    mask = f"{a} > {draw(st.sampled_from(SCALARS))}"
    return f"{_new(draft)} = np.where({mask}, {_moved(draw, a)}, {_other(draw, b)})"


def _cast(draw: Any, draft: Draft, a: str, b: str) -> str:
    target = draw(st.sampled_from(TARGETS))
    value = _castable(draft, a, _moved(draw, a), host.dtype(target))
    return f"{_new(draft)} = ({value}).astype({target!r})"


def _copy(draw: Any, draft: Draft, a: str, b: str) -> str:
    return f"{_new(draft)} = {draw(st.sampled_from(COPIES)).format(a)}"


STATEMENTS = {
    "binary": _binary,
    "function": _function,
    "unary": _unary,
    "view": _view,
    "view again": _view,
    "in place": _in_place,
    "in place again": _in_place,
    "assign": _assign,
    "assign again": _assign,
    "out": _out,
    "fold": _fold,
    "where": _where,
    "cast": _cast,
    "copy": _copy,
}
