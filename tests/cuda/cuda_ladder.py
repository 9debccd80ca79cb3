"""The verification ladder over whole programs: every kernel that the engine plans for them, by
every strategy, on the host shim and on the interpreter, and as cubins of three architectures.

A kernel alone takes a compiler 20 to 200 ms, one of many in a source 5 to 15. So programs run
twice: first on a `Shelf` that compiles nothing, notes what it is asked for and lets the engine
compute op by op; then, when everything noted is compiled together, for good.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

import numpy as np
from cuda_check import ARCHITECTURES, import_build

import lazyfuse as lf
from lazyfuse.backends.base import Executable, Unsupported
from lazyfuse.backends.cuda.backend import wanted
from lazyfuse.backends.cuda.executable import OwnExecutable
from lazyfuse.backends.cuda.program import Program, Strategy
from lazyfuse.backends.cuda.simulator import SimulatedBackend, merged
from lazyfuse.backends.cuda.strategy import CUPY, choose, obstacle, render_own
from lazyfuse.backends.cuda_ptx import CudaPtxBackend
from lazyfuse.errors import UnfusedWarning
from lazyfuse.ir.kernel import Kernel
from lazyfuse.runtime import session
from tests import corpus, oracle
from tests.fuzz.check import program as fuzz_program
from tests.fuzz.compare import ULP, run

#: What says how a program's results differ from NumPy's; it runs the program.
Check = Callable[[], list[str]]
#: Statements of a random program.
LONGEST = 12
#: Words of programs that make narrow floats.
NARROW = ("'f2'", "'f4'", "'c8'")
#: Kernels in one source.
TOGETHER = 50
#: The strategies that own text has: all but cupy's, which `test_cuda_cupy.py` runs.
STRATEGIES = tuple(strategy for strategy in Strategy if strategy not in CUPY)


class Shelf:
    """A simulated backend that gives what is on it, and refuses and notes every other kernel.
    `tamper` plants a fault into every text.
    """

    def __init__(
        self, backend: SimulatedBackend, tamper: Callable[[str], str] = lambda text: text
    ) -> None:
        self.backend = backend
        self.tamper = tamper
        self.narrow_index = True
        self.built: dict[tuple[str, Strategy], Executable] = {}
        self.texts: dict[str, OwnExecutable] = {}
        self.noted: dict[str, Kernel] = {}
        self.used: Counter[Strategy] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    def compile(self, kernel: Kernel, name: str) -> Executable:
        """Look the kernel up, for the strategy that is asked for."""
        strategy = choose(kernel, wanted(), has_cupy=False)
        found = self.built.get((kernel.digest, strategy))
        if found is None:
            self.noted[kernel.digest] = kernel
            raise Unsupported("kernel", "any", "it is not on the shelf yet")
        self.used[strategy] += 1
        return found

    def fill(self, kernels: Sequence[Kernel], strategies: Sequence[Strategy]) -> None:
        """Compile kernels for all strategies that apply to them, each text once."""
        programs = {
            (kernel.digest, strategy): program_of(kernel, strategy)
            for kernel in kernels
            for strategy in strategies
            if not obstacle(kernel, strategy)
        }
        missing = {
            program.name: replace(program, source=self.tamper(program.source))
            for program in programs.values()
            if program.name not in self.texts
        }
        for executables in parallel(self.backend.build, list(missing.values())):
            self.texts.update((made.program.name, made) for made in executables)
        for key, program in programs.items():
            made = self.texts[program.name]
            self.built[key] = OwnExecutable(program, made.runtime, made.functions, made.binary)


def program_of(kernel: Kernel, strategy: Strategy) -> Program:
    """The program of a kernel, named after its text."""
    text = render_own(kernel, "lf_x", strategy).source
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    return render_own(kernel, f"lf_{name}", strategy)


def parallel(build: Callable[[list[Program]], Any], programs: list[Program]) -> list[Any]:
    """Build programs in sources of some, on two threads: compilers release the GIL."""
    parts = [programs[start : start + TOGETHER] for start in range(0, len(programs), TOGETHER)]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(build, parts))


@dataclass
class Programs:
    """Programs with the kernels that the engine plans for them."""

    checks: list[Check]
    #: The kernels of each program.
    kernels: list[list[Kernel]] = field(default_factory=list)

    def distinct(self, numbers: Sequence[int] | None = None) -> list[Kernel]:
        """Every kernel of some programs, or of all, once."""
        chosen = range(len(self.kernels)) if numbers is None else numbers
        found = {kernel.digest: kernel for n in chosen for kernel in self.kernels[n]}
        return list(found.values())

    def plan(self, device: str, backend: SimulatedBackend) -> None:
        """Run all without kernels, to see which they are."""
        for number, check in enumerate(self.checks):
            shelf = Shelf(backend)
            shelf.narrow_index = is_narrow(number)
            with on(device, shelf):
                check()
            self.kernels.append(list(shelf.noted.values()))

    def climb(
        self, device: str, shelf: Shelf, strategy: Strategy, numbers: Sequence[int]
    ) -> list[str]:
        """Run some programs by one strategy; what differs. Thread orders are shuffled."""
        problems = []
        with on(device, shelf, cuda_strategy=strategy.value):
            for number in numbers:
                shelf.backend.runtime.order = number
                shelf.narrow_index = is_narrow(number)
                session.plans.clear()
                problems += [
                    f"{number} {strategy.value}: {text}" for text in self.checks[number]()
                ]
        shelf.backend.runtime.order = 0
        assert not shelf.noted, f"{len(shelf.noted)} kernels ran op by op"
        return problems

    def numbers(self, strategy: Strategy) -> list[int]:
        """The programs to which a strategy makes a difference."""
        return [
            number
            for number, kernels in enumerate(self.kernels)
            if strategy is Strategy.OWN
            or any(not obstacle(kernel, strategy) for kernel in kernels)
        ]


def is_narrow(number: int) -> bool:
    """Whether a program's kernels may count in 32 bits: every other one's do not."""
    return number % 2 == 0


@contextmanager
def on(device: str, shelf: Shelf, **options: Any) -> Iterator[None]:
    """Open a device whose backend is a shelf; sums are trees there."""
    normal, was_on_gpu = session.backend, oracle.ON_GPU
    session.backend = lambda name: shelf if name == device else normal(name)  # type: ignore[assignment]
    oracle.ON_GPU = True
    lf.cache_clear()
    options = {"eager_size": 0, "disk_cache": False, "cache_size": 8192, **options}
    try:
        with (
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            lf.options(device=device, **options),
        ):
            warnings.simplefilter("ignore", UnfusedWarning)
            yield
    finally:
        session.backend, oracle.ON_GPU = normal, was_on_gpu
        lf.cache_clear()


# ---- programs


def random_check(seed: str) -> Check:
    """A random program; sums are trees, and what follows from them is near: where floats were
    narrow once, as near as narrow floats are.
    """
    lines = fuzz_program(seed, longest=LONGEST)
    expected = run(lines, np)
    is_narrow = any(word in line for line in lines for word in NARROW)

    def check() -> list[str]:
        given = run(lines, lf)
        lf.materialize(*[v for v in given.names.values() if isinstance(v, oracle.LAZY)])
        problems = [] if set(expected.errors) == set(given.errors) else [f"errors of {lines}"]
        for name, value in expected.names.items():
            rules = oracle.Rules(ULP * (name[0] == "u"), zero_sign=False, strides=False, sums=True)
            seen = oracle.observe(given.names[name])
            found = list(oracle.compare(name, value, seen, rules))
            if (
                found
                and is_narrow
                and getattr(value, "dtype", None) in (np.float64, np.complex128)
            ):
                kind = "f4" if value.dtype.kind == "f" else "c8"
                found = list(oracle.compare(name, value.astype(kind), narrowed(seen, kind), rules))
            problems += found
        return problems

    return check


def narrowed(seen: Any, kind: str) -> Any:
    """The values of an observed array as narrow floats."""
    return np.asarray(getattr(seen, "values", seen)).astype(kind)


def row_check(family: corpus.Family, dtypes: tuple[str, ...]) -> Check:
    """The ops of a family on special values, and for two operands on every pair of them."""
    rules = corpus.family_rules(family, *dtypes)
    given = (
        [corpus.unary_values(dtypes[0])]
        if family.arity == 1
        else list(corpus.usable(family, *corpus.pair_values(*dtypes)))
    )

    def program(xp: Any, *arrays: Any) -> dict[str, Any]:
        return {op: corpus.attempt(xp, op, arrays) for op in family.ops}

    def check() -> list[str]:
        found = oracle.differences(program, *given, rules=rules)
        return [f"{family.name} {dtypes}: {text}" for text in found]

    return check


ROWS = [
    (family, dtypes)
    for family in corpus.FAMILIES
    for dtypes in (
        [(dtype,) for dtype in corpus.DTYPES]
        if family.arity == 1
        else [*((dtype, dtype) for dtype in corpus.DTYPES), *corpus.MIXED]
    )
]


# ---- cubins


class AssembledBackend(CudaPtxBackend):
    """The interpreter, of PTX that NVRTC assembles as well, for the text is read and optimized
    once: one source of `every`, for one of the architectures. That takes longer than all the rest
    of NVRTC.
    """

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every

    def compiled(self, source: str) -> str:
        """The PTX of a source that has a cubin, where it is to have one."""
        number, place = divmod(crc32(source.encode()), len(ARCHITECTURES))
        if number % self.every:
            return super().compiled(source)
        cubin, ptx = import_build().build_both(source, ARCHITECTURES[place])
        assert cubin.startswith(b"\x7fELF")
        return ptx


def refused_by_nvrtc(programs: list[Program], architecture: str) -> list[str]:
    """Compile every program for an architecture; what NVRTC has to say against it."""
    build = import_build()

    def compile_some(some: list[Program]) -> str:
        try:
            cubin, _ = build.build_cubin(merged(some), architecture)
        except build.BuildError as error:
            return str(error)[:2000]
        return "" if cubin.startswith(b"\x7fELF") else "no cubin"

    return [text for text in parallel(compile_some, programs) if text]
