"""Which functions NumPy computes at once where operands are parts of the engine's memory.

Each reads its operands only, calls nobody back, and has a result that is as small as its rule
says. All others are the engine's, and so are large parts, but for functions that hardly fuse with
anything: of these NumPy has the middling ones, too (`middling`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple


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
    #: None, but the first may be written where the second, a key with arrays, picks few elements.
    PLACES = 6
    #: The first of at most three by position, behind which may stand that it is overwritten; the
    #: result is a few numbers, or as large as the others say.
    FEW = 7
    #: The first, which is written if it is small; the others are read.
    INTO = 8
    #: The first two by position, or what they list; the result is as large as a few.
    LISTED = 9
    #: As TIMES, but arrays of integers are values, and no counts.
    OUTER = 10


def _table(**rules: str) -> Mapping[str, Rule]:
    return {name: Rule[rule] for rule, names in rules.items() for name in names.split()}


#: Of functions of the namespace.
FUNCTIONS = _table(
    FIRST="sum prod max min amax amin any all mean var std argmax argmin ptp cumsum cumprod "
    "cumulative_sum cumulative_prod nansum nanprod nanmax nanmin nanmean nanvar nanstd "
    "nanargmax nanargmin nancumsum nancumprod average count_nonzero sort argsort round "
    "around diff trace flatnonzero nonzero argwhere copy linalg.norm roll gradient unwrap "
    "ediff1d fix sort_complex trapezoid lexsort array asarray concatenate concat stack "
    "hstack vstack column_stack dstack triu tril fft.fftshift fft.ifftshift linalg.vector_norm "
    "linalg.matrix_norm linalg.trace linalg.det linalg.slogdet linalg.inv linalg.eigh "
    "linalg.eigvalsh linalg.cholesky linalg.eig linalg.eigvals linalg.matrix_power "
    "linalg.multi_dot isreal iscomplex isneginf isposinf",
    SPREAD="where clip isclose take",
    PAIR="dot vdot inner convolve correlate linalg.solve",
    TIMES="repeat tile empty_like zeros_like ones_like full_like",
    OUTER="outer kron tensordot meshgrid fft.fft fft.ifft fft.rfft fft.irfft",
    ANY="searchsorted interp block array_equal array_equiv allclose append bincount delete "
    "insert isin digitize cross pad select packbits unpackbits partition argpartition unique cov "
    "corrcoef einsum fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn "
    "fft.irfftn histogram2d histogramdd",
    FEW="median quantile percentile nanmedian nanquantile nanpercentile",
    INTO="copyto putmask place put",
    LISTED="choose",
)
#: Of methods.
METHODS = _table(
    FIRST="sum prod max min any all mean var std argmax argmin cumsum cumprod argsort copy "
    "flatten astype round tolist item tobytes nonzero trace searchsorted __bool__ __int__ "
    "__float__ __complex__ __index__ __contains__",
    SPREAD="clip take",
    PAIR="dot",
    TIMES="repeat",
)
#: Of methods of ufuncs.
OF_UFUNCS = _table(FIRST="reduce accumulate", OUTER="outer", ANY="reduceat", PLACES="at")


class Middling(NamedTuple):
    """Of functions that NumPy computes at once of larger arrays, too. `most`: the elements that an
    operand, and a result as large as the rule says, may have; 0 where they have to be small.
    `alone`: only of one argument, without an axis. `writes`: NumPy has arrays that could be
    written, of which it makes no copies; it only reads them."""

    most: int = 0
    alone: bool = False
    writes: bool = False


#: Of all others.
SMALL = Middling()
#: What a call of the engine's costs, 50 us, is a twentieth of what NumPy takes for so many.
MOST = 1 << 20
#: Elements that a key of integers picks at once: more of them fuse with what reads them, in less
#: time than NumPy takes to pick them.
PICKED = 1 << 16
#: The same of rows, columns and the like, of so many elements at least: NumPy walks each at once.
PICKED_ROWS, ROW = 1 << 18, 32
#: Elements of zeros, ones and the like that NumPy makes at once: to record them costs as much.
MADE = 1 << 16
#: Elements of 8 bytes that a function computes at once of arrays of one size, however large: NumPy
#: takes 100 to 200 ms, as planning and compiling a loop takes, all of its structures.
ENOUGH = 1 << 28
#: Arrays are computed at once in any case where so many times their bytes are no more than small
#: arrays of 8 bytes have (60 KB): NumPy takes 2 us for as many masks or uint8, and a kernel is not
#: launched in less.
LIGHT = 4
#: What a function computes at once counts so many times where values are asked for after at most
#: so many operations: it is called again and again, and each call is one plan. Loops go on without
#: asking; their chains are planned and compiled piece by piece, which takes longer.
ASKED_TIMES, ASKED_SOON = 4, 256
#: How many bits of a hash say where that is counted, in so many words each, with as many behind
#: them for what is asked for; addresses are spread by 2**64 divided by the golden ratio. Source:
#: Knuth, The Art of Computer Programming 3, 6.4.
NOVEL_BITS, NOVEL_WORDS, ASKED_WORDS, SPREAD = 12, 4, 3, 0x9E3779B97F4A7C15
#: Operators whose result may take the memory of an operand that nobody else has, with the kinds of
#: dtypes that it keeps (NumPy rounds complex products otherwise in place); those of them whose
#: operands may change places, so that it may be the second (`frontend/passing.py`).
REUSING = {"add": "fciu", "sub": "fciu", "mul": "fiu", "truediv": "f"}
COMMUTING = frozenset(("add", "mul"))
#: Of longer lists the ends say whether there are arrays inside.
LOOKED_AT = 32
#: Copies that are fused with what reads them, which is worth more than a call from there on.
_MOST_MOVED = 1 << 18
#: The same of those that are joined, 4 MB of doubles: to record them takes 60 us and more.
_MOST_JOINED = 1 << 19
#: Compositions of operations that fuse and run on all cores, each of which has to be recorded.
_MOST_COMPOSED = 1 << 17
#: Those that end in a few numbers: to record and run them takes 300 us and more.
_MOST_FOLDED = 1 << 19
_MIDDLING: Mapping[str, Middling] = {
    **dict.fromkeys(
        "linalg.norm searchsorted digitize array_equal array_equiv delete insert isin packbits "
        "unpackbits lexsort kron sort argsort unique dot vdot inner nonzero flatnonzero "
        "argwhere einsum cov corrcoef".split(),
        Middling(MOST),
    ),
    # whose operands NumPy wants to be writeable (NPY_ARRAY_DEFAULT)
    **dict.fromkeys(
        "bincount convolve correlate interp partition argpartition fft.fft fft.ifft fft.rfft "
        "fft.irfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn "
        "fft.irfftn".split(),
        Middling(MOST, writes=True),
    ),
    **dict.fromkeys("any all trace count_nonzero".split(), Middling(MOST, alone=True)),
    **dict.fromkeys("argmax argmin".split(), Middling(MOST, alone=True, writes=True)),
    **dict.fromkeys("max min amax amin".split(), Middling(_MOST_MOVED, alone=True)),
    **dict.fromkeys("nanmax nanmin".split(), Middling(MOST, alone=True)),
    **dict.fromkeys("copy flatten array".split(), Middling(_MOST_MOVED)),
    **dict.fromkeys(
        "concatenate concat stack hstack vstack column_stack dstack append".split(),
        Middling(_MOST_JOINED),
    ),
    "tile": Middling(_MOST_JOINED, writes=True),  # by `repeat`
    **dict.fromkeys(
        "nanmean nanvar nanstd nanargmax nanargmin".split(),
        Middling(_MOST_FOLDED),
    ),
    **dict.fromkeys("nansum nanprod average".split(), Middling(_MOST_MOVED)),
    **dict.fromkeys("gradient cross isclose allclose outer".split(), Middling(_MOST_COMPOSED)),
    **dict.fromkeys("item tobytes tolist".split(), Middling(MOST)),
    **dict.fromkeys(("take", "repeat"), Middling(_MOST_COMPOSED, writes=True)),
    "ptp": Middling(_MOST_MOVED, alone=True),
    # of larger ones, what reads them is fused with them, in half the time
    **dict.fromkeys(
        "roll pad diff ediff1d triu tril empty_like zeros_like ones_like full_like".split(),
        Middling(MADE),
    ),
}
#: NumPy wants the places to be writeable (NPY_ARRAY_DEFAULT).
_OF_UFUNCS: Mapping[str, Middling] = {"reduceat": Middling(MOST, writes=True)}


class Numpys(NamedTuple):
    """Elements of an array of NumPy's own up to which NumPy computes a function of it at once: the
    engine would copy it first. `narrow`: those of short integers, which NumPy casts."""

    most: int = 0
    narrow: int = 0


#: However many.
_ALL = 1 << 62
_FOLDS = " ".join(
    f"{name}.reduce" for name in "add multiply maximum minimum logical_or logical_and".split()
)
#: Two of the engine's kernels on all cores are faster than NumPy's passes from there on, copies
#: and all.
_OF_NUMPYS: Mapping[str, Numpys] = {
    **dict.fromkeys(
        "any all logical_or.reduce logical_and.reduce count_nonzero "
        "searchsorted digitize array_equal array_equiv".split(),
        Numpys(_ALL, _ALL),
    ),
    **dict.fromkeys("nonzero flatnonzero prod".split(), Numpys(PICKED, PICKED)),
    **dict.fromkeys(
        f"sum mean average max min amax amin argmax argmin ptp nanmax nanmin dot vdot inner "
        f"linalg.norm linalg.vector_norm {_FOLDS}".split(),
        Numpys(_ALL, PICKED_ROWS),
    ),
    "allclose": Numpys(_MOST_COMPOSED, _MOST_COMPOSED),
    **dict.fromkeys(
        "std var nansum nanprod nanmean nanvar nanstd nanargmax nanargmin".split(),
        Numpys(_MOST_FOLDED, PICKED),
    ),
}


def of_own(name: str) -> Numpys:
    """How much of NumPy's own arrays NumPy computes at once of a function."""
    return _OF_NUMPYS.get(name, Numpys())


def middling(name: str) -> Middling:
    """How a function or method is computed of larger arrays. Half precision is the kernels', for
    NumPy has no fast code for it."""
    return _MIDDLING.get(name, SMALL)


def of_numpys(name: str) -> Middling:
    """The same of a function that only NumPy has: the engine would ask it, too."""
    return _MIDDLING.get(name, Middling(MOST))


def of_ufuncs(name: str) -> Middling:
    """The same of a method of ufuncs."""
    return _OF_UFUNCS.get(name, SMALL)


#: A rule and what is middling in one number: the bits of a rule, of `alone`, of `writes`, and of
#: functions of which larger operands are announced; above them the size.
WORDS = {"RULE_MASK": 15, "ALONE_BIT": 16, "WRITES_BIT": 32, "TOLD_BIT": 64, "SIZE_SHIFT": 7}


def in_one(rule: Rule, given: Middling, *, is_told: bool = False) -> int:
    """The number, for machine code."""
    flags = WORDS["ALONE_BIT"] * given.alone | WORDS["WRITES_BIT"] * given.writes
    return rule | flags | WORDS["TOLD_BIT"] * is_told | given.most << WORDS["SIZE_SHIFT"]
