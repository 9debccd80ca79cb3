"""Runs one program with NumPy and with lazyfuse and compares what a user can see.

A program is a function `program(np, *arrays)` that returns arrays, scalars, or tuples and dicts of
them. Compared are dtype, shape, strides, every bit of the values (any NaN equals any NaN), the
arrays given to the program as it left them, and the exception: lazyfuse must raise inside the
program, at the recording call, what NumPy raises there.

`LAZYFUSE_TEST_MODULE=numpy` puts NumPy itself in lazyfuse's place: what fails then is a wrong
test. `LAZYFUSE_DEVICE=cuda` runs the same programs on a GPU, where sums of floats are tree sums
and get a tolerance.

    check(lambda np, a: (a + 1)[::-1], host.arange(5))
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as host

MODULE = os.environ.get("LAZYFUSE_TEST_MODULE", "lazyfuse")
lf: Any = importlib.import_module(MODULE)
IS_ENGINE = MODULE == "lazyfuse"
#: What lazyfuse records: arrays and pending scalars.
LAZY: tuple[type, ...] = (lf.LazyArray, lf.LazyScalar) if IS_ENGINE else ()
#: Major and minor number of NumPy's version.
NUMPY = tuple(map(int, host.__version__.split(".")[:2]))
ON_GPU = os.environ.get("LAZYFUSE_DEVICE", "cpu").startswith("cuda")

Program = Callable[..., Any]

#: Tree sums on a GPU against pairwise sums: relative to the largest magnitude of the result, in
#: units of its eps.
GPU_SUM_EPS = 64


@dataclass(frozen=True, slots=True)
class Rules:
    """How two results are compared.

    `ulp`: bound for floats, 0 for the same bits; for complex values it is relative to the larger
    component. `zero_sign`: whether +0.0 and -0.0 differ (the order of a max of zeros is NumPy's
    own business). `normwise`: the bound is in units of the largest magnitude of the result, for
    programs that cancel. `strides`: whether the memory order counts. `sums`: float results are
    sums, with a tolerance on a GPU.
    """

    ulp: float = 0
    zero_sign: bool = True
    strides: bool = True
    sums: bool = False
    normwise: bool = False


EXACT = Rules()


def options(**values: Any) -> AbstractContextManager[Any]:
    """Open lazyfuse's options, or nothing when NumPy stands in its place."""
    return lf.options(**values) if IS_ENGINE else nullcontext()


def to_lazy(value: Any) -> Any:
    """Copy a NumPy array into lazyfuse; anything else stays what it is."""
    return lf.array(value) if isinstance(value, host.ndarray) else value


def to_numpy(value: Any) -> Any:
    """Return a lazy array's values; anything else stays what it is."""
    if IS_ENGINE and isinstance(value, LAZY):
        return lf.asnumpy(value)
    return value


def check(
    program: Program,
    *arrays: Any,
    ulp: float = 0,
    zero_sign: bool = True,
    strides: bool = True,
    sums: bool = False,
    normwise: bool = False,
) -> None:
    """Assert that `program` does with lazyfuse what it does with NumPy."""
    rules = Rules(ulp, zero_sign, strides, sums, normwise)
    problems = list(differences(program, *arrays, rules=rules))
    assert not problems, "\n".join(problems[:20])


def check_modes(program: Program, *arrays: Any, **rules: Any) -> None:
    """Assert that fused, unfused, threaded, cut and cached runs all equal NumPy."""
    for mode in MODES:
        with options(**mode):
            check(program, *arrays, **rules)
            check(program, *arrays, **rules)


def same_bits(program: Program, *arrays: Any) -> None:
    """Assert that every mode of lazyfuse gives the same bits, also where NumPy's differ by some
    ULP.
    """
    outcomes = []
    for mode in MODES:
        with options(**mode):
            outcomes.append(evaluate(program, *arrays))
    for mode, outcome in zip(MODES, outcomes, strict=True):
        problems = list(compare("result", outcomes[0], outcome))
        assert not problems, f"{MODES[0]} against {mode}:\n" + "\n".join(problems[:20])


#: Ways to run one program that must all give the same bits.
MODES: tuple[dict[str, Any], ...] = (
    {},
    {"fusion": False},
    {"threads": 1},
    {"threads": 2},
    {"max_pending_nodes": 3},
    {"max_pending_nodes": 7, "threads": 2},
    {"eager_size": 30},
)


