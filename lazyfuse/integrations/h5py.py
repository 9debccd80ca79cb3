"""Keys for h5py, whose selections are C code that takes NumPy's arrays alone: writing to rows that
an array picks, and reading objects by a mask, raised TypeError."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from lazyfuse.frontend.fallback import lower


def tell(module: Any) -> None:
    """Have `h5py._hl.selections` select by NumPy's arrays."""
    select = module.select

    @wraps(select)
    def lowered(shape: Any, args: Any, dataset: Any = None) -> Any:
        return select(shape, lower(args, np.asarray), dataset)

    module.select = lowered
