"""Integers and casts on small arrays that are put off: NumPy's dtypes, values, warnings and
errors."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as np
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.backends.cpu.defer import CASTS  # noqa: E402 - when there is an engine
from lazyfuse.frontend import deferred  # noqa: E402 - likewise
from tests.deferring import deferring, is_deferred, replays  # noqa: E402 - likewise

pytestmark = pytest.mark.cpu("small arrays that are put off")

N = 60
INTEGERS = ("u1", "i1", "u2", "i2", "u4", "i4", "i8")


@pytest.fixture(autouse=True)
def putting_off() -> Iterator[None]:
    with np.options(eager_size=1000), deferring():
        deferred.allow()
        deferred.look_around()
        yield


def operand(dtype: str, start: int = 3) -> Any:
    """Numbers of either sign, where there are some, and the ends of the range."""
    info = host.iinfo(dtype)
    found = ((host.arange(N) * 37 + start) % 251 - (100 if info.min else 0)).astype(dtype)
    found[0], found[-1] = info.min, info.max
    return np.asarray(found)


def floats(dtype: str = "f8") -> Any:
    return np.asarray(host.linspace(-3.0, 120.0, N).astype(dtype))


def check(program: Callable[..., Any], *operands: Any, deferred: bool = True) -> Any:
    """The last of some results, each put off and as it is at once."""
    with np.options(defer=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = program(*operands)
    for _ in range(4):
        found = program(*operands)
        assert is_deferred(found) == deferred
        assert (found.dtype, found.shape) == (plain.dtype, plain.shape)
        host.testing.assert_array_equal(host.array(found), host.array(plain))
    return found


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "sums": lambda a, b: a + b - 3,
    "products": lambda a, b: (a * b + 100) * a,
    "quotients": lambda a, b: (a // 7 + b % 5) // 3,
    "true quotients": lambda a, b: a / 3 + b / 2,
    "bits": lambda a, b: (a & b) | (a ^ 15) ^ ~b,
    "signs": lambda a, b: -np.abs(a) + np.sign(b),
    "extremes": lambda a, b: np.maximum(a, 100) - np.minimum(a, b) + np.clip(b, 3, 90),
    "comparisons": lambda a, b: (a > b) & (a < 100) | (b == 3),
    "choices": lambda a, b: np.where(a > b, a, 7) + np.where(b > 50, b, a),
    "squares": lambda a, b: np.square(a) + b,
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name: str, dtype: str) -> None:
    before = replays()
    check(ARITHMETIC[name], operand(dtype), operand(dtype, 11))
    assert replays() > before


@pytest.mark.parametrize("left", INTEGERS)
@pytest.mark.parametrize("right", INTEGERS)
def test_dtypes_of_both(left: str, right: str) -> None:
    """NumPy's promotion."""
    check(lambda a, b: (a + b) * a - b // 3, operand(left), operand(right, 8))
    check(lambda a, b: (a & b) + (a < b).astype("u1"), operand(left), operand(right, 8))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_beside_floats(dtype: str) -> None:
    for program in (
        lambda a, b: a * 0.5 + b,
        lambda a, b: (a / 255.0 - b) * a,
        lambda a, b: np.where(b > 1.0, a, 0.5) + np.maximum(a, b) ** 2,
        lambda a, b: (a > b) | (a * 1.0 >= 0.5),
        lambda a, b: (a * host.float64(0.25) + b) - a,
    ):
        check(program, operand(dtype), floats())
    singles = floats("f4")
    is_byte = dtype in ("u1", "i1")
    check(lambda a, b: a * b, operand(dtype), singles, deferred=is_byte)


@pytest.mark.parametrize("dtype", (*INTEGERS, "f8", "f4", "?"))
@pytest.mark.parametrize("to", CASTS.values())
def test_casts(dtype: str, to: str) -> None:
    """By name, as a dtype and as NumPy's type."""
    x = floats(dtype) if dtype[0] == "f" else np.asarray(host.array(operand("i2")).astype(dtype))
    for name in (to, host.dtype(to), host.dtype(to).type, host.dtype(to).str[1:]):
        check(lambda x, name=name: x.astype(name), x)
        check(lambda x, name=name: (x + x).astype(name), x)


def test_casts_that_are_not_put_off() -> None:
    """Other dtypes, other arguments, and what is none raise or are computed at the call."""
    x = operand("u1")
    for target in (complex, "f2", host.uint64):
        assert not is_deferred(x.astype(target))
    for target in (">f8", object):
        assert type(x.astype(target)) is host.ndarray
    assert not is_deferred(x.astype("f8", copy=False))
    assert not is_deferred(x.astype("f8", "C"))
    with pytest.raises(TypeError):
        x.astype([1])
    with pytest.raises(TypeError):
        x.astype("nothing")
    with pytest.raises(TypeError):
        x.astype(3)


@pytest.mark.parametrize(
    ("dtype", "number"),
    [("u1", 256), ("u1", -1), ("i1", 128), ("u2", 70_000), ("i2", -40_000), ("u4", -5)],
)
def test_numbers_that_do_not_fit_raise_at_the_call(dtype: str, number: int) -> None:
    x = operand(dtype)
    for operation in (
        lambda: x + number,
        lambda: number - x,
        lambda: x // number,
        lambda: np.maximum(x, number),
    ):
        with pytest.raises(OverflowError):
            operation()
    host.testing.assert_array_equal(host.array(x < number), host.array(x) < number)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_in_place(dtype: str) -> None:
    """The dtype of what is written stays, whatever is added."""
    for other in (operand("u1", 5), operand(dtype, 5), 3):
        found, wanted = operand(dtype) * 1, host.array(operand(dtype))
        given = host.array(other) if isinstance(other, np.ndarray) else other
        for _ in range(3):
            try:
                wanted += given
            except TypeError as error:
                with pytest.raises(TypeError, match="same_kind"):
                    found += other
                assert "same_kind" in str(error)
                break
            found += other
        assert found.dtype == wanted.dtype
        host.testing.assert_array_equal(host.array(found), wanted)
    with pytest.raises(TypeError):
        found += 0.5


@pytest.mark.parametrize("dtype", ("f8", "f4", *INTEGERS))
def test_masks_as_numbers(dtype: str) -> None:
    x = floats(dtype) if dtype[0] == "f" else operand(dtype)
    for program in (
        lambda x: x * (x > 5),
        lambda x: (x > 5) * x + (x < 3),
        lambda x: (x > 5) / x,
        lambda x: (1 - (x > 5)) * 2,
        lambda x: (x > 5) * 0.5 + (x > 50) / 3,
        lambda x: np.maximum(x > 5, 3) // ((x > 7) + 2),
        lambda x: ((x > 5) == (x < 60)) | ((x > 3) < 1),
    ):
        check(program, x)
    masks = x > 5, x < 60
    for operation in (lambda a, b: a - b, lambda a, b: -a):
        with pytest.raises(TypeError):
            operation(*masks)
    for operation in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a**2):
        wanted = operation(*(host.array(mask) for mask in masks))
        found = operation(*masks)
        assert found.dtype == wanted.dtype
        host.testing.assert_array_equal(host.array(found), wanted)


