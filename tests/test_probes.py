"""Elements of pending arrays that are asked for at once: the array is computed where they are
read, once that is known of a place, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.frontend import probes  # noqa: E402 - when there is an engine

pytestmark = pytest.mark.skipif(oracle.ON_GPU, reason="elements on a GPU stay pending")
SHAPE = (50, 60)


@pytest.fixture(autouse=True)
def recorded() -> Iterator[None]:
    """No array of these sizes is computed at once; but users have small ones."""
    probes._asked.clear()
    with lf.options(eager_size=100, cold_size=0):
        yield
    probes._asked.clear()


def fields(np: Any) -> tuple[Any, Any]:
    u = np.asarray(host.random.default_rng(2).random(SHAPE))
    w = np.zeros(SHAPE)
    w[0, 0] = 1.0
    if np is lf:
        lf.materialize(u, w)
    return u, w


def step(u: Any, w: Any) -> None:
    w[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + w[1:-1, :-2] + u[1:-1, 2:])


def test_values_of_a_probe() -> None:
    def program(np: Any) -> list[Any]:
        u, w = fields(np)
        trace, row, before = np.zeros(30), [], []
        for t in range(30):
            step(u, w)
            trace[t] = w[3, 4]
            row.append(float(w[5:9, 3][2]))
            before.append(w[7, 7])  # of this step, whatever is written later
        return [trace, row, np.array(before), w]

    oracle.check(program)


def test_the_array_is_computed_where_its_elements_are_asked_for() -> None:
    u, w = fields(lf)
    pending = []
    for _ in range(40):  # Python itself counts another instruction once it has seen some
        step(u, w)
        element = w[3, 4]
        pending.append(w._storage.node.buffer is None)
        float(element)
    assert all(pending[: probes._TIMES]) and not any(pending[20:])
    assert type(element) is host.float64


def test_elements_that_operations_take_stay_pending() -> None:
    """They fuse with these."""
    u, w = fields(lf)
    for _ in range(8):
        step(u, w)
        u = u - w[3, 4] * w
        assert w._storage.node.buffer is None and not probes._asked
    lf.materialize(u)


def test_elements_that_are_asked_for_later_stay_pending() -> None:
    """All steps then go together."""
    u, w = fields(lf)
    kept = []
    for _ in range(3):
        kept.clear()
        for _ in range(6):
            step(u, w)
            kept.append(w[3, 4])
        assert w._storage.node.buffer is None
        _ = [float(each) for each in kept[:-1]]
        assert not probes._asked
        lf.materialize(w)


def test_of_arrays_that_are_not_stored_one_element_is_computed() -> None:
    u, _ = fields(lf)
    for _ in range(8):
        v = u * 2.0 + 1.0
        float(v[3, 4])
        assert v._storage.node.buffer is None and not probes._asked


def test_each_place_is_known_by_itself() -> None:
    u, w = fields(lf)
    for _ in range(40):
        step(u, w)
        float(w[3, 4])
    step(u, w)
    other = w[3, 4]  # in another line
    assert w._storage.node.buffer is None and isinstance(other, lf.LazyScalar)
    lf.cache_clear()
    assert not probes._asked


def test_a_recorded_function_sees_what_it_reads() -> None:
    u, w = fields(lf)

    def probe(u: Any, w: Any) -> Any:
        step(u, w)
        return w[3, 4]

    for _ in range(6):
        float(probe(u, w))
    fused = lf.fuse(probe)
    for _ in range(3):
        again = w.copy()
        assert float(fused(u, w)) == float(probe(u, again))
        host.testing.assert_array_equal(lf.asnumpy(w), lf.asnumpy(again))
