"""Operators one of whose operands nobody else can have use its memory: what NumPy does with
temporaries. Values, and whose memory is changed."""

from __future__ import annotations

import functools
import itertools
import operator
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place makes arrays of its own", allow_module_level=True)

from lazyfuse.frontend import novel  # noqa: E402 - when there is an engine
from lazyfuse.frontend.passing import left_of, operand_words  # noqa: E402 - likewise
from lazyfuse.runtime import frames  # noqa: E402 - likewise

lf = oracle.lf
pytestmark = pytest.mark.engine
#: Elements that are computed at once, for they are new to each function, and are not small.
SIZE = 50_000


@pytest.fixture(autouse=True)
def as_users() -> Iterator[None]:
    """What is new is computed at once."""
    with lf.options(eager_size=30_000, cold_size=1 << 20):
        novel.forget()
        yield


def operands(count: int = 3, dtype: str = "f8", shape: tuple[int, ...] = (SIZE,)) -> list[Any]:
    draw = host.random.default_rng(5)
    return [draw.uniform(1.0, 2.0, shape).astype(dtype) for _ in range(count)]


def most_arrays(program: Callable[..., Any], *arrays: Any) -> float:
    """How many arrays of their size a program has at once, but for its operands."""
    given = [lf.asarray(array) for array in arrays]
    program(*given)
    novel.forget()
    tracemalloc.start()
    try:
        begin, _ = tracemalloc.get_traced_memory()
        found = program(*given)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del found
    return (most - begin) / arrays[0].nbytes


def is_within(count: float, most: float) -> bool:
    return count < most + 0.3


# ---- whose memory is changed


def chain(a: Any, b: Any, c: Any) -> Any:
    return ((a * b + c) * b - 1.0) / 3.0


def powers(a: Any, b: Any, c: Any) -> Any:
    return ((a - b) ** 2 + 1.0) ** 0.5 - (a * c) ** -1


def nested(a: Any, b: Any, c: Any) -> Any:
    return a * b - (c + 2.0) * b


def on_the_right(a: Any, b: Any, c: Any) -> Any:
    return c + 2.0 * (b + a * c)


def not_in_place(a: Any, b: Any, c: Any) -> Any:
    return c - 1.0 / (b - a * c)


def called(a: Any, b: Any, c: Any) -> Any:
    return abs(a - b) + c


def in_a_loop(a: Any, b: Any, c: Any) -> Any:
    for each in (b, c):
        a = a * each + 1.0
    return a


def in_a_generator(a: Any, b: Any, c: Any) -> Any:
    return [*(a * each + 1.0 for each in (b,))][0]


def with_a_closure(a: Any, b: Any, c: Any) -> Any:
    def inside() -> Any:
        return a * b + c

    return inside()


def in_a_block(a: Any, b: Any, c: Any) -> Any:
    with host.errstate(over="ignore"):
        try:
            return [a * b + c for _ in range(1)][0]
        finally:
            pass


def by_a_condition(a: Any, b: Any, c: Any) -> Any:
    return (a * b if a.size else b) + (c if b.size else a)


PASSING = (
    chain, nested, on_the_right, called, in_a_loop, in_a_generator, with_a_closure, in_a_block,
    by_a_condition,
)  # fmt: skip


@pytest.mark.skipif(frames.first_variable() < 0, reason="frames of this Python are not known")
@pytest.mark.parametrize("program", PASSING, ids=lambda program: program.__name__)
def test_memory_is_used_again(program: Callable[..., Any]) -> None:
    most = 2.0 if program in (nested, called, in_a_loop) else 1.0
    assert is_within(most_arrays(program, *operands()), most)


@pytest.mark.parametrize(
    "program", (*PASSING, powers, not_in_place), ids=lambda program: program.__name__
)
@pytest.mark.parametrize("dtype", ("f8", "f4"))
@pytest.mark.parametrize("shape", ((SIZE,), (250, 200)))
def test_values(program: Callable[..., Any], dtype: str, shape: tuple[int, ...]) -> None:
    arrays = operands(dtype=dtype, shape=shape)
    oracle.check(lambda np, *given: program(*given), *arrays)


def test_operands_stay() -> None:
    """What has a name, or is held by anything else, keeps its values."""

    def program(np: Any, a: Any, b: Any, c: Any) -> Any:
        product = a * b
        one = product + c
        two = (a * b, product)
        three = two[0] + c
        held = [a - b]
        four = held[0] * c
        other = (same := a * c) + b
        return one, product, two, three, held, four, other, same

    oracle.check(program, *operands())


