"""Programs of packages for engineering and neuroscience that did not run, or not as with NumPy."""

from __future__ import annotations

import importlib
import inspect
import pickle
import warnings
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.python_calls import python_calls
from tests.signed import IS_SIGNED

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place", allow_module_level=True)

import lazyfuse as lf  # noqa: E402 - when there is an engine
from lazyfuse.frontend import native_methods  # noqa: E402 - likewise

SIZES = (4, 400)
EAGER = (0, 8192)


@pytest.fixture(params=("Python", "machine code"))
def way(request: pytest.FixtureRequest) -> str:
    """How methods run."""
    if request.param == "machine code":
        native_methods.make_native(lf.LazyArray)
    return str(request.param)


def test_old_names_of_modules() -> None:
    """`np.core.umath.clip` and its like are NumPy's, and take arrays; a package had them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        clip = lf.core.umath.clip
        found = importlib.import_module("lazyfuse.core.records")
        assert found.fromarrays is host.rec.fromarrays
    assert lf.core is host.core and found is importlib.import_module("numpy.core.records")
    assert type(clip(lf.arange(100_000.0), 1.0, 2.0)) is lf.LazyArray
    assert lf.f2py is host.f2py and lf._core is host._core
    assert importlib.import_module("lazyfuse._core.umath") is host._core.umath


@pytest.mark.cpu("addresses")
@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("size", SIZES)
def test_array_interface(size: int, eager_size: int, way: str) -> None:
    """Who says `x.__array_interface__` has it: where a view begins was found by it."""
    with lf.options(eager_size=eager_size):
        x = lf.arange(size * size * 3).reshape(size, size, 3)
        lf.materialize(x)
        first = x.__array_interface__
        second = x[1:, ::-1].__array_interface__
        numpys = host.asarray(x).__array_interface__
    assert second["data"][0] - first["data"][0] == (size * 3 + (size - 1) * 3) * 8
    assert (first["data"][0], first["typestr"]) == (numpys["data"][0], numpys["typestr"])
    assert first["shape"] == x.shape and second["strides"] == x[1:, ::-1].strides


@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("size", SIZES)
def test_array_interface_is_not_for_numpy(size: int, eager_size: int, way: str) -> None:
    """NumPy and `hasattr` find none, also in code that has the name: nothing is computed, and no
    address is kept of memory that another version takes the place of."""
    with lf.options(eager_size=eager_size):
        x = lf.arange(size * size) * 2
        assert not hasattr(x, "__array_interface__")
        taken = host.asarray(x)
    assert taken.__array_interface__["strides"] is None and taken.base is not x


def _views_in_memory(np: Any, x: Any) -> list[bool]:
    view = x[1:]
    made = [np.ndarray((2,), x.dtype, buffer=whole, offset=8) for whole in (x, view)]
    made[0][0] = 7.0
    own = np.ndarray((2,), x.dtype)
    return [each.base is x for each in made] + [own.base is None, x[1] == 7.0]


def test_base_of_an_array_in_anothers_memory() -> None:
    """An array that is made in the memory of another, small one has that as its base."""
    with lf.options(eager_size=8192):
        assert _views_in_memory(host, host.zeros(5)) == _views_in_memory(lf, lf.zeros(5))


#: Methods that a class derived from ndarray asks of that, and their arguments.
ASKED: dict[str, tuple[Any, ...]] = {
    "__getitem__": (1,), "__setitem__": (0, 4.0), "sum": (), "view": (), "__add__": (1.0,),
    "__iadd__": (1.0,), "__eq__": (2.0,), "__repr__": (), "__reduce__": (), "copy": (),
    "__len__": (), "reshape": (3, 1), "astype": ("i4",), "__array_finalize__": (None,),
    "__array_wrap__": (host.zeros(3),), "tolist": (), "__neg__": (), "dot": (host.ones(3),),
}  # fmt: skip


def _asked(np: Any, name: str) -> Any:
    class Own(np.ndarray):  # type: ignore[name-defined, misc]  # either module's
        pass

    values = np.array([1.0, 2.0, 3.0])
    results = []
    for array in (values.view(Own), host.array([1.0, 2.0, 3.0])):
        found = getattr(np.ndarray, name)(array, *ASKED[name])
        results += [type(found).__name__, repr(found), repr(array)]
    return results


@pytest.mark.parametrize("name", ASKED)
def test_methods_asked_of_the_class(name: str, way: str) -> None:
    """`np.ndarray.method(self)` in a class derived from ndarray, and for arrays of NumPy's, is
    NumPy's; ours looked for parts that these do not have, or was missing."""
    assert _asked(lf, name) == _asked(host, name)


