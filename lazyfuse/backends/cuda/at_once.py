"""Functions that are computed at once, because values may make them fail, on a GPU: through CuPy.

As in `library.py`, a row says what is known to be NumPy's answer; all else is left to NumPy. Every
error is: what CuPy raises, and results that are not finite, are computed again by NumPy on the
host, which raises its own LinAlgError, or has the answer. Looking at that waits for the GPU.

Not here: what a library is free to choose. Vectors of `eigh`, `eig` and `svd` have any sign,
`qr` and `lstsq` of a singular matrix any basis; `bincount` and `histogram` of CuPy round the bins
on their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

#: What LAPACK computes in: NumPy refuses float16, and computes integers in float64.
_LINEAR = frozenset("b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 c8 c16".split())
_WHOLE = frozenset("i1 i2 i4 i8 u1 u2 u4 u8".split())

#: CuPy's arrays, and the options by name.
Refuses = Callable[[Sequence[Any], Mapping[str, Any]], str]


class Row(NamedTuple):
    """As in `library.py`, of one function `call`; `arrays` is the number of leading arguments that
    are arrays, `kinds` the dtypes that they may have, `options` the names of the others. `runs`
    takes CuPy's arrays and the options."""

    call: str
    by: str
    arrays: int
    kinds: frozenset[str]
    dtypes: str
    options: str
    equal: str
    runs: Callable[..., Any]
    refuses: Refuses = lambda arrays, options: ""


def refusal(row: Row, arrays: Sequence[Any], options: Mapping[str, Any]) -> str:
    """Why a call is left to NumPy; "" when it is not. `arrays` are CuPy's."""
    if len(arrays) != row.arrays or any(0 in array.shape for array in arrays):
        return "other arguments, or an array without elements"
    if any(_code(array) not in row.kinds for array in arrays):
        return "a dtype that is not known to be equal"
    unknown = [name for name in options if name not in row.options.split()]
    return f"the option {unknown[0]}" if unknown else row.refuses(arrays, options)


def _code(array: Any) -> str:
    return str(array.dtype.str[1:])


def run(cupy: Any, row: Row, arrays: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """An array or a tuple of arrays, C-contiguous as NumPy's; None where NumPy has to say.
    Raises: what CuPy does."""
    found = row.runs(cupy, *arrays, **options)
    every = found if isinstance(found, tuple) else (found,)
    for array in every:
        if array.dtype.kind in "fc" and not bool(cupy.isfinite(array).all()):
            return None
    made = tuple(cupy.ascontiguousarray(array).reshape(array.shape) for array in every)
    return type(found)(made) if isinstance(found, tuple) else made[0]


def _linear(function: str) -> Callable[..., Any]:
    """A function of CuPy's `linalg` that tells of failure, instead of giving what it has."""

    def call(cupy: Any, *arrays: Any, **options: Any) -> Any:
        from cupyx import errstate

        with errstate(linalg="raise"):
            return getattr(cupy.linalg, function)(*arrays, **options)

    return call


def _singular_values(cupy: Any, a: Any, **options: Any) -> Any:
    return _linear("svd")(cupy, a, compute_uv=False)


def _unique(cupy: Any, a: Any, **options: Any) -> Any:
    return cupy.unique(a, **options)


def _no_matrix(arrays: Sequence[Any], options: Mapping[str, Any]) -> str:
    a = arrays[0]
    return "" if a.ndim == 2 and a.shape[0] == a.shape[1] else "no single square matrix"


def _no_system(arrays: Sequence[Any], options: Mapping[str, Any]) -> str:
    a, b = arrays
    fits = b.ndim in (1, 2) and a.ndim == 2 and a.shape[1] == b.shape[0]
    if a.dtype != b.dtype:  # CuPy would widen float32, and flush its denormals
        return "two dtypes"
    return _no_matrix(arrays, options) if fits else "no single system that fits"


def _no_rows(arrays: Sequence[Any], options: Mapping[str, Any]) -> str:
    return "" if arrays[0].ndim == 2 else "no single matrix"


def _vectors(arrays: Sequence[Any], options: Mapping[str, Any]) -> str:
    if options.get("compute_uv", True) is not False:
        return "singular vectors have any sign"
    return _no_rows(arrays, options)


def _flags(arrays: Sequence[Any], options: Mapping[str, Any]) -> str:
    return "" if all(type(value) is bool for value in options.values()) else "an odd option"


def _row(
    call: str, arrays: int, runs: Callable[..., Any], refuses: Refuses, options: str = ""
) -> Row:
    equal = (
        "rounds in another order; LinAlgError is NumPy's, where cuSOLVER finds a singular matrix"
    )
    dtypes = "all but float16"
    return Row(call, "cuSOLVER", arrays, _LINEAR, dtypes, options, equal, runs, refuses)


TABLE: dict[str, Row] = {
    "linalg.inv": _row("linalg.inv", 1, _linear("inv"), _no_matrix),
    "linalg.solve": _row("linalg.solve", 2, _linear("solve"), _no_system),
    "linalg.cholesky": _row("linalg.cholesky", 1, _linear("cholesky"), _no_matrix),
    "linalg.eigvalsh": _row("linalg.eigvalsh", 1, _linear("eigvalsh"), _no_matrix, "UPLO"),
    "linalg.svdvals": _row("linalg.svd", 1, _singular_values, _no_rows),
    "linalg.svd": _row("linalg.svd", 1, _singular_values, _vectors, "compute_uv"),
    "unique": Row(
        "unique", "thrust", 1, _WHOLE, "integers", "return_index return_inverse return_counts",
        "bit for bit", _unique, _flags,
    ),
}  # fmt: skip
