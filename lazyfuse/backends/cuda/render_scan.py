"""A scan -> threads that walk rows in order, or blocks that share a row.

Neighbouring threads read neighbours in memory when an outer axis is the fast one: each walks its
own row, one element after the other, with NumPy's bits. Where the scanned axis is the fast one and
the op is associative, a block takes a row in tiles: every thread scans a few elements, the totals
are scanned across the block (Hillis and Steele, CACM 29(12), 1986), and what came before is joined
to each element. So float sums add along a tree that depends on the length of the row only.

    for (ux flat = thread; flat < total; flat += step) {          // a thread per row
      double carry = {};
      for (ux i1 = 0; i1 < n1; ++i1) {
        ...; const double v2 = (carry + v0);
        carry = i1 == 0 ? v0 : v2;
        a1[...] = carry;
      }
    }
"""

from __future__ import annotations

from lazyfuse.backends.cuda.ctype import CTYPES
from lazyfuse.backends.cuda.prelude import with_prelude
from lazyfuse.backends.cuda.program import (
    PARAMETER_BYTES,
    Program,
    Shape,
    common_parameters,
    interface,
)
from lazyfuse.backends.cuda.render_access import (
    coordinates,
    element,
    index_types,
    layout_constants,
    product,
)
from lazyfuse.backends.cuda.render_body import Site, render_body
from lazyfuse.ir.kernel import Kernel, Lanes, Scan

#: Threads per block that walk a row each: few, so that few rows spread over the multiprocessors.
ROW_THREADS = 64
#: Threads that share a row, and elements of each in a tile. An odd number of elements keeps the
#: banks of shared memory apart; a tile of the widest dtype takes 28 KB.
SHARED_THREADS, ITEMS = 256, 7
#: What the step of an associative op may hold besides the carry and the element.
_SIMPLE = frozenset(("load", "scalar", "index", "acc", "gather"))


def render_scan(kernel: Kernel, name: str, limit: int = PARAMETER_BYTES) -> Program:
    """Write the Program of a scan.

    Raises: Unsupported for a primitive without a cell.
    """
    given = interface(common_parameters(kernel), limit)
    shared = shares_rows(kernel)
    threads = SHARED_THREADS if shared else ROW_THREADS
    body = _shared_rows(kernel) if shared else _rows(kernel)
    text = index_types(kernel) + (_step_function(kernel) if shared else "")
    head = f'extern "C" __global__ void __launch_bounds__({threads}) {name}'
    text += f"{head}(\n    {given.signature}) {{\n{given.prologue}{body}}}\n"
    shape = Shape.SHARED_ROWS if shared else Shape.ELEMENTWISE
    return Program(
        kernel,
        name,
        with_prelude(text),
        shape,
        name,
        given.parameters,
        threads=threads,
        uses_table=bool(given.prologue),
    )


def shares_rows(kernel: Kernel) -> bool:
    """Whether the threads of a block take a row together."""
    scan = _scan(kernel)
    body = kernel.phases[0].body
    is_simple = all(body[n].op not in _SIMPLE for n in _slice(kernel, scan.next, {scan.first}))
    return scan.associative and kernel.lanes is Lanes.INNER and is_simple


def _scan(kernel: Kernel) -> Scan:
    assert kernel.scan is not None, kernel
    return kernel.scan


def _slice(kernel: Kernel, value: int, given: set[int]) -> list[int]:
    """The instructions that `value` needs, in order, besides those given."""
    body, needed = kernel.phases[0].body, {value} - given
    for number in range(value, -1, -1):
        if number in needed:
            needed.update(arg for arg in body[number].args if arg not in given)
    return sorted(needed)


def _type(kernel: Kernel) -> str:
    """The C type of a value of the scan."""
    return CTYPES[kernel.args[_scan(kernel).arg].dtype].value


def _lines(kernel: Kernel) -> list[str]:
    """One statement per instruction of the body."""
    axes = range(kernel.outer + 1)
    site = Site(
        load=lambda number: element(number, kernel.args[number], axes),
        index=lambda axis: f"i{axis}",
        acc=_no_accumulator,
    )
    return render_body(kernel.phases[0].body, site)


def _target(kernel: Kernel) -> str:
    arg = _scan(kernel).arg
    return element(arg, kernel.args[arg], range(kernel.outer + 1))


# ---- a thread per row


