"""Object code that is loaded without LLVM: the same bits as LLVM's linker gives, each kind of
relocation, what is refused, and memory that is code, then gone.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import oracle
from tests.concurrently import concurrently
from tests.programs import Example, examples
from tests.test_views import CASES as VIEWS
from tests.test_writes import CASES as WRITES

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place compiles nothing", allow_module_level=True)

from lazyfuse.backends.cpu import compiler as compilers  # noqa: E402 - when there is an engine
from lazyfuse.backends.cpu import linking, loader, object_file, pages  # noqa: E402 - likewise
from lazyfuse.backends.cpu.compiler import Compiler  # noqa: E402 - likewise
from lazyfuse.backends.cpu.loader import Image, Unknown, address_of, dumped  # noqa: E402 - likewise
from lazyfuse.backends.cpu.relocations import own_processor  # noqa: E402 - likewise
from lazyfuse.runtime import session  # noqa: E402 - likewise

lf = oracle.lf
ROOT = Path(__file__).resolve().parent.parent
COMPILER = Compiler()
IS_HERE = sys.platform.startswith("linux") and COMPILER.triple.startswith(("x86_64", "aarch64"))
pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not IS_HERE, reason="elsewhere LLVM links"),
]


def refuse(content: bytes) -> Any:
    raise Unknown("for the test")


# ---- all kernels, by both linkers


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with oracle.options(disk_cache=True, cache_dir=str(tmp_path)):
        lf.cache_clear()
        yield tmp_path
    lf.cache_clear()


PROGRAMS: dict[str, Example] = examples() | {
    f"{number} {program.__name__}": Example(program, arrays, 0)
    for number, (program, arrays) in enumerate((*VIEWS, *WRITES))
}


def loaded(example: Example) -> Any:
    """The results of a program whose kernels all come from disk; all of them, as NumPy's."""
    lf.cache_clear()
    lf.reset_stats()
    try:
        found = oracle.evaluate(example.program, *example.arrays)
    except Exception as error:  # noqa: BLE001 - any exception is an answer here
        found = str(error)
    return found, lf.stats().kernels_compiled


