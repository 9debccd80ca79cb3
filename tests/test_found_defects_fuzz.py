"""Programs that the fuzzer found: each docstring tells the failure."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as host
import pytest

import lazyfuse as np
from tests import oracle


def _errors(np: Any, *calls: Any) -> list[str]:
    """Return the name of what each call raises."""
    names = []
    for call in calls:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - any exception is an answer here
            kinds = type(error).__mro__
            names.append(next(kind.__name__ for kind in kinds if "_core" not in kind.__module__))
        else:
            names.append("nothing")
    return names


def test_a_scalar_is_no_memory_to_write_into() -> None:
    """A 0-d array whose value had become a constant was written by a mask: KeyError at the end."""

    def program(np: Any) -> Any:
        x = np.array(np.arange(1).reshape(()))
        x[()] = 0.0
        x[(np.arange(1) == 0).reshape(())] = x
        return x

    oracle.check(program)


def test_copyto_takes_python_scalars_as_assignment_does() -> None:
    """`copyto(unsigned, 2)` raised TypeError: the 2 counted as int64."""

    def program(np: Any, x: Any, f: Any) -> Any:
        np.copyto(x, 2)
        np.copyto(f[1:], True, where=x[1:] > 0)
        errors = _errors(
            np,
            lambda: np.copyto(x, 300),
            lambda: np.copyto(x, -1),
            lambda: np.copyto(x, 1.5),
            lambda: np.copyto(np.broadcast_to(x, (2, 3)), 1j),
        )
        return x, f, errors

    oracle.check(program, host.ones(3, "u1"), host.zeros(3, "f4"))


@pytest.mark.parametrize("dtype", ("u1", "i4", "?", "f2"))
@pytest.mark.parametrize("name", ("mean", "var", "std"))
def test_statistics_in_the_dtype_that_was_asked_for(name: str, dtype: str) -> None:
    """`std(dtype=int)` gave a float; with `out=`, sums were divided before they were cast."""

    def program(np: Any, x: Any) -> Any:
        function, out = getattr(np, name), np.zeros(5)
        function(x, axis=0, dtype=dtype, out=out)
        errors = _errors(
            np,
            lambda: function(x, axis=0, dtype=dtype),
            lambda: function(x, axis=0, out=np.zeros(5, "i8")),
            lambda: function(x, axis=0, out=np.zeros(4)),
        )
        return function(x, dtype=dtype), out, errors

    oracle.check(program, host.arange(15).reshape(3, 5))


def test_dtypes_are_checked_before_shapes_and_memory_before_both() -> None:
    """Calls that are wrong in two ways raised for the other one."""

    def program(np: Any, x: Any) -> Any:
        frozen = np.broadcast_to(np.zeros(3, "i8"), (2, 3))
        return _errors(
            np,
            lambda: np.add(x, np.ones(5), out=np.zeros(3, "i8")),
            lambda: np.divide(x, 2, out=np.zeros(4, "i8")),
            lambda: np.add(x, 1.5, out=frozen),
            lambda: np.bitwise_and(x, 1.5, out=frozen),
            lambda: np.zeros(0).__setitem__([0], np.ones(16)),
        )

    oracle.check(program, host.ones(4))


def test_where_takes_numbers_and_refuses_arrays_of_them() -> None:
    """`sum(where=integers)` counted them as masks, or failed when the sum was computed."""

    def program(np: Any, x: Any) -> Any:
        sums = [x.sum(where=mask) for mask in (17, 0, 1.5, [1, 0, 1, 1], x[2], x > 1)]
        errors = _errors(
            np,
            lambda: x.sum(where=x),
            lambda: x.any(where=np.array(3)),
            lambda: x.sum(where=np.ones(8, bool)),
            lambda: x.prod(where=np.ones((2, 1), bool)),
        )
        return sums, errors

    oracle.check(program, host.arange(4))


def test_contiguous_copies_have_an_axis() -> None:
    """`ascontiguousarray` of a 0-d array stayed 0-d."""
    oracle.check(lambda np, x: [np.ascontiguousarray(x), np.asfortranarray(x)], host.array(3))


def test_broadcast_shapes_are_integers() -> None:
    """`broadcast_to(x, 7.0)` took 7."""
    oracle.check(lambda np: np.broadcast_to(1, 7.0))
    oracle.check(lambda np: np.broadcast_to(1, -2.5))
    oracle.check(lambda np, x: np.broadcast_to(x[0], x), host.arange(3))


def test_copies_of_scalars_are_arrays() -> None:
    """`np.copy(x[0])` could not be written."""

    def program(np: Any, x: Any) -> Any:
        copied = np.copy(x[0] + 1)
        copied[...] = 7
        return copied, x

    oracle.check(program, host.arange(3.0))


def test_scalars_seen_as_another_dtype() -> None:
    """`x[2].view("u4")` called ndarray's method on a scalar."""
    oracle.check(lambda np, x: (x * 7)[2].view("f8"), host.arange(8))
    oracle.check(lambda np, x: (x * 7)[2].view("u4"), host.arange(8))


