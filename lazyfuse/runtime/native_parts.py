"""Methods and attributes of classes as C functions, in the place of Python's."""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections.abc import Callable, Sequence
from types import MappingProxyType, WrapperDescriptorType
from typing import Any, NamedTuple

import numpy as np

_WORD = ctypes.sizeof(ctypes.c_void_p)
#: The byte of a weak reference where its object stands, None when that has gone, and the next
#: reference (PyWeakReference of CPython's weakrefobject.h).
WEAK_OBJECT, WEAK_NEXT = 2 * _WORD, 6 * _WORD
#: The byte of a list where the address of its items stands (PyListObject of listobject.h).
LIST_ITEMS = 3 * _WORD
#: The byte of a slice where its start, stop and step stand (PySliceObject of sliceobject.h).
SLICE_PARTS = 2 * _WORD
#: How a function takes its arguments (CPython's methodobject.h).
METH_NOARGS, METH_O, METH_FASTCALL, METH_KEYWORDS = 4, 8, 0x80, 0x82


class Place(NamedTuple):
    """Where a function takes the place of a method."""

    kind: type
    name: str
    address: int
    flags: int
    doc: str | None


class Wrapper(NamedTuple):
    """A method that is a slot of a class, and the function that CPython calls for it."""

    kind: type
    name: str
    address: int


class Part(NamedTuple):
    """An attribute of a class, and the functions that get it and set it; or, by its name `NEXT`,
    what gives the next item of an iterator, by `ATTRIBUTE`, what looks up attributes, and by
    `GONE`, what is done when an object has no references any more."""

    kind: type
    name: str
    getter: int
    setter: int


class Slot(NamedTuple):
    """An attribute of a class with slots, at a byte of its objects, and the functions that get it,
    also where it has none so far, and set it."""

    kind: type
    name: str
    offset: int
    getter: int
    setter: int


#: The C functions of slots.
SLOT_FUNCTIONS = ("get_slot", "put_slot")


class _MethodDef(ctypes.Structure):
    """PyMethodDef of CPython's methodobject.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _GetSetDef(ctypes.Structure):
    """PyGetSetDef of CPython's descrobject.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("get", ctypes.c_void_p),
        ("set", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("closure", ctypes.c_void_p),
    )


#: What Python calls by its place in a class: what gives the next item of iterators, what looks up
#: attributes, and the destructor; and these places (tp_iternext, tp_getattro and tp_dealloc of
#: CPython's object.h).
NEXT, ATTRIBUTE, GONE = "__next__", "__getattribute__", "tp_dealloc"
_PLACES = {NEXT: 28 * _WORD, ATTRIBUTE: 18 * _WORD, GONE: 6 * _WORD}

#: What machine code and its descriptors refer to; they are never unloaded.
kept: list[Any] = []


#: Where a slot wrapper keeps what says which slot it is of, and its function
#: (PyWrapperDescrObject of CPython's descrobject.h).
_SLOT, _FUNCTION = 5 * _WORD, 6 * _WORD
#: Classes whose slot of a name is the one that CPython asks first, where ndarray has two.
_OF_SLOTS = {"__getitem__": MappingProxyType, "__setitem__": dict, "__delitem__": dict,
             "__len__": dict, "__call__": np.ufunc}  # fmt: skip


def set_wrapper(wrapper: Wrapper) -> None:
    """Make a method of a class of the C function of a slot, which CPython calls at once when all
    methods of that slot have it (update_one_slot of its typeobject.c)."""
    new = ctypes.pythonapi.PyDescr_NewWrapper
    new.restype, new.argtypes = ctypes.py_object, (ctypes.py_object, *(ctypes.c_void_p,) * 2)
    theirs = vars(_OF_SLOTS.get(wrapper.name, np.ndarray))[wrapper.name]
    slot = ctypes.c_void_p.from_address(id(theirs) + _SLOT).value
    setattr(wrapper.kind, wrapper.name, new(wrapper.kind, slot, wrapper.address))
    if wrapper.name == "__iadd__":
        _join_nothing(wrapper.kind)


#: Where a class has the slots of sequences, and there what joins them in place (tp_as_sequence and
#: sq_inplace_concat of CPython's object.h); the number of that slot (its typeslots.h).
_SEQUENCES, _JOINED, _JOINED_NUMBER = 13 * _WORD, 8 * _WORD, 42