@pytest.mark.cpu("object code")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_by_both(name: str, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel is refused, and LLVM's linker makes the same of it."""
    jit = COMPILER._asked(lambda jit: jit)
    linked: list[bytes] = []
    link = type(jit).link

    def noted(self: Any, code: bytes, symbols: Any) -> Any:
        linked.append(code)
        return link(self, code, symbols)

    monkeypatch.setattr(type(jit), "link", noted)
    first, _ = loaded(PROGRAMS[name])
    ours, compiled = loaded(PROGRAMS[name])
    assert compiled == 0 and linked == []
    with monkeypatch.context() as patch:
        patch.setattr(compilers, "Image", refuse)
        theirs, compiled = loaded(PROGRAMS[name])
        assert compiled == 0 and bool(linked) == bool(lf.stats().kernels_loaded)
    for other in (first, theirs):
        assert [*oracle.compare("result", other, ours)] == []


def test_the_other_modules_by_both(disk: Path) -> None:
    """Workers, operators of small arrays, recording and replaying."""
    from lazyfuse.backends.cpu import launch_text, methods_module, record, replay
    from lazyfuse.frontend import native_methods
    from lazyfuse.runtime import recorder

    recording = native_methods._recording(lf.LazyArray)
    places = recorder.places(recording, record.ATTRIBUTES, record.place_name)
    texts = (
        launch_text.text(COMPILER.triple),
        methods_module.text(places, COMPILER.triple),
        replay.text(),
    )
    for text in texts:
        code = COMPILER.compile(text, level=0)
        image, found = Image(code), object_file.read(code, own_processor().machine)
        names = [name for n, name in found.names.items() if found.symbols["section"][n]]
        theirs = COMPILER._asked(lambda jit: jit).link(code, names)
        assert "lf_open" in names and all(theirs[name] and image[name] for name in names)


# ---- one relocation at a time


def code_of(text: str) -> bytes:
    return COMPILER.compile(text, level=0)


def relocations(code: bytes) -> list[tuple[int, np.ndarray]]:
    return object_file.read(code, own_processor().machine).relocations


def kinds(code: bytes) -> set[int]:
    return {int(kind) for _, rows in relocations(code) for kind in rows["kind"]}


def call(image: Any, *arguments: Any, result: Any = ctypes.c_int64) -> Any:
    types = [ctypes.c_double if type(a) is float else ctypes.c_int64 for a in arguments]
    return ctypes.CFUNCTYPE(result, *types)(image["f"])(*arguments)


#: The kinds of relocations that the texts below need: what they are called is said in their tests.
KINDS = {
    "x86_64": {"constants": {2}, "calls": {4}, "addresses": {42}, "words": {1}, "state": {2}},
    "aarch64": {"constants": {275, 286}, "calls": {283}, "addresses": {311, 312}, "words": {257},
                "state": {275, 277, 286}},
}[os.uname().machine]  # fmt: skip
CONSTANT = "define double @f(double %x) {\n  %y = fmul double %x, 2.7\n  ret double %y\n}"
OUTSIDE = """
declare double @fmod(double, double)
define double @f(double %x, double %y) {
  %z = call double @fmod(double %x, double %y)
  ret double %z
}"""
INSIDE = """
define internal i64 @g(i64 %x) noinline {
  %y = mul i64 %x, 3
  ret i64 %y
}
define i64 @f(i64 %x) {
  %y = call i64 @g(i64 %x)
  ret i64 %y
}"""
ADDRESS = """
@PyLong_Type = external global i8
define ptr @f() {
  ret ptr @PyLong_Type
}"""
STATE = """
@count = internal global i64 40
@many = internal global [9 x i64] zeroinitializer, align 128
define i64 @f(i64 %by) {
  %old = load i64, ptr @count
  %new = add i64 %old, %by
  store i64 %new, ptr @count
  %at = getelementptr i64, ptr @many, i64 8
  %before = load i64, ptr %at
  store i64 %new, ptr %at
  %sum = add i64 %before, %new
  ret i64 %sum
}"""
POINTERS = """
@table = internal constant [2 x ptr] [ptr @g, ptr @h]
define internal i64 @g() {
  ret i64 7
}
define internal i64 @h() {
  ret i64 8
}
define i64 @f(i64 %which) {
  %at = getelementptr ptr, ptr @table, i64 %which
  %function = load ptr, ptr %at
  %found = call i64 %function()
  ret i64 %found
}"""
JUMPS = "\n".join(
    ("define i64 @f(i64 %x) {", "  switch i64 %x, label %other [")
    + tuple(f"    i64 {n}, label %l{n}" for n in range(9))
    + ("  ]", *(f"l{n}:\n  ret i64 {n * n + 1}" for n in range(9)))
    + ("other:", "  ret i64 0", "}")
)


def test_constants() -> None:
    """R_X86_64_PC32; R_AARCH64_ADR_PREL_PG_HI21 and LDST64_ABS_LO12_NC."""
    code = code_of(CONSTANT)
    assert kinds(code) == KINDS["constants"]
    assert call(Image(code), 3.0, result=ctypes.c_double) == 3.0 * 2.7


def test_functions_of_the_process() -> None:
    """R_X86_64_PLT32 and R_AARCH64_CALL26 to the C library, which is too far for a call."""
    code = code_of(OUTSIDE)
    image = Image(code)
    assert kinds(code) == KINDS["calls"] and address_of("fmod")
    assert call(image, 7.5, 2.0, result=ctypes.c_double) == math.fmod(7.5, 2.0)


def test_functions_of_the_module() -> None:
    code = code_of(INSIDE)
    assert call(Image(code), 14) == 42


def test_addresses_that_are_read() -> None:
    """R_X86_64_REX_GOTPCRELX; R_AARCH64_ADR_GOT_PAGE and LD64_GOT_LO12_NC."""
    code = code_of(ADDRESS)
    assert kinds(code) == KINDS["addresses"] and call(Image(code)) == id(int)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="elsewhere they have one name")
@pytest.mark.parametrize("kind", (9, 41))
def test_other_names_of_addresses(kind: int) -> None:
    code = bytearray(code_of(ADDRESS))
    assert kinds(bytes(code)) == {42}
    row = bytes(np.array([42, 0], "<u4"))[:4]
    relocation = relocations(bytes(code))[0][1][0].tobytes()
    at = bytes(code).index(relocation) + relocation.index(row)
    code[at] = kind
    assert kinds(bytes(code)) == {kind} and call(Image(bytes(code))) == id(int)


def test_memory_that_is_written() -> None:
    """R_X86_64_PC32, R_AARCH64_ADD_ABS_LO12_NC to data with and without a first value, each image
    with its own."""
    code = code_of(STATE)
    assert kinds(code) == KINDS["state"]
    one, other = Image(code), Image(code)
    assert [call(one, 1), call(one, 1), call(other, 1)] == [41, 83, 41]


