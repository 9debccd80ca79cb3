"""PTX text -> functions of instructions, with the line of each.

Takes what NVRTC writes: one statement up to each `;`, declarations at the head of a block, vector
operands in braces. Names that an inner block declares (`%temp`, `param0`) are given the number of
their block, so that a function has one flat list of registers and variables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lazyfuse.backends.cuda_ptx.faults import PtxSyntaxError
from lazyfuse.backends.cuda_ptx.types import TYPES

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_LINKAGE = r"(?:\.(?:visible|weak|extern)\s+)*"
_HEAD = re.compile(_LINKAGE + r"\.(entry|func)\b([^{;]*)([{;])")
_STATEMENT = re.compile(r"\s*(?:([{}])|([$\w]+):(?!:)|([^;{}]*(?:\{[^;{}]*\}[^;{}]*)*);)")
_VARIABLE = re.compile(
    _LINKAGE + r"\.(global|const|shared|local|param)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
    r"(?:\.ptr\s+)?(?:\.(?:global|shared|local|const)\s+)?(?:\.align\s+\d+\s+)?"
    r"([\w$%.]+)(?:\[(\d*)\])?\s*(?:=\s*(.*))?$",
    re.S,
)
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*)$", re.S)
_OPENING = frozenset("{[(")
_NAME = re.compile(r"%?[$\w]+")


@dataclass(frozen=True, slots=True)
class Variable:
    """Named memory: its state space, size and alignment in bytes, and what it holds at first."""

    space: str
    name: str
    nbytes: int
    align: int
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Instruction:
    """`@!%p1 ld.global.f32 %f1, [%rd2+4];` in parts."""

    line: int
    text: str
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    predicate: str | None = None
    negated: bool = False

    @property
    def types(self) -> list[str]:
        """The type names among the modifiers."""
        return [word for word in self.modifiers if word in TYPES]


@dataclass(slots=True)
class Function:
    """An entry or a function that others call."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    result: Variable | None
    registers: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Module:
    """A parsed text."""

    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)


def parse(text: str) -> Module:
    """Parse a PTX text.

    Raises: PtxSyntaxError.
    """
    text = _COMMENT.sub(lambda found: "\n" * found.group().count("\n"), text)
    module, position = Module(), 0
    while head := _HEAD.search(text, position):
        for statement in text[position : head.start()].split(";"):
            _module_variable(statement.strip(), module)
        position = head.end()
        if head.group(3) == "{":
            function = _signature(head.group(1), head.group(2))
            position = _Body(text, position, function).parse()
            module.functions[function.name] = function
    return module


def split_operands(text: str) -> tuple[str, ...]:
    """Split at the commas that stand outside brackets."""
    if _OPENING.isdisjoint(text):
        return tuple([part for each in text.split(",") if (part := each.strip())])
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return tuple(part for part in parts if part)


def _module_variable(statement: str, module: Module) -> None:
    """Take a variable of the whole module; headers (`.version 9.0`) are lines of other words."""
    start = re.search(_LINKAGE + r"\.(?:global|const|shared)\s", statement)
    if start:
        variable = _variable(statement[start.start() :])
        module.variables[variable.name] = variable


def _variable(statement: str) -> Variable:
    found = _VARIABLE.match(statement)
    if found is None:
        raise PtxSyntaxError(f"not a declaration: {statement}")
    space, align, kind, name, count, values = found.groups()
    size = TYPES[kind].size
    content = b""
    if values:
        numbers = [int(word, 0) for word in re.findall(r"[-\w]+", values)]
        content = b"".join((n & ((1 << 8 * size) - 1)).to_bytes(size, "little") for n in numbers)
    nbytes = size * (1 if count is None else int(count or 0))
    return Variable(space, name, nbytes, int(align or size), content)


def _signature(kind: str, text: str) -> Function:
    """`(.param .b64 result) name (.param ..., ...) .maxntid ...`"""
    found = re.match(r"\s*(?:\(([^)]*)\)\s*)?([\w$]+)\s*(?:\(([^)]*)\))?", text)
    if found is None:
        raise PtxSyntaxError(f"not a signature: {text}")
    result, name, parameters = found.groups()
    listed = [part.strip() for part in (parameters or "").split(",") if part.strip()]
    return Function(
        name,
        kind == "entry",
        tuple(_variable(part) for part in listed),
        _variable(result.strip()) if result else None,
    )


class _Body:
    """Parses the statements of one function."""

    def __init__(self, text: str, position: int, function: Function) -> None:
        self.text, self.position, self.function = text, position, function
        self.line = text.count("\n", 0, position) + 1
        self.scopes: list[dict[str, str]] = []
        self.blocks = 0

    def parse(self) -> int:
        """Take everything up to the closing brace; give the position after it."""
        while True:
            found = _STATEMENT.match(self.text, self.position)
            if found is None:
                raise PtxSyntaxError(f"line {self.line}: {self.text[self.position :][:80]!r}")
            first = found.end() - len(found.group().lstrip())
            line = self.line + self.text.count("\n", self.position, first)
            self.line += self.text.count("\n", self.position, found.end())
            self.position = found.end()
            if not self._take(line, *found.groups()):
                return self.position

    def _take(self, line: int, brace: str | None, label: str | None, rest: str | None) -> bool:
        if brace == "{":
            self.blocks += 1
            self.scopes.append({})
        elif brace == "}":
            if not self.scopes:
                return False
            self.scopes.pop()
        elif label is not None:
            self.function.labels[label] = len(self.function.instructions)
        else:
            assert rest is not None
            self._statement(line, " ".join(rest.split()))
        return True

    def _statement(self, line: int, text: str) -> None:
        if declared := _REGISTERS.match(text):
            self._registers(*declared.groups())
        elif text.startswith((".param", ".local", ".shared")):
            variable = _variable(text)
            name = self._declare(variable.name)
            self.function.variables[name] = Variable(
                variable.space, name, variable.nbytes, variable.align
            )
        elif not text.startswith("."):
            self.function.instructions.append(_instruction(line, self._renamed(text)))

    def _registers(self, kind: str, names: str) -> None:
        for name in names.split(","):
            stem, _, count = name.strip().partition("<")
            bits = TYPES[kind].bits
            if count:
                for number in range(int(count.rstrip(">"))):
                    self.function.registers[f"{stem}{number}"] = bits
            else:
                self.function.registers[self._declare(stem)] = bits

    def _declare(self, name: str) -> str:
        """The name inside the function of what the innermost block declares."""
        if not self.scopes:
            return name
        self.scopes[-1][name] = f"{name}.{self.blocks}"
        return self.scopes[-1][name]

    def _renamed(self, text: str) -> str:
        known = {name: full for scope in self.scopes for name, full in scope.items()}
        if not known:
            return text
        return _NAME.sub(lambda found: known.get(found.group(), found.group()), text)


def _instruction(line: int, text: str) -> Instruction:
    predicate, rest = None, text
    if text.startswith("@"):
        predicate, _, rest = text[1:].partition(" ")
    word, _, operands = rest.strip().partition(" ")
    opcode, *modifiers = word.split(".")
    # `mul.lo.s64` and `ld.param::entry.u64`: what follows `::` only refines the word before it.
    plain = tuple(modifier.partition("::")[0] for modifier in modifiers)
    negated = predicate is not None and predicate.startswith("!")
    register = predicate.lstrip("!") if predicate is not None else None
    return Instruction(line, text, opcode, plain, split_operands(operands), register, negated)
