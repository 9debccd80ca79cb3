"""One instruction of the body language -> LLVM IR text for a fixed number of lanes.

The loop emitter owns loops, memory and the structural ops `load`, `scalar`, `index` and `acc`; it
makes an `Operand` for each and hands every other instruction to `VectorWriter.write`:

    writer = VectorWriter(8, features=frozenset({"fma", "f16c"}))
    writer.label("loop")                              # every block is opened through label()
    x = Operand("f8", ("%x",))                        # <8 x double> %x, loaded by the caller
    y = writer.write(Instr("sin", "f8", (0,)), (x,))  # appends to writer.lines

Invariants
- Lanes are independent: the same bits come out whatever `lanes` is.
- `lines` is a stream of instructions and labels without indentation. `write` may open new blocks
  (rare lanes go to
  libm behind a branch); `writer.block` names the block that is open now: use it in phis and never
  assume that one
  instruction stays in one block.
- `declarations` maps a symbol to its `declare` or `define` text; put its values once into the
  module, in any order.
  A `define` there is an internal helper. Symbols from the C library (`sin`, `sinf`, `fmod` ...)
  must be resolvable
  by the JIT: `llvmlite.binding.load_library_permanently("libm.so.6")` or add_symbol.
- A constant is an Operand whose name is a literal (`splat (double 0x...)`): usable wherever a name
  is, it costs no
  instruction. b1 is i1, f2 is half, a complex value is two names (re, im).
- No fast-math flag is ever written; LLVM does not contract plain fmul and fadd.
- One lane gives scalar types, so the same writer serves loop tails: lanes=1.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from lazyfuse.backends.cpu.byte_picks import Collected, has_room, widened
from lazyfuse.backends.cpu.instructions import BY_INSTRUCTION, by_instruction
from lazyfuse.backends.cpu.integer_division import divide, divides, multiply_high
from lazyfuse.backends.cpu.lanes import IN_RARE_LANES, in_rare_lanes
from lazyfuse.backends.cpu.selects import Sources, heard_select
from lazyfuse.backends.cpu.vecmath import FMA_FEATURES, expansion
from lazyfuse.ops.body import Body, Instr, Literal
from lazyfuse.ops.primitives import PRIMITIVES

_FLOATS = {"f2": "half", "f4": "float", "f8": "double"}
_SUFFIXES = {"f2": "f16", "f4": "f32", "f8": "f64"}
#: Comparisons whose vector instructions raise INVALID for NaN, unless told not to.
_SIGNALING = frozenset({"fcmp olt", "fcmp ole"})


class Operand(NamedTuple):
    """A vector value: `names` holds one LLVM value, or two (real, imaginary part) for a complex
    dtype.
    """

    dtype: str
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """The only name of a value that is not complex."""
        (name,) = self.names
        return name


def part_dtype(dtype: str) -> str:
    """The dtype of one LLVM value: the component of a complex dtype, else the dtype itself."""
    return f"f{int(dtype[1:]) // 2}" if dtype[0] == "c" else dtype


@cache
def scalar_type(dtype: str) -> str:
    """The LLVM type of one lane of (one component of) `dtype`."""
    dtype = part_dtype(dtype)
    if dtype == "b1":
        return "i1"
    return _FLOATS.get(dtype) or f"i{8 * int(dtype[1:])}"


@cache
def vector_type(dtype: str, lanes: int) -> str:
    """The LLVM type of `lanes` lanes: scalar for one lane, else `<N x T>`."""
    scalar = scalar_type(dtype)
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def literal(value: Literal, dtype: str) -> str:
    """Spell a Python number as an LLVM constant of one lane; floats bit for bit."""
    if dtype == "b1":
        return "true" if value else "false"
    if dtype[0] in "iu":
        return str(int(value))
    if dtype == "f2":
        return f"0xH{struct.pack('>e', value).hex().upper()}"
    if dtype == "f4":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.pack('>d', value).hex().upper()}"


def _rename(instr: Instr, operands: Sequence[Operand]) -> Operand:
    """complex, real and imag: they only rearrange names."""
    names = [name for operand in operands for name in operand.names]
    parts = {"complex": names, "real": names[:1], "imag": names[1:]}[instr.op]
    return Operand(instr.dtype, tuple(parts))


class VectorWriter:
    """Appends the LLVM text of instructions for `lanes` lanes to `lines`; see the module
    docstring.
    """

    def __init__(self, lanes: int, *, features: frozenset[str]) -> None:
        self.lanes = lanes
        self.has_fma = bool(features & FMA_FEATURES)
        self.has_sse = "sse2" in features
        self.has_quiet_compares = "avx" in features
        self.features = features
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        #: Values whose instructions have raised the flags of their function.
        self.raising: list[Operand] = []
        self.sources = Sources()
        #: Values that are picked from bytes, and what was cut off to give a value.
        self.collected: dict[str, Collected] = {}
        self.uncut: dict[str, Operand] = {}
        self.block = "entry"
        self._count = 0

    def fresh(self, prefix: str = "t") -> str:
        """A new SSA name; with `%` in front, so strip it for a label."""
        self._count += 1
        return f"%{prefix}{self._count}"

    def label(self, name: str) -> None:
        """Open the block `name` (no `%`)."""
        self.lines.append(f"{name}:")
        self.block = name

    def type(self, dtype: str) -> str:
        return vector_type(dtype, self.lanes)

    def const(self, value: Literal, dtype: str) -> Operand:
        """A constant in all lanes; its imaginary part, where there is one, is 0."""
        part = part_dtype(dtype)
        values = (value, 0.0) if dtype[0] == "c" else (value,)
        return Operand(dtype, tuple(self._splat(literal(v, part), part) for v in values))

    def assign(self, text: str, dtype: str) -> Operand:
        """Append `name = text` and return the name as an operand of `dtype`."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return Operand(dtype, (name,))

    def intrinsic(self, name: str, dtype: str, operands: Sequence[Operand]) -> Operand:
        """Call an intrinsic overloaded on one type, declaring it."""
        kind = _SUFFIXES.get(dtype) or scalar_type(dtype)
        symbol = f"{name}.{kind}" if self.lanes == 1 else f"{name}.v{self.lanes}{kind}"
        types = ", ".join(self.type(operand.dtype) for operand in operands)
        self.declarations[symbol] = f"declare {self.type(dtype)} @{symbol}({types})"
        return self.call(symbol, dtype, operands)

    def call(self, symbol: str, dtype: str, operands: Sequence[Operand]) -> Operand:
        """Call a symbol that `declarations` has."""
        args = ", ".join(f"{self.type(operand.dtype)} {operand.name}" for operand in operands)
        return self.assign(f"call {self.type(dtype)} @{symbol}({args})", dtype)

    def write(self, instr: Instr, operands: Sequence[Operand]) -> Operand:
        """Append the code of one instruction whose arguments are `operands`; return its result."""
        match instr.op:
            case "const":
                assert instr.attr is not None and not isinstance(instr.attr, str)
                return self.const(instr.attr, instr.dtype)
            case "cast":
                return self._cast(operands[0], instr.dtype)
            case "bitcast":
                return self._bitcast(operands[0], instr.dtype)
            case "complex" | "real" | "imag":
                return _rename(instr, operands)
            case _:
                return self._compute(instr, operands)

    def _compute(self, instr: Instr, operands: Sequence[Operand]) -> Operand:
        """Write an instruction that computes; those the table does not spell come first."""
        match instr.op:
            case "select":
                if instr.attr == "heard":
                    return heard_select(self, *operands)
                return self.select(*operands)
            case op if op in IN_RARE_LANES:
                return in_rare_lanes(self, instr, operands)
            case op if op in BY_INSTRUCTION:
                return by_instruction(self, instr, operands)
            case "div" | "rem" if divides(instr, self.lanes):
                return divide(self, instr, operands)
            case "not":
                ones = self.const(True if instr.dtype == "b1" else -1, instr.dtype)
                found = self._binary("xor", instr.dtype, operands[0], ones)
                self.sources.negated.add(found.name)
                return found
            case "neg" if instr.dtype[0] != "f":
                return self._binary("sub", instr.dtype, self.const(0, instr.dtype), operands[0])
            case "fma" if not self.has_fma:
                return self._emulated_fma(operands, is_exact=instr.attr == "exact")
            case _:
                return self._from_table(instr, operands)

    def select(self, condition: Operand, x: Operand, y: Operand) -> Operand:
        kind, flag = self.type(x.dtype), f"select {self.type('b1')} {condition.name}"
        names = (
            self.assign(f"{flag}, {kind} {left}, {kind} {right}", x.dtype).name
            for left, right in zip(x.names, y.names, strict=True)
        )
        return Operand(x.dtype, tuple(names))

    def _splat(self, text: str, dtype: str) -> str:
        return text if self.lanes == 1 else f"splat ({scalar_type(dtype)} {text})"

    def _binary(self, opcode: str, dtype: str, x: Operand, y: Operand) -> Operand:
        return self.assign(f"{opcode} {self.type(x.dtype)} {x.name}, {y.name}", dtype)

    def _convert(self, opcode: str, x: Operand, dtype: str) -> Operand:
        return self.assign(f"{opcode} {self.type(x.dtype)} {x.name} to {self.type(dtype)}", dtype)

    def _from_table(self, instr: Instr, operands: Sequence[Operand]) -> Operand:
        """Write a primitive as its LLVM cell says."""
        peer = operands[0]
        cell = PRIMITIVES[instr.op].llvm[peer.dtype[0]]
        if cell == "expand":
            return self._vecmath(instr.op, operands)
        if cell == "mulhi":
            return multiply_high(self, *operands)
        if cell.startswith("llvm."):
            return self._cast(self.intrinsic(cell, peer.dtype, operands), instr.dtype)
        is_quiet = self.has_quiet_compares and self.lanes > 1 and instr.attr != "signaling"
        if cell in _SIGNALING and is_quiet:
            return self._compare_quietly(cell.removeprefix("fcmp "), *operands)
        if cell == "fneg":
            return self.assign(f"fneg {self.type(peer.dtype)} {peer.name}", instr.dtype)
        return self._binary(cell, instr.dtype, peer, operands[1])

    def _compare_quietly(self, predicate: str, x: Operand, y: Operand) -> Operand:
        """A comparison that raises no flag for NaN. A plain fcmp of vectors does: LLVM takes the
        instruction that C's `<` asks for."""
        suffix = f"v{self.lanes}{_SUFFIXES[x.dtype]}"
        symbol = f"llvm.experimental.constrained.fcmp.{suffix}"
        kinds = self.type("b1"), self.type(x.dtype)
        self.declarations[symbol] = (
            f"declare {kinds[0]} @{symbol}({kinds[1]}, {kinds[1]}, metadata, metadata)"
        )
        pair = f"{kinds[1]} {x.name}, {kinds[1]} {y.name}"
        how = f'metadata !"{predicate}", metadata !"fpexcept.ignore"'
        return self.assign(f"call {kinds[0]} @{symbol}({pair}, {how})", "b1")

    def expand(self, body: Body, result: int, operands: Sequence[Operand]) -> Operand:
        """Write a straight-line body, whose `scalar` instructions are the operands."""
        values: list[Operand] = []
        for step in body.instrs:
            if step.op == "scalar":
                assert isinstance(step.attr, int)
                values.append(operands[step.attr])
            else:
                values.append(self.write(step, [values[index] for index in step.args]))
        return values[result]

    def _vecmath(self, name: str, operands: Sequence[Operand]) -> Operand:
        body, result = expansion(name, operands[0].dtype, self.features)
        before = len(self.raising)
        written = self.expand(body, result, operands)
        if len(self.raising) > before:
            self.raising.append(written)
        return written

    def _emulated_fma(self, operands: Sequence[Operand], *, is_exact: bool) -> Operand:
        """x*y + z without the instruction: for polynomials a product and a sum, else Dekker's
        product.
        """
        x, y, z = operands
        dtype = x.dtype
        if not is_exact:
            return self._binary("fadd", dtype, self._binary("fmul", dtype, x, y), z)
        if dtype == "f4":  # the product of two floats is exact in double
            wide = [self._cast(operand, "f8") for operand in operands]
            product = self._binary("fmul", "f8", wide[0], wide[1])
            return self._cast(self._binary("fadd", "f8", product, wide[2]), "f4")
        product, rest = self._dekker(x, y)
        total = self._binary("fadd", dtype, product, z)
        moved = self._binary("fsub", dtype, total, product)
        back = self._binary("fsub", dtype, total, moved)
        lost = self._binary(
            "fadd",
            dtype,
            self._binary("fsub", dtype, product, back),
            self._binary("fsub", dtype, z, moved),
        )
        fixed = self._binary("fadd", dtype, total, self._binary("fadd", dtype, lost, rest))
        is_other = self._binary("fcmp one", "b1", fixed, total)  # no NaN, nor 0 for -0
        return self.select(is_other, fixed, total)

    def _dekker(self, x: Operand, y: Operand) -> tuple[Operand, Operand]:
        """x*y as an unevaluated sum. Source: Dekker 1971; Veltkamp's splitting by 2^27 + 1."""

        def op(opcode: str, left: Operand, right: Operand) -> Operand:
            return self._binary(opcode, left.dtype, left, right)

        def split(value: Operand) -> tuple[Operand, Operand]:
            scaled = op("fmul", value, self.const(134217729.0, "f8"))
            high = op("fsub", scaled, op("fsub", scaled, value))
            return high, op("fsub", value, high)

        product = op("fmul", x, y)
        (xh, xl), (yh, yl) = split(x), split(y)
        rest = op("fsub", op("fmul", xh, yh), product)
        for left, right in ((xh, yl), (xl, yh), (xl, yl)):
            rest = op("fadd", rest, op("fmul", left, right))
        return product, rest

    def _bitcast(self, x: Operand, dtype: str) -> Operand:
        if "b1" in (x.dtype, dtype):
            return self._cast(x, dtype)
        if scalar_type(x.dtype) == scalar_type(dtype):
            return Operand(dtype, x.names)
        return self._convert("bitcast", x, dtype)

    def _cast(self, x: Operand, dtype: str) -> Operand:
        """Convert as C does; float to integer needs values in range, float64 to float16 rounds
        once.
        """
        source, target = x.dtype[0], dtype[0]
        if x.dtype == dtype:
            return x
        if source == "c":
            return self._cast_complex(x, dtype)
        if target == "c":
            real = self._cast(x, part_dtype(dtype))
            return Operand(dtype, (real.name, self.const(0.0, real.dtype).name))
        if target == "b":
            zero = self.const(0, x.dtype)
            return self._binary("fcmp une" if source == "f" else "icmp ne", "b1", x, zero)
        if source != "f" and target != "f":
            return self._resize(x, dtype)
        if "f2" in (x.dtype, dtype):
            return self._cast_half(x, dtype)
        if source == target:
            return self._convert("fpext" if x.dtype == "f4" else "fptrunc", x, dtype)
        if source == "f":
            return self._convert("fptosi" if target == "i" else "fptoui", x, dtype)
        if self._is_picked(x, 4):
            x = self._resize(x, "i4")
        return self._convert("sitofp" if x.dtype[0] == "i" else "uitofp", x, dtype)

    def _cast_complex(self, x: Operand, dtype: str) -> Operand:
        parts = [Operand(part_dtype(x.dtype), (name,)) for name in x.names]
        if dtype == "b1":
            flags = [self._cast(part, dtype) for part in parts]
            return self._binary("or", dtype, *flags)
        if dtype[0] != "c":
            return self._cast(parts[0], dtype)
        return Operand(dtype, tuple(self._cast(part, part_dtype(dtype)).name for part in parts))

    def _resize(self, x: Operand, dtype: str) -> Operand:
        """Integer or bool to integer."""
        width, new_width = (int(scalar_type(d)[1:]) for d in (x.dtype, dtype))
        if width == new_width:
            return Operand(dtype, x.names)
        if new_width < width:
            found = self._convert("trunc", x, dtype)
            self.uncut[found.name] = self.uncut.get(x.name, x)
            return found
        if self._is_picked(x, new_width // 8):
            return widened(self, self.collected[x.name], dtype)
        return self._convert("sext" if x.dtype[0] == "i" else "zext", x, dtype)

    def _is_picked(self, x: Operand, size: int) -> bool:
        """Whether zeros widen lanes picked from bytes: ones with a sign have that name, too."""
        return x.dtype[0] == "u" and x.name in self.collected and has_room(self, size)

    def _cast_half(self, x: Operand, dtype: str) -> Operand:
        """To or from float16, always through float32, as the hardware (and NumPy for integers)
        does.
        """
        if x.dtype == "f2":
            return self._cast(self._convert("fpext", x, "f4"), dtype)
        narrow = self._round_to_odd(x) if x.dtype == "f8" else self._cast(x, "f4")
        return self._convert("fptrunc", narrow, dtype)

    def _round_to_odd(self, x: Operand) -> Operand:
        """float64 to a float32 that rounds to float16 like the float64 itself.

        Source: Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008.
        """
        near = self._convert("fptrunc", x, "f4")
        back = self._convert("fpext", near, "f8")
        is_inexact = self._binary("fcmp une", "b1", back, x)
        sizes = [self.intrinsic("llvm.fabs", "f8", (value,)) for value in (back, x)]
        is_above = self._binary("fcmp ogt", "b1", *sizes)
        bits = self._convert("bitcast", near, "u4")
        cut = self._binary("sub", "u4", bits, self._convert("zext", is_above, "u4"))
        odd = self._binary("or", "u4", cut, self.const(1, "u4"))
        return self._convert("bitcast", self.select(is_inexact, odd, bits), "f4")
