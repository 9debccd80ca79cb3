"""The process-wide state: backends by device, the kernel cache, the plan cache,
the lock of a flush."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

from lazyfuse import config, events
from lazyfuse.backends.base import Backend, Compilers, Executable
from lazyfuse.backends.driver import has_driver
from lazyfuse.cache.disk import DiskCache
from lazyfuse.cache.key import kernel_key
from lazyfuse.cache.memory import Cache, CacheInfo
from lazyfuse.digests import digest
from lazyfuse.errors import DeviceUnavailableError, UnfusedWarning
from lazyfuse.forks import Turn, guarded
from lazyfuse.interrupts import catch_up, is_interrupt, missed_by_nobody
from lazyfuse.ir.kernel import Kernel
from lazyfuse.locks import RLock
from lazyfuse.processors import default_threads

#: Plans kept at most; each is a few kilobytes.
PLANS = 4096

flush_lock = guarded(RLock(), Turn.RUN)
#: By device.
backends: dict[str, Backend] = {}
#: How many runs have given nodes their memory so far, as the only element. Code of the user may
#: run in the middle of a flush (a finalizer, a handler of a signal) and flush by itself; what the
#: outer one has found out is of another graph then.
runs = [0]
#: What Python has done that machine code would have done in less time, weighed by what that would
#: save, as the only element: 1 is 1.5 us (`frontend/rerecord.py`, `frontend/native_methods.py`).
uses: list[float] = [0]
#: Machine code runs a plan in 60 us less than Python; on a GPU, it queues one in 12 us less.
_USES_OF_A_RUN, _USES_ELSEWHERE = 40, 8
#: How many flushes are under way in the thread that has the lock, one inside the other.
nested = [0]
#: What the engine keeps by structure, options and device; forgotten when there are too many.
plans: dict[Hashable, Any] = {}
#: By structure, those of them that machine code runs (`ready.py`), as their last options have it.
ready: dict[Hashable, Any] = {}
#: By shape class, options and device, what plans there are (`known.py`).
relatives: dict[Hashable, Any] = {}
#: Structures that were not worth a plan so far (`met.Met`); None for those that are planned.
met: dict[Hashable, Any] = {}
#: Families of such structures (`met.Family`).
families: dict[Hashable, Any] = {}
#: What has been compiled aside (`aside.py`) and not been asked for, by its key; at most so many.
binaries: dict[str, bytes] = {}
_MOST_BINARIES = 256
#: Kernels of single operations (`runtime/op_kernels.py`).
op_kernels: dict[Hashable, Any] = {}
kernels: Cache[str, Executable] = Cache(config.Options().cache_size, ready.clear)


@cache
def backend(device: str) -> Backend:
    """The backend of a device, one for all threads: that of the first that asks.
    Raises DeviceUnavailableError with the reason when it cannot be used here."""
    return backends.setdefault(device, _made(device))  # no lock: forks would wait for an import


def _made(device: str) -> Backend:
    if device == "cpu":
        return _cpu()
    if device == "cuda" or device.startswith("cuda:"):
        return _cuda(device)
    if device == "cuda-host":
        from lazyfuse.backends.cuda_host import CudaHostBackend

        return CudaHostBackend()
    if device == "cuda-ptx":
        from lazyfuse.backends.cuda_ptx import CudaPtxBackend

        return CudaPtxBackend()
    allowed = " or ".join(f'"{name}"' for name in devices())
    raise ValueError(f"Device not understood. Only {allowed} is allowed, but received: {device}")


def _cpu() -> Backend:
    """LLVM, or NumPy op by op where llvmlite cannot be imported or refuses this machine."""
    try:
        from lazyfuse.backends.cpu import CpuBackend

        return CpuBackend(kept=object_code)
    except (ImportError, OSError, RuntimeError) as error:
        if isinstance(error, RecursionError) or is_interrupt(error):  # it is the caller's
            raise
        from lazyfuse.backends.reference import ReferenceBackend

        warnings.warn(
            f"llvmlite cannot be used ({error}); arrays are computed op by op through NumPy",
            UnfusedWarning,
            stacklevel=2,
        )
        return ReferenceBackend()


def _cuda(device: str) -> Backend:
    from lazyfuse.backends.cuda import CudaBackend

    usable, reason = CudaBackend.available()
    if not usable:
        raise DeviceUnavailableError(f"device {device!r} cannot be used: {reason}")
    return CudaBackend(int(device.partition(":")[2] or 0))


@cache
def devices() -> tuple[str, ...]:
    """The devices of this machine: "cpu", and "cuda:0"... for NVIDIA GPUs that CuPy can use."""
    if not has_driver():
        return ("cpu",)
    from lazyfuse.backends.cuda import device_count

    return ("cpu", *(f"cuda:{number}" for number in range(device_count())))


@cache
def resolve_device(name: str) -> str:
    """The device that an option or argument names: auto is the first GPU, else the CPU. There is
    one string for each, which machine code knows by its address."""
    if name == "auto":
        return devices()[1] if len(devices()) > 1 else "cpu"
    return sys.intern("cuda:0" if name == "cuda" else name)


def default_device() -> str:
    return resolve_device(config.current().device)


def loaded_key(kernel: Kernel, target: Backend) -> str:
    """What a kernel is kept under in memory: it is loaded for one device; on disk, one is for all
    of a kind."""
    return f"{kernel_key(kernel, target.fingerprint)} {target.device}"


def executable(kernel: Kernel, target: Backend, name: str) -> Executable:
    """The compiled kernel: from memory, from disk, or compiled now and kept in both."""
    options = config.current()
    loaded = loaded_key(kernel, target)
    is_hit = kernels.was_asked(loaded)
    found = kernels.get(loaded)
    if found is not None:
        events.add(cache_hits=is_hit)
        return found
    key = kernel_key(kernel, target.fingerprint)
    try:
        with flush_lock:  # whoever forks waits for the compiler
            found = _from_disk(kernel, target, name, key) or _compiled(kernel, target, name, key)
        kernels.put(loaded, found, options.cache_size)
    finally:
        catch_up()
    return found


#: Kernels for each thread that are compiled before an interrupt is raised.
_AT_ONCE = 4


def compile_missing(wanted: Sequence[tuple[Kernel, str]], target: Backend) -> None:
    """Have several kernels before they are asked for: what is neither in memory nor on disk is
    compiled in as many threads as there are processors for them. What cannot be compiled is left
    to `executable`, which says why; and all of them where memory has no room for so many."""
    options = config.current()
    if not isinstance(target, Compilers):
        return
    named: dict[str, tuple[Kernel, str]] = {}
    for each in wanted:
        named.setdefault(loaded_key(each[0], target), each)
    if len(named) > options.cache_size:
        return
    with flush_lock:  # whoever forks waits for the compiler
        missing: list[str] = []
        for loaded, (kernel, name) in named.items():
            if loaded in kernels:
                continue
            found = _from_disk(kernel, target, name, kernel_key(kernel, target.fingerprint))
            if found is None:
                missing.append(loaded)
            else:
                kernels.put(loaded, found, options.cache_size, asked=False)
        threads = options.threads or default_threads()
        while len(missing) > 1:  # an interrupt comes between these
            some, missing = missing[: _AT_ONCE * threads], missing[_AT_ONCE * threads :]
            kept = {loaded: named[loaded] for loaded in some}
            _compile_together(kept, target, threads, target.fingerprint)
    if not missing:  # else `executable` compiles the last one, and does meanwhile what is put off
        catch_up()


def _compile_together(
    missing: dict[str, tuple[Kernel, str]], target: Any, threads: int, fingerprint: str
) -> None:
    options = config.current()
    started = time.perf_counter()
    made = target.compile_together(list(missing.values()), threads)
    events.add(compile_seconds=time.perf_counter() - started)
    for (loaded, (kernel, _)), each in zip(missing.items(), made, strict=True):
        if each is not None:
            kernels.put(loaded, each, options.cache_size, asked=False)
            _keep_on_disk(each, kernel_key(kernel, fingerprint))
            events.add(kernels_compiled=1)
    _tell(target)


def uses_of_a_run(device: str) -> int:
    """How many uses of machine code a run of a plan by Python would have been."""
    return _USES_OF_A_RUN if device == "cpu" else _USES_ELSEWHERE


#: What says that this process may not run what is on disk, or has no room for it.
OTHERS_MAY = (OSError, MemoryError)


def keep_binary(key: str, binary: bytes) -> None:
    """Keep what has been compiled aside under a key, until it is asked for, and on disk."""
    if len(binaries) >= _MOST_BINARIES:
        binaries.clear()
    binaries[key] = binary
    if config.current().disk_cache:
        disk_cache(config.current().cache_dir).write(key, binary)


def missing(wanted: Sequence[Kernel], target: Backend) -> list[tuple[str, Kernel]]:
    """Those kernels that would have to be compiled, each once, with their keys."""
    options, found = config.current(), {}
    for kernel in wanted:
        key = kernel_key(kernel, target.fingerprint)
        is_there = loaded_key(kernel, target) in kernels or key in binaries
        if not is_there and not (options.disk_cache and disk_cache(options.cache_dir).has(key)):
            found[key] = kernel
    return list(found.items())


def _from_disk(kernel: Kernel, target: Backend, name: str, key: str) -> Executable | None:
    compiled = binaries.pop(key, None)
    if compiled is not None:
        with missed_by_nobody():
            loaded = target.load(kernel, name, compiled)
            _tell(target)
            return loaded
    if not config.current().disk_cache:
        return None
    disk = disk_cache(config.current().cache_dir)
    binary = disk.read(key)
    if binary is None:
        return None
    try:
        loaded = target.load(kernel, name, binary)
    except Exception as error:  # whatever a damaged binary leads to: it is compiled anew
        if is_interrupt(error):
            raise
        if not isinstance(error, OTHERS_MAY):
            disk.remove(key)
        return None
    events.add(kernels_loaded=1)
    return loaded


def _compiled(kernel: Kernel, target: Backend, name: str, key: str) -> Executable:
    with events.compiled():
        made = target.compile(kernel, name)
    _keep_on_disk(made, key)
    _tell(target)
    return made


def _tell(target: Backend) -> None:
    for follow in _on_compile:
        follow(target)


_on_compile: list[Callable[[Backend], None]] = []


def on_compile(function: Callable[[Backend], None]) -> None:
    """Have a function called when a backend has compiled: its compiler is there now."""
    _on_compile.append(function)


def _keep_on_disk(made: Executable, key: str) -> None:
    if config.current().disk_cache and made.binary:
        disk_cache(config.current().cache_dir).write(key, made.binary)


@cache
def disk_cache(folder: str) -> DiskCache:
    return DiskCache(folder)


def object_code(key: str, make: Callable[[], bytes]) -> bytes:
    """Code that is no kernel's, by all that decides it: from disk if it is there, else made now
    and kept."""
    if not config.current().disk_cache:
        return make()
    disk = disk_cache(config.current().cache_dir)
    name = digest(key)
    found = disk.read(name)
    if found is None:
        found = make()
        disk.write(name, found)
    return found


def cache_info() -> CacheInfo:
    """Hits, misses, bound and size of the in-memory kernel cache."""
    events.collect()
    return kernels.info()


_on_clear: list[Callable[[], None]] = [
    events.collect,
    plans.clear,
    ready.clear,
    relatives.clear,
    met.clear,
    families.clear,
    op_kernels.clear,
    binaries.clear,
    kernels.clear,
]


def on_clear(function: Callable[[], None]) -> None:
    """Have a function called when plans and kernels are forgotten."""
    _on_clear.append(function)


def cache_clear(*, disk: bool = False) -> None:
    """Forget compiled kernels and plans; with `disk`, the files too."""
    for clear in _on_clear:
        clear()
    if disk:
        disk_cache(config.current().cache_dir).clear()
