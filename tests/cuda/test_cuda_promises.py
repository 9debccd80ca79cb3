"""What the PTX of every kernel promises about speed and rounding, read off its instructions for
three architectures; registers and spills are asserted where cubins are compiled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from cuda_cases import Case
from cuda_check import ARCHITECTURES, needs_ptx
from cuda_kernels import elementwise_cases, reduction_cases

from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.launch import pack_bytes
from lazyfuse.backends.cuda.program import Program, Shape, divisors
from lazyfuse.backends.cuda.simulator import merged
from lazyfuse.backends.cuda.strategy import render_own
from lazyfuse.backends.cuda_ptx.parse import Function, Instruction, parse
from lazyfuse.backends.cuda_ptx.types import TYPES
from lazyfuse.ir.kernel import Role
from lazyfuse.ops.primitives import PRIMITIVES

pytestmark = needs_ptx
#: Kernels of the default run: one of so many, other ones than test_ptx_kernels.py runs.
SLICE, OFFSET = 6, 3
WORDS = {"v2": 2, "v4": 4, "v8": 8}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def compiled(request: pytest.FixtureRequest) -> list[tuple[Program, dict[str, Function]]]:
    """Programs with the functions of their PTX."""
    from lazyfuse.backends.cuda import build

    cases: list[Case] = [*elementwise_cases(), *reduction_cases()]
    kernels = list({case.kernel.digest: case for case in cases}.values())
    if not request.config.getoption("--full"):
        kernels = kernels[OFFSET::SLICE]
    programs = [render_own(case.kernel, f"lf_{case.name}_{n}") for n, case in enumerate(kernels)]
    functions = parse(build.build_ptx(merged(programs), request.param)).functions
    return [(program, functions) for program in programs]


def ops_of(program: Program) -> set[str]:
    return {instr.op for phase in program.kernel.phases for instr in phase.body}


def entries(program: Program, functions: dict[str, Function]) -> Iterator[Function]:
    yield functions[program.entry]
    if program.vector_entry:
        yield functions[program.vector_entry]


def texts(function: Function, *opcodes: str) -> list[str]:
    return [i.text for i in function.instructions if i.opcode in opcodes]


def test_no_local_memory(compiled) -> None:  # type: ignore[no-untyped-def]
    """Packs, states and totals stay in registers."""
    found = [
        (function.name, variable.name)
        for program, functions in compiled
        for function in entries(program, functions)
        for variable in function.variables.values()
        if variable.space == "local"
    ]
    # libdevice reduces large angles in a table on the stack.
    assert [name for name, _ in found if not name.startswith(("lf_sin", "lf_cos", "lf_tan"))] == []


def test_each_pack_is_one_access(compiled) -> None:  # type: ignore[no-untyped-def]
    """As many loads and stores of a pack's bytes, 16 at most, as the text has packs."""
    seen, missing = 0, []
    for program, functions in compiled:
        if program.pack == 1:
            continue
        function = functions[program.vector_entry or program.entry]
        found = Counter(
            (instruction.opcode, width(instruction))
            for instruction in function.instructions
            if "global" in instruction.modifiers
        )
        wanted: Counter[tuple[str, int]] = Counter()
        for number in program.packed_args:
            arg, nbytes = program.kernel.args[number], pack_bytes(program, number)
            accesses = program.pack * CTYPES[arg.dtype].size // nbytes
            wanted["ld" if arg.role is Role.IN else "st", nbytes] += accesses
            seen += 1
        if wanted - found:
            missing.append((program.name, wanted, found))
    assert missing == [] and seen > 20


def width(instruction: Instruction) -> int:
    """Bytes of a load or a store."""
    count = next((WORDS[word] for word in instruction.modifiers if word in WORDS), 1)
    return count * TYPES[instruction.types[-1]].size


def test_positions_are_not_divided(compiled) -> None:  # type: ignore[no-untyped-def]
    """No loop divides integers but where the program asks for it: a GPU takes a hundred
    instructions for 64 bits. Before a loop along one axis, the compiler for sm_120 may divide once
    to count its rounds.
    """
    plain = [
        (function, texts if strides(program) else in_loops)
        for program, functions in compiled
        if not ops_of(program) & {"div", "rem"}
        for function in entries(program, functions)
    ]
    wrong = [
        (function.name, text)
        for function, select in plain
        for text in select(function, "div", "rem")
        if ".u" in text or ".s" in text
    ]
    assert len(plain) > 20 and wrong == []


def strides(program: Program) -> bool:
    """Whether an elementwise kernel has positions along several axes to tell apart."""
    return program.shape is Shape.ELEMENTWISE and bool(divisors(program.kernel))


def test_narrow_index_multiplies_narrow(compiled) -> None:  # type: ignore[no-untyped-def]
    """`index=i4` keeps positions in 32 bits."""
    narrow = [
        function
        for program, functions in compiled
        if program.kernel.index == "i4" and not ops_of(program) & {"div", "rem", "mul"}
        for function in entries(program, functions)
    ]
    wrong = [f.name for f in narrow if any(".hi.u64" in text for text in texts(f, "mul"))]
    assert narrow and wrong == []


def in_loops(function: Function, *opcodes: str) -> list[str]:
    """The instructions that lie between a label and a jump back to it."""
    inside: set[int] = set()
    for number, instruction in enumerate(function.instructions):
        if instruction.opcode == "bra":
            inside.update(range(function.labels[instruction.operands[0]], number))
    return [
        function.instructions[number].text
        for number in sorted(inside)
        if function.instructions[number].opcode in opcodes
    ]


def test_nothing_is_contracted_or_flushed(compiled) -> None:  # type: ignore[no-untyped-def]
    """No fma, no .ftz and no approximation but in functions of libdevice."""
    plain = [
        function
        for program, functions in compiled
        if not any(
            op in ("fma", "libm") or PRIMITIVES[op].transcendental for op in ops_of(program)
        )
        for function in entries(program, functions)
    ]
    assert len(plain) > 20
    wrong = [
        (function.name, instruction.text)
        for function in plain
        for instruction in function.instructions
        if is_loose(instruction)
    ]
    assert wrong == []


def is_loose(instruction: Instruction) -> bool:
    is_float = any(TYPES[name].kind == "f" for name in instruction.types)
    fused = instruction.opcode in ("fma", "mad") and is_float
    return fused or bool({"ftz", "approx", "full"} & set(instruction.modifiers))


def test_barriers_only_where_threads_share(compiled) -> None:  # type: ignore[no-untyped-def]
    """Elementwise kernels have no barrier, no shuffle and no shared memory."""
    wrong = [
        function.name
        for program, functions in compiled
        if program.shape is Shape.ELEMENTWISE
        for function in entries(program, functions)
        if texts(function, "bar", "barrier", "shfl", "atom") or function.variables
        if not any(PRIMITIVES[op].transcendental for op in ops_of(program))
    ]
    assert wrong == []
