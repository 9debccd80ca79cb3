"""The primitives: one row each, with the way CUDA C and LLVM IR spell it and its meaning in NumPy.

A cell is looked up by the kind of the operands: b (bool), i, u (integers), f (f4 and f8). Float16
exists only in `load`, `store`, `cast`, `bitcast` and `select`; complex only in `load`, `store`,
`select`, `complex`, `real`, `imag`: `ops/composite.py` expands everything else.

CUDA cells are format strings: {0} {1} {2} operands, {T} result type, {A} operand type, {U} its
unsigned twin, {W} the unsigned type of its width but of 32 bits at least, {f} "f" for f4 and ""
for f8. Integer arithmetic goes through {W}: overflow wraps (C promotes anything narrower to int,
whose overflow is undefined).
LLVM cells: an opcode (`fadd`), an intrinsic overloaded on the type (`llvm.sqrt`), a predicate
(`fcmp oeq`), `mulhi` (some instructions) or `expand` (vector code by the CPU backend's vecmath).
A primitive with no cells is structural: each backend writes it by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from lazyfuse.ops.body import Instr
from lazyfuse.ops.float_flags import (
    ALL,
    BITS,
    DIVIDE,
    DOUBTFUL,
    INVALID,
    NOISY,
    OVERFLOW,
    UNDERFLOW,
    VAGUE,
)

Cells = Mapping[str, str]


class Primitive(NamedTuple):
    """`cost`: rough cycles for 8 doubles; `numpy`: the meaning, on arrays, for the interpreter;
    `conditions`: those of `float_flags` that floats can meet."""

    name: str
    arity: int
    cuda: Cells = MappingProxyType({})
    llvm: Cells = MappingProxyType({})
    numpy: Callable[..., Any] | None = None
    cost: float = 1.0
    transcendental: bool = False
    conditions: int = 0


def _wrapping(symbol: str) -> dict[str, str]:
    return {
        "f": f"({{0}} {symbol} {{1}})",
        "i": f"({{T}})(({{W}}){{0}} {symbol} ({{W}}){{1}})",
        "u": f"({{T}})(({{W}}){{0}} {symbol} ({{W}}){{1}})",
    }


def _upper_half(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    product: np.ndarray = x.astype(object) * y.astype(object) >> 8 * x.itemsize
    return product.astype(x.dtype)


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


def _extreme(symbol: str) -> tuple[Cells, Cells]:
    """Floats alone: integers are compared and selected, which compilers know."""
    predicate = {">": "ogt", "<": "olt"}[symbol]
    return {"f": f"({{0}} {symbol} {{1}} ? {{0}} : {{1}})"}, {"f": f"fcmp {predicate}"}


def _math(
    name: str,
    function: Callable[..., Any],
    cuda: str,
    cost: float,
    conditions: int = 0,
    *,
    arity: int = 1,
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
        conditions=conditions and conditions | DOUBTFUL,
    )


def _rounding(name: str, function: Callable[..., Any]) -> Primitive:
    llvm = "roundeven" if name == "rint" else name
    return Primitive(name, 1, {"f": f"{name}{{f}}({{0}})"}, {"f": f"llvm.{llvm}"}, function)


_SUM = OVERFLOW | INVALID
_PRODUCT = OVERFLOW | UNDERFLOW | INVALID

_ROWS: tuple[Primitive, ...] = (
    # structural
    Primitive("load", 0),
    # gather(index) #ARG: the element of an argument that lies `index` elements further on
    Primitive("gather", 1, cost=12),
    Primitive("scalar", 0),
    Primitive("const", 0),
    Primitive("index", 0),
    Primitive("acc", 0),
    Primitive("carry", 0),
    Primitive("cast", 1),
    Primitive("bitcast", 1),
    Primitive("select", 3, numpy=np.where),
    Primitive("complex", 2),
    Primitive("real", 1, numpy=np.real),
    Primitive("imag", 1, numpy=np.imag),
    # flag(x, condition) #bits: x; meets the floating point conditions `bits` where `condition`
    # holds, for what the arithmetic beside it does not show
    Primitive("flag", 2, {k: "({0})" for k in "biuf"}, numpy=lambda x, condition: x),
    # libm(condition, fast, x[, y]) #NAME: NAME(x, y) from the C library where condition holds,
    # else fast. Vector math uses it for the rare lanes that its polynomials do not cover; one
    # branch skips it as a whole.
    Primitive("libm", 3),
    # rare(condition, common, *operands) #NAME: common, unless the condition holds in a lane: then
    # NAME(common, *operands), which is common in lanes where it does not hold; in vector math
    Primitive("rare", 3),
    # scale(result, y, n): `result`, which is y * 2**floor(n); where the processor has an
    # instruction for that, `result` is not computed
    Primitive("scale", 3, {"f": "({0})"}, numpy=lambda result, y, n: result),
    # mantissa(result, x) #LEAST and exponent(result, x[, m]): m and k of |x| = 2**k * m where m is
    # at least 1 or, if k is given that too, 3/4, and less than twice that; likewise; of 0 and
    # infinity 1 and an infinite k by the instruction; only in vector math
    Primitive("mantissa", 2),
    Primitive("exponent", 2),
    # log_edges(result, y, x): `result`, which is y, but at and below 0, at infinity and for NaN
    # what logarithms give of x; an instruction for that meets their conditions as well
    Primitive("log_edges", 3),
    # lookup(bits) #NAME: the number in a table of the vector math, by the last four bits
    Primitive("lookup", 1),
    # truncate(x): a float without its fraction, as i4 or i8; what does not fit gives the smallest
    # value and meets INVALID, as on x86-64
    Primitive("truncate", 1, conditions=INVALID),
    # arithmetic
    Primitive(
        "add", 2, _wrapping("+"), {"f": "fadd", "i": "add", "u": "add"}, np.add, conditions=_SUM
    ),
    Primitive(
        "sub",
        2,
        _wrapping("-"),
        {"f": "fsub", "i": "sub", "u": "sub"},
        np.subtract,
        conditions=_SUM,
    ),
    Primitive(
        "mul",
        2,
        _wrapping("*"),
        {"f": "fmul", "i": "mul", "u": "mul"},
        np.multiply,
        conditions=_PRODUCT,
    ),
    # the upper half of the whole product
    Primitive("mulhi", 2, {"u": "lf_mulhi({0}, {1})"}, {"u": "mulhi"}, _upper_half),
    # integer div and rem truncate as C does;
    # the divisor is never 0 and never -1 (composite guards it)
    Primitive(
        "div",
        2,
        {k: "({T})({0} / {1})" for k in "iuf"},
        {"f": "fdiv", "i": "sdiv", "u": "udiv"},
        cost=8,
        conditions=ALL,
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
    Primitive(
        "sqrt", 1, {"f": "sqrt{f}({0})"}, {"f": "llvm.sqrt"}, np.sqrt, cost=10, conditions=INVALID
    ),
    Primitive("fma", 3, {"f": "fma{f}({0}, {1}, {2})"}, {"f": "llvm.fma"}, conditions=_PRODUCT),
    _rounding("floor", np.floor),
    _rounding("ceil", np.ceil),
    _rounding("trunc", np.trunc),
    _rounding("rint", np.rint),
    Primitive(
        "fmod",
        2,
        {"f": "fmod{f}({0}, {1})"},
        {"f": "expand"},
        np.fmod,
        cost=25,
        conditions=INVALID | VAGUE,
    ),
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
    # max(x, y): x > y ? x : y, so y where either is NaN and where both are zeros; likewise min
    Primitive("max", 2, *_extreme(">"), lambda x, y: np.where(x > y, x, y)),
    Primitive("min", 2, *_extreme("<"), lambda x, y: np.where(x < y, x, y)),
    # transcendental: vector code on the CPU, libdevice on CUDA
    _math("exp", np.exp, "exp", 10, OVERFLOW | UNDERFLOW | NOISY),
    _math("exp2", np.exp2, "exp2", 10, OVERFLOW | UNDERFLOW | NOISY),
    _math("expm1", np.expm1, "expm1", 14, OVERFLOW | UNDERFLOW | NOISY),
    _math("log", np.log, "log", 14, DIVIDE | INVALID),
    _math("log2", np.log2, "log2", 16, DIVIDE | INVALID),
    _math("log10", np.log10, "log10", 16, DIVIDE | INVALID),
    _math("log1p", np.log1p, "log1p", 16, DIVIDE | INVALID | UNDERFLOW),
    _math("sin", np.sin, "sin", 16, INVALID | UNDERFLOW),
    _math("cos", np.cos, "cos", 16, INVALID),
    _math("tan", np.tan, "tan", 24, INVALID | UNDERFLOW),
    _math("sinh", np.sinh, "sinh", 20, OVERFLOW | UNDERFLOW | NOISY),
    _math("cosh", np.cosh, "cosh", 16, OVERFLOW | NOISY),
    _math("tanh", np.tanh, "tanh", 20, UNDERFLOW | NOISY),
    _math("asin", np.arcsin, "asin", 20, INVALID | UNDERFLOW),
    _math("acos", np.arccos, "acos", 20, INVALID),
    _math("atan", np.arctan, "atan", 20, UNDERFLOW),
    _math("atan2", np.arctan2, "atan2", 30, UNDERFLOW, arity=2),
    _math("asinh", np.arcsinh, "asinh", 30, UNDERFLOW),
    _math("acosh", np.arccosh, "acosh", 30, INVALID),
    _math("atanh", np.arctanh, "atanh", 30, DIVIDE | INVALID | UNDERFLOW),
    _math("cbrt", np.cbrt, "cbrt", 20),
    _math("hypot", np.hypot, "lf_hypot", 16, OVERFLOW | UNDERFLOW, arity=2),
    _math("pow", np.power, "pow", 50, ALL, arity=2),
)


def conditions(instr: Instr, operands: Sequence[str]) -> int:
    """The floating point conditions that an instruction on operands of these dtypes can meet, and
    VAGUE."""
    if instr.op == "flag":
        assert isinstance(instr.attr, int)
        return instr.attr if instr.attr in BITS.values() else instr.attr | VAGUE
    if instr.op == "cast":
        narrows = instr.dtype[0] == "f" and instr.dtype < operands[0]
        return OVERFLOW | UNDERFLOW if narrows else 0
    return PRIMITIVES[instr.op].conditions if operands and operands[0][0] == "f" else 0


PRIMITIVES: Mapping[str, Primitive] = {row.name: row for row in _ROWS}
