"""Arrays and numbers for autograd, which looks up what it differentiates by type: what it has
registered for NumPy's arrays holds for ours. Results are LazyArrays, where operations on NumPy's
arrays gave NumPy's."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from lazyfuse.frontend.array import LazyArray, LazyScalar


def tell(module: ModuleType) -> None:
    """Register our types in `autograd.numpy`."""
    array_box = module.numpy_boxes.ArrayBox
    spaces = module.numpy_vspaces.VSpace
    for kind in (LazyArray, LazyScalar):
        array_box.register(kind)
        spaces.register(kind, spaces.mappings[np.ndarray])