def test_dtypes_orders_and_shapes() -> None:
    """Where the result is another array than the left operand, it is one of its own."""

    def program(np: Any, a: Any, b: Any, row: Any, small: Any, whole: Any) -> Any:
        return (
            a * b + row, (a * 2.0) + b.T, (a * 2.0).T + b, a * b > 2.0, small * 2 + a,
            whole * 2 + 1.5, whole * 2 / 3, a * 2.0 * small, (a * b)[:, None, :] + b,
            a * b + np.float32(2), small * 2.0 + host.float64(1.0), (a * b + 1) // 2,
        )  # fmt: skip

    a, b = operands(2, shape=(200, 200))
    whole = host.arange(40_000).reshape(200, 200)
    oracle.check(program, a, b, a[0], a.astype("f4"), whole)


def integers(a: Any, b: Any, c: Any) -> Any:
    return (a * b + c - 1) * 3 + c


def sums(a: Any, b: Any, c: Any) -> Any:
    return 1.0 + (a * b + c - 1.5 + b) + np_number


np_number = host.float64(0.25)


@pytest.mark.skipif(frames.first_variable() < 0, reason="frames of this Python are not known")
@pytest.mark.parametrize(
    ("program", "dtype"),
    [(sums, "c16"), (integers, "i8"), (integers, "i4"), (integers, "u8"), (integers, "i2")],
)
def test_other_memory_is_used_again(program: Callable[..., Any], dtype: str) -> None:
    """That of integers and of complex numbers."""
    assert is_within(most_arrays(program, *operands(dtype=dtype)), 1.0)


@pytest.mark.parametrize("dtype", ("c16", "c8"))
@pytest.mark.parametrize("program", (sums, chain, nested, on_the_right, not_in_place))
def test_complex_values(program: Callable[..., Any], dtype: str) -> None:
    """Products are no operands that are changed: NumPy rounds those otherwise."""
    draw = host.random.default_rng(6)
    arrays = [each + 1j * draw.random(SIZE) for each in operands()]
    oracle.check(
        lambda np, *given: program(*given), *(each.astype(dtype) for each in arrays),
        ulp=4,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ("i8", "i4", "i2", "i1", "u8", "u4", "u1", "b1"))
def test_integers(dtype: str) -> None:
    """They wrap around; with floats, in quotients, and with integers of other dtypes the result is
    an array of its own."""
    draw = host.random.default_rng(7)
    a, b, c = (draw.integers(0, 120, SIZE).astype(dtype) for _ in range(3))

    def program(np: Any, a: Any, b: Any, c: Any) -> Any:
        return (
            integers(a, b, c), a * b + 1.5, (a * b) / 3, (a + b) / c, 2 + a * b, 2 - a * b,
            a * b + np.float64(2), (a * b).T + c[::-1], (a + b) + True, (a * b) // 2, a * b > 3,
            (a + b) + np.int64(3), (a + b) * 1j, c + (a * b), c - (a * b),
            (a + b) + a.astype("i8"),
        )  # fmt: skip

    host_errors = host.errstate(divide="ignore", invalid="ignore")
    with host_errors:
        if dtype == "b1":
            oracle.check(lambda np, a, b, c: (a * b + c, (a + b) * c, (a + b) + True), a, b, c)
        else:
            oracle.check(program, a, b, c)


@pytest.mark.parametrize(("dtype", "number"), [("u1", 300), ("i1", -129), ("u8", -1)])
def test_numbers_that_do_not_fit(dtype: str, number: int) -> None:
    """The operator raises what it does of arrays of their own."""
    oracle.check(lambda np, a, b: (a * b) + number, *operands(2, dtype))


# ---- what else holds an array


def test_elements_of_arrays_of_objects() -> None:
    """C code that goes over elements has the only reference to each, and reads it again."""

    def program(np: Any, a: Any, b: Any) -> Any:
        one, other = host.empty(1, object), host.empty(1, object)
        one[0], other[0] = a, b
        product = one * other + host.array([1.0, 2.0, 3.0])
        summed = one * other - host.array([[1.0], [2.0]])
        reflected = host.array([1.0, 2.0]) * (one + other)
        both = (one * other) + (one - other)[:, None].repeat(2, 0)
        return [*product, *summed[:, 0], *reflected, *both[:, 0]]

    oracle.check(program, *operands(2))


def test_what_c_code_holds() -> None:
    """NumPy 2.4 adds to the array that a `partial` has."""
    given = operands(2)
    a, b = (lf.asarray(array) for array in given)
    add_to_product = functools.partial(operator.add, a * b)
    sums = [add_to_product(b) + 1.0 for _ in range(3)]
    running = [*itertools.accumulate([a * b, b, b])]
    mapped = [*map(operator.sub, itertools.repeat(a * b, 2), [a, b])]
    product = given[0] * given[1]
    for each in sums:
        host.testing.assert_array_equal(each, product + given[1] + 1.0)
    host.testing.assert_array_equal(running[1], product + given[1])
    host.testing.assert_array_equal(running[2], product + given[1] + given[1])
    for number, each in enumerate(mapped):
        host.testing.assert_array_equal(each, product - given[number])
    host.testing.assert_array_equal(
        functools.reduce(operator.mul, [a * b, b, b]), product * given[1] * given[1]
    )


