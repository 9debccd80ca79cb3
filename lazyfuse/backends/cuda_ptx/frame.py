"""One activation of a function on many threads: registers, local memory, parameters.

`Lanes` selects the threads that execute an instruction: all of them, or those listed. Lane numbers
count the threads of the frame; `threads` gives the number in the launch of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lazyfuse.backends.cuda_ptx.memory import GAP, POISON, Region, Space, new_region
from lazyfuse.backends.cuda_ptx.parse import Function, Variable
from lazyfuse.backends.cuda_ptx.races import Clock, Who
from lazyfuse.backends.cuda_ptx.types import unsigned

Lanes = slice | np.ndarray
EVERY = slice(None)
#: Threads of a warp.
WARP = 32


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of a frame: numbers in the launch, blocks in the launch, blocks in this run,
    positions in the block; and the special registers."""

    numbers: np.ndarray
    blocks: np.ndarray
    local_blocks: np.ndarray
    positions: np.ndarray
    special: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.numbers)

    def only(self, lanes: Lanes) -> Threads:
        """Some of them."""
        return Threads(
            self.numbers[lanes],
            self.blocks[lanes],
            self.local_blocks[lanes],
            self.positions[lanes],
            {name: values[lanes] for name, values in self.special.items()},
        )

    @property
    def warps(self) -> np.ndarray:
        """The warp of each thread, counted over the blocks of this run."""
        per_block = -(-(int(self.positions.max(initial=0)) + 1) // WARP)
        warps: np.ndarray = self.local_blocks * per_block + self.positions // WARP
        return warps


@dataclass(frozen=True, slots=True)
class World:
    """What all frames of a run share: memory, symbols and the clock."""

    global_space: Space
    shared_space: Space
    symbols: Mapping[str, int]
    clock: Clock
    functions: Mapping[str, object]
    generator: np.random.Generator | None


class Frame:
    """The state of a function's threads. `parameters` holds one row of bytes per lane, or a single
    row for all."""

    def __init__(
        self,
        function: Function,
        threads: Threads,
        world: World,
        parameters: Mapping[str, np.ndarray],
    ) -> None:
        self.function, self.threads, self.world = function, threads, world
        self.count = len(threads)
        self.registers = _registers(function, self.count)
        self.parameters = dict(parameters)
        named = [*function.variables.values(), *([function.result] if function.result else [])]
        for variable in named:
            if variable.space == "param" or variable is function.result:
                self.parameters[variable.name] = np.full(
                    (self.count, variable.nbytes), POISON, np.uint8
                )
        self.symbols, regions = _place(function, "local", self.count)
        self.local_space = Space("local", regions)
        self.alive = np.ones(self.count, bool)
        self.warps = threads.warps
        self.places = threads.positions % WARP

    def who(self, lanes: Lanes) -> Who:
        """The threads of an access."""
        return Who(self.threads.numbers[lanes], self.threads.blocks[lanes])

    def size(self, lanes: Lanes) -> int:
        """How many lanes are selected."""
        return self.count if isinstance(lanes, slice) else len(lanes)

    def symbol(self, name: str) -> int:
        """The address of a variable in its own space."""
        return self.symbols[name] if name in self.symbols else self.world.symbols[name]

    def instances(self, space: str, lanes: Lanes) -> np.ndarray | int:
        """Which instance of a region each lane uses."""
        if space == "shared":
            return self.threads.local_blocks[lanes]
        if space == "local":
            return np.arange(self.count)[lanes]
        return 0

    def space(self, name: str) -> Space:
        """The regions of a state space."""
        if name == "local":
            return self.local_space
        return self.world.shared_space if name == "shared" else self.world.global_space


def _registers(function: Function, count: int) -> dict[str, np.ndarray]:
    """Registers hold a pattern until they are written; predicates are false."""
    registers = {}
    for name, bits in function.registers.items():
        if bits == 1:
            registers[name] = np.zeros(count, bool)
        else:
            width = max(bits, 16)
            registers[name] = np.full(
                count, int.from_bytes(bytes([POISON] * (width // 8))), unsigned(width)
            )
    return registers


def _place(function: Function, space: str, instances: int) -> tuple[dict[str, int], list[Region]]:
    """Give each variable of one space an address and memory for every instance."""
    return place_variables([v for v in function.variables.values() if v.space == space], instances)


def place_variables(
    variables: list[Variable], instances: int, first: int = GAP
) -> tuple[dict[str, int], list[Region]]:
    """Give variables addresses from `first` on, with unmapped ones between them, and memory."""
    symbols, regions, base = {}, [], first
    for variable in variables:
        symbols[variable.name] = base
        region = new_region(base, variable.nbytes, instances)
        content = np.frombuffer(variable.content, np.uint8)
        region.data[: len(content)] = content
        regions.append(region)
        base += -(-variable.nbytes // GAP) * GAP + GAP
    return symbols, regions
