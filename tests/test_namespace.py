"""Every name of NumPy is here, and every function gives NumPy's answer."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import numpy as host
import pytest

from tests.namespace_calls import CALLS, FILES, ULP, arrays
from tests.oracle import IS_ENGINE, check, lf

needs_engine = pytest.mark.skipif(not IS_ENGINE, reason="asks lazyfuse about itself")

#: Names that are no functions of arrays: submodules, types, values, settings.
PRIVATE = {"core", "f2py", "__version__", "__array_namespace_info__", "test"}


def functions() -> list[str]:
    """List the functions of NumPy's namespace that take or make arrays, ufuncs aside."""
    return [
        name
        for name in sorted(host.__all__)
        if name not in PRIVATE
        and inspect.isroutine(value := getattr(host, name))
        and not isinstance(value, (type, host.ufunc))
    ]


def expressions() -> Iterator[pytest.param]:
    """Give every expression of the table with its name."""
    for name, lines in CALLS.items():
        for line in lines:
            yield pytest.param(name, line, id=line)


@pytest.mark.parametrize(("name", "line"), list(expressions()))
def test_calls(name: str, line: str) -> None:
    """The expression has one value, dtype, shape and memory order under both modules."""
    values = arrays()

    def program(np: object, *given: object) -> object:
        return eval(line, {"np": np, **dict(zip(values, given, strict=True))})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(program, *values.values(), ulp=ULP.get(name, 0), sums=True)


#: Functions about dtypes, printing, errors and settings.
ABOUT = set(
    "base_repr binary_repr common_type format_float_positional format_float_scientific "
    "get_include get_printoptions getbufsize geterr geterrcall info isdtype issubdtype "
    "min_scalar_type mintypecode printoptions promote_types set_printoptions setbufsize seterr "
    "seterrcall show_config show_runtime typename".split()
)


def test_every_function_is_called() -> None:
    """The table has no holes."""
    missing = set(functions()) - CALLS.keys() - FILES - ABOUT
    assert missing == set()


@needs_engine
@pytest.mark.parametrize("name", sorted({*host.__all__} - {"core", "f2py"}))
def test_every_name_is_here(name: str) -> None:
    """A name of NumPy is a name of lazyfuse, and `dir` lists it."""
    assert getattr(lf, name) is not None or getattr(host, name) is None
    assert name in dir(lf)


@needs_engine
def test_unknown_names_are_no_attributes() -> None:
    """What NumPy does not have is an AttributeError; private names are not handed through."""
    for name in ("no_such_function", "_globals"):
        with pytest.raises(AttributeError, match=name):
            getattr(lf, name)


@needs_engine
@pytest.mark.parametrize("name", functions())
def test_functions_are_functions(name: str) -> None:
    """A function has its name and docstring, and can be pickled by reference."""
    function = getattr(lf, name)
    assert function.__name__
    assert function.__doc__
    restored = pickle.loads(pickle.dumps(function))
    assert restored is function or restored.__wrapped__ is function.__wrapped__


ORDERS = [None, "C", "F", "K", "A"]
SOURCES = {
    "whole": lambda m: m,
    "transposed": lambda m: m.T,
    "cut": lambda m: m[::2, 1:],
    "element": lambda m: m[0, 0],
    "list": lambda m: [1.5, 2.5],
}


@pytest.mark.parametrize("name", ["array", "asarray", "asanyarray"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("copy", [None, True, False])
def test_making_arrays_of_arrays(name: str, source: str, copy: bool | None) -> None:
    """`order`, `dtype` and `copy` have NumPy's meaning; what needs a copy may be refused."""
    for order in ORDERS:
        for dtype in (None, "f4", "f8"):

            def program(np: object, m: object) -> object:
                make = getattr(np, name)
                return make(SOURCES[source](m), dtype=dtype, order=order, copy=copy)  # noqa: B023

            check(program, host.arange(12.0).reshape(3, 4))


FOREIGN = (">f8", ">i4", "O", "M8[s]", "m8[s]", "U5", "S5", "V4", "g", "G", "i4,f8")


@pytest.mark.parametrize("dtype", FOREIGN)
@pytest.mark.parametrize("size", [10, 40_000])
def test_arrays_of_other_dtypes_are_copied(dtype: str, size: int) -> None:
    """Also those that only NumPy computes with; writing into a copy changes nobody's data."""
    kinds = {"V4": "V4", "i4,f8": "i4,f8"}
    source = host.zeros(size, kinds[dtype]) if dtype in kinds else host.arange(size).astype(dtype)
    for options in ({}, {"copy": True}, {"dtype": source.dtype}, {"order": "F"}, {"ndmin": 2}):
        assert not host.shares_memory(source, host.asarray(lf.array(source, **options)))
        assert not host.shares_memory(source, host.asarray(lf.array(source[::2], **options)))
    for options in ({"copy": None}, {"copy": None, "ndmin": 2}):
        shares = host.shares_memory(source, host.array(source, **options))
        assert host.shares_memory(source, host.asarray(lf.array(source, **options))) == shares


@needs_engine
def test_page_is_current() -> None:
    """docs/namespace.md is what scripts/namespace_table writes."""
    root = Path(__file__).resolve().parent.parent
    loader = SourceFileLoader("namespace_table", str(root / "scripts" / "namespace_table"))
    script = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(script)
    written = (root / "docs" / "namespace.md").read_text()
    if f"for NumPy {host.__version__}." in written:  # each version has names of its own
        assert script.page() == written, "run scripts/namespace_table"


def test_second_names() -> None:
    """What NumPy has under several names is one object here, too; what is two is two."""
    names: dict[int, list[str]] = {}
    for name in dir(host):
        if callable(getattr(host, name, None)) and not name.startswith("_"):
            names.setdefault(id(getattr(host, name)), []).append(name)
    for same in names.values():
        assert len({id(getattr(lf, name)) for name in same}) == 1, same
    assert lf.around is not lf.round


def test_names_in_the_module_itself() -> None:
    """`eval(text, vars(np))` finds functions that record, types and constants; the rest is made
    when it is asked for."""
    expression = "sum(sin(x) + pi).astype(float32)"
    given = {"x": lf.arange(3.0)}
    expected = eval(expression, vars(host), {"x": host.arange(3.0)})
    assert host.isclose(float(eval(expression, vars(lf), given)), expected, rtol=1e-6)
    missing = {name for name in vars(host) if not name.startswith("_")} - {*vars(lf)}
    assert not [name for name in missing if isinstance(getattr(host, name), host.ufunc | type)]