def test_methods_asked_of_the_class_for_ours(way: str) -> None:
    """They are methods of our arrays, too, the same ones each time, with names and signatures."""
    x = lf.arange(100_000.0)
    assert lf.ndarray.sum(x) == x.sum() and lf.ndarray.__getitem__(x, 3) == 3.0
    assert lf.ndarray.sum is lf.ndarray.sum and lf.ndarray.sum.__name__ == "sum"
    if IS_SIGNED:
        assert inspect.signature(lf.ndarray.sum) == inspect.signature(host.ndarray.sum)
    assert pickle.loads(pickle.dumps(lf.ndarray.sum)) is lf.ndarray.sum
    assert not hasattr(x, "__array_wrap__") and not hasattr(x, "__setstate__")


def _masked_rows(np: Any) -> list[Any]:
    class Own(np.ndarray):  # type: ignore[name-defined, misc]  # either module's
        pass

    rows = np.zeros((0, 3)).view(Own)
    mask = np.zeros((0, 3), bool)
    rows[mask] = np.zeros(0)
    rows[mask, ...] = np.zeros(0)
    return [rows[mask].shape, rows[mask, ...].shape, type(rows[mask]).__name__]


def test_empty_masks_of_derived_classes() -> None:
    """An empty mask picks nothing; NumPy takes what is empty and not its own for positions."""
    assert _masked_rows(lf) == _masked_rows(host)


@pytest.mark.parametrize("name", ["sum", "max", "mean", "std", "any"])
def test_no_value(name: str) -> None:
    """What other libraries give for an argument that is not given is here; a package of units was
    not imported without it."""
    nothing = lf._NoValue
    assert nothing is host._NoValue
    x = lf.arange(12.0).reshape(3, 4)
    given = getattr(lf, name)(x, axis=0, keepdims=nothing, where=nothing)
    assert given.tolist() == getattr(lf, name)(x, axis=0).tolist()


def _array_likes(np: Any) -> list[Any]:
    class Like:
        def __init__(self, value: Any) -> None:
            self.value = np.asarray(value)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.value

    class Quantity(Like):
        def __array_function__(self, *args: Any) -> Any:
            return NotImplemented

    many, one = Like([1.0, 2.0]), Like(3.0)
    x, y = np.ones(3), np.ones(3)
    x.put([0, 1], many)
    np.put(y, [0, 1], many)
    x.put(2, Quantity(5.0))
    z = np.ones(2)
    z[:] = many
    objects = np.array([one, [1]][:1], dtype=object)
    made = [np.array([many, many]), np.asarray(([many], [[3, 4]])), np.full((2, 2), many)]
    return [repr(each) for each in (*made, np.sum([many, many]), x, y, z)] + [objects[0] is one]


@pytest.mark.parametrize("eager_size", EAGER)
def test_objects_that_stand_for_arrays(eager_size: int) -> None:
    """Objects whose `__array__` gives an array of ours, as quantities do, may be in lists, and are
    written; NumPy refused them."""
    with lf.options(eager_size=eager_size):
        assert _array_likes(lf) == _array_likes(host)


