"""Kernels of single elementwise operations, for what is computed one operation at a time and has
to have the bits of kernels: transcendental functions.

Such a kernel does not depend on what is around the operation. It is made once for each op and
dtypes, on arrays that are dense and lie alike, bound once for each size, and called on memory
wherever it is. What is compiled first is there in half the time and takes a little longer to run;
where it has run long, it is compiled again, to run fast. Both are kept on disk, the first with all
that is known of it, in one file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

from lazyfuse import config, events
from lazyfuse.backends.base import Backend, Executable
from lazyfuse.cache.plans import dumped_parts, loaded_parts, plan_name
from lazyfuse.interrupts import is_interrupt, missed_by_nobody
from lazyfuse.ir.kernel import Kernel
from lazyfuse.ir.node import Const, Map, Node, Source
from lazyfuse.ir.plan import Launch
from lazyfuse.ops.table import OPS
from lazyfuse.processors import default_threads
from lazyfuse.runtime import session
from lazyfuse.runtime.trace import Trace

#: Sizes to which a kernel is kept bound.
_MOST_BOUND = 512
#: Elements of the arrays with which a kernel is made; it runs on any number.
_SAMPLE = 64
#: Functions of which an installation has kernels from its first compile on, of these dtypes: that
#: compile starts LLVM, which takes thirty times as long.
_COMMON, _OF = ("exp", "log"), ("f4", "f8")
#: Elements that a kernel computes before it is compiled again: in about that time.
_BRIEF = 1 << 23


class Recipe(NamedTuple):
    """What an operation's kernel is and takes. `arrays`: of each array the number of the operand;
    the result has the number of operands. `numbers`: the operand that each scalar is, with its
    dtype."""

    arrays: tuple[int, ...]
    numbers: tuple[tuple[int, str], ...]
    kernel: Kernel
    name: str


class AnotherKernelError(Exception):
    """What is on disk is not what would be made."""


class OpKernel:
    """The compiled kernel of an operation; `arrays` and `numbers` as in Recipe. `better` makes one
    that runs faster, if there is one to be had."""

    __slots__ = ("arrays", "numbers", "_made", "_better", "_left", "_bound")

    def __init__(
        self, recipe: Recipe, made: Executable, better: Callable[[], Executable] | None
    ) -> None:
        self.arrays, self.numbers = recipe.arrays, recipe.numbers
        self._made, self._better = made, better
        self._left = _BRIEF
        self._bound: dict[int, Any] = {}

    def launch(self, size: int) -> Any:
        """The kernel for dense arrays of so many elements, which will be run."""
        if self._better is not None:
            self._left -= size
            if self._left < 0:
                self.improve()
        found = self._bound.get(size)
        if found is None:
            if len(self._bound) >= _MOST_BOUND:
                self._bound.clear()
            count = len(self.arrays)
            found = self._made.bind((size,), ((1,),) * count, (0,) * count)
            self._bound[size] = found
        return found

    def improve(self) -> None:
        """Have what runs fastest. Raises: MemoryError."""
        better, self._better = self._better, None
        if better is None:
            return
        try:
            self._made = better()
        except BaseException as error:  # any failure of a compiler: what is there is good, too
            if isinstance(error, MemoryError) or is_interrupt(error):
                self._better = better  # another time
                raise
            return
        self._bound = {}


def op_kernel(node: Map, device: str) -> OpKernel | None:
    """The kernel of the operation of a node on arrays and scalars of its operands' dtypes; None
    where it is not one kernel, or cannot be built: the engine warns of those, and has another
    way. Raises: MemoryError."""
    scalars = tuple(isinstance(src, Const) for src in node.srcs)
    dtypes = tuple(src.dtype for src in node.srcs)
    known = session.op_kernels
    asked = (node.op.name, node.loop, node.dtype, dtypes, scalars)
    key = (*asked, config.current(), device)
    if key not in known:
        if len(known) >= session.PLANS:
            known.clear()
        known[key] = None if all(scalars) else _made(node, asked, session.backend(device))
    found: OpKernel | None = known[key]
    return found


def _made(node: Map, asked: Sequence[Any], backend: Backend) -> OpKernel | None:
    """See `op_kernel`."""
    try:
        if not hasattr(backend, "compile_briefly"):
            recipe = _recipe(node, asked[-1], backend)
            return recipe and OpKernel(recipe, _best(recipe, backend), None)
        with session.flush_lock:  # whoever forks waits for the compiler
            return _from_disk(node, asked, backend) or _compiled(node, asked, backend)
    except (MemoryError, RecursionError, AnotherKernelError):
        raise
    except Exception as error:  # any failure of a compiler: the engine says which
        if is_interrupt(error):
            raise
        return None


def _from_disk(node: Map, asked: Sequence[Any], backend: Backend) -> OpKernel | None:
    """What an earlier process has left."""
    options = config.current()
    if not options.disk_cache:
        return None
    disk, name = session.disk_cache(options.cache_dir), _name(asked, backend)
    content = disk.read(name)
    if content is None:
        return None
    try:
        *parts, binary = loaded_parts(content)
        recipe = Recipe(*parts)
        made = backend.load(recipe.kernel, recipe.name, binary)
    except Exception as error:  # whatever damaged content leads to: it is made anew
        if is_interrupt(error):
            raise
        if not isinstance(error, session.OTHERS_MAY):
            disk.remove(name)
        return None
    if options.check and recipe != _recipe(node, asked[-1], backend):
        raise AnotherKernelError(f"another kernel of {asked} is on disk")
    events.add(kernels_loaded=1)
    return OpKernel(recipe, made, lambda: _best(recipe, backend))


def _compiled(node: Map, asked: Sequence[Any], backend: Any) -> OpKernel | None:
    """What is made now; None as for `op_kernel`."""
    recipe = _recipe(node, asked[-1], backend)
    if recipe is None:
        return None
    if session.loaded_key(recipe.kernel, backend) in session.kernels:
        return OpKernel(recipe, _best(recipe, backend), None)
    with events.compiled():
        made = backend.compile_briefly(recipe.kernel, recipe.name)
    return _kept(recipe, made, asked, backend)


def _kept(recipe: Recipe, made: Executable, asked: Sequence[Any], backend: Backend) -> OpKernel:
    """What has been made, kept for other processes."""
    options = config.current()
    if options.disk_cache:
        content = dumped_parts(*recipe, made.binary)
        session.disk_cache(options.cache_dir).write(_name(asked, backend), content)
    return OpKernel(recipe, made, lambda: _best(recipe, backend))


def _make_common(backend: Any) -> None:
    """Have the kernels of common functions on disk, once in an installation: what is computed with
    them for the first time does not wait for a compiler."""
    options = config.current()
    folder = options.cache_dir, backend.fingerprint
    if folder in _seen or not options.disk_cache or not hasattr(backend, "compile_briefly"):
        return
    _seen.add(folder)
    with missed_by_nobody():  # they are tried again when they are asked for
        _compile_missing(backend, options)


def _compile_missing(backend: Any, options: config.Options) -> None:
    """See `_make_common`."""
    disk, missing = session.disk_cache(options.cache_dir), {}
    if not disk.keeps():  # each process would make them
        return
    for name, dtype in product(_COMMON, _OF):
        asked = (name, (dtype,), dtype, (dtype,), (False,))
        if not disk.has(_name(asked, backend)):
            operand = Source((_SAMPLE,), dtype, (1,), "placeholder")
            node = Map(OPS[name], (dtype,), dtype, (_SAMPLE,), (1,), (operand,))
            recipe = _recipe(node, (False,), backend)
            if recipe is not None:
                missing[asked] = recipe
    if not missing:
        return
    wanted = [(recipe.kernel, recipe.name) for recipe in missing.values()]
    together = backend.compile_together(wanted, options.threads or default_threads(), brief=True)
    for (asked, recipe), made in zip(missing.items(), together, strict=True):
        if made is not None:
            session.op_kernels[*asked, options, backend.device] = _kept(
                recipe, made, asked, backend
            )


_seen: set[object] = set()
session.on_compile(_make_common)


def _best(recipe: Recipe, backend: Backend) -> Executable:
    """What runs fastest; expressions of nothing but the operation have the same."""
    return session.executable(recipe.kernel, backend, recipe.name)


def _name(asked: Sequence[Any], backend: Backend) -> str:
    """The name of the file of a kernel."""
    return plan_name(("operation", *asked), config.current(), backend.fingerprint)


def _recipe(node: Map, scalars: Sequence[bool], backend: Backend) -> Recipe | None:
    """How an operation is one kernel, if it is."""
    from lazyfuse.runtime.planner import make_plan

    operands: list[Node] = [  # each scalar an object of its own: equal objects are one scalar
        Const(float(number), src.dtype)
        if scalars[number]
        else Source((_SAMPLE,), src.dtype, (1,), "placeholder")
        for number, src in enumerate(node.srcs)
    ]
    sample = Map(node.op, node.loop, node.dtype, (_SAMPLE,), (1,), tuple(operands))
    pending = Trace([sample])
    steps = make_plan(pending.graph(), config.current(), backend).steps
    if len(steps) != 1 or not isinstance(steps[0], Launch):
        return None
    step = steps[0]
    if step.extents != (_SAMPLE,) or any(kind != "const" for kind, _ in step.scalars):
        return None
    place = {operand: number for number, operand in enumerate(operands)}
    inside = pending.graph().nodes
    leaves = [place[leaf] for leaf in inside if leaf.buffer is not None]
    consts = [place[leaf] for leaf in inside if isinstance(leaf, Const)]
    arrays = tuple(
        leaves[item.slot] if item.slot < len(leaves) else len(operands) for item in step.operands
    )
    numbers = tuple((consts[item], operands[consts[item]].dtype) for _, item in step.scalars)
    return Recipe(arrays, numbers, step.kernel, step.name)
