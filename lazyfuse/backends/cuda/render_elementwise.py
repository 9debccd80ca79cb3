"""A kernel without inner axes -> grid-stride loops: one over elements, one over 16-byte packs
where layouts allow.

The general entry takes any strides: it splits the flat position into one per axis. The vector
entry (`NAME_v`) serves kernels whose arguments all step by one element, or not at all, along the
last axis; the launch picks it when every address is aligned. Each element is loaded before it is
stored and no pointer is `__restrict__`, so that an output may be one of the inputs.

    for (ux p = thread; p < packs; p += threads)        // NAME_v
      const Pack<float, 4> A0 = *(const Pack<float, 4>*)(a0 + p * 4);
      for (int j = 0; j < 4; ++j) { v0 = A0.v[j]; ...; A1.v[j] = v2; }
      *(Pack<float, 4>*)(a1 + p * 4) = A1;
"""

from __future__ import annotations

from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.prelude import with_prelude
from lazyfuse.backends.cuda.program import (
    PARAMETER_BYTES,
    Program,
    Shape,
    Strategy,
    common_parameters,
    interface,
)
from lazyfuse.backends.cuda.render_access import (
    coordinates,
    element,
    index_types,
    layout_constants,
    offset,
    product,
)
from lazyfuse.backends.cuda.render_body import Site, moved, render_body
from lazyfuse.ir.kernel import FIXED, STRIDED, UNIT, Kernel, Phase, Role
from lazyfuse.ops.primitives import PRIMITIVES

#: Threads per block; 8 blocks of 256 fill an SM.
THREADS = 256
#: Bytes per 16-byte-vector thread and argument; twice 16 keeps mixed widths vectorized.
WIDEST_PACK_BYTES = 32
#: Bodies costlier than this (cycles for 8 doubles, primitives.py) are computed, not moved: packs
#: only bloat them.
PACKED_COST = 120.0


def render_elementwise(
    kernel: Kernel,
    name: str,
    strategy: Strategy = Strategy.OWN,
    limit: int = PARAMETER_BYTES,
) -> Program:
    """Write the Program of a kernel with no inner axes. VECTORIZED packs costly bodies too,
    STRIDED packs nothing.

    Raises: Unsupported for a primitive without a cell.
    """
    assert kernel.inner == 0 and len(kernel.phases) == 1, kernel
    given = interface(common_parameters(kernel), limit)
    pack = 1 if strategy is Strategy.STRIDED else pack_width(kernel)
    if pack > 1 and strategy is not Strategy.VECTORIZED and _is_costly(kernel):
        pack = 1
    head = f"__global__ void __launch_bounds__({THREADS})"
    text = index_types(kernel)
    bodies = {name: _general(kernel)}
    if pack > 1:
        bodies[f"{name}_v"] = _vector(kernel, pack)
    for entry, body in bodies.items():
        start = f'extern "C" {head} {entry}(\n    {given.signature}) {{\n{given.prologue}'
        text += f"{start}{body}}}\n"
    return Program(
        kernel,
        name,
        with_prelude(text),
        Shape.ELEMENTWISE,
        name,
        given.parameters,
        vector_entry=f"{name}_v" if pack > 1 else None,
        pack=pack,
        packed_args=tuple(_moving(kernel, Role.IN) + _moving(kernel, Role.OUT))
        if pack > 1
        else (),
        threads=THREADS,
        strategy=strategy,
        uses_table=bool(given.prologue),
    )


def _is_costly(kernel: Kernel) -> bool:
    return body_cost(kernel.phases[0]) > PACKED_COST


