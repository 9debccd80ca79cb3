"""Extents -> grid and block: how many threads share an outer index, and how many blocks.

The choice depends on the kernel, the extents and the device, never on timing, so that float sums
repeat.
Group sizes are powers of two; blocks are whole warps (`group_text.py` relies on both).
"""

from __future__ import annotations

from dataclasses import dataclass

from lazyfuse.backends.cuda.program import Program, Shape, Strategy, scratch_of

#: The largest gridDim.x and gridDim.y.
MOST_BLOCKS, MOST_SPLITS = 2**31 - 1, 65535
#: Blocks per multiprocessor with scratch arguments in global memory, of which every block has a
#: row: those that run at once, so that rows stay in L2. Without, a block per tile is best: 132
#: multiprocessors copied 2.81 TB/s with 16 blocks each in a loop, 2.90 with 64, 3.01 so (H100).
SCRATCH_BLOCKS = 8
#: Elements a thread should fold before more threads share a row or a column.
ROW_ELEMENTS, COLUMN_ELEMENTS = 8, 8
#: Beyond a warp, each should have more, since what joins threads costs as much as folding some 20
#: elements: so many bytes of rows that are read once, and of others, which lie in shared memory
#: meanwhile; fewer where the rows are too few to fill the device.
LONE_BYTES, LANE_BYTES, FEW_LANE_BYTES = 256, 128, 64
#: Threads of a block that has several rows.
ROW_THREADS = 256
#: Elements a thread must keep when blocks share an outer index.
SPLIT_ELEMENTS = 32
#: Blocks per multiprocessor that share rows: all the threads that it holds.
ROW_BLOCKS = 4
#: The same of columns, where a block has NOMINAL_COLUMNS: whatever a thread takes together, so a
#: sum has the same bits fused or not. Two rounds of blocks even out: with one of 8, columns of
#: float32 were read at 83 % of a copy, with 16 at 100 (H100).
COLUMN_BLOCKS, NOMINAL_COLUMNS = 16, 256
#: Threads that share a column: of many columns; of fewer than a warp, so many for all of them.
COLUMN_LANES, NARROW_THREADS = 8, 512
#: Threads of a warp.
WARP = 32


@dataclass(frozen=True, slots=True)
class Target:
    """What geometry needs to know of a device: its multiprocessors, the largest block, and the
    shared memory of a block that leaves room for another one."""

    processors: int
    block: int = 1024
    shared: int = 44 * 1024


@dataclass(frozen=True, slots=True)
class Geometry:
    """A launch: blocks (x over tiles of outer indices, y sharing them), threads, outer indices per
    tile, and bytes of shared memory to keep rows in; 0 where they are too long, or shared.
    """

    grid: tuple[int, int]
    block: tuple[int, int]
    rows: int = 1
    shared: int = 0

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


def elementwise_geometry(program: Program, total: int, *, packed: bool) -> Geometry:
    """One thread per element or per pack, or one block per row."""
    per_block = program.threads * (program.pack if packed else 1)
    blocks = total if program.shape is Shape.SHARED_ROWS else -(-total // per_block)
    return Geometry((max(1, min(blocks, MOST_BLOCKS)), 1), (program.threads, 1))


def reduction_geometry(program: Program, target: Target, outer: int, inner: int) -> Geometry:
    """Size the groups for `outer` outer indices of `inner` inner ones each, as the program's
    strategy says.
    """
    threads = min(program.threads, target.block)
    size = _columns if program.shape is Shape.COLUMNS else _rows
    block, rows, splits = size(program, target, threads, outer, inner)
    tiles = -(-outer // rows)
    shared = sum(-(-rows * inner * size // 16) * 16 for size in program.shared_sizes)
    if splits > 1 or shared > target.shared:
        shared = 0
    most = MOST_BLOCKS
    if scratch_of(program.kernel) and splits == 1 and not shared:
        most = target.processors * SCRATCH_BLOCKS
    return Geometry((min(tiles, most), splits), block, rows, shared)


def _rows(
    program: Program, target: Target, threads: int, outer: int, inner: int
) -> tuple[tuple[int, int], int, int]:
    """Block, rows per tile, and blocks that share a row."""
    lanes = max(1, min(threads, power_of_two(-(-inner // ROW_ELEMENTS))))
    enough = -(-ROW_BLOCKS * target.processors * threads // outer)
    bytes_of_row = inner * program.widest
    most_bytes = LONE_BYTES if len(program.launches) == 1 else LANE_BYTES
    fewest = max(min(enough, -(-bytes_of_row // FEW_LANE_BYTES)), -(-bytes_of_row // most_bytes))
    lanes = min(lanes, power_of_two(max(fewest, WARP)))
    if program.strategy is Strategy.ROWS_BY_WARP:
        lanes = min(lanes, WARP)
    elif program.strategy is Strategy.ROWS_BY_BLOCK:
        lanes = threads
    rows = max(1, min(threads, ROW_THREADS) // lanes)
    tiles, wanted = -(-outer // rows), ROW_BLOCKS * target.processors
    is_full = 2 * tiles >= wanted
    splits = _splits(program.strategy, -(-wanted // tiles), inner // lanes, is_full=is_full)
    return (lanes, rows), rows, splits


def _columns(
    program: Program, target: Target, threads: int, outer: int, inner: int
) -> tuple[tuple[int, int], int, int]:
    """Block, columns per tile, and blocks that share a column."""
    across = min(WARP, power_of_two(outer))
    lanes = COLUMN_LANES if across == WARP else NARROW_THREADS // across
    lanes = max(1, min(lanes, threads // across, power_of_two(-(-inner // COLUMN_ELEMENTS))))
    across = max(min(WARP, power_of_two(-(-outer // program.pack))), -(-WARP // lanes))
    most = COLUMN_BLOCKS * target.processors
    wanted = min(-(-most // -(-outer // NOMINAL_COLUMNS)), most // 2)
    splits = _splits(program.strategy, wanted, inner // lanes, is_full=wanted == 1)
    return (across, lanes), across * program.pack, splits


def _splits(strategy: Strategy, wanted: int, per_lane: int, *, is_full: bool) -> int:
    """Blocks that share an outer index: `wanted` ones, where outer indices alone leave the device
    idle, and the lanes of a block have more than a few elements each."""
    if strategy is Strategy.ONE_PASS:
        return max(2, min(wanted, per_lane, MOST_SPLITS))
    if strategy is not Strategy.OWN or is_full or per_lane < 2 * SPLIT_ELEMENTS:
        return 1
    return max(1, min(wanted, per_lane // SPLIT_ELEMENTS, MOST_SPLITS))
