"""What runs as one kernel, what does not and why, and that fusion never shows in the bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import corpus, oracle, programs

EXAMPLES = programs.examples()


def kernels(program: Callable[..., Any], *arrays: Any) -> int:
    """Count the kernels that one run of a program launches."""
    lf = oracle.lf
    held = [oracle.to_lazy(array) for array in arrays]
    lf.materialize(*held)
    lf.reset_stats()
    result = program(lf, *held)
    lf.materialize(*(result if isinstance(result, tuple) else (result,)))
    assert lf.stats().fallbacks == 0
    return int(lf.stats().kernels_launched)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_equal_numpy(name: str) -> None:
    """Each named program gives NumPy's answer, bit for bit unless it holds a transcendental
    function.
    """
    example = EXAMPLES[name]
    oracle.check(
        example.program, *example.arrays, ulp=example.ulp, sums=True, normwise=example.normwise
    )


@pytest.mark.engine
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_keep_their_bits(name: str) -> None:
    """Fused or not, one thread or two, cut short or whole: the same bits."""
    example = programs.examples(scale=9)[name]
    oracle.same_bits(example.program, *example.arrays)


@pytest.mark.engine
@pytest.mark.parametrize("name", EXAMPLES)
def test_kernel_counts(name: str) -> None:
    """The bars: a program takes no more kernels than stated beside it."""
    example = EXAMPLES[name]
    assert kernels(example.program, *example.arrays) <= example.kernels


@pytest.mark.engine
def test_one_kernel_bars() -> None:
    """The bars of the project's first issue, at the sizes of a benchmark."""
    for name in ("affine_sum", "chain", "softmax", "layer_norm", "standardize"):
        example = programs.examples(scale=20)[name]
        assert kernels(example.program, *example.arrays) == 1, name


@pytest.mark.engine
@pytest.mark.parametrize("shape", [(7, 5), (300, 3), (3, 300), (1, 64), (64, 1), (1, 1)])
def test_row_kernels_in_many_shapes(shape: tuple[int, int]) -> None:
    """Softmax, layer norm and standardize stay one kernel, and right, at awkward shapes."""
    x = corpus.random_values("f4", shape[0] * shape[1]).reshape(shape)
    g = x[0].copy()
    for program, arrays in (
        (programs.softmax, (x,)),
        (programs.layer_norm, (x, g, g)),
        (programs.standardize, (x,)),
    ):
        oracle.check(program, *arrays, ulp=16 if program is programs.softmax else 0, sums=True)
        assert kernels(program, *arrays) == 1, program.__name__


@pytest.mark.engine
def test_several_outputs_share_a_kernel() -> None:
    """Outputs over one space are written by one kernel, also when one is the input of another."""

    def program(np: Any, x: Any) -> Any:
        y = x * 2 + 1
        return y, np.sqrt(abs(y)), x - y, y > 0

    values = corpus.random_values("f8", 5000)
    oracle.check(lambda np, x: list(program(np, x)), values)
    assert kernels(program, values) == 1


@pytest.mark.engine
def test_strided_views_fuse() -> None:
    """Slices, transposes and broadcasts are read in place: no kernel and no copy of their own."""
    x = corpus.random_values("f8", 6000).reshape(60, 100)
    assert kernels(lambda np, x: x[::2, ::-1] * 2 + x[1::2, :1] - x[0], x) == 1
    assert kernels(lambda np, x: x[:60, :60] + x[:60, :60].T, x) == 1


@pytest.mark.engine
def test_what_follows_from_several_reductions() -> None:
    """What no reduction's kernel can store has one of its own, but for rows so short that kernels
    compute it once for each."""

    def program(np: Any, x: Any) -> Any:
        means = x.mean(axis=1)
        return x * ((means - means.mean()) / means.std())[:, None]

    for columns, expected in ((3, 4), (7, 4), (8, 5), (16, 5)):
        x = corpus.random_values("f8", 70_000 * columns).reshape(70_000, columns)
        assert kernels(program, x) == expected, columns
        oracle.check(program, x, sums=True)


@pytest.mark.engine
def test_unfused_runs_one_kernel_per_op() -> None:
    """`fusion=False` gives each operation its own kernel."""
    x = corpus.random_values("f8", 5000)
    with oracle.options(fusion=False):
        assert kernels(lambda np, x: (x * 2 + 1) - x, x) == 3


@pytest.mark.engine
def test_metadata_and_dead_work_launch_nothing() -> None:
    """Results that nobody holds are not computed."""
    x = corpus.random_values("f8", 5000)

    def program(np: Any, x: Any) -> Any:
        np.exp(x).sum()
        (x + 1).mean(0)
        return x * 2

    assert kernels(program, x) == 1


