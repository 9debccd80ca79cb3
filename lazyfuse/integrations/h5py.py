"""Arrays for h5py, whose selections and direct reads are C code that takes NumPy's arrays alone:
writing to rows that an array picks, and reading objects by a mask, raised TypeError. Arrays of
ours are lent to it, for `read_direct` writes into them."""

from __future__ import annotations

from typing import Any

from lazyfuse.integrations.lowered import lowered


def tell(module: Any) -> None:
    """Give the functions of `h5py._hl.selections` and the methods of `h5py._hl.dataset` NumPy's
    arrays."""
    if module.__name__.endswith("selections"):
        module.select = lowered(module.select)
        return
    kind = module.Dataset
    kind.read_direct, kind.write_direct = map(lowered, (kind.read_direct, kind.write_direct))
