"""lazyfuse: NumPy programs as a few fused kernels.

    import lazyfuse as np

    x = np.linspace(0, 1, 1_000_000)
    y = (np.sin(x) ** 2 + np.cos(x) ** 2).mean()     # recorded
    print(y)                                          # one kernel runs

Every name of NumPy is here (`frontend/namespace.py`); lazyfuse's own names are listed below.
"""

import typing as _typing
from importlib import import_module as _import

import lazyfuse.sources  # noqa: F401 - the first, for it notes the time
from lazyfuse.collecting import imported as _imported

_imported("lazyfuse.frontend.namespace")  # nearly all that is imported below
from lazyfuse.config import options
from lazyfuse.errors import (
    DeviceUnavailableError,
    FallbackError,
    FallbackWarning,
    LazyfuseError,
    UnfusedWarning,
)
from lazyfuse.events import Stats, reset_stats, stats
from lazyfuse.frontend.array import LazyArray, LazyScalar
from lazyfuse.frontend.control import devices, get_array_module, materialize
from lazyfuse.frontend.export import asnumpy
from lazyfuse.frontend.importing import enable as _enable_imports
from lazyfuse.frontend.namespace import lookup as _lookup
from lazyfuse.frontend.namespace import made as _made
from lazyfuse.frontend.namespace import names as __dir__  # noqa: F401 - the module's own
from lazyfuse.frontend.namespace import numpy_names as _numpy_names
from lazyfuse.integrations.arriving import watch as _watch
from lazyfuse.observe.explain import explain
from lazyfuse.observe.report import report
from lazyfuse.runtime.heap import keep as _keep
from lazyfuse.runtime.session import cache_clear, cache_info

_keep()
_enable_imports()
_watch()
__version__ = "0.1.0"
__array_api_version__ = "2025.12"

globals().update({name: value for name, value in _made().items() if name not in globals()})

#: Names whose modules are imported when they are asked for.
_LATE = {"fuse": "lazyfuse.frontend.fusing"}

if _typing.TYPE_CHECKING:  # to type checkers and editors NumPy's names and arrays are NumPy's
    from numpy import *  # noqa: F403
    from numpy import matrixlib as matrixlib
    from numpy import version as version

    from lazyfuse.frontend.fusing import fuse
else:
    ndarray = LazyArray

    def __getattr__(name: str) -> _typing.Any:
        """NumPy's names and those of late modules. Raises: AttributeError."""
        if name in _LATE:
            return globals().setdefault(name, getattr(_import(_LATE[name]), name))
        return _lookup(name)


__all__ = [
    "DeviceUnavailableError",
    "FallbackError",
    "FallbackWarning",
    "LazyArray",
    "LazyScalar",
    "LazyfuseError",
    "Stats",
    "UnfusedWarning",
    "asnumpy",
    "cache_clear",
    "cache_info",
    "devices",
    "explain",
    "fuse",
    "get_array_module",
    "materialize",
    "ndarray",
    "options",
    "report",
    "reset_stats",
    "stats",
    *_numpy_names(),
]
