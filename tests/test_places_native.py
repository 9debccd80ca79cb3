"""The same in machine code: what Python does, without it, and no reference lost."""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.frontend import indexing, pieces  # noqa: E402 - when there is an engine
from lazyfuse.runtime.error_modes import current_modes  # noqa: E402 - likewise
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too
from tests.test_places import *  # noqa: E402, F403 - again, in machine code
from tests.test_places import FAULTS, KEYS, cube  # noqa: E402


@pytest.fixture
def without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """No function of Python's reads or writes, but to learn what `np.errstate` says."""
    current_modes()

    def never(*args: Any) -> None:
        raise AssertionError("Python has been asked")

    for module, name in (
        (pieces, "picked"), (pieces, "change"), (pieces, "largest"), (indexing, "_write"),
        (indexing, "_picked"), (indexing, "_scatter"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, never)


@pytest.mark.cpu("results at once")
@pytest.mark.parametrize("name", KEYS)
def test_python_is_not_asked(name: str, without_python: None) -> None:
    """To read, to write numbers, arrays and lists, and for `at`."""
    values, there = cube()
    key, own = KEYS[name](lf), KEYS[name](host)
    host.testing.assert_array_equal(lf.asnumpy(there[key]), values[own])
    for xp, array, where in ((host, values, own), (lf, there, key)):
        array[where] = xp.array(2.0)
        array[where] = array[where] * 2
        if not name.startswith("a mask of all"):
            array[where] = 3
            xp.add.at(array, where, 2.0)
    host.testing.assert_array_equal(lf.asnumpy(there), values)


def test_integers_of_numpys_are_as_ints(without_python: None) -> None:
    """In small arrays and in the engine's."""
    values, there = cube()
    small = values[0, :4, :4].copy(), lf.array(values[0, :4, :4])
    for kind in (host.int64, host.int32, host.uint8):
        for one, other in ((values[0], there[0]), small):
            for key in ((kind(2), kind(3)), (kind(1), slice(None))):
                assert other[key].tolist() == one[key].tolist()  # lends no memory
                one[key] = other[key] = 5.0
            part, expected = other[kind(1)], one[kind(1)]
            part[0], expected[0] = 9.0, 9.0  # a view
            assert other.tolist() == one.tolist()


def test_no_reference_is_lost() -> None:
    """Neither kept for ever nor given away: of memory, dtypes, arrays, keys and values."""
    _, there = cube()
    keys = [KEYS[name](lf) for name in KEYS if name != "no axes, an element"]
    value, number = lf.array([1.0]), 123456.5
    kept: tuple[Any, ...] = (there, there._storage, value, value._host, number, keys[0][0]._host)

    def run() -> None:
        for key in keys:
            there[key] = number
            there[key] = value
            there[key] += value
            lf.add.at(there, key, number)
        for fault in FAULTS.values():
            with pytest.raises(Exception):  # noqa: B017, PT011 - any
                fault(lf, there)

    assert_nothing_is_lost(run, kept, known=20, rounds=20)