def evaluate(program: Program, *arrays: Any) -> Any:
    """Run a program with lazyfuse and return its results as NumPy arrays, in lists and dicts."""
    outcome = _run(program, lf, [to_lazy(_copy(value)) for value in arrays], to_numpy)
    if outcome.error:
        raise outcome.error
    return outcome.value


def differences(program: Program, *arrays: Any, rules: Rules = EXACT) -> Iterator[str]:
    """Yield one line per difference between NumPy and lazyfuse."""
    wanted = _run(program, host, [_copy(value) for value in arrays], lambda value: value)
    given = _run(program, lf, [to_lazy(_copy(value)) for value in arrays], observe)
    if wanted.error or given.error:
        yield from compare_errors(wanted.error, given.error)
    else:
        yield from compare("result", wanted.value, given.value, rules)
    for index, (left, right) in enumerate(zip(wanted.arrays, given.arrays, strict=True)):
        yield from compare(f"input {index} afterwards", left, right, rules)


@dataclass(slots=True)
class _Outcome:
    value: Any
    arrays: list[Any]
    error: Exception | None


def _run(program: Program, module: Any, arrays: list[Any], read: Callable[[Any], Any]) -> _Outcome:
    """Run the program; errors count only while it runs, what comes later is for the test to
    see.
    """
    error: Exception | None = None
    value: Any = None
    with host.errstate(all="ignore"):
        try:
            value = program(module, *arrays)
        except Exception as raised:  # noqa: BLE001 - any exception type is an answer here
            error = raised
        if IS_ENGINE and module is lf:
            lf.materialize(*_lazy_leaves(value))
        return _Outcome(_map(read, value), [read(array) for array in arrays], error)


def _lazy_leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    _map(found.append, value)
    return [leaf for leaf in found if isinstance(leaf, LAZY)]


def _copy(value: Any) -> Any:
    return host.array(value) if isinstance(value, host.ndarray) else value


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_map(function, item) for item in value]
    if isinstance(value, dict):
        return {key: _map(function, item) for key, item in value.items()}
    return function(value)


def compare_errors(wanted: Exception | None, given: Exception | None) -> Iterator[str]:
    """Yield one line when lazyfuse raises what NumPy does not, or the other way round."""
    if wanted is None and given is None:
        return
    if wanted is None:
        yield f"NumPy raises nothing, lazyfuse raised {type(given).__name__}: {given}"
        return
    public = next(kind for kind in type(wanted).__mro__ if "_core" not in kind.__module__)
    if not isinstance(given, public):
        told = "nothing" if given is None else f"{type(given).__name__}: {given}"
        yield f"NumPy raises {public.__name__}: {wanted}; lazyfuse raised {told}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a lazy array says about itself, and its values."""

    values: Any
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...]


def observe(value: Any) -> Any:
    """Read a lazy array's values, and what it says about itself; all else stays what it is."""
    if IS_ENGINE and isinstance(value, LAZY):
        shape, dtype, strides = value.shape, value.dtype, value.strides
        return _Seen(lf.asnumpy(value), shape, dtype, strides)
    return value


def compare(where: str, wanted: Any, given: Any, rules: Rules = EXACT) -> Iterator[str]:
    """Yield one line per difference between two results."""
    if isinstance(wanted, list):
        if not isinstance(given, list) or len(wanted) != len(given):
            yield f"{where}: expected {len(wanted)} results, got {given!r}"
            return
        for index, (left, right) in enumerate(zip(wanted, given, strict=True)):
            yield from compare(f"{where}[{index}]", left, right, rules)
    elif isinstance(wanted, dict):
        for key, left in wanted.items():
            yield from compare(f"{where}[{key}]", left, given[key], rules)
    elif isinstance(wanted, (host.ndarray, host.generic)):
        yield from _compare_arrays(where, wanted, given, rules)
    elif type(wanted) is not type(given) or wanted != given:
        yield f"{where}: expected {wanted!r}, got {given!r}"


def _compare_arrays(where: str, wanted: Any, given: Any, rules: Rules) -> Iterator[str]:
    if not isinstance(given, (host.ndarray, host.generic, _Seen)):
        yield f"{where}: expected {_kind(wanted)}, got {type(given).__name__} {given!r}"
        return
    if _kind(wanted) != _kind(given):
        yield f"{where}: expected {_kind(wanted)}, got {_kind(given)}"
        return
    if rules.strides and _steps(wanted) != _steps(given):
        yield f"{where}: expected strides {wanted.strides}, got {given.strides} ({wanted.shape})"
    values = given.values if isinstance(given, _Seen) else given
    if _kind(values) != _kind(given):
        yield f"{where}: the array says {_kind(given)}, its values are {_kind(values)}"
        return
    yield from _compare_values(where, wanted, values, rules)


