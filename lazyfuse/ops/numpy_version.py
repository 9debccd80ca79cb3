"""The version of NumPy that is there: where versions answer differently, that one is followed."""

from __future__ import annotations

import numpy as np

#: Major and minor number.
NUMPY = tuple(int(part) for part in np.__version__.split(".")[:2])
