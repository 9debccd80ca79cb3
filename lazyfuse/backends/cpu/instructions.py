"""What one instruction of the processor does, and LLVM's own language has no word for.

* scale: `y * 2**floor(n)` is one instruction of AVX-512 instead of eight.
* mantissa, exponent: `|x| = 2**k * m`, one instruction each.
* log_edges: one instruction instead of three comparisons, three selections and the flags.
* lookup: a table of 16 numbers is a register or two, of which one instruction takes as many as
  there are lanes.
* truncate: where a float does not fit, x86-64 gives what NumPy gives, and raises the flag itself.
* max, min: `x > y ? x : y`. The instructions give `y` for NaN and for equal zeros, as comparing
  does; those of AVX-512 can be told to raise no flag for NaN.

A value of several registers goes through register by register. Elsewhere other primitives say the
same.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from lazyfuse.backends.cpu.vecmath.tables import TABLES
from lazyfuse.ops.body import Body, Instr
from lazyfuse.ops.float_bits import truncated

if TYPE_CHECKING:
    from lazyfuse.backends.cpu.vector import Operand, VectorWriter


class _Instruction(NamedTuple):
    """The LLVM intrinsic of an instruction, the feature that it belongs to, and the lanes that it
    takes. `rest`: type and value of what follows the operands; {kind} is the result's type."""

    feature: str
    lanes: int
    symbol: str
    rest: tuple[tuple[str, str], ...] = ()


#: Under no mask, rounded as the control word says.
_MASKED_16 = (("{kind}", "zeroinitializer"), ("i16", "-1"), ("i32 immarg", "4"))
_MASKED_8 = (("{kind}", "zeroinitializer"), ("i8", "-1"), ("i32 immarg", "4"))
#: No flags.
_QUIET = (("i32 immarg", "8"),)

_SCALES: Mapping[str, _Instruction] = {
    "f4": _Instruction("avx512f", 16, "llvm.x86.avx512.mask.scalef.ps.512", _MASKED_16),
    "f8": _Instruction("avx512f", 8, "llvm.x86.avx512.mask.scalef.pd.512", _MASKED_8),
}
#: Without its sign, by where it begins: from 1 to 2, or from 3/4 to 3/2.
_MANTISSAS: Mapping[tuple[str, float], _Instruction] = {
    (dtype, least): _Instruction("avx512f", lanes, f"llvm.x86.avx512.mask.getmant.{kind}.512",
                                 (("i32 immarg", interval), *masked))
    for dtype, lanes, kind, masked in (("f4", 16, "ps", _MASKED_16), ("f8", 8, "pd", _MASKED_8))
    for least, interval in ((1.0, "4"), (0.75, "7"))
}  # fmt: skip
_EXPONENTS: Mapping[str, _Instruction] = {
    "f4": _Instruction("avx512f", 16, "llvm.x86.avx512.mask.getexp.ps.512", _MASKED_16),
    "f8": _Instruction("avx512f", 8, "llvm.x86.avx512.mask.getexp.pd.512", _MASKED_8),
}
#: What becomes of quiet and signaling NaN, 0, 1, -inf, inf, negative and positive numbers. 0: the
#: value that there is; 1: x; 2: x as a quiet NaN; 3: NaN; 4: -inf; 5: inf
_LOG_ANSWERS = (1, 2, 4, 0, 3, 5, 3, 0)
_LOG_EDGES = sum(answer << 4 * place for place, answer in enumerate(_LOG_ANSWERS))
#: Flags: of 0 that of a division by zero, of -inf and negative numbers that of an invalid value.
_LOG_FLAGS = 0b1100001
_FIXED_UP: Mapping[str, _Instruction] = {
    dtype: _Instruction("avx512f", lanes, f"llvm.x86.avx512.mask.fixupimm.{kind}.512",
        ((f"<{lanes} x {word}>", f"splat ({word} {_LOG_EDGES})"), ("i32 immarg", str(_LOG_FLAGS)),
         (f"i{lanes}", "-1"), ("i32 immarg", "4")))
    for dtype, lanes, kind, word in (("f4", 16, "ps", "i32"), ("f8", 8, "pd", "i64"))
}  # fmt: skip
_EXTREMES: Mapping[tuple[str, str], _Instruction] = {
    ("max", "f4"): _Instruction("avx512f", 16, "llvm.x86.avx512.max.ps.512", _QUIET),
    ("max", "f8"): _Instruction("avx512f", 8, "llvm.x86.avx512.max.pd.512", _QUIET),
    ("min", "f4"): _Instruction("avx512f", 16, "llvm.x86.avx512.min.ps.512", _QUIET),
    ("min", "f8"): _Instruction("avx512f", 8, "llvm.x86.avx512.min.pd.512", _QUIET),
}
_LOOKUPS: Mapping[str, _Instruction] = {
    "f4": _Instruction("avx512f", 16, "llvm.x86.avx512.permvar.sf.512"),
    "f8": _Instruction("avx512f", 8, "llvm.x86.avx512.vpermi2var.pd.512"),
}
_TRUNCATIONS: Mapping[tuple[str, str], tuple[_Instruction, ...]] = {
    ("f4", "i4"): (
        _Instruction("avx512f", 16, "llvm.x86.avx512.mask.cvttps2dq.512", _MASKED_16),
        _Instruction("avx", 8, "llvm.x86.avx.cvtt.ps2dq.256"),
        _Instruction("sse2", 1, "llvm.x86.sse.cvttss2si"),
    ),
    ("f8", "i4"): (
        _Instruction("avx512f", 8, "llvm.x86.avx512.mask.cvttpd2dq.512", _MASKED_8),
        _Instruction("avx", 4, "llvm.x86.avx.cvtt.pd2dq.256"),
        _Instruction("sse2", 1, "llvm.x86.sse2.cvttsd2si"),
    ),
    ("f4", "i8"): (
        _Instruction("avx512dq", 8, "llvm.x86.avx512.mask.cvttps2qq.512", _MASKED_8),
        _Instruction("sse2", 1, "llvm.x86.sse.cvttss2si64"),
    ),
    ("f8", "i8"): (
        _Instruction("avx512dq", 8, "llvm.x86.avx512.mask.cvttpd2qq.512", _MASKED_8),
        _Instruction("sse2", 1, "llvm.x86.sse2.cvttsd2si64"),
    ),
}


