"""LLVM IR text -> object code -> callable addresses.

A `Compiler` owns one target machine and one LLJIT. Each kernel is linked as a library of its own,
and its code is unloaded when its `Code` is garbage collected. Object code can be kept and linked
again later: no compiler runs then.

Passes: the emitter writes explicit vectors and keeps state in stack slots, so `sroa` (slots to
registers) and the removal of dead code are all that is run before instruction selection.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Sequence

import llvmlite
import llvmlite.binding as llvm

from lazyfuse.backends.cpu.launch_text import ENTRIES, is_sse, text
from lazyfuse.ops.float_flags import DIVIDE, INVALID, OVERFLOW, UNDERFLOW

#: The condition of each bit: of the SSE control word, and of AArch64's fenv.h.
_SSE_BITS = (INVALID, 0, DIVIDE, OVERFLOW, UNDERFLOW, 0)
_FENV_BITS = (INVALID, DIVIDE, OVERFLOW, UNDERFLOW, 0)
_MATH_LIBRARIES = ("libm.so.6", "libSystem.dylib", "ucrtbase.dll")


class Code:
    """Linked functions by name; unloaded when collected."""

    def __init__(self, compiler: Compiler, tracker: llvm.ResourceTracker) -> None:
        self.compiler = compiler  # the JIT outlives its libraries
        self._tracker = tracker

    def address(self, name: str) -> int:
        address: int = self._tracker[name]
        return address

    def function(self, name: str, arity: int) -> Callable[..., None]:
        """A callable of `arity` 64-bit integers or addresses that runs without the GIL."""
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arity)
        function: Callable[..., None] = prototype(self._tracker[name])
        return function


class Calls:
    """The functions of `launch_text.py`. `addresses` are for machine code that calls them.

    `decoded` gives the conditions of `ops/float_flags.py` for what jobs collect.
    """

    def __init__(self, code: Code, places: tuple[int, ...]) -> None:
        self._code = code  # unloaded when collected
        self.addresses = {name: code.address(name) for name in ENTRIES}
        self.launch = code.function("lf_launch", 1)
        self.serve = code.function("lf_serve", 0)
        self.close = code.function("lf_close", 0)
        self.decoded = tuple(
            sum(flag for place, flag in enumerate(places) if bits >> place & 1)
            for bits in range(1 << len(places))
        )
        self.open = code.function("lf_open", 0)
        self.open()


#: Gives object code by all that decides it: from where it is kept, else by calling and keeping.
Kept = Callable[[str, Callable[[], bytes]], bytes]


def not_kept(key: str, make: Callable[[], bytes]) -> bytes:
    """Keep nothing."""
    return make()


class Compiler:
    """Compiles for one CPU; `cpu` and `features` default to the host's. `level` is LLVM's of code
    generation: 0 takes a third of the time that 2 takes. `kept`: of code that is no kernel's.
    Thread-safe."""

    def __init__(
        self,
        *,
        cpu: str | None = None,
        features: str | None = None,
        triple: str | None = None,
        level: int = 2,
        kept: Kept = not_kept,
    ) -> None:
        if triple is None:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
        else:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self.cpu = llvm.get_host_cpu_name() if cpu is None else cpu
        self.flags = _host_flags() if features is None else features
        self.triple = triple or llvm.get_process_triple()
        self.level = level
        self.features = feature_names(self.flags, self.cpu, self.triple)
        self._machine = self._target_machine(level)
        self._layout = str(self._machine.target_data)
        self._jit: llvm.LLJIT | None = None
        self._calls: Calls | None = None
        self._calls_lock = threading.Lock()
        self._kept = kept

    @property
    def calls(self) -> Calls:
        """How kernels are run, one for all of them."""
        with self._calls_lock:
            if self._calls is None:
                source = text(self.triple)
                binary = self._kept(
                    f"{self.version} but 0\n{source}", lambda: self.compile(source, level=0)
                )
                code = self.link(binary, ENTRIES)
                self._calls = Calls(code, _SSE_BITS if is_sse(self.triple) else _FENV_BITS)
            return self._calls

    def _target_machine(self, level: int) -> llvm.TargetMachine:
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.flags, opt=level, reloc="pic", codemodel="default"
        )

    @property
    def version(self) -> str:
        """What decides the code besides the text."""
        numbers = ".".join(map(str, llvm.llvm_version_info))
        target = f"{self.triple} {self.cpu} {self.flags}"
        return f"llvmlite {llvmlite.__version__} LLVM {numbers} {target} level {self.level}"

    def compile(self, source: str, *, level: int | None = None) -> bytes:
        """Object code of a module text; `level` instead of the compiler's."""
        with self._lock:
            module = llvm.parse_assembly(source, llvm.create_context())
            module.triple = self.triple
            module.data_layout = self._layout
            module.verify()
            self._optimize(module)
            machine = self._machine if level is None else self._target_machine(level)
            code: bytes = machine.emit_object(module)
            return code

    def assembly(self, source: str) -> str:
        """Assembly of a module text, for people."""
        with self._lock:
            module = llvm.parse_assembly(source, llvm.create_context())
            module.triple = self.triple
            module.data_layout = self._layout
            self._optimize(module)
            text: str = self._machine.emit_assembly(module)
            return text

    def link(self, code: bytes, symbols: Sequence[str]) -> Code:
        """Load object code and find the addresses of `symbols`."""
        with self._lock:
            if self._jit is None:
                _load_math()
                self._jit = llvm.create_lljit_compiler(self._machine)
            library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
            for symbol in symbols:
                library.export_symbol(symbol)
            return Code(self, library.link(self._jit, f"kernel{next(self._numbers)}"))

    def _optimize(self, module: llvm.ModuleRef) -> None:
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        builder = llvm.create_pass_builder(self._machine, options)
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_dead_code_elimination_pass()
        passes.run(module, builder)


def feature_names(flags: str, cpu: str, triple: str) -> frozenset[str]:
    """The features that are on, as the vector writer asks for them."""
    names = {flag[1:] for flag in flags.split(",") if flag.startswith("+")}
    if triple.startswith(("aarch64", "arm64")):
        names.add("neon")
    return frozenset(names)


def _host_flags() -> str:
    flags: str = llvm.get_host_cpu_features().flatten()
    return flags


def _load_math() -> None:
    """Make the C math library visible to linked code; most processes have loaded it already."""
    for name in _MATH_LIBRARIES:
        try:
            llvm.load_library_permanently(name)
        except RuntimeError:
            continue
        return
