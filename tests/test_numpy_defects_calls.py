"""Calls that NumPy's own tests showed to be wrong: `like=`, signatures, devices, assignment."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.signed import needs_signatures

GRID = host.arange(12.0).reshape(3, 4)
NAN = host.float64("nan")
INSIDE = {"a": 1}


class Foreign:
    """An array of another library, which answers for NumPy's functions itself."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return (function.__name__, len(args), "like" in kwargs)


def assigned(key: Any, value: Any, dtype: str) -> oracle.Program:
    """A program that assigns to a pending array of three."""

    def program(np: Any, f: Any) -> Any:
        target = (np.arange(200) % 2).astype(dtype)[:3]
        target[key] = value(np, f) if callable(value) else value
        return target

    return program


def written_back(np: Any, f: Any) -> Any:
    """Write through an iterator whose copy reads along."""
    with np.nditer(f, op_flags=["readwrite"]) as iterator:
        iterator.copy()
        for element in iterator:
            element[...] = element * 2
    return f


def put_along_all(np: Any, f: Any) -> Any:
    np.put_along_axis(f, np.array([1, 3]), -7, None)
    return f


def resized_view(np: Any, f: Any) -> Any:
    """A view keeps its size: only the shape changes."""
    seen = f[...]
    seen.resize((4, 3))
    return seen


def dot_into(np: Any, f: Any) -> Any:
    square, before = f @ f.T, f.T @ f
    given = np.zeros(square.shape)
    same = np.dot(f, f.T, out=given) is given
    view = np.ones((9, *square.shape))[2]
    np.dot(square, square, view)
    square.dot(square, out=square)
    return same, given, view, square, before.dot(f.T, out=np.empty(f.T.shape))


def windows(np: Any, f: Any) -> Any:
    seen = np.lib.stride_tricks.sliding_window_view(f[0], 2, writeable=True)
    seen[0, 1] = 30
    return f


def warned(np: Any, f: Any) -> Any:
    """Broadcast arrays warn when they are asked whether they may be written, and once when they
    are.
    """
    found = [repr(np.broadcast_arrays(0, np.arange(3))[0].flags)]
    for change in (lambda seen: seen.flags.writeable, lambda seen: seen.__setitem__(..., 1)):
        seen = np.broadcast_arrays(0, np.arange(3))[0]
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            change(seen)
            seen[0] = 2
        found.append([str(item.message) for item in heard])
    return found


def readonly_device(np: Any, f: Any) -> None:
    f.device = "gpu"


def set_position(np: Any, f: Any) -> None:
    f.flat.index = 3


