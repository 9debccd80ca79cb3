"""The primitives: one row each, with the way CUDA C and LLVM IR spell it and its meaning in NumPy.

A cell is looked up by the kind of the operands: b (bool), i, u (integers), f (f4 and f8). Float16
exists only in `load`, `store`, `cast`, `bitcast` and `select`; complex only in `load`, `store`,
`select`, `complex`, `real`, `imag`: `ops/composite.py` expands everything else.

CUDA cells are format strings: {0} {1} {2} operands, {T} result type, {A} operand type, {U} its
unsigned twin, {W} the unsigned type of its width but of 32 bits at least, {f} "f" for f4 and ""
for f8. Integer arithmetic goes through {W}: overflow wraps (C promotes anything narrower to int,
whose overflow is undefined).
LLVM cells: an opcode (`fadd`), an intrinsic overloaded on the type (`llvm.sqrt`), a predicate
(`fcmp oeq`), `expand` (vector code by the CPU backend's vecmath) or `lanes NAME` (libm, one lane
at a time, exact). A primitive with no cells is structural: each backend writes it by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Cells = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Primitive:
    """`cost`: rough cycles for 8 doubles; `numpy`: the meaning, on arrays, for the interpreter."""

    name: str
    arity: int
    cuda: Cells = field(default_factory=dict)
    llvm: Cells = field(default_factory=dict)
    numpy: Callable[..., Any] | None = None
    cost: float = 1.0
    transcendental: bool = False


def _wrapping(symbol: str) -> dict[str, str]:
    return {
        "f": f"({{0}} {symbol} {{1}})",
        "i": f"({{T}})(({{W}}){{0}} {symbol} ({{W}}){{1}})",
        "u": f"({{T}})(({{W}}){{0}} {symbol} ({{W}}){{1}})",
    }


def _bits(symbol: str) -> dict[str, str]:
    return {kind: f"({{T}})({{0}} {symbol} {{1}})" for kind in "biu"}


def _compare(symbol: str, predicate: str) -> tuple[Cells, Cells]:
    cuda = {kind: f"({{0}} {symbol} {{1}})" for kind in "biuf"}
    unordered = "une" if predicate == "ne" else f"o{predicate}"
    signless = predicate in ("eq", "ne")
    llvm = {
        "f": f"fcmp {unordered}",
        "i": f"icmp {predicate if signless else 's' + predicate}",
        "u": f"icmp {predicate if signless else 'u' + predicate}",
        "b": f"icmp {predicate if signless else 'u' + predicate}",
    }
    return cuda, llvm


def _math(
    name: str, function: Callable[..., Any], cuda: str, cost: float, arity: int = 1
) -> Primitive:
    operands = ", ".join(f"{{{index}}}" for index in range(arity))
    return Primitive(
        name,
        arity,
        {"f": f"{cuda}{{f}}({operands})"},
        {"f": "expand"},
        function,
        cost=cost,
        transcendental=True,
    )


def _rounding(name: str, function: Callable[..., Any]) -> Primitive:
    llvm = "roundeven" if name == "rint" else name
    return Primitive(name, 1, {"f": f"{name}{{f}}({{0}})"}, {"f": f"llvm.{llvm}"}, function)


_ROWS: tuple[Primitive, ...] = (
    # structural
    Primitive("load", 0),
    Primitive("scalar", 0),
    Primitive("const", 0),
    Primitive("index", 0),
    Primitive("acc", 0),
    Primitive("cast", 1),
    Primitive("bitcast", 1),
    Primitive("select", 3, numpy=np.where),
    Primitive("complex", 2),
    Primitive("real", 1, numpy=np.real),
    Primitive("imag", 1, numpy=np.imag),
    # libm(condition, fast, x[, y]) #NAME: NAME(x, y) from the C library where condition holds,
    # else fast. Vector math uses it for the rare lanes that its polynomials do not cover; one
    # branch skips it as a whole.
    Primitive("libm", 3),
    # arithmetic
    Primitive("add", 2, _wrapping("+"), {"f": "fadd", "i": "add", "u": "add"}, np.add),
    Primitive("sub", 2, _wrapping("-"), {"f": "fsub", "i": "sub", "u": "sub"}, np.subtract),
    Primitive("mul", 2, _wrapping("*"), {"f": "fmul", "i": "mul", "u": "mul"}, np.multiply),
    # integer div and rem truncate as C does;
    # the divisor is never 0 and never -1 (composite guards it)
    Primitive(
        "div",
        2,
        {k: "({T})({0} / {1})" for k in "iuf"},
        {"f": "fdiv", "i": "sdiv", "u": "udiv"},
        cost=8,
    ),
    Primitive(
        "rem",
        2,
        {k: "({T})({0} % {1})" for k in "iu"},
        {"i": "srem", "u": "urem"},
        np.fmod,
        cost=16,
    ),
    Primitive(
        "neg",
        1,
        {"f": "(-{0})", "i": "({T})(0 - ({W}){0})", "u": "({T})(0 - ({W}){0})"},
        {"f": "fneg"},
        np.negative,
    ),
    Primitive("abs", 1, {"f": "fabs{f}({0})"}, {"f": "llvm.fabs"}, np.abs),
    Primitive("copysign", 2, {"f": "copysign{f}({0}, {1})"}, {"f": "llvm.copysign"}, np.copysign),
    Primitive("sqrt", 1, {"f": "sqrt{f}({0})"}, {"f": "llvm.sqrt"}, np.sqrt, cost=10),
    Primitive("fma", 3, {"f": "fma{f}({0}, {1}, {2})"}, {"f": "llvm.fma"}),
    _rounding("floor", np.floor),
    _rounding("ceil", np.ceil),
    _rounding("trunc", np.trunc),
    _rounding("rint", np.rint),
    Primitive("fmod", 2, {"f": "fmod{f}({0}, {1})"}, {"f": "lanes fmod"}, np.fmod, cost=100),
    # bits; shift amounts are in range (composite guards them)
    Primitive("and", 2, _bits("&"), {k: "and" for k in "biu"}, np.bitwise_and),
    Primitive("or", 2, _bits("|"), {k: "or" for k in "biu"}, np.bitwise_or),
    Primitive("xor", 2, _bits("^"), {k: "xor" for k in "biu"}, np.bitwise_xor),
    Primitive("not", 1, {"b": "(!{0})", "i": "({T})(~{0})", "u": "({T})(~{0})"}, numpy=np.invert),
    Primitive(
        "shl",
        2,
        {k: "({T})(({W}){0} << ({W}){1})" for k in "iu"},
        {"i": "shl", "u": "shl"},
        np.left_shift,
    ),
    Primitive(
        "shr",
        2,
        {k: "({T})({0} >> {1})" for k in "iu"},
        {"i": "ashr", "u": "lshr"},
        np.right_shift,
    ),
    Primitive(
        "popcount",
        1,
        {k: "({T})__popcll((unsigned long long)({U}){0})" for k in "iu"},
        {"i": "llvm.ctpop", "u": "llvm.ctpop"},
        np.bitwise_count,
    ),
    # comparisons give b1; all are false for NaN but ne
    Primitive("eq", 2, *_compare("==", "eq"), np.equal),
    Primitive("ne", 2, *_compare("!=", "ne"), np.not_equal),
    Primitive("lt", 2, *_compare("<", "lt"), np.less),
    Primitive("le", 2, *_compare("<=", "le"), np.less_equal),
    # transcendental: vector code on the CPU, libdevice on CUDA
    _math("exp", np.exp, "exp", 10),
    _math("exp2", np.exp2, "exp2", 10),
    _math("expm1", np.expm1, "expm1", 14),
    _math("log", np.log, "log", 14),
    _math("log2", np.log2, "log2", 16),
    _math("log10", np.log10, "log10", 16),
    _math("log1p", np.log1p, "log1p", 16),
    _math("sin", np.sin, "sin", 16),
    _math("cos", np.cos, "cos", 16),
    _math("tan", np.tan, "tan", 24),
    _math("sinh", np.sinh, "sinh", 20),
    _math("cosh", np.cosh, "cosh", 16),
    _math("tanh", np.tanh, "tanh", 20),
    _math("asin", np.arcsin, "asin", 20),
    _math("acos", np.arccos, "acos", 20),
    _math("atan", np.arctan, "atan", 20),
    _math("atan2", np.arctan2, "atan2", 30, 2),
    _math("asinh", np.arcsinh, "asinh", 30),
    _math("acosh", np.arccosh, "acosh", 30),
    _math("atanh", np.arctanh, "atanh", 30),
    _math("cbrt", np.cbrt, "cbrt", 20),
    _math("hypot", np.hypot, "hypot", 16, 2),
    _math("pow", np.power, "pow", 50, 2),
)

PRIMITIVES: Mapping[str, Primitive] = {row.name: row for row in _ROWS}
