"""Arrays on another device than the default one: functions make what they need beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazyfuse as lf
from lazyfuse.backends.cuda_host import CudaHostBackend
from tests import oracle
from tests.namespace_calls import CALLS, arrays

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(not CudaHostBackend.available()[0], reason=CudaHostBackend.available()[1]),
]

#: Functions that make arrays of numbers, of lists, or of nothing, and those that NumPy computes.
NAMES = (
    "corrcoef cov nanargmax nancumsum nanmean nanstd nansum nan_to_num unwrap interp cross "
    "polyder polyint select piecewise take take_along_axis i0 diff iscomplex bincount histogram "
    "unique isin diag_indices_from unravel_index argwhere"
).split()


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    """New arrays are on a GPU, where nothing is small."""
    with lf.options(device="cuda-host"):
        yield


@pytest.mark.parametrize("line", [line for name in NAMES for line in CALLS[name]])
def test_calls(line: str) -> None:
    """Of arrays on the CPU, while the default device is a GPU."""
    values = arrays()
    given = {name: lf.asarray(value, device="cpu") for name, value in values.items()}
    found, wanted = (
        _leaves(eval(line, {"np": lf, **given})),
        _leaves(eval(line, {"np": np} | values)),
    )
    assert {item.device for item in found if isinstance(item, oracle.LAZY)} <= {"cpu"}
    for mine, numpys in zip(found, wanted, strict=True):
        np.testing.assert_allclose(lf.asnumpy(mine), numpys, rtol=1e-14, atol=1e-15)


def _leaves(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def test_several_devices() -> None:
    """Nobody decides for the user where two devices meet."""
    there, here = lf.ones(3), lf.ones(3, device="cpu")
    with pytest.raises(ValueError, match="move"):
        lf.take(here, there.astype("i8"))
    with pytest.raises(ValueError, match="move"):
        lf.select([here > 0], [there])
