"""Defects that the test suites of other packages found, each by a program of its own."""

from __future__ import annotations

from typing import Any

import numpy as host
import pytest

from lazyfuse.integrations import pandas as integration
from tests.oracle import IS_ENGINE, check, lf, options

SIZES = (3, 50_000)


class Standing:
    """Stands for an array: its class is that of the array, and so are its attributes."""

    def __init__(self, value: Any) -> None:
        object.__setattr__(self, "value", value)

    __class__ = property(lambda self: type(self.value))  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value, name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return host.asarray(self.value)


STANDING: dict[str, Any] = {
    "asked": lambda np, x, p: (isinstance(p, np.ndarray), isinstance(3, np.ndarray)),
    "asarray": lambda np, x, p: np.asarray(p),
    "asanyarray": lambda np, x, p: np.asanyarray(p),
    "ascontiguousarray": lambda np, x, p: np.ascontiguousarray(p),
    "array": lambda np, x, p: np.array(p),
    "added": lambda np, x, p: x + p,
    "summed": lambda np, x, p: np.sum(p),
    "chosen": lambda np, x, p: np.where(x > 0, p, 1.0),
    "product": lambda np, x, p: np.dot(x, p),
    "columns": lambda np, x, p: np.column_stack([x, p]),
    "compared": lambda np, x, p: x == p,
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", STANDING)
def test_what_stands_for_an_array(name: str, size: int) -> None:
    """Of NumPy's arrays or ours, as of the objects of `wrapt`."""
    check(lambda np, x: STANDING[name](np, x, Standing(host.ones(size))), host.arange(float(size)))
    check(lambda np, x: STANDING[name](np, x, Standing(np.ones(size))), host.arange(float(size)))


@pytest.mark.parametrize("eager_size", [0, 30_000])
def test_arrays_of_objects_keep_the_objects(eager_size: int) -> None:
    """Whose `__array__` gives an array of ours, and who are elements."""

    def program(np: Any) -> Any:
        def made_by(value: float) -> Any:  # not where NumPy is known to ask
            return np.asarray(value)

        class Quantity:
            shape = ()

            def __init__(self, value: float) -> None:
                self.value = value

            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return made_by(self.value)

            def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
                return NotImplemented

        one, other = Quantity(2.0), Quantity(3.0)
        made = np.array([one, other], dtype=object)
        return made[0] is one, made[1] is other

    with options(eager_size=eager_size):
        check(program)


def test_what_asanyarray_asks_of_objects() -> None:
    """It is asked once, for the dtype and whether it is copied, and what it raises is raised."""

    def program(np: Any) -> Any:
        calls: list[Any] = []

        class Asked:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                calls.append((str(dtype), copy))
                if dtype == host.dtype("f4"):
                    raise ValueError("not as these")
                return host.arange(3).astype("f8" if dtype is None else dtype)

        found = [np.asanyarray(Asked()), np.asanyarray(Asked(), "i8")]
        found.append(np.asanyarray(Asked(), copy=True))
        try:
            np.asanyarray(Asked(), "f4")
        except ValueError as error:
            calls.append(str(error))
        return found, calls

    check(program)


def test_subclasses_that_objects_give() -> None:
    """`asanyarray` keeps the mask of what `__array__` gives; it is called once."""

    def program(np: Any) -> Any:
        calls = []

        class Masked:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                calls.append(dtype)
                return host.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])

        class Plain:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                calls.append(dtype)
                return host.arange(3.0)

        class Ours:
            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                return np.arange(3.0)

        masked = np.asanyarray(Masked())
        plain, ours = np.asanyarray(Plain()), np.asanyarray(Ours(), "f4")
        return type(masked).__name__, masked.mask.tolist(), plain, ours, len(calls)

    check(program)


class Labelled:
    """A column with a name, as pandas has them, as far as functions go by its parts."""

    def __init__(self, values: Any) -> None:
        self.values = host.asarray(values)

    ndim = property(lambda self: self.values.ndim)
    shape = property(lambda self: self.values.shape)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, key: Any) -> Labelled:
        return Labelled(self.values[key])

    def swapaxes(self, one: int, other: int) -> Labelled:
        return Labelled(self.values.swapaxes(one, other))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        return NotImplemented


PARTS: dict[str, Any] = {
    "flip": lambda np, s: [np.flip(s)],
    "split": lambda np, s: np.split(s, 3),
    "array_split": lambda np, s: np.array_split(s, 4),
    "at places": lambda np, s: np.split(s, [1, 4]),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_what_is_anothers(name: str) -> None:
    """They are of its class, as a Series' are."""

    def program(np: Any) -> Any:
        return [(type(part).__name__, part.values) for part in PARTS[name](np, Labelled(range(6)))]

    check(program)


def test_copies_of_what_has_a_dtype_of_its_own() -> None:
    class Extended:
        dtype = "Int64"

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return host.arange(3)

    def program(np: Any) -> Any:
        out = np.zeros(3)
        np.copyto(out, Extended())
        return out

    check(program)


def test_pandas_2_names_an_option() -> None:
    def checknull(val: Any, inf_as_na: bool = False) -> Any:
        return type(val), inf_as_na

    wrapped = integration._of_val(checknull)
    number = (lf.ones(100_000) * 2).sum()
    assert wrapped(number, inf_as_na=True) == (host.float64, True)
    assert wrapped(3, True) == (int, True)
    assert wrapped(val=number) == (host.float64, False)


@pytest.mark.skipif(not IS_ENGINE, reason="asks lazyfuse about itself")
@pytest.mark.parametrize(
    ("module", "name"),
    [("einops._backends", "is_appropriate_type"), ("mne.utils.check", "_validate_type"),
     ("control.xferfcn", "any"), ("discretize.base", "any"), ("ahrs.common", "any")],
)  # fmt: skip
def test_who_asks_for_numpys_type(module: str, name: str) -> None:
    namespace: dict[str, Any] = {"__name__": module, "ndarray": host.ndarray}
    exec(f"def {name}(x): return isinstance(x, ndarray)", namespace)
    assert namespace[name](lf.ones(3)) and namespace[name](lf.ones(50_000))
    assert not isinstance(lf.ones(3), host.ndarray)


@pytest.mark.parametrize("part", ["whole", "rows", "columns", "transposed", "small"])
def test_strides_that_are_not_given(part: str) -> None:
    """NumPy takes those of C order for an array that lies in it, whatever shape is asked for."""

    def program(np: Any) -> list[Any]:
        x = np.arange(60_000.0).reshape(200, 300)
        y = {
            "whole": x, "rows": x[3:9], "columns": x[:, 2:], "transposed": x.T,
            "small": np.arange(16.0).reshape(4, 4),
        }[part]  # fmt: skip
        found = []
        for shape in ((2,), (2, 2), (2, 2, 2), (), 3):
            try:
                found.append(np.lib.stride_tricks.as_strided(y, shape))
            except (TypeError, ValueError) as error:
                found.append(str(error))
        return found

    check(program)
