"""The protocols by which other code meets an array: NumPy's, Python's, and those that hand out
memory.
"""

from __future__ import annotations

import copy
import ctypes
import hashlib
import math
import operator
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import check

pytestmark = pytest.mark.engine

lf = oracle.lf
VALUES = host.arange(12.0) * 0.5
GRID = VALUES.reshape(3, 4)


@pytest.fixture(autouse=True)
def lazy() -> Iterator[None]:
    """Record whatever the size: these tests are about what is pending and about its memory."""
    with oracle.options(eager_size=0):
        yield


def pending(values: Any = VALUES) -> Any:
    """Return a LazyArray of these values that has not been computed."""
    return lf.array(values) * 1


def is_pending(array: Any) -> bool:
    """Say whether nothing has computed the array yet."""
    return array._storage.node.buffer is None


def is_lazy(value: Any) -> bool:
    """Say whether a result stayed in lazyfuse."""
    return type(value) is lf.LazyArray


# ---- ufuncs and functions of NumPy


def test_ufuncs_of_numpy_are_recorded() -> None:
    """`numpy.sin(x)` gives a pending LazyArray."""
    x = pending()
    for y in (host.sin(x), host.add(VALUES, x), VALUES * x, host.add.reduce(pending(GRID))):
        assert is_lazy(y) and is_pending(y)
    assert is_pending(x)


def test_in_place_on_a_real_ndarray() -> None:
    """`nd += x` writes into nd and does not rebind the name."""
    nd = host.ones(12)
    before = nd
    nd += pending()
    assert before is nd and type(nd) is host.ndarray
    assert (nd == 1 + VALUES).all()


@pytest.mark.parametrize("module", (host, lf), ids=("numpy", "lazyfuse"))
def test_out_is_returned_itself(module: Any) -> None:
    """`out=` of either kind is written and returned, by ufuncs, reductions and functions."""
    x = pending(GRID)
    for empty in (host.empty, lf.empty):
        out = empty((3, 4))
        assert module.add(x, 1, out=out) is out
        assert (host.asarray(out) == GRID + 1).all()
        total = empty(4)
        assert module.sum(x, axis=0, out=total) is total
        assert (host.asarray(total) == GRID.sum(0)).all()
        joined = empty((6, 4))
        assert module.concatenate([x, x], out=joined) is joined
        assert (host.asarray(joined) == host.concatenate([GRID, GRID])).all()
        parts = empty((3, 4)), empty((3, 4))
        assert module.modf(x, out=parts)[1] is parts[1]
        assert (host.asarray(parts[1]) == host.modf(GRID)[1]).all()


def test_methods_of_ufuncs() -> None:
    """reduce, accumulate, outer, reduceat and at, called on NumPy's own ufunc objects."""

    def program(np: Any, x: Any) -> Any:
        y = x.copy()
        host.add.at(y, [0, 0, 2], 5.0)
        return [
            host.multiply.reduce(x, axis=1, keepdims=True),
            host.add.accumulate(x, axis=1),
            host.maximum.outer(x[0], x[1]),
            host.add.reduceat(x, [0, 2, 1], axis=1),
            host.add(x, 1, where=x > 2, out=y),
            host.matmul(x, x.T),
            y,
        ]

    check(program, GRID, strides=False)


def test_at_writes_through_into_a_real_ndarray() -> None:
    """`numpy.add.at(nd, indices, lazy)` changes nd."""
    nd = host.zeros(3)
    host.add.at(nd, [0, 0, 2], lf.array([1.0, 2.0, 4.0]))
    assert nd.tolist() == [3, 0, 4]


