"""What NumPy's functions write, for recordings that have to know (`ir/witness.py`)."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lazyfuse.frontend.handle import Handle
from lazyfuse.frontend.named_outputs import from_output
from lazyfuse.ir.witness import WITNESSES, keep, root

#: Functions that write into their first argument, and what it is called; "" for methods.
WRITES_FIRST = {
    "put": "a",
    "place": "arr",
    "putmask": "a",
    "copyto": "dst",
    "fill_diagonal": "a",
    "put_along_axis": "arr",
    "sort": "",
    "partition": "",
    "shuffle": "x",
}


def written(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """A function is to be called that may write small arrays: its outputs, by name or by position,
    or its first argument. Their values are kept while this thread records."""
    if WITNESSES:
        for array in _outputs(function, args, kwargs):
            host = array._host if isinstance(array, Handle) else array
            if isinstance(host, np.ndarray):
                keep(host)


def _outputs(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    out = kwargs.get("out")
    yield from out if isinstance(out, tuple) else (out,)
    if isinstance(function, np.ufunc):
        yield from args[function.nin :]
        return
    place = from_output(function)
    yield from () if place is None else args[place[0] :]
    name = getattr(function, "__name__", "")
    first = "a" if name == "at" else WRITES_FIRST.get(name)  # of ufuncs
    yield from (*args[:1], kwargs.get(first)) if first else ()


def begin() -> None:
    """A recording begins: what is young from now on has been made by it."""
    gc.collect(0)


def made() -> set[int]:
    """The small arrays that have been made since, by the identities of those with the memory."""
    hosts = [each._host for each in gc.get_objects(0) if type(each) is Handle._concrete]
    return {id(root(host)) for host in hosts if host is not None}
