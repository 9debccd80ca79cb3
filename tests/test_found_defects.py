"""Programs that once gave a wrong answer: each docstring tells the failure."""

from __future__ import annotations

import array
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import lf

FORTRAN = host.asfortranarray(host.random.default_rng(1).normal(size=(5, 3)))


def test_a_stored_result_may_not_split_the_run_of_a_sum() -> None:
    """A C-order result joined a pairwise sum over Fortran memory: the sum was added row by row."""
    oracle.check(lambda np, a: np.zeros((5, 3)) + a.sum(), FORTRAN, sums=True)

    def program(np: Any, x: Any) -> Any:
        x += x[..., ::-1] + x
        total = np.sum(x)
        x[...] = total
        return x.copy()

    oracle.check(program, FORTRAN, sums=True)


def test_a_view_of_a_pending_operation_may_not_split_it_either() -> None:
    """The sum of a transposed view of `-x[:, ::-1]` was added row by row."""
    oracle.check(lambda np, a: (-a[:, ::-1]).T.sum(), host.ascontiguousarray(FORTRAN), sums=True)


@pytest.mark.parametrize("name", ("divmod", "modf", "frexp"))
def test_outputs_that_are_operands(name: str) -> None:
    """The second result was computed from what the first had written."""

    def program(np: Any, x: Any) -> Any:
        second = np.zeros(x.shape, "i4" if name == "frexp" else x.dtype)
        operands = (x, 0.7) if name == "divmod" else (x,)
        getattr(np, name)(*operands, out=(x, second))
        return x, second

    oracle.check(program, host.arange(10) * 0.3)


def test_a_refused_second_output_leaves_the_first_alone() -> None:
    """Both outputs are checked before one is written."""

    def program(np: Any, x: Any, q: Any) -> Any:
        try:
            np.divmod(x, 3.0, out=(q, np.zeros(3, "i4")))
        except TypeError:
            return q
        return None

    oracle.check(program, host.arange(3.0), host.zeros(3))


@pytest.mark.engine
def test_numpy_outputs_stay_numpy_arrays() -> None:
    """`h += lazy` replaced h by a lazy array, so its views no longer saw the sum."""
    h = host.arange(4.0)
    view, same = h[:2], h
    h += lf.arange(4.0)
    assert h is same and view.tolist() == [0, 2]
    assert host.add(lf.arange(4.0), 1, out=h) is h and h.tolist() == [1, 2, 3, 4]
    assert lf.sum(lf.ones((2, 4)), axis=0, out=h) is h


def test_views_of_scalars_are_copies() -> None:
    """Writing through `s.ravel()` changed the scalar s."""

    def program(np: Any, x: Any) -> Any:
        s = x.sum()
        for changed in (s.ravel(), s.reshape(1), np.atleast_1d(s), s[None], np.expand_dims(s, 0)):
            changed += 1
        return s

    oracle.check(program, host.arange(4.0))


@pytest.mark.engine
def test_buffers_of_operands_are_copied() -> None:
    """An `array.array` operand shared the caller's memory with the pending operation."""
    values = array.array("d", range(4))
    y = lf.arange(4.0) + values
    values[0] = 77
    assert float(y[0]) == 0


@pytest.mark.engine
def test_a_read_only_flag_is_no_promise() -> None:
    """A frozen array was shared; its owner thawed it and wrote."""
    b = host.arange(3.0)
    b.flags.writeable = False
    x = lf.asarray(b)
    b.flags.writeable = True
    b[:] = 5
    assert lf.asnumpy(x).tolist() == [0, 1, 2]


def test_iteration_sees_writes() -> None:
    """Elements came from a snapshot taken when the loop began."""

    def program(np: Any, x: Any) -> Any:
        for index, value in enumerate(x):
            if index + 1 < len(x):
                x[index + 1] = value
        return x

    oracle.check(program, host.arange(5))


@pytest.mark.parametrize("dtype", ("?", "u1", "i4", "f8"))
def test_the_dtype_of_out_takes_part_in_a_sum(dtype: str) -> None:
    """u1 sums into a bool array were added as integers first, f4 sums into f8 as f4."""
    small = host.array([[1, 255], [3, 1], [255, 1]], "u1")
    oracle.check(lambda np, x, o: np.sum(x, axis=0, out=o), small, host.zeros(2, dtype))
    big = (host.arange(5) * 1e9).astype("f4")
    oracle.check(lambda np, x, o: np.sum(x, axis=0, out=o), big, host.zeros((), "f8"))
    oracle.check(lambda np, x, o: np.mean(x, axis=0, out=o), big, host.zeros((), "f8"))


