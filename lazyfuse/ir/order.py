"""Turns shapes and strides into the memory order and the summation order that NumPy would use.

Integer arithmetic on tuples, no NumPy: it runs while recording. Strides are in elements. It
restates, for NumPy 2.4, nditer (nditer_constr.c: npyiter_find_best_axis_ordering,
npyiter_new_temp_array, npyiter_find_buffering_setup; nditer_api.c: npyiter_coalesce_axes), the
trivial loop of ufunc_object.c and PyArray_NewLikeArray of ctors.c. `tests/test_order.py` compares
every rule with the installed NumPy.

Layout of results

* An axis moves inwards past its neighbour only when every operand that moves along both says so
  by |stride|; operands that disagree, or say nothing, leave C order. Signs are ignored: the result
  of `x[::-1] * 2` is C-contiguous. Casts change nothing else than the next rule.
* A ufunc with one output whose operands are 0-d or all of one shape and all C- or all
  F-contiguous, and need no cast, skips nditer. It shows only in the strides of axes of extent 1.
* `astype`, `np.copy` and `*_like` sort by |stride| alone, extents of 1 and strides of 0 included.
* A reduction's result takes the order of its operand's axes.
* All strides of a new array without elements are 0.
* Not here: the operators + - * / // & | ^ << >> of ndarray write into an operand that is a
  temporary of 256 KiB or more, when the other is 0-d or of its shape and casts safely to it (the
  right operand too where the operation commutes). Then `(f * f) + c` keeps the layout of `f * f`,
  while `np.add(f * f, c)` does not.

Order of a sum (`add.reduce`, which np.sum, np.mean, np.var and np.std call)

* The operand's axes are sorted by |stride| (C order where one is 0), axes of extent 1 vanish, and
  neighbours that are both kept or both reduced coalesce when their strides chain. Negative strides
  are never flipped, so `x[::-1].sum()` adds from the last element of `x` to the first.
* Innermost axis kept: each output adds its elements one by one. Innermost axis reduced: each
  output adds the pairwise sums of runs one by one. Rows that do not coalesce are copied into a
  buffer of 8192 elements, as many whole rows as fit, and its content is one run: `a[:, ::2].sum()`
  is one run per row only where a row exceeds 4096 elements. A cast goes through the same buffer
  and cuts longer rows every 8192 elements.
* The total starts from +0.0 (complex: 0+0j), also for a sum of -0.0 or of nothing.
* float16 runs add pairwise in float32 and round each time a run (or an element) joins the total.
* A product walks in the same order from 1, one by one. Within a run, float16 multiplies in
  float32 and rounds at the end, and complex uses the plain formula; outside, as np.multiply does,
  complex fuses: fma(ar, br, -(ai*bi)) + i fma(ar, bi, ai*br) where the CPU has FMA.

Compositions, in numpy/_core/_methods.py

* mean: add.reduce with dtype f8 for integers and bool, f4 for f2, then true_divide by an intp, so
  in f8 (c16), then rounded back to the sum's dtype; an f2 array is rounded to f4 and then to f2,
  an f2 scalar at once.
* var: the mean with keepdims, but f2 adds up in f2; `x = subtract(a, mean)`, of the K order of
  both (the mean is laid out by `reduction_strides`, and it decides where `a` is broadcast);
  square(x); add.reduce of x by x's own layout (without a cast); true_divide by
  intp max(count - ddof, 0), in f8 and rounded back. A complex x is replaced by its `real` view, of
  strides twice as long, holding real**2 + imag**2. std: the square root of var.
* argmax and argmin without axis give the first position in C order; the first NaN wins.
* max and min: which of -0.0 and 0.0 is returned depends on the SIMD lanes: unspecified.

    reduction_order((3, 4, 5), (20, 5, 1), (0, 1, 2))  one run of 60
    reduction_order((3, 4, 5), (20, 5, 1), (2,))       12 runs of 5, one per output
    reduction_order((3, 4, 5), (20, 5, 1), (0,))       no runs: 3 additions per output
    reduction_order((9, 1000), (3000, 2), (0, 1))      a run of 8000 (eight rows), a run of 1000
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

Shape = tuple[int, ...]
Strides = tuple[int, ...]

#: Answers kept per question: programs ask for the same shapes again and again.
KEPT = 4096
#: Elements in an nditer buffer: np.getbufsize(), unless somebody called np.setbufsize.
BUFFER_SIZE = 8192


class ReductionOrder(NamedTuple):
    """How a ufunc's `reduce` walks the reduced axes of its operand, for every output alike.

    axes: the reduced axes of extent above 1, slowest first; an output folds its elements in this
      order, each axis walked upwards by index, also along a negative stride.
    pairwise: whether a sum of floats adds pairwise sums of runs instead of single elements.
    run_axes: how many trailing `axes` make one span; the axes before them repeat it.
    chunk: a span is cut into runs of `chunk` elements, the last one shorter; 0: it is one run.
    """

    pairwise: bool
    axes: tuple[int, ...]
    run_axes: int
    chunk: int


class _Line(NamedTuple):
    """Coalesced neighbouring axes of an operand: extent, stride, and `axes` fastest first."""

    extent: int
    stride: int
    axes: tuple[int, ...]


@lru_cache(KEPT)
def c_strides(shape: Shape) -> Strides:
    """Return the strides of a new C-order array; all 0 in an array without elements."""
    strides, step = [0] * len(shape), 1
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides) if step else (0,) * len(shape)


def f_strides(shape: Shape) -> Strides:
    """Return the strides of a new Fortran-order array; all 0 in an array without elements."""
    return c_strides(shape[::-1])[::-1]


def is_contiguous(shape: Shape, strides: Strides) -> bool:
    """Tell whether elements lie in C order without gaps: the C_CONTIGUOUS flag.

    Strides of axes of extent 1 do not matter; an array without elements is contiguous.
    """
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1:
            if stride != expected:
                return 0 in shape
            expected *= extent
    return True


def is_f_contiguous(shape: Shape, strides: Strides) -> bool:
    """Tell whether elements lie in Fortran order without gaps: the F_CONTIGUOUS flag."""
    return is_contiguous(shape[::-1], strides[::-1])


def result_strides(
    operands: Sequence[tuple[Shape, Strides]], shape: Shape, *, trivial: bool = True
) -> Strides:
    """Return the strides of the array that an elementwise ufunc allocates for its result.

    operands: shape and strides of each input; scalars may be left out or given as `((), ())`.
    shape: the broadcast shape.
    trivial: False where NumPy never skips nditer: np.where, several outputs (divmod, modf, frexp),
      `where=`, and an operand of one or more dimensions that is cast or unaligned.
    """
    packed = c_strides(shape)
    if len(shape) <= 1 or 0 in shape:
        return packed
    for own, strides in operands:
        # an operand in C order that moves along every axis vetoes every other order
        if strides == packed and own == shape:
            return packed
    if trivial:
        found = _trivial_strides(operands, shape)
        if found is not None:
            return found
    rows = [_broadcast(own, strides, shape) for own, strides in set(operands) if own]
    return _packed(shape, _sorted_axes(rows, len(shape)))


def is_dense(shape: Shape, strides: Strides, unit: int = 1) -> bool:
    """Whether elements lie one after the other, in some order of the axes longer than one; an
    element takes `unit` of what strides count."""
    axes = zip(shape, strides, copy_strides(shape, strides), strict=True)
    return 0 in shape or all(n == 1 or own == unit * gap for n, own, gap in axes)


@lru_cache(KEPT)
def copy_strides(shape: Shape, strides: Strides) -> Strides:
    """Return the strides of a copy with order='K': astype, np.copy, empty_like, full_like."""
    if is_contiguous(shape, strides):
        return c_strides(shape)
    if is_f_contiguous(shape, strides):
        return f_strides(shape)
    # sorted() is stable, so among equal strides the later axis is the faster one, as NumPy has it
    slowest_last = sorted(range(len(shape) - 1, -1, -1), key=lambda axis: abs(strides[axis]))
    return _packed(shape, slowest_last)


@lru_cache(KEPT)
def reduction_order(
    shape: Shape, strides: Strides, axes: Sequence[int], *, cast: bool = False
) -> ReductionOrder:
    """Return the order in which `ufunc.reduce(a, axis=axes)` visits the elements of an output.

    shape, strides: of the operand; axes: reduced axes, not negative; keepdims makes no difference.
    cast: whether the operand's dtype differs from the accumulator's (dtype=, integers in np.mean),
      or it is unaligned.
    Exactness: not for `out=` of an own layout, nor `where=`.
    """
    lines = _lines(shape, strides, axes)
    reduced = [line.axes[0] in axes for line in lines]
    order = tuple(
        axis for line, own in zip(lines, reduced, strict=True) if own for axis in line.axes
    )[::-1]
    leading = reduced.index(False) if False in reduced else len(lines)
    if leading == 0:
        return ReductionOrder(False, order, 0, 0)
    span, chunk = _span(lines, leading, cast)
    return ReductionOrder(True, order, sum(len(line.axes) for line in lines[:span]), chunk)


@lru_cache(KEPT)
def reduction_strides(
    shape: Shape, strides: Strides, axes: Sequence[int], *, keepdims: bool = False
) -> Strides:
    """Return the strides of the array that `ufunc.reduce` allocates: the operand's axis order."""
    moves = [0 if extent == 1 else abs(step) for extent, step in zip(shape, strides, strict=True)]
    extents = tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    if 0 in extents:
        packed: Strides = (0,) * len(shape)
    else:
        packed = _packed(extents, _sorted_axes([moves], len(shape)))
    return packed if keepdims else tuple(s for i, s in enumerate(packed) if i not in axes)


