"""No kernel writes outside its buffers: the programs of `test_writes.py` between guard bytes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import Program
from tests.test_writes import CASES

GUARD = 4096


class Guards:
    """Memory of the CPU backend with guard bytes around each block, which no kernel may touch."""

    def __init__(self, buffers: Any) -> None:
        self.buffers = buffers
        self.blocks: list[tuple[Any, int, int]] = []

    def new_block(self, capacity: int) -> Any:
        """Stand in for the backend's own function."""
        owner = host.full(capacity + 64 + 2 * GUARD, 0xAB, host.uint8)
        start = owner.ctypes.data
        pointer = -(-(start + GUARD) // 64) * 64
        self.blocks.append((owner, pointer - start, capacity))
        return self.buffers.Block(owner, pointer, capacity)

    def intact(self) -> bool:
        """Say whether all guard bytes are as they were."""
        return all(
            (owner[:begin] == 0xAB).all() and (owner[begin + size :] == 0xAB).all()
            for owner, begin, size in self.blocks
        )


@pytest.fixture
def guards(monkeypatch: pytest.MonkeyPatch) -> Guards:
    """Guard every block that the CPU backend allocates from here on."""
    buffers = importlib.import_module("lazyfuse.backends.cpu.buffers")
    made = Guards(buffers)
    monkeypatch.setattr(buffers, "_new_block", made.new_block)
    monkeypatch.setattr(buffers, "size_class", lambda nbytes: max(nbytes, 1))
    return made


def unfused_column(np: Any, x: Any) -> None:
    """The value of `view += 1` was stored with the view's strides into a dense buffer."""
    x[:, 0] += 1
    x[..., ::-2] *= 2
    b = x[0].astype("f4")
    b[::-1] += b


@pytest.mark.engine
@pytest.mark.parametrize("fusion", (True, False))
@pytest.mark.parametrize(
    "program,arrays",
    [*CASES, (unfused_column, (host.arange(30.0).reshape(5, 6),))],
    ids=[*(case[0].__name__ for case in CASES), "unfused_column"],
)
def test_no_kernel_writes_outside_its_buffers(
    program: Program, arrays: tuple[Any, ...], fusion: bool, guards: Guards
) -> None:
    """Guard bytes around every block survive."""
    with oracle.options(fusion=fusion):
        list(oracle.differences(program, *arrays))
    assert guards.intact()
