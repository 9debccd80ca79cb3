"""Runs a few instructions of PTX on arrays: shared by the tests of the interpreter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lazyfuse.backends.cuda_ptx.launch import PtxModule
from lazyfuse.backends.cuda_ptx.memory import Region, new_region

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
#: Registers that every text here may use.
REGISTERS = (
    ".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n"
    ".reg .b64 %rd<9>;\n.reg .f64 %fd<9>;\n.reg .b64 %a<9>;\n"
)


class Bench:
    """Runs a body on arrays: `%a0`... hold their addresses, `%r8` the number of the thread."""

    def __init__(self, body: str, arrays: Sequence[np.ndarray]) -> None:
        parameters = ", ".join(f".param .u64 a{n}" for n in range(len(arrays)))
        loads = "".join(f"ld.param.u64 %a{n}, [a{n}];\n" for n in range(len(arrays)))
        text = f".visible .entry k({parameters})\n{{\n{REGISTERS}{loads}"
        self.module = PtxModule(f"{HEAD}{text}mov.u32 %r8, %tid.x;\n{body}\nret;\n}}\n")
        self.regions: list[Region] = []
        for number, array in enumerate(arrays):
            region = new_region((number + 1) << 32, array.nbytes)
            region.data[: array.nbytes] = array.reshape(-1).view(np.uint8)
            self.regions.append(region)

    def run(self, threads: int, *, blocks: int = 1, order: int = 0) -> None:
        values = [np.uint64(region.base).tobytes() for region in self.regions]
        grid, block = (blocks, 1, 1), (threads, 1, 1)
        self.module.launch("k", grid, block, values, self.regions, order=order)

    def array(self, number: int, dtype: str) -> np.ndarray:
        region = self.regions[number]
        return region.data[: region.nbytes].view(dtype)
