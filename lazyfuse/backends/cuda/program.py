"""A Program is one kernel as CUDA C text together with what a launch must know about it.

Parameters are listed in the order of the `__global__` signature; a launch fills them by kind.
Everything integral travels as 8 bytes, so that a launch is a list of Python ints and a few typed
scalars, and their bytes can be counted: past the parameter space they travel in a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from lazyfuse.backends.cuda.ctype import CTYPES, PART
from lazyfuse.ir.kernel import STRIDED, Kernel, Role

#: Bytes of kernel parameters before CUDA 12.1 and on GPUs older than Volta, and since.
PARAMETER_BYTES, WIDE_PARAMETER_BYTES = 4096, 32764


class ParameterKind(Enum):
    """Where a launch finds the value of a parameter."""

    EXTENT = "extent"  # the length of axis `number`
    MULTIPLIER = "multiplier"  # what divides by the length of axis `number` (division.py)
    SHIFT = "shift"  # the shift after it
    STRIDE = "stride"  # the stride of argument `number` along `axis`, in elements
    POINTER = "pointer"  # the address of argument `number`, its offset added
    SCALAR = "scalar"  # scalar argument `number`; `axis` 1 is the imaginary part
    SCRATCH = "scratch"  # global memory for scratch argument `number`
    SHARED = "shared"  # whether rows are kept in shared memory, scratch arguments among them
    PARTIALS = "partials"  # accumulators of blocks that share a row
    TOTALS = "totals"  # finished accumulators, kept between launches of one kernel
    COUNTERS = "counters"  # blocks that have arrived, one per tile; zero before the launch
    FIRST = "first"  # the first phase that this launch runs
    LAST = "last"  # one past the last phase that this launch runs
    PACKED = "packed"  # whether inner loops may load packs: 1 when every address is aligned


@dataclass(frozen=True, slots=True)
class Parameter:
    """One `__global__` parameter: C text of its declaration and where its value comes from."""

    kind: ParameterKind
    declaration: str
    nbytes: int = 8
    number: int = 0
    axis: int = 0
    dtype: str = "i8"


class Strategy(Enum):
    """How a kernel runs; the values are those of option `cuda_strategy` (strategy.py says which
    kernels each applies to)."""

    ELEMENTWISE_KERNEL = "ElementwiseKernel"  # cupy's
    REDUCTION_KERNEL = "ReductionKernel"  # cupy's
    OWN = "own"  # self-contained text; the launch chooses among what follows
    VECTORIZED = "vectorized"  # one thread per 16-byte pack
    STRIDED = "strided"  # one thread per element, any layout
    ROWS_BY_WARP = "rows-by-warp"  # a reduction's row is folded by one warp, or a part of one
    ROWS_BY_BLOCK = "rows-by-block"  # by one block
    COLUMNS = "columns"  # neighbouring threads fold neighbouring columns
    ONE_PASS = "one-pass"  # blocks share a row; the last one adds what the others found
    SCAN_BY_THREAD = "scan-by-thread"  # a thread walks a row
    SCAN_BY_BLOCK = "scan-by-block"  # a block shares a row, along a tree


class Shape(Enum):
    """The thread layout that a program is written for; `geometry.py` sizes it."""

    ELEMENTWISE = "elementwise"  # a grid-stride loop over the outer index
    ROWS = "rows"  # threadIdx.x along the inner index, threadIdx.y along the outer one
    SHARED_ROWS = "shared rows"  # a block per outer index (scans)
    COLUMNS = "columns"  # threadIdx.x along the outer index, threadIdx.y along the inner one


@dataclass(frozen=True, slots=True)
class Program:
    """CUDA C text and its launch interface.

    `entry` works for every layout. Packs of `pack` elements of the arguments `packed_args` need
    aligned addresses: an elementwise launch then calls `vector_entry`, others set PACKED.
    `threads` is the largest block. `launches` cuts the phases into ranges with at most one inner
    phase each, for launches whose blocks share an outer index; `partial_bytes` and `totals_bytes`
    bound the accumulator structs they exchange. `shared_sizes`: bytes per element of a row, of
    each room in shared memory. `strategy` is what was forced, or OWN.
    `uses_table`: the only parameter is the address of a table of values.
    """

    kernel: Kernel
    name: str
    source: str
    shape: Shape
    entry: str
    parameters: tuple[Parameter, ...]
    vector_entry: str | None = None
    pack: int = 1
    packed_args: tuple[int, ...] = ()
    threads: int = 256
    launches: tuple[tuple[int, int], ...] = ()
    partial_bytes: int = 0
    totals_bytes: int = 0
    shared_sizes: tuple[int, ...] = ()
    strategy: Strategy = Strategy.OWN
    uses_table: bool = False

    @property
    def widest(self) -> int:
        """Bytes of an element of the widest argument that packs are of, or of all."""
        args = [self.kernel.args[number] for number in self.packed_args] or self.kernel.args
        return max((CTYPES[arg.dtype].size for arg in args), default=1)


def common_parameters(kernel: Kernel) -> list[Parameter]:
    """List the parameters of every own kernel: extents and what divides by them, pointers and
    their strides, scalars."""
    parameters = [
        Parameter(ParameterKind.EXTENT, f"long long n{axis}_", number=axis)
        for axis in range(kernel.outer + kernel.inner)
    ]
    for axis in divisors(kernel):
        kinds = (ParameterKind.MULTIPLIER, "m"), (ParameterKind.SHIFT, "h")
        parameters += [
            Parameter(kind, f"long long {letter}{axis}_", number=axis) for kind, letter in kinds
        ]
    for number, arg in enumerate(kernel.args):
        memory = CTYPES[arg.dtype].memory
        if arg.role is Role.SCRATCH:
            parameters.append(_scratch(number, memory, arg.dtype))
            continue
        const = "const " if arg.role is Role.IN else ""
        parameters.append(
            Parameter(ParameterKind.POINTER, f"{const}{memory}* a{number}", number=number)
        )
        parameters += [
            Parameter(
                ParameterKind.STRIDE, f"long long s{number}_{axis}_", number=number, axis=axis
            )
            for axis, access in enumerate(arg.access)
            if access == STRIDED
        ]
    for number, dtype in enumerate(kernel.scalars):
        parameters += _scalar_parameters(number, dtype)
    return parameters


def scratch_of(kernel: Kernel) -> tuple[int, ...]:
    """The scratch arguments of a kernel."""
    return tuple(n for n, arg in enumerate(kernel.args) if arg.role is Role.SCRATCH)


def divisors(kernel: Kernel) -> tuple[int, ...]:
    """The axes by whose lengths positions are divided: of the outer ones and of the inner ones,
    all but the slowest."""
    axes = range(kernel.outer + kernel.inner)
    return (*axes[1 : kernel.outer], *axes[kernel.outer + 1 :])


def _scratch(number: int, memory: str, dtype: str) -> Parameter:
    return Parameter(ParameterKind.SCRATCH, f"{memory}* a{number}", number=number, dtype=dtype)


def _scalar_parameters(number: int, dtype: str) -> list[Parameter]:
    """A scalar travels as itself, float16 as bits, bool as a byte, complex as its two parts."""
    kind = ParameterKind.SCALAR
    if dtype in PART:
        part = PART[dtype]
        return [
            Parameter(
                kind, f"{CTYPES[part].value} x{number}{suffix}", int(part[1:]), number, axis, dtype
            )
            for axis, suffix in enumerate(("re", "im"))
        ]
    memory = "unsigned short" if dtype == "f2" else CTYPES[dtype].memory
    return [Parameter(kind, f"{memory} x{number}", CTYPES[dtype].size, number, 0, dtype)]


@dataclass(frozen=True, slots=True)
class Interface:
    """How values reach a `__global__` function: `signature` is its parameter list, `prologue` the
    first lines of its body. Past the parameter space all values come in a table in global memory,
    8 bytes each.
    """

    parameters: tuple[Parameter, ...]
    signature: str
    prologue: str = ""


def interface(parameters: list[Parameter], limit: int) -> Interface:
    """The interface of a kernel with these parameters, `limit` bytes of which fit."""
    if sum(max(parameter.nbytes, 8) for parameter in parameters) <= limit:
        declared = ",\n    ".join(parameter.declaration for parameter in parameters)
        return Interface(tuple(parameters), declared)
    lines = [_from_table(parameter, place) for place, parameter in enumerate(parameters)]
    return Interface(tuple(parameters), "const unsigned long long* lf_table", "".join(lines))


def _from_table(parameter: Parameter, place: int) -> str:
    kind = parameter.declaration.rpartition(" ")[0]
    pointer = f"reinterpret_cast<{kind} const*>(lf_table + {place})"
    return f"  {parameter.declaration} = *{pointer};\n"