def test_foreign_types_decide() -> None:
    """A type with its own `__array_ufunc__` is asked, and one that sets it to None goes first."""

    class Own:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> str:
            return f"own {ufunc.__name__}"

        def __array_function__(self, *args: Any) -> str:
            return "own function"

    class Stranger:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "stranger"

        __rdivmod__ = __rpow__ = __rmatmul__ = __radd__

    x = pending()
    assert host.add(x, Own()) == "own add"
    assert host.concatenate([x, Own()]) == "own function"
    assert x + Stranger() == divmod(x, Stranger()) == x @ Stranger() == "stranger"
    assert x ** Stranger() == "stranger"


def test_only_numbers_are_wrapped() -> None:
    """Results of other dtypes stay NumPy's: consumers look into them."""
    x = pending()
    first, second = host.broadcast_arrays(x, None)
    assert is_lazy(first) and type(second) is host.ndarray and second.dtype == object
    assert type(host.array2string(x)) is str
    assert type(x.astype(object)) is host.ndarray
    assert type(x.astype("U8")) is host.ndarray
    assert type(host.array([x, None], dtype=object)) is host.ndarray
    named = host.unique_counts(lf.array([1, 1, 2]))
    assert type(named).__name__ == "UniqueCountsResult" and is_lazy(named.values)


def test_functions_check_types() -> None:
    """`__array_function__` leaves calls with unknown types to others."""
    x = pending()
    assert x.__array_function__(host.sum, (int,), (x,), {}) is NotImplemented


def test_creation_like() -> None:
    """`like=` makes a LazyArray."""
    assert is_lazy(host.asarray([1, 2], like=pending()))
    assert is_lazy(host.zeros(3, like=pending()))


# ---- as an ndarray


@pytest.mark.cpu("memory that NumPy shares")
def test_to_an_array() -> None:
    """`__array__`: the memory, a private copy when asked, a cast only with a copy."""
    x = pending()
    view = host.asarray(x)
    assert view.flags.writeable and host.asarray(x).ctypes.data == view.ctypes.data
    assert host.array(x, copy=True).flags.writeable
    assert host.asarray(x, copy=False).ctypes.data == view.ctypes.data
    assert host.asarray(x, dtype="f4").dtype == "f4"
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        host.asarray(x, dtype="f4", copy=False)
    assert x.__array__(host.dtype("f4")).flags.writeable
    x += 1
    assert (view == VALUES + 1).all() and (host.asarray(x) == VALUES + 1).all()
    x.setflags(write=False)
    view = host.asarray(x)
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True


@pytest.mark.cpu("memory that NumPy shares")
def test_as_memory() -> None:
    """`data`, `ctypes`, `to_numpy`, `tobytes` give the finished values."""
    x = pending()
    assert x.data.readonly and bytes(x.data) == VALUES.tobytes() == x.tobytes()
    assert x.ctypes.data == host.asarray(x).ctypes.data
    assert type(x.to_numpy()) is host.ndarray and x.to_numpy().flags.writeable


@pytest.mark.cpu("memory that NumPy shares")
def test_buffer_protocol() -> None:
    """`memoryview(x)`, `bytes(x)` and what takes bytes work, and what is written arrives."""
    import io

    for values in (VALUES, GRID, host.arange(5, dtype="u1"), host.ones((2, 2), "c8")):
        x = pending(values)
        assert not memoryview(x).readonly and memoryview(x).shape == values.shape
        assert bytes(x) == bytes(bytearray(x)) == values.tobytes()
        assert hashlib.sha1(x).digest() == hashlib.sha1(values.tobytes()).digest()
        file = io.BytesIO()
        file.write(x)
        assert file.getvalue() == values.tobytes()
        assert (host.frombuffer(x, values.dtype) == values.ravel()).all()
        assert (host.asarray(x) == values).all() and host.asarray(x).dtype == values.dtype
    assert (host.asarray(memoryview(pending(GRID)[::2, ::-1])) == GRID[::2, ::-1]).all()
    for size in (0, 100):
        with oracle.options(eager_size=size):
            small = lf.zeros(3)
            assert not memoryview(small).readonly
            io.BytesIO(host.arange(3.0).tobytes()).readinto(small)
            memoryview(small)[0] = 7.0
            assert small.tolist() == [7.0, 1.0, 2.0]
            small.setflags(write=False)
            with pytest.raises(TypeError, match="read-write"):
                io.BytesIO(b"12345678").readinto(small)


