"""What masks pick, write and list in one piece: the code with and without packed vectors, and
where it takes NumPy's place."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.backends.cpu import masks_text, rows_text
from lazyfuse.backends.cpu.compiler import Code, Compiler
from lazyfuse.backends.cpu.masks import Masks
from lazyfuse.frontend.masks import fill
from lazyfuse.runtime import session
from tests import oracle

SIZES = (1, 7, 8, 9, 63, 64, 65, 200, 1000, 4097)
DENSITIES = (0.0, 0.002, 0.1, 0.5, 0.95, 1.0)
GUARD = 64
LINES = ("lf_line_count", "lf_line_pick", "lf_line_where")
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module", params=["packed", "single"])
def code(request: pytest.FixtureRequest) -> Code:
    compiler = Compiler(level=2)
    if request.param == "packed" and not {"avx512f", "avx512bw"} <= compiler.features:
        pytest.skip("a processor that does not pack lanes")
    binary = compiler.compile(masks_text.text(packs=request.param == "packed"))
    return compiler.link(binary, tuple(masks_text.FUNCTIONS))


def call(code: Code, name: str, *arguments: Any) -> None:
    """Call a function with arrays and numbers."""
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))
    values = [item.ctypes.data if isinstance(item, host.ndarray) else item for item in arguments]
    prototype(code.address(name))(*values)


def masks(draw: host.random.Generator) -> Iterator[host.ndarray]:
    """Of all sizes and densities; at the ends only; of bytes that are neither 0 nor 1."""
    for size in SIZES:
        for density in DENSITIES:
            yield draw.random(size) < density
        ends = host.zeros(size, bool)
        ends[0] = ends[-1] = True
        yield ends
        odd = draw.integers(0, 4, size, dtype="u1")
        yield odd.view(bool)


def guarded(size: int, itemsize: int) -> tuple[host.ndarray, host.ndarray]:
    """Memory for so many elements with guards around, and these in the middle."""
    memory = host.full(size * itemsize + 2 * GUARD, 0xA5, "u1")
    return memory, memory[GUARD : len(memory) - GUARD].view(f"V{itemsize}")


def is_intact(memory: host.ndarray) -> bool:
    return bool((memory[:GUARD] == 0xA5).all() and (memory[-GUARD:] == 0xA5).all())


@pytest.mark.parametrize("itemsize", masks_text.TYPES)
def test_elements_are_picked(code: Code, itemsize: int) -> None:
    """Those where the mask is true, and nothing behind them is written."""
    draw = host.random.default_rng(itemsize)
    for mask in masks(draw):
        values = draw.integers(0, 256, len(mask) * itemsize, dtype="u1").view(f"V{itemsize}")
        expected = values[mask.view("u1") != 0]
        memory, out = guarded(len(expected), itemsize)
        call(code, f"lf_pick_{itemsize}", values, mask, out, len(expected), len(mask))
        assert out.tobytes() == expected.tobytes() and is_intact(memory)


@pytest.mark.parametrize("itemsize", masks_text.TYPES)
def test_elements_are_placed(code: Code, itemsize: int) -> None:
    """Where the mask is true; the others, and what is beside them, stay."""
    draw = host.random.default_rng(itemsize)
    for mask in masks(draw):
        true = mask.view("u1") != 0
        memory, target = guarded(len(mask), itemsize)
        target[:] = draw.integers(0, 256, len(mask) * itemsize, dtype="u1").view(f"V{itemsize}")
        values = draw.integers(0, 256, int(true.sum()) * itemsize, dtype="u1")
        expected = target.copy()
        expected[true] = values.view(f"V{itemsize}")
        call(code, f"lf_place_{itemsize}", target, mask, values, int(true.sum()), len(mask))
        assert target.tobytes() == expected.tobytes() and is_intact(memory)


@pytest.mark.parametrize("itemsize", masks_text.TYPES)
def test_elements_are_filled(code: Code, itemsize: int) -> None:
    """Where the mask is true; the others, and what is beside them, stay."""
    draw = host.random.default_rng(itemsize)
    for mask in masks(draw):
        memory, target = guarded(len(mask), itemsize)
        target[:] = draw.integers(0, 256, len(mask) * itemsize, dtype="u1").view(f"V{itemsize}")
        value = draw.integers(0, 256, itemsize, dtype="u1").view(f"V{itemsize}")
        expected = target.copy()
        expected[mask.view("u1") != 0] = value[0]
        call(code, f"lf_fill_{itemsize}", target, mask, value, len(mask))
        assert target.tobytes() == expected.tobytes() and is_intact(memory)


@pytest.mark.parametrize("itemsize", masks_text.PLACES)
def test_places_are_listed(code: Code, itemsize: int) -> None:
    for mask in masks(host.random.default_rng(itemsize)):
        expected = host.flatnonzero(mask.view("u1")).astype(f"i{itemsize}")
        memory, out = guarded(len(expected), itemsize)
        call(code, f"lf_list_{itemsize}", mask, out, len(expected), len(mask))
        assert out.tobytes() == expected.tobytes() and is_intact(memory)


@pytest.fixture(scope="module")
def lines() -> Code:
    """The functions of `masked_lines_text.py`, in the module that they are part of."""
    compiler = Compiler(level=2)
    return compiler.link(compiler.compile(rows_text.text()), LINES)


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_lines(lines: Code, itemsize: int) -> None:
    """What is picked, counted and written by machine code of methods; nothing beside it is
    touched, also where a mask has changed since it was counted."""
    draw = host.random.default_rng(itemsize)
    counter = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
    for mask in masks(draw):
        true, size = mask.view("u1") != 0, len(mask)
        count = counter(lines.address("lf_line_count"))(mask.ctypes.data, size)
        assert count == int(true.sum())
        values = draw.integers(0, 256, size * itemsize, dtype="u1").view(f"V{itemsize}")
        for total in (count, count // 2, count + 5):
            memory, out = guarded(total, itemsize)
            call(lines, "lf_line_pick", out, values, mask, size, itemsize, total)
            assert is_intact(memory)
            if total >= count:
                assert out[:count].tobytes() == values[true].tobytes()
        memory, target = guarded(size, itemsize)
        target[:] = values
        number = draw.integers(0, 256, 8, dtype="u1")
        expected = values.copy()
        expected[true] = number[:itemsize].view(f"V{itemsize}")[0]
        word = int(number.view("i8")[0])
        call(lines, "lf_line_where", target, mask, size, itemsize, word)
        assert target.tobytes() == expected.tobytes() and is_intact(memory)


def test_counts_that_are_wrong(code: Code) -> None:
    """Another thread may change a mask after it was counted: the code ends with the mask, or with
    the count, whichever is first."""
    for size in (5, 40, 64, 128, 1000):
        mask = host.arange(size) % 3 == 0
        true = int(mask.sum())
        values = host.arange(float(size))
        for count in (true - 1, true + 1, size, 10 * size):
            memory, out = guarded(max(count, size), 8)
            call(code, "lf_pick_8", values, mask, out, count, size)
            picked = out.view("f8")[: min(true, count)]
            assert (picked == values[mask][:count]).all() and is_intact(memory)
            memory, target = guarded(size, 8)
            target.view("f8")[:] = -1.0
            call(code, "lf_place_8", target, mask, host.arange(10.0 * size), count, size)
            assert is_intact(memory)
            assert (target.view("f8")[~mask] == -1.0).all()


def test_code_is_loaded_when_it_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither LLVM nor the disk is asked for a few elements; NumPy does those."""
    found = Masks(Compiler())
    values, mask = host.arange(1000.0), host.arange(1000) % 3 == 0
    out = host.empty(int(mask.sum()))
    assert not found.pick(values, mask, out)
    assert not found.pick(host.zeros(1000, "f8,f8,f8"), mask, out)  # of 24 bytes
    monkeypatch.setattr("lazyfuse.backends.cpu.masks._WORTH_COMPILING", 1)
    monkeypatch.setattr("lazyfuse.backends.cpu.masks._WORTH_STARTING", 1)
    assert found.pick(values, mask, out)
    assert (out == values[mask]).all()


