"""Views: what they show, how they are laid out, and which share memory, as small programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import Program

CUBE = host.arange(120.0).reshape(4, 5, 6)
GRID = host.arange(30.0).reshape(5, 6)
LINE = host.arange(10.0)

CASES: list[tuple[Program, tuple[Any, ...]]] = []


def on(*arrays: Any) -> Callable[[Program], Program]:
    """Register a program with the arrays it gets."""

    def register(program: Program) -> Program:
        CASES.append((program, arrays))
        return program

    return register


@on(LINE)
def steps_of_every_sign(np: Any, x: Any) -> list[Any]:
    """A slice with any step, bounds beyond the ends, and empty ones."""
    cuts = [
        slice(a, b, s)
        for a in (None, 2, -3, 20, -20)
        for b in (None, 7, -1, 0)
        for s in (None, 2, -1, -3)
    ]
    return [x[cut] + 1 for cut in cuts] + [x[cut] for cut in cuts]


@on(CUBE)
def newaxis_and_ellipsis(np: Any, x: Any) -> list[Any]:
    """`None` adds an axis, `...` fills up."""
    views = [
        x[None],
        x[:, None],
        x[..., None],
        x[None, ..., 1],
        x[..., ::2],
        x[1, ...],
        x[..., 1, :],
    ]
    return [*views, x[None, 1, ::-1, None, 2:4], x[...] * 2, x[1:1], x[:, 2:2]]


@on(CUBE)
def integers(np: Any, x: Any) -> list[Any]:
    """Integer indices drop an axis, negative ones count from the end."""
    return [
        x[1],
        x[-1, 2],
        x[1, :, -1],
        x[:, 0],
        x[host.int64(2)],
        x[1, 2, 3],
        x[-4, -5, -6],
        x[(1, 2)],
    ]


@on(CUBE)
def out_of_bounds(np: Any, x: Any) -> Any:
    """An index beyond the end raises IndexError at the call."""
    return x[4]


@on(CUBE)
def too_many_indices(np: Any, x: Any) -> Any:
    """More indices than axes raise IndexError."""
    return x[0, 0, 0, 0]


@on(CUBE)
def two_ellipses(np: Any, x: Any) -> Any:
    """Two ellipses raise IndexError."""
    return x[..., 0, ...]


@on(CUBE)
def float_index(np: Any, x: Any) -> Any:
    """A float is no index."""
    return x[1.0]


@on(CUBE)
def zero_step(np: Any, x: Any) -> Any:
    """A step of zero raises ValueError."""
    return x[::0]


@on(CUBE)
def axis_permutations(np: Any, x: Any) -> list[Any]:
    """Transposes only change strides, and results of arithmetic keep their order."""
    views = [x.T, x.transpose(1, 0, 2), np.transpose(x, (2, 0, 1)), x.swapaxes(0, 2)]
    views += [
        np.swapaxes(x, 1, 2),
        np.moveaxis(x, 0, -1),
        np.moveaxis(x, (0, 1), (-1, 0)),
        np.rollaxis(x, 2),
    ]
    views += [np.permute_dims(x, (1, 2, 0)), np.matrix_transpose(x), x.mT]
    return views + [view + 1 for view in views] + [views[0] + views[0], x.T + x[0, 0, 0]]


@on(CUBE)
def bad_permutations(np: Any, x: Any) -> Any:
    """A repeated axis raises ValueError."""
    return x.transpose(0, 0, 1)


@on(CUBE)
def reshapes(np: Any, x: Any) -> list[Any]:
    """Reshape infers -1, in C and Fortran order."""
    shapes: list[Any] = [(20, 6), (-1, 6), -1, (4, -1), (2, 2, 5, 6), (120, 1), (1, 120, 1)]
    return [x.reshape(s) for s in shapes] + [
        x.reshape(4, 30), x.reshape(6, 20, order="F"), np.reshape(x, (8, -1)), x.T.reshape(6, 20),
        x.transpose(1, 0, 2).reshape(20, 6), x[:, ::-1].reshape(-1), x[:, :, ::2].reshape(20, 3),
        x.ravel(),
        np.ravel(x.T), x.ravel(order="F"), x.T.ravel(order="K"), x.flatten(), x.flatten("F"),
    ]  # fmt: skip


@on(CUBE)
def impossible_reshape(np: Any, x: Any) -> Any:
    """A reshape to another size raises ValueError."""
    return x.reshape(7, -1)


@on(CUBE)
def reshape_shares_when_it_can(np: Any, x: Any) -> list[Any]:
    """A reshape of contiguous memory is a view, one that cannot be is a copy."""
    view, copy = x.reshape(20, 6), x.T.reshape(-1)
    view += 100
    copy += 1000
    flat = x.ravel()
    flat[0] = -1
    apart = x.flatten()
    apart[1] = -2
    inner = x[:, 1:3].reshape(4, 12)
    inner[0] = 7
    outer = x[1:3].reshape(2, 30)
    outer[0] = 8
    return [view, copy, flat, apart, inner, outer]


@on(host.arange(6.0).reshape(1, 6, 1))
def squeezes(np: Any, x: Any) -> list[Any]:
    """Axes of length one go and come."""
    y = np.squeeze(x)
    y += 1
    added = np.expand_dims(y, (0, 2))
    added *= 2
    return [
        x.squeeze(),
        x.squeeze(0),
        np.squeeze(x, axis=(0, 2)),
        added,
        np.expand_dims(y, 1),
        np.atleast_2d(y),
    ]


@on(host.arange(6.0).reshape(1, 6, 1))
def squeeze_of_a_long_axis(np: Any, x: Any) -> Any:
    """An axis of length six cannot be squeezed away."""
    return np.squeeze(x, axis=1)


@on(GRID)
def broadcasts(np: Any, x: Any) -> list[Any]:
    """`broadcast_to` repeats without memory; arithmetic on it makes real memory."""
    views = [
        np.broadcast_to(x, (3, 5, 6)),
        np.broadcast_to(x[0], (5, 6)),
        np.broadcast_to(x[:, :1], (5, 6)),
    ]
    views += [np.broadcast_to(x[0, 0], (2, 3)), *np.broadcast_arrays(x[0], x[:, :1])]
    return views + [view * 2 for view in views] + [view + view for view in views]


@on(GRID)
def impossible_broadcast(np: Any, x: Any) -> Any:
    """Shapes that do not broadcast raise ValueError."""
    return np.broadcast_to(x, (5, 7))


@on(GRID)
def flips(np: Any, x: Any) -> list[Any]:
    """Flips and rotations are views."""
    turned = np.rot90(x)
    turned += 1
    return [np.flip(x), np.flip(x, 0), np.flipud(x), np.fliplr(x), turned, x[::-1, ::-1] - x]


@on(GRID)
def diagonals(np: Any, x: Any) -> list[Any]:
    """A diagonal is a view; its sum is the trace."""
    return [x.diagonal(), np.diagonal(x, 1), np.trace(x), x.diagonal() + 1]


@on(GRID, LINE)
def joins(np: Any, x: Any, y: Any) -> list[Any]:
    """Concatenate and stack copy, promote, and take any axis."""
    results = [
        np.concatenate([x, x]),
        np.concatenate([x, x[:, ::2]], axis=1),
        np.concatenate((x, x), axis=None),
    ]
    results += [
        np.stack([x, x + 1]),
        np.stack([x, x], axis=-1),
        np.vstack([x, x[0]]),
        np.hstack([x, x]),
    ]
    results += [
        np.concatenate([y, y.astype("f4")]),
        np.concatenate([y.astype("i2"), y.astype("f4")]),
    ]
    joined = np.concatenate([y[:3], y[5:]])
    y += 1
    return [*results, joined, np.tile(y, 2), np.repeat(y, 2), np.roll(y, 3), *np.split(y, 2)]


@on(GRID, LINE)
def join_of_different_widths(np: Any, x: Any, y: Any) -> Any:
    """Arrays of different rank cannot be concatenated."""
    return np.concatenate([x, y])


@on()
def creation(np: Any) -> list[Any]:
    """The creation functions give NumPy's dtypes and values."""
    results = [
        np.zeros(3),
        np.ones((2, 3), "i4"),
        np.full((2, 2), 7),
        np.full(3, 2.5, "f4"),
        np.empty((0, 3)),
    ]
    results += [
        np.arange(5),
        np.arange(2, 9, 3),
        np.arange(0.5, 3.2, 0.3),
        np.arange(5, dtype="f4"),
        np.arange(9, 2, -2),
    ]
    results += [
        np.linspace(0, 1, 7),
        np.linspace(0, 1, 5, endpoint=False),
        np.linspace(3, 9, 4, dtype="i8"),
    ]
    results += [
        np.eye(3),
        np.eye(3, 4, 1),
        np.identity(2),
        np.arange(0),
        np.linspace(0, 1, 1),
        np.tri(3),
    ]
    return results + [
        np.zeros((2, 3), order="F"),
        np.ones(()),
        np.array(5),
        np.array([1, 2.5]),
        np.array([[True]]),
    ]


