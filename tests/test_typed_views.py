"""Views that read the memory otherwise: parts of complex arrays, other dtypes, any strides, flat;
and what an array says about its memory.
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests.oracle import NUMPY, check

PLANE = (host.arange(12.0) - 1j * host.arange(12.0)[::-1]).reshape(3, 4)
PARTS = ("real", "imag")


# ---- parts of complex arrays


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("key", [..., (1,), (slice(None, None, -1),), (slice(1, 3), 2)])
def test_part_is_a_view(part: str, dtype: str, key: Any) -> None:
    """Written through the part, seen by the whole; and the other way round."""

    def program(np: Any, z: Any) -> Any:
        view = getattr(z, part)[key]
        before = view + 1
        view += 5
        z *= 2
        return before, view, z, view.strides, view.flags.owndata

    check(program, PLANE.astype(dtype))


@pytest.mark.parametrize("part", PARTS)
def test_part_assigned(part: str) -> None:
    def program(np: Any, z: Any) -> Any:
        setattr(z, part, z.real * 3 + z.imag)
        setattr(z.T[1:], part, 7)
        getattr(z, part)[0] *= getattr(z, part)[1, ::-1]
        return z, getattr(z, part).sum(axis=0), getattr(z, part).T.copy()

    check(program, PLANE)


@pytest.mark.parametrize("dtype", ["f4", "i8", "b1"])
def test_parts_of_real_arrays(dtype: str) -> None:
    """The array itself, and zeros that nobody may write."""

    def program(np: Any, x: Any) -> Any:
        assert x.real is x
        assert not x.imag.flags.writeable
        x.real[1] = 1
        return x, x.imag

    check(program, host.arange(5).astype(dtype))


def test_parts_fuse() -> None:
    """Reading and writing parts takes no library call."""
    z = lf.array(PLANE)
    lf.reset_stats()
    z.imag += z.real * 2
    lf.materialize(z)
    assert lf.stats().kernels_launched == 1 and lf.stats().unfused == 0


# ---- other dtypes

SIZES = ["i1", "u1", "i2", "f2", "u4", "f4", "i8", "f8", "c8", "c16", "b1"]


@pytest.mark.parametrize("target", SIZES)
@pytest.mark.parametrize("source", ["u1", "i4", "f8", "c8"])
def test_view_of_another_dtype(source: str, target: str) -> None:
    """The bits, shared both ways; or the same error."""
    bits = host.random.default_rng(0).integers(0, 2, (4, 6, 16), dtype="u1")

    def program(np: Any, x: Any) -> Any:
        seen = x.view(target)
        again = seen.view(source)
        seen[1, ..., ::2] = 1
        x[2] = 0
        assert np.shares_memory(seen, x)
        return seen, again, x, seen.shape, seen.strides, seen[2:, 1:].view(source)

    check(program, bits.view(source) if source != "u1" else bits)


@pytest.mark.parametrize("target", ["i2", "i8", "f4", "u1"])
@pytest.mark.parametrize(
    "cut",
    [
        lambda x: x.T,
        lambda x: x[:, ::2],
        lambda x: x[1:, :4],
        lambda x: x[:0],
        lambda x: x[0, 0],
    ],
)  # fmt: skip
def test_view_of_cuts(cut: Any, target: str) -> None:
    def program(np: Any, x: Any) -> Any:
        seen = cut(x).view(target)
        seen[...] = 3
        return seen, x

    check(program, host.arange(24, dtype="i4").reshape(3, 8))


@pytest.mark.parametrize("shift", [1, 3, 4, 8])
@pytest.mark.parametrize("dtype", ["f8", "i2", "c8", "b1"])
def test_view_beside_the_elements(dtype: str, shift: int) -> None:
    """Elements that begin anywhere in the memory: shared as all views are."""
    size = host.dtype(dtype).itemsize

    def program(np: Any, x: Any) -> Any:
        seen = x[shift : shift + 6 * size].view(dtype)
        before = seen + seen
        seen[1:3] = 1
        seen[::2] += seen[::-2]
        x[:9] = 0
        again = seen.reshape(2, 3).T.view("u1") if size == 1 else seen[1:].view("u1")
        assert np.shares_memory(seen, x) and not np.shares_memory(seen[:1], x[:shift])
        return before, seen, x, again, seen[3], seen.flags.aligned, seen.sum(), seen.real

    check(program, host.random.default_rng(1).integers(0, 2, 80, dtype="u1"))


def test_view_reads_the_version_of_its_time() -> None:
    def program(np: Any, x: Any) -> Any:
        bits = x.view("u8")
        before = bits + 0
        x[1] = -1.5
        after = bits >> np.uint64(52)
        bits[2] = 0
        return before, after, x

    check(program, host.linspace(1, 2, 5))


def test_dtype_set_in_place() -> None:
    def program(np: Any, x: Any) -> Any:
        x.dtype = "u4"
        x[0] = 1
        return x, x.dtype

    check(program, host.arange(4, dtype="f4"))


@pytest.mark.parametrize("swap", [False, True])
def test_byteswap(swap: bool) -> None:
    def program(np: Any, x: Any) -> Any:
        return x.byteswap(swap), x, x.getfield("u1", 1)

    check(program, host.arange(300, 305, dtype="u2"))


# ---- strides and windows


@pytest.mark.parametrize(
    ("shape", "strides"), [((4, 3), (16, 8)), ((2, 5), (0, 8)), ((3,), (24,)), ((2, 2), (8, 16))]
)
def test_as_strided(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Overlapping windows of one memory, read and written."""

    def program(np: Any, x: Any) -> Any:
        windows = _as_strided(np)(x, shape, strides)
        total = windows.sum(axis=0)
        windows[...] = host.arange(windows.size).reshape(shape)
        return windows, total, x

    check(program, host.arange(10.0))


