"""Operators that use the memory of their left operand, in machine code: what Python does."""

from __future__ import annotations

import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place makes arrays of its own", allow_module_level=True)

from lazyfuse.runtime import frames  # noqa: E402 - when there is an engine
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too
from tests.test_passing import *  # noqa: E402, F403 - again, in machine code
from tests.test_passing import is_within, most_arrays, operands, powers  # noqa: E402


@pytest.mark.skipif(frames.first_variable() < 0, reason="frames of this Python are not known")
def test_powers_use_memory_again() -> None:
    assert is_within(most_arrays(powers, *operands()), 2.0)
