"""Loops over a few hundred elements as LLVM text; see `methods_quick_text.py`.

    loop_NAME_KIND(out, a, a_step, b, b_step, count)
    where_KIND(out, condition, x, x_step, y, y_step, count)

A step is 1, or 0 for a number, which lies there as often as a step takes elements. They are in the
module of `rows_text.py`, and called by their places in its table (`computing_text.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

#: The most elements there is room for, where they are not walked over row by row. They are also
#: fewer than are put off (`deferred.SMALLEST`), of which NumPy's own loop is most of its time.
QUICK_MOST = 1024
#: Elements of a step, as long as there are so many.
STEPS = (16, 4, 1)
#: Kinds of elements, by the word of the state that has the dtype: LLVM's type, and its intrinsics'
#: name for it.
_TYPES = {"DOUBLE": ("double", "f64"), "SINGLE": ("float", "f32"), "LONG": ("i64", "i64")}


class Row(NamedTuple):
    """An operation: what its loops do to floats, and to integers, None for no loop; whether it
    has two operands, and gives bools."""

    floats: str
    integers: str | None
    is_binary: bool = True
    is_asked: bool = False


def _compared(floats: str, integers: str) -> Row:
    return Row(
        f"{{z}} = fcmp {floats} {{v}} {{x}}, {{y}}",
        f"{{z}} = icmp {integers} {{v}} {{x}}, {{y}}",
        is_asked=True,
    )


def _extreme(floats: str, integers: str) -> Row:
    """NaN wins, equal zeros give the second: `ops/extremes.py`."""
    chosen = "select {b} {t}, {v} {x}, {v} {y}"
    return Row(
        f"{{t}} = fcmp {floats} {{v}} {{x}}, {{y}}\n  {{u}} = {chosen}\n"
        "  {w} = fcmp ord {v} {x}, {x}\n  {z} = select {b} {w}, {v} {u}, {v} {x}",
        f"{{t}} = icmp {integers} {{v}} {{x}}, {{y}}\n  {{z}} = {chosen}",
    )


ROWS: Mapping[str, Row] = {
    "add": Row("{z} = fadd {v} {x}, {y}", "{z} = add {v} {x}, {y}"),
    "sub": Row("{z} = fsub {v} {x}, {y}", "{z} = sub {v} {x}, {y}"),
    "mul": Row("{z} = fmul {v} {x}, {y}", "{z} = mul {v} {x}, {y}"),
    "truediv": Row("{z} = fdiv {v} {x}, {y}", None),
    "maximum": _extreme("ogt", "sgt"),
    "minimum": _extreme("olt", "slt"),
    "neg": Row("{z} = fneg {v} {x}", None, is_binary=False),
    "abs": Row("{z} = call {v} @llvm.fabs.{s}({v} {x})", None, is_binary=False),
    "sqrt": Row("{z} = call {v} @llvm.sqrt.{s}({v} {x})", None, is_binary=False),
    "square": Row("{z} = fmul {v} {x}, {x}", "{z} = mul {v} {x}, {x}", is_binary=False),
    "lt": _compared("olt", "slt"),
    "le": _compared("ole", "sle"),
    "eq": _compared("oeq", "eq"),
    "ne": _compared("une", "ne"),
    "gt": _compared("ogt", "sgt"),
    "ge": _compared("oge", "sge"),
}
#: Names of loops, by their numbers.
NAMES = tuple(
    f"{name}_{kind.lower()}"
    for name, row in ROWS.items()
    for kind, (type_, _) in _TYPES.items()
    if type_ != "i64" or row.integers is not None
)
#: The loops of `where`.
CHOICES = tuple(f"where_{kind.lower()}" for kind in _TYPES)
#: Those whose loops of NumPy's differ from processor to processor.
OF_SSE = frozenset(("maximum", "minimum"))


def loops(name: str) -> str:
    """The loops of an operation for each kind of elements."""
    row = ROWS[name]
    made = []
    for kind, (type_, intrinsic) in _TYPES.items():
        operation = row.integers if type_ == "i64" else row.floats
        if operation is not None:
            made.append(_loop(f"{name}_{kind.lower()}", type_, intrinsic, operation, row.is_asked))
    return "".join(made)


def choices() -> str:
    """The loops of `where` for each kind of elements."""

    def chosen(type_: str) -> Callable[[int], str]:
        return lambda lanes: _CHOSEN.format(
            lanes=lanes, type_=type_, vector=_vector(type_, lanes), bits=_vector("i1", lanes),
            bytes=_vector("i8", lanes), zero="0" if lanes == 1 else "zeroinitializer",
        )  # fmt: skip

    return "".join(
        _CHOICE.format(kind=kind.lower(), steps=_steps(chosen(type_)))
        for kind, (type_, _) in _TYPES.items()
    )


def of_kinds(name: str) -> Mapping[str, str]:
    """The loops of an operation by kind, null for none."""
    found = {kind.lower(): f"@loop_{name}_{kind.lower()}" for kind in _TYPES}
    return found if ROWS[name].integers else {**found, "long": "null"}


def declarations() -> str:
    """Of intrinsics."""
    names = []
    for type_, intrinsic in (("double", "f64"), ("float", "f32")):
        for lanes in STEPS:
            vector, suffix = _vector(type_, lanes), _suffix(intrinsic, lanes)
            names += [f"declare {vector} @llvm.sqrt.{suffix}({vector})"]
            names += [f"declare {vector} @llvm.fabs.{suffix}({vector})"]
    return "\n".join(names)


def _loop(name: str, type_: str, intrinsic: str, operation: str, is_asked: bool) -> str:
    """A loop of an operation."""

    def operated(lanes: int) -> str:
        values = {letter: f"%{letter}_{lanes}" for letter in "xyztuw"}
        vector, bits = _vector(type_, lanes), _vector("i1", lanes)
        return _OPERATED.format(
            lanes=lanes, type_=type_, vector=vector, out="i8" if is_asked else type_,
            operated=operation.format(
                v=vector, b=bits, s=_suffix(intrinsic, lanes), **values
            ),
            result=(_ASKED if is_asked else _COMPUTED).format(
                lanes=lanes, vector=vector, bits=bits, bytes=_vector("i8", lanes)
            ),
        )  # fmt: skip

    return _LOOP.format(name=name, parameters=LOOP, steps=_steps(operated))


def _steps(body: Callable[[int], str]) -> str:
    """The rest of a loop, in steps of fewer and fewer elements."""
    parts = []
    before, begin = "entry", "0"
    for lanes in STEPS:
        parts.append(_STEP.format(lanes=lanes, before=before, begin=begin, body=body(lanes)))
        before, begin = f"over_{lanes}", f"%i_{lanes}"
    return "".join(parts)


def _vector(type_: str, lanes: int) -> str:
    return type_ if lanes == 1 else f"<{lanes} x {type_}>"


def _suffix(intrinsic: str, lanes: int) -> str:
    return intrinsic if lanes == 1 else f"v{lanes}{intrinsic}"


#: The parameters of a loop.
LOOP = "ptr %out, ptr %a, i64 %a_step, ptr %b, i64 %b_step, i64 %count"
_LOOP = """
define internal void @loop_{name}({parameters}) {{
entry:{steps}
  ret void
}}
"""
_CHOICE = """
define internal void @where_{kind}(ptr %out, ptr %condition, ptr %x, i64 %x_step, ptr %y,
                                   i64 %y_step, i64 %count) {{
entry:{steps}
  ret void
}}
"""
_STEP = """
  br label %begin_{lanes}
