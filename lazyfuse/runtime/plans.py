"""The plan of a trace: kept on disk by an earlier process, or made now.

The planner is imported when a plan is made: with its passes and schedules it is a fifth of what
there is to import, and many programs need none.
"""

from __future__ import annotations

from contextlib import suppress

from lazyfuse import events
from lazyfuse.backends.base import Backend
from lazyfuse.cache.disk import DiskCache
from lazyfuse.cache.plans import UnwritableError, dumped, loaded, plan_name
from lazyfuse.config import Options
from lazyfuse.interrupts import is_interrupt, meanwhile
from lazyfuse.ir.node import Opaque
from lazyfuse.ir.plan import Launch, Plan
from lazyfuse.runtime import session
from lazyfuse.runtime.session import disk_cache, kernels, loaded_key
from lazyfuse.runtime.trace import Trace


def make_plan(pending: Trace, options: Options, backend: Backend) -> Plan:
    """Plan the evaluation of the outputs of a trace.
    Leaf slots follow the order of memory leaves in its graph."""
    if not _is_kept(pending, options, backend):
        return made_now(pending, options, backend)
    disk = disk_cache(options.cache_dir)
    name = plan_name(pending.structure, options, backend.fingerprint)
    content = disk.read(name)
    if content is not None:
        try:
            found = loaded(content)
        except Exception as error:  # whatever damaged content leads to: the plan is made anew
            if is_interrupt(error):
                raise
            disk.remove(name)
        else:
            events.add(plans_loaded=1)
            return found
    plan = made_now(pending, options, backend)
    if _needs_kernels(plan, backend) and not pending.is_stale:
        meanwhile(lambda: _write(disk, name, plan))  # at the latest when they are there
    return plan


def _write(disk: DiskCache, name: str, plan: Plan) -> None:
    with suppress(UnwritableError):
        disk.write(name, dumped(plan))


def is_on_disk(pending: Trace, options: Options, device: str) -> bool:
    """Whether an earlier process has left the plan of a trace."""
    backend = session.backend(device)
    if not _is_kept(pending, options, backend):
        return False
    name = plan_name(pending.structure, options, backend.fingerprint)
    return disk_cache(options.cache_dir).has(name)


def _needs_kernels(plan: Plan, backend: Backend) -> bool:
    """Whether kernels of a plan are not there yet. Plans of kernels that are there, as for ever
    new sizes, are made in less time than a file."""
    launches = [step for step in plan.steps if isinstance(step, Launch)]
    return any(loaded_key(step.kernel, backend) not in kernels for step in launches)


def _is_kept(pending: Trace, options: Options, backend: Backend) -> bool:
    """Whether a plan is one for other processes: not where all stages are to be verified, nor
    where a function is part of the structure."""
    if not options.disk_cache or options.check or not getattr(backend, "keeps_plans", False):
        return False
    return not any(type(node) is Opaque and node.buffer is None for node in pending.nodes)


def made_now(pending: Trace, options: Options, backend: Backend) -> Plan:
    """The plan of the outputs of a trace, whatever is kept."""
    from lazyfuse.runtime import planner

    events.add(plans_built=1)
    return planner.make_plan(pending.graph(), options, backend)
