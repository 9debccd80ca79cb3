"""What the fuzzer leaves out: statements whose answer NumPy itself does not fix.

A rule looks at one statement before it runs, and at the values that its operands have there. Each
has its reason:

crashes: NumPy dies of a comparison under `where=` with a Python integer that its dtype does not
    hold (numpy issue 28117).
casts: a float that the integer type cannot hold is undefined in C; NumPy's own answer depends on
    where in the array the element lies. So is the mean of nothing as an integer.
zeros: whether max and min of +0.0 and -0.0 give the one or the other depends on NumPy's vector
    length; so does their order in a sort.
nans: the sign and the payload of a NaN depend on the order of the operands in an instruction.
products: NumPy rounds complex products otherwise where strides are negative (complex64) or
    operands overlap; only those of whole contiguous arrays are compared.
powers: a power of floats is right to some ULP only; what is computed from it is not compared.
masks: NumPy writes what its buffer held where `where=` is false, when the output is cast and
    overlaps an operand; without an output, what the new memory held. The memory order of what is
    folded from no elements follows from how the mask, of no elements either, was made.
overlaps: NumPy does not look whether the value or the mask of `a[mask] = value` lies in `a`, nor
    whether the value of `a[...] = value` along one axis does when its elements have another size
    or lie in other steps, and reads what it has just written.
unaligned: elements of another size that lie between those of the memory are a read-only copy, as
    `LazyArray.view` says.
halves: NumPy has written the variance when it refuses to write its root.
frozen: `ufunc.at` writes into read-only arrays.
elements: a computed element is NumPy's scalar; where its methods and indices give an array it is
    NumPy's, which `asarray` copies, and they know no output but NumPy's.
compared: a complex number of Python's on the left compares itself with an element of float64, and
    gives Python's bool; which side it was on, a pending scalar is not told.
inexact: the modulus of a complex number is right to some ULP; variables u... hold such results,
    and nothing may read them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host

from tests.fuzz.code import compiled

_TIES = {"max", "min", "maximum", "minimum", "fmax", "fmin", "clip", "sort", "unique", "nanmax",
         "nanmin", "amax", "amin", "median", "ptp", "accumulate", "reduce"}  # fmt: skip
_COMPARISONS = {"less", "less_equal", "equal", "not_equal", "greater", "greater_equal"}
_SIGNS = {"copysign", "signbit", "view", "nextafter"}
_CASTS = {"astype", "copyto"}
_PRODUCTS = {"multiply", "square", "prod", "cumprod", "var", "std", "matmul", "dot"}
_INTERESTING = re.compile(
    rf"\b({'|'.join(sorted(_TIES | _SIGNS | _CASTS | _PRODUCTS))})\b"
    r"|dtype=|\bout=|\bwhere=|\b(abs|sign|sqrt|reciprocal|std|var|at)\b"
    r"|\] [^ ]*= |\.(real|imag|flat)\b.* = |j\)? [!=]= |\*|@|\bu\d|(\]|\)|\bv\d+)\.\w+\(|\]\["
)


def excluded(line: str, names: dict[str, Any]) -> str:
    """Return the name of the rule that leaves a statement out, or nothing."""
    if not _INTERESTING.search(line):
        return ""
    tree = ast.parse(line).body[0]
    for rule in (
        _crashes,
        _casts,
        _zeros,
        _nans,
        _products,
        _powers,
        _masks,
        _overlaps,
        _unaligned,
        _halves,
        _frozen,
        _elements,
        _compared,
        _inexact,
    ):
        if rule(tree, lambda node: _value(node, names)):
            return rule.__name__.strip("_")
    return ""


Read = Callable[[ast.expr], Any]


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """Evaluate a part of a statement; None when it cannot be evaluated."""
    try:
        return eval(compiled(ast.unparse(node), "eval"), names)  # noqa: S307 - made by the fuzzer
    except Exception:  # noqa: BLE001 - the statement will raise as well
        return None


def _crashes(tree: ast.stmt, read: Read) -> bool:
    for call, name in _calls(tree):
        if name in _COMPARISONS and any(word.arg == "where" for word in call.keywords):
            operands = [read(node) for node in call.args]
            kinds = [host.iinfo(_dtype_of(x)) for x in operands if _dtype_of(x).kind in "iu"]
            for number in (x for x in operands if type(x) is int):
                if any(not kind.min <= number <= kind.max for kind in kinds):
                    return True
    return False


def _casts(tree: ast.stmt, read: Read) -> bool:
    return any(_overflows(source, target) for source, target in _pairs(tree, read))


def _pairs(tree: ast.stmt, read: Read) -> Iterator[tuple[Any, Any]]:
    """Yield what is cast, and to which dtype."""
    for call, name in _calls(tree):
        asked = [word.value for word in call.keywords if word.arg == "dtype"]
        if name == "astype":
            asked += call.args[:1]
        for dtype in asked:
            for source in [*_operands(call, read), *_quotients(call, name, read)]:
                yield source, host.dtype(read(dtype) or "f8")
        yield from _delivered(call, read)
        if name == "copyto":
            yield read(call.args[1]), _dtype_of(read(call.args[0]))
    if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Subscript):
        item = ast.Subscript(tree.target.value, tree.target.slice, ast.Load())
        yield read(ast.BinOp(item, tree.op, tree.value)), _dtype_of(read(tree.target.value))
    if isinstance(tree, ast.Assign) and not isinstance(tree.targets[0], ast.Name):
        first = tree.targets[0]
        for target in first.elts if isinstance(first, ast.Tuple) else (first,):
            if isinstance(target, (ast.Subscript, ast.Attribute)):  # x[...] = or x.real =
                yield read(tree.value), _dtype_of(read(target.value))


def _delivered(call: ast.Call, read: Read) -> Iterator[tuple[Any, Any]]:
    """Yield a result before it is cast to that of `out=`."""
    plain = [word for word in call.keywords if word.arg not in _DELIVERING]
    for word in call.keywords:
        if word.arg == "out":
            value, target = (
                read(ast.Call(call.func, call.args, plain)),
                _dtype_of(read(word.value)),
            )
            yield value, target
            if _dtype_of(value).kind in "iu" and host.result_type(value, target).kind == "f":
                yield host.asarray(value, "f8"), target  # NumPy folds in floats then


#: Keywords of a call that say where its result goes.
_DELIVERING = {"out", "where", "casting"}


def _quotients(call: ast.Call, name: str, read: Read) -> Iterator[Any]:
    """Yield a mean before it is cast to `dtype=`."""
    if name in ("mean", "std", "var"):
        plain = [word for word in call.keywords if word.arg not in ("dtype", "out")]
        yield read(ast.Call(call.func, call.args, plain))


def _dtype_of(value: Any) -> Any:
    """Return the dtype of an array, or of what a flat iterator walks."""
    array = value if hasattr(value, "dtype") else getattr(value, "base", None)
    return getattr(array, "dtype", host.dtype("f8"))


def _overflows(source: Any, target: Any) -> bool:
    if not isinstance(source, (host.ndarray, host.generic)) or source.dtype.kind not in "fc":
        return False
    if target.kind not in "iu" or not source.size:
        return False
    real = source.real.astype("f8")
    if not host.isfinite(real).all():
        return True
    info = host.iinfo(target)
    return bool((real <= float(info.min) - 1).any() or (real >= float(info.max)).any())


def _zeros(tree: ast.stmt, read: Read) -> bool:
    for call, name in _calls(tree):
        if name in _TIES:
            values = _operands(call, read)
            loops = [read(word.value) for word in call.keywords if word.arg == "dtype"]
            cast = [host.asarray(x).astype(d) for d in loops for x in values if _floats(x)]
            if _has_both_zeros([*values, *cast]):  # those that a smaller dtype rounds to zero, too
                return True
    return False


def _has_both_zeros(operands: list[Any]) -> bool:
    signs = [host.signbit(part[part == 0]) for item in operands for part in _floats(item)]
    return any(s.any() for s in signs) and any((~s).any() for s in signs)


def _nans(tree: ast.stmt, read: Read) -> bool:
    return any(
        host.isnan(part).any()
        for call, name in _calls(tree)
        if name in _SIGNS
        for item in _operands(call, read)
        for part in _floats(item)
    )


def _products(tree: ast.stmt, read: Read) -> bool:
    multiplies = any(
        isinstance(node, (ast.Mult, ast.Pow, ast.MatMult))
        or (isinstance(node, ast.Attribute) and node.attr in _PRODUCTS)
        for node in ast.walk(tree)
    )
    if not multiplies:
        return False
    values = [read(name) for name in _names(tree)]
    factors = [x for x in values if getattr(x, "dtype", host.dtype("?")).kind == "c"]
    plain = isinstance(tree, ast.Assign) and isinstance(tree.value, ast.BinOp)
    whole = plain and not any(isinstance(n, (ast.Subscript, ast.Call)) for n in ast.walk(tree))
    return any(
        not whole or x.dtype == host.dtype("c8") or not x.flags.c_contiguous for x in factors
    )


def _names(tree: ast.stmt) -> list[ast.Name]:
    """Return the variables that a statement reads."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    changed = tree.target if isinstance(tree, ast.AugAssign) else None
    return [node for node in nodes if isinstance(node.ctx, ast.Load) or node is changed]


