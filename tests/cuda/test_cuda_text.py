"""What the renderers write: golden text, strategies, limits, and what NVRTC makes of it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from cuda_cases import Case, elementwise_case
from cuda_check import import_build
from cuda_kernels import fold_case, normal, positive, softmax_case

from lazyfuse.backends.base import Unsupported
from lazyfuse.backends.cuda.backend import RENDER_VERSION
from lazyfuse.backends.cuda.executable import pack_binary, symbol, unpack_binary
from lazyfuse.backends.cuda.render_body import literal
from lazyfuse.backends.cuda.strategy import Policy, Strategy, choose, render_own
from lazyfuse.ir.kernel import Lanes
from lazyfuse.ops.body import cast

GOLDEN = Path(__file__).with_name("golden")


def mul_add(dtype: str = "f4", n: int = 64, **how: object) -> Case:
    x = np.ones(n, dtype)
    return elementwise_case("mul_add", [x, x], lambda b, p, q: p * q + 1, [x], **how)  # type: ignore[arg-type]


def golden_cases() -> dict[str, Case]:
    row = np.ones((8, 6), "f2")
    half = elementwise_case(
        "half_broadcast",
        [row, row[:, :1]],
        lambda b, p, q: cast(cast(p, "f4") * cast(q, "f4"), "f2"),
        [row],
        generic=True,
        index="i4",
    )
    sums = fold_case("column_sum", positive(6, 5), "add", np.zeros(6), 1, lanes=Lanes.OUTER)
    return {
        "mul_add": mul_add(),
        "half_broadcast": half,
        "column_sum": sums,
        "softmax": softmax_case(normal(4, 6, dtype="f8"), Lanes.INNER, "f8"),
    }


@pytest.mark.parametrize("name", golden_cases())
def test_golden_text(name: str) -> None:
    """The text of a few kernels, read and approved.

    To approve a change: delete the file and run again.
    """
    text = render_own(golden_cases()[name].kernel, f"lf_{name}").source
    path = GOLDEN / f"{name}.cu"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        pytest.fail(f"{path} did not exist: read it")
    assert text == path.read_text()


def test_render_version_follows_the_text() -> None:
    """Binaries of older texts must not be loaded: golden text and version change together.

    Bump RENDER_VERSION and set the digest here.
    """
    texts = [render_own(case.kernel, "lf_x").source for case in golden_cases().values()]
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()[:12]
    assert (RENDER_VERSION, digest) == (7, "fda92a1b1bf2")


# --- what NVRTC makes of it ----------------------------------------------------------------------


def ptx_of(case: Case) -> str:
    return import_build().build_ptx(render_own(case.kernel, f"lf_{case.name}").source, "90")


def entry(ptx: str, name: str) -> str:
    """The text of one `.entry`."""
    return ptx[ptx.index(f".entry {name}(") :].split(".visible .entry")[0]


def test_contiguous_f4_moves_16_bytes() -> None:
    """Loads and stores of four floats; no contraction, no flush to zero, no local memory."""
    ptx = ptx_of(mul_add())
    vector = entry(ptx, "lf_mul_add_v")
    assert vector.count("ld.global.v4") == 2 and vector.count("st.global.wb.v4") == 1
    assert "fma" not in ptx and ".ftz" not in ptx and ".local" not in ptx


@pytest.mark.parametrize("dtype, load", [("u1", "ld.global.v4"), ("f8", "ld.global.v2")])
def test_packs_of_other_widths(dtype: str, load: str) -> None:
    """16 bytes are one access, whatever they hold."""
    ptx = ptx_of(mul_add(dtype))
    assert load in entry(ptx, "lf_mul_add_v")
    assert ".local" not in ptx


def test_half_packs_stay_in_registers() -> None:
    """Eight halves per access, converted in registers."""
    x = np.ones(64, "f2")
    case = elementwise_case("half", [x], lambda b, p: cast(cast(p, "f4") / 3.0, "f2"), [x])
    ptx = ptx_of(case)
    assert re.search(r"ld\.global\.v4\.(u32|b32)", entry(ptx, "lf_half_v"))
    assert "cvt.f32.f16" in ptx and "cvt.rn.f16.f32" in ptx and ".local" not in ptx


def test_one_axis_needs_no_division() -> None:
    """Positions are divided only where there are axes to tell apart."""
    assert not re.search(r"\b(div|rem)\.[us]", ptx_of(mul_add()))


def test_narrow_index_is_divided_in_32_bits() -> None:
    """`index=i4` keeps index arithmetic in 32 bits."""
    ptx = ptx_of(golden_cases()["half_broadcast"])
    assert not re.search(r"\b(div|rem|mul\.hi)\.[us]64", ptx)
    assert "mul.hi.u32" in ptx


def test_reduction_loads_packs() -> None:
    """A full sum of float32 reads 16 bytes at a time and keeps its state in registers."""
    ptx = ptx_of(fold_case("total", positive(4096), "add", np.array(0.0), 0))
    assert "ld.global.v4" in ptx and "shfl.sync.bfly" in ptx and ".local" not in ptx


# --- strategies ----------------------------------------------------------------------------------


def test_strategies() -> None:
    """Own text; cupy's kernels where they are asked for and exact."""
    wide = mul_add("f8").kernel
    total = fold_case("total", positive(64, dtype="f8"), "add", np.array(0.0), 0).kernel
    rows = fold_case("rows", positive(8, 9, dtype="f8"), "add", np.zeros(8), 1).kernel
    assert choose(wide) is choose(mul_add("i8").kernel) is choose(total) is Strategy.OWN
    assert choose(wide, Policy.CUPY) is Strategy.ELEMENTWISE_KERNEL
    assert choose(mul_add("i8").kernel, Policy.CUPY) is Strategy.ELEMENTWISE_KERNEL
    assert choose(total, Policy.CUPY) is Strategy.REDUCTION_KERNEL
    assert choose(wide, Strategy.OWN) is choose(total, Strategy.OWN) is Strategy.OWN
    assert choose(rows) is Strategy.OWN
    assert choose(rows, Policy.CUPY) is Strategy.REDUCTION_KERNEL
    assert choose(mul_add("u1").kernel) is Strategy.OWN
    assert choose(mul_add("u1").kernel, Policy.CUPY) is Strategy.ELEMENTWISE_KERNEL


