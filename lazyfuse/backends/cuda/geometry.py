"""Extents -> grid and block: how many threads share an outer index, and how many blocks.

The choice depends on the extents and the device only, never on timing, so that float sums repeat.
Group sizes are powers of two; blocks are whole warps (`group_text.py` relies on both).
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyfuse.backends.cuda.program import Program, Shape, Strategy
from lazyfuse.ir.kernel import Role

#: Blocks per multiprocessor beyond which a grid-stride loop takes over.
BLOCKS_PER_PROCESSOR = 64
#: The same with scratch arguments, of which every block has a row: those that run at once, so that
#: rows stay in L2.
SCRATCH_BLOCKS = 8
#: Elements a thread should fold before more threads share an outer index: a group of a row
#: (render_inner.GROUP), twice as many of a column.
ROW_ELEMENTS, COLUMN_ELEMENTS = 4, 8
#: Elements a thread must keep when blocks share an outer index.
SPLIT_ELEMENTS = 32
#: The largest gridDim.y.
MOST_SPLITS = 65535
#: Threads of a warp.
WARP = 32


@dataclass(frozen=True, slots=True)
class Target:
    """What geometry needs to know of a device: its multiprocessors and the largest block."""

    processors: int
    block: int = 256


@dataclass(frozen=True, slots=True)
class Geometry:
    """A launch: blocks (x over tiles of outer indices, y sharing them), threads, outer indices per
    tile.
    """

    grid: tuple[int, int]
    block: tuple[int, int]
    rows: int = 1

    @property
    def splits(self) -> int:
        return self.grid[1]

    @property
    def slots(self) -> int:
        """Outer indices that are under way at once: scratch arguments have a row for each."""
        return self.grid[0] * self.rows


def power_of_two(value: int) -> int:
    """The smallest power of two that is not below `value`."""
    return 1 << max(0, value - 1).bit_length()


def elementwise_geometry(
    program: Program, target: Target, total: int, *, packed: bool
) -> Geometry:
    """One thread per element or per round of packs, or one block per row, up to a full device."""
    per_thread = program.pack * program.unroll if packed else 1
    shared = program.shape is Shape.SHARED_ROWS
    blocks = total if shared else -(-total // (program.threads * per_thread))
    blocks = max(1, min(blocks, target.processors * BLOCKS_PER_PROCESSOR))
    return Geometry((blocks, 1), (program.threads, 1))


def reduction_geometry(program: Program, target: Target, outer: int, inner: int) -> Geometry:
    """Size the groups for `outer` outer indices of `inner` inner ones each, as the program's
    strategy says.
    """
    threads = min(program.threads, target.block)
    columns = program.shape is Shape.COLUMNS
    widest = threads // min(WARP, power_of_two(outer)) if columns else threads
    per_lane = COLUMN_ELEMENTS if columns else ROW_ELEMENTS
    lanes = max(1, min(widest, power_of_two(-(-inner // per_lane))))
    if program.strategy is Strategy.ROWS_BY_WARP:
        lanes = min(lanes, WARP)
    elif program.strategy is Strategy.ROWS_BY_BLOCK:
        lanes = threads
    rows = threads // lanes
    tiles = -(-outer // rows)
    splits = _splits(program.strategy, target, tiles, inner // lanes)
    if splits == 1:
        has_scratch = any(arg.role is Role.SCRATCH for arg in program.kernel.args)
        most = SCRATCH_BLOCKS if has_scratch else BLOCKS_PER_PROCESSOR
        tiles = min(tiles, target.processors * most)
    block = (rows, lanes) if columns else (lanes, rows)
    return Geometry((tiles, splits), block, rows)


def _splits(strategy: Strategy, target: Target, tiles: int, per_lane: int) -> int:
    """Blocks that share an outer index, where outer indices alone leave the device idle."""
    if strategy is Strategy.ONE_PASS:
        return max(2, min(-(-4 * target.processors // tiles), per_lane, MOST_SPLITS))
    if strategy is not Strategy.OWN or tiles >= target.processors or per_lane < 2 * SPLIT_ELEMENTS:
        return 1
    return min(-(-4 * target.processors // tiles), per_lane // SPLIT_ELEMENTS, MOST_SPLITS)
