"""Arrays for Dask's tables of functions by type: what is registered for NumPy's arrays alone."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from lazyfuse.frontend.array import LazyArray


def tell(module: ModuleType) -> None:
    """Register LazyArray in `dask.array.backends`, as which its tables know NumPy's arrays."""
    module.percentile_lookup.register(LazyArray, module.percentile)
    module.to_numpy_dispatch.register(LazyArray, _to_numpy)


def _to_numpy(data: LazyArray, **options: object) -> np.ndarray:
    return np.asarray(data)
