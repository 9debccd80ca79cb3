"""Programs that differed from NumPy in review: each docstring tells the failure."""

from __future__ import annotations

import io
import os
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Sized
from functools import partial
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests import oracle

#: All arrays in the engine; those of ten elements small; the default.
SIZES = (0, 10, 65536)


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or the kind and words of what it raises."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - any exception is an answer here
        return type(error).__name__, str(error)


@pytest.mark.parametrize("eager_size", SIZES)
@pytest.mark.parametrize("sequence", ([7], (1, 2), "ab", b"ab", bytearray(b"x")))
def test_integers_repeat_sequences(sequence: Any, eager_size: int) -> None:
    """`[0] * x.max()` multiplied the elements, `"=" * n` raised TypeError."""

    def program(np: Any) -> list[Any]:
        x = np.arange(20)
        number = x[3:4].max()
        found = [sequence * number, number * sequence, sequence * x[:2].min()]
        found.extend(outcome(lambda k=k: sequence * x[:k].mean()) for k in (1, 3))
        return found

    with oracle.options(eager_size=eager_size):
        assert program(oracle.lf) == program(host)


@pytest.mark.parametrize("eager_size", SIZES)
@pytest.mark.parametrize("dtype", ("u1", "i8", "f8", "?"))
def test_bytes_of_arrays_and_scalars(dtype: str, eager_size: int) -> None:
    """`bytes(x)` iterated: rows raised TypeError, and integers gave one byte each."""

    def program(np: Any) -> list[bytes]:
        x = np.arange(12).astype(dtype).reshape(3, 4)
        values = (x, x.T, x[:, ::2], x[:0], x.max(), np.array(3, dtype), x[2, :1])
        return [bytes(value) for value in values]

    with oracle.options(eager_size=eager_size):
        assert program(oracle.lf) == program(host)


@pytest.mark.parametrize("eager_size", SIZES)
def test_scalars_have_no_length_and_no_elements(eager_size: int) -> None:
    """`hasattr(x.sum(), "__len__")` and `isinstance(x.sum(), Iterable)` were true."""

    def program(np: Any) -> list[Any]:
        value = np.arange(20.0).sum()
        kinds = [hasattr(value, "__len__"), isinstance(value, Iterable | Sized)]
        errors = [
            outcome(call)[0]
            for call in (
                lambda: len(value),
                lambda: list(value),
                lambda: 3 in value,
                lambda: len(np.array(3)),
                lambda: iter(np.array(3)),
            )
        ]
        return kinds + errors

    with oracle.options(eager_size=eager_size):
        assert program(oracle.lf) == program(host)


@pytest.mark.parametrize("eager_size", SIZES)
def test_what_is_loaded_is_lazy(eager_size: int) -> None:
    """With small arrays computed at once, `np.load` of an archive gave NumPy's arrays."""
    file = io.BytesIO()
    host.savez(file, a=host.arange(100_000.0), b=host.arange(3))
    file.seek(0)
    with oracle.options(eager_size=eager_size), oracle.lf.load(file) as archive:
        assert sorted(archive.files) == ["a", "b"]
        assert isinstance(archive["b"], oracle.LAZY or host.ndarray)
        assert isinstance(archive["a"] * 2, oracle.LAZY or host.ndarray)
        assert float((archive["a"] * 2).sum()) == 9999900000.0


@pytest.mark.parametrize("eager_size", SIZES)
def test_memory_that_is_read_only_stays_so(tmp_path: Path, eager_size: int) -> None:
    """Arrays over files mapped for reading and over bytes could be written."""
    host.save(tmp_path / "x.npy", host.arange(100.0))

    def program(np: Any) -> list[Any]:
        found: list[Any] = []
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        for x in (mapped, np.frombuffer(bytes(range(8)), "u1")):
            errors = [
                outcome(call)
                for call in (lambda x=x: x.__setitem__(0, 1), lambda x=x: x[1:].fill(2))
            ]
            found += [bool(x.flags.writeable), errors, x.tolist()]
        found.append(np.frombuffer(bytearray(8), "u1").flags.writeable)
        return found

    with oracle.options(eager_size=eager_size):
        assert program(oracle.lf) == program(host)


