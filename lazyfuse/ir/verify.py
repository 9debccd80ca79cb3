"""Checks of every stage: what a later stage relies on.
On with `options(check=True)`, and in all tests.

Each raises VerifyError with the place that is wrong.
"""

from __future__ import annotations

from lazyfuse.errors import VerifyError
from lazyfuse.ir.graph import Graph, graph_text, is_leaf, topological
from lazyfuse.ir.kernel import FIXED, PERIOD, ROW, Kernel, Lanes, Level, Phase, Role
from lazyfuse.ir.layout import Layout
from lazyfuse.ir.node import Gather, Map, Node, Reduce, Scan, Update, View
from lazyfuse.ir.plan import Call, Launch, Plan
from lazyfuse.ops.body import Instr
from lazyfuse.ops.primitives import PRIMITIVES
from lazyfuse.ops.shapes import Shape, broadcast, reduced, size_of


def verify_graph(graph: Graph) -> None:
    """Operands come first, nodes are in the order of a walk, shapes follow from operands, views
    stay inside their source."""
    seen: set[Node] = set()
    for node in graph.nodes:
        if not all(src in seen for src in node.srcs):
            _fail(f"{node} comes before an operand", graph_text(graph))
        seen.add(node)
        if not is_leaf(node):
            problem = _node_problem(node)
            if problem:
                _fail(f"{node}: {problem}", graph_text(graph))
    if graph.nodes != topological(graph.outputs):  # those of `rewrite`, for instance
        _fail("nodes are in another order than a walk's", graph_text(graph))


def _node_problem(node: Node) -> str:
    shapes = [src.shape for src in node.srcs]
    if len(node.strides) != len(node.shape):
        return "strides and shape differ in length"
    if not isinstance(node, View) and not _is_dense(node):
        return f"strides {node.strides} leave gaps or overlap"
    match node:
        case Map():
            if len(node.loop) != len(node.srcs) or broadcast([*shapes, node.shape]) != node.shape:
                return f"operands {shapes} do not broadcast to {node.shape}"
        case Reduce() | Scan():
            return _fold_problem(node, shapes[0])
        case View() if not _inside(node.layout, size_of(shapes[0])):
            return f"{node.layout} leaves its source of {size_of(shapes[0])} elements"
        case Gather():
            return _gather_problem(node, size_of(shapes[0]))
        case Update() if not _inside(node.layout, size_of(node.shape), node.reach):
            return f"{node.layout} within {node.reach} leaves its base"
    return ""


def _gather_problem(node: Gather, size: int) -> str:
    if 0 in node.shape:
        return "a gather of nothing would read an index that does not exist"
    inside = _inside(node.layout, size, node.reach)
    return "" if inside else f"{node.layout} within {node.reach} leaves its {size} elements"


def _fold_problem(node: Reduce | Scan, shape: Shape) -> str:
    if isinstance(node, Scan):
        fits = node.shape == shape and 0 <= node.axis < len(shape)
        return "" if fits else f"{shape} along {node.axis} cannot give {node.shape}"
    expected = {reduced(shape, node.axes, keepdims=keep) for keep in (True, False)}
    return "" if node.shape in expected else f"{shape} over {node.axes} cannot give {node.shape}"


def _is_dense(node: Node) -> bool:
    """Whether the elements fill memory without gaps, in some order of the axes."""
    if 0 in node.shape:
        return True
    step = 1
    axes = sorted((s, n) for n, s in zip(node.shape, node.strides, strict=True) if n > 1)
    for stride, extent in axes:
        if stride != step:
            return False
        step *= extent
    return True


def verify_reach(plan: Plan, step: Launch) -> None:
    """Operands stay inside their slots, and lie as the kernel is made for."""
    for operand in step.operands:
        size = size_of(plan.slots[operand.slot].shape)
        if not _inside(Layout(step.extents, operand.strides, operand.offset), size):
            _fail(
                f"{operand} over {step.extents} leaves its memory of {size} elements",
                str(step.kernel),
            )
    _verify_steps(step)
    if step.kernel.joined > 1:
        _verify_joined(step)
    if step.kernel.row:
        _verify_rows(step)


def _verify_steps(step: Launch) -> None:
    """What is read lies along the lanes as the kernel is made for."""
    kernel = step.kernel
    lane = kernel.lane_axis
    for operand, arg in zip(step.operands, kernel.args, strict=False):
        if arg.step and (lane is None or operand.strides[lane] != arg.step):
            _fail(f"{operand} does not move by {arg.step}", kernel.text)


def _verify_rows(step: Launch) -> None:
    """The rows of the launch are those that the kernel is made for."""
    kernel = step.kernel
    dense = {step.operands[number].strides[kernel.outer - 1 :] for number in kernel.dense}
    if step.extents[-1] != kernel.row or dense - {(kernel.row, 1)}:
        _fail(f"rows of {step.extents} with {sorted(dense)}", kernel.text)


def _verify_joined(step: Launch) -> None:
    """The joined axes of the launch can be walked as one."""
    kernel = step.kernel
    first = kernel.tiny[0] - 1
    period = size_of(tuple(step.extents[axis] for axis in kernel.tiny))
    for operand, arg in zip(step.operands, kernel.args, strict=False):
        chains = all(
            operand.strides[axis - 1] == operand.strides[axis] * step.extents[axis]
            for axis in kernel.tiny
        )
        is_fine = chains if arg.role is Role.OUT else chains or arg.access[first] == FIXED
        if period > PERIOD or not is_fine:
            _fail(f"{operand} over {step.extents} cannot be joined", kernel.text)


