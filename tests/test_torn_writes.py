"""Writes whose value reads what they change: small parts of that are stored first, and the write
changes the memory in place. Values against NumPy; what is copied, by counting."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place plans nothing", allow_module_level=True)

from lazyfuse.ir.node import Map, Update  # noqa: E402 - when there is an engine
from lazyfuse.ir.torn import LEAST, small_reads  # noqa: E402 - likewise

lf = oracle.lf
pytestmark = pytest.mark.engine
#: Edge of a matrix of which a part of most rows has enough elements.
EDGE = 70

Program = Callable[[Any, Any], Any]


def elimination(np: Any, m: Any) -> Any:
    for i in range(5):
        m[i + 1 :] -= (m[i + 1 :, i] / m[i, i])[:, None] * m[i]
    return m


def triangles(np: Any, m: Any) -> Any:
    for k in range(4):
        m[k + 1 :, k] /= m[k, k]
        m[k + 1 :, k + 1 :] -= m[k + 1 :, k : k + 1] * m[k, k + 1 :]
    return m


def by_a_row(np: Any, m: Any) -> Any:
    m[:-1] = np.minimum(m[:-1], m[:-1, 3:4] + m[5])
    return m


def by_an_element(np: Any, m: Any) -> Any:
    m[:, :-1] /= m[4, 7]
    return m


def by_rows_and_a_sum(np: Any, m: Any) -> Any:
    m[1:] = m[1:] * 2.0 + np.sqrt(np.abs(m[0])) + m[1:, 2].sum() - m[1:, 5:6]
    return m


def by_a_scaled_row_reversed(np: Any, m: Any) -> Any:
    m[2:] += (m[2] * 3.0)[::-1]
    return m


IN_PLACE: tuple[Program, ...] = (
    elimination, triangles, by_a_row, by_an_element, by_rows_and_a_sum, by_a_scaled_row_reversed,
)  # fmt: skip


def shifted(np: Any, m: Any) -> Any:
    m[1:] += m[:-1]
    return m


def transposed(np: Any, m: Any) -> Any:
    m[1:, 1:] -= m[1:, 1:].T * m[1, 1:]
    return m


def picked(np: Any, m: Any) -> Any:
    m[1:] -= m[np.arange(1, EDGE)[::-1]]
    return m


def read_later(np: Any, m: Any) -> Any:
    before = m[1:, 2:3] + m[0]
    m[1:] -= m[1:, :1] * m[:1]
    return [before, m, m[3] + before[0]]


COPIED: tuple[Program, ...] = (shifted, transposed, picked, read_later)


def matrix(edge: int = EDGE, dtype: str = "f8") -> Any:
    made = host.random.default_rng(3).uniform(1.0, 2.0, (edge, edge))
    return (made * 40.0 + 50.0 * host.eye(edge)).astype(dtype)


@pytest.mark.parametrize("program", (*IN_PLACE, *COPIED), ids=lambda program: program.__name__)
@pytest.mark.parametrize("edge", (8, EDGE, 400))
def test_values(program: Program, edge: int) -> None:
    if program is picked and edge != EDGE:
        return
    for dtype in ("f8", "f4"):
        oracle.check(program, matrix(edge, dtype), sums=True)
        with oracle.options(passes="none"):
            oracle.check(program, matrix(edge, dtype), sums=True)


@pytest.mark.parametrize("program", IN_PLACE, ids=lambda program: program.__name__)
def test_nothing_is_copied(program: Program) -> None:
    """All but the first write, whose memory the user has."""
    with lf.options(cold_size=0):
        m = lf.asarray(matrix()) * 1.0
        lf.reset_stats()
        found = program(lf, m)
        lf.materialize(found)
        assert lf.stats().copies == 0


def test_most_of_what_is_read_is_copied() -> None:
    with lf.options(cold_size=0):
        m = lf.asarray(matrix()) * 1.0
        lf.reset_stats()
        lf.materialize(shifted(lf, m))
        assert lf.stats().copies == 1


def last_write(m: Any) -> Update:
    node = m._storage.node
    assert isinstance(node, Update) and node.buffer is None
    return node


def test_what_is_set_apart() -> None:
    """An operation itself, a view as it is; nothing of what is read elsewhere, or where it is
    written, and of small writes."""

    def of(change: Callable[[Any], None], edge: int = EDGE) -> list[Any]:
        m = lf.asarray(matrix(edge)) * 1.0
        change(m)
        return small_reads(last_write(m))

    def change(expression: Callable[[Any], Any]) -> Callable[[Any], None]:
        return lambda m: m.__setitem__(slice(1, None), expression(m))

    with lf.options(eager_size=0, cold_size=0):
        (view,) = of(change(lambda m: m[1:] - m[1:, :1]))
        assert view.shape == (EDGE - 1, 1) and not isinstance(view, Map)
        (divided,) = of(change(lambda m: m[1:] - (m[1:, 0] / m[1, 1])[:, None] * m[0]))
        assert isinstance(divided, Map) and divided.op.name == "divide"
        assert of(change(lambda m: m[1:] - m[0])) == []
        assert of(change(lambda m: m[1:] * 2.0)) == []
        assert of(change(lambda m: m[:-1] * m[1:, :1])) == []
        assert (EDGE - 1) * EDGE >= LEAST > 39 * 40
        assert of(change(lambda m: m[1:] - m[1:, :1]), 40) == []
        assert of(change(lambda m: m[1:] - m[1:, : EDGE // 8].repeat(9, 1)[:, :EDGE])) == []


def part(draw: random.Random, edge: int) -> tuple[slice, ...]:
    """A key of rows and columns."""
    return tuple(
        slice(draw.randrange(3), edge - draw.randrange(3), draw.choice((1, 1, 1, 2)))
        for _ in range(2)
    )


def operand(draw: random.Random, np: Any, m: Any, shape: tuple[int, int]) -> Any:
    """Something of a matrix that has the shape, or is broadcast to it."""
    rows, columns = shape
    row, column = draw.randrange(m.shape[0] - rows + 1), draw.randrange(m.shape[1] - columns + 1)
    at, beside = draw.randrange(m.shape[0]), draw.randrange(m.shape[1])
    found = (
        lambda: m[row : row + rows, column : column + columns],
        lambda: m[row : row + rows, beside : beside + 1],
        lambda: m[at, column : column + columns],
        lambda: m[at, beside],
        lambda: m[row : row + rows, beside][::-1, None],
        lambda: m[at, column : column + columns][::-1],
    )
    value = found[draw.randrange(len(found))]()
    kind = draw.randrange(4)
    if kind == 0:
        return value * 0.5 + 1.0
    return np.sqrt(np.abs(value)) if kind == 1 else value


def random_writes(seed: int) -> Program:
    """A few writes of parts of a matrix, each by what it reads of the matrix."""

    def program(np: Any, m: Any) -> Any:
        draw = random.Random(seed)
        kept = []
        for _ in range(draw.randint(1, 4)):
            key = part(draw, len(m)) if draw.random() < 0.8 else (slice(None), slice(None))
            shape = m[key].shape
            value = operand(draw, np, m, shape)
            for _ in range(draw.randint(0, 2)):
                other = operand(draw, np, m, shape)
                value = np.minimum(value, other) if draw.random() < 0.3 else value - other
            if draw.random() < 0.6:
                m[key] -= value
            else:
                m[key] = value
            if draw.random() < 0.2:
                kept.append(m[3] + m[:, 2:3])
        return [m, *kept]

    return program


@pytest.mark.parametrize("seed", range(60))
def test_random_writes(seed: int) -> None:
    edge = random.Random(seed).choice((20, EDGE, 90, 130))
    with oracle.options(cold_size=0):
        oracle.check(random_writes(seed), matrix(edge))


def test_ever_new_sizes() -> None:
    """Plans of other sizes follow, also from those that store parts first: each is compared with
    the one that is made."""
    with lf.options(check=True, cold_size=0):
        for edge in (520, 523, 530, 541, 600):
            for program in (elimination, triangles, by_an_element):
                m = matrix(edge)
                given = lf.asarray(m) * 1.0
                host.testing.assert_allclose(
                    host.asarray(program(lf, given)), program(host, m), rtol=1e-9
                )


def test_plans_follow_from_others() -> None:
    """In a loop whose steps have ever new sizes no more than a few plans are made."""
    with lf.options(cold_size=0):
        m = lf.asarray(matrix(600)) * 1.0
        lf.materialize(m)
        lf.cache_clear()
        lf.reset_stats()
        for i in range(30):
            m[i + 1 :] -= (m[i + 1 :, i] / m[i, i])[:, None] * m[i]
            lf.materialize(m)
        stats = lf.stats()
        assert stats.plans_alike >= 20
        assert stats.copies <= 1


def test_small_parts_have_an_order() -> None:
    """It says which trace is of which class, so it is the same each time."""
    orders = set()
    with lf.options(eager_size=0, cold_size=0):
        for _ in range(40):
            m = lf.asarray(matrix()) * 1.0
            m[1:] = m[1:, :1] * m[5] - m[1:, 3:4] * m[7] + m[1:, 6:7] / m[8]
            found = [node.layout.offset for node in small_reads(last_write(m))]
            assert len(found) == 6
            orders.add(tuple(found))
    assert len(orders) == 1