def test_tables_of_pointers() -> None:
    """R_X86_64_64; R_AARCH64_ABS64."""
    code = code_of(POINTERS)
    image = Image(code)
    assert KINDS["words"] <= kinds(code) and [call(image, 0), call(image, 1)] == [7, 8]


def test_tables_of_jumps() -> None:
    """R_X86_64_PC32 from constants into code."""
    image = Image(code_of(JUMPS))
    assert [call(image, n) for n in range(10)] == [*(n * n + 1 for n in range(9)), 0]


# ---- what is refused


REFUSED = {
    "thread-local": "@x = thread_local global i64 3\ndefine i64 @f() {\n"
    "  %y = load i64, ptr @x\n  ret i64 %y\n}",
    "constructors": "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
    "[{ i32, ptr, ptr } { i32 1, ptr @g, ptr null }]\n"
    "define internal void @g() {\n  ret void\n}\ndefine i64 @f() {\n  ret i64 5\n}",
    "weak": "define weak i64 @f() {\n  ret i64 5\n}",
    "common": "@x = common global i64 0\ndefine ptr @f() {\n  ret ptr @x\n}",
    "unknown function": "declare i64 @lf_nobody_has_this()\ndefine i64 @f() {\n"
    "  %x = call i64 @lf_nobody_has_this()\n  ret i64 %x\n}",
    "own section": 'define i64 @f() section "mine,\\22awx\\22,@progbits#" {\n  ret i64 5\n}',
}  # fmt: skip


def test_smaller_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a cache that a machine with larger pages reads: what is written begins inside a page."""
    piece = loader.piece_of(code_of(STATE))
    assert piece.code % 4096 == 0
    monkeypatch.setattr(loader.mmap, "PAGESIZE", 2 * piece.code)
    with pytest.raises(Unknown, match="smaller pages"):
        Image(piece.dumped())


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(Unknown):
        Image(code_of(REFUSED[name]))


def test_llvm_links_what_is_refused() -> None:
    code = COMPILER.link(code_of(REFUSED["weak"]), ["f"])
    assert not isinstance(code.linked, Image) and call({"f": code.address("f")}) == 5
    assert isinstance(COMPILER.link(code_of(CONSTANT), ["f"]).linked, Image)


def test_other_processors_are_refused() -> None:
    other = "aarch64" if os.uname().machine == "x86_64" else "x86_64"
    other = Compiler(cpu="generic", features="", triple=f"{other}-unknown-linux-gnu")
    with pytest.raises(Unknown):
        Image(other.compile("define i64 @f() {\n  ret i64 5\n}"))


def test_unknown_relocations_are_refused() -> None:
    """And addresses that do not fit, places outside, symbols that are not there."""
    code = code_of(CONSTANT)
    row = relocations(code)[0][1][:1]
    changes = {"kind": 10, "addend": 1 << 40, "offset": 1 << 20, "symbol": 999}
    for field, value in changes.items():
        changed = row.copy()
        changed[field] = value
        with pytest.raises(Unknown):
            Image(code.replace(row.tobytes(), changed.tobytes()))


@pytest.mark.parametrize("name", ("weak", "unknown function"))
def test_what_is_refused_is_kept_for_llvm(name: str) -> None:
    """A function that this process lacks may be in another one."""
    code = code_of(REFUSED[name])
    kept = dumped(code)
    assert (kept == code) == (name == "weak")
    with pytest.raises(Unknown):
        Image(kept)


@pytest.mark.parametrize("text", (CONSTANT, OUTSIDE, ADDRESS, STATE, POINTERS, JUMPS))
def test_what_is_kept(text: str) -> None:
    """It is linked once: the same memory but for addresses, and none of the object code's
    tables are read again."""
    code = code_of(text)
    kept = dumped(code)
    assert loader.object_code(kept) == loader.object_code(code) == code
    assert kept == dumped(code) and loader.piece_of(kept) == loader.piece_of(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linking, "linked", refuse)
        image = Image(kept)
        with pytest.raises(Unknown):
            Image(code)
    assert mapped(image["f"]) == "r-xp"
    for end in range(0, len(kept), 97):
        with pytest.raises((Unknown, ValueError, EOFError, TypeError)):
            Image(kept[:end])


@pytest.mark.parametrize("content", (b"", b"\x7fELF", b"\x7fELF" * 99, b"x" * 4096), ids=len)
def test_no_object_file(content: bytes) -> None:
    with pytest.raises(Unknown):
        Image(content)


def test_every_truncation_is_refused_or_harmless() -> None:
    """No length reads or writes outside of the file and the image."""
    code = code_of(JUMPS)
    for end in range(0, len(code), 7):
        with pytest.raises(Unknown):
            Image(code[:end])


def test_a_system_without_executable_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then LLVM is asked, which knows other ways."""

    def denied(self: Any, nbytes: int) -> None:
        raise PermissionError(13, "denied")

    monkeypatch.setattr(pages.Pages, "make_code", denied)
    for content in (code_of(INSIDE), dumped(code_of(INSIDE))):
        code = COMPILER.link(content, ["f"])
        assert not isinstance(code.linked, Image) and call({"f": code.address("f")}, 14) == 42


