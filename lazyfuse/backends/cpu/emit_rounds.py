"""One copy of a body for whole vectors and for the tail, which is walked as one more vector.

A body with transcendental functions takes milliseconds to compile, and twice as many when it is
written again for the last, partial vector. Here it runs in two rounds of one loop: over the whole
vectors where they are, then over the tail in rooms on the stack, into which the operands were
copied and from which the results are. The loop itself is the same as without a tail.

A deep body runs in stages (`pipelining.py`): each iteration computes parts of several vectors, and
begins with what earlier ones left. So there is a round before each of the two, over copies of the
first vector and of the tail: after it all stages hold what one vector gave, and the floating point
flags of mixtures are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from lazyfuse.backends.cpu.chains import most_alive, size_of
from lazyfuse.backends.cpu.emit_memory import Tail, load_vector, memory_type, store_vector
from lazyfuse.backends.cpu.emit_params import has_steps, is_strided
from lazyfuse.backends.cpu.emit_plan import PhasePlan, Place
from lazyfuse.backends.cpu.emit_site import Site
from lazyfuse.backends.cpu.emit_text import FunctionWriter
from lazyfuse.backends.cpu.integer_division import divides
from lazyfuse.backends.cpu.pipelining import Pipeline
from lazyfuse.backends.cpu.stages import OF_16, OF_32
from lazyfuse.backends.cpu.vector import part_dtype
from lazyfuse.ir.kernel import UNIT, Kernel
from lazyfuse.ops.body import Instr

#: Instructions from which a second copy takes more than a millisecond to compile.
LONG = 40
#: Instructions one after the other from which a body is run in stages. Measured on Zen 5: 32 and
#: more take 0.5 to 0.95 of the time; log1p has 31 and takes 1.1 times as long.
DEEP = 32
#: Values of a body that are alive at once, at the most, for stages: sums of many steps, each of
#: which is alive until the end, take 1.2 times as long in stages with 100, and 0.7 to 0.9 with 60.
ALIVE = 64
#: Instructions from which LLVM leaves those of stages in their order. Measured on Emerald Rapids
#: with 115 random bodies: from 110 on they take 0.95 of the time (mean; 0.66 to 1.15, one in
#: ten above 1.02), Black-Scholes and haversine 0.9; `log1p` and `arctanh`, of 52 and 85, 1.05.
KEPT = 128


def is_in_rounds(kernel: Kernel, plan: PhasePlan, *, brief: bool = False) -> bool:
    """Whether a body is long, or the text is to be brief, and all that the body meets along the
    lanes can be copied."""
    if kernel.inner or not is_copied(kernel, plan):
        return False
    return brief or size_of(plan.body).total >= LONG


def is_copied(kernel: Kernel, plan: PhasePlan) -> bool:
    """Whether all that a body meets along the lanes can be copied."""
    if is_strided(kernel) or kernel.gathered or kernel.scattered or has_steps(kernel):
        return False
    pairs = zip(plan.body, plan.places, strict=True)
    return not any(instr.op == "index" and place is Place.LANE for instr, place in pairs)


def is_pipelined(kernel: Kernel, plans: Sequence[PhasePlan]) -> bool:
    """Whether a kernel's only loop has a deep body, which `each_in_rounds` runs in stages."""
    if len(plans) != 1 or kernel.outer != 1 or kernel.scan is not None or kernel.joined > 1:
        return False
    (plan,) = plans
    if any(kernel.args[store.arg].access[0] != UNIT for store in plan.stores):
        return False
    return is_in_rounds(kernel, plan) and is_deep(plan) and not any(map(could_trap, plan.body))


def is_deep(plan: PhasePlan) -> bool:
    """Whether what a body computes waits for itself so often that stages pay, and can be carried
    from stage to stage."""
    return size_of(plan.body).depth >= DEEP and most_alive(plan.body) <= ALIVE


def stage_lanes(lanes: int, features: frozenset[str]) -> int:
    """How many lanes stages have, of those that a kernel has elsewhere: of 16 registers, values
    that are carried take one each."""
    return lanes if "avx512f" in features else lanes // 2


def could_trap(instr: Instr) -> bool:
    """Whether an instruction must not meet operands that no element gives: of whole numbers, but
    for divisions that are computed in floats."""
    is_division = instr.op in ("div", "rem") and instr.dtype[0] in "iu"
    return is_division and not divides(instr, lanes=2)