@pytest.mark.parametrize("eager_size", SIZES)
@pytest.mark.parametrize("shape", ((7, -1), (-1, 7), (2, -1, 7), (7,), (-1, 0), 7))
def test_the_words_of_shapes_that_do_not_fit(shape: Any, eager_size: int) -> None:
    """`reshape(7, -1)` spoke of (7,-1) where NumPy says newaxis; `broadcast_to` spelled shapes
    with spaces."""

    def program(np: Any) -> list[Any]:
        x = np.arange(20)
        return [
            outcome(lambda: x.reshape(shape)),
            outcome(lambda: np.broadcast_to(x.reshape(4, 5), (3, 3))),
        ]

    with oracle.options(eager_size=eager_size):
        assert program(oracle.lf) == program(host)


@pytest.mark.parametrize("eager_size", SIZES)
@pytest.mark.parametrize("rows", (4, 20_000))
def test_an_integer_that_was_computed_makes_a_view(rows: int, eager_size: int) -> None:
    """`row = x[x[:, 0].argmax()]` was a copy: what was written to it was lost."""

    def program(np: Any) -> list[Any]:
        x = np.arange(rows * 6.0).reshape(rows, 6)
        most, least = np.arange(100_000)[::-1].argmax(), np.arange(rows).min() + 1
        x[most][1] = -1
        row, part = x[least], x[most, 2:4]
        row += 100
        part[:] = 7
        block = x[most : least + 1]
        block[:, 5] = 0
        shared = [np.shares_memory(view, x) for view in (row, part, block, x[..., least, None])]
        return [shared, x[:3].tolist(), x[[least]].tolist(), float(x[least, most]), x[most].sum()]

    with oracle.options(eager_size=eager_size):
        assert program(oracle.lf) == program(host)


@pytest.mark.parametrize("eager_size", SIZES)
@pytest.mark.parametrize("dtype", ("b1", "i1", "u1", "u4", "i8", "u8"))
def test_the_words_of_integers_that_c_does_not_hold(dtype: str, eager_size: int) -> None:
    """`x + 2**64` spoke of the dtype's bounds; `where(c, x, 2**64)` gave zeros."""

    def program(np: Any) -> list[Any]:
        x = np.arange(20).astype(dtype)
        numbers = (300, -1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1)
        found = [outcome(lambda n=n: (x + n).tolist()) for n in numbers]
        return found + [outcome(lambda n=n: np.where(x > 1, x, n).tolist()) for n in numbers]

    with oracle.options(eager_size=eager_size), host.errstate(all="ignore"):
        assert program(oracle.lf) == program(host)


def replayed(function: Callable[..., Any]) -> Any:
    """A function under `fuse`, called until calls with these arguments are replayed."""
    fused = oracle.lf.fuse(function)

    def call(*args: Any) -> Any:
        for _ in range(3):
            fused(*args)
        return fused(*args)

    return call


@pytest.mark.engine
@pytest.mark.parametrize(
    "ask",
    (
        lambda x: float(x[1]),
        lambda x: x.item(1),
        lambda x: host.asarray(x)[1],
        lambda x: x.tolist()[1],
        lambda x: oracle.lf.random.random(),
    ),
)
def test_fused_functions_that_ask_are_called(ask: Callable[[Any], Any]) -> None:
    """Values asked of arguments that were computed already, and random scalars, were kept."""
    with oracle.options(eager_size=0):
        call = replayed(lambda x: x * ask(x))
        x, y = (oracle.lf.arange(5000.0) + number for number in (0, 1))
        host.asarray(x), host.asarray(y)
        call(x)
        first, second = call(y), call(y)
        if ask(y) == ask(y):
            assert float(first[2]) == 3.0 * ask(y)
        else:
            assert float(first[2]) != float(second[2])


RATE, TABLE = host.int32(2), {"rate": 2.0}


class Model:
    """An object whose attribute a fused method reads."""

    def __init__(self) -> None:
        self.rate = 2.0

    def step(self, x: Any) -> Any:
        return x * self.rate


