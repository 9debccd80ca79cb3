"""Relocations of 64-bit ARM on any processor: what is written into an instruction is what GNU's
assembler writes for that number. That linked code runs, `test_loader.py` shows on each.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place compiles nothing", allow_module_level=True)

from lazyfuse.backends.cpu.compiler import Compiler  # noqa: E402 - when there is an engine
from lazyfuse.backends.cpu.linking import linked  # noqa: E402 - likewise
from lazyfuse.backends.cpu.loader import Unknown  # noqa: E402 - likewise
from lazyfuse.backends.cpu.relocations import PROCESSORS  # noqa: E402 - likewise

pytestmark = [pytest.mark.engine, pytest.mark.cpu("object code")]

ARM = PROCESSORS["aarch64"]
COMPILER = Compiler(cpu="generic", features="", triple="aarch64-unknown-linux-gnu")

#: Kind, S + A, P, the instruction without a number, and with that which it is to have.
CASES = {
    "adrp x3, .+0x4000": (275, 0x5018, 0x1FFC, 0x90000003, 0x90000023),
    "adrp x3, .-0x4000": (275, 0x1018, 0x5000, 0x90000003, 0x90FFFFE3),
    "adrp x30, .+0x7ffff000": (275, 0x7FFFF123, 0, 0x9000001E, 0xF03FFFFE),
    "add x1, x2, #0xabc": (277, 0x5ABC, 0, 0x91000041, 0x912AF041),
    "ldrb w1, [x2, #0xabd]": (278, 0x5ABD, 0, 0x39400041, 0x396AF441),
    "ldrh w1, [x2, #0xabe]": (284, 0x5ABE, 0, 0x79400041, 0x79557C41),
    "str w1, [x2, #0xabc]": (285, 0x5ABC, 0, 0xB9000041, 0xB90ABC41),
    "ldr d1, [x2, #0xab8]": (286, 0x5AB8, 0, 0xFD400041, 0xFD455C41),
    "ldr q1, [x2, #0xab0]": (299, 0x5AB0, 0, 0x3DC00041, 0x3DC2AC41),
    "b .-0x40": (282, 0x40, 0x80, 0x14000000, 0x17FFFFF0),
    "bl .+0x7fffffc": (283, 0x7FFFFFC, 0, 0x94000000, 0x95FFFFFF),
    "bl .-0x8000000": (283, 0, 0x8000000, 0x94000000, 0x96000000),
    "adrp x0, .+0x2000": (311, 0x12008, 0x10004, 0x90000000, 0xD0000000),
    "ldr x0, [x0, #8]": (312, 0x12008, 0, 0xF9400000, 0xF9400400),
    ".word .-0x20": (261, 0x10, 0x30, 0, 0xFFFFFFE0),
}


def code_of(*words: int) -> np.ndarray:
    return np.array(words, "<u4").view(np.uint8)


def write(part: np.ndarray, kind: int, value: int, place: int) -> None:
    ARM.write(part, *(np.array([n]) for n in (kind, 0, value, place)))


@pytest.mark.parametrize("name", CASES)
def test_instructions(name: str) -> None:
    kind, value, place, without, expected = CASES[name]
    found = code_of(without)
    write(found, kind, value, place)
    assert hex(*found.view("<u4")) == hex(expected)


@pytest.mark.parametrize(
    ("kind", "value", "place"),
    [
        (275, 1 << 33, 0), (275, -(1 << 33), 0), (282, 1 << 28, 0), (283, 0, 0x8000004),
        (283, 2, 0), (286, 4, 0), (299, 8, 0), (261, 1 << 31, 0), (999, 0, 0),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(kind: int, value: int, place: int) -> None:
    """Places too far away, places between two units, and kinds that are not known."""
    part = np.zeros(4, np.uint8)
    with pytest.raises(Unknown):
        write(part, kind, value, place)
    assert not part.any()


def test_calls_of_the_process_go_by_a_stub() -> None:
    """The stub loads the address behind itself, and goes there."""
    text = """
declare double @fmod(double, double)
define double @f(double %x, double %y) {
  %a = call double @fmod(double %x, double %y)
  %b = call double @fmod(double %a, double %y)
  ret double %b
}"""
    piece = linked(COMPILER.compile(text, level=0), ARM)
    ((place, name, more),) = piece.words
    stub = place - 8
    assert (name, more) == ("fmod", 0) and place % 16 == 8 and place + 8 <= piece.code
    assert piece.content[stub:place] == code_of(0x58000050, 0xD61F0200).tobytes()  # ldr, br x16
    code = np.frombuffer(piece.content, "<u4", stub // 4)
    calls = np.flatnonzero(code >> 26 == 0x25)  # bl
    assert [4 * at + 4 * (code[at] & 0x3FFFFFF) for at in calls.tolist()] == [stub, stub]
