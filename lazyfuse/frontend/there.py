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
from lazyfuse.ir.storage import Storage
from lazyfuse.runtime import engine, session
from lazyfuse.runtime.queued import picked, quick
from lazyfuse.runtime.single import Single
from lazyfuse.runtime.tallies import tally

#: Of the arguments of a call, and the scalars of the kernel: its results.
There: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], list[Any]]
_new = object.__new__


def there(
    single: Single, device: str, leaves: Sequence[int], results: Sequence[tuple[Form, bool]]
) -> There:
    """What runs a kernel for a call. `leaves`: the argument that each is; `results`: the forms,
    and whether NumPy has a scalar there."""
    backend, lock, launch = session.backend(device), session.flush_lock, quick(single.launch)
    allocate, sizes = backend.allocate, [form.nbytes for form, _ in results]
    count_leaves = len(leaves)
    places = [place if place >= 0 else count_leaves + ~place for place in single.operands]
    pick = picked(places, count_leaves + len(results))
    count = tally(
        kernels_launched=1,
        bytes_read=single.step.bytes_read,
        bytes_written=single.step.bytes_written,
    )
    forms = [form for form, _ in results]
    kinds = [Handle._scalar if is_scalar else Handle._concrete for _, is_scalar in results]
    rows = list(zip(kinds, forms, range(count_leaves, count_leaves + len(forms)), strict=True))

    def run(given: Sequence[Any], scalars: Sequence[Any]) -> list[Any]:
        with lock:
            memory = [memory_of(given[place], device) for place in leaves]
            for nbytes in sizes:
                memory.append(allocate(nbytes))
            launch(pick(memory), scalars)
        count()
        return [array(device, kind, form, memory[place]) for kind, form, place in rows]

    return run


def memory_of(value: Any, device: str) -> Any:
    """The buffer of an argument on a GPU. The caller holds the lock of a flush."""
    if isinstance(value, Handle) and value._host is None:
        node = value._storage.current()
        if node.buffer is None:
            engine.flush([node], device)
        return node.buffer
    host = value._host if isinstance(value, Handle) else value
    return session.backend(device).from_host(host)


def array(device: str, kind: type[Handle], form: Form, buffer: Any) -> Any:
    """An array of the engine, or a scalar, around memory that nobody else has: what constructors
    would make, written out."""
    node = _new(Source)
    node.shape, node.dtype, node.strides, node.form = form.shape, form.dtype, form.strides, form
    node.buffer, node.held, node.is_scalar = buffer, form.nbytes, kind._is_scalar
    node.depth = node.users = 0
    node.srcs, node.origin, node.seen = (), None, False
    storage = _new(Storage)
    storage.node, storage.device = node, device
    storage._thread, storage._is_shared = get_ident(), False
    node.handle = watch = Watch(storage, gone)
    watch.node = ref(node)
    made: Any = _new(kind)
    made._storage, made._layout, made._writeable = storage, form.layout, True
    made._owner = made._cast = made._host = None
    return made
