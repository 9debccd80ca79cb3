"""Bad input raises NumPy's exception at the recording call and changes nothing; a broken backend
is no wrong answer.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

F = host.arange(12.0).reshape(3, 4)
I = host.arange(12).reshape(3, 4)  # noqa: E741 - I for integers, as F and B
B = I % 2 == 0

Faulty = Callable[[Any, Any], Any]

#: name -> (program, its array). Each raises in NumPy.
FAULTS: dict[str, tuple[Faulty, Any]] = {
    "shapes": (lambda np, x: x + np.ones(3), F),
    "shapes in place": (lambda np, x: x.__iadd__(np.ones((2, 3, 4))), F),
    "shapes in where": (lambda np, x: np.where(x > 1, x, np.ones(5)), F),
    "shapes in clip": (lambda np, x: np.clip(x, np.ones(5), 2), F),
    "boolean subtract": (lambda np, x: x - x, B),
    "boolean negative": (lambda np, x: -x, B),
    "float invert": (lambda np, x: ~x, F),
    "float shift": (lambda np, x: x << 1, F),
    "float and": (lambda np, x: x & 1, F),
    "float gcd": (lambda np, x: np.gcd(x, 2), F),
    "complex floor": (lambda np, x: np.floor(x * 1j), F),
    "complex less than": (lambda np, x: np.floor_divide(x * 1j, 2), F),
    "complex remainder": (lambda np, x: (x * 1j) % 2, F),
    "complex arctan2": (lambda np, x: np.arctan2(x * 1j, 2), F),
    "ldexp by float": (lambda np, x: np.ldexp(x, x), F),
    "int plus half in place": (lambda np, x: x.__iadd__(0.5), I),
    "int divided in place": (lambda np, x: x.__itruediv__(2), I),
    "int times complex in place": (lambda np, x: x.__imul__(1j), I),
    "uint8 plus 300": (lambda np, x: x.astype("u1") + 300, I),
    "uint8 plus -1": (lambda np, x: x.astype("u1") + -1, I),
    "int64 plus 2**64": (lambda np, x: x + 2**64, I),
    "int8 times 200 in place": (lambda np, x: x.astype("i1").__imul__(200), I),
    "axis of sum": (lambda np, x: x.sum(axis=2), F),
    "negative axis of max": (lambda np, x: np.max(x, axis=-3), F),
    "repeated axis": (lambda np, x: x.sum(axis=(0, 0)), F),
    "repeated axis in disguise": (lambda np, x: x.sum(axis=(0, -2)), F),
    "axis is a float": (lambda np, x: x.sum(axis=1.0), F),
    "several axes of argmax": (lambda np, x: x.argmax(axis=(0, 1)), F),
    "max of nothing": (lambda np, x: x[:0].max(), F),
    "min of nothing along an axis": (lambda np, x: x[:0].min(axis=0), F),
    "argmax of nothing": (lambda np, x: x[:, :0].argmax(axis=1), F),
    "max with where but no initial": (lambda np, x: x.max(where=x > 3), F),
    "out of a fold too small": (lambda np, x: x.sum(axis=0, out=np.zeros(3)), F),
    "out is no array": (lambda np, x: np.add(x, x, out=3), F),
    "out too small": (lambda np, x: np.add(x, x, out=np.zeros(4)), F),
    "out too narrow": (lambda np, x: np.add(x, x, out=np.zeros((3, 4), "f4").astype("i4")), F),
    "where is no bool": (lambda np, x: np.add(x, x, where=x), F),
    "reshape": (lambda np, x: x.reshape(5, -1), F),
    "reshape with two unknowns": (lambda np, x: x.reshape(-1, -1), F),
    "reshape to another size": (lambda np, x: x.reshape(13), F),
    "transpose": (lambda np, x: x.transpose(0), F),
    "transpose twice the same": (lambda np, x: x.transpose(0, 0), F),
    "swapaxes": (lambda np, x: x.swapaxes(0, 2), F),
    "moveaxis": (lambda np, x: np.moveaxis(x, 0, 5), F),
    "squeeze": (lambda np, x: x.squeeze(0), F),
    "expand_dims": (lambda np, x: np.expand_dims(x, 5), F),
    "broadcast_to": (lambda np, x: np.broadcast_to(x, (3, 5)), F),
    "concatenate nothing": (lambda np, x: np.concatenate([]), F),
    "concatenate shapes": (lambda np, x: np.concatenate([x, x.T]), F),
    "concatenate axis": (lambda np, x: np.concatenate([x, x], axis=2), F),
    "stack shapes": (lambda np, x: np.stack([x, x.T]), F),
    "index beyond": (lambda np, x: x[3], F),
    "index far below": (lambda np, x: x[0, -5], F),
    "too many indices": (lambda np, x: x[0, 0, 0], F),
    "index by text": (lambda np, x: x["a"], F),
    "index by float": (lambda np, x: x[0.0], F),
    "step zero": (lambda np, x: x[::0], F),
    "assignment beyond": (lambda np, x: x.__setitem__(7, 1.0), F),
    "assignment shape": (lambda np, x: x.__setitem__(slice(2), np.ones((3, 4))), F),
    "assignment to a broadcast": (
        lambda np, x: np.broadcast_to(x, (2, 3, 4)).__setitem__(0, 1), F,
    ),
    "in place on a broadcast": (lambda np, x: np.broadcast_to(x[0], (3, 4)).__iadd__(1), F),
    "delete": (lambda np, x: x.__delitem__(0), F),
    "truth": (lambda np, x: bool(x), F),
    "if": (lambda np, x: 1 if x > 2 else 0, F),
    "index of many": (lambda np, x: range(x[0]), I),
    "float as index": (lambda np, x: range(x[0, 1]), F),
    "float of many": (lambda np, x: float(x), F),
    "item of many": (lambda np, x: x.item(), F),
    "len of a scalar": (lambda np, x: len(x[0, 0, ...]), F),
    "iteration of a scalar": (lambda np, x: list(x[0, 0, ...]), F),
    "hash": (lambda np, x: hash(x), F),
    "unknown dtype": (lambda np, x: x.astype("q9"), F),
    "casting": (lambda np, x: x.astype("i4", casting="safe"), F),
    "casting in a ufunc": (lambda np, x: np.add(x, 1, dtype="i4"), F),
    "unknown keyword": (lambda np, x: np.add(x, 1, colour=3), F),
    "too few arguments": (lambda np, x: np.add(x), F),
    "unknown attribute": (lambda np, x: x.colour, F),
    "matmul shapes": (lambda np, x: x @ x, F),
    "negative length": (lambda np, x: np.zeros(-1), F),
    "add text": (lambda np, x: x + "a", F),
    "add None": (lambda np, x: x + None, F),
    "integer to a negative power": (lambda np, x: x**-1, I),
    "linspace": (lambda np, x: np.linspace(0, 1, -2), F),
    "clip without bounds": (lambda np, x: x.clip(out=np.zeros(2)), F),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_fault(name: str) -> None:
    """The type of the exception is NumPy's, it comes at the call, and the array keeps its
    values.
    """
    program, array = FAULTS[name]
    with pytest.raises(Exception):  # noqa: B017 - a fault that NumPy accepts is no fault
        program(host, array.copy())
    oracle.check(program, array)


def test_pending_work_survives_a_fault() -> None:
    """What was recorded before a refused operation is still right, and so is the array it was
    refused for.
    """

    def program(np: Any, x: Any) -> list[Any]:
        y = x * 2
        for attempt in (
            lambda: y + np.ones(7),
            lambda: y.sum(axis=9),
            lambda: y.__setitem__(99, 1),
        ):
            with pytest.raises((ValueError, IndexError)):
                attempt()
        y += 1
        return [y, y.sum(0)]

    oracle.check(program, F)


def test_negative_powers_of_integers() -> None:
    """Integers to negative integer powers raise ValueError, also when the exponents are an
    array.
    """
    lf = oracle.lf
    with pytest.raises(ValueError, match="negative integer powers"):
        lf.materialize(
            lf.array(I) ** lf.array([1, 2, -1, 3])
        ) if oracle.IS_ENGINE else I ** host.array([1, 2, -1, 3])


def test_messages_name_the_shapes() -> None:
    """A broadcast error says which shapes do not fit."""
    with pytest.raises(ValueError, match=r"\(3,4\).*\(5,?\)|\(3, 4\).*\(5,\)"):
        oracle.to_lazy(F) + oracle.to_lazy(host.ones(5))


def _break_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("planted: no code today")

    backend = importlib.import_module("lazyfuse.runtime.session").backend
    monkeypatch.setattr(type(backend(oracle.lf.ones(1).device)), "compile", refuse)


@pytest.mark.engine
def test_a_kernel_that_does_not_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """It warns with the ops and the user's line, and the plan runs op by op with the right
    answer.
    """
    lf = oracle.lf
    lf.cache_clear()
    _break_the_compiler(monkeypatch)
    with oracle.options(disk_cache=False), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = lf.array(host.arange(40_000.0))
        y = lf.hypot(x, 3.0) * lf.cosh(x / 1e5) - 7  # recorded here
        given = lf.asnumpy(y)
    wanted = host.hypot(host.arange(40_000.0), 3.0) * host.cosh(host.arange(40_000.0) / 1e5) - 7
    assert host.allclose(given, wanted, rtol=1e-14)
    text = " ".join(str(one.message) for one in caught)
    assert "planted: no code today" in text or "build" in text
    assert all(name in text for name in ("hypot", "cosh", "multiply", "subtract")), text
    assert os.path.basename(__file__) in text, text


@pytest.mark.engine
def test_a_failing_build_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call site warns once, however often it runs."""
    lf = oracle.lf
    lf.cache_clear()
    _break_the_compiler(monkeypatch)
    x = lf.array(host.arange(30_000.0))
    with oracle.options(disk_cache=False), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", lf.UnfusedWarning)
        for _ in range(5):
            lf.materialize((x + 1.5) * 2.25 - lf.sqrt(x))
    assert len(caught) == 1, [str(one.message) for one in caught]


