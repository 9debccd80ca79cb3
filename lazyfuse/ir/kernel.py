"""Kernel IR: a loop nest over `outer` (kept) and `inner` (reduced) axes that runs phases for every
outer index.

It is all that a backend sees: no user shapes, no names, no graph. Extents, strides, offsets and
user scalars are launch arguments, so one kernel serves every length and every literal.

Axes are numbered outer first: 0 .. outer-1 are kept, outer .. outer+inner-1 are reduced, each
slowest first. An elementwise kernel has no inner axes and one outer phase. For each outer index
the phases run in order:

* an `inner` phase loops over the inner axes: its body is evaluated for every inner index, its
  accumulators fold a value each, its stores write through arguments that may move along every
  axis;
* an `outer` phase evaluates its body once: loads and stores move along outer axes only.

Accumulators are numbered through the whole kernel; `acc #k` reads the finished accumulator k in a
later phase. `index #axis` is the i8 position along an axis, `load #k` reads argument k,
`scalar #k` reads scalar argument k. `gather #k` of an i8 value reads argument k that many elements
further on; a store may be moved by an i8 value too. Whoever writes such a kernel has proved that
these values stay inside the memory. Moved stores happen in index order, on one thread.

`lanes` says which axis runs across SIMD lanes and, with it, the order in which floats are added:

* INNER: lanes along the last inner axis; a sum over it is NumPy's pairwise sum (blocks of 128 with
  8 partial sums, complex 64 with 4; halves rounded down to a multiple of 8), and rows of further
  inner axes are added one by one;
* OUTER: lanes along the last outer axis;
  every lane adds its own values one by one, in index order;
* ROWS: lanes along the last outer axis; every lane adds a row, the only inner axis, as INNER does.
  The kernel is made for rows of `row` elements, at most ROW; an argument that is UNIT along them
  is dense: its rows follow each other without gaps.

`joined` is a promise about launches, which a backend may use: the last `joined` outer axes can be
walked as one loop. Of those axes the first is long; the extents of the others, the tiny ones,
multiply to the period, at most PERIOD. An argument that moves along the first walks all of them as
one (its stride is the extent times the stride of the axis that follows); any other repeats itself
with the period, and no index along the first is read. `photo * gain` of shapes (n, 3) and (3,) is
such a kernel, of period 3.

A `Scan` walks the only inner axis in order: body value `first` is written at index 0, `next` at
each later index, where `carry` reads what was written one index before. With lanes along the inner
axis everything that does not read the carry is evaluated in vectors, and the steps lane by lane.

Argument roles: `in`, `out`, and `scratch` (one value per inner index, private to a worker, written
in one inner phase and read in a later one of the same outer index). An `out` may be the same
memory as an `in` of equal dtype and access (in-place execution): each element is read before it is
written.

    kernel outer=1 inner=1 lanes=inner index=i8
    arg 0 in f4 [s,1]
    arg 1 out f4 [s]
    phase inner
      v0 = load f4 #0
      v1 = mul f4 v0 v0
      acc 0 = add f4 v1
    phase outer
      v0 = acc f4 #0
      v1 = sqrt f4 v0
      store 1 v1
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from lazyfuse.digests import digest
from lazyfuse.ops.body import Instr


class Lanes(Enum):
    """The axis that runs across SIMD lanes, and so the order of additions."""

    INNER = "inner"
    OUTER = "outer"
    ROWS = "rows"


class Level(Enum):
    """Where a phase runs: once per inner index or once per outer index."""

    INNER = "inner"
    OUTER = "outer"


class Role(Enum):
    """What a kernel does with an argument."""

    IN = "in"
    OUT = "out"
    SCRATCH = "scratch"


#: How an argument moves along one axis:
#: not at all, by one element, or by a stride given at launch.
FIXED, UNIT, STRIDED = "0", "1", "s"


#: Numbers of elements from lane to lane that a kernel may be made for.
STEPS = (2, 3, 4)
#: The most elements that an argument may be after another that it is near.
NEAR = 4
#: The longest period of joined axes, in elements.
PERIOD = 128
#: The longest row that one lane adds, in elements.
ROW = 31


class Arg(NamedTuple):
    """Memory that a kernel touches; `access` has one of FIXED, UNIT, STRIDED per axis,
    outer axes first. `step`: the stride along the lanes, in elements, where the kernel is made for
    it (one of STEPS, of what is only read); else 0. `near`: as a rule it is so many elements, at
    most NEAR, after another argument, with its strides; empty where nothing is known."""

    role: Role
    dtype: str
    access: tuple[str, ...]
    step: int = 0
    near: tuple[int, int] | tuple[()] = ()


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A fold of body value `value` over the inner axes, of dtype `dtype`.

    op: add, mul, maximum, minimum (NaN wins), fmax, fmin (NaN loses), and, or, xor, argmax,
    argmin.
    index: for argmax and argmin, the body value (i8) that is remembered with the winner; the first
      NaN wins, then the extreme value, then the smallest index. Reading the accumulator gives that
      index; `dtype` is the compared one.
    init: the scalar argument to start from, or None for the identity of op.
    chunk: a float sum adds the pairwise sums of successive runs of `chunk` elements one by one
      (NumPy does so when it buffers a cast); 0 means one run. An f2 sum adds pairwise in f4 and
      rounds to f2 at each addition to the total.
    """

    op: str
    dtype: str
    value: int
    index: int | None = None
    init: int | None = None
    chunk: int = 0


