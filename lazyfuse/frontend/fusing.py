"""`fuse`, the decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from lazyfuse.frontend.fused import Fused

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result", covariant=True)


class Recorded(Protocol[_Given, _Result]):
    """What `fuse` gives, to type checkers; `Fused` is what it is."""

    @property
    def reason(self) -> str: ...
    @property
    def recordings(self) -> int: ...
    @property
    def replays(self) -> int: ...
    def __call__(self, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result: ...
    def __get__(self, instance: Any, owner: Any) -> Any: ...


@overload
def fuse(
    function: Callable[_Given, _Result], *, signatures: int = 64
) -> Recorded[_Given, _Result]: ...


@overload
def fuse(
    function: None = None, *, signatures: int = 64
) -> Callable[[Callable[_Given, _Result]], Recorded[_Given, _Result]]: ...


def fuse(function: Callable[..., Any] | None = None, *, signatures: int = 64) -> Any:
    """Record a function of arrays once per signature, and replay it from then on.

        @lazyfuse.fuse
        def step(u, v, dt=0.1):
            return u + dt * (v - u), v * 0.5

    The function should depend on its arguments and on what it reads, and change nothing: it is not
    called when a call is replayed, and called two or three times when one is recorded. A signature
    is the shape, dtype and strides of each array, the value of all else (also of what the
    function itself reads from its module and its closure, and of the attributes of instances), and
    the options in force; `signatures` bounds how many are kept. Arrays in lists, tuples, named
    tuples and dicts count as arguments, unless the function changes such a list or dict or gives
    it back, or there are other objects in it (functions, instances). Arrays of lazyfuse that it
    reads from its module and its closure are read at each call, like arguments, unless a function
    that it names reads them, too. Results are arrays (in such containers, too), computed when a
    replayed call returns, pending where the function was called.

    A number (int, float, complex or NumPy's float64; by itself, or in a tuple, list or dict) that
    is another one in each call is recorded once: arithmetic with it, and ufuncs such as
    `np.exp(-dt)`, are done again in each replay. That holds until the function wants to know it,
    for a branch, `math.sin(dt)`, an exponent or an index: then its value belongs to the signature.
    So it does where the function's code looks at types or identities (`type(dt)`, `dt is x`).
    bools, strings and NumPy's other scalars always do.

    A function that asks for values, writes into arrays that were there before (given, read, or in
    other objects), changes the shape or flags of one, asks which is which (`a is b`, `x.base`),
    reads arrays in other objects or draws random numbers of `numpy.random` is called each time;
    `Fused.reason` says so. So are calls on long lists, and on views of large arrays. What the
    functions that it calls read, and attributes of classes and modules, count as unchanging. The
    second call with a signature records it; of a few thousand elements on the CPU the sixteenth,
    to compile for.
    """
    if function is None:
        return lambda given: Fused(given, signatures)
    return Fused(function, signatures)