def test_empty_views_of_another_dtype_can_be_written() -> None:
    """An empty array seen as larger elements was read-only."""

    def program(np: Any, x: Any) -> Any:
        seen = x[:0, 1].view("c16")
        return seen, seen.flags.writeable

    oracle.check(program, host.arange(4).reshape(1, 4))


def test_the_imaginary_zeros_lie_as_the_array_does() -> None:
    """`imag` of a real array in Fortran order was in C order."""
    oracle.check(lambda np, x: x.imag, host.asfortranarray(host.ones((5, 3))))


def test_all_elements_of_a_0d_array() -> None:
    """`x.flat = 1.5` on a 0-d array raised ValueError."""

    def program(np: Any, x: Any) -> Any:
        x.flat = 1.5
        errors = _errors(np, lambda: setattr(x[()], "flat", 2))
        return x, errors

    oracle.check(program, host.array(0))


def test_a_mask_takes_part_in_the_memory_order_of_a_fold() -> None:
    """`sum(where=mask)` over Fortran memory lay as the operand, not as both lie."""

    def program(np: Any, x: Any) -> Any:
        return x.sum(axis=1, where=(np.arange(6) % 2 == 0).reshape((2, 1, 3)))

    oracle.check(program, host.asfortranarray(host.arange(6).reshape(2, 1, 3)))


@pytest.mark.parametrize("order", ("C", "F", "A", "K"))
def test_raveled_steps_are_a_copy(order: str) -> None:
    """`x[::-1].ravel("F")` was a view."""

    def program(np: Any, x: Any) -> Any:
        parts = [part.ravel(order) for part in (x[::-1], x[::2], x, x.reshape(3, 2).T)]
        for part in parts:
            part += 1
        return parts, x

    oracle.check(program, host.arange(6))


def test_an_element_of_bools_takes_an_array_of_one() -> None:
    """`x[2] = pending array of one element` was an AssertionError: NumPy takes it for bools."""

    def program(np: Any, x: Any, f: Any) -> Any:
        v, w = x[0], f + 1
        v[2] = v.min(keepdims=True)
        v[np.array(1)] = v[:1] & v[1:2]
        errors = _errors(
            np,
            lambda: w.__setitem__((0, 2), w[0, :1] + 1),
            lambda: w.__setitem__((0, 2), w[0] + 1),
            lambda: v.__setitem__(0, v | v),
        )
        return x, w, errors

    oracle.check(program, host.arange(12).reshape(4, 3) > 0, host.ones((2, 3)))


def test_accumulating_a_scalar_looks_at_the_axis_first() -> None:
    """`accumulate(x[0, ...], axis=1)` was a TypeError instead of an AxisError."""

    def program(np: Any, x: Any) -> Any:
        return _errors(
            np,
            *(lambda axis=axis: np.add.accumulate(x[2, ...], axis) for axis in (0, 1, -1, None)),
        )

    oracle.check(program, host.arange(3))