@pytest.mark.engine
def test_fused_functions_see_what_they_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers defined after the function, of NumPy's other types, in comprehensions, in dicts, in
    small arrays and in attributes were those of the recording."""
    names: dict[str, Any] = {}
    exec("def late(x): return x * LATE\nLATE = 2.0", names)  # noqa: S102 - ours
    weights = oracle.lf.asarray([2.0, 0.0])
    with oracle.options(eager_size=0):
        x = oracle.lf.arange(5000.0)
        model = Model()
        step = replayed(Model.step)
        calls = [
            replayed(names["late"]),
            replayed(lambda x: x * RATE),
            replayed(lambda x: [x * TABLE["rate"] for _ in range(1)][0]),
            replayed(lambda x: x * weights[0]),
            lambda x: step(model, x),
        ]
        assert [float(call(x)[1]) for call in calls] == [2.0] * 5
        names["LATE"] = model.rate = weights[0] = 3.0
        monkeypatch.setitem(globals(), "RATE", host.int32(3))
        monkeypatch.setitem(TABLE, "rate", 3.0)
        assert [float(call(x)[1]) for call in calls] == [3.0] * 5


@pytest.mark.engine
def test_fused_functions_tell_numbers_apart() -> None:
    """Equal numbers of other types inside tuples, and signs of zeros, were one signature."""
    with oracle.options(eager_size=0):
        x = oracle.lf.arange(5000)
        scale = oracle.lf.fuse(lambda x, pair: x * pair[0])
        sign = oracle.lf.fuse(lambda x, zero: host.copysign(x, zero))
        for number in (1, 1.0, True):
            assert [scale(x, (number,)).dtype for _ in range(4)] == [(x * number).dtype] * 4
        for zero in (host.float16(0), host.float16(-0.0)):
            signs = [bool(host.signbit(host.asarray(sign(x, zero))[1])) for _ in range(4)]
            assert signs == [bool(host.signbit(zero))] * 4


@pytest.mark.engine
def test_fused_plans_of_several_steps_take_numpys_arrays() -> None:
    """A replay with two kernels, or a library call, on NumPy's memory was an AssertionError."""
    x = host.arange(60_000.0)
    fused = oracle.lf.fuse(lambda x: (host.cumsum(x[::-1]) * 2, x @ x, host.sort(x)[:9] + 1))
    x = oracle.lf.asarray(x)
    for given in (x, host.asarray(x).copy()):
        for _ in range(4):
            total, product, least = fused(oracle.lf.asarray(given) if given is x else given)
            assert float(host.asarray(total)[-1]) == 2 * float(host.asarray(given).sum())
            assert float(product) == float(host.asarray(given) @ host.asarray(given))
            assert host.asarray(least).tolist() == list(range(1, 10))


@pytest.mark.engine
def test_equal_small_results_of_a_replay_are_two_arrays() -> None:
    """Two small results that are one expression were one memory."""
    x = oracle.lf.arange(400_000.0)
    fused = oracle.lf.fuse(
        lambda x: (x.reshape(-1, 10).sum(axis=0) + 1, x.reshape(-1, 10).sum(axis=0) + 1)
    )
    for _ in range(4):
        first, second = fused(x)
        before = float(second[0])
        first += 1
        assert float(second[0]) == before
    assert fused.replays


@pytest.mark.engine
def test_fused_functions_that_cannot_be_replayed_keep_nothing() -> None:
    """The reason why held the frames of the recording, and with them copies of arguments."""
    fused = oracle.lf.fuse(lambda x: x[1:])
    with oracle.options(eager_size=0):
        x = oracle.lf.arange(5000.0) + 1
        for _ in range(3):
            fused(x)
    kept = fused._known.values()
    assert fused.reason and not any(isinstance(value, BaseException) for value in kept)


@pytest.mark.cpu("floating point flags")
@pytest.mark.engine
def test_conditions_under_an_errstate_inside_a_fused_function_are_told() -> None:
    """A replay asked the caller's errstate alone."""

    def function(x: Any) -> Any:
        with host.errstate(all="warn"):
            return x / 0

    fused = oracle.lf.fuse(function)
    with oracle.options(eager_size=0), host.errstate(all="ignore"):
        x = oracle.lf.arange(5000.0) + 1
        for _ in range(5):
            with pytest.warns(RuntimeWarning, match="divide by zero"):
                host.asarray(fused(x))