@on(GRID.T)
def creation_like(np: Any, x: Any) -> list[Any]:
    """The `_like` functions take shape, dtype and memory order from a prototype."""
    likes = [
        np.zeros_like(x),
        np.ones_like(x, dtype="i4"),
        np.full_like(x, 3),
        np.zeros_like(x[::2]),
    ]
    return [
        *likes,
        np.zeros_like(x, shape=(2, 2)),
        np.full_like(x.astype("i4"), 2.7),
        x.copy(),
        x.copy("K"),
        np.copy(x),
    ]


@on(GRID)
def slices_of_expressions(np: Any, x: Any) -> list[Any]:
    """An index into a lazy result is the index into its values (pitfall P36)."""
    y = x + x
    return [
        y[:, 0],
        y[..., 0],
        y[1],
        x.sum(0)[1],
        (x * 2).T[1:3],
        x.sum(axis=1, keepdims=True)[2],
        (-x)[::-2, 1],
    ]


@on(GRID)
def views_of_views(np: Any, x: Any) -> list[Any]:
    """Views compose."""
    y = x[1:][:, ::-1].T[::2][..., None].swapaxes(0, 1)[1:3]
    return [y, y + 1, y[0, 0], y.squeeze().T.reshape(-1)]


@on(GRID)
def metadata(np: Any, x: Any) -> list[Any]:
    """Shape, size, strides and flags of arrays and of results never computed."""
    arrays = [
        x,
        x.T,
        x[::2],
        x[:, 1:],
        x + 1,
        x.T * 2,
        x.sum(0),
        x[1, 2:2],
        x.reshape(-1),
        x > 3,
        x.astype("f4"),
    ]
    arrays += [np.broadcast_to(x, (2, 5, 6)), x.copy(), (x + x.T.T)[::-1]]
    return [
        [a.shape, a.ndim, a.size, a.itemsize, a.nbytes, a.strides, str(a.dtype), len(a)]
        + [a.flags.c_contiguous, a.flags.f_contiguous, a.flags["C_CONTIGUOUS"], a.flags.writeable]
        for a in arrays
    ]


