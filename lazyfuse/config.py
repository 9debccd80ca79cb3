"""Options: one row each, with type, default and meaning; read per call, set per context.

An option comes from, in order: `with options(...)`, the environment variable `LAZYFUSE_<NAME>`,
the default. Contexts are per thread and per task (ContextVar).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Any


def _option(default: object, help: str, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"help": help, "choices": choices})


@dataclass(frozen=True, slots=True)
class Options:
    """The options in force."""

    device: str = _option(
        "auto", "where new arrays live: cpu, cuda, cuda:N, cuda-host or cuda-ptx (tests), or auto"
    )
    eager_size: int = _option(
        30_000, "arrays of at most so many elements are computed at once, by NumPy; 0 means none"
    )
    defer: bool = _option(
        True,
        "put off operations on such arrays where a program repeats them, and run them as one "
        "kernel when they are asked for",
    )
    cold_size: int = _option(
        400_000,
        "what is new on arrays of at most so many elements is run by NumPy, not compiled, until "
        "that has taken as long as compiling; 0 means never",
    )
    fusion: bool = _option(True, "fuse; when off, every operation is a kernel of its own")
    threads: int = _option(0, "CPU threads per kernel; 0 means all that the process may use")
    fastmath: bool = _option(
        False, "allow what is not exact: a product that is added is rounded once"
    )
    passes: str = _option(
        "all", "graph passes to run: all, none, or all but some, as -simplify,-views"
    )
    fallback: str = _option(
        "silent", "when a function leaves the engine for NumPy", ("silent", "warn", "error")
    )
    max_pending_nodes: int = _option(
        1_000,
        "longest chain of pending operations before it is run; loops are cut sooner, where "
        "`cold_size` is not 0",
    )
    max_pending_bytes: int = _option(
        1 << 28, "bytes of otherwise dead inputs that pending operations may keep alive"
    )
    max_kernel_ops: int = _option(
        400,
        "operations in one kernel, transcendental functions counted eightfold; bounds compiling",
    )
    max_kernel_args: int = _option(64, "arrays that one kernel may touch")
    cache_size: int = _option(
        1024, "compiled kernels kept in memory; the least recently used go first"
    )
    disk_cache: bool = _option(True, "keep compiled kernels, and their plans, on disk")
    cache_dir: str = _option("", "folder of the disk cache; empty means the user's cache folder")
    float_errors: str = _option(
        "flags",
        "how overflow, division by zero... are noticed, for np.errstate: by the flags of the CPU "
        "(a GPU has none), by evaluating everything with NumPy as well, or not at all",
        ("flags", "check", "off"),
    )
    cuda_strategy: str = _option(
        "auto",
        "how kernels run on a GPU, where that can run them: lazyfuse's own text (auto, own), "
        "cupy's kernels wherever they are exact (cupy), or one strategy",
        (
            *("auto", "cupy", "ElementwiseKernel", "ReductionKernel", "own"),
            *("vectorized", "strided", "rows-by-warp", "rows-by-block", "columns", "one-pass"),
            *("scan-by-thread", "scan-by-block"),
        ),
    )
    cuda_graphs: bool = _option(
        True,
        "launch several small kernels on a GPU as one CUDA graph, once they have run on the same "
        "memory some times",
    )
    native: bool = _option(
        True,
        "calls on small arrays, and recording again what was recorded before, in machine code "
        "once a program has done so some thousand times",
    )
    report: bool = _option(False, "print at exit which calls left the engine for NumPy")
    check: bool = _option(False, "verify every graph, plan and kernel (always on in the tests)")

    def __hash__(self) -> int:
        """Of a few options, since every plan is looked up by them; equal ones have equal few."""
        return hash((self.device, self.fusion, self.max_kernel_ops, self.passes, self.fastmath))

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            choices = item.metadata["choices"]
            if not isinstance(value, type(item.default)):
                raise TypeError(
                    f"option {item.name} must be {type(item.default).__name__}, not {value!r}"
                )
            if choices and value not in choices:
                raise ValueError(f"option {item.name} must be one of {choices}, not {value!r}")


def _from_environment() -> Options:
    values: dict[str, Any] = {}  # each of its option's type
    for item in fields(Options):
        text = os.environ.get(f"LAZYFUSE_{item.name.upper()}")
        if text is not None:
            values[item.name] = _parse(item.name, text, type(item.default))
    return Options(**values)


def _parse(name: str, text: str, kind: type) -> object:
    if kind is bool:
        if text.lower() not in ("0", "1", "true", "false"):
            raise ValueError(f"LAZYFUSE_{name.upper()} must be 0 or 1, not {text!r}")
        return text.lower() in ("1", "true")
    return kind(text)


_DEFAULTS = _from_environment()
_CURRENT: ContextVar[Options] = ContextVar("lazyfuse_options", default=_DEFAULTS)

#: The options in force here; cheap enough for the recording path.
current = _CURRENT.get
#: Where they are kept, for machine code.
variable = _CURRENT


@contextmanager
def options(**changes: Any) -> Iterator[Options]:
    """Set options for a `with` block, in this thread or task only.

    Raises TypeError for an unknown option or a value of the wrong type,
    ValueError for a wrong choice.

        with options(fusion=False, threads=1): ...
    """
    known = {item.name for item in fields(Options)}
    unknown = sorted(set(changes) - known)
    if unknown:
        raise TypeError(
            f"unknown option {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        )
    with using(_known(replace(current(), **changes))):
        yield current()


@contextmanager
def using(given: Options) -> Iterator[None]:
    """Have these options in force, in this thread or task only."""
    before = current()
    try:  # whatever interrupt comes when
        _CURRENT.set(given)
        yield
    finally:
        _CURRENT.set(before)


def _known(made: Options) -> Options:
    """The options that were equal to these before, so that it is enough to compare identities."""
    if len(_met) >= _MOST_MET and made not in _met:
        _met.clear()  # what was made under one of them is made again
        _met[_DEFAULTS] = _DEFAULTS
    return _met.setdefault(made, made)


_met = {_DEFAULTS: _DEFAULTS}
_MOST_MET = 256


def option_table() -> str:
    """The options as a Markdown table; the README's is compared with it."""
    rows = ["| option | environment | default | meaning |", "|---|---|---|---|"]
    for item in fields(Options):
        rows.append(
            f"| `{item.name}` | `LAZYFUSE_{item.name.upper()}` | `{item.default!r}` "
            f"| {item.metadata['help']} |"
        )
    return "\n".join(rows)
