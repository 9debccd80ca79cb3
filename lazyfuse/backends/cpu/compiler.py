"""Object code -> callable addresses, and LLVM IR text -> object code where there is none yet.

Object code that LLVM has written can be kept and linked again later: by `loader`, in some hundred
microseconds and without importing LLVM, or by LLVM's own linker where the loader does not know it.
Code is unloaded when its `Code` is garbage collected.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from lazyfuse.backends.cpu.features import feature_names
from lazyfuse.backends.cpu.host import Kept, host, not_kept
from lazyfuse.backends.cpu.launch_text import ENTRIES, is_sse, text
from lazyfuse.backends.cpu.loader import Image, Unknown, dumped, object_code
from lazyfuse.backends.cpu.sandbox import may_move
from lazyfuse.forks import renewed, unforked
from lazyfuse.interrupts import is_interrupt, uninterrupted
from lazyfuse.locks import RLock
from lazyfuse.ops.float_flags import DIVIDE, INVALID, OVERFLOW, UNDERFLOW
from lazyfuse.sources import sources

if TYPE_CHECKING:
    from lazyfuse.backends.cpu.jit import Jit

_R = TypeVar("_R")

#: An attribute of functions whose instructions stand in the order in which they shall run, with as
#: many values at once as there are registers: constants are better read where they are used.
IN_ORDER = '"lazyfuse-in-order"'
#: And where LLVM's own scheduler is to leave them in it.
KEEPS_ORDER = '"lazyfuse-keeps-order"'
#: The level at which LLVM's own passes are run as well, at last; no kernel's.
THOROUGH = 3
#: This folder of the package.
FOLDER = "backends/cpu"
#: The condition of each bit: of the SSE control word, and of AArch64's fenv.h.
_SSE_BITS = (INVALID, 0, DIVIDE, OVERFLOW, UNDERFLOW, 0)
_FENV_BITS = (INVALID, DIVIDE, OVERFLOW, UNDERFLOW, 0)


class Linked(Protocol):
    """Loaded code: an `Image`, or what LLVM's linker gives."""

    def __getitem__(self, name: str) -> int: ...


class Code:
    """Linked functions by name; unloaded when collected."""

    def __init__(self, compiler: Compiler, linked: Linked) -> None:
        self.compiler = compiler  # LLVM outlives its libraries
        self.linked = linked

    def address(self, name: str) -> int:
        return self.linked[name]

    def function(self, name: str, arity: int, *, keeps: bool = False) -> Callable[..., None]:
        """A callable of `arity` 64-bit integers or addresses that runs without the GIL, unless it
        `keeps` that."""
        make = ctypes.PYFUNCTYPE if keeps else ctypes.CFUNCTYPE
        prototype = make(None, *[ctypes.c_void_p] * arity)
        function: Callable[..., None] = prototype(self.linked[name])
        return function


class NotKept(LookupError):
    """Object code would have to be compiled."""


class Calls:
    """The functions of `launch_text.py`. `addresses` are for machine code that calls them.

    `decoded` gives the conditions of `ops/float_flags.py` for what jobs collect.
    """

    def __init__(self, code: Code, places: tuple[int, ...]) -> None:
        self._code = code  # unloaded when collected
        self.addresses = {name: code.address(name) for name in ENTRIES}
        self.launch = code.function("lf_launch", 1)
        self.launch_short = code.function("lf_launch", 1, keeps=True)
        self.serve = code.function("lf_serve", 0)
        self.close = code.function("lf_close", 0)
        self.decoded = tuple(
            sum(flag for place, flag in enumerate(places) if bits >> place & 1)
            for bits in range(1 << len(places))
        )
        self.open = code.function("lf_open", 0)
        self.open()
        if not may_move():
            code.function("lf_stay", 0)()