def _join_nothing(kind: type) -> None:
    """CPython takes `__iadd__` for what joins sequences in place, too, which is to know all
    operands: NotImplemented would be its result."""
    asked = ctypes.pythonapi.PyType_GetSlot
    asked.restype, asked.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_int)
    slots = ctypes.c_void_p.from_address(id(kind) + _SEQUENCES).value or 0
    word = ctypes.c_void_p.from_address(slots + _JOINED)
    if word.value == asked(kind, _JOINED_NUMBER):
        word.value = None


def _are_known_wrappers() -> bool:
    """Whether slot wrappers keep their slots and functions where the code believes, and the
    classes have them that it takes slots from."""
    one, other, reflected = int.__add__, float.__add__, int.__radd__
    slots, functions = (
        [ctypes.c_void_p.from_address(id(each) + place).value for each in (one, other, reflected)]
        for place in (_SLOT, _FUNCTION)
    )
    are_kept = slots[0] == slots[1] != slots[2] and functions[0] == functions[2] != functions[1]
    found = (vars(kind).get(name) for name, kind in _OF_SLOTS.items())
    return are_kept and all(type(each) is WrapperDescriptorType for each in found)


#: Where a descriptor of a slot of objects keeps what says so, and there what kind of word the slot
#: is, at which byte of an object, and whether Python may write it (PyMemberDescrObject of
#: CPython's descrobject.h, PyMemberDef of its structmember.h); the kinds of a reference and of a
#: number (T_OBJECT_EX, T_PYSSIZET), and what says that it is only read (READONLY).
_MEMBER, _MEMBER_KIND, _MEMBER_PLACE, _MEMBER_FLAGS = 5 * _WORD, _WORD, 2 * _WORD, 3 * _WORD
_REFERENCE, _NUMBER, _IS_READ = 16, 19, 1
#: Where a class says at which byte of its objects CPython finds what it calls, and that it is so,
#: and what else it calls (tp_vectorcall_offset and tp_flags of its object.h,
#: Py_TPFLAGS_HAVE_VECTORCALL, tp_call).
_CALLED_AT, _FLAGS, _IS_CALLED, _CALL = 7 * _WORD, 21 * _WORD, 1 << 11, 16 * _WORD


def _member(kind: type, name: str) -> tuple[ctypes.c_int, ctypes.c_int64, ctypes.c_int]:
    """What kind of word a slot is, at which byte of an object, and its flags; to be changed."""
    found = ctypes.c_void_p.from_address(id(vars(kind)[name]) + _MEMBER).value or 0
    return (
        ctypes.c_int.from_address(found + _MEMBER_KIND),
        ctypes.c_int64.from_address(found + _MEMBER_PLACE),
        ctypes.c_int.from_address(found + _MEMBER_FLAGS),
    )


#: The slot of functions that has the address that CPython calls.
VECTOR = "_vector"


def vector_place(kind: type) -> int:
    """At which byte objects of a class have that slot."""
    return _vector(kind)[1].value


def _vector(kind: type) -> tuple[ctypes.c_int, ctypes.c_int64, ctypes.c_int]:
    return _member(next(each for each in kind.__mro__ if VECTOR in vars(each)), VECTOR)


def free_slot(kind: type) -> None:
    """Let the slot hold an address instead of a reference, which it must not have held: before
    anything writes it, for the collection of garbage follows references."""
    word, _, flags = _vector(kind)
    word.value, flags.value = _NUMBER, _IS_READ


def set_called(kinds: Sequence[type]) -> None:
    """Have CPython call objects of classes at the address that they have in the slot, from when it
    is there on: without a tuple of the arguments and a dict of keywords."""
    for kind in kinds:
        place = _vector(kind)[1]
        ctypes.c_int64.from_address(id(kind) + _CALLED_AT).value = place.value
        ctypes.c_uint64.from_address(id(kind) + _FLAGS).value |= _IS_CALLED
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _are_known_calls() -> bool:
    """Whether classes and slots of their objects are laid out as the code believes."""
    probe = type("Probe", (), {"__slots__": ("a", "b")})
    places = [_member(probe, name) for name in ("a", "b")]
    first = object.__basicsize__
    are_slots = [tuple(word.value for word in words) for words in places] == [
        (_REFERENCE, first, 0),
        (_REFERENCE, first + _WORD, 0),
    ]
    flags = [ctypes.c_uint64.from_address(id(kind) + _FLAGS).value for kind in (probe, type(len))]
    called = ctypes.c_int64.from_address(id(type(len)) + _CALLED_AT).value
    is_called = [bool(word & _IS_CALLED) for word in flags] == [False, True]
    calls = (ctypes.c_void_p.from_address(id(type) + _CALL),
             ctypes.c_void_p.from_address(id(vars(type)["__call__"]) + _FUNCTION))  # fmt: skip
    are_calls = calls[0].value == calls[1].value is not None
    return are_slots and is_called and are_calls and flags[0] == probe.__flags__ and called > 0