def _powers(tree: ast.stmt, read: Read) -> bool:
    """Whether floats are raised to more than an exact power (the second, by a number), or integers
    in place to a negative one: NumPy finds that when it has written half."""
    pairs = [
        (node.left, node.right) for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    ]  # fmt: skip
    if isinstance(tree, ast.AugAssign) and isinstance(tree.op, ast.Pow):
        pairs.append((tree.target, tree.value))
        if ast.unparse(tree.value) != "2":
            return True
    return any(
        ast.unparse(power) != "2" and host.asarray(read(x)).dtype.kind in "fcO"
        for base, power in pairs
        for x in (base, power)
    )


def _masks(tree: ast.stmt, read: Read) -> bool:
    for call, name in _calls(tree):
        words = {word.arg: word.value for word in call.keywords}
        if "where" not in words:
            continue
        if "out" not in words and isinstance(getattr(host, name, None), host.ufunc):
            return True
        if not host.size(read(words["where"])):
            return True
        if "out" in words:
            out, operands = read(words["out"]), [read(node) for node in call.args]
            plain = [word for word in call.keywords if word.arg not in ("out", "where")]
            result = read(ast.Call(call.func, call.args, plain))
            casts = getattr(result, "dtype", None) != getattr(out, "dtype", None)
            if casts and any(_shares(item, out) for item in operands):
                return True
    return False