def test_the_imaginary_zeros_of_a_view() -> None:
    """`imag` of a real broadcast or transposed view lay as the view, not in C order."""

    def program(np: Any, x: Any) -> Any:
        views = np.broadcast_to(x[0], (2, *x.shape)), x.transpose(1, 0, 2), x[::2].T, x.T
        return [view.imag for view in views]

    oracle.check(program, host.ones((2, 3, 4)))


def test_taking_from_an_empty_axis() -> None:
    """`take(mode="clip")` along an axis of no elements raised also where the result was empty."""

    def program(np: Any) -> Any:
        none = np.zeros((0, 0, 3))
        kept = [
            np.zeros((0, 0)).take([0], axis=0, mode="clip"),
            none.take([0, 2], axis=2),
            none.take([9], axis=2),
        ]
        errors = _errors(
            np,
            lambda: np.zeros((0, 3)).take([0], axis=0, mode="clip"),
            lambda: np.zeros((0, 0)).take([0], axis=0),
            lambda: np.zeros((2, 0)).take([2], axis=0),
        )
        return kept, errors

    oracle.check(program)


def test_broadcast_axes_in_memory_order() -> None:
    """What was picked from a broadcast array lay in C order; folds over no axes and functions of
    parts of complex numbers lay as a copy."""

    def program(np: Any, x: Any, z: Any) -> Any:
        wide, parts = np.broadcast_to(x, (2, *x.shape)), np.broadcast_to(z, (2, *z.shape))
        picked = [wide[..., [3]], wide[True], wide[:, [0, 1]], wide[[1, 0]], wide[wide > 3]]
        folded = [wide.prod(axis=()), wide.sum(axis=()), wide.max(axis=(), keepdims=True)]
        functions = [parts.real + 1, np.abs(parts.imag), parts.real.copy(), parts.real.sum(axis=1)]
        return picked, folded, functions

    oracle.check(program, host.arange(12).reshape(3, 4), host.arange(3) * (1 + 1j))


def test_read_only_outputs_and_wrong_ones_in_numpys_order() -> None:
    """Several mistakes in one call were told in another order; an array may be its own part."""

    def program(np: Any, x: Any) -> Any:
        frozen = np.broadcast_to(x, x.shape)
        frozen.real = frozen
        return _errors(
            np,
            lambda: np.copyto(frozen, -1),
            lambda: np.copyto(frozen, 1),
            lambda: np.copyto(frozen, np.complex64(1)),
            lambda: x.prod(keepdims=True, out=x[2]),
            lambda: x.sum(dtype="u1", initial=-3, out=np.zeros(2)),
            lambda: np.broadcast_to(True, np.zeros(1030, "?")),
        )

    oracle.check(program, host.arange(4, dtype="u8"))


@pytest.mark.parametrize("size", (0, 100))
def test_windows_of_small_arrays_are_views(size: int) -> None:
    """`sliding_window_view` of a small array was a copy; a read-only one was not its own part."""

    def program(np: Any, x: Any) -> Any:
        part = x[1]
        windows = np.lib.stride_tricks.sliding_window_view(part, 2)
        windows.real = windows
        part += 1
        shared = [np.shares_memory(windows, each) for each in (x, part, x[0])]
        return windows, x, shared, windows.flags.writeable

    with oracle.options(eager_size=size):
        oracle.check(program, host.arange(12).reshape(3, 4))


