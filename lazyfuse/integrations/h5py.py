"""Arrays for h5py, whose selections and direct reads are C code that takes NumPy's arrays alone:
writing to rows that an array picks, and reading objects by a mask, raised TypeError. Arrays of
ours are lent to it, for `read_direct` writes into them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from lazyfuse.frontend.fallback import lower


def tell(module: Any) -> None:
    """Give the functions of `h5py._hl.selections` and the methods of `h5py._hl.dataset` NumPy's
    arrays."""
    if module.__name__.endswith("selections"):
        module.select = _lowered(module.select)
        return
    kind = module.Dataset
    kind.read_direct, kind.write_direct = map(_lowered, (kind.read_direct, kind.write_direct))


def _lowered(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        given = {name: lower(value, np.asarray) for name, value in options.items()}
        return function(*[lower(value, np.asarray) for value in args], **given)

    return call
