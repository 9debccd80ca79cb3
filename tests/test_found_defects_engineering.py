"""Programs of packages for engineering and neuroscience that did not run, or not as with NumPy."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place", allow_module_level=True)

import lazyfuse as lf  # noqa: E402 - when there is an engine
from lazyfuse.frontend import native_methods  # noqa: E402 - likewise

SIZES = (4, 400)
EAGER = (0, 8192)


@pytest.fixture(params=("Python", "machine code"))
def way(request: pytest.FixtureRequest) -> str:
    """How methods run."""
    if request.param == "machine code":
        native_methods.make_native(lf.LazyArray)
    return str(request.param)


def test_old_names_of_modules() -> None:
    """`np.core.umath.clip` and its like are NumPy's, and take arrays; a package had them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        clip = lf.core.umath.clip
        found = importlib.import_module("lazyfuse.core.records")
        assert found.fromarrays is host.rec.fromarrays
    assert lf.core is host.core and found is importlib.import_module("numpy.core.records")
    assert type(clip(lf.arange(100_000.0), 1.0, 2.0)) is lf.LazyArray
    assert lf.f2py is host.f2py


@pytest.mark.cpu("addresses")
@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("size", SIZES)
def test_array_interface(size: int, eager_size: int, way: str) -> None:
    """Who says `x.__array_interface__` has it: where a view begins was found by it."""
    with lf.options(eager_size=eager_size):
        x = lf.arange(size * size * 3).reshape(size, size, 3)
        lf.materialize(x)
        first = x.__array_interface__
        second = x[1:, ::-1].__array_interface__
        numpys = host.asarray(x).__array_interface__
    assert second["data"][0] - first["data"][0] == (size * 3 + (size - 1) * 3) * 8
    assert (first["data"][0], first["typestr"]) == (numpys["data"][0], numpys["typestr"])
    assert first["shape"] == x.shape and second["strides"] == x[1:, ::-1].strides


@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("size", SIZES)
def test_array_interface_is_not_for_numpy(size: int, eager_size: int, way: str) -> None:
    """NumPy and `hasattr` find none, also in code that has the name: nothing is computed, and no
    address is kept of memory that another version takes the place of."""
    with lf.options(eager_size=eager_size):
        x = lf.arange(size * size) * 2
        assert not hasattr(x, "__array_interface__")
        taken = host.asarray(x)
    assert taken.__array_interface__["strides"] is None and taken.base is not x


def _views_in_memory(np: Any, x: Any) -> list[bool]:
    view = x[1:]
    made = [np.ndarray((2,), x.dtype, buffer=whole, offset=8) for whole in (x, view)]
    made[0][0] = 7.0
    own = np.ndarray((2,), x.dtype)
    return [each.base is x for each in made] + [own.base is None, x[1] == 7.0]


def test_base_of_an_array_in_anothers_memory() -> None:
    """An array that is made in the memory of another, small one has that as its base."""
    with lf.options(eager_size=8192):
        assert _views_in_memory(host, host.zeros(5)) == _views_in_memory(lf, lf.zeros(5))