#: What has no such buffer, and who asks for it.
REFUSED: dict[str, Callable[[Any], Any]] = {
    "writable memory": lambda np: (ctypes.c_char * 8).from_buffer(np.broadcast_to(np.ones(1), 3)),
    "no format": lambda np: memoryview(np.array(["2020-01-01"], "M8[D]")),
    "not in one piece": lambda np: hashlib.md5(np.asarray(VALUES)[::2]),
}


@pytest.mark.cpu("memory that NumPy shares")
@pytest.mark.parametrize("size", [0, 100])
@pytest.mark.parametrize("name", REFUSED)
def test_errors_of_buffers(name: str, size: int) -> None:
    """Are NumPy's, with their tracebacks, also the first one: callbacks of C cannot raise."""
    with oracle.options(eager_size=size):
        for _ in range(2):
            with pytest.raises(Exception) as theirs:  # noqa: PT011  # whatever it is
                REFUSED[name](host)
            with pytest.raises(theirs.type):
                REFUSED[name](lf)


@pytest.mark.cpu("memory that NumPy shares")
def test_torch_gets_no_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """`torch.asarray` would take the bytes for float32, in silence; it asks as hashes do."""

    def asarray() -> Any:
        return hashlib.md5(pending()), host.asarray(0)

    asarray()
    monkeypatch.setitem(sys.modules, "torch", sys)
    with pytest.raises(BufferError, match=r"torch\.as_tensor"):
        asarray()
    assert hashlib.md5(pending()).digest() == hashlib.md5(VALUES).digest()


def test_errors_of_what_is_computed_for_a_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Are raised as they are; and an interrupt, which NumPy forgets, once more."""

    def raising(error: BaseException) -> Callable[..., Any]:
        def flush(*_: Any) -> Any:
            raise error

        return flush

    from lazyfuse.runtime import engine

    x = pending()
    with monkeypatch.context() as patched:
        patched.setattr(engine, "flush", raising(MemoryError("none left")))
        with pytest.raises(MemoryError, match="none left") as met:
            memoryview(x)
        assert met.traceback[-1].name == "flush"
        patched.setattr(engine, "flush", raising(KeyboardInterrupt("once")))
        with pytest.raises(KeyboardInterrupt, match="once"):
            memoryview(x)
    assert bytes(memoryview(x)) == VALUES.tobytes()


@pytest.mark.parametrize("error", [KeyboardInterrupt("once"), RuntimeWarning("once")])
def test_an_error_while_numpy_asks(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy asks for a buffer first, and forgets what is raised then."""
    from lazyfuse.runtime import engine

    x, flush = pending(), engine.flush
    left = [error]

    def interrupted(*args: Any) -> Any:
        if left:
            raise left.pop()
        return flush(*args)

    monkeypatch.setattr(engine, "flush", interrupted)
    for _ in range(2):  # the same step of the same function
        if left:
            with pytest.raises(type(error), match="once"):
                host.asarray(x)
        else:
            assert (host.asarray(x) == VALUES).all()


@pytest.mark.cpu("memory that NumPy shares")
@pytest.mark.parametrize("size", [0, 100])
def test_numpy_asks_for_arrays(size: int) -> None:
    """Not for buffers, which have other dtypes and are read-only: memory is the array's."""
    with oracle.options(eager_size=size):
        x = lf.zeros(3, np_dtype := host.dtype("f8", metadata={"of": 1}))
        seen = host.asarray(x)
        assert seen.dtype.metadata == np_dtype.metadata or size == 0
        assert seen.flags.writeable
        x += 1
        assert (seen == 1).all()