def _compare_values(where: str, wanted: Any, values: Any, rules: Rules) -> Iterator[str]:
    left, right = host.ascontiguousarray(wanted).ravel(), host.ascontiguousarray(values).ravel()
    wrong = host.flatnonzero(~equal(left, right, rules))
    if len(wrong):
        first = int(wrong[0])
        yield (
            f"{where}: {len(wrong)} of {left.size} differ ({_kind(wanted)}), first at {first}: "
            f"expected {left[first]!r}, got {right[first]!r}"
        )


def _kind(array: Any) -> str:
    return f"{array.dtype} {tuple(array.shape)}"


def _steps(array: Any) -> list[int]:
    """Return the strides that matter: none for an empty array nor along an axis of one element."""
    if 0 in array.shape:
        return []
    return [step for step, extent in zip(array.strides, array.shape, strict=True) if extent > 1]


def equal(wanted: Any, given: Any, rules: Rules = EXACT) -> Any:
    """Say for each element whether it is right."""
    if wanted.dtype.kind == "c":
        return _equal_complex(wanted, given, rules)
    if wanted.dtype.kind != "f":
        return wanted == given
    same = _same_floats(wanted, given, zero_sign=rules.zero_sign)
    if rules.sums and ON_GPU and wanted.size:
        same |= _close(wanted, given, GPU_SUM_EPS)
    if not rules.ulp or not wanted.size:
        return same
    return same | (_close if rules.normwise else _within)(wanted, given, rules.ulp)


def _same_floats(wanted: Any, given: Any, *, zero_sign: bool) -> Any:
    bits = f"u{wanted.dtype.itemsize}"
    same = (wanted.view(bits) == given.view(bits)) | (host.isnan(wanted) & host.isnan(given))
    return same if zero_sign else same | (wanted == given)


def _equal_complex(wanted: Any, given: Any, rules: Rules) -> Any:
    real = f"f{wanted.dtype.itemsize // 2}"
    exact = Rules(0, rules.zero_sign, sums=rules.sums)
    parts = [equal(wanted.view(real)[k::2], given.view(real)[k::2], exact) for k in (0, 1)]
    same = parts[0] & parts[1]
    if not rules.ulp:
        return same
    both_nan = host.isnan(wanted) & host.isnan(given)
    with host.errstate(all="ignore"):
        unit = host.spacing(host.maximum(abs(wanted.real), abs(wanted.imag)))
        error = host.maximum(abs(wanted.real - given.real), abs(wanted.imag - given.imag))
        return same | both_nan | (error <= rules.ulp * unit)


def _within(wanted: Any, given: Any, ulp: float) -> Any:
    """Say which floats lie within `ulp` steps; zeros keep their sign and NaN is equal only to
    NaN.
    """
    left, right = _ordinal(wanted), _ordinal(given)
    distance = host.where(left > right, left - right, right - left)
    nan = host.isnan(wanted) | host.isnan(given)
    zeros = (wanted == 0) & (given == 0)
    return (distance <= ulp) & ~nan & ~zeros


def _ordinal(floats: Any) -> Any:
    """Number the floats in order: unsigned, so that no difference overflows."""
    kind = host.dtype(f"u{floats.dtype.itemsize}").type
    top = kind(1 << (8 * floats.dtype.itemsize - 1))
    bits = floats.view(kind)
    return host.where(bits >= top, top - (bits ^ top), top + (bits & ~top))


def _close(wanted: Any, given: Any, ulp: float) -> Any:
    """Say which floats lie within `ulp` eps of the largest magnitude, below which there are
    subnormal numbers."""
    finite = host.abs(host.where(host.isfinite(wanted), wanted, 0)).astype("f8")
    info = host.finfo(wanted.dtype)
    largest = max(float(finite.max(initial=0.0)), float(info.smallest_normal))
    bound = ulp * float(info.eps) * largest
    with host.errstate(all="ignore"):
        return host.abs(wanted.astype("f8") - given.astype("f8")) <= bound