#: The primitives above.
BY_INSTRUCTION = frozenset("scale truncate max min mantissa exponent log_edges lookup".split())


def by_instruction(writer: VectorWriter, instr: Instr, operands: Sequence[Operand]) -> Operand:
    """Write one of the primitives above."""
    match instr.op:
        case "scale":
            return _scaled(writer, operands)
        case "mantissa":
            result, x = operands
            assert isinstance(instr.attr, float)
            return _applied_or(writer, _MANTISSAS[x.dtype, instr.attr], (x,), result)
        case "exponent":
            return _exponent(writer, operands)
        case "log_edges":
            return _log_edges(writer, operands)
        case "lookup":
            return _looked_up(writer, operands[0], str(instr.attr), instr.dtype)
        case "truncate":
            return _truncated(writer, operands[0], instr.dtype)
        case _:
            return _extreme(writer, instr.op, operands)


def _scaled(writer: VectorWriter, operands: Sequence[Operand]) -> Operand:
    """`y * 2**floor(n)` from (that as the other primitives compute it, y, n)."""
    result, y, n = operands
    return _applied_or(writer, _SCALES[y.dtype], (y, n), result)


def _exponent(writer: VectorWriter, operands: Sequence[Operand]) -> Operand:
    """k of |x| = 2**k * m from (that as the other primitives compute it, x, m); the instruction's
    m is from 1 to 2. Without m, that is what is asked for, else its k of m is -1 or 0."""
    result, x, *m = operands
    found = _EXPONENTS[x.dtype]
    if not _fits(writer, found):
        return result
    powers = [_applied(writer, found, (each,), x.dtype) for each in (x, *m)]
    return writer.write(Instr("sub", x.dtype), powers) if m else powers[0]


def _log_edges(writer: VectorWriter, operands: Sequence[Operand]) -> Operand:
    result, y, x = operands
    found = _FIXED_UP[x.dtype]
    if not _fits(writer, found):
        return result
    fixed = _applied(writer, found, (y, x), x.dtype)
    writer.raising.append(fixed)
    return fixed