@pytest.mark.parametrize("value", (float("nan"), float("inf"), 1j, 2.7, True, host.float64(2.7)))
@pytest.mark.parametrize("dtype", ("i8", "u1", "?", "f4"))
def test_assigned_scalars(value: Any, dtype: str) -> None:
    """NaN was written into integers as the smallest one."""

    def program(np: Any, x: Any) -> Any:
        x[1] = value
        return x

    oracle.check(program, host.zeros(3, dtype))


def test_copyto_casts_and_broadcasts() -> None:
    """A float was copied into bools, and bools refused for floats."""
    oracle.check(lambda np: np.copyto(np.zeros(3, bool), np.zeros(3)))

    def program(np: Any) -> Any:
        x, y = np.zeros(3), np.zeros(3)
        np.copyto(x, np.ones(3, bool))
        np.copyto(y, np.ones((1, 3)), where=np.array([True, False, True]))
        return x, y

    oracle.check(program)


def test_bounds_out_of_range_clip_nothing() -> None:
    """Python integers beyond the dtype raised OverflowError."""
    oracle.check(lambda np, x: [np.clip(x, -1, 300), x.clip(2, 1000)], host.arange(5, dtype="u1"))


def test_split_gives_views() -> None:
    """Writes into the parts of an array were lost."""

    def program(np: Any, x: Any) -> Any:
        for part in (*np.array_split(x, 3), *np.split(x, [2, 5])):
            part *= 2
        return x

    oracle.check(program, host.arange(7))


def test_an_empty_maximum_of_nothing() -> None:
    """`zeros((0, 0)).max(0)` gave an empty array."""
    oracle.check(lambda np: np.zeros((0, 0)).max(0))
    oracle.check(lambda np: np.zeros((0, 3)).max(1))


@pytest.mark.engine
def test_state_that_is_only_written_is_stored_with_the_rest() -> None:
    """Of two arrays carried through a loop, the one that was not asked for was computed anew from
    its beginning at every cut of the trace."""
    w, h = lf.zeros(100), lf.zeros(100)
    with oracle.options(max_pending_nodes=200):
        for _ in range(1000):
            h = h * 0.9 + 1
            w = w + h
        assert w._storage.node.depth <= 202 and h._storage.node.depth <= 402
    assert float(w[0]) == pytest.approx(9910.0)


def test_memory_order_of_indices_and_constant_comparisons() -> None:
    """argmax gave K order; a comparison with an unreachable integer gave C order."""
    oracle.check(lambda np, x: [x.T.argmax(axis=0), x.T.argmin(axis=1)], host.ones((2, 3, 4)))
    oracle.check(lambda np, x: [x.T > -1, np.where(x.T > -1, x.T, 0)], host.ones((4, 3), "u1"))


@pytest.mark.parametrize("count", (10, 300_000))
def test_joining_other_dtypes_heeds_out_dtype_and_casting(count: int) -> None:
    """They were forgotten where an array was not the engine's."""
    times = host.arange(count).astype("datetime64[s]")
    out = host.empty(2 * count, times.dtype)
    assert lf.concatenate([times, times], out=out) is out
    host.testing.assert_array_equal(out, host.concatenate([times, times]))
    assert lf.concatenate([times, times], dtype="datetime64[ms]").dtype == "datetime64[ms]"
    with pytest.raises(TypeError, match="according to the rule 'no'"):
        lf.concatenate([times, times.astype("datetime64[ms]")], casting="no")
    with pytest.raises(ValueError, match="avoid creating a copy"):
        lf.reshape(times.reshape(2, -1).T, -1, copy=False)


@pytest.mark.parametrize("count", (10, 300_000))
def test_what_is_joined_is_no_view(count: int) -> None:
    """Its `base` was an array, where it was large; the error of a cast did not say from what."""
    for dtype in ("i4", "f8"):
        x = lf.arange(count).astype(dtype)
        assert lf.concatenate([x, x]).base is None and lf.stack([x, x]).base is None
    with pytest.raises(TypeError, match=r"from dtype\('float64'\) to dtype\('int64'\)"):
        lf.concatenate([x, x], dtype="i8")
