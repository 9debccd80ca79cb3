"""The PTX interpreter's threads, memory and parser, on small texts: what the PTX manual says, and
what it refuses.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ptx_bench import HEAD, Bench

from lazyfuse.backends.cuda_ptx import faults
from lazyfuse.backends.cuda_ptx.parse import parse

# --- threads -------------------------------------------------------------------------------------


def test_divergent_loop() -> None:
    """Every thread leaves a loop after as many rounds as its number, and all meet again."""
    body = (
        "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n$loop:\nsetp.ge.u32 %p1, %r1, %r8;\n@%p1 bra $done;\n"
        "add.u32 %r1, %r1, 1;\nadd.u32 %r2, %r2, %r1;\nbra.uni $loop;\n$done:\n"
        "mad.wide.u32 %a1, %r8, 4, %a0;\nst.global.u32 [%a1], %r2;"
    )
    bench = Bench(body, [np.zeros(40, "u4")])
    bench.run(40)
    assert bench.array(0, "u4").tolist() == [n * (n + 1) // 2 for n in range(40)]
    assert bench.module.counts["st.global.u32"] == 40


def test_out_of_line_side_of_a_branch() -> None:
    """A shuffle waits for threads whose code lies behind it."""
    body = (
        "mov.u32 %r1, %r8;\nsetp.lt.u32 %p1, %r8, 5;\n@%p1 bra $far;\n$join:\n"
        "shfl.sync.bfly.b32 %r2|%p2, %r1, 1, 31, -1;\nmad.wide.u32 %a1, %r8, 4, %a0;\n"
        "st.global.u32 [%a1], %r2;\nret;\n$far:\nadd.u32 %r1, %r1, 100;\nbra.uni $join;"
    )
    bench = Bench(body, [np.zeros(32, "u4")])
    bench.run(32)
    values = [n + 100 * (n < 5) for n in range(32)]
    assert bench.array(0, "u4").tolist() == [values[n ^ 1] for n in range(32)]


@pytest.mark.parametrize("mode, source", [
    ("idx", lambda n: 7), ("up", lambda n: n - 3 if n >= 3 else n),
    ("down", lambda n: n + 3 if n < 29 else n), ("bfly", lambda n: n ^ 3),
])  # fmt: skip
def test_shuffles(mode: str, source: Callable[[int], int]) -> None:
    """Each mode, over two warps; a lane that reads past its warp keeps its own value."""
    by, bound = (7, 31) if mode == "idx" else (3, 0 if mode == "up" else 31)
    body = (
        f"shfl.sync.{mode}.b32 %r2|%p2, %r8, {by}, {bound}, -1;\n"
        "mad.wide.u32 %a1, %r8, 4, %a0;\nst.global.u32 [%a1], %r2;"
    )
    bench = Bench(body, [np.zeros(64, "u4")])
    bench.run(64)
    wanted = [32 * (n // 32) + source(n % 32) for n in range(64)]
    assert bench.array(0, "u4").tolist() == wanted


def test_votes() -> None:
    """ballot, any and all of the threads of a warp."""
    body = (
        "setp.lt.u32 %p1, %r8, 3;\nvote.sync.ballot.b32 %r1, %p1, -1;\n"
        "vote.sync.all.pred %p2, %p1, -1;\nselp.u32 %r2, 100, 0, %p2;\n"
        "vote.sync.any.pred %p3, %p1, -1;\nselp.u32 %r3, 1000, 0, %p3;\n"
        "add.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, %r3;\n"
        "mad.wide.u32 %a1, %r8, 4, %a0;\nst.global.u32 [%a1], %r1;"
    )
    bench = Bench(body, [np.zeros(64, "u4")])
    bench.run(64)
    assert bench.array(0, "u4").tolist() == [1007] * 32 + [0] * 32


def test_shared_memory_and_barrier() -> None:
    """A block turns its elements around through shared memory; each block has its own."""
    body = (
        ".shared .align 4 .b8 row[256];\nmov.u32 %r7, %ctaid.x;\nmov.u32 %r6, %ntid.x;\n"
        "mad.lo.u32 %r5, %r7, %r6, %r8;\nmov.u32 %r1, row;\nmad.lo.u32 %r2, %r8, 4, %r1;\n"
        "st.shared.u32 [%r2], %r5;\nbar.sync 0;\nsub.u32 %r3, %r6, %r8;\n"
        "mad.lo.u32 %r3, %r3, 4, %r1;\nld.shared.u32 %r4, [%r3+-4];\n"
        "mad.wide.u32 %a1, %r5, 4, %a0;\nst.global.u32 [%a1], %r4;"
    )
    bench = Bench(body, [np.zeros(128, "u4")])
    bench.run(64, blocks=2)
    assert bench.array(0, "u4").tolist() == [*range(63, -1, -1), *range(127, 63, -1)]


@pytest.mark.parametrize("order", [0, 1, 5])
def test_atomics(order: int) -> None:
    """Every thread adds once, whoever goes first."""
    body = "atom.global.add.u32 %r1, [%a0], 1;\nred.global.max.u32 [%a0+4], %r8;"
    bench = Bench(body, [np.zeros(2, "u4")])
    bench.run(50, blocks=7, order=order)
    assert bench.array(0, "u4").tolist() == [350, 49]


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("body, fault, words", [
    ("frobnicate.b32 %r1, %r2;", faults.UnknownInstruction, "frobnicate.b32"),
    ("add.rz.f64 %fd1, %fd2, %fd3;", faults.UnknownInstruction, "rounding .rz of add"),
    ("ld.global.L2::128B.v3.u32 %r1, [%a0];", faults.UnknownInstruction, "'L2', 'v3'"),
    ("bar.sync 1;", faults.UnknownInstruction, "a barrier of less than the block"),
    ("ld.global.u32 %r1, [%a0+16];", faults.PtxMemoryError, "offset 16 of 16 bytes of global"),
    ("ld.global.u32 %r1, [%a0+-4];", faults.PtxMemoryError, "below all memory"),
    ("ld.global.v2.u32 {%r1, %r2}, [%a0+4];", faults.PtxMemoryError, "odd address"),
    ("st.global.u32 [%a0], %r8;", faults.PtxRaceError, "32 threads write different values"),
    ("ld.global.u32 %r1, [%a0];\nadd.u32 %r1, %r1, %r8;\nsetp.eq.u32 %p1, %r8, 3;\n"
     "@%p1 st.global.u32 [%a0], %r1;", faults.PtxRaceError, "thread 3 of block 0 and a read"),
    ("setp.lt.u32 %p1, %r8, 7;\n@%p1 bar.sync 0;\nbar.sync 0;", faults.PtxBarrierError,
     "different barriers, lines"),
    ("setp.lt.u32 %p1, %r8, 7;\n@%p1 bra $out;\nbar.sync 0;\nbra.uni $end;\n$out:\n"
     "shfl.sync.idx.b32 %r1, %r8, 0, 31, -1;\n$end:", faults.PtxBarrierError, "shfl.sync"),
])  # fmt: skip
def test_faults_name_their_line(body: str, fault: type[faults.PtxFault], words: str) -> None:
    """What a GPU forbids, leaves open, or nobody taught the interpreter."""
    with pytest.raises(fault) as raised:
        Bench(body, [np.zeros(4, "u4")]).run(32)
    assert words in str(raised.value)


def test_parser() -> None:
    """Linkage, alignment, initial values, scopes, functions with results, comments."""
    module = parse(
        HEAD + "// a comment; with { signs\n.global .align 8 .b16 table[3] = {1, 0xffff};\n"
        ".func (.param .b64 r) f\n(\n.param .b64 p\n)\n;\n"
        ".visible .entry k(.param .u64 .ptr .global .align 4 a, .param .align 8 .b8 s[16])\n"
        ".maxntid 256, 1, 1\n{\n.reg .b32 %r<3>;\n{\n.reg .b16 %temp;\n"
        "mov.b32 {%temp, _}, %r1;\n}\n/* lines\n*/ @!%p1 add.s32 %r2, %r1, -1;\nret;\n}\n"
    )
    assert module.variables["table"].content == b"\1\0\xff\xff"
    kernel = module.functions["k"]
    assert [parameter.nbytes for parameter in kernel.parameters] == [8, 16]
    assert kernel.registers["%temp.1"] == 16 and list(module.functions) == ["k"]
    move, add, _ = kernel.instructions
    assert move.operands == ("{%temp.1, _}", "%r1")
    assert (add.predicate, add.negated, add.operands) == ("%p1", True, ("%r2", "%r1", "-1"))
    text = (HEAD + "...").count("\n")
    assert add.line > text
    with pytest.raises(faults.PtxSyntaxError):
        parse(f"{HEAD}.visible .entry k()\n{{\n.reg .b32 %r1\n")
