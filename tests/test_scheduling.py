"""The order of instructions in long stretches: the same values, and no more of them at once than
asked for, where that can be."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import pairwise

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.backends.cpu import emit_rounds, emit_text  # noqa: E402 - when there is an engine
from lazyfuse.backends.cpu.scheduling import scheduled  # noqa: E402 - likewise

KIND = "<16 x double>"
NAME = re.compile(r"%[\w.]+")


def stretch(seed: int, length: int = 300) -> list[str]:
    """Random loads, arithmetic and stores, with values that nobody reads."""
    draw = random.Random(seed)
    lines = [f"%v{k} = load {KIND}, ptr %in{k}, align 8" for k in range(4)]
    for k in range(4, length):
        kind = draw.random()
        a, b = draw.randrange(max(0, k - 20), k), draw.randrange(k)
        while lines[a].startswith("store"):
            a -= 1
        while lines[b].startswith("store"):
            b -= 1
        if kind < 0.05:
            lines.append(f"store {KIND} %v{a}, ptr %in{draw.randrange(4)}, align 8")
        elif kind < 0.1:
            lines.append(f"%v{k} = load {KIND}, ptr %in{draw.randrange(4)}, align 8")
        else:
            operation = draw.choice(("fadd", "fmul", "fdiv"))
            lines.append(f"%v{k} = {operation} {KIND} %v{a}, %v{b}")
    return lines


def run(lines: list[str]) -> dict[str, int]:
    """What the memory holds after the instructions, with values as hashes of what makes them."""
    values: dict[str, int] = {}
    memory = {f"%in{k}": k for k in range(4)}
    for line in lines:
        names = NAME.findall(line)
        if line.startswith("store"):
            memory[names[1]] = values[names[0]]
        elif " = load" in line:
            values[names[0]] = memory[names[1]]
        else:
            operation = line.split()[2]
            values[names[0]] = hash((operation, *(values[name] for name in names[1:])))
    return memory


def most_alive(lines: list[str]) -> int:
    last = {name: place for place, line in enumerate(lines) for name in NAME.findall(line)}
    alive, most = set(), 0
    for place, line in enumerate(lines):
        names = [name for name in NAME.findall(line) if name.startswith("%v")]
        alive.update(names[:1] if " = " in line else [])
        alive -= {name for name in alive if last[name] <= place}
        most = max(most, len(alive))
    return most


@pytest.mark.parametrize("registers", (1, 8, 12, 100))
@pytest.mark.parametrize("seed", range(20))
def test_values_are_the_same(seed: int, registers: int) -> None:
    """Each value is defined before it is read, and writes and reads of memory keep their order."""
    lines = stretch(seed)
    found = scheduled(lines, registers)
    assert run(found) == run(lines)
    assert not Counter(found) - Counter(lines)


def test_what_nobody_reads_is_left_out() -> None:
    lines = [
        *stretch(1),
        "%dead = fadd <16 x double> %v0, %v1",
        "%more = fmul <16 x double> %dead, %v2",
    ]
    found = scheduled(lines, 12)
    assert not any(line.startswith(("%dead", "%more")) for line in found)


@pytest.mark.parametrize(
    "line",
    (
        "fence seq_cst",
        "%old = atomicrmw add ptr %in0, i64 1 seq_cst",
        "%now = load volatile i64, ptr %in0",
        "%found = tail call double @sin(double 1.0)",
        "%found = call double @sin(double 1.0)",
        "call void @llvm.x86.sse.ldmxcsr(ptr %in0)",
    ),
)
def test_what_does_more_keeps_its_place(line: str) -> None:
    """Between the loads and stores before it and those after it, and is not left out."""
    first, second = stretch(4), [each.replace("%v", "%w") for each in stretch(5)]
    found = scheduled([*first, line, *second], 12)
    place = found.index(line)
    memory = [each for each in (*first, *second) if "%in" in each]
    before = [each for each in memory if each in first]
    assert not set(before) & set(found[place:])
    assert not {each for each in memory if "%w" in each} & set(found[:place])


def test_labels_and_branches_stay() -> None:
    """Stretches end at them, and what a later block reads is kept."""
    first, second = stretch(2), [line.replace("%v", "%w") for line in stretch(3)]
    branch = "br i1 %flag, label %slow, label %done"
    merged = f"%m = phi {KIND} [ %v0, %entry ], [ %v7, %slow ]"
    kept = f"store {KIND} %m, ptr %in0"
    lines = [*first, branch, "slow:", "br label %done", "done:", merged, *second, kept]
    found = scheduled(lines, 12)
    fixed = [
        line for line in lines if line.endswith(":") or line.startswith("br") or "phi" in line
    ]
    assert [line for line in found if line in fixed] == fixed
    place = found.index(branch)
    assert set(found[:place]) <= set(first)
    assert any(line.startswith("%v7 =") for line in found[:place])


def test_chains_run_side_by_side_in_few_registers() -> None:
    """Eight independent chains, written one after the other: in reach of each other afterwards,
    and more of them where there are more registers."""
    lines = [f"%x = load {KIND}, ptr %in0"]
    for chain in range(8):
        lines.append(f"%v{chain}.0 = fmul {KIND} %x, splat (double 2.0)")
        lines += [f"%v{chain}.{k} = fadd {KIND} %v{chain}.{k - 1}, %x" for k in range(1, 30)]
    lines += [f"store {KIND} %v{chain}.29, ptr %out{chain}" for chain in range(8)]
    few, many = scheduled(lines, 4), scheduled(lines, 12)
    assert most_alive(few) <= 5
    assert most_alive(many) >= 8
    starts = [place for place, line in enumerate(many) if ".0 = " in line]
    assert max(starts) < 40


@pytest.mark.parametrize("name", ("fdiv", "call"))
def test_divisions_are_apart(name: str) -> None:
    """Four that could all be first, beside long chains that wait for nobody; and where there is
    nothing else to do, they are taken as they come."""
    root = f"call {KIND} @llvm.sqrt.v16f64({KIND} %x)"
    divided = {"fdiv": f"fdiv {KIND} %x, %x", "call": root}[name]
    lines = [f"%x = load {KIND}, ptr %in0", *(f"%d{k} = {divided}" for k in range(4))]
    stores = [f"store {KIND} %d{k}, ptr %out{k}" for k in range(4)]
    for chain in range(8):
        lines.append(f"%v{chain}.0 = fmul {KIND} %x, splat (double 2.0)")
        lines += [f"%v{chain}.{k} = fadd {KIND} %v{chain}.{k - 1}, %x" for k in range(1, 30)]
        stores.append(f"store {KIND} %v{chain}.29, ptr %other{chain}")
    found = scheduled([*lines, *stores], 20)
    places = [place for place, line in enumerate(found) if line.startswith("%d")]
    assert min(b - a for a, b in pairwise(places)) >= 20
    alone = [*lines[:5], *(f"%e{k} = {divided}" for k in range(120))]
    alone += [f"store {KIND} %e{k}, ptr %out{k}" for k in range(120)] + stores[:4]
    assert sorted(scheduled(alone, 20)) == sorted(alone)


@pytest.mark.cpu("an order of instructions to choose")
def test_a_kernel_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the instructions in the order in which they were written."""
    draw = host.random.default_rng(0)
    arrays = draw.uniform(0.1, 3.0, (4, 10_007))

    def program() -> bytes:
        with lf.options(disk_cache=False):
            lf.cache_clear()
            a, b, c, d = (lf.array(each) for each in arrays)
            root = c * lf.sqrt(d)
            first = (lf.log(a / b) + (0.3 + 0.5 * c * c) * d) / root
            second = first - root
            found = a * lf.exp(-first * first) - b * lf.exp(-0.1 * d) * lf.exp(-second * second)
            return host.asarray(found).tobytes()

    asked: list[int] = []
    monkeypatch.setattr(emit_rounds, "DEEP", 10**9)  # stages have an order of their own

    def as_written(lines: list[str], registers: int) -> list[str]:
        asked.append(len(lines))
        return lines

    in_order = program()
    monkeypatch.setattr(emit_text, "scheduled", as_written)
    assert program() == in_order
    if "avx512f" in lf.runtime.session.backend("cpu").compiler.features:
        assert asked
