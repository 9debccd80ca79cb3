"""The mark of tests that ask NumPy's compiled functions for their signatures."""

from __future__ import annotations

import pytest

from tests.oracle import NUMPY

IS_SIGNED = NUMPY >= (2, 4)
needs_signatures = pytest.mark.skipif(not IS_SIGNED, reason="NumPy's have none before 2.4")