class Compiler:
    """Compiles for one CPU; `cpu` and `features` default to the host's. `level` is LLVM's of code
    generation: 0 takes a third of the time that 2 takes. `kept`: of code that is no kernel's.
    LLVM starts when something has to be compiled. Thread-safe.

    Raises: ImportError where LLVM has to be asked and is not there.
    """

    def __init__(
        self,
        *,
        cpu: str | None = None,
        features: str | None = None,
        triple: str | None = None,
        level: int = 2,
        kept: Kept = not_kept,
    ) -> None:
        found = host(kept)
        self.cpu = found.cpu if cpu is None else cpu
        self.flags = found.flags if features is None else features
        self.triple = triple or found.triple
        self.level = level
        self.features = feature_names(self.flags, self.cpu, self.triple)
        #: What decides the code besides the text.
        self.version = (
            f"llvmlite {found.llvmlite} LLVM {found.llvm} {self.triple} {self.cpu} {self.flags} "
            f"level {level}"
        )
        self._is_aside = False
        self._jit: Jit | None = None
        self._lock = renewed(RLock())
        self._calls: Calls | None = None
        self._calls_lock = renewed(RLock())
        self._kept = kept

    def aside(self, *, is_alone: bool = True) -> Compiler:
        """One that compiles the same and shares no lock, for a thread that nobody shall wait
        for; unless `is_alone`, who wants other passes of LLVM does."""
        made = Compiler(
            cpu=self.cpu, features=self.flags, triple=self.triple, level=self.level,
            kept=self._kept,
        )  # fmt: skip
        made._is_aside = is_alone
        return made

    @property
    def calls(self) -> Calls:
        """How kernels are run, one for all of them."""
        with self._calls_lock:
            if self._calls is None:
                binary = self.module("launch", lambda: text(self.triple))
                code = self.link(binary, ENTRIES)
                if self._calls is None:  # a handler of a signal may have computed meanwhile
                    self._calls = Calls(code, _SSE_BITS if is_sse(self.triple) else _FENV_BITS)
            return self._calls

    def module(
        self, name: str, source: Callable[[], str], *, compiles: bool = True, level: int = 0
    ) -> bytes:
        """Object code of a text of this package that is no kernel's; `name` says which, and what
        it was made for. From where it is kept; else compiled now and kept, without optimization
        unless `level` says more. Raises: NotKept where it is not to be compiled."""

        def make() -> bytes:
            if compiles:
                return dumped(self.compile(source(), level=level))
            raise NotKept(name)

        layouts = sys.implementation.cache_tag  # such texts know where objects keep what
        own = sources(FOLDER, "ops")  # the rules of functions and the numbers of ops are in them
        key = f"{name} {self.version} but {level} {layouts} {own}"
        return self._kept(key, make)

    def compile(self, source: str, *, level: int | None = None) -> bytes:
        """Object code of a module text; `level` instead of the compiler's."""
        return self._asked(lambda jit: jit.compile(source, level=level))

    def assembly(self, source: str) -> str:
        """Assembly of a module text, for people."""
        return self._asked(lambda jit: jit.assembly(source))

    def link(self, code: bytes, symbols: Sequence[str]) -> Code:
        """Load object code, dumped or not, and find the addresses of `symbols`."""
        try:
            linked: Linked = Image(code)
        except (Unknown, OSError) as error:  # another system, or what nobody has written so far
            if is_interrupt(error):
                raise
            linked = self._asked(lambda jit: jit.link(object_code(code), symbols))
        return Code(self, linked)

    def _asked(self, question: Callable[[Jit], _R]) -> _R:
        """What LLVM answers. It is imported before another thread asks: that would wait for ever
        for the locks of an import which an interrupt has left taken, or for llvmlite's own."""
        from lazyfuse.backends.cpu.jit import Jit, let_go

        def asked() -> _R:
            with self._lock:
                if self._jit is None:
                    self._jit = Jit(
                        self.triple, self.cpu, self.flags, self.level, is_aside=self._is_aside
                    )
            return question(self._jit)

        let_go()
        return uninterrupted(unforked, asked)