# ---- memory


def mapped(address: int) -> str | None:
    """How the page at an address may be used, as the system says; None where there is none."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(part, 16) for part in line.split()[0].split("-"))
        if begin <= address < end:
            return line.split()[1]
    return None


def test_code_is_not_written_and_data_is_not_run() -> None:
    text = STATE + "\ndefine ptr @data() {\n  ret ptr @many\n}"
    image = Image(code_of(text))
    data = ctypes.CFUNCTYPE(ctypes.c_int64)(image["data"])()
    assert data % 128 == 0
    assert mapped(image["f"]) == "r-xp" and mapped(data) == "rw-p"


def test_it_is_unloaded_with_its_code() -> None:
    code = COMPILER.link(code_of(CONSTANT), ["f"])
    address = code.address("f")
    assert mapped(address) == "r-xp"
    others = [Image(code_of(CONSTANT)) for _ in range(3)]
    del code
    gc.collect()
    assert mapped(address) is None and all(mapped(image["f"]) == "r-xp" for image in others)


def test_many() -> None:
    code = code_of(STATE)
    images = [Image(code) for _ in range(2000)]
    assert all(call(image, 2) == 42 for image in images)


def test_threads() -> None:
    codes = [code_of(CONSTANT.replace("2.7", f"{n}.7")) for n in range(8)]
    wrong: list[int] = []

    def work() -> None:
        for n, code in enumerate(codes * 20):
            if call(Image(code), 2.0, result=ctypes.c_double) != 2 * float(f"{n % 8}.7"):
                wrong.append(n)

    concurrently(work, [()] * 4)
    assert not wrong


def test_fork() -> None:
    """A child runs loaded code, loads more, and writes to memory of its own."""
    code = code_of(STATE)
    image = Image(code)
    call(image, 1)
    child = os.fork()
    if child == 0:
        right = call(image, 1) == 83 and call(Image(code), 1) == 41
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert call(image, 1) == 83


ENDS = """
import ctypes, sys, threading, time
from lazyfuse.backends.cpu.compiler import Compiler
compiler = Compiler()
code = compiler.link(compiler.compile('''
declare void @PyThread_exit_thread()
declare i32 @usleep(i32)
define void @leave() {
  call void @PyThread_exit_thread()
  ret void
}
define void @stay() {
  br label %again
again:
  %x = call i32 @usleep(i32 100)
  br label %again
}''', level=0), ["leave", "stay"])
before = threading.active_count()
threading.Thread(target=ctypes.CFUNCTYPE(None)(code.address("leave")), daemon=True).start()
time.sleep(0.05)
threading.Thread(target=ctypes.CFUNCTYPE(None)(code.address("stay")), daemon=True).start()
time.sleep(0.05)
print("done")
"""


def test_threads_may_end_inside_and_the_process_with_threads_inside() -> None:
    """CPython ends daemon threads where they are, by unwinding their stacks, and unmaps nothing
    while they run.
    """
    done = subprocess.run(
        [sys.executable, "-c", ENDS], cwd=ROOT, capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_damaged_kernels_are_made_anew(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that passes its digest and cannot be loaded."""
    x = lf.array(np.arange(3000.0))
    lf.materialize(x * 3 + 1)
    monkeypatch.setattr(session.disk_cache(str(disk)), "read", lambda key: b"\x7fELF" * 99)
    lf.cache_clear()
    lf.reset_stats()
    assert float((x * 3 + 1)[2]) == 7 and lf.stats().kernels_compiled == 1