@on(GRID)
def order_of_results(np: Any, x: Any) -> list[Any]:
    """A result keeps the memory order of its inputs (K order), whatever mixture they are."""
    cube = np.reshape(np.arange(60.0), (3, 4, 5))
    mixtures = [
        x.T + 1,
        x.T + x.T,
        x.T.copy() + x.T,
        x[::-1] + 1,
        x[::-1, ::-1] * 1,
        x[:, ::-2] + 1,
    ]
    mixtures += [cube.transpose(1, 0, 2) + 1, cube.transpose(2, 0, 1) + 1, cube.T + cube.T[:, :1]]
    mixtures += [
        cube[:, None] + cube.transpose(1, 0, 2)[0],
        np.asfortranarray(x) + x,
        x + np.asfortranarray(x),
    ]
    mixtures += [
        cube.T.sum(0),
        cube.transpose(1, 2, 0).sum(1),
        x.T.astype("f4"),
        np.where(x.T > 3, x.T, 0),
    ]
    return mixtures


@on(host.arange(6.0))
def zero_dimensional(np: Any, x: Any) -> list[Any]:
    """0-d arrays and scalars take part in everything."""
    point = x[2, ...]
    point += 10
    return [
        point,
        point.shape,
        x[2] + 1,
        np.array(3.0) + x,
        np.sqrt(point),
        point[()],
        point[None],
        point.reshape(1, 1),
    ]


