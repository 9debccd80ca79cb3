"""Small arrays that machine code makes of numbers, shapes and other small arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle
from tests.losses import assert_nothing_is_lost
from tests.python_calls import python_calls

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has its own", allow_module_level=True)

from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too

pytestmark = pytest.mark.usefixtures("operators")
NAN, INF = float("nan"), float("inf")


class Float(float):
    """A float of another class."""


class List(list):  # type: ignore[type-arg]
    """A list of another class."""


@pytest.fixture(autouse=True)
def sizes() -> Iterator[None]:
    with lf.options(eager_size=1000):
        yield


#: What arrays are made of; the first rows by machine code, the others by NumPy.
GIVEN: dict[str, Callable[[Any], Any]] = {
    "floats": lambda np: [1.5, -0.0, NAN, INF, 5e-324],
    "ints": lambda np: [1, -2, 2**63 - 1, -(2**63)],
    "both": lambda np: (1, 2.5, 2**53 + 1, -(2**62) - 1),
    "NumPy's": lambda np: [np.float64(0.1), 2, 0.3],
    "elements": lambda np: [*(np.arange(4.0) / 3)[1:]],
    "one": lambda np: [7],
    "rows": lambda np: [[1.0, 2.0], [3.0, -0.0]],
    "rows of ints": lambda np: ((1, 2, 3), [4, 5, 6]),
    "rows of both": lambda np: [[1, 2], [3.5, 4]],
    "a column": lambda np: [[1], [2.0], [3]],
    "64": lambda np: [0.1 * i for i in range(64)],
    "8 by 8": lambda np: [[0.1 * i * j for i in range(8)] for j in range(8)],
    "65": lambda np: [0.1 * i for i in range(65)],
    "8 by 9": lambda np: [[0.1 * i * j for i in range(8)] for j in range(9)],
    "none": lambda np: [],
    "rows of none": lambda np: [[], []],
    "unequal rows": lambda np: [[1, 2], [3]],
    "rows and numbers": lambda np: [[1, 2], 3],
    "planes": lambda np: [[[1.0, 2.0]], [[3.0, 4.0]]],
    "bools": lambda np: [True, False],
    "bools and floats": lambda np: [True, 2.0],
    "large ints": lambda np: [2**63, 1],
    "larger ints": lambda np: [2**64, 1],
    "large ints and floats": lambda np: [2**64, 1.5],
    "complex": lambda np: [1.0, 2j],
    "int32": lambda np: [np.int32(3), 4],
    "float32": lambda np: [np.float32(0.1), 4],
    "floats of another class": lambda np: [Float(2.5), 1.0],
    "a list of another class": lambda np: List([1.0, 2.0]),
    "None": lambda np: [None, 1.0],
    "strings": lambda np: ["a", "bc"],
    "arrays": lambda np: [np.arange(3.0), np.ones(3)],
    "a number": lambda np: 5,
}
WORDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "bare": lambda np: {},
    **{f"dtype={name}": lambda np, name=name: {"dtype": getattr(np, name)}
       for name in ("float64", "float32", "int64", "int32", "complex128")},
    "dtype=float": lambda np: {"dtype": float},
    "dtype=int": lambda np: {"dtype": int},
    "dtype=bool": lambda np: {"dtype": bool},
    "dtype=f8": lambda np: {"dtype": "f8"},
    "dtype=np.dtype": lambda np: {"dtype": np.dtype(float)},
    "dtype=>f8": lambda np: {"dtype": np.dtype(">f8")},
    "dtype=None": lambda np: {"dtype": None},
    "ndmin": lambda np: {"ndmin": 2},
    "order": lambda np: {"order": "F"},
    "copy": lambda np: {"copy": True},
}  # fmt: skip


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("given", GIVEN)
def test_arrays_of_numbers(given: str, words: str) -> None:
    def array(np: Any) -> Any:
        return np.array(GIVEN[given](np), **WORDS[words](np))

    def as_array(np: Any) -> Any:
        return np.asarray(GIVEN[given](np), **WORDS[words](np))

    def of_dtype(np: Any) -> Any:
        return np.array(GIVEN[given](np), *WORDS[words](np).values())

    oracle.check(array)
    if words != "ndmin":
        oracle.check(as_array)
    if words.startswith("dtype"):
        oracle.check(of_dtype)


SHAPES = (
    0,
    1,
    7,
    1000,
    1024,
    2000,
    (),
    (3,),
    (2, 3),
    (0, 4),
    (1, 1000),
    (2, 3, 4),
    -1,
    (2, -1),
    2.5,
)


@pytest.mark.parametrize("words", [name for name in WORDS if name.startswith(("bare", "dtype"))])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_arrays_of_a_shape(name: str, shape: Any, words: str) -> None:
    def made(np: Any) -> Any:
        return getattr(np, name)(shape, **WORDS[words](np))

    def of_dtype(np: Any) -> Any:
        return getattr(np, name)(shape, *WORDS[words](np).values())

    def observed(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """What is the same of memory that nobody has written."""

        def described(np: Any) -> Any:
            found = program(np)
            return found.shape, found.strides, found.dtype.str, found.flags.writeable

        return described if name == "empty" else program

    oracle.check(observed(made))
    if words != "bare":
        oracle.check(observed(of_dtype))


@pytest.mark.parametrize("stop", [0, 1, 9, 1000, 1001, 1025, -3, 2.5, 2**70, True])
def test_ranges(stop: Any) -> None:
    oracle.check(lambda np: np.arange(stop))
    oracle.check(lambda np: np.arange(stop, dtype=float))


COPIED: dict[str, Callable[[Any], Any]] = {
    "a line": lambda np: np.arange(6.0),
    "ints": lambda np: np.arange(6, dtype="i4"),
    "steps": lambda np: np.arange(12.0)[::2],
    "back": lambda np: np.arange(6.0)[::-1],
    "columns first": lambda np: np.arange(6.0).reshape(2, 3).T,
    "no axes": lambda np: np.array(3.0),
    "read-only": lambda np: np.broadcast_to(np.arange(3.0), (2, 3)),
    "others' order": lambda np: np.arange(3).astype(">f8"),
    "of more elements": lambda np: np.arange(5000.0),
}


@pytest.mark.parametrize("words", ["bare", "dtype=float", "dtype=int", "dtype=np.dtype", "order"])
@pytest.mark.parametrize("name", ["array", "asarray", "asanyarray", "copy"])
@pytest.mark.parametrize("given", COPIED)
def test_of_arrays(given: str, name: str, words: str) -> None:
    """Copies are of memory of their own, in the same order; what is given back is the array.
    `copy` takes no dtype."""

    def program(np: Any) -> Any:
        x = COPIED[given](np)
        found = getattr(np, name)(x, **WORDS[words](np))
        facts = found is x, found.strides, found.flags.writeable, np.shares_memory(found, x)
        return found, facts

    oracle.check(program)


def test_they_are_written_alone() -> None:
    """Arrays of the same list share nothing, and lists that change later change none."""

    def program(np: Any) -> Any:
        numbers = [1.0, 2.0]
        x, y = np.array(numbers), np.array(numbers)
        numbers[0] = 9.0
        x += 1
        return x, y, np.zeros(2) + np.ones(2)

    oracle.check(program)


def test_python_is_not_asked() -> None:
    """NumPy's `ones` and `copy` are written in Python."""
    x = lf.arange(6.0)

    def program() -> None:
        lf.ones(3), lf.ones((2, 2), int), lf.ones(4, dtype=bool), lf.copy(x)

    program()
    assert python_calls(program) == []


