"""Recording what has been recorded before: the trace of the short ways, in Python and in machine
code, is that of the long way, and nothing is lost or told at another place."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from lazyfuse.backends.cpu.record_trace_text import FEW_NODES
from tests import oracle
from tests.losses import assert_nothing_is_lost
from tests.test_native import operators as operators  # machine code for the whole module
from tests.test_views import CASES as VIEWS
from tests.test_writes import CASES as WRITES

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place records nothing", allow_module_level=True)

from lazyfuse.frontend import rerecord, shortcuts  # noqa: E402 - when there is an engine
from lazyfuse.ir.graph import Graph  # noqa: E402 - likewise
from lazyfuse.ir.node import Const, Node  # noqa: E402 - likewise
from lazyfuse.ir.origin import line_of  # noqa: E402 - likewise
from lazyfuse.ir.orphans import BYTES  # noqa: E402 - likewise
from lazyfuse.runtime import trace  # noqa: E402 - likewise

Operation = Callable[..., Any]
SHAPE = (30, 40)


@pytest.fixture(autouse=True)
def engine() -> Iterator[None]:
    """Arrays of every size are the engine's."""
    with lf.options(eager_size=0):
        yield


def _python_methods() -> dict[str, Any]:
    """The methods that machine code has taken the place of, as Python has them."""
    plain = vars(lf.LazyArray.__mro__[1])
    replaced = [name for name, value in vars(lf.LazyArray).items() if name in plain]
    return {name: plain[name] for name in replaced
            if not isinstance(vars(lf.LazyArray)[name], FunctionType | property)}  # fmt: skip