@pytest.mark.engine
def test_operators_of_small_arrays_outlive_a_compiler_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The operator that asked for machine code raised what the compiler did."""
    from lazyfuse.frontend import native_methods
    from lazyfuse.runtime import session

    def broken(kind: type, *, compiles: bool) -> bool:
        raise RuntimeError("no code")

    monkeypatch.setattr(native_methods, "make_native", broken)
    monkeypatch.setattr(native_methods, "_failures", [])
    monkeypatch.setattr(native_methods, "_steps", set())
    monkeypatch.setattr(session, "uses", [native_methods._VERY_HOT])
    for _ in range(2):
        native_methods.make_native_if_worth(oracle.lf.LazyArray)
    assert len(native_methods._failures) == 1


@pytest.mark.cpu("floating point flags")
@pytest.mark.engine
def test_numpys_ufuncs_on_small_arrays_warn_at_the_users_line() -> None:
    """Once operators were machine code, `np.add(x, 1e308)` warned inside the package."""
    from lazyfuse.frontend import native_methods

    assert native_methods.make_native(oracle.lf.LazyArray) in (True, False)
    x = oracle.lf.asarray([1e308])
    for call in (lambda: host.add(x, 1e308), lambda: host.float64(1e308) + x, lambda: x + x):
        with pytest.warns(RuntimeWarning, match="overflow") as told:
            call()
        assert [item.filename for item in told] == [__file__]


@pytest.mark.engine
def test_fused_functions_draw_random_numbers_once() -> None:
    """The recording drew numbers, too, so a seeded program got others; scalars were kept."""
    fused = oracle.lf.fuse(lambda x: x * host.random.random() + oracle.lf.random.rand(5000))
    found = []
    with oracle.options(eager_size=0):
        for function in (fused, fused.__wrapped__):
            host.random.seed(1)
            x = oracle.lf.arange(5000.0)
            found.append([host.asarray(function(x))[:3].tolist() for _ in range(4)])
    assert found[0] == found[1] and "random" in fused.reason


class Held:
    """An attribute in a slot, beside a dict."""

    __slots__ = ("__dict__", "rate")

    def __init__(self) -> None:
        self.rate = 2.0

    def scaled(self, x: Any) -> Any:
        return x * self.rate

    __call__ = scaled


RATES = {"first": 2.0, "second": 3.0}
HELD: dict[str, Callable[[Held, dict[str, float]], Callable[[Any], Any]]] = {
    "a method's object": lambda one, _: one.scaled,
    "an object that is called": lambda one, _: one,
    "a default": lambda _, rates: lambda x, given=rates: x * given["first"],
    "a partial": lambda _, rates: partial(lambda x, given: x * given["first"], given=rates),
    "a slot": lambda one, _: lambda x: one.scaled(x),
    "an order": lambda _, rates: lambda x: x - next(iter(rates.values())),
}


@pytest.mark.engine
@pytest.mark.parametrize("name", HELD)
def test_fused_functions_see_what_they_hold_change(name: str) -> None:
    """What a function had besides globals and a closure was looked at never, and slots neither."""
    one, rates = Held(), dict(RATES)
    function = HELD[name](one, rates)
    fused, x = oracle.lf.fuse(function), host.arange(5000.0)
    for _ in range(20):
        host.testing.assert_array_equal(fused(x), function(x))
    assert fused.replays
    one.rate = rates["first"] = 7.0
    rates["first"] = rates.pop("first")  # which comes last now
    host.testing.assert_array_equal(fused(x), function(x))


@pytest.mark.engine
@pytest.mark.parametrize(
    "values",
    [
        (host.longdouble(0), host.longdouble(-0.0)),
        (host.clongdouble(0), host.clongdouble(complex(0, -0.0))),
        (host.timedelta64(1, "s"), host.timedelta64(1000, "ms")),
    ],
)
def test_fused_functions_tell_equal_scalars_apart(values: Any) -> None:
    """The sign of a long zero, and the unit of a time, were no part of a signature."""
    fused, x = oracle.lf.fuse(lambda x, value: x * len(repr(value))), host.ones(50000)
    for _ in range(4):
        for value in values:
            host.testing.assert_array_equal(fused(x, value), x * len(repr(value)))


class Incomparable:
    """Its comparison has no truth."""

    def __eq__(self, other: object) -> Any:
        return host.array([True, False])

    def __hash__(self) -> int:
        return 1


@pytest.mark.engine
def test_fused_functions_take_arguments_that_cannot_be_compared() -> None:
    """Machine code raised what the comparison with the argument of the recording did."""
    fused, x = oracle.lf.fuse(lambda x, one: x + 1), host.arange(50000.0)
    for one in [*[Incomparable()] * 4, Incomparable()]:
        host.testing.assert_array_equal(fused(x, one), x + 1)


def test_powers_that_no_float_holds_raise_what_numpy_raises() -> None:
    """Small arrays raised struct.error."""
    for x in (host.arange(900.0), oracle.lf.asarray(host.arange(900.0))):
        assert outcome(lambda x=x: x ** (10**400))[0] == "OverflowError"


@pytest.mark.parametrize("eager_size", SIZES)
def test_views_of_too_many_axes_and_too_large_steps(eager_size: int) -> None:
    """The one was a view that could not be read, so was the other."""
    for key in ((None,) * 70, (None,) * 62, slice(None, None, 2**70), slice(None, None, -(2**62))):
        wanted = outcome(lambda key=key: host.ones((5, 6))[key].sum())
        with oracle.options(eager_size=eager_size):
            x = oracle.lf.ones((5, 6))
            found = outcome(lambda key=key, x=x: x[key].sum().item())
        assert found == wanted


@pytest.mark.engine
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_waits_until_nobody_runs() -> None:
    """The child of a process in which another thread ran waited for that thread for ever."""
    from lazyfuse.runtime import session

    is_taken, taken = threading.Event(), session.flush_lock

    def run() -> None:
        with taken:
            is_taken.set()
            time.sleep(0.1)

    other = threading.Thread(target=run)
    other.start()
    is_taken.wait()
    child = os.fork()
    if not child:
        os._exit(0 if taken.acquire(timeout=5) else 1)
    assert os.waitpid(child, 0)[1] == 0
    other.join()


@pytest.mark.engine
def test_tanh_of_large_halves_does_not_overflow() -> None:
    """An exponential inside did, and that was said of `tanh` where its operand was gone."""
    x = host.array([20.0, 100.0, 65504.0, -65504.0, host.inf, host.nan] * 20, "f2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = host.tanh(x)
        warnings.simplefilter("default")
        with warnings.catch_warnings(record=True) as heard:
            result = host.asarray(oracle.lf.tanh(oracle.lf.array(x)))
    assert not heard and host.array_equal(result, expected, equal_nan=True)


@pytest.mark.cpu("NaNs with a payload")
def test_heaviside_of_nan_is_the_nan() -> None:
    """NumPy gives its own; the sign and the payload of the operand's were kept."""
    for dtype, bits in (("f2", "u2"), ("f4", "u4"), ("f8", "u8")):
        given = host.full(100, host.nan, dtype)
        given.view(bits)[::2] |= 0x55

        def program(module: Any, x: Any, bits: str = bits) -> Any:
            return module.heaviside(x, 2.0).view(bits), module.heaviside(x * 0, x).view(bits)[:0]

        oracle.check(program, given)