@dataclass(frozen=True, slots=True)
class Store:
    """Write body value `value` to argument `arg` at the current index,
    moved by the body value `index`, if any, in elements."""

    arg: int
    value: int
    index: int | None = None

    @property
    def values(self) -> tuple[int, ...]:
        """The body values that it uses."""
        return (self.value,) if self.index is None else (self.value, self.index)

    def __str__(self) -> str:
        moved = "" if self.index is None else f" at v{self.index}"
        return f"store {self.arg} v{self.value}{moved}"


class Scan(NamedTuple):
    """Write body value `first` to argument `arg` at inner index 0, `next` at each later one.

    associative: parts may be scanned apart and joined by the step, where the order of float
    additions is the backend's own.
    """

    arg: int
    first: int
    next: int
    associative: bool = False


class Phase(NamedTuple):
    """One loop (or none) with its body, accumulators and stores, or its scan."""

    level: Level
    body: tuple[Instr, ...]
    accumulators: tuple[Accumulator, ...] = ()
    stores: tuple[Store, ...] = ()
    scan: Scan | None = None

    @property
    def written(self) -> tuple[int, ...]:
        """The arguments that the phase writes."""
        scanned = () if self.scan is None else (self.scan.arg,)
        return (*(store.arg for store in self.stores), *scanned)


@dataclass(frozen=True)
class Kernel:
    """See the module. `scalars` are the dtypes of scalar arguments;
    `index` is the width of index arithmetic."""

    outer: int
    inner: int
    lanes: Lanes
    args: tuple[Arg, ...]
    scalars: tuple[str, ...]
    phases: tuple[Phase, ...]
    index: str = "i8"
    joined: int = 1
    row: int = 0

    @cached_property
    def text(self) -> str:
        """The canonical text: equal texts are equal kernels."""
        return "\n".join(_lines(self))

    @cached_property
    def digest(self) -> str:
        return digest(self.text)

    @property
    def inputs(self) -> tuple[int, ...]:
        return tuple(i for i, arg in enumerate(self.args) if arg.role is Role.IN)

    @property
    def outputs(self) -> tuple[int, ...]:
        return tuple(i for i, arg in enumerate(self.args) if arg.role is Role.OUT)

    @property
    def folds_lanes(self) -> bool:
        """Whether lanes run along a reduced axis."""
        return self.lanes is Lanes.INNER and self.inner > 0

    @property
    def lane_axis(self) -> int | None:
        """The axis that runs across lanes; None for a kernel of one point."""
        if self.folds_lanes:
            return self.outer + self.inner - 1
        return self.outer - 1 if self.outer else None

    @property
    def tiny(self) -> range:
        """The joined axes but the first; none where nothing is joined."""
        return range(self.outer - self.joined + 1, self.outer)

    @property
    def dense(self) -> tuple[int, ...]:
        """The arguments of ROWS that are rows which follow each other."""
        if self.lanes is not Lanes.ROWS:
            return ()
        given = [(n, arg) for n, arg in enumerate(self.args) if arg.role is not Role.SCRATCH]
        return tuple(number for number, arg in given if arg.access[self.outer] == UNIT)

    @cached_property
    def gathered(self) -> frozenset[int]:
        """The arguments that are read through an index."""
        instrs = (instr for phase in self.phases for instr in phase.body)
        return frozenset(int(i.attr) for i in instrs if i.op == "gather" and i.attr is not None)

    @cached_property
    def scattered(self) -> frozenset[int]:
        """The arguments that are written through an index."""
        stores = (store for phase in self.phases for store in phase.stores)
        return frozenset(store.arg for store in stores if store.index is not None)

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        return tuple(acc for phase in self.phases for acc in phase.accumulators)

    @property
    def scan(self) -> Scan | None:
        """The scan of a kernel that is one; it has no other phase."""
        return self.phases[0].scan

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


def _lines(kernel: Kernel) -> list[str]:
    joined = f" joined={kernel.joined}" if kernel.joined > 1 else ""
    joined += f" row={kernel.row}" if kernel.row else ""
    lines = [
        f"kernel outer={kernel.outer} inner={kernel.inner} lanes={kernel.lanes.value} "
        f"index={kernel.index}{joined}"
    ]
    for number, arg in enumerate(kernel.args):
        step = f" step {arg.step}" if arg.step else ""
        near = " near {}+{}".format(*arg.near) if arg.near else ""
        access = ",".join(arg.access)
        lines.append(f"arg {number} {arg.role.value} {arg.dtype} [{access}]{step}{near}")
    for number, dtype in enumerate(kernel.scalars):
        lines.append(f"scalar {number} {dtype}")
    number = 0
    for phase in kernel.phases:
        lines.append(f"phase {phase.level.value}")
        lines += [f"  v{index} = {instr}" for index, instr in enumerate(phase.body)]
        for acc in phase.accumulators:
            lines.append(f"  {_accumulator_line(number, acc)}")
            number += 1
        lines += [f"  {store}" for store in phase.stores]
        if phase.scan is not None:
            tree = " associative" if phase.scan.associative else ""
            lines.append(f"  scan {phase.scan.arg} v{phase.scan.first} v{phase.scan.next}{tree}")
    return lines


def _accumulator_line(number: int, acc: Accumulator) -> str:
    index = "" if acc.index is None else f" at v{acc.index}"
    init = "" if acc.init is None else f" init {acc.init}"
    chunk = f" chunk {acc.chunk}" if acc.chunk else ""
    return f"acc {number} = {acc.op} {acc.dtype} v{acc.value}{index}{init}{chunk}"
