"""`options(cuda_strategy=...)`: each strategy is taken where it applies, and `explain` says where
it does not. That all of them compute what NumPy computes, test_cuda_ladder.py shows on programs.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from cuda_cases import Case, elementwise_case, run_case
from cuda_check import mismatch, needs_host
from cuda_kernels import fold_case, normal, positive, reduction_cases, softmax_case

import lazyfuse as lf
from lazyfuse.backends.cuda.launch import Layout, OwnLaunch, bind
from lazyfuse.backends.cuda.program import Program, Strategy
from lazyfuse.backends.cuda.strategy import CUPY, WANTED, Policy, choose, obstacle, render_own
from lazyfuse.backends.cuda_host import CudaHostBackend
from lazyfuse.config import Options
from lazyfuse.ir.kernel import Lanes

pytestmark = [pytest.mark.engine, needs_host]
REDUCTIONS = (
    Strategy.ROWS_BY_WARP, Strategy.ROWS_BY_BLOCK, Strategy.COLUMNS, Strategy.ONE_PASS,
)  # fmt: skip
#: Kernels of the default run: one of so many.
SLICE = 5


def programs(xp: Any, x: Any, y: Any) -> dict[str, Any]:
    """One array per kind of kernel."""
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return {
        "elementwise": x * 2 + 1,
        "narrow": y * 2 + 1,
        "strided": x[:, ::3] * 2,
        "costly": functools.reduce(lambda value, _: xp.sin(value), range(12), x),
        "softmax": e / e.sum(axis=1, keepdims=True),
        "columns": x.sum(axis=0),
        "total": y.sum(),
        "largest": y.argmax(axis=1),
        "scan": xp.cumsum(y, axis=1),
        "picked": x[:, xp.array([3, 1, 1])] * 2,
    }


#: What `explain` says, where it is not what it says for "own".
OWN = {
    "elementwise": "vectorized", "narrow": "vectorized", "strided": "strided", "costly": "strided",
    "softmax": "rows-by-block", "columns": "columns", "total": "rows-by-block",
    "largest": "rows-by-block", "scan": "scan-by-block", "picked": "strided",
}  # fmt: skip
FORCED = {
    "vectorized": {"costly": "vectorized", "strided": "strided (no 16 bytes"},
    "strided": {"elementwise": "strided", "narrow": "strided"},
    "rows-by-warp": dict.fromkeys(("softmax", "columns", "total", "largest"), "rows-by-warp"),
    "rows-by-block": {"columns": "rows-by-block"},
    "columns": dict.fromkeys(("softmax", "total", "largest"), "columns"),
    "one-pass": {"softmax": "rows-by-block, one-pass", "columns": "columns, one-pass"},
    "scan-by-thread": {"scan": "scan-by-thread"},
    "scan-by-block": {"total": "rows-by-block, one-pass (it is no scan: not scan-by-block)"},
    "ElementwiseKernel": {"elementwise": "vectorized (cupy needs a GPU: not ElementwiseKernel)"},
}


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return rng.normal(size=(8, 600)), rng.integers(0, 99, (8, 600)).astype("i4")


def test_the_option_names_them() -> None:
    """`config` imports nothing, so the names stand there again."""
    field = Options.__dataclass_fields__["cuda_strategy"]
    assert set(field.metadata["choices"]) == set(WANTED)
    with (
        pytest.raises(ValueError, match="cuda_strategy must be one of"),
        lf.options(cuda_strategy="fastest"),
    ):
        pass


@pytest.mark.parametrize("wanted", ["own", *FORCED])
def test_explain_says_how_kernels_run(wanted: str) -> None:
    """The strategy of each kernel, and the reason where it is not the one that was asked for; the
    answers are NumPy's.
    """
    with lf.options(device="cuda-host", disk_cache=False, cuda_strategy=wanted):
        x, y = (lf.array(array) for array in data())
        found = programs(lf, x, y)
        for name, array in found.items():
            line = next(text for text in lf.explain(array).splitlines() if "strategy" in text)
            said = line.strip().removeprefix("strategy ")
            assert said.startswith(FORCED.get(wanted, {}).get(name, OWN[name])), (name, said)
            assert wanted in said or wanted == "own", (name, said)
        values = {name: lf.asnumpy(array) for name, array in found.items()}
    for name, expected in programs(np, *data()).items():
        np.testing.assert_allclose(values[name], expected, rtol=1e-12, err_msg=name)


def test_other_devices_have_one_way() -> None:
    """On the CPU the option changes nothing, and `explain` says nothing of it."""
    with lf.options(device="cpu", cuda_strategy="columns"):
        assert "strategy" not in lf.explain(lf.array(data()[0]).sum(axis=1))


# ---- what a strategy does


def launch_of(case: Case, strategy: Strategy) -> tuple[Program, OwnLaunch]:
    """The launch of a case, without functions."""
    program = render_own(case.kernel, "lf_forced", strategy)
    strides = tuple(
        tuple(
            0 if extent == 1 else stride // array.itemsize
            for extent, stride in zip(array.shape, array.strides, strict=True)
        )
        for array in case.arrays
    )
    layout = Layout.of(case.kernel, case.extents, strides, (0,) * len(strides))
    return program, bind(program, CudaHostBackend().runtime, {}, layout)


@pytest.mark.parametrize("lanes", [Lanes.INNER, Lanes.OUTER])
@pytest.mark.parametrize("strategy", REDUCTIONS)
def test_layouts_of_threads(strategy: Strategy, lanes: Lanes) -> None:
    """A warp, a block, blocks that share, or threads across columns, whatever the kernel says."""
    case = fold_case("sum", positive(40, 900), "add", np.zeros(40), 1, lanes=lanes)
    program, launch = launch_of(case, strategy)
    (lanes_x, rows), splits = launch.geometry.block, launch.geometry.splits
    assert strategy in launch.strategy
    if strategy is Strategy.ROWS_BY_WARP:
        assert (lanes_x, lanes_x * rows, splits) == (32, 64, 1)
    if strategy is Strategy.ROWS_BY_BLOCK:
        assert (lanes_x, rows, splits) == (64, 1, 1)
    if strategy is Strategy.COLUMNS:
        assert "column[" in program.source and splits == 1
    if strategy is Strategy.ONE_PASS:
        assert splits > 1 and len(launch.ranges) == 1


def test_packs() -> None:
    """`vectorized` packs a body that is computed rather than moved; `strided` packs nothing."""
    x = positive(64)
    sines = functools.partial(functools.reduce, lambda value, _: value.unary("sin"), range(12))
    case = elementwise_case("costly", [x], lambda b, p: sines(p), [x])
    assert render_own(case.kernel, "lf_x").vector_entry is None
    assert render_own(case.kernel, "lf_x", Strategy.VECTORIZED).vector_entry == "lf_x_v"
    plain = elementwise_case("plain", [x], lambda b, p: p + p, [x])
    assert render_own(plain.kernel, "lf_x").vector_entry == "lf_x_v"
    assert render_own(plain.kernel, "lf_x", Strategy.STRIDED).vector_entry is None


def test_what_does_not_apply_falls_back() -> None:
    """To what would be chosen otherwise; cupy's strategies only where they change no result."""
    x = positive(64, dtype="f8")
    wide = elementwise_case("wide", [x, x], lambda b, p, q: p * q, [x]).kernel
    narrow = elementwise_case("narrow", [x.astype("f4")], lambda b, p: p * p, [x]).kernel
    softmax = softmax_case(normal(4, 6, dtype="f8"), Lanes.INNER, None).kernel
    assert choose(wide, Strategy.ELEMENTWISE_KERNEL) is Strategy.ELEMENTWISE_KERNEL
    assert choose(narrow, Strategy.ELEMENTWISE_KERNEL) is Strategy.OWN
    assert choose(wide, Strategy.REDUCTION_KERNEL) is choose(wide) is Strategy.OWN
    assert choose(wide, Strategy.COLUMNS, has_cupy=False) is Strategy.OWN
    assert choose(softmax, Policy.CUPY) is choose(softmax, Strategy.REDUCTION_KERNEL)
    assert all(
        (choose(kernel, strategy) is strategy) == (not obstacle(kernel, strategy))
        for kernel in (narrow, softmax)
        for strategy in Strategy
        if strategy not in (Strategy.OWN, *CUPY)
    )


@pytest.mark.parametrize("strategy", REDUCTIONS)
def test_kernels_by_every_layout(strategy: Strategy, full: bool) -> None:
    """The kernels of test_cuda_kernels.py, larger than random programs are; shuffled threads."""
    cases = {case.kernel.digest: case for case in reduction_cases() if not case.kernel.scan}
    chosen = list(cases.values())[:: 1 if full else SLICE]
    backend = CudaHostBackend(order=3, level=0)
    with lf.options(cuda_strategy=strategy.value):
        built = backend.compile_many([(case.kernel, case.name) for case in chosen])
    found = [
        mismatch(case, run_case(case, backend, executable))
        for case, executable in zip(chosen, built, strict=True)
    ]
    assert [text for text in found if text] == []
    assert {executable.program.strategy for executable in built} == {strategy}