def each_in_rounds(
    site: Site, plan: PhasePlan, span: tuple[str, str], run: Callable[[Site], object]
) -> None:
    """Run at every vector of a span of the lane axis."""
    writer, axis = site.writer, site.kernel.lane_axis
    assert axis is not None
    low, high = span
    length = writer.i64("sub", high, low)
    rest = writer.i64("and", length, str(writer.lanes - 1))
    whole = writer.i64("sub", length, rest)
    reads, writes = _reads(plan), [store.arg for store in plan.stores]
    rooms = {arg: _room(site, arg) for arg in {*reads, *writes} if _is_dense(site, arg)}
    # the round of whole vectors, and that of the tail; in stages, each comes after one to warm up
    main, last = (1, 3) if writer.pipelined else (0, 1)
    has_tail = writer.value(f"icmp ne i64 {rest}, 0")
    is_short = writer.value(f"icmp eq i64 {whole}, 0")
    first = writer.value(f"select i1 {is_short}, i64 {last - main}, i64 0")
    rounds = writer.value(f"select i1 {has_tail}, i64 {last + 1}, i64 {main + 1}")
    flags = _flags(writer) if writer.pipelined else ""
    with writer.loop(first, rounds) as number:
        if flags:
            writer.line(f"call void @llvm.x86.sse.stmxcsr(ptr {flags})")
        is_tail = writer.value(f"icmp sgt i64 {number}, {main}")
        in_rooms = writer.value(f"icmp ne i64 {number}, {main}")
        begin = writer.value(f"select i1 {is_tail}, i64 {writer.add(low, whole)}, i64 {low}")
        end = writer.value(f"select i1 {in_rooms}, i64 {writer.lanes}, i64 {whole}")
        there = site.enter(axis, begin)
        with writer.when(in_rooms):
            count = writer.value(f"select i1 {is_tail}, i64 {rest}, i64 {writer.lanes}")
            _copy_in(there, rooms, reads, Tail(writer, count))
        cursor = dict(there.cursor)
        for arg, room in rooms.items():
            choice = f"select i1 {in_rooms}, ptr {room}, ptr {cursor[arg]}"
            cursor[arg] = writer.value(choice)
        here = replace(site, cursor=cursor)
        if flags:
            _each_in_stages(here, {arg: rooms[arg] for arg in writes}, end, run)
        else:
            with writer.loop("0", end, str(writer.lanes)) as position:
                run(here.at_vector(position, None))
        with writer.when(writer.value(f"icmp eq i64 {number}, {last}")):
            _copy_out(there, rooms, writes, Tail(writer, rest))
        if flags:
            is_odd = writer.value(f"trunc i64 {number} to i1")
            with writer.when(writer.value(f"xor i1 {is_odd}, true")):
                writer.line(f"call void @llvm.x86.sse.ldmxcsr(ptr {flags})")


def _each_in_stages(
    site: Site, rooms: Mapping[int, str], end: str, run: Callable[[Site], object]
) -> None:
    """Run the stages of a body at all vectors before `end`."""
    writer = site.writer
    place = writer.fresh("at")
    with writer.aside() as lines:
        at = site.at_vector(place, None)
        run(at)
    choice = OF_32 if "avx512f" in writer.features else OF_16
    kept = {at.cursor[arg]: room for arg, room in rooms.items()}
    pipeline = Pipeline(lines, place, kept, choice)
    writer.keeps_order |= choice is OF_32 and pipeline.length >= KEPT
    last = writer.add(end, str((pipeline.count - 1) * writer.lanes))
    is_entered = pipeline.count > 1  # else `end` may be 0
    with writer.loop("0", last, str(writer.lanes), enters=is_entered) as position:
        pipeline.write(writer, position, end)


def _flags(writer: FunctionWriter) -> str:
    """A slot for the floating point flags that are raised before a round to warm up."""
    for name in ("stmxcsr", "ldmxcsr"):
        symbol = f"llvm.x86.sse.{name}"
        writer.declarations[symbol] = f"declare void @{symbol}(ptr)"
    return writer.slot("i32")


def _reads(plan: PhasePlan) -> list[int]:
    """The arguments that are read along the lanes."""
    pairs = zip(plan.body, plan.places, strict=True)
    loads = (instr.attr for instr, place in pairs if instr.op == "load" and place is Place.LANE)
    return sorted({arg for arg in loads if isinstance(arg, int)})


def _is_dense(site: Site, arg: int) -> bool:
    axis = site.kernel.lane_axis
    assert axis is not None
    return site.kernel.args[arg].access[axis] == UNIT


def _room(site: Site, arg: int) -> str:
    """Memory for a vector of an argument."""
    writer, dtype = site.writer, site.kernel.args[arg].dtype
    parts = 2 if dtype[0] == "c" else 1
    return writer.slot(memory_type(part_dtype(dtype), writer.lanes * parts))


def _copy_in(site: Site, rooms: Mapping[int, str], args: Iterable[int], tail: Tail) -> None:
    for arg in args:
        if arg in rooms:
            dtype = site.kernel.args[arg].dtype
            value = load_vector(site.writer, dtype, site.cursor[arg], stride=UNIT, tail=tail)
            store_vector(site.writer, value, rooms[arg], stride=UNIT, tail=None)


def _copy_out(site: Site, rooms: Mapping[int, str], args: Iterable[int], tail: Tail) -> None:
    for arg in args:
        if arg in rooms:
            dtype = site.kernel.args[arg].dtype
            value = load_vector(site.writer, dtype, rooms[arg], stride=UNIT, tail=None)
            store_vector(site.writer, value, site.cursor[arg], stride=UNIT, tail=tail)
