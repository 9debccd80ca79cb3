"""Parts of an array in other shapes, in machine code: what Python does."""

from __future__ import annotations

import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too
from tests.test_reshaped import *  # noqa: E402, F403 - again, in machine code