def pack_width(kernel: Kernel) -> int:
    """Elements per pack, or 1 where packs do not apply: 16 bytes of the narrowest argument that
    moves.
    """
    last = kernel.outer - 1
    if last < 0 or has_indexes(kernel):
        return 1
    accesses = [arg.access[last] for arg in kernel.args]
    sizes = [
        CTYPES[arg.dtype].size
        for arg, access in zip(kernel.args, accesses, strict=True)
        if access == UNIT
    ]
    outputs_move = all(kernel.args[number].access[last] == UNIT for number in kernel.outputs)
    if STRIDED in accesses or not sizes or not outputs_move:
        return 1
    return max(1, min(16 // min(sizes), WIDEST_PACK_BYTES // max(sizes)))


def has_indexes(kernel: Kernel) -> bool:
    """Whether body values say where arguments are read or written: not in packs."""
    return bool(kernel.gathered or kernel.scattered)


def body_cost(phase: Phase) -> float:
    return sum(PRIMITIVES[instr.op].cost for instr in phase.body)


def _general(kernel: Kernel) -> str:
    axes = range(kernel.outer)
    lines = [f"  {line}" for line in layout_constants(kernel)]
    lines += [
        f"  const ux total = {product(axes)}, step = (ux)gridDim.x * blockDim.x;",
        "  const ux thread = (ux)blockIdx.x * blockDim.x + threadIdx.x;",
        "  for (ux flat = thread; flat < total; flat += step) {",
    ]
    lines += [f"    {line}" for line in coordinates("flat", axes)]
    lines += [f"    {line}" for line in _element_body(kernel)]
    return "\n".join([*lines, "  }", ""])


def _element_body(kernel: Kernel) -> list[str]:
    axes = range(kernel.outer)
    site = Site(
        load=lambda number: element(number, kernel.args[number], axes),
        index=lambda axis: f"i{axis}",
        acc=_no_accumulator,
    )
    phase = kernel.phases[0]
    lines = render_body(phase.body, site)
    for store in phase.stores:
        place = element(store.arg, kernel.args[store.arg], axes)
        lines.append(f"{moved(place, store.index)} = v{store.value};")
    return lines


def _vector(kernel: Kernel, pack: int) -> str:
    """The loop over packs, then the elements past the last whole pack (only a single axis can have
    them).
    """
    last = kernel.outer - 1
    lines = [f"  {line}" for line in layout_constants(kernel)]
    lines += [
        f"  const ux packs = n{last} / {pack} * ({product(range(last))});",
        "  const ux thread = (ux)blockIdx.x * blockDim.x + threadIdx.x;",
        "  const ux step = (ux)gridDim.x * blockDim.x;",
        "  for (ux flat = thread; flat < packs; flat += step) {",
    ]
    lines += [f"    {line}" for line in _one_pack(kernel, pack)]
    lines.append("  }")
    if kernel.outer == 1:
        lines.append(f"  for (ux i0 = packs * {pack} + thread; i0 < n0; i0 += step) {{")
        lines += [f"    {line}" for line in _element_body(kernel)]
        lines.append("  }")
    return "\n".join([*lines, ""])


def _one_pack(kernel: Kernel, pack: int) -> list[str]:
    """Load a pack of every input that moves, then compute and store."""
    types = {number: _pack_type(kernel, number, pack) for number in range(len(kernel.args))}
    lines = coordinates("flat", range(kernel.outer), pack=pack)
    for number in _moving(kernel, Role.IN):
        pointer = f"reinterpret_cast<const {types[number]}*>({_address(kernel, number)})"
        lines.append(f"const {types[number]} A{number} = *{pointer};")
    return lines + _compute_pack(kernel, pack, types)


def _compute_pack(kernel: Kernel, pack: int, types: dict[int, str]) -> list[str]:
    last = kernel.outer - 1
    fixed = [n for n in kernel.inputs if kernel.args[n].access[last] == FIXED]
    lines = [
        f"const {CTYPES[kernel.args[n].dtype].memory} A{n}_ = "
        f"{element(n, kernel.args[n], range(kernel.outer))};"
        for n in fixed
    ]
    lines += [f"{types[number]} B{number};" for number in kernel.outputs]
    site = Site(
        load=lambda number: f"A{number}_" if number in fixed else f"A{number}.v[j]",
        index=lambda axis: f"(i{axis} + j)" if axis == last else f"i{axis}",
        acc=_no_accumulator,
    )
    phase = kernel.phases[0]
    body = render_body(phase.body, site)
    body += [f"B{store.arg}.v[j] = v{store.value};" for store in phase.stores]
    lines += ["#pragma unroll", f"for (int j = 0; j < {pack}; ++j) {{"]
    lines += [f"  {line}" for line in body]
    lines.append("}")
    return lines + [
        f"lf_store_pack({_address(kernel, number)}, B{number});" for number in kernel.outputs
    ]


def _moving(kernel: Kernel, role: Role) -> list[int]:
    last = kernel.outer - 1
    return [
        number
        for number, arg in enumerate(kernel.args)
        if arg.role is role and arg.access[last] == UNIT
    ]


def _pack_type(kernel: Kernel, number: int, pack: int) -> str:
    return f"Pack<{CTYPES[kernel.args[number].dtype].memory}, {pack}>"


def _address(kernel: Kernel, number: int) -> str:
    return f"a{number} + ({offset(number, kernel.args[number], range(kernel.outer))})"


def _no_accumulator(number: int, dtype: str) -> str:
    raise AssertionError(f"acc {number} {dtype} in an elementwise kernel")
