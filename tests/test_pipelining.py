"""Long bodies in stages: the same bits and floating point warnings as one vector after the other,
at every length, and stages that wait for each other in the right order."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.backends.cpu import CpuBackend, emit_rounds, jit  # noqa: E402
from lazyfuse.backends.cpu.emit import emit  # noqa: E402
from lazyfuse.backends.cpu.pipelining import Pipeline  # noqa: E402
from lazyfuse.backends.cpu.stages import OF_16, OF_32, Choice, staged  # noqa: E402
from lazyfuse.ir.kernel import Kernel  # noqa: E402
from lazyfuse.ops.body import Body  # noqa: E402
from lazyfuse.ops.float_flags import INVALID  # noqa: E402
from tests.kernel_runner import KernelRunner, Memory, elementwise, load  # noqa: E402
from tests.older_processor import older  # noqa: E402

LENGTHS = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 1000, 4099)
DEEP, NEVER = emit_rounds.DEEP, 10**9
Program = Callable[[Any, Any, Any], Any]

BACKEND = CpuBackend()
needs_avx2 = pytest.mark.skipif(
    "avx2" not in BACKEND.compiler.features, reason="bodies run in stages where AVX2 is"
)


def steps(xp: Any, x: Any, y: Any) -> Any:
    """Arithmetic alone, one step after the other, and a condition in between."""
    total = x
    for _ in range(12):
        total = xp.where(total * total <= 4.0, total * total + y, total * 0.5)
    return total


def functions(xp: Any, x: Any, y: Any) -> Any:
    """Vector math one after the other, with lanes that go to libm, and two results."""
    z = xp.log(x * x + 1.5)
    w = xp.sin(xp.exp(z * 0.25) * y)
    return xp.tanh(w) * z, xp.log1p(xp.sqrt(z)) / (w + 2.0)


def whole(xp: Any, x: Any, y: Any) -> Any:
    """Integers and conditions on their way to floats."""
    whole = xp.floor(x * 8.0).astype("i8")
    for k in range(14):
        whole = whole * 3 + (whole >> 2) - k
    return xp.exp((whole & 7) * 0.125) * xp.log(xp.abs(y) + 1.0), whole > 0


def mixed(xp: Any, x: Any, y: Any) -> Any:
    """Two widths, and a float16 at the end."""
    narrow = xp.arctan2(xp.cbrt(x.astype("f4")), xp.exp(y.astype("f4") * 0.1))
    return xp.sinh(narrow.astype("f8")) + xp.hypot(x, y), narrow.astype("f2")


def total(xp: Any, x: Any, y: Any) -> Any:
    """A sum in NumPy's order."""
    return functions(xp, x, y)[0].sum()


def both(xp: Any, x: Any, y: Any) -> Any:
    """Folds of one value and of two, and one that takes no leaves."""
    first, second = functions(xp, x, y)
    return first.mean(), first.max(), (second * y).sum()


def largest(xp: Any, x: Any, y: Any) -> Any:
    """Folds of numbers without leaves, floats and whole ones."""
    return steps(xp, x, y).max(), whole(xp, x, y)[0].astype("f4").min()


