"""The Array API standard, 2025.12: its functions with their keywords, attributes, and questions.

The names and signatures are those of the standard. NumPy's results for them are tested in
test_namespace.py and test_submodules.py; here is what the standard adds to NumPy.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as host
import pytest

from lazyfuse.ops.numpy_version import NUMPY
from tests import oracle
from tests.oracle import lf
from tests.signed import IS_SIGNED

pytestmark = pytest.mark.engine

#: Functions of one array, and of two.
UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag
    isfinite isinf isnan linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh
    linalg.inv linalg.matrix_transpose linalg.slogdet linalg.svdvals log log10 log1p log2
    logical_not matrix_transpose negative nonzero positive real reciprocal round sign signbit sin
    sinh sqrt square tan tanh trunc unique_all unique_counts unique_inverse unique_values
""".split()
BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign
    divide equal floor_divide greater greater_equal hypot less less_equal linalg.matmul logaddexp
    logical_and logical_or logical_xor matmul maximum minimum multiply nextafter not_equal pow
    remainder subtract
""".split()

#: All others, with their parameters.
SIGNATURES = """
linalg.outer(x1, x2, /)
linalg.solve(x1, x2, /)
all(x, /, *, axis, keepdims)
any(x, /, *, axis, keepdims)
arange(start, /, stop, step, *, dtype, device)
argmax(x, /, *, axis, keepdims)
argmin(x, /, *, axis, keepdims)
argsort(x, /, *, axis, descending, stable)
asarray(obj, /, *, dtype, device, copy)
astype(x, dtype, /, *, copy, device)
broadcast_arrays(*arrays)
broadcast_shapes(*shapes)
broadcast_to(x, /, shape)
can_cast(from_, to, /)
clip(x, /, min, max)
concat(arrays, /, *, axis)
count_nonzero(x, /, *, axis, keepdims)
cumulative_prod(x, /, *, axis, dtype, include_initial)
cumulative_sum(x, /, *, axis, dtype, include_initial)
diff(x, /, *, axis, n, prepend, append)
empty(shape, *, dtype, device)
empty_like(x, /, *, dtype, device)
expand_dims(x, /, axis)
eye(n_rows, n_cols, /, *, k, dtype, device)
finfo(type, /)
flip(x, /, *, axis)
from_dlpack(x, /, *, device, copy)
full(shape, fill_value, *, dtype, device)
full_like(x, /, fill_value, *, dtype, device)
iinfo(type, /)
isdtype(dtype, kind)
isin(x1, x2, /, *, invert)
linspace(start, stop, /, num, *, dtype, device, endpoint)
max(x, /, *, axis, keepdims)
mean(x, /, *, axis, keepdims)
meshgrid(*arrays, indexing)
min(x, /, *, axis, keepdims)
moveaxis(x, source, destination, /)
ones(shape, *, dtype, device)
ones_like(x, /, *, dtype, device)
permute_dims(x, /, axes)
prod(x, /, *, axis, dtype, keepdims)
repeat(x, repeats, /, *, axis)
reshape(x, /, shape, *, copy)
result_type(*arrays_and_dtypes)
roll(x, /, shift, *, axis)
searchsorted(x1, x2, /, *, side, sorter)
sort(x, /, *, axis, descending, stable)
squeeze(x, /, axis)
stack(arrays, /, *, axis)
std(x, /, *, axis, correction, keepdims)
sum(x, /, *, axis, dtype, keepdims)
take(x, indices, /, *, axis)
take_along_axis(x, indices, /, *, axis)
tensordot(x1, x2, /, *, axes)
tile(x, repetitions, /)
tril(x, /, *, k)
triu(x, /, *, k)
unstack(x, /, *, axis)
var(x, /, *, axis, correction, keepdims)
vecdot(x1, x2, /, *, axis)
where(condition, x1, x2, /)
zeros(shape, *, dtype, device)
zeros_like(x, /, *, dtype, device)
linalg.cholesky(x, /, *, upper)
linalg.cross(x1, x2, /, *, axis)
linalg.diagonal(x, /, *, offset)
linalg.matrix_norm(x, /, *, keepdims, ord)
linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol)
linalg.pinv(x, /, *, rtol)
linalg.qr(x, /, *, mode)
linalg.svd(x, /, *, full_matrices)
linalg.tensordot(x1, x2, /, *, axes)
linalg.trace(x, /, *, offset, dtype)
linalg.vecdot(x1, x2, /, *, axis)
linalg.vector_norm(x, /, *, axis, keepdims, ord)
fft.fft(x, /, *, n, axis, norm)
fft.fftfreq(n, /, *, d, dtype, device)
fft.fftn(x, /, *, s, axes, norm)
fft.fftshift(x, /, *, axes)
fft.hfft(x, /, *, n, axis, norm)
fft.ifft(x, /, *, n, axis, norm)
fft.ifftn(x, /, *, s, axes, norm)
fft.ifftshift(x, /, *, axes)
fft.ihfft(x, /, *, n, axis, norm)
fft.irfft(x, /, *, n, axis, norm)
fft.irfftn(x, /, *, s, axes, norm)
fft.rfft(x, /, *, n, axis, norm)
fft.rfftfreq(n, /, *, d, dtype, device)
fft.rfftn(x, /, *, s, axes, norm)
""".split("\n")[1:-1]

ATTRIBUTES = """
    T device dtype mT ndim shape size to_device __abs__ __add__ __and__ __array_namespace__
    __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__ __floordiv__ __ge__
    __getitem__ __gt__ __iadd__ __iand__ __ifloordiv__ __ilshift__ __imatmul__ __imod__ __imul__
    __index__ __int__ __invert__ __ior__ __ipow__ __irshift__ __isub__ __itruediv__ __ixor__
    __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__
    __radd__ __rand__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__
    __rrshift__ __rshift__ __rsub__ __rtruediv__ __rxor__ __setitem__ __sub__ __truediv__ __xor__
