"""Views that are put off at the edge of what can be: of nothing, and where others come between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as np
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.backends.cpu.defer import MOST_LEAVES  # noqa: E402 - when there is an engine
from lazyfuse.frontend import deferred  # noqa: E402 - likewise
from tests.deferring import deferring, is_deferred  # noqa: E402 - likewise

pytestmark = pytest.mark.cpu("small arrays that are put off")


@pytest.fixture(autouse=True)
def putting_off() -> Iterator[None]:
    with np.options(eager_size=1000), deferring():
        deferred.allow()
        deferred.look_around()
        yield


def grid() -> Any:
    return np.asarray(host.arange(72.0).reshape(9, 8) / 7)


def test_views_of_nothing_are_computed_at_once() -> None:
    u = grid()
    other, view = u * 2.0, u[3:3, None]
    assert not is_deferred(view) and view.shape == (0, 1, 8)
    with pytest.raises(ValueError, match="no identity"):
        view.max(axis=0)
    with pytest.raises(ValueError, match="no identity"):
        (view * 2.0).min(axis=0)
    assert other[0, 1] == 2 / 7


def test_views_that_nobody_reads_do_not_fill_the_tape() -> None:
    arrays = [grid() for _ in range(MOST_LEAVES)]
    for array in arrays:
        array[1:]
    assert not any(map(is_deferred, arrays))
    own = grid()
    assert is_deferred(own * 2.0)


def test_operations_make_room_where_views_have_taken_it() -> None:
    arrays = [grid() for _ in range(MOST_LEAVES // 2 - 1)]
    views = [array[1:] for array in arrays]
    assert all(map(is_deferred, views))
    own = grid()
    own * 2.0
    assert not any(map(is_deferred, views)) and is_deferred(own * 2.0)