def values(seed: int, length: int, *, special: bool) -> host.ndarray:
    draw = host.random.default_rng(seed)
    numbers = draw.normal(size=length)
    if special:
        others = [0.0, -0.0, host.inf, -host.inf, host.nan, 1e300, 5e-324, 3e9]
        places = draw.integers(0, length, 1 + length // 5)
        numbers[places] = draw.choice(others, len(places))
    return numbers


def bits(array: host.ndarray) -> bytes:
    """All bits but the signs of NaNs, which depend on the order of operands."""
    if array.dtype.kind == "f":
        array = host.where(host.isnan(array), array.dtype.type(host.nan), array)
    return array.tobytes()


def outcome(program: Program, *operands: host.ndarray) -> tuple[list[bytes], set[str]]:
    """The bits of the results, and what was warned of."""
    with (
        lf.options(eager_size=0, cold_size=0, disk_cache=False),
        warnings.catch_warnings(record=True) as found,
        host.errstate(divide="warn", over="warn", invalid="warn", under="ignore"),
    ):
        warnings.simplefilter("default")
        results = program(lf, *map(lf.asarray, operands))
        results = results if isinstance(results, tuple) else (results,)
        lf.materialize(*results)
        return [bits(host.asarray(each)) for each in results], {str(w.message) for w in found}


def older_backend() -> CpuBackend:
    """That of an older processor of this kind, which this one can stand for."""
    found = older()
    return CpuBackend(cpu=found.cpu, features=found.flags)


@pytest.fixture(params=("host", "16 registers"))
def _processor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This processor, and an older one."""
    compiler = lf.runtime.session.backend("cpu").compiler
    if request.param != "host":
        if "avx512f" not in compiler.features:  # which x86 has
            pytest.skip("this processor has no more")
        before = older_backend().compiler
        for name in ("cpu", "flags", "features", "_jit"):
            monkeypatch.setattr(compiler, name, getattr(before, name))
    yield
    monkeypatch.undo()
    lf.cache_clear()


@pytest.fixture
def compare(_processor: None, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Whether a program does the same in stages and not, on each of some operands."""

    def compare(program: Program, *cases: tuple[host.ndarray, ...]) -> None:
        found = []
        for deep in (DEEP, NEVER):
            monkeypatch.setattr(emit_rounds, "DEEP", deep)
            lf.cache_clear()  # once: the same kernel runs at all lengths
            found.append([outcome(program, *operands) for operands in cases])
        for one, other in zip(*found, strict=True):
            assert one == other

    return compare


@pytest.mark.parametrize("program", (steps, functions, whole, mixed))
@pytest.mark.parametrize("special", (False, True))
def test_same_bits_and_warnings(
    program: Program, special: bool, compare: Callable[..., None]
) -> None:
    compare(program, *pairs(LENGTHS, special=special))


def pairs(lengths: Sequence[int], *, special: bool) -> list[tuple[host.ndarray, ...]]:
    return [
        tuple(values(seed, length, special=special) for seed in (length, -length % 99))
        for length in lengths
    ]


@pytest.mark.parametrize("program", (total, both, largest))
@pytest.mark.parametrize("special", (False, True))
def test_reductions(program: Program, special: bool, compare: Callable[..., None]) -> None:
    """Values that are folded come block by block."""
    lengths = (*LENGTHS, 2047, 2048, 2049, 2055, 6_000, 40_003)
    compare(program, *pairs(lengths, special=special))


@pytest.mark.parametrize("program", (steps, functions, total))
def test_one_element_for_all(program: Program, compare: Callable[..., None]) -> None:
    """What is the same for all vectors, beside what is not."""
    compare(program, (values(3, 100, special=True), host.array([0.5])))


def deep(xp: Any, x: Any, y: Any) -> Any:
    """The logarithm of no zero: but of one of what a stage starts with, which is 1."""
    for _ in range(4):
        x = xp.log(xp.exp(x) - 1.0 + y)
    return xp.log(x - 1.0) / (x - 1.0)


@pytest.mark.cpu("floating point flags")
def test_first_and_last_vectors_warn_of_what_they_hold(compare: Callable[..., None]) -> None:
    """What the stages compute before the first vector and after the last is not warned of, and a
    warning of the first or last element is not lost."""
    for length in (1, 8, 20, 64):
        x = host.full(length, 3.0)
        assert outcome(deep, x, host.ones(length))[1] == set()
        for place in (0, length - 1):
            y = host.ones(length)
            y[place] = -1e3
            assert outcome(deep, x, y)[1]
            compare(deep, (x, y))


def in_place(xp: Any, x: Any, y: Any) -> Any:
    """Results that take the memory of an operand, beside one that is a copy of it."""
    scaled = x * 3.0
    lf.materialize(scaled)
    copied, wide = scaled.copy(), scaled.astype("c16")
    for _ in range(40):
        scaled = scaled * 1.0001 + 0.5
    return copied, scaled, wide


def test_operands_that_are_overwritten(compare: Callable[..., None]) -> None:
    """What a stage reads again comes before anything is stored."""
    operands = [values(length, length, special=False) for length in LENGTHS]
    compare(in_place, *[(x, x) for x in operands])
    for length, x in zip(LENGTHS, operands, strict=True):
        body = Body()
        operand = result = load(body, "f8", 0)
        for _ in range(40):
            result = result * 1.0001 + 0.1
        args = [("in", "f8", "1"), ("out", "f8", "1"), ("out", "f8", "1")]
        kernel = elementwise(body, args, {1: result, 2: operand})
        overwritten, copied = x.copy(), host.empty_like(x)
        KernelRunner(BACKEND)(kernel, (length,), [overwritten, overwritten, copied])
        assert copied.tobytes() == x.tobytes()


def conditions(kernel: Kernel, *arrays: host.ndarray) -> int:
    """The floating point conditions that a kernel meets."""
    executable = BACKEND.compile(kernel, "test")
    launch = executable.bind((len(arrays[0]),), ((1,),) * len(arrays), (0,) * len(arrays))
    return int(launch([Memory(array) for array in arrays], [], threads=1))


def test_only_conditions_of_elements_are_met() -> None:
    """Where stages begin with what another vector left, and where the first and last vectors hold
    what others would not survive."""
    body = Body()
    x = load(body, "f8", 0)
    chain = x.unary("log").unary("exp").unary("log").unary("exp")
    result = (chain * 1.5 - x).unary("sqrt")  # of less than 0 where x is of another vector
    args = [("in", "f8", "1"), ("out", "f8", "1")]
    kernel = elementwise(body, args, {1: result})
    for length in (*LENGTHS, 17, 25, 41):
        for begin, end in ((10.0, 1000.0), (1000.0, 10.0)):
            operand = host.full(length, begin)
            operand[length - length % 8 :] = end
            assert conditions(kernel, operand, host.empty(length)) & INVALID == 0
            for place in (0, length - 1):
                broken = operand.copy()
                broken[place] = -1.0
                assert conditions(kernel, broken, host.empty(length)) & INVALID


@pytest.mark.cpu("bodies in stages")
@needs_avx2
def test_stages_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs above run in several stages; what could trap, in none."""
    counts = []

    class Counted(Pipeline):
        def write(self, *args: Any) -> None:
            counts.append(self.count)
            super().write(*args)

    monkeypatch.setattr(emit_rounds, "Pipeline", Counted)
    lf.cache_clear()
    x, y = values(1, 100, special=False), values(2, 100, special=False)
    for program in (steps, functions, mixed, deep, total, largest):
        outcome(program, x, y)
    assert len(counts) >= 6
    assert min(counts) > 1

    counts.clear()
    outcome(lambda xp, x, y: steps(xp, (x * 99).astype("i8") // (y * 99).astype("i8"), y), x, y)
    assert not counts


@pytest.mark.cpu("bodies in stages")
def test_long_bodies_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM's scheduler is left out for those, and for nothing else."""
    if "avx512f" not in lf.runtime.session.backend("cpu").compiler.features:
        pytest.skip("of processors with AVX-512")
    seen: list[bool] = []

    def noted(source: str) -> tuple[str, ...]:
        passes = costly(source)
        if "@lf_kernel" in source:
            seen.append("-enable-misched" in passes)
        return passes

    costly = jit._costly
    monkeypatch.setattr(jit, "_costly", noted)
    x, y = values(1, 20_000, special=False), values(2, 20_000, special=False)
    for program, is_long in ((functions, True), (lambda xp, x, y: xp.log1p(abs(x)) + y, False)):
        seen.clear()
        lf.cache_clear()
        outcome(program, x, y)
        assert seen and any(seen) == is_long


@needs_avx2
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_processors_with_16_registers(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits as without stages, and nothing beside the results is written."""
    backend = older_backend()
    body = Body()
    x, y = load(body, dtype, 0), load(body, dtype, 1)
    for _ in range(3):
        x = (x.unary("sin") * y).unary("exp")
    args = [("in", dtype, "1"), ("in", dtype, "1"), ("out", dtype, "1"), ("out", dtype, "1")]
    kernel = elementwise(body, args, {2: x, 3: x.unary("log") - y})
    runs = [KernelRunner(backend)]
    assert "ldmxcsr" in emit(kernel, backend.compiler.features).partition("define void")[2]
    monkeypatch.setattr(emit_rounds, "DEEP", NEVER)
    runs.append(KernelRunner(backend))
    assert "ldmxcsr" not in emit(kernel, backend.compiler.features).partition("define void")[2]
    for length in LENGTHS:
        operands = [values(seed, length, special=True).astype(dtype) for seed in (1, 2)]
        found = []
        for run, deep in zip(runs, (1, NEVER), strict=True):
            monkeypatch.setattr(emit_rounds, "DEEP", deep)
            around = host.ones((2, length + 40), dtype)
            run(kernel, (length,), [*operands, *(each[20:-20] for each in around)])
            assert (around[:, :20] == 1).all() and (around[:, -20:] == 1).all()
            found.append(bits(around))
        assert found[0] == found[1]


@pytest.mark.parametrize("choice", (OF_16, OF_32))
@pytest.mark.parametrize("seed", range(30))
def test_stages_follow_what_they_read(seed: int, choice: Choice) -> None:
    """No step runs before what it reads, and stores are last."""
    draw = random.Random(seed)
    count = draw.randint(20, 300)
    near = draw.choice((2, 8, 40))
    before = [
        sorted({draw.randrange(max(0, step - near), step) for _ in range(2)} if step else [])
        for step in range(count)
    ]
    latencies = [draw.choice((0, 4, 4, 4, 26)) for _ in range(count)]
    before.append([count - 1])
    latencies.append(4)
    stages = staged(latencies, before, [count], choice)
    for step, reads in enumerate(before):
        assert all(stages[each] <= stages[step] for each in reads)
    assert stages[-1] == max(stages)
    assert choice.some <= len(set(stages)) <= choice.many


def test_a_chain_is_cut_into_equal_stages() -> None:
    chain = staged([4] * 120, [[], *([step] for step in range(119))], [119])
    lengths = [chain.count(stage) for stage in range(max(chain) + 1)]
    assert len(lengths) > 3
    assert max(lengths) <= 2 * min(lengths)


@pytest.mark.parametrize(("chains", "count"), ((1, 6), (4, 3), (8, 2)))
def test_bodies_that_seldom_wait_are_cut_into_few_stages(chains: int, count: int) -> None:
    """Chains side by side leave a core as much to do as stages would."""
    steps = 120
    before = [[step - chains] if step >= chains else [] for step in range(steps)]
    stages = staged([4] * steps, before, [steps - 1], OF_32)
    assert len(set(stages)) == count
