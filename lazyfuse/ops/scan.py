"""The step of a scan: an op on what was accumulated so far and the next element.

Source: `ufunc.accumulate` calls the ufunc's strided loop with its own result as an operand. The
SIMD loops, which read several elements ahead, see the overlap and do not run, unless there is one
step only.
"""

from __future__ import annotations

from lazyfuse.ops.body import Value
from lazyfuse.ops.complex_arith import multiply_plainly
from lazyfuse.ops.opdef import OpDef

#: Ops whose scan may be taken in parts; of floats, but for their rounding.
ASSOCIATIVE = frozenset(
    "add multiply maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and "
    "bitwise_or bitwise_xor".split()
)


def has_step(op: OpDef, dtype: str) -> bool:
    """Whether kernels scan with `op` in `dtype`: it has to be exact, for errors would compound."""
    is_binary = op.ufunc is not None and (op.ufunc.nin, op.ufunc.nout) == (2, 1)
    return is_binary and op.ulp == 0 and op.body_for((dtype, dtype)) is not None


def step(op: OpDef, carry: Value, value: Value, *, steps: int) -> Value:
    """op(carry, value), in their dtype, as in a scan of so many steps."""
    if op.name == "multiply" and value.kind == "c" and steps > 1:
        return multiply_plainly(carry, value)
    return op.expand([carry, value], value.dtype)