@on(host.zeros((0, 3)), host.ones((1, 3)))
def empty_arrays(np: Any, x: Any, y: Any) -> list[Any]:
    """Empty arrays broadcast, reduce and reshape."""
    return [
        x + y,
        x + 1,
        x.T,
        x.sum(0),
        x.sum(1),
        x.reshape(3, 0),
        x[:, 1],
        x.copy(),
        np.concatenate([x, y]),
        x > y,
    ]


@on(host.ones((2, 1)))
def singletons(np: Any, x: Any) -> list[Any]:
    """Axes of one element with odd strides do not read beyond (pitfall P49)."""
    return [
        x * 1.0,
        x.T * 1.0,
        x[:1] + x[:, :1].T,
        x.sum(1),
        x.reshape(1, 2, 1) + x,
        np.ones((1, 5, 1)) * x[:1],
    ]


@on(LINE)
def scalars_out(np: Any, x: Any) -> list[Any]:
    """Conversions to Python values force and give Python types."""
    return [
        float(x[1]),
        int(x[2]),
        bool(x[0]),
        x[3].item(),
        x.tolist(),
        x.item(4),
        x[5:6].item(),
        len(x),
        complex(x[1]),
    ]


@on(LINE)
def truth_of_many(np: Any, x: Any) -> Any:
    """The truth of an array of several elements raises ValueError (pitfall P52)."""
    return bool(x > 3)


@on(LINE)
def float_of_many(np: Any, x: Any) -> Any:
    """A conversion of several elements to one number raises TypeError."""
    return float(x)


@on(LINE)
def iteration(np: Any, x: Any) -> list[Any]:
    """Iteration, unpacking, membership and len."""
    first, *rest = x[:3]
    return [
        first,
        rest,
        [row.sum() for row in x.reshape(5, 2)],
        3.0 in x,
        99 in x,
        list(x.reshape(2, 5))[1],
    ]


def complex_parts_are_views(np: Any, z: Any) -> list[Any]:
    """`real` and `imag` of a complex array can be written through."""
    z.real = 7
    z.imag[1:] += 1
    part = z.real
    part *= 2
    return [z, z.real, z.imag, z.conj()]


@on(host.arange(4.0))
def real_of_real(np: Any, x: Any) -> list[Any]:
    """`real` of a real array is the array."""
    x.real += 1
    return [x.real, x.imag, np.real(x)]


@pytest.mark.parametrize("program,arrays", CASES, ids=[case[0].__name__ for case in CASES])
def test_program(program: Program, arrays: tuple[Any, ...]) -> None:
    """Run each program above."""
    oracle.check(program, *arrays)


def test_complex_parts_are_views() -> None:
    """Strides and item assignment through `real` and `imag`."""
    oracle.check(complex_parts_are_views, host.array([1 + 2j, 3 - 4j]))


def test_complex_parts_are_written() -> None:
    """In-place operators and assignment reach the array, infinities and NaN too."""

    def program(np: Any, z: Any) -> list[Any]:
        z.real *= 2
        z.imag = np.array([host.inf, host.nan])
        z.real += z.imag
        return [z + 0]

    oracle.check(program, host.array([1 + 2j, 3 - 4j]))


def test_text_of_arrays() -> None:
    """`str` is NumPy's; `repr` is too, but for the name in front."""

    def inside(text: str) -> str:
        return "".join(text.split()).partition("(")[2]

    arrays = (LINE, GRID, CUBE.astype("i4"), host.zeros(0), host.array(2.5), host.array([True]))
    for values in arrays:
        lazy = oracle.to_lazy(values)
        assert str(lazy) == str(values) and inside(repr(lazy)) == inside(repr(values))
        assert (
            f"{lazy.max() if lazy.size else 1:.2f}" == f"{values.max() if values.size else 1:.2f}"
        )


def test_numpy_reads_lazy_arrays() -> None:
    """`np.asarray` and the functions of NumPy itself take a lazy array."""
    lazy = oracle.to_lazy(GRID) * 2
    assert (host.asarray(lazy) == GRID * 2).all()
    assert host.asarray(lazy, dtype="f4").dtype == "f4"
    assert host.linalg.norm(host.asarray(lazy)) == host.linalg.norm(GRID * 2)
    assert (host.array(lazy) == GRID * 2).all()


