"""Programs that differed from NumPy in what they were told: warnings, and the layout of views."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import lazyfuse as lf

UFUNCS = [
    name
    for name in sorted(dir(np))
    if isinstance(ufunc := getattr(np, name), np.ufunc)
    and ufunc.signature is None
    and ufunc.nout == 1
    and ufunc.nin == 2
    and "dd->d" in ufunc.types
]


@pytest.mark.parametrize("limit", [0, 8192])
@pytest.mark.parametrize("name", UFUNCS)
def test_out_by_name_gives_no_warning(name: str, limit: int) -> None:
    """`np.maximum(x, y, out)` warns, so nothing may hand `out` on by position."""
    x, y = np.linspace(1.0, 7.0, 100_000).reshape(200, 500), np.full(500, 2.0)
    expected = getattr(np, name)(x[1], y)
    with warnings.catch_warnings(), lf.options(eager_size=limit):
        warnings.simplefilter("error")
        for _ in range(3):
            for target in (lf.zeros(x.shape) * 1, lf.zeros((2, 500)), np.zeros((2, 500))):
                for source in (lf.asarray(x), lf.asarray(x) * 1):
                    lf.materialize(source)
                    getattr(lf, name)(source[1], y, out=target[0])
                    np.testing.assert_allclose(np.asarray(target[0]), expected, rtol=1e-14)
            changed = lf.asarray(x) * 1
            lf.materialize(changed)
            getattr(lf, name)(changed[1], y, out=changed[1])
            np.testing.assert_allclose(np.asarray(changed)[1], expected, rtol=1e-14)


def _slices(np: Any, size: int, more: int) -> None:
    x = np.zeros(size) * 1
    x[...] = np.ones(size + more, "c16") * 2


def _column(np: Any, size: int, more: int) -> None:
    x = np.zeros((size, 2)) * 1
    x[:, 0] = np.ones(size + more, "c16") * 2


def _mask(np: Any, size: int, more: int) -> None:
    x = np.zeros(size) * 1
    x[x == 0] = np.ones(size + more, "c16") * 2


def _picks(np: Any, size: int, more: int) -> None:
    x = np.zeros(size) * 1
    x[np.arange(3)] = np.ones(3 + more, "c16") * 2


def _copyto(np: Any, size: int, more: int) -> None:
    x = np.zeros(size) * 1
    np.copyto(x, np.ones(size + more, "c16"), casting="unsafe")


@pytest.mark.parametrize("limit", [0, 1 << 20])
@pytest.mark.parametrize("size", [10, 5000, 200_000])
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("write", [_slices, _column, _mask, _picks, _copyto])
def test_complex_into_real(write: Any, more: int, size: int, limit: int) -> None:
    """What does not fit is refused, and no cast is warned of before."""

    def told(module: Any) -> tuple[list[type], type | None]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                write(module, size, more)
            except ValueError as error:
                return [one.category for one in found], type(error)
        return [one.category for one in found], None

    with lf.options(eager_size=limit):
        assert told(lf) == told(np)


@pytest.mark.parametrize("shape", [(2, 1, 50), (1, 50), (3, 1, 1, 50), (2, 4, 50)])
def test_strides_of_what_is_broadcast(shape: tuple[int, ...]) -> None:
    """An axis of one element has no stride."""
    host = np.arange(50.0).reshape(1, 50)
    found = lf.broadcast_to(lf.asarray(host) + 0.0, shape)
    assert found.strides == np.broadcast_to(host, shape).strides
    np.testing.assert_array_equal(np.asarray(found), np.broadcast_to(host, shape))


@pytest.mark.parametrize("limit", [0, 8192])
def test_powers_that_go_another_way(limit: int) -> None:
    """Numbers to the power of arrays go by the ufunc, complex arrays to NumPy at once."""
    x, z = np.linspace(0.1, 2.0, 300), np.linspace(0.1, 1.0, 300) * (1 + 1j)
    with lf.options(eager_size=limit):
        for base in (1.01, 2, 0, -3, True, np.float32(1.5)):
            for exponents in (np.arange(4), np.arange(4.0), x.astype("f4")):
                with np.errstate(all="ignore"):
                    found = np.asarray(base ** lf.asarray(exponents))
                    expected = base**exponents
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=1e-6, equal_nan=True)
        for exponent in (3, 2, -1, 0.5, 2.5, 1 + 2j, 0, True, np.float64(3.0)):
            np.testing.assert_array_equal(np.asarray(lf.asarray(z) ** exponent), z**exponent)
        with pytest.raises(TypeError):
            pow(2, lf.arange(3), 3)


@pytest.mark.parametrize("size", [10, 50_000])
def test_ranges_as_keys_and_elements_that_are_written(size: int) -> None:
    """Whatever the size."""

    def program(np: Any) -> list[Any]:
        picked = np.arange(size * 2).reshape(size, 2) * 1
        found = [picked[range(size), np.arange(size) % 2].sum(), picked[range(0, 6, 2)].tolist()]
        steps = np.arange(float(size))
        for number, value in enumerate(steps):
            found.append(float(value))
            if number == 7:
                break
            steps[number + 1] = value + 2
        return found

    assert program(lf) == program(np)


#: Operands of which nothing is to be told, as NumPy has it.
SILENT = {
    "arccosh": (1.0,), "log1p": (np.inf,), "spacing": (np.inf,), "hypot": (np.nan, 1e300),
}  # fmt: skip


@pytest.mark.cpu("floating point flags")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", SILENT)
def test_no_false_conditions(name: str, dtype: str) -> None:
    """Kernels raised flags on the way; where the operands are given to the result, nobody can be
    asked whether they tell the truth, and the call raised."""
    largest = float(np.finfo(dtype).max)
    operands = [np.full(10, min(value, largest) if value == 1e300 else value, dtype)
                for value in SILENT[name]]  # fmt: skip
    expected = getattr(np, name)(*operands)
    with np.errstate(all="raise", under="ignore"):
        for limit in (0, 30_000):
            with lf.options(eager_size=limit):
                for _ in range(20):
                    found = getattr(lf, name)(*(lf.array(operand) for operand in operands))
                    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.cpu("floating point flags")
@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u8"])
def test_reciprocals_of_zero_tell_of_both_conditions(dtype: str) -> None:
    """1.0/0 is cast to an integer: the kernel told of the division alone."""

    def told(module: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as found, lf.options(eager_size=0):
            warnings.simplefilter("default")
            np.asarray(module.reciprocal(module.array(np.arange(10, dtype=dtype))))
        return sorted(str(each.message) for each in found)

    assert told(lf) == told(np)


#: What is said of a read-only array, of axes and of copies.
REFUSED = (
    "a.sort()", "a.sort(0)", "a.partition(1)", "a.put([0], [1])", "np.put(a, [0], [1])",
    "np.putmask(a, a > 1, 1.0)", "np.putmask(a, a > 1, a)", "np.fill_diagonal(a, 1)",
    "a.flat.__setitem__(0, 1)", "np.cumsum(a, axis=0, out=a)", "np.add.accumulate(a, out=a)",
    "np.fft.fft(a.astype(complex), out=a)", "a.swapaxes(0, 5)", "np.swapaxes(a, 5, 0)",
    "np.diagonal(a, 0, 5, 1)", "np.trace(a, 0, 1, 7)", "np.array(a, 'f4', copy=False)",
    "np.asarray(a, 'f4', copy=False)",
)  # fmt: skip


@pytest.mark.parametrize("size", [40, 400_000])
@pytest.mark.parametrize("call", REFUSED)
def test_words_of_refusals(call: str, size: int) -> None:
    """Large arrays were refused in other words than NumPy's."""

    def said(np: Any) -> str:
        a = (np.arange(size) * 1.0).reshape(-1, 4)
        a.flags.writeable = False
        with pytest.raises(Exception) as error:
            eval(call, {"np": np, "a": a})
        return f"{type(error.value)} {error.value}"

    assert said(lf) == said(np)


