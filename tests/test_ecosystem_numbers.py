"""What pandas and `json` make of NumPy's numbers they make of pending ones: their C code asks by
type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.environment import python_path

pytestmark = pytest.mark.engine

lf = oracle.lf


def numbers(np: Any) -> list[Any]:
    """A float, an integer, a bool and a small float of large arrays."""
    x = np.linspace(0, 1, 200_000)
    small = np.sin(np.linspace(0, 1, 200_000, dtype="f4"))
    return [np.sin(x).mean(), np.arange(200_000).sum(), (x > 3).any(), small.max()]


def columns(pd: Any, m: Any) -> list[Any]:
    """Columns of numbers had dtype object."""
    frame = pd.DataFrame({"a": [1.0, 2.0], "k": [1, 1]})
    frame["b"] = m
    grown = pd.Series(dtype=float)
    grown["x"] = m
    return [
        *(pd.Series([m, m]), pd.Series({"a": m}), pd.Series(m, index=[0, 1]), pd.Index([m, m])),
        *(pd.DataFrame([{"a": m}]), pd.DataFrame({"a": m}, index=[0]), pd.DataFrame([(m, "a")])),
        *(frame, grown, frame.assign(z=m), pd.concat([pd.Series([m]), pd.Series([m])])),
        pd.Series([m, m], dtype=object).infer_objects(),
    ]


def functions(pd: Any, m: Any) -> list[Any]:
    """What functions of a program give."""
    frame = pd.DataFrame({"a": [1.0, 2.0], "k": [1, 1]})
    groups = frame.groupby("k")
    return [
        *(frame.apply(lambda c: m), frame.apply(lambda c: m, axis=1), frame.map(lambda c: m)),
        *(groups.agg(lambda c: m), groups["a"].transform(lambda c: m)),
        *(frame.a.map(lambda c: m), frame.a.map(lambda c: m, na_action="ignore")),
        *(frame.a.rolling(1).apply(lambda c: m), frame.k.map({1: m}), frame.agg(lambda c: m)),
    ]


def operators(pd: Any, m: Any) -> list[Any]:
    """Numbers and arrays without axes were arrays: they widened the dtype."""
    series = pd.Series([1, 2], dtype="float32")
    found = [series * m, m * series, series + m, m > series, pd.array([1.5]) * m]
    found += [series.where([True, False], m), series.reindex([0, 5], fill_value=m)]
    return [pd.Series(value) for value in found]


def asked(pd: Any, m: Any) -> list[Any]:
    types = pd.api.types
    asking = (types.is_float, types.is_integer, types.is_bool, types.is_scalar, types.is_number)
    nothing = m * host.nan
    return [*(bool(ask(m)) for ask in asking), types.infer_dtype([m, m]), bool(pd.isna(nothing))]


def converted(pd: Any, m: Any) -> list[Any]:
    return [pd.Series(pd.to_numeric([m, m])), pd.Series(pd.array([m, m]))]


PROGRAMS = [columns, functions, operators, asked, converted]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_numbers_of_pandas(program: Callable[[Any, Any], list[Any]]) -> None:
    """Dtypes, labels and values are those that NumPy's numbers give."""
    pd = pytest.importorskip("pandas")
    for number, wanted_number in zip(numbers(lf), numbers(host), strict=True):
        assert type(number) is lf.LazyScalar
        for given, wanted in zip(program(pd, number), program(pd, wanted_number), strict=True):
            assert type(given) is type(wanted)
            if not isinstance(wanted, pd.DataFrame | pd.Series | pd.Index):
                assert given == wanted
            elif isinstance(wanted, pd.DataFrame):
                pd.testing.assert_frame_equal(given, wanted)
            else:
                pd.testing.assert_series_equal(pd.Series(given), pd.Series(wanted))


def without_axes(np: Any, pd: Any) -> list[Any]:
    number = np.array(5)
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    frame["b"] = number
    return [
        pd.Series([1, 2], dtype="float32") * np.array(2.0),
        *(pd.Series([1, 2], dtype="int8") + number, pd.Series(pd.Index([1], dtype="u8") * number)),
        *(pd.Series(number, index=[0, 1]), frame["b"], pd.Series(pd.array([1]) + number)),
        pd.Series(pd.to_timedelta([1, 2], unit="D") * number),
        *(pd.Series(pd.arrays.SparseArray([0, 1])) == number, (frame == number)["a"]),
    ]


def objects(np: Any, pd: Any) -> list[Any]:
    """Objects and dates beside arrays, of which C code takes NumPy's alone."""
    left, days = pd.Series([1, 2, 3], dtype=object), pd.to_timedelta([1, 2, 3], unit="D")
    array, logic = np.array([1, 2, 4]), pd.Series([True, False, None], dtype=object)
    return [
        *(left == array, array == left, left < array, left * array, left.eq(array)),
        *(logic & (array > 1), logic | (array > 1), pd.Series(pd.Index(left) == array)),
        *(pd.Series(days * array), pd.Series(days) * array, pd.Series(days * (array * 0.5))),
        *(pd.Series(days % array), pd.Series(pd.Index([1, 2, 3]).delete(np.array([0])))),
        pd.Series(host.asarray(pd.util.hash_array(array))),
    ]