def _applied_or(
    writer: VectorWriter, found: _Instruction, operands: Sequence[Operand], other: Operand
) -> Operand:
    """What an instruction makes of operands; `other`, which is the same, where there is none."""
    return _applied(writer, found, operands, other.dtype) if _fits(writer, found) else other


def _extreme(writer: VectorWriter, op: str, operands: Sequence[Operand]) -> Operand:
    """The first operand where it is greater (max) or less (min), else the second."""
    x, y = operands
    found = _EXTREMES[op, x.dtype]
    if _fits(writer, found):
        return _applied(writer, found, operands, x.dtype)
    is_first = writer.write(Instr("lt", "b1"), (y, x) if op == "max" else (x, y))
    return writer.select(is_first, x, y)


def _truncated(writer: VectorWriter, x: Operand, dtype: str) -> Operand:
    """A float without its fraction, as i4 or i8."""
    for found in _TRUNCATIONS[x.dtype, dtype]:
        if _fits(writer, found):
            return _heard(writer, _applied(writer, found, (x,), dtype))
    body, result = _truncation(x.dtype, dtype)
    return writer.expand(body, result, (x,))


def _heard(writer: VectorWriter, value: Operand) -> Operand:
    """An integer computed in every lane: LLVM would mask the lanes that a select drops, and they
    would raise no flags."""
    twin = f"f{value.dtype[1:]}"
    floats = writer.write(Instr("bitcast", twin), (value,))
    fenced = writer.intrinsic("llvm.arithmetic.fence", twin, (floats,))
    return writer.write(Instr("bitcast", value.dtype), (fenced,))


@cache
def _truncation(source: str, target: str) -> tuple[Body, int]:
    body = Body()
    return body, truncated(body.emit("scalar", source, attr=0), target).index


def _fits(writer: VectorWriter, found: _Instruction) -> bool:
    """Whether the processor has an instruction, for parts of a value or for all of it."""
    whole = writer.lanes == 1 if found.lanes == 1 else writer.lanes % found.lanes == 0
    return found.feature in writer.features and whole


def _applied(
    writer: VectorWriter, found: _Instruction, operands: Sequence[Operand], dtype: str
) -> Operand:
    """Take a value through an instruction, register by register."""
    parts = [
        _call(writer, found, [_part(writer, x, first, found.lanes) for x in operands], dtype)
        for first in range(0, writer.lanes, found.lanes)
    ]
    return _whole(writer, parts, found.lanes)