def _products(np: Any) -> list[Any]:
    matrix = host.arange(12.0).reshape(3, 4)
    vector, table = np.arange(4.0), np.arange(8.0).reshape(4, 2)
    results = [matrix @ vector, matrix @ table, matrix @ table[:, 1], host.arange(4.0) @ vector]
    results += [matrix.astype("f4") @ vector, host.matmul(matrix, vector)]
    for other in (matrix[:, :3], host.float64(2.0), host.array(3.0)):
        with pytest.raises(ValueError) as error:
            other @ vector
        results.append(str(error.value))
    return [each if type(each) is str else (each.dtype, each.tolist()) for each in results]


def test_products_with_matrices_of_numpys(way: str) -> None:
    """`matrix @ x` of a matrix of NumPy's, as SciPy gives them."""
    with lf.options(eager_size=8192):
        assert _products(lf) == _products(host)


@pytest.mark.cpu("machine code")
def test_products_with_matrices_of_numpys_are_machine_code() -> None:
    """They went through ten functions of Python, and took 18 us."""
    if not native_methods.make_native(lf.LazyArray):
        pytest.skip("no machine code")
    with lf.options(eager_size=8192):
        matrix, vector = host.eye(4), lf.ones(4)
        assert (matrix @ vector).tolist() == [1.0] * 4
        called = python_calls(lambda: matrix @ vector)
    assert {*called} <= {"attribute"}  # by which NumPy finds `__array_ufunc__`


class _Wrapper:
    """As ASE's cells: an array, and methods that go to `np.asarray(self)`."""

    def __init__(self, np: Any, size: int) -> None:
        self.array = np.eye(size)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array.copy() if copy else self.array


def _wrapped(np: Any, size: int) -> list[Any]:
    written = [_Wrapper(np, size) for _ in range(5)]
    np.asarray(written[0])[0] = 5.0
    np.asarray(written[1], "f8").__imul__(3.0)
    np.array(written[2], copy=None)[1] = 2.0
    np.squeeze(written[3])[0] = 4.0
    np.asanyarray(written[4])[-1] = np.arange(size)
    one, x = _Wrapper(np, size), np.zeros((size, size))
    x[:] = one
    like = np.zeros_like(one), np.full_like(one, one), np.ones_like(one)
    copied = np.array(one)
    copied[0] = 9.0
    values = [each.array for each in written] + [one.array, x, *like, np.dot(np.ones(size), one)]
    told = [np.shape(one), np.ndim(one), np.size(one), np.asarray(one) is one.array]
    return [host.asarray(value).tolist() for value in values] + told


@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("size", [3, 150])
def test_objects_around_an_array(eager_size: int, size: int) -> None:
    """What `asarray` gave of them was a copy: their cells stayed zero. `shape`, `zeros_like` and
    writes of large arrays raised ValueError."""
    with lf.options(eager_size=eager_size):
        assert _wrapped(lf, size) == _wrapped(host, size)


def test_objects_around_a_small_array_stay_small() -> None:
    """Functions of them were recorded, each time."""
    with lf.options(eager_size=8192):
        one = _Wrapper(lf, 3)
        for _ in range(2):
            product = lf.dot((1.0, 2.0, 3.0), one)
        assert product._host is not None


def _overriding(np: Any) -> Any:
    class Named(np.ndarray):  # type: ignore[misc,name-defined]  # of either library
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            given = [each.view(np.ndarray) if isinstance(each, Named) else each for each in inputs]
            found = super().__array_ufunc__(ufunc, method, *given, **kwargs)
            return found.view(Named) if isinstance(found, host.ndarray) else found

    x, y = np.arange(3.0).view(Named), np.exp(np.arange(3.0) * 0)
    found = [
        x.__array_ufunc__(np.equal, "__call__", x, y), x + y, y + x, x == 1, np.add(x, y),
        np.add.reduce(x), np.multiply(y, x, where=np.array([True, True, True])),
    ]  # fmt: skip
    return [(type(each).__name__, host.asarray(each).tolist()) for each in found]


def test_classes_that_override_ufuncs() -> None:
    """`super().__array_ufunc__` with an array of ours was NotImplemented."""
    assert _overriding(lf) == _overriding(host)