begin_{lanes}:
  %i_{lanes} = phi i64 [ {begin}, %{before} ], [ %next_{lanes}, %step_{lanes} ]
  %next_{lanes} = add i64 %i_{lanes}, {lanes}
  %fits_{lanes} = icmp sle i64 %next_{lanes}, %count
  br i1 %fits_{lanes}, label %step_{lanes}, label %over_{lanes}
step_{lanes}:{body}
  br label %begin_{lanes}
over_{lanes}:"""
_OPERATED = """
  %a_place_{lanes} = mul i64 %i_{lanes}, %a_step
  %b_place_{lanes} = mul i64 %i_{lanes}, %b_step
  %a_at_{lanes} = getelementptr {type_}, ptr %a, i64 %a_place_{lanes}
  %b_at_{lanes} = getelementptr {type_}, ptr %b, i64 %b_place_{lanes}
  %out_at_{lanes} = getelementptr {out}, ptr %out, i64 %i_{lanes}
  %x_{lanes} = load {vector}, ptr %a_at_{lanes}, align 4
  %y_{lanes} = load {vector}, ptr %b_at_{lanes}, align 4
  {operated}
  {result}"""
_CHOSEN = """
  %x_place_{lanes} = mul i64 %i_{lanes}, %x_step
  %y_place_{lanes} = mul i64 %i_{lanes}, %y_step
  %condition_at_{lanes} = getelementptr i8, ptr %condition, i64 %i_{lanes}
  %x_at_{lanes} = getelementptr {type_}, ptr %x, i64 %x_place_{lanes}
  %y_at_{lanes} = getelementptr {type_}, ptr %y, i64 %y_place_{lanes}
  %out_at_{lanes} = getelementptr {type_}, ptr %out, i64 %i_{lanes}
  %bytes_{lanes} = load {bytes}, ptr %condition_at_{lanes}, align 1
  %is_{lanes} = icmp ne {bytes} %bytes_{lanes}, {zero}
  %x_{lanes} = load {vector}, ptr %x_at_{lanes}, align 4
  %y_{lanes} = load {vector}, ptr %y_at_{lanes}, align 4
  %z_{lanes} = select {bits} %is_{lanes}, {vector} %x_{lanes}, {vector} %y_{lanes}
  store {vector} %z_{lanes}, ptr %out_at_{lanes}, align 4"""
_COMPUTED = "store {vector} %z_{lanes}, ptr %out_at_{lanes}, align 4"
_ASKED = """%told_{lanes} = zext {bits} %z_{lanes} to {bytes}
  store {bytes} %told_{lanes}, ptr %out_at_{lanes}, align 1"""
