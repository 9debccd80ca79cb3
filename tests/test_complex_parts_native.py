"""`x.real` and `x.imag` by machine code, and what is read and written through them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.python_calls import python_calls

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

lf = oracle.lf
pytestmark = pytest.mark.usefixtures("operators")
DRAW = host.random.default_rng(3)
GRID = DRAW.normal(size=(12, 10)) + 1j * DRAW.normal(size=(12, 10))
#: Elements of small arrays: none, or more than there are.
SIZES = (0, 1000)


@pytest.fixture(autouse=True, params=SIZES)
def sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    with lf.options(eager_size=request.param):
        yield


VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda z: z, "row": lambda z: z[3], "column": lambda z: z[:, 4],
    "turned": lambda z: z.T, "backwards": lambda z: z[::-1, ::-2],
    "block": lambda z: z[2:7, 3:5], "none": lambda z: z[:0],
    "one": lambda z: z[1:2, 1:2], "without axes": lambda z: z[1, 1, ...],
    "new axes": lambda z: z[None, :, None], "flat": lambda z: z.reshape(-1),
    "parts of parts": lambda z: z.real[1:], "every": lambda z: z.imag[::2, ::3],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ("c16", "c8", "f8", "f4", "i8", "u1", "?"))
@pytest.mark.parametrize("view", VIEWS)
def test_parts(view: str, dtype: str) -> None:
    """Values, dtypes, strides, whether they are views and may be written, of what is computed and
    of what is pending."""

    def program(np: Any, z: Any) -> Any:
        found = []
        for given in (np.array(z).astype(dtype), np.array(z).astype(dtype) + np.array(z, dtype)):
            x = VIEWS[view](given)
            for part in (x.real, x.imag):
                found += [part, part.strides, part.flags.writeable, part.flags.c_contiguous]
                found += [part.T, part * 2, part.sum(), part.base is None or part.base is given]
            found.append(x.real is x)
        return found

    with host.errstate(all="ignore"):
        oracle.check(program, GRID)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "an element": lambda np, z: z.real.__setitem__((3, 4), 7.5),
    "an int": lambda np, z: z.imag.__setitem__((3, 4), 7),
    "a bool": lambda np, z: z.imag.__setitem__((3, 4), True),
    "much": lambda np, z: z.imag.__setitem__((3, 4), 1e300),
    "a row": lambda np, z: z.real.__setitem__(3, z.imag[4]),
    "its own row": lambda np, z: z.real.__setitem__(slice(1, None), z.real[:-1]),
    "a number": lambda np, z: z.imag.__setitem__(slice(2, 5), -1.0),
    "a list": lambda np, z: z.real.__setitem__((slice(0, 3), 2), [1, 2, 3]),
    "places": lambda np, z: z.real.__setitem__([1, 1, 2], 5.0),
    "a mask": lambda np, z: z.real.__setitem__(z.imag > 0, 0.0),
    "picked": lambda np, z: z.real.__setitem__(z.imag > 0, z.imag[z.imag > 0]),
    "in place": lambda np, z: z.real.__iadd__(z.imag),
    "a row in place": lambda np, z: z.real[3].__imul__(2.0),
    "an output": lambda np, z: np.add(z.real[2], 1.0, out=z.imag[3]),
    "a function": lambda np, z: np.sqrt(z.real[2], out=z.imag[3]),
    "filled": lambda np, z: z.real[5:].fill(2.5),
    "a view of views": lambda np, z: z.T[2].real[::2].__setitem__(1, 9.0),
    "complex": lambda np, z: z.real.__setitem__((0, 0), 1 + 2j),
    "text": lambda np, z: z.real.__setitem__((0, 0), "one"),
    "wrong shape": lambda np, z: z.real.__setitem__(0, [1.0, 2.0]),
    "outside": lambda np, z: z.real.__setitem__((12, 0), 1.0),
    "sorted": lambda np, z: z.real[4].sort(),
    "set": lambda np, z: setattr(z, "real", z.imag),
    "a part": lambda np, z: setattr(z[2:4], "imag", 3.0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ("c16", "c8"))
@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str, dtype: str) -> None:
    """What is written through a part the array sees, its other part does not; errors are NumPy's,
    and copies that were made before stay as they were."""

    def program(np: Any, z: Any) -> Any:
        x = np.array(z).astype(dtype)
        if np is lf:
            np.materialize(x)
        before, real, imag = x + 0, x.real, x.imag
        try:
            WRITES[name](np, x)
            outcome = None
        except Exception as error:
            outcome = type(error).__name__, str(error)
        again = real * 1
        if not outcome:
            WRITES[name](np, x)
        return outcome, x, real, imag, before, again

    with host.errstate(all="ignore"):
        oracle.check(program, GRID)


def test_read_only_parts() -> None:
    def program(np: Any, z: Any) -> Any:
        x = np.array(z)
        x.flags.writeable = False
        part, errors = x.real, []
        for key, value in (((0, 0), 1.0), (slice(None), 2.0), ([1], 3.0)):
            with pytest.raises(ValueError, match="read-only") as raised:
                part[key] = value
            errors.append(str(raised.value))
        return part.flags.writeable, errors, x

    oracle.check(program, GRID)


def test_no_python() -> None:
    """For a part, and for a number that is read or written through it."""
    for z in (lf.array(GRID) * 1.0, lf.array(GRID.real) * 1.0):
        lf.materialize(z)
        assert not python_calls(lambda: (z.real, z[3].real, z.T.real))  # noqa: B023
    z = lf.array(GRID) * 1.0
    lf.materialize(z)
    part = z.imag
    assert not python_calls(lambda: (z.imag, part[3, 4], part[3]))
    assert not python_calls(lambda: part.__setitem__((3, 4), 2.0))
    assert complex(z[3, 4]).imag == 2.0


def test_references() -> None:
    """A part keeps its array, and nothing else more than once."""
    z = lf.array(GRID) * 1.0
    lf.materialize(z)

    def counted() -> tuple[int, ...]:
        gc.collect()
        kept = z, None, z.dtype, z.real.dtype
        return tuple(map(sys.getrefcount, kept))

    for times in (3, 1000):
        before = counted()
        for _ in range(times):
            parts = z.imag, z.real, z[3].imag
        del parts
        after = counted()
    assert after[0] == before[0]
    assert all(abs(one - other) < 300 for one, other in zip(before, after, strict=True))