def test_others_that_ask_first() -> None:
    """An operand of another class has the array before we do."""
    kept: list[Any] = []

    class Other:
        """Keeps what it is added to."""

        def __radd__(self, other: Any) -> Any:
            kept.append(other)
            return other + 1.0

        __array_ufunc__ = None

    a, b = (lf.asarray(array) for array in operands(2))
    found = a * b + Other()
    host.testing.assert_array_equal(kept[0] + 1.0, found)
    host.testing.assert_array_equal(kept[0], host.asarray(a) * host.asarray(b))


def test_a_reader_that_is_pending() -> None:
    """What was recorded of an array before keeps the values of then."""

    def program(np: Any, a: Any, b: Any) -> Any:
        pending = []

        def read(array: Any) -> Any:
            pending.append(array[1:] - array[:-1])
            return array

        return read(a * b) + 1.0, pending

    arrays = operands(2)
    oracle.check(program, *arrays)
    for _ in range(20):  # until this is not new any more, and recorded
        oracle.check(program, *operands(2, shape=(500_000,)))


@pytest.mark.parametrize("share", (host.asarray, memoryview, host.from_dlpack, host.nditer))
def test_memory_that_is_lent(share: Callable[[Any], Any]) -> None:
    """What has an array's memory, and not the array, keeps its values."""
    kept: list[Any] = []

    def shared(array: Any) -> Any:
        kept.append(share(array))
        return array

    given = operands(2)
    a, b = (lf.asarray(array) for array in given)
    product = given[0] * given[1]
    found = shared(a * b) + 1.0, b + shared(a * b), shared(a * b) * (a - b), shared(a * b) ** 2
    for each in kept:
        values = each.operands[0] if share is host.nditer else each
        host.testing.assert_array_equal(host.asarray(values), product)
    expected = product + 1.0, given[1] + product, product * (given[0] - given[1]), product**2
    for one, other in zip(found, expected, strict=True):
        host.testing.assert_array_equal(one, other)


def test_conditions_are_told_once() -> None:
    with pytest.warns(RuntimeWarning, match="overflow encountered in multiply") as told:
        (big,) = (lf.asarray(array) for array in operands(1))
        found = (big + 1e200) * 1e200
    assert len(told) == 1
    assert told[0].filename == __file__
    assert host.isinf(host.asarray(found)).all()
    with pytest.raises(FloatingPointError), lf.errstate(over="raise"):
        _ = (big + 1e200) * 1e200


# ---- where operands are


class Placed:
    """Counts its sums of which the operands are found on the stack."""

    found = 0

    def __add__(self, other: Placed) -> Placed:
        words = operand_words(sys._getframe(1))
        Placed.found += [word & frames.ADDRESS for word in words] == [id(self), id(other)]
        return self


def sums_in_a_generator(one: Placed, other: Placed) -> Iterator[Placed]:
    sent = yield one + other
    for each in (one, other):
        sent = (yield one + each) + sent + (one + other)


async def sums_in_a_coroutine(one: Placed, other: Placed) -> Placed:
    async def inner() -> Placed:
        return one + other

    return one + (await inner()) + other


@pytest.mark.skipif(frames.first_variable() < 0, reason="frames of this Python are not known")
def test_operands_on_stacks_of_their_own() -> None:
    """Frames of generators and coroutines begin with what is sent to them."""
    one, other = Placed(), Placed()
    Placed.found = 0
    running = sums_in_a_generator(one, other)
    next(running)
    for _ in range(2):
        running.send(one)
    with pytest.raises(StopIteration):
        running.send(one)
    assert Placed.found == 1 + 2 * 4
    Placed.found = 0
    with pytest.raises(StopIteration):
        sums_in_a_coroutine(one, other).send(None)
    assert Placed.found == 3


def test_left_operands_of_code() -> None:
    """Each operator of new values has one; what changes its left operand has none."""

    def program(a: Any, b: Any) -> Any:
        a += b
        for each in b:
            a = a * each + (b if each else a[0]) * 2
        return a

    found = [left_of(program.__code__, at) for at in range(0, len(program.__code__.co_code), 2)]
    places = [place for place in found if place >= 0]
    variables = program.__code__.co_nlocals
    variables += sys.version_info >= (3, 15)  # loops have two words on the stack there
    assert sorted(places) == [variables + 1, variables + 1, variables + 2]
