"""The same where operators, items and methods are machine code, which leaves writes to Python
while a function is recorded."""

from __future__ import annotations

import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place fuses nothing", allow_module_level=True)

from tests.test_fused_outside import *  # noqa: E402, F403 - again, in machine code
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

pytestmark = pytest.mark.usefixtures("operators")
