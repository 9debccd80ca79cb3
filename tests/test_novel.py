"""What a function has not often done yet is computed at once, on arrays of the engine that are at
hand and not small: all is as it is with small arrays, and with NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

from lazyfuse.frontend import novel  # noqa: E402 - when there is an engine
from lazyfuse.ops.rules import (  # noqa: E402 - likewise
    ASKED_SOON,
    ASKED_TIMES,
    ENOUGH,
    NOVEL_BITS,
    NOVEL_WORDS,
)
from lazyfuse.runtime import met  # noqa: E402 - likewise
from lazyfuse.runtime.trace import trace  # noqa: E402 - likewise
from tests.test_namespace import test_calls  # noqa: E402, F401 - again, on such arrays
from tests.test_namespace_aliasing import (  # noqa: E402
    test_aliasing,  # noqa: F401 - likewise
    test_in_place,  # noqa: F401 - likewise
)
from tests.test_native import test_fault, test_program  # noqa: E402, F401 - likewise
from tests.test_windows import in_the_engine  # noqa: E402

pytestmark = pytest.mark.cpu("what is computed at once")

SMALL, COLD, SIZE = 3, 100_000, 5_000


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inputs are parts of computed memory of the engine; hardly an array is small."""
    monkeypatch.setattr(oracle, "to_lazy", in_the_engine)
    novel.forget()  # code that is gone may have been where that of a test is
    with lf.options(eager_size=SMALL, cold_size=COLD):
        yield


def made(values: Any) -> Any:
    """An array of the engine, computed."""
    array = lf.array(values)
    lf.materialize(array)
    assert array._host is None
    return array


def is_at_hand(value: Any) -> bool:
    """Whether nothing is pending, also in tuples; the array is no small one."""
    if isinstance(value, tuple | list):
        return all(map(is_at_hand, value))
    if type(value) is not lf.LazyArray:
        return not isinstance(value, lf.LazyScalar)
    return value._host is None and value._storage.node.buffer is not None


_VALUES = host.random.default_rng(0).uniform(0.5, 2.0, (50, 100))
VALUES: dict[str, Any] = {
    "x": _VALUES, "y": _VALUES[::-1].copy(),
    "row": _VALUES[:1].copy(), "column": _VALUES[:, :1].copy(),
    "single": _VALUES.astype("f4"), "z": _VALUES * (1 + 2j), "mask": _VALUES > 1.0,
    "i": host.arange(5_000).reshape(50, 100),
    "line": _VALUES.ravel().copy(), "places": host.arange(5_000)[::-1].copy(),
}  # fmt: skip
AT_ONCE = """x + y; x * 2.0; 2.0 - x; -x; abs(x); x ** 2; x ** 1.5; x > 1.0; x == y
x % 0.3; x // y; np.sqrt(x); np.exp(x); np.log1p(single); np.sin(x); np.hypot(x, y)
np.arctan2(x, 2.0); np.power(x, y); np.maximum(x, y); np.where(mask, x, y); np.clip(x, 0.7, 1.0)
x.sum(); x.mean(); x.std(axis=0); divmod(x, 0.3); divmod(2.0, x); np.modf(x); np.divmod(x, y)
x.sum(axis=1); x - x.mean(axis=0); x / x.sum(axis=1, keepdims=True); row * column; column - row
x.T + 1.0; x[1:-1, 1:-1] * 2.0; x[:, ::2] + x[:, 1::2]; line[mask.ravel()]; line[places]
np.cumsum(x); np.diff(line); x.astype("f4"); x.astype(int); i + 1; i / 3; i % 7; ~mask; mask & mask
z * z; z.real + 1.0; np.isnan(x); np.round(x, 1); x.copy(); x.argmax(axis=1); np.sort(x)
np.linspace(0.0, 1.0, 5_001); np.arange(5_000.0); np.isfinite(x).all(); np.roll(line, 1)"""
EXPRESSIONS = [each.strip() for each in AT_ONCE.replace("\n", ";").split(";")]