def set_method(kind: type, name: str, address: int, flags: int, doc: str | None = None) -> None:
    """Make a method of a class of a C function; its docstring, and the signature of one that is
    called by name, are NumPy's."""
    setattr(kind, name, method_of(kind, name, address, flags, doc))


def method_of(kind: type, name: str, address: int, flags: int, doc: str | None = None) -> Any:
    """What `set_method` puts in a class."""
    taken = {METH_NOARGS: ", /", METH_O: ", value, /", METH_KEYWORDS: ", /, *args, **kwargs"}
    theirs = getattr(np.ufunc if name == "__call__" else np.ndarray, name, None)
    if doc is None:
        doc = theirs.__doc__
    own = getattr(theirs, "__text_signature__", None)
    signature = f"($self{taken[flags]})" if own is None or name.startswith("__") else own
    text = f"{name}{signature}\n--\n\n{doc or ''}"
    made = _MethodDef(name.encode(), address, flags, text.encode())
    new_method = ctypes.pythonapi.PyDescr_NewMethod
    new_method.restype, new_method.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    kept.append(made)
    return new_method(kind, ctypes.addressof(made))


def function_of(name: str, address: int) -> Callable[..., Any]:
    """A function of Python of a C function of positional arguments."""
    made = _MethodDef(name.encode(), address, METH_FASTCALL, None)
    kept.append(made)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p,) * 3
    found: Callable[..., Any] = new(ctypes.addressof(made), None, None)
    return found


def parts_of(code: Any, kind: type, names: Sequence[str], steps: type) -> list[Part]:
    """The attributes of a class that code has, what gives the next item of iterators, and what
    looks up attributes of the class."""
    setter = code.address("lf_put_part")
    found = [Part(kind, name, code.address(f"lf_get_{name}"), setter) for name in names]
    lookup = Part(type(kind), ATTRIBUTE, code.address("lf_class_attribute"), 0)
    gone = Part(kind, GONE, code.address("lf_dealloc"), 0)
    return [Part(steps, NEXT, code.address("lf_next"), 0), lookup, gone, *found]


def set_part(part: Part) -> None:
    """Put a descriptor in the place of a property, which it asks in unusual cases."""
    if part.name in _PLACES:
        _word(part.kind, part.name).value = part.getter
        return
    found = vars(part.kind)[part.name]
    if not isinstance(found, property):
        return  # done by whoever was interrupted
    given = (part.name, found.fget, found.__set__, found.__delete__)
    doc = None if found.__doc__ is None else found.__doc__.encode()
    setter = None if found.fset is None else part.setter
    kept.append(given)
    made = _GetSetDef(part.name.encode(), part.getter, setter, doc, id(given))
    _set_descriptor(part.kind, part.name, made)


def slots_of(
    code: Any, kind: type, names: Sequence[str], offset: Callable[[type, str], int]
) -> list[Slot]:
    """The slots of a class that code has; `offset` says where they are."""
    getter, setter = (code.address(f"lf_{name}") for name in SLOT_FUNCTIONS)
    return [Slot(kind, name, offset(kind, name), getter, setter) for name in names]


def set_slots(slots: Sequence[Slot]) -> None:
    """Put descriptors in the place of those of slots, and of `__getattr__`: with that, all
    attributes and methods take longer to be found."""
    for slot in slots:
        name = sys.intern(slot.name)
        given = (ctypes.c_uint64 * 2)(id(name), slot.offset)
        kept.append((name, given))
        made = _GetSetDef(name.encode(), slot.getter, slot.setter, None, ctypes.addressof(given))
        _set_descriptor(slot.kind, name, made)
    for kind in {slot.kind for slot in slots}:
        if _is_own(vars(kind).get("__getattr__"), kind):
            delattr(kind, "__getattr__")


def _is_own(method: Any, kind: type) -> bool:
    """Whether a method was written in a class, and is not what somebody has put in its place."""
    code = getattr(method, "__code__", None)
    return code is not None and code.co_qualname == f"{kind.__qualname__}.__getattr__"


