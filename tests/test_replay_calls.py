"""How CPython calls fused functions whose calls are machine code, and what copies of them are."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as host
import pytest

import lazyfuse as lf
from tests import oracle

if not oracle.IS_ENGINE or oracle.ON_GPU:
    pytest.skip("the code replays what the engine runs on the CPU", allow_module_level=True)

from lazyfuse.frontend import fused as frontend  # noqa: E402 - when there is an engine
from tests.test_native import operators  # noqa: E402, F401 - a fixture of this module, too


@lf.fuse
def summed(a: Any, b: Any = 2.0, *, scale: Any = 1.0) -> Any:
    return (a * b + a) * scale


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Record the second call, also on few elements."""
    monkeypatch.setattr(frontend, "CALLS_OF_FEW", 1)
    with lf.options(eager_size=1000):
        yield


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "positional": lambda f, x: f(x, x),
    "by name": lambda f, x: f(x, b=x),
    "all by name": lambda f, x: f(scale=x, b=x, a=x),
    "unpacked": lambda f, x: f(*(x, x), **{"scale": 3.0}),
    "nothing unpacked": lambda f, x: f(*[x], **{}),
    "partial": lambda f, x: functools.partial(f, scale=0.5)(x, x),
    "mapped": lambda f, x: [*map(f, [x, x * 2], [x, x])][1],
    "special method": lambda f, x: f.__call__(x, x),
}


@pytest.mark.parametrize("size", (7, 5_000))
@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, size: int) -> None:
    values = host.arange(1.0, size + 1) / 8
    x, plain = lf.array(values), summed.__wrapped__
    for _ in range(6):
        host.testing.assert_array_equal(
            lf.asnumpy(CALLS[name](summed, x)), CALLS[name](plain, values)
        )
    if name == "positional":
        assert type(summed).__flags__ & 1 << 11  # Py_TPFLAGS_HAVE_VECTORCALL
        assert summed._vector > 0


def test_faults() -> None:
    x = lf.arange(5.0)
    for _ in range(4):
        summed(x, x)
    for call in (lambda: summed(), lambda: summed(x, x, x), lambda: summed(x, nothing=1)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="broadcast"):
        summed(x, x[:2])


def test_they_are_collected() -> None:
    """The word that says where they are called is no reference."""
    x = lf.arange(5.0)
    functions = [lf.fuse(lambda a: a * 2.0 + 1.0) for _ in range(20)]
    for function in functions:
        for _ in range(4):
            assert function(x).tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]
        assert function._vector not in gc.get_referents(function)
    watched = [weakref.ref(function) for function in functions]
    del functions, function
    gc.collect()
    assert not any(reference() is not None for reference in watched)


def test_copies_and_pickles_are_the_function() -> None:
    """As those of Python's functions: by its name."""
    for _ in range(4):
        summed(lf.arange(5.0), 3.0)
    assert copy.copy(summed) is copy.deepcopy([summed])[0] is summed
    assert pickle.loads(pickle.dumps(summed)) is summed
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(lf.fuse(lambda a: a))