@pytest.mark.cpu("memory that NumPy shares")
def test_dlpack() -> None:
    """DLPack both ways, with every keyword; both write, where the array may be written."""
    x = pending(GRID)
    assert x.__dlpack_device__() == (1, 0) and is_pending(x)
    shared = host.from_dlpack(x)
    assert shared.flags.writeable and (shared == GRID).all()
    assert shared.ctypes.data == host.asarray(x).ctypes.data
    copied = host.from_dlpack(x, copy=True, device="cpu")
    assert copied.flags.writeable and copied.ctypes.data != shared.ctypes.data
    assert x.__dlpack__(stream=None, max_version=(1, 1), dl_device=(1, 0), copy=None)
    x += 1
    assert (shared == GRID + 1).all() and (copied == GRID).all()
    assert x.__dlpack__() and x.__dlpack__(copy=False)
    y = lf.array(GRID)
    y.setflags(write=False)
    for refused in (y.__dlpack__, lambda: y.__dlpack__(copy=False)):
        with pytest.raises(BufferError):  # an old consumer cannot be told that it is read-only
            refused()
    with pytest.raises(BufferError if oracle.NUMPY >= (2, 4) else ValueError):  # NumPy's
        x.__dlpack__(max_version=(1, 0), dl_device=(2, 0))
    source = GRID.copy()
    taken = lf.from_dlpack(source, device="cpu", copy=None)
    source[:] = -1
    assert is_lazy(taken) and (host.asarray(taken) == GRID).all()
    with pytest.raises(AttributeError):
        lf.from_dlpack(3)


@pytest.mark.parametrize("size", (5, 50_000))
@pytest.mark.parametrize("copy", (None, False, True))
def test_dlpack_of_our_own(size: int, copy: bool | None) -> None:
    """A view, of small arrays, too."""
    x = lf.arange(size)
    y = lf.from_dlpack(x, copy=copy)
    assert y is not x and lf.may_share_memory(x, y) == (not copy)
    y[1] = 7
    assert x[1] == (1 if copy else 7)


def test_dlpack_of_what_has_none() -> None:
    with pytest.raises(AttributeError):
        lf.from_dlpack(3)


@pytest.mark.cpu("no such interface")
def test_cuda_array_interface_is_for_gpus() -> None:
    """On the CPU the attribute is missing, as `hasattr` probes expect."""
    assert not hasattr(pending(), "__cuda_array_interface__")


@pytest.mark.gpu
def test_exports_from_a_gpu() -> None:
    """cupy takes the memory as it is, by both protocols; the CPU gets a copy where it may."""
    if len(lf.devices()) == 1:
        pytest.skip("needs a GPU")
    cupy = pytest.importorskip("cupy")
    x = lf.asarray(GRID, device="cuda:0") * 2
    assert x.__dlpack_device__() == (2, 0)
    view = x[1:, ::2]
    for taken in (cupy.from_dlpack(view), cupy.asarray(view)):
        assert (taken.get() == GRID[1:, ::2] * 2).all()
    assert cupy.asarray(x).data.ptr == x.__cuda_array_interface__["data"][0]
    assert (host.from_dlpack(x, device="cpu", copy=True) == GRID * 2).all()
    with pytest.raises(BufferError):
        x.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError):
        x.__buffer__(0)
    kept = cupy.asarray(x)
    x += 1
    lf.materialize(x)
    assert (kept.get() == GRID * 2).all()


def test_probes_compute_one_element() -> None:
    """Libraries ask `bool(x.reshape(-1)[0])` to learn whether an array is lazy: one element of a
    million is computed.
    """
    x = lf.array(host.arange(1_000_000.0)) * 3
    lf.reset_stats()
    assert not bool(lf.any(lf.reshape(x, (-1,))[0]))
    assert lf.stats().bytes_written < 100 and is_pending(x)