def test_elements_as_outputs() -> None:
    """The shape of an element that stood for an output was judged first, and it is no output."""

    def program(np: Any, x: Any) -> Any:
        y = x + 1
        return _errors(
            np,
            lambda: y.var(keepdims=True, out=y[1]),
            lambda: y.mean(keepdims=True, out=y[1]),
            lambda: np.add.accumulate(y, out=y[1]),
            lambda: y.all().argmin(axis=1, out=np.broadcast_to(y, (2, 4))),
            lambda: np.copyto((y > 1)[:0], 2),
            lambda: np.clip(y.astype("u4")[1:], y.astype("u4"), -1),
            lambda: np.fmin(y, 300, dtype="u1"),
            lambda: np.fmin(y, 3, dtype="u1"),
            lambda: np.fmin(y, 2.5, dtype="u1"),
            lambda: np.copyto(np.broadcast_to(y > 1, (4,)), 2),
        )

    oracle.check(program, host.arange(4))


def test_squeeze_of_nothing_is_the_array_itself() -> None:
    """It was another object, whose shape could be set alone."""

    def program(np: Any, x: Any) -> Any:
        rows = x[-2:]
        rows.squeeze().shape = 8
        return rows, x.squeeze(()) is x, np.squeeze(x) is x, x[:1].squeeze(0).shape

    oracle.check(program, host.arange(12).reshape(3, 4))


def test_results_that_are_no_longer_small_stay_read_only() -> None:
    with oracle.options(eager_size=12):
        oracle.check(
            lambda np, x: (x.view("u1").imag.flags.writeable, x.view("u1").imag), host.arange(8)
        )


@pytest.mark.cpu("floating point flags")
def test_casts_of_operands_to_integers_are_reported() -> None:
    """A float operand of an integer loop was cast without a word."""

    def program(np: Any, x: Any) -> Any:
        with np.errstate(invalid="raise"):
            return _errors(
                np,
                lambda: np.add(x, x, dtype="i8", casting="unsafe"),
                lambda: x.sum(dtype="i8"),
                lambda: x.cumsum(dtype="i4"),
            )

    oracle.check(program, host.array([1.0, host.nan]))


def test_numbers_beside_arrays_are_weak_when_joined() -> None:
    def program(np: Any, x: Any) -> Any:
        pairs = ((x, 1.0), (x, 1j), (3, x.astype("u1")), (x.astype("u1"), 300), (1.0, 2))
        return [np.concatenate(pair, axis=None) for pair in pairs]

    oracle.check(program, host.ones(3, "f4"))


def test_copyto_does_not_cast_what_the_mask_leaves_out() -> None:
    """It warned of an overflow that NumPy does not meet."""

    def program(np: Any, x: Any) -> Any:
        narrow = np.zeros(2, "f4")
        with np.errstate(over="raise"):
            np.copyto(narrow, x, where=x < 2)
        return narrow

    oracle.check(program, host.array([1e300, 1.0]))


_TARGETS: dict[str, Any] = {
    "x[:]": lambda x, value: x.__setitem__(slice(None), value),
    "x[1]": lambda x, value: x.__setitem__(1, value),
    "x[mask]": lambda x, value: x.__setitem__(x == 0, value),
    "fill": lambda x, value: x.fill(value),
    "flat": lambda x, value: x.flat.__setitem__(0, value),
}


@pytest.mark.parametrize("how", _TARGETS)
@pytest.mark.parametrize("target", ("i1", "u1", "i4", "f4", "?"))
@pytest.mark.parametrize(
    "value", [host.int64(441), host.int64(-5), host.int16(300), host.uint64(2**63 + 5),
              host.uint8(200), host.float64(-1.5)]
)  # fmt: skip
def test_scalars_that_a_signed_integer_does_not_hold(how: str, target: str, value: Any) -> None:
    """An integer scalar was cast where NumPy refuses it; so was a pending one."""

    def program(np: Any, x: Any) -> Any:
        found = []
        for scalar in (value, (x + value)[0], (x + value).max()):
            whole = np.zeros(3, target)
            found.append((_errors(np, lambda w=whole, s=scalar: _TARGETS[how](w, s)), whole))
        return found

    with host.errstate(all="ignore"):
        oracle.check(program, host.zeros(3, value.dtype))


