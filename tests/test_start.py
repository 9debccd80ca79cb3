"""How a process starts: what it imports, and what needs no LLVM once kernels are on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import platformdirs
import pytest

from tests import oracle
from tests.environment import python_path
from tests.signed import needs_signatures

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place compiles nothing", allow_module_level=True)

from lazyfuse.backends.cpu import host, jit, pages  # noqa: E402 - when there is an engine
from lazyfuse.backends.cpu.compiler import Compiler, NotKept  # noqa: E402 - likewise
from lazyfuse.cache.disk import DiskCache  # noqa: E402 - likewise

ROOT = Path(__file__).resolve().parent.parent
IS_HERE = host._identity() is not None
pytestmark = pytest.mark.engine
needs_loader = pytest.mark.skipif(not IS_HERE, reason="elsewhere LLVM links")


def run(program: str, *arguments: str, **environment: str) -> str:
    """What a program prints in a process of its own, with the options' defaults, on the CPU."""
    inherited = {key: value for key, value in os.environ.items() if "LAZYFUSE" not in key}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env=inherited | {"LAZYFUSE_DEVICE": "cpu", "PYTHONPATH": python_path()} | environment,
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- without LLVM

WARM = """
import sys, types, numpy, lazyfuse as lf
from lazyfuse.frontend import native_methods

h = numpy.arange(300000.0)
x = lf.array(h)
y, s = x * 2 + 1 / (x + 1), (x * x - 1).sum()
rows = lf.array(h.reshape(300, 1000) / 1e5)
e = lf.exp(rows - rows.max(axis=1, keepdims=True))
lf.materialize(y, s, e)
assert numpy.array_equal(lf.asnumpy(y), h * 2 + 1 / (h + 1))
assert float(s) == float((h * h - 1).sum())

@lf.fuse
def fused(a):
    return a * 3 - a / 2
for _ in range(40):
    z = fused(x)
assert numpy.array_equal(lf.asnumpy(z), h * 3 - h / 2)

if sys.argv[1:] == ["compile"]:
    native_methods.make_native(lf.LazyArray)
a, b = lf.array(h[:100]), lf.array(h[:100] + 1)
for _ in range(2500):
    c = a + b
assert numpy.array_equal(lf.asnumpy(c), h[:100] * 2 + 1)
is_native = not isinstance(vars(lf.LazyArray)["__add__"], types.FunctionType)
late = ("llvmlite", "hashlib", "numpy.random", "lazyfuse.backends.cpu.methods_module",
        "lazyfuse.backends.cpu.rows_text", "lazyfuse.backends.cpu.jit",
        "lazyfuse.backends.cpu.emit", "lazyfuse.backends.cpu.vector",
        "lazyfuse.backends.cpu.vecmath")
print(lf.stats().kernels_compiled > 0, is_native, [name for name in late if name in sys.modules])
"""


@needs_loader
def test_a_process_with_a_filled_cache_needs_no_llvm(tmp_path: Path) -> None:
    """Kernels, workers, `fuse` and the operators of small arrays come from disk."""
    folder = {"LAZYFUSE_CACHE_DIR": str(tmp_path)}
    assert run(WARM, "compile", **folder).startswith("True True ['llvmlite', ")
    assert run(WARM, **folder) == "False True []"


DRAWS = """
import sys, numpy, lazyfuse as lf

assert "numpy.random" not in sys.modules

@lf.fuse
def fused(x):
    import numpy
    numpy.random.seed(7)
    return x * numpy.random.random()

x = lf.array(numpy.arange(50000.0))
for _ in range(3):
    drawn = fused(x)
    numpy.random.seed(7)
    assert numpy.array_equal(lf.asnumpy(drawn), numpy.arange(50000.0) * numpy.random.random())
    numpy.random.seed(8)
"""


def test_a_function_that_is_the_first_to_draw() -> None:
    """Nobody has imported NumPy's generators before, so there is no state to compare with."""
    run(DRAWS)


@needs_loader
def test_operators_are_not_compiled_early(tmp_path: Path) -> None:
    """Where their code is not on disk, a thousand uses do not pay for it. No other process
    compiles it, which may be done before the second one asks."""
    alone = "from lazyfuse.runtime import beside\nbeside.is_possible = lambda: False\n"
    program = alone + WARM.replace('sys.argv[1:] == ["compile"]', "False")
    for _ in range(2):
        assert run(program, LAZYFUSE_CACHE_DIR=str(tmp_path)).split()[1] == "False"