def _whole(writer: VectorWriter, parts: list[Operand], lanes: int) -> Operand:
    """A value of its parts, of so many lanes each."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [_joined(writer, *pair, lanes) for pair in pairs]
        lanes *= 2
    return parts[0]


def _looked_up(writer: VectorWriter, bits: Operand, name: str, dtype: str) -> Operand:
    """The numbers of a table by the last four bits."""
    kind = _SCALARS[dtype]
    words = [f"{kind} {_literal(number, dtype)}" for number in TABLES[name]]
    found = _LOOKUPS[dtype]
    if not _fits(writer, found):
        return _loaded(writer, bits, name, words, dtype)
    whole, index_kind = _kind(dtype, found.lanes), _kind(f"i{dtype[1:]}", found.lanes)
    rows = [
        f"{whole} <{', '.join(words[k : k + found.lanes])}>" for k in range(0, 16, found.lanes)
    ]
    takes = ", ".join([whole, index_kind, whole][: len(rows) + 1])
    writer.declarations[found.symbol] = f"declare {whole} @{found.symbol}({takes})"
    signed = writer.write(Instr("bitcast", f"i{dtype[1:]}"), (bits,))
    parts = []
    for first in range(0, writer.lanes, found.lanes):
        index = f"{index_kind} {_part(writer, signed, first, found.lanes).name}"
        arguments = ", ".join([rows[0], index, *rows[1:]])
        parts.append(writer.assign(f"call {whole} @{found.symbol}({arguments})", dtype))
    return _whole(writer, parts, found.lanes)


def _literal(number: float, dtype: str) -> str:
    """A constant, which LLVM writes as a double; those of float32 are ones."""
    assert dtype == "f8" or struct.unpack("f", struct.pack("f", number))[0] == number
    return f"0x{struct.pack('>d', number).hex().upper()}"


def _loaded(
    writer: VectorWriter, bits: Operand, name: str, words: Sequence[str], dtype: str
) -> Operand:
    """The numbers of a table from memory, lane by lane."""
    table = f"@table.{name}.{dtype}"
    content = f"[16 x {_SCALARS[dtype]}] [{', '.join(words)}]"
    writer.declarations[table] = f"{table} = internal constant {content}"
    index = writer.write(Instr("and", bits.dtype), (bits, writer.const(15, bits.dtype)))
    found = [_element(writer, table, index, lane, dtype) for lane in range(writer.lanes)]
    if writer.lanes == 1:
        return found[0]
    kind, whole = _kind(dtype, writer.lanes), "poison"
    for lane, one in enumerate(found):
        text = f"insertelement {kind} {whole}, {_SCALARS[dtype]} {one.name}, i64 {lane}"
        whole = writer.assign(text, dtype).name
    return found[0]._replace(names=(whole,))


def _element(writer: VectorWriter, table: str, index: Operand, lane: int, dtype: str) -> Operand:
    """A number of a table in memory."""
    place, word = index.name, _SCALARS[f"i{dtype[1:]}"]
    if writer.lanes > 1:
        kind = _kind(f"i{dtype[1:]}", writer.lanes)
        place = writer.assign(f"extractelement {kind} {place}, i64 {lane}", index.dtype).name
    kind = _SCALARS[dtype]
    at = writer.assign(f"getelementptr {kind}, ptr {table}, {word} {place}", index.dtype).name
    return writer.assign(f"load {kind}, ptr {at}", dtype)


def _call(
    writer: VectorWriter, found: _Instruction, operands: Sequence[Operand], dtype: str
) -> Operand:
    """One register."""
    kind = _kind(dtype, found.lanes)
    given = [(_register(x.dtype, found.lanes), x.name) for x in operands]
    given += [(type_.format(kind=kind), value) for type_, value in found.rest]
    types = ", ".join(type_ for type_, _ in given)
    writer.declarations[found.symbol] = f"declare {kind} @{found.symbol}({types})"
    arguments = ", ".join(f"{type_.removesuffix(' immarg')} {value}" for type_, value in given)
    return writer.assign(f"call {kind} @{found.symbol}({arguments})", dtype)


def _part(writer: VectorWriter, operand: Operand, first: int, lanes: int) -> Operand:
    """The register of a value that starts at a lane."""
    kind = _kind(operand.dtype, writer.lanes)
    if lanes == 1:
        whole = _register(operand.dtype, lanes)
        text = f"insertelement {whole} poison, {kind} {operand.name}, i64 0"
        return writer.assign(text, operand.dtype)
    if lanes == writer.lanes:
        return operand
    order = ", ".join(f"i32 {lane}" for lane in range(first, first + lanes))
    text = f"shufflevector {kind} {operand.name}, {kind} poison, <{lanes} x i32> <{order}>"
    return writer.assign(text, operand.dtype)


def _joined(writer: VectorWriter, low: Operand, high: Operand, lanes: int) -> Operand:
    """Two values of so many lanes, side by side."""
    kind, order = _kind(low.dtype, lanes), ", ".join(f"i32 {lane}" for lane in range(2 * lanes))
    text = f"shufflevector {kind} {low.name}, {kind} {high.name}, <{2 * lanes} x i32> <{order}>"
    return writer.assign(text, low.dtype)


_SCALARS = {"f4": "float", "f8": "double", "i4": "i32", "i8": "i64"}


def _kind(dtype: str, lanes: int) -> str:
    return _SCALARS[dtype] if lanes == 1 else f"<{lanes} x {_SCALARS[dtype]}>"


def _register(dtype: str, lanes: int) -> str:
    """The type of an operand: instructions of one lane read it from a register of 16 bytes."""
    return _kind(dtype, lanes if lanes > 1 else 16 // int(dtype[1:]))
