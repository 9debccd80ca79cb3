"""Dtypes of results, asked from NumPy once per combination and kept.

A signature is a tuple of operand types: a dtype code for arrays and NumPy scalars, or `int`,
`float`, `complex` for Python scalars, which are weak (NEP 50). The answer is the Loop that NumPy
would run: operand dtypes and result dtype.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np

from lazyfuse.ops.opdef import OpDef
from lazyfuse.ops.table import DTYPES, OPS

OperandType: TypeAlias = str | type
#: The dtypes that a call fixes (`signature=`, `dtype=`), one per operand and result; None: free.
Types: TypeAlias = tuple[np.dtype | None, ...]


class Loop(NamedTuple):
    """The dtypes that an op computes with and gives;
    `native` is False when only NumPy can run it."""

    operands: tuple[str, ...]
    result: str
    native: bool


@cache
def code(dtype: np.dtype) -> str:
    """The code of a dtype: kind and size, byte order dropped."""
    return dtype.str[1:]


@cache
def resolve(name: str, signature: tuple[OperandType, ...]) -> Loop:
    """The loop of op `name`. Raises what the ufunc raises (TypeError for dtypes that it
    refuses)."""
    op = OPS[name]
    if op.ufunc is None:
        return _resolve_without_ufunc(op, signature)
    asked = tuple(np.dtype(item) if isinstance(item, str) else item for item in signature)
    resolved = op.ufunc.resolve_dtypes((*asked, *(None,) * op.ufunc.nout))
    operands = tuple(code(dtype) for dtype in resolved[: op.ufunc.nin])
    return _loop(op, operands, code(resolved[op.ufunc.nin + op.output]))


@cache
def resolve_fixed(
    name: str, signature: tuple[OperandType, ...], types: Types | None, casting: str
) -> Loop:
    """The loop of op `name` where a call fixes dtypes or the casting of its operands.

    Raises: TypeError when there is no such loop, or when an operand may not be cast to it.
    """
    op = OPS[name]
    if op.ufunc is None:
        return _resolve_without_ufunc(op, signature)
    asked = tuple(np.dtype(item) if isinstance(item, str) else item for item in signature)
    fixed = types or (None,) * op.ufunc.nargs
    if casting in ("no", "equiv"):  # of Python scalars, `resolve_dtypes` of NumPy 2.4 is wrong
        nothing = [np.empty(0, item) if isinstance(item, str) else item(0) for item in signature]
        op.ufunc(*nothing, signature=fixed, casting=casting)
        casting = "same_kind"
    resolved = op.ufunc.resolve_dtypes(
        (*asked, *(None,) * op.ufunc.nout),
        signature=fixed,
        casting=casting,  # type: ignore[arg-type]  # NumPy checks the word
    )
    operands = tuple(code(dtype) for dtype in resolved[: op.ufunc.nin])
    return _loop(op, operands, code(resolved[op.ufunc.nin + op.output]))


def _resolve_without_ufunc(op: OpDef, signature: tuple[OperandType, ...]) -> Loop:
    if op.name == "where":
        common = code(np.result_type(*(_example(item) for item in signature[1:])))
        return _loop(op, (_strong(signature[0]), common, common), common)
    if op.name == "complex_of":
        wide = np.result_type(*(_example(item) for item in signature), np.float32)
        part = "f8" if wide.itemsize > 4 else "f4"
        return _loop(op, (part, part), f"c{2 * int(part[1:])}")
    operand = _strong(signature[0])
    if op.name in ("real", "imag") and operand[0] == "c":
        return _loop(op, (operand,), f"f{int(operand[1:]) // 2}")
    return _loop(op, (operand,), operand)


def _loop(op: OpDef, operands: tuple[str, ...], result: str) -> Loop:
    known = all(dtype in DTYPES for dtype in (*operands, result))
    return Loop(operands, result, known and op.body_for(operands) is not None)


def _strong(item: OperandType) -> str:
    return item if isinstance(item, str) else code(np.dtype(item))


def _example(item: OperandType) -> np.dtype | complex:
    """Something that `np.result_type` promotes as this operand: Python scalars stay weak."""
    return np.dtype(item) if isinstance(item, str) else item(0)


@cache
def resolve_reduction(
    ufunc: np.ufunc, operand: str, dtype: str | None, out: str | None = None
) -> Loop | None:
    """The accumulator's loop of `ufunc.reduce`, in which the dtype of `out` takes part; None when
    NumPy has none that we know."""
    asked = None if dtype is None else np.dtype(dtype)
    source = np.dtype(operand)
    if dtype is not None:
        resolved = ufunc.resolve_dtypes(
            (None, source, None), signature=(asked, asked, None), casting="unsafe", reduction=True
        )
    else:
        first = None if out is None else np.dtype(out)
        resolved = ufunc.resolve_dtypes((first, source, None), casting="unsafe", reduction=True)
    accumulator, result = code(resolved[1]), code(resolved[2])
    known = accumulator in DTYPES and result in DTYPES
    return Loop((accumulator,), result, known)


@cache
def resolve_accumulation(
    ufunc: np.ufunc, operand: str, dtype: str | None, out: str | None = None
) -> str | None:
    """The dtype in which `ufunc.accumulate` and `reduceat` run; None where NumPy refuses or that
    we do not know. Raises: TypeError for dtypes that the ufunc has no loop for."""
    loop = resolve_reduction(ufunc, operand, dtype, out)
    if loop is None or not loop.native or loop.operands != (loop.result,):
        return None
    return loop.result


@cache
def can_cast(source: str, target: str, casting: str) -> bool:
    return bool(np.can_cast(np.dtype(source), np.dtype(target), casting))  # type: ignore[arg-type]  # literal checked by NumPy