def _set_descriptor(kind: type, name: str, made: _GetSetDef) -> None:
    kept.append(made)
    new = ctypes.pythonapi.PyDescr_NewGetSet
    new.restype, new.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    setattr(kind, name, new(kind, ctypes.addressof(made)))


def are_known() -> bool:
    """Whether objects and classes keep their parts where the code believes."""
    is_known = _are_known_references() and _is_known_next() and _is_known_list()
    is_known = is_known and _is_known_slice() and _is_known_attribute()
    is_known = is_known and _are_known_wrappers() and _are_known_calls()
    return is_known and _is_known_destructor()


def _is_known_slice() -> bool:
    """Whether slices keep their parts where the code believes."""
    parts = [object() for _ in range(3)]
    probe = slice(*parts)
    words = (ctypes.c_void_p * 3).from_address(id(probe) + SLICE_PARTS)
    return [*words] == [*map(id, parts)]


def _are_known_references() -> bool:
    """Whether an object's weak references form a list as the code believes."""
    probe = {0, 1}  # of a type whose objects can be referred to
    watching = [weakref.ref(probe, lambda reference: None) for _ in range(2)]
    offset = type(probe).__weakrefoffset__
    first = ctypes.c_void_p.from_address(id(probe) + offset).value
    if first is None or first not in map(id, watching):
        return False
    second = ctypes.c_void_p.from_address(first + WEAK_NEXT).value
    if {first, second} != set(map(id, watching)):
        return False
    assert second is not None
    if ctypes.c_void_p.from_address(second + WEAK_NEXT).value is not None:
        return False
    objects = [ctypes.c_void_p.from_address(id(watch) + WEAK_OBJECT) for watch in watching]
    before, nothing = [word.value for word in objects], id(None)
    known = [id(probe)] * 2
    del probe
    return before == known and [word.value for word in objects] == [nothing] * 2


def _is_known_list() -> bool:
    """Whether lists keep the address of their items where the code believes."""
    probe = [object(), object()]
    items = ctypes.c_void_p.from_address(id(probe) + LIST_ITEMS).value
    return items is not None and [*(ctypes.c_void_p * 2).from_address(items)] == [*map(id, probe)]


def _word(kind: type, name: str) -> ctypes.c_void_p:
    return ctypes.c_void_p.from_address(id(kind) + _PLACES[name])


def _is_known_next() -> bool:
    """Whether classes keep what gives the next item where the code believes."""
    kinds = [type("Probe", (), {"__slots__": (), NEXT: lambda self: None}) for _ in range(2)]
    other = type("Probe", (), {"__slots__": (), "__iter__": lambda self: self})
    found = [_word(kind, NEXT).value for kind in kinds]
    return found[0] == found[1] is not None and found[0] != _word(other, NEXT).value


def attribute_of(kind: type) -> int:
    """The address of the C function that looks up attributes of objects of a class."""
    return _word(kind, ATTRIBUTE).value or 0


def _is_known_attribute() -> bool:
    """Whether classes keep what looks up attributes where the code believes."""
    inherits = type("Probe", (type,), {})
    own = type("Probe", (type,), {"__getattribute__": lambda self, name: None})
    return attribute_of(type) == attribute_of(inherits) != attribute_of(own)


def _is_known_destructor() -> bool:
    """Whether classes keep their destructor, the size of their objects and where weak references
    to these are where the code believes."""
    kinds = [type("Probe", (), {"__slots__": names}) for names in ((), ("a", "b", "__weakref__"))]
    destructors = [_word(kind, GONE).value for kind in (*kinds, tuple)]
    sizes = [ctypes.c_int64.from_address(id(kind) + 4 * _WORD).value for kind in kinds]
    weak = [ctypes.c_int64.from_address(id(kind) + 26 * _WORD).value for kind in kinds]
    are_kept = destructors[0] == destructors[1] != destructors[2]
    are_sized = sizes == [kind.__basicsize__ for kind in kinds]
    return are_kept and are_sized and weak == [kind.__weakrefoffset__ for kind in kinds]


def place_of(sample: Any, part: Any) -> int | None:
    """At which byte an object keeps a part of it; None when that is not one place."""
    words = (ctypes.c_uint64 * (type(sample).__basicsize__ // _WORD)).from_address(id(sample))
    found = [number for number, word in enumerate(words) if word == id(part)]
    return found[0] * _WORD if len(found) == 1 else None
