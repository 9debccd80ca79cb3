"""The op table, by name: everything that lists ops reads it from here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from lazyfuse.digests import digest
from lazyfuse.ops import table_arith, table_logic, table_math, table_reduce
from lazyfuse.ops.opdef import OpDef
from lazyfuse.ops.table_reduce import ReduceDef

OPS: Mapping[str, OpDef] = {
    row.name: row for rows in (table_arith.ROWS, table_math.ROWS, table_logic.ROWS) for row in rows
}
REDUCTIONS: Mapping[str, ReduceDef] = {row.name: row for row in table_reduce.ROWS}

#: Dtypes that kernels compute with; arrays of any other dtype stay with NumPy.
DTYPES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")

#: Ufuncs with several results -> the op of each result, in order.
MULTIPLE: Mapping[str, tuple[str, ...]] = {
    "divmod": ("divmod_quotient", "divmod_remainder"),
    "frexp": ("frexp_mantissa", "frexp_exponent"),
    "modf": ("modf_fraction", "modf_integer"),
}


@cache
def table_digest() -> str:
    """Changes when an op is added or renamed."""
    return digest(" ".join([*OPS, *REDUCTIONS]))[:16]
