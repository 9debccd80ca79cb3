"""Replaying a recording of one kernel on a GPU: all that is the same in each call is bound once.

There are no small arrays on a GPU, and no flags of floating point conditions; a call takes new
memory, queues the kernel, and puts arrays around what that will write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any, TypeAlias
from weakref import ref

from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.form import Form
from lazyfuse.ir.node import Source
from lazyfuse.ir.orphans import Watch, gone
from lazyfuse.ir.storage import Storage, untrack
from lazyfuse.ir.witness import WITNESSES, note
from lazyfuse.runtime import engine, session
from lazyfuse.runtime.queued import quick
from lazyfuse.runtime.single import Single
from lazyfuse.runtime.tallies import tally

#: Of the arguments of a call, and the scalars of the kernel: its results.
There: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
_new = object.__new__


def there(
    single: Single, device: str, leaves: Sequence[int], results: Sequence[tuple[Form, bool]]
) -> There:
    """What runs a kernel for a call. `leaves`: the argument that each is; `results`: the forms,
    and whether NumPy has a scalar there."""
    lock, allocate = session.flush_lock, session.backend(device).allocate
    sizes = [form.nbytes for form, _ in results]
    count_leaves = len(leaves)
    places = [place if place >= 0 else count_leaves + ~place for place in single.operands]
    launch = quick(single.launch, places, count_leaves + len(results))
    count = tally(
        kernels_launched=1,
        bytes_read=single.step.bytes_read,
        bytes_written=single.step.bytes_written,
    )
    makers = [maker(device, form, is_scalar=is_scalar) for form, is_scalar in results]

    def run(given: Sequence[Any], scalars: Sequence[Any]) -> Sequence[Any]:
        with lock:
            memory = [memory_of(given[place], device) for place in leaves]
            for nbytes in sizes:
                memory.append(allocate(nbytes))
            launch(memory, scalars)
        count()
        return [make(made) for make, made in zip(makers, memory[count_leaves:], strict=True)]

    if len(makers) > 1:
        return run
    (nbytes,), (make,) = sizes, makers

    def run_for_one(given: Sequence[Any], scalars: Sequence[Any]) -> Sequence[Any]:
        with lock:
            memory = [memory_of(given[place], device) for place in leaves]
            made = allocate(nbytes)
            memory.append(made)
            launch(memory, scalars)
        count()
        return (make(made),)

    return run_for_one


def memory_of(value: Any, device: str) -> Any:
    """The buffer of an argument on a GPU. The caller holds the lock of a flush."""
    if isinstance(value, Handle) and value._host is None:
        storage = value._storage
        node = storage.node if storage._thread == get_ident() else storage.current()
        if node.buffer is None:
            engine.flush([node], device)
        return node.buffer
    host = value._host if isinstance(value, Handle) else value
    return session.backend(device).from_host(host)


def maker(device: str, form: Form, *, is_scalar: bool) -> Callable[[Any], Any]:
    """What makes an array of the engine, or a scalar, around memory that nobody else has: as
    constructors would, written out."""
    shape, dtype, strides, nbytes, layout = (
        form.shape, form.dtype, form.strides, form.nbytes, form.layout
    )  # fmt: skip
    kind = Handle._scalar if is_scalar else Handle._concrete

    def make(buffer: Any) -> Any:
        node = _new(Source)
        node.shape = shape
        node.dtype = dtype
        node.strides = strides
        node.form = form
        node.buffer = buffer
        node.held = nbytes
        node.is_scalar = is_scalar
        node.depth = node.users = 0
        node.srcs = ()
        node.origin = None
        node.seen = False
        storage = _new(Storage)
        untrack(storage)
        storage.node = node
        storage.device = device
        storage._thread = get_ident()
        storage._is_shared = False
        if WITNESSES:
            note(storage)
        node.handle = watch = Watch(storage, gone)
        watch.node = ref(node)
        made: Any = _new(kind)
        made._storage = storage
        made._layout = layout
        made._writeable = True
        made._owner = made._cast = made._host = None
        return made

    return make