def _trivial_strides(operands: Sequence[tuple[Shape, Strides]], shape: Shape) -> Strides | None:
    """Return the result strides of a ufunc's trivial loop, or None where NumPy needs nditer."""
    kinds: tuple[bool, bool] | None = None
    for own, strides in operands:
        if not own:
            continue
        if own != shape:
            return None
        kind = (is_contiguous(own, strides), is_f_contiguous(own, strides))
        if kind == (False, False) or kinds not in (None, kind):
            return None
        kinds = kind
    return f_strides(shape) if kinds == (False, True) else c_strides(shape)


def _broadcast(own: Shape, strides: Strides, shape: Shape) -> list[int]:
    """Return |stride| of an operand along every axis of `shape`, 0 where it does not move."""
    row = [0] * (len(shape) - len(own))
    row += [0 if extent == 1 else abs(stride) for extent, stride in zip(own, strides, strict=True)]
    return row


def _sorted_axes(rows: Sequence[Sequence[int]], ndim: int) -> list[int]:
    """Return the axes fastest first: nditer's insertion sort, which steps over axes that tie."""
    if len(rows) == 1 and 0 not in rows[0]:
        return sorted(range(ndim - 1, -1, -1), key=rows[0].__getitem__)
    order: list[int] = []
    for axis in range(ndim - 1, -1, -1):
        place = len(order)
        for position in range(len(order) - 1, -1, -1):
            swap = _is_faster(rows, axis, order[position])
            if swap:
                place = position
            elif swap is False:
                break
        order.insert(place, axis)
    return order