def test_outputs_of_numpys_by_position_are_given_back() -> None:
    """They came back as copies, of functions and methods."""
    lf = oracle.lf
    x, out = lf.asarray(host.arange(3.0)), host.zeros(3)
    for call in (
        lambda: lf.cumsum(x, 0, None, out), lambda: lf.round(x, 0, out), lambda: x.clip(0, 1, out),
    ):  # fmt: skip
        assert call() is out


@pytest.mark.parametrize("limit", (0, 100))
def test_what_reductions_and_round_refuse(limit: int) -> None:
    """Truth values as axes, other things as truth values, and floats as decimals were taken."""
    lf = oracle.lf
    with lf.options(eager_size=limit):
        x = lf.asarray(host.arange(6.0).reshape(2, 3))
        refused: list[Callable[[], Any]] = [
            lambda: x.sum(axis=True), lambda: x.max(axis=(True,)), lambda: x.sum(keepdims=None),
            lambda: x.mean(keepdims="a"), lambda: x.round(2.0), lambda: x.round(None),
        ]  # fmt: skip
        for call in refused:
            with pytest.raises(TypeError):
                call()
        assert x.astype("f2").round(host.int64(1)).dtype == host.float16


@pytest.mark.parametrize("limit", (0, 100))
def test_dates_are_unequal_to_numbers(limit: int) -> None:
    """`x == dates` raised; so did other dtypes that have no common loop."""

    def program(np: Any, x: Any) -> Any:
        dates = host.array(["2020-01-01"] * 3, "M8[s]")
        return x == dates, x != dates, dates == x

    with oracle.lf.options(eager_size=limit):
        oracle.check(program, host.arange(3.0))


