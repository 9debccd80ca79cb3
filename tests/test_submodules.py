"""`linalg`, `fft` and `random`: NumPy's answers, streams seed for seed, and imports."""

from __future__ import annotations

import copy
import gc
import importlib
import inspect
import pickle
import warnings
import weakref
from typing import Any

import numpy as host
import pytest

from tests import submodule_calls as calls
from tests.oracle import IS_ENGINE, check, lf

needs_engine = pytest.mark.skipif(not IS_ENGINE, reason="asks lazyfuse about itself")

Table = dict[str, list[str]]


def lines(module: str, table: Table) -> list[Any]:
    """Give every expression of a table with its module and name."""
    return [
        pytest.param(module, name, line, id=f"{name} {line}")
        for name, expressions in table.items()
        for line in expressions
    ]


@pytest.mark.parametrize(
    ("module", "name", "line"), lines("linalg", calls.LINALG) + lines("fft", calls.FFT)
)
def test_calls(module: str, name: str, line: str) -> None:
    """The expression has one value, dtype, shape and memory order under both modules."""
    values = calls.arrays()

    def program(np: Any, *given: Any) -> Any:
        function = getattr(getattr(np, module), name)
        return eval(line, {"f": function, **dict(zip(values, given, strict=True))})

    check(program, *values.values(), sums=True)


@pytest.mark.parametrize(
    ("module", "name", "line"),
    lines("generator", calls.DRAWS | calls.NEW_DRAWS)
    + lines("module", calls.DRAWS | calls.OLD_DRAWS),
)
def test_streams(module: str, name: str, line: str) -> None:
    """The samples are NumPy's for a seed, and so is the next number."""
    values = calls.arrays()

    def program(np: Any, *given: Any) -> Any:
        if module == "generator":
            source = np.random.default_rng(7)
        else:
            source = np.random
            source.seed(7)
        names = {"f": getattr(source, name), **dict(zip(values, given, strict=True))}
        return eval(f"f({line})", names), source.random(2)

    check(program, *values.values())


def test_tables_have_no_holes() -> None:
    """Every function of the submodules is called."""
    errors = {"LinAlgError"}
    assert set(host.linalg.__all__) - calls.LINALG.keys() == errors
    assert set(host.fft.__all__) - calls.FFT.keys() == set()
    old = calls.DRAWS.keys() | calls.OLD_DRAWS.keys()
    rest = {name for name in host.random.__all__ if name[0].islower()} - old
    assert rest == {"default_rng", "get_state", "set_state", "seed", "shuffle", "random_integers"}
    new = {name for name in dir(host.random.Generator) if not name.startswith("_")}
    assert new - calls.DRAWS.keys() - calls.NEW_DRAWS.keys() == {
        "bit_generator", "shuffle", "spawn",
    }  # fmt: skip


def shuffles(np: Any, a: Any, m: Any) -> Any:
    """Shuffle arrays and views in place, and write samples into arrays."""
    rng = np.random.default_rng(3)
    rng.shuffle(a)
    rng.shuffle(m, axis=1)
    rng.shuffle(m[0])
    np.random.seed(5)
    np.random.shuffle(a[1:])
    out = np.zeros(4)
    same = rng.standard_normal(out=out) is out
    rng.permuted(m, axis=0, out=m)
    names = ["a", "b", "c", "d"]
    rng.shuffle(names)
    np.random.shuffle(names)
    return a, m, out, same, rng.random(), names


def test_writes_go_through() -> None:
    """What NumPy writes into its arguments is written."""
    check(shuffles, host.arange(6.0), host.arange(12).reshape(3, 4))


def states(np: Any) -> Any:
    """Use the state of generators in the ways NumPy has."""
    first = np.random.RandomState(3)
    first.standard_normal()  # leaves half of a pair behind
    state = first.get_state()
    second = np.random.RandomState()
    second.set_state(state)
    third = pickle.loads(pickle.dumps(first))
    rng = np.random.Generator(np.random.Philox(9))
    twin = copy.deepcopy(rng)
    children = rng.spawn(2)
    return (
        [g.standard_normal(3) for g in (first, second, third)],
        [g.random(2) for g in (rng, twin, *children, pickle.loads(pickle.dumps(rng)))],
        np.random.default_rng(rng) is rng,
        np.random.default_rng(np.random.SeedSequence(1)).integers(9, size=3),
    )