@pytest.mark.engine
def test_equal_work_is_done_once() -> None:
    """The same expression recorded twice is computed once."""
    x = corpus.random_values("f8", 5000)
    lf = oracle.lf
    a = oracle.to_lazy(x)
    lf.materialize(a)
    lf.reset_stats()
    b = lf.sqrt(abs(a) + 1) * 2
    c = lf.sqrt(abs(a) + 1) * 2
    lf.materialize(b, c)
    assert lf.stats().bytes_read <= 2 * x.nbytes and lf.stats().kernels_launched == 1


@pytest.mark.engine
def test_bytes_moved() -> None:
    """A fused chain reads each input once and writes each output once."""
    x = corpus.random_values("f8", 100_000)
    lf = oracle.lf
    a, b = oracle.to_lazy(x), oracle.to_lazy(x + 1)
    lf.materialize(a, b)
    lf.reset_stats()
    lf.materialize((a * b + 1 - b / 2) * a)
    assert lf.stats().bytes_read == 2 * x.nbytes and lf.stats().bytes_written == x.nbytes
    lf.reset_stats()
    lf.materialize((a * b + 1).sum())
    assert lf.stats().bytes_read == 2 * x.nbytes and lf.stats().bytes_written <= 64


#: program -> the refusal that `explain` must name. The words are those of the WhyNot enum's
#: members.
REFUSALS: dict[str, tuple[Callable[..., Any], str]] = {
    "matmul": (lambda np, x: np.matmul(x * 2, x) + 1, "opaque"),
    "reduce then broadcast the wrong way": (
        lambda np, x: (x.sum(axis=0)[:, None] + x) * 2, "reduce|space|order",
    ),
    "different spaces": (
        lambda np, x: np.concatenate([x * 2, x[:5] + 1]).sum(), "space|opaque|affine|hazard",
    ),
    "fusion off": (lambda np, x: x * 2 + 1, "disabled"),
}  # fmt: skip


@pytest.mark.engine
@pytest.mark.parametrize("name", REFUSALS)
def test_explain_says_why_not(name: str) -> None:
    """Each refusal to fuse is told with its reason."""
    program, words = REFUSALS[name]
    lf = oracle.lf
    x = oracle.to_lazy(corpus.random_values("f8", 1600).reshape(40, 40))
    with oracle.options(fusion=name != "fusion off"):
        result = program(lf, x)
        text = lf.explain(result).lower().replace("_", " ")
    assert any(word in text for word in words.split("|")), text


@pytest.mark.engine
def test_explain_of_one_kernel() -> None:
    """`explain` names groups, kernels and bytes, changes nothing, and forces nothing."""
    lf = oracle.lf
    x = oracle.to_lazy(corpus.random_values("f4", 1000))
    lf.materialize(x)
    y = lf.sqrt(x * x + 1)
    lf.reset_stats()
    text = lf.explain(y)
    assert lf.stats().kernels_launched == 0
    assert all(word in text for word in ("kernel", "reads", "writes", "sqrt", "multiply", "add"))
    assert lf.explain(y) == text


@pytest.mark.engine
def test_a_broadcast_fold_makes_no_temporary() -> None:
    """`exp(-d*d).sum(1)` over a 4000 x 4000 broadcast reads 64 kB and writes 32 kB (pitfall
    P23).
    """
    lf = oracle.lf
    a = oracle.to_lazy(host.linspace(0, 1, 4000))
    lf.materialize(a)
    lf.reset_stats()
    d = a[:, None] - a[None, :]
    s = lf.exp(-d * d).sum(1)
    lf.materialize(s)
    assert lf.stats().bytes_written <= 64_000
    assert (
        s.shape == (4000,)
        and abs(float(s[0]) - host.exp(-(host.linspace(0, 1, 4000) ** 2)).sum()) < 1e-9
    )


@pytest.mark.engine
def test_same_bits_cold_and_cached() -> None:
    """The first run, the second, and one after the cache was cleared agree to the bit."""
    lf = oracle.lf
    for name, example in EXAMPLES.items():
        lf.cache_clear()
        first, second = (oracle.evaluate(example.program, *example.arrays) for _ in range(2))
        lf.cache_clear()
        third = oracle.evaluate(example.program, *example.arrays)
        for other in (second, third):
            assert not list(oracle.compare("result", first, other)), name


