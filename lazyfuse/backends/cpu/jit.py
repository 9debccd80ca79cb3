"""LLVM: IR text -> object code, and its linker. Importing this module loads LLVM.

A `Jit` owns one target machine and one LLJIT. Each kernel is linked as a library of its own, on
x86-64 by LLVM's older linker, and elsewhere by the newer one: on 64-bit ARM the older one ends the
process where the system puts two sections further apart than an instruction reaches.
Several threads compile at once, each in a context and for a machine of its own, which is what LLVM
asks of threads: llvmlite would let them wait for one another.

Passes: the emitter writes explicit vectors and keeps state in stack slots, so `sroa` (slots to
registers) and the removal of dead code are all that is run before instruction selection; but for
the module of methods, hundreds of small functions that call one another, whose better version is
made when nobody waits for it (`compiler.THOROUGH`). Of those after it, some are left out that cost
more than they give: LLVM has options for that, which belong to the process, so they are in force
while a module is compiled.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import string_at
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from lazyfuse.backends.cpu.compiler import IN_ORDER, KEEPS_ORDER, THOROUGH
from lazyfuse.backends.cpu.host import Host
from lazyfuse.forks import Turn, guarded, renewed
from lazyfuse.interrupts import leave_python
from lazyfuse.locks import RLock

#: Strength reduction of loops took 40 % of the time of compiling kernels with several loops;
#: addresses as they are written take as long to run, within 2 %. Hoisting of constants finds
#: nothing in vectors.
_OF_LOOPS = ("-disable-lsr", "-disable-constant-hoisting")
#: Constants were loaded before a loop, where deep bodies have no register for them, and
#: instructions put in order once more: a fifth of the time of compiling such bodies, which run as
#: fast without, or faster. What is there twice has been looked for in the kernel (`ops/body.py`),
#: so that is not done again: 4 %, for the same instructions.
_OF_ORDER = (
    *_OF_LOOPS,
    "-disable-machine-licm",
    "-disable-post-ra",
    "-disable-copyprop",
    "-disable-machine-cse",
)
#: LLVM's scheduler, which undoes an order for fewer registers.
_SCHEDULER = "-enable-misched"
_MATH_LIBRARIES = ("libm.so.6", "libSystem.dylib", "ucrtbase.dll")


def host() -> Host:
    """What LLVM says of itself and of this machine."""
    numbers = ".".join(map(str, llvm.llvm_version_info))
    triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
    return Host(llvmlite.__version__, numbers, triple, cpu, llvm.get_host_cpu_features().flatten())


#: llvmlite's lock, which any call of LLVM takes, also that of another library; None where it has
#: another form.
_LLVMLITES: Any = getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)
if hasattr(_LLVMLITES, "_is_owned"):
    guarded(_LLVMLITES, Turn.LLVM)


def let_go() -> None:
    """Give back llvmlite's lock where this thread has it and makes no call: an interrupt at the
    begin of one, as when an object of LLVM dies, leaves it taken, and others wait for ever."""
    while hasattr(_LLVMLITES, "_is_owned") and _LLVMLITES._is_owned():
        _LLVMLITES.release()


class Jit:
    """Compiles for one CPU, in LLVM's words; see `compiler.Compiler`. Thread-safe."""

    def __init__(
        self, triple: str, cpu: str, flags: str, level: int, *, is_aside: bool = False
    ) -> None:
        if triple == llvm.get_process_triple():
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
        else:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        self._lock = renewed(RLock())
        self._is_aside = is_aside
        self._numbers = itertools.count()
        self.triple, self.cpu, self.flags, self._level = triple, cpu, flags, level
        machine = self._target_machine(level)
        self._layout = str(machine.target_data)
        self._idle = {level: [machine]}
        self._jit: llvm.LLJIT | None = None

    def _target_machine(self, level: int) -> llvm.TargetMachine:
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.flags, opt=level, reloc="pic", codemodel="default"
        )

    @contextmanager
    def _machine(self, level: int) -> Iterator[llvm.TargetMachine]:
        """A machine of one's own meanwhile. It is kept for others: what it knows of the processor
        takes LLVM more than a millisecond to make."""
        idle = self._idle.setdefault(level, [])
        try:
            machine = idle.pop()
        except IndexError:  # each is in another thread's hands
            machine = self._target_machine(level)
        yield machine
        idle.append(machine)

    def compile(self, source: str, *, level: int | None = None) -> bytes:
        """Object code of a module text; `level` instead of the compiler's."""
        chosen = self._level if level is None else level
        with (
            _PASSES.left_out(_costly(source), is_aside=self._is_aside),
            self._machine(chosen) as machine,
        ):
            module = self._parsed(source)
            module.verify()
            (_optimize_thoroughly if chosen == THOROUGH else _optimize)(module, machine)
            return _emitted(machine, module)

    def assembly(self, source: str) -> str:
        """Assembly of a module text, for people."""
        with _PASSES.left_out(_costly(source)), self._machine(self._level) as machine:
            module = self._parsed(source)
            _optimize(module, machine)
            text: str = machine.emit_assembly(module)
            return text

    def _parsed(self, source: str) -> llvm.ModuleRef:
        module = llvm.parse_assembly(source, llvm.create_context())
        module.triple = self.triple
        module.data_layout = self._layout
        return module

    def link(self, code: bytes, symbols: Sequence[str]) -> llvm.ResourceTracker:
        """Load object code; the addresses of `symbols` by name. Unloaded when collected."""
        with self._lock:
            if self._jit is None:
                _load_math()
                self._jit = llvm.create_lljit_compiler(
                    self._target_machine(self._level),
                    use_jit_link=not self.triple.startswith("x86_64"),
                )
            library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
            for symbol in symbols:
                library.export_symbol(symbol)
            return library.link(self._jit, f"kernel{next(self._numbers)}")


