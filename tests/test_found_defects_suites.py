"""Programs of packages whose own tests were run with NumPy replaced, that did not do as with
NumPy."""

from __future__ import annotations

import array
import math
import sys
import types
import warnings
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place", allow_module_level=True)

import lazyfuse as lf  # noqa: E402 - when there is an engine
from lazyfuse.frontend import native_methods, small_special  # noqa: E402 - likewise
from lazyfuse.runtime import callees, frames, session  # noqa: E402 - likewise

EAGER = (0, 8192)
LARGE = 100_000


@pytest.fixture(params=("Python", "machine code"))
def way(request: pytest.FixtureRequest) -> str:
    """How functions run."""
    if request.param == "machine code":
        native_methods.make_native(lf.LazyArray)
    return str(request.param)


# ---- classes whose `__array__` makes an array by this library


SOURCES = {
    "a number": "np.array(2.0)", "numbers": "np.array([1.0, 2.0])", "itself": "np.asarray(x)",
    "any": "np.asanyarray(x)", "of a dtype": "np.asarray(x, dtype='f4')",
    "large": "np.asarray(large)", "rows": "np.array([x, x])", "zeros": "np.zeros((2, 3))",
    "joined": "np.concatenate([x, x])", "stacked": "np.stack([x, x])", "a range": "np.arange(5)",
    "chosen": "np.where(x > 1, x, 0.0)",
}  # fmt: skip


@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("name", SOURCES)
def test_arrays_made_in_an_array_method(name: str, eager_size: int, way: str) -> None:
    """NumPy, which refuses an array of ours there, has one of its own."""
    with lf.options(eager_size=eager_size):
        names: dict[str, Any] = {"np": lf, "x": lf.arange(3.0), "large": lf.ones(LARGE)}
        exec(f"class Own:\n    def __array__(self, *a, **k): return {SOURCES[name]}\n", names)
        own = names["Own"]()
        wanted = eval(
            SOURCES[name], {"np": host, "x": host.arange(3.0), "large": host.ones(LARGE)}
        )
        for _ in range(2):
            found = host.asarray(own)
            assert type(found) is host.ndarray and found.dtype == wanted.dtype
            host.testing.assert_array_equal(found, wanted)
            host.testing.assert_allclose(host.multiply(own, 2.0), wanted * 2.0)
            assert type(lf.asarray(own)) is lf.LazyArray  # for ours it stays ours
            assert host.array_equal(lf.asnumpy(lf.asarray(own)), wanted)


def test_what_an_array_method_gives_is_written(way: str) -> None:
    """The memory of the object's array, as with NumPy; for a function of ours the array itself."""

    class Own:
        def __init__(self, size: int) -> None:
            self.x = lf.ones(size)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return lf.asarray(self.x)

    with lf.options(eager_size=8192):
        for own in (Own(4), Own(LARGE)):
            host.asarray(own)[1] = 7.0
            assert own.x[1] == 7.0 and lf.asarray(own) is own.x


def test_where_the_name_of_a_function_is() -> None:
    """Machine code finds it in this version of Python."""
    found = frames.names()
    assert found.state >= 0 and found.name > 0


# ---- operands that are no arrays


class _Like:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.value


class _Shaped(_Like):
    shape = (3,)


def _alike(np: Any) -> dict[str, Any]:
    return {
        "range": range(3),
        "memory": array.array("d", [1.0, 2.0, 3.0]),
        "view": memoryview(b"abc"),
        "plane": memoryview(bytes(9)).cast("B", (3, 3)),
        "ours": _Like(np.arange(3.0)),
        "theirs": _Like(host.arange(3)),
        "shaped": _Shaped(np.arange(3.0)),
        "number": _Like(np.array(2.0)),
        "objects": _Like(host.array([1, 2, 3], object)),
        "none": range(0),
        "misfit": range(4),
        "large": range(9000),
    }