@pytest.mark.engine
def test_time_steps_are_stored() -> None:
    """Each step is read by the next ones, and by stencils at five places: if none were stored, the
    kernels of later steps would compute all earlier ones again."""

    def wave(xp: Any, steps: int) -> Any:
        u = xp.zeros((40, 50))
        u[20, 25] = 1.0
        before = u.copy()
        for _ in range(steps):
            lap = xp.zeros_like(u)
            lap[1:-1, 1:-1] = (
                u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
            )
            before, u = u, 2 * u - before + 0.2 * lap
        return u

    lf, longest = oracle.lf, {}
    with lf.options(eager_size=0):
        for steps in (10, 40):
            text = lf.explain(wave(lf, steps))
            kernels = [line for line in text.splitlines() if "] kernel" in line]
            longest[steps] = max(int(line.split(" operations")[0].split()[-1]) for line in kernels)
            assert len(kernels) <= 4 * steps
        assert longest[40] == longest[10] <= 20
        host.testing.assert_array_equal(lf.asnumpy(wave(lf, 40)), wave(host, 40))


@pytest.mark.engine
def test_filters_of_filters_are_stored() -> None:
    """Each filter is read at several places by the next one: all are stored, or nearly."""
    lf = oracle.lf

    def blurred(xp: Any, a: Any) -> Any:
        for _ in range(8):
            a = (a[2:] + a[1:-1] + a[:-2]) / 3.0
            a = (a[:, 2:] + a[:, 1:-1] + a[:, :-2]) / 3.0
        return a

    values = host.random.default_rng(1).random((60, 70))
    with lf.options(eager_size=0):
        found = blurred(lf, lf.array(values))
        lines = [line for line in lf.explain(found).splitlines() if "] kernel" in line]
        longest = max(int(line.split(" operations")[0].split()[-1]) for line in lines)
        assert len(lines) >= 8 and longest <= 40
        host.testing.assert_array_equal(lf.asnumpy(found), blurred(host, values))


@pytest.mark.engine
def test_planning_takes_no_time_beyond_its_nodes() -> None:
    """Steps that read rows and columns of the one before: a kernel of all of them would compute
    some of each at every place, and planning looked at all of these."""
    lf = oracle.lf
    values = host.random.default_rng(2).random((70, 70))

    def shortest(xp: Any, length: Any) -> Any:
        for k in range(70):
            length = xp.minimum(length, length[:, k : k + 1] + length[k : k + 1, :])
        return length

    with lf.options(eager_size=0, cold_size=0):
        found = shortest(lf, lf.array(values))
        lines = [line for line in lf.explain(found).splitlines() if "] kernel" in line]
        assert 10 <= len(lines) <= 70
        host.testing.assert_array_equal(lf.asnumpy(found), shortest(host, values))


@pytest.mark.engine
def test_copies_of_maps_have_all_that_nodes_have() -> None:
    """They are copied attribute by attribute."""
    from lazyfuse.ir.node import Map
    from lazyfuse.ir.slots import slots_of

    lf = oracle.lf
    with lf.options(eager_size=0, cold_size=0):
        node = (lf.asarray(host.arange(6.0).reshape(2, 3)).T * 2.5)._storage.current()
    assert isinstance(node, Map) and node.signature
    copy = node.with_srcs(node.srcs[::-1])
    for name in slots_of(type(node)).names:
        if name not in ("srcs", "handle"):
            assert getattr(copy, name) is getattr(node, name), name
    assert copy.srcs == node.srcs[::-1] and copy.handle is None and type(copy) is type(node)


@pytest.mark.engine
@pytest.mark.parametrize("is_deep", [False, True])
def test_merged_graphs_keep_their_order(is_deep: bool) -> None:
    """They are not walked again: the verifier, which walks them, agrees, and refuses another
    order."""
    from lazyfuse.errors import VerifyError
    from lazyfuse.ir.graph import Graph, topological
    from lazyfuse.ir.verify import verify_graph
    from lazyfuse.passes.dedup import dedup

    lf = oracle.lf
    with lf.options(eager_size=0, cold_size=0):
        x, y = lf.asarray(host.arange(12.0)), lf.asarray(host.arange(12.0) + 0.5)
        lf.materialize(x, y)
        total = y - x
        for _ in range(6 if is_deep else 1):
            total = (y + x * y) * total + (x * y + 1.0) * (y + x * y) - (y - x) * (y - x)
        graph = Graph([(total * x)._read(), (y - x)._read()])
        merged = dedup(graph)
    assert len(merged.nodes) < len(graph.nodes)
    assert merged.nodes == topological(merged.outputs)
    verify_graph(merged)
    merged.nodes.reverse()
    merged.nodes.sort(key=lambda node: node.depth)
    with pytest.raises(VerifyError, match="order"):
        verify_graph(merged)