def test_array_namespace() -> None:
    """The module itself for every version of the standard; ValueError for others."""
    x = pending()
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is lf
    with pytest.raises(ValueError, match="2019"):
        x.__array_namespace__(api_version="2019.01")
    assert lf.__name__ == "lazyfuse" and is_pending(x)


# ---- pickle and copy


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    """Values, shape, dtype and memory order come back, also of views, and nothing is shared."""
    for make in (lambda: pending(GRID), lambda: pending(GRID)[::2, 1:], lambda: pending(GRID).T,
                 lambda: lf.zeros((0, 3), "i2"), lambda: lf.array(3j)):  # fmt: skip
        x = make()
        y = pickle.loads(pickle.dumps(x, protocol))
        assert is_lazy(y) and y.dtype == x.dtype and y.shape == x.shape
        theirs = pickle.loads(pickle.dumps(host.asarray(x), protocol))
        assert not y.size or y.strides == theirs.strides
        assert (host.asarray(y) == host.asarray(x)).all()
        y += 1
        assert (host.asarray(make()) == host.asarray(x)).all()


@pytest.mark.cpu("memory that NumPy shares")
def test_pickle_out_of_band() -> None:
    """Protocol 5 sends memory beside the stream, without a copy; the receiver does not write to
    it.
    """
    x = lf.array(host.arange(100_000.0)) + 1
    frames: list[pickle.PickleBuffer] = []
    stream = pickle.dumps(x, 5, buffer_callback=frames.append)
    assert len(stream) < 500 and len(frames) == 1
    sent = host.frombuffer(frames[0], "f8")
    assert sent.ctypes.data == host.asarray(x).ctypes.data
    received = bytearray(frames[0].raw())
    y = pickle.loads(stream, buffers=[received])
    received[:8] = bytes(8)
    assert (host.asarray(y) == host.arange(100_000.0) + 1).all()
    y += 1
    assert sent[0] == 1


def test_a_pickled_scalar_is_numpys() -> None:
    """What NumPy gives as a scalar comes back as NumPy's scalar."""
    total = pickle.loads(pickle.dumps(pending().sum()))
    assert type(total) is host.float64 and total == VALUES.sum()


@pytest.mark.parametrize("duplicate", (copy.copy, copy.deepcopy, lambda x: x.copy()))
def test_copies_are_lazy_and_private(duplicate: Callable[[Any], Any]) -> None:
    """A copy computes nothing and sees no later write, in either direction."""
    x = pending(GRID)
    y = duplicate(x)
    assert is_pending(x) and is_pending(y) and y is not x
    x += 1
    y *= 10
    assert (host.asarray(x) == GRID + 1).all() and (host.asarray(y) == GRID * 10).all()


def test_deepcopy_of_containers() -> None:
    """`deepcopy` keeps that two entries are one array."""
    x = pending()
    first, second = copy.deepcopy([x, x])
    assert first is second and first is not x


# ---- Python's operators and conversions


def test_conversions_check_before_they_compute() -> None:
    """A refused conversion leaves the array pending."""
    x = pending(GRID)
    for convert in (float, int, complex, bool, operator.index, hash):
        with pytest.raises((TypeError, ValueError)):
            convert(x)
    assert is_pending(x)
    with pytest.raises(TypeError, match="0-d"):
        iter(lf.array(2.0))
    with pytest.raises(TypeError, match="unsized"):
        len(lf.array(2.0))
    with pytest.raises(TypeError):
        operator.index(pending().sum())