if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

N = 9000


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the code has done, where it is loaded at once."""
    monkeypatch.setattr("lazyfuse.backends.cpu.masks._WORTH_COMPILING", 1)
    monkeypatch.setattr("lazyfuse.backends.cpu.masks._WORTH_STARTING", 1)
    done: list[str] = []
    backend = session.backend("cpu")
    run = backend.masks._run
    monkeypatch.setattr(
        backend.masks, "_run", lambda name, *a, **o: (done.append(name), run(name, *a, **o))[1]
    )
    with lf.options(eager_size=5000):
        yield done


def filtered(xp: Any, a: Any, m: Any) -> Any:
    return a[m]


def listed(xp: Any, a: Any, m: Any) -> Any:
    return xp.nonzero(m)[0], xp.flatnonzero(m), a[xp.where(m)[0]]


def doubled(xp: Any, a: Any, m: Any) -> Any:
    a[m] *= a.dtype.type(2)
    return a


def replaced(xp: Any, a: Any, m: Any) -> Any:
    a[m] = xp.asarray(host.arange(int(m.sum())).astype(a.dtype))
    return a


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    program.__name__: program for program in (filtered, listed, doubled, replaced)
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["b1", "i2", "f4", "f8", "c16"])
def test_programs(name: str, dtype: str, calls: list[str]) -> None:
    """As NumPy does them, for few and many true elements."""
    draw = host.random.default_rng(1)
    for density in (0.01, 0.3, 0.9):
        values = (draw.random(N) * 2).astype(dtype)
        mask = draw.random(N) < density
        ours, where = lf.array(values), lf.array(mask)
        lf.materialize(ours, where)
        results = [
            PROGRAMS[name](host, values.copy(), mask),
            PROGRAMS[name](lf, ours, where),
        ]
        expected, found = (item if isinstance(item, tuple) else (item,) for item in results)
        for one, other in zip(expected, found, strict=True):
            assert other.dtype == one.dtype
            host.testing.assert_array_equal(lf.asnumpy(other), one)
    assert calls or oracle.ON_GPU or (dtype == "b1" and name == "doubled")


NUMBERS: dict[str, tuple[Any, ...]] = {
    "b1": (True, False, 1, 0.5, host.True_),
    "u1": (0, 255, 256, -1, 2.5, True, host.float64(7.9), NAN),
    "i2": (-(2**15), 2**15 - 1, 2**15, host.int16(3), 0.5),
    "i4": (-1, 2**31 - 1, 2**31, 1e20, 3.7, host.int64(5), NAN, 1j),
    "i8": (-1, 2**63 - 1, 2**63, 1e30, host.float64(3.7)),
    "f2": (0.1, 70_000.0, 1e-9, -0.0, 2**70, NAN, -INF, 59_999),
    "f4": (0.1, 1e39, 1e-50, -0.0, 2**60 + 1, NAN, INF, host.float64(0.1), host.float32(0.1)),
    "f8": (0.1, 5e-324, -0.0, 2**63 + 1, 10**400, NAN, INF, host.float64(0.1), True, 1j),
    "c8": (0.1, -0.0, NAN, 1j, 1e39, 3),
    "c16": (0.1, -0.0, NAN, complex(NAN, 1), 2**70, host.float64(2)),
}


@pytest.mark.parametrize("listens", [False, True])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers(dtype: str, listens: bool, calls: list[str]) -> None:
    """Of all kinds: those that an array does not have are said so by NumPy."""
    draw = host.random.default_rng(1)
    values = (draw.random((90, 100)) * 2).astype(dtype)

    def program(np: Any, a: Any, few: Any, many: Any, number: Any) -> Any:
        np.asarray(a).sum(), few.sum(), many.sum()
        said = []
        for mask in (few, many, few & many, few[::-1]):
            with warnings.catch_warnings(record=True) if listens else nullcontext() as caught:
                if listens:
                    warnings.simplefilter("always")
                try:
                    a[mask] = number
                except (OverflowError, TypeError, ValueError) as error:
                    said.append((type(error), str(error)))
            said += [str(each.message) for each in caught or ()]
        part = a[:, ::2]
        part[few[:, ::2]] = a.dtype.type(1)
        return a, said

    for number in NUMBERS[dtype]:
        masks_of = draw.random((90, 100)) < 0.05, draw.random((90, 100)) < 0.7
        expected, told = program(host, values.copy(), *masks_of, number)
        ours = [lf.array(each) for each in (values, *masks_of)]
        lf.materialize(*ours)
        with lf.options(cold_size=100_000):  # what is new is written at once
            found, said = program(lf, *ours, number)
        assert lf.asnumpy(found).tobytes() == expected.tobytes(), number
        assert said == told or oracle.ON_GPU, number


@pytest.mark.parametrize("dtype", ["b1", "i2", "f4", "f8", "c16"])
def test_numbers_are_written_by_vectors(dtype: str, calls: list[str]) -> None:
    """Where neither machine code of methods nor NumPy does it."""
    target, mask = host.zeros((90, 100), dtype), host.arange(9000).reshape(90, 100) % 3 == 0
    expected, number = target.copy(), target.dtype.type(1).item()
    if dtype == "c16":
        number = 1.5
    expected[mask] = number
    fill(target, mask, number)
    assert calls == ["lf_fill_" + dtype[1:]] and target.tobytes() == expected.tobytes()


def test_a_mask_that_is_filled(calls: list[str]) -> None:
    """NumPy finds what it has written."""
    for part in (slice(None), slice(None, -1)):
        mask = host.random.default_rng(2).random(N) < 0.5
        ours = lf.array(mask)
        lf.materialize(ours)
        with lf.options(cold_size=100_000):
            for each in (ours, mask):
                rest = each[1:] if part.stop else each
                rest[each[part]] = False
        host.testing.assert_array_equal(lf.asnumpy(ours), mask)


def test_memory_that_is_shared(calls: list[str]) -> None:
    """A mask of itself, and values out of the array that is written, which NumPy does not copy
    first: it finds what it has written. A GPU, where elements have no order, copies first."""
    first = host.copy if oracle.ON_GPU else host.asarray
    mask = host.random.default_rng(2).random(N) < 0.5
    ours = lf.array(mask)
    lf.materialize(ours)
    count = int(mask.sum())
    ours[ours] = ours[:count]
    mask[mask] = first(mask[:count])
    host.testing.assert_array_equal(lf.asnumpy(ours), mask)
    values, where = host.arange(float(N)), host.arange(N) % 2 == 0
    a, m = lf.array(values), lf.array(where)
    lf.materialize(a, m)
    a[m] = a[: N // 2]
    values[where] = first(values[: N // 2])
    host.testing.assert_array_equal(lf.asnumpy(a), values)


def test_arrays_that_lie_otherwise(calls: list[str]) -> None:
    """Masks of two axes, arrays in Fortran's order, every other element; wrong
    numbers of values."""
    draw = host.random.default_rng(3)
    values, mask = draw.random((90, 100)), draw.random((90, 100)) < 0.4
    for turn in (lambda a: a, lambda a: a.T, lambda a: a[::2], lambda a: a[:, ::-1]):
        a, m = lf.array(values), lf.array(mask)
        lf.materialize(a, m)
        host.testing.assert_array_equal(lf.asnumpy(turn(a)[turn(m)]), turn(values)[turn(mask)])
        expected = values.copy()
        turn(expected)[turn(mask)] *= 2
        part, where = turn(a), turn(m)
        part[where] *= 2
        host.testing.assert_array_equal(lf.asnumpy(a), expected)
    with pytest.raises(ValueError, match="NumPy boolean array indexing assignment"):
        a[m] = lf.arange(5.0)
    host.testing.assert_array_equal(lf.asnumpy(a), expected)


def test_what_reads_a_written_array_keeps_its_values(calls: list[str]) -> None:
    values = host.arange(float(N))
    a, m = lf.array(values), lf.array(values % 3 == 0)
    lf.materialize(a, m)
    before, seen = a * 1, lf.asnumpy(a)
    a[m] = lf.zeros(int((values % 3 == 0).sum()))
    host.testing.assert_array_equal(lf.asnumpy(before), values)
    host.testing.assert_array_equal(seen, values)
    assert lf.asnumpy(a)[3] == 0.0


def test_keys_of_the_engine_pick_from_small_arrays() -> None:
    """What is pending as a key is computed: how much it picks has to be known at once."""
    values, points = host.random.default_rng(4).random(40_000), host.random.random((4000, 2))
    with lf.options(eager_size=10_000):
        large, small = lf.array(values), lf.array(points)
        nearest = (large.reshape(4000, 10) * 2).argmin(1)
        expected = (values.reshape(4000, 10) * 2).argmin(1)
        assert nearest._host is None and (small._host is None) == oracle.ON_GPU
        for key in (lambda xp, near: near == 3, lambda xp, near: near, lambda xp, near: near - 4):
            found = small[key(lf, nearest)]
            assert (found._host is None) == oracle.ON_GPU
            host.testing.assert_array_equal(lf.asnumpy(found), points[key(host, expected)])
        for wrong in (lambda xp, near: near * 1000, lambda xp, near: (near == 3)[:-1]):
            with pytest.raises(IndexError):
                small[wrong(lf, nearest)]


@pytest.mark.parametrize("size", [40_000, 150_000])
@pytest.mark.parametrize("kind", ["runs", "random", "none", "all"])
def test_arrays_where_a_mask_is_true(kind: str, size: int) -> None:
    """Written at once where all is in memory: rows of Python took as long as NumPy for it all."""
    mask = {
        "runs": host.arange(size) % 1000 < 300,
        "random": host.random.default_rng(3).random(size) < 0.3,
        "none": host.zeros(size, bool),
        "all": host.ones(size, bool),
    }[kind]

    def program(np: Any, x: Any, m: Any) -> Any:
        before = x * 1
        for _ in range(2):
            x[m] = x[m] * 0.5 + 0.1
        x[m] = x[: int(m.sum())]
        x[m] = np.arange(int(m.sum()))  # of integers
        x[m] = x[m][:1] if m.any() else 2.0
        view = x[::2]
        view[m[::2]] = view[m[::2]] + 1.0
        found = []
        for wrong in (x[:7], np.ones((2, 2)), np.ones((1, 1))):
            try:
                x[m] = wrong
            except ValueError as error:
                found.append(str(error))
        return x, before, found

    with oracle.options(eager_size=30_000):
        oracle.check(program, host.arange(float(size)), mask)
        oracle.check(program, host.arange(float(size)).astype("f4"), mask)


@pytest.mark.parametrize("eager_size", [0, 30_000])
@pytest.mark.parametrize("part", ["reversed", "columns", "transposed", "rows"])
def test_masks_of_arrays_that_lie_apart(part: str, eager_size: int) -> None:
    """A place for each element was computed and listed: seven times NumPy's time."""
    of: dict[str, Callable[[Any], Any]] = {
        "reversed": lambda x: x[::-1],
        "columns": lambda x: x[:, 1:-1],
        "transposed": lambda x: x.T,
        "rows": lambda x: x[::2],
    }

    def program(np: Any, x: Any) -> Any:
        y = of[part](x)
        picked = y[y > 500.0]
        sums = y[y > 500.0].sum(), y[y < 0.0].size, (y * 2)[y > 9.0][:5]
        y[y > 900.0] = -1.0
        return picked, sums, x, y[np.ones(y.shape, bool)]

    with oracle.options(eager_size=eager_size):
        oracle.check(program, host.arange(600.0 * 602).reshape(600, 602) % 1000.0, sums=True)
