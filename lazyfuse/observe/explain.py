"""explain: what will run for an array, before it runs:
kernels, the user's lines in them, bytes, and why not fewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyfuse import config
from lazyfuse.frontend.handle import Handle
from lazyfuse.ir.graph import label
from lazyfuse.ir.node import Node
from lazyfuse.ir.origin import line_of
from lazyfuse.ir.plan import Call, Launch, Plan, Refusal, Renew
from lazyfuse.runtime import engine, session
from lazyfuse.runtime.library import library_call


def explain(*arrays: Any) -> str:
    """The plan of the arrays as text; nothing is computed. NumPy's scalars are results as well.
    Raises: TypeError for what is no LazyArray."""
    if not all(isinstance(array, Handle | np.generic) for array in arrays):
        raise TypeError("explain takes lazyfuse arrays")
    storages = [array._storage for array in arrays if isinstance(array, Handle)]
    nodes = [storage.current() for storage in storages]
    pending = [node for node in dict.fromkeys(nodes) if node.buffer is None]
    if not pending:
        return "\n".join(["nothing is pending", *_why_not()])
    device = storages[0].device
    plan = engine.plan_for(pending, device)
    return plan_text(plan, device)


def _why_not() -> list[str]:
    """What is not recorded under the options in force."""
    options = config.current()
    if not options.eager_size or session.default_device() != "cpu":
        return []
    also = f", and what is new on up to {options.cold_size}" if options.cold_size else ""
    return [
        f"computed at once: arrays of up to {options.eager_size} elements{also};",
        "`with lazyfuse.options(eager_size=0, cold_size=0):` records everything",
    ]


def plan_text(plan: Plan, device: str) -> str:
    """A plan for people."""
    read = sum(step.bytes_read for step in plan.steps if isinstance(step, Launch))
    written = sum(step.bytes_written for step in plan.steps if isinstance(step, Launch))
    calls = sum(isinstance(step, Call) for step in plan.steps)
    lines = [
        f"{plan.kernels} kernel{'s' * (plan.kernels != 1)} on {device}, "
        f"{calls} library call{'s' * (calls != 1)}, reads {_size(read)}, writes {_size(written)}"
    ]
    for number, step in enumerate(plan.steps):
        if number in plan.waves:
            last = plan.waves[number].last - 1
            lines.append(f"[{number}] to [{last}] run together, band by band of their rows")
        lines += _step_lines(number, step, device)
    refusals = list(dict.fromkeys(_refusal_line(refusal) for refusal in plan.refusals))
    if refusals:
        lines += ["not fused:", *refusals]
    return "\n".join(lines)


def _step_lines(number: int, step: Launch | Call | Renew, device: str) -> list[str]:
    match step:
        case Launch():
            kernel = step.kernel
            shape = "x".join(map(str, step.extents))
            head = (
                f"[{number}] kernel {step.name} over {shape}: {len(step.nodes)} operations, "
                f"{len(kernel.phases)} phase{'s' * (len(kernel.phases) != 1)}, "
                f"reads {_size(step.bytes_read)}, writes {_size(step.bytes_written)}"
            )
            return [head, *_strategy_line(step, device), *_op_lines(step.nodes)]
        case Call():
            return _call_lines(number, step, device)
        case Renew():
            how = "in place if nobody else reads it" if step.in_place else "in new memory"
            return [f"[{number}] write into an array {how}{_where(step.node)}"]


def _call_lines(number: int, step: Call, device: str) -> list[str]:
    """A call of NumPy's, or of a library of the device."""
    found = library_call(step, session.backend(device))
    head = f"[{number}] call {label(step.node)}: {step.why.value}{_where(step.node)}"
    if found is None:
        return [head]
    has = found[0]
    how = "on the host, by NumPy" if has.run is None else f"library call on {device}"
    return [head, f"      {how}: {has.described}"]


def _strategy_line(step: Launch, device: str) -> list[str]:
    """How a GPU runs the kernel; other devices have one way."""
    strategy = getattr(session.backend(device), "strategy", None)
    if strategy is None:
        return []
    strides = tuple(operand.strides for operand in step.operands)
    offsets = tuple(operand.offset for operand in step.operands)
    return [f"      strategy {strategy(step.kernel, step.extents, strides, offsets)}"]


def _op_lines(nodes: Sequence[Node]) -> list[str]:
    shown = [node for node in nodes if node.kind != "const"]
    return [f"      {label(node)} {node.dtype}{list(node.shape)}{_where(node)}" for node in shown]


def _where(node: Node) -> str:
    if node.origin is None:
        return ""
    file, line = line_of(node.origin)
    return f"  ({file.rpartition('/')[2]}:{line})"


def _refusal_line(refusal: Refusal) -> str:
    detail = f" ({refusal.detail})" if refusal.detail else ""
    pair = f"{label(refusal.producer)} | {label(refusal.consumer)}"
    return f"  {pair}: {refusal.why.name}: {refusal.why.value}{detail}"


def _size(nbytes: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if nbytes < 1024:
            return f"{nbytes:.4g} {unit}"
        nbytes /= 1024  # type: ignore[assignment]  # a float from here on
    return f"{nbytes:.4g} GiB"