def test_parts_take_numbers_as_arrays_do() -> None:
    """`x.real = 1j` was refused for integers."""

    def program(np: Any, x: Any) -> Any:
        x.real = 2.5
        y = np.zeros(3, "u1")
        y.real = 300
        z = np.zeros((), "i8")
        z.real = 3 + 1j
        return x, y, z

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.check(program, host.arange(3) * 1j)


def test_outputs_of_argmin_are_judged_first() -> None:
    def program(np: Any, x: Any) -> Any:
        return _errors(
            np,
            lambda: x[:0].argmin(out=x[1]),
            lambda: x.argmin(axis=1, out=1),
            lambda: x.argmax(axis=3),
            lambda: x[:0].argmax(),
        )

    oracle.check(program, host.arange(4))


@pytest.mark.parametrize("source", ("i8", "u8", "f8", "i2", "?"))
@pytest.mark.parametrize("target", ("u8", "i8", "u1", "f4", "i2", "?"))
@pytest.mark.parametrize("name", ("minimum", "fmax", "add", "subtract", "bitwise_and"))
def test_folds_into_narrower_outputs(name: str, source: str, target: str) -> None:
    """NumPy keeps what it has folded in the output, cast; we cast the result."""

    def program(np: Any, x: Any) -> Any:
        out = np.zeros(4, target)
        told = _errors(np, lambda: getattr(np, name).reduce(x, axis=0, out=out))
        return told, out

    oracle.check(program, (host.arange(12) - 3).reshape(3, 4).astype(source))


def test_masked_folds_of_nothing_keep_the_memory_order() -> None:
    def program(np: Any, x: Any) -> Any:
        empty = x[:, 1:]
        masks = (0.3 > 0, 1, [True], np.array(True))
        return [empty.sum(axis=1, where=mask) for mask in masks]

    oracle.check(program, host.arange(6).reshape((2, 1, 3), order="F"))


def test_products_of_scalars_are_no_matrix_products() -> None:
    def program(np: Any, x: Any) -> Any:
        one = (x + 1)[1]
        pairs = ((1, one), (one, 1), (one, one), (one, x), (x, one), (one, [1, 2, 3]))
        return _errors(np, *[lambda a=a, b=b: a @ b for a, b in pairs])

    oracle.check(program, host.arange(3))


def test_a_pending_bool_to_a_power_is_an_integer() -> None:
    oracle.check(lambda np, x: (x.max() ** 2, x[-1] ** 2, x**2), host.array([False, True]))


def test_library_calls_of_filled_arrays() -> None:
    """An array that one number fills is dense to BLAS, also where its structure is met first."""

    def program(np: Any, x: Any) -> Any:
        filled = x * 1.0
        filled[...] = x[0] * 2
        return filled @ filled, np.full(68, np.float32(0.37)) @ np.full(68, np.float32(0.37))

    x = host.full(68, 9.0792567e16, "f4")
    for size in (0, 10_000):
        with oracle.options(cold_size=size):
            oracle.check(program, x, sums=True)


def test_which_of_two_errors_a_mean_raises() -> None:
    def program(np: Any, x: Any) -> Any:
        out = x.sum()
        calls = [
            lambda call=call, axis=axis: getattr(x[None], call)(axis=axis, out=out)
            for call in ("mean", "var", "std", "sum")
            for axis in ((0, -1), (0, 0), (0, 5))
        ]
        return _errors(np, *calls)  # fmt: skip

    oracle.check(program, host.arange(4.0))


def test_the_step_of_an_empty_slice_is_one() -> None:
    """What is made of it has the memory order that NumPy gives it."""

    def program(np: Any, x: Any) -> Any:
        whole = np.ones((4, 3), "c8").copy("F")
        return np.hstack([x[1:, 1:3:3], whole]), np.hstack([x[:, 0:0:-2][1:], whole])

    oracle.check(program, host.arange(5).reshape((5, 1)))


