"""Ufuncs with `out=` and `where=` on arrays at hand: at once, without conditions of what the mask
leaves out, and as NumPy's in all else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests.oracle import IS_ENGINE, check, lf, options

#: Results of a transcendental function, as elsewhere.
ULP = 4
#: More elements than small arrays have, so that rows are parts of the engine's memory.
VALUES = host.random.default_rng(3).normal(size=(80, 500))
FUNCTIONS = ("log", "sqrt", "exp", "arctan2", "power", "divide", "reciprocal", "hypot", "log1p")


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """As users have it."""
    with options(eager_size=30_000, cold_size=400_000):
        yield


def called(np: Any, name: str, x: Any, y: Any, **kwargs: Any) -> Any:
    function = getattr(np, name)
    return function(*(x, y)[: function.nin], **kwargs)


PARTS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "small": lambda np, m: (m[:3, :8] * 1, m[3:6, :8] * 1),
    "small and a number": lambda np, m: (m[:3, :8] * 1, 2.0),
    "small and broadcast": lambda np, m: (m[:3, :8] * 1, m[0, :8] * 1),
    "rows": lambda np, m: (m[3], m[4]),
    "columns": lambda np, m: (m[:, 3], m[:, 4]),
    "blocks": lambda np, m: (m[3:9, ::7], m[30:36, ::7]),
    "all": lambda np, m: (m, m[::-1]),
    "integers": lambda np, m: ((m[3] * 9).astype(int), m[4]),
    "singles": lambda np, m: (m[3].astype("f4"), m[4].astype("f4")),
    "complex": lambda np, m: (m[3] + 1j, m[4] + 2j),
    "without axes": lambda np, m: (m[3, 5:6].reshape(()), m[4, 5:6].reshape(())),
}
OUTPUTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "new": lambda np, m, x: np.zeros_like(x * 1.0),
    "itself": lambda np, m, x: x,
    "a part": lambda np, m, x: np.full((*x.shape, 3), 7.0)[..., 1],
    "singles": lambda np, m, x: np.full(x.shape, 7.0, "f4"),
    "wider": lambda np, m, x: np.zeros((2, *x.shape)),
    "complex": lambda np, m, x: np.zeros(x.shape, complex),
    "bools": lambda np, m, x: np.zeros(x.shape, bool),
    "a row": lambda np, m, x: m[50, : x.size].reshape(x.shape) if x.size <= 500 else m,
}
MASKS: dict[str, Callable[[Any, Any], Any]] = {
    "positive": lambda np, x: np.real(x) > 0,
    "none": lambda np, x: np.real(x) > 1e9,
    "a row of it": lambda np, x: np.real(x[..., :1]) > 0 if np.ndim(x) else True,
    "NumPy's": lambda np, x: host.ones(np.shape(x), bool),
    "a list": lambda np, x: [True] * x.shape[0] if np.ndim(x) == 1 else False,
    "numbers": lambda np, x: x * 1.0,
    "none at all": lambda np, x: None,
    "a matrix": lambda np, x: host.matrix(host.ones(8) > 0),
    "a masked array": lambda np, x: host.ma.array(host.ones(np.shape(x)) > 0, mask=True),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str, part: str) -> None:
    for make in OUTPUTS.values():
        for mask in MASKS.values():

            def program(np: Any, m: Any, make: Any = make, mask: Any = mask) -> Any:
                x, y = PARTS[part](np, m)
                out = make(np, m, x)
                given = called(np, name, x, y, out=out, where=mask(np, x))
                return given is out, out.astype("f4") if part == "singles" else out

            check(program, VALUES.astype("f4" if part == "singles" else "f8"), ulp=ULP)


@pytest.mark.parametrize("name", ["log", "divide", "sqrt", "reciprocal"])
@pytest.mark.parametrize("part", ["small", "rows", "columns", "all"])
def test_only_what_is_picked_has_conditions(name: str, part: str) -> None:
    def told(np: Any, *, least: float) -> list[str]:
        refused = 0.0 if name in ("divide", "reciprocal") else -1.0
        m = np.array(host.where(VALUES < 0, refused, VALUES))
        y, x = PARTS[part](np, m)
        x = x if name == "divide" else y
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            function = getattr(np, name)
            args = (y, x) if function.nin == 2 else (x,)
            out = function(*args, out=np.zeros_like(x), where=x > least)
            assert host.isfinite(host.asarray(out)).all() or least < 0
        assert {each.filename for each in heard} <= {__file__}
        return [str(each.message) for each in heard]

    assert told(lf, least=0.0) == []
    assert told(lf, least=-2.0) == told(host, least=-2.0)


@pytest.mark.parametrize("part", ["small", "rows"])
def test_what_is_lost_is_told_at_the_users_line(part: str) -> None:
    def told(np: Any) -> list[Any]:
        x, _ = PARTS[part](np, np.array(VALUES))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            np.sqrt(x, out=np.zeros(x.shape, complex), where=x > 0)
        return [(each.category, each.filename, each.lineno) for each in heard]

    assert told(lf) == told(host) != []


def test_read_only_outputs() -> None:
    def program(np: Any, m: Any) -> Any:
        out = np.zeros(8)
        out.flags.writeable = False
        return np.log(m[0, :8], out=out, where=m[0, :8] > 0)

    check(program, VALUES)


@pytest.mark.skipif(not IS_ENGINE, reason="asks lazyfuse about itself")
@pytest.mark.cpu("what is computed at once")
@pytest.mark.parametrize("name", ["log", "divide", "power"])
@pytest.mark.parametrize("part", ["small", "rows"])
def test_it_is_at_once(name: str, part: str) -> None:
    m = lf.array(VALUES)
    x, y = PARTS[part](lf, m)
    lf.reset_stats()
    called(lf, name, x, y, out=lf.zeros_like(x), where=x > 0)
    assert lf.stats().plans_built == lf.stats().plan_hits == lf.stats().cold_runs == 0


def copied(np: Any, out: Any, *args: Any, **kwargs: Any) -> Any:
    np.copyto(out, *args, **kwargs)
    return out


COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "a row": lambda np, m: copied(np, np.zeros(500), m[3], where=m[4] > 0),
    "a number of a row": lambda np, m: copied(np, np.zeros(500), m[3, 2], where=m[4] > 0),
    "into integers": lambda np, m: copied(np, np.zeros(500, int), m[3], where=m[4] > 0),
    "unsafely": lambda np, m: copied(np, np.zeros(500, int), m[3], "unsafe", m[4] > 0),
    "broadcast": lambda np, m: copied(np, np.zeros((3, 500)), m[3], where=m[4] > 0),
    "another shape": lambda np, m: np.copyto(np.zeros(499), m[3], where=m[4] > 0),
    "a mask of numbers": lambda np, m: np.copyto(np.zeros(500), m[3], where=m[4]),
    "itself": lambda np, m: copied(np, m[3], m[3], where=m[4] > 0),
    "by lists": lambda np, m: (m[[[0, 1], [2, 3]], 3], m[[[0, 1], [2, 3]]], m[[[1]], [[2, -3]]]),
    "by lists that are ragged": lambda np, m: m[[[0, 1], [2]]],
    "by lists of nothing": lambda np, m: (m[[[]], 3], m[3, [[], []]]),
    "by lists outside": lambda np, m: m[[[0], [80]]],
    "by lists of masks": lambda np, m: m[3][[[True, False]] * 2],
    "by lists of floats": lambda np, m: m[[[0.0, 1.0]]],
    "written by lists": lambda np, m: m.__setitem__(([[0, 1], [2, 3]], 3), m[0, :2]),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_copies_and_nested_lists(name: str) -> None:
    check(lambda np, m: COPIES[name](np, m), VALUES.copy())
