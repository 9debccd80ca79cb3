"""Arrays of NumPy's as outputs of its ufuncs on arrays of ours, in memory, small and pending: with
NumPy's values, aliasing, errors and warnings, in Python and beside machine code."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from lazyfuse.frontend import windows  # noqa: E402 - when there is an engine
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

VOLUME = host.linspace(-3.0, 5.0, 40 * 30 * 20).reshape(40, 30, 20)
ROW = host.linspace(0.5, 2.5, 20)

#: Of a volume x, of which parts are in memory, a small array s and an output o of NumPy's.
PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a row": lambda x, s, o: host.add(o[3], x[3, 4], out=o[3]),
    "in place": lambda x, s, o: o[2].__iadd__(x[3, 4]),
    "an operator in place": lambda x, s, o: o.__imul__(x[5, :12]),
    "small": lambda x, s, o: host.multiply(s, o[1], out=o[1]),
    "a small one in place": lambda x, s, o: o[0].__isub__(s),
    "broadcast": lambda x, s, o: host.maximum(x[7, 8], s, out=o),
    "a number": lambda x, s, o: host.power(x[7, :12], 2, out=o),
    "by position": lambda x, s, o: host.subtract(x[7, 8], o[1], o[0]),
    "a column": lambda x, s, o: host.add(x[:20, 3, 4], o[4], out=o[4]),
    "every other": lambda x, s, o: host.add(x[0, 1, ::2], s[::2], out=o[5, ::2]),
    "turned": lambda x, s, o: host.add(x[:20, :12, 1].T, 1, out=o),
    "of an element": lambda x, s, o: host.add(x[0, 0, 3], o, out=o),
    "its own neighbour": lambda x, s, o: host.add(o[1:], x[2, 3], out=o[:-1]),
    "pending": lambda x, s, o: host.add((x * 2)[3, 4], s + 1, out=o[0]),
    "inexact": lambda x, s, o: host.exp(x[3, 4] * 0, out=o[2]),
    "a comparison": lambda x, s, o: host.greater(x[3, 4], s, out=o[2].view("?")[::8]),
    "another dtype": lambda x, s, o: host.add(x[3, 4], 1, out=o[2].view("f4")[:20]),
    "divided by 0": lambda x, s, o: host.divide(x[3, 4], s * 0, out=o[6]),
    "two outputs": lambda x, s, o: host.divmod(x[3, 4], s, out=(o[6], o[7])),
    "where": lambda x, s, o: host.add(x[3, 4], s, out=o[6], where=x[3, 4] > s),
    "large": lambda x, s, o: host.add(x, x, out=host.zeros(x.shape)),
    "into memory that is lent": lambda x, s, o: host.add(x[3, 4], x[5, 6], out=lent(x)[3, 5]),
    "over itself": lambda x, s, o: host.add(x[3, :10], 1, out=lent(x)[3, 1:11]),
}  # fmt: skip
REFUSED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "another shape": lambda x, s, o: host.add(x[3, 4], s, out=o[0, :3]),
    "integers": lambda x, s, o: host.add(x[3, 4], s, out=o[0].view("i8")),
    "read-only": lambda x, s, o: host.add(x[3, 4], s, out=host.broadcast_to(o[0, 0], 20)),
    "apart": lambda x, s, o: host.add(x[3, 4], x[3, :3], out=o),
}


def lent(x: Any) -> Any:
    return host.asarray(x)


def told(program: Callable[[Any, Any, Any], Any], *arrays: Any) -> Any:
    """What a program leaves in all arrays, gives or raises, and what it warns of where."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for _ in range(3):
            try:
                found = repr(host.asarray(program(*arrays)))
            except (TypeError, ValueError) as error:
                found = f"{type(error)} {error}"
    words = [(str(each.message), each.filename) for each in heard]
    return found, [host.asarray(each).tobytes() for each in arrays], words


@pytest.mark.parametrize("name", (*PROGRAMS, *REFUSED))
def test_programs(name: str) -> None:
    program = (PROGRAMS | REFUSED)[name]
    out = host.linspace(0.25, 9.0, 12 * 20).reshape(12, 20)
    expected = told(program, VOLUME.copy(), ROW.copy(), out.copy())
    with lf.options(eager_size=700):
        assert told(program, lf.array(VOLUME), lf.array(ROW), out.copy()) == expected


def test_the_modulus_is_the_kernels() -> None:
    """Of complex numbers, whose bits are not NumPy's: it is not computed at once."""
    z = lf.array(VOLUME + 1j * VOLUME[::-1])
    out = host.zeros(20)
    with lf.options(eager_size=700):
        assert not lf.absolute.has_written((z[3, 4],), (out,))
        assert lf.absolute.has_written((lf.array(VOLUME)[3, 4],), (out,))


def test_it_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is pending in the array is not computed for its rows in memory, nothing is copied."""
    done: list[bool] = []
    delivered = windows.delivered

    def noted(*args: Any) -> bool:
        done.append(delivered(*args))
        return done[-1]

    monkeypatch.setattr(windows, "delivered", noted)
    out = ROW.copy()
    with lf.options(eager_size=700):
        x = lf.array(VOLUME)
        out += x[3, 4]
        host.multiply(out, lf.array(ROW), out=out)
    assert done == [True, True] and (out == (ROW + VOLUME[3, 4]) * ROW).all()