def _never(*args: Any) -> None:
    """Record nothing again."""


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Choose the way: long, python, or native, which is what there is."""
    machine = {name: getattr(rerecord, name) for name in ("recorded", "written")}
    interpreted = _interpreted()

    def choose(way: str) -> None:
        monkeypatch.undo()
        if way == "native":
            return
        for name, method in _python_methods().items():
            monkeypatch.setattr(lf.LazyArray, name, method)
        monkeypatch.setattr(type(lf.add), "__call__", type(lf.add).call_as_user)
        for name in machine:
            monkeypatch.setattr(rerecord, name, interpreted[name] if way == "python" else _never)
        if way == "long":
            monkeypatch.setattr(shortcuts, "map_recorded", _never)

    return choose


def _interpreted() -> dict[str, Any]:
    """The Python functions that machine code stands for, from the text of their module."""
    names: dict[str, Any] = dict(vars(rerecord))
    with open(rerecord.__file__) as file:
        exec(compile(file.read(), rerecord.__file__, "exec"), names)  # noqa: S102 - our own
    names["ARRAYS"].update(rerecord.ARRAYS)
    return {name: names[name] for name in ("recorded", "written")}


OPERATIONS: dict[str, Operation] = {
    "pair": lambda np, a, b, m: a * b,
    "itself": lambda np, a, b, m: a - a,
    "order": lambda np, a, b, m: b - a,
    "number": lambda np, a, b, m: a * 2.5,
    "int": lambda np, a, b, m: a + 3,
    "large int": lambda np, a, b, m: a + 300,
    "a strong number": lambda np, a, b, m: a * host.float64(2.5) + host.float64(1.0) / b,
    "a float32": lambda np, a, b, m: (host.float32(2.5) - a) / host.float32(0.1),
    "NumPy's integers": lambda np, a, b, m: (a * host.int64(3) > host.int32(1), host.int32(7) - b),
    "reflected": lambda np, a, b, m: 1.0 / a,
    "int reflected": lambda np, a, b, m: 7 - a,
    "comparison": lambda np, a, b, m: a <= b,
    "compared": lambda np, a, b, m: 4.0 >= a,
    "unary": lambda np, a, b, m: -a,
    "chain": lambda np, a, b, m: (a * b + a) * (b - 1.0) / 3,
    "power": lambda np, a, b, m: a**2 + a**3 + a**0.5,
    "absolute": lambda np, a, b, m: abs(a) + np.abs(b),
    "ufunc": lambda np, a, b, m: np.sqrt(a) + np.maximum(a, 0.5) + np.exp(b) + np.arctan2(a, b),
    "row": lambda np, a, b, m: a * b[0] + a[:, :1],
    "views": lambda np, a, b, m: a[1:, :-2] + b[:-1, 2:] * a[1:, ::2][:, :1],
    "transposed": lambda np, a, b, m: a.T * b.T + a.T,
    "mixed dtypes": lambda np, a, b, m: a.astype("f4") * b + m,
    "where": lambda np, a, b, m: np.where(m, a, b) + np.where(m, 1.0, 0.0) + np.where(m, a, 2),
    "clip": lambda np, a, b, m: np.clip(a, 0.25, 0.75) + b.clip(0.1, 0.9),
    "sum": lambda np, a, b, m: (a.sum(), a.sum(axis=1), np.sum(a, axis=0, keepdims=True)),
    "folds": lambda np, a, b, m: (a.max(axis=1), a.min(), a.prod(axis=-1), m.any(), m.all(axis=0)),
    "mean": lambda np, a, b, m: (a.mean(), a.mean(axis=1, keepdims=True), np.mean(m, axis=0)),
    "std": lambda np, a, b, m: (a.std(axis=0), np.var(a), a[::2].std(axis=1, ddof=1)),
    "arguments": lambda np, a, b, m: (a.argmin(axis=1), np.argmax(b, axis=0), a.argmax()),
    "scalar": lambda np, a, b, m: a * a.sum() - b.mean() * 2.0,
    "casts": lambda np, a, b, m: (a.astype("f4"), m.astype(int), a.astype("i4", copy=False)),
    "copies": lambda np, a, b, m: (a.copy(), a.T.copy(), np.copy(a), a.round(2)),
}


def _in_place(np: Any, a: Any, b: Any, m: Any) -> Any:
    c = a + b
    c += a
    c *= 2.0
    c -= b[0]
    c /= 3
    return c


def _stencil(np: Any, a: Any, b: Any, m: Any) -> Any:
    u = a + 0.0
    for _ in range(2):
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] - 2.0 * u[1:-1, 1:-1])
    return u


def _assigned(np: Any, a: Any, b: Any, m: Any) -> Any:
    c = a + b
    c[2:, :] = b[2:]
    c[:20] = 1.5
    c[..., 1:] = a[:, 1:]
    c[m] = 0.25
    c[:, 3:30] = a[0, 3:30]
    return c


def _wholes(np: Any, a: Any, b: Any, m: Any) -> Any:
    row = a[0] + b[1]
    c = a + b
    c += row[...]
    c += b[3]
    c[...][2:] = a[2:]
    return c


def _joined(np: Any, a: Any, b: Any, m: Any) -> Any:
    return np.stack([a, b]), np.vstack([b, a]), np.concatenate([a, b, a], axis=1)


OPERATIONS |= {
    "in place": _in_place, "stencil": _stencil, "assigned": _assigned,
    "views of the whole": _wholes, "joined": _joined,
}  # fmt: skip


def _inputs(dtype: str) -> list[Any]:
    draw = host.random.default_rng(1)
    a, b = (draw.uniform(0.0, 90.0, SHAPE).astype(dtype) for _ in range(2))
    return [lf.array(each) for each in (a, b, a > b)]


def _trace(found: Any) -> list[Any]:
    """All that is known of the nodes under arrays."""
    arrays = found if isinstance(found, tuple) else (found,)
    nodes = Graph([array._read() for array in arrays]).nodes
    place = {node: number for number, node in enumerate(nodes)}
    about = [
        (type(array), array._layout, array._writeable, array._owner is None) for array in arrays
    ]
    return [*about, *(_described(node, place) for node in nodes)]


def _described(node: Node, place: dict[Node, int]) -> tuple[Any, ...]:
    value = (node.value, type(node.value)) if isinstance(node, Const) else None
    origin = None if node.origin is None else (line_of(node.origin), node.origin[2])
    return (
        type(node), node.signature, node.shape, node.dtype, node.strides, node.depth,
        node.held, node.users, node.seen, node.is_scalar, node.is_costly, value, origin,
        node.is_held, node.buffer is None, [place[src] for src in node.srcs],
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ("f8", "f4", "i8", "u1", "c16"))
@pytest.mark.parametrize("name", OPERATIONS)
def test_trace(name: str, dtype: str, go: Callable[[str], None]) -> None:
    """Every way records the same nodes, with the same operands, budget and origin."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traces = {}
        for way in ("long", "python", "native"):
            go(way)
            try:
                for _ in range(3):  # what is learnt is used
                    traces[way] = _trace(OPERATIONS[name](lf, *_inputs(dtype)))
            except (TypeError, OverflowError) as error:
                traces[way] = [str(error)]
    assert traces["python"] == traces["long"]
    assert traces["native"] == traces["long"]


