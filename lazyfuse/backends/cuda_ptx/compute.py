"""Instructions that only compute: registers in, registers out -> steps.

Each opcode gives a function of arrays, the types it reads and the type it writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lazyfuse.backends.cuda_ptx import convert, floats, integers
from lazyfuse.backends.cuda_ptx.access import Step
from lazyfuse.backends.cuda_ptx.faults import UnknownInstruction
from lazyfuse.backends.cuda_ptx.frame import Frame, Lanes
from lazyfuse.backends.cuda_ptx.operands import reader, vector, writer
from lazyfuse.backends.cuda_ptx.parse import Function, Instruction
from lazyfuse.backends.cuda_ptx.types import TYPES, PtxType, unsigned

Compute = Callable[..., np.ndarray]
#: The hidden register of add.cc and its kin.
CARRY = "%carry"


@dataclass(frozen=True, slots=True)
class Pure:
    """A function of operands read as `reads`; integers are written as they come out."""

    compute: Compute
    reads: tuple[PtxType, ...]


def step_of(instruction: Instruction, function: Function) -> Step:
    """Bind a computing instruction; raises UnknownInstruction."""
    opcode = instruction.opcode
    if opcode in _SPECIAL:
        return _SPECIAL[opcode](instruction, function)
    if opcode in ("addc", "subc", "madc") or "cc" in instruction.modifiers:
        return _carrying(instruction, function)
    pure = _pure(instruction)
    target = writer(instruction.operands[0], function)
    sources = [
        reader(text, kind, function)
        for text, kind in zip(instruction.operands[1:], pure.reads, strict=True)
    ]
    compute = pure.compute

    def step(frame: Frame, lanes: Lanes) -> None:
        target(frame, lanes, compute(*(source(frame, lanes) for source in sources)))

    return step


def _pure(instruction: Instruction) -> Pure:
    opcode, types = instruction.opcode, [TYPES[name] for name in instruction.types]
    operands = len(instruction.operands) - 1
    if not types:
        raise UnknownInstruction("no type that the interpreter knows")
    if opcode == "cvt":
        return Pure(convert.compute_of(instruction.modifiers), (types[-1],))
    if opcode == "testp":
        return Pure(floats.classify(instruction.modifiers[0]), (types[-1],))
    kind = types[-1]
    if kind.kind == "f":
        if opcode not in floats.OPCODES:
            raise UnknownInstruction("no such instruction on floats")
        return Pure(
            floats.compute_of(opcode, instruction.modifiers, kind.dtype), (kind,) * operands
        )
    return _integer(instruction, kind, operands)


def _integer(instruction: Instruction, kind: PtxType, operands: int) -> Pure:
    opcode, modifiers = instruction.opcode, set(instruction.modifiers) - {kind.name}
    amount = TYPES["u32"]
    if opcode in ("mul", "mad") and modifiers <= {"lo", "hi", "wide"}:
        return _product(opcode, next(iter(modifiers), "lo"), kind)
    if opcode == "shf" and modifiers <= {"l", "r", "wrap", "clamp"}:
        return Pure(integers.funnel(instruction.modifiers), (amount,) * 3)
    name = ".".join((opcode, *sorted(modifiers)))
    if name in integers.SIMPLE:
        return Pure(integers.SIMPLE[name], (kind,) * operands)
    if modifiers:
        raise UnknownInstruction(f"modifiers {sorted(modifiers)}")
    if opcode in _BITS:
        return Pure(_BITS[opcode], (kind,) * operands)
    if opcode in ("shl", "shr"):
        return Pure(integers.shift(opcode, kind), (kind, amount))
    if opcode == "bfe":
        return Pure(integers.extract(kind), (kind, amount, amount))
    if opcode == "bfi":
        return Pure(integers.insert(kind), (kind, kind, amount, amount))
    if opcode == "lop3":
        table = int(instruction.operands[4], 0)
        return Pure(lambda a, b, c, _: integers.logic(table)(a, b, c), (kind,) * 4)
    raise UnknownInstruction("no such instruction")


def _product(opcode: str, part: str, kind: PtxType) -> Pure:
    multiply = integers.multiply(part, kind)
    if opcode == "mul":
        return Pure(multiply, (kind, kind))
    wide = TYPES[f"{kind.kind}{kind.bits * (2 if part == 'wide' else 1)}"]
    return Pure(lambda a, b, c: multiply(a, b) + c, (kind, kind, wide))


_BITS: dict[str, Compute] = {
    "div": integers.divide,
    "rem": integers.remainder,
    "popc": integers.popcount,
    "clz": integers.leading_zeros,
    "brev": integers.reversed_bits,
    "bfind": integers.highest_bit,
    "prmt": integers.permute,
}


# --- with more than one result, or operands of several kinds ------------------------------------


def _compare(instruction: Instruction, function: Function) -> Step:
    """setp.compare.boolean.type p|q, a, b, c"""
    kind = TYPES[instruction.types[-1]]
    name, *rest = instruction.modifiers
    boolean = next((word for word in rest if word in _BOOLEAN), None)
    unknown = set(rest) - {kind.name, boolean, "ftz"}
    if unknown:
        raise UnknownInstruction(f"modifiers {sorted(unknown)}")
    compare = floats.compare(name) if kind.kind == "f" else floats.COMPARISONS[name]
    targets = [writer(text, function) for text in instruction.operands[0].split("|")]
    a, b = (reader(text, kind, function) for text in instruction.operands[1:3])
    third = [reader(text, TYPES["pred"], function) for text in instruction.operands[3:]]
    flush = floats.flushed if "ftz" in rest and kind.bits == 32 else None

    def step(frame: Frame, lanes: Lanes) -> None:
        x, y = a(frame, lanes), b(frame, lanes)
        if flush is not None:
            x, y = flush(x), flush(y)
        is_true = compare(x, y)
        results = [is_true, ~is_true]
        for source in third:
            assert boolean is not None, instruction
            results = [_BOOLEAN[boolean](result, source(frame, lanes)) for result in results]
        for target, result in zip(targets, results, strict=False):
            target(frame, lanes, result)

    return step


_BOOLEAN: dict[str, Compute] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def _select(instruction: Instruction, function: Function) -> Step:
    """selp d, a, b, p"""
    kind = TYPES[instruction.types[-1]]
    target = writer(instruction.operands[0], function)
    a, b = (reader(text, kind, function) for text in instruction.operands[1:3])
    condition = reader(instruction.operands[3], TYPES["pred"], function)

    def step(frame: Frame, lanes: Lanes) -> None:
        picked = np.where(condition(frame, lanes), a(frame, lanes), b(frame, lanes))
        target(frame, lanes, picked)

    return step


def _move(instruction: Instruction, function: Function) -> Step:
    """mov, which also takes a register apart into a vector or puts one together."""
    kind = TYPES[instruction.types[-1]]
    into, source = instruction.operands
    if into.startswith("{"):
        return _unpack(kind, vector(into), reader(source, kind, function), function)
    target = writer(into, function)
    if not source.startswith("{"):
        read = reader(source, kind, function)
        return lambda frame, lanes: target(frame, lanes, read(frame, lanes))
    names = vector(source)
    part = TYPES[f"b{kind.bits // len(names)}"]
    parts = [reader(name, part, function) for name in names]

    def pack(frame: Frame, lanes: Lanes) -> None:
        total = np.zeros(frame.size(lanes), np.uint64)
        for number, read in enumerate(parts):
            total |= read(frame, lanes).astype(np.uint64) << np.uint64(number * part.bits)
        target(frame, lanes, total.astype(unsigned(kind.bits)))

    return pack


def _unpack(
    kind: PtxType, names: tuple[str, ...], read: Callable[..., np.ndarray], function: Function
) -> Step:
    bits = kind.bits // len(names)
    targets = [writer(name, function) for name in names]

    def step(frame: Frame, lanes: Lanes) -> None:
        whole = read(frame, lanes).view(unsigned(kind.bits)).astype(np.uint64)
        for number, target in enumerate(targets):
            target(frame, lanes, (whole >> np.uint64(number * bits)).astype(unsigned(bits)))

    return step


def _carrying(instruction: Instruction, function: Function) -> Step:
    """Additions whose carry goes through a hidden register."""
    kind = TYPES[f"u{TYPES[instruction.types[-1]].bits}"]
    opcode = instruction.opcode
    function.registers.setdefault(CARRY, 64)
    compute = integers.with_carry(opcode, instruction.modifiers, kind.bits)
    target, keep = writer(instruction.operands[0], function), writer(CARRY, function)
    sources = [reader(text, kind, function) for text in instruction.operands[1:]]
    carry = reader(CARRY if opcode.endswith("c") and opcode != "sub" else "0", kind, function)

    def step(frame: Frame, lanes: Lanes) -> None:
        given = [source(frame, lanes) for source in sources]
        low, out = compute(*given, carry(frame, lanes))
        target(frame, lanes, low)
        if "cc" in instruction.modifiers:
            keep(frame, lanes, out)

    return step


_SPECIAL: dict[str, Callable[[Instruction, Function], Step]] = {
    "setp": _compare,
    "selp": _select,
    "mov": _move,
}
