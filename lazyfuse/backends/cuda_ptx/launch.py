"""A PTX text and memory -> launches: grid, block and parameters in, effects on memory out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from lazyfuse.backends.cuda_ptx.faults import PtxFault
from lazyfuse.backends.cuda_ptx.frame import WARP, Frame, Threads, World, place_variables
from lazyfuse.backends.cuda_ptx.machine import Code, Machine, decode
from lazyfuse.backends.cuda_ptx.memory import GAP, Region, Space
from lazyfuse.backends.cuda_ptx.parse import Function, parse
from lazyfuse.backends.cuda_ptx.races import Clock

#: Threads that run at once: more only cost memory.
MOST_THREADS = 1 << 15
#: Where the variables of modules lie: below every buffer.
MODULE_BASE = 0x10_0000_0000

Grid = tuple[int, int, int]


class PtxModule:
    """A parsed text; functions are decoded when they are first called."""

    def __init__(self, text: str) -> None:
        self.parsed = parse(text)
        inside = [v for v in self.parsed.variables.values() if v.space in ("global", "const")]
        self.symbols, self.regions = place_variables(inside, 1, MODULE_BASE)
        self._codes: dict[str, Code] = {}
        #: Threads that executed each instruction, summed over all launches.
        self.counts: Counter[str] = Counter()

    @cached_property
    def functions(self) -> dict[str, Code]:
        """The functions that entries call."""
        return {
            name: decode(function)
            for name, function in self.parsed.functions.items()
            if not function.is_entry
        }

    def code(self, name: str) -> Code:
        """An entry, decoded."""
        if name not in self._codes:
            self._codes[name] = decode(self.parsed.functions[name])
        return self._codes[name]

    def launch(
        self,
        name: str,
        grid: Grid,
        block: Grid,
        values: Sequence[bytes],
        memory: Sequence[Region],
        *,
        order: int = 0,
        shared: int = 0,
    ) -> None:
        """Run an entry on every thread of a grid. `order` above 0 shuffles blocks and atomics;
        `shared` bytes are those of shared variables without a size.

        Raises: PtxFault.
        """
        code = self.code(name)
        threads, blocks = int(np.prod(block)), int(np.prod(grid))
        has_atomics = any(i.opcode in ("atom", "red") for i in code.function.instructions)
        clock = Clock(blocks, threads, has_atomics=has_atomics)
        generator = np.random.default_rng(order) if order else None
        numbers = np.arange(blocks) if generator is None else generator.permutation(blocks)
        regions = [*self.regions, *memory]
        for region in regions:
            region.shadow = None
        space = Space("global", regions)
        parameters = _parameters(code.function, values)
        together = max(1, MOST_THREADS // threads)
        for start in range(0, blocks, together):
            chunk = numbers[start : start + together]
            inside, symbols = _shared(code.function, self, len(chunk), shared)
            world = World(
                space, inside, {**self.symbols, **symbols}, clock, self.functions, generator
            )
            frame = Frame(code.function, _threads(grid, block, chunk), world, parameters)
            with np.errstate(all="ignore"):
                Machine(code, frame, self.counts).run()


def _parameters(function: Function, values: Sequence[bytes]) -> dict[str, np.ndarray]:
    if len(values) != len(function.parameters):
        raise PtxFault(f"{len(values)} values for {len(function.parameters)} parameters")
    rows = {}
    for variable, value in zip(function.parameters, values, strict=True):
        if len(value) != variable.nbytes:
            raise PtxFault(f"{len(value)} bytes for {variable.name} of {variable.nbytes}")
        rows[variable.name] = np.frombuffer(value, np.uint8)[None, :]
    return rows


def _shared(
    function: Function, module: PtxModule, blocks: int, nbytes: int
) -> tuple[Space, dict[str, int]]:
    variables = [*function.variables.values(), *module.parsed.variables.values()]
    inside = [
        replace(variable, nbytes=variable.nbytes or nbytes)
        for variable in variables
        if variable.space == "shared"
    ]
    symbols, regions = place_variables(inside, blocks, GAP)
    return Space("shared", regions), symbols


def _threads(grid: Grid, block: Grid, chunk: np.ndarray) -> Threads:
    """The threads of some blocks, block after block."""
    count = int(np.prod(block))
    positions = np.tile(np.arange(count), len(chunk))
    blocks = np.repeat(chunk, count)
    special = {"%laneid": positions % WARP, "WARP_SZ": np.full_like(positions, WARP)}
    for name, flat, extents in (("tid", positions, block), ("ctaid", blocks, grid)):
        for axis, extent in zip("xyz", extents, strict=True):
            special[f"%{name}.{axis}"] = flat % extent
            special[f"%n{name}.{axis}"] = np.full_like(flat, extent)
            flat = flat // extent
    numbers, local_blocks = blocks * count + positions, np.repeat(np.arange(len(chunk)), count)
    return Threads(numbers, blocks, local_blocks, positions, special)
