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
import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property

import llvmlite
import llvmlite.binding as llvm

from lazyfuse.ops.float_flags import DIVIDE, INVALID, OVERFLOW, UNDERFLOW

#: `lf_guard` calls a function of a kernel and adds the floating point flags that it raised to
#: `flags`; those of the thread stay as they were. `lf_run` does so for a whole kernel (four
#: arguments cost less from Python than seven), `lf_share` for runs of `grain` until none is left:
#: threads that share a range call it together. OPENS and CLOSES are the target's.
_CALLS = """\
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare i32 @feclearexcept(i32)
declare i32 @fetestexcept(i32)

define void @lf_guard(ptr %call, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, ptr %flags) {
entry:
  OPENS
  call void %call(i64 %a, i64 %b, i64 %c, i64 %d, i64 %e)
  CLOSES
  ret void
}

define void @lf_run(ptr %kernel, ptr %params, i64 %end, ptr %flags) {
entry:
  OPENS
  call void %kernel(ptr %params, i64 0, i64 %end)
  CLOSES
  ret void
}

define void @lf_share(ptr %kernel, ptr %params, ptr %counter, i64 %end, i64 %grain, ptr %flags) {
entry:
  OPENS
  br label %next
next:
  %begin = atomicrmw add ptr %counter, i64 %grain monotonic
  %is_over = icmp sge i64 %begin, %end
  br i1 %is_over, label %done, label %run
run:
  %limit = add i64 %begin, %grain
  %is_whole = icmp slt i64 %limit, %end
  %stop = select i1 %is_whole, i64 %limit, i64 %end
  call void %kernel(ptr %params, i64 %begin, i64 %stop)
  br label %next
done:
  CLOSES
  ret void
}
"""
#: SSE: the flags are the low six bits of the control word.
_SSE = {
    "OPENS": """%state = alloca i32
  %raised = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %state)
  %before = load i32, ptr %state
  %cleared = and i32 %before, -64
  store i32 %cleared, ptr %raised
  call void @llvm.x86.sse.ldmxcsr(ptr %raised)""",
    "CLOSES": """call void @llvm.x86.sse.stmxcsr(ptr %raised)
  call void @llvm.x86.sse.ldmxcsr(ptr %state)
  %after = load i32, ptr %raised
  %bits = and i32 %after, 63
  %seen = atomicrmw or ptr %flags, i32 %bits monotonic""",
}
#: Elsewhere the C library knows where they are: FE_ALL_EXCEPT of AArch64's fenv.h.
_FENV = {
    "OPENS": "%cleared = call i32 @feclearexcept(i32 31)",
    "CLOSES": """%bits = call i32 @fetestexcept(i32 31)
  %seen = atomicrmw or ptr %flags, i32 %bits monotonic""",
}
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
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * arity)
        function: Callable[..., None] = prototype(self._tracker[name])
        return function


class Calls:
    """`guard(function, a, b, c, d, e, flags)`, `run(kernel, params, end, flags)` and
    `share(kernel, params, counter, end, grain, flags)`: see the text above. `flags` is the address
    of 32 bits.

    `decoded` gives the conditions of `ops/float_flags.py` for what they collect.
    """

    def __init__(self, code: Code, places: tuple[int, ...]) -> None:
        self._code = code  # unloaded when collected
        self.guard = code.function("lf_guard", 7)
        self.run = code.function("lf_run", 4)
        self.share = code.function("lf_share", 6)
        self.decoded = tuple(
            sum(flag for place, flag in enumerate(places) if bits >> place & 1)
            for bits in range(1 << len(places))
        )


class Compiler:
    """Compiles for one CPU; `cpu` and `features` default to the host's. `level` is LLVM's of code
    generation: 0 takes a third of the time that 2 takes. Thread-safe."""

    def __init__(
        self,
        *,
        cpu: str | None = None,
        features: str | None = None,
        triple: str | None = None,
        level: int = 2,
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
        self._machine = llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.flags, opt=level, reloc="pic", codemodel="default"
        )
        self._layout = str(self._machine.target_data)
        self._jit: llvm.LLJIT | None = None

    @cached_property
    def calls(self) -> Calls:
        """How kernels are called, one for all of them."""
        is_sse = self.triple.startswith(("x86_64", "amd64"))
        text = _CALLS
        for name, lines in (_SSE if is_sse else _FENV).items():
            text = text.replace(name, lines)
        if not is_sse:
            text = re.sub("declare void @llvm.x86.*\n", "", text)
        code = self.link(self.compile(text), ["lf_guard", "lf_run", "lf_share"])
        return Calls(code, _SSE_BITS if is_sse else _FENV_BITS)

    @property
    def version(self) -> str:
        """What decides the code besides the text."""
        numbers = ".".join(map(str, llvm.llvm_version_info))
        target = f"{self.triple} {self.cpu} {self.flags}"
        return f"llvmlite {llvmlite.__version__} LLVM {numbers} {target} level {self.level}"

    def compile(self, source: str) -> bytes:
        """Object code of a module text."""
        with self._lock:
            module = llvm.parse_assembly(source, llvm.create_context())
            module.triple = self.triple
            module.data_layout = self._layout
            module.verify()
            self._optimize(module)
            code: bytes = self._machine.emit_object(module)
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