@pytest.mark.engine
def test_isinstance() -> None:
    """Both kinds of array are instances of `lazyfuse.ndarray`."""
    lf = oracle.lf
    assert lf.ndarray is lf.LazyArray or issubclass(lf.LazyArray, lf.ndarray)
    assert isinstance(lf.zeros(3), lf.ndarray) and isinstance(host.zeros(3), lf.ndarray)
    assert isinstance(lf.zeros(3), lf.LazyArray) and not isinstance(3.0, lf.ndarray)


@pytest.mark.engine
def test_metadata_forces_nothing() -> None:
    """Shape, dtype, strides, flags and `explain` leave the work pending."""
    lf = oracle.lf
    x = lf.array(host.arange(50_000.0)).reshape(100, 500)
    lf.materialize(x)
    lf.reset_stats()
    y = (x.T * 2 + 1)[::2].sum(axis=0)
    assert (y.shape, y.dtype, y.ndim, y.size, y.nbytes) == ((100,), host.dtype("f8"), 1, 100, 800)
    assert y.strides == (8,) and y.flags.c_contiguous and y.T.shape == (100,) and len(y) == 100
    assert y.device and lf.stats().kernels_launched == 0


@pytest.mark.engine
def test_asnumpy_and_to_numpy() -> None:
    """Both give a NumPy array of the values; a NumPy array passes `asnumpy` unchanged in value."""
    lf = oracle.lf
    x = lf.array(LINE) * 3
    for given in (lf.asnumpy(x), x.to_numpy(), lf.asnumpy(LINE * 3)):
        assert type(given) is host.ndarray and (given == LINE * 3).all()


@pytest.mark.engine
@pytest.mark.parametrize("size", (120, 120_000))
def test_layouts_that_are_remembered(size: int) -> None:
    """A view that was made before, of an array of the same layout: the same errors for arguments
    that are equal and of another type, and memory and flags of the array that is asked."""

    def program(np: Any, x: Any) -> list[Any]:
        found = []
        read_only = x.copy()
        read_only.flags.writeable = False
        arrays = [x, x.copy(), read_only, x.reshape(-1)[::2].reshape(-1, 2), x.T, x]
        for array in arrays:
            found += [array.reshape(-1), array.reshape(2, -1), array.reshape((2, -1), order="F")]
            found += [array.ravel(), np.ravel(array, "F"), np.flip(array, 0), np.flip(array)]
            found += [array.transpose(1, 0), np.swapaxes(array, 0, 1), np.expand_dims(array, 1)]
            found += [array.squeeze(), np.reshape(array, (-1,))]
        for array in found[:6]:
            if array.flags.writeable:
                array[0] += 1.0
        return [*found, *arrays]

    given = host.arange(float(size)).reshape(4, -1)
    oracle.check(program, given)
    x = oracle.lf.array(given)
    for shape in ((1, size), (1.0, size), (True, size), (1, host.int64(size)), (1, float(size))):
        oracle.check(lambda np, a, shape=shape: a.reshape(shape), given)
        oracle.check(lambda np, a, shape=shape: a.transpose(*shape[:1], 0), given)
    assert x.reshape(-1).base is x and x.reshape(2, -1).reshape(-1).base is x


@pytest.mark.engine
@pytest.mark.parametrize("eager_size", (0, 65536))
def test_arguments_of_views(eager_size: int) -> None:
    """Axes in lists and alone, axes that are none, orders that there are not."""
    calls: list[Program] = [
        lambda np, a: np.flip(a, (0, 0)), lambda np, a: np.flip(a, [0, 1]),
        lambda np, a: np.reshape(a, (6, 5), "X"), lambda np, a: a.reshape((6, 5), order="X"),
        lambda np, a: np.transpose(a[0], 0), lambda np, a: a[0].transpose(0),
        lambda np, a: a.transpose(2), lambda np, a: np.transpose(a, (2, 0, 1)),
    ]  # fmt: skip
    with oracle.lf.options(eager_size=eager_size):
        for call in calls:
            oracle.check(call, GRID)
        for wrong in (lambda a: oracle.lf.flip(a, 1.0), lambda a: oracle.lf.expand_dims(a, 1.0)):
            with pytest.raises(TypeError):
                wrong(oracle.lf.array(GRID))
