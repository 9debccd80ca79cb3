"""What Numba is told when it asks: `import lazyfuse as np` in a program with functions that Numba
compiles, of LazyArrays and with `np.sqrt(x)` in them.

It asks an object that it does not know for `_numba_type_`, after it has looked for a buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import modules
from typing import Any

#: The function of Numba that looks for a buffer, where others' arrays have no more.
LOOKS_FOR_BUFFER = "_typeof_buffer", "numba.core.typing.typeof"


def type_of_function(theirs: Any) -> Any:
    """What a function of NumPy's is to Numba, and ours in its place. Raises: AttributeError."""
    return _told(lambda: _types().type_of_function(theirs))


def type_of_array(values: Callable[[], Any], *, is_scalar: bool) -> Any:
    """What a LazyArray with these values is to Numba. Raises: AttributeError, and what computing
    the values does."""
    return _told(lambda: _types().type_of_array(values(), is_scalar=is_scalar))


def _told(answer: Callable[[], Any]) -> Any:
    if "numba" not in modules:
        raise AttributeError("_numba_type_")
    try:
        return answer()
    except ValueError as error:
        raise AttributeError(str(error)) from error


def _types() -> Any:
    from lazyfuse.frontend import jitted

    return jitted