def _optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(machine, options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()  # of what says so, at level 0, too
    passes.add_sroa_pass()
    passes.add_dead_code_elimination_pass()
    passes.run(module, builder)


def _optimize_thoroughly(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """By LLVM's own passes, of which those for loops give larger code that is no faster: loops
    over elements are elsewhere (`rows_text.py`). Takes two seconds, without llvmlite's lock."""
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_unrolling = options.loop_vectorization = options.loop_interleaving = False
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    passes = builder.getModulePassManager()
    run = _without_lock("LLVMPY_RunNewModulePassManager")
    if run is None:
        passes.run(module, builder)
    else:
        leave_python()
        run(passes, module, builder)


def _without_lock(name: str) -> Any:
    """A function of LLVM's that does not take llvmlite's lock; None with an llvmlite that has
    none of this form."""
    return getattr(getattr(llvm.ffi.lib, name), "_cfn", None)


def _emitted(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    """`machine.emit_object(module)`, which takes most of the time, without llvmlite's lock."""
    leave_python()
    library = llvm.ffi.lib
    emit = _without_lock("LLVMPY_TargetMachineEmitToMemory")
    if emit is None:
        code: bytes = machine.emit_object(module)
        return code
    with llvm.ffi.OutputString() as error:
        memory = emit(machine, module, True, error)
        if not memory:
            raise RuntimeError(str(error))
    try:
        size = library.LLVMPY_GetBufferSize(memory)
        return string_at(library.LLVMPY_GetBufferStart(memory), size)
    finally:
        library.LLVMPY_DisposeMemoryBuffer(memory)


def _costly(source: str) -> tuple[str, ...]:
    """The passes that cost a text more than they give."""
    if KEEPS_ORDER in source:
        return (*_OF_ORDER, _SCHEDULER)
    return _OF_ORDER if IN_ORDER in source else _OF_LOOPS


class _Passes:
    """Which passes are left out, for all who compile at the moment: who wants to leave out others
    waits, so that code does not depend on what is compiled beside. What is compiled aside waits
    for nobody, nor anybody for it. Another user of LLVM may lose passes, too, and nothing else."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Nobody compiles: in a child process, in which other threads are gone."""
        self._turn = threading.Condition()
        self._names: tuple[str, ...] = ()
        self._users = 0
        self._counts: Counter[str] = Counter()

    @contextmanager
    def left_out(self, names: tuple[str, ...], *, is_aside: bool = False) -> Iterator[None]:
        """Leave these out meanwhile."""
        with self._turn:
            while not is_aside and self._users and self._names != names:
                self._turn.wait()
            if not is_aside:
                self._names, self._users = names, self._users + 1
            for name in names:
                self._counts[name] += 1
                if self._counts[name] == 1:
                    self._set(name, is_left_out=True)
        try:
            yield
        finally:
            with self._turn:
                self._users -= not is_aside
                for name in names:
                    self._counts[name] -= 1
                    if not self._counts[name]:
                        self._set(name, is_left_out=False)
                self._turn.notify_all()

    def _set(self, name: str, *, is_left_out: bool) -> None:
        value = is_left_out == name.startswith("-disable")
        llvm.set_option("lazyfuse", f"{name}={str(value).lower()}")


_PASSES = _Passes()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PASSES.begin_anew)


def _load_math() -> None:
    """Make the C math library visible to linked code; most processes have loaded it already."""
    for name in _MATH_LIBRARIES:
        try:
            llvm.load_library_permanently(name)
        except RuntimeError:
            continue
        return