def test_as_strided_stays_inside() -> None:
    with pytest.raises(ValueError, match="outside the memory"):
        lf.lib.stride_tricks.as_strided(lf.arange(4), (5,), (8,))


def _as_strided(np: Any) -> Any:
    return np.lib.stride_tricks.as_strided


@pytest.mark.parametrize(
    ("window", "axis"),
    [(3, -1), ((2, 3), None), ((2, 2), (1, 1)), (1, 0), (9, 0), ((2,), None), (-1, 0)],
)  # fmt: skip
def test_sliding_window_view(window: Any, axis: Any) -> None:
    def program(np: Any, x: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(x, window, axis)
        assert not windows.flags.writeable and np.shares_memory(windows, x)
        return windows, windows.sum(axis=-1), windows.strides

    check(program, host.arange(20.0).reshape(4, 5))


def test_sliding_window_fuses() -> None:
    """A moving average of an expression reads no windows from memory."""
    x = lf.array(host.arange(1000.0))
    lf.reset_stats()
    got = lf.lib.stride_tricks.sliding_window_view(x, 8).mean(axis=-1)
    expected = host.lib.stride_tricks.sliding_window_view(host.arange(1000.0), 8).mean(axis=-1)
    assert (lf.asnumpy(got) == expected).all()
    assert lf.stats().kernels_launched == 1


# ---- flat


@pytest.mark.parametrize(
    "key",
    [3, -1, slice(None, None, 3), slice(4, 1, -1), [1, 5, 1], host.arange(12) % 3 == 0, ..., (2,)],
)  # fmt: skip
@pytest.mark.parametrize("transposed", [False, True])
def test_flat(key: Any, transposed: bool) -> None:
    """Elements in C order by position; values that are written repeat."""

    def program(np: Any, x: Any) -> Any:
        x = x.T if transposed else x
        read = x.flat[key]
        x.flat[key] = [10, 20]
        x.flat[key] = x.flat[key]
        return read, x, len(x.flat), x.flat == x.ravel()

    def single(np: Any, x: Any) -> Any:
        x.flat[key] = 5
        return x

    one = isinstance(key, int | tuple)
    check(single if one else program, host.arange(12).reshape(3, 4))


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("key", [12, -13, (1, 2), 1.5, "a", [12], ()])
def test_flat_bad_keys(key: Any, write: bool) -> None:
    if key == () and write and NUMPY < (2, 4):
        pytest.skip("NumPy's ends the process")

    def program(np: Any, x: Any) -> Any:
        if write:
            x.flat[key] = 1
        return x, x.flat[key]

    check(program, host.arange(12).reshape(3, 4))


def test_flat_iterates() -> None:
    def program(np: Any, x: Any) -> Any:
        walk = x.T.flat
        first, second = next(walk), next(walk)
        place = walk.index, walk.coords
        x.flat = [7, 8, 9]
        return first, second, *place, list(walk), walk.copy(), np.asarray(x.flat), x

    check(program, host.arange(6).reshape(2, 3))


# ---- what an array says of its memory


def test_base_and_owndata() -> None:
    def program(np: Any, x: Any) -> Any:
        view = x[1:][:, 0]
        assert view.base is x and x.T.base is x and x.view().base is x
        assert x.base is None and (x + 1).base is None and x[[0, 1]].base is None
        assert x.reshape(-1).base is x
        return [a.flags.owndata for a in (x, view, x.T, x + 1, x.real, x.copy().ravel())]

    check(program, host.arange(6.0).reshape(2, 3).copy())


@pytest.mark.parametrize(
    "name", ["C", "F", "O", "W", "A", "B", "CA", "FA", "FORC", "FNC", "bogus"]
)
def test_flags(name: str) -> None:
    def program(np: Any, x: Any) -> Any:
        return [a.flags[name] for a in (x, x.T, x[::2], x[:, :1], np.broadcast_to(x, (2, 2, 3)))]

    check(program, host.arange(6.0).reshape(2, 3).copy())


def test_writeable_flag() -> None:
    def program(np: Any, x: Any) -> Any:
        view = x[:2]
        x.flags.writeable = False
        late = x[1:]
        view[0] = 5
        before = late.flags.writeable, view.flags["WRITEABLE"]
        x.setflags(write=True)
        late.flags.writeable = True
        late[0] = 6
        return x, *before, late.flags.num, x.flags == x.flags

    check(program, host.arange(4).copy())


@pytest.mark.parametrize("change", [
    lambda x: x.__setitem__(0, 1), lambda x: x.fill(1), lambda x: x.sort(),
    lambda x: x.__iadd__(1), lambda x: x.flat.__setitem__(0, 1),
    lambda x: x[1:].flags.__setattr__("writeable", True),
])  # fmt: skip
def test_read_only(change: Any) -> None:
    def program(np: Any, x: Any) -> Any:
        x.flags.writeable = False
        change(x)

    check(program, host.arange(4).copy())


# ---- scalars


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", "b1", "c16"])
@pytest.mark.parametrize("make", [lambda x: x[1], lambda x: x.max(), lambda x: x[0] + x[1]])
def test_scalars_are_numpys(make: Any, dtype: str) -> None:
    """A pending scalar is to isinstance and hash what NumPy gives."""
    numbers = host.array([1, 0, 1]).astype(dtype)
    lazy, real = make(lf.array(numbers)), make(numbers)
    kinds = (
        host.generic,
        host.floating,
        host.integer,
        host.bool_,
        float,
        int,
        complex,
        type(real),
    )
    assert [isinstance(lazy, kind) for kind in kinds] == [isinstance(real, k) for k in kinds]
    assert not isinstance(lazy, lf.ndarray) and host.isscalar(lazy)
    assert hash(lazy) == hash(real) and {real: 1}[lazy] == 1
    assert repr(lazy) == repr(real) and str(lazy) == str(real) and lazy.dtype == real.dtype


def test_scalar_is_a_value() -> None:
    def program(np: Any, x: Any) -> Any:
        first, total = x[0], x.sum()
        x += 10
        first += 1
        return first, total, x, total.shape, total.ndim

    check(program, host.arange(4.0))


@pytest.mark.parametrize("use", [
    lambda s: exec('s[0] = 1', {'s': s}), lambda s: s[0], lambda s: len(s), lambda s: iter(s),
    lambda s: s.bogus, lambda s: s.flat[0], lambda s: s.is_integer(), lambda s: s.real,
    lambda s: s.imag, lambda s: s.reshape(1), lambda s: s[...], lambda s: s[()], lambda s: s.T,
    lambda s: round(s, 1), lambda s: divmod(s, 2), lambda s: f"{s:.2f}", lambda s: s.item(),
])  # fmt: skip
def test_scalar_methods(use: Any) -> None:
    def program(np: Any, x: Any) -> Any:
        return use(x.sum())

    check(program, host.arange(4.0))


def test_ndarray_is_the_class() -> None:
    """Programs ask with type and isinstance, and derive from it."""
    x = lf.zeros((2, 3))
    assert (
        type(x) is lf.ndarray
        and isinstance(x, lf.ndarray)
        and isinstance(host.zeros(2), lf.ndarray)
    )
    assert issubclass(lf.ndarray, lf.ndarray) and issubclass(host.ndarray, lf.ndarray)
    assert lf.ndarray((2, 3), "i4").dtype == "i4" and lf.ndarray.sum(x) == 0

    class Derived(lf.ndarray):  # type: ignore[misc]  # a class of lazyfuse's own metaclass
        pass

    assert issubclass(Derived, host.ndarray) and isinstance(x.view(Derived), Derived)


def test_unhashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(lf.zeros(3))
    with pytest.raises(TypeError, match="unhashable"):
        hash(lf.zeros(())[...])


@pytest.mark.parametrize("size", [4, 100_000])
def test_a_derived_class_is_made_around_an_array_of_ours(size: int) -> None:
    """`super().__new__(cls, q.shape, float, q)`, as quaternions are made: it raised TypeError."""

    class Quaternion(lf.ndarray):  # type: ignore[misc]  # a class of lazyfuse's own metaclass
        def __new__(cls, values: Any) -> Any:
            values = lf.array(values, dtype=float)
            return super().__new__(cls, values.shape, float, values)

        @classmethod
        def named(cls, values: Any) -> Any:
            return lf.ndarray.__new__(cls, shape=(lf.array(2),), buffer=values, strides=(8,))

    made = Quaternion(host.arange(float(size)))
    made += 1
    assert type(made) is Quaternion and made.sum() == size * (size + 1) / 2
    with lf.options(eager_size=4096):
        source = lf.array(host.arange(float(size)))
        named = Quaternion.named(source)
        named[0] = 7
        assert type(named) is Quaternion and named.tolist() == [7, 1]
        assert source[0] == (7 if size == 4 else 0)


@pytest.mark.parametrize("order", [1, -1])
def test_abstract_classes_are_derived_from_ours(order: int) -> None:
    """Beside `abc.ABC` there was a conflict of metaclasses."""

    def program(np: Any) -> list[Any]:
        kinds = [np.ndarray, np.random.Generator, np.random.RandomState]
        made = [abc.ABCMeta("Own", (kind, abc.ABC)[::order], {}) for kind in kinds]
        given: list[Any] = [(2,), np.random.PCG64(3), 3]
        objects = [own(value) for own, value in zip(made, given, strict=True)]
        assert all(map(isinstance, objects, kinds)) and isinstance(objects[0], host.ndarray)
        return [objects[0].shape, objects[1].random(3), objects[2].random_sample(3)]

    check(program)