# fmt: off
PROGRAMS: dict[str, oracle.Program] = {
    "like another library's": lambda np, f: [
        np.array([1], like=Foreign()), np.arange(3, like=Foreign()), np.eye(2, like=Foreign()),
        np.require([1.0], requirements="F", like=Foreign()), np.fromiter([1], int, like=Foreign()),
    ],
    "like None": lambda np, f: np.ascontiguousarray([1, 2], like=None),
    "like one of its own": lambda np, f: np.full((2, 2), 3.0, like=f),
    "like a list": lambda np, f: np.zeros(2, like=[1]),
    "no like": lambda np, f: np.sum(f, like=None),
    "another library's array in a list": lambda np, f: np.concatenate([f, Foreign()]),
    "elements stay who they are": lambda np, f: np.array([INSIDE])[0] is INSIDE,
    "dtype is no dtype": lambda np, f: np.array(f, dtype=np.dtype),
    "a generator to stack": lambda np, f: np.column_stack(f for _ in range(2)),
    "NaN into integers": assigned(1, NAN, "i4"),
    "NaN into a slice of integers": assigned(slice(1, 2), NAN, "i8"),
    "NaN among a list": assigned(slice(0, 2), [1.0, NAN], "i4"),
    "a pending NaN into integers": assigned(1, lambda np, f: (f[0, 1:] - host.inf).max(), "i8"),
    "too large for a long": assigned(..., host.uint64(2**64 - 1), "i8"),
    "too large among a list": assigned([1], [300], "u1"),
    "a fraction into integers": assigned(1, host.float64(2.75), "i4"),
    "complex among a list": assigned(slice(0, 1), [1j], "f4"),
    "a list into an element": assigned(0, [1.0], "f8"),
    "copy is a word": lambda np, f: np.array([1, 2], copy="always"),
    "copy is a number": lambda np, f: np.array(f, "f4", copy=0),
    "ravel owns what it copies": lambda np, f: [
        f[::-1].ravel("K").flags.owndata, f.T.ravel().flags.owndata, f.ravel().flags.owndata,
        f.T.flatten().flags.owndata, f[:, ::2].ravel("F").base is None,
    ],
    "memory of NumPy's own arrays": lambda np, f: [
        np.shares_memory(GRID, GRID[1:]), np.may_share_memory(GRID, f), np.shares_memory(f, f[:1]),
    ],
    "bytes between the ends": lambda np, f: [
        high - low for low, high in map(np.lib.array_utils.byte_bounds, (f, f[:, ::2], f[::-1]))
    ],
    "three parameters of a type": lambda np, f: np.ndarray[int, int, int],
    "two parameters of a type": lambda np, f: len(np.ndarray[Any, int].__args__),
    "too much work": lambda np, f: np.shares_memory(
        np.zeros((4, 5, 6), "i1")[:, ::2, ::3], np.zeros((4, 5, 6), "i1")[:, ::3, ::2],
        max_work=10**100,
    ),
    "unknown device": lambda np, f: np.zeros(3, device="nonsense"),
    "a stream without a GPU": lambda np, f: f.to_device("cpu", stream=1),
    "the device stays": readonly_device,
    "the position of flat stays": set_position,
    "flat of many axes": lambda np, f: np.ones((1,) * 40).flat,
    "no element of flat goes": lambda np, f: f.flat.__delitem__(0),
    "array of flat": lambda np, f: np.array(f.flat).flags.owndata,
    "array of a flat copy": lambda np, f: np.array(f.T.flat).flags.writeable,
    "put along all axes": put_along_all,
    "put along all axes of a transpose": lambda np, f: put_along_all(np, f.T),
    "a view is resized": resized_view,
    "windows that are written": windows,
    "many of few that repeat": lambda np, f: (
        np.broadcast_to(np.arange(3.0), (4, 3))[np.arange(70000) % 4]
    ),
    "broadcast arrays that are written": warned,
    "dot into an array": dot_into,
    "dot into every other column": lambda np, f: f.dot(f.T, out=np.empty((3, 6))[:, ::2]),
    "no tuple of arguments": lambda np, f: f.__array_function__(host.sum, (), [f], {}),
    "iterators are copied": written_back,
}
# fmt: on


@pytest.mark.parametrize("eager_size", [0, 4096])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, eager_size: int) -> None:
    """The program does what it does with NumPy, for pending and for small arrays."""
    with oracle.options(eager_size=eager_size):
        oracle.check(PROGRAMS[name], GRID)


@pytest.mark.engine
def test_too_hard() -> None:
    """`max_work` bounds the search for a common element."""
    memory = oracle.lf.zeros((4, 5, 6), "i1") + 1
    with pytest.raises(host.exceptions.TooHardError):
        oracle.lf.shares_memory(memory[:, ::2, ::3], memory[:, ::3, ::2], max_work=1)


@pytest.mark.engine
def test_names_that_numpy_took_away() -> None:
    """NumPy says what to write in their place."""
    with pytest.raises(AttributeError, match="'lazyfuse'.*\n`np.float` was a deprecated alias"):
        _ = oracle.lf.float


@needs_signatures
@pytest.mark.engine
@pytest.mark.parametrize("name", ["sum", "reshape", "__array__", "astype", "take", "resize"])
def test_signatures_of_methods_are_numpys(name: str) -> None:
    ours, theirs = getattr(oracle.lf.ndarray, name), getattr(host.ndarray, name)
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert "self" not in inspect.signature(getattr(oracle.lf.ones(3), name)).parameters


@needs_signatures
@pytest.mark.engine
@pytest.mark.parametrize("name", ["where", "dot", "frombuffer", "zeros", "nditer", "putmask"])
def test_signatures_of_compiled_functions_are_numpys(name: str) -> None:
    assert inspect.signature(getattr(oracle.lf, name)) == inspect.signature(getattr(host, name))


@pytest.mark.engine
@pytest.mark.cpu("memory that NumPy shares")
def test_an_old_consumer_of_dlpack() -> None:
    """It cannot be told that memory is read-only: of a read-only array it gets nothing."""
    array = oracle.lf.arange(3.0) + 1

    class Old:
        def __dlpack__(self, **options: Any) -> Any:
            return array.__dlpack__()

        def __dlpack_device__(self) -> Any:
            return array.__dlpack_device__()

    taken = host.from_dlpack(Old())
    assert (taken == [1, 2, 3]).all()
    array += 1
    assert taken.tolist() == [2, 3, 4]
    array.flags.writeable = False
    with pytest.raises(BufferError):
        array.__dlpack__()