FORMS = (
    "r + L", "L + r", "r - L", "L - r", "r * L", "r / L", "r // L", "r % L", "r ** L", "L ** r",
    "r == L", "r != L", "r < L", "L > r", "a @ L", "a + L", "divmod(r, L)", "np.add(r, L)",
    "np.sin(L)", "np.exp(L)", "np.power(2, L)", "np.power(L, 2)", "np.maximum(r, L)",
    "np.arctan2(r, L)", "np.sum(L)", "np.mean(L)", "np.max(L)", "np.cumsum(L)", "np.dot(a, L)",
    "np.concatenate([r, L])", "np.stack([r, L])", "np.where(r > 1, r, L)", "np.array(L)",
    "np.asarray(L)", "np.array([L, L])", "np.array(L, dtype='f4')", "np.shape(L)", "np.size(L)",
    "np.reshape(L, -1)", "np.unique(L)", "np.clip(L, 1, 2)", "np.full((3,), L)",
    "np.array([L], dtype=object).shape", "np.isin(L, r)", "np.broadcast_to(L, (3, 3))",
)  # fmt: skip


def _answers(np: Any) -> dict[tuple[str, str], Any]:
    found = {}
    for name, value in _alike(np).items():
        for form in FORMS:
            names = {"np": np, "L": value, "r": np.arange(3.0), "a": np.ones((3, 3))}
            try:
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    made = host.asarray(eval(form, names))
                told = sorted({str(each.message) for each in said})
                found[name, form] = made.dtype, made.shape, made, told
            except Exception as error:
                found[name, form] = (type(error),)
    return found


@pytest.mark.parametrize("eager_size", EAGER)
def test_operands_that_numpy_makes_arrays_of(eager_size: int, way: str) -> None:
    """Ranges, memory and objects: NumPy's answers, warnings and errors."""
    wanted = _answers(host)
    with lf.options(eager_size=eager_size):
        found = _answers(lf)
    for case, answer in wanted.items():
        own = found[case]
        if case == ("number", "np.array([L, L])"):
            continue  # NumPy asks such objects for a number each, which they have not
        assert len(own) == len(answer) and own[:2] == answer[:2], (case, own, answer)
        if len(answer) == 1:
            continue
        if answer[0].kind == "O":
            assert own[2].tolist() == answer[2].tolist(), case
        else:
            host.testing.assert_allclose(own[2], answer[2], rtol=1e-15, err_msg=str(case))
        assert own[3] == answer[3], case


def test_they_are_computed_at_once(way: str) -> None:
    """Sums with ranges were recorded, and read element by element at 5 us each."""
    with lf.options(eager_size=8192):
        x = lf.asarray(host.linspace(0.0, 1.0, 50))
        read = (range(50), array.array("d", range(50)), memoryview(bytes(400)).cast("d"))
        asked = (_Like(x), _Like(host.arange(50)))
        lf.asarray(asked[0])  # by which it is known that it gives one of ours
        for other in (*read, *asked):
            for made in (x + other, other * x, x == other):
                assert made._host is not None, other
        for other in read:
            for made in (lf.add(x, other), lf.sin(other), lf.concatenate([x, other])):
                assert made._host is not None, other
        assert (x + [x[0], x[1]] * 25)._host is not None
        assert (x + [lf.array(1.0)] * 50)._host is not None


class _Counting:
    """Gives other values each time."""

    count = 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.count += 1
        return host.full(3, float(self.count))