def evaluated(source: str, np: Any, values: dict[str, Any]) -> Any:
    """An expression; each is a line of its own."""
    return eval(compile(source, f"<{source}>", "eval"), globals(), {"np": np, **values})


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_at_once(source: str) -> None:
    """Nothing is pending afterwards, the values are NumPy's or the kernels'; when the line has
    done it often it is recorded, with the same bits."""
    ours = {name: made(value) for name, value in VALUES.items()}
    found = evaluated(source, lf, ours)
    assert is_at_hand(found)
    with lf.options(cold_size=0):
        recorded = evaluated(source, lf, ours)
    wanted = evaluated(source, host, VALUES)
    assert not list(oracle.compare(source, host.asarray(recorded), host.asarray(found)))
    assert host.asarray(found).dtype == host.asarray(wanted).dtype
    host.testing.assert_allclose(host.asarray(found), wanted, rtol=1e-6)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "region": lambda x, y: x.__setitem__((slice(1, None), slice(None)), y[1:]),
    "number": lambda x, y: x.__setitem__((slice(None), slice(1, None)), 2.0),
    "mask": lambda x, y: x.__setitem__(x > 1.0, 0.0),
    "in place": lambda x, y: x.__iadd__(y),
    "part in place": lambda x, y: x[1:, 1:].__isub__(x[1:, :1] * y[:1, 1:]),
    "out": lambda x, y: lf.multiply(x, y, out=x),
    "power": lambda x, y: x.__ipow__(2),
    "own out": lambda x, y: lf.exp(y, out=x),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str) -> None:
    """Views see what is written, results from before keep what they read."""
    ours = made(_VALUES)
    view, before = ours[2:4], ours + 1.0
    values = _VALUES.copy()
    WRITES[name](ours, made(VALUES["y"]))
    assert is_at_hand(ours)
    with lf.options(cold_size=0):
        again = made(_VALUES)
        WRITES[name](again, made(VALUES["y"]))
        wanted = host.asarray(again)
    host.testing.assert_array_equal(host.asarray(ours), wanted)
    host.testing.assert_array_equal(host.asarray(view), wanted[2:4])
    host.testing.assert_array_equal(host.asarray(before), values + 1.0)


def test_results_have_memory_of_their_own() -> None:
    x = made(_VALUES)
    y = +x
    z = x.copy()
    y[0, 0], z[1, 1] = 7.0, 8.0
    x *= 2.0
    host.testing.assert_array_equal(host.asarray(x), _VALUES * 2.0)
    assert float(y[0, 0]) == 7.0 and float(z[1, 1]) == 8.0 and float(y[1, 1]) == _VALUES[1, 1]


def test_new_lengths_stay_at_once() -> None:
    """A loop over ever new lengths records nothing."""
    x = made(VALUES["line"])
    lf.reset_stats()
    for length in range(1_000, 1_400):
        part = x[:length]
        assert is_at_hand(part * part + 1.0)
    assert lf.stats().cold_runs == lf.stats().kernels_launched == 0