def test_conversions_are_numpys() -> None:
    """Python numbers out of arrays, or NumPy's exception."""

    def program(np: Any, x: Any, n: Any) -> Any:
        one = x.sum()
        found: list[Any] = [float(one), int(one), complex(one), bool(one), math.floor(one)]
        found += [range(5)[n[1]], [1, 2, 3][n[1]], f"{one:.2f}", format(x[0, 1], "5.1f")]
        found += [operator.index(n[2]), round(x[1, 1]), round(x[1, 1], 1), math.sqrt(x[2, 2])]
        for refused in (
            lambda: float(x), lambda: int(x[0]), lambda: bool(x), lambda: float(x[0, :1]),
            lambda: range(5)[n], lambda: range(5)[x[0, 0]], lambda: f"{x:.2f}", lambda: round(x),
            lambda: round(x, 1), lambda: bool(x[:0]), lambda: complex(x), lambda: pow(n, 2, 3),
            lambda: operator.index(n[:1]), lambda: operator.index(n > 1), lambda: hash(x),
        ):  # fmt: skip
            try:
                found.append(refused())
            except (TypeError, ValueError) as error:
                found.append(type(error).__name__)
        return found

    check(program, GRID, host.arange(3))


def test_containers_protocol() -> None:
    """len, in, reversed, iteration, unpacking."""

    def program(np: Any, x: Any) -> Any:
        rows = list(x)
        a, b, c = x
        found = [len(x), 2.5 in x, 99 in x, [row.sum() for row in reversed(x)], rows[1] is rows[0]]
        a += 100  # rows are views
        return [*found, a, list(b), [v for v in c[::-1]], max(c), sum(c), sorted(c[::-1])]

    check(program, GRID)


def test_iteration_gives_numpys_scalars_computed_once() -> None:
    """A loop over 10,000 elements of a pending array runs one kernel."""
    x = pending(host.arange(10_000.0))
    lf.reset_stats()
    assert all(type(value) is host.float64 for value in x)
    assert lf.stats().kernels_launched <= 1
    row = next(iter(pending(GRID)))
    assert is_lazy(row) and row.base is not None


def test_operators_take_lists_from_both_sides() -> None:
    """`[1, 2] + x` and its likes, also divmod, matmul and comparisons."""

    def program(np: Any, x: Any, n: Any) -> Any:
        four, ints = [4.0, 3.0, 2.0, 1.0], [3, 1, 2]
        return [
            four + x, x + four, four - x, four * x, x / four, four / (x + 1), four // (x + 1),
            x % four, four % (x + 1), *divmod(x, four), *divmod(four, x + 1), four**x, x**four,
            four @ x.T, x @ four, four < x, x >= four, four == x, x != four,
            ints & n, n | ints, ints ^ n, ints << n, n >> ints, (1, 2, 0) + n, -x, +x, abs(-x), ~n,
        ]  # fmt: skip

    ulp = 2 if oracle.ON_GPU else 0  # of powers
    check(program, GRID, host.arange(3), strides=False, ulp=ulp)


def test_class_and_annotations() -> None:
    """`isinstance(x, np.ndarray)` holds for both kinds of arrays, and the type takes
    parameters.
    """
    assert isinstance(pending(), lf.ndarray) and isinstance(VALUES, lf.ndarray)
    assert not isinstance([1.0], lf.ndarray) and not isinstance(3.0, lf.ndarray)
    assert "float64" in repr(lf.ndarray[Any, host.dtype[host.float64]])
    assert type(pending()).__module__.startswith("lazyfuse")


# ---- texts


@pytest.mark.parametrize("shape", ((5,), (5000,), (40, 50), (3, 1000), (2, 30, 40), (1200, 2)))
def test_texts_are_numpys(shape: tuple[int, ...]) -> None:
    """repr, str and format, of pending and of computed arrays, under print options."""

    def program(np: Any, x: Any) -> Any:
        y = x * 3
        found = [repr(y), str(y), f"{y}", repr(y > 3), repr(y.T), repr((y * 1)[::-1])]
        with np.printoptions(edgeitems=2, precision=2, threshold=20):
            return [*found, repr(x + 1), repr(y)]

    check(program, host.linspace(-1, 7, math.prod(shape)).reshape(shape))