def _walked(*arrays: Any) -> tuple[Any, ...]:
    """The trace of arrays as machine code finds it, which is as Python does."""
    nodes = [array._storage.node for array in arrays]
    found = trace.walks[-1](list(nodes))
    assert found == trace.walk(list(nodes))
    return found


@pytest.mark.parametrize("name", OPERATIONS)
def test_walk(name: str) -> None:
    """Both walks over what is pending find the same nodes, in the same order, and structure."""
    found = OPERATIONS[name](lf, *_inputs("f8"))
    arrays = found if isinstance(found, tuple) else (found,)
    assert len(_walked(*arrays)[0]) > 1
    assert _walked(*arrays)[1] == _walked(*arrays)[1]


def _crossed(count: int) -> list[Any]:
    """Arrays of which each is made of an earlier one, an input and two numbers, one of which is
    the same object each time."""
    first, other = _inputs("f8")[:2]
    made = [first]
    for step in range(count):
        made.append((made[step // 2] * 1.5 + other) - float(step))
    return made[1:]


def test_walk_of_many() -> None:
    """Around the number of nodes up to which they are looked through; of many outputs, too."""
    for count in (*range(1, 2 * FEW_NODES), 300):
        made = _crossed(count)
        assert len(_walked(made[-1])[0]) > 1
        nodes = _walked(*made)[0]
        assert len(nodes) == len(set(nodes)) >= 3 * count
    with lf.options(max_pending_nodes=10**6):
        chain = _inputs("f8")[0]
        for step in range(FEW_NODES):
            chain = (chain * 1.5 + chain) - float(step)
            _walked(chain)


def test_walk_finds_what_is_kept() -> None:
    """A dear result inside that is held, one of a long chain, one that was computed before, one
    that another array reads."""
    array = _inputs("f8")[0]
    dear = lf.exp(array)
    assert not _walked(dear + 1.0)[2]
    assert _walked(lf.exp(array) + 1.0)[2] and _walked(dear)[2]
    chain = array
    for _ in range(40):
        chain = chain + 1.5
    assert not _walked(chain * 2.0)[2] and _walked(chain)[2]
    inner = array * 3.0
    lf.materialize(inner + 1.0)
    assert not _walked(inner - 1.0)[2]
    shared = lf.exp(array * 5.0)
    one, other = shared + 1.0, shared + 2.0
    del shared
    assert _walked(one)[2] is None is _walked(other)[2] and _walked(one, other)[2]
    assert trace.walks[-1] is not trace.walk


def test_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once learnt, no operation of the table goes the long way again."""
    inputs = _inputs("f8")
    for operation in OPERATIONS.values():
        operation(lf, *inputs)
    asked: list[Any] = []
    monkeypatch.setattr(shortcuts, "_record", lambda *args: asked.append(args))
    monkeypatch.setattr(shortcuts, "_write", lambda *args: asked.append(args))
    for name in set(OPERATIONS) - {"casts", "copies", "power", "absolute", "scalar"}:
        OPERATIONS[name](lf, *inputs)
    assert not asked


PROGRAMS = [*VIEWS, *WRITES]


@pytest.mark.parametrize("program,arrays", PROGRAMS, ids=[case[0].__name__ for case in PROGRAMS])
def test_program(program: Any, arrays: tuple[Any, ...]) -> None:
    for _ in range(2):
        oracle.check(program, *arrays, sums=True)


@pytest.mark.parametrize("name", OPERATIONS)
def test_values(name: str) -> None:
    """Bits of NumPy's, at sizes where machine code records; on the second and third time too."""
    inputs = [lf.asnumpy(each) for each in _inputs("f8")]
    for _ in range(3):
        ulp = 4 if name in ("ufunc", "power") else 0
        oracle.check(OPERATIONS[name], *inputs, ulp=ulp, sums=True)


def test_numbers_are_looked_at() -> None:
    """A number that the dtype does not take goes the long way, whatever was learnt."""
    bytes_, floats = _inputs("u1")[0], _inputs("f4")[0]
    for _ in range(3):
        assert (bytes_ + 3).dtype == "u1" and (floats * 2).dtype == "f4"
    for wrong in (300, -1, 10**30):
        with pytest.raises(OverflowError):
            bytes_ + wrong
    with pytest.raises(OverflowError):
        floats * 10**400
    assert host.isnan(float((floats * float("nan"))[0, 0]))
    assert (bytes_ < 300).all()
    assert (bytes_ * True).dtype == "u1" and (bytes_ * 1.0).dtype == "f8"


def test_strong_numbers() -> None:
    """NumPy's float64 takes part in the choice of the dtype, a Python float does not."""
    floats = _inputs("f4")[0]
    for _ in range(3):
        assert (floats * 2.5).dtype == "f4" and (floats * host.float64(2.5)).dtype == "f8"
        assert (2.5 - floats).dtype == "f4" and (host.float64(2.5) - floats).dtype == "f8"
        assert (floats * host.float32(2.5)).dtype == "f4" and (
            floats * host.int64(2)
        ).dtype == "f8"
        assert (host.int32(2) - floats).dtype == "f8" and (2 - floats).dtype == "f4"


def test_arguments_are_told_apart() -> None:
    """1, 1.0 and True are equal, and not the same axis or number."""
    array = _inputs("f8")[0]
    for _ in range(3):
        assert array.sum(axis=1).shape == (SHAPE[0],)
        assert array.sum(axis=(0, 1)).shape == ()
    for wrong in (1.0, (0, 1.0), 2, (0, 0)):
        with pytest.raises((TypeError, ValueError)):
            array.sum(axis=wrong)
    assert array.sum(1, float, None, True).shape == (SHAPE[0], 1)
    assert array.sum(axis=1, dtype="f4").dtype == "f4"


def test_warnings_come_each_time() -> None:
    """What warns while it is recorded is not learnt."""
    array, rows = _inputs("c16")[0], lf.zeros((SHAPE[0], 0))
    for _ in range(3):
        with pytest.warns(host.exceptions.ComplexWarning):
            array.astype("f8")
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            rows.mean(axis=1)
        with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
            array.real.std(axis=0, ddof=SHAPE[0])


def test_results_that_are_operands() -> None:
    """What gives an operand itself makes nothing, each time."""
    for _ in range(3):
        array = lf.zeros(SHAPE, "u1")
        assert array.astype("u1", copy=False) is array
        assert +array is not array


def test_keys_that_are_refused() -> None:
    """What is no view of some axes raises NumPy's errors."""

    def program(np: Any, a: Any) -> list[Any]:
        found = []
        for key in (10**30, -(10**30), (0, 10**30), 30, (0, 40), (..., ...), (0, 0, 0),
                    slice(1.0), slice(None, None, 0), (slice(None), 1.5), {}):  # fmt: skip
            try:
                found.append(a[key])
            except Exception as error:  # noqa: BLE001 - any exception is an answer here
                found.append(type(error).__name__)
        for key in (slice(10**30), (0, slice(3, 1, -4)), ()):
            found += [a[key], a[key].strides]
        return found

    oracle.check(program, host.arange(1200.0).reshape(SHAPE))


def test_scalars_and_arrays_without_axes() -> None:
    """They have one form, and what is made of them is of different kinds."""

    def program(np: Any, a: Any) -> Any:
        found = []
        for _ in range(3):
            scalar, array = a.sum(), np.array(a.sum())
            for each in (scalar, array, scalar):
                made = (each * 2.0, -each, each + a, each.astype("f4"), each.copy(), each.sum())
                found += [(np.ndim(item), isinstance(item, float | host.generic)) for item in made]
                found += made
        return found

    oracle.check(program, host.arange(12.0))


def test_parts_assigned_to_their_array() -> None:
    """A part of an array as the value of another part of it, or of itself."""

    def program(np: Any, a: Any) -> Any:
        for _ in range(3):
            a[1:] = a[:-1]
            a[2:5] = a[2:5]
            a[:2] += a[3:5]
            try:
                a[3] = a
            except ValueError:
                a[3] = 5.0
        return a

    oracle.check(program, host.arange(400.0))


@pytest.mark.cpu("floating point flags")
def test_errors_at_once() -> None:
    """Under an errstate that raises, an operation runs when it is recorded."""
    array = _inputs("f8")[0]
    for _ in range(3):
        _ = array / 0.0, (array * 1.0).sum()
    with host.errstate(divide="raise"), pytest.raises(FloatingPointError):
        array / 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            array / 0.0


def test_origin_is_the_users_line() -> None:
    """Machine code has no frame: what it records is of the line that called it."""
    array = _inputs("f8")[0]
    for _ in range(3):
        made = array * 2.0, array.mean(axis=0), lf.where(array > 1.0, array, 0.0)
    for each in made:
        assert each._storage.node.origin[0] is test_origin_is_the_users_line.__code__


def test_another_thread() -> None:
    """Memory that threads write by turns goes the long way, which computes each write, and counts
    whoever has the old version in hand."""
    array = _inputs("f8")[0]
    for _ in range(3):
        array += 1.0
    thread = threading.Thread(target=lambda: array.__iadd__(1.0))
    thread.start()
    thread.join()
    assert array._storage.is_shared
    old = array._storage.node
    array += 1.0
    assert array._storage.node.buffer is not None
    assert old.users == 1  # this function


def test_small_arrays_come_along() -> None:
    """A small array beside those of the engine is read as it is now."""
    large = _inputs("f8")[0]
    with lf.options(eager_size=100):
        row = lf.arange(float(SHAPE[1]))
        for round_ in range(3):
            found = large * row, row - large, lf.where(large > 1.0, row, large)
            wide = large + 0.0
            wide -= row
            row += 1.0
            values, now = lf.asnumpy(large), lf.asnumpy(row) - 1.0
            assert (lf.asnumpy(found[0]) == values * now).all(), round_
            assert (lf.asnumpy(found[1]) == now - values).all()
            assert (lf.asnumpy(found[2]) == host.where(values > 1.0, now, values)).all()
            assert (lf.asnumpy(wide) == values + 0.0 - now).all()
            row_before = lf.asnumpy(row).copy()
            with pytest.raises(ValueError):
                row += large
            assert (lf.asnumpy(row) == row_before).all()


def test_budget() -> None:
    """Machine code asks too whether a trace has become too long, or holds too much."""
    array = _inputs("f8")[0]
    with lf.options(max_pending_nodes=20):
        chain = array
        for _ in range(100):
            chain = chain * 1.5 - 0.5
            assert chain._storage.node.depth <= 20
    with lf.options(max_pending_bytes=10 * array.nbytes):
        total = array * 0.0
        for number in range(100):
            total = total + lf.array(host.full(SHAPE, float(number)))
            assert len(Graph([total._storage.node]).nodes) < 40
    assert float(total[0, 0]) == 4950.0


def test_inputs_that_die_later() -> None:
    """Machine code asks, too, where all that is pending keeps too much alive."""
    gc.collect()
    before, zeros, wanted = BYTES[0], lf.zeros(500_000), 0.0
    state = zeros * 1.0
    with lf.options(max_pending_bytes=8 << 20):
        for number in range(30):
            array = zeros + float(number)
            state, wanted = (state + array) * 0.5, (wanted + number) * 0.5
            lf.materialize(array)
            assert BYTES[0] - before <= 24 << 20
    assert (lf.asnumpy(state) == wanted).all()


def test_bytes_that_no_machine_word_counts() -> None:
    """What a node holds counts every path to it: it doubles with each step here."""
    with lf.options(max_pending_bytes=10**30, max_pending_nodes=10**25):
        for _ in range(3):
            x = lf.ones(SHAPE)
            for _ in range(100):
                x = (x + x) * 0.5
            assert float(x[3, 4]) == 1.0


@pytest.mark.cpu("small arrays that are NumPy's")
def test_orphans_are_known_and_forgotten() -> None:
    """Memory that no array holds is an orphan as long as it is needed."""
    gc.collect()
    before, nbytes = BYTES[0], 8 * SHAPE[0] * SHAPE[1]
    array = lf.array(host.ones(SHAPE))
    kept = array + 1.0
    assert BYTES[0] == before
    del array
    assert BYTES[0] == before + nbytes
    other = lf.array(host.ones(SHAPE))
    more = other * 2.0
    other += 1.0  # the old version is needed by `more` alone
    assert BYTES[0] == before + 2 * nbytes
    with lf.options(eager_size=100):
        row = kept + lf.ones(SHAPE[1])  # the copy of a small array is nobody's
    assert BYTES[0] == before + 2 * nbytes + 8 * SHAPE[1]
    lf.materialize(kept, more, other, row)
    del kept, more, other, row
    gc.collect()
    assert BYTES[0] == before


def test_no_reference_is_lost() -> None:
    """Neither kept for ever nor given away."""
    inputs = _inputs("f8")
    shared = (rerecord.form(inputs[0], threading.get_ident()), inputs[0]._layout, "f8", 1, None)

    nodes = (array._storage.node for array in inputs)

    def run() -> None:
        for name in OPERATIONS:
            OPERATIONS[name](lf, *inputs)

    assert_nothing_is_lost(run, (*shared, *nodes), known=20, rounds=20)


COMPLEX: dict[str, Callable[[Any, Any, Any], Any]] = {
    "numbers": lambda np, z, x: (z * 2.0, 3 - z, z * (1 - 2j), 1j / z, z + host.complex128(2j)),
    "of a real array": lambda np, z, x: (x * 2j, 1j - x, x + host.complex128(1 + 1j)),
    "of NumPy's": lambda np, z, x: (z * host.float32(0.1), host.int64(3) - z, host.float64(2) / z),
    "parts": lambda np, z, x: (z.real * 2.0, z.imag + x, 1.0 / z.real, x - z.imag),
    "both parts": lambda np, z, x: (z.real * z.imag, z.real * z.real + z.imag * z.imag),
    "parts of views": lambda np, z, x: (z.T.real - z.T.imag, z[1:, ::2].imag * z[:-1, 1::2].real),
    "functions of parts": lambda np, z, x: (np.arctan2(z.imag, z.real), np.sqrt(z.real + 9.0)),
    "the same strides": lambda np, z, x: (z.real * 2.0, np.repeat(x, 2, axis=1)[:, ::2] * 2.0),
    "out of parts": lambda np, z, x: np.multiply(z.real, z.imag, out=x * 0.0),
}


@pytest.mark.parametrize("dtype", ("c16", "c8"))
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_and_parts(name: str, dtype: str) -> None:
    """Recorded again, too; parts are read by an operation of their own."""
    values = [host.asarray(each) for each in _inputs("f8")[:2]]
    z = (values[0] + 1j * values[1]).astype(dtype)
    x = values[1].astype("f4" if dtype == "c8" else "f8")

    def program(np: Any, z: Any, x: Any) -> Any:
        z, x = np.array(z), np.array(x)
        return [COMPLEX[name](np, z, x) for _ in range(4)]

    with host.errstate(all="ignore"):
        oracle.check(program, z, x, ulp=4)


def test_complex_numbers_that_do_not_fit() -> None:
    """What complex64 cannot hold is infinite, with NumPy's warning, at each call."""
    large = complex(1.7e308, 1.7e308)
    for dtype in ("c8", "c16"):
        z = lf.array((host.arange(600) + 1j).astype(dtype))
        for _ in range(4):
            z * 2j, z * 2.0  # by recipes from here on
        for number in (2.0, 1e300, 3j, complex(0, 1e300), 4.0, float("inf"), complex("nan"), large,
                       host.complex128(large)):  # fmt: skip
            with host.errstate(all="ignore"):
                found, expected = host.asarray(z * number), host.asarray(z) * number
            host.testing.assert_array_equal(found, expected)
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                host.asarray(z * number)
            with warnings.catch_warnings(record=True) as wanted:
                warnings.simplefilter("always")
                host.asarray(z) * number
            assert len(heard) > 0 or not wanted or oracle.ON_GPU


def test_parts_are_learnt() -> None:
    """Once, not at each call."""
    z = lf.array(host.exp(1j * host.arange(600.0)))
    learnt, before = [0], shortcuts.learn

    def counted(*args: Any) -> Any:
        learnt[0] += 1
        return before(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shortcuts, "learn", counted)
        for _ in range(5):
            z.real * 0.125 + z.imag * 2j
    assert learnt[0] <= 3


def test_what_is_met_once_is_not_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations, writes and reductions are learnt when they come again, each shape apart."""
    learnt = []
    before = shortcuts.learn
    for size in (599, 600):  # what holds for any extent is known
        x = lf.array(host.arange(float(size)))
        assert float((x * 3.25 + 1.0).sum()) > 0.0
    monkeypatch.setattr(shortcuts, "learns_at_once", [False])
    monkeypatch.setattr(shortcuts, "_met", set())
    monkeypatch.setattr(shortcuts, "learn", lambda *args: learnt.append(args[0]) or before(*args))
    for size, count in ((601, 0), (602, 0), (601, 4), (601, 4), (602, 8)):
        x = lf.array(host.arange(float(size)))
        y = x * 3.25 + 1.0
        y[300:] = 0.5
        assert float(y.sum()) > 0.0
        assert len(learnt) == count, size


def test_parts_of_equal_products_are_two_operands() -> None:
    """Arrays that were computed by the same operations are not the same memory: real arrays that
    lie as their parts do are still told apart."""

    def difference(np: Any, w: Any, z: Any) -> Any:
        o = np.zeros(len(w))
        np.subtract(w, z, out=o)
        return o

    def program(np: Any, x: Any, y: Any) -> Any:
        c, d, seen = np.array(x), np.array(y), []
        for _ in range(3):
            w, z = c * d, c * d
            seen += [difference(np, w.real, z.real), difference(np, w.real, d.imag)]
            seen.append(w.real - z.real)
        return seen

    lf.subtract._into.clear()
    x = host.arange(1200.0)
    c, d = lf.array(x[:600] + 1j), lf.array(x[:600] * 3 + 2j)
    w, z, o = c * d, c * d, lf.zeros(600)
    lf.subtract(w.real, z.real, out=o)
    a, b, given = lf.array(x * 7), lf.array(x * 2), lf.zeros(600)
    lf.subtract(a[::2], b[::2], out=given)
    host.testing.assert_array_equal(host.asarray(given), x[::2] * 5)
    oracle.check(program, x[:600] + 1j, x[:600] * 3 + 2j)


def test_parts_of_deep_graphs_are_learnt_at_once() -> None:
    """Without a walk over what is pending under them, however deep, whatever it shares."""
    c, o = lf.array(host.arange(600.0) * 1e-4 + 1e-3j), lf.zeros(600)
    w = z = shared = other = c
    with lf.options(max_pending_nodes=5000), host.errstate(all="ignore"):
        for _ in range(900):
            w, z = w + 1j, z + 1j
        for _ in range(60):
            shared, other = shared * shared + c, other * other + c
        lf.subtract(w.real, z.real, out=o)
        lf.add(shared.real, other.real, out=o)
        assert (w.real - z.imag).shape == (600,)
