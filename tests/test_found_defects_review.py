"""Programs that differed from NumPy in review: each docstring tells the failure."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sized
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