class Keeps:
    """Gives NumPy an array that it keeps."""

    def __init__(self, array: host.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> host.ndarray:
        return self.array

    def repeat(self, *_: Any) -> host.ndarray:
        return self.array


class Passes:
    """Passes on what it is asked for."""

    def __init__(self, keeper: Keeps) -> None:
        vars(self)["keeper"] = keeper

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["keeper"], name)


@pytest.mark.parametrize("by", ("itself", "another"))
@pytest.mark.parametrize("size", (5, 100_000))
@pytest.mark.parametrize(
    "name",
    ("array", "nan_to_num", "asarray", "ravel", "repeat", "fromfunction", "apply_along_axis"),
)
def test_arrays_that_others_keep_are_not_taken_over(name: str, size: int, by: str) -> None:
    """What was computed from them was written into their memory."""
    kept = host.arange(float(size))
    giver = Passes(Keeps(kept)) if by == "another" else Keeps(kept)
    calls: dict[str, Callable[[], Any]] = {
        "array": lambda: oracle.lf.array(giver, copy=None),
        "nan_to_num": lambda: oracle.lf.nan_to_num(giver),
        "asarray": lambda: oracle.lf.asarray(giver),
        "ravel": lambda: oracle.lf.ravel(giver),
        "repeat": lambda: oracle.lf.repeat(giver, 1),
        "fromfunction": lambda: oracle.lf.fromfunction(lambda _: kept, (size,)),
        "apply_along_axis": lambda: oracle.lf.apply_along_axis(lambda _: kept, 0, [1.0, 2.0]),
    }
    for _ in range(3):
        result = host.asarray(calls[name]() * 3.0 + 1.0)
        assert host.array_equal(result, host.arange(float(size)) * 3.0 + 1.0)
    assert host.array_equal(kept, host.arange(float(size)))


@pytest.mark.parametrize("eager_size", SIZES)
@pytest.mark.parametrize("index", (host.array(3), host.array(1, "u1"), host.int8(2)))
def test_arrays_of_one_index_on_parts_of_complex_numbers(index: Any, eager_size: int) -> None:
    """`z.real[numpy.array(3)]` counted in halves of complex numbers."""

    def program(np: Any, z: Any, big: Any) -> Any:
        before = big.copy()
        big.real[index] = -7.0
        big.view("f8")[2:][index] = 5.0
        parts = [z.real, z.imag[1:], z.real.T, z.view("f8")[:, 1::2]]
        found = [part[index] for part in parts] + [np.take(part, 2, axis=1) for part in parts]
        return *found, big[:9], before[:9], big.imag[index], big.real[::2][index]

    z = host.arange(25.0).reshape(5, 5) * (1 - 2j)
    with oracle.lf.options(eager_size=eager_size):
        oracle.check(program, z, host.arange(40_000) * (1 + 0j))


@pytest.mark.parametrize("eager_size", (0, 65536))
def test_indexes_out_of_bounds_take_no_memory(eager_size: int) -> None:
    """NumPy makes room for all that a key picks before it looks at the bounds."""
    count = 70_000
    place = host.arange(count)

    def reads(np: Any, x: Any) -> Any:
        return (x * 2.0)[place]

    def writes(np: Any, x: Any) -> Any:
        before = x.copy()
        x[place] = 2.5
        return before

    with oracle.lf.options(eager_size=eager_size):
        lazy = oracle.lf.array(host.ones((1, count)))
        tracemalloc.start()
        try:
            for program in (reads, writes):
                with pytest.raises(IndexError, match="index 1 is out of bounds"):
                    program(oracle.lf, lazy)
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
        finally:
            tracemalloc.stop()


def test_warnings_of_writes_that_are_refused_are_at_the_users_line() -> None:
    """One was at a line of the package."""
    lf = oracle.lf
    x = lf.array(host.arange(40_000.0))
    before = x.copy()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(IndexError):
            x[host.array([5, 40_000])] = host.complex128(1 + 1j)
    assert {warning.filename for warning in heard} <= {__file__}
    del before
