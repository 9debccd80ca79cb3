"""Which functions NumPy computes at once where operands are small parts of the engine's memory.

Each reads its operands only, calls nobody back, and has a result that is as small as its rule
says. All others are the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class Rule(IntEnum):
    """Which arguments may be parts of the engine's memory, and how large the result is."""

    NONE = 0
    #: The first, or its items where it is a list; no larger than that, or than these together, or
    #: as long as another one, which is small.
    FIRST = 1
    #: The first three by position; as large as they and the keywords are broadcast to.
    SPREAD = 2
    #: The first two by position; where neither has more than two axes as large as they are
    #: broadcast to, whether that can be or not, or twice that.
    PAIR = 3
    #: The first two by position; as large as the product of their sizes, and of the integers among
    #: them and the keywords.
    TIMES = 4
    #: Any by position: NumPy would be asked at once anyway, or the result is as large as a few.
    ANY = 5


def _table(**rules: str) -> Mapping[str, Rule]:
    return {name: Rule[rule] for rule, names in rules.items() for name in names.split()}


#: Of functions of the namespace.
FUNCTIONS = _table(
    FIRST="sum prod max min amax amin any all mean var std argmax argmin ptp cumsum cumprod "
    "cumulative_sum cumulative_prod nansum nanprod nanmax nanmin nanmean nanvar nanstd "
    "nanargmax nanargmin nancumsum nancumprod average count_nonzero sort argsort round "
    "around diff trace flatnonzero nonzero argwhere copy linalg.norm roll gradient unwrap "
    "ediff1d fix sort_complex trapezoid lexsort array asarray concatenate concat stack "
    "hstack vstack column_stack dstack fft.fftshift fft.ifftshift linalg.vector_norm "
    "linalg.matrix_norm linalg.trace linalg.det linalg.slogdet linalg.inv linalg.eigh "
    "linalg.eigvalsh linalg.cholesky",
    SPREAD="where clip isclose",
    PAIR="dot vdot convolve correlate linalg.solve",
    TIMES="outer kron tensordot repeat tile fft.fft fft.ifft fft.rfft fft.irfft "
    "empty_like zeros_like ones_like full_like",
    ANY="searchsorted interp array_equal array_equiv allclose append",
)
#: Of methods.
METHODS = _table(
    FIRST="sum prod max min any all mean var std argmax argmin cumsum cumprod argsort copy "
    "flatten astype round tolist item tobytes nonzero trace searchsorted __bool__ __int__ "
    "__float__ __complex__ __index__ __contains__",
    SPREAD="clip",
    PAIR="dot",
    TIMES="repeat",
)
#: Of methods of ufuncs.
OF_UFUNCS = _table(FIRST="reduce accumulate")