def test_states() -> None:
    """States, seeds, copies, pickles and spawned generators give NumPy's streams."""
    check(states)


def methods_alone(np: Any) -> Any:
    """Use methods of generators that are asked for once, kept, pickled, and outlive theirs."""
    rng = np.random.default_rng(7)
    draw, again = rng.normal, pickle.loads(pickle.dumps(rng.integers))
    last = np.random.default_rng(8).random
    legacy = np.random.RandomState(2).rand
    seeded = np.random.seed(3)
    one, two = np.random.rand(), np.random.rand
    return (
        [draw(), rng.normal(), draw(size=3), again(9), draw.__self__ is rng, draw.__name__],
        [last(), last.__self__.random(), legacy(2), legacy.__self__.rand(2)],
        [seeded, one, two(2), two(2, 2)],
    )


@needs_engine
def test_methods_alone() -> None:
    """Each draws from its generator's stream, also where nobody else has that any more."""
    for size in (0, 100):
        with lf.options(eager_size=size):
            check(methods_alone)


@needs_engine
def test_subclasses_of_generators() -> None:
    """A method that a subclass overrides is the subclass's each time, and one that is kept finds
    its generator; `out` by position is given back."""

    class Own(lf.random.Generator):
        """Tells that it draws, and what it was made with."""

        def __init__(self, seed: int, extra: int) -> None:
            super().__init__(host.random.PCG64(seed))
            self.extra = extra

        def normal(self, *args: Any) -> Any:
            return "own", super().normal(*args)

    rng, plain = Own(3, 7), host.random.default_rng(3)
    expected = [("own", plain.normal()), ("own", plain.normal()), plain.random()]
    assert [rng.normal(), rng.normal(), rng.random()] == expected
    again = copy.deepcopy(Own(3, 7))
    assert type(again) is lf.random.Generator and again.random() == Own(3, 7).random()
    with pytest.raises(TypeError, match="unexpected keyword argument 'instance'"):
        Own(3, 7).random(instance=3)
    draw = Own(3, 7).random
    assert draw.__self__.extra == 7 and draw() == host.random.default_rng(3).random()
    for size in (5, 50_000, 100_000):
        for out in (host.empty(size), lf.zeros(size), lf.zeros(size) + 1.0):
            assert rng.random(None, host.float64, out) is out
            assert float(out[0]) != float(out[1]) != 1.0
    from lazyfuse.frontend import sampling

    places = {
        name: list(parameters).index("out")
        for name in dir(host.random.Generator)
        if name != "bit_generator" and callable(getattr(plain, name)) and name[0] != "_"
        for parameters in [inspect.signature(getattr(plain, name)).parameters]
        if "out" in parameters and parameters["out"].kind is not inspect.Parameter.KEYWORD_ONLY
    }
    assert places == sampling._PLACES_OF_OUT


@needs_engine
def test_methods_that_outlive_their_random_state() -> None:
    """The second number of a pair was lost."""
    for again in (
        lambda draw: draw.__self__.normal,
        lambda draw: pickle.loads(pickle.dumps(draw)),
    ):
        draw, plain = lf.random.RandomState(3).normal, host.random.RandomState(3).normal
        assert draw() == plain() and again(draw)() == plain()


@needs_engine
def test_shuffle_by_keyword() -> None:
    """The array was said to be read-only."""
    for size in (50, 100_000):
        lazy, plain = lf.arange(float(size)), host.arange(float(size))
        lf.random.default_rng(1).shuffle(x=lazy)
        host.random.default_rng(1).shuffle(x=plain)
        assert host.array_equal(lazy, plain)