def test_larger_arrays_are_the_engines() -> None:
    with lf.options(eager_size=5):
        made = [lf.array([1.0] * 5), lf.array([1.0] * 6), lf.arange(6), lf.array([[1, 2, 3]] * 2)]
        assert [array._host is None for array in made] == [False, True, True, True]
    with lf.options(eager_size=0):
        assert lf.array([1.0, 2.0])._host is None and lf.arange(3)._host is None
        none = [lf.zeros(0), lf.ones((0, 3)), lf.empty(0, int), lf.arange(0)]  # on a GPU, too
        assert all(array._host is None for array in none)


def test_a_list_that_changes_while_options_are_asked() -> None:
    """Which runs Python: another thread may come in between. As many numbers were written as the
    list had then, into the room for those that had been counted."""
    numbers = [1.0, 2.0]

    def profile(frame: FrameType, event: str, of: object) -> None:
        if event == "call" and frame.f_code.co_name == "_tell_size":
            numbers[:] = [3.0]

    with lf.options(eager_size=900):  # of which machine code knows nothing
        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            made = lf.array(numbers)
        finally:
            sys.setprofile(before)
    assert numbers == [3.0] and made.tolist() == [3.0]


def test_memory_that_runs_out() -> None:
    """NumPy is asked again and says so: an exception stayed set, which was a SystemError."""
    failing = pytest.importorskip("_testcapi")
    x, kept, outcomes = lf.arange(6.0), [], set()
    fail, stop = failing.set_nomemory, failing.remove_mem_hooks
    programs = (
        lambda: lf.array([1.0, 2.0]), lambda: lf.array([[1], [2]]), lambda: lf.zeros(3),
        lambda: lf.arange(3), lambda: lf.copy(x), lambda: lf.array(x), lambda: x.copy(),
    )  # fmt: skip
    for program in programs:
        kept.append([program() for _ in range(300)])  # no memory of earlier arrays is left
        for which in range(6):
            error = None
            fail(which, which + 1)
            try:
                kept.append(program())
            except Exception as raised:
                error = raised
            stop()
            outcomes.add(type(error))
    assert outcomes <= {type(None), MemoryError}


def test_no_reference_is_lost() -> None:
    x, numbers = lf.arange(6.0), [1.0, 2.0, 3]

    def program() -> None:
        lf.array(numbers), lf.array([numbers, numbers]), lf.zeros(5), lf.ones((2, 2), int)
        lf.arange(7), lf.asarray(x), lf.array(x), lf.asarray(x, dtype=float), lf.empty(3)
        lf.array([None, numbers[0]]), lf.asarray(x, dtype=int), lf.array([[1], numbers[:1]])

    kept = (x, numbers, host.dtype(float), host.dtype(int), host.dtype(bool))
    assert_nothing_is_lost(program, kept, known=20, rounds=100)