def test_memory_that_is_assigned_to_itself_may_be_read_only() -> None:
    def program(np: Any, x: Any) -> Any:
        same, other = np.broadcast_to(x, x.shape), np.broadcast_to(x, (2, 4))
        return _errors(
            np,
            lambda: setattr(same, "real", x),
            lambda: np.copyto(same, x),
            lambda: setattr(other, "real", x),
            lambda: np.copyto(other, x),
            lambda: same.__setitem__(..., x),
        )

    oracle.check(program, host.arange(4))


def test_positions_in_a_read_only_output_of_another_dtype() -> None:
    def program(np: Any, x: Any) -> Any:
        outs = [np.zeros((), kind).imag for kind in ("f8", "u8", "i8", "i4")]
        return _errors(np, *[lambda out=out: x.argmax(out=out) for out in outs])

    oracle.check(program, host.arange(4.0))


def test_a_view_of_nothing_reads_a_fill_that_is_overwritten() -> None:
    def program(np: Any, x: Any) -> Any:
        filled = np.full_like(3, 3)
        view = filled[None]
        chosen = np.where(3, 3, view[:-1])
        view[...] = x[0]
        return filled, view, chosen

    oracle.check(program, host.arange(3))


def test_products_of_parts_of_complex_arrays() -> None:
    """BLAS adds in another order where elements lie apart."""

    def program(np: Any, x: Any) -> Any:
        z = x * 7 % 11 * 0.7j
        part = z.imag
        part *= 7
        other = (x * 0.3 + z).real
        return part @ part, other @ part, np.dot(part[::-1], other), np.outer(part, other)

    oracle.check(program, host.arange(16), sums=True)


def test_numpy_says_what_is_wrong_with_a_read_only_output() -> None:
    """It looks at some arguments before."""

    def program(np: Any, x: Any) -> Any:
        mask, scalar = x > 1, x.sum()
        out = np.broadcast_to(np.zeros(()), (3,))
        calls = [
            lambda axis=axis, call=call: call(axis)
            for axis in (0, 1)
            for call in (
                lambda axis: mask.mean(axis=axis, where=mask, out=out),
                lambda axis: np.std(mask, axis=axis, where=mask, out=out),
                lambda axis: np.nanmean(x, axis=axis, out=out),
                lambda axis: np.percentile(x, 50, axis=axis, out=out),
            )
        ]
        calls += [
            lambda: np.copyto(out, 1),
            lambda: np.put(out, 0, 1),
            lambda: np.place(out, [1], 2),
        ]
        calls += [lambda: np.nanmean(x, out=scalar), lambda: np.copyto(scalar, 1)]
        return _errors(np, *calls)

    oracle.check(program, host.arange(4.0))


def test_memory_order_of_what_is_reduced_from_reshaped_nothing() -> None:
    """Where there are no elements, a new shape has new strides; what is summed over the empty axis
    lies as they say."""

    def program(np: Any, x: Any) -> Any:
        a, b = x[2:1], x[:, 2:1]
        shaped = [
            np.expand_dims(a, 1), np.expand_dims(b, (0, 3)), np.atleast_3d(a), a[None],
            b.reshape(0, 4, 2), b.reshape((2, 0, 4), order="F"), a.T.reshape(4, 0, 2),
            np.array(a, ndmin=6), a.squeeze(), np.expand_dims(x, 2),
        ]  # fmt: skip
        return [y.sum(axis=axis) for y in shaped for axis in range(y.ndim)], [
            y.mean(axis=0) for y in shaped
        ]

    with host.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        oracle.check(program, host.arange(16.0).reshape((2, 2, 2, 2), order="F"))


def test_memory_order_of_products_over_nothing() -> None:
    def program(np: Any, x: Any) -> Any:
        nothing = np.expand_dims(x[:0], 1)
        turned = nothing.transpose()
        return turned @ np.ones((0, 3)), np.ones((2, 0)) @ nothing[..., 0], np.sort(turned, axis=1)

    oracle.check(program, host.arange(36.0).reshape((2, 3, 6)))