def extensions(np: Any, pd: Any) -> list[Any]:
    """Text was refused, small integers and floats became large ones, and a list of arrays without
    axes a column of objects."""
    small, floats, logic = np.arange(3, dtype="i1"), np.arange(3, dtype="f4"), np.arange(3) > 1
    return [
        *(pd.Series(pd.array(small)), pd.Series(pd.array(floats)), pd.Series(small, dtype=str)),
        *(
            pd.Series(np.arange(50_000), dtype="string"),
            pd.Series(pd.array(small, dtype="string")),
        ),
        *(pd.Series(pd.arrays.IntegerArray(small, logic)), pd.DataFrame([np.array(1)] * 2)[0]),
        *(pd.Series(pd.arrays.FloatingArray(floats, logic)), pd.Series(pd.array(logic))),
        pd.Series(pd.arrays.BooleanArray(logic, mask=logic, copy=True)),
        pd.Series(pd.arrays.NumpyExtensionArray(np.arange(50_000))),
    ]


@pytest.mark.parametrize("program", [without_axes, objects, extensions])
def test_arrays_of_operators(program: Callable[[Any, Any], list[Any]]) -> None:
    """They raised TypeError, ValueError or AssertionError, or had another dtype."""
    pd = pytest.importorskip("pandas")
    for given, wanted in zip(program(lf, pd), program(host, pd), strict=True):
        pd.testing.assert_series_equal(given, wanted)


@pytest.mark.parametrize("size", [6, 200_000])
def test_ufuncs_that_pandas_applies(size: int) -> None:
    """They were called with each element, 800 times as slow, warned, and `transform` failed."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": host.arange(-2.0, size), "k": host.arange(size + 2) % 5})
    frames: dict[Any, list[Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for np in (lf, host):
            found = [
                *(frame.apply(np.sqrt), frame.transform(np.sqrt), frame.apply(np.abs, raw=True)),
                *(frame.transform({"a": np.sqrt, "k": np.abs}), frame.a.transform([np.sqrt])),
                *(
                    frame.a.apply(np.sqrt).to_frame(),
                    frame.k.apply(np.power, args=(2,)).to_frame(),
                ),
            ]
            frames[np] = found
    for given, wanted in zip(frames[lf], frames[host], strict=True):
        pd.testing.assert_frame_equal(given, wanted)
    pd.testing.assert_frame_equal(frame.agg([lf.sum, "max"]), frame.agg([host.sum, "max"]))


@pytest.mark.parametrize("first", ["pandas", "lazyfuse"])
def test_whichever_is_imported_first(first: str) -> None:
    """Names that modules of pandas have taken from others are replaced, and so is the loader."""
    pytest.importorskip("pandas")
    second = {"pandas": "lazyfuse", "lazyfuse": "pandas"}[first]
    program = (
        f"import {first}, {second}\n"
        "import lazyfuse as np, pandas as pd, pandas._libs.lib as lib\n"
        "m = np.sin(np.linspace(0, 1, 200_000)).mean()\n"
        "assert type(m) is np.LazyScalar\n"
        "assert pd.api.types.is_float(m) and pd.core.common.is_bool_indexer is not None\n"
        "assert pd.Series([m]).dtype == (pd.Series([1.0]) * m).dtype == 'f8'\n"
        "assert pd.array(np.arange(3, dtype='i1')).dtype == 'Int8'\n"
        "assert lib.is_scalar.__name__ == 'is_scalar' and lib.is_scalar.__doc__\n"
        "assert type(lib.__loader__) is type(lib.__spec__.loader)\n"
        "assert type(lib.__loader__).__module__.endswith('importlib_external')\n"
        "assert lib.is_scalar(val=1.0) and not lib.is_float(obj=1)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_json() -> None:
    """A float64 is a float, with and without lines of their own; NumPy's others are refused."""
    given, wanted = numbers(lf), numbers(host)
    for lines in (None, 1):
        text = json.dumps({"a": [given[0]], "b": given[0]}, indent=lines)
        assert text == json.dumps({"a": [wanted[0]], "b": wanted[0]}, indent=lines)
        for number in given[1:]:
            with pytest.raises(TypeError, match="not JSON serializable"):
                json.dumps([number], indent=lines)
    assert isinstance(given[0], float)


def _in_a_process(program: str) -> None:
    environment = os.environ | {"PYTHONPATH": python_path()}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=100)


def test_loaded_again() -> None:
    """lazyfuse, whose finder is another class then, and the module that is told."""
    pytest.importorskip("pandas")
    _in_a_process("""
import importlib, sys, lazyfuse
for name in [name for name in sys.modules if name.split(".")[0] == "lazyfuse"]:
    del sys.modules[name]
import lazyfuse, pandas
from pandas._libs import lib
importlib.reload(lib)
importlib.reload(lib)
assert not hasattr(lib.is_float.__wrapped__, "__wrapped__")
m = lazyfuse.sin(lazyfuse.linspace(0, 1, 1_000_000)).mean()
assert pandas.Series([m, m]).dtype == float
""")


def test_threads_import_at_once() -> None:
    pytest.importorskip("pandas")
    _in_a_process("""
import sys, threading
sys.setswitchinterval(1e-6)
failed = []
def load(name):
    try:
        __import__(name)
    except BaseException as error:
        failed.append(error)
names = ("lazyfuse", "pandas", "lazyfuse", "scipy.stats", "pandas", "json")
threads = [threading.Thread(target=load, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
""")


def test_lines_of_warnings() -> None:
    """What pandas calls warns of the line that called pandas."""
    pd = pytest.importorskip("pandas")
    level = pytest.importorskip("pandas.util._exceptions").find_stack_level

    def warn(value: float) -> float:
        warnings.warn("here", UserWarning, stacklevel=level())
        return value

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pd.Series([1.0]).map(warn)
    assert {each.filename for each in found} == {__file__}