@needs_engine
def test_objects_of_subclasses_of_generators_are_not_kept() -> None:
    """What an object keeps of its methods referred to it, so that it waited for a collection."""

    class Own(lf.random.Generator):
        """Another class."""

    rng = Own(host.random.PCG64(3))
    draw, gone = rng.normal, weakref.ref(rng)
    gc.disable()
    try:
        draw(), rng.normal(), rng.random(3)
        del rng
        assert draw.__self__ is gone() and draw.__name__ == "normal"
        del draw
        assert gone() is None
    finally:
        gc.enable()


def test_methods_of_ufuncs() -> None:
    """They are those of their class, and know their ufunc."""

    def program(np: Any) -> Any:
        kind, values = type(np.add), np.arange(5)
        return (
            [kind.reduce(np.add, values), kind.accumulate(np.multiply, values)],
            kind.reduceat(np.add, values, [0, 2]),
            [kind.reduce.__name__, np.add.reduce.__name__, np.add.reduce.__self__ is np.add],
            [kind.reduce.__qualname__, np.add.reduce.__qualname__, kind.reduce is kind.reduce],
        )

    check(program)
    check(lambda np: type(np.add).reduce(3))
    check(lambda np: type(np.add).accumulate())
    for method in (lf.add.reduce, lf.multiply.accumulate, type(lf.add).reduce):
        assert pickle.loads(pickle.dumps(method)) is method


@needs_engine
def test_draws_of_a_recorded_function() -> None:
    """Numbers are drawn at every call of what `fuse` has recorded."""
    with lf.options(eager_size=100):
        rng, a = lf.random.default_rng(1), lf.zeros(500)
        fused = lf.fuse(lambda a: a + rng.random() + lf.random.rand())
        draws = {float(fused(a)[0]) for _ in range(5)}
    assert len(draws) == 5


@needs_engine
def test_generators_are_numpys() -> None:
    """Libraries that ask for a generator of NumPy get one."""
    assert isinstance(lf.random.default_rng(0), host.random.Generator)
    assert isinstance(lf.random.RandomState(0), host.random.RandomState)
    # what scikit-learn's and others' `check_random_state` gives and asks
    assert isinstance(lf.random.mtrand._rand, lf.random.RandomState)
    assert isinstance(host.random.default_rng(0), lf.random.Generator)
    assert not isinstance(lf.random.RandomState(0), lf.random.Generator)
    assert not isinstance(host.random.RandomState(0), type("Own", (lf.random.RandomState,), {}))
    assert issubclass(host.random.RandomState, lf.random.RandomState)
    assert not issubclass(host.random.RandomState, lf.random.Generator)
    assert isinstance(lf.random.default_rng(0).random(3), lf.LazyArray)
    one = lf.random.default_rng(0)
    assert one.normal == one.normal
    assert one.normal != one.uniform
    rng = host.random.default_rng(4)
    shared = lf.random.default_rng(rng)
    first = host.random.default_rng(4).random(2)
    assert [float(shared.random()), rng.random()] == first.tolist()


def transforms_into(np: Any, z: Any) -> Any:
    """Write transforms into a view, into the operand itself, and over it."""
    room = np.zeros((6, 12), complex)
    view = room[::2, 1:9:2]
    same = np.fft.fft(z, out=view) is view
    turned = np.zeros((4, 3), complex)
    np.fft.ifft(z, axis=0, out=turned.T)
    np.fft.fft(z, out=z)
    rows = np.zeros((3, 8), complex)
    rows[:, :4] = z
    np.fft.fft(rows[:, :4], n=7, out=rows[:, 1:])
    np.fft.fftn(z, out=z)
    return room, same, turned, z, rows


def test_transforms_into() -> None:
    """`out` may be any view; what it overlaps is read first."""
    check(transforms_into, calls.arrays()["z"], sums=True)