def _plain_first(np: Any) -> list[Any]:
    """Numbers and texts that have an `__array__`, too; classes of no module; outputs that are
    none; elements that stay what they are; objects that are asked once."""

    def given(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        return host.array([1.0, 2.0, 3.0])

    odd = [type("Odd", (kind,), {"__array__": given}) for kind in (float, int, str)]
    nowhere = type("Nowhere", (), {"__module__": None})
    shaped = type("Shaped", (_Counting,), {"shape": (None, 3)})
    masked = _Like(host.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]))
    target, x = array.array("l", [0, 0, 0]), np.ones(3)

    def written(*call: Any, **named: Any) -> Any:
        try:
            call[0](*call[1:], **named)
        except (TypeError, ValueError) as error:
            return type(error)
        return target.tolist()

    return [
        (x * odd[0](5.0)).tolist(), (x + odd[1](5)).tolist(), np.asarray(odd[2]("a")).shape,
        (np.array([1, 2]) == nowhere()).tolist(), nowhere() in np.array([1, 2]),
        (x + shaped()).tolist(), (x * _Counting()).tolist(), (x + _Like(host.array(2.0))).tolist(),
        repr(x + masked), (x + host.longdouble(2)).dtype,
        written(np.add, np.arange(3), 1, out=target), written(np.copyto, target, np.arange(3)),
        written(np.add, np.arange(3), 1, out=_Like(host.arange(3))),
        [type(each) for each in np.array([target, target[:2]], dtype=object)],
    ]  # fmt: skip


@pytest.mark.parametrize("eager_size", EAGER)
def test_what_numpy_knows_better(eager_size: int, way: str) -> None:
    with lf.options(eager_size=eager_size):
        own, numpys = _plain_first(lf), _plain_first(host)
    for place, (found, wanted) in enumerate(zip(own, numpys, strict=True)):
        assert found == wanted, place