def _rows(kernel: Kernel) -> str:
    axes, inner = range(kernel.outer), kernel.outer
    lines = [f"  {line}" for line in layout_constants(kernel)]
    lines += [
        f"  const ux total = {product(axes)}, step = (ux)gridDim.x * blockDim.x;",
        "  const ux thread = (ux)blockIdx.x * blockDim.x + threadIdx.x;",
        "  for (ux flat = thread; flat < total; flat += step) {",
    ]
    lines += [f"    {line}" for line in coordinates("flat", axes)]
    lines += [
        f"    {_type(kernel)} carry = {{}};",
        f"    for (ux i{inner} = 0; i{inner} < n{inner}; ++i{inner}) {{",
    ]
    scan = _scan(kernel)
    lines += [f"      {line}" for line in _lines(kernel)]
    lines += [
        f"      carry = i{inner} == 0 ? v{scan.first} : v{scan.next};",
        f"      {_target(kernel)} = carry;",
    ]
    return "\n".join([*lines, "    }", "  }", ""])


# ---- a block per row


def _step_function(kernel: Kernel) -> str:
    """`lf_step(carry, element)`: what follows `carry` at the next element."""
    scan, kind, lines = _scan(kernel), _type(kernel), _lines(kernel)
    inside = "".join(f"  {lines[n]}\n" for n in _slice(kernel, scan.next, {scan.first}))
    head = f"const {kind} carry, const {kind} v{scan.first}"
    text = f"__device__ __forceinline__ {kind} lf_step({head}) {{\n{inside}"
    return f"{text}  return v{scan.next};\n}}\n"


def _shared_rows(kernel: Kernel) -> str:
    axes, inner, scan = range(kernel.outer), kernel.outer, _scan(kernel)
    lines = _lines(kernel)
    values = {
        "kind": _type(kernel),
        "tile": SHARED_THREADS * ITEMS,
        "threads": SHARED_THREADS,
        "items": ITEMS,
        "total": product(axes),
        "inner": inner,
        "target": _target(kernel),
        "first": scan.first,
        "layout": "\n  ".join(layout_constants(kernel)),
        "coordinates": "\n    ".join(coordinates("flat", axes)),
        "element": "\n        ".join(lines[n] for n in _slice(kernel, scan.first, set())),
    }
    return _SHARED_ROWS.format(**values)


_SHARED_ROWS = """\
  {layout}
  __shared__ {kind} tile[{tile}];
  __shared__ {kind} sums[{threads}];
  const ux me = threadIdx.x, total = {total};
  for (ux flat = blockIdx.x; flat < total; flat += gridDim.x) {{
    {coordinates}
    {kind} carry = {{}};
    for (ux base = 0; base < n{inner}; base += {tile}) {{
      const ux count = n{inner} - base < {tile} ? n{inner} - base : {tile};
      for (ux k = me; k < count; k += {threads}) {{
        const ux i{inner} = base + k;
        {element}
        tile[k] = v{first};
      }}
      __syncthreads();
      const ux low = me * {items}, high = low + {items} < count ? low + {items} : count;
      if (low < count) {{
        for (ux k = low + 1; k < high; ++k) tile[k] = lf_step(tile[k - 1], tile[k]);
        sums[me] = tile[high - 1];
      }}
      __syncthreads();
      const ux active = (count + {items} - 1) / {items};
      for (ux far = 1; far < active; far *= 2) {{
        const bool joins = me >= far && me < active;
        {kind} before = {{}};
        if (joins) before = sums[me - far];
        __syncthreads();
        if (joins) sums[me] = lf_step(before, sums[me]);
        __syncthreads();
      }}
      {kind} before = carry;
      if (me > 0 && low < count) before = base ? lf_step(carry, sums[me - 1]) : sums[me - 1];
      if (base || me > 0) for (ux k = low; k < high; ++k) tile[k] = lf_step(before, tile[k]);
      carry = base ? lf_step(carry, sums[active - 1]) : sums[active - 1];
      __syncthreads();
      for (ux k = me; k < count; k += {threads}) {{
        const ux i{inner} = base + k;
        {target} = tile[k];
      }}
      __syncthreads();
    }}
  }}
"""


def _no_accumulator(number: int, dtype: str) -> str:
    raise AssertionError(f"accumulator {number} ({dtype}) in a scan")
