"""Which functions NumPy computes at once where operands are parts of the engine's memory.

Each reads its operands only and has a result that is as small as its rule says. All others are the
engine's, and so are large parts, but for functions that hardly fuse with anything: of these NumPy
has the middling ones, too (`middling`).
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
    #: The first three by position: NumPy would be asked at once anyway, or the result is as large
    #: as a few.
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
    SPREAD="where clip isclose take",
    PAIR="dot vdot convolve correlate linalg.solve",
    TIMES="outer kron tensordot repeat tile fft.fft fft.ifft fft.rfft fft.irfft "
    "empty_like zeros_like ones_like full_like",
    ANY="searchsorted interp array_equal array_equiv allclose append bincount delete insert isin "
    "digitize cross packbits unpackbits meshgrid tril triu resize partition argpartition "
    "unique histogram cov corrcoef fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn "
    "fft.rfftn fft.irfftn",
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
#: Functions and methods that NumPy computes of larger arrays, too: those that fuse with nothing or
#: are as fast in NumPy as in a kernel. An operand, and a result, may have `_MOST` elements: more
#: take so long that a call of the engine's takes no longer (`perf/test_calls.py`), and its result
#: may turn out not to be needed.
_MOST = 1 << 20
_LARGER = frozenset(
    "any all max min amax amin nanmax nanmin trace linalg.norm flatnonzero argwhere dot vdot "
    "concatenate concat stack hstack vstack column_stack dstack append tile searchsorted interp "
    "digitize array_equal array_equiv bincount delete insert isin packbits unpackbits resize "
    "lexsort convolve correlate kron sort argsort partition "
    "argpartition unique histogram cov corrcoef fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 "
    "fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn".split()
)
#: The same of those that run on all cores, or are faster in kernels, but have some 50 us to make
#: up for: they consist of operations each of which has to be recorded.
_MOST_COMPOSED = 1 << 18
_COMPOSED = frozenset(
    "ptp nansum nanprod nanmean nanvar nanstd nanargmax nanargmin average gradient ediff1d "
    "count_nonzero argmax argmin cross meshgrid tril triu take".split()
)


def middling(name: str) -> int:
    """The most elements that the operands of a function or method may have, and its result, for
    NumPy to compute it at once; 0 where these have to be small."""
    if name in _COMPOSED:
        return _MOST_COMPOSED
    return _MOST if name in _LARGER else 0


#: The bits that a rule takes; the size above them.
RULE_BITS = 7


def sized(rule: Rule, name: str) -> int:
    """A rule and `middling` of a function or method in one number, for machine code."""
    return rule | middling(name) << RULE_BITS.bit_length()