def _inside(layout: Layout, size: int, moved: tuple[int, int] = (0, 0)) -> bool:
    """Whether a layout, moved by an index between two bounds, stays in memory."""
    if 0 in layout.shape:
        return True
    reach = [
        stride * (extent - 1) for extent, stride in zip(layout.shape, layout.strides, strict=True)
    ]
    low = layout.offset + moved[0] + sum(min(step, 0) for step in reach)
    high = layout.offset + moved[1] + sum(max(step, 0) for step in reach)
    return low >= 0 and high < size


def verify_kernel(kernel: Kernel) -> None:
    """Instructions are in SSA form and well typed;
    arguments, scalars and accumulators exist when they are used."""
    finished = 0
    for phase in kernel.phases:
        for number, instr in enumerate(phase.body):
            problem = _instr_problem(kernel, phase, number, instr, finished)
            if problem:
                _fail(f"v{number} = {instr}: {problem}", kernel.text)
        for acc in phase.accumulators:
            if phase.level is not Level.INNER or phase.body[acc.value].dtype != acc.dtype:
                _fail(f"accumulator of v{acc.value} is ill placed or ill typed", kernel.text)
        for store in phase.stores:
            moved = store.index is not None and phase.body[store.index].dtype != "i8"
            if moved or kernel.args[store.arg].dtype != phase.body[store.value].dtype:
                _fail(f"{store} is ill typed", kernel.text)
        _verify_scan(kernel, phase)
        finished += len(phase.accumulators)
    _verify_axes(kernel)


def _verify_axes(kernel: Kernel) -> None:
    """Arguments have an access per axis; only plain elementwise kernels have joined axes, and do
    not read the index of the first; only sums along one axis have rows."""
    for arg in kernel.args:
        if len(arg.access) != kernel.outer + kernel.inner:
            _fail(f"{arg} does not have one access per axis", kernel.text)
    fits = kernel.inner == 1 <= kernel.outer and 1 < kernel.row <= ROW and kernel.scan is None
    if (kernel.lanes is Lanes.ROWS or kernel.row) and not fits:
        _fail(f"rows of {kernel.row} elements", kernel.text)
    if kernel.joined == 1:
        return
    indexes = {i.attr for phase in kernel.phases for i in phase.body if i.op == "index"}
    is_plain = not (kernel.inner or kernel.gathered or kernel.scattered)
    if not is_plain or kernel.joined > kernel.outer or kernel.tiny[0] - 1 in indexes:
        _fail(f"{kernel.joined} axes cannot be joined", kernel.text)


def _verify_scan(kernel: Kernel, phase: Phase) -> None:
    """A scan is alone in its kernel, along the only inner axis, in one dtype."""
    scan = phase.scan
    if scan is None:
        return
    alone = len(kernel.phases) == kernel.inner == 1 and not phase.accumulators and not phase.stores
    dtypes = {phase.body[scan.first].dtype, phase.body[scan.next].dtype}
    dtypes |= {instr.dtype for instr in phase.body if instr.op == "carry"}
    if not alone or phase.level is not Level.INNER or dtypes != {kernel.args[scan.arg].dtype}:
        _fail(f"{scan} is ill placed or ill typed", kernel.text)


def _instr_problem(kernel: Kernel, phase: Phase, number: int, instr: Instr, finished: int) -> str:
    if instr.op not in PRIMITIVES:
        return "no such primitive"
    if any(arg >= number for arg in instr.args):
        return "reads a later value"
    match instr.op, instr.attr:
        case "gather", _ if phase.body[instr.args[0]].dtype != "i8":
            return "its index is not i8"
        case (("load" | "gather"), int(arg)):
            known = arg < len(kernel.args) and kernel.args[arg].role is not Role.OUT
            return (
                ""
                if known and kernel.args[arg].dtype == instr.dtype
                else "no such argument of this dtype"
            )
        case "scalar", int(slot):
            known = slot < len(kernel.scalars) and kernel.scalars[slot] == instr.dtype
            return "" if known else "no such scalar of this dtype"
        case "acc", int(acc):
            return "" if acc < finished else "reads an accumulator that is not finished"
        case "carry", _ if phase.scan is None:
            return "there is no scan to carry from"
        case "flag", _:
            return "" if phase.body[instr.args[1]].dtype == "b1" else "its condition is not b1"
    binary = PRIMITIVES[instr.op].arity == 2 and instr.op != "complex"
    if binary and len({phase.body[arg].dtype for arg in instr.args}) != 1:
        return "operands of different dtypes"
    return ""


def verify_plan(plan: Plan) -> None:
    """Every slot is written before it is read, read before it is freed,
    and touched within its memory only."""
    alive = set(range(plan.leaves))
    for step in plan.steps:
        if isinstance(step, Launch):
            verify_reach(plan, step)
            written = {slot for slot, _ in step.stores}
            needs = {operand.slot for operand in step.operands} - written
        else:
            written = {step.target}
            reads = [slot for _, slot in step.reads] if isinstance(step, Call) else [step.base]
            needs = {slot for slot in reads if slot is not None}
        if not needs <= alive:
            _fail(f"slots {sorted(needs - alive)} are read before they are written", repr(step))
        alive = (alive | written) - set(step.frees)
    if not set(plan.outputs) <= alive:
        _fail("an output is not written", repr(plan.outputs))


def _fail(what: str, where: str) -> None:
    raise VerifyError(f"{what}\n{where}")