@needs_loader
def test_without_executable_memory_llvm_is_asked(tmp_path: Path) -> None:
    refuse = """
    from lazyfuse.backends.cpu import pages
    def denied(self, nbytes):
        raise PermissionError(13, "denied")
    pages.Pages.make_code = denied
    """
    program = textwrap.dedent(refuse) + WARM
    folder = {"LAZYFUSE_CACHE_DIR": str(tmp_path)}
    run(program, "compile", **folder)
    assert run(program, **folder).startswith("False True ['llvmlite', ")


# ---- what is remembered of the machine


class Store(dict[str, bytes]):
    """Where object code is kept, for a test."""

    def __call__(self, key: str, make: Callable[[], bytes]) -> bytes:
        if key not in self:
            self[key] = make()
        return self[key]


def test_what_is_remembered_is_what_llvm_says(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    assert host.host(store) == host.host(store) == jit.host() == host.host(host.not_kept)
    assert len(store) == IS_HERE
    compiler = Compiler()
    assert compiler.features == Compiler(kept=store).features and compiler.features


@needs_loader
@pytest.mark.parametrize("part", ("_processor", "_llvmlite"))
def test_another_processor_or_llvm_is_asked_anew(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And neither gets the record of the other, in whatever order they come."""
    store = Store()
    here = host.host(store)
    elsewhere = here._replace(cpu="another", flags="-avx")
    with monkeypatch.context() as patch:
        patch.setattr(host, part, lambda: "other words")
        patch.setattr(host, "_identity", host._identity.__wrapped__)
        patch.setattr(jit, "host", lambda: elsewhere)
        assert [host.host(store), host.host(store)] == [elsewhere] * 2
    assert host.host(store) == here and len(store) == 2


@needs_loader
@pytest.mark.parametrize("part", ("_processor", "_llvmlite"))
def test_what_cannot_be_told_is_not_remembered(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    monkeypatch.setattr(host, part, lambda: None)
    monkeypatch.setattr(host, "_identity", host._identity.__wrapped__)
    assert host.host(store) == jit.host() and not store


@needs_loader
def test_the_processor_says_the_same_on_every_core() -> None:
    """Whatever is asked tells of instructions, not of where the process is at the moment."""
    allowed = os.sched_getaffinity(0)
    try:
        words = set()
        for core in sorted(allowed):
            os.sched_setaffinity(0, {core})
            words.add(host._processor())
    finally:
        os.sched_setaffinity(0, allowed)
    assert len(words) == 1
    text = words.pop() or ""
    is_x86 = os.uname().machine == "x86_64"
    assert text.startswith("0.0a") and "xcr0" in text if is_x86 else "CPU part" in text


CORES = """processor	: {number}
BogoMIPS	: {number}0.00
Features	: fp asimd
CPU implementer	: 0x41
CPU part	: {part}
"""


def test_what_arm_says_of_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind once, in any order; which core it is, and how fast, says nothing."""

    def told(*parts: str) -> str | None:
        text = "".join(CORES.format(number=n, part=part) for n, part in enumerate(parts))
        monkeypatch.setattr(host.Path, "read_text", lambda path: text)
        return host._of_aarch64()

    found = told("0xd0c")
    assert found is not None and "0xd0c" in found and "BogoMIPS" not in found
    assert told("0xd0c", "0xd0c") == found
    both = told("0xd0c", "0xd05")
    assert both == told("0xd05", "0xd0c", "0xd05") != found
    assert told() is None


@needs_loader
def test_which_llvmlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place, its version, and the size and time of its library; none, none."""
    folder = tmp_path / "llvmlite"
    (folder / "binding").mkdir(parents=True)
    library = folder / "binding" / "libllvmlite.so"
    for path in (folder / "__init__.py", folder / "_version.py", library):
        path.write_text("1")
    monkeypatch.delitem(sys.modules, "llvmlite", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = [host._llvmlite()]
    library.write_text("22")
    found.append(host._llvmlite())
    os.utime(library, ns=(1, 1))
    found.append(host._llvmlite())
    (folder / "_version.py").write_text("2")
    found.append(host._llvmlite())
    assert None not in found and len({*found}) == 4
    library.unlink()
    assert host._llvmlite() is None


def test_a_module_that_is_not_kept_is_compiled_if_it_may_be() -> None:
    compiler = Compiler(kept=Store())
    text = "define i64 @f() {\n  ret i64 5\n}"
    with pytest.raises(NotKept):
        compiler.module("of a test", lambda: text, compiles=False)
    made = compiler.module("of a test", lambda: text)
    assert compiler.module("of a test", lambda: "not asked", compiles=False) == made


def test_memory_that_cannot_be_had() -> None:
    with pytest.raises(OSError):
        pages.Pages(1 << 60)


# ---- where it is kept


@pytest.mark.parametrize("home", ("/nowhere", None))
@pytest.mark.parametrize("caches", ("/some/where", "", "not/absolute", None))
def test_the_users_folder_is_the_one_of_platformdirs(
    home: str | None, caches: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the environment says."""
    for name, value in (("HOME", home), ("XDG_CACHE_HOME", caches)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    wanted = Path(platformdirs.user_cache_dir("lazyfuse")) / "kernels"
    if not wanted.is_absolute():
        pytest.skip("XDG's specification has relative folders ignored, which older versions take")
    assert DiskCache("").folder == wanted and DiskCache("/x").folder == Path("/x")


# ---- imports

LATE = (
    "llvmlite", "cupy", "numpy.random", "numpy.testing", "numpy.f2py", "numpy.ma",
    "numpy.polynomial", "numpy.ctypeslib", "importlib.metadata", "tempfile", "platformdirs",
    "lazyfuse.backends.cpu", "lazyfuse.runtime.planner", "lazyfuse.schedule.fusion",
    "lazyfuse.lower.lower", "lazyfuse.frontend.fused", "lazyfuse.frontend.fusing",
)  # fmt: skip


def test_what_import_leaves_for_later() -> None:
    """Each module that takes milliseconds and that a program may do without."""
    program = """
    import sys
    import numpy
    before = {*sys.modules}
    import lazyfuse
    print([name for name in sys.argv[1:] if name in {*sys.modules} - before])
    """
    assert run(program, *LATE) == "[]"


def test_import_collects_nothing() -> None:
    """Forty collections brought near the one of all objects, which fell into a first call; what
    import makes counts as old. The program's thresholds are kept, and what it has frozen."""
    program = """
    import gc, sys
    import numpy
    begun = []
    gc.callbacks.append(lambda phase, told: phase == "start" and begun.append(told["generation"]))
    gc.set_threshold(500, 9, 8)
    gc.collect(1)  # else NumPy's import may have left the next one near
    begun.clear()
    young = len(gc.get_objects(0)) + len(gc.get_objects(1))
    getattr(gc, sys.argv[1])()
    import lazyfuse
    assert gc.get_threshold() == (500, 9, 8)
    young = len(gc.get_objects(0)) + len(gc.get_objects(1)) - young
    print({*begun} & {1, 2}, len(begun) < 10, young < 10_000, gc.get_freeze_count() > 1000)
    """
    assert run(program, "enable") == "set() True True False"
    assert run(program, "disable") == "set() True False False"
    assert run(program, "freeze") == "set() True False True"


def test_what_is_late_is_there() -> None:
    """By attribute, by `from ... import`, and in `dir`, before anything has asked for it."""
    program = """
    import lazyfuse as lf
    assert {"fuse", "random", "linalg", "fft", "testing", "sin", "clip"} <= {*dir(lf)}
    from lazyfuse import fuse, random
    assert lf.fuse is fuse and fuse.__module__ == "lazyfuse.frontend.fusing"
    assert "testing" in lf.__all__ and lf.testing.assert_array_equal
    assert type(lf.random.default_rng(1)).__module__ == "lazyfuse.frontend.sampling"
    assert lf.random.default_rng(1).normal() == __import__("numpy").random.default_rng(1).normal()
    print(lf.nditer.__name__)
    """
    assert run(program) == "nditer"


@needs_signatures
def test_the_signature_of_an_iterator_is_late() -> None:
    program = "import inspect, lazyfuse; print(str(inspect.signature(lazyfuse.nditer))[:9])"
    assert run(program) == "(op, flag"


def test_numpys_functions_find_ours_when_nobody_has_asked_before() -> None:
    """`np.clip(lazy)` and other composed functions, which are made when they are first called."""
    program = """
    import numpy, lazyfuse as lf
    x = lf.array(numpy.arange(-50000.0, 50000.0))
    y = numpy.clip(numpy.roll(x, 3), 0, 9)
    assert isinstance(y, lf.LazyArray) and lf.stats().fallbacks == 0
    assert numpy.array_equal(lf.asnumpy(y), numpy.clip(numpy.roll(lf.asnumpy(x), 3), 0, 9))
    print("lazy")
    """
    assert run(program) == "lazy"


def test_names() -> None:
    """`import *` gives every name of the list, late ones as well."""
    program = "from lazyfuse import *\nprint(fuse.__name__, callable(clip), type(linalg).__name__)"
    assert run(program) == "fuse True module"
