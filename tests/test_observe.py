"""`explain`, `stats`, `devices` and what they say about plans."""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

from tests import corpus, oracle

pytestmark = pytest.mark.engine

lf = oracle.lf


def lazy(size: int = 3000) -> Any:
    """Return a materialized lazy array."""
    x = lf.array(corpus.random_values("f8", size))
    lf.materialize(x)
    lf.reset_stats()
    return x


def test_stats_is_a_snapshot() -> None:
    """A snapshot does not move; `reset_stats` starts again; attributes and items agree."""
    x = lazy()
    lf.materialize(x + 1)
    first = lf.stats()
    lf.materialize(x + 2)
    names = (
        "kernels_launched kernels_compiled cache_hits fallbacks bytes_read bytes_written".split()
    )
    assert all(getattr(first, name) == first[name] for name in names)
    assert first.kernels_launched == 1 and lf.stats().kernels_launched == 2
    lf.reset_stats()
    assert all(lf.stats()[name] == 0 for name in names)


def test_bytes_count_views_and_dtypes() -> None:
    """Bytes are those of the elements touched."""
    x = lazy(4000)
    lf.materialize(x[::2] * 2)
    assert (lf.stats().bytes_read, lf.stats().bytes_written) == (16_000, 16_000)
    lf.reset_stats()
    lf.materialize((x > 0).astype("u1"))
    assert (lf.stats().bytes_read, lf.stats().bytes_written) == (32_000, 4_000)


def test_recording_counts_nothing() -> None:
    """Counters move when work is done, not when it is recorded."""
    x = lazy()
    y = lf.exp(x) + 1
    y[:5] = 0
    assert lf.stats().kernels_launched == 0
    lf.materialize(y)
    assert lf.stats().kernels_launched >= 1


def test_materialize_takes_anything() -> None:
    """`materialize` takes no arrays, many, computed ones and NumPy's."""
    x = lazy()
    lf.materialize()
    lf.materialize(x)
    lf.materialize(x, x + 1, host.ones(3))
    assert lf.stats().kernels_launched == 1


def test_materialize_keeps_the_array() -> None:
    """The second materialization does nothing."""
    y = lazy() * 2
    lf.materialize(y)
    lf.materialize(y)
    assert lf.stats().kernels_launched == 1


def test_shared_work_runs_once() -> None:
    """What one materialization computed and still has a holder is not computed again (pitfall
    P21).
    """
    x = lazy()
    b = lf.exp(x)
    p, q = b + 1, b * 2
    lf.materialize(b, p)
    lf.reset_stats()
    lf.materialize(q)
    assert lf.stats().kernels_launched == 1
    assert lf.stats().bytes_read == b.nbytes


def test_explain_of_a_computed_array() -> None:
    """An array without pending work has nothing to run, and `explain` says so."""
    text = lf.explain(lazy())
    assert isinstance(text, str) and text
    assert "0 kernels" in text or "nothing" in text or "computed" in text or "no pending" in text


def test_explain_of_two_groups() -> None:
    """Two kernels are two groups, each with its ops and bytes."""
    x = lf.array(host.ones((30, 30)))
    lf.materialize(x)
    text = lf.explain(lf.matmul(x + 1, x) * 2)
    assert "matmul" in text and "add" in text and "multiply" in text
    assert text.count("kernel") >= 2


def test_devices() -> None:
    """The devices are named; an array knows its own and can be sent to it."""
    names = [str(device) for device in lf.devices()]
    x = lazy()
    assert "cpu" in names and str(x.device) in names
    assert (lf.asnumpy(x.to_device(x.device)) == lf.asnumpy(x)).all()
    assert str((x + 1).device) == str(x.device)


def test_options_are_scoped() -> None:
    """Options hold within the block, nest, and end with it, also when it raises."""
    x = lazy()

    def launched() -> int:
        lf.reset_stats()
        lf.materialize(x * 2 + 1)
        return int(lf.stats().kernels_launched)

    with lf.options(fusion=False):
        assert launched() == 2
        with lf.options(fusion=True):
            assert launched() == 1
        with pytest.raises(ZeroDivisionError), lf.options(fusion=True):
            1 / 0  # noqa: B018
        assert launched() == 2
    assert launched() == 1
