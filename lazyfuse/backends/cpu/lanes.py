"""What rare lanes ask for: floating point flags, special values, and calls of the C library, one
lane at a time, for what vector math does not cover.

All of it stands behind a branch that is taken when any lane asks for it. So a loop whose lanes are
all common pays a test and a branch. Lanes are walked inside a helper function of the module, out
of line and cold. But a call has no registers for what is alive around it, which LLVM keeps in
memory then, in the common case, too: so what needs no function stands in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lazyfuse.backends.cpu.vecmath import rare_expansion
from lazyfuse.ops.body import Instr
from lazyfuse.ops.float_flags import DIVIDE, INVALID, OVERFLOW, UNDERFLOW

if TYPE_CHECKING:
    from lazyfuse.backends.cpu.vector import Operand, VectorWriter

_TYPES = {"f4": "float", "f8": "double"}


#: What stands behind a branch.
IN_RARE_LANES = frozenset(("libm", "rare", "flag"))


def in_rare_lanes(writer: VectorWriter, instr: Instr, operands: Sequence[Operand]) -> Operand:
    """Write one of the primitives above."""
    match instr.op:
        case "libm":
            return _libm_call(writer, str(instr.attr), operands)
        case "rare":
            return _rare(writer, str(instr.attr), operands)
        case _:
            assert isinstance(instr.attr, int)
            x, condition = operands
            return _raising(writer, x, condition, instr.attr)


def _libm_call(writer: VectorWriter, name: str, operands: Sequence[Operand]) -> Operand:
    """`operands` are condition, fast, then the arguments of `name`: libm's result where the
    condition holds.
    """
    condition, fast, *args = operands
    dtype = fast.dtype
    symbol = name if dtype == "f8" else f"{name}f"
    scalar = _TYPES[dtype]
    writer.declarations[symbol] = f"declare {scalar} @{symbol}({', '.join([scalar] * len(args))})"
    before, slow, done = writer.block, writer.fresh("slow")[1:], writer.fresh("done")[1:]
    writer.lines.append(f"br i1 {_any_lane(writer, condition)}, label %{slow}, label %{done}")
    writer.label(slow)
    if writer.lanes == 1:
        result = writer.call(symbol, dtype, args)
    else:
        helper = _lane_loop(writer, scalar, len(args))
        given = "".join(f", {writer.type(each.dtype)} {each.name}" for each in operands)
        result = writer.assign(f"call {writer.type(dtype)} @{helper}(ptr @{symbol}{given})", dtype)
    writer.lines.append(f"br label %{done}")
    writer.label(done)
    merged = f"phi {writer.type(dtype)} [ {fast.name}, %{before} ], [ {result.name}, %{slow} ]"
    return writer.assign(merged, dtype)


def _rare(writer: VectorWriter, name: str, operands: Sequence[Operand]) -> Operand:
    """`operands` are condition, common, then what a function of `registry.RARE` takes beside
    `common`: what that gives, in place, if any lane asks for it. Both raise their flags."""
    condition, *given = operands
    common = given[0]
    before, slow, done = writer.block, writer.fresh("slow")[1:], writer.fresh("done")[1:]
    writer.lines.append(f"br i1 {_any_lane(writer, condition)}, label %{slow}, label %{done}")
    writer.label(slow)
    body, place = rare_expansion(name, common.dtype, len(given))
    result = writer.expand(body, place, given)
    after = writer.block
    writer.lines.append(f"br label %{done}")
    writer.label(done)
    kind = writer.type(common.dtype)
    phi = f"phi {kind} [ {common.name}, %{before} ], [ {result.name}, %{after} ]"
    merged = writer.assign(phi, common.dtype)
    writer.raising.append(merged)
    return merged


def _raising(writer: VectorWriter, x: Operand, condition: Operand, bits: int) -> Operand:
    """Raise floating point flags (`bits` of `ops/float_flags.py`) if any lane asks for it, unless
    what computed `x` has done so; return `x`."""
    if x in writer.raising:
        return x
    places = _SSE_BITS if writer.has_sse else _FENV_BITS
    flags = sum(place for bit, place in places.items() if bits & bit)
    declarations = _RAISE_SSE if writer.has_sse else _RAISE
    writer.declarations.update(declarations)
    slow, done = writer.fresh("slow")[1:], writer.fresh("done")[1:]
    writer.lines.append(f"br i1 {_any_lane(writer, condition)}, label %{slow}, label %{done}")
    writer.label(slow)
    writer.lines.append(f"call void @lanes.raise(i32 {flags})")
    writer.lines.append(f"br label %{done}")
    writer.label(done)
    return x


#: The bits of the SSE control word, and those of AArch64's fenv.h.
_SSE_BITS = {INVALID: 1, DIVIDE: 4, OVERFLOW: 8, UNDERFLOW: 16}
_FENV_BITS = {INVALID: 1, DIVIDE: 2, OVERFLOW: 4, UNDERFLOW: 8}
_RAISE_SSE = {
    "llvm.x86.sse.stmxcsr": "declare void @llvm.x86.sse.stmxcsr(ptr)",
    "llvm.x86.sse.ldmxcsr": "declare void @llvm.x86.sse.ldmxcsr(ptr)",
    "lanes.raise": """\
define internal void @lanes.raise(i32 %flags) alwaysinline {
  %state = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %state)
  %before = load i32, ptr %state
  %after = or i32 %before, %flags
  store i32 %after, ptr %state
  call void @llvm.x86.sse.ldmxcsr(ptr %state)
  ret void
}""",
}
_RAISE = {
    "feraiseexcept": "declare i32 @feraiseexcept(i32)",
    "lanes.raise": """\
define internal void @lanes.raise(i32 %flags) noinline cold {
  %failed = call i32 @feraiseexcept(i32 %flags)
  ret void
}""",
}


def _any_lane(writer: VectorWriter, condition: Operand) -> str:
    if writer.lanes == 1:
        return condition.name
    lanes = writer.lanes
    bits = writer.assign(f"bitcast <{lanes} x i1> {condition.name} to i{lanes}", "u1")
    return writer.assign(f"icmp ne i{lanes} {bits.name}, 0", "b1").name


def _lane_loop(writer: VectorWriter, scalar: str, arity: int) -> str:
    """Define the helper that calls a function for each lane that asks for it; return its name."""
    lanes = writer.lanes
    helper = f"lanes.{scalar}{arity}.{lanes}"
    vector = f"<{lanes} x {scalar}>"
    takes = "".join(f", {vector} %x{k}" for k in range(arity))
    picks = "\n".join(f"  %e{k} = extractelement {vector} %x{k}, i32 %i" for k in range(arity))
    gives = ", ".join(f"{scalar} %e{k}" for k in range(arity))
    writer.declarations[helper] = f"""\
define internal {vector} @{helper}(
  ptr %f, <{lanes} x i1> %c, {vector} %fast{takes}
) noinline cold {{
entry:
  br label %test
test:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %y = phi {vector} [ %fast, %entry ], [ %z, %next ]
  %flag = extractelement <{lanes} x i1> %c, i32 %i
  br i1 %flag, label %slow, label %next
slow:
{picks}
  %r = call {scalar} %f({gives})
  %new = insertelement {vector} %y, {scalar} %r, i32 %i
  br label %next
next:
  %z = phi {vector} [ %y, %test ], [ %new, %slow ]
  %j = add i32 %i, 1
  %more = icmp ult i32 %j, {lanes}
  br i1 %more, label %test, label %end
end:
  ret {vector} %z
}}"""
    return helper
