"""Accumulators -> a C struct per phase with its identity, fold, combine and shuffle.

The struct of phase p is `State{p}`, with fields `f#` (the value; complex has .re and .im) and `g#`
(the remembered index of argmax and argmin; `NO_INDEX` while nothing was seen). Folding a value and
combining two partial results are the same function on two states, so the order of additions is a
tree that the launch geometry alone decides: results repeat from run to run on one device, and
differ from NumPy's pairwise order within the same error bound. `lf_combine` gives the same
whatever state comes first, so that all threads of a group combine in their own order. Elements of
one axis come in order, and are folded by `lf_fold` where that is cheaper: indices, since it need
not look for the smaller of two, and extremes of float64, with zeros of both signs as they come.

float16 folds in float and rounds once, where it is read. `Accumulator.chunk`, which is about
NumPy's order of additions, has no meaning here. Products near underflow depend on the order too: a
partial product may be denormal in one tree and not in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cuda.ctype import CTYPES, PART
from lazyfuse.backends.cuda.render_body import cast_text, literal, spell
from lazyfuse.ir.kernel import Accumulator

#: The largest of the kernel's index type.
NO_INDEX = "((ix)((ux)-1 >> 1))"
_ORDERED = {"maximum": ">=", "minimum": "<="}
_ARG = {"argmax": ">", "argmin": "<"}
_LOSING = {"fmax": ">=", "fmin": "<="}
_COMMUTING = {
    "maximum": "lf_max_of",
    "minimum": "lf_min_of",
    "fmax": "lf_fmax_of",
    "fmin": "lf_fmin_of",
}


@dataclass(frozen=True, slots=True)
class Fold:
    """Accumulator `number` of the kernel, with the dtype it folds in."""

    number: int
    acc: Accumulator

    @property
    def dtype(self) -> str:
        return "f4" if self.acc.dtype == "f2" else self.acc.dtype

    @property
    def keeps_index(self) -> bool:
        return self.acc.op in _ARG

    @property
    def nbytes(self) -> int:
        return max(CTYPES[self.dtype].size, 4) + 8 * self.keeps_index


def state_bytes(folds: Sequence[Fold]) -> int:
    """An upper bound of the size of the state struct: every field padded to 8 bytes."""
    return max(8, sum((fold.nbytes + 7) // 8 * 8 for fold in folds))


def fields(folds: Sequence[Fold]) -> str:
    """Declare the fields of the state."""
    parts = []
    for fold in folds:
        parts.append(f"{CTYPES[fold.dtype].value} f{fold.number};")
        if fold.keeps_index:
            parts.append(f"ix g{fold.number};")
    return " ".join(parts) or "int none;"


def definitions(phase: int, folds: Sequence[Fold], *, in_order: bool) -> str:
    """Define the state struct of a phase and its functions; `in_order`: see `fold_function`."""
    name, inline = f"State{phase}", "__device__ __forceinline__"
    identity = " ".join(_identity(fold) for fold in folds) or "a.none = 0;"
    combine = "\n  ".join(_combine(fold) for fold in folds)
    swap = " ".join(_swap(fold) for fold in folds) or "b.none = 0;"
    return (
        f"struct {name} {{ {fields(folds)} }};\n"
        f"{inline} {name} lf_identity{phase}() {{ {name} a; {identity} return a; }}\n"
        f"{inline} void lf_combine(State{phase}& a, const State{phase}& b) {{\n  {combine}\n}}\n"
        f"{inline} {name} lf_swap_state(const {name}& a, unsigned int o) "
        f"{{ {name} b; {swap} return b; }}\n"
        + _in_order(phase, folds)
        * (fold_function(folds, in_order=in_order) == "lf_fold")
    )


def fold_function(folds: Sequence[Fold], *, in_order: bool) -> str:
    """The function that folds one element; `in_order`: those of a thread come by their index."""
    differ = any(fold.keeps_index or _is_long_extreme(fold) for fold in folds)
    return "lf_fold" if in_order and differ else "lf_combine"


def _in_order(phase: int, folds: Sequence[Fold]) -> str:
    lines = "\n  ".join(_combine(fold, in_order=True) for fold in folds)
    head = f"void lf_fold(State{phase}& a, const State{phase}& b)"
    return f"__device__ __forceinline__ {head} {{\n  {lines}\n}}\n"


def fold_value(fold: Fold, value: str, index: str | None) -> list[str]:
    """Set the fields of the state `b` to one element."""
    lines = [f"b.f{fold.number} = {cast_text(value, fold.acc.dtype, fold.dtype)};"]
    if fold.keeps_index:
        assert index is not None, fold
        lines.append(f"b.g{fold.number} = (ix){index};")
    return lines


def read(fold: Fold, dtype: str) -> str:
    """The finished accumulator in the totals `t`, as a body reads it."""
    if fold.keeps_index:
        return f"(long long)t.g{fold.number}"
    return cast_text(f"t.f{fold.number}", fold.dtype, dtype)


def start(fold: Fold) -> list[str]:
    """Combine the finished total with the scalar argument that the accumulator starts from."""
    number = fold.acc.init
    if number is None:
        return []
    field = f"t.f{fold.number}"
    x = f"h16{{x{number}}}" if fold.acc.dtype == "f2" else f"x{number}"
    if fold.dtype in PART:
        x = f"{CTYPES[fold.dtype].value}{{x{number}re, x{number}im}}"
    value = cast_text(x, fold.acc.dtype, fold.dtype)
    if fold.dtype == "b1":
        value = f"(x{number} != 0)"
    typename = CTYPES[fold.dtype].value
    text = pair(fold, "p", "q")
    return [f"{{ const {typename} p = {value}, q = {field}; {field} = {text}; }}"]


def _identity(fold: Fold) -> str:
    field = f"a.f{fold.number}"
    if fold.keeps_index:
        return f"{field} = 0; a.g{fold.number} = {NO_INDEX};"
    return f"{field} = {neutral(fold.acc.op, fold.dtype)};"


def neutral(op: str, dtype: str) -> str:
    """The value that leaves every other unchanged (add: +0.0, as NumPy starts)."""
    if op in ("add", "or", "xor"):
        return literal(0, dtype)
    if op == "mul":
        return literal(1, dtype)
    if op == "and":
        return literal(True, "b1") if dtype == "b1" else f"({CTYPES[dtype].value})~0ULL"
    if op in _LOSING and dtype[0] == "f":
        return literal(float("nan"), dtype)
    if op in _ORDERED or op in _LOSING:
        return literal(_extreme(dtype, lowest=op in ("maximum", "fmax")), dtype)
    raise Unsupported(op, dtype, "not an accumulator operation")


def _extreme(dtype: str, *, lowest: bool) -> float | int:
    bits = 8 * int(dtype[1:])
    if dtype[0] == "f":
        return float("-inf") if lowest else float("inf")
    if dtype == "b1":
        return 0 if lowest else 1
    if dtype[0] == "u":
        return 0 if lowest else (1 << bits) - 1
    return -(1 << (bits - 1)) if lowest else (1 << (bits - 1)) - 1


def _combine(fold: Fold, *, in_order: bool = False) -> str:
    """One statement that folds `b` into `a`; `a` holds the earlier elements if `in_order`."""
    number, typename = fold.number, CTYPES[fold.dtype].value
    operands = f"const {typename} p = a.f{number}, q = b.f{number};"
    if fold.keeps_index:
        take = f"a.f{number} = q; a.g{number} = b.g{number};"
        takes = _takes_later(fold) if in_order else _takes(fold)
        return f"{{ {operands} if ({takes}) {{ {take} }} }}"
    text = pair(fold, "p", "q") if in_order else _commuting(fold, "p", "q")
    return f"{{ {operands} a.f{number} = {text}; }}"


def _takes(fold: Fold) -> str:
    """Whether `q` of `b` wins: NaN first, then the extreme value, then the smallest index."""
    n, better = fold.number, f"q {_ARG[fold.acc.op]} p"
    seen = f"b.g{n} != {NO_INDEX}"
    if fold.dtype[0] == "f":
        better = f"p == p && (q != q || {better})"
        tie = f"(q == p || (p != p && q != q)) && b.g{n} < a.g{n}"
    elif fold.dtype in PART:
        raise Unsupported(fold.acc.op, fold.dtype, "complex numbers have no CUDA order here")
    else:
        tie = f"q == p && b.g{n} < a.g{n}"
    return f"{seen} && (a.g{n} == {NO_INDEX} || ({better}) || ({tie}))"


def _takes_later(fold: Fold) -> str:
    """The same for an element of a larger index; `!(q <= p)` is true of a NaN."""
    n = fold.number
    if fold.dtype[0] == "f":
        worse = {"argmax": "<=", "argmin": ">="}[fold.acc.op]
        return f"a.g{n} == {NO_INDEX} || (p == p && !(q {worse} p))"
    return f"a.g{n} == {NO_INDEX} || q {_ARG[fold.acc.op]} p"


def pair(fold: Fold, p: str, q: str) -> str:
    """Combine two values, `p` being the earlier one."""
    op, dtype = fold.acc.op, fold.dtype
    if dtype in PART:
        return _complex_pair(op, dtype, p, q)
    if dtype == "b1":
        return spell(_BOOL_OPS.get(op, op), "b1", "b1", [p, q])
    if dtype == "f4" and op in _COMMUTING:
        return _commuting(fold, p, q)
    if op in _ORDERED:
        nan = f" || {p} != {p}" if dtype[0] == "f" else ""
        return f"({p} {_ORDERED[op]} {q}{nan} ? {p} : {q})"
    if op in _LOSING:
        nan = f" || {q} != {q}" if dtype[0] == "f" else ""
        return f"({p} {_LOSING[op]} {q}{nan} ? {p} : {q})"
    return spell(op, dtype, dtype, [p, q])


def _commuting(fold: Fold, p: str, q: str) -> str:
    """The same for two values of which none is the earlier: +0 is above -0."""
    if fold.dtype[0] == "f" and fold.acc.op in _COMMUTING:
        return f"{_COMMUTING[fold.acc.op]}({p}, {q})"
    return pair(fold, p, q)


def _is_long_extreme(fold: Fold) -> bool:
    """Whether one order is cheaper than none: the device has instructions for float32 alone."""
    return fold.dtype == "f8" and fold.acc.op in _COMMUTING


#: Arithmetic on bools, as NumPy has it.
_BOOL_OPS = {
    "add": "or",
    "mul": "and",
    "maximum": "or",
    "minimum": "and",
    "fmax": "or",
    "fmin": "and",
}


def _complex_pair(op: str, dtype: str, p: str, q: str) -> str:
    name = CTYPES[dtype].value
    if op == "add":
        return f"{name}{{{p}.re + {q}.re, {p}.im + {q}.im}}"
    if op == "mul":
        real = f"{p}.re * {q}.re - {p}.im * {q}.im"
        return f"{name}{{{real}, {p}.re * {q}.im + {p}.im * {q}.re}}"
    raise Unsupported(op, dtype, "complex accumulators add and multiply only")


def _swap(fold: Fold) -> str:
    number = fold.number
    parts = [f"f{number}.re", f"f{number}.im"] if fold.dtype in PART else [f"f{number}"]
    parts += [f"g{number}"] * fold.keeps_index
    return " ".join(f"b.{part} = lf_swap(a.{part}, o);" for part in parts)