FAULTS = {
    "singular": lambda np, s: np.linalg.inv(np.zeros((2, 2))),
    "not square": lambda np, s: np.linalg.inv(s[:2]),
    "not square power": lambda np, s: np.linalg.matrix_power(s[:2], 2),
    "not definite": lambda np, s: np.linalg.cholesky(-s),
    "not square determinant": lambda np, s: np.linalg.det(s[:2]),
    "wrong order": lambda np, s: np.linalg.norm(s, "no"),
    "no points": lambda np, s: np.fft.fft(s, 0),
    "wrong norm": lambda np, s: np.fft.fft(s, norm="no"),
    "wrong axis": lambda np, s: np.fft.fft(s, axis=2),
    "complex input": lambda np, s: np.fft.rfft(s * 1j),
    "negative scale": lambda np, s: np.random.default_rng(0).normal(0, -1),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    """The errors are NumPy's, at the call."""
    check(FAULTS[name], calls.arrays()["s"])


@needs_engine
def test_transforms_are_recorded() -> None:
    """A chain of transforms is one graph: two kernels around two calls, and nothing left it."""
    x = lf.asarray(host.random.default_rng(0).random((64, 64)))
    power = (abs(lf.fft.ifft2(lf.fft.fft2(x * 2 + 1) * 3)) ** 2).sum()
    assert lf.stats().kernels_launched == 0
    assert lf.explain(power).startswith(f"3 kernels on {x.device}, 4 library calls")
    assert lf.stats().fallbacks == 0


@needs_engine
def test_imports() -> None:
    """The submodules can be imported in every way."""
    for name in ("linalg", "fft", "random"):
        module = importlib.import_module(f"lazyfuse.{name}")
        assert module is getattr(lf, name)
        assert set(getattr(host, name).__all__) <= set(dir(module))
        with pytest.raises(AttributeError, match="no_such"):
            _ = module.no_such
    names: dict[str, Any] = {}
    exec("from lazyfuse.fft import fft, ifft\nfrom lazyfuse.linalg import *", names)
    assert names["fft"] is lf.fft.fft
    assert names["norm"] is lf.linalg.norm
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("from lazyfuse import *", names)
    assert set(host.__all__) - {"core", "f2py"} <= names.keys()
    assert names["sum"] is lf.sum


@needs_engine
def test_the_older_module_of_random_numbers() -> None:
    """Its RandomState, which older programs take, was NumPy's, and shuffled rows came up twice."""
    older = lf.random.mtrand
    assert older.RandomState is lf.random.RandomState and older.normal is lf.random.normal
    assert older._rand is lf.random.mtrand._rand and {*dir(older)} == {*dir(host.random.mtrand)}
    lf.random.seed(3)
    for own in (older.RandomState(3), older._rand):
        numpys = host.random.RandomState(3)
        x, expected = lf.arange(24.0).reshape(12, 2), host.arange(24.0).reshape(12, 2)
        own.shuffle(x)
        numpys.shuffle(expected)
        assert host.array_equal(host.asarray(x), expected)
        assert isinstance(own.normal(size=2), lf.LazyArray)
    with pytest.raises(AttributeError):
        older.default_rng  # noqa: B018


@needs_engine
@pytest.mark.parametrize("size", [3, 40_000])
def test_seeds_that_are_arrays(size: int) -> None:
    """`SeedSequence` and the bit generators are C code, which took no LazyArray."""
    seed, numpys = lf.arange(size) + 1, host.arange(size) + 1
    sequence, expected = lf.random.SeedSequence(seed), host.random.SeedSequence(numpys)
    child = sequence.spawn(1)[0]
    assert isinstance(child, host.random.SeedSequence)
    assert isinstance(expected.spawn(1)[0], lf.random.SeedSequence)
    assert list(sequence.generate_state(4)) == list(expected.generate_state(4))
    for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"):
        kind, plain = getattr(lf.random, name), getattr(host.random, name)
        made = kind(seed)
        assert isinstance(plain(1), kind) and isinstance(made, plain)
        drawn = lf.random.Generator(copy.deepcopy(made)).random()
        assert drawn == lf.random.Generator(pickle.loads(pickle.dumps(made))).random()
        assert drawn == host.random.Generator(plain(numpys)).random()
        again = host.random.Generator(plain(child))
        assert lf.random.Generator(kind(child)).random() == again.random()
    assert lf.random.Philox(key=lf.array([1, 2])).state["state"]["key"].tolist() == [1, 2]