@pytest.mark.parametrize(("dtype", "number"), [("f4", 2.5), ("u1", 3), ("f4", 3)])
def test_clip_of_a_number(dtype: str, number: float) -> None:
    """A number that is clipped is an array of NumPy's default dtype: what is written stays f4."""
    x = floats(dtype) if dtype[0] == "f" else operand(dtype)
    singles = floats("f4")
    for _ in range(4):
        found, wanted = singles * 1, host.array(singles)
        found += np.clip(number, 2, x)
        wanted += host.clip(number, 2, host.array(x))
        assert found.dtype == wanted.dtype
        host.testing.assert_array_equal(host.array(found), wanted)
        assert np.clip(number, 2, x).dtype == host.clip(number, 2, host.array(x)).dtype


def test_counts() -> None:
    """What is true is counted as int64, along an axis and in all."""
    x = floats().reshape(12, 5) * 1.0
    check(lambda x: (x > 1.0).sum(axis=0) * 2, x)
    check(lambda x: (x > 1.0).mean(axis=1) + 0.5, x)
    check(lambda x: (x.astype("i4") * 3).mean(axis=0), x)
    check(lambda x: (x.astype("i4") * 3).max(axis=1) - 1, x)
    for _ in range(4):
        count, mean = ((x > 1.0) & (x < 50.0)).sum(), (x > 1.0).mean()
        assert (
            type(count) is host.int64
            and count == ((host.array(x) > 1) & (host.array(x) < 50)).sum()
        )
        assert type(mean) is host.float64 and mean == (host.array(x) > 1).mean()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sums(dtype: str) -> None:
    """Along an axis and in all: int64, or uint64, which becomes float64 beside int64."""
    x = np.asarray(host.array(operand(dtype)).reshape(12, 5))
    check(lambda x: (x * 3).sum(axis=0), x)
    check(lambda x: np.sum(x * 3, axis=1, keepdims=True).astype("f8") * 0.5, x)
    signed = np.asarray(host.arange(5))
    for program in (
        lambda x: (x * 3).sum(axis=0) + signed,
        lambda x: (x * 3).sum(axis=0) / 2,
        lambda x: (x * 3).sum(axis=0) * np.asarray(host.ones(5, "f4")),
        lambda x: -(x * 3).sum(axis=0),
    ):
        with np.options(defer=False):
            wanted = program(x)
        found = program(x)
        assert found.dtype == wanted.dtype
        host.testing.assert_array_equal(host.array(found), host.array(wanted))
    for _ in range(4):
        total, wanted = (x * 3).sum(), (host.array(x) * 3).sum()
        assert type(total) is type(wanted) and total == wanted


