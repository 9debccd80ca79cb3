"""Plan -> values: allocate, launch, free, step by step.

A launch whose kernel cannot be built runs op by op through NumPy instead, with a warning that
names the operations and the user's line; the answer is the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import events
from lazyfuse.backends.base import Backend, Buffer, Scalar
from lazyfuse.backends.base import Launch as BoundLaunch
from lazyfuse.config import Options
from lazyfuse.errors import UnfusedWarning
from lazyfuse.forks import guarded
from lazyfuse.interrupts import is_interrupt
from lazyfuse.ir.graph import label
from lazyfuse.ir.interp import call_of, evaluate, result_memory, view_of, writes_into
from lazyfuse.ir.kept import rooms_of
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Node
from lazyfuse.ir.origin import line_of
from lazyfuse.ir.plan import Call, Launch, Plan, Renew, Step, Wave
from lazyfuse.locks import RLock
from lazyfuse.runtime.conditions import collect
from lazyfuse.runtime.library import bound_call
from lazyfuse.runtime.session import compile_missing, executable, kernels, loaded_key
from lazyfuse.runtime.shared_calls import POOLED, compute

IsDead = Callable[[int], bool]


class Executor:
    """One run of a plan. `buffers` has a place per slot, leaves bound;
    `is_dead(leaf)` tells whether it may be reused.

    After the run, `conditions` are the floating point conditions that it met (`Launch` of
    `backends/base.py`), and `overwritten` the slots whose memory it has reused. After an error,
    `may_go_on` tells whether `go_on` does what is left to do.
    """

    def __init__(
        self,
        plan: Plan,
        backend: Backend,
        options: Options,
        scalars: Sequence[Any],
        is_dead: IsDead,
    ) -> None:
        self.plan = plan
        self.backend = backend
        self.options = options
        self.scalars = scalars
        self.is_dead = is_dead
        self.buffers: list[Buffer | None] = []
        self.conditions = 0
        self.overwritten: set[int] = set()
        self.claimed: set[int] = set()
        self.done = 0
        #: What a kernel that has run leaves here, and the step that it is of.
        self._ran: list[object] = []
        self._begun = -1
        self._launched: list[Launch] = []
        self._hits = 0

    def run(self, leaves: Sequence[Buffer]) -> list[Buffer]:
        """The buffers of the outputs."""
        self.buffers = [*leaves, *[None] * (len(self.plan.slots) - len(leaves))]
        return self.go_on()

    def go_on(self) -> list[Buffer]:
        """The buffers of the outputs, from the step at which a run stopped: for want of memory, or
        interrupted."""
        self._compile_ahead()
        try:
            if self.plan.waves:
                self._run_waves()
            for step in self.plan.steps[self.done :]:
                self._step(step)
                self._pass([step])
        finally:
            self._count()
        return [self._buffer(slot) for slot in self.plan.outputs]

    def may_go_on(self, error: BaseException) -> bool:
        """Whether it is known which steps are done: a GPU's queue does not tell whoever is
        interrupted what it has taken."""
        is_told = self.backend.device == "cpu" and is_interrupt(error)
        return is_told or isinstance(error, MemoryError)

    def _compile_ahead(self) -> None:
        """The kernels of a plan that has not run before are compiled together."""
        launches = [step for step in self.plan.steps[self.done :] if isinstance(step, Launch)]
        unbound = [(step.kernel, step.name) for step in launches if step.bound[0] is None]
        if len(unbound) > 1:
            compile_missing(unbound, self.backend)

    def _run_waves(self) -> None:
        """Run up to the end of the last wave."""
        steps, waves = self.plan.steps, self.plan.waves
        last = max(wave.last for wave in waves.values())
        while self.done < last:
            wave = waves.get(self.done)
            if wave is not None and self._together(steps[self.done : wave.last], wave):
                self._pass(steps[self.done : wave.last])
            else:
                self._step(steps[self.done])
                self._pass(steps[self.done : self.done + 1])

    def _pass(self, steps: Sequence[Step]) -> None:
        """Steps are done, all at once for whoever is interrupted: let go what no later one
        reads."""
        self.done += len(steps)
        for step in steps:
            for slot in step.frees:
                self.buffers[slot] = None

    def _has_run(self) -> bool:
        """Whether the kernels of the steps that come have run, right before an interrupt. They may
        have written over their operands; the conditions that they met are forgotten."""
        if self._begun != self.done:
            self._ran, self._begun = [], self.done
        return bool(self._ran)

    def _count(self) -> None:
        """Tell the counters, once for all launches: their locks would cost as much as these."""
        launched, self._launched = self._launched, []
        hits, self._hits = self._hits, 0
        read = written = 0
        for step in launched:
            read += step.bytes_read
            written += step.bytes_written
        events.add_launches(len(launched), hits, read, written)
        kernels.count_hits(hits)

    def _step(self, step: Step) -> None:
        match step:
            case Launch():
                self._launch(step)
            case Renew():
                self._renew(step)
            case Call():
                self._call(step)

    def _buffer(self, slot: int) -> Buffer:
        buffer = self.buffers[slot]
        assert buffer is not None, slot
        return buffer

    def _launch(self, step: Launch) -> None:
        if self._has_run():
            return
        bound = self._bound(step)
        if bound is None:
            for call in step.calls:
                self._call_into(call)
            return
        known = self.buffers
        donors = dict(step.donors) if step.donors else {}
        for slot, nbytes in step.allocates:
            donor = donors.get(slot)
            if donor is not None and donor in step.frees and self._may_reuse(donor, nbytes):
                known[slot] = known[donor]
                self.claimed.add(donor)
                events.add(donations=1)
            else:
                known[slot] = self.backend.allocate(nbytes)
        buffers: list[Any] = [known[operand.slot] for operand in step.operands]
        self.overwritten |= self.claimed  # from here on
        self.conditions |= bound(
            buffers, step.scalars_of(self.scalars), threads=self.options.threads, ran=self._ran
        )
        self._launched.append(step)

    def _bound(self, step: Launch) -> BoundLaunch | None:
        """`bound_launch`; what it nearly always finds is looked at here."""
        known: _Bound | None = step.bound[0]
        if (
            known is not None
            and known.epoch == kernels.epoch
            and known.backend is self.backend
            and known.launch is not None
        ):
            self._hits += 1
            return known.launch
        return bound_launch(step, self.backend)

    def _together(self, steps: Sequence[Step], wave: Wave) -> bool:
        """Run the steps of a wave band by band, if all its kernels can be built."""
        if self._has_run():
            return True
        launches = [step for step in steps if isinstance(step, Launch)]
        renewals = [step for step in steps if isinstance(step, Renew)]
        bound = [bound_launch(step, self.backend) for step in launches]
        if None in bound:
            return False
        if wave.bound[0] is None or wave.bound[0][0] != bound:
            rooms = rooms_of(renewals[0], launches[0], len(wave.sources))
            bands = self.backend.bands(bound, wave.lags, wave.row_bytes, rooms)  # type: ignore[attr-defined]  # of backends with `band_bytes`
            wave.bound[0] = bound, bands, rooms.pieces is None
        _, bands, copies = wave.bound[0]
        make = self._renewed if copies else self._room
        pairs = [make(slot, renewals[0], stays=own) for slot, own in wave.sources]
        for renewal, room in zip(renewals, wave.rooms, strict=True):
            self.buffers[renewal.target] = pairs[room][0]
        buffers = [[self._buffer(operand.slot) for operand in step.operands] for step in launches]
        scalars = [step.scalars_of(self.scalars) for step in launches]
        self.overwritten |= self.claimed
        self.conditions |= bands(
            buffers, scalars, pairs, threads=self.options.threads, ran=self._ran
        )
        self._launched += launches
        return True

    def _may_reuse(self, slot: int, nbytes: int) -> bool:
        """Whether the memory of a slot that the plan does not read again belongs to nobody
        else."""
        buffer = self._buffer(slot)
        if not buffer.exclusive or buffer.nbytes != nbytes:
            return False
        return slot >= self.plan.leaves or (nbytes > self.plan.kept_bytes and self.is_dead(slot))

    def _renew(self, step: Renew) -> None:
        if step.base is None:
            self.buffers[step.target] = self.backend.allocate(step.nbytes)
            return
        stays = step.in_place and step.base_dies
        self.buffers[step.target] = self._renewed(step.base, step, stays=stays)[0]

    def _renewed(self, slot: int, step: Renew, *, stays: bool) -> tuple[Buffer, Buffer]:
        """The memory of a slot, if it stays there and belongs to nobody else; else new memory with
        what a write leaves of it; and the memory of the slot."""
        target, base = self._room(slot, step, stays=stays)
        if step.kept and target is not base:
            self.backend.copy_regions(base, target, step.dtype, step.kept)
        return target, base

    def _room(self, slot: int, step: Renew, *, stays: bool) -> tuple[Buffer, Buffer]:
        """The same, but nothing is copied."""
        base = self._buffer(slot)
        if stays and self._may_reuse(slot, step.nbytes):
            self.claimed.add(slot)
            return base, base
        fresh = self.backend.allocate(step.nbytes)
        if step.kept:
            nbytes = step.kept_bytes
            events.add(copies=1, bytes_read=nbytes, bytes_written=nbytes)
        return fresh, base

    def _call(self, step: Call) -> None:
        events.add(unfused=1)
        if not self._call_device(step):
            self._call_into(step)

    def _call_device(self, step: Call) -> bool:
        """Run a library call by a library of the device, if it has one that answers as NumPy."""
        found = bound_call(step, self.backend)
        if found is None:
            return False
        call, asked = found
        if call.run is None or asked is None:
            return False
        operands: list[Buffer | Scalar] = [
            self.scalars[source] if item.is_scalar else self._buffer(source)
            for item, source in zip(asked.operands, asked.sources, strict=True)
        ]
        made = call.run(operands)
        if made is None:
            return False
        self.buffers[step.target] = made
        read = sum(src.nbytes for src, _ in step.reads)
        events.add(device_calls=1, bytes_read=read, bytes_written=made.nbytes)
        return True

    def _call_into(self, step: Call) -> None:
        """Run a node op by op on host arrays and keep the result on the device."""
        memory = {node: self._array(node, slot) for node, slot in step.reads}
        scalars = {node: self.scalars[number] for node, number in step.scalars}
        if self.backend.device == "cpu" and step.node.nbytes >= POOLED and writes_into(step.node):
            buffer, met = self._written(step.node, memory, scalars)
        else:
            value, met = collect(lambda: evaluate(step.node, memory, scalars))
            flat = result_memory(value, step.node, memory.values())
            buffer = self.backend.from_host(flat, borrow=True)
            buffer.exclusive = True  # the call made it for this node alone
        self.conditions |= met
        nbytes = sum(array.nbytes for array in memory.values())
        events.add(bytes_read=nbytes, bytes_written=step.node.nbytes)
        self.buffers[step.target] = buffer

    def _written(
        self, node: Node, memory: Mapping[Node, np.ndarray], scalars: Mapping[Node, Any]
    ) -> tuple[Buffer, int]:
        """What one ufunc writes into memory of the pool, and the conditions that it met."""
        buffer = self.backend.allocate(node.nbytes)
        target = host_array(node, buffer, self.backend)
        ufunc, operands = call_of(node, memory, scalars)
        return buffer, compute(ufunc, operands, target, threads=self.options.threads)

    def _array(self, node: Node, slot: int) -> np.ndarray:
        return host_array(node, self._buffer(slot), self.backend)


def host_array(node: Node, buffer: Buffer, backend: Backend) -> np.ndarray:
    """The memory of a node as an array of its shape and strides."""
    flat = backend.to_host(buffer).view(np.dtype(node.dtype))
    return view_of(flat, Layout(node.shape, node.strides, 0))


class _Bound(NamedTuple):
    """A step's compiled and bound kernel, None when it could not be built; it was in the kernel
    cache under `key`, in an epoch of it."""

    launch: BoundLaunch | None
    backend: Backend
    key: str
    epoch: int


_WARNED: set[str] = set()
_LOCK = guarded(RLock())


def bound_launch(step: Launch, backend: Backend) -> BoundLaunch | None:
    """The compiled and bound kernel of a step, kept while the kernel cache keeps the kernel; None
    when it cannot be built."""
    known: _Bound | None = step.bound[0]
    if known is not None and known.backend is backend and _is_kept(step, known):
        events.add_cache_hit()
        return known.launch
    try:
        made = executable(step.kernel, backend, step.name).bind(
            step.extents,
            tuple(operand.strides for operand in step.operands),
            tuple(operand.offset for operand in step.operands),
        )
    except (MemoryError, RecursionError):  # there is little room now, not for ever
        raise
    except Exception as error:  # any failure of a compiler: the plan still has to give its answer
        if is_interrupt(error):
            raise
        _warn_unbuilt(step, error)
        made = None
    key = loaded_key(step.kernel, backend)
    step.bound[0] = _Bound(made, backend, key, kernels.epoch)
    return made


def _is_kept(step: Launch, known: _Bound) -> bool:
    """Whether the kernel cache still has a kernel; one that could not be built stays so."""
    if known.launch is None:
        return True
    if known.epoch == kernels.epoch:
        kernels.count_hits()
        return True
    epoch = kernels.epoch
    if kernels.get(known.key) is None:
        return False
    step.bound[0] = known._replace(epoch=epoch)
    return True


def _warn_unbuilt(step: Launch, error: Exception) -> None:
    names = ", ".join(dict.fromkeys(label(node) for node in step.nodes))
    places = {line_of(node.origin) for node in step.nodes if node.origin is not None}
    lines = ", ".join(f"{file}:{line}" for file, line in sorted(places))
    recorded = f" (recorded at {lines})" if lines else ""  # no lines: planned by another process
    with _LOCK:
        if step.kernel.digest in _WARNED:
            return
        _WARNED.add(step.kernel.digest)
    warnings.warn(
        f"the kernel of {names}{recorded} could not be built and runs op by op: "
        f"{type(error).__name__}: {error}",
        UnfusedWarning,
        stacklevel=2,
    )