def test_cupy_never_sees_float32() -> None:
    """Its compiler flushes denormals: not even a float32 in the middle of a float64 kernel goes
    there, nor a function of float64.
    """
    x = np.ones(9)
    inside = elementwise_case("inside", [x, x], lambda b, p, q: cast(cast(p, "f4"), "f8") + q, [x])
    function = elementwise_case("function", [x], lambda b, p: p.unary("log"), [np.log(x)])
    for case in (inside, function, mul_add("f4"), mul_add("f2", generic=True), mul_add("c16")):
        assert choose(case.kernel, Policy.CUPY) is Strategy.OWN
    softmax = softmax_case(normal(4, 6, dtype="f8"), Lanes.INNER, None)
    assert choose(softmax.kernel, Policy.CUPY) is Strategy.OWN


# --- limits and names ----------------------------------------------------------------------------


def test_missing_cell() -> None:
    """Arithmetic on float16 or complex is for composite to expand: the renderer says so."""
    x = np.ones(4, "f2")
    case = elementwise_case("half_add", [x], lambda b, p: p + p, [x])
    with pytest.raises(Unsupported, match="add on f2"):
        render_own(case.kernel, "lf_half_add")


def test_symbol() -> None:
    """Any readable name becomes an identifier; binaries keep the name they were compiled under."""
    assert symbol("mul add<f4> exp") == "lf_mul_add_f4_exp"
    assert symbol("lf_ready") == "lf_ready"
    assert len(symbol("x" * 500)) == 100
    assert unpack_binary(pack_binary("lf_name", b"\0\1code")) == ("lf_name", b"\0\1code")


@pytest.mark.parametrize("value, dtype, text", [
    (1.5, "f8", "0x1.8p+0"), (0.1, "f4", "0x1.99999ap-4f"), (-0.0, "f8", "-0x0p+0"),
    (float("-inf"), "f4", "__int_as_float(0xff800000)"),
    (1e300, "f4", "__int_as_float(0x7f800000)"),
    (-(2**63), "i8", "(-9223372036854775807LL - 1)"), (2**64 - 1, "u8", "18446744073709551615ULL"),
    (-128, "i1", "(signed char)-128LL"), (True, "b1", "true"), (1.0, "f2", "h16{0x3c00}"),
])  # fmt: skip
def test_literal(value: float, dtype: str, text: str) -> None:
    """Constants keep every bit."""
    assert literal(value, dtype) == text