""".split()


def find(name: str) -> Any:
    """Find a function by its dotted name."""
    found: Any = lf
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("signature", [*SIGNATURES, *(f"{x}(x, /)" for x in UNARY)])
def test_signatures(signature: str) -> None:
    """Every parameter of the standard is taken, by position and by name where it says so."""
    name, _, listed = signature.strip().rstrip(")").partition("(")
    if isinstance(getattr(host, name, None), host.ufunc) and not IS_SIGNED:
        pytest.skip("NumPy's ufuncs have no signatures before 2.4")
    own = inspect.signature(find(name))
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    before, _, after = f"{listed}, ".partition("*, ")
    for item in filter(None, before.split(", ")):
        if item != "/":
            positional += [None, None] if item.startswith("*") else [None]
    keywords = dict.fromkeys(filter(None, after.split(", ")))
    own.bind(*positional, **keywords)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two(name: str) -> None:
    """Functions of two arrays are here; what they give is NumPy's."""
    values = host.array([[6, 3], [5, 2]])
    found = find(name)(lf.asarray(values), lf.asarray(values))
    wanted = getattr(host, name.rpartition(".")[2])(values, values)
    assert isinstance(found, lf.LazyArray)
    host.testing.assert_array_equal(host.asarray(found), wanted, strict=True)


def test_attributes() -> None:
    """Arrays have every attribute of the standard."""
    x = lf.ones((2, 2))
    assert [name for name in ATTRIBUTES if not hasattr(x, name)] == []


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("arange", (5,)),
        ("asarray", ([1, 2],)),
        ("empty", (3,)),
        ("empty_like", (lf.ones(3),)),
        ("eye", (3,)),
        ("fft.fftfreq", (5,)),
        ("fft.rfftfreq", (5,)),
        ("from_dlpack", (host.ones(3),)),
        ("full", (3, 2)),
        ("full_like", (lf.ones(3), 2)),
        ("linspace", (0, 1, 5)),
        ("ones", (3,)),
        ("ones_like", (lf.ones(3),)),
        ("zeros", (3,)),
        ("zeros_like", (lf.ones(3),)),
        ("astype", (lf.ones(3), lf.float32)),
    ],
)
def test_devices(name: str, args: Any) -> None:
    """What makes arrays takes a device, and refuses one that is not there."""
    made = find(name)(*args, device="cpu")
    assert made.device == "cpu"
    with pytest.raises((ValueError, lf.DeviceUnavailableError)):
        lf.materialize(find(name)(*args, device="no such device"))