def test_bounds_that_an_integer_array_cannot_reach_are_dropped_again() -> None:
    """Also by the short way of an operation that was recorded with bounds it reaches."""

    def program(np: Any, x: Any) -> Any:
        limits = [(1, 2), (host.inf, 100), (host.inf, 300), (-300, 2.5), (1.5, 300), (-128, 127)]
        rows = np.array([1.0, 500.0, 2.0, 3.0])
        return [
            value
            for low, high in limits
            for value in (np.clip(x, low, high), x.clip(low, high), x.clip(rows, high))
        ]

    oracle.check(program, host.arange(4).astype("i1"))


def test_products_of_complex_numbers_are_interpreted_beside_their_operands() -> None:
    """In the memory of an operand that nobody needs any more NumPy rounds them otherwise."""

    def program(np: Any) -> Any:
        x = (np.arange(1) - 1) * (0.3 + 0.7j)
        np.minimum(x, x, out=x)
        y = x * x
        np.copyto(x, 0.1)
        z = np.square(np.minimum(y, y))
        return y, z, np.linspace(0.1, 0.9, 6) * 1j * (np.arange(6) + 0.3j)

    with np.options(cold_size=1 << 40, eager_size=0):
        oracle.check(program)


def test_what_was_recorded_for_a_view_of_the_whole_is_not_used_for_parts() -> None:
    """A write that added such a view, of no axes, was taken to read all the memory of its operand,
    and did so for a part: an error at the end, or values of others."""

    def program(np: Any) -> Any:
        one = np.array(2.0)
        x, y, z = np.ones(515), np.ones(515), np.arange(1030.0)
        x += one[...]
        y += z[319, ...]
        row, table = np.arange(6.0), np.arange(12.0).reshape(2, 6)
        v, w = np.ones((2, 6)), np.ones((2, 6))
        v *= row[:]
        w *= table[1, :]
        many = np.arange(8.0) * (1 + 2j)
        p, q = np.ones(4), np.ones(4)
        p += (many[:4] * 2).imag
        q += many[3:7].imag
        return x, y, v, w, p, q

    with np.options(eager_size=0):
        oracle.check(program)


