"""NumPy's own Python code, run on this package's names.

Many functions of NumPy are Python over a few primitives: `np.roll` assigns slices of an
`empty_like`, `np.pad` fills the edges, `np.cov` is averages and a `dot`. `Host.function(np.roll)`
is that same code with other globals: every public function it names is ours, every private one is
taken along in the same way. So nothing is written twice, results and errors are NumPy's by
construction, they follow the installed version, and what runs is recorded.

    Host(lookup).function(np.roll)(lazy, 2)      # np.roll's code: empty_like, slices, writes

Only the names that a function uses are looked up, when it is first asked for. A function that is
written in C has no code to take: it stays what it is, or has a row in `replaced`.
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from lazyfuse.forks import guarded
from lazyfuse.locks import RLock
from lazyfuse.runtime.caller import WARNINGS_HERE

Find = Callable[[str], Any]


class Host:
    """`find(name)` gives our object for a public name of NumPy; `replaced` maps ids of other
    objects of NumPy (private C functions) to ours; `kept` names what stays NumPy's own in a
    module's code."""

    def __init__(
        self, find: Find, replaced: Mapping[int, Any], kept: Mapping[str, Sequence[str]]
    ) -> None:
        self._find = find
        self._replaced = replaced
        self._kept = kept
        self._globals: dict[str, dict[str, Any]] = {}
        self._functions: dict[FunctionType, FunctionType] = {}
        self._lock = guarded(RLock())

    def function(self, public: Any) -> Any:
        """NumPy's Python function on our names, with its signature and docstring.
        Raises: TypeError for a function without Python code."""
        source = python_code(public)
        if source is None:
            raise TypeError(f"{public!r} is not written in Python")
        with self._lock:
            return self._rehosted(source)

    def _rehosted(self, source: FunctionType) -> FunctionType:
        found = self._functions.get(source)
        if found is not None:
            return found
        module = source.__globals__["__name__"]
        named = {"__name__": f"lazyfuse.rehosted.{module}", "__builtins__": builtins}
        own = self._globals.setdefault(module, named)
        made = FunctionType(
            source.__code__, own, source.__name__, source.__defaults__, source.__closure__
        )
        made.__kwdefaults__ = source.__kwdefaults__
        made.__doc__ = source.__doc__
        made.__module__ = "lazyfuse"
        made.__qualname__ = source.__qualname__
        self._functions[source] = made
        kept = self._kept.get(module, ())
        for name in names_in(source.__code__):
            if name not in own and name in source.__globals__:
                value = source.__globals__[name]
                own[name] = value if name in kept else self.counterpart(value)
        return made

    def counterpart(self, value: Any) -> Any:
        """What stands for an object of NumPy in rehosted code."""
        if id(value) in self._replaced:
            return self._replaced[id(value)]
        if value is warnings:
            return WARNINGS_HERE
        if isinstance(value, ModuleType):
            return _Namespace(value, self) if _is_numpy(_name(value)) else value
        public = PUBLIC.get(id(value))
        if public is not None:
            return self._find(public)
        code = python_code(value)
        if code is None or not _is_numpy(code.__globals__["__name__"]):
            return value
        with self._lock:
            return self._rehosted(code)


class _Namespace:
    """A module of NumPy in rehosted code: its attributes are counterparts."""

    def __init__(self, module: ModuleType, host: Host) -> None:
        self._module = module
        self._host = host

    def __getattr__(self, name: str) -> Any:
        value = self._host.counterpart(getattr(self._module, name))
        setattr(self, name, value)
        return value


def python_code(value: Any) -> FunctionType | None:
    """The Python function behind a public function of NumPy, or None for one written in C."""
    inner = getattr(value, "__wrapped__", value) if callable(value) else value
    return inner if isinstance(inner, FunctionType) else None


def names_in(code: CodeType) -> Iterator[str]:
    """The global names and attributes that code and the functions inside it use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def _name(module: ModuleType) -> str:
    """What a module is imported as: pocketfft's calls itself otherwise before NumPy 2.4."""
    return module.__name__ if module.__spec__ is None else module.__spec__.name


def _is_numpy(module: str) -> bool:
    return module == "numpy" or module.startswith("numpy.")


def _public() -> dict[int, str]:
    """The names of public functions, and of ndarray, by identity. Other classes and values stand
    for themselves. Names of submodules are dotted."""
    found: dict[int, str] = {}
    for prefix, module in (("", np), ("linalg.", np.linalg), ("fft.", np.fft)):
        known = vars(module)  # parts that NumPy imports when they are asked for are not there
        for name in sorted(known.keys() & {*module.__all__}, reverse=True):
            value = known[name]
            if value is np.ndarray or callable(value) and not isinstance(value, type):
                found.setdefault(id(value), prefix + name)
    return found


PUBLIC: Mapping[int, str] = _public()