def _told(np: Any) -> list[Any]:
    told: list[Any] = []

    class Speaking:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            warnings.warn("asked", stacklevel=2)
            told.append((dtype, copy))
            return host.arange(2.0)

    one, x = Speaking(), np.zeros(2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for made in (
            np.asarray(one), np.asarray(one, dtype=float), np.array(one, "f8"), np.array(one),
            np.array(one, copy=False), np.array(one, copy=None), x + one, one * x,
        ):  # fmt: skip
            assert made.tolist() in ([0.0, 1.0], [0.0, 0.0])
    return [told, [each.filename == __file__ for each in said]]


@pytest.mark.parametrize("eager_size", EAGER)
def test_what_array_methods_are_given(eager_size: int, way: str) -> None:
    """The dtype and whether to copy, once; what they warn of is said of the user's line."""
    with lf.options(eager_size=eager_size):
        own, numpys = _told(lf), _told(host)
    assert own[0][:6] == numpys[0][:6] and all(own[1])
    assert eager_size == 0 or own == numpys


# ---- what others ask


def test_numpys_testing_takes_arrays() -> None:
    """`assert_equal` asked for the truth of arrays of ours."""
    a = lf.arange(3.0)
    for check in (host.testing.assert_equal, host.testing.assert_almost_equal):
        check(a, a)
        check(a, [0, 1, 2])
        with pytest.raises(AssertionError, match="Mismatched elements: 1 / 3"):
            check(a, [0, 1, 3])
    host.testing.assert_equal({"a": a}, {"a": [0, 1, 2]})
    host.testing.assert_equal([a, (a, 1)], [a, (a, 1)])
    host.testing.assert_equal(host.float64(2), lf.array([2.0]))


def test_array_wrap() -> None:
    """Code that says `x.__array_wrap__`, as SciPy's solvers do, has it; `hasattr` and NumPy find
    none, which would wrap what its functions give."""
    for size in (3, LARGE):
        x = lf.ones(size)
        for _ in range(100):  # the interpreter asks in another way then
            wrap, interface = x.__array_wrap__, x.__array_interface__
        assert interface["shape"] == (size,)
        assert type(wrap(host.zeros(size))) is lf.LazyArray and wrap(x) is x
        assert wrap(host.zeros(()), None, True) == 0.0
        assert not hasattr(x, "__array_wrap__")
        assert type(host.fix(host.ones(2))) is host.ndarray


@pytest.mark.parametrize("eager_size", EAGER)
def test_arrays_without_elements_may_be_written(eager_size: int) -> None:
    """For NumPy's C code, which refused them; and their buffer for Cython's."""
    with lf.options(eager_size=eager_size):
        for x in (lf.zeros(LARGE)[:0], lf.zeros((0, 30), "u4"), lf.zeros((3, 0))[1:]):
            found = host.asarray(x)
            assert found.flags.writeable and (found.shape, found.dtype) == (x.shape, x.dtype)
            assert memoryview(x).shape == x.shape
        x = lf.zeros(LARGE)[:0]
        x.flags.writeable = False
        assert not host.asarray(x).flags.writeable


@pytest.mark.parametrize("size", (7, LARGE))
def test_numpys_shuffle(size: int) -> None:
    """NumPy's generators exchange elements as those of a list, without a warning; they refuse
    rows, of which some would be lost."""
    with lf.options(eager_size=8192):
        for make in (host.random.default_rng, host.random.RandomState):
            x, numpys = lf.arange(size), list(range(size))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                make(3).shuffle(x)
            make(3).shuffle(numpys)
            assert x.tolist() == numpys
            rows = lf.arange(2 * size).reshape(size, 2)
            with pytest.raises(TypeError, match="lazyfuse.random"):
                make(3).shuffle(rows)
            assert rows.tolist() == host.arange(2 * size).reshape(size, 2).tolist()


class _Pair(NamedTuple):
    first: Any
    second: Any


def _kept(np: Any, held: Any) -> list[bool]:
    """Whether an object that holds an array is the element that functions give."""
    objects = host.empty(2, object)
    objects[:] = [held, held]
    made = [
        np.array([held, None]), np.full(2, held), np.append(objects, [held]),
        np.insert(objects, 0, held), np.concatenate([objects, [held]]), np.asarray(held)[()],
        np.where([True, False], held, held), np.hstack([[held], [held]]), np.atleast_1d(held),
        np.take([held, held], [0]), np.repeat([held], 2), np.flip([held, held]),
        np.random.permutation([held, held]), np.random.default_rng(0).choice([held, held]),
        np.fromiter([held], object), np.array([(held, 1)], [("a", object), ("b", int)])["a"],
    ]  # fmt: skip
    return [(each if each is held else host.asarray(each).ravel()[0]) is held for each in made]


@pytest.mark.parametrize("eager_size", EAGER)
@pytest.mark.parametrize("size", (3, LARGE))
def test_elements_of_arrays_of_objects(size: int, eager_size: int, way: str) -> None:
    """A dict that holds an array was another one in each array of objects."""
    with lf.options(eager_size=eager_size):
        held = {"values": lf.arange(float(size))}
        assert all(_kept(lf, held))
        pair = lf.array([_Pair(lf.arange(float(size)), 1), None], dtype=object)[0]
        assert type(pair) is _Pair and pair.second == 1


class _Asking:
    """Asks what is called in the frame that gives it to a function of C."""

    def __init__(self, *functions: Any) -> None:
        self.functions = {id(each): each for each in functions}
        self.found: list[Any] = []

    def __float__(self) -> float:
        self.found.append(callees.called(sys._getframe(1), self.functions))
        return 1.0


def test_what_a_frame_calls() -> None:
    """It is read off the stack of the interpreter: functions, in the midst of others, with packed
    arguments and keywords, in handlers of exceptions and behind them."""
    functions = [math.cos, math.pow, math.sin, math.hypot, complex, math.log, math.exp, math.tan]
    each = _Asking(*functions)
    for _ in range(20):  # the interpreter writes its code anew
        one = max(abs(math.cos(each)), 0.0), math.pow(2.0, each)
        local = math.sin
        two = [local(each), *[3.0].__mul__(1)], "x".join(["a"])
        packed = math.hypot(*(1.0, each)), complex(real=each)
        try:
            int("x")
        except ValueError as error:
            assert math.log(each) == 0.0, error
        with suppress(ValueError):
            try:
                int("x")
            finally:
                math.exp(each)
        math.tan(each)
    assert one[1] == 2.0 and two[1] == "a" and packed[0] == math.hypot(1.0, 1.0)
    assert each.found == functions * 20
    assert not callees.calls_cython(sys._getframe())


def test_modules_that_are_loaded_late() -> None:
    """Nobody looks into modules of other classes, which that loads, nor into what is none."""

    class Late(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    strange: Any = type("Strange", (), {"__dict__": None})()
    sys.modules["lazyfuse_late"], sys.modules["lazyfuse_strange"] = Late("late"), strange
    try:
        assert host.asarray(lf.ones((50, 50))[::2]).sum() == 1250
    finally:
        del sys.modules["lazyfuse_late"], sys.modules["lazyfuse_strange"]


def test_what_is_called_may_be_gone() -> None:
    """An instruction lets go of a function before its arguments, whose destructors may ask for
    memory: the function was looked into, and the process ended."""
    x = lf.ones((40, 50))[:, ::2]

    class Late:
        __del__ = partial(host.asarray, x)

    for _ in range(3000):
        partial(bool)(Late())
        with pytest.raises(ValueError, match="invalid literal"):
            max(Late(), partial(int)("x"))
    assert host.asarray(x).sum() == 1000


# ---- arrays without axes, views, powers, ranges


def test_ranges_by_position() -> None:
    """The dtype of `arange` by position was a TypeError."""
    for given in ((0, 256, 50, "u1"), (0, 5, 1, float), (3, None, None, float), (1, 4)):
        own, numpys = lf.arange(*given), host.arange(*given)
        assert own.dtype == numpys.dtype and own.tolist() == numpys.tolist()
    made = lf.fromfunction(lambda i, j: i + j, (2, 3), dtype=int)
    assert made.tolist() == host.fromfunction(lambda i, j: i + j, (2, 3), dtype=int).tolist()


def _numbers(np: Any) -> list[Any]:
    found: list[Any] = []
    for value in (3, 2.5, True, 1 + 2j, [1.0], [1.0, 2.0], [[2]]):
        x = np.array(value)
        for convert in (
            float, int, bool, complex, round, math.sqrt, range, "{:.3f}".format, "%g".__mod__,
            [1, 2, 3, 4].__getitem__,
        ):  # fmt: skip
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    made = convert(x)
                found.append((type(made).__name__, made))
            except Exception as error:
                found.append((type(error).__name__, str(error)))
    return found


def test_numbers_of_arrays_without_axes(way: str) -> None:
    """Python's numbers, with NumPy's errors."""
    with lf.options(eager_size=8192):
        for own, numpys in zip(_numbers(lf), _numbers(host), strict=True):
            assert own == numpys or "LazyArray" in own[1], (own, numpys)


def _views(np: Any, size: int) -> list[Any]:
    x = np.zeros(size)
    y = x.view(np.ndarray)
    z = y[1:].view(np.ndarray)
    z[0] = 5.0
    same = [y.base is x, z.base is x, type(y) is type(x), x.view(type(x)).base is x]
    return [*same, x[1] == 5.0, z.shape, z.dtype.str]


@pytest.mark.parametrize("size", (4, LARGE))
def test_views_of_the_class(size: int, way: str) -> None:
    """`x.view(np.ndarray)` took 10 us."""
    with lf.options(eager_size=8192):
        assert _views(lf, size) == _views(host, size)


def test_squares_are_counted() -> None:
    """A loop of `x ** 2` alone never got machine code."""
    with lf.options(eager_size=8192):
        x = lf.arange(15.0)
        power = small_special.power(type(x).__pow__)
        before = session.uses[0]
        assert power(x, 2).tolist() == (host.arange(15.0) ** 2).tolist()
    assert session.uses[0] > before


@pytest.mark.parametrize("size", (20, LARGE))
def test_strides_reach_as_far_as_the_whole_array(size: int) -> None:
    """NumPy 2.5 checks the bounds itself, and refused strides beyond a part."""
    with lf.options(eager_size=8192):
        part = lf.arange(float(size))[2:8]
        seen = lf.lib.stride_tricks.as_strided(part, (6,), (16,))
        assert seen.tolist() == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
        with pytest.raises(ValueError, match="outside"):
            lf.lib.stride_tricks.as_strided(part, (size,), (16,))