def test_numbers_go_to_the_device_that_is_asked_for() -> None:
    """`linspace` computes with its numbers, which are arrays of the default device otherwise."""
    with lf.options(device="no such device"):
        made, step = lf.linspace(0, 1, 5, retstep=True, device="cpu")
        assert made.device == "cpu" and made.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
        assert step == 0.25


def test_questions() -> None:
    """`__array_namespace_info__` answers as NumPy does, with the devices of lazyfuse."""
    info = lf.__array_namespace_info__()
    numpys = host.__array_namespace_info__()
    assert info.capabilities() == numpys.capabilities()
    assert info.default_device() == lf.ones(1).device
    assert info.devices() == list(lf.devices())
    assert info.default_dtypes(device="cpu") == numpys.default_dtypes()
    assert info.dtypes(kind=("bool", "real floating")) == numpys.dtypes(
        kind=("bool", "real floating")
    )
    with pytest.raises(ValueError, match="device"):
        info.dtypes(device="no such device")
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="no such kind")


def test_versions() -> None:
    """Arrays give the module for every version of the standard so far, and refuse others."""
    x = lf.ones(3)
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is lf
    assert lf.__array_api_version__ == "2025.12"
    with pytest.raises(ValueError, match="2019"):
        x.__array_namespace__(api_version="2019.12")


def test_what_the_standard_adds() -> None:
    """Keywords that NumPy does not have."""
    values = host.array([3.0, 1.0, 2.0, 1.0])
    x = lf.asarray(values)
    assert lf.sort(x, descending=True).tolist() == [3.0, 2.0, 1.0, 1.0]
    assert lf.argsort(x, descending=True, stable=True).tolist() == [0, 2, 1, 3]
    assert lf.argsort(x.reshape(2, 2), axis=0, descending=True).tolist() == [[0, 0], [1, 1]]
    assert lf.fft.fftfreq(4, dtype=lf.float32).dtype == lf.float32
    assert lf.fft.rfftfreq(4, dtype=lf.float32).tolist() == [0.0, 0.25, 0.5]
    assert lf.var(x, correction=1).tolist() == values.var(ddof=1)
    assert lf.finfo(x.astype("f4")).bits == 32
    assert lf.iinfo(x.astype("i2")).max == 32767
    assert lf.isdtype(x.dtype, "real floating")
    assert lf.take(x, lf.asarray([2, 0]), axis=0).tolist() == [2.0, 3.0]


def descending_in_place(np: Any, x: Any) -> Any:
    x = np.array(x)
    x.sort(descending=True)
    return x


def descending_parts(np: Any, x: Any) -> Any:
    """Every other column, in place."""
    whole = np.array(x).reshape(2, -1)
    whole[:, ::2].sort(axis=0, descending=True)
    return whole


DESCENDING: dict[str, oracle.Program] = {
    "sort": lambda np, x: np.sort(x, descending=True),
    "argsort": lambda np, x: np.argsort(x, descending=True, stable=True),
    "ascending": lambda np, x: np.sort(x, descending=False),
    "along an axis": lambda np, x: np.sort(x.reshape(2, -1), axis=0, descending=True),
    "flattened": lambda np, x: np.argsort(x.reshape(2, -1), axis=None, descending=True),
    "a method": lambda np, x: x.argsort(descending=True, stable=True),
    "in place": descending_in_place,
    "parts": descending_parts,
    "with a kind": lambda np, x: np.sort(x, kind="stable", descending=False),
    "a wrong word": lambda np, x: x.argsort(descends=True),
}


@pytest.mark.skipif(NUMPY < (2, 5), reason="this NumPy has no such keyword")
@pytest.mark.parametrize("size", [6, 50_000])
@pytest.mark.parametrize("name", DESCENDING)
def test_descending_is_numpys(name: str, size: int) -> None:
    """NaN are last in either order: they were first, and methods refused the keyword."""
    values = host.random.default_rng(5).integers(0, 50, size).astype("f8")
    values[1] = host.nan
    for eager_size in (0, 30_000):
        with oracle.options(eager_size=eager_size):
            oracle.check(DESCENDING[name], values)


def test_methods_refuse_what_numpy_does_not_know() -> None:
    x = lf.asarray([2.0, 1.0])
    for method in (x.sort, x.argsort):
        with pytest.raises(TypeError, match="unexpected keyword"):
            method(wrong=True)