def test_sums_over_windows_do_not_go_on_where_a_run_ends() -> None:
    """Rows of windows that follow each other in memory were added as one run: the last bit."""

    def program(np: Any, x: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view
        views = [
            windows(x, 3, axis=0), windows(x, 2, axis=0), windows(x, (2, 3)),
            windows(x.T, 4, axis=1), windows(x[0], 2), windows(x, 3, axis=0) * 0.1,
        ]  # fmt: skip
        axes = [(0, 1), (0, 2), (1, 2), 0, 1, (0, 1, 2)]
        return [v.sum(axis=a) for v in views for a in axes if max(np.atleast_1d(a)) < v.ndim] + [
            views[0].std(axis=(0, 1)), views[0].var(axis=(1, 2)), views[2].mean(axis=(0, 1))
        ]  # fmt: skip

    with np.options(eager_size=0, cold_size=0):
        oracle.check(program, host.random.default_rng(5).standard_normal((6, 5)), sums=True)


@pytest.mark.parametrize("dtype", ("i1", "u1", "i8", "u8", "f4", "?"))
def test_numbers_that_a_loop_cannot_hold(dtype: str) -> None:
    """NumPy's own integers have a truth value however large they are, and `casting="unsafe"`
    casts any number: an OverflowError was raised."""
    numbers = [
        host.int64(300), host.uint64(2**64 - 6), host.float64(300.7), host.int8(-3),
        host.bool_(True), 300, -1, 2**63, 2**64 - 6, 2.5,
    ]  # fmt: skip
    names = ("add", "maximum", "less", "logical_or", "logical_and", "equal")
    loops: list[dict[str, Any]] = [
        {}, {"dtype": dtype, "casting": "unsafe"}, {"dtype": "?", "casting": "unsafe"},
    ]  # fmt: skip
    x = host.arange(16).astype(dtype)
    with np.options(eager_size=0), host.errstate(all="ignore"):
        for name, number, keywords in itertools.product(names, numbers, loops):
            calls = [
                lambda m, n=name, s=number, k=keywords: getattr(m, n)(m.asarray(x), s, **k),
                lambda m, n=name, s=number, k=keywords: getattr(m, n)(s, m.asarray(x), **k),
            ]
            for call in calls:
                assert _errors(np, lambda c=call: c(np)) == _errors(host, lambda c=call: c(host))
                if _errors(host, lambda c=call: c(host)) == ["nothing"]:
                    oracle.check(call)


def test_a_cast_to_a_foreign_dtype_that_is_refused() -> None:
    """The TypeError of NumPy came as an error of ours."""
    x = host.array([1 + 2j, 3.0], "c8")
    with np.options(eager_size=0):
        calls = [
            lambda m: m.true_divide(m.asarray(x), m.asarray(x), dtype="g"),
            lambda m: m.add(m.asarray(x), 300, dtype="g"),
        ]
        for call in calls:
            raised = _errors(np, lambda c=call: c(np))
            assert raised == _errors(host, lambda c=call: c(host)) == ["TypeError"]


def test_a_mean_in_bools() -> None:
    """Its sum is computed at once where there are small arrays: AttributeError of a number."""

    def program(np: Any, x: Any) -> Any:
        x = np.array(x)
        return x.mean(dtype="?"), x.reshape(3, 4).mean(axis=0, dtype="?"), (x > 3).mean(dtype="?")

    for size in (0, 4, 100):
        with np.options(eager_size=size):
            oracle.check(program, host.arange(12))


@pytest.mark.parametrize("eager_size", (0, 1, 4, 100))
def test_shapes_with_more_axes_than_elements(eager_size: int) -> None:
    """A small array reshaped to more axes than it has elements was a copy, where the option was as
    small: what was written to the view was lost."""

    def program(np: Any) -> Any:
        x, square = np.zeros(2), np.zeros((2, 2))
        with oracle.lf.options(eager_size=eager_size):
            for shape in ((1, 1, 2), (1, 1, 1, 1, 1, 2), [1, 1, 1, 2]):
                x.reshape(shape).fill(x[0] + 1.0)
                view = np.reshape(x, shape)
                view += 1.0
            view = np.expand_dims(x, (0, 1, 2, 3, 4))
            view += 1.0
            view = square[None, None, None].transpose((4, 3, 2, 1, 0))
            view += 1.0
            return x, square

    oracle.check(program)


@pytest.mark.parametrize("eager_size", (0, 3, 100))
def test_empty_parts_have_a_say_in_the_order(eager_size: int) -> None:
    """What is joined at once had no strides of a part without elements."""

    def program(np: Any) -> Any:
        with oracle.lf.options(eager_size=eager_size):
            x = np.arange(6).reshape((2, 3), order="F")
            joined = [
                np.hstack([x, x[:, 1:1]]),
                np.vstack([x[:0], x]),
                np.concatenate([x.T, x.T[3:]]),
            ]
        return joined

    oracle.check(program)


@pytest.mark.parametrize("eager_size", (0, 3, 100))
def test_functions_of_integers_that_repeat_along_an_axis(eager_size: int) -> None:
    """`astype` takes a repeated axis for the innermost one, which no ufunc does."""

    def program(np: Any) -> Any:
        with oracle.lf.options(eager_size=eager_size):
            x = np.arange(4)
            wide, tall = np.broadcast_to(x, (2, 4)), np.broadcast_to(x[:, None], (4, 3))
            return [
                np.exp2(wide),
                np.exp(tall),
                np.sin(wide.T),
                np.exp(x[2]),
                np.sqrt(wide[:, ::2]),
            ]

    oracle.check(program, ulp=4)
