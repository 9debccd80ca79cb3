"""The oracle sees what it must see: each planted fault is told, and what may differ is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.oracle import Rules

LINE = host.arange(6.0)


def faulty(**changes: Any) -> SimpleNamespace:
    """Return NumPy's namespace with some names replaced."""
    return SimpleNamespace(**({name: getattr(host, name) for name in dir(host)} | changes))


def told(
    monkeypatch: pytest.MonkeyPatch, module: Any, program: oracle.Program, **rules: Any
) -> str:
    """Return what the oracle says when `module` stands in lazyfuse's place."""
    monkeypatch.setattr(oracle, "lf", module)
    monkeypatch.setattr(oracle, "IS_ENGINE", False)
    return "\n".join(oracle.differences(program, LINE, rules=Rules(**rules)))


FAULTS: dict[str, tuple[str, Any, str]] = {
    "value": ("sqrt", lambda x: host.sqrt(x) + 1e-15, "differ"),
    "sign of zero": (
        "square",
        lambda x: host.copysign(host.square(x), host.where(x, 1, -1)),
        "differ",
    ),
    "dtype": ("floor", lambda x: host.floor(x).astype("f4"), "float32"),
    "shape": ("negative", lambda x: host.negative(x)[None], "(1, 6)"),
    "strides": ("rint", lambda x: host.rint(x)[::-1].copy()[::-1], "strides"),
    "a scalar of Python": ("max", lambda x: float(host.max(x)), "float"),
    "no error": ("gcd", lambda x, y: x, "raised nothing"),
    "another error": ("lcm", lambda x, y: 1 // 0, "ZeroDivisionError"),
    "an unwanted error": ("exp", lambda x: 1 // 0, "NumPy raises nothing"),
    "an input changed": (
        "ceil",
        lambda x: host.ceil(x, out=x + 0) + x.__iadd__(1) * 0,
        "afterwards",
    ),
}
CALLS: dict[str, oracle.Program] = {
    "gcd": lambda np, x: np.gcd(x, 2),
    "lcm": lambda np, x: np.lcm(x, 2),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault is told; without it nothing is."""
    name, replacement, words = FAULTS[fault]
    program = CALLS.get(name, lambda np, x: getattr(np, name)(x))
    assert words in told(monkeypatch, faulty(**{name: replacement}), program)
    assert not told(monkeypatch, host, program)


def test_planted_aliasing_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """An in-place operation that rebinds and a view that copies are told."""

    class Rebinds(host.ndarray):
        def __iadd__(self, other: Any) -> Any:
            return host.asarray(self) + other

    def program(np: Any, x: Any) -> Any:
        v = np.reshape(x, (2, 3))
        v += 1
        return [v]

    assert "afterwards" in told(
        monkeypatch, faulty(reshape=lambda x, s: x.reshape(s).view(Rebinds)), program
    )
    assert "afterwards" in told(
        monkeypatch, faulty(reshape=lambda x, s: x.reshape(s).copy()), program
    )


def test_what_may_differ() -> None:
    """NaN payloads and signs never count; ULP, zero signs and norms count as the rules say."""
    one, next_one = (
        host.array([1.0, -2.0]),
        host.array([host.nextafter(1, 2), host.nextafter(-2, 0)]),
    )
    assert oracle.equal(host.array([host.nan]), host.array([-host.nan])).all()
    assert not oracle.equal(one, next_one).any()
    assert oracle.equal(one, next_one, Rules(ulp=1)).all()
    assert not oracle.equal(one, -one, Rules(ulp=1e6)).any()
    assert oracle.equal(host.array([0.0]), host.array([-0.0]), Rules(zero_sign=False)).all()
    assert not oracle.equal(host.array([0.0]), host.array([-0.0]), Rules(ulp=4)).any()
    assert not oracle.equal(host.array([host.nan]), host.array([1.0]), Rules(ulp=1e9)).any()
    assert oracle.equal(
        host.array([1e3, 1e-20]), host.array([1e3, 0]), Rules(ulp=4, normwise=True)
    ).all()


def test_complex_values_are_compared_by_the_larger_part() -> None:
    """A bound for complex values is relative to the larger component."""
    wanted, given = host.array([1e3 + 1e-14j]), host.array([1e3 + 2e-14j])
    assert (
        not oracle.equal(wanted, given).any() and oracle.equal(wanted, given, Rules(ulp=1)).all()
    )
    assert not oracle.equal(host.array([1 + 1j]), host.array([1 + 2j]), Rules(ulp=8)).any()