@pytest.mark.engine
def test_options_are_checked() -> None:
    """An unknown option or a value of the wrong type is refused with the choices."""
    lf = oracle.lf
    with pytest.raises(TypeError, match="fusionn"), lf.options(fusionn=True):
        pass
    with pytest.raises(TypeError, match="threads"), lf.options(threads="two"):
        pass
    with pytest.raises(ValueError, match="silent"), lf.options(fallback="loud"):
        pass


@pytest.mark.engine
def test_fallback_modes() -> None:
    """`fallback="error"` refuses what leaves the engine, "warn" says so once per line with the
    cure, "silent" counts.
    """
    lf = oracle.lf
    x = lf.array(F)
    errors = importlib.import_module("lazyfuse.errors")
    with lf.options(fallback="error"), pytest.raises(errors.FallbackError, match="nanmedian"):
        lf.nanmedian(x)
    with lf.options(fallback="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert float(lf.nanmedian(x)) == 5.5
    assert [issubclass(one.category, errors.FallbackWarning) for one in caught] == [True]
    assert caught[0].filename == __file__ and "nanmedian" in str(caught[0].message)
    lf.reset_stats()
    lf.nanmedian(x)
    assert lf.stats().fallbacks == 1


@pytest.mark.engine
def test_unknown_devices() -> None:
    """A device that is not there is refused with a typed error that says what there is."""
    lf = oracle.lf
    with pytest.raises((ValueError, RuntimeError), match="tpu"):
        lf.zeros(3).to_device("tpu")
    assert lf.devices()[0] and lf.zeros(3).device


@pytest.mark.engine
def test_globals_that_have_gone_mean_no_others() -> None:
    """Those of this package are known by their address. A copy of a module's went, and the globals
    of a program that were there next were passed over: warnings named another line."""
    from lazyfuse.runtime import caller

    names: dict[str, Any] = {"__name__": "lazyfuse.copied"}
    place = id(names)
    assert caller.is_ours(names) and place in caller.OURS
    del names
    others = [{"__name__": str(number)} for number in range(1000)]
    assert place not in map(id, others)


@pytest.mark.parametrize("eager_size", [0, 4096])
def test_shapes_that_do_not_fit_are_all_told(eager_size: int) -> None:
    """That of the mask was left out."""

    def told(np: Any) -> str:
        x = np.ones((3, 4))
        with pytest.raises(ValueError, match="could not be broadcast") as caught:
            np.add(x, x.T, out=np.ones(3), where=x > 0)
        return str(caught.value)

    with oracle.options(eager_size=eager_size):
        assert told(oracle.lf) == told(host)


@pytest.mark.parametrize("eager_size", [0, 4096])
@pytest.mark.parametrize(
    "shapes", [((3,), (3,)), ((3, 2), (2,)), ((3, 2), (2, 3)), ((3,), (3, 1)), ((3,), ())]
)
def test_products_in_place_that_do_not_fit(eager_size: int, shapes: Any) -> None:
    """Large arrays named the shapes alone, not what is wrong with them."""

    def told(np: Any) -> str:
        x, other = map(np.ones, shapes)
        with pytest.raises(ValueError, match="matri|matmul") as caught:
            x @= other
        return str(caught.value)

    with oracle.options(eager_size=eager_size):
        assert told(oracle.lf) == told(host)