def test_views_of_integers() -> None:
    photo = np.asarray(host.arange(300).astype("u1").reshape(10, 10, 3))

    def program(x: Any) -> Any:
        grey = x[:, :, 0].astype("f4") * 0.3 + x[:, :, 1] * 0.6 + x[:, :, 2] * 0.1
        return np.clip(grey + 0.5, 0.0, 255.0).astype(np.uint8)

    check(program, photo)


def test_conditions() -> None:
    """Told of the operation's own line: a division by zero, and casts of what does not fit."""
    x, y = operand("i4"), np.asarray(host.array(floats()) * 1e30)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        deferred.look_around()
        quotient = x // (x - x)
        cast = y.astype("i4") + 1
        assert is_deferred(quotient)
        assert is_deferred(cast)
        host.array(quotient), host.array(cast)
    lines = [each.lineno - test_conditions.__code__.co_firstlineno for each in told]
    messages = [str(each.message) for each in told]
    assert lines == [6, 7], (lines, messages)
    assert "divide by zero" in messages[0] and "invalid value" in messages[1]
    with host.errstate(all="raise"), pytest.raises(FloatingPointError):
        x // (x - x)


OPERATIONS: tuple[Callable[..., Any], ...] = (
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a // b,
    lambda a, b: a % b, lambda a, b: a / b, lambda a, b: a & b, lambda a, b: a | b,
    lambda a, b: a ^ b, lambda a, b: a < b, lambda a, b: a == b, np.maximum, np.fmin,
    lambda a, b: np.where(a > b, a, b), lambda a, b: a + 100, lambda a, b: 200 - a,
    lambda a, b: a * 0.5, lambda a, b: a / 3, lambda a, b: a < 300, lambda a, b: ~a,
    lambda a, b: -a, lambda a, b: np.abs(a), lambda a, b: a.astype("u1"),
    lambda a, b: a.astype(host.float32), lambda a, b: a.astype(int), lambda a, b: a.astype(bool),
    lambda a, b: np.clip(a, 2, 120), lambda a, b: np.square(a), lambda a, b: a[::2].repeat(2),
    lambda a, b: np.sqrt(a), lambda a, b: a * b.mean(), lambda a, b: a**2,
    lambda a, b: (a > 3) * b, lambda a, b: 1 - (a > b), lambda a, b: (a > 3) + 0.5,
    lambda a, b: (a < b) / 2, lambda a, b: (a < b).sum() + a, lambda a, b: (a > 5) - (b > 5),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int) -> None:
    """As operation by operation: the same dtypes, bits and types of errors."""
    draw = random.Random(seed)
    steps = [
        (draw.choice(OPERATIONS), draw.randrange(100), draw.randrange(100)) for _ in range(14)
    ]
    dtypes = [draw.choice((*INTEGERS, "f8", "f4", "?")) for _ in range(3)]
    given = [
        floats(d) if d[0] == "f" else operand("i2", n).astype(d) for n, d in enumerate(dtypes)
    ]
    with warnings.catch_warnings(), host.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with np.options(defer=False):
            wanted = run(steps, given)
        for _ in range(4):
            found = run(steps, given)
            for one, other in zip(found, wanted, strict=True):
                if isinstance(other, type):
                    assert one is other
                    continue
                assert one.dtype == other.dtype
                host.testing.assert_array_equal(host.array(one), host.array(other))


def run(steps: Any, given: list[Any]) -> list[Any]:
    """What each step gives of two of the values before, or the type of its error."""
    values, results = list(given), []
    for function, left, right in steps:
        try:
            made = function(values[left % len(values)], values[right % len(values)])
        except (TypeError, OverflowError, ValueError) as error:
            results.append(type(error))
        else:
            values.append(made)
            results.append(made)
    return results
