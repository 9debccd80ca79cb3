"""Loads the operators of small arrays (`backends/cpu/methods.py`) and gives them to their class.

That needs CPython with a GIL, LLVM, and objects that are laid out as the code believes: each is
looked at first, and where one is missing the Python methods stay. The code is kept on disk as
kernels are, and needs no LLVM then.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import EllipsisType, NoneType
from typing import Any, NamedTuple

import numpy as np

from lazyfuse import config
from lazyfuse.ir.recast import FLOAT_OF, Cast
from lazyfuse.ops.table import DTYPES
from lazyfuse.processors import default_threads
from lazyfuse.runtime import (
    frames,
    heard,
    native_aside,
    native_numbers,
    native_parts,
    native_places,
    numpy_interface,
    recorder,
)
from lazyfuse.runtime.native_parts import (
    SLOT_FUNCTIONS,
    Part,
    Place,
    Slot,
    Wrapper,
    free_slot,
    function_of,
    kept,
    parts_of,
    place_of,
    set_called,
    set_method,
    set_part,
    set_slots,
    set_wrapper,
    slots_of,
    vector_place,
)
from lazyfuse.runtime.native_places import interpreted, methods_of, wrappers_of
from lazyfuse.runtime.recorder import Recording

_WORD = ctypes.sizeof(ctypes.c_void_p)
#: The method whose place machine code takes last.
LAST = "__add__"


class Sample(NamedTuple):
    """An object of the class of arrays that wraps `array` and refers to `owner`; and a ufunc,
    which wraps `np.add` and has `recipes`, and a `_code`. `lift`: what NumPy's result of some
    operands is for the user. `function`: the class of functions, `own_words` the keywords that
    NumPy does not know, `of_shape` what says how large an array of a shape is; `power` the
    function, `squares` recipes of x ** 2, `product` a ufunc over whole vectors, `enter` gives a
    copy of a small array, and that as one of the engine's; `recordings` are those under way,
    `ufuncs` are those of lazyfuse by NumPy's, `write_out` has zeros written of which an array is a
    part, `compute_mask` an array and a mask computed, `filtered` picks, `left_of`
    says where a frame has the left operand of an operator; `adopted` are prototypes
    of arrays that have NumPy's memory, `steps` is the class of iterators over elements, `leave`
    has one go on without this code, `told` what is told of which functions. `slots`: what an array
    may not have yet, so that `__getattr__` gives it; `numpy_names`: what the class has a method of
    its own for. `raveled`, `reshaped`: the layouts that functions remember."""

    wrapper: Any
    array: np.ndarray
    owner: Any
    ufunc: Any
    recipes: Any
    lift: Callable[[Any, tuple[Any, ...]], Any]
    function: type
    own_words: frozenset[str]
    of_shape: Callable[..., float]
    power: Any
    squares: Any
    product: Any
    enter: Callable[[np.ndarray], tuple[Any, Any]]
    recordings: dict[object, int]
    storage: Any
    ufuncs: Mapping[Any, Any]
    write_out: Callable[[Any], None]
    compute_mask: Callable[[Any, Any], None]
    filtered: Callable[[np.ndarray, np.ndarray], np.ndarray]
    left_of: Callable[[Any, int], int]
    adopted: dict[Any, Any]
    steps: type
    leave: Callable[[Any], None]
    told: dict[Any, Callable[[], None]]
    slots: Sequence[str]
    numpy_names: frozenset[str]
    raveled: dict[Any, Any]
    reshaped: dict[Any, Any]


class Code(NamedTuple):
    """Where its methods belong, and the classes whose objects are called by a word of theirs; the
    functions of `backends/cpu/record.py` and `defer_text.py` by name; and of the latter the words
    of its state and their places, the codes of operations, the number of the first row as an
    operand, the words of an operation, and what stands for all axes; where the functions of
    `rows_text.py` are, and its table of loops."""

    methods: Sequence[Place]
    wrappers: Sequence[Wrapper]
    called: Sequence[type]
    parts: Sequence[Part]
    slots: Sequence[Slot]
    functions: dict[str, Callable[..., Any]]
    state: Any
    places: Mapping[str, int]
    codes: Mapping[str, int]
    first_row: int
    code_words: int
    all_axes: int
    launch: int
    flag_mask: int
    helpers: Callable[[int], int]
    rows: tuple[int, ...]
    loops: int


def install(code: Code) -> None:
    """Give the classes their methods. Whoever is interrupted may do it again: the operator that
    comes last says that all are there."""
    for part in code.parts:
        set_part(part)
    set_slots(code.slots)
    for place in code.methods:
        set_method(*place)
    for kind in code.called:
        free_slot(kind)
    *others, last = sorted(code.wrappers, key=lambda wrapper: wrapper.name == LAST)
    for wrapper in others:
        set_wrapper(wrapper)
    set_called(code.called)  # a new `__call__` takes that back
    set_wrapper(last)


def prepared(sample: Sample, recording: Recording, *, compiles: bool = True) -> Code | None:
    """The operators and the call for the classes of a sample, and what else there is; None where
    that is not possible, or where it would have to be compiled and is not to be."""
    compiler = native_aside.compiler()
    if not is_possible() or compiler is None:
        return None
    from lazyfuse.backends.cpu import defer, methods, record
    from lazyfuse.backends.cpu.methods_kinds_text import PLAIN_TYPES
    from lazyfuse.backends.cpu.methods_parts_text import PARTS

    specials = native_places.specials(methods.FUNCTIONS, methods.NAMED)
    wrapper, ufunc = sample.wrapper, sample.ufunc
    places = [
        place_of(wrapper, sample.array), place_of(wrapper, sample.owner),
        recorder.offset(type(ufunc), "_exact"), place_of(ufunc, sample.recipes),
        recorder.offset(type(ufunc), "_code"),
    ]  # fmt: skip
    if None in places:
        return None
    objects = recorder.objects(recording) | _asked(sample)
    owners = native_places.owners(
        specials, type(wrapper), type(ufunc), sample.function, type(sample.product)
    )
    slow = [interpreted(owners[name], special) for name, special in specials.items()]
    functions = (*methods.FUNCTIONS, *record.FUNCTIONS, *defer.FUNCTIONS)
    try:
        found = native_aside.found(compiler, recording, compiles=compiles)
    except LookupError:
        return None
    own = ("open", "deferral", "put_part", "next", "dealloc", *SLOT_FUNCTIONS)
    names = (*own, *functions, *(f"get_{name}" for name in PARTS), *methods.SLOTS.values())
    code = compiler.link(found.methods, [f"lf_{name}" for name in dict.fromkeys(names)])
    objects |= native_places.named_calls(code, owners)
    rows = compiler.link(found.rows, (*methods.ROWS, "lf_loops"))
    kinds = (float, int, slice, tuple, EllipsisType, NoneType, np.float64, np.int64)
    recipes = [recording.recipes.get(name.removesuffix("_method")) for name in methods.FUNCTIONS]
    numpys = [getattr(np.ndarray, specials[name]) for name in (*methods.OPERATORS, *methods.NAMED)]
    known = [*kinds, *slow, *recipes, *(objects[name] for name in methods.OBJECTS),
             *PLAIN_TYPES, *numpys]  # fmt: skip
    entries = [*map(id, (type(wrapper), np.ndarray, None)), *places, *map(_entry, known)]
    table = _words(code, "lf_open", len(entries))
    for number, entry in enumerate(entries):
        table[number] = entry
    kept.extend((code, rows, known))
    made = {
        name: function_of(name, code.address(f"lf_{name}"))
        for name in (*record.FUNCTIONS, *defer.FUNCTIONS)
    }
    parts = parts_of(code, type(wrapper), PARTS, sample.steps)
    state = _words(code, "lf_deferral", defer.STATE_SIZE)
    return Code(
        methods_of(code, owners, specials), wrappers_of(code, owners, specials),
        [owners[name] for name in methods.CALLS], parts,
        slots_of(code, type(wrapper), sample.slots, recorder.offset), made, state,
        defer.STATE, defer.CODES, defer.FIRST_ROW, defer.CODE_WORDS, defer.ALL_AXES,
        compiler.calls.addresses["lf_launch"], _told(compiler.calls.decoded), _helpers,
        tuple(rows.address(name) for name in methods.ROWS), _address(rows, "lf_loops"),
    )  # fmt: skip


def is_possible() -> bool:
    """Whether machine code is wanted here, and knows this Python and this NumPy."""
    return config.current().native and is_known_python() and is_known_numpy()


def _told(decoded: Sequence[int]) -> int:
    """The bits of flags that mean a condition."""
    bits = [1 << place for place in range(len(decoded).bit_length() - 1)]
    return sum(bit for bit in bits if decoded[bit])


@cache
def _helpers(threads: int) -> int:
    """How many threads may help under an option; kept, for nothing is imported as Python ends."""
    from lazyfuse.backends.cpu.launch_text import WORKERS

    return min((threads or default_threads()) - 1, WORKERS)


def _asked(sample: Sample) -> dict[str, Any]:
    """The objects that calls on small arrays ask, numbers for places in others."""
    return {
        "NUMPYS": _Place(recorder.offset(sample.function, "_numpys")),
        "INTO": _Place(recorder.offset(sample.function, "_into")),
        "KERNELS": _Place(recorder.offset(sample.function, "_kernels")),
        "EMPTY_LIKE": np.empty_like, "ABSOLUTE": np.absolute,
        "POWER": sample.power, "SQUARES": sample.squares, "OUT": sys.intern("out"),
        "ALL": Ellipsis, "ENTER": sample.enter, "WEIGHTS": sys.intern("weights"),
        "ENTERED": _Place(recorder.offset(type(sample.wrapper), "_entered")),
        "AXIS": sys.intern("axis"), "KEEPDIMS": sys.intern("keepdims"),
        "LEARNED": _Place(recorder.offset(sample.function, "_learned")),
        "FUNCTION_SIZE": _Place(recorder.offset(sample.function, "_size")),
        "FUNCTION_ENGINE": _Place(recorder.offset(sample.function, "_engine")),
        "FUNCTION_RULE": _Place(recorder.offset(sample.function, "_rule")), "TOLD": sample.told,
        "FUNCTION_VIEWS": _Place(recorder.offset(sample.function, "_views")),
        "LIST": list, "DTYPE": np.dtype, "GENERIC": np.generic, "LIFT": sample.lift,
        "OWN_WORDS": sample.own_words, "OF_SHAPE": sample.of_shape,
        "GET_ITEM": np.ndarray.__getitem__,
        "CPU": sys.intern("cpu"), "RECORDINGS": sample.recordings,
        "DTYPES": {code: np.dtype(code) for code in DTYPES},
        "CASTS_OF_PARTS": {code: Cast(floats) for code, floats in FLOAT_OF.items()},
        "BOOL": bool, "RENEW": sample.storage.change,
        "WRITE_OUT": sample.write_out,
        "COMPUTE_MASK": sample.compute_mask, "FILTERED": sample.filtered,
        "LEFT_OF": sample.left_of, "FRAME_MEMORY": _Place(frames.MEMORY),
        "FIRST_VARIABLE": _Place(frames.first_variable()),
        **_names(),
        "ADOPTED": sample.adopted, "AS_ARRAY": np.asarray, "ARRAY": np.array,
        "SHAPE_OF": np.shape, "NDIM_OF": np.ndim, "SIZE_OF": np.size,
        "LINES": np.atleast_1d, "ROWS": np.atleast_2d, "DENSE": np.ascontiguousarray,
        "COPY_NAME": sys.intern("copy"),
        "ZEROS": np.zeros, "ONES": np.ones, "EMPTY_ARRAY": np.empty, "ARANGE": np.arange,
        "COPY": np.copy, "AS_ANY_ARRAY": np.asanyarray,
        "DTYPE_NAME": sys.intern("dtype"), "TYPE": type, "TEXT": str, "RANGE": range,
        "NUMPY_NAMES": sample.numpy_names,
        "RAVEL": sample.raveled, "RESHAPES": sample.reshaped,
        "VECTOR": _Place(vector_place(sample.function)),
        "DELETE_ITEM": type(sample.wrapper).__delitem__,
        "TYPE_ATTRIBUTE": _Place(native_parts.attribute_of(type)),
        "STEPS": sample.steps, "LEAVE": sample.leave,
        "STEPS_ARRAY": _Place(recorder.offset(sample.steps, "array")),
        "STEPS_LINE": _Place(recorder.offset(sample.steps, "line")),
        "STEPS_REST": _Place(recorder.offset(sample.steps, "rest")),
        "STORAGE_WEAK": _Place(sample.storage.__weakrefoffset__),
        "WEAK_NEXT": _Place(native_parts.WEAK_NEXT),
        "LISTENING": heard.listening, "MESSAGES": heard.messages, "TELL": heard.tell_heard,
        "FORGET": heard.forget,
        "UFUNCS": sample.ufuncs, "MATMUL": np.matmul, "DOT": np.dot,
        "CALL_NAME": sys.intern("__call__"),
        **{
            name: _Place(numpy_interface.address(getattr(numpy_interface, name)))
            for name in ("NEW_ARRAY", "SET_BASE", "NEW_SCALAR", "NEW_COPY", "COUNT_NONZERO",
                         "MATRIX_PRODUCT", "AS_SCALAR")
        },
    }  # fmt: skip


def _names() -> dict[str, Any]:
    """Where the name of the function that runs is, and what it may be."""
    places = frames.names()._asdict().items()
    found = {f"NAME_IN_{part.upper()}": _Place(place) for part, place in places}
    return {**found, "ARRAY_NAME": sys.intern("__array__")}


class _Place(NamedTuple):
    """Where an object keeps a part, in bytes."""

    byte: int


def _entry(value: Any) -> int:
    """What the table holds: the address of an object, or a place."""
    return value.byte if type(value) is _Place else id(value)


def _words(code: Any, name: str, count: int) -> Any:
    """The words whose address a function gives."""
    return (ctypes.c_int64 * count).from_address(_address(code, name))


def _address(code: Any, name: str) -> int:
    """What a function of code without arguments gives."""
    return ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address(name))() or 0


def has_backend() -> bool:
    """Whether there is what loads code."""
    return "lazyfuse.backends.cpu" in sys.modules


def has_llvm() -> bool:
    """Whether there is what compiles it."""
    return "lazyfuse.backends.cpu.jit" in sys.modules


def is_known_python() -> bool:
    probe = object()
    word = ctypes.c_void_p.from_address(id(probe) + _WORD).value if _is_cpython() else 0
    is_known = _is_cpython() and frames.IS_LOCKED and word == id(object)
    return is_known and native_parts.are_known() and native_numbers.are_known()


def _is_cpython() -> bool:
    return sys.implementation.name == "cpython" and _WORD == 8


def is_known_numpy() -> bool:
    """Whether arrays, dtypes and ufuncs keep their parts where the code looks for them."""
    counts = (ctypes.c_int * 2).from_address(id(np.add) + 2 * _WORD)
    probe = np.empty((3, 5))
    view, swapped = probe[1:], np.dtype(">f8")
    axes = ctypes.c_int.from_address(id(probe) + 24).value
    where = ctypes.c_void_p.from_address(id(probe) + 32).value
    if axes != 2 or where is None or list(counts) != [np.add.nin, np.add.nout]:
        return False
    number = ctypes.c_int.from_address(id(probe.dtype) + 28).value
    order = ctypes.c_char.from_address(id(swapped) + 26).value
    parts = {16: probe.ctypes.data, 56: id(probe.dtype)}
    found = {at: ctypes.c_void_p.from_address(id(probe) + at).value for at in parts}
    base = ctypes.c_void_p.from_address(id(view) + 48).value
    flags = ctypes.c_int.from_address(id(probe) + 64).value
    return (
        list((ctypes.c_int64 * 2).from_address(where)) == [3, 5]
        and (found, base) == (parts, id(probe))
        and (number, order, flags) == (probe.dtype.num, b">", probe.flags.num)
        and numpy_interface.is_known()
    )