@pytest.mark.cpu("floating point flags")
def test_other_filters_are_told_again() -> None:
    """Lines that were asked in vain too often kept silent inside `catch_warnings`."""

    def told(module: Any) -> list[int]:
        counts = []
        for runs in (40, 1, 1):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("default")
                for _ in range(runs):
                    np.asarray(module.log(module.array([-1.0, 0.0, 2.0] * 10)) + 1)
            counts.append(len(found))
        return counts

    for limit in (0, 30_000):
        with lf.options(eager_size=limit):
            assert told(lf) == told(np)


@pytest.mark.parametrize("name", "sum mean dot reshape copy sort __getitem__ __add__".split())
def test_methods_have_their_names(name: str) -> None:
    """They were `sum_method` and `getitem`, also where the array is pending."""
    x = lf.arange(200_000.0)
    for owner in (lf.LazyArray, lf.LazyArray.__mro__[1], x, x[:3], x.sum()):
        if hasattr(owner, name):
            assert getattr(owner, name).__name__ == name


@pytest.mark.parametrize("size", [4, 200_000])
def test_bound_methods_are_pickled(size: int) -> None:
    """By their names, as `Pool.map(x.take, rows)` does: they could not be read."""
    x = lf.arange(float(size))
    total, taken, item = pickle.loads(pickle.dumps((x.sum, x.take, x.__getitem__)))
    assert float(total()) == size * (size - 1) / 2
    assert taken([1, 3]).tolist() == [1.0, 3.0] and item(2) == 2.0


@pytest.mark.parametrize("name", ["object", "str", "chararray"])
def test_names_that_numpy_gives_up(name: str) -> None:
    """What NumPy says of them was said of a line of this package, where nobody listens to it, and
    once."""
    given = []
    for module in (np, lf, lf):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = getattr(module, name)
            except AttributeError as error:
                found = str(error).replace("lazyfuse", "numpy")
        given.append((found, [(str(each.message), each.filename) for each in caught]))
    assert given[0] == given[1] == given[2]


@pytest.mark.cpu("floating point flags")
@pytest.mark.parametrize(
    "name, value",
    [("exp", np.inf), ("sin", 1e200), ("sinh", np.inf), ("arctan", np.inf), ("arcsin", 1e-200)],
)
def test_flags_that_are_false_where_a_result_has_the_memory(name: str, value: float) -> None:
    """`exp(inf)` overflows in the kernel, not in NumPy, which could not be asked: the operand was
    gone. Warnings of programs that meet nothing, and errors under `np.errstate(all="raise")`."""
    operand = np.full(50, 0.5)
    operand[0] = value
    with np.errstate(all="raise"):
        expected = getattr(np, name)(operand)
    found: Any = None
    for _ in range(30):
        with lf.options(eager_size=0), np.errstate(all="raise"):
            found = lf.array(operand) * 1.0
            found = getattr(lf, name)(found, out=found)
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-14)