def test_text_of_a_large_pending_array_computes_its_edges() -> None:
    """Printing shows six items of a million: no kernel passes over the rest."""
    x = lf.array(host.arange(1_000_000.0))
    y = lf.sqrt(x) + 1
    lf.reset_stats()
    assert repr(y) == repr(host.sqrt(host.arange(1_000_000.0)) + 1)
    assert lf.stats().bytes_written < 1000
    assert is_pending(y)


def test_inline_text() -> None:
    """xarray's one-line summary computes nothing, and fits."""
    x = pending()
    assert "pending" in x._repr_inline_(40) and is_pending(x)
    assert len(x._repr_inline_(10)) <= 10
    x.materialize()
    assert x._repr_inline_(20) == "0.0 0.5 1.0 1.5 ..." and len(x._repr_inline_(5)) <= 5


# ---- Dask


def test_dask_token() -> None:
    """Equal programs on equal values have one token, different ones differ, nothing runs."""

    def program(values: Any, factor: float) -> Any:
        return lf.sqrt(lf.array(values) * factor)[1:]

    x = program(VALUES, 2.0)
    token = repr(x.__dask_tokenize__())
    assert is_pending(x)
    assert token == repr(program(VALUES, 2.0).__dask_tokenize__())
    others = [program(VALUES, 3.0), program(VALUES + 1, 2.0), program(VALUES, 2.0)[:3]]
    assert len({token, *(repr(other.__dask_tokenize__()) for other in others)}) == 4
    product = pending(GRID) @ pending(GRID.T)  # a library call: computed to be named
    assert repr(product.__dask_tokenize__()) == repr(
        (pending(GRID) @ pending(GRID.T)).__dask_tokenize__()
    )


# ---- what is there, and what is not


PRESENT = (
    "shape dtype ndim size itemsize nbytes device T flags strides base __array__ __buffer__ "
    "__dlpack__ __dlpack_device__ __array_ufunc__ __array_function__ __array_priority__ "
    "__array_namespace__ to_device to_numpy __bool__ __int__ __float__ __complex__ __index__ "
    "__iter__ __reduce_ex__ __copy__ __deepcopy__ __dask_tokenize__ __sizeof__ __repr__ __str__ "
    "_repr_inline_ __format__ __round__ __divmod__ __rdivmod__ __pow__ __matmul__ __imatmul__ "
    "__contains__ __arrow_array__ __setitem__ __len__ __class_getitem__"
).split()

#: Names that other libraries probe and give a meaning of their own.
ABSENT = (
    "values name attrs chunks chunklen shards _meta __dask_graph__ __dask_future__ _typ "
    "__pandas_priority__ iloc fit input_objs index mask aval sharding weak_type __jax_array__ "
    "__torch_function__ _fields __rich_repr__ __array_struct__ __array_interface__ "
    "_repr_html_"
).split()


@pytest.mark.parametrize("make", (pending, lambda: pending().materialize()), ids=("new", "done"))
def test_names(make: Callable[[], Any]) -> None:
    """The names that consumers need exist, those that would mislead them do not, and asking
    computes nothing.
    """
    x = make()
    before = is_pending(x)
    assert [name for name in PRESENT if not hasattr(x, name)] == []
    assert [name for name in ABSENT if hasattr(x, name)] == []
    assert type(x).__hash__ is None and x.__array_priority__ == 1000
    assert sys.getsizeof(x) < 1000
    assert is_pending(x) == before


def test_every_attribute_of_ndarray_is_here() -> None:
    """All public names of ndarray, and metadata computes nothing."""
    x = pending(GRID)
    public = [name for name in dir(host.ndarray) if not name.startswith("_")]
    assert [name for name in public if name not in ("data", "ctypes")
            and hasattr(GRID, name) and not hasattr(x, name)] == []  # fmt: skip
    for name in "shape dtype ndim size itemsize nbytes strides flags base device T mT".split():
        getattr(x, name)
    assert is_pending(x)