def _overlaps(tree: ast.stmt, read: Read) -> bool:
    if not isinstance(tree, ast.Assign) or not isinstance(tree.targets[0], ast.Subscript):
        return False
    target = tree.targets[0]
    part, value = read(ast.Subscript(target.value, target.slice, ast.Load())), read(tree.value)
    if _shares(part, value) and (part.itemsize != value.itemsize or _is_stepped(part, value)):
        return True
    index = read(target.slice) if not isinstance(target.slice, ast.Tuple) else None
    if getattr(index, "dtype", None) != host.dtype("?"):
        return False
    array = read(target.value)
    return _shares(array, read(tree.value)) or _shares(array, index) and not _is_same(array, index)


def _is_stepped(part: Any, value: Any) -> bool:
    """Whether what is written along one axis, and what is read for it, lie in other steps."""
    return part.ndim == 1 and part.strides != value.strides[-1:]


def _is_same(one: Any, other: Any) -> bool:
    """Whether two arrays that share memory have the same elements at the same places."""
    where = [x.__array_interface__["data"][0] for x in (one, other)]
    return where[0] == where[1] and (one.shape, one.strides) == (other.shape, other.strides)


def _unaligned(tree: ast.stmt, read: Read) -> bool:
    views = [read(call) for call, name in _calls(tree) if name == "view"]
    return any(isinstance(seen, host.ndarray) and _lies_between(seen) for seen in views)


def _halves(tree: ast.stmt, read: Read) -> bool:
    outs = [
        read(word.value)
        for call, name in _calls(tree)
        if name == "std"
        for word in call.keywords
        if word.arg == "out"
    ]
    return any(getattr(out, "dtype", host.dtype("f8")).kind not in "fc" for out in outs)


def _frozen(tree: ast.stmt, read: Read) -> bool:
    written = [read(call.args[0]) for call, name in _calls(tree) if name == "at" and call.args]
    return any(isinstance(array, host.ndarray) and not array.flags.writeable for array in written)


def _elements(tree: ast.stmt, read: Read) -> bool:
    calls = [call for call, _ in _calls(tree)]
    pairs = [(x, x.func.value) for x in calls if isinstance(x.func, ast.Attribute)]
    pairs += [(node, node.value) for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    return any(
        isinstance(read(of), host.generic)
        and (isinstance(read(whole), host.ndarray) or "out=" in ast.unparse(whole))
        for whole, of in pairs
    )


def _compared(tree: ast.stmt, read: Read) -> bool:
    pairs = [
        (read(node.left), read(node.comparators[0]))
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
    ]
    return any(type(x) is complex and type(y) is host.float64 for x, y in pairs)


def _lies_between(seen: Any) -> bool:
    whole = seen
    while isinstance(whole.base, host.ndarray):
        whole = whole.base
    start = seen.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return any(nbytes % seen.itemsize for nbytes in (start, *seen.strides))


def _shares(a: Any, b: Any) -> bool:
    both = isinstance(a, host.ndarray) and isinstance(b, host.ndarray)
    return both and host.shares_memory(a, b)


def _inexact(tree: ast.stmt, read: Read) -> bool:
    if any(name.id[0] == "u" for name in _names(tree)):
        return True
    called = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(tree)}
    return bool(called & _MODULI) and any(
        getattr(read(name), "dtype", host.dtype("?")).kind == "c" for name in _names(tree)
    )


#: What divides by the modulus of a complex number, or gives it.
_MODULI = {"abs", "sign", "sqrt", "reciprocal", "std", "var"}


def _floats(item: Any) -> list[Any]:
    """Return the parts of a value that are floats; integers have zeros too."""
    if not isinstance(item, (host.ndarray, host.generic, int, float, complex)):
        return []
    array = host.asarray(item)
    if array.dtype.kind == "c":
        return [array.real, array.imag]
    return [array.astype("f8")] if array.dtype.kind in "fiub" else []


def _calls(tree: ast.stmt) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node, node.func.attr


def _operands(call: ast.Call, read: Read) -> list[Any]:
    """Return the values of a call: of its object, unless that is np, its arguments and out=."""
    nodes = [*call.args, *(word.value for word in call.keywords)]
    assert isinstance(call.func, ast.Attribute)
    owner = call.func.value
    is_module = isinstance(owner, ast.Name) and owner.id == "np"
    found = [read(node) for node in ([] if is_module else [owner]) + nodes]
    return [item for value in found for item in (value if isinstance(value, tuple) else (value,))]