def _is_faster(rows: Sequence[Sequence[int]], axis: int, other: int) -> bool | None:
    """Tell whether all operands that move along both move less along `axis`; None: none does."""
    verdict: bool | None = None
    for row in rows:
        if row[axis] and row[other]:
            if row[other] <= row[axis]:
                return False
            verdict = True
    return verdict


def _packed(shape: Shape, fastest_first: Sequence[int]) -> Strides:
    """Return strides without gaps for axes in the given order."""
    strides = [0] * len(shape)
    step = 1
    for axis in fastest_first:
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def _lines(shape: Shape, strides: Strides, axes: Sequence[int]) -> list[_Line]:
    """Return the axes of extent above 1, fastest first, kept and reduced ones coalesced apart."""
    long = [axis for axis, extent in enumerate(shape) if extent != 1]
    lines: list[_Line] = []
    for place in _sorted_axes([[abs(strides[axis]) for axis in long]], len(long)):
        axis = long[place]
        line = _Line(shape[axis], strides[axis], (axis,))
        if lines and _chain(lines[-1], line) and (lines[-1].axes[0] in axes) == (axis in axes):
            last = lines.pop()
            line = _Line(last.extent * line.extent, last.stride, last.axes + line.axes)
        lines.append(line)
    return lines


def _span(lines: Sequence[_Line], leading: int, cast: bool) -> tuple[int, int]:
    """Return how many lines make a span, and its chunk; the first `leading` lines are reduced.

    It follows npyiter_find_buffering_setup, whose outer dimension is the last line of a buffer;
    when that is a kept line (NumPy's reduce mode), a buffer holds whole spans and cuts none.
    """
    outer = _outer_dimension(lines, leading, cast)
    if outer == leading:
        return leading, 0
    span = prod(line.extent for line in lines[: outer + 1])
    if span <= BUFFER_SIZE or not (cast or outer):
        return outer + 1, 0
    core = span // lines[outer].extent
    return outer + 1, core * (BUFFER_SIZE // core)


def _outer_dimension(lines: Sequence[_Line], leading: int, cast: bool) -> int:
    """Return NumPy's outer dimension: the least (1 + buffers) per element handled at once."""
    best, best_cost, best_size = 0, 1 + cast, lines[0].extent
    cost, size, chained = best_cost, best_size, True
    for dimension in range(1, min(leading + 1, len(lines))):
        if size >= BUFFER_SIZE and cost > 1:
            break
        cost += dimension == leading
        if chained and not _chain(lines[dimension - 1], lines[dimension]):
            chained = False
            cost += not cast
        size *= lines[dimension].extent
        handled = min(size, BUFFER_SIZE) if cost > 1 else size
        if cost * best_size <= best_cost * handled:
            best, best_cost, best_size = dimension, cost, size
    return best


def _chain(inner: _Line, outer: _Line) -> bool:
    return inner.stride * inner.extent == outer.stride
