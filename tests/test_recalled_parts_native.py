"""The same in machine code."""

from __future__ import annotations

import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no machine code", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too
from tests.test_recalled import *  # noqa: E402, F403 - again, in machine code
from tests.test_recalled_parts import *  # noqa: E402, F403 - likewise