def test_what_comes_often_is_recorded() -> None:
    """A function that has computed enough records, all of its lines; another size is new to it."""
    x = made(VALUES["line"])

    def often(x: Any) -> tuple[bool, bool]:
        first = x * 2.0
        return is_at_hand(first), is_at_hand(x + 1.0)

    times = -(-ENOUGH // (2 * x.size))
    assert all(often(x) == (True, True) for _ in range(times))
    assert often(x) == (False, False)
    assert often(x[1:]) == (True, True)
    assert is_at_hand(x * 2.0)  # another function


@pytest.mark.parametrize("dtype", (">i4", "U8", "g", object, "i4"))
def test_conversions_are_made_once(dtype: Any) -> None:
    """Also to dtypes that only NumPy has: they were made, and warned of, twice."""
    values = host.where(host.arange(5_000) == 3, host.nan, 1.5)
    x = made(values)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = x.astype(dtype)
    assert len(told) == (host.dtype(dtype).kind == "i")
    with host.errstate(all="ignore"):
        wanted = values.astype(dtype)
    assert host.asarray(found).dtype == wanted.dtype
    assert repr(host.asarray(found).tolist()) == repr(wanted.tolist())


@pytest.mark.parametrize("ask", (host.asarray, lf.materialize, lambda x: x.materialize(), str))
@pytest.mark.parametrize("count", (4, ASKED_SOON, ASKED_SOON + 1))
def test_what_is_asked_for_soon_counts_more(count: int, ask: Callable[[Any], object]) -> None:
    """A function is called again and again where values are asked for after a few operations; a
    loop goes on."""
    x = made(VALUES["line"])

    def often(x: Any) -> Any:
        for _ in range(count - 1):
            x + 1.0
        return x * 2.0

    done = 0
    host.asarray(x)  # what was before is another series
    while is_at_hand(last := often(x)) and done <= ENOUGH:
        done += count * x.size
        ask(last)
    times = ASKED_TIMES if count <= ASKED_SOON else 1
    assert abs(done - ENOUGH // times) <= 3 * count * x.size


def test_what_was_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that has recorded in vain computes all of its lines at once, also those that have
    recorded nothing then, for a while that is longer than at first: of what it reads, too."""
    x = made(VALUES["x"])

    def often(x: Any) -> tuple[Any, Any]:
        return x * 2.0, x.sum(axis=0)

    while is_at_hand(often(x)):
        pass
    last = often(x)[1]
    monkeypatch.setattr(novel, "ENOUGH", 5 * x.size)
    for times in (1, 2):
        novel._was_in_vain(met.places(trace([last._storage.node])), times)
        for _ in range(5 * times * novel._AGAIN // 2):
            assert all(map(is_at_hand, often(x)))
        assert not any(map(is_at_hand, often(x)))


def test_new_sizes_do_not_make_functions_new() -> None:
    """A loop of ever new lengths beside a function that has computed enough."""
    x = made(VALUES["line"])

    def often(x: Any) -> Any:
        return x * 2.0

    def shortened(x: Any) -> Any:
        for length in range(SMALL + 1, x.size):
            x[:length] + 1.0

    table = novel._table
    pair = 2 * NOVEL_WORDS
    own = table.place(id(often.__code__), x.size)[0] - table.first
    for function in range(1, 40):  # others that have computed enough
        place = table.place(function << 8, x.size)
        if (place[0] - table.first) // pair != own // pair:  # else both of `often` are taken
            table.note(place, 0)
    while is_at_hand(often(x)):
        pass
    for _ in range(4):
        shortened(x)
        assert not is_at_hand(often(x))


def test_python_counts_the_same() -> None:
    """Also where machine code has taken its place: work until none is left, of the same table."""
    size, code = 50_000, test_python_counts_the_same.__code__
    place = novel._table.place(id(code), size)
    assert novel._table.left(place) == -ENOUGH
    novel._table.note(place, -1500)
    assert novel.is_novel(size, 1000) and novel.is_novel(size, 500)
    assert novel._table.left(place) == 0
    assert not novel.is_novel(size, 1000) and novel._table.left(place) == 0
    assert novel.is_novel(size + 1, 1000)


def test_what_is_left_when_machine_code_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    table = novel._Table()
    table.note(table.place(1, 50_000), -5)
    monkeypatch.setattr(novel, "_table", table)
    novel.share([0] * (3 + novel.WORDS), 3)
    assert table.left(table.place(1, 50_000)) == -5


BROADCASTS = (
    "np.add(x[:, :1], x[:1])", "np.add.outer(x[:, 0], x[0])", "x[:, :1] - x[0]",
    "np.add(small, x[:1])", "np.add(x[:1], small)",
)  # fmt: skip


@pytest.mark.parametrize("source", BROADCASTS)
def test_broadcasts_of_small_parts(source: str) -> None:
    """What they give is larger than both, and new like others."""
    code = compile(source, f"<{source}>", "eval")
    with lf.options(eager_size=500, cold_size=COLD):
        names = {"np": lf, "x": made(_VALUES), "small": lf.array(_VALUES[:, :1])}
        results = [eval(code, globals(), names) for _ in range(ENOUGH // SIZE + 2)]
    assert all(map(is_at_hand, results[:-2])) and not is_at_hand(results[-1])
    wanted = eval(code, globals(), {"np": host, "x": _VALUES, "small": _VALUES[:, :1]})
    for found in results[-3:]:
        host.testing.assert_array_equal(host.asarray(found), wanted)


@pytest.mark.parametrize(
    "source", ("x ** 1.5", "x ** 2", "x ** -1", "x * y", "np.exp(x)", "np.add(x, y)")
)
def test_all_is_counted_once(source: str) -> None:
    """Each operation is counted as one, also where Python or machine code tries several ways."""
    ours = {name: made(value) for name, value in VALUES.items()}
    code = compile(source, f"<{source}>", "eval")

    def counted() -> int:
        assert is_at_hand(eval(code, globals(), {"np": lf, **ours}))
        table = novel._table
        last = table.first + (NOVEL_WORDS << NOVEL_BITS)
        return sum(table.words[table.first + 1 : last : NOVEL_WORDS])

    for _ in range(10):  # machine code knows the kernel then
        counted()
    before = counted()
    assert counted() - before == SIZE


def test_pending_operands_are_recorded() -> None:
    x = made(VALUES["line"])
    with lf.options(cold_size=0):
        pending = x + 1.0
    assert not is_at_hand(pending * x)


@pytest.mark.parametrize("options", ({"cold_size": 0}, {"eager_size": 0}, {"cold_size": 1_000}))
def test_options(options: dict[str, Any]) -> None:
    """Larger arrays are recorded, and all under options that say so."""
    x = made(VALUES["line"])
    with lf.options(**options):
        assert not is_at_hand(x + 1.0)
        assert not is_at_hand(lf.exp(x))


@pytest.mark.parametrize("options", ({"cold_size": 0}, {"eager_size": 0}, {"cold_size": 1_000}))
def test_options_of_writes(options: dict[str, Any]) -> None:
    """Likewise writes of more than are written at once anyway."""
    x = made(host.zeros((700, 100)))
    x[:] = True
    assert is_at_hand(x)
    with lf.options(**options):
        x[:, 1:] = host.int64(2)
        assert not is_at_hand(x)
    assert float(x.sum()) == 700 + 2 * 700 * 99


def test_half_precision_is_recorded() -> None:
    """NumPy has no fast code for it."""
    x = made(VALUES["line"].astype("f2"))
    assert not is_at_hand(x * x)


def test_recordings_see_everything() -> None:
    """What `fuse` records is not computed at once."""

    @lf.fuse
    def step(x: Any) -> Any:
        return x * 2.0 + 1.0

    x = made(VALUES["line"])
    for _ in range(4):
        found = step(x)
    assert step.recordings == 1
    host.testing.assert_array_equal(host.asarray(found), VALUES["line"] * 2.0 + 1.0)


@pytest.mark.parametrize("make", (
    lambda x: lf.linspace(0.0, 1.0, x.size), lambda x: lf.arange(x.size),
))  # fmt: skip
def test_recordings_see_what_is_made(make: Callable[[Any], Any]) -> None:
    """Nor is what functions make of no arrays."""
    step = lf.fuse(lambda x: make(x) + x)
    x = made(VALUES["line"])
    for _ in range(4):
        found = step(x)
    assert step.recordings == 1
    with lf.options(cold_size=0):
        host.testing.assert_array_equal(host.asarray(found), host.asarray(make(x) + x))


def test_warnings_are_of_the_line() -> None:
    x = made(host.zeros(SIZE))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        x / x
    assert [str(each.message) for each in given] == ["invalid value encountered in divide"]
    assert given[0].filename == __file__
    with host.errstate(all="raise"), pytest.raises(FloatingPointError):
        1.0 / x


BEYOND: dict[str, Callable[[Any, Any], Any]] = {
    "float": lambda np, x: x.__iadd__(1e300),
    "int": lambda np, x: x.__imul__(10**50),
    "out": lambda np, x: np.add(x, 1e300, out=x),
    "part": lambda np, x: x[1:].__isub__(1e300),
}


@pytest.mark.parametrize("dtype", ("f4", "c8"))
@pytest.mark.parametrize("name", BEYOND)
def test_numbers_that_do_not_fit(name: str, dtype: str) -> None:
    """Nothing is written when the conversion of a number is an error."""
    x, wanted = made(VALUES["single"].astype(dtype)), VALUES["single"].astype(dtype)
    for np, array in ((lf, x), (host, wanted)):
        with host.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow"):
            BEYOND[name](np, array)
    host.testing.assert_array_equal(host.asarray(x), wanted)


def test_cache_clear_forgets() -> None:
    """After `cache_clear` a line is new again."""
    x = made(host.arange(50_000.0))
    lines = [lambda: is_at_hand(x - 0.5)]
    while lines[0]():
        pass
    lf.cache_clear()
    assert lines[0]()


def test_large_broadcasts_are_recorded() -> None:
    """A kernel by itself would compute all of it before anybody asks how large it is."""
    x = made(host.arange(60_000.0) + 1.0)
    found = lf.arctan2(x[:, None], x[None, :])
    assert not is_at_hand(found)


def test_powers_of_mixed_integers() -> None:
    """int64 and uint64 have the loop of floats, with the kernels' bits."""
    a, b = host.arange(1, 3_000) % 97 + 2, (host.arange(1, 3_000) % 9).astype("u8")
    for size in (10, 2_999):
        with lf.options(eager_size=10_000):
            small = host.asarray(lf.power(lf.array(a[:size]), lf.array(b[:size])))
        with lf.options(eager_size=0, cold_size=0):
            recorded = host.asarray(lf.power(lf.array(a[:size]), lf.array(b[:size])))
        assert small.dtype == recorded.dtype == host.float64
        host.testing.assert_array_equal(small, recorded)


@pytest.mark.parametrize("dtype", ("?", "u1"))
def test_light_arrays_are_never_recorded(dtype: str) -> None:
    """Arrays of few bytes are NumPy's however often they come; of many bytes they are not."""
    with lf.options(eager_size=1_000, cold_size=COLD):
        light, heavy = made(host.ones(1_990, dtype)), made(host.ones(50_000, dtype))
        turns = 2 * ENOUGH // heavy.size
        assert all(is_at_hand(light ^ light) for _ in range(turns))
        for _ in range(8 * turns):
            if not is_at_hand(heavy ^ heavy):
                break
        else:
            pytest.fail("heavy arrays stay NumPy's")


def test_work_is_counted_in_bytes() -> None:
    """A line on masks computes eight times as many elements at once as one on doubles."""
    size = 50_000

    def turns(array: Any) -> int:
        count = 0
        while is_at_hand(array + array):
            count += 1
        return count

    wide, narrow = turns(made(host.ones(size))), turns(made(host.ones(size + 8, "i1")))
    assert 6 * wide <= narrow <= 10 * wide
